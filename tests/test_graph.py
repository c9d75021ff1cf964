from __future__ import annotations

import copy
import math
import pickle
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from sssp import datasets
from sssp.errors import (
    DistanceOverflowError,
    GraphFormatError,
    MissingExtraError,
    VertexError,
)
from sssp.graph.graph import Graph
from sssp.graph.reading import read_graph
from sssp.loaders import read_arrays, read_gr, write_arrays, write_gr

SMALL_N = 5
vertices = st.integers(0, SMALL_N - 1)
integers = st.integers(-3, 9)
floats = st.sampled_from([0.0, -0.0, 1.5, 2.25, -0.5, 1e-320, 1e300, math.inf])
arcs_of = {
    weights: st.lists(st.tuples(vertices, vertices, weights), max_size=25)
    for weights in (integers, floats)
}
arc_lists = st.one_of(*arcs_of.values())


def columns(arcs: list[tuple[int, int, Any]]) -> tuple[list[Any], list[Any], list[Any]]:
    tails, heads, weights = zip(*arcs, strict=True) if arcs else ((), (), ())
    return list(tails), list(heads), list(weights)


def naive_reduction(
    arcs: list[tuple[int, int, Any]], directed: bool
) -> tuple[dict[tuple[int, int], tuple[Any, int]], int, int]:
    """Return the lightest first row of each pair, and the counts of parallel arcs and loops."""
    best: dict[tuple[int, int], tuple[Any, int]] = {}
    groups = set()
    real = loops = 0
    for row, (tail, head, weight) in enumerate(arcs):
        if tail == head and weight >= 0:
            loops += 1
            continue
        real += 1
        groups.add((tail, head) if directed else frozenset((tail, head)))
        for pair in {(tail, head)} if directed else {(tail, head), (head, tail)}:
            best[pair] = min(best.get(pair, (weight, row)), (weight, row))
    return best, real - len(groups), loops


def as_dict(g: Graph) -> dict[tuple[int, int], tuple[Any, int]]:
    pairs = zip(g.tails.tolist(), g.indices.tolist(), strict=True)
    kept = zip(g.weights.tolist(), g.arc_origin.tolist(), strict=True)
    return dict(zip(pairs, kept, strict=True))


def weight_of(g: Graph) -> dict[tuple[int, int], Any]:
    return {pair: weight for pair, (weight, _) in as_dict(g).items()}


def assert_same(a: Graph, b: Graph) -> None:
    arrays = "indptr", "indices", "weights", "arc_origin", "row_arc", "labels", "coordinates"
    for name in arrays:
        left, right = getattr(a, name), getattr(b, name)
        assert (left is None) == (right is None), name
        if left is not None:
            assert left.dtype == right.dtype, name
            np.testing.assert_array_equal(left, right, err_msg=name)
    for name in ("n", "m", "directed", "input_arcs", "parallel_arcs", "self_loops"):
        assert getattr(a, name) == getattr(b, name), name


@pytest.fixture
def triangle() -> Graph:
    return Graph.from_arcs([0, 1, 2], [1, 2, 0], [3, 4, 5])


# -- from_arcs ---------------------------------------------------------------------------------


@given(arcs=arc_lists, directed=st.booleans(), presorted=st.booleans())
def test_arcs_are_reduced_as_a_dict_would_reduce_them(
    arcs: list[tuple[int, int, Any]], directed: bool, presorted: bool
) -> None:
    if presorted:
        arcs = sorted(arcs, key=lambda arc: arc[:2])
    g = Graph.from_arcs(*columns(arcs), n=SMALL_N, directed=directed)
    best, parallel, loops = naive_reduction(arcs, directed)
    assert as_dict(g) == best
    assert (g.m, g.parallel_arcs, g.self_loops) == (len(best), parallel, loops)
    assert g.input_arcs == len(arcs)
    assert list(as_dict(g)) == sorted(best), "arcs stand in order of tail and head"
    assert g.indptr[0] == 0
    assert g.indptr[-1] == g.m
    assert not np.signbit(g.weights[g.weights == 0]).any(), "-0.0 is stored as 0.0"
    weights = [weight for weight, _ in best.values() if weight != math.inf]
    assert g.closed_arcs == len(best) - len(weights)
    assert g.least_weight == min(weights, default=0)
    assert g.greatest_weight == max(weights, default=0)


def test_a_large_graph_with_a_hub_is_sorted_like_lexsort_does() -> None:
    random = np.random.default_rng(0)
    tails, heads = random.integers(0, 500, (2, 50_000))
    tails[:20_000] = 7
    weights = random.integers(1, 1000, tails.size)
    kept = tails != heads
    order = np.lexsort((np.arange(tails.size), weights, heads, tails))
    order = order[kept[order]]
    first = np.ones(order.size, bool)
    first[1:] = (np.diff(tails[order]) != 0) | (np.diff(heads[order]) != 0)
    g = Graph.from_arcs(tails, heads, weights)
    np.testing.assert_array_equal(g.arc_origin, order[first])
    np.testing.assert_array_equal(g.weights, weights[g.arc_origin])
    np.testing.assert_array_equal(g.indices, heads[g.arc_origin])


def test_dtypes_are_those_the_solvers_expect() -> None:
    g = Graph.from_arcs(np.array([0], np.uint8), [1], [7])
    arrays: list[Any] = [g.indptr, g.indices, g.arc_origin, g.tails, g.weights]
    assert [str(array.dtype) for array in arrays] == ["int64"] + ["int32"] * 4


@pytest.mark.parametrize(
    ("weights", "dtype"),
    [
        ([True], np.int32),
        (np.array([7], np.uint8), np.int32),
        ([2**31 - 2], np.int32),
        ([2**31 - 1], np.int64),
        (np.array([2**31 - 1], np.int32), np.int64),
        ([-(2**31) - 1], np.int64),
        (np.array([2**63 - 2], np.uint64), np.int64),
        (np.array([7], object), np.int32),
        ([Fraction(1, 2)], np.float64),
        (np.array([0.1], np.float32), np.float64),
        ([1.0], np.float64),
    ],
)
def test_weights_are_stored_in_the_narrowest_exact_dtype(weights: Any, dtype: type) -> None:
    g = Graph.from_arcs([0], [1], weights)
    assert g.weights.dtype == dtype
    assert g.weights[0] == weights[0]
    assert g.closed_arcs == 0


@pytest.mark.parametrize("weights", [[2**63], [2**63, -1], [2**70, 0], np.array([2**63], "u8")])
def test_integer_weights_beyond_int64_are_refused_not_rounded(weights: Any) -> None:
    zeros = [0] * len(weights)
    with pytest.raises(DistanceOverflowError, match=r"does not fit int64"):
        Graph.from_arcs(zeros, [1] * len(weights), weights)


