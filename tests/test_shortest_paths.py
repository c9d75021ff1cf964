"""`shortest_paths` against the plain references, SciPy and the certificate."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csgraph, csr_array

import sssp
from sssp.methods import Method
from sssp.papers.methods import BaselineBellmanFord, BaselineDijkstra
from tests import naive
from tests.compare import on_paths, trees_of
from tests.strategies import (
    FLOATS,
    HUGE_INTEGERS,
    LARGE_INTEGERS,
    ODDITIES,
    SMALL_INTEGERS,
    graph_of,
    in_arithmetic_of,
    negative_networks,
    networks,
    vertex_lists,
    with_unit_weights,
)

METHODS: list[Method] = [
    sssp.Dijkstra(),
    sssp.DeltaStepping(),
    sssp.BellmanFord(),
    sssp.BreadthFirst(),
    sssp.ThresholdDijkstra(criterion="out"),
    sssp.ThresholdDijkstra(criterion="in-out"),
    BaselineDijkstra(),
    BaselineBellmanFord(),
]
every_method = pytest.mark.parametrize("method", METHODS, ids=repr)
every_weighted_method = pytest.mark.parametrize(
    "method", [method for method in METHODS if method.weighted], ids=repr
)
INTEGER_DTYPES = [None, np.int32, np.int64, np.float32, np.float64]
FLOAT_DTYPES = [None, np.float32, np.float64]
GREATEST_INT32, GREATEST_INT64 = 2**31 - 2, 2**62 - 2


class Question(NamedTuple):
    """A graph and the arguments of a call."""

    network: naive.Network
    sources: int | list[int]
    arguments: dict[str, Any]

    def ask(self, method: Method) -> sssp.ShortestPaths:
        g = graph_of(self.network)
        return sssp.shortest_paths(g, self.sources, method=method, **self.arguments)

    def as_seen_by(self, method: Method) -> Question:
        """Return the same question, with every weight 1 for methods that ignore weights."""
        if method.weighted:
            return self
        return self._replace(network=with_unit_weights(self.network))

    def expected(self) -> list[naive.Row]:
        """Return the rows of the answer."""
        sources = [self.sources] if isinstance(self.sources, int) else self.sources
        targets, limit = self.arguments["targets"], self.arguments["limit"]
        starts = [sources] if self.arguments["nearest"] else [[source] for source in sources]
        network = in_arithmetic_of(self.network, self.arguments["dtype"])
        return [
            naive.solve(
                network,
                start,
                limit=math.inf if limit is None else limit,
                targets=[targets] if isinstance(targets, int) else targets,
            )
            for start in starts
        ]


PLAIN = {
    "targets": None,
    "nearest": False,
    "limit": None,
    "dtype": None,
    "predecessors": False,
    "output": "host",
}


@st.composite
def questions(draw: st.DrawFn, any_network: st.SearchStrategy[naive.Network]) -> Question:
    network = draw(any_network)
    vertices: st.SearchStrategy[Any] = vertex_lists(network.n)
    if network.n:
        vertices |= st.integers(0, network.n - 1)
    output = draw(st.sampled_from(["host", "host", "sparse"]))
    sources = draw(vertices)
    return Question(
        network,
        sources,
        {
            "targets": None if output == "sparse" else draw(st.none() | vertices),
            "nearest": sources != [] and draw(st.booleans()),
            "limit": draw(st.none() | st.sampled_from([None, 0, 1, 2, 3.5, 5, 10, 1e3, 2**31])),
            "dtype": draw(st.sampled_from(INTEGER_DTYPES if network.integer else FLOAT_DTYPES)),
            "predecessors": draw(st.sampled_from([True, True, False])),
            "output": output,
            "threads": draw(st.sampled_from([1, 2])),
        },
    )


def check(method: Method, question: Question) -> None:
    """Ask, compare every part of the result with the reference, and certify it."""
    result = question.ask(method)
    sssp.verify(graph_of(question.network), result)
    question = question.as_seen_by(method)
    network, arguments = question.network, question.arguments
    rows = question.expected()
    targets = arguments["targets"]
    columns = range(network.n) if targets is None else np.atleast_1d(targets).tolist()
    distances = [[row.distances.get(v) for v in columns] for row in rows]
    dtype = expected_dtype(question, distances)
    assert result.distances.dtype == dtype

    missing = np.inf if dtype.kind == "f" else np.iinfo(dtype).max
    wanted = np.array([[missing if d is None else d for d in row] for row in distances], dtype)
    one_row = isinstance(question.sources, int) or arguments["nearest"]
    shape: tuple[int, ...] = () if one_row else (len(rows),)
    shape += () if isinstance(targets, int) else (len(columns),)
    if arguments["output"] == "sparse":
        matrix: Any = result.distances
        assert isinstance(matrix, csr_array)
        assert matrix.shape == (len(rows), network.n)
        assert matrix.nnz == sum(len(row.distances) for row in rows)
        found, reached = dense(matrix, missing), dense(result.reached, False)
    else:
        assert result.distances.shape == result.reached.shape == shape
        found, reached = result.distances, result.reached
    np.testing.assert_array_equal(found.reshape(wanted.shape), wanted)
    np.testing.assert_array_equal(reached.reshape(wanted.shape), wanted != missing)

    if arguments["predecessors"]:
        trees: Any = result.predecessors
        assert trees.dtype == np.int32
        if targets is not None:
            assert isinstance(trees, csr_array)
            assert trees.shape == (len(rows), network.n)
            assert trees_of(result) == [on_paths(row, columns) for row in rows]
        else:
            if arguments["output"] == "sparse":
                trees = dense(trees, -1)
            trees = trees.reshape(len(rows), network.n)
            for row, tree in zip(rows, trees, strict=True):
                assert tree.tolist() == [row.predecessors.get(v, -1) for v in range(network.n)]
    else:
        assert result.predecessors is None
    if arguments["nearest"]:
        assert result.origin is not None
        assert result.origin.tolist() == [rows[0].origins.get(v, -1) for v in range(network.n)]
    else:
        assert result.origin is None


def expected_dtype(question: Question, distances: list[list[Any]]) -> np.dtype[Any]:
    asked: type[np.generic] | None = question.arguments["dtype"]
    if asked is not None:
        return np.dtype(asked)
    if not question.network.integer:
        return np.dtype(np.float64)
    fits = all(d is None or d <= GREATEST_INT32 for row in distances for d in row)
    return np.dtype(np.int32 if fits else np.int64)


def dense(matrix: Any, missing: Any) -> Any:
    """Fill a sparse matrix up with `missing`, stored zeros kept."""
    entries = matrix.tocoo()
    full = np.full(matrix.shape, missing, matrix.dtype)
    full[entries.row, entries.col] = entries.data
    return full


@pytest.mark.parametrize(
    "method",
    [*METHODS, sssp.DeltaStepping(delta=1), sssp.DeltaStepping(delta=1e6)],
    ids=repr,
)
@settings(max_examples=60)
@given(question=questions(networks(SMALL_INTEGERS)))
def test_integers_agree_with_the_reference_in_every_combination(
    method: Method, question: Question
) -> None:
    check(method, question)


@every_method
@settings(max_examples=60)
@given(question=questions(networks(FLOATS)))
def test_floats_agree_bit_for_bit_with_the_reference_in_every_combination(
    method: Method, question: Question
) -> None:
    check(method, question)


@pytest.mark.parametrize(
    "method", [sssp.BellmanFord(), BaselineBellmanFord(), sssp.BreadthFirst()], ids=repr
)
@settings(max_examples=150)
@given(question=questions(negative_networks()))
def test_negative_weights_agree_with_the_reference_in_every_combination(
    method: Method, question: Question
) -> None:
    try:
        question.as_seen_by(method).expected()
    except naive.NegativeCycle:
        with pytest.raises(sssp.NegativeCycleError) as caught:
            question.ask(method)
        assert naive.is_negative_cycle(question.network, caught.value.cycle)
    else:
        check(method, question)


@every_weighted_method
@settings(max_examples=60)
@given(question=questions(networks(LARGE_INTEGERS)))
def test_sums_beyond_int32_are_right_or_refused(method: Method, question: Question) -> None:
    targets = question.arguments["targets"]
    wanted = None if targets is None else set(np.atleast_1d(targets).tolist())
    overflows = question.arguments["dtype"] is np.int32 and any(
        d > GREATEST_INT32
        for row in question.expected()
        for v, d in row.distances.items()
        if wanted is None or v in wanted
    )
    if overflows:
        with pytest.raises(sssp.DistanceOverflowError, match="int32"):
            question.ask(method)
    else:
        check(method, question)


@every_weighted_method
@settings(max_examples=60)
@given(network=networks(HUGE_INTEGERS, least_n=1))
def test_sums_beyond_int64_are_right_or_refused(method: Method, network: naive.Network) -> None:
    question = Question(network, 0, {**PLAIN, "predecessors": True})
    if max(question.expected()[0].distances.values()) > GREATEST_INT64:
        with pytest.raises(sssp.DistanceOverflowError, match="float64"):
            question.ask(method)
    else:
        check(method, question)


@every_method
@pytest.mark.parametrize("name", ODDITIES)
def test_odd_graphs_agree_with_the_reference(method: Method, name: str) -> None:
    network = ODDITIES[name]
    for sources in (0, [0, network.n - 1]):
        check(method, Question(network, sources, {**PLAIN, "predecessors": True}))


@every_method
@pytest.mark.parametrize("dtype", [np.int64, np.float64])
@pytest.mark.parametrize("directed", [True, False])
def test_larger_random_graphs_agree_with_scipy(
    method: Method, dtype: type[np.generic], directed: bool
) -> None:
    random = np.random.default_rng(7)
    n, k = 2000, 5000
    weights = random.integers(0, 1000, k) if dtype is np.int64 else random.exponential(1, k)
    tails, heads = random.integers(0, n, (2, k))
    g = sssp.Graph.from_arcs(tails, heads, weights, n=n, directed=directed)
    sources = [5, 1999, 5]
    unweighted = not method.weighted
    expected = csgraph.dijkstra(g.to_scipy(), indices=sources, unweighted=unweighted)
    limit = float(np.median(expected[np.isfinite(expected)]))

    r = sssp.shortest_paths(g, sources, method=method, predecessors=True)
    np.testing.assert_array_equal(r.to_float(), expected)
    sssp.verify(g, r)
    within = sssp.shortest_paths(g, sources, method=method, limit=limit)
    np.testing.assert_array_equal(
        within.to_float(), np.where(expected <= limit, expected, math.inf)
    )
    nearest = sssp.shortest_paths(g, sources, method=method, nearest=True)
    np.testing.assert_array_equal(nearest.to_float(), expected.min(axis=0))
    columns = [17, 3, 17, 1000]
    table = sssp.shortest_paths(g, sources, method=method, targets=columns)
    np.testing.assert_array_equal(table.to_float(), expected[:, columns])


@every_method
def test_a_hub_with_very_many_arcs_is_no_special_case(method: Method) -> None:
    leaves = np.arange(1, 20_001)
    weights = 1 + leaves * 7919 % 10_007 if method.weighted else np.ones_like(leaves)
    g = sssp.Graph.from_arcs(np.zeros_like(leaves), leaves, weights, directed=False)
    r = sssp.shortest_paths(g, 0, method=method, predecessors=True)
    assert r.distances[1:].tolist() == weights.tolist()
    across = sssp.shortest_paths(g, 20_000, method=method, targets=[7, 0])
    assert across.distances.tolist() == [weights[-1] + weights[6], weights[-1]]
    sssp.verify(g, r)


@pytest.mark.parametrize("criterion", ["out", "in-out"])
@settings(max_examples=100)
@given(network=networks(SMALL_INTEGERS, least_n=1) | networks(FLOATS, least_n=1))
def test_threshold_dijkstra_takes_the_phases_that_its_definition_gives(
    criterion: str, network: naive.Network
) -> None:
    expected = naive.threshold_phases(network, 0, criterion)
    r = sssp.shortest_paths(
        graph_of(network), 0, method=sssp.ThresholdDijkstra(criterion=criterion)
    )
    assert r.stats["phases"] == len(expected.settled)
    assert r.stats["settled"] == sum(expected.settled)
    assert r.stats["largest_open"] == expected.largest_open


@pytest.mark.parametrize("method", [sssp.BellmanFord(), BaselineBellmanFord()], ids=repr)
def test_a_path_may_not_leave_the_limit_and_come_back(method: Method) -> None:
    g = sssp.Graph.from_arcs([0, 1, 0], [1, 2, 2], [10, -7, 4])
    free = sssp.shortest_paths(g, 0, method=method, predecessors=True)
    assert free.path(2).tolist() == [0, 1, 2]
    r = sssp.shortest_paths(g, 0, method=method, predecessors=True, limit=5)
    assert (r.distance(1), r.distance(2)) == (math.inf, 4)
    assert r.path(2).tolist() == [0, 2]
    sssp.verify(g, r)


@pytest.mark.parametrize("method", [sssp.BellmanFord(), BaselineBellmanFord()], ids=repr)
def test_an_overflow_towards_minus_infinity_is_noticed(method: Method) -> None:
    tails, heads = np.arange(5), np.arange(1, 6)
    narrow = sssp.Graph.from_arcs(tails, heads, [-(2**29)] * 5)
    r = sssp.shortest_paths(narrow, 0, method=method)
    assert r.distances.dtype == np.int64
    assert r.distance(5) == -5 * 2**29
    wide = sssp.Graph.from_arcs(tails, heads, [-(2**61)] * 5)
    with pytest.raises(sssp.DistanceOverflowError, match="int64"):
        sssp.shortest_paths(wide, 0, method=method)
    # as low as that, a cycle may not wait until it is looked for
    cycle = sssp.Graph.from_arcs([0, 1, 2], [1, 2, 1], [5, -(2**60), -(2**60)])
    with pytest.raises(sssp.NegativeCycleError) as caught:
        sssp.shortest_paths(cycle, 0, method=method)
    assert sorted(caught.value.cycle) == [1, 2]


@pytest.mark.parametrize("method", [sssp.BellmanFord(), BaselineBellmanFord()], ids=repr)
def test_only_a_cycle_that_a_source_reaches_counts(method: Method) -> None:
    g = sssp.Graph.from_arcs([0, 2, 3, 3, 5], [1, 3, 2, 4, 5], [1, 2, -3, 1, -1])
    assert sssp.shortest_paths(g, 0, method=method).distance(1) == 1
    for source, cycle in ((2, [2, 3]), (5, [5])):
        with pytest.raises(sssp.NegativeCycleError, match=f"source {source}") as caught:
            sssp.shortest_paths(g, [0, source], method=method)
        assert sorted(caught.value.cycle) == cycle


# -- shapes and types --------------------------------------------------------------------------


@pytest.fixture
def square() -> sssp.Graph:
    """Four vertices in a circle, one way round, and one apart."""
    return sssp.Graph.from_arcs([0, 1, 2, 3], [1, 2, 3, 0], [1, 2, 4, 8], n=5)


@every_method
@pytest.mark.parametrize(
    ("sources", "targets", "shape"),
    [
        (2, None, (5,)),
        (np.uint8(2), None, (5,)),
        (np.array(2), None, (5,)),
        ([2], None, (1, 5)),
        ([], None, (0, 5)),
        (np.empty(0, np.int64), None, (0, 5)),
        (range(3), None, (3, 5)),
        ((2, 2), None, (2, 5)),
        (np.array([2, 2], np.uint16), None, (2, 5)),
        (2, 3, ()),
        (2, [3], (1,)),
        (2, [], (0,)),
        ([2, 2], np.int32(3), (2,)),
        ([2, 2], [3, 3, 4], (2, 3)),
        ([], [3, 3], (0, 2)),
    ],
)
def test_the_shape_of_the_answer_follows_the_arguments(
    square: sssp.Graph, method: Method, sources: Any, targets: Any, shape: tuple[int, ...]
) -> None:
    r = sssp.shortest_paths(square, sources, targets=targets, method=method, predecessors=True)
    assert r.distances.shape == r.reached.shape == shape
    assert r.distances.dtype == np.int32
    assert r.predecessors is not None
    tree_shape = (len(sources), 5) if np.ndim(sources) else (5,)
    assert r.predecessors.shape == (tree_shape if targets is None else (np.size(sources), 5))
    assert r.sources.dtype == np.int64
    assert r.single == (np.ndim(sources) == 0)
    sssp.verify(square, r)


@every_method
def test_a_graph_without_vertices_has_answers_without_columns(method: Method) -> None:
    g = sssp.Graph.from_arcs([], [], [])
    assert sssp.shortest_paths(g, [], method=method).distances.shape == (0, 0)
    r = sssp.shortest_paths(g, [], method=method, predecessors=True, targets=[])
    assert r.distances.shape == (0, 0)
    with pytest.raises(sssp.VertexError, match="none"):
        sssp.shortest_paths(g, 0, method=method)


def test_distances_are_python_numbers(square: sssp.Graph) -> None:
    r = sssp.shortest_paths(square, [2, 0])
    assert r.distance(1) == 13
    assert type(r.distance(1)) is int
    assert r.distance(3, row=1) == 7
    assert r.distance(4, row=-1) == math.inf
    assert type(sssp.shortest_paths(square, 0, dtype=float).distance(1)) is float


@pytest.mark.parametrize("output", ["host", "sparse"])
def test_paths_run_from_the_source_to_the_target(square: sssp.Graph, output: Any) -> None:
    r = sssp.shortest_paths(square, [2, 0], predecessors=True, output=output)
    assert r.path(1).tolist() == [2, 3, 0, 1]
    assert r.path(1, row=1).tolist() == [0, 1]
    assert r.path(2).tolist() == [2]
    assert r.path(2).dtype == np.int64
    assert (r.distance(1), r.distance(4)) == (13, math.inf)
    nearest = sssp.shortest_paths(square, [2, 0], predecessors=True, nearest=True, output=output)
    assert nearest.path(3).tolist() == [2, 3]


def test_paths_speak_labels() -> None:
    g = sssp.Graph.from_arcs([0, 1], [1, 2], [1, 1], labels=["a", "b", "c"])
    r = sssp.shortest_paths(g, g.vertex("a"), predecessors=True)
    assert r.path_labels(g.vertex("c")) == ["a", "b", "c"]


def test_with_targets_a_path_takes_a_vertex_not_a_column(square: sssp.Graph) -> None:
    r = sssp.shortest_paths(square, 0, targets=[3, 2], predecessors=True)
    assert r.distances.tolist() == [7, 3]
    assert r.path(2).tolist() == [0, 1, 2]
    assert r.distance(2) == 3
    with pytest.raises(sssp.VertexError, match="not among the targets"):
        r.distance(1)


def test_to_float_has_inf_where_nothing_is_reached(square: sssp.Graph) -> None:
    r = sssp.shortest_paths(square, 0)
    assert r.distances[4] == np.iinfo(np.int32).max
    assert r.to_float().tolist() == [0, 1, 3, 7, math.inf]


def test_out_is_filled_and_returned(square: sssp.Graph, tmp_path: Any) -> None:
    expected = sssp.shortest_paths(square, [0, 2]).distances
    out = np.empty((2, 5), np.int64)
    r = sssp.shortest_paths(square, [0, 2], out=out)
    assert r.distances is out
    np.testing.assert_array_equal(r.to_float(), np.where(expected == 2**31 - 1, np.inf, expected))
    mapped = np.memmap(tmp_path / "rows", np.int32, "w+", shape=(2, 5))
    assert sssp.shortest_paths(square, [0, 2], out=mapped).distances is mapped
    np.testing.assert_array_equal(mapped, expected)
    transposed = np.empty((5, 2), np.int32).T
    sssp.shortest_paths(square, [0, 2], out=transposed)
    np.testing.assert_array_equal(transposed, expected)
    one = np.empty(5, np.float64)
    sssp.shortest_paths(square, 0, out=one)
    assert one.tolist() == [0, 1, 3, 7, math.inf]


def test_threads_and_memory_change_nothing_but_the_time() -> None:
    random = np.random.default_rng(3)
    tails, heads = random.integers(0, 500, (2, 1500))
    g = sssp.Graph.from_arcs(tails, heads, random.integers(0, 50, 1500), n=500)
    sources = random.integers(0, 500, 40)
    one = sssp.shortest_paths(g, sources, threads=1, predecessors=True)
    more: list[dict[str, Any]] = [{"threads": 7}, {"threads": 7, "memory_limit": 200_000}]
    for arguments in more:
        r = sssp.shortest_paths(g, sources, predecessors=True, **arguments)
        np.testing.assert_array_equal(r.distances, one.distances)
        np.testing.assert_array_equal(r.predecessors, one.predecessors)


# -- what is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"method": "djikstra"}, ValueError, "djikstra.*dijkstra, delta-stepping"),
        ({"method": 7}, ValueError, "7"),
        ({"device": "tpu"}, sssp.DeviceError, "tpu"),
        ({"dtype": "int16"}, TypeError, "int16"),
        ({"dtype": "bool"}, TypeError, "bool"),
        ({"sources": 5}, sssp.VertexError, "source 5"),
        ({"sources": -1}, sssp.VertexError, "source -1"),
        ({"sources": [0, 2**70]}, sssp.VertexError, f"source {2**70}"),
        ({"sources": [0, 9]}, sssp.VertexError, "source 9"),
        ({"sources": True}, TypeError, "sources.*bool"),
        ({"sources": [True, False]}, TypeError, "sources.*bool"),
        ({"sources": 1.0}, TypeError, "sources.*float"),
        ({"sources": [0.0, 1.0]}, TypeError, "sources.*float"),
        ({"sources": "0"}, TypeError, "sources.*str"),
        ({"sources": {0, 1}}, TypeError, "sources.*set"),
        ({"sources": None}, TypeError, "sources.*None"),
        ({"sources": [[0, 1], [2, 3]]}, TypeError, r"sources.*\(2, 2\)"),
        ({"targets": 5}, sssp.VertexError, "target 5"),
        ({"targets": [0, -2]}, sssp.VertexError, "target -2"),
        ({"targets": [1.5]}, TypeError, "targets.*float"),
        ({"limit": -1}, ValueError, "limit.*-1"),
        ({"limit": math.nan}, ValueError, "limit.*nan"),
        ({"limit": "5"}, TypeError, "limit.*str"),
        ({"limit": True}, TypeError, "limit.*bool"),
        ({"nearest": True, "sources": []}, ValueError, "nearest.*source"),
        ({"output": "dense"}, ValueError, "output.*dense"),
        ({"output": "sparse", "targets": [1]}, ValueError, "sparse.*targets"),
        ({"out": np.empty(4, np.int32)}, ValueError, r"\(4,\).*\(5,\)"),
        ({"out": np.empty(5, np.int16)}, TypeError, "int16"),
        ({"out": np.empty(5, np.int64), "dtype": "int32"}, TypeError, "int64.*int32"),
        ({"out": [0] * 5}, TypeError, "out.*list"),
        ({"threads": 0}, ValueError, "threads.*0"),
        ({"threads": 1.5}, ValueError, "threads.*1.5"),
        ({"memory_limit": -1}, ValueError, "memory_limit.*-1"),
        ({"memory_limit": 10}, sssp.DeviceError, "10.*fewer sources"),
    ],
)
def test_a_bad_argument_is_refused_by_name(
    square: sssp.Graph, arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        sssp.shortest_paths(square, **{"sources": 0, **arguments})


def test_float_weights_have_no_integer_distances() -> None:
    g = sssp.Graph.from_arcs([0], [1], [0.5])
    with pytest.raises(TypeError, match=r"float64 weights.*scaled"):
        sssp.shortest_paths(g, 0, dtype=np.int64)


@pytest.mark.parametrize(
    "method", [method for method in METHODS if not method.negative_weights], ids=repr
)
def test_negative_weights_are_refused_where_the_method_cannot_take_them(method: Method) -> None:
    g = sssp.Graph.from_arcs([0, 1], [1, 2], [5, -3])
    with pytest.raises(sssp.NegativeWeightError, match=r"1 -> 2 weighs -3"):
        sssp.shortest_paths(g, 0, method=method)


def test_a_path_to_an_unreached_vertex_does_not_exist(square: sssp.Graph) -> None:
    r = sssp.shortest_paths(square, 0, predecessors=True, limit=3)
    with pytest.raises(sssp.UnreachableError, match=r"vertex 4 .* source 0"):
        r.path(4)
    with pytest.raises(sssp.UnreachableError, match="limit of 3"):
        r.path(3)


def test_a_path_needs_predecessors(square: sssp.Graph) -> None:
    with pytest.raises(ValueError, match="predecessors=True"):
        sssp.shortest_paths(square, 0).path(1)


def test_rows_and_vertices_out_of_range_are_refused(square: sssp.Graph) -> None:
    r = sssp.shortest_paths(square, [0, 1], predecessors=True)
    for ask in (r.distance, r.path):
        with pytest.raises(sssp.VertexError, match="row 2"):
            ask(0, row=2)
        with pytest.raises(sssp.VertexError, match="-1"):
            ask(-1)
        with pytest.raises(sssp.VertexError, match="5"):
            ask(5)


@every_weighted_method
def test_an_overflow_of_int32_goes_on_in_int64(method: Method) -> None:
    g = sssp.Graph.from_arcs([0, 1, 2], [1, 2, 3], [2**30 - 5, 2**30, 2**31 - 1])
    r = sssp.shortest_paths(g, 0, method=method, predecessors=True)
    assert r.distances.dtype == np.int64
    assert r.distances.tolist() == [0, 2**30 - 5, 2**31 - 5, 2**32 - 6]
    fits = sssp.shortest_paths(g, 0, method=method, targets=[1, 2])
    assert (fits.distances.dtype, fits.distance(2)) == (np.int32, 2**31 - 5)
    short = sssp.shortest_paths(g, 0, method=method, limit=2**31)
    assert (short.distances.dtype, short.distance(2)) == (np.int32, 2**31 - 5)


@every_weighted_method
def test_a_fixed_int32_is_refused_only_if_a_returned_distance_does_not_fit(method: Method) -> None:
    g = sssp.Graph.from_arcs([0, 1, 2], [1, 2, 3], [2**30 - 5, 2**30, 2**31 - 1])
    with pytest.raises(sssp.DistanceOverflowError, match=f"{2**32 - 6}.*int32"):
        sssp.shortest_paths(g, 0, method=method, dtype=np.int32)
    r = sssp.shortest_paths(g, 0, method=method, dtype=np.int32, targets=2)
    assert r.distance(2) == 2**31 - 5
    r = sssp.shortest_paths(g, 0, method=method, dtype=np.int32, limit=2**31 - 2)
    assert r.reached.tolist() == [True, True, True, False]


@every_weighted_method
def test_an_overflow_of_int64_is_refused_unless_it_lies_beyond_the_limit(method: Method) -> None:
    g = sssp.Graph.from_arcs([0, 1, 2], [1, 2, 3], [2**61, 2**61, 1])
    with pytest.raises(sssp.DistanceOverflowError, match="float64"):
        sssp.shortest_paths(g, 0, method=method)
    r = sssp.shortest_paths(g, 0, method=method, limit=2**61)
    assert (r.distance(1), r.distance(2)) == (2**61, math.inf)
    rounded = sssp.shortest_paths(g, 0, method=method, dtype=np.float64)
    assert rounded.distance(3) == 2.0**62
    too_heavy = sssp.Graph.from_arcs([0], [1], [2**62])
    with pytest.raises(sssp.DistanceOverflowError, match=str(2**62)):
        sssp.shortest_paths(too_heavy, 0, method=method)


@every_weighted_method
def test_a_float_overflow_is_never_taken_for_unreached(method: Method) -> None:
    g = sssp.Graph.from_arcs([0, 1], [1, 2], [1e308, 1e308])
    with pytest.raises(sssp.DistanceOverflowError):
        sssp.shortest_paths(g, 0, method=method)


def test_a_progress_bar_appears_only_where_it_is_wanted(
    square: sssp.Graph, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sssp.engine.progress.DELAY", 0)
    sssp.shortest_paths(square, [0, 1, 2])
    assert capsys.readouterr() == ("", "")
    sssp.shortest_paths(square, [0, 1, 2], progress=True)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "3/3" in captured.err
