"""Sums along shortest-path trees, over many rows: from the root down, or from the leaves up.

An order in which every vertex comes before its tail follows from the numbers of children alone:
the leaves first, then whoever has no child left. A load sends flows up in this order, a skim adds
values down in the opposite one, O(n) a row; rows that store some vertices only cost time in those.
The kernels avoid branches that depend on the numbers, for a processor cannot guess them.

Floats are added in an order that follows from the trees alone, whatever the number of threads:
rows are cut into blocks by what they hold, and the flows of the blocks are added in order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sssp.errors import DistanceOverflowError
from sssp.graph.arc_orders import order_of_heads
from sssp.graph.checks import is_sparse
from sssp.graph.csr import arc_position, sealed
from sssp.graph.rows import picked
from sssp.kernels.dtypes import INDEX, OFFSET, unreached
from sssp.kernels.jit import UNCOUNTED, njit
from sssp.results.exact import joined

if TYPE_CHECKING:
    from sssp.graph.graph import Graph

__all__ = ["TreeSums", "add_at", "arcs_between", "check_arc_values", "flow_on_input"]

ONE, TWO = np.uint64(1), np.uint64(2)
#: children of the vertex above all roots: it never runs out of them
ENDLESS = np.iinfo(np.int32).max
#: what `_arc_into` may look at beyond the last arc
BEYOND = 3
#: least number of vertices and columns that a block of rows holds, for calling a kernel to pay
WORTH_A_CALL = 1 << 16


@njit
def _arcs_kernel(indptr, indices, tails, heads, arcs):
    """Find the arc from every tail to its head; -1 where there is no tail."""
    for i in range(heads.size):
        tail = tails[i]
        arcs[i] = -1 if tail < 0 else arc_position(indptr, indices, tail, heads[i])


@njit
def add_at(sums, places, values):
    """``numpy.add.at`` of one axis, which warns of nothing: whoever calls looks at the sums."""
    for i in range(places.size):
        sums[places[i]] += values[i]


@njit(**UNCOUNTED)
def _arc_into(indptr, tails, head, tail):
    """Return where the arc from `tail` stands among the arcs by head; any arc if there is none.

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
def _plant(vertices, tails, roots, place_of, up, children):
    """Write down the tree of a row: above every place that of its tail.

    Places count the stored vertices; beyond them is that above all roots. Where all vertices are
    stored, those that are not in the tree are above themselves, and so never come to have no child.
    """
    top = np.uint32(tails.size)
    for i in range(tails.size):
        children[i] = 0
        if vertices is not None:
            place_of[vertices[i]] = i
    for i in range(tails.size):
        above = np.uint32(i) if vertices is None else top
        if tails[i] >= 0:
            above = np.uint32(tails[i] if vertices is None else place_of[tails[i]])
        up[i] = above
        children[above] += 1
    if vertices is None:
        for root in roots:
            if up[root] == root:
                up[root] = top
                children[root] -= 1
    up[top] = top
    children[top] = ENDLESS


@njit
def _place(vertices, top, place_of, up, vertex):
    """Return the place of a vertex, `top` if it is not in the tree."""
    if vertices is None:
        return top if up[vertex] == vertex else np.uint32(vertex)
    place = place_of[vertex]
    if place < top and vertices[place] == vertex:
        return place
    return top  # what stands there comes from another row


@njit
def _leaves(top, children, order):
    """Put the places without children first; return how many there are."""
    size = np.uint64(0)
    for place in range(top):
        order[size] = place
        size += np.uint64(children[place] == 0)
    return size


@njit
def _bring_values(indptr, arc_tails, values, vertices, tails, own):
    """Write the value of the arc into every place that has a tail, and 0 where there is none."""
    nothing = own.dtype.type(0)
    for i in range(tails.size):
        arc = _arc_into(indptr, arc_tails, i if vertices is None else vertices[i], tails[i])
        own[i] = values[arc] if tails[i] >= 0 else nothing


@njit
def _spread_flows(indptr, arc_tails, vertices, tails, flows, loads):
    """Add the flow through every place that has a tail to the arc from there."""
    for i in range(tails.size):
        if tails[i] >= 0:
            arc = _arc_into(indptr, arc_tails, i if vertices is None else vertices[i], tails[i])
            loads[arc] += flows[i]


