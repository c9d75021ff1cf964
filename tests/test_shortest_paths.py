"""Every method of `shortest_paths` on every device: one suite, whose questions are asked of all.

Distances, trees, origins and statistics are compared with plain references, SciPy and the
certificate; what is refused is refused alike. What only one device has (chunks of arcs, piles
that overflow, real graphs) is tested in the rooms of `tests` that are named after it.
"""

from __future__ import annotations

import math
import sys
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy.sparse import csgraph

import sssp
from sssp.methods import METHODS
from tests import naive
from tests.questions import PLAIN, Question, ask_all, questions
from tests.solvers import (
    MANY,
    SIMULATOR,
    SOLVERS,
    Solver,
    draw_and_ask,
    every_device,
    every_solver,
    needs_speed,
    parametrize,
    solvers_on,
)
from tests.strategies import (
    DYADIC,
    FLOATS,
    HUGE_INTEGERS,
    HUGE_OF_ANY_SIGN,
    LARGE_INTEGERS,
    ODDITIES,
    SMALL_INTEGERS,
    graph_of,
    negative_networks,
    networks,
    times_two_to_the_27,
)

#: many negative cycles
MOSTLY_NEGATIVE = st.integers(-5, 3)
#: sums are exact
EIGHTHS = st.integers(-16, 16).map(lambda eighths: eighths / 8)
#: the simulator takes a second for a few thousand threads
LARGEST_ODDITY = 5 if SIMULATOR else math.inf


def test_the_suite_knows_every_method_on_every_device() -> None:
    solvers = {(solver.method.name, solver.device) for solver in SOLVERS}
    solvers = {(name, device) for name, device in solvers if not name.startswith("baseline")}
    assert solvers == {(name, device) for name in METHODS for device in METHODS[name].solvers}
    assert len({str(solver) for solver in SOLVERS}) == len(SOLVERS)


@every_device
def test_integers_agree_with_the_reference_in_every_combination(device: str) -> None:
    ask = partial(ask_all, solvers_on(device))
    draw_and_ask(device, questions(networks(SMALL_INTEGERS)), ask, 100)


@every_device
def test_exact_floats_agree_with_the_reference_in_every_combination(device: str) -> None:
    ask = partial(ask_all, solvers_on(device))
    draw_and_ask(device, questions(networks(DYADIC)), ask, 50)


@every_device
def test_floats_agree_bit_for_bit_with_the_reference_in_every_combination(device: str) -> None:
    ask = partial(ask_all, solvers_on(device, any_floats=True))
    draw_and_ask(device, questions(networks(FLOATS)), ask, 100)


@every_device
def test_negative_weights_agree_with_the_reference_in_every_combination(device: str) -> None:
    ask = partial(ask_all, solvers_on(device, negative_weights=True))
    drawn = negative_networks() | negative_networks().map(times_two_to_the_27)
    draw_and_ask(device, questions(drawn), ask, 200)


@every_device
def test_a_negative_cycle_is_found_exactly_if_a_source_reaches_one(device: str) -> None:
    ask = partial(ask_all, solvers_on(device, negative_weights=True))
    draw_and_ask(device, questions(networks(MOSTLY_NEGATIVE) | networks(EIGHTHS)), ask, 100)


@every_device
def test_sums_beyond_int32_are_right_or_refused(device: str) -> None:
    ask = partial(ask_all, solvers_on(device, weighted=True))
    draw_and_ask(device, questions(networks(LARGE_INTEGERS)), ask, 100)


@every_device
@pytest.mark.parametrize("sign", ["any", "positive"])
def test_sums_beyond_int64_are_right_or_refused(sign: str, device: str) -> None:
    def ask(network: naive.Network) -> None:
        ask_all(solvers, Question(network, 0, {**PLAIN, "predecessors": True}))

    negative = sign == "any"
    solvers = solvers_on(device, weighted=True, **({"negative_weights": True} if negative else {}))
    weights = HUGE_OF_ANY_SIGN if negative else HUGE_INTEGERS
    draw_and_ask(device, networks(weights, least_n=1), ask, 100)


@every_device
@pytest.mark.parametrize("criterion", ["out", "in-out"])
def test_threshold_dijkstra_takes_the_phases_that_its_definition_gives(
    criterion: str, device: str
) -> None:
    def ask(network: naive.Network) -> None:
        everywhere = range(network.n)
        stats = solver(graph_of(network), everywhere).stats
        for source in everywhere:
            expected = naive.threshold_phases(network, source, criterion)
            assert stats["phases"][source] == len(expected.settled)
            assert stats["settled"][source] == sum(expected.settled)
            assert stats["largest_open"][source] == expected.largest_open
            assert stats["open"][source] == expected.open

    solver = Solver(sssp.ThresholdDijkstra(criterion=criterion), device)
    draw_and_ask(device, networks(SMALL_INTEGERS) | networks(FLOATS), ask, 60)


