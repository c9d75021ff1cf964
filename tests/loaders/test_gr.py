from __future__ import annotations

import bz2
import gzip
import io
import lzma
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sssp.datasets import REFERENCE, find
from sssp.errors import GraphFormatError, VertexError
from sssp.loaders import ArcList, _dimacs, _dimacs_records, _files, read_gr, write_arrays, write_gr
from sssp.loaders._dimacs import arcs_in

COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
}
SMALL = b"c a comment\np sp 3 4\na 1 2 7\na 2 3 5\nc another\na 3 1 4\na 1 3 9\n"
SMALL_ARCS = [(0, 1, 7), (1, 2, 5), (2, 0, 4), (0, 2, 9)]
INT64_MAX = 2**63 - 1


def read_in_chunks(path: Path, chunk_bytes: int) -> ArcList:
    with _files.decompressed(path) as stream:
        return arcs_in(stream, path, chunk_bytes)


def arcs_of(graph: ArcList) -> list[tuple[int, int, int]]:
    return list(
        zip(graph.tails.tolist(), graph.heads.tolist(), graph.weights.tolist(), strict=True)
    )


@pytest.fixture
def graph_file(tmp_path: Path) -> Callable[[bytes], Path]:
    def write(content: bytes, name: str = "graph.gr") -> Path:
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


def test_reads_arcs_as_they_stand_and_counts_from_zero(graph_file):
    graph = read_gr(graph_file(SMALL))
    assert graph.n == 3
    assert arcs_of(graph) == SMALL_ARCS
    assert graph.tails.dtype == graph.heads.dtype == graph.weights.dtype == np.int32


@pytest.mark.parametrize(
    "text",
    [
        SMALL.replace(b"\n", b"\r\n"),
        SMALL.rstrip(b"\n"),
        SMALL.replace(b" ", b"\t"),
        SMALL.replace(b" ", b"  \t ").replace(b"\n", b" \t\n  "),
        b"\n\n" + SMALL.replace(b"\n", b"\n \n\r\n") + b"\n",
        b"cc\nc\ncomment without a blank\n" + SMALL,
        SMALL.replace(b"7", b"+7").replace(b"9", b"0000000000000000000000000000009"),
    ],
    ids=[
        "CRLF",
        "no-newline-at-end",
        "tabs",
        "blanks",
        "blank-lines",
        "comments",
        "digits",
    ],
)
def test_every_allowed_way_of_writing_reads_the_same(graph_file, text):
    assert arcs_of(read_gr(graph_file(text))) == SMALL_ARCS


@pytest.mark.parametrize("text", [b"p sp 0 0\n", b"p sp 5 0", b"c\np sp 5 0\nc end\n"])
def test_a_graph_may_have_no_arcs_and_no_vertices(graph_file, text):
    graph = read_gr(graph_file(text))
    assert graph.n == int(text.split(b"sp")[1].split()[0])
    assert graph.tails.size == graph.heads.size == graph.weights.size == 0


@pytest.mark.parametrize(
    ("weights", "dtype"),
    [
        ([-5, 0, 5], np.int32),
        ([2**31 - 1, -(2**31), 0], np.int32),
        ([1, 2**31, 2], np.int64),
        ([1, 2, -(2**31) - 1], np.int64),
        ([INT64_MAX, -INT64_MAX - 1, 10**18 - 1], np.int64),
    ],
)
def test_weights_are_int32_if_all_fit_and_int64_otherwise(graph_file, weights, dtype):
    lines = [b"a 1 2 %d\n" % weight for weight in weights]
    graph = read_gr(graph_file(b"p sp 2 %d\n" % len(lines) + b"".join(lines)))
    assert graph.weights.dtype == dtype
    assert graph.weights.tolist() == weights


