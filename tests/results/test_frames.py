"""Results as tables: distances in labels, the arcs of trees as lines."""

from __future__ import annotations

import copy
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import sssp
from tests.results.test_forms import OnDevice
from tests.test_along import Trees, any_trees

NAMES = ["depot", "bridge", "mill", "church", "inn", "island"]
KINDS_OF_LABELS: dict[str, Any] = {
    "none": None,
    "consecutive": [1, 2, 3, 4, 5, 6],
    "integers": [70, -3, 2**40, 5, 6, 1],
    "texts": NAMES,
    "tuples": [(0, name) for name in NAMES],
    "mixed": [1, "1", (1,), 2.5, 2**70, None],
}


def town(labels: Any = NAMES, weights: Any = (4, 2, 3, 1, 1, 2), **options: Any) -> sssp.Graph:
    """Streets around a bridge, and an island that nobody reaches."""
    coordinates = [[4.0, 52.0], [4.1, 52.0], [4.2, 52.1], [4.2, 52.2], [4.1, 52.3], [5.0, 52.0]]
    tails, heads = [0, 1, 2, 0, 3, 5], [1, 2, 3, 4, 4, 0]
    return sssp.Graph.from_arcs(
        tails, heads, weights, labels=labels, coordinates=coordinates, **options
    )


def rows_of(table: Any) -> list[tuple[Any, ...]]:
    """Return the rows of a table as Python objects, None where something is missing."""
    columns = [column.astype(object).where(column.notna(), None) for _, column in table.items()]
    return list(zip(*(column.tolist() for column in columns), strict=True))


# -- distances ---------------------------------------------------------------------------------


@settings(max_examples=80)
@given(asked=any_trees)
def test_a_long_table_has_a_row_for_every_entry(asked: Trees) -> None:
    result = asked.result
    expected = []
    for source, row in zip(result.sources.tolist(), asked.rows, strict=False):
        for target in asked.columns:
            reached = target in row.distances
            if reached or isinstance(result.distances, np.ndarray):
                start = row.origins.get(target) if result.nearest else source
                expected.append((start, target, row.distances.get(target), reached))
    table = result.to_dataframe()
    assert list(table) == ["source", "target", "distance", "reached"]
    assert rows_of(table) == expected
    assert str(table["reached"].dtype) == "bool"
    assert str(table["distance"].dtype).lower() == str(result.distances.dtype)
    assert table["distance"].isna().tolist() == [not reached for *_, reached in expected]


@settings(max_examples=50)
@given(asked=any_trees)
def test_a_wide_table_has_a_row_for_every_source(asked: Trees) -> None:
    result = asked.result
    if result.nearest:
        with pytest.raises(ValueError, match="its table is long"):
            result.to_dataframe(wide=True)
        return
    table = result.to_dataframe(wide=True)
    assert (table.index.name, table.columns.name) == ("source", "target")
    assert table.index.tolist() == result.sources.tolist()
    assert table.columns.tolist() == asked.columns
    expected = [[row.distances.get(target) for target in asked.columns] for row in asked.rows]
    assert [[None if np.isnan(x) else x for x in row] for row in table.to_numpy().tolist()] == (
        expected
    )
    if not any(None in row for row in expected):
        assert set(table.dtypes.astype(str)) <= {str(result.distances.dtype)}, "exact"


@pytest.mark.parametrize("kind", KINDS_OF_LABELS)
def test_tables_speak_labels(kind: str) -> None:
    labels = KINDS_OF_LABELS[kind]
    names = list(range(6)) if labels is None else labels
    g = town(labels)
    r = sssp.shortest_paths(g, [0, 5], targets=[3, 1, 1])
    table = r.to_dataframe()
    whole = [(0, 3, 9), (0, 1, 4), (0, 1, 4), (5, 3, 11), (5, 1, 6), (5, 1, 6)]
    assert table["source"].tolist() == [names[source] for source, _, _ in whole]
    assert table["target"].tolist() == [names[target] for _, target, _ in whole]
    assert table["distance"].tolist() == [distance for *_, distance in whole]
    wide = r.to_dataframe(wide=True)
    assert wide.index.tolist() == [names[0], names[5]]
    assert wide.columns.tolist() == [names[3], names[1], names[1]]
    assert wide.to_numpy().tolist() == [[9, 4, 4], [11, 6, 6]]
    nearest = sssp.shortest_paths(g, [0, 2], nearest=True).to_dataframe()
    assert nearest["target"].tolist() == names
    starts = [names[0], names[0], names[2], names[2], names[0], None]
    assert rows_of(nearest[["source"]]) == [(start,) for start in starts]
    assert nearest["reached"].tolist() == [True] * 5 + [False]
    if kind in ("none", "consecutive", "integers"):
        assert str(table["source"].dtype) == str(table["target"].dtype) == "int64"
        assert str(nearest["source"].dtype) == "Int64"