@every_device
@pytest.mark.parametrize("name", ODDITIES)
def test_odd_graphs_agree_with_the_reference(name: str, device: str) -> None:
    network = ODDITIES[name]
    if network.n > LARGEST_ODDITY:
        pytest.skip("the simulator runs a few thousand threads a second")
    wanted = {} if network.integer else {"any_floats": True}
    several: list[int | list[int]] = [[0, network.n - 1], 0, [0] * MANY]
    for sources in several[:1] if SIMULATOR else several:
        ask_all(
            solvers_on(device, **wanted),
            Question(network, sources, {**PLAIN, "predecessors": True}),
        )


@needs_speed
@every_solver()
@pytest.mark.parametrize("dtype", [np.int64, np.float64])
@pytest.mark.parametrize("directed", [True, False])
def test_larger_random_graphs_agree_with_scipy(
    solver: Solver, dtype: type[np.generic], directed: bool
) -> None:
    random = np.random.default_rng(7)
    n, k = 2000, 5000
    weights = random.integers(0, 1000, k) if dtype is np.int64 else random.exponential(1, k)
    tails, heads = random.integers(0, n, (2, k))
    g = sssp.Graph.from_arcs(tails, heads, weights, n=n, directed=directed)
    sources = [5, 1999, 5]
    unweighted = not solver.method.weighted
    expected = csgraph.dijkstra(g.to_scipy(), indices=sources, unweighted=unweighted)
    limit = float(np.median(expected[np.isfinite(expected)]))

    r = solver(g, sources, predecessors=True)
    np.testing.assert_array_equal(r.to_float(), expected)
    sssp.verify(g, r)
    within = solver(g, sources, limit=limit)
    np.testing.assert_array_equal(
        within.to_float(), np.where(expected <= limit, expected, math.inf)
    )
    nearest = solver(g, sources, nearest=True)
    np.testing.assert_array_equal(nearest.to_float(), expected.min(axis=0))
    columns = [17, 3, 17, 1000]
    table = solver(g, sources, targets=columns)
    np.testing.assert_array_equal(table.to_float(), expected[:, columns])


@needs_speed
@every_solver()
def test_a_hub_with_very_many_arcs_is_no_special_case(solver: Solver) -> None:
    # what visits all vertices or arcs again for every vertex is given fewer, which is no hub to it
    count = 2_000 if solver.method.name.startswith("baseline") else 20_000
    leaves = np.arange(1, count + 1)
    weights = 1 + leaves * 7919 % 10_007 if solver.method.weighted else np.ones_like(leaves)
    g = sssp.Graph.from_arcs(np.zeros_like(leaves), leaves, weights, directed=False)
    r = solver(g, 0, predecessors=True)
    assert r.distances[1:].tolist() == weights.tolist()
    across = solver(g, count, targets=[7, 0])
    assert across.distances.tolist() == [weights[-1] + weights[6], weights[-1]]
    sssp.verify(g, r)


# -- shapes and types --------------------------------------------------------------------------


@pytest.fixture
def square() -> sssp.Graph:
    """Four vertices in a circle, one way round, and one apart."""
    return sssp.Graph.from_arcs([0, 1, 2, 3], [1, 2, 3, 0], [1, 2, 4, 8], n=5)


# (on a GPU the same forms serve all methods)
@parametrize(s for s in SOLVERS if s.device == "cpu" or s.method == sssp.DeltaStepping())
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
    square: sssp.Graph, solver: Solver, sources: Any, targets: Any, shape: tuple[int, ...]
) -> None:
    r = solver(square, sources, targets=targets, predecessors=True)
    assert r.distances.shape == r.reached.shape == shape
    assert r.distances.dtype == np.int32
    assert r.predecessors is not None
    tree_shape = (len(sources), 5) if np.ndim(sources) else (5,)
    assert r.predecessors.shape == (tree_shape if targets is None else (np.size(sources), 5))
    assert r.sources.dtype == np.int64
    assert r.single == (np.ndim(sources) == 0)
    sssp.verify(square, r)


