"""Turns: costs or prohibitions of going on from one arc to another.

A graph with turns is asked like any other, and another graph is searched in its place, the
expansion. A crossing where every turn is free stays one vertex there. Another gets a copy for every
group of arcs in with the same turns, so sparse restrictions cost next to nothing, and costs
everywhere give the line graph. All copies of a crossing lead, over arcs of weight 0, to its
arrival, from which nothing leads on; arrivals have the numbers of the user's vertices. A trip
begins at a copy from which every turn is free, or else at a departure, made for that, to which
nothing leads.

A forbidden sequence of arcs, as the restrictions of OpenStreetMap with ways between, is remembered
while it is driven: the last arc of each of its beginnings gets a state of its own, entered from the
beginning before alone. What one remembers is the longest end of the way driven that begins some
sequence (Aho and Corasick 1975). All else is a table of turns between states.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sssp.errors import DistanceOverflowError, GraphFormatError
from sssp.graph import check_arrays, csr
from sssp.graph.weights import closed_weight, converted, scale_weights
from sssp.kernels.dtypes import FLOAT64, INDEX, INT32, INT64, Array
from sssp.kernels.jit import njit
from sssp.kernels.locks import Derived

#: what a row of a table of turns may say of its turn
KINDS = ("cost", "no", "only")
COLUMNS = ("from", "to", "cost", "kind")
#: arrays of `Turns` in a file
ARRAYS = ("into", "out", "turn", "costs", "floor", "link_row", "link_turn", "row_turn", "lightest")
NOTHING: Array = np.empty(0, INT64)


@dataclass(frozen=True, eq=False, repr=False)
class Expansion:
    """The graph that is searched in place of one with turns: crossings are split into copies.

    Attributes
    ----------
    indptr, indices : ndarray
        Its arcs; vertices are arrivals and unsplit crossings, then copies, then departures.
    arc_of, turn_of : ndarray of int32, an entry per arc
        The arc of the user's graph that it ends with, and the turn that it begins with; or -1.
    vertex_of : ndarray of int64, an entry per vertex
        The user's vertex.
    begin, end : ndarray of int64, shape (n,)
        Where trips from a vertex of the user begin, and where trips to it end.
    split : ndarray of bool, shape (n,)
        Which of the user's vertices have copies.
    street : ndarray of int64, an entry per vertex
        The same number for the copies of both directions of a street, else numbers of their own.
    after : ndarray of int64, an entry per arc of the user's graph, or None
        Where one is after an arc; a reversed one does not know.
    rows_come_first : bool
        Whether trips end at the first n vertices, in order; those of a reversed one do not.
    structure : Derived
        What is derived from its arcs, whatever they weigh.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    arc_of: NDArray[np.int32]
    turn_of: NDArray[np.int32]
    vertex_of: NDArray[np.int64]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    split: NDArray[np.bool_]
    street: NDArray[np.int64]
    after: NDArray[np.int64] | None
    rows_come_first: bool = True
    structure: Derived = field(default_factory=Derived)

    @property
    def n(self) -> int:
        """Number of vertices in the user's graph, before turns are expanded."""
        return self.end.size

    def are_steps(self, vertices: Array) -> NDArray[np.bool_]:
        """Return which vertices to keep (a mask) to map an expanded path to the user's graph."""
        stays = vertices >= self.n
        stays[~stays] = ~self.split[vertices[~stays]]
        return stays

    def user_vertices(self, vertices: Array) -> Array:
        """Return the vertices of the user's graph along a path of the expanded graph."""
        return self.vertex_of[vertices[self.are_steps(vertices)]]

    @property
    def priced(self) -> NDArray[np.int32]:
        """Positions of expansion arcs whose weight is not simply that of one arc of the graph."""

        def build() -> NDArray[np.int32]:
            return np.flatnonzero((self.arc_of < 0) | (self.turn_of >= 0)).astype(INDEX)

        return self.structure.get_or_build("priced", build)

    def values_of_arcs(self, values: Array) -> Array:
        """Return for each expansion arc the value of the user's arc it represents, or 0."""
        return np.append(values, values.dtype.type(0))[self.arc_of]

    def reverse(self, places: Array) -> Expansion:
        """Return the expansion of the reversed graph, given every arc's position in that graph."""
        indptr, indices, order = csr.transpose(self.indptr, self.indices)
        arc_of = np.append(places, -1).astype(INDEX)[self.arc_of[order]]
        fields: dict[str, Any] = {"indptr": indptr, "indices": indices, "arc_of": arc_of}
        fields |= {"begin": self.end, "end": self.begin, "after": None, "structure": Derived()}
        first = bool((self.begin == np.arange(self.n)).all())
        return replace(self, **fields, turn_of=self.turn_of[order], rows_come_first=first)


