"""Arguments of calls: what is taken for a graph, for vertices, for numbers; and what is refused."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pandas
import pytest
from scipy.sparse import coo_array, csr_array, csr_matrix

import sssp
from sssp.engine.check_memory import check_memory, physical_memory


@pytest.fixture
def g() -> sssp.Graph:
    return sssp.Graph.from_arcs([0, 1, 0], [1, 2, 2], [5, 5, 20], labels=[100, 200, 300])


CALLS = {
    "shortest_paths": lambda g: sssp.shortest_paths(g, 0),
    "reduce": lambda g: sssp.reduce(g, 0, "count"),
    "iter_blocks": lambda g: sssp.iter_blocks(g, [0]),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("value", "remedy"),
    [
        (csr_array(np.eye(3)), "sssp.Graph.from_scipy(matrix) makes one"),
        (csr_matrix(np.eye(3)), "sssp.Graph.from_scipy(matrix) makes one"),
        (coo_array(np.eye(3)), "sssp.Graph.from_scipy(matrix) makes one"),
        (networkx.path_graph(3), "sssp.Graph.from_networkx(G) makes one"),
        (networkx.MultiDiGraph(), "sssp.Graph.from_networkx(G) makes one"),
        (np.eye(3), "sssp.all_pairs takes the matrix as it is"),
        (pandas.DataFrame({"tail": [0]}), "sssp.Graph.from_dataframe(edges, tail"),
        ("NY.gr", "sssp.read_graph(path) makes one"),
        (Path("NY.gr"), "sssp.read_graph(path) makes one"),
        (None, "sssp.read_graph and sssp.Graph.from_arcs make one"),
        ([[0, 1], [1, 0]], "sssp.read_graph and sssp.Graph.from_arcs make one"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_graph_is_told_how_to_become_one(call: str, value: Any, remedy: str) -> None:
    with pytest.raises(TypeError, match="the first argument must be a sssp") as raised:
        CALLS[call](value)
    assert remedy in str(raised.value)


@pytest.mark.parametrize(
    "row",
    [
        (0, 2),
        range(0, 4, 2),
        np.array([0, 2], np.uint8),
        np.array([0, 2], np.uint64),
        np.array([0, 2], object),
        [np.int16(0), 2],
        [0, np.uint64(2)],
        pandas.Series([0, 2], index=["a", "b"]),
        pandas.Index([0, 2]),
        pandas.array([0, 2]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_any_row_of_integers_names_vertices(g: sssp.Graph, row: Any) -> None:
    assert sssp.shortest_paths(g, row).sources.tolist() == [0, 2]
    assert sssp.shortest_paths(g, 0, targets=row).distances.tolist() == [0, 10]


@pytest.mark.parametrize(
    "odd",
    [
        [1, 2.7],
        np.array([1, 2.7], object),
        np.array([1, True], object),
        [1.0, 2.0],
        2.0,
        True,
        [True, False],
        ["1"],
        "1",
        {1, 2},
        {1: 2},
        [[0, 1]],
        pandas.Series([1.5]),
        pandas.array([1, None], dtype="Int64"),
        math.nan,
    ],
    ids=repr,
)
def test_nothing_is_cut_to_a_vertex(g: sssp.Graph, odd: Any) -> None:
    with pytest.raises(TypeError, match="sources must be"):
        sssp.shortest_paths(g, odd)
    with pytest.raises(TypeError, match="targets must be"):
        sssp.shortest_paths(g, 0, targets=odd)


@pytest.mark.parametrize("mask", [False, [False, True, False]])
def test_masks_are_refused_wherever_numbers_are_taken(g: sssp.Graph, mask: Any) -> None:
    numbers = np.ma.array([0, 1, 2], mask=mask)
    for call in (
        lambda: sssp.shortest_paths(g, numbers),
        lambda: sssp.shortest_paths(g, 0, targets=numbers),
        lambda: sssp.shortest_paths(g, 0, out=numbers.astype(np.int32)),
        lambda: sssp.reduce(g, 0, "weight", vertex_weights=numbers),
        lambda: sssp.Graph.from_arcs(numbers, [1, 2, 0], [1, 1, 1]),
        lambda: g.with_weights(numbers),
    ):
        with pytest.raises(TypeError, match="must not be a masked array"):
            call()


@pytest.mark.parametrize("vertex", [100, -1, 3, 2**70, np.uint64(2**63)])
def test_a_vertex_that_does_not_exist_is_named(g: sssp.Graph, vertex: Any) -> None:
    for call in (
        lambda: sssp.shortest_paths(g, vertex),
        lambda: sssp.shortest_paths(g, [0, vertex]),
        lambda: sssp.shortest_paths(g, 0, targets=[vertex]),
    ):
        with pytest.raises(sssp.VertexError, match=rf"{vertex} is not a vertex .* 0\.\.2"):
            call()


TUPLES = [(0, 1), (0, 2), (1, 1)]


@pytest.mark.parametrize(
    ("labels", "given", "hint"),
    [
        ([100, 200, 300], 200, "200"),
        ([100, 200, 300], np.int64(200), "200"),
        ([100, 200, 300], [0, 200], "200"),
        ([100, 200, 300], pandas.Series([100, 200]), "100"),
        ([100, 200, 300], np.full(10**5, 300), "300"),
        ([1, 2, 3], [1, 2, 3], "3"),
        (["a", "b", "c"], "b", "'b'"),
        (["a", "b", "c"], ["b", "c"], "'b'"),
        (["a", "b", "c"], np.array(["b"]), "'b'"),
        (["a", "b", "c"], pandas.Series(["c"]), "'c'"),
        (TUPLES, pandas.Series([(1, 1)]), "(1, 1)"),
    ],
    ids=repr,
)
def test_a_label_where_a_vertex_belongs_is_told_so(labels: Any, given: Any, hint: str) -> None:
    g = sssp.Graph.from_arcs([0, 1, 0], [1, 2, 2], [5, 5, 20], labels=labels)
    for call in (
        lambda: sssp.shortest_paths(g, given),
        lambda: sssp.shortest_paths(g, 0, targets=given),
        lambda: sssp.shortest_paths(g, given, nearest=True),
        lambda: sssp.reduce(g, given, "sum"),
    ):
        with pytest.raises((TypeError, sssp.VertexError)) as raised:
            call()
        assert f"; {hint} is the label of vertex " in str(raised.value)
        assert f"pass g.vertex({hint}), or g.vertices(labels) for many" in str(raised.value)


@pytest.mark.parametrize("given", [[0, (1, 1)], [(0, 1), (1, 1)], ["b", 0], 1.0, [1.0]], ids=repr)
def test_what_may_be_labels_is_told_how_they_go_in(given: Any) -> None:
    g = sssp.Graph.from_arcs([0, 1, 0], [1, 2, 2], [5, 5, 20], labels=TUPLES)
    with pytest.raises(TypeError, match=r"g\.vertices\(labels\) turns labels into vertices"):
        sssp.shortest_paths(g, given)


def test_a_point_without_a_vertex_is_no_source(g: sssp.Graph) -> None:
    near = sssp.Graph.from_arcs([], [], [], coordinates=[[4, 52]]).nearest_vertex
    with pytest.raises(sssp.VertexError, match=r"source -1 .* nearest_vertex says"):
        sssp.shortest_paths(g, [0, near(4.5, 52, max_distance=100)])


def test_arcs_given_by_labels_are_told_so() -> None:
    with pytest.raises(sssp.VertexError, match=r"these are labels: .*vertices\(tails\)"):
        sssp.Graph.from_arcs([100, 200], [200, 300], [1, 1], labels=[100, 200, 300])


def test_numbers_of_any_type_are_taken(g: sssp.Graph) -> None:
    expected = [0, 5, 10]
    for options in (
        {"memory_limit": 4e9},
        {"memory_limit": np.float32(4e9)},
        {"threads": np.int64(2)},
        {"threads": np.uint8(1)},
        {"limit": np.float64(10.5)},
        {"limit": 1e300, "dtype": "float32"},
        {"limit": 10**400, "dtype": "float32"},
        {"predecessors": np.True_},
    ):
        assert sssp.shortest_paths(g, 0, **options).distances.tolist() == expected, options


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"predecessors": "no"}, TypeError, "predecessors must be True or False, not 'no'"),
        ({"predecessors": 1}, TypeError, "predecessors must be True or False, not 1"),
        ({"nearest": "no"}, TypeError, "nearest must be True or False, not 'no'"),
        ({"memory_limit": math.nan}, ValueError, "memory_limit must be a number of bytes"),
        ({"memory_limit": -1}, ValueError, "memory_limit must be a number of bytes"),
        ({"memory_limit": "4G"}, ValueError, "memory_limit must be a number of bytes"),
        ({"threads": 0}, ValueError, "threads must be"),
        ({"threads": True}, ValueError, "threads must be"),
        ({"threads": 1.5}, ValueError, "threads must be"),
        ({"limit": "abc"}, TypeError, "limit must be a number, not str"),
        ({"limit": math.nan}, ValueError, "limit must be 0 or more, not nan"),
        ({"method": sssp.Dijkstra}, TypeError, r"method is a class: .* sssp.Dijkstra\(\)"),
        ({"method": sssp.DeltaStepping(delta=1e-9)}, ValueError, "take 1.0 or more"),
    ],
)
def test_an_odd_option_is_refused_by_name(
    g: sssp.Graph, options: dict[str, Any], error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        sssp.shortest_paths(g, 0, **options)


#: what a function that counts may return
THREE: Any = 3.0
MINUTES: Any = np.timedelta64(10, "m")


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (lambda g: sssp.shortest_paths(g, 0, limit=MINUTES), "limit must be a number, not timed"),
        (lambda g: sssp.shortest_paths(g, MINUTES), "sources must be an int or one row of"),
        (lambda g: sssp.reduce(g, 0, "weight", decay=("step", MINUTES)), "the distance of a decay"),
        (lambda g: g.nearest_vertex(0, 0, max_distance=MINUTES), "max_distance must be a number"),
        (lambda g: g.nearest_vertex(0, 0, max_distance=[5]), "max_distance must be a number of"),
        (lambda g: g.scaled([1, 2, 3]), "the factor must be one number, not list"),
        (lambda g: g.scaled(True), "the factor must be one number, not bool"),
        (lambda g: sssp.Graph.from_arcs([0], [1], [1], n=THREE), r"n must be an integer, not 3\.0"),
        (lambda g: sssp.Graph.from_arcs([0], [1], [1], labels=2), "labels must be a sequence, not"),
        (lambda g: g.vertices(7), "a sequence of labels is needed, not 7; g.vertex takes one"),
        (lambda g: g.vertices(np.array(7)), r"a sequence of labels is needed, not array\(7\)"),
    ],
)
def test_what_is_no_number_and_no_sequence_is_told_by_name(asked: Any, message: str) -> None:
    places = [(0.0, 0.0), (0.1, 0.1), (0.2, 0.2)]
    g = sssp.Graph.from_arcs([0], [1], [5], coordinates=places, labels=["a", "b", "c"])
    with pytest.raises(TypeError, match=message):
        asked(g)


@pytest.mark.parametrize(
    "read", [sssp.read_graph, sssp.read_hierarchy, sssp.loaders.read_gr, sssp.loaders.read_co]
)
def test_a_number_is_no_path_and_closes_nothing(read: Any, tmp_path: Path) -> None:
    with (tmp_path / "open").open("wb") as file:
        with pytest.raises(TypeError, match=r"os\.PathLike"):
            read(file.fileno())
        file.write(b"still there")


@pytest.mark.parametrize("output", ["host", "sparse"])
def test_memory_is_refused_with_numbers_that_speak_of_memory(output: Any) -> None:
    town = sssp.road_like(100)
    with pytest.raises(sssp.DeviceError, match=r"needs [\d,]+ bytes of memory .* 20,000;"):
        sssp.shortest_paths(town, range(100), output=output, memory_limit=20_000)
    # what is reached counts, not what could be
    near = sssp.shortest_paths(town, range(100), output="sparse", limit=0, memory_limit=20_000)
    assert near.distances.nnz == 100


ROWS = {"sources": range(100)}


@pytest.mark.parametrize(
    ("call", "asked", "helps"),
    [
        (sssp.shortest_paths, ROWS, r"fewer sources at a time \(sssp.iter_blocks\).* out=, a m"),
        (lambda g, **k: list(sssp.iter_blocks(g, **k)), ROWS, "pass a smaller block_size"),
        (sssp.reduce, {**ROWS, "what": "weight", "vertex_weights": np.ones((100, 60))}, "sources"),
        (sssp.all_pairs, {"method": "dijkstra"}, "sssp.iter_blocks and sssp.reduce keep no"),
        (sssp.all_pairs, {"method": "floyd-warshall"}, "sssp.iter_blocks and sssp.reduce keep no"),
        (sssp.transitive_closure, {}, "pass packed=True"),
        (lambda g, **k: sssp.pairs(sssp.prepare(g), [1, 2], 3, **k), {}, "fewer trips at a time"),
        (sssp.nearest, {"facilities": [1], "k": 20}, "ask for a smaller k"),
        (sssp.betweenness, {}, "ask for fewer sources at a time, or pass threads=1"),
        (sssp.prepare, {}, "ask the graph itself"),
    ],
)
def test_a_call_without_memory_is_told_what_helps_there(
    call: Any, asked: dict[str, Any], helps: str
) -> None:
    town = sssp.road_like(100)
    with pytest.raises(
        sssp.DeviceError, match=rf"may take 7,000; .*{helps}.*; or raise memory_lim"
    ):
        call(town, **asked, memory_limit=7_000)
    # of a single search there is no less
    if "sources" in asked or asked.get("method") == "dijkstra":
        with pytest.raises(sssp.DeviceError, match=r"may take 999; raise memory_limit$"):
            call(town, **asked, memory_limit=999)


def test_nobody_is_told_to_raise_a_limit_that_the_machine_sets() -> None:
    has = physical_memory()
    with pytest.raises(sssp.DeviceError, match=r"all that this machine has; eat less$"):
        check_memory({"a lot": has + 1}, has, "cpu", "eat less")
    with pytest.raises(sssp.DeviceError, match=r"may take 7, all that is left; eat less$"):
        check_memory({"a lot": 9}, 8, "cuda:0", "eat less", room=7)
    with pytest.raises(sssp.DeviceError, match=r"may take 7; eat less; or raise memory_limit$"):
        check_memory({"a lot": 9}, 7, "cuda:0", "eat less", room=8)
    check_memory({"a lot": 9}, 9, "cuda:0", "eat less", room=9)


def test_memory_of_sparse_rows_is_that_of_their_entries() -> None:
    town = sssp.road_like(1000)
    r = sssp.shortest_paths(town, range(50), output="sparse", limit=30_000)
    assert r.distances.indptr.dtype == r.distances.indices.dtype == np.int32


def test_sparse_rows_are_refused_where_they_fit_but_not_while_they_are_joined() -> None:
    town = sssp.road_like(1000)
    r = sssp.shortest_paths(town, range(50), output="sparse", threads=1)
    d: Any = r.distances
    held = d.data.nbytes + d.indices.nbytes
    searches = 30_000
    with pytest.raises(sssp.DeviceError, match=r"50 rows hold .* a column of that in"):
        sssp.shortest_paths(town, range(50), output="sparse", threads=1, memory_limit=1.4 * held)
    limited = {"threads": 1, "memory_limit": 1.5 * held + searches}
    assert sssp.shortest_paths(town, range(50), output="sparse", **limited).distances.nnz == d.nnz


@pytest.mark.parametrize("bad", [math.nan, -math.inf])
def test_a_closure_refuses_what_all_pairs_refuses(bad: float) -> None:
    matrix = np.array([[0.0, bad], [1.0, 0.0]])
    match = rf"entry \(0, 1\) of the matrix is {bad}"
    for form in (matrix, csr_array(matrix), matrix.astype(np.float32), csr_matrix(matrix)):
        for call in (sssp.transitive_closure, sssp.all_pairs):
            with pytest.raises(ValueError, match=match):
                call(form)