def test_arrays_grow_and_widen_as_the_arcs_come(graph_file, monkeypatch):
    monkeypatch.setattr(_dimacs, "_FIRST_RECORDS", 2)
    weights = [*range(40), 2**40, *range(50)]
    lines = [b"a %d %d %d\n" % (1 + i, 91 - i, weight) for i, weight in enumerate(weights)]
    path = graph_file(b"p sp 91 91\n" + b"".join(lines))
    assert arcs_of(read_in_chunks(path, 32)) == [(i, 90 - i, w) for i, w in enumerate(weights)]


BAD_TEXTS = {
    "empty": (b"", 1, "the file is empty"),
    "only comments": (b"c one\nc two\n", 2, "ends without a problem line"),
    "only blank lines": (b"\n\n\n", 3, "ends without a problem line"),
    "second problem line": (b"p sp 2 1\na 1 2 3\np sp 2 1\n", 3, "the first is line 1"),
    "problem line of another kind": (b"c\np tsp 2 1\na 1 2 3\n", 2, "is 'p sp n m'"),
    "problem line alone": (b"p\n", 1, "is 'p sp n m'"),
    "problem line glued": (b"psp 2 1\n", 1, "unknown line"),
    "problem line with a count missing": (b"p sp 2\na 1 2 3\n", 1, "1 counts instead of 2"),
    "problem line with a count too many": (b"p sp 2 1 1\na 1 2 3\n", 1, "3 counts instead of 2"),
    "count that is not a number": (b"p sp two 1\n", 1, "n is not a number"),
    "count that is not an integer": (b"p sp 2 1e3\n", 1, "m is not an integer"),
    "negative n": (b"p sp -2 1\n", 1, "n is negative"),
    "negative m": (b"p sp 2 -1\n", 1, "m is negative"),
    "n over int32": (b"p sp 2147483648 1\n", 1, "the most vertices there can be"),
    "m over int64": (b"p sp 2 9223372036854775808\n", 1, "m does not fit int64"),
    "arc before problem line": (b"c\n\na 1 2 3\np sp 2 1\n", 3, "an arc before the problem line"),
    "unknown line": (b"p sp 2 1\ne 1 2 3\n", 2, "unknown line"),
    "numbers without a letter": (b"p sp 2 1\n1 2 3\n", 2, "unknown line"),
    "letter without a blank": (b"p sp 2 1\na1 2 3\n", 2, "unknown line"),
    "tail that is not a number": (b"p sp 2 1\na x 2 3\n", 2, "tail is not a number"),
    "head with a letter in it": (b"p sp 2 1\na 1 2x 3\n", 2, "head is not a number"),
    "weight of words": (b"p sp 2 1\na 1 2 inf\n", 2, "weight is not a number"),
    "weight with a point": (b"p sp 2 1\na 1 2 3.5\n", 2, "weight is not an integer"),
    "weight with underscores": (b"p sp 2 1\na 1 2 1_000\n", 2, "weight is not a number"),
    "weight of foreign digits": ("p sp 2 1\na 1 2 \u0663\n".encode(), 2, "weight is not a number"),
    "minus alone": (b"p sp 2 1\na 1 2 -\n", 2, "weight is not a number"),
    "minus twice": (b"p sp 2 1\na 1 2 --3\n", 2, "weight is not a number"),
    "no fields": (b"p sp 2 1\na\n", 2, "0 fields instead of 3"),
    "missing field": (b"p sp 2 2\na 1 2 3\na 1 2\n", 3, "2 fields instead of 3"),
    "missing field before the next line": (b"p sp 2 2\na 1 2 \na 1 2 3\n", 2, "2 fields"),
    "extra field": (b"p sp 2 1\na 1 2 3 4\n", 2, "4 fields instead of 3"),
    "tail zero": (b"p sp 2 1\na 0 2 3\n", 2, "tail 0 is not a vertex: vertices are 1 to 2"),
    "head over n": (b"p sp 2 1\na 1 3 3\n", 2, "head 3 is not a vertex"),
    "negative vertex": (b"p sp 2 1\na 1 -2 3\n", 2, "head -2 is not a vertex"),
    "vertex over int32": (b"p sp 2 1\na 4294967297 2 3\n", 2, "tail 4294967297 is not a vertex"),
    "vertex over int64": (b"p sp 2 1\na 18446744073709551617 2 3\n", 2, "tail does not fit int64"),
    "arc in a graph without vertices": (b"p sp 0 1\na 1 1 1\n", 2, "tail 1 is not a vertex"),
    "weight over int64": (b"p sp 2 1\na 1 2 9223372036854775808\n", 2, "weight does not fit int64"),
    "weight under int64": (b"p sp 2 1\na 1 2 -9223372036854775809\n", 2, "weight does not fit"),
    "weight of 5000 digits": (b"p sp 2 1\na 1 2 " + b"9" * 5000, 2, "weight does not fit int64"),
    "more arcs": (b"p sp 2 1\na 1 2 3\nc\na 2 1 3\n", 4, "too many: line 1 announces 1"),
    "fewer arcs": (b"c\np sp 2 3\na 1 2 3\na 2 1 3\n", 2, "ends after 2 of 3"),
    "absurd number of arcs": (b"p sp 2 9000000000000000000\na 1 2 3\n", 1, "ends after 1 of 9000"),
    "binary rubbish": (b"p sp 2 1\na 1 2 3\n\x01\x02\xff\n", 3, "unknown line"),
}


