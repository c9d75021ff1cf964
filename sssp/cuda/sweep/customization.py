"""Customize a prepared map on a GPU, to several sets of weights at a time.

The twin of `sssp.cpu.sweep.customization`, on the pieces that `sssp.order.tree_partition` cuts the
elimination tree into: the basic pass (`basic_pass`) goes up through tiers and levels,
Floyd-Warshall closes the top, the perfect pass (`perfect_pass`) comes back down and packs what is
kept for sweeps.

A thread block holds the *ways* of a bundle in shared memory, up and down along every arc: first the
arcs above its members, in the order of places, then those within its boundary, which belong to the
bundles above; ways over members come to them at the end. A member is the lower corner of triangles:
two arcs of its own, the *legs*, and the arc between their heads, the *third* side. Triangles are
listed once for a structure, by these numbers. Those of members of one depth go together, a *step*,
a thread each, and the next two of a thread are read ahead. Where a warp is enough for a bundle a
block has several, which do not wait for each other.

On levels, where separators are too wide for shared memory, a block takes a vertex, and finds the
third sides of its triangles among sorted arcs.

Several *sets* of weights are customized together, because one set alone leaves most of a GPU idle:
the arrays of a set are rows of arrays of all sets, and a row of the grid of blocks is a set.

Weights are never negative here: where the graph's are, those between potentials take their place.
The host does not wait for a customization: it goes on, and what reads a map is queued behind it. So
new weights are customized while the host still makes a graph of them (`Ahead`), or checks the next
question; only what needs to know whether sums fit, or whether all vertices are joined, waits.

Lengths of climbs, which bound all sums, are 32-bit floats. Their bits are compared as integers,
which gives the same order. They are found only where the greatest weight, which the basic pass
knows, does not bound them well enough.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from functools import partial
from itertools import count, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sssp.cuda.availability import SIMULATOR, cuda, device_number, select
from sssp.cuda.compiler import launch_by_name
from sssp.cuda.device.grid import blocks_at_once
from sssp.cuda.device.warp import WARP
from sssp.cuda.device_memory import device_graph, fetch, free_bytes, upload
from sssp.cuda.driver import address, copy_bytes, event
from sssp.cuda.graph_replay import Launches, key_of
from sssp.cuda.matrix.floyd_warshall import launch_rounds
from sssp.cuda.matrix.matrix_driver import Matrix
from sssp.cuda.pool import THREADS, Shelf, current_pool, device_array, fill
from sssp.cuda.sweep import basic_pass, perfect_pass, triangle_walk
from sssp.cuda.sweep.device_tree import DeviceTree
from sssp.cuda.sweep.packed_arcs import ArcStreams, stream_words
from sssp.cuda.sweep.perfect_pass import KeptArcs
from sssp.cuda.sweep.target_selection import SelectedStreams
from sssp.errors import DeviceError
from sssp.graph.weights import converted
from sssp.kernels.dtypes import (
    FLOAT32,
    INDEX,
    INT32,
    INT64,
    infinity,
    largest_distance,
    safe_length,
)
from sssp.order.prepared_map import PreparedMap
from sssp.order.structure import Structure

#: how often maps that are customized together leave memory for others when they are gone
KEPT_MAPS = 2
#: versions that are customized together at most, and the part of a device's memory they may take
TOGETHER, SHARE_TOGETHER = (4 if SIMULATOR else 64), 1 / 16
#: blocks of a multiprocessor that share the vertices of a level
LEVEL_BLOCKS = 8
#: longest ways are added up in 32-bit floats: they are less than this many times as long
ROUNDED_UP = 1 + 1 / 1024


class ArcWeights(NamedTuple):
    """A graph's arc weights to copy to a device: a base array, and the weights that differ.

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
    """Device memory in which several sets of weights are customized together, in one dtype.

    Attributes
    ----------
    arrays : dict of device arrays, by the parameter names of kernels
        `weights` and `perfect`, shape (count, 2 c): up and down along every chordal arc, before and
        after the perfect pass. `lengths`, shape (count, 2, n), int32: of the longest ways up from
        every rank, and down to it, 32-bit floats. `spare`: ways of bundles, where shared memory is
        too small for them.
    """

    def __init__(self, tree: DeviceTree, dtype: np.dtype[Any], count: int) -> None:
        self._lock, self._used, self.count = threading.Lock(), event(), count
        outside = max((tree.outside(tier, dtype) for tier in range(tree.tiers)), default=0)
        self.arrays = {
            "weights": device_array((count, max(1, 2 * tree.arcs)), dtype),
            "perfect": device_array((count, max(1, 2 * tree.arcs)), dtype),
            "lengths": device_array((count, 2, max(1, tree.size)), INDEX),
            "spare": device_array(max(1, count * outside), dtype),
        }
        self._arc_weights = device_array((count, 1), dtype)
        #: the arrays that kernels work in, which stay the same
        self.replay_key = key_of(tuple(self.arrays.values()))

    @contextmanager
    def lease(self, stream: Any) -> Iterator[None]:
        """Lock the weight arrays in a ``with`` block; make `stream` wait for earlier work."""
        with self._lock:
            self._used.wait(stream)
            try:
                yield
            finally:
                self._used.record(stream)

    def bring(self, versions: Sequence[ArcWeights], stream: Any) -> Any:
        """Copy several sets of arc weights to the device; return the device array."""
        m = versions[0].all.size
        if self._arc_weights.shape[1] != max(1, m):
            self._arc_weights = device_array((self.count, max(1, m)), self._arc_weights.dtype)
        if not m:
            return self._arc_weights
        row = m * self._arc_weights.dtype.itemsize
        for number, version in enumerate(versions):
            if SIMULATOR:
                self._arc_weights[number].copy_to_device(version.all, stream=stream)
            else:
                on_host = isinstance(version.all, np.ndarray)
                start = version.all.ctypes.data if on_host else address(version.all)
                copy_bytes(address(self._arc_weights) + number * row, start, row, stream)
        places = np.concatenate([own.places + i * m for i, own in enumerate(versions)])
        if places.size:
            values = np.concatenate([version.values for version in versions])
            there = [device_array(given.size, given.dtype) for given in (places, values)]
            for array, given in zip(there, (places, values), strict=True):
                array.copy_to_device(given, stream=stream)
            basic_pass.changes_kernel[-(-places.size // THREADS), THREADS, stream](
                *there, self._arc_weights.reshape(self._arc_weights.size)
            )
        return self._arc_weights


class Work(NamedTuple):
    """Arc weights and working memory for one customization to several sets of weights.

    Attributes
    ----------
    memory : Weights
    arc_weights : device array, shape (versions or more, m)
        Of the arcs of graphs.
    givers : device array, shape (2 c,), uint32
        Which of these arcs gives a chordal arc its weight, up and down.
    versions : int
        How many maps.
    """

    memory: Weights
    arc_weights: Any
    givers: Any
    versions: int


class Findings:
    """Overflow and connectivity status of the last customization of maps on a GPU.

    Parameters
    ----------
    maps : DeviceMaps

    Attributes
    ----------
    noted : pinned array, shape (count, WORDS), int32
        What kernels note of every map.
    done : event
        The end of the customization.
    is_pending : bool
        Whether nobody has waited for it yet.
    farthest : float
        What potentials add to the length of a path at most.
    sources : sequence of ArcWeights
        The weights, which may still be on their way.
    """

    def __init__(self, maps: DeviceMaps) -> None:
        self.done, self.is_pending, self.farthest = event(), False, 0.0
        self.safe, self.most, self.shifted = maps.safe, maps.most, maps.shifted
        self.noted = cuda.pinned_array((maps.count, triangle_walk.WORDS), INDEX)
        self.sources: Sequence[ArcWeights] = ()

    def __del__(self, is_ending: Callable[[], bool] = sys.is_finalizing) -> None:
        # (what is under way still writes to this memory)
        if self.is_pending and not is_ending():
            with suppress(Exception):  # (the device's context may be gone before)
                self.done.synchronize()

    def read(self, own: int) -> tuple[bool, bool]:
        """Wait for the device; return two flags: sums fit the dtype; the map is strongly connected.

        Kernels measure the longest ways only where some weight is above `most`. If none is, all
        sums fit: a path has less than `height` arcs up and less than `height` down, so it is
        shorter than 2 * height * most, which is safe / ROUNDED_UP. Between potentials that proves
        nothing, for they may come on top.
        """
        self.done.synchronize()
        self.is_pending, self.sources = False, ()
        lengths = self.noted[own].view(FLOAT32).astype(float)
        longest = max(
            lengths[triangle_walk.LONGEST_UP] + lengths[triangle_walk.LONGEST_DOWN],
            2 * lengths[triangle_walk.GREATEST],
            2 * lengths[triangle_walk.FARTHEST],
        )
        is_short = ROUNDED_UP * (longest + self.farthest) < self.safe
        measured = self.shifted or lengths[triangle_walk.GREATEST] > self.most
        return bool(is_short or not measured), not self.noted[own, triangle_walk.APART]


class DeviceMap:
    """The customized weights of a map in one dtype on one device.

    Its customization may be under way: what is queued on other streams waits for
    ``findings.done``, until `settle` has been called.

    Attributes
    ----------
    number : int
        No other has had it.
    tree : DeviceTree
    kept : KeptArcs
    streams : ArcStreams
        Arcs down into bundles, as they are swept.
    selected : SelectedStreams
        The same of selections.
    between : device array, shape (top * top,)
        Distances within the top.
    shifts : device array, shape (n,) or (0,)
        Potentials of the vertices, if the weights are between them.
    findings : Findings
    fits : bool or None
        Whether no sum, here or in a sweep, can leave the dtype; None before `settle`.
    joined : bool
        Whether every vertex reaches every other; before `settle`, whether all did last time.
    joined_by_turns : bool or None
        Whether those of a graph with turns do, in its expansion; None: not known yet.
    nbytes : int
        Bytes of the device, of the tree too.
    shelf : Shelf
        Scratch of sweeps, which all maps of a tree share.
    nothing : tuple of device arrays
        What kernels take that fold nothing, in place of totals, and no targets.
    base : DeviceMap
        The map of `DeviceMaps` that this is a copy of, which keeps no memory reserved.
    loan : Loan
        Keeps the memory from other versions, for a hierarchy and for calls that are under way.
    setups : dict
        What calls of a kind have set up, by kind.
    """

    base: DeviceMap
    loan: Loan
    setups: dict[Any, Any]
    _numbers = count()

    def __init__(self, maps: DeviceMaps, own: int) -> None:
        self.number = next(self._numbers)
        #: the identity of its arrays, which never change
        self.replay_key = DeviceMap, self.number
        tree, dtype = maps.tree, maps.dtype
        self.tree, self.dtype, self.findings, self._own = tree, dtype, maps.findings, own
        self.shelf = tree.made.get_or_build(f"scratch {dtype.char}", lambda: Shelf(current_pool()))
        self.nothing = maps.nothing
        self.kept = KeptArcs(*(array[own] for array in maps.kept))
        self.streams = ArcStreams(tree["stream_first"], maps.stream_stop[own], maps.stream[own])
        self.selected = SelectedStreams(dtype, self.streams)
        self.between, self.shifts = maps.between[own], maps.shifts
        self.nbytes = tree.nbytes + maps.nbytes // maps.count
        self.joined = False
        self.fits: bool | None = None
        self.joined_by_turns: bool | None = None

    def with_loan(self, loan: Loan) -> DeviceMap:
        """Return a copy of this map; its device memory stays reserved until the copy is deleted."""
        own = copy(self)
        own.base, own.loan, own.setups = self, loan, {}
        return own

    def settle(self) -> DeviceMap:
        """Wait for the customization; set `fits` (no overflow) and `joined` (connected)."""
        if self.fits is None:
            self.fits, self.joined = self.findings.read(self._own)
            self.base.joined = self.joined
        return self


class DeviceMaps:
    """Device memory for several maps in one dtype that are customized together.

    Attributes
    ----------
    tree : DeviceTree
    count : int
        How many there may be.
    shifted : bool
        Whether weights are between potentials; then there is one map.
    kept : KeptArcs
    stream_stop, stream, between : device arrays, shape (count, ...)
        As of `DeviceMap`.
    shifts : device array, shape (n,) or (0,)
    found : device array, shape (count, WORDS), int32
        What kernels note of every map.
    nbytes : int
        Bytes of the device, without the tree.
    maps : list of DeviceMap
    safe : float
        Length below which paths are sure to fit the dtype, measured in 32-bit floats.
    most : float32
        Greatest weight with which no path up and down can exceed the dtype.
    searches : dict
        Sweeps of the maps, which depend on their memory alone, by map and kind of call.
    """

    def __init__(
        self, tree: DeviceTree, dtype: np.dtype[Any], count: int, *, shifted: bool
    ) -> None:
        self.tree, self.dtype, self.count, self.shifted = tree, dtype, count, shifted
        bundles, n, arcs = tree.bundles, max(1, tree.bundles.rank.size), max(1, tree.arcs)
        self.nothing = cuda.to_device(np.zeros((1, 1, 1), INT64)), upload(np.empty(0, INT64))
        kinds = ((n, np.uint32), (arcs, INDEX), (arcs, dtype)) * 2
        self.kept = KeptArcs(*(device_array((count, size), kind) for size, kind in kinds))
        self.stream_stop = device_array((count, max(1, bundles.lowest.size)), np.uint32)
        words = max(1, tree.stream_arcs) * stream_words(dtype)
        self.stream = device_array((count, words), INT64)
        self.shifts = device_array(n, dtype) if shifted else upload(np.empty(0, dtype))
        top = max(bundles.top, 1)
        self.matrix = Matrix(top, dtype, cuda.stream(), with_tails=False, count=count)
        self.between = self.matrix.flat.reshape((count, top * top))
        self.found = device_array((count, triangle_walk.WORDS), INDEX)
        # (between what is kept stands anything, but always a rank; and nothing is negative)
        for array in (self.kept.down_ends, self.matrix.flags):
            fill(array, INDEX.type(0), self.matrix.stream)
        self._launches = Launches()
        own = self.kept._asdict() | {
            "stream_stop": self.stream_stop,
            "stream": self.stream,
            "matrix": self.between,
        }
        self.nbytes = sum(array.nbytes for array in own.values())
        self.safe = min(safe_length(dtype), safe_length(FLOAT32))
        # (between potentials it takes more than that)
        longest = ROUNDED_UP * 2 * max(1, tree.height)
        self.most = np.float32(0 if shifted else self.safe / longest)
        #: what kernels take of tree and maps, by their parameter names
        self.arrays = tree.arrays | own | {"found": self.found, "most": self.most}
        self.findings = Findings(self)
        self.maps = [DeviceMap(self, i) for i in range(count)]
        self.searches: dict[Any, Any] = {}

    def customize(
        self,
        versions: Sequence[ArcWeights],
        slots: NDArray[np.uint32],
        potentials: NDArray[Any] | None = None,
        after: Any = None,
    ) -> None:
        """Queue the customization of one map to each given set of non-negative weights.

        Parameters
        ----------
        versions : sequence of ArcWeights
            For as many of the maps.
        slots : ndarray, shape (m,), uint32
            `slots_of` the graphs.
        potentials : ndarray, shape (n,), or None
            That the weights are between.
        after : stream, optional
            What it has queued comes first.
        """
        weights, stream = working_memory(self.tree, self.dtype, self.count), self.matrix.stream
        findings, far = self.findings, 0.0
        if findings.is_pending:
            findings.done.synchronize()
        if after is not None:
            findings.done.record(after)
            findings.done.wait(stream)
        if potentials is not None:
            self.shifts.copy_to_device(potentials)
            far = -2.0 * float(potentials.min(initial=0))
        for version in self.maps[: len(versions)]:
            version.selected.renew()
        with weights.lease(stream):
            arc_weights = weights.bring(versions, stream)
            work = Work(weights, arc_weights, self.tree.givers(slots), len(versions))
            findings.is_pending, findings.farthest, findings.sources = True, far, versions
            self._launches.do(customize, stream, self, work)
            findings.done.record(stream)

    def _basic_stages(self) -> list[tuple[str, Callable[[Work, Any], None]]]:
        """Return (name, launch function) pairs for basic customization below the top vertices."""
        levels = list(pairwise(self.tree.bundles.levels.tolist()))
        return [
            ("first weights", self._first_weights),
            *(
                (f"basic pass, tier {tier}", partial(self._basic_tier, tier))
                for tier in range(self.tree.tiers)[::-1]
            ),
            *(
                ("basic pass, a level", partial(self._basic_level, *level))
                for level in levels[::-1]
            ),
        ]

    def stages(self) -> list[tuple[str, Callable[[Work, Any], None]]]:
        """Return the kernel launches of a customization in order, as (name, function) pairs."""
        tiers, levels = range(self.tree.tiers), list(pairwise(self.tree.bundles.levels.tolist()))
        return [
            *self._basic_stages(),
            ("top", self._close_top),
            *(("perfect pass, a level", partial(self._perfect_level, *level)) for level in levels),
            *([("levels packed", self._pack_levels)] if levels else []),
            *((f"perfect pass, tier {tier}", partial(self._perfect_tier, tier)) for tier in tiers),
        ]

    def _launch(self, make: Any, configuration: Any, work: Work, **numbers: int) -> None:
        """Launch a kernel on the sets of weights in `work`, with arguments found by name."""
        arrays = self.arrays | work.memory.arrays | work._asdict()
        words = {name: np.uint32(number) for name, number in numbers.items()}
        launch_by_name(make(self.dtype), configuration, arrays, **words)

    def _first_weights(self, work: Work, stream: Any) -> None:
        count = self.tree.given_first
        grid = -(-max(count, self.between.shape[1], triangle_walk.WORDS) // THREADS), work.versions
        first = basic_pass.make_first_weights_kernel
        self._launch(first, (grid, THREADS, stream), work, count=count)

    def _basic_tier(self, tier: int, work: Work, stream: Any) -> None:
        lowest = tier + 1 == self.tree.tiers
        self._launch_tier(basic_pass.make_basic_kernel, tier, work, stream, lowest=lowest)

    def _basic_level(self, low: int, high: int, work: Work, stream: Any) -> None:
        level = _grid_of_level(high - low, work), triangle_walk.VERTEX_THREADS, stream
        self._launch(basic_pass.make_basic_level_kernel, level, work, first_place=low)

    def _close_top(self, work: Work, stream: Any) -> None:
        """Find all distances between the top vertices by Floyd-Warshall; write them to the arcs."""
        top = self.tree.bundles.top
        if not top:
            return
        rows = (top, work.versions), triangle_walk.VERTEX_THREADS, stream
        self._launch(basic_pass.make_to_top_kernel, rows, work, size=top)
        matrix = copy(self.matrix)
        matrix.stream, matrix.count = stream, work.versions
        launch_rounds(matrix)
        self._launch(perfect_pass.make_from_top_kernel, rows, work, size=top)

    def _perfect_level(self, low: int, high: int, work: Work, stream: Any) -> None:
        for make, grid in (
            (perfect_pass.make_perfect_level_kernel, _grid_of_level(high - low, work)),
            (perfect_pass.make_lengths_level_kernel, (high - low, work.versions)),
        ):
            self._launch(make, (grid, triangle_walk.VERTEX_THREADS, stream), work, first_place=low)

    def _pack_levels(self, work: Work, stream: Any) -> None:
        low, high = self.tree.bundles.levels[[0, -1]].tolist()
        grid = -(-(high - low) // (triangle_walk.VERTEX_THREADS // WARP)), work.versions
        pack = perfect_pass.make_pack_levels_kernel
        levels = grid, triangle_walk.VERTEX_THREADS, stream
        self._launch(pack, levels, work, first_place=low, last_place=high)

    def _perfect_tier(self, tier: int, work: Work, stream: Any) -> None:
        feeds, bits = tier + 1 < self.tree.tiers, self.tree.group(tier).bit_length() - 1
        make = perfect_pass.make_perfect_kernel
        self._launch_tier(make, tier, work, stream, group_bits=bits, feeds=feeds)

    def _launch_tier(self, make: Any, tier: int, work: Work, stream: Any, **others: int) -> None:
        """Launch a kernel on one layer of subtrees of the elimination tree, for all weight sets."""
        tree, dtype, versions = self.tree, self.dtype, work.versions
        low, high = tree.bundles.tiers[tier : tier + 2].tolist()
        room, outside = tree.rooms[tier], tree.outside(tier, dtype) > 0
        packs = make is perfect_pass.make_perfect_kernel
        nbytes = room.shared_bytes(dtype, packs=packs, outside=outside)
        threads, bundles = room.crew(versions, packs=packs)
        grid, block = (-(-(high - low) // bundles), versions), (threads, bundles)
        self._launch(
            partial(make, outside=outside), (grid, block, stream, bundles * nbytes), work,
            first_bundle=low, last_bundle=high, units=nbytes // triangle_walk.UNIT, room=room.rows,
            arc_room=room.arcs, ways_room=room.ways, **others,
        )  # fmt: skip


def customize(stream: Any, maps: DeviceMaps, work: Work) -> None:
    """Queue the kernels that customize maps to the weights in `work`; copy their status to host."""
    for _, stage in maps.stages():
        stage(work, stream)
    fetch(maps.found, maps.findings.noted, stream)


def _pass_basic(stream: Any, maps: DeviceMaps, work: Work) -> None:
    """Launch the kernels of basic customization only, without the perfect customization."""
    for _, stage in maps._basic_stages():
        stage(work, stream)
    for low, high in [*pairwise(maps.tree.top_levels)][::-1]:
        maps._basic_level(low, high, work, stream)


def _grid_of_level(vertices: int, work: Work) -> tuple[int, int, int]:
    """Return the launch grid for the vertices of one tree level: enough blocks to fill the GPU."""
    blocks = LEVEL_BLOCKS if SIMULATOR else blocks_at_once(LEVEL_BLOCKS)
    return vertices, work.versions, -(-blocks // (vertices * work.versions))


def working_memory(tree: DeviceTree, dtype: np.dtype[Any], count: int) -> Weights:
    """Return the working memory to customize several sets of weights; allocated once."""
    key = f"weights {dtype.char} {count}"
    return tree.made.get_or_build(key, lambda: Weights(tree, dtype, count))


def together(tree: DeviceTree, dtype: np.dtype[Any], versions: int) -> int:
    """Return how many sets of weights are customized at once, limited by device memory."""
    n, arcs, top = tree.bundles.rank.size, tree.arcs, tree.bundles.top
    one = (8 * n + 6 * arcs + top * top) * dtype.itemsize + 8 * (n + arcs)
    one += 8 * stream_words(dtype) * tree.stream_arcs
    memory = free_bytes() if SIMULATOR else int(cuda.current_context().get_memory_info().total)
    # (of no vertices they take nothing)
    fitting = min(TOGETHER, int(memory * SHARE_TOGETHER) // max(1, one))
    return min(versions, 1 << max(1, fitting).bit_length() - 1)


class Loan:
    """Reserved device memory for customized maps, reusable once no hierarchy holds any of them.

    Parameters
    ----------
    tree : DeviceTree
    dtype : dtype
    versions : int
        Most maps.
    shifted : bool
        Whether the weights are between potentials.

    Attributes
    ----------
    maps : DeviceMaps
        Of versions that are gone, or new.
    """

    def __init__(
        self, tree: DeviceTree, dtype: np.dtype[Any], versions: int, *, shifted: bool
    ) -> None:
        idle = tree.made.get_or_build("idle maps", lambda: deque[DeviceMaps](maxlen=KEPT_MAPS))
        count = 1 << (versions - 1).bit_length()
        kept = _take_idle(idle, (dtype, count, shifted))
        self.maps = kept or DeviceMaps(tree, dtype, count, shifted=shifted)
        # (without the lock, for that may happen in the midst of it)
        weakref.finalize(self, idle.append, self.maps).atexit = False


_taking = threading.Lock()


def _take_idle(idle: deque[DeviceMaps], kind: tuple[Any, ...]) -> DeviceMaps | None:
    """Remove idle memory for maps of one kind from a queue; return it, or None if there is none."""
    with _taking:
        for _ in range(len(idle)):
            maps = idle.popleft()
            if _kind_of(maps) == kind:
                return maps
            idle.append(maps)
    return None


def _kind_of(maps: DeviceMaps) -> tuple[Any, ...]:
    return maps.dtype, maps.count, maps.shifted


def tree_of(structure: Structure, number: int) -> DeviceTree:
    """Return a structure's elimination tree in GPU memory, copied there on first use."""
    return structure.shared.get_or_build(f"cuda:{number}", lambda: DeviceTree(structure))


def _key(dtype: np.dtype[Any], number: int) -> str:
    return f"cuda:{number}, {dtype.char}"


def device_map(hierarchy: PreparedMap, dtype: np.dtype[Any], number: int) -> DeviceMap:
    """Return the customized weights of a prepared map on a GPU, computed once and cached."""

    def make() -> DeviceMap:
        return _customize_all(tree_of(hierarchy._structure, number), [hierarchy], dtype, number)[0]

    return hierarchy._cached(_key(dtype, number), make)


class Ahead:
    """Customization on a GPU that starts before the host has built the new `Hierarchy`.

    Parameters
    ----------
    structure : Structure
    slots : ndarray, shape (m,), uint32
        `slots_of` the version.
    number : int
        The device.
    """

    def __init__(self, structure: Structure, slots: NDArray[np.uint32], number: int) -> None:
        self._structure, self._slots, self.number = structure, slots, number
        self._weights: Any = None
        self._queued: DeviceMap | None = None

    def queue(self, weights: Any, stream: Any) -> None:
        """Queue a customization with int32 weights in device memory, after the work on `stream`.

        Whatever they are, it ends; `adopt` takes what comes of weights that are usual.
        """
        with suppress(DeviceError):  # (then the first question says what is wrong)
            loan = Loan(tree_of(self._structure, self.number), INT32, 1, shifted=False)
            loan.maps.customize([_without_changes(weights)], self._slots, after=stream)
            self._weights, self._queued = weights, loan.maps.maps[0].with_loan(loan)

    def adopt(self, version: PreparedMap) -> None:
        """Cache the queued customization in a hierarchy, if made for that hierarchy's weights.

        Not if some are negative, or if distances are sure to leave int32.
        """
        graph, queued = version.graph, self._queued
        if queued is None or graph.least_weight < 0:
            return
        # (these are in int32; others may be too large for any dtype)
        if device_graph(graph, self.number).held(f"weights, {INT32}") is not self._weights:
            return
        if graph._weight_range.working_dtypes(None)[0] == INT32:
            version._cached(_key(INT32, self.number), lambda: queued)


def find_idle_memory(structure: Structure, slots: NDArray[np.uint32]) -> Ahead | None:
    """Find idle GPU memory; return a customization (`Ahead`) that uses it; None if none is idle."""
    for name, tree in list(structure.shared.items()):
        idle = list(tree.made.get("idle maps", ())) if isinstance(tree, DeviceTree) else []
        if any(_kind_of(maps) == (INT32, 1, False) for maps in idle):
            with suppress(DeviceError):  # (this process may be a fork of the one that used it)
                return Ahead(structure, slots, device_number(name))
    return None


def customize_together(hierarchies: Sequence[PreparedMap], number: int) -> None:
    """Customize hierarchies of one structure on a device, several at a time.

    Each in the first dtype that questions are asked in. Those that may be negative come when they
    are asked for.
    """
    by_dtype: dict[np.dtype[Any], list[PreparedMap]] = {}
    for hierarchy in hierarchies:
        if hierarchy.graph.least_weight >= 0:
            dtype = hierarchy.graph._weight_range.working_dtypes(None)[0]
            by_dtype.setdefault(dtype, []).append(hierarchy)
    with select(number):
        for dtype, versions in by_dtype.items():
            tree = tree_of(versions[0]._structure, number)
            size = together(tree, dtype, len(versions))
            for first in range(0, len(versions), size):
                some = versions[first : first + size]
                for one, held in zip(some, _customize_all(tree, some, dtype, number), strict=True):
                    one._cached(_key(dtype, number), partial(lambda made: made, held))


def _customize_all(
    tree: DeviceTree, hierarchies: Sequence[PreparedMap], dtype: np.dtype[Any], number: int
) -> list[DeviceMap]:
    """Customize prepared maps to their weights on a GPU; return a `DeviceMap` for each."""
    shifted = hierarchies[0].graph.least_weight < 0
    loan = Loan(tree, dtype, len(hierarchies), shifted=shifted)
    maps = [each.with_loan(loan) for each in loan.maps.maps[: len(hierarchies)]]
    if not shifted:
        versions = [_weights_of(hierarchy, dtype, number) for hierarchy in hierarchies]
        loan.maps.customize(versions, hierarchies[0]._slots)
    elif hierarchies[0]._layered(dtype).fits:
        _customize_shifted(loan.maps, hierarchies[0])
    else:
        maps[0].fits = False
    return maps


def _customize_shifted(maps: DeviceMaps, hierarchy: PreparedMap) -> None:
    """Customize a map to negative weights, shifted by potentials to non-negative ones."""
    graph, dtype = hierarchy.graph, maps.dtype
    metric = hierarchy._layered(dtype)
    weights, potentials = graph.weights_as(dtype), metric.potentials
    assert potentials is not None
    heights = potentials[graph.indices] - potentials[graph.tails]
    is_open = weights < infinity(dtype)
    weights = np.where(is_open, np.maximum(weights - heights, 0), infinity(dtype))
    maps.customize([_without_changes(weights)], hierarchy._slots, potentials)


def _weights_of(hierarchy: PreparedMap, dtype: np.dtype[Any], number: int) -> ArcWeights:
    """Return the arc weights of a map's graph as `ArcWeights`; use a copy on the device if any.

    Of a graph that was made by a change only what changes: the others are those of the other graph,
    which stay on the device.
    """
    graph, change, name = hierarchy.graph, hierarchy.graph._change, f"weights, {dtype}"
    if change is not None and change.values.dtype.kind == dtype.kind:
        base = change.graph
        # (an arc that the change replaces may have weighed more than the dtype holds)
        if base._weight_range.largest <= largest_distance(dtype).item():
            there = device_graph(base, number).array(name, lambda: base.weights_as(dtype))
            return ArcWeights(there, change.places, converted(change.values, dtype))
    held = device_graph(graph, number).held(name)
    return _without_changes(np.ascontiguousarray(graph.weights_as(dtype)) if held is None else held)


@contextmanager
def basic_weights(
    prepared: PreparedMap, dtype: np.dtype[Any], number: int
) -> Iterator[tuple[DeviceMaps, Work]]:
    """Run only the basic customization on a GPU; yield the device memory of the new weights.

    The device is current; launches on the maps' stream find them there.
    """
    tree = tree_of(prepared._structure, number)
    loan = Loan(tree, dtype, 1, shifted=False)
    maps, memory = loan.maps, working_memory(tree, dtype, 1)
    with memory.lease(maps.matrix.stream):
        arc_weights = memory.bring([_weights_of(prepared, dtype, number)], maps.matrix.stream)
        work = Work(memory, arc_weights, tree.givers(prepared._slots), 1)
        maps._launches.do(_pass_basic, maps.matrix.stream, maps, work)
        yield maps, work


def _without_changes(weights: Any) -> ArcWeights:
    return ArcWeights(weights, np.empty(0, INT64), np.empty(0, weights.dtype))
