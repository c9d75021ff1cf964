from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from sssp.datasets import REFERENCE, find
from sssp.errors import GraphFormatError
from sssp.loaders import read_co, read_p2p, read_ss, write_co

CO = b"c\np aux sp co 3\nv 2 -73530538 41086098\nv 1 -73530767 41085396\nc\nv 3 0 -90000000\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "file"


def test_coordinates_are_degrees_longitude_first_in_order_of_vertex(path):
    path.write_bytes(gzip.compress(CO))
    coordinates = read_co(path, n=3)
    assert coordinates.dtype == np.float64
    assert coordinates.tolist() == [[-73.530767, 41.085396], [-73.530538, 41.086098], [0, -90]]


def test_coordinates_of_no_vertices_are_an_empty_table(path):
    path.write_bytes(b"p aux sp co 0\n")
    assert read_co(path).shape == (0, 2)


@pytest.mark.parametrize(("suffix", "n"), [("", 3), (".gz", 70_000), (".co", 0)])
def test_what_write_co_writes_read_co_reads(tmp_path, suffix, n):
    path = tmp_path / f"file{suffix}"
    units = np.random.default_rng(0).integers(-180_000_000, 180_000_000, (n, 2))
    write_co(path, units / 1e6 + 4e-7, comments=["made for a test"])
    assert np.array_equal(read_co(path, n), units / 1e6)
    assert list(tmp_path.iterdir()) == [path]
    if not suffix:
        assert path.read_bytes().startswith(b"c made for a test\np aux sp co 3\nv 1 ")


@pytest.mark.parametrize("wrong", [[1, 2], [[1, 2, 3]], [[1, np.nan]], [[1e30, 0]]])
def test_write_co_refuses_what_no_coordinates_file_can_hold(path, wrong):
    with pytest.raises(ValueError, match="coordinates"):
        write_co(path, wrong)
    assert not path.exists()


def test_sources_and_queries_are_counted_from_zero(path):
    path.write_bytes(b"c\np aux sp ss 3\ns 17\ns 1\ns 17\n")
    sources = read_ss(path)
    assert sources.dtype == np.int64
    assert sources.tolist() == [16, 0, 16]
    path.write_bytes(b"p aux sp p2p 2\nq 1 5\nq 2147483647 1")
    queries = read_p2p(path)
    assert queries.dtype == np.int64
    assert queries.tolist() == [[0, 4], [2147483646, 0]]
    path.write_bytes(b"p aux sp p2p 0\n")
    assert read_p2p(path).shape == (0, 2)


BAD_FILES = [
    (read_co, b"p sp 3 4\na 1 2 7\n", 1, "this looks like a graph file"),
    (read_co, CO.replace(b"v 3", b"v 2"), 6, "vertex 2 for the second time"),
    (read_co, CO.replace(b"v 3 0 -90000000\n", b""), 2, "ends after 2 of 3"),
    (read_co, CO + b"v 3 1 1\n", 7, "too many"),
    (read_co, CO.replace(b"v 3", b"v 4"), 6, "vertex 4 is not a vertex: vertices are 1 to 3"),
    (read_co, CO.replace(b"v 3 0", b"v 3 0.5"), 6, "x is not an integer"),
    (read_co, CO.replace(b"v 3 0", b"v 3"), 6, "2 fields instead of 3"),
    (read_co, b"p aux sp co 2147483647\nv 1 2 3\n", 1, "ends after 1 of 2147483647"),
    (read_co, b"", 1, "empty"),
    (read_ss, b"p aux sp p2p 1\nq 1 2\n", 1, "a file of queries (.p2p)"),
    (read_ss, b"p aux sp ss\ns 1\n", 1, "0 counts instead of 1"),
    (read_ss, b"p aux sp ss 1\ns 0\n", 2, "source 0 is not a vertex"),
    (read_ss, b"p aux sp ss 1\ns 2147483648\n", 2, "source 2147483648 is not a vertex"),
    (read_ss, b"p aux sp ss 2\ns 1\n", 1, "ends after 1 of 2"),
    (read_ss, b"c\ns 1\n", 2, "a source before the problem line 'p aux sp ss k'"),
    (read_p2p, b"p aux sp ss 1\ns 1\n", 1, "a file of sources (.ss)"),
    (read_p2p, b"p aux sp p2p 1\nq 1\n", 2, "1 fields instead of 2: it must be 'q source target'"),
    (read_p2p, b"p aux sp p2p 1\nq 1 -2\n", 2, "target -2 is not a vertex"),
    (read_p2p, b"p aux sp p2p 1\nq 1 2\nq 2 1\n", 3, "line 1 announces 1"),
]


@pytest.mark.parametrize(("read", "content", "line_number", "reason"), BAD_FILES)
def test_bad_files_are_refused_with_their_line(path, read, content, line_number, reason):
    path.write_bytes(content)
    with pytest.raises(GraphFormatError) as caught:
        read(path)
    error = caught.value
    assert reason in error.reason
    assert error.path == str(path)
    assert error.line_number == line_number
    lines = content.decode().splitlines()
    assert error.line == (lines[line_number - 1] if lines else None)


def test_coordinates_of_another_graph_are_refused(path):
    path.write_bytes(CO)
    with pytest.raises(GraphFormatError, match="coordinates of 3 vertices for a graph of 4") as e:
        read_co(path, n=4)
    assert (e.value.line_number, e.value.line) == (2, "p aux sp co 3")


def test_new_york_lies_where_it_should():
    path = find("USA-road-d.NY.co")
    if path is None:
        pytest.skip("USA-road-d.NY.co is not on this machine (see data/README.md)")
    coordinates = read_co(path, n=REFERENCE["USA-road-d.NY"].n)
    assert coordinates[0].tolist() == [-73.530767, 41.085396]
    assert (coordinates.min(axis=0) > [-75, 40]).all()
    assert (coordinates.max(axis=0) < [-73, 42]).all()