def shown(line: bytes) -> str:
    text = line.decode(errors="replace").strip()
    text = "".join(c if c.isprintable() or c == "\t" else "\ufffd" for c in text)
    return text if len(text) <= 80 else text[:77] + "..."


@pytest.mark.parametrize("chunk_bytes", [1, 7, 1 << 18])
@pytest.mark.parametrize(("text", "line_number", "reason"), BAD_TEXTS.values(), ids=BAD_TEXTS)
def test_bad_text_is_refused_with_its_line(graph_file, text, line_number, reason, chunk_bytes):
    path = graph_file(text)
    with pytest.raises(GraphFormatError) as caught:
        read_in_chunks(path, chunk_bytes)
    error = caught.value
    assert reason in error.reason
    assert error.path == str(path)
    assert error.line_number == line_number
    assert error.line == (shown(text.split(b"\n")[line_number - 1]) if text else None)


def npz_bytes() -> bytes:
    stream = io.BytesIO()
    np.savez(stream, indptr=np.arange(3))
    return stream.getvalue()


def npy_bytes() -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.arange(3))
    return stream.getvalue()


def zip_bytes() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("graph.gr", SMALL)
    return stream.getvalue()


OTHER_KINDS = {
    "npz": (npz_bytes(), 1, "this is a NumPy .npz file"),
    "npy": (npy_bytes(), 1, "this is a NumPy .npy file"),
    "zip": (zip_bytes(), 1, "this is a ZIP archive"),
    "tar": (b"graph.gr".ljust(257, b"\x00") + b"ustar\x0000".ljust(255, b"\x00"), 1, "a tar"),
    "zstd": (b"\x28\xb5\x2f\xfd\x00\x00", 1, "this is a Zstandard-compressed file"),
    "osm.pbf": (b"\x00\x00\x00\x0d\x0a\x09OSMHeader\x18", 1, "an OpenStreetMap file"),
    "osm": (b'<?xml version="1.0"?>\n<osm/>\n', 1, "this is an OpenStreetMap file"),
    "html": (b"\n<!DOCTYPE HTML>\n<html>\n", 1, "this is an HTML page"),
    "xml": (b'<?xml version="1.0"?>\n<graphml/>\n', 1, "this is an XML file"),
    "matrix market": (b"%%MatrixMarket matrix coordinate\n", 1, "this is a Matrix Market file"),
    "metis": (b"3 2 1\n2 7\n1 7 3 5\n2 5\n", 1, "this is METIS or an edge list"),
    "metis with comments": (b"% road graph\n3 2\n", 1, "this is a METIS"),
    "edge list": (b"# tail head\n0\t1\n", 1, "this is an edge list"),
    "byte order mark": (b"\xef\xbb\xbf" + SMALL, 1, "a byte order mark"),
    "utf-16": (SMALL.decode().encode("utf-16"), 1, "this is UTF-16 text"),
    "other binary": (b"\x00\x01\x02\x03", 1, "this is a binary file"),
    "dimacs col": (b"c\np edge 3 2\ne 1 2\n", 2, "graph-colouring file (.col)"),
    "dimacs max": (b"c\np max 3 2\nn 1 s\n", 2, "maximum-flow file (.max)"),
    "dimacs min": (b"p min 3 2\n", 1, "minimum-cost-flow file (.min)"),
    "co": (b"c\np aux sp co 3\nv 1 5 6\n", 2, "coordinates file (.co)"),
    "p2p": (b"p aux sp p2p 1\nq 1 2\n", 1, "queries (.p2p)"),
}


