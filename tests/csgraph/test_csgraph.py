"""`sssp.csgraph` against SciPy: the same answers and the same errors, whatever the matrix."""

from __future__ import annotations

import inspect
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy
import scipy.sparse as sp
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csgraph as scipy_csgraph

import sssp
from sssp import csgraph, datasets

NONE = -9999
#: such a SciPy stumbles where min_only is asked of all vertices
OLD = tuple(map(int, scipy.__version__.split(".")[:2])) < (1, 15)
#: those that take device= as well
SEARCHES = ("shortest_path", "dijkstra", "bellman_ford", "johnson", "floyd_warshall")
INTEGERS = st.sampled_from([0, 1, 1, 2, 3, 10])
#: sums are exact in any order
DYADIC = st.integers(0, 16).map(lambda eighths: eighths / 8)
#: not all of them are arcs, and only in some kinds of matrices
ODD = st.sampled_from([0.0, -0.0, 1.0, 2.5, 1e-9, 1e300, 1.5e308, np.nan, np.inf])
LARGE = st.sampled_from([2.0**31, 2.0**50, 2.0**52 + 1, 2.0**53, 3e9, 1.0])
NEGATIVE = st.integers(-2, 9)
WITH_MINUS_INFINITY = st.sampled_from([1.0, -1.0, -np.inf, np.nan])


def masked(dense: NDArray[Any], mask: NDArray[np.bool_]) -> Any:
    return np.ma.masked_array(dense, mask)


def of_format(name: Any) -> Callable[[Any, Any], Any]:
    """Return what makes a sparse matrix of the entries that are not masked, zeros too."""

    def make(dense: NDArray[Any], mask: NDArray[np.bool_]) -> Any:
        rows, columns = np.nonzero(~mask)
        entries = sp.coo_array((dense[rows, columns], (rows, columns)), shape=dense.shape)
        return entries.asformat(name)

    return make


def parallel(dense: NDArray[Any], mask: NDArray[np.bool_]) -> Any:
    """A CSR matrix with rows in no order, every other entry twice, and int64 indices."""
    n = len(dense)
    heads = [np.repeat(row, 1 + row % 2)[::-1] for row in map(np.flatnonzero, ~mask)]
    indptr: Any = np.cumsum([0, *(row.size for row in heads)], dtype=np.int64)
    tails = np.repeat(np.arange(n), np.diff(indptr))
    indices = np.concatenate([np.empty(0, np.int64), *heads]).astype(np.int64)
    data = dense[tails, indices] + np.arange(indices.size) % 2
    return sp.csr_array((data.astype(dense.dtype), indices, indptr), shape=(n, n))


