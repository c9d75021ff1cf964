"""Data frames of edges with ids of their own, OSMnx' among them, and what comes back to them."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any, NamedTuple

import numpy as np
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sssp
from sssp.errors import DistanceOverflowError, GraphFormatError, VertexError
from sssp.graph.graph import Graph
from tests.test_graph import as_dict, assert_same, naive_reduction, weight_of

Row = tuple[Any, Any, Any]

#: ids that a column may hold together
KINDS_OF_IDS: list[list[Any]] = [
    [3, 1, 2, 4],
    [0, 7, -5, 10**6],
    [2**40, 2**40 + 1, 5_000_000_000, -(2**33)],
    [2**63 - 1, -(2**63), 2**63 - 2, 0],
    [2**63, 2**64, -(2**70), 1],
    ["b", "a", "ä", ""],
    ["a", "a\0", "a\0b", "\0"],
    [(1, 2), (1, 3), (2,), (1, "x")],
    [1, "1", (1,), 1.5],
]


class Frames(NamedTuple):
    """Rows of edges as a frame, and the ids of the nodes as another, if there are such."""

    rows: list[Row]
    edges: Any
    ids: list[Any] | None
    nodes: Any


@st.composite
def frames(draw: st.DrawFn) -> Frames:
    """Draw a few rows, as columns or with the ids in the index, and perhaps nodes."""
    ids = draw(st.sampled_from(KINDS_OF_IDS))
    some_id = st.sampled_from(ids[:3])
    rows = draw(st.lists(st.tuples(some_id, some_id, st.integers(-3, 9)), max_size=12))
    edges = edges_of(rows)
    # (levels of an index of pandas 2 hold texts up to a NUL only)
    if not any("\0" in str(name) for name in ids) and draw(st.booleans()):
        edges = edges.set_index(["u", "v", edges.index])
    if not draw(st.booleans()):
        return Frames(rows, edges, None, None)
    ids = draw(st.permutations(ids))
    return Frames(rows, edges, ids, nodes_of(ids))


def column_of(values: list[Any]) -> Any:
    """Return a column as pandas makes it of a list, but of integers beyond int64 and tuples."""
    column = np.empty(len(values), object)
    column[:] = values
    return pandas.Series(column).infer_objects()


def edges_of(rows: list[Row]) -> Any:
    tails, heads, weights = zip(*rows, strict=True) if rows else ((), (), ())
    return pandas.DataFrame(
        {
            "u": column_of(list(tails)),
            "v": column_of(list(heads)),
            "minutes": pandas.Series(list(weights)),
            "street": [f"street {row}" for row in range(len(rows))],
        }
    )


def nodes_of(ids: list[Any]) -> Any:
    return pandas.DataFrame({"id": column_of(ids)}).set_index("id")


def naive_ids(rows: list[Row], ids: list[Any] | None) -> list[Any]:
    """Return the ids in order of their vertices."""
    if ids is not None:
        return ids
    return list(dict.fromkeys(end for tail, head, _ in rows for end in (tail, head)))


# -- ids, arcs, rows ---------------------------------------------------------------------------


@given(given_frames=frames(), directed=st.booleans())
def test_ids_become_vertices_and_labels_as_a_dict_would_number_them(
    given_frames: Frames, directed: bool
) -> None:
    rows, edges, ids, nodes = given_frames
    g = Graph.from_dataframe(edges, nodes=nodes, directed=directed)
    expected = naive_ids(rows, ids)
    vertex_of = {name: vertex for vertex, name in enumerate(expected)}
    best, parallel, loops = naive_reduction(
        [(vertex_of[tail], vertex_of[head], weight) for tail, head, weight in rows], directed
    )
    assert g.labels is not None
    assert list(map(repr, g.labels.tolist())) == list(map(repr, expected))
    assert as_dict(g) == best
    assert (g.parallel_arcs, g.self_loops, g.input_arcs) == (parallel, loops, len(rows))
    assert [g.vertex(name) for name in expected] == list(range(g.n))


@given(given_frames=frames(), directed=st.booleans())
def test_other_columns_come_back_by_arc_and_by_row(given_frames: Frames, directed: bool) -> None:
    rows, edges, _, nodes = given_frames
    g = Graph.from_dataframe(edges, nodes=nodes, directed=directed)
    labels = [] if g.labels is None else g.labels.tolist()
    of_arcs = edges.iloc[g.arc_origin]
    assert of_arcs["minutes"].tolist() == g.weights.tolist()
    assert of_arcs["street"].tolist() == [f"street {row}" for row in g.arc_origin]
    for row, arc in enumerate(g.row_arc.tolist()):
        tail, head, weight = rows[row]
        if arc < 0:
            assert tail == head
            assert weight >= 0
        else:
            assert (labels[g.tails[arc]], labels[g.indices[arc]]) == (tail, head)
            assert g.weights[arc] <= weight


@given(frames(), st.data())
def test_weights_of_rows_go_in_again_as_another_column(given_frames: Frames, data: Any) -> None:
    _, edges, _, nodes = given_frames
    other = data.draw(
        st.lists(st.integers(0, 9), min_size=len(edges), max_size=len(edges)), label="meters"
    )
    edges["minutes"] = edges["minutes"].abs()
    edges["meters"] = np.array(other, np.int64)
    g = Graph.from_dataframe(edges, nodes=nodes)
    assert_same(
        g.with_weights(rows=edges["meters"]),
        Graph.from_dataframe(edges, weight="meters", nodes=nodes),
    )


@pytest.fixture
def streets() -> Any:
    """Return edges as OSMnx gives them: (u, v, key) as index, parallel streets among them."""
    rows = [(53017091, 53064327, 0), (53017091, 53064327, 1), (53064327, 10**11, 0)]
    rows += [(10**11, 53017091, 0)]
    index = pandas.MultiIndex.from_tuples(rows, names=["u", "v", "key"])
    columns = {
        "name": ["Mill Lane", "New Street", ["High Street", "Bridge Road"], None],
        "length": [90.5, 120.25, 40.0, 500.0],
        "travel_time": [30.0, 12.0, 8.0, 45.5],
    }
    return pandas.DataFrame(columns, index=index)


@pytest.fixture
def crossings() -> Any:
    """Return nodes as OSMnx gives them; one has no street."""
    index = pandas.Index([10**11, 53017091, 53064327, 7], name="osmid")
    columns = {"y": [47.1, 47.2, 47.3, 47.4], "x": [8.1, 8.2, 8.3, 8.4], "ref": [None] * 4}
    return pandas.DataFrame(columns, index=index)


def test_streets_of_osmnx_come_back_along_a_path(streets: Any, crossings: Any) -> None:
    g = Graph.from_dataframe(streets, weight="travel_time", nodes=crossings)
    assert (g.n, g.m, g.parallel_arcs) == (4, 3, 1)
    assert g.labels is not None
    assert g.labels.tolist() == crossings.index.tolist()
    assert g.coordinates is not None
    assert g.coordinates.tolist() == [[8.1, 47.1], [8.2, 47.2], [8.3, 47.3], [8.4, 47.4]]
    result = sssp.shortest_paths(g, g.vertex(53017091), predecessors=True)
    assert result.distance(g.vertex(10**11)) == 20.0
    assert not result.reached[g.vertex(7)]
    way = streets.iloc[g.arc_origin[result.path_arcs(g.vertex(10**11))]]
    assert way["name"].tolist() == ["New Street", ["High Street", "Bridge Road"]]
    assert way.index.tolist() == [(53017091, 53064327, 1), (53064327, 10**11, 0)]
    assert way["length"].sum() == 160.25


def test_columns_and_levels_of_the_index_are_one(streets: Any) -> None:
    expected = Graph.from_dataframe(streets, weight="length")
    for names in ([], ["u"], ["v", "key"], ["u", "v", "key"]):
        edges = streets.reset_index(names) if names else streets
        assert_same(Graph.from_dataframe(edges, weight="length"), expected)
    one_level = streets.reset_index(["v", "key"])
    assert one_level.index.name == "u"
    swapped = Graph.from_dataframe(one_level, "v", "u", "length")
    assert swapped.vertex(53064327) == 0, "first appearance: the tail before the head"
    assert sorted(swapped.weights.tolist()) == sorted(expected.weights.tolist())
    both = streets.assign(u=[1, 2, 3, 4])
    assert Graph.from_dataframe(both, weight="length").vertex(1) == 0, "a column goes first"


def test_names_of_columns_need_not_be_strings() -> None:
    edges = pandas.DataFrame([["a", "b", 3], ["b", "c", 4]])
    assert weight_of(Graph.from_dataframe(edges, 0, 1, 2)) == {(0, 1): 3, (1, 2): 4}
    edges.columns = pandas.MultiIndex.from_tuples([("end", 0), ("end", 1), ("cost", "")])
    g = Graph.from_dataframe(edges, ("end", 0), ("end", 1), ("cost", ""))
    assert weight_of(g) == {(0, 1): 3, (1, 2): 4}


@pytest.mark.parametrize(
    ("dtype", "kept"),
    [
        ("int16", "int64"),
        ("uint64", "int64"),
        ("Int64", "int64"),
        ("UInt8", "int64"),
        ("Sparse[int64]", "int64"),
        ("category", "int64"),
        ("str", "<U1"),
        ("string", "<U1"),
        ("object", "int64"),
    ],
)
def test_ids_of_any_dtype_are_the_same_ids(dtype: str, kept: str) -> None:
    ids = {"u": [3, 3, 1], "v": [1, 2, 2]}
    edges = pandas.DataFrame(ids).astype(dtype).assign(minutes=[1, 2, 3])
    g = Graph.from_dataframe(edges)
    assert g.labels is not None
    assert str(g.labels.dtype) == kept
    assert list(map(int, g.labels.tolist())) == [3, 1, 2]
    assert weight_of(g) == {(0, 1): 1, (0, 2): 2, (1, 2): 3}
    nodes = pandas.DataFrame(index=edges["v"].drop_duplicates()[::-1])
    with pytest.raises(GraphFormatError, match=r"2 of 3 rows \[0: '?3'?, 1: '?3'?\]"):
        Graph.from_dataframe(edges, nodes=nodes)
    assert Graph.from_dataframe(edges[2:], nodes=nodes).vertices(edges["v"][1:]).tolist() == [0, 0]


def test_signed_and_unsigned_ids_meet_as_integers() -> None:
    edges = pandas.DataFrame({"u": [2**53, 2**53], "minutes": [1, 2]})
    edges["v"] = np.array([2**53 + 1, 2**53 + 2], np.uint64)
    g = Graph.from_dataframe(edges)
    assert g.labels is not None
    assert g.labels.tolist() == [2**53, 2**53 + 1, 2**53 + 2], "not the floats nearest to them"
    edges["v"] = np.array([2**64 - 1, 2**53], np.uint64)
    assert Graph.from_dataframe(edges).vertex(2**64 - 1) == 1


def test_without_rows_there_is_a_graph_too() -> None:
    empty = pandas.DataFrame({"u": [], "v": [], "minutes": []})
    for edges in (empty, empty.astype(str), empty.astype("Int64"), empty.set_index(["u", "v"])):
        g = Graph.from_dataframe(edges)
        assert (g.n, g.m, g.input_arcs, str(g.weights.dtype)) == (0, 0, 0, "int32")
        nodes = pandas.DataFrame({"x": [1.0, 2.0], "y": [3, 4]}, index=["b", "a"])
        g = Graph.from_dataframe(edges, nodes=nodes)
        assert g.vertices(["a", "b"]).tolist() == [1, 0]
        assert (g.n, g.m) == (2, 0)
        g = Graph.from_dataframe(edges, nodes=nodes[:0])
        assert (g.n, g.m) == (0, 0)
        assert g.coordinates is not None


# -- weights -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "kept"),
    [
        ("int8", "int32"),
        ("UInt64", "int32"),
        ("Int32", "int32"),
        ("Float64", "float64"),
        ("float32", "float64"),
        ("Sparse[int64]", "int32"),
    ],
)
def test_weights_of_any_width_are_stored_as_from_arcs_stores_them(dtype: str, kept: str) -> None:
    edges = pandas.DataFrame({"u": [1, 2], "v": [2, 1], "minutes": [5, 0]})
    g = Graph.from_dataframe(edges.astype({"minutes": dtype}))
    assert (str(g.weights.dtype), g.weights.tolist()) == (kept, [5, 0])


def test_integer_weights_stay_exact_and_do_not_wrap() -> None:
    edges = pandas.DataFrame({"u": [1], "v": [2], "minutes": [2**53 + 1]})
    assert Graph.from_dataframe(edges).weights.tolist() == [2**53 + 1]
    assert Graph.from_dataframe(edges.astype({"minutes": "Int64"})).weights[0] == 2**53 + 1
    for dtype in ("uint64", "UInt64"):
        edges["minutes"] = pandas.array([2**63], dtype=dtype)
        with pytest.raises(DistanceOverflowError, match="9223372036854775808 does not fit int64"):
            Graph.from_dataframe(edges)


def test_an_infinite_weight_closes_its_arc() -> None:
    edges = pandas.DataFrame({"u": list("aab"), "v": list("bbc"), "minutes": [math.inf, 2.5, 0]})
    edges.loc[2, "minutes"] = math.inf
    g = Graph.from_dataframe(edges)
    assert (g.m, g.closed_arcs, g.weights.tolist()) == (2, 1, [2.5, math.inf])
    result = sssp.shortest_paths(g, g.vertex("a"))
    assert result.reached.tolist() == [True, True, False]
    assert g.with_weights(rows=[1, 9, 4]).weights.tolist() == [1, 4]


# -- coordinates -------------------------------------------------------------------------------


class System(NamedTuple):
    """As a coordinate reference system."""

    name: str
    is_projected: bool


class Points(NamedTuple):
    """As the array of a GeoSeries: the x and y of all, and their reference system."""

    x: Any
    y: Any
    crs: System


class GeoFrame(pandas.DataFrame):  # type: ignore[misc]  # pandas has no types here
    """As a GeoDataFrame: it has a geometry."""

    points: Points

    @property
    def geometry(self) -> Any:
        return type("GeoSeries", (), {"array": self.points})()


def geo_frame(points: Points, **columns: list[float]) -> Any:
    frame = type("GeoDataFrame", (GeoFrame,), {"points": points})
    return frame(columns, index=["a", "b"])


EDGE = pandas.DataFrame({"u": ["b"], "v": ["a"], "minutes": [1]})
DEGREES = Points(np.array([1.0, 2.0]), np.array([3.0, 4.0]), System("UTM", is_projected=False))
METERS = DEGREES._replace(crs=System("UTM", is_projected=True))


@pytest.mark.parametrize(
    "nodes",
    [
        pandas.DataFrame({"x": [1, 2], "y": [3, 4]}, index=["a", "b"]),
        pandas.DataFrame({"lat": [3.0, 4.0], "lon": [1.0, 2.0]}, index=["a", "b"]),
        pandas.DataFrame({"x": [1, 2], "y": [3, 4]}, index=["a", "b"], dtype="Float64"),
        # (projected graphs of OSMnx keep the degrees so)
        pandas.DataFrame(
            {"x": [1e6, 2e6], "y": [5e6, 5e6], "lon": [1.0, 2.0], "lat": [3.0, 4.0]},
            index=["a", "b"],
        ),
        geo_frame(DEGREES),
        geo_frame(DEGREES, x=[1.0, 2.0], y=[3.0, 4.0]),
        geo_frame(METERS, lon=[1.0, 2.0], lat=[3.0, 4.0]),
    ],
    ids=["x y", "lat lon", "nullable", "projected with degrees", "points", "both", "meters"],
)
def test_nodes_bring_coordinates(nodes: Any) -> None:
    g = Graph.from_dataframe(EDGE, nodes=nodes)
    assert g.coordinates is not None
    assert g.coordinates.tolist() == [[1.0, 3.0], [2.0, 4.0]]
    assert g.nearest_vertex(2, 4) == g.vertex("b") == 1


@pytest.mark.parametrize(
    "nodes",
    [
        pandas.DataFrame(index=["a", "b"]),
        pandas.DataFrame({"x": [1e9, math.nan], "geometry": ["here", "there"]}, index=["a", "b"]),
    ],
    ids=["none", "x alone"],
)
def test_without_such_columns_there_are_no_coordinates(nodes: Any) -> None:
    assert Graph.from_dataframe(EDGE, nodes=nodes).coordinates is None


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        (
            pandas.DataFrame({"x": [8.1, 456789.5], "y": [47.1, 5.2]}, index=["a", "b"]),
            r"nodes: 1 of 2 rows \[1: 'b' at \(456789.5, 5.2\)\] .* projected.*to_crs\(4326\)",
        ),
        (pandas.DataFrame({"lon": [0, 0], "lat": [90, 91]}, index=["a", "b"]), "projected"),
        (geo_frame(METERS), r"2 of 2 rows .* projected"),
        (geo_frame(METERS, x=[1.0, 2.0], y=[3.0, 4.0]), r"projected \(UTM\), .* lon and lat"),
        (
            pandas.DataFrame({"x": [8.1, math.nan], "y": [47.1, 5.2]}, index=[5, 6]),
            r"1 of 2 rows \[1: 6 at \(nan, 5.2\)\] lack a coordinate",
        ),
        (
            pandas.DataFrame({"x": ["8.1", "8.2"], "y": [47.1, 5.2]}, index=["a", "b"]),
            "'x': coordinates must be numbers, not (str|object)",
        ),
    ],
)
def test_coordinates_that_are_no_degrees_are_refused(nodes: Any, message: str) -> None:
    edges = EDGE if nodes.index[0] == "a" else EDGE.assign(u=5, v=6)
    with pytest.raises(GraphFormatError, match=message):
        Graph.from_dataframe(edges, nodes=nodes)


# -- what is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"weight": "length"},
            "no column 'length'; its columns are 'u', 'v', 'minutes', .* weight=",
        ),
        ({"tail": "from"}, "no column 'from'.* tail="),
        ({"tail": None}, "no column None"),
        (
            {"minutes": [1, math.nan, 2, math.nan]},
            r"edges, 'minutes': 2 of 4 rows \[1, 3\] lack a weight",
        ),
        ({"minutes": pandas.array([1, None, 2, 3])}, r"1 of 4 rows \[1\] lack a weight"),
        ({"minutes": [math.nan] * 4}, r"4 of 4 rows \[0, 1, 2, ...\] lack"),
        ({"minutes": [1, 2, -math.inf, 3]}, r"1 of 4 rows \[2\] are NaN or minus infinity"),
        ({"minutes": [True, False, True, True]}, "not bool; .*astype"),
        ({"minutes": pandas.array([True, False, True, True])}, "not boolean"),
        ({"minutes": ["1", "2", "3", "4"]}, "not (str|object); pandas.to_numeric"),
        ({"minutes": np.array([1, 2, 3, [4]], object)}, "not object; pandas.to_numeric"),
        ({"minutes": pandas.date_range("2026", periods=4)}, "integers or floats, not datetime64"),
        ({"u": ["a", None, "b", "c"]}, r"edges, 'u': 1 of 4 rows \[1\] lack an id"),
        ({"v": [1, math.nan, 2, 3]}, r"edges, 'v': 1 of 4 rows \[1\] lack an id"),
        ({"v": [1.0, 2.0, 3.0, 4.0]}, r"'v': ids .* not float64; .*astype\('int64'\)"),
        ({"v": [True, False, True, False]}, "'v': ids .* not bool"),
        ({"v": pandas.date_range("2026", periods=4)}, "'v': ids .* not datetime64"),
        (
            {"v": np.array([[1], [2], [3], [4, 5]], object)},
            r"'v': 4 of 4 rows \[0: \[1\], .*cannot",
        ),
        ({"u": ["a", (1, [2]), "b", "c"]}, r"edges, 'u': 1 of 4 rows \[1: \(1, \[2\]\)\] .*hashed"),
        ({"minutes": pandas.to_timedelta([1, 2, 3, 4], unit="s")}, "timedelta.*total_seconds"),
    ],
)
def test_edges_that_make_no_graph_are_refused_with_their_rows(
    change: dict[str, Any], message: str
) -> None:
    names = {name: change[name] for name in ("tail", "head", "weight") if name in change}
    columns = {name: value for name, value in change.items() if name not in names}
    edges = pandas.DataFrame({"u": list("abcd"), "v": list("bcda"), "minutes": [1, 2, 3, 4]})
    edges.index = pandas.Index(range(10, 14))
    edges = edges.assign(**{"name": "x"} | columns)
    with pytest.raises(GraphFormatError, match=message):
        Graph.from_dataframe(edges, **names)


@pytest.mark.parametrize("name", ["tail", "head", "weight"])
def test_columns_go_by_names(name: str) -> None:
    edges = pandas.DataFrame({"u": ["a"], "v": ["b"], "minutes": [1]})
    for value in (edges["minutes"], edges, ["minutes"]):
        names: dict[str, Any] = {name: value}
        with pytest.raises(TypeError, match=rf"^{name} is the name of a column .* nodes="):
            Graph.from_dataframe(edges, **names)


def test_a_graph_of_networkx_is_no_frame() -> None:
    networkx = pytest.importorskip("networkx")
    with pytest.raises(TypeError, match=r"not MultiDiGraph; sssp.Graph.from_networkx"):
        Graph.from_dataframe(networkx.MultiDiGraph())


def test_half_of_a_place_is_no_place() -> None:
    for name, other in (("lon", "lat"), ("lat", "lon")):
        nodes = pandas.DataFrame({name: [4.0, 5.0], "latitude": 52.0}, index=["a", "b"])
        edges = pandas.DataFrame({"u": ["a"], "v": ["b"], "minutes": [1]})
        with pytest.raises(GraphFormatError, match=f"column '{name}', but no column '{other}'"):
            Graph.from_dataframe(edges, nodes=nodes)


def test_a_missing_level_is_told_the_levels_that_there_are(streets: Any) -> None:
    with pytest.raises(GraphFormatError, match=r"levels of its index 'u', 'v', 'key'"):
        Graph.from_dataframe(streets, "from", "v", "length")
    twice = pandas.DataFrame([[1, 2, 3, 4]], columns=["u", "v", "minutes", "minutes"])
    with pytest.raises(GraphFormatError, match="more than one column 'minutes'"):
        Graph.from_dataframe(twice)


def test_ids_that_nodes_lack_are_refused_with_their_rows(streets: Any, crossings: Any) -> None:
    with pytest.raises(GraphFormatError) as raised:
        Graph.from_dataframe(streets, weight="length", nodes=crossings[1:])
    text = "edges: 2 of 4 rows [2: 100000000000, 3: 100000000000] have an end that is not in"
    assert text in str(raised.value)
    # ids as texts are other ids, and so are the numbers of the rows
    for nodes in (crossings.set_axis(crossings.index.astype(str)), crossings.reset_index()):
        with pytest.raises(GraphFormatError, match=r"4 of 4 rows .*, \.\.\.\] .*set_index"):
            Graph.from_dataframe(streets, weight="length", nodes=nodes)


@pytest.mark.parametrize("ids", [[4, 9, 4, 4, 7, 9], list("bcbbac"), [(1, 2), (0,)] + [(1, 2)] * 4])
def test_ids_that_nodes_have_twice_are_refused(ids: list[Any]) -> None:
    rows = [row for row in range(len(ids)) if ids[row] in ids[:row]]
    shown = ", ".join(f"{row}: {ids[row]!r}" for row in rows[:3])
    with pytest.raises(GraphFormatError, match="an earlier row has") as raised:
        Graph.from_dataframe(EDGE[:0], nodes=nodes_of(ids))
    assert f"nodes: {len(rows)} of 6 rows [{shown}" in str(raised.value)


def test_an_index_of_nodes_may_have_levels_but_no_gaps() -> None:
    nodes = pandas.DataFrame(index=pandas.MultiIndex.from_tuples([("z", 1), ("a", 2)]))
    edges = edges_of([(("a", 2), ("z", 1), 5)])
    g = Graph.from_dataframe(edges, nodes=nodes)
    assert weight_of(g) == {(1, 0): 5}
    assert g.vertex(("z", 1)) == 0
    with pytest.raises(GraphFormatError, match=r"nodes, the index: 1 of 2 rows \[1\] lack an id"):
        Graph.from_dataframe(EDGE, nodes=pandas.DataFrame(index=["a", None]))


@pytest.mark.parametrize(
    ("value", "remedy"),
    [
        ([(0, 1, 2)], r"sssp.Graph.from_arcs\(tails, heads, weights\)"),
        ({"u": [1], "v": [2], "minutes": [3]}, "not dict; .*from_arcs"),
        (None, "not NoneType"),
        (pandas.Series([1]), r"not Series; edges.to_frame\(\) makes one"),
        (type("Table", (), {"to_pandas": lambda self: None})(), r"edges.to_pandas\(\) makes one"),
    ],
)
def test_what_is_no_frame_is_told_what_to_call(value: Any, remedy: str) -> None:
    with pytest.raises(TypeError, match=f"edges must be a pandas DataFrame, .*{remedy}"):
        Graph.from_dataframe(value)
    if value is not None:
        with pytest.raises(TypeError, match="nodes must be a pandas DataFrame"):
            Graph.from_dataframe(EDGE, nodes=value)


def test_pandas_is_imported_by_whoever_has_a_frame() -> None:
    code = """