@pytest.mark.parametrize(
    ("content", "line_number", "reason"), OTHER_KINDS.values(), ids=OTHER_KINDS
)
def test_a_file_of_another_kind_is_refused_by_name(graph_file, content, line_number, reason):
    for written in (content, gzip.compress(content)):
        with pytest.raises(GraphFormatError) as caught:
            read_gr(graph_file(written))
        assert reason in caught.value.reason
        assert caught.value.line_number == line_number


def test_a_binary_graph_given_as_text_is_refused_by_name(tmp_path):
    write_arrays(tmp_path / "graph.gr", {}, {"indptr": np.arange(4)})
    with pytest.raises(GraphFormatError, match=r"this is an \.sssp file"):
        read_gr(tmp_path / "graph.gr")


def test_a_line_without_an_end_is_refused_before_it_fills_the_memory(graph_file):
    with pytest.raises(GraphFormatError, match="a line this long") as caught:
        read_gr(graph_file(SMALL + b"c" * 5_000_000))
    assert caught.value.line_number == SMALL.count(b"\n") + 1


def test_a_long_comment_is_read_over(graph_file):
    text = SMALL.replace(b"c another", b"c" + b"x" * 700_000)
    assert arcs_of(read_gr(graph_file(text))) == SMALL_ARCS


def test_a_missing_file_is_a_file_not_found_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_gr(tmp_path / "nowhere.gr")


# What stands between, before and after the fields and lines of a well-formed file.
blanks = st.sampled_from([b" ", b" ", b"\t", b"  ", b" \t "])
margins = st.sampled_from([b"", b"", b"", b" ", b"\t"])
line_ends = st.sampled_from([b"\n", b"\n", b"\r\n", b" \n"])
fillers = st.sampled_from([b"", b"", b"", b"\n", b"c\n", b"c a 1 2 3\r\n", b" \t\n"])
weights = st.integers(-INT64_MAX - 1, INT64_MAX) | st.integers(-9, 9)


@st.composite
def written_graphs(draw: Any) -> tuple[int, list[tuple[int, int, int]], bytes]:
    n = draw(st.integers(1, 2**31 - 1))
    vertices = st.integers(1, n)
    arcs = draw(st.lists(st.tuples(vertices, vertices, weights), max_size=8))
    text = b""
    for words in [(b"p", b"sp", n, len(arcs)), *((b"a", *arc) for arc in arcs)]:
        text += draw(fillers) + draw(margins)
        text += draw(blanks).join(
            word if isinstance(word, bytes) else b"%d" % word for word in words
        )
        text += draw(line_ends)
    return n, arcs, text if draw(st.booleans()) else text.rstrip()


@given(written_graphs(), st.integers(1, 40))
def test_what_was_written_is_read_whatever_the_chunks(tmp_path_factory, written, chunk_bytes):
    n, arcs, text = written
    path = tmp_path_factory.getbasetemp() / "written.gr"
    path.write_bytes(text)
    graph = read_in_chunks(path, chunk_bytes)
    assert graph.n == n
    assert arcs_of(graph) == [(tail - 1, head - 1, weight) for tail, head, weight in arcs]