@pytest.mark.skipif(np.finfo(np.longdouble).max == np.finfo(float).max, reason="not longer")
@pytest.mark.parametrize("weight", ["1e400", "-1e400"])
def test_a_float_beyond_float64_is_refused_not_closed(weight: str) -> None:
    with pytest.raises(DistanceOverflowError, match=r"weight -?\S+e\+400 does not fit float64"):
        Graph.from_arcs([0, 1], [1, 0], np.array([np.longdouble(weight), np.inf]))


@pytest.mark.parametrize("weight", [10**400, -(10**400), Fraction(10**400, 3)])
def test_a_number_beyond_all_floats_is_refused_beside_floats(weight: Any) -> None:
    g = Graph.from_arcs([0, 1], [1, 0], [1, 2])
    with pytest.raises(DistanceOverflowError, match="does not fit float64"):
        Graph.from_arcs([0, 1, 0], [1, 0, 1], [1.5, weight, np.inf])
    with pytest.raises(DistanceOverflowError, match="does not fit float64"):
        g.with_changes([0, 1], [weight, 1.5])
    G: Any = nx.DiGraph()
    G.add_weighted_edges_from([(0, 1, weight), (1, 0, 1.5)])
    with pytest.raises(DistanceOverflowError, match="does not fit float64"):
        Graph.from_networkx(G)
    G = nx.DiGraph()
    G.add_node(0, x=weight, y=1)
    assert Graph.from_networkx(G).coordinates is None


@pytest.mark.parametrize("n", [0, 1])
def test_graphs_without_arcs_work_everywhere(n: int, tmp_path: Any) -> None:
    g = Graph.from_arcs([], [], [], n=n, coordinates=np.zeros((n, 2)))
    assert (g.n, g.m, g.least_weight, g.greatest_weight) == (n, 0, 0, 0)
    assert g.weights.dtype == np.int32
    same = [g.reverse(), g.with_weights([]), g.scaled(2.5)]
    same += [g.with_weights(np.empty(0)), pickle.loads(pickle.dumps(g))]
    same += [Graph.from_scipy(g.to_scipy()), Graph.from_networkx(g.to_networkx())]
    same += [g.largest_component(), g.largest_component("weak")]
    g.save(tmp_path / "g.sssp")
    same.append(read_graph(tmp_path / "g.sssp"))
    assert [(h.n, h.m) for h in same] == [(n, 0)] * len(same)
    assert g.vertices([]).tolist() == []
    if n == 0:
        with pytest.raises(ValueError, match="without vertices"):
            g.nearest_vertex(0, 0)
    else:
        assert g.nearest_vertex(0.5, 0.5) == 0


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"tails": [0, -1]}, VertexError, r"tail -1 in row 1 is not a vertex .* n = 3"),
        ({"heads": [3, 1]}, VertexError, r"head 3 in row 0"),
        ({"tails": np.array([0, 2**64 - 1], "u8")}, VertexError, r"tail 18446744073709551615"),
        ({"tails": [0.0, 1.0]}, TypeError, "tails must be integers"),
        ({"heads": [True, False]}, TypeError, "heads must be integers"),
        ({"tails": ["a", "b"]}, TypeError, "labels"),
        ({"tails": [[0, 1]]}, ValueError, "one-dimensional"),
        ({"weights": [[1, 2]]}, ValueError, "one-dimensional"),
        ({"weights": [1]}, ValueError, "2 tails, 2 heads and 1 weights"),
        ({"weights": [1, math.nan]}, ValueError, "row 1 is nan"),
        ({"weights": [-math.inf, 1]}, ValueError, "row 0 is -inf"),
        ({"weights": ["1", "2"]}, TypeError, "integers or floats"),
        ({"weights": [1j, 2]}, TypeError, "integers or floats"),
        ({"weights": [None, 2]}, TypeError, "integers or floats"),
        ({"n": -1}, ValueError, "negative"),
        ({"n": 2**31}, ValueError, "int32"),
        ({"n": 2.5}, TypeError, "integer"),
        ({"n": None, "tails": [0, 10**10]}, ValueError, "labels"),
        ({"coordinates": [[0, 0], [1, 1]]}, ValueError, r"shape \(3, 2\)"),
        ({"coordinates": [[0, 0], [1, math.nan], [2, 2]]}, ValueError, "vertex 1"),
        ({"labels": ["a", "b"]}, ValueError, "2 labels for 3 vertices"),
        ({"labels": range(2)}, ValueError, "2 labels for 3 vertices"),
        ({"tails": [True, False]}, TypeError, "tails must be integers"),
        ({"heads": np.array([1, 2.7], object)}, TypeError, "heads must be integers"),
        ({"n": True}, TypeError, "n must be an integer"),
        ({"weights": [None, math.inf]}, TypeError, "integers or floats"),
        ({"weights": np.array(["1", 2], object)}, TypeError, "integers or floats"),
        ({"tails": np.ma.array([0, 1])}, TypeError, "tails must not be a masked array"),
        ({"heads": np.ma.array([1, 2])}, TypeError, "heads must not be a masked array"),
        (
            {"weights": np.ma.array([5, 6], mask=[False, True])},
            TypeError,
            "weights must not be a masked",
        ),
        ({"labels": np.ma.array([5, 6, 7])}, TypeError, "labels must not be a masked array"),
        ({"coordinates": np.ma.zeros((3, 2))}, TypeError, "coordinates must not be a masked"),
        ({"labels": [7, 8, 7]}, ValueError, "label 7 stands"),
        ({"labels": ["a", "b", "a"]}, ValueError, "label 'a' stands"),
        ({"labels": [(1,), None, (1,)]}, ValueError, r"label \(1,\) stands"),
        ({"labels": [[1], [2], [3]]}, TypeError, "hashable"),
        ({"labels": np.array([0.5, 1.5, 2.5])}, TypeError, "float64"),
        ({"labels": np.zeros((3, 1), int)}, ValueError, "one-dimensional"),
    ],
)
def test_bad_input_is_refused_with_what_is_wrong(
    change: dict[str, Any], error: type[Exception], message: str
) -> None:
    arguments: dict[str, Any] = {
        "tails": [0, 1],
        "heads": [1, 2],
        "weights": [5, 6],
        "n": 3,
    } | change
    with pytest.raises(error, match=message):
        Graph.from_arcs(**arguments)