FORMS: dict[str, Callable[[Any, Any], Any]] = {
    "dense": lambda dense, mask: np.where(mask, 0, dense),
    "column by column": lambda dense, mask: np.asfortranarray(np.where(mask, 0, dense)),
    "a list": lambda dense, mask: np.where(mask, 0, dense).tolist(),
    "masked": masked,
    **{name: of_format(name) for name in ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")},
    "csr_matrix": lambda dense, mask: sp.csr_matrix(of_format("csr")(dense, mask)),
    "coo with sums": lambda dense, mask: sp.coo_array(
        (np.ones(4, dense.dtype), ([0, 0, 0, 0], [0, 0, len(dense) - 1, len(dense) - 1])),
        shape=dense.shape,
    ),
    "parallel arcs": parallel,
}


@st.composite
def matrices(draw: st.DrawFn, weights: st.SearchStrategy[Any]) -> Any:
    n = draw(st.integers(1, 6))
    entries = draw(st.lists(weights, min_size=n * n, max_size=n * n))
    absent = draw(st.lists(st.booleans(), min_size=n * n, max_size=n * n))
    dense = np.array(entries).reshape(n, n)
    if dense.dtype.kind == "i":
        dense = dense.astype(draw(st.sampled_from(["int64", "int32", "int8", "float64", "f4"])))
    form = draw(st.sampled_from(sorted(FORMS)))
    return FORMS[form](dense, np.array(absent).reshape(n, n))


def size_of(matrix: Any) -> int:
    return int(np.shape(matrix)[0])


@st.composite
def sources(draw: st.DrawFn, n: int) -> Any:
    vertex = st.integers(-n, n - 1)
    return draw(
        st.none()
        | vertex
        | st.lists(vertex, max_size=3)
        | st.lists(vertex, min_size=4, max_size=4).map(lambda four: np.reshape(four, (2, 2)))
        | st.sampled_from([[n], -n - 1, 0.9, np.int8(0)])
    )


def copied(matrix: Any) -> Any:
    return pickle.loads(pickle.dumps(matrix))


def outcome(module: Any, name: str, matrix: Any, **options: Any) -> Any:
    """Return what a call gives: arrays and warnings, or an error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = getattr(module, name)(copied(matrix), **options)
        except Exception as error:
            return type(error).__name__, str(error)
    arrays = found if isinstance(found, tuple) else (found,)
    return arrays, [(w.category, str(w.message)) for w in caught]


def assert_alike(name: str, matrix: Any, *, exact: bool = True, **options: Any) -> None:
    for_scipy = matrix
    if name in ("floyd_warshall", "shortest_path") and isinstance(matrix, np.ndarray):
        for_scipy = matrix.copy(order="C")  # SciPy leaves another order as it is
    expected = outcome(scipy_csgraph, name, for_scipy, **options)
    found = outcome(csgraph, name, matrix, **options)
    if isinstance(expected[0], str):
        if "Buffer dtype mismatch" in expected[1]:
            return  # an older SciPy takes no index arrays of int64
        assert found == expected
        return
    assert not isinstance(found[0], str), found
    assert found[1] == expected[1]
    assert len(found[0]) == len(expected[0])
    for ours, theirs in zip(found[0], expected[0], strict=True):
        assert type(ours) is type(theirs)
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    if exact:
        np.testing.assert_array_equal(found[0][0], expected[0][0])
    else:
        np.testing.assert_allclose(found[0][0], expected[0][0])
    if options.get("return_predecessors") and not found[1]:  # those who warn are SciPy's own
        same = np.array_equal(found[0][1], expected[0][1])
        # among floats Floyd-Warshall's tree depends on what it adds first, in SciPy as well
        if not (same and name == "floyd_warshall"):
            assert_trees(found[0], matrix, name, options)


@np.errstate(over="ignore")  # (too long a path leads nowhere)
def assert_trees(found: Any, matrix: Any, name: str, options: dict[str, Any]) -> None:
    """Check that predecessors are tight, lead to a source, and take the fewest arcs."""
    distances, predecessors = found[0], found[1]
    n = distances.shape[-1]
    weights = lightest(matrix, name, options)
    if (weights == -np.inf).any():
        return  # SciPy's own
    for row, tails in zip(distances.reshape(-1, n), predecessors.reshape(-1, n), strict=True):
        hops = np.where((row == 0) & (tails == NONE), 0, n)
        for _ in range(n):
            through = np.where(row[:, None] + weights == row, hops[:, None] + 1, n).min(axis=0)
            hops = np.minimum(hops, through)
        for vertex in range(n):
            if tails[vertex] == NONE:
                assert row[vertex] in (0, np.inf)
            else:
                tight = row + weights[:, vertex] == row[vertex]
                first = np.flatnonzero(tight & (hops + 1 == hops[vertex]))
                if len(found) == 3:
                    first = first[found[2][first] == found[2][vertex]]
                assert tails[vertex] == first[0]


def lightest(matrix: Any, name: str, options: dict[str, Any]) -> NDArray[np.float64]:
    """Return the weight of every arc that counts, inf where there is none."""
    if hasattr(matrix, "tocsr"):
        validated: Any = matrix.tocsr().astype(float).tocoo()  # (sums what is there twice)
    elif np.ma.isMaskedArray(matrix):
        validated = scipy_csgraph.csgraph_from_masked(matrix).tocoo()
    else:
        validated = scipy_csgraph.csgraph_from_dense(matrix).tocoo()
    n = size_of(matrix)
    weights = np.full((n, n), np.inf)
    arcs = np.ones(validated.nnz, np.bool_)
    if name == "floyd_warshall":
        arcs = ~(np.isnan(validated.data) | np.isposinf(validated.data))
        arcs &= (validated.data != 0) | hasattr(matrix, "tocsr")
    data = np.where(options.get("unweighted", False), 1.0, validated.data)
    np.fmin.at(weights, (validated.row[arcs], validated.col[arcs]), data[arcs])
    if not options.get("directed", True):
        weights = np.minimum(weights, weights.T)
    return weights


FLAGS = st.fixed_dictionaries({flag: st.booleans() for flag in ("directed", "unweighted")})


@given(st.data(), matrices(INTEGERS | DYADIC | ODD), FLAGS, st.booleans())
def test_dijkstra_finds_what_scipy_finds(data, matrix, flags, trees):
    limits = [np.inf, 0, 1.5, 3, -1, np.nan]
    indices, min_only = data.draw(sources(size_of(matrix))), data.draw(st.booleans())
    if OLD and min_only and indices is None:
        indices = range(size_of(matrix))
    assert_alike(
        "dijkstra",
        matrix,
        indices=indices,
        limit=data.draw(st.sampled_from(limits)),
        min_only=min_only,
        return_predecessors=trees,
        **flags,
    )


@given(st.data(), matrices(NEGATIVE | NEGATIVE.map(float) | WITH_MINUS_INFINITY), FLAGS)
def test_bellman_ford_and_johnson_find_what_scipy_finds(data, matrix, flags):
    indices = data.draw(sources(size_of(matrix)))
    # over a negative weight it would be SciPy's dijkstra, which may not end
    names = ("bellman_ford",) if flags["unweighted"] else ("bellman_ford", "johnson")
    for name in names:
        trees = data.draw(st.booleans())
        assert_alike(name, matrix, indices=indices, return_predecessors=trees, **flags)


@given(matrices(INTEGERS | DYADIC | NEGATIVE | ODD | WITH_MINUS_INFINITY), FLAGS, st.booleans())
@example(
    sp.csr_array(([0.0, -1.0], ([0, 1], [1, 0]))), {"directed": True, "unweighted": False}, True
)
@example([[0.0, 1.5e308], [0.0, 0.0]], {"directed": True, "unweighted": False}, True)
def test_floyd_warshall_finds_what_scipy_finds(matrix, flags, trees):
    assert_alike("floyd_warshall", matrix, exact=False, return_predecessors=trees, **flags)


@given(matrices(LARGE), FLAGS, st.booleans())
def test_integers_that_a_float_holds_come_back_as_scipy_adds_them(matrix, flags, trees):
    assert_alike("dijkstra", matrix, return_predecessors=trees, **flags)
    assert_alike("floyd_warshall", matrix, exact=False, **flags)


@given(st.data(), matrices(INTEGERS | DYADIC | ODD), FLAGS)
def test_shortest_path_chooses_as_scipy_does(data, matrix, flags):
    method = data.draw(st.sampled_from(["auto", "auto", "FW", "D", "BF", "J", "A*"]))
    indices = data.draw(st.none() | st.just(0))
    assert_alike("shortest_path", matrix, exact=False, method=method, indices=indices, **flags)


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_entries_that_a_csr_matrix_holds_twice_are_what_scipy_makes_of_them(dtype):
    matrix = sp.csr_array(
        (np.array([3, 4, 1], dtype), np.array([1, 1, 2]), np.array([0, 2, 3, 3])), shape=(3, 3)
    )
    for name in SEARCHES:
        assert_alike(name, matrix)
    found = csgraph.dijkstra(matrix, indices=0).tolist()
    # (a conversion sums, in newer versions)
    assert found == ([0, 3, 4] if dtype == "float64" or OLD else [0, 7, 8])
    assert matrix.data.tolist() == [3, 4, 1]


@pytest.mark.parametrize(
    "matrix",
    [
        np.zeros((0, 0)),
        np.zeros((2, 3)),
        np.zeros(4),
        np.zeros((2, 2), complex),
        sp.csr_array((2, 3)),
        sp.coo_array(np.ones(3)),
        np.array([["a", "b"], ["c", "d"]]),
        None,
    ],
    ids=lambda matrix: f"{type(matrix).__name__}{np.shape(matrix)}",
)
@pytest.mark.parametrize("name", SEARCHES)
def test_what_is_no_graph_is_refused_as_scipy_does(name, matrix):
    assert_alike(name, matrix)


def test_signatures_are_scipys_and_device():
    offered = set(csgraph.__all__) - {"NegativeCycleError"}
    for name in offered & set(dir(scipy_csgraph)):
        ours = dict(inspect.signature(getattr(csgraph, name)).parameters)
        theirs = inspect.signature(getattr(scipy_csgraph, name)).parameters
        if name in SEARCHES:
            device = ours.pop("device")
            assert (device.kind, device.default) == (inspect.Parameter.KEYWORD_ONLY, "auto")
        assert list(ours) == list(theirs)
        for parameter in theirs:
            assert ours[parameter].kind == theirs[parameter].kind, (name, parameter)
            assert ours[parameter].default == theirs[parameter].default, (name, parameter)
    assert offered >= {*SEARCHES, "yen", "reconstruct_path", "construct_dist_matrix"}


def test_negative_weights_for_dijkstra_warn_and_are_left_to_scipy():
    matrix = sp.csr_array([[0, 3, 1], [0, 0, 0], [0, -1, 0]])
    assert_alike("dijkstra", matrix, indices=[0, 2], return_predecessors=True)
    with pytest.warns(UserWarning, match="negative weights"):
        csgraph.dijkstra(matrix, unweighted=True)


@pytest.mark.parametrize("name", ["bellman_ford", "johnson", "floyd_warshall", "yen"])
@pytest.mark.parametrize("directed", [True, False])
def test_a_negative_cycle_is_both_scipys_error_and_ours(name, directed):
    if not hasattr(scipy_csgraph, name):
        pytest.skip(f"this SciPy has no {name}")
    matrix = sp.csr_array([[0, 9, 0, 0], [0, 0, 2, 0], [0, 0, 0, 3], [0, -6, 0, 0]])
    more = (0, 3, 1) if name == "yen" else ()
    with pytest.raises(csgraph.NegativeCycleError) as caught:
        getattr(csgraph, name)(matrix, *more, directed=directed)
    assert isinstance(caught.value, sssp.NegativeCycleError)
    assert isinstance(caught.value, scipy_csgraph.NegativeCycleError)
    again = copied(caught.value)
    assert (str(again), again.cycle) == (str(caught.value), caught.value.cycle)
    if name != "yen":
        cycle = caught.value.cycle
        weights = lightest(matrix, name, {"directed": directed})
        assert sum(weights[u, v] for u, v in zip(cycle, np.roll(cycle, -1), strict=True)) < 0


def test_a_large_negative_cycle_is_named_without_scipy(monkeypatch):
    matrix = sp.csr_array([[0, 9, 0, 0], [0, 0, 0, 3], [0, 2, 0, 0], [0, 0, -6, 0]])
    assert_alike("johnson", matrix)
    monkeypatch.setattr(csgraph, "MOST_STEPS", 1)
    with pytest.raises(csgraph.NegativeCycleError, match=r"on node 1$") as caught:
        csgraph.johnson(matrix)
    assert sorted(caught.value.cycle) == [1, 2, 3]


@pytest.mark.parametrize("method", ["auto", "FW", "D", "BF", "J", "x"])
@pytest.mark.parametrize("matrix", [[[0, 1], [2, 0]], ((0, 1.0), (2, 0)), None, [[0, 1]]])
def test_what_cannot_be_overwritten_is_what_scipy_refuses(method, matrix):
    assert_alike("shortest_path", matrix, method=method, overwrite=True)


def test_the_first_source_that_reaches_a_negative_cycle_is_named():
    n = 40
    matrix = sp.diags_array(np.ones(n - 1), offsets=1, shape=(n, n)).tolil()
    matrix[n - 1, n - 2] = -2
    assert_alike("bellman_ford", matrix)
    assert_alike("bellman_ford", matrix, indices=[5, 3])


def test_a_cycle_that_rounding_alone_makes_negative_is_judged_as_by_scipy():
    # the sum of the three is -2.8e-17
    matrix = sp.csr_array(([0.1, 0.2, -0.30000000000000004], ([0, 1, 2], [1, 2, 0])))
    assert csgraph.bellman_ford(matrix, indices=0).tolist() == [0.0, 0.1, 0.30000000000000004]
    assert_alike("johnson", matrix, exact=False)


def test_floyd_warshall_overwrites_where_scipy_does():
    dense = np.array([[0.0, 5, 20], [0, 0, 5], [1, 0, 0]])
    kept = dense.copy()
    found = csgraph.floyd_warshall(kept)
    np.testing.assert_array_equal(kept, dense)
    assert not np.shares_memory(found, kept)
    assert np.shares_memory(csgraph.floyd_warshall(kept, overwrite=True), kept)
    np.testing.assert_array_equal(kept, found)
    taken = dense.copy()
    csgraph.shortest_path(taken, "FW", overwrite=True)
    np.testing.assert_array_equal(taken, found)


def test_floyd_warshall_takes_a_matrix_column_by_column():
    dense = np.array([[0, 5, 20], [0, 0, 5], [1, 0, 0]], float, order="F")
    for more in (0, -1):
        dense[1, 0] = more
        expected = scipy_csgraph.floyd_warshall(np.ascontiguousarray(dense))
        np.testing.assert_array_equal(csgraph.floyd_warshall(dense), expected)
    dense[1, 0] = -9
    with pytest.raises(csgraph.NegativeCycleError):
        csgraph.floyd_warshall(dense)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "dense"])
def test_the_matrix_stays_as_it_is(form):
    dense = np.diag([5.0, 20, 5], 1)
    matrix: Any = dense.copy() if form == "dense" else sp.coo_array(dense).asformat(form)
    for name in ("dijkstra", "bellman_ford", "johnson", "shortest_path"):
        for directed in (True, False):
            getattr(csgraph, name)(matrix, directed=directed)
    after = matrix if form == "dense" else matrix.toarray()
    np.testing.assert_array_equal(after, dense)
    arrays = [matrix] if form == "dense" else [matrix.data]
    assert all(array.flags.writeable for array in arrays)


def test_an_unknown_device_is_refused_however_small_the_graph():
    for name in SEARCHES:
        with pytest.raises(sssp.DeviceError, match="unknown device 'gpu'"):
            getattr(csgraph, name)(np.ones((2, 2)), device="gpu")


def road(n: int, weights: str) -> Any:
    """A graph that is large enough for the engine."""
    matrix = sssp.road_like(n, seed=1).to_scipy()
    return matrix.astype(np.float64) * 0.1 if weights == "floats" else matrix.astype(weights)


@pytest.mark.parametrize("weights", ["int32", "float64", "floats"])
@pytest.mark.parametrize("options", [{}, {"limit": 9000.5}, {"directed": False}])
def test_large_graphs_are_searched_to_the_same_distances(weights, options):
    matrix = road(6000, weights)
    some = [0, 17, 5999, 17]
    distances, predecessors = csgraph.dijkstra(
        matrix, indices=some, return_predecessors=True, **options
    )
    expected = scipy_csgraph.dijkstra(matrix, indices=some, **options)
    np.testing.assert_array_equal(distances, expected)
    alone = csgraph.dijkstra(matrix, indices=17, return_predecessors=True, **options)
    np.testing.assert_array_equal(alone[0], expected[1])
    np.testing.assert_array_equal(alone[1], predecessors[3])
    assert_one_tree(matrix, distances[0], predecessors[0], options)
    nearest, tails, origins = csgraph.dijkstra(
        matrix, indices=some, return_predecessors=True, min_only=True, **options
    )
    np.testing.assert_array_equal(nearest, expected.min(axis=0))
    reached = np.flatnonzero(tails != NONE)
    np.testing.assert_array_equal(origins[tails[reached]], origins[reached])
    np.testing.assert_array_equal(np.unique(origins[np.isfinite(nearest)]), [0, 17, 5999])


def assert_one_tree(
    matrix: Any, row: NDArray[Any], tails: NDArray[Any], options: dict[str, Any]
) -> None:
    """Check that every predecessor is tight and nearer; weights are above 0."""
    arcs = matrix.tocsr().astype(np.float64)
    if not options.get("directed", True):
        arcs = arcs.minimum(arcs.T) if (arcs != arcs.T).nnz else arcs
    heads = np.flatnonzero(tails != NONE)
    weights = np.asarray(arcs[tails[heads], heads]).reshape(-1)
    np.testing.assert_array_equal(row[tails[heads]] + weights, row[heads])
    assert (row[tails[heads]] < row[heads]).all()
    assert heads.size == np.isfinite(row).sum() - 1


@pytest.mark.skipif(
    datasets.find("USA-road-d.NY") is None, reason="USA-road-d.NY is not on this machine"
)
def test_new_york_is_what_it_is_to_scipy():
    path = datasets.find("USA-road-d.NY")
    assert path is not None
    matrix = sssp.read_graph(path).to_scipy()
    found = csgraph.dijkstra(matrix, indices=[0, 132173])
    np.testing.assert_array_equal(found, scipy_csgraph.dijkstra(matrix, indices=[0, 132173]))


# (SciPy 1.12 tells in no other way what it cannot do with another dtype)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("dtype", [np.int32, np.float64])
def test_trees_become_matrices_as_scipy_makes_them(dtype, directed):
    matrix = sp.csr_array([[0, 3, 9, 0], [2, 0, 4, 0], [0, 0, 0, 0], [1, 0, 0, 0]])
    _, trees = csgraph.dijkstra(matrix, directed=directed, return_predecessors=True)
    trees = trees.astype(dtype)
    for name, tree in (("reconstruct_path", trees[0]), ("construct_dist_matrix", trees)):
        ours, theirs = getattr(csgraph, name), getattr(scipy_csgraph, name)
        answers: list[Any] = []
        for function in (ours, theirs):
            answer: Any
            try:
                answer = function(matrix, tree, directed=directed)
            except (TypeError, ValueError) as error:
                answer = repr(error)
            is_matrix: bool = sp.issparse(answer)
            answers.append(answer.toarray() if is_matrix else answer)
        np.testing.assert_array_equal(*answers)