def outcome(path: Path, chunk_bytes: int) -> Any:
    try:
        graph = read_in_chunks(path, chunk_bytes)
    except GraphFormatError as error:
        return error.reason, error.line_number, error.line
    return graph.n, arcs_of(graph)


lines = st.text(alphabet="aacp 0123\t-+.x\r\x0b", max_size=9).map(str.encode)
arc_lines = st.sampled_from([b"a 1 2 3", b"a 3 3 -1", b"a 1 2 123456789012345678901"])


@given(st.lists(lines | arc_lines, max_size=6), st.integers(1, 30))
def test_the_kernel_and_plain_python_agree_on_any_text(tmp_path_factory, body, chunk_bytes):
    path = tmp_path_factory.getbasetemp() / "any.gr"
    path.write_bytes(b"\n".join([b"p sp 3 2", *body]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_dimacs_records, "_records_kernel", lambda text, begin, *_: (begin, 0, 0))
        expected = outcome(path, 1 << 18)
    assert outcome(path, 1 << 18) == expected
    assert outcome(path, chunk_bytes) == expected


@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_compression_is_told_by_content_whatever_the_name(graph_file, suffix):
    compressed = COMPRESSIONS[suffix](SMALL)
    assert arcs_of(read_gr(graph_file(compressed, "graph.gr"))) == SMALL_ARCS
    assert arcs_of(read_gr(graph_file(compressed, "graph.gr" + suffix))) == SMALL_ARCS
    # Files of several members, as `cat` and parallel compressors make them.
    halves = [COMPRESSIONS[suffix](half) for half in (SMALL[:25], SMALL[25:])]
    assert arcs_of(read_gr(graph_file(b"".join(halves)))) == SMALL_ARCS


@pytest.fixture(params=["isal", "zlib"])
def gzip_library(request, monkeypatch):
    if request.param == "isal":
        pytest.importorskip("isal")
    else:
        monkeypatch.setattr(_files, "_gunzip", gzip.GzipFile)


LARGER = b"p sp 900 3000\n" + b"".join(
    b"a %d %d %d\n" % (1 + i * i % 900, 1 + i * 7 % 900, i * i * i) for i in range(3000)
)


@pytest.mark.usefixtures("gzip_library")
@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_a_truncated_stream_is_refused_wherever_it_ends(graph_file, suffix):
    compressed = COMPRESSIONS[suffix](LARGER)
    for kept in [*range(8, len(compressed), len(compressed) // 25), len(compressed) - 1]:
        with pytest.raises(GraphFormatError, match="stream is cut short or corrupt") as caught:
            read_gr(graph_file(compressed[:kept]))
        assert caught.value.line_number is not None
        if caught.value.line_number > 1:
            line = LARGER.split(b"\n")[caught.value.line_number - 1].decode()
            assert caught.value.line is None or line.startswith(caught.value.line)


@pytest.mark.usefixtures("gzip_library")
@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_a_corrupt_stream_never_gives_a_wrong_graph(graph_file, suffix):
    compressed = COMPRESSIONS[suffix](LARGER)
    whole = arcs_of(read_gr(graph_file(LARGER)))
    refused = 0
    positions = range(0, len(compressed), len(compressed) // 60)
    for position in positions:
        damaged = bytearray(compressed)
        damaged[position] ^= 0x10
        try:
            # Some bytes, such as the time in a gzip header, do not matter.
            assert arcs_of(read_gr(graph_file(damaged))) == whole
        except GraphFormatError:
            refused += 1
    assert refused > 0.9 * len(positions)


@pytest.mark.usefixtures("gzip_library")
def test_nonsense_from_a_corrupt_stream_is_called_corruption(graph_file):
    stored = gzip.compress(SMALL, compresslevel=0)
    with pytest.raises(GraphFormatError, match="stream is cut short or corrupt"):
        read_gr(graph_file(stored.replace(b"a 2 3 5", b"x 2 3 5")))


def test_an_error_of_the_disk_is_not_called_a_corrupt_file(graph_file, monkeypatch):
    class BrokenDisk(gzip.GzipFile):
        def readinto1(self, buffer: Any) -> int:
            raise OSError(5, "Input/output error")

    monkeypatch.setattr(_files, "_gunzip", BrokenDisk)
    with pytest.raises(OSError, match="Input/output error"):
        read_gr(graph_file(gzip.compress(SMALL)))


@pytest.mark.parametrize("name", REFERENCE)
def test_real_graphs_have_their_published_counts(name):
    path = find(name)
    if path is None:
        pytest.skip(f"{name} is not on this machine (see data/README.md)")
    graph, known = read_gr(path), REFERENCE[name]
    assert graph.n == known.n
    assert graph.tails.size == graph.heads.size == graph.weights.size == known.arcs_in_file
    assert graph.weights.min() == known.least_weight
    assert graph.weights.max() == known.greatest_weight
    ends = np.concatenate([graph.tails, graph.heads])
    assert ends.min() == 0
    assert ends.max() == known.n - 1


MEMORY_SCRIPT = """
import resource, sys
from sssp.loaders import read_gr
small, large = sys.argv[1:]
read_gr(small)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
graph = read_gr(large)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
size = graph.tails.nbytes + graph.heads.nbytes + graph.weights.nbytes
assert (graph.tails == 0).all() and (graph.heads == 1).all() and (graph.weights == 3).all()
print(1024 * peak / size)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in kilobytes on Linux only")
def test_reading_peaks_at_little_more_than_the_arrays(graph_file):
    arcs = 3_000_000
    large = graph_file(gzip.compress(b"p sp 9 %d\n" % arcs + b"a 1 2 3\n" * arcs, 1), "large.gr.gz")
    small = graph_file(SMALL)
    run = subprocess.run(
        [sys.executable, "-c", MEMORY_SCRIPT, small, large],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    assert float(run.stdout) < 2


@pytest.mark.parametrize("suffix", ["", *COMPRESSIONS])
def test_what_write_gr_writes_read_gr_reads(tmp_path, suffix):
    random = np.random.default_rng(0)
    n, m = 5_000, 70_000
    tails, heads = random.integers(0, n, (2, m))
    values = random.integers(-(2**40), 2**40, m)
    path = tmp_path / f"graph.gr{suffix}"
    write_gr(path, n, tails, heads, values, comments=["made for a test", "two\nlines", ""])
    graph = read_gr(path)
    assert graph.n == n
    np.testing.assert_array_equal(graph.tails, tails)
    np.testing.assert_array_equal(graph.heads, heads)
    np.testing.assert_array_equal(graph.weights, values)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    if not suffix:
        assert path.read_bytes().startswith(
            b"c made for a test\nc two\nc lines\nc\np sp 5000 70000\na "
        )


def test_an_empty_graph_can_be_written(tmp_path):
    write_gr(tmp_path / "empty.gr", 0, [], [], [])
    assert read_gr(tmp_path / "empty.gr").n == 0


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((2, [0], [2], [1]), VertexError, r"heads\[0\] is 2; vertices are 0 to 1"),
        ((2, [0, -1], [1, 1], [1, 1]), VertexError, r"tails\[1\] is -1"),
        ((2, [0], [1], [1.5]), TypeError, "weights holds float64"),
        ((2.0, [0], [1], [1]), TypeError, "float"),
        ((2, [0], [1], [1, 2]), ValueError, "weights has shape"),
        ((-1, [], [], []), ValueError, "n is -1"),
        ((2, [0], [1], np.array([2**63], np.uint64)), ValueError, "does not fit int64"),
    ],
)
def test_write_gr_refuses_what_no_graph_file_can_hold(tmp_path, arguments, error, message):
    path = tmp_path / "graph.gr"
    path.write_bytes(b"old")
    with pytest.raises(error, match=message):
        write_gr(path, *arguments)
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
