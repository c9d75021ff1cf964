"""Other weights on the same arcs: parallel rows, closed arcs, changes."""

from __future__ import annotations

import copy
import gc
import math
import pickle
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from sssp import datasets
from sssp.datasets.generate import road_like
from sssp.errors import DistanceOverflowError, NegativeWeightError, VertexError
from sssp.graph.graph import Graph
from sssp.graph.matrix import MatrixGraph
from sssp.graph.reading import read_graph
from tests.test_graph import assert_same, weight_of

N = 5
INT32_MAX, INT64_MAX = 2**31 - 1, 2**63 - 1
Row = tuple[int, int]
rows_of_arcs = st.lists(
    st.tuples(st.integers(0, N - 1), st.integers(0, N - 1)), min_size=1, max_size=20
)
#: a list of such is a graph of integers, closed arcs or not
integers = st.integers(0, 6) | st.just(math.inf)
floats = st.sampled_from([0.0, 0.5, 2.25, 1e12, math.inf])


@st.composite
def reweighted_rows(draw: st.DrawFn) -> tuple[list[Row], list[Any], list[Any], bool]:
    """Draw ends of rows, two weights for each, and whether they are directed."""
    ends = draw(rows_of_arcs)
    columns = [
        draw(st.lists(draw(st.sampled_from([integers, floats])), min_size=len(ends), max_size=99))
        for _ in range(2)
    ]
    first, second = ([0, *column[1 : len(ends)]] for column in columns)
    return ends, first, second, draw(st.booleans())


def graph_of(ends: list[Row], weights: Any, directed: bool = True) -> Graph:
    tails, heads = zip(*ends, strict=True)
    return Graph.from_arcs(list(tails), list(heads), weights, n=N, directed=directed)


def assert_rows_lead_to_their_arcs(g: Graph, ends: list[Row]) -> None:
    """Every row has the arc between its ends, unless it is a self-loop that was dropped."""
    assert g.row_arc.shape == (len(ends),) == (g.input_arcs,)
    for row, (tail, head) in enumerate(ends):
        arc = g.row_arc[row]
        if arc < 0:
            assert tail == head
        else:
            assert (g.tails[arc], g.indices[arc]) == (tail, head)
    assert np.count_nonzero(g.row_arc < 0) == g.self_loops


# -- parallel rows -----------------------------------------------------------------------------


def test_the_second_street_comes_back_when_it_is_the_faster_one() -> None:
    g = Graph.from_arcs([0, 0], [1, 1], [5, 6])
    assert g.row_arc.tolist() == [0, 0]
    busy = g.with_weights(rows=[50, 10])
    assert (busy.weights.tolist(), busy.arc_origin.tolist()) == ([10], [1])
    assert busy.with_weights(rows=np.array([7, 7])).arc_origin.tolist() == [0]
    minutes = np.array([50, 10])
    assert g.with_weights(minutes[g.arc_origin]).weights.tolist() == [50], "of the kept row"


@given(reweighted_rows())
def test_weights_of_rows_give_the_graph_that_they_would_have_made(given_rows: Any) -> None:
    ends, before, after, directed = given_rows
    g = graph_of(ends, before, directed)
    assert_rows_lead_to_their_arcs(g, ends)
    made_anew = graph_of(ends, after, directed)
    reweighted = g.with_weights(rows=after)
    assert_same(reweighted, made_anew)
    assert_same(reweighted.with_weights(rows=before), g)


@given(reweighted_rows())
def test_weights_of_rows_set_both_directions_whatever_they_were(given_rows: Any) -> None:
    ends, before, after, directed = given_rows
    g = graph_of(ends, before, directed)
    uneven = g.with_changes(np.arange(0, g.m, 2), 99).without_arcs(np.arange(1, g.m, 3))
    assert_same(uneven.with_weights(rows=after), graph_of(ends, after, directed))


def test_new_york_brings_all_its_parallel_streets_back() -> None:
    path = datasets.find("USA-road-t.NY")
    if path is None:
        pytest.skip("USA-road-t.NY is not on this machine")
    from sssp.loaders import read_gr

    arcs, g = read_gr(path), read_graph(path)
    minutes = np.random.default_rng(1).integers(1, 10_000, arcs.tails.size)
    anew = Graph.from_arcs(arcs.tails, arcs.heads, minutes, arcs.n, labels=range(1, arcs.n + 1))
    assert_same(g.with_weights(rows=minutes), anew)
    assert np.count_nonzero(g.with_weights(minutes[g.arc_origin]).weights > anew.weights) > 1000


