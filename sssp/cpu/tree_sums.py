"""Sums along shortest-path trees, over many rows: from the root down, or from the leaves up.

An order in which every vertex comes before its tail follows from the numbers of children alone:
the leaves first, then every vertex whose children are done. A load sends flows up in this order, a
skim adds values down in the opposite one, O(n) a row; rows that store some vertices only cost time
in those.
Leaves are taken up a few thousand vertices at a time, and what hangs on them at once, so that both
passes stay near in memory. The kernels avoid branches that depend on the numbers, for a processor
cannot guess them.

Floats are added in an order that follows from the trees alone, for any number of threads:
rows are cut into blocks by what they hold, and the flows of the blocks are added in order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.engine.exact_sums import join_parts
from sssp.engine.workers import Spare
from sssp.errors import DistanceOverflowError
from sssp.graph.arc_orders import order_of_heads
from sssp.graph.check_arrays import is_sparse
from sssp.graph.csr import arc_position, arc_positions, pick, seal
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import INDEX, OFFSET, Number, unreached
from sssp.kernels.jit import njit, njit_uncounted

ONE, TWO = np.uint64(1), np.uint64(2)
#: children that the root of a row gets: more than there are
ROOT = np.iinfo(np.int32).max
#: places in which those without children are looked for at a time: what is around them fits a cache
CHUNK = np.uint64(2048)
#: what `_arc_into` may look at beyond the last arc
BEYOND = 4
#: least number of vertices and columns that a block of rows holds, for calling a kernel to pay
WORTH_A_CALL = 1 << 16
#: blocks that are enough to spread over threads, and what none needs to hold to be worth its costs
BLOCKS, PLENTY = 64, 1 << 23


@njit
def add_at(sums, places, values):
    """Add `values` to `sums` at given positions, as ``numpy.add.at`` but without warnings."""
    for i in range(places.size):
        sums[places[i]] += values[i]


@njit_uncounted
def _arc_into(indptr, tails, head, tail):
    """Return the position of arc (`tail`, `head`) among arcs sorted by head; arbitrary if absent.

    Most vertices have few: those are looked at side by side, what lies beyond them as well, so
    that no branch depends on where it is found.
    """
    first = np.uint64(indptr[head])
    other = np.uint64(tails[first] != tail)
    others = other & np.uint64(tails[first + ONE] != tail)
    place = first + other + others + (others & np.uint64(tails[first + TWO] != tail))
    if tails[place] != tail:
        place = np.uint64(max(arc_position(indptr, tails, head, tail), 0))
    return place


@njit
def _note_places(vertices, place_of):
    """Write, for each vertex stored in a sparse row, its position in the row."""
    if vertices is not None:
        for place in range(vertices.size):
            place_of[vertices[place]] = place


@njit_uncounted
def _place(vertices, place_of, vertex):
    """Return the position of a vertex in a stored row; the row's size if the row lacks it."""
    if vertices is None:
        return np.uint32(vertex)
    place = place_of[vertex]
    if place < vertices.size and vertices[place] == vertex:
        return place
    return np.uint32(vertices.size)  # what stands there comes from another row


@njit_uncounted
def _count_child(place, vertices, tails, place_of, up, children):
    """Count a vertex as a child of its predecessor; return False if it has no predecessor.

    Without one it is its own child, and so never comes to have none.
    """
    has_tail = tails[place] >= 0
    if vertices is None:
        above = np.uint32(tails[place] if has_tail else place)
    else:
        above = np.uint32(place_of[tails[place]] if has_tail else place)
        up[place] = above
    children[above] += 1
    return has_tail


@njit
def _order_upward(up, children, order, flows):
    """Order the vertices of a tree, children before parents; return their number.

    Flows, if there are any, are sent up. Places without children are looked for in one chunk after
    the other, and a place whose last child is done follows at once: its neighbours are cached.
    """
    size, at, first = np.uint64(0), np.uint64(0), np.uint64(0)
    while first < children.size:
        last = min(first + CHUNK, np.uint64(children.size))
        for place in range(first, last):
            order[size] = place
            size += np.uint64(children[place] == 0)
        while at < size:
            place = order[at]
            at += ONE
            above = np.uint32(up[place])
            if flows is not None:
                flows[above] += flows[place]
            left = children[above] - np.int32(1)
            comes = left == 0
            children[above] = left - np.int32(comes)  # not to be found by its chunk as well
            order[size] = above
            size += np.uint64(comes)
        first = last
    return size


