"""What a GPU keeps of a prepared map: the pieces of its tree, and the weights of each version."""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Sequence
from copy import copy
from itertools import count, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sssp.cuda.compiler import (
    SIMULATOR,
    address,
    copy_bytes,
    cuda,
    launch,
    most_shared_bytes,
    select,
    wait_for_device,
)
from sssp.cuda.fill import THREADS, fill
from sssp.cuda.finished import on_host
from sssp.cuda.matrix.driver import Matrix
from sssp.cuda.matrix.floyd_warshall import launch_rounds
from sssp.cuda.memory import device_graph, free_bytes, upload
from sssp.cuda.pool import device_array
from sssp.engine.network import Network
from sssp.graph.weights import converted
from sssp.hierarchy.bundles import Bundles, make_bundles
from sssp.hierarchy.cuda.customization import (
    APART,
    FARTHEST,
    GREATEST,
    LONGEST_DOWN,
    LONGEST_UP,
    UNIT,
    VERTEX_THREADS,
    WORDS,
    Room,
    make_basic_kernel,
    make_basic_level_kernel,
    make_changes_kernel,
    make_first_weights_kernel,
    make_from_top_kernel,
    make_perfect_kernel,
    make_perfect_level_kernel,
    make_to_top_kernel,
    pairs_kernel,
    placed_arcs_kernel,
    placed_givers_kernel,
    triangles_kernel,
)
from sssp.hierarchy.cuda.launches import Launches
from sssp.hierarchy.cuda.selection import Arrays, Selections, Streams
from sssp.hierarchy.cuda.sweeps import TOP, Pass, stream_words
from sssp.hierarchy.derived import Derived
from sssp.hierarchy.structure import NO_SLOT, Structure, offsets
from sssp.kernels.dtypes import FLOAT32, INDEX, INT64, infinity

if TYPE_CHECKING:
    from sssp.graph.graph import Graph

__all__ = [
    "LIMITS",
    "ArcWeights",
    "DeviceMap",
    "DeviceMaps",
    "DeviceTree",
    "Pool",
    "customize_together",
    "device_map",
]