import sys, sssp
try:
    sssp.Graph.from_dataframe([])
except TypeError as error:
    print("pandas" in sys.modules, error)
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.startswith("False edges must be a pandas DataFrame, not list; ")


@pytest.mark.parametrize(
    "call",
    [
        lambda: Graph.from_arcs([53017091], [53064327], [5], n=2),
        lambda: Graph.from_arcs([10**10], [10**10 + 1], [5]),
        lambda: Graph.from_arcs(["a"], ["b"], [5]),
        lambda: Graph.from_arcs([7], [9], [5], labels=[7, 9]),
        lambda: Graph.from_arcs(["a"], ["b"], [5], labels=["a", "b"]),
    ],
)
def test_from_arcs_names_from_dataframe_to_whoever_gives_it_ids(call: Any) -> None:
    with pytest.raises((VertexError, ValueError, TypeError), match=r"Graph\.from_dataframe"):
        call()


# ---- Series by own ids


@pytest.fixture(scope="module")
def named() -> sssp.Graph:
    edges = pandas.DataFrame(
        {"u": ["home", "work", "home"], "v": ["work", "shop", "shop"], "w": [5, 5, 20]}
    )
    return sssp.Graph.from_dataframe(edges, "u", "v", "w")


def test_vertex_weights_are_a_series_by_own_ids(named):
    jobs = pandas.Series({"shop": 40, "work": 100})
    sums = sssp.reduce(named, [0, 1, 2], "weight", vertex_weights=jobs)
    by_vertex = np.zeros(3, int)
    by_vertex[named.vertices(["shop", "work"])] = 40, 100
    assert (
        sums.tolist() == sssp.reduce(named, [0, 1, 2], "weight", vertex_weights=by_vertex).tolist()
    )
    both = pandas.DataFrame({"jobs": jobs, "shops": [7, 0]})
    assert sssp.reduce(named, 0, "weight", vertex_weights=both).tolist() == [140, 7]
    # (the default index is the order of the vertices)
    plain = sssp.reduce(named, 0, "weight", vertex_weights=pandas.Series(by_vertex))
    assert plain == sums[0]


