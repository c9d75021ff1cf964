"""All pairs and transitive closure, every method on the CPU and on OpenCL, against SciPy."""

from __future__ import annotations

import math
import pickle
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_array
from scipy.sparse import csgraph as scipy_csgraph

import sssp
from sssp import datasets, methods
from sssp.bench.papers.baselines import (
    BaselineBlockedFloydWarshall,
    BaselineClosure,
    BaselineFloydWarshall,
    BaselineSquaring,
)
from sssp.cpu.matrix.matrix_driver import Matrix
from sssp.engine.device_names import VARIABLE
from sssp.engine.matrix_request import MatrixRequest, squarings
from sssp.engine.plan import solver_of
from sssp.errors import (
    DeviceError,
    DistanceOverflowError,
    NegativeCycleError,
    NegativeWeightError,
)
from sssp.graph.matrix import MatrixGraph
from sssp.kernels.dtypes import SHORT
from tests.conftest import usable
from tests.solvers import Solver

INF = math.inf
MATRIX_METHODS = ["floyd-warshall", "repeated-squaring"]
BASELINES = [
    BaselineFloydWarshall(),
    BaselineBlockedFloydWarshall(),
    BaselineSquaring(block=8),
]
ALL = [*MATRIX_METHODS, "johnson", *BASELINES]
SIZES = [0, 1, 2, 3, 5, 31, 32, 33, 127, 128, 129]
#: by name, what runs on OpenCL too
ON_OPENCL = {
    name: Solver(kind(), "opencl")
    for name, kind in (methods.DENSE_METHODS | methods.CLOSURE_METHODS).items()
    if "opencl" in kind.solvers
}


def every(asked: list[Any]) -> pytest.MarkDecorator:
    """Run a test that takes ``method`` with each of these; on OpenCL too, if it runs there."""
    there = [ON_OPENCL[method] for method in asked if str(method) in ON_OPENCL]
    return pytest.mark.parametrize("method", [*asked, *there], ids=str, indirect=True)