@njit
def _skim_kernel(
    arcs, values, roots, first_roots, starts, vertices, tails, columns, missing, scratch, sums
):
    """Add values of the arcs from the root to every column, row by row.

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
    indptr, arc_tails = arcs
    place_of, up, children, order, total = scratch
    zero = type(missing)(0)
    odd_row, odd_column = -1, -1
    for row in range(starts.size - 1):
        first, last = starts[row], starts[row + 1]
        top = np.uint32(last - first)
        own = None if vertices is None else vertices[first:last]
        own_roots = roots[first_roots[row] : first_roots[row + 1]]
        own_tails = tails[first:last]
        _plant(own, own_tails, own_roots, place_of, up, children)
        _bring_values(indptr, arc_tails, values, own, own_tails, total)
        size = _leaves(top, children, order)
        at = np.uint64(0)
        while at < size:
            above = up[order[at]]
            at += ONE
            left = children[above] - np.int32(1)
            children[above] = left
            order[size] = above
            size += np.uint64(left == 0)
        total[top] = zero
        while size > 0:
            size -= ONE
            place = order[size]
            total[place] += total[up[place]]
        for column in range(sums.shape[1]):
            vertex = column if columns is None else columns[column]
            place = _place(own, top, place_of, up, vertex)
            if place < top:
                found = total[place]
                sums[row, column] = found
                if odd_row < 0 and found - found != zero:
                    odd_row, odd_column = row, column
            else:
                sums[row, column] = missing
    return odd_row, odd_column


@njit
def _load_kernel(
    arcs, volumes, roots, first_roots, starts, vertices, tails, columns, scratch, loads
):
    """Send volumes along the trees, row by row, and add them to the loads of the arcs.

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
    indptr, arc_tails = arcs
    place_of, up, children, order, flows = scratch
    nothing = loads.dtype.type(0)
    for row in range(starts.size - 1):
        first, last = starts[row], starts[row + 1]
        top = np.uint32(last - first)
        own = None if vertices is None else vertices[first:last]
        own_roots = roots[first_roots[row] : first_roots[row + 1]]
        own_tails = tails[first:last]
        _plant(own, own_tails, own_roots, place_of, up, children)
        flows[: np.int64(top) + 1] = nothing
        for column in range(volumes.shape[1]):
            volume = volumes[row, column]
            if volume != nothing:
                vertex = column if columns is None else columns[column]
                place = _place(own, top, place_of, up, vertex)
                if place == top or volume - volume != nothing:
                    return row
                flows[place] += volume
        size = _leaves(top, children, order)
        at = np.uint64(0)
        while at < size:
            place = order[at]
            at += ONE
            above = up[place]
            flows[above] += flows[place]
            left = children[above] - np.int32(1)
            children[above] = left
            order[size] = above
            size += np.uint64(left == 0)
        _spread_flows(indptr, arc_tails, own, own_tails, flows, loads)
    return -1


def arcs_between(graph: Graph, tails: NDArray[Any], heads: NDArray[Any]) -> NDArray[np.int64]:
    """Return the arc from every tail to its head, which must exist; -1 for a tail of -1."""
    arcs: NDArray[np.int64] = np.empty(heads.size, OFFSET)
    _arcs_kernel(graph.indptr, graph.indices, tails, heads, arcs)
    return arcs


