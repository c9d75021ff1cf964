"""The selection of targets on a GPU: only their ancestors are swept (RPHAST).

Distances come down to a vertex along arcs from vertices above it. So a sweep that is to reach some
targets passes the targets, their ancestors in the elimination tree and nothing else (Delling,
Goldberg and Werneck 2011 call it RPHAST). Of the top and the levels all is swept, for it is little
and nearly all above something; of every bundle the members that are wanted, and of its boundary
what they are joined to. Those are numbered anew, bundle by bundle, and the streams of arcs are
packed anew, so that the kernels of a sweep stay the same.

What is swept depends on the tree and the targets alone, and all versions of a map share it. Their
streams are packed again when weights are new.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from functools import cache, lru_cache
from itertools import count, pairwise
from typing import Any

import numpy as np
from numba import int16, int32, uint32, uint64
from numpy.typing import NDArray

from sssp.cuda.availability import SIMULATOR, cuda
from sssp.cuda.compiler import inline, kernel, launch_by_name
from sssp.cuda.graph_replay import Launches
from sssp.cuda.pool import THREADS, blocks_for, device_array, fill
from sssp.cuda.sweep.packed_arcs import (
    ENDS,
    LEVEL_AT,
    MEMBER,
    ROW_BITS,
    STREAM_ROW,
    ArcStreams,
    make_arc_functions,
    stream_words,
)
from sssp.graph.csr import offsets
from sssp.kernels.dtypes import INDEX, INT64

#: threads that climb from a target, or look at a bundle
MARK_THREADS = 2 if SIMULATOR else 32
#: threads that pack the stream of a bundle
PACK_THREADS = 2 if SIMULATOR else 128
#: selections that a tree keeps, and of which a map keeps the streams
KEPT = 4
#: what `_count_kernel` counts in a bundle
COUNTS = 3
#: part of a word of a stream that stays as it is: the level, and whether a member ends
REST = ENDS | ((1 << 31) - (1 << LEVEL_AT))

_serials = count(1)


@kernel
def _mark_above_kernel(targets, rank_of, places, chain, leap, top, marks):
    """Mark each target and its ancestors below the top of the elimination tree.

    ======== ====== ====== =========================================
    argument shape  dtype  written by
    ======== ====== ====== =========================================
    targets  (t,)   int64  host
    rank_of  (n,)   int32  host: of vertices
    places   (n,)   int32  host: of ranks
    chain    (n,)   int32  host: the last rank of the chain
    leap     (n,)   int32  host: the rank above it, -1 at the top
    top      scalar uint32 host: places of the top
    marks    (n,)   uint8  host: 0; here: of places, 1
    ======== ====== ====== =========================================
    """
    rank = rank_of[targets[cuda.blockIdx.x]]
    if uint32(places[rank]) < top:
        return
    while rank >= 0:
        last = chain[rank]
        i = int32(rank + cuda.threadIdx.x)
        while i <= last:
            marks[places[i]] = 1
            i = int32(i + cuda.blockDim.x)
        rank = leap[rank]


@inline
def _flag_members(flags, sums, thread, threads, first, members, rows_here, marks):
    """Write a flag per vertex of a bundle of subtrees, 1 if selected; count the selected vertices.

    Barriers on both sides.
    """
    if thread == 0:
        sums[0], sums[1], sums[2] = 0, 0, 0
    cuda.syncthreads()
    i = thread
    while i < rows_here:
        flag = int32(0)
        if i < members:
            flag = int32(marks[uint32(first + i)])
            if flag != 0:
                cuda.atomic.add(sums, 0, 1)
        flags[i] = flag
        i = uint32(i + threads)
    cuda.syncthreads()


@inline
def _flag_boundary(
    flags, sums, thread, threads, first, members, rows_here, arcs_first, rows, group
):
    """Flag each boundary vertex of a bundle of subtrees that has an arc from a selected vertex.

    Barriers on both sides.
    """
    i = thread
    while i < members:
        if flags[i] != 0:
            arc = arcs_first[uint32(first + i)]
            stop = arcs_first[uint32(first + i + 1)]
            groups = int32((uint32(stop - arc) + group - 1) // group)
            cuda.atomic.add(sums, 2, max(int32(1), groups))
            while arc < stop:
                head = uint32(rows[arc] & uint32(STREAM_ROW))
                if head >= members:
                    cuda.atomic.max(flags, head, 1)
                arc = uint32(arc + 1)
        i = uint32(i + threads)
    cuda.syncthreads()
    i = uint32(members + thread)
    while i < rows_here:
        if flags[i] != 0:
            cuda.atomic.add(sums, 1, 1)
        i = uint32(i + threads)
    cuda.syncthreads()


@kernel
def _count_kernel(
    marks, lowest_tier, group, lowest_group, bundle_first, boundary_first, arcs_first, rows, counts
):
    """Count the selected vertices, boundary vertices and arc groups of each bundle of vertices.

    ============== ======== ====== ====================================================
    argument       shape    dtype  written by
    ============== ======== ====== ====================================================
    marks          (n,)     uint8  `_mark_above_kernel`: of places
    lowest_tier    scalar   uint32 host: its first bundle
    group          scalar   uint32 host: arcs of a group of a stream
    lowest_group   scalar   uint32 host: the same in the lowest tier
    bundle_first   (b + 1,) int32  host: places
    boundary_first (b + 1,) int32  host
    arcs_first     (n + 1,) uint32 host: where the chordal arcs of every place begin
    rows           (c,)     uint32 `placed_arcs_kernel`
    counts         (3, b)   int32  here: members, rows of the boundary, groups of arcs
    ============== ======== ====== ====================================================
    """
    flags, sums = cuda.shared.array(0, int32), cuda.shared.array(COUNTS, int32)
    thread, threads = uint32(cuda.threadIdx.x), uint32(cuda.blockDim.x)
    bundle = uint32(cuda.blockIdx.x)
    first = uint32(bundle_first[bundle])
    members = uint32(uint32(bundle_first[uint32(bundle + 1)]) - first)
    bounded = uint32(boundary_first[uint32(bundle + 1)] - boundary_first[bundle])
    rows_here = uint32(members + bounded)
    own_group = lowest_group if bundle >= lowest_tier else group
    _flag_members(flags, sums, thread, threads, first, members, rows_here, marks)
    if sums[0] != 0:
        _flag_boundary(
            flags, sums, thread, threads, first, members, rows_here, arcs_first, rows, own_group
        )
    if thread == 0:
        counts[0, bundle], counts[1, bundle], counts[2, bundle] = sums[0], sums[1], sums[2]


@kernel
def _renumber_kernel(
    marks, chosen, lowest_tier, group, lowest_group, bundle_first, boundary_first, boundary, lowest,
    highest, places, ranks, arcs_first, rows, own_first, own_boundary_first, renumbered_first,
    own_places, own_ranks, own_boundary, own_lowest, own_highest, renumbered,
):  # fmt: skip
    """Renumber the selected vertices and boundary vertices of each bundle of subtrees.

    Rows, and the one that arcs come from which only fill up their group.

    ================== ========= ====== =====================================================
    argument           shape     dtype  written by
    ================== ========= ====== =====================================================
    marks              (n,)      uint8  `_mark_above_kernel`: of places
    chosen             (s,)      int32  host: bundles
    lowest_tier        scalar    uint32 host: its first bundle
    group              scalar    uint32 host: arcs of a group of a stream
    lowest_group       scalar    uint32 host: the same in the lowest tier
    bundle_first       (b + 1,)  int32  host: places
    boundary_first     (b + 1,)  int32  host
    boundary           (x,)      int32  host: ranks
    lowest             (b,)      int32  host
    highest            (b,)      int32  host
    places             (n,)      int32  host: of ranks
    ranks              (n,)      int32  host: of places
    arcs_first         (n + 1,)  uint32 host: where the chordal arcs of every place begin
    rows               (c,)      uint32 `placed_arcs_kernel`
    own_first          (s + 1,)  int32  host: places in the selection
    own_boundary_first (s + 1,)  int32  host
    renumbered_first   (s + 1,)  int32  host: where the rows of every chosen bundle begin
    own_places         (n,)      int32  here: in the selection, of places that it has
    own_ranks          (size,)   int32  here: of those
    own_boundary       (y,)      int32  here: places of the tree
    own_lowest         (s,)      int32  here
    own_highest        (s,)      int32  here
    renumbered         (z,)      int16  here: of every row and one more, in the selection; -1
    ================== ========= ====== =====================================================
    """
    flags, sums = cuda.shared.array(0, int32), cuda.shared.array(COUNTS, int32)
    thread, threads = uint32(cuda.threadIdx.x), uint32(cuda.blockDim.x)
    own = uint32(cuda.blockIdx.x)
    bundle = uint32(chosen[own])
    first, begin = uint32(bundle_first[bundle]), uint32(boundary_first[bundle])
    members = uint32(uint32(bundle_first[uint32(bundle + 1)]) - first)
    rows_here = uint32(members + uint32(boundary_first[uint32(bundle + 1)]) - begin)
    own_group = lowest_group if bundle >= lowest_tier else group
    _flag_members(flags, sums, thread, threads, first, members, rows_here, marks)
    _flag_boundary(
        flags, sums, thread, threads, first, members, rows_here, arcs_first, rows, own_group
    )
    at, own_members = uint32(renumbered_first[own]), uint32(sums[0])
    i = thread
    while i <= rows_here:
        row = uint32(0)
        for j in range(i):
            row = uint32(row + uint32(flags[j]))
        found = int16(row)
        if i < rows_here and flags[i] == 0:
            found = int16(-1)
        elif i < members:
            place = uint32(uint32(own_first[own]) + row)
            own_places[uint32(first + i)] = place
            own_ranks[place] = ranks[uint32(first + i)]
        elif i < rows_here:
            place = uint32(uint32(own_boundary_first[own]) + row - own_members)
            own_boundary[place] = places[boundary[uint32(begin + i - members)]]
        renumbered[uint32(at + i)] = found
        i = uint32(i + threads)
    if thread == 0:
        own_lowest[own], own_highest[own] = lowest[bundle], highest[bundle]


@kernel
def _selection_positions_kernel(
    start, bounded, targets, rank_of, places, ranks, own_places, own_boundary, own_ranks, names,
    columns,
):  # fmt: skip
    """Write the index in the selection of each target and each boundary vertex of a subtree.

    ============ ======= ====== ==============================================================
    argument     shape   dtype  written by
    ============ ======= ====== ==============================================================
    start        scalar  uint32 host: the first place in a bundle; those before are as they are
    bounded      scalar  uint32 host: rows of boundaries
    targets      (t,)    int64  host
    rank_of      (n,)    int32  host: of vertices
    places       (n,)    int32  host: of ranks
    ranks        (n,)    int32  host: of places
    own_places   (n,)    int32  `_renumber_kernel`
    own_boundary (y,)    int32  `_renumber_kernel`: places of the tree; here: in the selection
    own_ranks    (size,) int32  `_renumber_kernel`; here: up to `start`
    names        (size,) int32  here: where the distances of every place stand: there
    columns      (t,)    int64  here: where those of every target stand
    ============ ======= ====== ==============================================================
    """
    i, stride = cuda.grid(1), cuda.gridsize(1)
    while i < max(names.size, bounded, targets.size):
        if i < names.size:
            names[i] = i
            if i < start:
                own_ranks[i] = ranks[i]
        if i < bounded:
            place = own_boundary[i]
            if place >= start:
                own_boundary[i] = own_places[place]
        if i < targets.size:
            place = places[rank_of[targets[i]]]
            columns[i] = own_places[place] if place >= start else place
        i += stride


@cache
def make_pack_kernel(dtype: np.dtype[Any]) -> Any:
    """Return the kernel that copies the packed arcs that lead to selected vertices."""
    read, write, _ = make_arc_functions(dtype)

    @inline
    def member_of(row, renumbered, at):
        """Return an arc's head as its number among the selected vertices; -1 if not selected."""
        return int32(renumbered[uint32(at + ((row >> uint32(ROW_BITS)) & uint32(MEMBER)))])

    @kernel
    def _pack_kernel(
        chosen, lowest_tier, group, lowest_group, room, renumbered_first, renumbered, stream_first,
        stream_stop, stream, own_first, own_stream_first, own_stream_stop, own_stream,
    ):  # fmt: skip
        """Copy the downward arcs to selected vertices from a map's arrays to smaller arrays.

        ================ ======== ====== ==================================================
        argument         shape    dtype  written by
        ================ ======== ====== ==================================================
        chosen           (s,)     int32  host: bundles
        lowest_tier      scalar   uint32 host: its first bundle
        group            scalar   uint32 host: arcs of a group
        lowest_group     scalar   uint32 host: the same in the lowest tier
        room             scalar   uint32 host: most members of a bundle
        renumbered_first (s + 1,) int32  host
        renumbered       (z,)     int16  `_renumber_kernel`
        stream_first     (b,)     uint32 host: where the stream of every bundle begins
        stream_stop      (b,)     uint32 customization: where it ends
        stream           (words,) int64  customization
        own_first        (s + 1,) int32  host: places in the selection
        own_stream_first (s,)     uint32 host
        own_stream_stop  (s,)     uint32 here
        own_stream       (words,) int64  here
        ================ ======== ====== ==================================================
        """
        # of every member: how many groups, the first of them, and how many are before it
        words = cuda.shared.array(0, uint32)
        thread, threads = uint32(cuda.threadIdx.x), uint32(cuda.blockDim.x)
        own = uint32(cuda.blockIdx.x)
        bundle, at = uint32(chosen[own]), uint32(renumbered_first[own])
        members = uint32(own_first[uint32(own + 1)] - own_first[own])
        own_group = lowest_group if bundle >= lowest_tier else group
        start, own_start = uint64(stream_first[bundle]), uint64(own_stream_first[own])
        arcs = uint32(stream_stop[bundle] - stream_first[bundle])
        i = thread
        while i < members:
            words[i], words[uint32(room + i)] = uint32(0), arcs
            i = uint32(i + threads)
        cuda.syncthreads()
        i = thread
        while uint32(i * own_group) < arcs:
            _, row = read(stream, start + uint64(i * own_group))
            member = member_of(row, renumbered, at)
            if member >= 0:
                cuda.atomic.add(words, uint32(member), uint32(1))
                cuda.atomic.min(words, uint32(room + uint32(member)), i)
            i = uint32(i + threads)
        cuda.syncthreads()
        i = thread
        while i < members:
            before = uint32(0)
            for j in range(i):
                before = uint32(before + words[j])
            words[uint32(2 * room + i)] = before
            if i == uint32(members - 1):
                ends = uint64(own_start + uint64(uint32(before + words[i]) * own_group))
                own_stream_stop[own] = uint32(ends)
            i = uint32(i + threads)
        cuda.syncthreads()
        i = thread
        while i < arcs:
            weight, row = read(stream, start + uint64(i))
            member = member_of(row, renumbered, at)
            if member >= 0:
                number = uint32(i // own_group)
                place = uint32(number - words[uint32(room + uint32(member))])
                place = uint32(place + words[uint32(2 * room + uint32(member))])
                place = uint32(place * own_group + (i - number * own_group))
                found = uint32(renumbered[uint32(at + (row & uint32(STREAM_ROW)))])
                found = uint32(found | (uint32(member) << uint32(ROW_BITS)) | (row & uint32(REST)))
                write(own_stream, own_start + uint64(place), weight, found)
            i = uint32(i + threads)

    return _pack_kernel


class Arrays:
    """Set of device arrays that are accessed by name and passed to kernels by name."""

    def __init__(self) -> None:
        self.arrays: dict[str, Any] = {}
        #: the identity of its arrays, which never change
        self.replay_key = Arrays, next(_serials)

    def __getitem__(self, name: str) -> Any:
        """Return the device array that has the given name."""
        return self.arrays[name]

    def launch(self, kernel: Any, configuration: Any, /, **others: Any) -> None:
        """Launch a kernel with this object's arrays and `others` as arguments, matched by name."""
        launch_by_name(kernel, configuration, self.arrays, **others)


class Selection(Arrays):
    """Targets and all their ancestors in an elimination tree, on one device, for sweeps.

    Names, shapes and meanings of its arrays are those of `DeviceTree`, places and bundles being
    those of the selection; what does not depend on what is selected they share.

    Parameters
    ----------
    tree : DeviceTree
    targets : ndarray, shape (t,), int64
        One or more.

    Attributes
    ----------
    targets : ndarray, shape (t,), int64
    size : int
        Places: those of the top and the levels, and what is selected below.
    passes : list of Pass
        Tiers of bundles, from above, of those that have some in the selection.
    wanted, columns : device arrays, shape (t,), int64
        The targets, and their places.
    nbytes : int
        Bytes of the device.
    """

    def __init__(self, tree: Any, targets: NDArray[np.int64]) -> None:
        super().__init__()
        self.targets, self.wanted = targets, cuda.to_device(targets)
        #: first bundle of the lowest tier, arcs of a group above it, and in it
        lowest_tier = int(tree.bundles.tiers[-2]) if tree.tiers else 0
        groups = lowest_tier, tree.group(0), tree.group(tree.tiers - 1)
        names = "lowest_tier", "group", "lowest_group"
        self.groups = dict(zip(names, map(np.uint32, groups), strict=True))
        bundles, stream = tree.bundles, cuda.default_stream()
        start, n = bundles.start, bundles.rank.size
        marks = device_array(n, np.uint8)
        fill(marks, np.uint8(0), stream)
        tree.launch(
            _mark_above_kernel, (targets.size, MARK_THREADS), targets=self.wanted,
            top=np.uint32(bundles.top), marks=marks,
        )  # fmt: skip
        room, existing = 4 * int(bundles.rooms.max(initial=1)), bundles.lowest.size
        counted = device_array((COUNTS, max(1, existing)), INDEX)
        if existing:
            grid = existing, MARK_THREADS, stream, room
            tree.launch(_count_kernel, grid, marks=marks, counts=counted, **self.groups)
        counts = counted.copy_to_host()[:, :existing]
        chosen = np.flatnonzero(counts[0])
        members, bounded, groups = counts[:, chosen]
        rows = np.diff(bundles.first)[chosen] + np.diff(bundles.boundary_first)[chosen]
        self.passes = [
            each._replace(
                low=low, high=high, room=int((members[low:high] + bounded[low:high]).max())
            )
            for each, (low, high) in zip(
                tree.passes, pairwise(np.searchsorted(chosen, bundles.tiers).tolist()), strict=True
            )
            if low < high
        ]
        group = np.full(chosen.size, 1)
        for each in self.passes:
            group[each.low : each.high] = each.group
        #: most members of a bundle
        self.room = int(members.max(initial=1))
        firsts = start + offsets(members)
        boundaries, renumbered, arcs = offsets(bounded), offsets(rows + 1), offsets(groups * group)
        self.size, self.stream_arcs = int(firsts[-1]), int(arcs[-1])
        parts = chosen, firsts, boundaries, renumbered, arcs
        laid = cuda.to_device(np.concatenate(parts).astype(INDEX))
        cuts = np.cumsum([0, *(part.size for part in parts)]).tolist()
        chosen_there, own_first, own_boundary_first, renumbered_first, stream_first = (
            laid[low:high] for low, high in pairwise(cuts)
        )
        own_places, own_boundary, own_ranks, names, lowest, highest = (
            device_array(max(1, size), INDEX)
            for size in (n, int(boundaries[-1]), self.size, self.size, chosen.size, chosen.size)
        )
        self.columns = device_array(targets.size, INT64)
        self.renumbered = device_array(max(1, int(renumbered[-1])), np.int16)
        self.arrays = tree.arrays | {
            "chosen": chosen_there,
            "renumbered_first": renumbered_first,
            "bundle_first": own_first,
            "boundary_first": own_boundary_first,
            "boundary_vertices": own_boundary,
            "lowest": lowest,
            "highest": highest,
            "stream_first": stream_first.view(np.uint32),
            "ranks": own_ranks,
            # (lanes stand in order of place)
            "vertices": names,
            "order": tree["places"],
        }
        places = {
            "own_places": own_places, "own_boundary": own_boundary, "own_ranks": own_ranks,
        }  # fmt: skip
        if chosen.size:
            tree.launch(
                _renumber_kernel, (chosen.size, MARK_THREADS, stream, room), marks=marks,
                chosen=chosen_there, own_first=own_first, own_boundary_first=own_boundary_first,
                renumbered_first=renumbered_first, own_lowest=lowest, own_highest=highest,
                renumbered=self.renumbered, **self.groups, **places,
            )  # fmt: skip
        blocks = blocks_for(max(self.size, own_boundary.size, targets.size))
        tree.launch(
            _selection_positions_kernel, (blocks, THREADS), start=np.uint32(start),
            bounded=np.uint32(boundaries[-1]), targets=self.wanted, names=names,
            columns=self.columns, **places,
        )  # fmt: skip
        own = laid, own_boundary, own_ranks, names, lowest, highest, self.columns, self.renumbered
        self.nbytes = self.wanted.nbytes + sum(array.nbytes for array in own)


class Selections:
    """Cache of recent selections (targets and all their ancestors), keyed by the targets."""

    def __init__(self) -> None:
        self._kept: OrderedDict[bytes, Selection] = OrderedDict()
        #: the targets that were asked for last, and their selection
        self._last: tuple[bytes | None, Any] = None, None
        self._asked = deque[bytes](maxlen=KEPT)
        self._lock = threading.Lock()

    def known(self, targets: NDArray[np.int64]) -> Selection | None:
        """Return the cached selection for an array of targets, or None if none is cached."""
        return self._kept.get(targets.tobytes())

    def come_again(self, targets: NDArray[np.int64]) -> bool:
        """Return whether an array of targets was requested recently; record it for later calls."""
        asked = targets.tobytes()
        with self._lock:
            if asked in self._asked:
                return True
            self._asked.append(asked)
            return False

    def of(self, tree: Any, targets: NDArray[np.int64]) -> Selection:
        """Return the cached selection of some targets and their ancestors, or make a new one."""
        with self._lock:
            asked = targets.tobytes()
            if asked != self._last[0]:  # (which takes a tenth of the time of their hash)
                if asked not in self._kept:
                    self._kept[asked] = Selection(tree, targets)
                    if len(self._kept) > KEPT:
                        self._kept.popitem(last=False)
                self._last = asked, self._kept[asked]
            found: Selection = self._last[1]
            return found


class Packed:
    """GPU arrays of the arcs, with weights, that downward sweeps to selected targets need.

    Parameters
    ----------
    selection : Selection
    dtype : dtype

    Attributes
    ----------
    serial : int
        Unique.
    streams : ArcStreams
    version : int
        Of the weights that they have; 0: none yet.
    """

    def __init__(self, selection: Selection, dtype: np.dtype[Any]) -> None:
        self.selection, self.dtype, self.serial, self.version = selection, dtype, next(_serials), 0
        #: the identity of its arrays, which never change
        self.replay_key = Packed, self.serial
        self._launches = Launches()
        bundles = max(1, selection["chosen"].size)
        self.streams = ArcStreams(
            selection["stream_first"],
            device_array(bundles, np.uint32),
            device_array(max(1, selection.stream_arcs) * stream_words(dtype), INT64),
        )
        self.nbytes = selection.nbytes + sum(array.nbytes for array in self.streams)

    def pack(self, streams: ArcStreams) -> None:
        """Copy the selected arcs, with current weights, from the packed arcs of the whole map.

        All other streams wait for the default stream: what they get from now on finds them packed.
        """
        self._launches.do(pack_streams, cuda.default_stream(), self, streams)


def pack_streams(stream: Any, packed: Packed, streams: ArcStreams) -> None:
    """Launch the kernel that copies the arcs of selected vertices from a map's packed arcs."""
    selection, (first, stop, arcs) = packed.selection, packed.streams
    size, pack = selection["chosen"].size, make_pack_kernel(packed.dtype)
    if size:
        selection.launch(
            pack, (size, PACK_THREADS, stream, 3 * 4 * selection.room),
            room=np.uint32(selection.room), renumbered=selection.renumbered,
            own_first=selection["bundle_first"], own_stream_first=first, own_stream_stop=stop,
            own_stream=arcs, **selection.groups, **streams._asdict(),
        )  # fmt: skip


class SelectedStreams:
    """The packed arcs of target selections, packed again after the weights of the map change.

    Parameters
    ----------
    dtype : dtype
    streams : ArcStreams
        Those of all arcs.
    """

    def __init__(self, dtype: np.dtype[Any], streams: ArcStreams) -> None:
        self._all, self._version = streams, 1
        self._packed = lru_cache(KEPT)(lambda selection: Packed(selection, dtype))
        self._lock = threading.Lock()

    def renew(self) -> None:
        """Mark the packed arcs of all target selections as outdated, after the weights changed."""
        with self._lock:
            self._version += 1

    def of(self, selection: Selection, *, packed: bool = True) -> Packed:
        """Return the GPU arrays of arcs to selected vertices; if `packed`, repack outdated arcs."""
        with self._lock:
            found = self._packed(selection)
            if packed and found.version != self._version:
                found.pack(self._all)
                found.version = self._version
            return found