@pytest.mark.parametrize("labels", [[1, 2, 3], [30, 10, 20]])
def test_labels_given_as_vertices_are_refused_with_the_way_from_one_to_the_other(
    labels: list[int],
) -> None:
    tails, heads = [labels[0], labels[1]], [labels[1], labels[2]]
    with pytest.raises(VertexError, match=r"these are labels.*\.vertices\(tails\)"):
        Graph.from_arcs(tails, heads, [5, 6], labels=labels)
    with pytest.raises(TypeError, match=r"not <U1; .*\.vertices\(tails\)"):
        Graph.from_arcs(["a"], ["b"], [5], labels=["a", "b"])
    names = Graph.from_arcs([], [], [], labels=labels)
    g = Graph.from_arcs(names.vertices(tails), names.vertices(heads), [5, 6], labels=labels)
    assert weight_of(g) == {(0, 1): 5, (1, 2): 6}
    with pytest.raises(VertexError, match=r"head 99 in row 1 is not a vertex [^;]*$"):
        Graph.from_arcs([0, 1], [1, 99], [5, 6], labels=labels)


def test_the_number_of_vertices_follows_labels_or_coordinates_or_the_greatest_vertex() -> None:
    assert Graph.from_arcs([0], [3], [1]).n == 4
    assert Graph.from_arcs([0], [3], [1], labels="abcdef").n == 6
    assert Graph.from_arcs([0], [3], [1], coordinates=np.zeros((5, 2))).n == 5
    assert Graph.from_arcs([0], [3], [1], n=np.int8(9)).n == 9


def test_a_negative_undirected_self_loop_is_one_arc() -> None:
    g = Graph.from_arcs([1, 1, 1], [1, 1, 1], [-2, 4, -3], directed=False)
    assert as_dict(g) == {(1, 1): (-3, 2)}
    assert (g.parallel_arcs, g.self_loops) == (1, 1)


# -- immutable, picklable, shared by threads ---------------------------------------------------


def arrays_of(g: Graph) -> list[Any]:
    """Return every array that a graph hands out."""
    arrays = [g.indptr, g.indices, g.weights, g.arc_origin, g.row_arc, g.tails]
    arrays += [g.coordinates, g.labels, g.weights_as(float), g.weights_as("float32")]
    return [array for array in arrays if array is not None]


@pytest.mark.parametrize("labels", [None, ["a", "b"], [1, 2], [5, 3], [(1,), "b"]])
@pytest.mark.parametrize("directed", [True, False])
def test_a_graph_cannot_be_changed(labels: Any, directed: bool, tmp_path: Any) -> None:
    coordinates = np.array([[0.0, 0.0], [1.0, 1.0]])
    g = Graph.from_arcs([0, 0], [1, 1], [2, 3], None, directed, coordinates, labels)
    graphs = [g, g.reverse(), g.largest_component(), g.with_weights(g.weights)]
    graphs += [
        g.without_arcs(0),
        g.without_arcs(0).without_closed_arcs(),
        pickle.loads(pickle.dumps(g)),
    ]
    if labels != [(1,), "b"]:
        g.save(tmp_path / "g.sssp")
        graphs.append(read_graph(tmp_path / "g.sssp"))
    for array in (array for graph in graphs for array in arrays_of(graph)):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = array
        for view in (array, array[...], array.view(), array.T, array.base):
            with pytest.raises((ValueError, AttributeError)):
                view.flags.writeable = True
            with pytest.raises((ValueError, AttributeError)):
                view.setflags(write=True)
    with pytest.raises(AttributeError, match="immutable"):
        g.n = 3
    with pytest.raises(AttributeError, match="immutable"):
        del g.weights
    with pytest.raises(AttributeError):
        g.colour = "red"
    with pytest.raises(TypeError, match="from_arcs"):
        Graph()


def test_a_graph_does_not_share_memory_with_its_input() -> None:
    tails, heads = np.array([0, 1], np.int32), np.array([1, 2], np.int32)
    weights, coordinates = np.array([5, 6], np.int32), np.zeros((3, 2))
    labels = np.array([4, 9, 2])
    g = Graph.from_arcs(tails, heads, weights, coordinates=coordinates, labels=labels)
    for array in (tails, heads, weights, coordinates, labels):
        array[:] = 1
    assert weight_of(g) == {(0, 1): 5, (1, 2): 6}
    assert g.coordinates is not None
    assert not g.coordinates.any()
    assert g.vertices([4, 9, 2]).tolist() == [0, 1, 2]


@pytest.mark.parametrize("labels", [None, [1, 2, 3], [5, 3, 9], list("abc"), [(0,), "b", 1.5]])
def test_pickling_and_copying_keep_all_but_derived_data(labels: Any) -> None:
    g = Graph.from_arcs(
        [0, 0, 1], [1, 1, 1], [7, 5, 3], directed=False, labels=labels, coordinates=np.eye(3)[:, :2]
    )
    g._cached("unpicklable", threading.Lock)
    for twin in (pickle.loads(pickle.dumps(g)), copy.copy(g), copy.deepcopy(g)):
        assert_same(twin, g)
        assert twin._cached("unpicklable", lambda: "made anew") == "made anew"


def test_a_graph_can_be_referred_to_weakly(triangle: Graph) -> None:
    assert weakref.ref(triangle)() is triangle


def test_derived_data_is_made_once_for_eight_threads(triangle: Graph) -> None:
    made = []
    start = threading.Barrier(8)

    def build() -> object:
        made.append(triangle._cached("part", object))
        return object()

    def ask(_: int) -> object:
        start.wait()
        return triangle._cached("whole", build)

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, range(8)))
    assert len(made) == 1
    assert len(set(map(id, answers))) == 1


def test_a_failed_derivation_is_tried_again(triangle: Graph) -> None:
    with pytest.raises(ZeroDivisionError):
        triangle._cached("key", lambda: 1 // 0)
    assert triangle._cached("key", lambda: None) is None
    assert triangle._cached("key", lambda: 1) is None, "None is an answer, too"


def test_weights_are_converted_once_and_exactly(triangle: Graph) -> None:
    assert triangle.weights_as(np.int32) is triangle.weights
    wide = triangle.weights_as("int64")
    assert wide is triangle.weights_as(np.int64)
    assert wide.dtype == np.int64
    assert wide.tolist() == [3, 4, 5]
    assert triangle.weights_as(np.float32).dtype == np.float32
    with pytest.raises(DistanceOverflowError, match="int32"):
        triangle.with_weights([1, 2, 2**40]).weights_as(np.int32)
    with pytest.raises(TypeError, match="scale"):
        triangle.with_weights([1.5, 2, 3]).weights_as(np.int32)
    with pytest.raises(TypeError, match="int16"):
        triangle.weights_as(np.int16)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (([], [], []), "Graph(n=0, m=0, weights int32)"),
        (([0], [1], [math.inf]), "Graph(n=2, m=1, 1 of them closed, weights float64)"),
        (([0], [1], [-4], 3, False), "Graph(undirected, n=3, m=2, weights int32 -4 to -4)"),
        (
            ([0, 0, 1, 2], [1, 1, 1, 0], [7, 5, 3, 1.5], None, True, np.zeros((3, 2)), "xyz"),
            "Graph(n=3, m=2, weights float64 1.5 to 5.0, labels 'x' to 'z', coordinates, "
            "1 parallel arcs reduced, 1 self-loops dropped)",
        ),
        (
            ([0, 1], [1, 2], [7, math.inf], None, True, None, [1, 2, 3]),
            "Graph(n=3, m=2, 1 of them closed, weights int32 7 to 7, labels 1 to 3)",
        ),
        (([], [], [], None, True, None, [5]), "Graph(n=1, m=0, weights int32, labels 5 to 5)"),
    ],
)
def test_repr_tells_what_a_person_wants_to_know(arguments: Any, expected: str) -> None:
    assert repr(Graph.from_arcs(*arguments)) == expected


