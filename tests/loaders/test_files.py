"""Pipes, devices, compressed bombs, and files that are replaced."""

from __future__ import annotations

import bz2
import gzip
import os
import stat
import struct
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sssp.errors import GraphFormatError
from sssp.graph.graph import Graph
from sssp.graph.reading import read_graph
from sssp.loaders import _files, read_arrays, read_co, read_gr, write_arrays, write_gr
from tests.test_graph import assert_same

TEXT = b"c streets\np sp 3 4\na 1 2 7\na 1 2 5\na 2 3 4\na 3 1 9\n"
COORDINATES = b"p aux sp co 3\nv 1 -73500000 41000000\nv 2 0 0\nv 3 1 2\n"

needs_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
needs_locks = pytest.mark.skipif(find_spec("fcntl") is None, reason="no file locks here")


@contextmanager
def piped(content: bytes, first: int = 1) -> Iterator[str]:
    """Send content through a pipe, the first bytes alone; the name is that of a shell's <(...)."""
    reading, writing = os.pipe()

    def send() -> None:
        with open(writing, "wb", buffering=0) as stream:
            stream.write(content[:first])
            stream.write(content[first:])

    sender = threading.Thread(target=send)
    sender.start()
    try:
        yield f"/dev/fd/{reading}"
    finally:
        os.close(reading)
        sender.join()


@contextmanager
def named_pipe(path: Path, content: bytes) -> Iterator[Path]:
    """Send content, once, to whoever opens a named pipe."""
    os.mkfifo(path)
    sender = threading.Thread(target=path.write_bytes, args=(content,))
    sender.start()
    yield path
    sender.join()


# -- pipes -------------------------------------------------------------------------------------


@needs_pipes
@pytest.mark.parametrize("compress", [bytes, gzip.compress, bz2.compress])
@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("first", [0, 1, 7])
def test_a_graph_comes_through_a_pipe(
    compress: Callable[[bytes], bytes], binary: bool, first: int, tmp_path: Path
) -> None:
    path, places = tmp_path / "graph", tmp_path / "places"
    path.write_bytes(TEXT)
    places.write_bytes(COORDINATES)
    expected = read_graph(path, coordinates=places)
    if binary:
        read_graph(path).save(path)
    content = compress(path.read_bytes())
    path.write_bytes(content)
    assert_same(read_graph(path, coordinates=places), expected)
    with piped(content, first) as name, piped(compress(COORDINATES), first) as other:
        assert_same(read_graph(name, coordinates=other), expected)
    with named_pipe(tmp_path / "pipe", content) as sent:
        assert_same(read_graph(sent, coordinates=places), expected)


