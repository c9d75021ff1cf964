"""Files with right checksums and wrong content: refused, never believed, never another error."""

from __future__ import annotations

import json
import math
import random
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sssp.errors import GraphFormatError
from sssp.graph.graph import Graph
from sssp.graph.reading import read_graph
from sssp.loaders import read_arrays
from tests.loaders.test_container import write_container
from tests.test_graph import assert_same, weight_of

Arrays = dict[str, Any]


def write(path: Path, meta: Any, arrays: Arrays, version: int = 2) -> None:
    """Write a file by other means than the package, with right checksums."""
    table, data = [], b""
    for name, array in arrays.items():
        gap = bytes(-len(data) % 64)
        raw = np.ascontiguousarray(array).tobytes()
        entry = {"name": name, "dtype": array.dtype.str, "shape": list(array.shape)}
        entry |= {"offset": len(data) + len(gap), "checksum": zlib.crc32(gap + raw)}
        table.append(entry)
        data += gap + raw
    header = json.dumps({"meta": meta, "arrays": table}).encode()
    write_container(path, header.ljust(-(-(32 + len(header)) // 64) * 64 - 32), data, version)


def content_of(g: Graph, path: Path) -> tuple[dict[str, Any], Arrays]:
    g.save(path)
    meta, arrays = read_arrays(path)
    return meta, {name: np.array(array) for name, array in arrays.items()}


GRAPHS = {
    "parallel": Graph.from_arcs(
        [0, 0, 1, 2, 2], [1, 1, 2, 0, 2], [5, 6, 7, 8, 3], n=4, labels=[1, 2, 3, 4]
    ),
    "undirected": Graph.from_arcs(
        [0, 1, 2, 2], [1, 2, 0, 2], [5, 7, 8, -3], directed=False, labels=list("xyz")
    ),
    "floats": Graph.from_arcs(
        [0, 1, 2], [1, 2, 0], [1.5, math.inf, 2.5], labels=[7, 3, 9], coordinates=np.ones((3, 2))
    ),
    "closed": Graph.from_arcs([0, 1, 2], [1, 2, 0], [1, math.inf, 2**40], directed=False),
    "empty": Graph.from_arcs([], [], [], n=2),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_what_is_written_by_other_means_is_read_all_the_same(name: str, tmp_path: Path) -> None:
    g, path = GRAPHS[name], tmp_path / "g.sssp"
    meta, arrays = content_of(g, path)
    write(path, meta, arrays)
    assert_same(read_graph(path), g)


def int32(*numbers: int) -> Any:
    return np.array(numbers, np.int32)


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("parallel", {"weights": np.array([math.nan, 1, 2])}, "NaN"),
        ("parallel", {"weights": np.array([-math.inf, 1, 2])}, "NaN, minus infinity"),
        ("parallel", {"weights": np.array([-0.0, 1, 2])}, "minus zero"),
        ("parallel", {"weights": np.array([math.inf, 1, 2])}, "closed_arcs"),
        ("parallel", {"indices": int32(1, 2, 4)}, "not a vertex"),
        ("parallel", {"indices": int32(1, -2, 0)}, "not a vertex"),
        ("parallel", {"indptr": np.array([0, 2, 2, 3, 3]), "indices": int32(1, 1, 0)}, "order"),
        ("parallel", {"indptr": np.array([0, 2, 2, 3, 3]), "indices": int32(2, 1, 0)}, "order"),
        ("parallel", {"indptr": np.array([0, 5, 2, 3, 3])}, "indptr"),
        ("parallel", {"indptr": np.array([0, -1, 2, 3, 3])}, "indptr"),
        ("parallel", {"indptr": np.array([1, 1, 2, 3, 3])}, "indptr"),
        ("parallel", {"arc_origin": int32(0, 2, 5)}, "arc_origin"),
        ("parallel", {"arc_origin": int32(0, -1, 3)}, "arc_origin"),
        ("parallel", {"arc_origin": int32(0, 0, 3)}, "row_arc does not lead back"),
        ("parallel", {"row_arc": int32(0, 0, 1, 3, -1)}, "row_arc names an arc"),
        ("parallel", {"row_arc": int32(0, 0, 1, 2, -2)}, "row_arc names an arc"),
        ("parallel", {"row_arc": int32(0, 0, 1, 2)}, "row_arc has another shape"),
        ("parallel", {"row_arc": np.zeros(5)}, "row_arc has another shape"),
        ("parallel", {"input_arcs": 2**63}, "input_arcs"),
        ("parallel", {"input_arcs": 10**4000}, "input_arcs"),
        ("parallel", {"parallel_arcs": -1}, "parallel_arcs"),
        ("parallel", {"self_loops": True}, "self_loops"),
        ("parallel", {"closed_arcs": 1}, "closed_arcs"),
        ("parallel", {"closed_arcs": [0]}, "closed_arcs"),
        ("parallel", {"first_label": 2**63}, "labels"),
        ("parallel", {"first_label": 2**63 - 4}, "labels"),
        ("parallel", {"first_label": -(2**63) - 1}, "labels"),
        ("parallel", {"first_label": True}, "labels"),
        ("parallel", {"labels": np.array([1, 2, 3, 4])}, "labels"),
        ("parallel", {"directed": False}, "both ways"),
        ("parallel", {"kind": ["graph"]}, "holds no graph"),
        ("undirected", {"weights": int32(5, 8, 5, 7, 8, 7, -4)}, None),
        ("undirected", {"weights": int32(5, 8, 5, 7, 8, 6, -4)}, "both ways"),
        ("undirected", {"arc_origin": int32(0, 2, 1, 1, 2, 1, 3)}, "row_arc|both ways"),
        ("undirected", {"labels": np.array(["x", "y", "x"])}, "'x' stands for more than one"),
        ("undirected", {"labels": np.array(["x", "y"])}, "labels"),
        ("undirected", {"labels": np.array([[0x110000], [1], [2]], "<u4").view("<U1")[:, 0]}, "U1"),
        ("floats", {"labels": np.array([7, 3, 7])}, "7 stands for more than one"),
        ("floats", {"labels": int32(7, 3, 9)}, "labels"),
        ("floats", {"coordinates": np.full((3, 2), math.nan)}, "coordinates"),
        ("floats", {"coordinates": np.full((3, 2), math.inf)}, "coordinates"),
        ("floats", {"coordinates": np.ones((2, 3))}, "coordinates"),
        ("closed", {"closed_arcs": 0}, "closed_arcs"),
    ],
)
def test_a_graph_that_no_code_would_write_is_refused(
    name: str, changes: dict[str, Any], message: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "g.sssp"
    meta, arrays = content_of(GRAPHS[name], path)
    for key, value in changes.items():
        (arrays if isinstance(value, np.ndarray) else meta)[key] = value
    write(path, meta, arrays)
    if message is None:
        assert read_graph(path).least_weight == -4
        return
    with pytest.raises(GraphFormatError, match=message) as caught:
        read_graph(path)
    assert caught.value.path == str(path)


DEEP = 100_000


@pytest.mark.parametrize(
    "header",
    [
        b'{"meta": [], "arrays": []}',
        b'{"meta": null, "arrays": []}',
        b'{"meta": {"kind": "graph"}, "arrays": {}}',
        b'{"meta": {}, "arrays": [[]]}',
        b'{"meta": {}, "arrays": [null]}',
        b"[" * DEEP + b"]" * DEEP,
        b'{"meta": {"kind": ' + b"[" * DEEP + b"]" * DEEP + b'}, "arrays": []}',
        b'{"meta": {"kind": ' + b"[" * 900 + b"]" * 900 + b'}, "arrays": []}',
        b'{"meta": {"kind": "graph", "input_arcs": ' + b"9" * 5000 + b'}, "arrays": []}',
        b'{"meta": {"kind": "graph", "directed": NaN}, "arrays": []}',
        b'{"meta": {"kind": "\\ud800"}, "arrays": []}',
        b'{"meta": {}, "arrays": [{"name": "a", "dtype": "<U999999999999", "shape": [0],'
        b' "offset": 0, "checksum": 0}]}',
        b'{"meta": {}, "arrays": [{"name": "a", "dtype": "<i4", "shape": [0, 1e999],'
        b' "offset": 0, "checksum": 0}]}',
        b'{"meta": {}, "arrays": [{"name": "a", "dtype": "<i4", "shape": [0],'
        b' "offset": 0, "checksum": 0}, {"name": "a", "dtype": "<i4", "shape": [0],'
        b' "offset": 0, "checksum": 0}]}',
    ],
)
def test_a_header_that_no_code_would_write_is_refused(header: bytes, tmp_path: Path) -> None:
    path = tmp_path / "g.sssp"
    write_container(path, header)
    with pytest.raises(GraphFormatError):
        read_graph(path)


# -- files of older releases -------------------------------------------------------------------


def write_as_before(g: Graph, path: Path, **changes: Any) -> None:
    """Write what the first release wrote: version 1, no rows and no word of closed arcs."""
    meta, arrays = content_of(g, path)
    del meta["closed_arcs"]
    arrays.pop("row_arc", None)
    write(path, meta, arrays | changes, version=1)


@pytest.mark.parametrize("name", ["parallel", "undirected", "empty"])
def test_a_file_of_the_first_release_is_read(name: str, tmp_path: Path) -> None:
    path = tmp_path / "g.sssp"
    write_as_before(GRAPHS[name], path)
    g = read_graph(path)
    assert weight_of(g) == weight_of(GRAPHS[name])
    assert g.with_weights(np.arange(g.m)).weights.tolist() == list(range(g.m))


@pytest.mark.parametrize("name", ["parallel", "undirected"])
def test_a_file_of_the_first_release_does_not_know_its_rows_and_says_so(
    name: str, tmp_path: Path
) -> None:
    path = tmp_path / "g.sssp"
    write_as_before(GRAPHS[name], path)
    g = read_graph(path)
    for graph in (g, g.reverse(), g.largest_component()):
        with pytest.raises(GraphFormatError, match="older release"):
            _ = graph.row_arc
        with pytest.raises(GraphFormatError, match="older release"):
            graph.with_weights(rows=np.ones(graph.input_arcs))
    g.save(path)
    with pytest.raises(GraphFormatError, match="older release"):
        _ = read_graph(path).row_arc


def test_rows_are_told_from_a_file_of_the_first_release_where_none_were_parallel(
    tmp_path: Path,
) -> None:
    g, path = Graph.from_arcs([2, 0, 1, 1], [0, 1, 2, 1], [7, 8, 9, 0]), tmp_path / "g.sssp"
    write_as_before(g, path)
    assert read_graph(path).row_arc.tolist() == g.row_arc.tolist() == [2, 0, 1, -1]
    # made directed by unequal weights: its rows stand for two arcs each
    uneven = Graph.from_arcs([0], [1], [5], directed=False).with_weights([5, 6])
    write_as_before(uneven, path)
    with pytest.raises(GraphFormatError, match="older release"):
        _ = read_graph(path).row_arc


def test_the_greatest_int32_in_a_file_of_the_first_release_is_a_weight(tmp_path: Path) -> None:
    g, path = Graph.from_arcs([0, 1], [1, 0], [5, 6]), tmp_path / "g.sssp"
    write_as_before(g, path, weights=int32(5, 2**31 - 1))
    back = read_graph(path)
    assert (str(back.weights.dtype), back.weights.tolist()) == ("int64", [5, 2**31 - 1])
    assert back.closed_arcs == 0


# -- anything ----------------------------------------------------------------------------------

ODD_VALUES: list[Any] = [
    None,
    True,
    -1,
    0,
    3,
    2**31,
    2**63,
    2**70,
    1.5,
    "",
    "graph",
    [],
    {},
    [1],
    {"a": []},
]
ODD_INTEGERS = [0, 1, -1, 2, 3, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63)]
ODD_FLOATS = [0.0, -0.0, math.nan, math.inf, -math.inf, -1.0, 1e308, 5e-324]


def mutate(draw: random.Random, meta: dict[str, Any], arrays: Arrays) -> None:
    """Change something, by force."""
    name = draw.choice([*arrays, "labels", "row_arc"])
    array = arrays.get(name, np.zeros(draw.randrange(6), np.int64))
    kind = draw.randrange(7)
    if kind == 0:
        meta[draw.choice([*meta, "first_label"])] = draw.choice(ODD_VALUES)
    elif kind == 1:
        meta.pop(draw.choice([*meta]), None)
    elif kind == 2:
        arrays.pop(name, None)
    elif kind == 3:
        arrays[name] = draw.choice([array[:-1], array[::-1], array[None], np.repeat(array, 2)])
    elif kind == 4 and array.dtype.kind in "if":
        with np.errstate(invalid="ignore"):
            arrays[name] = array.astype(draw.choice(["<i4", "<i8", "<f8", "<f4", "|b1"]))
    elif array.size and array.dtype.kind in "ifU":
        flat = arrays[name] = array.copy()
        place = draw.randrange(flat.size)
        if flat.dtype.kind == "f":
            flat.flat[place] = draw.choice(ODD_FLOATS)
        elif flat.dtype.kind == "i":
            limits = np.iinfo(flat.dtype)
            number = draw.choice(ODD_INTEGERS)
            flat.flat[place] = min(max(number, limits.min), limits.max)
        else:
            flat.view("<u4")[place] = draw.choice([0, 120, 0xD800, 0x110000])


def assert_sound(g: Graph) -> None:
    """Check what solvers rely on, and that what is made from the graph can be made."""
    pairs = list(weight_of(g))
    assert pairs == sorted(set(pairs))
    assert all(0 <= v < g.n for pair in pairs for v in pair)
    assert not np.isnan(g.weights).any()
    assert ((g.arc_origin >= 0) & (g.arc_origin < g.input_arcs)).all()
    if not g.directed:
        assert weight_of(g) == {(h, t): w for (t, h), w in weight_of(g).items()}
    if g.labels is not None:
        assert g.vertices(g.labels).tolist() == list(range(g.n))
    assert repr(g)
    assert g.reverse().largest_component("weak").without_closed_arcs().n <= g.n
    assert g.with_weights(g.weights).closed_arcs == g.closed_arcs
    if g.input_arcs < 100:
        with suppress(GraphFormatError):  # the file may lack the array
            assert g.with_weights(rows=np.arange(g.row_arc.size)).m == g.m


@pytest.mark.parametrize("seed", range(5))
def test_a_file_mutated_at_random_is_refused_or_sound(seed: int, tmp_path: Path) -> None:
    draw, path = random.Random(seed), tmp_path / "g.sssp"
    contents = [content_of(g, path) for g in GRAPHS.values()]
    refused = 0
    for _ in range(120):
        meta, arrays = (dict(part) for part in draw.choice(contents))
        for _ in range(draw.choice([1, 1, 2])):
            mutate(draw, meta, arrays)
        write(path, meta, arrays)
        try:
            g = read_graph(path)
        except GraphFormatError:
            refused += 1
        else:
            assert_sound(g)
    assert 50 < refused < 120