@njit
def _bring_values(arcs, values, vertices, tails, without_tail, place_of, up, children, total):
    """Write to `total` the value of the arc from each vertex's predecessor; count children."""
    indptr, arc_tails = arcs
    for place in range(np.uint64(tails.size)):
        has_tail = _count_child(place, vertices, tails, place_of, up, children)
        head = place if vertices is None else np.uint64(vertices[place])
        value = values[_arc_into(indptr, arc_tails, head, tails[place])]
        total[place] = value if has_tail else without_tail


@njit
def _add_downward(up, order, size, total):
    """Add to each vertex's value its predecessor's sum; return True if a sum is not finite."""
    zero = total.dtype.type(0)
    is_odd = False
    while size > 0:
        size -= ONE
        place = order[size]
        found = total[place] + total[np.uint32(up[place])]
        total[place] = found
        is_odd |= found - found != zero
    return is_odd


@njit
def _skim_kernel(
    arcs, values, roots, first_roots, starts, vertices, tails, columns, missing, scratch, sums
):
    """Sum arc values along the tree path from the root to each requested vertex, row by row.

    Return row and column of the first sum that is not finite, -1 where all are.

    =========== ============= ====== ========================================================
    argument    shape         dtype  written by
    =========== ============= ====== ========================================================
    arcs        (n + 1,), m   ints   host: arcs by head: where those of each begin, tails
    values      (m,)          number host: in that order
    roots       (roots,)      int64  host: sources
    first_roots (rows + 1,)   int64  host: where those of each row begin
    starts      (rows + 1,)   int64  host: where the stored vertices of each row begin
    vertices    (starts[-1],) int32  host: stored vertices; None: all n in every row
    tails       (starts[-1],) int32  host: their predecessors
    columns     (width,)      int64  host: the vertices that are asked for; None: all n
    missing     scalar        number host: what stands where no path leads
    scratch     (n + 1,) each        here: ``place_of``, ``up``, ``children``, ``order``, and the
                                     sums of the places
    sums        (rows, width) number here
    =========== ============= ====== ========================================================
    """
    place_of, up_of_stored, children, order, total_of_stored = scratch
    zero = type(missing)(0)
    for row in range(starts.size - 1):
        first, last = starts[row], starts[row + 1]
        own = None if vertices is None else vertices[first:last]
        own_tails = tails[first:last]
        up = own_tails if vertices is None else up_of_stored
        # where all that is stored is asked for, sums are found in place
        in_place = vertices is None and columns is None
        total = sums[row] if in_place else total_of_stored[: last - first]
        left = children[: last - first]
        left[:] = 0
        _note_places(own, place_of)
        without_tail = missing if vertices is None else zero
        _bring_values(
            arcs, values, own, own_tails, without_tail, place_of, up_of_stored, left, total
        )
        if vertices is None:
            for root in roots[first_roots[row] : first_roots[row + 1]]:
                if own_tails[root] < 0:
                    total[root] = zero
        size = _order_upward(up, left, order, None)
        is_odd = _add_downward(up, order, size, total)
        if columns is not None:
            for column in range(columns.size):
                place = _place(own, place_of, columns[column])
                sums[row, column] = total[place] if place < total.size else missing
        elif vertices is not None:
            sums[row] = missing
            for place in range(own.size):
                sums[row, own[place]] = total[place]
        if is_odd:
            for column in range(sums.shape[1]):
                place = _place(own, place_of, column if columns is None else columns[column])
                has_tail = place < own_tails.size and own_tails[place] >= 0
                if has_tail and sums[row, column] - sums[row, column] != 0:
                    return row, column
    return -1, -1


@njit
def _take_volumes(vertices, tails, columns, volumes, place_of, children, flows):
    """Set each target's flow to its trip volume; return False if a volume cannot be routed."""
    nothing = flows.dtype.type(0)
    may_travel = True
    if vertices is None and columns is None:
        for place in range(tails.size):
            volume = volumes[place]
            is_lost = tails[place] < 0 and children[place] != ROOT
            flows[place] = volume
            may_travel &= volume == nothing or (not is_lost and volume - volume == nothing)
        return may_travel
    flows[:] = nothing
    for column in range(volumes.size):
        volume = volumes[column]
        if volume != nothing:
            place = _place(vertices, place_of, column if columns is None else columns[column])
            if place == tails.size or volume - volume != nothing:
                return False
            if vertices is None and tails[place] < 0 and children[place] != ROOT:
                return False
            flows[place] += volume
    return may_travel