# -- labels and coordinates --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([1, 2, 3], np.array([1, 2, 3])),
        (range(-1, 2), np.array([-1, 0, 1])),
        (range(0, 6, 2), np.array([0, 2, 4])),
        (np.array([7, 5, 6], np.uint8), np.array([7, 5, 6])),
        (np.array([2**63 - 1, -(2**63), 0]), np.array([2**63 - 1, -(2**63), 0])),
        (np.array([-(2**63), 0, 2**63 - 2]), np.array([-(2**63), 0, 2**63 - 2])),
        ([2**63 - 3, 2**63 - 2, 2**63 - 1], np.arange(3) + (2**63 - 3)),
        (range(2**63, 2**63 + 3), np.array([2**63, 2**63 + 1, 2**63 + 2], object)),
        ([2**70, 1, 2], np.array([2**70, 1, 2], object)),
        (["a", "longer", ""], np.array(["a", "longer", ""])),
        (np.array(["a", "b", "c"], object), np.array(["a", "b", "c"])),
        (["a", "a\0", "b"], np.array(["a", "a\0", "b"], object)),
        ([1, "1", None], np.array([1, "1", None], object)),
    ],
)
def test_labels_of_each_kind_lead_back_to_their_vertices(labels: Any, expected: Any) -> None:
    g = Graph.from_arcs([0], [1], [1], labels=labels)
    assert g.labels is not None
    assert g.labels.dtype == expected.dtype
    assert g.labels.tolist() == expected.tolist()
    assert [g.vertex(label) for label in g.labels] == [0, 1, 2]
    assert [g.vertex(label) for label in labels] == [0, 1, 2]
    found = g.vertices([labels[2], labels[0], labels[2]])
    assert found.dtype == np.int64
    assert found.tolist() == [2, 0, 2]
    assert g.vertices(g.labels).tolist() == [0, 1, 2]


@pytest.mark.parametrize("labels", [[1, 2, 3], [30, 10, 20]])
def test_integers_in_an_array_of_objects_are_labels_to_both_sides(labels: list[int]) -> None:
    column = np.array(labels, object)
    g = Graph.from_arcs([], [], [], labels=column)
    assert g.vertices(column[::-1]).tolist() == [2, 1, 0]
    with pytest.raises(TypeError, match="go by integers"):
        g.vertices(np.array([*labels, 1.0], object))


@pytest.mark.parametrize("labels", [None, [5, 3, 9]])
def test_integers_of_several_types_are_looked_up_together(labels: Any) -> None:
    g = Graph.from_arcs([], [], [], n=3, labels=labels)
    first, second = (0, 1) if labels is None else labels[:2]
    mixed: list[Any] = [np.uint64(first), second]  # NumPy makes floats of them
    assert g.vertices(mixed).tolist() == [0, 1]
    with pytest.raises(VertexError, match=f"no vertex .*{2**63}"):
        g.vertices([-1, 2**63] if labels is None else [5, -(2**63), 2**63])


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="came with NumPy 2")
def test_strings_of_any_length_are_labels() -> None:
    names = np.array(["a", "a longer one"], np.dtypes.StringDType())
    g = Graph.from_arcs([0], [1], [1], labels=names)
    assert g.labels is not None
    assert (g.labels.dtype.kind, g.labels.tolist()) == ("U", ["a", "a longer one"])
    assert g.vertices(names[::-1]).tolist() == [1, 0]


@pytest.mark.parametrize("directed", ["no", 0, None, [[8.5, 47.4], [8.3, 47.1]]])
def test_directed_is_true_or_false(directed: Any) -> None:
    with pytest.raises(TypeError, match="directed must be True or False, not "):
        Graph.from_arcs([0], [1], [1], 2, directed)
    with pytest.raises(TypeError, match="directed must be True or False, not "):
        Graph.from_scipy(sparse.csr_array((2, 2)), directed)
    of_numpy: Any = np.False_
    assert not Graph.from_arcs([0], [1], [1], directed=of_numpy).directed


def test_a_set_is_no_sequence_of_labels() -> None:
    with pytest.raises(TypeError, match="a set has none"):
        Graph.from_arcs([0], [1], [1], labels={"a", "b"})


def test_tuples_are_labels_like_any_other() -> None:
    g = Graph.from_arcs([0], [1], [1], labels=[(0, 0), (0, 1), (1, 0)])
    assert g.vertex((1, 0)) == 2
    assert g.vertices([(0, 1), (0, 0)]).tolist() == [1, 0]


def test_without_labels_a_vertex_goes_by_its_number(triangle: Graph) -> None:
    assert triangle.labels is None
    for label in (2, np.int8(2), np.uint64(2), np.array(2)):
        assert triangle.vertex(label) == 2
        assert type(triangle.vertex(label)) is int
    assert triangle.vertices(np.array([2, 0], np.uint64)).tolist() == [2, 0]


@pytest.mark.parametrize(
    ("labels", "unknown"),
    [
        (None, 3),
        (None, -1),
        (None, 2**70),
        ([1, 2, 3], 0),
        ([1, 2, 3], 4),
        ([5, 3, 9], 4),
        ([5, 3, 9], 10),
        ([5, 3, 9], 2**70),
        (["a", "b", "c"], "d"),
        (["a", "b", "c"], 0),
        ([(0,), (1,), "x"], (2,)),
    ],
)
def test_an_unknown_label_is_named(labels: Any, unknown: Any) -> None:
    g = Graph.from_arcs([0], [1], [1], n=3, labels=labels)
    known = 0 if labels is None else labels[0]
    with pytest.raises(VertexError, match=str(unknown).replace("(", r"\(").replace(")", r"\)")):
        g.vertex(unknown)
    with pytest.raises(VertexError, match=str(unknown).replace("(", r"\(").replace(")", r"\)")):
        g.vertices([known, unknown])