def copied(g: Graph) -> Graph:
    twin: Graph = pickle.loads(pickle.dumps(g))
    return copy.deepcopy(twin)


def saved(g: Graph, folder: Path) -> Graph:
    path = folder / "g.sssp"
    g.save(path)
    return read_graph(path)


@given(reweighted_rows())
def test_rows_are_known_to_all_graphs_that_come_from_one(given_rows: Any) -> None:
    ends, before, after, directed = given_rows
    g = graph_of(ends, before, directed)
    turned = [(head, tail) for tail, head in ends]
    for graph in (g, g.without_arcs(np.arange(0, g.m, 2))):
        twin = copied(graph)
        assert_same(twin, graph)
        assert_same(twin.with_weights(rows=after), graph_of(ends, after, directed))
        back = graph.reverse()
        assert_rows_lead_to_their_arcs(back, turned)
        assert_same(back.with_weights(rows=after), graph.with_weights(rows=after).reverse())
        assert_same(graph.scaled(2).with_weights(rows=after), graph.with_weights(rows=after))


@settings(max_examples=20)
@given(reweighted_rows())
def test_rows_and_closed_arcs_are_kept_in_files(tmp_path_factory: Any, given_rows: Any) -> None:
    ends, before, after, directed = given_rows
    g = graph_of(ends, before, directed)
    for graph in (g, g.without_arcs(np.arange(0, g.m, 2))):
        twin = saved(graph, tmp_path_factory.getbasetemp())
        assert_same(twin, graph)
        assert_same(twin.with_weights(rows=after), graph_of(ends, after, directed))


@given(reweighted_rows(), st.sampled_from(["strong", "weak"]))
def test_rows_outside_a_component_are_no_arcs_of_it(given_rows: Any, connection: Any) -> None:
    ends, before, after, directed = given_rows
    g = graph_of(ends, before, directed)
    part = g.largest_component(connection)
    assert part.labels is not None
    number = {v: i for i, v in enumerate(part.labels.tolist())}
    for row, (tail, head) in enumerate(ends):
        arc = part.row_arc[row]
        inside = tail in number and head in number and g.row_arc[row] >= 0
        assert (arc >= 0) == inside
        if inside:
            assert (part.tails[arc], part.indices[arc]) == (number[tail], number[head])
    anew = graph_of(ends, after, directed)
    expected = {
        (number[tail], number[head]): weight
        for (tail, head), weight in weight_of(anew).items()
        if tail in number and head in number
    }
    got = weight_of(part.with_weights(rows=after))
    assert got.keys() == expected.keys()
    assert [as_float(got[pair]) for pair in got] == [as_float(expected[pair]) for pair in got]


def as_float(weight: Any) -> float:
    """Make all that closes an arc infinite."""
    return math.inf if weight in (INT32_MAX, INT64_MAX) else float(weight)


def test_a_row_outside_the_component_may_get_a_negative_weight() -> None:
    g = Graph.from_arcs([0, 1, 2], [1, 0, 0], [1, 1, 1]).largest_component()
    assert g.row_arc.tolist() == [0, 1, -1]
    assert g.with_weights(rows=[2, 3, -4]).weights.tolist() == [2, 3]


# -- self-loops --------------------------------------------------------------------------------


def test_a_dropped_self_loop_must_not_become_negative() -> None:
    g = Graph.from_arcs([0, 1, 1], [1, 1, 2], [1, 0, 1])
    assert g.row_arc.tolist() == [0, -1, 1]
    assert g.with_weights(rows=[4, 5, 6]).weights.tolist() == [4, 6]
    with pytest.raises(NegativeWeightError, match=r"row 1 gets the weight -5, .* 1 self-loops"):
        g.with_weights(rows=[4, -5, 6])