@pytest.mark.parametrize(
    ("jobs", "error", "message"),
    [
        (
            pandas.Series({"shop": 4, "school": 1}),
            sssp.VertexError,
            "no vertex has the label 'school'",
        ),
        (pandas.Series([1, 2], ["shop", "shop"]), ValueError, "'shop' is in the index twice"),
    ],
)
def test_series_by_wrong_ids_are_refused(named, jobs, error, message):
    with pytest.raises(error, match=message):
        sssp.reduce(named, 0, "weight", vertex_weights=jobs)


def test_demand_and_values_are_series_by_own_ids(named):
    volumes = pandas.Series({("home", "shop"): 3, ("work", "shop"): 4})
    frame = pandas.DataFrame({"Origin": ["home", "work"], "DESTINATION": "shop", "Volume": [3, 4]})
    vertices = [named.vertices(frame[name].tolist()) for name in ("Origin", "DESTINATION")]
    expected = sssp.load(named, (*vertices, [3, 4]))
    km = pandas.Series({("work", "shop"): 2.5, ("home", "work"): 1.5})
    by_arc = [1.5, np.nan, 2.5]
    arcs = named.arcs(
        *(named.vertices(names) for names in (["home", "home", "work"], ["work", "shop", "shop"]))
    )
    along = np.array(by_arc)[np.argsort(arcs)]
    for demand in (volumes, frame):
        assert sssp.load(named, demand).flow.tolist() == expected.flow.tolist() == [3, 7, 0]
        assert sssp.skim(named, demand, km).tolist() == [4.0, 2.5]
        assert sssp.skim(named, demand, along).tolist() == [4.0, 2.5]
    undirected = sssp.Graph.from_arcs([0, 1], [1, 2], [5, 5], directed=False)
    lengths = pandas.Series({(0, 1): 3, (2, 1): 4})
    assert sssp.skim(undirected, ([0, 2], [2, 0], [1, 1]), lengths).tolist() == [7, 7]
    with pytest.raises(sssp.VertexError):
        sssp.skim(undirected, ([0], [2], [1]), pandas.Series({(0, 2): 3}))


