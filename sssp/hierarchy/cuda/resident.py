"""What a GPU keeps of a prepared map: the pieces of its tree, and the weights of each version."""

from __future__ import annotations

import threading
import weakref
from collections import deque
from copy import copy
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sssp.cuda.compiler import (
    SIMULATOR,
    address,
    cuda,
    launch,
    most_shared_bytes,
    wait_for_device,
)
from sssp.cuda.fill import THREADS, fill
from sssp.cuda.matrix.driver import Matrix
from sssp.cuda.matrix.floyd_warshall import launch_rounds
from sssp.cuda.memory import upload
from sssp.hierarchy.bundles import Bundles, make_bundles
from sssp.hierarchy.cuda.customization import (
    APART,
    GREATEST,
    VERTEX_THREADS,
    WORDS,
    Room,
    make_basic_kernel,
    make_basic_level_kernel,
    make_first_weights_kernel,
    make_from_top_kernel,
    make_perfect_kernel,
    make_perfect_level_kernel,
    make_to_top_kernel,
    pairs_kernel,
    placed_arcs_kernel,
    placed_slots_kernel,
)
from sssp.hierarchy.cuda.launches import Launches
from sssp.hierarchy.cuda.selection import Arrays, Selections, Streams
from sssp.hierarchy.cuda.sweeps import TOP, Pass, stream_words
from sssp.hierarchy.derived import Derived
from sssp.hierarchy.structure import Structure, offsets
from sssp.kernels.dtypes import FLOAT32, INDEX, INT64, infinity

if TYPE_CHECKING:
    from sssp.hierarchy.hierarchy import Hierarchy

__all__ = ["LIMITS", "DeviceMap", "DeviceTree", "device_map"]

#: most rows of a bundle, by tier from below
LIMITS = (4, 6) if SIMULATOR else (40, 56, 80, 112)
#: arcs of a group, in the lowest tier and in all others: there vertices have more of them
GROUPS = 2, 4
#: bytes of scratch that stay on the device between calls
KEPT = 1280 << 20
#: maps of versions that are gone whose memory stays for others
KEPT_MAPS = 4
#: threads of a block that lists pairs
PAIR_THREADS = 2 if SIMULATOR else 32
#: longest ways are added up in 32-bit floats: they are less than this many times as long
ROUNDED_UP = 1 + 1 / 1024