def check_arc_values(graph: Graph, shape: tuple[int, ...]) -> None:
    """Refuse values that are not one an arc.

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
    """Return the flow on every row of the input, from the parts of the loads of the arcs.

    Raises
    ------
    DistanceOverflowError
        A flow does not fit the result.
    """
    on_input = [np.zeros(graph.input_arcs, load.dtype) for load in loads]
    for total, load in zip(on_input, loads, strict=True):
        add_at(total, graph.arc_origin, load)
    flow = joined(on_input, "volumes on an arc")
    if not np.isfinite(flow).all():
        raise DistanceOverflowError("volumes on an arc add up to more than float64 holds")
    return flow


class _Trees(NamedTuple):
    """Shortest-path trees of some rows, over all vertices or over those that are stored.

    Attributes
    ----------
    roots : ndarray, int64
        Sources.
    first_roots : ndarray, shape (rows + 1,), int64
        Where those of each row begin.
    starts : ndarray, shape (rows + 1,), int64
        Where the vertices of each row begin.
    vertices : ndarray, shape (starts[-1],), int32, or None
        The stored vertices, with the tail of each among them; None: all n in every row.
    tails : ndarray, shape (starts[-1],), int32
        Their predecessors.
    """

    roots: NDArray[np.int64]
    first_roots: NDArray[np.int64]
    starts: NDArray[np.int64]
    vertices: NDArray[np.int32] | None
    tails: NDArray[np.int32]


class TreeSums:
    """Sums along the trees of a result, block of rows by block of rows, in any thread.

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
        dtype: np.dtype[Any],
    ) -> None:
        self.graph, self.predecessors, self.sources = graph, predecessors, sources
        self.columns = None if columns is None else sealed(columns)
        self.width = graph.n if columns is None else columns.size
        self.rows: int = predecessors.shape[0]
        self.missing = unreached(dtype)
        self.dtype = dtype
        indptr, tails, self._order = order_of_heads(graph)
        self._arcs = indptr, sealed(_lengthened(tails))
        self._free: list[tuple[NDArray[Any], ...]] = []

    def blocks(self, least: int = 0) -> Iterator[range]:
        """Cut the rows where `least` vertices and columns are together, and enough for a call."""
        least = max(least, WORTH_A_CALL)
        if is_sparse(self.predecessors):
            stored = self.predecessors.indptr
        else:
            stored = np.arange(self.rows + 1) * self.graph.n
        ends = stored + np.arange(self.rows + 1) * self.width
        first = 0
        while first < self.rows:
            last = int(np.searchsorted(ends, ends[first] + least))
            yield range(first, min(last, self.rows))
            first = last

    def by_head(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values of the arcs in the order in which `skim` takes them."""
        return sealed(_lengthened(picked(values, self._order)))

    def by_tail(self, loads: NDArray[Any]) -> NDArray[Any]:
        """Loads as `load` leaves them, in the graph's order of arcs."""
        ordered = np.empty(self.graph.m, loads.dtype)
        ordered[self._order] = loads
        return ordered

    def skim(self, rows: range, values: NDArray[Any], sums: NDArray[Any]) -> tuple[int, int] | None:
        """Add values of the arcs along the way to every column.

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
        with self._scratch() as scratch:
            row, column = _skim_kernel(
                self._arcs,
                values,
                *self._trees(rows),
                self.columns,
                self.missing,
                scratch,
                sums,
            )
        return None if row < 0 else (row, column)

    def load(self, rows: range, volumes: NDArray[Any], loads: NDArray[Any]) -> int | None:
        """Send volumes along the way to every column, and add them up.

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
        with self._scratch() as scratch:
            row = _load_kernel(
                self._arcs, sealed(volumes), *self._trees(rows), self.columns, scratch, loads
            )
        return None if row < 0 else int(row)

    def _trees(self, rows: range) -> _Trees:
        if self.rows == self.sources.size:
            roots = self.sources[rows.start : rows.stop]
            first_roots = np.arange(len(rows) + 1)
        else:
            roots, first_roots = self.sources, np.array([0, self.sources.size])
        if is_sparse(self.predecessors):
            starts = self.predecessors.indptr[rows.start : rows.stop + 1].astype(OFFSET)
            stored = slice(starts[0], starts[-1])
            vertices = sealed(self.predecessors.indices[stored].astype(INDEX, copy=False))
            tails = self.predecessors.data[stored]
        else:
            starts = np.arange(len(rows) + 1) * self.graph.n
            vertices = None
            tails = self.predecessors[rows.start : rows.stop].reshape(-1)
        return _Trees(sealed(roots), first_roots, starts - starts[0], vertices, sealed(tails))

    @contextmanager
    def _scratch(self) -> Iterator[tuple[NDArray[Any], ...]]:
        """Lend memory of one worker; what a row reads it has written, so small rows cost little."""
        try:
            memory = self._free.pop()
        except IndexError:
            size = self.graph.n + 1
            dtypes = np.uint32, np.uint32, INDEX, np.uint32, self.dtype
            memory = tuple(np.empty(size, dtype) for dtype in dtypes)
        yield memory
        self._free.append(memory)


def _lengthened(of_arcs: NDArray[Any]) -> NDArray[Any]:
    """Append what `_arc_into` may look at: as a tail it is none, not even that of a root."""
    return np.concatenate((of_arcs, np.full(BEYOND, -2, of_arcs.dtype)))