@njit
def _spread_flows(arcs, vertices, tails, flows, loads):
    """Add the flow through each vertex to the load of the arc from its predecessor, if any."""
    indptr, arc_tails = arcs
    for place in range(np.uint64(tails.size)):
        if tails[place] >= 0:
            head = place if vertices is None else np.uint64(vertices[place])
            loads[_arc_into(indptr, arc_tails, head, tails[place])] += flows[place]


@njit
def _load_kernel(
    arcs, volumes, roots, first_roots, starts, vertices, tails, columns, scratch, loads
):
    """Send volumes from the root along each row's tree; add them to the loads of the arcs.

    Return the first row with a volume that cannot travel, -1 if there is none.

    =========== ============= ====== ========================================================
    argument    shape         dtype  written by
    =========== ============= ====== ========================================================
    arcs, roots, first_roots,        as of `_skim_kernel`
    starts, vertices, tails,
    columns
    volumes     (rows, width) number host: what travels from the root to each column
    scratch     (n + 1,) each        as of `_skim_kernel`; last the flows of the places
    loads       (m,)          number host: zeros; here, in order of the arcs by head
    =========== ============= ====== ========================================================
    """
    place_of, up_of_stored, children, order, flows_of_stored = scratch
    for row in range(starts.size - 1):
        first, last = starts[row], starts[row + 1]
        own = None if vertices is None else vertices[first:last]
        own_tails = tails[first:last]
        up = own_tails if vertices is None else up_of_stored
        flows, left = flows_of_stored[: last - first], children[: last - first]
        left[:] = 0
        _note_places(own, place_of)
        for place in range(np.uint64(own_tails.size)):
            _count_child(place, own, own_tails, place_of, up_of_stored, left)
        if vertices is None:
            for root in roots[first_roots[row] : first_roots[row + 1]]:
                if own_tails[root] < 0:
                    left[root] = ROOT  # reached, unlike others without a tail
        if not _take_volumes(own, own_tails, columns, volumes[row], place_of, left, flows):
            return row
        _order_upward(up, left, order, flows)
        _spread_flows(arcs, own, own_tails, flows, loads)
    return -1


def arcs_between(graph: Graph, tails: NDArray[Any], heads: NDArray[Any]) -> NDArray[np.int64]:
    """Return the position of the arc from ``tails[i]`` to ``heads[i]``; -1 where there is none."""
    # (-1 is for indptr the end of all arcs: what begins there, and ends at 0, is no arc)
    return arc_positions(graph.indptr, graph.indices, tails, heads)


def check_arc_values(graph: Graph, shape: tuple[int, ...]) -> None:
    """Check that there is exactly one value for each arc.

    Raises
    ------
    ValueError
        The message says how to bring them there.
    """
    if shape == (graph.m,):
        return
    hint = "they stand at the positions of graph.indices"
    if shape == (graph.input_arcs,):
        hint = "values[graph.arc_origin] brings one value an input row there"
    raise ValueError(f"expected values, one an arc: shape ({graph.m},), not {shape}; {hint}")