class DeviceTree(Arrays):
    """The pieces of an elimination tree on one device; all versions of a map share them.

    Attributes
    ----------
    bundles : Bundles
        On the host.
    height : int
        Most vertices on a path from a root.
    size : int
        Vertices.
    passes : list of Pass
        Tiers of bundles, from above.
    selections : Selections
        For sweeps to some targets.
    nbytes : int
        Bytes of the device.
    """

    def __init__(self, structure: Structure) -> None:
        # (the same on every device)
        self.bundles = bundles = structure.shared.made(
            "bundles", lambda: make_bundles(structure, LIMITS, TOP)
        )
        self.height, self._made = structure.height, Derived()
        self.size, self.selections = bundles.rank.size, Selections()
        self.passes = [
            Pass(low, high, room, self.group(tier), tier == self.tiers - 1)
            for tier, ((low, high), room) in enumerate(
                zip(pairwise(bundles.tiers.tolist()), bundles.rooms.tolist(), strict=True)
            )
        ]
        self._lock = threading.Lock()
        #: of versions that are gone (left without the lock, for that may happen in the midst of it)
        self.idle: deque[DeviceMap] = deque(maxlen=KEPT_MAPS)
        chain, leap = _chains(structure, bundles)
        self._arrays = {
            "rank_of": _there(structure.rank),
            "ranks": _there(bundles.rank),
            "places": _there(bundles.place),
            "vertices": _there(structure.order[bundles.rank]),
            "order": _there(structure.order),
            "chain": _there(chain),
            "leap": _there(leap),
            "size": _there(structure.size),
            "depth": _there(structure.depth),
            "first": _there(structure.first.astype(np.uint32)),
            "upper": _there(structure.upper),
            "bundle_first": _there(bundles.first),
            "lowest": _there(bundles.lowest),
            "highest": _there(bundles.highest),
            "boundary_first": _there(bundles.boundary_first),
            "boundary": _there(bundles.boundary),
            "boundary_vertices": _there(structure.order[bundles.boundary]),
        }
        #: the first place in a bundle, and in which bundle it and those after it are
        start = int(bundles.levels[-1])
        counts = np.diff(bundles.first)
        owners = np.repeat(np.arange(counts.size, dtype=INDEX), counts)
        degrees = np.diff(structure.first)[bundles.rank]
        firsts = offsets(degrees)
        self.arcs = int(firsts[-1])
        self._place_arcs(owners, start, firsts)
        self._find_steps(structure.depth[bundles.rank[start:]], owners, start)
        self._list_pairs(structure.parent[bundles.rank[start:]], owners, degrees, start)
        self._lay_streams(degrees, start)
        self.rooms = [
            Room(int(rows), int(np.diff(firsts[bundles.first[low : high + 1]]).max()))
            for rows, (low, high) in zip(bundles.rooms, pairwise(bundles.tiers), strict=True)
        ]
        self.nbytes = sum(array.nbytes for array in self._arrays.values())

    def _place_arcs(self, owners: NDArray[np.int32], start: int, firsts: NDArray[np.int64]) -> None:
        """Number the chordal arcs by place."""
        n, size = self.bundles.rank.size, max(1, self.arcs)
        up_first = np.empty(n, np.uint32)
        up_first[self.bundles.rank] = firsts[:-1]
        heads, rows = cuda.device_array(size, INDEX), cuda.device_array(size, np.uint32)
        self._arrays |= {
            "arcs_first": _there(firsts.astype(np.uint32)),
            "up_first": _there(up_first),
            "heads": heads,
            "rows": rows,
        }
        if n:
            placed_arcs_kernel[-(-n // THREADS), THREADS](
                np.uint32(start), *self["ranks places"], _there(owners),
                *self["bundle_first boundary_first boundary first upper arcs_first"], heads, rows,
            )  # fmt: skip

    def _find_steps(self, depths: NDArray[np.int32], owners: NDArray[np.int32], start: int) -> None:
        """Find the steps of bundles: members of one depth."""
        new_bundle = np.diff(owners, prepend=-1) != 0
        begins = new_bundle | (np.diff(depths, prepend=-1) != 0)
        steps, passed = np.flatnonzero(begins) + start, np.cumsum(begins, dtype=INDEX)
        self._arrays |= {
            "levels": _there(passed - passed[new_bundle][owners]),
            "steps": _there(steps.astype(np.uint32)),
            "step_first": _there(np.searchsorted(steps, self.bundles.first).astype(np.uint32)),
        }

    def _list_pairs(
        self,
        parents: NDArray[np.int32],
        owners: NDArray[np.int32],
        degrees: NDArray[np.int64],
        start: int,
    ) -> None:
        """List the arcs within boundaries, from the roots of the subtrees in bundles."""
        bundles = self.bundles
        above = np.where(parents >= 0, bundles.place[parents], 0)
        roots = np.flatnonzero(above < bundles.first[owners]).astype(INDEX) + INDEX.type(start)
        root_pairs = offsets(degrees[roots] * (degrees[roots] - 1) // 2)
        pair_first = root_pairs[np.searchsorted(roots, bundles.first)]
        pairs, pair_arcs = (
            cuda.device_array(max(1, int(root_pairs[-1])), np.uint32) for _ in range(2)
        )
        if roots.size:
            pairs_kernel[roots.size, PAIR_THREADS](
                _there(roots), _there(root_pairs.astype(np.uint32)),
                *self["places arcs_first heads rows"], pairs, pair_arcs,
            )  # fmt: skip
        wait_for_device()
        self._arrays |= {
            "pair_first": _there(pair_first.astype(np.uint32)),
            "pairs": pairs,
            "pair_arcs": pair_arcs,
        }

    def _lay_streams(self, degrees: NDArray[np.int64], start: int) -> None:
        """Give the stream of every bundle a place, for as many groups as there may be."""
        bundles = self.bundles
        sizes = np.empty(degrees.size - start, np.int64)
        for tier, (low, high) in enumerate(pairwise(bundles.tiers)):
            first, stop = bundles.first[low], bundles.first[high]
            group = self.group(tier)
            groups = np.maximum(1, -(-degrees[first:stop] // group))
            sizes[first - start : stop - start] = group * groups
        stream_first = offsets(sizes)[bundles.first - start]
        self.stream_arcs = int(stream_first[-1])
        self._arrays["stream_first"] = _there(stream_first.astype(np.uint32))

    @property
    def tiers(self) -> int:
        """How many there are."""
        return self.bundles.tiers.size - 1

    def slots(self, slots: NDArray[np.uint32]) -> Any:
        """Return where the arcs of a graph stand among the chordal arcs by place.

        Made once, and kept as long as that array is there.
        """
        key = f"slots {id(slots)}"

        def make() -> Any:
            weakref.finalize(slots, self._made.pop, key, None).atexit = False
            placed = cuda.device_array(max(1, slots.size), np.uint32)[: slots.size]
            if slots.size:
                placed_slots_kernel[-(-slots.size // THREADS), THREADS](
                    _there(slots), *self["ranks places first arcs_first"], placed
                )
                wait_for_device()
            return placed

        return self._made.made(key, make)

    def weights(self, dtype: np.dtype[Any]) -> Weights:
        """Return what a customization works with; made once."""
        return self._made.made(f"weights {dtype.char}", lambda: Weights(self, dtype))

    def lend(self, dtype: np.dtype[Any], *, shifted: bool) -> DeviceMap:
        """Return memory for a map: what a version that is gone has left, or new.

        `shifted`: whether the weights are between potentials.
        """
        with self._lock:
            for _ in range(len(self.idle)):
                found = self.idle.popleft()
                if found.dtype == dtype and (found.shifts.size > 0) == shifted:
                    return found
                self.idle.append(found)
        return DeviceMap(self, dtype, shifted=shifted)

    def outside(self, tier: int, dtype: np.dtype[Any]) -> int:
        """How many numbers the matrices of a tier take, if shared memory is too small for one."""
        room = self.rooms[tier]
        if room.shared_bytes(dtype, outside=False) <= most_shared_bytes():
            return 0
        return int(np.diff(self.bundles.tiers)[tier]) * room.size

    def group(self, tier: int) -> int:
        """How many arcs a group of the stream of a tier has."""
        lowest = tier == self.tiers - 1
        return GROUPS[0] if lowest else GROUPS[1]


class Pool:
    """Scratch that calls leave for those after them, as long as it is not much."""

    def __init__(self) -> None:
        self._idle: list[tuple[Any, int, tuple[Any, ...]]] = []
        self._held = 0
        self._lock = threading.Lock()

    def take(self, key: Any) -> tuple[Any, ...] | None:
        """Return scratch that was left under a key, if there is any."""
        with self._lock:
            for i, (own, nbytes, scratch) in enumerate(self._idle):
                if own == key:
                    del self._idle[i]
                    self._held -= nbytes
                    return scratch
        return None

    def leave(self, key: Any, nbytes: int, scratch: tuple[Any, ...]) -> None:
        """Leave scratch that nobody uses; what has lain longest goes."""
        with self._lock:
            self._idle.append((key, nbytes, scratch))
            self._held += nbytes
            while self._held > KEPT:
                self._held -= self._idle.pop(0)[1]


class Weights:
    """What a customization in one dtype works with on a device: one at a time.

    Attributes
    ----------
    lock : Lock
        Held from bringing the weights of arcs until the map has been made.
    basic, perfect : device arrays, shape (2 c,)
        Up and down along every chordal arc, before and after the perfect pass.
    lengths : device array, shape (2, n), int32
        Of the longest ways up from every rank, and down to it: 32-bit floats.
    """

    def __init__(self, tree: DeviceTree, dtype: np.dtype[Any]) -> None:
        arcs, n = tree.arcs, tree.bundles.rank.size
        self.lock = threading.Lock()
        self.basic, self.perfect = (cuda.device_array(max(1, 2 * arcs), dtype) for _ in range(2))
        self.lengths = cuda.device_array((2, max(1, n)), INDEX)
        outside = max((tree.outside(tier, dtype) for tier in range(tree.tiers)), default=0)
        self.spare = cuda.device_array(max(1, outside), dtype)
        self._brought = cuda.device_array(1, dtype)

    def brought(self, arc_weights: NDArray[Any], stream: Any) -> Any:
        """Return the weights of a graph's arcs on the device, where those before them were."""
        size = max(1, arc_weights.size)
        if self._brought.size != size:
            self._brought = cuda.device_array(size, arc_weights.dtype)
        if arc_weights.size:
            self._brought.copy_to_device(np.ascontiguousarray(arc_weights), stream=stream)
        return self._brought


class DeviceMap:
    """The weights of a map in one dtype on one device.

    Attributes
    ----------
    tree : DeviceTree
    up : tuple of device arrays
        The arcs up that are kept: where those of every rank begin and end, depths of their heads,
        weights.
    down : tuple of device arrays
        The same of the arcs down, with ranks of their heads.
    stream_first, stream_stop, stream : device arrays
        Arcs down into bundles, as they are swept.
    selected : Streams
        The same of selections.
    between : device array, shape (top * top,)
        Distances within the top.
    shifts : device array, shape (n,) or (0,)
        Potentials of the vertices, if the weights are between them.
    joined : bool
        Whether every vertex reaches every other.
    fits : bool
        Whether no sum, here or in a sweep, can leave the dtype.
    nbytes : int
        Bytes of the device, of the tree too.
    pool : Pool
        Scratch of sweeps.
    nothing : tuple of device arrays
        What kernels take that fold nothing, in place of totals, and no targets.
    """

    def __init__(self, tree: DeviceTree, dtype: np.dtype[Any], *, shifted: bool) -> None:
        self.tree, self.dtype, self.pool = tree, dtype, Pool()
        self.nothing = cuda.to_device(np.zeros((1, 1, 1), INT64)), _there(np.empty(0, INT64))
        bundles, n, arcs = tree.bundles, max(1, tree.bundles.rank.size), max(1, tree.arcs)
        packed = [
            (
                cuda.device_array(n, np.uint32),
                cuda.device_array(arcs, INDEX),
                cuda.device_array(arcs, dtype),
            )
            for _ in range(2)
        ]
        self.up, self.down = ((tree["up_first"], *arrays) for arrays in packed)
        self.stream_first = tree["stream_first"]
        self.stream_stop = cuda.device_array(max(1, bundles.lowest.size), np.uint32)
        words = max(1, tree.stream_arcs) * stream_words(dtype)
        self.stream = cuda.device_array(words, INT64)
        self.selected = Streams(dtype, self.streams)
        self.shifts = cuda.device_array(n, dtype) if shifted else _there(np.empty(0, dtype))
        self.matrix = Matrix(max(bundles.top, 1), dtype, cuda.stream(), with_tails=False)
        self.between = self.matrix.flat
        self.found = cuda.device_array(WORDS, INDEX)
        # (between what is kept stands anything, but always a rank)
        fill(self.down[2], INDEX.type(0), self.matrix.stream)
        self._launches = Launches()
        own = *packed[0], *packed[1], self.stream_stop, self.stream, self.between
        self.nbytes = tree.nbytes + sum(array.nbytes for array in own)
        self.joined = self.fits = False

    @property
    def streams(self) -> tuple[Any, ...]:
        """Where the stream of every bundle begins and ends, and all of them."""
        return self.stream_first, self.stream_stop, self.stream

    def customize(
        self,
        arc_weights: NDArray[Any],
        slots: NDArray[np.uint32],
        potentials: NDArray[Any] | None = None,
    ) -> None:
        """Find the weights of the map for those of the graph's arcs, which are not negative.

        Parameters
        ----------
        arc_weights : ndarray, shape (m,)
            Closed arcs weigh INF or more.
        slots : ndarray, shape (m,), uint32
            `slots_of` the graph.
        potentials : ndarray, shape (n,), or None
            That the weights are between.
        """
        weights, stream = self.tree.weights(self.dtype), self.matrix.stream
        if potentials is not None:
            self.shifts.copy_to_device(potentials)
        placed = self.tree.slots(slots)
        self.selected.renew()
        with weights.lock:
            brought = weights.brought(arc_weights, stream)
            self._launches.do(
                tuple(map(address, (brought, placed))),
                stream,
                lambda stream: self.launch(weights, brought, placed, stream),
            )
            found = self.found.copy_to_host(stream=stream)
            stream.synchronize()
        greatest, up, down = found[GREATEST:].view(FLOAT32).astype(float)
        longest = max(up + down, 2.0 * greatest)
        if potentials is not None:
            longest -= 2.0 * float(potentials.min(initial=0))
        self.fits = bool(ROUNDED_UP * longest < float(infinity(self.dtype)))
        self.joined = not found[APART]

    def launch(self, weights: Weights, arc_weights: Any, slots: Any, stream: Any) -> None:
        """Launch all kernels of `customize`."""
        tree, dtype, bundles = self.tree, self.dtype, self.tree.bundles
        inf, arcs = infinity(dtype), (tree["arcs_first"], tree["heads"])
        basic, perfect, lengths, found = (
            weights.basic, weights.perfect, weights.lengths, self.found
        )  # fmt: skip
        for array, value in ((basic, inf), (self.between, inf), (found, INDEX.type(0))):
            fill(array, value, stream)
        fill(self.matrix.flags, INDEX.type(0), stream)
        if slots.size:
            make_first_weights_kernel(dtype)[-(-slots.size // THREADS), THREADS, stream](
                arc_weights, slots, basic
            )
        for tier in reversed(range(tree.tiers)):
            self._launch_tier(
                make_basic_kernel, tier, stream,
                *tree[
                    "bundle_first boundary_first step_first steps arcs_first rows pair_first pairs "
                    "pair_arcs"
                ],
                basic, weights.spare,
            )  # fmt: skip
        levels = list(pairwise(bundles.levels.tolist()))
        for low, high in reversed(levels):
            make_basic_level_kernel(dtype)[high - low, VERTEX_THREADS, stream](
                np.uint32(low), tree["places"], *arcs, basic
            )
        top = bundles.top
        if top:
            size = np.uint32(top)
            make_to_top_kernel(dtype)[top, VERTEX_THREADS, stream](
                tree["places"], *arcs, basic, size, self.between, found
            )
            matrix = copy(self.matrix)
            matrix.stream = stream
            launch_rounds(matrix)
            make_from_top_kernel(dtype)[top, VERTEX_THREADS, stream](
                *tree["ranks places depth"], *arcs, size, self.between, perfect, lengths, found,
                *self.up[1:], *self.down[1:],
            )  # fmt: skip
        for low, high in levels:
            make_perfect_level_kernel(dtype)[high - low, VERTEX_THREADS, stream](
                np.uint32(low), *tree["ranks places depth"], *arcs, basic, perfect,
                lengths, found, *self.up[1:], *self.down[1:],
            )  # fmt: skip
        for tier in range(tree.tiers):
            self._launch_tier(
                make_perfect_kernel, tier, stream, np.uint32(tree.group(tier)),
                *tree[
                    "ranks depth levels bundle_first boundary_first boundary step_first steps "
                    "arcs_first heads rows pair_first pairs pair_arcs"
                ],
                basic, perfect, lengths, found, *self.up[1:], *self.down[1:], self.stream_first,
                self.stream_stop, self.stream, weights.spare,
            )  # fmt: skip

    def _launch_tier(self, make: Any, tier: int, stream: Any, *arguments: Any) -> None:
        """Launch a kernel on the bundles of a tier."""
        tree, dtype = self.tree, self.dtype
        low, high = tree.bundles.tiers[tier : tier + 2].tolist()
        room, outside = tree.rooms[tier], tree.outside(tier, dtype) > 0
        threads, across = room.crew
        configuration = high - low, threads, stream, room.shared_bytes(dtype, outside=outside)
        own = map(np.uint32, (low, room.rows, room.arcs, across))
        launch(make(dtype, outside=outside), configuration, *own, *arguments)


class _Held:
    """A map that a hierarchy holds; when it is gone, another version may have the memory."""

    def __init__(self, tree: DeviceTree, hierarchy: Hierarchy, dtype: np.dtype[Any]) -> None:
        graph, potentials = hierarchy.graph, None
        self.map = tree.lend(dtype, shifted=graph.least_weight < 0)
        weakref.finalize(self, tree.idle.append, self.map).atexit = False
        weights = graph.weights_as(dtype)
        if graph.least_weight < 0:
            metric = hierarchy.layered(dtype)
            if not metric.fits:
                self.map.fits = False
                return
            potentials = metric.potentials
            assert potentials is not None
            heights = potentials[graph.indices] - potentials[graph.tails]
            is_open = weights < infinity(dtype)
            weights = np.where(is_open, np.maximum(weights - heights, 0), infinity(dtype))
        self.map.customize(weights, hierarchy.slots, potentials)


def device_map(hierarchy: Hierarchy, dtype: np.dtype[Any], number: int) -> DeviceMap:
    """Return the weights of a map on a device, which is current; brought there once."""
    structure = hierarchy.structure
    tree = structure.shared.made(f"cuda:{number}", lambda: DeviceTree(structure))
    key = f"cuda:{number}, {dtype.char}"
    return hierarchy.derived(key, lambda: _Held(tree, hierarchy, dtype)).map


def _there(array: NDArray[Any]) -> Any:
    return upload(np.ascontiguousarray(array))


def _chains(structure: Structure, bundles: Bundles) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the last rank of every chain below the top, and the rank above it, -1 in the top."""
    ranks = np.arange(structure.order.size, dtype=INDEX)
    in_top = bundles.place < bundles.top
    above = np.where(structure.parent >= 0, structure.parent, 0)
    leaves = (structure.parent != ranks + 1) | (~in_top & in_top[above])
    # (the next rank that leaves its chain)
    last = np.where(leaves, ranks, ranks.size)
    chain = np.minimum.accumulate(last[::-1])[::-1].astype(INDEX)
    parent = structure.parent[chain]
    return chain, np.where((parent >= 0) & ~in_top[np.maximum(parent, 0)], parent, -1).astype(INDEX)