@needs_pipes
def test_a_large_graph_comes_through_a_pipe(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    tails, heads, weights = random.integers(0, 1000, (3, 60_000))
    write_gr(tmp_path / "g.gr", 1000, tails, heads, weights)
    g = read_graph(tmp_path / "g.gr")
    g.save(tmp_path / "g.sssp")
    for name in ("g.gr", "g.sssp"):
        with piped((tmp_path / name).read_bytes()) as pipe:
            assert_same(read_graph(pipe), g)


@needs_pipes
@pytest.mark.parametrize("content", [b"", b"p sp 2 1\na 1 x 3\n", b"\x1f\x8b", b"\x89SS"])
def test_what_is_wrong_in_a_pipe_is_refused_like_in_a_file(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(content)
    errors = []
    with piped(content) as pipe:
        for path in (pipe, tmp_path / "file"):
            with pytest.raises(GraphFormatError) as caught:
                read_graph(path)
            errors.append((caught.value.reason, caught.value.line_number, caught.value.line))
    assert errors[0] == errors[1]


@needs_pipes
def test_an_error_in_a_pipe_does_not_open_it_again(tmp_path: Path) -> None:
    twice = COORDINATES.replace(b"v 3", b"v 2")
    with (
        named_pipe(tmp_path / "pipe", twice) as pipe,
        pytest.raises(GraphFormatError, match="vertex 2 for the second time") as caught,
    ):
        read_co(pipe)
    assert (caught.value.path, caught.value.line_number) == (str(pipe), None)


@needs_pipes
@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_an_sssp_stream_that_is_cut_or_goes_on_is_refused(
    compress: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    path = tmp_path / "g.sssp"
    write_arrays(path, {"a": 1}, {"x": np.arange(20)})
    content = path.read_bytes()
    for kept in range(0, len(content), 13):
        with (
            piped(compress(content[:kept])) as pipe,
            pytest.raises(GraphFormatError, match="cut short" if kept else "empty"),
        ):
            read_arrays(pipe)
    with piped(compress(content + b"\0")) as pipe, pytest.raises(GraphFormatError, match="goes on"):
        read_arrays(pipe)
    with piped(compress(content)) as pipe:
        assert read_arrays(pipe)[1]["x"].tolist() == list(range(20))


@pytest.mark.parametrize("keep", [0.5, 0.9])
def test_a_compressed_sssp_file_that_is_cut_is_refused(keep: float, tmp_path: Path) -> None:
    path = tmp_path / "g.sssp.gz"
    write_arrays(path, {}, {"x": np.random.default_rng(0).integers(0, 99, 5000)})
    compressed = gzip.compress(path.read_bytes())
    path.write_bytes(compressed[: int(keep * len(compressed))])
    with pytest.raises(GraphFormatError, match="compressed stream is cut short or corrupt"):
        read_graph(path)


# -- claims ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", [b"p sp 2147483647 0\n", b"p sp 2147483647 1\na 1 2147483647 5\n", b"p sp 33554433 0\n"]
)
def test_a_short_file_does_not_make_a_huge_graph(text: bytes, tmp_path: Path) -> None:
    path = tmp_path / "g.gr"
    path.write_bytes(text)
    with pytest.raises(GraphFormatError, match=r"GiB .* believed up to n = 33554432.*from_arcs"):
        read_graph(path)
    assert read_gr(path).n == int(text.split()[2]), "to read is no harm"


def test_isolated_vertices_are_believed_within_reason(tmp_path: Path) -> None:
    path = tmp_path / "g.gr"
    path.write_bytes(b"p sp 100000 0\n")
    assert read_graph(path).n == 100_000


def test_a_stream_is_not_believed_that_it_is_long(tmp_path: Path) -> None:
    path = tmp_path / "g.sssp.gz"
    for header_bytes in (1 << 60, 32):
        lengths = header_bytes, 1 << 62
        prefix = struct.pack("<8sIIQQ", b"\x89SSSP\r\n\x1a", 2, 0, *lengths)
        header = b"{}".ljust(32)
        checksum = zlib.crc32(prefix + header)
        prefix = struct.pack("<8sIIQQ", b"\x89SSSP\r\n\x1a", 2, checksum, *lengths)
        path.write_bytes(gzip.compress(prefix + header))
        with pytest.raises(GraphFormatError, match="cut short"):
            read_graph(path)


def test_a_bomb_is_not_unpacked_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unpacked = 0

    class Counted(bz2.BZ2File):
        def read(self, size: int | None = -1) -> bytes:
            nonlocal unpacked
            content = super().read(size)
            unpacked += len(content)
            return content

    monkeypatch.setattr(_files, "_DECOMPRESSORS", ((b"BZh", Counted),))
    path = tmp_path / "g.gr.bz2"
    member = bz2.compress(bytes(10_000_000))
    path.write_bytes(bz2.compress(b"p sp 2 1\nnonsense\n") + 30 * member)
    with pytest.raises(GraphFormatError, match="unknown line"):
        read_graph(path)
    assert 0 < unpacked < 100_000_000


# -- writing -----------------------------------------------------------------------------------


def write_text(path: Any) -> None:
    write_gr(path, 3, [0, 1], [1, 2], [5, 6])


def write_binary(path: Any) -> None:
    Graph.from_arcs([0, 1], [1, 2], [5, 6]).save(path)


@needs_pipes
@pytest.mark.parametrize("write", [write_text, write_binary])
@pytest.mark.parametrize("link", [False, True])
def test_a_pipe_is_written_to_and_stays_one(
    write: Callable[[Any], None], link: bool, tmp_path: Path
) -> None:
    write(tmp_path / "file")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received = []
    receiver = threading.Thread(target=lambda: received.append(pipe.read_bytes()))
    receiver.start()
    target = pipe
    if link:
        target = tmp_path / "link"
        target.symlink_to(pipe)
    write(target)
    receiver.join()
    assert received == [(tmp_path / "file").read_bytes()]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@needs_pipes
def test_a_graph_goes_from_pipe_to_pipe() -> None:
    g = Graph.from_arcs([0, 0, 1], [1, 1, 2], [5, 6, 7])
    reading, writing = os.pipe()
    try:
        g.save(f"/dev/fd/{writing}")
        os.close(writing)
        assert_same(read_graph(f"/dev/fd/{reading}"), g)
    finally:
        os.close(reading)


@pytest.mark.skipif(not hasattr(os, "fchmod"), reason="no modes here")
@pytest.mark.parametrize("write", [write_text, write_binary])
def test_a_replaced_file_keeps_mode_and_owner(write: Callable[[Any], None], tmp_path: Path) -> None:
    path = tmp_path / "file"
    write(path)
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask
    path.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(path, 12_345, 23_456)
    before = path.stat()
    path.write_bytes(b"old")
    write(path)
    after = path.stat()
    assert after.st_size > 3
    assert (after.st_mode, after.st_uid, after.st_gid) == (
        before.st_mode,
        before.st_uid,
        before.st_gid,
    )


@pytest.mark.parametrize("write", [write_text, write_binary])
def test_a_name_that_cannot_be_is_an_os_error_that_names_it(
    write: Callable[[Any], None], tmp_path: Path
) -> None:
    for path in (tmp_path / ("x" * 300), tmp_path / "nowhere" / "file", tmp_path):
        with pytest.raises(OSError, match=str(path)):
            write(path)
        with pytest.raises(OSError, match=str(path)):
            read_graph(path)
    assert list(tmp_path.iterdir()) == []


def test_masked_arrays_are_not_written(tmp_path: Path) -> None:
    masked = np.ma.array([0], mask=[True])
    with pytest.raises(TypeError, match="heads is a masked array"):
        write_gr(tmp_path / "g.gr", 2, [0], masked, [1])
    with pytest.raises(TypeError, match="array 'x' is a masked array"):
        write_arrays(tmp_path / "g.sssp", {}, {"x": masked})
    assert list(tmp_path.iterdir()) == []


# -- what killed writers leave -----------------------------------------------------------------


@needs_locks
def test_a_file_that_is_being_written_is_not_taken_for_litter(tmp_path: Path) -> None:
    with _files.replaced_file(tmp_path / "slow") as stream:
        stream.write(b"half")
        write_text(tmp_path / "quick")
        assert len(list(tmp_path.iterdir())) == 2
        stream.write(b" and half")
    assert (tmp_path / "slow").read_bytes() == b"half and half"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["quick", "slow"]


@needs_locks
def test_a_file_that_is_taken_for_litter_as_it_begins_is_begun_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    flock, taken = fcntl.flock, list[Path]()

    def take_first(file: Any, operation: int) -> None:
        if not taken:
            (name,) = tmp_path.iterdir()
            taken.append(name)
            name.unlink()
        flock(file, operation)

    monkeypatch.setattr(fcntl, "flock", take_first)
    write_text(tmp_path / "file")
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
    assert taken


@needs_locks
def test_only_certain_litter_is_removed(tmp_path: Path) -> None:
    with _files.replaced_file(tmp_path / "file"):
        (name,) = (p.name for p in tmp_path.iterdir())
    _, host, _ = name.split("-")
    elsewhere, nameless = name.replace(host, "00000000"), name.replace(f"{host}-", "")
    for litter in (name, elsewhere, nameless, ".sssp-notes.tmp", "sssp.tmp"):
        (tmp_path / litter).write_bytes(b"half")
    write_text(tmp_path / "file")
    left = {"file", elsewhere, nameless, ".sssp-notes.tmp", "sssp.tmp"}
    assert {p.name for p in tmp_path.iterdir()} == left
    for litter in left:
        os.utime(tmp_path / litter, (0, 0))
    write_text(tmp_path / "file")
    assert {p.name for p in tmp_path.iterdir()} == {"file", ".sssp-notes.tmp", "sssp.tmp"}


@needs_locks
def test_many_saves_at_once_in_one_folder_all_succeed(tmp_path: Path) -> None:
    def save(number: int) -> None:
        for _ in range(20):
            write_text(tmp_path / f"{number}.gr")

    savers = [threading.Thread(target=save, args=(number % 3,)) for number in range(6)]
    for saver in savers:
        saver.start()
    for saver in savers:
        saver.join()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["0.gr", "1.gr", "2.gr"]