def test_a_negative_self_loop_that_becomes_positive_keeps_its_position() -> None:
    g = Graph.from_arcs([0, 0], [0, 1], [-1, 1])
    assert g.without_closed_arcs() is g
    for positive in (g.with_weights([1, 3]), g.with_weights(rows=[1, 3]), g.with_changes(0, 1)):
        assert positive.m == 2
        assert weight_of(positive)[0, 0] == 1
        part = positive.without_closed_arcs()
        assert list(weight_of(part)) == [(0, 1)]
        assert part.row_arc.tolist() == [-1, 0]
        assert positive.with_weights(rows=[-7, 1]).without_closed_arcs().m == 2


def test_a_closed_self_loop_is_dropped_like_any_that_is_not_negative() -> None:
    g = Graph.from_arcs([0, 1], [1, 1], [1, math.inf])
    assert (g.m, g.self_loops, g.closed_arcs, g.row_arc.tolist()) == (1, 1, 0, [0, -1])
    looped = Graph.from_arcs([0, 1], [1, 1], [1, -2]).without_arcs(1)
    assert (looped.m, looped.closed_arcs, looped.without_closed_arcs().m) == (2, 1, 1)


# -- closed arcs -------------------------------------------------------------------------------


def path_of(weights: Any, **options: Any) -> Graph:
    return Graph.from_arcs([0, 1, 2], [1, 2, 3], weights, **options)


@pytest.mark.parametrize(
    ("weights", "closed"),
    [([3, 4, 5], INT32_MAX), ([3, 4, 2**40], INT64_MAX), ([3.5, 4.0, 5.0], math.inf)],
)
def test_a_closed_arc_keeps_its_position_and_the_dtype(weights: Any, closed: Any) -> None:
    g = path_of(weights)
    cut = g.without_arcs([1])
    assert cut.weights.tolist() == [weights[0], closed, weights[2]]
    assert cut.weights.dtype == g.weights.dtype
    assert (cut.m, cut.closed_arcs, g.closed_arcs) == (3, 1, 0)
    assert (cut.least_weight, cut.greatest_weight) == (weights[0], weights[2])
    assert cut.arc(1, 2) == 1
    assert cut.directed
    for same in (cut.without_arcs(1), cut.with_weights(cut.weights), cut.with_changes(1, closed)):
        assert_same(same, cut)
    for opened in (cut.with_changes(1, weights[1]), cut.with_weights(weights)):
        assert_same(opened, g)


def test_without_any_open_arc_there_is_no_range_of_weights() -> None:
    g = path_of([1, 2, 3]).without_arcs([0, 1, 2])
    assert (g.least_weight, g.greatest_weight, g.closed_arcs) == (0, 0, 3)
    assert (g.without_closed_arcs().n, g.without_closed_arcs().m) == (4, 0)


@given(
    st.lists(integers, min_size=1, max_size=6) | st.lists(floats, min_size=1, max_size=6), st.data()
)
def test_the_range_of_weights_is_right_after_any_changes(
    weights: list[Any], data: st.DataObject
) -> None:
    m = len(weights)
    g = Graph.from_arcs([0] * m, range(1, m + 1), weights)
    some = integers if g.weights.dtype.kind == "i" else floats
    for _ in range(4):
        arcs = data.draw(st.lists(st.integers(0, m - 1), max_size=3))
        if data.draw(st.booleans()):
            g = g.without_arcs(arcs)
        else:
            g = g.with_changes(arcs, [data.draw(some) for _ in arcs])
        again = pickle.loads(pickle.dumps(g))  # which looks for itself
        assert (g.least_weight, g.greatest_weight) == (again.least_weight, again.greatest_weight)
        assert g.closed_arcs == again.closed_arcs


@pytest.mark.parametrize("weights", [[1, math.inf, 3], [1.5, math.inf, 3.5]])
def test_an_infinite_row_is_a_closed_arc_that_opens_with_the_next_weights(weights: Any) -> None:
    g = path_of(weights)
    assert (g.m, g.closed_arcs, g.row_arc.tolist()) == (3, 1, [0, 1, 2])
    assert g.weights.dtype == (np.int32 if isinstance(weights[0], int) else np.float64)
    assert g.with_weights(rows=[7, 8, 9]).weights.tolist() == [7, 8, 9]
    matrix = sparse.csr_array(np.array([[0, 2.0, 0], [0, 0, np.inf], [0, 0, 0]]))
    assert Graph.from_scipy(matrix).closed_arcs == 1
    beside = Graph.from_arcs([0, 0], [1, 1], [math.inf, 5])
    assert (beside.m, beside.closed_arcs, beside.weights.tolist()) == (1, 0, [5])