@pytest.fixture
def method(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A method; calls that leave the device open run it on OpenCL if the test is for that."""
    asked = request.param
    if not isinstance(asked, Solver):
        return asked
    monkeypatch.setenv(VARIABLE, usable(asked.device))
    return asked.method.name


# the example of the papers
PAPER = np.array(
    [
        [0, 3, 8, INF, -4],
        [INF, 0, INF, 1, 7],
        [INF, 4, 0, INF, INF],
        [2, INF, -5, 0, INF],
        [INF, INF, INF, 6, 0],
    ]
)
PAPER_DISTANCES = [
    [0, 1, -3, 2, -4],
    [3, 0, -4, 1, -1],
    [7, 4, 0, 5, 3],
    [2, -1, -5, 0, -2],
    [8, 5, 1, 6, 0],
]


def random_matrix(n: int, density: float, seed: int = 0, negative: bool = False) -> Any:
    """Return an integer matrix; with negative weights two halves that do not reach each other.

    Negative weights come from potentials, so that no cycle is negative; few weights are zero.
    """
    random = np.random.default_rng(seed)
    weights = random.integers(1, 1000, (n, n))
    arcs = random.random((n, n)) < density
    if negative:
        potential = random.integers(-500, 500, n)
        weights += potential[:, np.newaxis] - potential
        arcs[: n // 2, n // 2 :] = arcs[n // 2 :, : n // 2] = False
    np.fill_diagonal(arcs, False)
    return np.where(arcs, weights, 0)


def reference(matrix: Any) -> Any:
    """Return SciPy's distances; 0 in the matrix is not an arc."""
    if len(matrix) == 0:
        return np.zeros((0, 0))
    return scipy_csgraph.floyd_warshall(matrix.astype(float))


@pytest.fixture
def teams(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start threads for the smallest matrices too."""
    monkeypatch.setattr("sssp.engine.thresholds.WORTH_A_THREAD", 1)


# -- distances ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("teams")
@every(ALL)
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("kind", ["dense", "sparse", "negative"])
def test_distances_are_those_of_scipy(method: Any, n: int, kind: str) -> None:
    matrix = random_matrix(n, 0.9 if kind == "dense" else 2 / max(n, 2), n, kind == "negative")
    r = sssp.all_pairs(matrix, method=method)
    assert r.distances.dtype == np.int32
    assert r.distances.shape == (n, n)
    np.testing.assert_array_equal(r.to_float(), reference(matrix))


@pytest.mark.parametrize(
    "dtype", [np.int64, pytest.param(np.float32, marks=pytest.mark.slow), np.float64]
)
@every(ALL)
def test_every_dtype_gives_the_same_distances(method: Any, dtype: Any) -> None:
    for n, negative in ((33, True), (129, False)):
        matrix = random_matrix(n, 0.1, n, negative)
        r = sssp.all_pairs(matrix, method=method, dtype=dtype)
        assert r.distances.dtype == dtype
        np.testing.assert_array_equal(r.to_float(), reference(matrix))


def test_a_thousand_vertices_against_floyd_warshall_and_johnson_of_scipy() -> None:
    matrix = random_matrix(1000, 0.02, negative=True)
    expected = scipy_csgraph.johnson(csr_array(matrix))
    assert np.isinf(expected).any()
    for method in [*MATRIX_METHODS, "johnson"]:
        np.testing.assert_array_equal(sssp.all_pairs(matrix, method=method).to_float(), expected)


def test_lists_are_read_as_numpy_and_scipy_read_them() -> None:
    whole: Any = [[0, 5, 20], [0, 0, 5], [1, 0, 0]]
    floats: Any = [[0, 5, 20], [INF, 0, 5], [1, INF, 0]]
    for matrix, dtype in ((whole, np.int32), (floats, np.float64)):
        found = sssp.all_pairs(matrix).distances
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, scipy_csgraph.floyd_warshall(matrix))
    # NumPy makes floats of one, and objects of the other
    for large in (2**63 + 1, 2**64 + 1):
        for call in (sssp.all_pairs, sssp.transitive_closure):
            with pytest.raises(sssp.DistanceOverflowError, match=rf"int64, and {large} does not"):
                call([[0, large], [1, 0]])


def test_a_table_with_dtypes_that_know_what_is_missing_is_a_matrix() -> None:
    pandas = pytest.importorskip("pandas")
    for dtype, wanted in (("Int64", np.int32), ("Float64", np.float64)):
        table = pandas.DataFrame([[0, 5, 20], [0, 0, 5], [1, 0, 0]], dtype=dtype)
        found = sssp.all_pairs(table).distances
        assert found.dtype == wanted
        assert found.tolist() == [[0, 5, 10], [6, 0, 5], [1, 6, 0]]
        table.iloc[1, 2] = pandas.NA
        with pytest.raises(ValueError, match=r"entry \(1, 2\) of the matrix is nan"):
            sssp.all_pairs(table)


@every(ALL)
def test_the_example_of_the_papers(method: Any) -> None:
    assert sssp.all_pairs(PAPER, method=method).distances.tolist() == PAPER_DISTANCES
    whole = np.where(np.isfinite(PAPER), PAPER, 0).astype(int)
    r = sssp.all_pairs(whole, method=method, predecessors=True)
    assert r.distances.tolist() == PAPER_DISTANCES
    assert r.path(2, row=0).tolist() == [0, 4, 3, 2]


@pytest.mark.usefixtures("teams")
@every(MATRIX_METHODS)
def test_any_number_of_threads_gives_the_same_bits(method: str) -> None:
    matrix = np.random.default_rng(0).random((200, 200))
    one, two, five = (
        sssp.all_pairs(matrix, method=method, threads=threads, predecessors=True)
        for threads in (1, 2, 5)
    )
    for other in (two, five):
        np.testing.assert_array_equal(one.distances, other.distances)
        np.testing.assert_array_equal(one.predecessors, other.predecessors)


@every(MATRIX_METHODS)
def test_floats_agree_within_rounding(method: str) -> None:
    # SciPy takes what is below 1e-8 for 0
    matrix = np.random.default_rng(0).random((150, 150)) + 1e-3
    matrix[matrix > 0.05] = INF
    r = sssp.all_pairs(matrix, method=method)
    np.testing.assert_allclose(r.distances, reference(matrix), rtol=1e-13)


def test_rome_is_exact() -> None:
    path = datasets.find("rome99")
    if path is None:
        pytest.skip("rome99 is not on this machine; data/README.md says where to get it")
    g = sssp.read_graph(path)
    expected = scipy_csgraph.dijkstra(g.to_scipy())
    for method in ("floyd-warshall", "auto"):
        np.testing.assert_array_equal(sssp.all_pairs(g, method=method).to_float(), expected)


# -- squarings ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "rounds"), [(0, 0), (1, 0), (2, 0), (3, 1), (4, 2), (5, 2), (6, 3), (33, 5), (34, 6)]
)
def test_squarings_are_as_many_as_a_path_of_all_vertices_needs(n: int, rounds: int) -> None:
    assert squarings(n - 1) == rounds
    chain = np.zeros((n, n), int)
    chain[np.arange(n - 1), np.arange(1, n)] = 1
    if n:
        r = sssp.all_pairs(chain, method=sssp.RepeatedSquaring(early_stop=False))
        assert r.stats["rounds"].tolist() == [rounds] * n
        assert r.distance(n - 1, row=0) == n - 1


def test_a_negative_weight_takes_one_squaring_more() -> None:
    for n, rounds in ((1, 0), (2, 1), (3, 2)):
        chain = np.zeros((n, n), int)
        chain[np.arange(n - 1), np.arange(1, n)] = -1
        r = sssp.all_pairs(chain, method=sssp.RepeatedSquaring(early_stop=False))
        assert r.stats["rounds"][0] == rounds


def test_squaring_stops_once_nothing_changes() -> None:
    complete = np.ones((40, 40), int)
    r = sssp.all_pairs(complete, method="repeated-squaring")
    assert r.stats["rounds"][0] == 1
    assert sssp.all_pairs(complete, method="floyd-warshall").stats["rounds"][0] == 1


# -- negative cycles ---------------------------------------------------------------------------


def length_of(cycle: list[int], matrix: Any) -> float:
    return float(sum(matrix[tail, head] for tail, head in pairwise([*cycle, cycle[0]])))


@pytest.mark.usefixtures("teams")
@pytest.mark.parametrize("n", [2, 3, 5, 33, 129])
@every(["auto", *ALL])
@pytest.mark.parametrize("dtype", [np.int32, np.float64])
def test_a_negative_cycle_of_all_vertices_is_found(method: Any, n: int, dtype: Any) -> None:
    matrix = np.full((n, n), INF)
    vertices = np.random.default_rng(n).permutation(n)
    matrix[vertices, np.roll(vertices, -1)] = 1
    matrix[vertices[0], vertices[1]] = -n
    given = np.where(np.isinf(matrix), 0, matrix).astype(dtype)
    with pytest.raises(NegativeCycleError, match="negative length") as caught:
        sssp.all_pairs(given, method=method)
    assert sorted(caught.value.cycle) == list(range(n))
    assert length_of(caught.value.cycle, matrix) == -1
    matrix[vertices[0], vertices[1]] = 1 - n
    given = np.where(np.isinf(matrix), 0, matrix).astype(dtype)
    assert np.isfinite(sssp.all_pairs(given, method=method).to_float()).all()


@every(ALL)
def test_among_random_weights_of_both_signs_a_cycle_is_found_at_once(method: Any) -> None:
    matrix = np.random.default_rng(0).integers(-100, 100, (200, 200))
    with pytest.raises(NegativeCycleError) as caught:
        sssp.all_pairs(matrix, method=method)
    assert length_of(caught.value.cycle, matrix) < 0


@every(["auto", *ALL])
def test_a_negative_self_loop_is_a_cycle(method: Any) -> None:
    for matrix in ([[-1]], [[0, 1], [0, -5]]):
        with pytest.raises(NegativeCycleError) as caught:
            sssp.all_pairs(matrix, method=method)
        assert caught.value.cycle == [len(matrix) - 1]


@every(MATRIX_METHODS)
def test_float_cycles_of_length_zero_are_no_negative_cycles(method: str) -> None:
    # multiples of 2**-30, so that every sum is exact
    potential = np.random.default_rng(3).integers(-(2**20), 2**20, 8) * 2.0**-30
    matrix = potential[:, np.newaxis] - potential
    r = sssp.all_pairs(matrix, method=method, zero_is_arc=True, predecessors=True)
    np.testing.assert_array_equal(r.distances, matrix)
    sssp.verify(r.graph, r)


@every(MATRIX_METHODS)
def test_a_false_alarm_by_rounding_ends_in_searches(method: str) -> None:
    # added one by one from anywhere these are not negative, but grouped like this they are
    a, b, c, d = -2.085, 0.839, 0.525, 0.721
    assert (a + (b + c)) + d < 0
    matrix = np.full((5, 5), INF)
    matrix[[3, 1, 0, 2], [1, 0, 2, 3]] = a, b, c, d
    matrix[2, 4] = 1
    r = sssp.all_pairs(matrix, method=method, predecessors=True)
    assert r.distances[3].tolist() == [a + b, a, (a + b) + c, 0, (a + b) + c + 1]
    assert r.path(4, row=3).tolist() == [3, 1, 0, 2, 4]
    sssp.verify(r.graph, r)


# -- overflow ----------------------------------------------------------------------------------


@every(ALL)
def test_distances_beyond_int32_arithmetic_are_found_in_int64(method: Any) -> None:
    third = 2**30 // 3
    chain = np.zeros((6, 6), np.int32)
    chain[np.arange(5), np.arange(1, 6)] = third
    r = sssp.all_pairs(chain, method=method)
    assert r.distances.dtype == np.int32  # 5/3 of 2**30 fits all the same
    assert r.distances[0].tolist() == [third * i for i in range(6)]
    assert not r.reached[5, :5].any()
    chain[chain > 0] *= 2
    r = sssp.all_pairs(chain, method=method)
    assert r.distances.dtype == np.int64
    assert r.distances[0].tolist() == [2 * third * i for i in range(6)]
    with pytest.raises(DistanceOverflowError, match="int32"):
        sssp.all_pairs(chain, method=method, dtype=np.int32)


@every([*MATRIX_METHODS, *BASELINES])
def test_the_unreachable_stays_so_below_sums_that_would_wrap(method: Any) -> None:
    heavy = -(2**30 - 2)
    chain = np.zeros((9, 9), np.int64)
    chain[np.arange(7), np.arange(1, 8)] = heavy  # 8 is on its own, and 0 has no way in
    r = sssp.all_pairs(chain, method=method, predecessors=True)
    assert r.distances[0].tolist() == [*(heavy * i for i in range(8)), 2**63 - 1]
    assert not r.reached[:8, 8].any()
    assert not r.reached[1:, 0].any()
    # with absent arcs at 2**30 - 1 this would be a negative cycle
    two = np.array([[0, -(2**30 - 2), 0], [0, 0, -(2**30 - 2)], [0, 0, 0]])
    assert sssp.all_pairs(two, method=method).distance(2, row=0) == -(2**31 - 4)


@every(MATRIX_METHODS)
def test_integers_near_the_bound_of_int64_are_refused_or_right(method: str) -> None:
    good = np.array([[0, 2**60, 0], [0, 0, 2**60], [0, 0, 0]])
    assert sssp.all_pairs(good, method=method).distance(2, row=0) == 2**61
    for weight in (2**61, -(2**61)):
        bad = np.array([[0, weight, 0], [0, 0, weight], [0, 0, 0]])
        with pytest.raises(DistanceOverflowError, match="float64"):
            sssp.all_pairs(bad, method=method)
    with pytest.raises(DistanceOverflowError, match="too large"):
        sssp.all_pairs(np.array([[0, 2**62], [1, 0]]), method=method)


@every(MATRIX_METHODS)
def test_a_float_sum_that_overflows_is_noticed(method: str) -> None:
    long = np.array([[INF, 1e308, INF], [INF, INF, 1e308], [INF, INF, INF]])
    with pytest.raises(DistanceOverflowError):
        sssp.all_pairs(long, method=method)
    with pytest.raises(DistanceOverflowError, match="float32"):
        sssp.all_pairs(long / 1e200, method=method, dtype=np.float32)
    assert sssp.all_pairs(long / 10, method=method).distance(2, row=0) == 2e307


# -- predecessors ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["positive", "sparse", "zeros", "negative", "wide"])
@every([*MATRIX_METHODS, "johnson", BASELINES[0]])
def test_integer_trees_are_those_of_searches(method: Any, kind: str) -> None:
    matrix = random_matrix(70, 0.04 if kind == "sparse" else 0.5, 1, kind == "negative") % 9
    if kind == "negative":
        matrix = random_matrix(70, 0.5, 1, negative=True)
    if kind == "wide":
        matrix *= 2**40
    inf = np.where(matrix == 0, INF, matrix - (kind == "zeros"))
    arcs = np.isfinite(inf)
    tails, heads = np.nonzero(arcs)
    g = sssp.Graph.from_arcs(tails, heads, inf[arcs].astype(np.int64), n=70)
    expected = sssp.shortest_paths(g, range(70), predecessors=True, device="cpu")
    r = sssp.all_pairs(g, method=method, predecessors=True)
    np.testing.assert_array_equal(r.distances, expected.distances)
    np.testing.assert_array_equal(r.predecessors, expected.predecessors)
    if kind != "zeros":
        r = sssp.all_pairs(matrix, method=method, predecessors=True)
        np.testing.assert_array_equal(r.predecessors, expected.predecessors)


@pytest.mark.parametrize("negative", [False, True])
@every([*MATRIX_METHODS, "johnson"])
def test_float_paths_are_as_long_as_their_distances(method: str, negative: bool) -> None:
    matrix = random_matrix(90, 0.05, 2, negative) * 0.1
    r = sssp.all_pairs(matrix, method=method, predecessors=True)
    np.testing.assert_allclose(r.distances, reference(matrix), atol=1e-9)
    sssp.verify(r.graph, r, rtol=1e-12)
    np.testing.assert_allclose(r.skim(r.graph.weights), r.distances, atol=1e-9)


def test_a_broken_row_of_tails_is_mended() -> None:
    from sssp.cpu.matrix.matrix_driver import _mend

    g = sssp.Graph.from_arcs([0, 1, 2], [1, 2, 1], [1.0, 0.0, 0.0])
    request = MatrixRequest(n=3, source=g, zero_is_arc=False, weights=g._weight_range)
    distances = np.array([[0, 1, 1], [INF, 0, 0], [INF, 0, 0]])
    right = [[-1, 0, 1], [-1, -1, 1], [-1, 2, -1]]
    tails = np.array([[-1, 2, 1], [-1, -1, 1], [-1, -1, -1]], np.int32)
    _mend(g, request, distances, tails)
    assert tails.tolist() == right


# -- what a matrix means -----------------------------------------------------------------------


def test_zeros_and_infinities_off_the_diagonal_are_no_arcs_unless_asked() -> None:
    matrix = [[7, 0, 3.0], [INF, -0.0, 2], [0, 1, INF]]
    r = sssp.all_pairs(matrix, method="floyd-warshall")
    np.testing.assert_array_equal(r.distances, reference(np.array(matrix)))
    assert r.distances.tolist() == [[0, 4, 3], [INF, 0, 2], [INF, 1, 0]]
    for method in ("floyd-warshall", "dijkstra"):
        r = sssp.all_pairs(matrix, method=method, zero_is_arc=True)
        assert r.distances.tolist() == [[0, 0, 2], [2, 0, 2], [0, 0, 0]]
        assert not np.signbit(r.distances).any()


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int16, np.uint64, np.float32, np.float16])
def test_a_matrix_may_have_any_real_dtype(dtype: Any) -> None:
    matrix = (random_matrix(20, 0.3) % 100).astype(dtype)
    r = sssp.all_pairs(matrix, method="floyd-warshall")
    assert r.distances.dtype == (np.float64 if np.dtype(dtype).kind == "f" else np.int32)
    np.testing.assert_array_equal(r.to_float(), reference(matrix))
    assert r.graph.m == np.count_nonzero(matrix)


@pytest.mark.parametrize(
    ("matrix", "error", "match"),
    [
        ([[0, math.nan], [1, 0]], ValueError, r"entry \(0, 1\) of the matrix is nan"),
        ([[0, 1], [-INF, 0]], ValueError, r"entry \(1, 0\) of the matrix is -inf"),
        ([[0, 1]], ValueError, "square"),
        ([0, 1], ValueError, "square"),
        ([["a"]], TypeError, "integers or floats"),
        ([[1j]], TypeError, "integers or floats"),
        (np.ma.masked_equal([[0, 1], [1, 0]], 0), TypeError, "masked"),
        (np.array([[0, 2**64 - 1], [1, 0]], np.uint64), DistanceOverflowError, "int64"),
    ],
)
def test_what_is_no_matrix_of_weights_is_refused(matrix: Any, error: Any, match: str) -> None:
    with pytest.raises(error, match=match):
        sssp.all_pairs(matrix)


def test_views_and_fortran_order_are_read_as_they_are() -> None:
    matrix = random_matrix(30, 0.3)
    for view in (np.asfortranarray(matrix), np.repeat(matrix, 2, axis=1)[:, ::2]):
        r = sssp.all_pairs(view, method="floyd-warshall")
        np.testing.assert_array_equal(r.to_float(), reference(matrix))


def test_sparse_matrices_keep_stored_zeros_and_the_least_of_duplicates() -> None:
    matrix = coo_array(([0, 5, 3], ([0, 1, 1], [1, 2, 2])), shape=(3, 3))
    for method in ("floyd-warshall", "johnson", "auto"):
        r = sssp.all_pairs(matrix, method=method)
        assert r.to_float().tolist() == [[0, 0, 3], [INF, 0, 3], [INF, INF, 0]]


def test_the_graph_of_a_matrix_is_made_when_it_is_needed_and_pickles() -> None:
    matrix = random_matrix(12, 0.6)
    r = sssp.all_pairs(matrix, method="floyd-warshall", predecessors=True)
    assert isinstance(r.graph, sssp.Graph)
    assert r.distance(5, row=0) == reference(matrix)[0, 5]
    copy = pickle.loads(pickle.dumps(r))
    assert copy.graph.m == np.count_nonzero(matrix)
    assert copy.path_arcs(5, row=0).tolist() == r.path_arcs(5, row=0).tolist()
    with pytest.raises(AttributeError, match="no attribute 'edges'"):
        _ = r.graph.edges  # type: ignore[attr-defined]  # on purpose


def test_no_vertices_and_one() -> None:
    every: list[Any] = ["auto", *ALL]
    for method in every:
        assert sssp.all_pairs(np.zeros((0, 0)), method=method).distances.shape == (0, 0)
        assert sssp.all_pairs([[0]], method=method).distances.tolist() == [[0]]
        graph = sssp.Graph.from_arcs([], [], [], n=2)
        r = sssp.all_pairs(graph, method=method, predecessors=True)
        assert r.to_float().tolist() == [[0, INF], [INF, 0]]
        assert r.predecessors.tolist() == [[-1, -1], [-1, -1]]


# -- the call ----------------------------------------------------------------------------------


def test_auto_takes_the_matrix_for_dense_graphs_and_searches_for_sparse_ones() -> None:
    road = sssp.road_like(2000)
    assert sssp.all_pairs(random_matrix(50, 0.5)).method == "floyd-warshall"
    assert sssp.all_pairs(road).method == "delta-stepping"
    potential = np.arange(2000)
    tilted = road.with_weights(road.weights + potential[road.tails] - potential[road.indices])
    r = sssp.all_pairs(tilted, predecessors=True)
    assert r.method == "johnson"
    rows = sssp.all_pairs(tilted, method="floyd-warshall", predecessors=True)
    np.testing.assert_array_equal(r.distances, rows.distances)
    np.testing.assert_array_equal(r.predecessors, rows.predecessors)


def test_auto_counts_what_the_entries_of_a_dense_matrix_mean() -> None:
    n = 2000
    everywhere, nowhere = np.zeros((n, n), np.int32), np.full((n, n), INF)
    ring = np.arange(n), np.roll(np.arange(n), -1)
    everywhere[ring] = nowhere[ring] = 1
    assert MatrixGraph.of(everywhere, zero_is_arc=False)._count_entries() == n
    assert MatrixGraph.of(everywhere, zero_is_arc=True)._count_entries() == n * n
    assert MatrixGraph.of(nowhere, zero_is_arc=False)._count_entries() == n
    assert sssp.all_pairs(everywhere).method == "delta-stepping"
    assert sssp.all_pairs(everywhere, zero_is_arc=True).method == "floyd-warshall"
    assert sssp.all_pairs(nowhere).method == "delta-stepping"


def test_methods_of_one_source_run_from_every_vertex() -> None:
    matrix = random_matrix(20, 0.3)
    some: list[Any] = ["dijkstra", "bellman-ford", sssp.DeltaStepping(delta=50)]
    for method in some:
        r = sssp.all_pairs(matrix, method=method)
        np.testing.assert_array_equal(r.to_float(), reference(matrix))
    with pytest.raises(NegativeWeightError):
        sssp.all_pairs(-matrix, method="dijkstra")


@pytest.mark.parametrize("unknown", ["floyd", None, 3, sssp.ClosureByWarshall()])
def test_an_unknown_method_is_refused_with_those_that_exist(unknown: Any) -> None:
    with pytest.raises(ValueError, match=r"auto, dijkstra, .*floyd-warshall.*johnson"):
        sssp.all_pairs([[0]], method=unknown)
    with pytest.raises(ValueError, match=r"auto, closure-by-warshall, closure-by-squaring"):
        sssp.transitive_closure([[0]], method="floyd-warshall")
    with pytest.raises(ValueError, match="auto, dijkstra"):
        sssp.shortest_paths(sssp.road_like(10), 0, method="floyd-warshall")


def test_tiles_and_streams_of_baselines_are_checked() -> None:
    for kind in (BaselineSquaring, BaselineClosure):
        with pytest.raises(ValueError, match="4, 8, 16, 32"):
            kind(block=5)
    with pytest.raises(ValueError, match="no predecessors of float"):
        sssp.all_pairs([[0.5]], method=BaselineFloydWarshall(), predecessors=True)


def test_every_method_of_a_matrix_has_a_solver_where_the_registry_says() -> None:
    for known, function in ((methods.DENSE_METHODS, "solve"), (methods.CLOSURE_METHODS, "close")):
        for name, kind in known.items():
            assert kind.name == name
            assert kind.__doc__
            assert kind.__name__ in methods.__all__
            assert callable(getattr(solver_of(kind(), "cpu"), function))


def test_memory_is_planned_and_refused_with_numbers() -> None:
    matrix = random_matrix(100, 0.5)
    needed = {"floyd-warshall": 40_000, "repeated-squaring": 80_000}
    for method, size in needed.items():
        assert sssp.all_pairs(matrix, method=method, memory_limit=size).rows == 100
        with pytest.raises(DeviceError, match=f"{size:,} bytes.* may take {size - 1:,}"):
            sssp.all_pairs(matrix, method=method, memory_limit=size - 1)
    with pytest.raises(DeviceError, match="80,000 bytes"):
        sssp.all_pairs(matrix, method="floyd-warshall", memory_limit=1, predecessors=True)
    with pytest.raises(DeviceError, match="bytes"):
        sssp.transitive_closure(matrix, memory_limit=1000)


def test_options_that_need_a_gpu_are_refused_on_the_cpu() -> None:
    calls: list[Any] = [sssp.all_pairs, sssp.transitive_closure]
    for call in calls:
        with pytest.raises(ValueError, match="device='cuda'"):
            call([[0]], output="device", device="cpu")
        with pytest.raises(ValueError, match="'host' or 'device'"):
            call([[0]], output="sparse")
    with pytest.raises(DeviceError, match="choose 'auto', 'cpu'"):
        sssp.all_pairs([[0]], device="gpu")
    with pytest.raises(TypeError, match="scale the weights"):
        sssp.all_pairs([[0.5]], dtype=np.int32)


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(1, 12),
    density=st.floats(0, 1),
    seed=st.integers(0, 2**32 - 1),
    scale=st.sampled_from([1, 2**24, 2**34]),
)
def test_methods_agree_with_searches(n: int, density: float, seed: int, scale: int) -> None:
    matrix = random_matrix(n, density, seed, negative=seed % 2 == 0) * scale
    expected = sssp.all_pairs(matrix, method="bellman-ford", predecessors=True)
    for method in [*MATRIX_METHODS, "johnson"]:
        r = sssp.all_pairs(matrix, method=method, predecessors=True)
        assert r.distances.dtype == expected.distances.dtype
        np.testing.assert_array_equal(r.distances, expected.distances)
        np.testing.assert_array_equal(r.predecessors, expected.predecessors)


# -- in 16 bits ---------------------------------------------------------------------------------


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Try 16 bits for the smallest matrices too; return the dtypes of the matrices."""
    monkeypatch.setattr("sssp.engine.thresholds.SHORT_VERTICES", 0)
    tried: list[Any] = []
    make = Matrix.__init__

    def noted(matrix: Matrix, n: int, dtype: Any, with_tails: bool) -> None:
        tried.append(dtype)
        make(matrix, n, dtype, with_tails)

    monkeypatch.setattr(Matrix, "__init__", noted)
    return tried


@every([*ALL, "dijkstra"])
def test_int16_is_a_dtype_of_all_pairs(method: Any) -> None:
    for n, negative in ((33, False), (129, True)):
        negative = negative and method != "dijkstra"
        matrix = random_matrix(n, 0.1, n, negative)
        r = sssp.all_pairs(matrix, method=method, dtype="int16", predecessors=True)
        assert r.distances.dtype == np.int16
        np.testing.assert_array_equal(r.to_float(), reference(matrix))
        sssp.verify(r.graph, r)


@every(MATRIX_METHODS)
@pytest.mark.parametrize("n", [*SIZES, 300])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_distances_in_16_bits_are_those_of_scipy(
    method: Any, n: int, kind: str, short: list[Any]
) -> None:
    matrix = random_matrix(n, 0.9 if kind == "dense" else 2 / max(n, 2), n)
    for dtype in (None, "int16"):
        r = sssp.all_pairs(matrix, method=method, dtype=dtype)
        assert r.distances.dtype == (dtype or np.int32)
        np.testing.assert_array_equal(r.to_float(), reference(matrix))
    assert short[0] == (SHORT if n else np.int32)
    trees = sssp.all_pairs(matrix, method=method, predecessors=True)
    expected = sssp.all_pairs(matrix, method="dijkstra", predecessors=True, device="cpu")
    np.testing.assert_array_equal(trees.predecessors, expected.predecessors)


@pytest.mark.usefixtures("short")
@every(MATRIX_METHODS)
def test_arcs_of_weight_zero_are_arcs_in_16_bits(method: Any) -> None:
    matrix = np.random.default_rng(5).integers(0, 4, (130, 130))
    expected = sssp.all_pairs(matrix, method="dijkstra", zero_is_arc=True, device="cpu")
    found = sssp.all_pairs(matrix, method=method, zero_is_arc=True, predecessors=True)
    np.testing.assert_array_equal(found.distances, expected.distances)
    sssp.verify(found.graph, found)


@every(MATRIX_METHODS)
def test_the_longest_short_distance_is_32_766(method: Any, short: list[Any]) -> None:
    for last, heaviest in ((1, 0), (1, 1), (0, 0)):
        weights = np.array([16_000, 32_766 - heaviest - 16_000 - last, last])
        path = sssp.Graph.from_arcs([0, 1, 2], [1, 2, 3], weights)
        short.clear()
        r = sssp.all_pairs(path, method=method, dtype="int16")
        assert r.distances[0].tolist() == [0, *np.cumsum(weights)]
        assert r.distances[3].tolist() == [32_767] * 3 + [0]
    one_more = sssp.Graph.from_arcs([0, 1], [1, 2], [16_384, 16_383])
    assert sssp.all_pairs(one_more, method=method).distances[0].tolist() == [0, 16_384, 32_767]
    with pytest.raises(DistanceOverflowError, match="32767 does not fit int16"):
        sssp.all_pairs(one_more, method=method, dtype="int16")


def test_16_bits_are_left_out_where_an_eccentricity_rules_them_out(short: list[Any]) -> None:
    for tails, heads in (([*range(99)], [*range(1, 100)]), ([*range(1, 100)], [*range(99)])):
        path = sssp.Graph.from_arcs(tails, heads, np.full(99, 400))
        sssp.all_pairs(path, method="floyd-warshall")
        assert short == [np.int32]
        short.clear()
    # of two parts one is far, but vertex 0 is in the other: int32 takes over
    tails, heads = [0, *range(2, 100)], [1, *range(3, 101)]
    apart = sssp.Graph.from_arcs(tails, heads, np.full(99, 400))
    assert sssp.all_pairs(apart, method="floyd-warshall").distances[2, 100] == 98 * 400
    assert short == [SHORT, np.int32]


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(1, 12),
    density=st.floats(0, 1),
    seed=st.integers(0, 2**32 - 1),
    scale=st.sampled_from([1, 11, 33, 40]),
    nudge=st.integers(-3, 3),
)
def test_matrices_in_16_bits_agree_with_searches(
    n: int, density: float, seed: int, scale: int, nudge: int
) -> None:
    matrix = random_matrix(n, density, seed)
    matrix = np.where(matrix > 0, np.maximum(matrix * scale + nudge, 0), 0)
    expected = sssp.all_pairs(matrix, method="bellman-ford", zero_is_arc=False).distances
    fits = expected[expected != np.iinfo(np.int32).max].max() < 32_767
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sssp.engine.thresholds.SHORT_VERTICES", 0)
        for method in MATRIX_METHODS:
            found = sssp.all_pairs(matrix, method=method).distances
            np.testing.assert_array_equal(found, expected)
            if fits:
                found = sssp.all_pairs(matrix, method=method, dtype="int16").distances
                np.testing.assert_array_equal(found, np.minimum(expected, 32_767))
            else:
                with pytest.raises(DistanceOverflowError):
                    sssp.all_pairs(matrix, method=method, dtype="int16")


def test_what_int16_cannot_be_is_refused() -> None:
    with pytest.raises(TypeError, match="dtype must be int16, int32, int64"):
        sssp.all_pairs([[0]], dtype=np.int8)
    with pytest.raises(TypeError, match="dtype must be int32, int64"):
        sssp.shortest_paths(sssp.Graph.from_arcs([0], [1], [1]), 0, dtype="int16")
    with pytest.raises(TypeError, match="scale the weights"):
        sssp.all_pairs([[0.5]], dtype="int16")
    with pytest.raises(ValueError, match="takes method='floyd-warshall'"):
        sssp.all_pairs([[1]], dtype="int16", output="device", method="dijkstra")


# -- transitive closure ------------------------------------------------------------------------

CLOSURES = ["closure-by-warshall", "closure-by-squaring", BaselineClosure(block=4)]


def naive_closure(matrix: Any, reflexive: bool) -> list[list[bool]]:
    """Search from every vertex."""
    heads = [[j for j, there in enumerate(row) if there] for row in matrix.tolist()]
    closure = []
    for source in range(len(heads)):
        found, stack = ({source}, [source]) if reflexive else (set(), list(heads[source]))
        while stack:
            vertex = stack.pop()
            if reflexive or vertex not in found:
                found.add(vertex)
                stack += [head for head in heads[vertex] if head not in found]
                found.update(heads[vertex] if reflexive else ())
        closure.append([vertex in found for vertex in range(len(heads))])
    return closure


@pytest.mark.usefixtures("teams")
@pytest.mark.parametrize("reflexive", [True, False])
@every(CLOSURES)
@pytest.mark.parametrize("n", [*SIZES, 63, 64, 65, 300])
def test_the_closure_is_that_of_searches(method: Any, n: int, reflexive: bool) -> None:
    matrix = np.random.default_rng(n).random((n, n)) < 1.5 / max(n, 1)
    expected = np.array(naive_closure(matrix, reflexive), bool).reshape(n, n)
    for threads in (1, 3):
        closure = sssp.transitive_closure(
            matrix, reflexive=reflexive, method=method, threads=threads
        )
        assert closure.dtype == np.bool_
        np.testing.assert_array_equal(closure, expected)


@every(["auto", *CLOSURES])
def test_the_closure_of_the_example_of_the_papers(method: Any) -> None:
    g = sssp.Graph.from_arcs([0, 0, 0, 2, 3, 4], [1, 2, 4, 1, 2, 3], np.ones(6, int))
    assert sssp.transitive_closure(g, method=method).astype(int).tolist() == [
        [1, 1, 1, 1, 1],
        [0, 1, 0, 0, 0],
        [0, 1, 1, 0, 0],
        [0, 1, 1, 1, 0],
        [0, 1, 1, 1, 1],
    ]


@every(CLOSURES)
def test_a_chain_and_a_cycle_of_all_vertices_close(method: Any) -> None:
    for n in (2, 3, 5, 65, 129):
        chain = np.eye(n, k=1, dtype=bool)
        upper = sssp.transitive_closure(chain, method=method, reflexive=False)
        np.testing.assert_array_equal(upper, np.triu(np.ones((n, n), bool), 1))
        chain[-1, 0] = True
        assert sssp.transitive_closure(chain, method=method, reflexive=False).all()


@every(CLOSURES)
def test_packed_words_hold_64_columns_and_nothing_beyond(method: Any) -> None:
    matrix = np.random.default_rng(1).random((70, 70)) < 0.02
    words = sssp.transitive_closure(matrix, method=method, packed=True)
    assert words.dtype == np.uint64
    assert words.shape == (70, 2)
    closure = sssp.transitive_closure(matrix, method=method)
    for i, j in ((0, 0), (3, 63), (69, 64), (10, 69), (42, 7)):
        assert bool(int(words[i, j // 64]) >> (j % 64) & 1) == closure[i, j]
    assert not (words[:, 1] >> np.uint64(6)).any()


def test_what_is_an_arc_of_a_closure() -> None:
    matrix = np.array([[0, INF, 2], [0, 0.5, 0], [0, 0, 0]])
    expected = [[0, 0, 1], [0, 1, 0], [0, 0, 0]]
    for given_ in (matrix, coo_array(matrix), csr_array(np.isfinite(matrix) & (matrix != 0))):
        closure = sssp.transitive_closure(given_, reflexive=False)
        assert closure.astype(int).tolist() == expected
    stored = coo_array(([False, True], ([0, 1], [1, 0])), shape=(2, 2))
    assert sssp.transitive_closure(stored).tolist() == [[True, False], [True, True]]


@pytest.mark.parametrize("weight", [-1, 0, 5, 2.5, math.inf])
def test_a_self_loop_that_a_graph_keeps_is_an_arc_whatever_it_weighs_now(weight: float) -> None:
    g = sssp.Graph.from_arcs([0, 1, 1], [1, 1, 2], [7, -3, 1])
    g = g.with_changes(g.arc(1, 1), weight).with_changes(g.arc(1, 2), math.inf)
    found = sssp.transitive_closure(g, reflexive=False)
    assert found.tolist() == [[False, True, False], [False, weight != math.inf, False], [False] * 3]


def test_a_graph_that_dropped_self_loops_has_no_irreflexive_closure() -> None:
    g = sssp.Graph.from_arcs([0, 0], [0, 1], [1, 1])
    assert sssp.transitive_closure(g).tolist() == [[True, True], [False, True]]
    with pytest.raises(ValueError, match="dropped 1 self-loops"):
        sssp.transitive_closure(g, reflexive=False)


def test_squaring_a_closure_stops_early_and_is_the_same() -> None:
    matrix = np.random.default_rng(5).random((100, 100)) < 0.05
    fast = sssp.transitive_closure(matrix, method=sssp.ClosureBySquaring())
    slow = sssp.transitive_closure(matrix, method=sssp.ClosureBySquaring(early_stop=False))
    np.testing.assert_array_equal(fast, slow)


# ------------------------------------------------------------------------------------- Johnson
@pytest.mark.parametrize("heavy", [-1e12, -1e14, -1e20, -1e300])
@pytest.mark.parametrize("method", ["auto", "johnson"])
def test_one_very_negative_arc_spoils_no_pair_that_never_uses_it(method: str, heavy: float) -> None:
    g = sssp.Graph.from_arcs([2999, 0, 0, 2], [0, 1, 2, 1], [heavy, 1000.0, 1.0, 1.0], n=3000)
    r = sssp.all_pairs(g, method=method)
    assert r.method == "johnson"
    assert [r.distance(1, row=row) for row in (0, 2)] == [2.0, 1.0]
    assert r.distance(1, row=2999) == heavy + 2.0
    sssp.verify(g, r)


def test_among_weights_of_all_sizes_johnson_is_as_exact_as_searches() -> None:
    rng = np.random.default_rng(11)
    tails, heads = rng.integers(0, 60, (2, 240))
    # potentials far apart make many arcs negative and no cycle so
    height = 10.0 ** rng.integers(0, 16, 60)
    weights = rng.integers(1, 100, 240) + height[heads] - height[tails]
    g = sssp.Graph.from_arcs(tails, heads, weights, n=60)
    found = sssp.all_pairs(g, method="johnson", predecessors=True)
    right = sssp.all_pairs(g, method="bellman-ford")
    np.testing.assert_allclose(found.distances, right.distances, rtol=1e-13, atol=1.0)
    sssp.verify(g, found)


def test_johnson_heeds_the_options_of_the_call(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sssp.engine.progress.DELAY", 0.0)
    g = sssp.Graph.from_arcs([0, 1, 2], [1, 2, 3], [-1.0, 2.0, 3.0])
    with pytest.raises(sssp.DeviceError, match=r"needs [\d,]+ bytes of memory"):
        sssp.all_pairs(g, method="johnson", memory_limit=10)
    sssp.all_pairs(g, method="johnson", threads=1, progress=True)
    assert "4/4" in capfd.readouterr().err