@every_solver()
def test_a_graph_without_vertices_has_answers_without_columns(solver: Solver) -> None:
    g = sssp.Graph.from_arcs([], [], [])
    assert solver(g, []).distances.shape == (0, 0)
    r = solver(g, [], predecessors=True, targets=[])
    assert r.distances.shape == (0, 0)
    with pytest.raises(sssp.VertexError, match="none"):
        solver(g, 0)


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


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("output", ["host", "sparse"])
def test_to_float_is_float64_whatever_the_distances_are(
    square: sssp.Graph, dtype: Any, output: Any
) -> None:
    r = sssp.shortest_paths(square, [0], dtype=dtype, output=output)
    assert r.distances.dtype == dtype
    assert r.to_float().dtype == np.float64


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
        ({"memory_limit": 10}, sssp.DeviceError, "may take 10; raise memory_limit"),
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


@every_solver(negative_weights=False)
def test_negative_weights_are_refused_where_the_method_cannot_take_them(solver: Solver) -> None:
    g = sssp.Graph.from_arcs([0, 1], [1, 2], [5, -3])
    with pytest.raises(sssp.NegativeWeightError, match=r"1 -> 2 weighs -3"):
        solver(g, 0)


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


@every_solver(weighted=True)
def test_an_overflow_of_int32_goes_on_in_int64(solver: Solver) -> None:
    g = sssp.Graph.from_arcs([0, 1, 2], [1, 2, 3], [2**30 - 5, 2**30, 2**31 - 1])
    r = solver(g, 0, predecessors=True)
    assert r.distances.dtype == np.int64
    assert r.distances.tolist() == [0, 2**30 - 5, 2**31 - 5, 2**32 - 6]
    fits = solver(g, 0, targets=[1, 2])
    assert (fits.distances.dtype, fits.distance(2)) == (np.int32, 2**31 - 5)
    short = solver(g, 0, limit=2**31)
    assert (short.distances.dtype, short.distance(2)) == (np.int32, 2**31 - 5)


@every_solver(weighted=True)
def test_a_fixed_int32_is_refused_only_if_a_returned_distance_does_not_fit(solver: Solver) -> None:
    g = sssp.Graph.from_arcs([0, 1, 2], [1, 2, 3], [2**30 - 5, 2**30, 2**31 - 1])
    with pytest.raises(sssp.DistanceOverflowError, match=f"{2**32 - 6}.*int32"):
        solver(g, 0, dtype=np.int32)
    r = solver(g, 0, dtype=np.int32, targets=2)
    assert r.distance(2) == 2**31 - 5
    r = solver(g, 0, dtype=np.int32, limit=2**31 - 2)
    assert r.reached.tolist() == [True, True, True, False]


@every_solver(weighted=True)
def test_an_overflow_of_int64_is_refused_unless_it_lies_beyond_the_limit(solver: Solver) -> None:
    g = sssp.Graph.from_arcs([0, 1, 2], [1, 2, 3], [2**61, 2**61, 1])
    with pytest.raises(sssp.DistanceOverflowError, match="float64"):
        solver(g, 0)
    r = solver(g, 0, limit=2**61)
    assert (r.distance(1), r.distance(2)) == (2**61, math.inf)
    rounded = solver(g, 0, dtype=np.float64)
    assert rounded.distance(3) == 2.0**62
    too_heavy = sssp.Graph.from_arcs([0], [1], [2**62])
    with pytest.raises(sssp.DistanceOverflowError, match=str(2**62)):
        solver(too_heavy, 0)


@every_solver(weighted=True, any_floats=True)
@pytest.mark.filterwarnings("ignore:.*overflow encountered:RuntimeWarning")  # the simulator's sums
def test_a_float_overflow_is_never_taken_for_unreached(solver: Solver) -> None:
    g = sssp.Graph.from_arcs([0, 1], [1, 2], [1e308, 1e308])
    with pytest.raises(sssp.DistanceOverflowError):
        solver(g, 0)


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


@pytest.mark.skipif(sys.gettrace() is not None, reason="coverage or a debugger adds calls")
def test_a_call_on_three_vertices_makes_few_python_calls():
    g = sssp.Graph.from_arcs([0, 1], [1, 2], [5, 5])
    sssp.shortest_paths(g, 0, threads=1, device="cpu")
    calls = []

    def note(frame: Any, event: str, arg: Any) -> None:
        if event == "call":
            calls.append(f"{frame.f_code.co_filename}:{frame.f_code.co_name}")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        sssp.shortest_paths(g, 0, threads=1, device="cpu")
    finally:
        sys.setprofile(before)
    assert len(calls) <= 70, "\n".join(calls)