#: most rows of a bundle, by tier from below
LIMITS = (4, 6) if SIMULATOR else (40, 56, 80, 112)
#: arcs of a group, in the lowest tier and in all others: there vertices have more of them; powers
#: of two
GROUPS = 2, 4
#: bytes of scratch that stay on the device between calls
KEPT = 1280 << 20
#: how often maps that are customized together leave memory for others when they are gone
KEPT_MAPS = 4
#: versions that are customized together at most, and the part of a device's memory they may take
TOGETHER, SHARE_TOGETHER = (4 if SIMULATOR else 32), 1 / 32
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
    given_first : int
        Two for each chordal arc above the lowest tier: the graph's weights come to these first.
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
        self.idle: deque[DeviceMaps] = deque(maxlen=KEPT_MAPS)
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
        owners_there = _there(owners)
        steps, levels = self._find_steps(structure.depth[bundles.rank[start:]], owners, start)
        self._place_arcs(owners_there, levels, start, firsts)
        self._list_pairs(
            structure.parent[bundles.rank[start:]], owners, owners_there, degrees, start
        )
        self._list_triangles(steps, owners, owners_there, degrees, start)
        self._lay_streams(degrees, start)
        # (places of the lowest tier come last)
        above_lowest = bundles.first[bundles.tiers[-2]] if self.tiers else start
        self.given_first = 2 * int(firsts[above_lowest])
        arcs, bounded = np.diff(firsts[bundles.first]), np.diff(bundles.boundary_first)
        ways = arcs + bounded.astype(np.int64) * (bounded - 1) // 2
        self.rooms = [
            Room(int(rows), int(arcs[low:high].max()), int(ways[low:high].max()))
            for rows, (low, high) in zip(bundles.rooms, pairwise(bundles.tiers), strict=True)
        ]
        self.nbytes = sum(array.nbytes for array in self._arrays.values())

    def _place_arcs(
        self, owners_there: Any, levels: NDArray[np.int32], start: int, firsts: NDArray[np.int64]
    ) -> None:
        """Number the chordal arcs by place."""
        n, size = self.bundles.rank.size, max(1, self.arcs)
        up_first = np.empty(n, np.uint32)
        up_first[self.bundles.rank] = firsts[:-1]
        heads, depths = device_array(size, INDEX), device_array(size, INDEX)
        rows = device_array(size, np.uint32)
        self._arrays |= {
            "arcs_first": _there(firsts.astype(np.uint32)),
            "up_first": _there(up_first),
            "heads": heads,
            "depths": depths,
            "rows": rows,
        }
        if n:
            placed_arcs_kernel[-(-n // THREADS), THREADS](
                np.uint32(start), *self["ranks places depth"], owners_there, _there(levels),
                *self["bundle_first boundary_first boundary first upper arcs_first"],
                heads, depths, rows,
            )  # fmt: skip

    def _find_steps(
        self, depths: NDArray[np.int32], owners: NDArray[np.int32], start: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Find the steps of bundles: members of one depth.

        Return the first place of each, and the step of every place in its bundle.
        """
        new_bundle = np.diff(owners, prepend=-1) != 0
        begins = new_bundle | (np.diff(depths, prepend=-1) != 0)
        steps, passed = np.flatnonzero(begins) + start, np.cumsum(begins, dtype=INDEX)
        self._arrays |= {
            "steps": _there(steps.astype(np.uint32)),
            "step_first": _there(np.searchsorted(steps, self.bundles.first).astype(np.uint32)),
        }
        return steps, passed - passed[new_bundle][owners]

    def _list_pairs(
        self,
        parents: NDArray[np.int32],
        owners: NDArray[np.int32],
        owners_there: Any,
        degrees: NDArray[np.int64],
        start: int,
    ) -> None:
        """List the arcs within boundaries, from the roots of the subtrees in bundles."""
        bundles = self.bundles
        above = np.where(parents >= 0, bundles.place[parents], 0)
        roots = np.flatnonzero(above < bundles.first[owners]).astype(INDEX) + INDEX.type(start)
        root_pairs = offsets(degrees[roots] * (degrees[roots] - 1) // 2)
        pair_first = root_pairs[np.searchsorted(roots, bundles.first)]
        pairs, pair_arcs = (device_array(max(1, int(root_pairs[-1])), np.uint32) for _ in range(2))
        if roots.size:
            pairs_kernel[roots.size, PAIR_THREADS](
                np.uint32(start), _there(roots), _there(root_pairs.astype(np.uint32)), owners_there,
                *self["places bundle_first boundary_first arcs_first heads rows"], pairs, pair_arcs,
            )  # fmt: skip
        wait_for_device()
        self._arrays |= {
            "pair_first": _there(pair_first.astype(np.uint32)),
            "pairs": pairs,
            "pair_arcs": pair_arcs,
        }

    def _list_triangles(
        self,
        steps: NDArray[np.int64],
        owners: NDArray[np.int32],
        owners_there: Any,
        degrees: NDArray[np.int64],
        start: int,
    ) -> None:
        """List the triangles of which members of bundles are the lower corners."""
        inside = degrees[start:]
        firsts = offsets(inside * (inside - 1) // 2)
        triangle_first = firsts[self.bundles.first - start]
        size = max(1, int(firsts[-1]))
        legs, thirds = device_array(size, np.uint32), device_array(size, np.uint16)
        if inside.size:
            triangles_kernel[-(-inside.size // THREADS), THREADS](
                np.uint32(start), owners_there,
                *self["places bundle_first boundary_first arcs_first heads rows"],
                _there(firsts), legs, thirds,
            )  # fmt: skip
        wait_for_device()
        in_bundles = firsts[steps - start] - triangle_first[owners[steps - start]]
        self._arrays |= {
            "step_triangles": _there(in_bundles.astype(np.uint32)),
            "triangle_first": _there(triangle_first),
            "legs": legs,
            "thirds": thirds,
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

    def givers(self, slots: NDArray[np.uint32]) -> Any:
        """Return which arc of a graph gives a chordal arc by place its weight, up and down.

        Made once for an array of slots, and kept as long as that is there.
        """
        key = f"givers {id(slots)}"

        def make() -> Any:
            weakref.finalize(slots, self._made.pop, key, None).atexit = False
            givers = device_array(max(1, 2 * self.arcs), np.uint32)
            fill(givers, np.uint32(NO_SLOT), cuda.default_stream())
            if slots.size:
                placed_givers_kernel[-(-slots.size // THREADS), THREADS](
                    _there(slots), *self["ranks places first arcs_first"], givers
                )
            wait_for_device()
            return givers

        return self._made.made(key, make)

    def weights(self, dtype: np.dtype[Any], count: int) -> Weights:
        """Return what a customization of some versions works with; made once."""
        return self._made.made(f"weights {dtype.char} {count}", lambda: Weights(self, dtype, count))

    def pool(self, dtype: np.dtype[Any]) -> Pool:
        """Return the scratch that sweeps in a dtype share."""
        return self._made.made(f"pool {dtype.char}", Pool)

    def together(self, dtype: np.dtype[Any], versions: int) -> int:
        """Return how many of some versions are customized together: a power of two, or all."""
        n, arcs, top = self.bundles.rank.size, self.arcs, self.bundles.top
        one = (8 * n + 6 * arcs + top * top) * dtype.itemsize + 8 * (n + arcs)
        one += 8 * stream_words(dtype) * self.stream_arcs
        memory = free_bytes() if SIMULATOR else int(cuda.current_context().get_memory_info().total)
        fitting = min(TOGETHER, int(memory * SHARE_TOGETHER) // one)
        return min(versions, 1 << max(1, fitting).bit_length() - 1)

    def lend(self, dtype: np.dtype[Any], count: int, *, shifted: bool) -> DeviceMaps:
        """Return memory for some maps: what versions that are gone have left, or new.

        `shifted`: whether the weights are between potentials.
        """
        count = 1 << (count - 1).bit_length()
        with self._lock:
            for _ in range(len(self.idle)):
                found = self.idle.popleft()
                if (found.dtype, found.count, found.shifted) == (dtype, count, shifted):
                    return found
                self.idle.append(found)
        return DeviceMaps(self, dtype, count, shifted=shifted)

    def outside(self, tier: int, dtype: np.dtype[Any]) -> int:
        """How many numbers the bundles of a tier hold, if shared memory is too small for them."""
        room = self.rooms[tier]
        if room.shared_bytes(dtype, packs=True, outside=False) <= most_shared_bytes():
            return 0
        return int(np.diff(self.bundles.tiers)[tier]) * room.numbers(packs=True)

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


class Version(Network, Protocol):
    """What is asked of a `Hierarchy`, which makes versions of itself by this module."""

    @property
    def graph(self) -> Graph:
        """What it answers for."""

    @property
    def structure(self) -> Structure:
        """The order of the vertices, and the arcs that it makes."""

    @property
    def slots(self) -> NDArray[np.uint32]:
        """Where the arcs of the graph stand among the directed chordal arcs."""

    def keep(self, key: str, value: Any) -> None:
        """Keep what was made from it."""

    def layered(self, dtype: np.dtype[Any]) -> Any:
        """Return its weights in one dtype, found on the CPU."""


class ArcWeights(NamedTuple):
    """Weights of a graph's arcs on their way to a device.

    Attributes
    ----------
    all : ndarray or device array, shape (m,)
        Of all arcs, but for changes.
    places : ndarray, shape (k,), int64
        The arcs that weigh something else, each once.
    values : ndarray, shape (k,)
        Their weights. Closed arcs weigh INF or more.
    """

    all: Any
    places: NDArray[np.int64]
    values: NDArray[Any]


class Weights:
    """What a customization of some versions in one dtype works with on a device: one at a time.

    Attributes
    ----------
    lock : Lock
        Held from bringing the weights of arcs until the maps have been made.
    basic, perfect : device arrays, shape (count, 2 c)
        Up and down along every chordal arc, before and after the perfect pass.
    lengths : device array, shape (count, 2, n), int32
        Of the longest ways up from every rank, and down to it: 32-bit floats.
    spare : device array
        Ways of bundles, where shared memory is too small for them.
    """

    def __init__(self, tree: DeviceTree, dtype: np.dtype[Any], count: int) -> None:
        arcs, n = tree.arcs, tree.bundles.rank.size
        self.lock, self.count = threading.Lock(), count
        self.basic, self.perfect = (
            device_array((count, max(1, 2 * arcs)), dtype) for _ in range(2)
        )
        self.lengths = device_array((count, 2, max(1, n)), INDEX)
        outside = max((tree.outside(tier, dtype) for tier in range(tree.tiers)), default=0)
        self.spare = device_array(max(1, count * outside), dtype)
        self._brought = device_array((count, 1), dtype)

    def brought(self, versions: Sequence[ArcWeights], stream: Any) -> Any:
        """Return the weights of graphs' arcs on the device, where those before them were."""
        m = versions[0].all.size
        if self._brought.shape[1] != max(1, m):
            self._brought = device_array((self.count, max(1, m)), self.basic.dtype)
        if not m:
            return self._brought
        row = m * self._brought.dtype.itemsize
        for number, version in enumerate(versions):
            if SIMULATOR or isinstance(version.all, np.ndarray):
                self._brought[number].copy_to_device(version.all, stream=stream)
            else:
                there = address(self._brought) + number * row
                copy_bytes(there, address(version.all), row, stream)
        places = np.concatenate([own.places + i * m for i, own in enumerate(versions)])
        if places.size:
            values = np.concatenate([version.values for version in versions])
            make_changes_kernel(self.basic.dtype)[-(-places.size // THREADS), THREADS, stream](
                upload(places),
                upload(values),
                self._brought.reshape(self._brought.size),
            )
        return self._brought


class DeviceMap:
    """The weights of a map in one dtype on one device.

    Attributes
    ----------
    number : int
        No other has had it.
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
        Scratch of sweeps, which all maps of a tree share.
    nothing : tuple of device arrays
        What kernels take that fold nothing, in place of totals, and no targets.
    """

    _numbers = count()

    def __init__(self, maps: DeviceMaps, own: int) -> None:
        self.number = next(self._numbers)
        tree, dtype = maps.tree, maps.dtype
        self.tree, self.dtype = tree, dtype
        self.pool, self.nothing = tree.pool(dtype), maps.nothing
        self.up, self.down = (
            (tree["up_first"], *(array[own] for array in arrays)) for arrays in (maps.up, maps.down)
        )
        self.stream_first = tree["stream_first"]
        self.stream_stop, self.stream = maps.stream_stop[own], maps.stream[own]
        self.selected = Streams(dtype, self.streams)
        self.between, self.shifts = maps.between[own], maps.shifts
        self.nbytes = tree.nbytes + maps.nbytes // maps.count
        self.joined = self.fits = False

    @property
    def streams(self) -> tuple[Any, ...]:
        """Where the stream of every bundle begins and ends, and all of them."""
        return self.stream_first, self.stream_stop, self.stream


class DeviceMaps:
    """Memory for some maps in one dtype on one device, which are customized together.

    Attributes
    ----------
    tree : DeviceTree
    count : int
        How many there may be.
    shifted : bool
        Whether weights are between potentials; then there is one map.
    up, down : tuples of device arrays, shape (count, ...)
        As of `DeviceMap`, without where the arcs begin; the same of `stream_stop`, `stream` and
        `between`.
    shifts : device array, shape (n,) or (0,)
    found : device array, shape (count, WORDS), int32
        What kernels note of every map.
    nbytes : int
        Bytes of the device, without the tree.
    maps : list of DeviceMap
    """

    def __init__(
        self, tree: DeviceTree, dtype: np.dtype[Any], count: int, *, shifted: bool
    ) -> None:
        self.tree, self.dtype, self.count, self.shifted = tree, dtype, count, shifted
        bundles, n, arcs = tree.bundles, max(1, tree.bundles.rank.size), max(1, tree.arcs)
        self.nothing = cuda.to_device(np.zeros((1, 1, 1), INT64)), _there(np.empty(0, INT64))
        self.up, self.down = (
            (
                device_array((count, n), np.uint32),
                device_array((count, arcs), INDEX),
                device_array((count, arcs), dtype),
            )
            for _ in range(2)
        )
        self.stream_stop = device_array((count, max(1, bundles.lowest.size)), np.uint32)
        words = max(1, tree.stream_arcs) * stream_words(dtype)
        self.stream = device_array((count, words), INT64)
        self.shifts = device_array(n, dtype) if shifted else _there(np.empty(0, dtype))
        top = max(bundles.top, 1)
        self.matrix = Matrix(top, dtype, cuda.stream(), with_tails=False, count=count)
        self.between = self.matrix.flat.reshape((count, top * top))
        self.found = device_array((count, WORDS), INDEX)
        # (between what is kept stands anything, but always a rank; and nothing is negative)
        for array in (self.down[1], self.matrix.flags):
            fill(array, INDEX.type(0), self.matrix.stream)
        self._launches = Launches()
        own = *self.up, *self.down, self.stream_stop, self.stream, self.between
        self.nbytes = sum(array.nbytes for array in own)
        self.maps = [DeviceMap(self, i) for i in range(count)]

    @property
    def most(self) -> np.float32:
        """The greatest weight with which no climb and descent can leave the dtype.

        Between potentials it takes more than that.
        """
        longest = 0 if self.shifted else ROUNDED_UP * 2 * max(1, self.tree.height)
        return np.float32(float(infinity(self.dtype)) / longest if longest else 0)

    def customize(
        self,
        versions: Sequence[ArcWeights],
        slots: NDArray[np.uint32],
        potentials: NDArray[Any] | None = None,
    ) -> None:
        """Find the weights of maps for those of the arcs of graphs, which are not negative.

        Parameters
        ----------
        versions : sequence of ArcWeights
            For as many of the maps.
        slots : ndarray, shape (m,), uint32
            `slots_of` the graphs.
        potentials : ndarray, shape (n,), or None
            That the weights are between.
        """
        weights, stream = self.tree.weights(self.dtype, self.count), self.matrix.stream
        if potentials is not None:
            self.shifts.copy_to_device(potentials)
        givers, own = self.tree.givers(slots), len(versions)
        for version in self.maps[:own]:
            version.selected.renew()
        with weights.lock:
            brought = weights.brought(versions, stream)
            self._launches.do(
                (own, *map(address, (brought, givers))),
                stream,
                lambda stream: self.launch(weights, brought, givers, stream, own),
            )
            found = on_host(self.found, stream)
        lengths = found.view(FLOAT32).astype(float)
        far = 0.0 if potentials is None else -2.0 * float(potentials.min(initial=0))
        for version, words, noted in zip(self.maps[:own], found, lengths, strict=False):
            longest = max(
                noted[LONGEST_UP] + noted[LONGEST_DOWN], 2 * noted[GREATEST], 2 * noted[FARTHEST]
            )
            measured = noted[GREATEST] > self.most
            fits = ROUNDED_UP * (longest + far) < float(infinity(self.dtype))
            version.fits = bool(fits or not (measured or self.shifted))
            version.joined = not words[APART]

    def launch(
        self, weights: Weights, arc_weights: Any, givers: Any, stream: Any, versions: int
    ) -> None:
        """Launch all kernels of `customize`, for the first of the maps."""
        tree, dtype, bundles = self.tree, self.dtype, self.tree.bundles
        arcs, places = (tree["arcs_first"], tree["heads"]), tree["ranks places depth"]
        basic, perfect, lengths, found = (
            weights.basic, weights.perfect, weights.lengths, self.found
        )  # fmt: skip
        entries = max(tree.given_first, self.between.shape[1], WORDS)
        make_first_weights_kernel(dtype)[(-(-entries // THREADS), versions), THREADS, stream](
            np.uint32(tree.given_first), arc_weights, givers, basic, self.between, found
        )
        for tier in reversed(range(tree.tiers)):
            self._launch_tier(
                make_basic_kernel, tier, versions, stream,
                *tree[
                    "bundle_first step_first step_triangles arcs_first triangle_first legs thirds "
                    "pair_first pairs pair_arcs"
                ],
                np.uint32(tier + 1 == tree.tiers), arc_weights, givers, basic, found, weights.spare,
            )  # fmt: skip
        levels = list(pairwise(bundles.levels.tolist()))
        for low, high in reversed(levels):
            make_basic_level_kernel(dtype)[(high - low, versions), VERTEX_THREADS, stream](
                np.uint32(low), tree["places"], *arcs, basic, found
            )
        top = bundles.top
        if top:
            size = np.uint32(top)
            make_to_top_kernel(dtype)[(top, versions), VERTEX_THREADS, stream](
                tree["places"], *arcs, basic, size, self.between, found
            )
            matrix = copy(self.matrix)
            matrix.stream, matrix.count = stream, versions
            launch_rounds(matrix)
            make_from_top_kernel(dtype)[(top, versions), VERTEX_THREADS, stream](
                *places, *arcs, size, self.between, perfect, lengths, found, *self.up, *self.down
            )
        for low, high in levels:
            make_perfect_level_kernel(dtype)[(high - low, versions), VERTEX_THREADS, stream](
                np.uint32(low), self.most, *places, *arcs, basic, perfect, lengths, found,
                *self.up, *self.down,
            )  # fmt: skip
        for tier in range(tree.tiers):
            self._launch_tier(
                make_perfect_kernel, tier, versions, stream,
                np.uint32(tree.group(tier).bit_length() - 1), self.most,
                np.uint32(tier + 1 < tree.tiers),
                *tree[
                    "ranks bundle_first boundary_first boundary step_first steps step_triangles "
                    "arcs_first heads depths rows triangle_first legs thirds pair_first pairs "
                    "pair_arcs"
                ],
                basic, perfect, lengths, found, *self.up, *self.down, tree["stream_first"],
                self.stream_stop, self.stream, weights.spare,
            )  # fmt: skip

    def _launch_tier(
        self, make: Any, tier: int, versions: int, stream: Any, *arguments: Any
    ) -> None:
        """Launch a kernel on the bundles of a tier, for some of the maps."""
        tree, dtype = self.tree, self.dtype
        low, high = tree.bundles.tiers[tier : tier + 2].tolist()
        room, outside = tree.rooms[tier], tree.outside(tier, dtype) > 0
        packs = make is make_perfect_kernel
        nbytes = room.shared_bytes(dtype, packs=packs, outside=outside)
        threads, bundles = room.crew(versions, packs=packs)
        grid, block = (-(-(high - low) // bundles), versions), (threads, bundles)
        configuration = grid, block, stream, bundles * nbytes
        own = map(np.uint32, (low, high, nbytes // UNIT, *room))
        launch(make(dtype, outside=outside), configuration, *own, *arguments)


class _Loan:
    """Memory of maps that hierarchies hold; when all are gone, other versions may have it."""

    def __init__(self, maps: DeviceMaps) -> None:
        self.maps = maps
        weakref.finalize(self, maps.tree.idle.append, maps).atexit = False


class _Held(NamedTuple):
    """A map that a hierarchy holds, and the memory that it is in."""

    map: DeviceMap
    loan: _Loan


def _tree(structure: Structure, number: int) -> DeviceTree:
    return structure.shared.made(f"cuda:{number}", lambda: DeviceTree(structure))


def _key(dtype: np.dtype[Any], number: int) -> str:
    return f"cuda:{number}, {dtype.char}"


def device_map(hierarchy: Version, dtype: np.dtype[Any], number: int) -> DeviceMap:
    """Return the weights of a map on a device, which is current; brought there once."""

    def make() -> _Held:
        return _customized(_tree(hierarchy.structure, number), [hierarchy], dtype, number)[0]

    return hierarchy.derived(_key(dtype, number), make).map


def customize_together(hierarchies: Sequence[Version], number: int) -> None:
    """Bring the weights of versions of one map to a device, some at a time.

    Each in the first dtype that questions are asked in. Those that may be negative come when they
    are asked for.
    """
    by_dtype: dict[np.dtype[Any], list[Version]] = {}
    for hierarchy in hierarchies:
        if hierarchy.graph.least_weight >= 0:
            dtype = hierarchy.graph.weight_range.working_dtypes(None)[0]
            by_dtype.setdefault(dtype, []).append(hierarchy)
    with select(number):
        for dtype, versions in by_dtype.items():
            tree = _tree(versions[0].structure, number)
            size = tree.together(dtype, len(versions))
            for first in range(0, len(versions), size):
                some = versions[first : first + size]
                for one, held in zip(some, _customized(tree, some, dtype, number), strict=True):
                    one.keep(_key(dtype, number), held)


def _customized(
    tree: DeviceTree, hierarchies: Sequence[Version], dtype: np.dtype[Any], number: int
) -> list[_Held]:
    """Customize versions together; one whose weights may be negative by itself."""
    graph = hierarchies[0].graph
    shifted = graph.least_weight < 0
    loan = _Loan(tree.lend(dtype, len(hierarchies), shifted=shifted))
    held = [_Held(own, loan) for own, _ in zip(loan.maps.maps, hierarchies, strict=False)]
    if not shifted:
        versions = [_weights_of(hierarchy, dtype, number) for hierarchy in hierarchies]
        loan.maps.customize(versions, hierarchies[0].slots)
        return held
    metric = hierarchies[0].layered(dtype)
    if not metric.fits:
        held[0].map.fits = False
        return held
    weights, potentials = graph.weights_as(dtype), metric.potentials
    assert potentials is not None
    heights = potentials[graph.indices] - potentials[graph.tails]
    is_open = weights < infinity(dtype)
    weights = np.where(is_open, np.maximum(weights - heights, 0), infinity(dtype))
    loan.maps.customize([_unchanged(weights)], hierarchies[0].slots, potentials)
    return held


def _weights_of(hierarchy: Version, dtype: np.dtype[Any], number: int) -> ArcWeights:
    """Return the weights of a map's arcs, which may be on the device.

    Of a graph that was made by a change only what changes: the others are those of the other graph,
    which stay on the device.
    """
    graph, change, name = hierarchy.graph, hierarchy.graph._change, f"weights, {dtype}"
    if change is not None and change.values.dtype.kind == dtype.kind:
        base = change.graph
        if float(base.greatest_weight) < float(infinity(dtype)):
            there = device_graph(base, number).array(name, lambda: base.weights_as(dtype))
            return ArcWeights(there, change.places, converted(change.values, dtype))
    held = device_graph(graph, number).held(name)
    return _unchanged(np.ascontiguousarray(graph.weights_as(dtype)) if held is None else held)


def _unchanged(weights: Any) -> ArcWeights:
    return ArcWeights(weights, np.empty(0, INT64), np.empty(0, weights.dtype))


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