def test_nearest_vertices_of_points_in_any_reference_system():
    geopandas = pytest.importorskip("geopandas")
    g = sssp.road_like(200, seed=1)
    assert g.coordinates is not None
    lon, lat = g.coordinates[[5, 9, 60]].T
    points = geopandas.GeoSeries.from_xy(lon, lat, index=["a", "b", "c"], crs=4326)
    for places in (points, points.to_crs(3857), points.to_frame("geometry")):
        assert g.nearest_vertex(places).tolist() == [5, 9, 60]
        vertices, metres = g.nearest_vertex(places, distance=True)
        assert (vertices.tolist(), metres.max() < 0.01) == ([5, 9, 60], True)
    with pytest.raises(ValueError, match=r"no reference system: .set_crs\(4326\)"):
        g.nearest_vertex(points.set_crs(None, allow_override=True))
    with pytest.raises(ValueError, match="representative_point"):
        g.nearest_vertex(points.to_crs(3857).buffer(9))
    with pytest.raises(TypeError, match="or a GeoSeries, not float"):
        g.nearest_vertex(8.5)


@pytest.mark.parametrize("names", [("Lon", "LAT"), ("Longitude", "latitude"), ("X", "Y")])
def test_coordinates_are_read_in_any_case(names):
    edges = pandas.DataFrame({"u": [7], "v": [9], "w": [3]})
    nodes = pandas.DataFrame([[8.0, 47.0], [9.0, 48.0]], index=[7, 9], columns=list(names))
    g = sssp.Graph.from_dataframe(edges, "u", "v", "w", nodes=nodes)
    assert g.coordinates is not None
    assert g.coordinates.tolist() == [[8, 47], [9, 48]]