@pytest.mark.parametrize("labels", [None, [1, 2, 3], [5, 3, 9]])
@pytest.mark.parametrize("label", [True, np.True_, 1.0, "1", None, [1]])
def test_only_integers_name_vertices_that_go_by_integers(labels: Any, label: Any) -> None:
    g = Graph.from_arcs([0], [1], [1], n=3, labels=labels)
    with pytest.raises(TypeError, match="integers"):
        g.vertex(label)
    with pytest.raises(TypeError, match="integers"):
        g.vertices([label] if label != [1] else [1.0])


def test_vertices_refuses_what_is_no_sequence_of_labels() -> None:
    g = Graph.from_arcs([0], [1], [1], labels=["a", "b"])
    with pytest.raises(TypeError, match="one string 'ab'"):
        g.vertices("ab")
    with pytest.raises(TypeError, match="cannot be a label"):
        g.vertex(["a"])
    with pytest.raises(VertexError, match=str(2**64 - 1)):
        Graph.from_arcs([0], [1], [1]).vertices(np.array([2**64 - 1], np.uint64))
    for labels in (None, [7, 5], ["a", "b"]):
        with pytest.raises(TypeError, match="masked"):
            Graph.from_arcs([0], [1], [1], labels=labels).vertices(np.ma.array([0, 1]))


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([5, 3, 9], "4; the labels are 3 integers between 3 and 9"),
        (["a", "b", "c", "d"], r"4; the labels are 'a', 'b', 'c', \.\.\."),
        ([1, 2, 3], r"4; the labels are 1\.\.3"),
        (None, "4 in a graph of 3 vertices"),
    ],
)
def test_an_unknown_label_is_refused_with_what_labels_there_are(labels: Any, message: str) -> None:
    with pytest.raises(VertexError, match=message):
        Graph.from_arcs([0], [2], [1], labels=labels).vertex(4)


# -- other graphs from one ---------------------------------------------------------------------


@given(arcs=arc_lists, directed=st.booleans())
def test_reversing_turns_every_arc_around(arcs: list[Any], directed: bool) -> None:
    g = Graph.from_arcs(*columns(arcs), n=SMALL_N, directed=directed, labels="abcde")
    back = g.reverse()
    assert as_dict(back) == {(h, t): value for (t, h), value in as_dict(g).items()}
    assert list(as_dict(back)) == sorted(as_dict(back))
    assert_same(back.reverse(), g)


@given(
    arcs=arcs_of[integers], directed=st.booleans(), connection=st.sampled_from(["strong", "weak"])
)
def test_the_largest_component_is_that_of_networkx(
    arcs: list[Any], directed: bool, connection: Any
) -> None:
    names = list("vwxyz")
    g = Graph.from_arcs(*columns(arcs), n=SMALL_N, directed=directed, labels=names)
    G = nx.DiGraph(list(as_dict(g)))
    G.add_nodes_from(range(SMALL_N))
    parts = (
        nx.strongly_connected_components(G)
        if connection == "strong"
        else nx.weakly_connected_components(G)
    )
    inside = min((sorted(part) for part in parts), key=lambda part: (-len(part), part))
    big = g.largest_component(connection)
    assert big.labels is not None
    assert big.labels.tolist() == [names[v] for v in inside]
    back = {(inside[t], inside[h]): value for (t, h), value in as_dict(big).items()}
    assert back == {pair: value for pair, value in as_dict(g).items() if set(pair) <= set(inside)}


def test_the_largest_component_keeps_labels_or_makes_the_old_numbers_labels() -> None:
    coordinates = np.arange(10.0).reshape(5, 2)
    arcs = [4, 2, 3, 0], [2, 3, 4, 2], [1, 2, 3, 4]
    plain = Graph.from_arcs(*arcs, coordinates=coordinates)
    big = plain.largest_component()
    assert (big.n, big.m) == (3, 3)
    assert [big.vertex(v) for v in (2, 3, 4)] == [0, 1, 2]
    assert big.arc_origin.tolist() == [1, 2, 0]
    np.testing.assert_array_equal(big.coordinates, coordinates[2:])
    assert plain.largest_component("weak").labels.tolist() == [0, 2, 3, 4]  # type: ignore[union-attr]  # labels are there
    assert Graph.from_arcs(*arcs, labels=range(1, 6)).largest_component().vertex(5) == 2
    with pytest.raises(ValueError, match="'strong' or 'weak'"):
        plain.largest_component("medium")  # type: ignore[arg-type]  # that is the point


def test_other_weights_go_to_the_arcs_in_their_order() -> None:
    g = Graph.from_arcs([1, 0, 0], [0, 1, 1], [9, 8, 7], labels=["a", "b"])
    minutes = np.array([2.5, 1.5, -0.0])
    timed = g.with_weights(minutes[g.arc_origin])
    assert as_dict(timed) == {(0, 1): (0.0, 2), (1, 0): (2.5, 0)}
    assert not np.signbit(timed.weights[0])
    assert timed.parallel_arcs == 1
    assert timed.vertex("b") == 1


def test_an_undirected_graph_becomes_directed_when_weights_differ_by_direction() -> None:
    g = Graph.from_arcs([0, 1], [1, 2], [5, 6], directed=False)
    assert not g.with_weights(g.weights * 2).directed
    assert g.with_weights([1, 2, 3, 3]).directed
    assert g.with_weights([math.inf, 1, 1, 1]).directed