def flow_on_input(graph: Graph, loads: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return the flow on every row of the user's arc table, summed from flows on arcs.

    Raises
    ------
    DistanceOverflowError
        A flow does not fit the result.
    """
    on_input = [np.zeros(graph.input_arcs, load.dtype) for load in loads]
    for total, load in zip(on_input, loads, strict=True):
        add_at(total, graph.arc_origin, load)
    flow = join_parts(on_input, "volumes on an arc")
    if not np.isfinite(flow).all():
        raise DistanceOverflowError("volumes on an arc add up to more than float64 holds")
    return flow


class TreeSums:
    """Computation of sums of arc values, and of flows, along shortest-path trees on the CPU.

    Parameters
    ----------
    graph : Graph
    predecessors : ndarray, shape (rows, n), or csr_array, shape (rows, n)
    sources : ndarray, int64
        One a row, or all of the one row.
    columns : ndarray, shape (width,), int64, or None
        The vertices that are asked for; None: all.
    dtype : dtype
        Of the numbers, int64 or float64.
    """

    def __init__(
        self,
        graph: Graph,
        predecessors: Any,
        sources: NDArray[np.int64],
        columns: NDArray[np.int64] | None,
        dtype: Number,
    ) -> None:
        self.graph, self.predecessors, self.sources = graph, predecessors, sources
        self.columns = None if columns is None else seal(columns)
        self.width = graph.n if columns is None else columns.size
        self.rows: int = predecessors.shape[0]
        self.missing = unreached(dtype)
        self.dtype = dtype
        indptr, tails, self._order = order_of_heads(graph)
        self._arcs = indptr, seal(_lengthen(tails))
        # (never cleared, so that small rows cost little)
        dtypes = np.uint32, INDEX, INDEX, np.uint32, dtype
        self._spare = Spare(lambda: tuple(np.empty(graph.n + 1, part) for part in dtypes))

    def blocks(self, least: int = 0) -> Iterator[range]:
        """Yield consecutive ranges of rows, each with enough entries to be worth a kernel call."""
        rows = np.arange(self.rows + 1)
        sparse = is_sparse(self.predecessors)
        stored = self.predecessors.indptr if sparse else rows * self.graph.n
        ends = stored + rows * self.width
        least = max(least, WORTH_A_CALL, min(int(ends[-1]) // BLOCKS, PLENTY))
        first = 0
        while first < self.rows:
            last = int(np.searchsorted(ends, ends[first] + least))
            yield range(first, min(last, self.rows))
            first = last

    def by_head(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return arc values reordered by the heads of the arcs, as `skim` takes them."""
        return seal(_lengthen(pick(values, self._order)))

    def by_tail(self, loads: NDArray[Any]) -> NDArray[Any]:
        """Return arc loads in the graph's arc order, for loads that are ordered by head."""
        ordered = np.empty(self.graph.m, loads.dtype)
        ordered[self._order] = loads
        return ordered

    def skim(self, rows: range, values: NDArray[Any], sums: NDArray[Any]) -> tuple[int, int] | None:
        """Sum values of the arcs along the path to each requested vertex.

        Parameters
        ----------
        rows : range
        values : ndarray
            As `by_head` gives them.
        sums : ndarray, shape (rows, width)
            Filled, with what stands for unreached where no path leads.

        Returns
        -------
        tuple of two ints, or None
            Row, counted from the first of `rows`, and column of the first sum that is not finite.
        """
        trees = *self._trees(rows), self.columns
        with self._spare.lend() as scratch:
            row, column = _skim_kernel(self._arcs, values, *trees, self.missing, scratch, sums)
        return None if row < 0 else (row, column)

    def load(self, rows: range, volumes: NDArray[Any], loads: NDArray[Any]) -> int | None:
        """Send volumes along the path to each requested vertex; add them to the loads of arcs.

        Parameters
        ----------
        rows : range
        volumes : ndarray, shape (rows, width)
        loads : ndarray, shape (m,)
            Flow on every arc, added to, in the order that `by_tail` undoes.

        Returns
        -------
        int or None
            The first row, counted from the first of `rows`, with a volume that is not finite or
            leads to what is not reached.
        """
        trees = *self._trees(rows), self.columns
        with self._spare.lend() as scratch:
            row = _load_kernel(self._arcs, seal(volumes), *trees, scratch, loads)
        return None if row < 0 else int(row)

    def _trees(self, rows: range) -> tuple[Any, ...]:
        """Return kernel arguments for the trees of some rows: roots, vertices, predecessors."""
        roots, first_roots = self.sources, np.array([0, self.sources.size])
        if self.rows == self.sources.size:
            roots, first_roots = roots[rows.start : rows.stop], np.arange(len(rows) + 1)
        if is_sparse(self.predecessors):
            starts = self.predecessors.indptr[rows.start : rows.stop + 1].astype(OFFSET)
            stored = slice(starts[0], starts[-1])
            vertices = seal(self.predecessors.indices[stored].astype(INDEX, copy=False))
            tails = self.predecessors.data[stored]
        else:
            starts, vertices = np.arange(len(rows) + 1) * self.graph.n, None
            tails = self.predecessors[rows.start : rows.stop].reshape(-1)
        return seal(roots), first_roots, starts - starts[0], vertices, seal(tails)


def _lengthen(of_arcs: NDArray[Any]) -> NDArray[Any]:
    """Append padding to an array of arcs, so that `_arc_into` can read beyond its end."""
    return np.concatenate((of_arcs, np.full(BEYOND, -2, of_arcs.dtype)))


# ---- along paths that stand one behind the other


@njit
def skim_kernel(firsts, arcs, values, sums):
    """Add up `values` of the arcs along each path, from source to target, into `sums`.

    ``arcs`` has the arc that leads to every vertex of the paths, -1 at their sources.
    """
    for walk in range(firsts.size - 1):
        for place in range(firsts[walk] + 1, firsts[walk + 1]):
            sums[walk] += values[arcs[place]]


@njit
def load_kernel(firsts, arcs, walk_of, volumes, loads):
    """Add the volume of each trip to `loads` of the arcs on its path."""
    for trip in range(walk_of.size):
        walk = walk_of[trip]
        for place in range(firsts[walk] + 1, firsts[walk + 1]):
            loads[arcs[place]] += volumes[trip]