def test_unreached_is_missing_and_integers_stay_exact() -> None:
    far = 2**53 + 1
    g = town(weights=[far, 2, 3, 1, 1, 2])
    table = sssp.shortest_paths(g, 0).to_dataframe()
    assert str(table["distance"].dtype) == "Int64"
    assert rows_of(table[["distance"]]) == [(0,), (far,), (far + 2,), (far + 5,), (1,), (None,)]
    assert table["distance"].min() == 0
    near = sssp.shortest_paths(g, [0, 5], limit=3)
    assert rows_of(near.to_dataframe()[["target", "distance"]])[4:8] == [
        ("inn", 1),
        ("island", None),
        ("depot", 2),
        ("bridge", None),
    ]
    assert near.to_dataframe()["distance"].sum() == 6
    wide = near.to_dataframe(wide=True)
    assert wide.loc["island", "inn"] == 3
    assert math.isnan(wide.loc["depot", "mill"])
    floats = sssp.shortest_paths(g, 0, dtype="float32").to_dataframe()
    assert str(floats["distance"].dtype) == "float32"
    assert floats["distance"].isna().tolist() == [False] * 5 + [True]


def test_a_table_has_memory_of_its_own() -> None:
    r = sssp.shortest_paths(town(labels=None), [0, 5], targets=[3, 1])
    for table in (r.to_dataframe(), r.to_dataframe(wide=True)):
        name = table.columns[-2]
        table.loc[table.index[0], name] = 77
        assert r.distances.tolist() == [[9, 4], [11, 6]]
    sparse = sssp.shortest_paths(town(labels=None), 4, output="sparse")
    sparse.distances.data[:] = 5
    table = sparse.to_dataframe()
    sparse.distances.data[:] = 6
    assert table["distance"].tolist() == [5]


def test_a_table_holds_no_objects_for_numbers() -> None:
    r = sssp.shortest_paths(town(labels=[9, 8, 7, 6, 5, 4]), [0] * 500, targets=[1] * 400)
    used = r.to_dataframe().memory_usage(index=False, deep=True) / 200_000
    assert used.to_dict() == {"source": 8, "target": 8, "distance": 5, "reached": 1}
    assert r.to_dataframe(wide=True).memory_usage(index=False, deep=True).sum() == 4 * 200_000


def on_device(result: sssp.ShortestPaths) -> sssp.ShortestPaths:
    there = copy.copy(result)
    there.distances = OnDevice(result.distances)
    return there


@pytest.mark.parametrize("ask", [lambda r: r.to_dataframe(), lambda r: r.to_geodataframe()])
def test_results_on_a_device_come_to_the_host_first(ask: Callable[[Any], Any]) -> None:
    there = on_device(sssp.shortest_paths(town(), [0, 2], predecessors=True))
    with pytest.raises(TypeError, match=r"call to_host\(\) first"):
        ask(there)
    assert len(there.to_host().to_dataframe()) == 12


# -- trees -------------------------------------------------------------------------------------


@pytest.fixture
def geopandas() -> Any:
    return pytest.importorskip("geopandas", reason="GeoPandas is not installed")


def lines_of(table: Any) -> list[list[tuple[float, float]]]:
    return [list(line.coords) for line in table.geometry]


def test_the_arcs_of_a_tree_are_lines(geopandas: Any) -> None:
    g = town()
    r = sssp.shortest_paths(g, g.vertices(["depot", "mill"]), predecessors=True)
    table = r.to_geodataframe()
    assert list(table) == ["arc", "tail", "head", "distance", "geometry"]
    assert isinstance(table, geopandas.GeoDataFrame)
    assert table.crs.to_epsg() == 4326
    assert rows_of(table[["tail", "head", "distance"]]) == [
        ("depot", "bridge", 4),
        ("bridge", "mill", 6),
        ("mill", "church", 9),
        ("depot", "inn", 1),
    ]
    assert lines_of(table)[1] == [(4.1, 52.0), (4.2, 52.1)]
    assert g.weights[table["arc"]].tolist() == [4, 2, 3, 1]
    other = r.to_geodataframe(row=1)
    assert rows_of(other[["tail", "head", "distance"]]) == [
        ("mill", "church", 3),
        ("church", "inn", 4),
    ]
    with pytest.raises(sssp.VertexError, match="row 2"):
        r.to_geodataframe(row=2)


@pytest.mark.parametrize("dtype", [None, "int64", "float32", "float64"])
def test_paths_to_targets_are_lines_with_the_distances_along_them(
    geopandas: Any, dtype: Any
) -> None:
    weights = np.array([0.1, 0.2, 0.3, 7, 8, 9]) if dtype and "f" in dtype else [4, 2, 3, 1, 1, 2]
    g = town(weights=weights)
    whole = sssp.shortest_paths(g, [5, 0], predecessors=True, dtype=dtype)
    r = sssp.shortest_paths(g, [5, 0], targets=[3, 5, 1], predecessors=True, dtype=dtype)
    for row, heads in enumerate(([0, 1, 2, 3], [1, 2, 3])):
        table = r.to_geodataframe(row)
        assert g.vertices(table["head"]).tolist() == heads
        assert table["distance"].tolist() == whole.distances[row, heads].tolist()
        assert table["arc"].tolist() == [whole.path_arcs(head, row)[-1] for head in heads]