def test_in_a_dense_matrix_infinity_is_no_arc_at_all() -> None:
    g = MatrixGraph.of(np.array([[0, 2.0], [np.inf, 0]]), zero_is_arc=False)
    assert (g.m, g.closed_arcs) == (1, 0)
    assert g.without_closed_arcs() is g


@pytest.mark.parametrize("make", [Graph.from_arcs, None])
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32, np.uint64])
def test_the_greatest_int32_is_a_weight_and_the_greatest_int64_is_none(
    make: Any, dtype: Any
) -> None:
    def graph(weights: Any) -> Graph:
        return path_of(weights) if make else path_of([1, 1, 1]).with_weights(weights)

    long = graph(np.array([5, INT32_MAX, 6], dtype))
    assert (str(long.weights.dtype), long.closed_arcs) == ("int64", 0)
    assert long.weights.tolist() == [5, INT32_MAX, 6]
    with pytest.raises(DistanceOverflowError, match="do not fit int32"):
        long.weights_as(np.int32)
    if np.iinfo(dtype).bits == 64:
        closed = graph(np.array([5, INT64_MAX, 6], dtype))
        assert (str(closed.weights.dtype), closed.closed_arcs) == ("int32", 1)
        assert closed.weights.tolist() == [5, INT32_MAX, 6]


@pytest.mark.parametrize("convert", [np.int64, np.float64])
@pytest.mark.parametrize("weights", [[3, 4, 5], [3, 4, 2**40]])
def test_a_closed_arc_that_is_given_its_weight_in_another_dtype_stays_closed(
    convert: Any, weights: Any
) -> None:
    cut = path_of(weights).without_arcs([1])
    values = cut.weights.astype(convert)
    others = (cut.with_weights(values), cut.with_weights(rows=values))
    for same in (*others, cut.with_changes([0, 1, 2], values)):
        assert same.closed_arcs == 1
        assert same.without_closed_arcs().weights.tolist() == [weights[0], weights[2]]
    assert cut.with_weights(cut.weights + np.int64(1)).closed_arcs == 0


def test_floats_make_a_graph_of_floats() -> None:
    g = path_of([3, 4, 5])
    assert g.with_weights([3.0, 4.0, np.inf]).weights.dtype == np.float64
    assert g.with_weights(np.array([3.0, 4.0, 5.0])).weights.dtype == np.float64
    assert g.with_weights([3, 4, np.inf]).weights.tolist() == [3, 4, INT32_MAX]


@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.float64])
def test_closed_arcs_are_closed_in_every_dtype(dtype: Any) -> None:
    wide = path_of([3, 4, 5]).without_arcs(1).weights_as(dtype)
    closed = np.iinfo(dtype).max if dtype is np.int64 else math.inf
    assert wide.tolist() == [3, closed, 5]
    narrow = path_of([3, 2**40, 5]).without_arcs(1).weights_as(np.int32)
    assert narrow.tolist() == [3, INT32_MAX, 5]