@dataclass(frozen=True, eq=False, repr=False)
class Turns:
    """Costs and prohibitions of turns of a graph, as `Graph.with_turns` makes them.

    Attributes
    ----------
    rows : int
        Number of rows of the table.
    unmet : int
        How many of them name an input row that is no arc of the graph (-1 in ``row_arc``): a
        self-loop that was dropped, or what lies outside of a part of the graph.
    split : int
        Number of crossings that the search splits, for some turn there is not free.
    row_turn : ndarray of int32, shape (rows,)
        The named turn of every row, as `ShortestPaths.load_turns` counts them; -1 where `unmet`.
    into, out : ndarray of int32
        Arcs before and after each turn that is not free or that has a name, in their order.
    turn : ndarray of int32
        Which of the costs it has.
    costs : ndarray of int64 or float64
        Those of named turns, then others; the greatest int64, or infinity, forbids.
    """

    into: NDArray[np.int32]
    out: NDArray[np.int32]
    turn: NDArray[np.int32]
    costs: Array
    floor: Array  # what a named turn costs at least, whatever its rows say
    link_row: NDArray[np.int32]  # rows, and the turns whose cost they give
    link_turn: NDArray[np.int32]
    row_turn: NDArray[np.int32]
    lightest: Array  # least weight of each arc where only U-turns that may pay have costs, or empty
    ways: tuple[tuple[int, ...], ...]
    backward: bool  # whether the expansion is that of the reversed graph, turned around
    expansion: Expansion

    @property
    def rows(self) -> int:
        """Number of rows in the user's table of turns."""
        return self.row_turn.size

    @property
    def unmet(self) -> int:
        """Number of rows of the table of turns that name an arc missing from the graph.

        They name a self-loop that was dropped, or an arc outside of this part of the graph.
        """
        return int(np.count_nonzero(self.row_turn < 0))

    @property
    def split(self) -> int:
        """Number of crossings that the expansion splits into copies."""
        return int(np.count_nonzero(self.expansion.split))

    def __repr__(self) -> str:
        met = f"{self.rows - self.unmet} of {self.rows} rows met turns"
        if self.unmet:
            met += f", {self.unmet} name no arc of the graph"
        if self.ways:
            met += f"; {len(self.ways)} sequence{'s' * (len(self.ways) > 1)} forbidden"
        e = self.expansion
        return (
            f"<Turns: {met}; {self.split} of {e.n} crossings split; searched on "
            f"{e.vertex_of.size} vertices and {e.indices.size} arcs>"
        )

    def weigh(self, weights: Array) -> Array:
        """Return the arc weights of the expanded graph, including turn costs.

        Raises
        ------
        DistanceOverflowError
            A sum does not fit int64.
        """
        e = self.expansion
        floats = weights.dtype.kind == "f"
        costs = converted(self.costs, FLOAT64) if floats else self.costs
        for dtype in (FLOAT64,) if floats else (INT32, INT64):  # (most fit into 32 bits)
            if weights.dtype.itemsize > dtype.itemsize:
                continue
            own = weights if weights.dtype == dtype else converted(weights, dtype)
            sums = np.empty(e.arc_of.size, dtype)
            closed = closed_weight(costs.dtype), closed_weight(dtype)
            least = -closed[1] - 1  # (of floats: -inf)
            if _weigh_kernel(own, costs, e.arc_of, e.turn_of, e.priced, *closed, least, sums):
                return sums
        raise DistanceOverflowError("a weight and the cost of a turn do not fit int64 together")

    def refuse_lighter(self, weights: Array) -> None:
        """Raise ValueError if an arc weighs less than the minimum for it in `self.lightest`."""
        arc = check_arrays.first_true(weights[: self.lightest.size] < self.lightest)
        if arc is not None:
            raise ValueError(
                f"arc {arc} gets the weight {weights[arc]}, and the turns of this graph hold for "
                f"{self.lightest[arc]} or more there: a smaller lightest= in with_turns allows it"
            )

    @property
    def cost_something(self) -> bool:
        """Return whether some turn has a cost and is not forbidden."""
        return bool(((self.costs > 0) & (self.costs != closed_weight(self.costs.dtype))).any())

    def paid(self, loads: NDArray[np.float64]) -> float:
        """Return the total turn cost of all flows on the arcs of the turn-expanded graph."""
        if not self.cost_something:
            return 0.0
        costs = np.append(self.costs, self.costs.dtype.type(0))[self.expansion.turn_of]
        return float((np.where(loads > 0, costs, 0) * loads).sum())

    def convert_for(self, weights: np.dtype[Any]) -> Turns:
        """Return the turns with costs converted to integers or floats, to match the weights."""
        if (weights.kind == "f") == (self.costs.dtype.kind == "f"):
            return self
        costs, floor = (as_costs(c, "turn", weights.kind != "f") for c in (self.costs, self.floor))
        return replace(self, costs=costs, floor=floor)

    def with_row_costs(self, values: Any, weights: Array) -> Turns:
        """Return the turns with a new cost for each row of the table of turns."""
        column = as_costs(values, "row", self.costs.dtype.kind == "i")
        if column.size != self.rows:
            raise ValueError(
                f"{column.size} costs for {self.rows} rows of turns: each row has one, also where "
                "it stays as it was"
            )
        if column.dtype.kind == "i":
            named = self.turn < self.floor.size
            after = np.zeros(self.floor.size, weights.dtype)
            after[self.turn[named]] = weights[(self.into if self.backward else self.out)[named]]
            _refuse_overflow(column, after[self.link_turn], self.link_row)
        costs = self.costs.copy()
        costs[: self.floor.size] = _raise_to_rows(self.floor, column, self.link_row, self.link_turn)
        return replace(self, costs=costs)

    def without_costs(self) -> Turns:
        """Return the turns with all costs removed; forbidden turns stay forbidden."""
        never = closed_weight(self.costs.dtype)
        costs = np.where(self.costs == never, never, never.dtype.type(0))
        return replace(self, costs=costs, floor=np.zeros_like(self.floor), lightest=NOTHING)

    def forbid_at(self, indptr: Array, heads: Array, vertices: Array) -> Turns:
        """Return these turns, with all turns at given vertices forbidden in addition."""
        is_closed = np.zeros(indptr.size - 1, bool)
        is_closed[vertices] = True
        into = np.flatnonzero(is_closed[heads])
        counts = np.diff(indptr)[heads[into]]
        out, stays = csr.spread(indptr[heads[into]], counts), ~is_closed[heads[self.into]]
        changed = {
            "into": np.append(self.into[stays], np.repeat(into, counts)),
            "out": np.append(self.out[stays], out),
            "turn": np.append(self.turn[stays], np.full(out.size, self.costs.size)),
            "costs": np.append(self.costs, closed_weight(self.costs.dtype)),
        }
        return _expand_turns(indptr, heads, vars(self) | changed)

    def scale(self, factor: float) -> Turns:
        """Return the turns with integer costs ``rint(costs * factor)``."""
        rounds = factor != np.rint(factor) or self.costs.dtype.kind == "f"
        if rounds and self.lightest.size:
            raise ValueError(
                "after rounding, U-turns that lightest= leaves without a cost could be cheapest: "
                "scale the graph first, then give it turns"
            )
        costs, floor, lightest = (
            scale_weights(column, factor) for column in (self.costs, self.floor, self.lightest)
        )
        return replace(self, costs=costs, floor=floor, lightest=lightest)

    def carry_over(self, indptr: Array, indices: Array, places: Array) -> Turns:
        """Return the turns after arcs were dropped: arc a is now ``places[a]``, -1 if dropped."""
        into, out = places[self.into], places[self.out]
        kept = (into >= 0) & (out >= 0)
        ways = [tuple(places[list(way)].tolist()) for way in self.ways]
        met = np.zeros(self.costs.size + 1, np.bool_)
        met[self.turn[kept]] = True
        fields = vars(self) | {"into": into[kept], "out": out[kept], "turn": self.turn[kept]}
        fields["row_turn"] = np.where(met[self.row_turn], self.row_turn, -1)
        fields["ways"] = tuple(way for way in ways if min(way) >= 0)
        fields["lightest"] = self.lightest[places[: self.lightest.size] >= 0]
        return _expand_turns(indptr, indices, fields)

    def reverse(self, places: Array) -> Turns:
        """Return the turns of the reversed graph; `places` are the new positions of arcs."""
        turned = _reverse(vars(self), places.astype(INDEX))
        order = np.lexsort((turned["out"], turned["into"]))
        turned |= {name: turned[name][order] for name in ("into", "out")}
        turned |= {"turn": self.turn[order], "expansion": self.expansion.reverse(places)}
        return replace(self, **turned, backward=not self.backward)

    def pack(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return the turns as metadata and arrays for a file."""
        arrays = {f"turns_{name}": getattr(self, name) for name in ARRAYS}
        arrays["turns_ways"] = np.array([arc for way in self.ways for arc in way], INT64)
        arrays["turns_way_sizes"] = np.array([len(way) for way in self.ways], INT64)
        return {"turns_backward": self.backward}, arrays


def unpack_turns(
    path: Any, meta: dict[str, Any], arrays: dict[str, Array], indptr: Array, indices: Array
) -> Turns | None:
    """Return the turns that `Turns.pack` put into a file; None if there are none.

    Raises
    ------
    GraphFormatError
        They are not those of this graph.
    """
    if "turns_backward" not in meta:
        return None
    columns = [arrays.get(f"turns_{name}", NOTHING) for name in (*ARRAYS, "ways", "way_sizes")]
    into, out, turn, costs, floor, link_row, link_turn, row_turn, light, ways, sizes = columns
    m, tails = indices.size, csr.tails_of(indptr)
    integers = (into, out, turn, link_row, link_turn, row_turn, ways, sizes)
    right = (
        all(column.ndim == 1 and column.dtype.kind == "i" for column in integers)
        and type(meta["turns_backward"]) is bool
        and into.size == out.size == turn.size
        and link_row.size == link_turn.size
        and floor.ndim == costs.ndim == 1
        and floor.size <= costs.size
        and floor.dtype == costs.dtype in (INT64, FLOAT64)
        and light.shape in ((0,), (m,))
        and all((column >= 0).all() for column in (costs, floor, sizes - 2))
        and sizes.sum() == ways.size
        and all(check_arrays.are_within(column, 0, m) for column in (into, out, ways))
        and check_arrays.are_within(turn, 0, costs.size)
        and check_arrays.are_within(link_turn, 0, floor.size)
        and check_arrays.are_within(link_row, 0, row_turn.size)
        and check_arrays.are_within(row_turn, -1, floor.size)
    )
    if right:
        lists = tuple(tuple(way.tolist()) for way in np.split(ways, np.cumsum(sizes))[:-1])
        inner = np.ones(ways.size, bool)
        inner[np.cumsum(sizes)[:-1]] = False
        follows = indices[ways[:-1]] == tails[ways[1:]]
        order = np.lexsort((out, into))
        apart = np.diff(into[order]) | np.diff(out[order])
        right = all(kept.all() for kept in (indices[into] == tails[out], follows[inner[1:]], apart))
    if not right:
        raise GraphFormatError("the turns are not those of this graph", path=path)
    fields: dict[str, Any] = dict(zip(ARRAYS, columns, strict=False))
    fields |= {"ways": lists, "backward": meta["turns_backward"]}
    return _expand_turns(indptr, indices, fields)


# ---- from what the caller says to turns


class Naming(NamedTuple):
    """How turns name the arcs of a graph: by input rows, or by positions."""

    graph: Any
    by_row: bool

    @property
    def integral(self) -> bool:
        """Whether weights and turn costs are integers."""
        return bool(self.graph.weights.dtype.kind == "i")

    @property
    def called(self) -> str:
        """The noun for an arc in error messages: ``input row`` or ``arc``."""
        return "input row" if self.by_row else "arc"

    def both_ways(self, names: Array) -> Array:
        """Return the arc and the reverse arc that each name stands for, shape (2, k); -1: none."""
        graph, none = self.graph, np.full(names.size, -1)
        if not (self.by_row and graph.m):
            return np.stack((none if self.by_row else names, none))
        arcs = graph.row_arc[names].astype(INT64)
        back = graph._twins[arcs].astype(INT64)
        same = (arcs >= 0) & (back >= 0) & (graph.arc_origin[back] == graph.arc_origin[arcs])
        return np.stack((arcs, np.where(same, back, -1)))


def make_turns(
    naming: Naming, table: Any, cost: Any, u_turns: float | None, ways: Any, lightest: float
) -> Turns:
    """Return the turns that the arguments of `Graph.with_turns` describe."""
    graph, m = naming.graph, naming.graph.m
    rows, values, kinds = _read_table(naming, table)
    into, out, met = _find_arcs(naming, *rows)
    only, keys = (kinds == "only") & met, into * m + out
    values[(kinds == "no") | (kinds == "only")] = closed_weight(values.dtype)
    # (an only-row is about the other turns from its arc)
    others, which = _arcs_out(graph, graph.indices[into[only]])
    other_keys = into[only][which] * m + others
    stays = ~np.isin(other_keys, keys[only])
    plain = met & ~only
    link_row = np.concatenate([np.flatnonzero(plain), np.flatnonzero(only)[which][stays]])
    link_key = np.concatenate([keys[plain], other_keys[stays]])
    if naming.integral:
        _refuse_overflow(values, graph.weights[link_key % max(m, 1)], link_row)
    named = np.unique(np.concatenate([link_key, keys[only]]))
    usual_keys, usual = _usual_costs(naming, cost, u_turns)
    least = _lightest_weights(naming, lightest)
    floor = np.zeros(named.size, usual.dtype)
    # (what a plain row names costs what the row says)
    place = np.searchsorted(usual_keys, named)
    has_usual = (np.append(usual_keys, -1)[place] == named) & ~np.isin(named, keys[plain])
    floor[has_usual] = usual[place[has_usual]]
    unnamed = (usual != 0) & ~np.isin(usual_keys, named)
    classes, class_of = np.unique(usual[unnamed], return_inverse=True)
    link_turn = np.searchsorted(named, link_key)
    row_turn = np.where(met, np.searchsorted(named, keys), -1)
    all_keys = np.concatenate([named, usual_keys[unnamed]])
    fields: dict[str, Any] = {
        "into": all_keys // max(m, 1),
        "out": all_keys % max(m, 1),
        "turn": np.concatenate([np.arange(named.size), named.size + class_of]),
        "costs": np.concatenate([_raise_to_rows(floor, values, link_row, link_turn), classes]),
        "floor": floor,
        "link_row": link_row,
        "link_turn": link_turn,
        "row_turn": row_turn,
        "lightest": NOTHING if u_turns is None else least,
        "ways": _read_ways(naming, ways),
        "backward": False,
    }
    assert naming.integral == (fields["costs"].dtype.kind == "i")
    if fields["lightest"].size:
        fields = _keep_useful_u_turns(graph.indptr, graph.indices, fields)
    return _expand_turns(graph.indptr, graph.indices, fields)


def _arcs_out(graph: Any, vertices: Array) -> tuple[Array, Array]:
    """Return the arcs out of given vertices, and for each arc its tail's index in `vertices`."""
    counts = np.diff(graph.indptr)[vertices]
    return csr.spread(graph.indptr[vertices], counts), np.repeat(np.arange(vertices.size), counts)


def _refuse_overflow(values: Array, weights: Array, rows: Array) -> None:
    """Raise if a table row's turn cost plus the weight of the arc after it exceeds int64.

    Parameters
    ----------
    values : ndarray of int64
        The cost of every row.
    weights, rows : ndarray, shape (k,)
        Weights of arcs, and the row whose turn comes before each.
    """
    never = closed_weight(INT64)
    costs, weights = values[rows], converted(weights, INT64)
    i = check_arrays.first_true((costs < never) & (weights < never) & (weights >= never - costs))
    if i is not None:
        raise DistanceOverflowError(
            f"the cost of row {rows[i]} of the turns, {costs[i]}, and the weight {weights[i]} of "
            "the arc after it do not fit int64 together"
        )


def _raise_to_rows(floor: Array, values: Array, link_row: Array, link_turn: Array) -> Array:
    """Return each turn's cost: the maximum of its default cost and its table rows' costs."""
    costs = floor.copy()
    np.maximum.at(costs, link_turn, values[link_row])
    return costs


def as_costs(values: Any, what: str, integral: bool) -> Array:
    """Return turn costs as int64 or float64; a forbidden turn costs the int64 maximum or inf.

    Raises
    ------
    ValueError, TypeError, DistanceOverflowError
        The message names the first that is no cost by `what` it belongs to.
    """
    column = check_arrays.number_array(values, "costs of turns")
    if column.ndim != 1:
        raise ValueError(f"costs of turns must be one column, not of shape {column.shape}")

    def refuse(wrong: Array, why: str) -> None:
        if (place := check_arrays.first_true(wrong)) is not None:
            raise ValueError(f"the cost of {what} {place} is {column[place]}: {why}")

    # (written so that NaN is refused)
    refuse(~(column >= 0), "costs of turns are numbers of 0 or more, inf to forbid")
    if not integral:
        return converted(column, FLOAT64) if column.dtype == INT64 else column.astype(FLOAT64)
    forbidden = column == np.inf
    finite = np.where(forbidden, column.dtype.type(0), column)
    if finite.size and int(finite.max()) >= 2**63:
        place = int(finite.argmax())
        raise DistanceOverflowError(
            f"the cost of {what} {place} is {column[place]}, which does not fit int64"
        )
    if column.dtype.kind != "f":
        return column.astype(INT64)
    refuse(
        finite != np.rint(finite),
        "beside integer weights costs are whole numbers too; g.scaled(1000), or weights as floats, "
        "g.with_weights(g.weights.astype(float)), make room for fractions",
    )
    return np.where(forbidden, closed_weight(INT64), finite.astype(INT64))


def _read_table(naming: Naming, table: Any) -> tuple[tuple[Array, Array], Array, Array]:
    """Return the columns ``from``, ``to``, ``cost`` and ``kind`` of a table of turns."""
    if table is None:
        table = ([], [], [])
    if isinstance(table, tuple) and len(table) in (3, 4):
        columns = dict(zip(COLUMNS, table, strict=False))
    elif hasattr(table, "columns"):
        columns = {name: table[name].to_numpy() for name in COLUMNS if name in table.columns}
    else:
        raise TypeError(
            "a table of turns is a pandas DataFrame with columns 'from', 'to', 'cost' (and "
            "'kind'), or a tuple of these arrays, not "
            + (f"a tuple of {len(table)}" if isinstance(table, tuple) else type(table).__name__)
        )
    missing = {"from", "to", *(() if "kind" in columns else ("cost",))} - columns.keys()
    if missing:
        raise ValueError(f"the table of turns has no column {sorted(missing)[0]!r}")
    ends = [_arc_names(naming, columns[name], name) for name in ("from", "to")]
    size = ends[0].size
    kinds = np.asarray(columns.get("kind", np.full(size, "cost")), object)
    for row, kind in enumerate(kinds.ravel().tolist()):
        if kind not in KINDS:
            raise ValueError(f"the kind of row {row} is {kind!r}, not 'cost', 'no' or 'only'")
    given = check_arrays.number_array(columns.get("cost", np.zeros(size)), "costs of turns")
    if not ends[1].size == kinds.size == given.size == size:
        raise ValueError("the columns of a table of turns must be equally long")
    # (what rows of other kinds cost is not looked at)
    values = as_costs(np.where(kinds == "cost", given, 0), "row", naming.integral)
    return (ends[0], ends[1]), values, kinds


def _arc_names(naming: Naming, names: Any, what: str) -> Array:
    """Check a column of a turn table that names arcs, and return it as an integer array."""
    column = np.asarray(names)
    if column.size == 0:
        return NOTHING
    end = naming.graph.input_arcs if naming.by_row else naming.graph.m
    if column.ndim != 1 or column.dtype.kind not in "iu":
        given = np.asarray(names, object).ravel().tolist()
        odd = (row for row, name in enumerate(given) if not check_arrays.is_integer(name))
        row = next(odd, 0)
        raise TypeError(
            f"{what} of turns must be a column of integers, {naming.called}s; row {row} is not"
        )
    outside = check_arrays.first_true((column < 0) | (column >= end))
    if outside is not None:
        raise IndexError(
            f"{what} of row {outside} of turns is {column[outside]}, and there are {end} "
            f"{naming.called}s"
        )
    return column.astype(INT64)


def _find_arcs(naming: Naming, before: Array, after: Array) -> tuple[Array, Array, Array]:
    """Return each turn's first arc, its second arc, and whether the graph has these two arcs."""
    a, b, graph = naming.both_ways(before), naming.both_ways(after), naming.graph
    met = (a[0] >= 0) & (b[0] >= 0)
    into, out, found = np.zeros_like(before), np.zeros_like(after), np.zeros(before.size, INDEX)
    for one in a:
        for other in b:
            joined = met & (one >= 0) & (other >= 0)
            joined[joined] = graph.indices[one[joined]] == graph.tails[other[joined]]
            into[joined], out[joined] = one[joined], other[joined]
            found += joined
    row = check_arrays.first_true(met & (found != 1))
    if row is not None:
        how = "does not end where the other begins" if found[row] == 0 else "meets it at both ends"
        raise ValueError(
            f"row {row} of the turns goes from {naming.called} {before[row]} to {after[row]}, but "
            f"the first {how}" + (": name arcs, with arcs=True" if found[row] else "")
        )
    return into, out, met


def _read_ways(naming: Naming, ways: Sequence[Any] | None) -> tuple[tuple[int, ...], ...]:
    """Return forbidden arc sequences as arc positions; leave out those with a missing arc."""
    found, heads, tails = set(), naming.graph.indices, naming.graph.tails
    for number, way in enumerate(ways or ()):
        names = _arc_names(naming, way, f"way {number}")
        if names.size < 2:
            raise ValueError(f"way {number} has {names.size} arcs: a turn needs at least two")
        both = naming.both_ways(names)
        if (both[0] < 0).any():
            continue
        chains: list[tuple[int, ...]] = [()]
        for step in both.T.tolist():
            chains = [
                (*chain, arc)
                for chain in chains
                for arc in step
                if arc >= 0 and (not chain or heads[chain[-1]] == tails[arc])
            ]
        if len(chains) != 1:
            how = "are no path" if not chains else "are several paths: name arcs, with arcs=True"
            raise ValueError(f"the {naming.called}s of way {number}, {names.tolist()}, {how}")
        found.add(chains[0])
    return tuple(sorted(found))


def _usual_costs(naming: Naming, cost: Any, u_turns: float | None) -> tuple[Array, Array]:
    """Return sorted keys of all pairs of consecutive arcs, and each pair's default turn cost."""
    dtype = INT64 if naming.integral else FLOAT64
    if cost is None and u_turns is None:
        return NOTHING, np.empty(0, dtype)
    graph = naming.graph
    out, into = _arcs_out(graph, graph.indices)
    usual = np.zeros(out.size, dtype)
    if cost is not None:
        values = cost(_angles(graph, into, out)) if callable(cost) else cost
        usual = as_costs(values, "pair of arcs", naming.integral)
        if usual.size != out.size:
            raise ValueError(
                f"{usual.size} costs for {out.size} pairs of consecutive arcs: give one for each, "
                "sorted by the first arc, then by the second"
            )
    if u_turns is not None:
        if not check_arrays.is_real(u_turns):
            raise TypeError(f"u_turns must be one number, not {u_turns!r}")
        around = graph.indices[out] == graph.tails[into]
        around &= np.diff(graph.indptr)[graph.indices[into]] > 1
        usual[around] = as_costs(np.array([u_turns]), "U-turn", naming.integral)[0]
    return into * graph.m + out, usual


def _lightest_weights(naming: Naming, share: float) -> Array:
    """Return the least weight that each arc may get later: ``weight * share``, 0 if closed."""
    weights = naming.graph.weights
    if not (check_arrays.is_real(share) and 0 <= share <= 1):
        raise ValueError(f"lightest must be a number from 0 to 1, not {share!r}")
    if not share:
        return NOTHING
    if naming.graph.least_weight < 0:
        raise ValueError("lightest= needs weights of 0 or more: else a U-turn may pay anywhere")
    least = np.where(weights == closed_weight(weights.dtype), 0, weights) * share
    return np.ceil(least).astype(INT64) if naming.integral else least.astype(FLOAT64)


def _keep_useful_u_turns(indptr: Array, heads: Array, fields: dict[str, Any]) -> dict[str, Any]:
    """Drop U-turn costs that change no shortest path if arcs weigh `lightest` or more.

    Coming back to a crossing where all turns are free gains nothing. So a U-turn pays only beyond a
    crossing with turns, and pays most at the next crossing. At crossings farther away U-turns may
    stay free: no shortest path makes them if the way there and back costs more than a U-turn.
    """
    into, out, turn = (fields[name] for name in ("into", "out", "turn"))
    n, tails, twins = indptr.size - 1, csr.tails_of(indptr), csr.twins_of(indptr, heads)
    # (what a U-turn at a dead end costs, cost= says)
    general = (heads[out] == tails[into]) & (np.diff(indptr) > 1)[heads[into]]
    general &= turn >= fields["floor"].size
    may_pay = np.zeros(n, np.bool_)
    may_pay[heads[into[~general]]] = True
    may_pay[[heads[arc] for way in fields["ways"] for arc in way[:-1]]] = True
    if general.any() and may_pay.any():
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import dijkstra

        price, least = fields["costs"][turn[general][0]], fields["lightest"].astype(FLOAT64)
        there = np.flatnonzero(twins >= 0)
        around = least[there] + least[twins[there]]
        # (over ways of no length: a tie could hide a U-turn)
        next_ones = np.union1d(heads[may_pay[tails]], tails[there[around == 0]])
        if price == closed_weight(fields["costs"].dtype):
            around[:] = 0
        streets = csr_array((around, (tails[there], heads[there])), shape=(n, n))
        limit = float(price) * (1 + 1e-9)  # (sums of floats are rounded)
        may_pay |= np.isfinite(dijkstra(streets, indices=next_ones, min_only=True, limit=limit))
    else:
        fields = fields | {"lightest": NOTHING}
    kept = ~general | may_pay[heads[into]]
    return fields | {"into": into[kept], "out": out[kept], "turn": turn[kept]}


def _angles(graph: Any, into: Array, out: Array) -> Array:
    """Return the turning angles of pairs of arcs in degrees (-180, 180], positive to the left."""
    if graph.coordinates is None:
        raise ValueError(
            "cost= as a function of angles needs coordinates, which this graph lacks: give "
            "coordinates=, or an array with a cost for each pair"
        )
    (lon, lat), tails, heads = graph.coordinates.T, graph.tails, graph.indices
    east = (lon[heads] - lon[tails] + 180) % 360 - 180
    middle = np.radians((lat[heads] + lat[tails]) / 2)
    north = lat[heads] - lat[tails]
    bearing = np.degrees(np.arctan2(north, east * np.cos(middle)))
    angles: Array = 180 - (180 - (bearing[out] - bearing[into])) % 360
    # (rounding may bring the way back to either side of 180)
    angles[(angles <= -180) | (heads[out] == tails[into])] = 180
    return angles


# ---- the expansion


def _states_of(indptr: Array, heads: Array, fields: dict[str, Any]) -> tuple[Array, ...]:
    """Return states and transitions of the automaton of forbidden sequences (Aho-Corasick).

    A state is the last arc, and the forbidden way that has begun.

    Returns
    -------
    arcs : ndarray
        The last arc of every state; the first m states are the arcs alone.
    state, out, to, turn : ndarray
        Transitions that are not free, sorted: from `state` over arc `out` to state `to` (-1:
        forbidden), with `turn` (-1: free).
    """
    m, whole = heads.size, set(fields["ways"])
    into, out, turn = (np.asarray(fields[name], INT64) for name in ("into", "out", "turn"))
    if not whole:
        return np.arange(m), into, out, out, turn
    begun = sorted({way[:k] for way in whole for k in range(2, len(way))})
    number = {way: m + i for i, way in enumerate(begun)}
    driven = {(way[0],): way[0] for way in whole} | number
    table = np.stack([into, out, out, turn], axis=1)
    after = np.isin(into, [way[-1] for way in driven])
    known = {(a, b): price for a, b, _, price in table[after].tolist()}
    rows = []
    for way, state in driven.items():
        last = way[-1]
        for b in range(indptr[heads[last]], indptr[heads[last] + 1]):
            ends = [(*way[i:], b) for i in range(len(way))]
            to = next((number[end] for end in ends if end in number), b)
            if any(end in whole for end in ends):
                to = -1
            price = known.get((last, b), -1)
            if to != b or price >= 0:
                rows.append((state, b, to, price))
    others = ~np.isin(into, [way[0] for way in whole])
    table = np.concatenate([table[others], np.array(rows, INT64).reshape(-1, 4)])
    table = table[np.lexsort((table[:, 1], table[:, 0]))]
    arcs = np.append(np.arange(m), np.array([way[-1] for way in begun], INT64))
    return arcs, *np.ascontiguousarray(table.T)


@njit
def _weigh_kernel(weights, costs, arc_of, turn_of, priced, closed_turn, closed, least, sums):
    """Write each expansion arc's weight plus turn cost; return whether all sums fit the dtype.

    `priced` are the arcs that are more than a copy of a weight: the others are copied first, in a
    loop that the compiler turns into vector operations.
    """
    for arc in range(arc_of.size):
        sums[arc] = weights[max(arc_of[arc], 0)]
    number = costs.dtype.type
    for arc in priced:
        weight, cost = number(0), number(0)
        is_closed = False
        if arc_of[arc] >= 0:
            own = weights[arc_of[arc]]
            is_closed = own == closed
            weight = number(own)
        if turn_of[arc] >= 0:
            cost = costs[turn_of[arc]]
            is_closed |= cost == closed_turn
        if is_closed:
            sums[arc] = closed
            continue
        # (a sum may not wrap around before it is looked at; and no turn costs less than nothing)
        if weight >= number(closed) - cost or weight + cost < least:
            return False
        sums[arc] = sums.dtype.type(weight + cost)
    return True


@njit
def _group_kernel(state_at, states, turn_at, out, to, turn):
    """Group states of the turn automaton at each vertex that have the same non-free transitions.

    Returns
    -------
    group : int64 (states,)
        The group of every state, counted from 0 at every vertex.
    counts : int64 (n,)
        How many groups there are, 0 where all turns are free.
    free : int64 (n,)
        Which of them has free turns alone, -1 for none.
    """
    n, group = state_at.size - 1, np.full(states.size, -1)
    counts, free, leaders = np.zeros(n, np.int64), np.full(n, -1), np.empty(states.size, np.int64)
    for v in range(n):
        count, special = 0, False
        for q in states[state_at[v] : state_at[v + 1]]:
            size = turn_at[q + 1] - turn_at[q]
            special |= size > 0
            for g in range(count):
                other = turn_at[leaders[g]]
                same = turn_at[leaders[g] + 1] - other == size
                k = 0
                while same and k < size:
                    e, f = turn_at[q] + k, other + k
                    same = out[e] == out[f] and to[e] == to[f] and turn[e] == turn[f]
                    k += 1
                if same:
                    group[q] = g
                    break
            if group[q] < 0:
                group[q] = count
                leaders[count] = q
                if size == 0:
                    free[v] = count
                count += 1
        counts[v] = count if special else 0
    return group, counts, free


def _expand_turns(indptr: Array, heads: Array, fields: dict[str, Any]) -> Turns:
    """Build a `Turns` object from its fields, including the expanded graph."""
    kept = {name: fields[name] for name in Turns.__dataclass_fields__ if name != "expansion"}
    if kept["backward"]:
        there, tails, back = csr.transpose(indptr, heads)
        places = np.empty(back.size, INT64)
        places[back] = np.arange(back.size)
        turned = kept | _reverse(kept, places)
        return _expand_turns(there, tails, turned | {"backward": False}).reverse(back)
    for name in ("into", "out", "turn", "link_row", "link_turn", "row_turn"):
        kept[name] = np.asarray(kept[name]).astype(INDEX)
    order = np.lexsort((kept["out"], kept["into"]))
    kept |= {name: kept[name][order] for name in ("into", "out", "turn")}
    return Turns(**kept, expansion=_expand(indptr, heads, kept))


def _reverse(fields: dict[str, Any], places: Array) -> dict[str, Any]:
    """Convert the fields of `Turns` that hold arcs to the arc positions of the reversed graph."""
    lightest = fields["lightest"].copy()
    lightest[places[: lightest.size]] = fields["lightest"]
    ways = tuple(tuple(places[list(way[::-1])].tolist()) for way in fields["ways"])
    into, out = places[fields["out"]], places[fields["into"]]
    return {"into": into, "out": out, "ways": ways, "lightest": lightest}


def _expand(indptr: Array, heads: Array, fields: dict[str, Any]) -> Expansion:
    """Build the expanded graph that represents turns: vertices, arcs, and the turn of each arc."""
    n, costs = indptr.size - 1, fields["costs"]
    arcs, state, out, to, turn = _states_of(indptr, heads, fields)
    crossing = heads[arcs].astype(INT64)
    state_at = csr.offsets(np.bincount(crossing, minlength=n))
    turn_at = csr.offsets(np.bincount(state, minlength=arcs.size))
    states = np.argsort(crossing, kind="stable")
    group, counts, free = _group_kernel(state_at, states, turn_at, out, to, turn)

    # the vertices: arrivals and unsplit crossings, copies, departures
    split, copies = counts > 0, n + csr.offsets(counts)
    departing = np.flatnonzero(split & (free < 0))
    vertex_of = np.concatenate([np.arange(n), np.repeat(np.arange(n), counts), departing])
    place = np.where(split[crossing], copies[crossing] + group, crossing)
    begin = np.where(split, copies[:-1] + free, np.arange(n))
    begin[departing] = copies[-1] + np.arange(departing.size)

    # all but arrivals go on over the arcs of their crossing, with the turns of their states
    degrees = np.diff(indptr)[vertex_of]
    degrees[:n][split] = 0
    tails = np.repeat(np.arange(vertex_of.size), degrees)
    arc_of = csr.spread(indptr[vertex_of], degrees)
    next_state, turn_of = arc_of.copy(), np.full(arc_of.size, -1)
    at = csr.offsets(degrees)[place[state]] + out - indptr[crossing[state]]
    next_state[at], turn_of[at] = to, turn
    never = np.append(costs == closed_weight(costs.dtype), False)
    never[: fields["floor"].size] = False  # (what has a name may be allowed another time)
    stays = (next_state >= 0) & ~never[turn_of]

    # copies and departures lead over nothing to their arrival
    ending = np.arange(n, vertex_of.size)
    starts = np.concatenate([tails[stays], ending]).astype(INDEX)
    ends = np.concatenate([place[next_state[stays]], vertex_of[ending]]).astype(INDEX)
    weights, nothing = np.zeros(ends.size, INDEX), np.full(ending.size, -1)
    first_arcs, indices, _, rows, _, _ = csr.build_csr(vertex_of.size, starts, ends, weights)
    arc_of = np.append(arc_of[stays], nothing)[rows].astype(INDEX)
    turn_of = np.append(turn_of[stays], nothing)[rows].astype(INDEX)

    # both directions of a street have one number, unless their copies stand for more
    street, twins = np.arange(vertex_of.size), csr.twins_of(indptr, heads)
    alone = np.bincount(place, minlength=street.size) == 1
    alone[:n] = False
    one = np.flatnonzero(twins > np.arange(heads.size))
    both = one[alone[place[one]] & alone[place[twins[one]]]]
    street[place[twins[both]]] = place[both]
    return Expansion(
        first_arcs, indices, arc_of, turn_of, vertex_of, begin, np.arange(n), split, street,
        place[: heads.size],
    )  # fmt: skip