def test_sparse_nearest_and_other_trees_are_lines(geopandas: Any) -> None:
    g = town(labels=None)
    sparse = sssp.shortest_paths(g, [0, 5], output="sparse", limit=4, predecessors=True)
    table = sparse.to_geodataframe(1)
    assert rows_of(table[["tail", "head", "distance"]]) == [(5, 0, 2), (0, 4, 3)]
    nearest = sssp.shortest_paths(g, [0, 2], nearest=True, targets=[3, 1], predecessors=True)
    assert rows_of(nearest.to_geodataframe()[["tail", "head", "distance"]]) == [
        (0, 1, 4),
        (2, 3, 3),
    ]
    hops = sssp.shortest_paths(g, 0, method="breadth-first", targets=3, predecessors=True)
    assert hops.to_geodataframe()["distance"].tolist() == [1, 2, 3]
    for r in (
        sssp.shortest_paths(g, 4, predecessors=True),
        sssp.shortest_paths(g, 4, targets=4, predecessors=True),
        sssp.shortest_paths(
            sssp.Graph.from_arcs([], [], [], coordinates=[[0, 0]]), 0, targets=0, predecessors=True
        ),
    ):
        assert len(r.to_geodataframe()) == 0
        assert list(r.to_geodataframe())[-1] == "geometry"


def test_lines_need_predecessors_and_coordinates(geopandas: Any) -> None:
    g = sssp.Graph.from_arcs([0], [1], [1])
    with pytest.raises(ValueError, match="predecessors=True"):
        sssp.shortest_paths(g, 0).to_geodataframe()
    with pytest.raises(ValueError, match=r"no coordinates, .* coordinates="):
        sssp.shortest_paths(g, 0, predecessors=True).to_geodataframe()


# -- without pandas ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "ask"),
    [
        ("pandas", lambda r: r.to_dataframe()),
        ("pandas", lambda r: r.to_dataframe(wide=True)),
        ("geopandas", lambda r: r.to_geodataframe()),
    ],
)
def test_without_pandas_the_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, module: str, ask: Callable[[Any], Any]
) -> None:
    r = sssp.shortest_paths(town(), 0, predecessors=True)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(sssp.MissingExtraError, match=rf'{module} .* pip install "sssp\[geo\]"'):
        ask(r)


# -- trips and values of vertices --------------------------------------------------------------


def test_trips_are_lines() -> None:
    shapely = pytest.importorskip("shapely")
    pytest.importorskip("geopandas")
    g = town()
    trips = sssp.pairs(g, [0, 0, 3, 2, 0], [2, 5, 3, 0, 2], predecessors=True)
    lines = trips.to_geodataframe()
    assert lines.crs == "EPSG:4326"
    assert rows_of(lines.drop(columns="geometry")) == rows_of(trips.to_dataframe())
    assert lines.geometry.isna().tolist() == (~trips.reached).tolist()
    for i, line in enumerate(lines.geometry):
        if line is not None:
            path = trips.path(i)
            places: Any = g.coordinates
            points = places[path if path.size > 1 else np.repeat(path, 2)]
            assert shapely.get_coordinates(line).tolist() == points.tolist()
    none = sssp.pairs(g, [], [], predecessors=True).to_geodataframe()
    assert len(none) == 0
    with pytest.raises(ValueError, match="this needs paths"):
        sssp.pairs(g, 0, 2).to_geodataframe()
    bare = sssp.Graph.from_arcs([0], [1], [1])
    with pytest.raises(ValueError, match="no coordinates"):
        sssp.pairs(bare, 0, 1, predecessors=True).to_geodataframe()


@pytest.mark.parametrize("labels", KINDS_OF_LABELS.values(), ids=KINDS_OF_LABELS)
def test_values_stand_beside_own_ids(labels: Any) -> None:
    pytest.importorskip("pandas")
    g = town(labels=labels)
    own = list(range(6)) if labels is None else labels
    table = g.to_dataframe(sssp.betweenness(g))
    assert list(table) == ["vertex", "value"]
    assert table["vertex"].tolist() == own
    some = g.to_dataframe({"reached": [1, 2], "km": [0.5, 0.25]}, [4, 1])
    assert rows_of(some) == [(own[4], 1, 0.5), (own[1], 2, 0.25)]
    assert rows_of(g.to_dataframe([7], 3)) == [(own[3], 7)]


@pytest.mark.parametrize(
    ("values", "vertices", "error", "message"),
    [
        ([1, 2], None, ValueError, r"value has shape \(2,\), and there are 6 vertices"),
        ([[1, 2]], [0], ValueError, r"value has shape \(1, 2\)"),
        ([1], [6], sssp.VertexError, "6 is not a vertex of this graph"),
        ([1], ["inn"], TypeError, r"g\.vertices\(ids\) makes them"),
    ],
)
def test_values_of_no_vertices_are_refused(
    values: Any, vertices: Any, error: Any, message: str
) -> None:
    pytest.importorskip("pandas")
    with pytest.raises(error, match=message):
        town().to_dataframe(values, vertices)