def test_scaling_leaves_closed_arcs_closed() -> None:
    for weights in ([3, 4, 5], [3.0, 4.0, 5.0]):
        scaled = path_of(weights).without_arcs(1).scaled(2)
        assert scaled.weights.tolist() == [6, INT32_MAX, 10]
    with pytest.raises(DistanceOverflowError, match="do not fit int64"):
        path_of([INT64_MAX // 7, 1, 1]).scaled(7)
    assert INT64_MAX % 7 == 0, "the product is the weight of a closed arc"


def test_components_are_those_of_the_open_part() -> None:
    g = Graph.from_arcs([0, 1, 1, 2, 0, 3], [1, 0, 2, 1, 2, 0], [1, 1, 1, 1, 1, 1])
    cut = g.without_arcs(g.arcs([2, 0], [1, 2]))
    strong, weak = cut.largest_component(), cut.without_arcs(g.arc(1, 0)).largest_component("weak")
    assert strong.labels is not None
    assert strong.labels.tolist() == [0, 1]
    assert (weak.n, weak.m, weak.closed_arcs) == (4, 6, 3), "arcs inside stay, closed or not"


def test_closed_arcs_do_not_leave_the_package() -> None:
    cut = path_of([3, 4, 5]).without_arcs(1)
    assert cut.to_scipy().toarray()[1].tolist() == [0, 0, 0, 0]
    assert list(cut.to_networkx().edges(data="weight")) == [(0, 1, 3), (2, 3, 5)]


# -- the open part -----------------------------------------------------------------------------


@given(reweighted_rows())
def test_the_open_part_has_all_arcs_that_a_path_can_take(given_rows: Any) -> None:
    ends, weights, _, directed = given_rows
    g = graph_of([(0, 0), *ends], [-1, *weights], directed).with_changes(0, 0)
    part = g.without_closed_arcs()
    closed = np.iinfo(g.weights.dtype).max if g.weights.dtype.kind == "i" else math.inf
    expected = {
        pair: weight for pair, weight in weight_of(g).items() if pair != (0, 0) and weight != closed
    }
    assert weight_of(part) == expected
    assert (part.n, part.m, part.closed_arcs) == (g.n, len(expected), 0)
    assert part is g.without_closed_arcs(), "made once"
    assert part.without_closed_arcs() is part
    for row, (tail, head) in enumerate([(0, 0), *ends]):
        arc = part.row_arc[row]
        if arc >= 0:
            assert (part.tails[arc], part.indices[arc]) == (tail, head)
        assert (arc >= 0) == ((tail, head) in expected)
    np.testing.assert_array_equal(part.row_arc[part.arc_origin] >= 0, True)


def test_a_graph_without_closed_arcs_is_its_own_open_part() -> None:
    g = path_of([3, 4, 5])
    assert g.without_closed_arcs() is g
    ref = weakref.ref(g)
    gc.disable()
    try:
        del g
        assert ref() is None, "nothing keeps a graph alive in a circle"
    finally:
        gc.enable()


def test_one_closed_direction_leaves_the_row_the_other() -> None:
    g = Graph.from_arcs([0, 1], [1, 2], [5, 6], directed=False).without_arcs(0)
    part = g.without_closed_arcs()
    assert weight_of(part) == {(1, 0): 5, (1, 2): 6, (2, 1): 6}
    assert part.row_arc.tolist() == [0, 1]
    assert weight_of(part.with_weights(rows=[7, 8])) == {(1, 0): 7, (1, 2): 8, (2, 1): 8}


def test_device_copies_of_the_open_part_are_freed_too() -> None:
    g = path_of([3, 4, 5]).without_arcs(1)
    copy_on_device = g.without_closed_arcs()._cached("cuda:0", object)
    assert g.without_closed_arcs()._cached("cuda:0", object) is copy_on_device
    g.free_device()
    assert g.without_closed_arcs()._cached("cuda:0", object) is not copy_on_device


# -- changes -----------------------------------------------------------------------------------


@given(reweighted_rows(), st.data())
def test_changes_touch_nothing_but_their_arcs(given_rows: Any, data: st.DataObject) -> None:
    ends, weights, values, directed = given_rows
    g = graph_of(ends, weights, directed)
    places = data.draw(st.lists(st.integers(0, g.m - 1), unique=True) if g.m else st.just([]))
    new = (values * 3)[: len(places)]
    new += [1] * (len(places) - len(new))
    changed = g.with_changes(places, new)
    expected = [as_float(weight) for weight in g.weights.tolist()]
    for place, weight in zip(places, new, strict=True):
        expected[place] = weight
    assert [as_float(weight) for weight in changed.weights.tolist()] == expected
    if g.weights.dtype.kind == "i":
        floats = any(isinstance(weight, float) and weight != math.inf for weight in new)
        only_inf = bool(new) and all(weight == math.inf for weight in new)
        assert (changed.weights.dtype.kind == "f") == (floats or only_inf)
    both = {(h, t): w for (t, h), w in weight_of(changed).items()}
    assert changed.directed == (directed or both != weight_of(changed))
    for name in ("indptr", "indices", "arc_origin", "row_arc"):
        np.testing.assert_array_equal(getattr(changed, name), getattr(g, name))
    assert (changed.m, changed.parallel_arcs, changed.self_loops) == (
        g.m,
        g.parallel_arcs,
        g.self_loops,
    )


def test_changes_widen_the_dtype_and_leave_closed_arcs_closed() -> None:
    cut = path_of([3, 4, 5]).without_arcs(1)
    assert cut.with_changes([0], [7]).weights.tolist() == [7, INT32_MAX, 5]
    wide = cut.with_changes([0], [2**40])
    assert (str(wide.weights.dtype), wide.weights.tolist()) == ("int64", [2**40, INT64_MAX, 5])
    assert wide.with_changes([0], [1]).weights.tolist() == [1, INT64_MAX, 5]
    assert cut.with_changes(2, 2.5).weights.tolist() == [3, math.inf, 2.5]
    assert cut.with_changes(0, INT32_MAX).weights.tolist() == [INT32_MAX, INT64_MAX, 5]
    assert cut.with_changes([], []).weights.dtype == np.int32
    assert cut.with_changes([0, 0], [8, 9]).weights[0] == 9


def test_one_weight_is_for_all_changed_arcs() -> None:
    g = path_of([3, 4, 5])
    assert g.with_changes(np.array([0, 2], np.uint8), 9).weights.tolist() == [9, 4, 9]
    assert g.with_changes([], 9).weights.tolist() == [3, 4, 5]
    assert g.with_changes(1, np.int64(9)).weights.tolist() == [3, 9, 5]


@pytest.mark.parametrize(
    ("arcs", "weights", "error", "message"),
    [
        ([3], [1], IndexError, r"3 at place 0 of arcs .* 0 to 2"),
        ([0, -1], [1, 1], IndexError, r"-1 at place 1 of arcs .*row_arc"),
        ([True, False, True], [1, 1, 1], TypeError, "flatnonzero"),
        ([0.0], [1], TypeError, "not float64"),
        ([[0]], [1], ValueError, "one-dimensional"),
        ([0, 1], [1], ValueError, "1 weights for 2 arcs"),
        ([0], [math.nan], ValueError, "row 0 is nan"),
        ([0], [-math.inf], ValueError, "row 0 is -inf"),
        ([0], ["1"], TypeError, "integers or floats"),
        ([0], None, TypeError, "integers or floats"),
        ([0], [2**63], DistanceOverflowError, "does not fit int64"),
        (np.ma.array([0]), [1], TypeError, "arcs must not be a masked array"),
        ([0], np.ma.array([1]), TypeError, "weights must not be a masked array"),
        ([0], np.ma.masked, TypeError, "weights must not be a masked array"),
    ],
)
def test_bad_changes_are_refused(
    arcs: Any, weights: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        path_of([3, 4, 5]).with_changes(arcs, weights)


def test_bad_positions_are_refused_when_closing_too() -> None:
    with pytest.raises(IndexError, match="3 at place 0"):
        path_of([3, 4, 5]).without_arcs([3])
    with pytest.raises(IndexError, match="the graph has none"):
        Graph.from_arcs([], [], [], n=2).without_arcs(0)


def test_an_undirected_street_is_closed_by_both_its_positions() -> None:
    g = Graph.from_arcs([0, 1], [1, 2], [5, 6], directed=False)
    assert g.without_arcs(g.arc(0, 1)).directed
    closed = g.without_arcs(g.arcs([0, 1], [1, 0]))
    assert not closed.directed
    assert weight_of(closed.without_closed_arcs()) == {(1, 2): 6, (2, 1): 6}
    assert not closed.without_closed_arcs().directed
    assert not closed.with_changes(g.arcs([0, 1], [1, 0]), 3).directed


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda g: g.with_weights(), TypeError, "one of w"),
        (lambda g: g.with_weights([1], rows=[1]), TypeError, "one of w"),
        (lambda g: g.with_weights([1, 2]), ValueError, "2 weights for 1 arcs"),
        (lambda g: g.with_weights(rows=[1]), ValueError, "1 weights for 2 input rows"),
        (lambda g: g.with_weights(rows=[1, math.nan]), ValueError, "row 1 is nan"),
        (lambda g: g.with_weights(rows=np.ma.array([1, 2])), TypeError, "masked"),
        (lambda g: g.with_weights(np.ma.array([1])), TypeError, "masked"),
    ],
)
def test_bad_weights_are_refused(
    call: Callable[[Graph], Graph], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        call(Graph.from_arcs([0, 0], [1, 1], [5, 6]))


# -- positions of arcs -------------------------------------------------------------------------


@given(rows_of_arcs)
def test_every_arc_is_found_between_its_ends(ends: list[Row]) -> None:
    g = graph_of(ends, np.arange(len(ends)))
    g = g.without_arcs(np.arange(0, g.m, 2))
    assert g.arcs(g.tails, g.indices).tolist() == list(range(g.m))
    there = set(zip(g.tails.tolist(), g.indices.tolist(), strict=True))
    for tail in range(N):
        for head in range(N):
            if (tail, head) in there:
                assert g.indices[g.arc(tail, np.int8(head))] == head
            else:
                with pytest.raises(VertexError, match=f"from vertex {tail} to vertex {head}"):
                    g.arc(tail, head)


def test_arcs_go_by_vertices_and_say_so() -> None:
    g = path_of([1, 1, 1], labels=[10, 11, 12, 13])
    assert type(g.arc(0, 1)) is int
    assert g.arcs([], []).tolist() == []
    with pytest.raises(
        VertexError, match=r"tail 10 .* 10 is the label of vertex 0: .* g\.vertices"
    ):
        g.arc(10, 11)
    with pytest.raises(VertexError, match=r"head 12 in row 1 .* 12 is the label of vertex 2: "):
        g.arcs([0, 1], [1, 12])
    with pytest.raises(VertexError, match=r"head 4 in row 0 is not a vertex [^;]*$"):
        g.arc(0, 4)
    with pytest.raises(VertexError, match=r"head 3 in row 1"):
        Graph.from_arcs([0], [1], [1], n=3).arcs([0, 1], [1, 3])
    named = path_of([1, 1, 1], labels="abcd")
    with pytest.raises(TypeError, match=r"g\.vertices"):
        named.arc("a", "b")  # type: ignore[arg-type]  # that is the point
    with pytest.raises(ValueError, match=r"shape \(1, 2\); g\.vertices"):
        named.arcs([(0, 1)], [(1, 1)])
    with pytest.raises(TypeError, match=r"not <U1; g\.arcs\(tails, heads\) are the positions"):
        named.without_arcs(["a"])
    with pytest.raises(ValueError, match=r"g\.arcs\(tails, heads\) are the positions"):
        named.without_arcs([(0, 1)])
    for bad in (True, 1.0):
        with pytest.raises(TypeError, match="integers"):
            g.arc(0, bad)  # type: ignore[arg-type]  # that is the point
    with pytest.raises(ValueError, match="2 tails and 1 heads"):
        g.arcs([0, 1], [1])
    with pytest.raises(TypeError, match="masked"):
        g.arcs(np.ma.array([0]), [1])


def test_the_weights_of_a_changed_graph_are_made_when_they_are_looked_at() -> None:
    g = road_like(200, seed=2)
    directed = Graph.from_arcs(g.tails, g.indices, g.weights, n=g.n)
    changed = directed.with_changes([5, 3, 5], [9, 1000, 7]).without_arcs([8, 3])
    assert (changed.least_weight, changed.closed_arcs) == (7, 2)
    assert changed._weight_range.dtype == np.int32
    slot = type(changed).__dict__["weights"]
    with pytest.raises(AttributeError):
        slot.__get__(changed)
    wanted = directed.weights.copy()
    wanted[[5, 3, 8]] = 7, np.iinfo(np.int32).max, np.iinfo(np.int32).max
    copied = pickle.loads(pickle.dumps(changed))
    for one in (changed, copied):
        np.testing.assert_array_equal(one.weights, wanted)
        assert not one.weights.flags.writeable
    assert changed.weights is changed.weights
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        _ = changed.no_such_name  # type: ignore[attr-defined]


def test_threads_look_at_the_same_weights() -> None:
    g = Graph.from_arcs(range(40), range(1, 41), range(40)).with_changes(0, 5)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: g.weights, range(64)))
    assert {id(weights) for weights in found} == {id(g.weights)}