@pytest.mark.parametrize(
    ("weights", "message"),
    [([1, 2], "2 weights for 3 arcs"), ([1, math.nan, 2], "row 1"), ([-math.inf, 1, 1], "row 0")],
)
def test_other_weights_are_checked_like_the_first(
    triangle: Graph, weights: list[float], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        triangle.with_weights(weights)


@pytest.mark.parametrize(
    ("weights", "factor", "expected"),
    [
        ([1.2345, 0.0005, 2.5], 1000, [1234, 0, 2500]),
        ([3, 4, 5], 0.5, [2, 2, 2]),
        ([3, 4, 5], 2.0, [6, 8, 10]),
        ([2**53 + 1, 1, -1], 3, [3 * 2**53 + 3, 3, -3]),
        ([2**62 - 1, 0, -(2**62)], np.int64(2), [2**63 - 2, 0, -(2**63)]),
        ([1.5, 2.5, 3.5], Fraction(2), [3, 5, 7]),
    ],
)
def test_scaled_weights_are_integers(
    triangle: Graph, weights: list[float], factor: float, expected: list[int]
) -> None:
    scaled = triangle.with_weights(weights).scaled(factor)
    assert scaled.weights.dtype.kind == "i"
    assert scaled.weights.tolist() == expected


@pytest.mark.parametrize(
    ("weights", "factor"), [([2**62, 1, 1], 2), ([1.5, 1, 1], 1e19), ([1e300, 1, 1], 1e300)]
)
def test_scaling_beyond_int64_is_refused(
    triangle: Graph, weights: list[float], factor: float
) -> None:
    with pytest.raises(DistanceOverflowError, match="do not fit int64"):
        triangle.with_weights(weights).scaled(factor)


@pytest.mark.parametrize("factor", [0, -1, math.nan, math.inf])
def test_a_factor_must_be_positive_and_finite(triangle: Graph, factor: float) -> None:
    with pytest.raises(ValueError, match="above zero"):
        triangle.scaled(factor)


# -- SciPy -------------------------------------------------------------------------------------

FORMATS = ["coo", "csr", "csc", "lil", "dok", "bsr", "dia"]


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("make", [sparse.coo_array, sparse.coo_matrix])
def test_a_sparse_matrix_of_any_format_makes_the_same_graph(kind: str, make: Any) -> None:
    dense = np.random.default_rng(2).integers(0, 4, (6, 6))
    g = Graph.from_scipy(make(dense).asformat(kind) if kind != "bsr" else as_bsr(dense))
    expected = {(t, h): w for (t, h), w in np.ndenumerate(dense) if w and t != h}
    assert weight_of(g) == expected
    assert (g.n, g.m) == (6, len(expected))


def as_bsr(dense: Any) -> Any:
    return sparse.bsr_array(dense, blocksize=(1, 1))


@pytest.mark.parametrize("kind", ["coo", "csr", "csc"])
def test_stored_zeros_are_arcs_and_duplicates_are_not_summed(kind: str) -> None:
    rows, columns, values = np.array([0, 0, 1, 2]), np.array([1, 1, 2, 0]), np.array([7, 5, 0, 3])
    matrix: Any
    if kind == "coo":
        matrix = sparse.coo_array((values, (rows, columns)), shape=(3, 3))
    elif kind == "csr":
        matrix = sparse.csr_array((values, columns, [0, 2, 3, 4]), shape=(3, 3))
    else:
        matrix = sparse.csr_array((values, columns, [0, 2, 3, 4]), shape=(3, 3)).T
    g = Graph.from_scipy(matrix)
    expected = {(0, 1): 5, (1, 2): 0, (2, 0): 3}
    if kind == "csc":
        expected = {(h, t): w for (t, h), w in expected.items()}
    assert weight_of(g) == expected
    assert g.parallel_arcs == 1
    np.testing.assert_array_equal(matrix.tocoo().data[g.arc_origin], g.weights)
    assert matrix.nnz == 4, "the matrix is left as it was"


def test_an_undirected_matrix_takes_the_lesser_direction() -> None:
    g = Graph.from_scipy(sparse.csr_array([[0, 3], [2, 0]]), directed=False)
    assert weight_of(g) == {(0, 1): 2, (1, 0): 2}
    assert g.parallel_arcs == 1


@given(arcs=arc_lists)
def test_a_graph_survives_the_way_through_scipy(arcs: list[Any]) -> None:
    g = Graph.from_arcs(*columns(arcs), n=SMALL_N)
    matrix = g.to_scipy()
    assert isinstance(matrix, sparse.csr_array)
    assert matrix.shape == (SMALL_N, SMALL_N)
    open_arcs = {pair: w for pair, w in weight_of(g).items() if w != math.inf}
    assert matrix.nnz == len(open_arcs)
    assert as_dict(Graph.from_scipy(matrix)) == {
        pair: (weight, arc) for arc, (pair, weight) in enumerate(open_arcs.items())
    }
    # what all of scipy.sparse.csgraph takes, in any version
    assert matrix.indices.dtype == matrix.indptr.dtype == np.int32
    for array in (matrix.data, matrix.indices, matrix.indptr):
        array[:] = 1  # it is the caller's own
    assert Graph.from_scipy(g.to_scipy()).m == len(open_arcs)


@pytest.mark.parametrize(
    ("matrix", "error", "message"),
    [
        (np.eye(2), TypeError, "csr_array"),
        ([[0, 1], [1, 0]], TypeError, "list"),
        (sparse.csr_array((2, 3)), ValueError, "square"),
        (sparse.bsr_array(np.eye(4), blocksize=(2, 2)), ValueError, "eliminate_zeros"),
        (sparse.csr_array(np.array([[0, math.nan], [1, 0]])), ValueError, "nan"),
        (sparse.csr_array(np.array([[0, 1j], [1, 0]])), TypeError, "complex"),
    ],
)
def test_a_matrix_that_is_no_graph_is_refused(
    matrix: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        Graph.from_scipy(matrix)


# -- NetworkX ----------------------------------------------------------------------------------

KINDS = [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph]


@pytest.mark.parametrize("kind", KINDS)
@given(arcs=arcs_of[integers], first=st.permutations(range(SMALL_N)))
def test_networkx_edges_are_taken_in_their_order(
    kind: Any, arcs: list[Any], first: list[int]
) -> None:
    G = kind()
    G.add_nodes_from(first)
    for tail, head, weight in arcs:
        G.add_edge(tail, head, weight=weight)
    g = Graph.from_networkx(G)
    assert g.labels is not None
    assert g.labels.tolist() == first
    edges = [(g.vertex(u), g.vertex(v), w) for u, v, w in G.edges(data="weight")]
    best, parallel, loops = naive_reduction(edges, G.is_directed())
    assert as_dict(g) == best
    assert (g.parallel_arcs, g.self_loops, g.directed) == (parallel, loops, G.is_directed())


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("labels", [None, [1, 2, 3, 4], list("abcd"), [(0, 1), "b", 3, 4.5]])
def test_a_graph_survives_the_way_through_networkx(directed: bool, labels: Any) -> None:
    coordinates = np.array([[0, 0], [1, 0], [-180, 90], [180, -90]])
    g = Graph.from_arcs(
        *([0, 1, 2, 2], [1, 2, 0, 2], [3, 0, 2, -1]), 4, directed, coordinates, labels
    )
    G = g.to_networkx()
    assert type(G) is (nx.DiGraph if directed else nx.Graph)
    assert G.number_of_nodes() == 4
    assert list(G) == ([0, 1, 2, 3] if labels is None else labels)
    back = Graph.from_networkx(G)
    assert weight_of(back) == weight_of(g)
    np.testing.assert_array_equal(back.coordinates, coordinates)
    assert back.directed == directed


@pytest.mark.parametrize(
    ("nodes", "kind"),
    [([3, 1, 2], "i"), (["x", "y", "z"], "U"), ([(0, 1), (1, 1), (2, 2)], "O"), ([1, "a", 2], "O")],
)
def test_nodes_become_labels(nodes: list[Any], kind: str) -> None:
    G: Any = nx.DiGraph()
    nx.add_path(G, nodes, weight=2)
    g = Graph.from_networkx(G)
    assert g.labels is not None
    assert g.labels.dtype.kind == kind
    assert g.vertices(nodes).tolist() == [0, 1, 2]


def osm_like() -> Any:
    G: Any = nx.MultiDiGraph()
    G.add_node(10, x=8.5, y=47.3)
    G.add_node(11, x=np.float64(8.6), y=47)
    G.add_edge(10, 11, length=120.5)
    G.add_edge(10, 11, length=99)
    G.add_edge(11, 10, length=np.float32(120.5))
    return G


def test_x_and_y_become_coordinates_when_they_can_be_degrees() -> None:
    g = Graph.from_networkx(osm_like(), weight="length")
    assert weight_of(g) == {(0, 1): 99.0, (1, 0): 120.5}
    assert g.coordinates is not None
    assert g.coordinates.tolist() == [[8.5, 47.3], [8.6, 47.0]]


@pytest.mark.parametrize("y", [math.nan, math.inf, "47.3", None])
def test_x_and_y_that_are_no_numbers_are_left_alone(y: Any) -> None:
    G = osm_like()
    G.nodes[10]["y"] = y
    assert Graph.from_networkx(G, weight="length").coordinates is None
    del G.nodes[10]["y"]
    assert Graph.from_networkx(G, weight="length").coordinates is None


class System(NamedTuple):
    """As a coordinate reference system."""

    is_projected: bool


def test_projected_coordinates_are_left_out_with_a_warning() -> None:
    G = osm_like()
    G.nodes[11].update(x=568649.7, y=5761510.3)
    with pytest.warns(UserWarning, match=r"1 of 2 nodes \[11 at \(568649.7, 5761510.3\)") as caught:
        g = Graph.from_networkx(G, weight="length")
    assert g.coordinates is None
    assert weight_of(g) == {(0, 1): 99.0, (1, 0): 120.5}
    assert (len(caught), caught[0].filename) == (1, __file__)
    G = osm_like()
    G.graph["crs"] = System(is_projected=False)
    assert Graph.from_networkx(G, weight="length").coordinates is not None
    G.graph["crs"] = System(is_projected=True)
    with pytest.warns(UserWarning, match=r"x and y of 2 of 2 nodes .*project_graph"):
        assert Graph.from_networkx(G, weight="length").coordinates is None
    for node in G:
        G.nodes[node].update(lon=8.5, lat=47.5)
    g = Graph.from_networkx(G, weight="length")
    assert g.coordinates is not None
    assert g.coordinates.tolist() == [[8.5, 47.5]] * 2, "degrees beside the projected ones"


@pytest.mark.parametrize("kind", [nx.MultiGraph, nx.MultiDiGraph])
@given(arcs=arcs_of[integers], first=st.permutations(range(SMALL_N)))
def test_edge_keys_come_back_by_arc_and_by_row(
    kind: Any, arcs: list[Any], first: list[int]
) -> None:
    G = kind()
    G.add_nodes_from(first)
    for key, (tail, head, weight) in enumerate(arcs):
        G.add_edge(tail, head, f"key {key}", weight=weight)
    g = Graph.from_networkx(G)
    edges = list(G.edges(keys=True))
    assert g.input_arcs == len(edges)
    for arc, row in enumerate(g.arc_origin.tolist()):
        ends = [first[g.tails[arc]], first[g.indices[arc]]]
        if not G.is_directed() and edges[row][0] != ends[0]:
            ends.reverse()
        assert list(edges[row][:2]) == ends
        assert G.edges[edges[row]]["weight"] == g.weights[arc]
    for (tail, head, _), arc in zip(edges, g.row_arc.tolist(), strict=True):
        assert arc < 0 or (first[g.tails[arc]], first[g.indices[arc]]) == (tail, head)


def test_missing_edge_attributes_are_counted_and_shown() -> None:
    G = osm_like()
    with pytest.raises(
        GraphFormatError, match=r"^3 of 3 edges \[\(10, 11\), .*\] lack the attribute 'weight'"
    ):
        Graph.from_networkx(G)
    G.add_edges_from([(11, n) for n in range(5)])
    with pytest.raises(
        GraphFormatError, match=r"5 of 8 edges \[\(11, 0\), \(11, 1\), \(11, 2\), \.\.\.\]"
    ):
        Graph.from_networkx(G, weight="length")
    g = Graph.from_networkx(G, weight="length", default=0)
    assert g.weights.tolist().count(0.0) == 5


@pytest.mark.parametrize("value", ["120", [1, 2], None, 1j, math.nan, -math.inf])
def test_edge_attributes_that_are_no_weights_are_counted_and_shown(value: Any) -> None:
    G = osm_like()
    G.edges[11, 10, 0]["length"] = value
    with pytest.raises(GraphFormatError, match=r"'length' of 1 of 3 edges \[\(11, 10\): "):
        Graph.from_networkx(G, weight="length", default=1)


def test_networkx_weights_stay_exact_if_all_are_integers() -> None:
    G: Any = nx.Graph()
    G.add_edge("a", "b", weight=2**53 + 1)
    assert Graph.from_networkx(G).weights.tolist() == [2**53 + 1] * 2
    G.add_edge("b", "c", weight=math.inf)
    g = Graph.from_networkx(G)
    assert g.weights.dtype == np.int64
    assert (g.m, g.closed_arcs, g.least_weight) == (4, 2, 2**53 + 1)
    G.edges["b", "c"]["weight"] = 2**63
    with pytest.raises(DistanceOverflowError, match=str(2**63)):
        Graph.from_networkx(G)


def test_what_is_no_networkx_graph_is_refused(triangle: Graph) -> None:
    with pytest.raises(TypeError, match="NetworkX graph is needed, not Graph"):
        Graph.from_networkx(triangle)  # type: ignore[arg-type]  # that is the point


def test_without_networkx_the_extra_is_named(
    triangle: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(MissingExtraError, match=r'pip install "sssp\[networkx\]"'):
        triangle.to_networkx()


# -- files -------------------------------------------------------------------------------------


def test_a_graph_is_made_by_name_whatever_its_class_is_given() -> None:
    make: Any = Graph
    for call in (lambda: make(), lambda: make([0], [1], [2]), lambda: make(tails=[0])):
        with pytest.raises(TypeError, match=r"^make a graph with Graph\.from_arcs, "):
            call()


@pytest.mark.parametrize("name", ["town.gr", "town.gr.gz", "town.co.xz", "TOWN.gr.bz2"])
def test_no_graph_is_saved_under_the_name_of_a_text(name: str, tmp_path: Any) -> None:
    with pytest.raises(ValueError, match=r"town\.sssp -o town\.gr"):
        Graph.from_arcs([0], [1], [2]).save(tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("weights", [[3, 4, 5], [2**40, 4, 5], [0.1, 0.2, 0.3]])
@pytest.mark.parametrize(
    "labels", [None, [1, 2, 3], [-5, 3, 2**60], ["a", "", "żółć 🛣"], np.array(["x", "y", "z"])]
)
def test_a_saved_graph_is_read_back_as_it_was(
    tmp_path: Any, directed: bool, weights: Any, labels: Any
) -> None:
    coordinates = None if labels is None else np.arange(6.0).reshape(3, 2)
    g = Graph.from_arcs([0, 0, 2, 1], [1, 1, 2, 2], [1, *weights], 3, directed, coordinates, labels)
    g.save(tmp_path / "g.sssp")
    back = read_graph(tmp_path / "g.sssp")
    assert_same(back, g)
    if g.labels is not None:
        assert back.vertices(g.labels).tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="read-only"):
        back.weights[0] = 1


@pytest.mark.parametrize(
    ("labels", "first"),
    [
        ([1, (2, 3), None], r"\(2, 3\)"),
        ([1, "b", "c"], "'b'"),
        ([True, 2, 3], "True"),
        ([1, 2**70, 3], str(2**70)),
        (["a", "b\0", "c"], r"'b\\x00'"),
    ],
)
def test_labels_that_a_file_cannot_hold_are_refused(
    tmp_path: Any, labels: list[Any], first: str
) -> None:
    g = Graph.from_arcs([0], [1], [1], labels=labels)
    with pytest.raises(TypeError, match=first):
        g.save(tmp_path / "g.sssp")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("meta_change", "array_change", "message"),
    [
        ({"kind": "structure"}, {}, "'structure'"),
        ({"directed": 1}, {}, "directed"),
        ({"input_arcs": 1}, {}, "do not make a graph"),
        ({"first_label": "one"}, {}, "labels"),
        ({}, {"weights": None}, "array weights is missing"),
        ({}, {"weights": np.ones(3, np.float32)}, "do not make a graph"),
        ({}, {"weights": np.ones(2)}, "do not make a graph"),
        ({}, {"indptr": np.zeros(0, np.int64)}, "do not make a graph"),
        ({}, {"indptr": np.array([0, 2, 1, 3])}, "do not make a graph"),
        ({}, {"indptr": np.array([1, 1, 2, 3])}, "do not make a graph"),
        ({}, {"indptr": np.array([0, 1, 2, 4])}, "do not make a graph"),
        ({}, {"indptr": np.array([0, 1, 2, 3], np.int32)}, "do not make a graph"),
        ({}, {"indices": np.array([1, 2, 3], np.int32)}, "do not make a graph"),
        ({}, {"indices": np.array([1, 2, -1], np.int32)}, "do not make a graph"),
        ({}, {"arc_origin": np.array([0, 1, -1], np.int32)}, "do not make a graph"),
        ({}, {"coordinates": np.zeros((2, 2))}, "coordinates"),
        ({}, {"labels": np.array(["a", "b"])}, "labels"),
        ({}, {"labels": np.zeros(3)}, "labels"),
    ],
)
def test_a_file_that_holds_no_sound_graph_is_refused(
    triangle: Graph,
    tmp_path: Any,
    meta_change: dict[str, Any],
    array_change: dict[str, Any],
    message: str,
) -> None:
    path = tmp_path / "g.sssp"
    triangle.save(path)
    meta, arrays = read_arrays(path)
    changed = {name: array for name, array in (arrays | array_change).items() if array is not None}
    write_arrays(path, meta | meta_change, changed)
    with pytest.raises(GraphFormatError, match=message) as caught:
        read_graph(path)
    assert caught.value.path == str(path)


def test_a_text_file_is_read_with_its_vertex_numbers_as_labels(tmp_path: Any) -> None:
    path, coordinates = tmp_path / "g.gr.gz", tmp_path / "g.co"
    write_gr(path, 3, [0, 0, 1, 2], [1, 1, 1, 0], [7, 5, 3, -2])
    coordinates.write_text("p aux sp co 3\nv 1 -73500000 41000000\nv 2 0 0\nv 3 1 2\n")
    g = read_graph(path, coordinates=coordinates)
    assert as_dict(g) == {(0, 1): (5, 1), (2, 0): (-2, 3)}
    assert (g.n, g.parallel_arcs, g.self_loops) == (3, 1, 1)
    assert g.labels is not None
    assert g.labels.tolist() == [1, 2, 3]
    assert g.coordinates is not None
    assert g.coordinates[0].tolist() == [-73.5, 41.0]
    g.save(tmp_path / "plain.sssp")
    (tmp_path / "plain.sssp").rename(tmp_path / "disguised.gr")
    assert_same(read_graph(tmp_path / "disguised.gr"), g)
    plain = read_graph(path)
    assert plain.coordinates is None
    plain.save(tmp_path / "g.sssp")
    assert_same(read_graph(tmp_path / "g.sssp", coordinates=coordinates), g)


def test_coordinates_of_another_graph_are_refused(tmp_path: Any) -> None:
    path, coordinates = tmp_path / "g.gr", tmp_path / "g.co"
    write_gr(path, 3, [0], [1], [7])
    coordinates.write_text("p aux sp co 1\nv 1 0 0\n")
    with pytest.raises(GraphFormatError, match=r"g\.co"):
        read_graph(path, coordinates=coordinates)


def test_a_file_that_is_not_there_is_an_os_error(tmp_path: Any) -> None:
    with pytest.raises(FileNotFoundError):
        read_graph(tmp_path / "absent.gr")


def test_new_york_is_read_reduced_and_stored_exactly(tmp_path: Any) -> None:
    path = datasets.find("USA-road-d.NY")
    if path is None:
        pytest.skip("USA-road-d.NY is not on this machine")
    arcs = read_gr(path)
    g = read_graph(path)
    assert (g.n, g.m, g.parallel_arcs, g.self_loops) == (264_346, 730_100, 3_746, 0)
    least: dict[tuple[int, int], int] = {}
    for tail, head, weight in zip(
        arcs.tails.tolist(), arcs.heads.tolist(), arcs.weights.tolist(), strict=True
    ):
        least[tail, head] = min(weight, least.get((tail, head), weight))
    assert weight_of(g) == least
    g.save(tmp_path / "ny.sssp")
    assert_same(read_graph(tmp_path / "ny.sssp"), g)


def test_weights_beyond_float32_are_refused_by_name():
    g = Graph.from_arcs([0], [1], [1e39])
    with pytest.raises(DistanceOverflowError, match=r"1e\+39 do not fit float32"):
        g.weights_as("float32")
