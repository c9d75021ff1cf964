from __future__ import annotations

import json
import os
import pickle
import signal
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

from sssp.errors import GraphFormatError
from sssp.loaders import read_arrays, write_arrays

META = {"n": 3, "directed": True, "counts": [1, 2], "label": "Zürich \U0001f6b2", "none": None}
ARRAYS = {
    "indptr": np.array([0, 2, 3, 3]),
    "indices": np.array([1, 2, 0], np.int32),
    "weights": np.array([0.5, -0.0, np.inf]),
    "kept": np.array([True, False, True]),
    "labels": np.array(["a", "Zürich", ""]),
    "coordinates": np.arange(6.0).reshape(3, 2),
    "nothing": np.empty((0, 2), np.int64),
    "scalar": np.array(7, np.uint16),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "graph.sssp"


def write_container(path: Path, header: bytes, data: bytes = b"", version: int = 1) -> None:
    """Write a file as the format's description says, by other means than the package."""
    lengths = len(header), 32 + len(header) + len(data)
    checksum = zlib.crc32(
        struct.pack("<8sIIQQ", b"\x89SSSP\r\n\x1a", version, 0, *lengths) + header
    )
    prefix = struct.pack("<8sIIQQ", b"\x89SSSP\r\n\x1a", version, checksum, *lengths)
    path.write_bytes(prefix + header + data)


def test_what_was_written_is_read(path):
    write_arrays(path, META, ARRAYS)
    meta, arrays = read_arrays(path)
    assert meta == META
    assert list(arrays) == list(ARRAYS)
    for name, expected in ARRAYS.items():
        assert arrays[name].dtype == expected.dtype
        assert arrays[name].shape == expected.shape
        assert arrays[name].tobytes() == expected.tobytes()
        assert arrays[name].flags.aligned


def test_arrays_in_any_memory_order_are_stored_by_value(path):
    table = np.arange(12).reshape(3, 4)
    write_arrays(
        path,
        {},
        {"fortran": np.asfortranarray(table), "part": table[::2, 1:3], "big": table.astype(">i4")},
    )
    _, arrays = read_arrays(path)
    assert arrays["fortran"].tolist() == table.tolist()
    assert arrays["part"].tolist() == table[::2, 1:3].tolist()
    assert arrays["big"].tolist() == table.tolist()


def test_a_container_may_hold_nothing(path):
    write_arrays(path, {}, {})
    assert read_arrays(path) == ({}, {})


def test_the_layout_is_the_one_described(path):
    values = np.array([3, 1, 2], "<i4")
    entry = {"name": "x", "dtype": "<i4", "shape": [3], "offset": 0}
    entry["checksum"] = zlib.crc32(values.tobytes())
    write_container(
        path, json.dumps({"meta": {"a": 1}, "arrays": [entry]}).encode(), values.tobytes()
    )
    meta, arrays = read_arrays(path)
    assert meta == {"a": 1}
    assert arrays["x"].tolist() == [3, 1, 2]
    write_arrays(path, {}, ARRAYS)
    content = path.read_bytes()
    for array in (ARRAYS["indptr"], ARRAYS["weights"], ARRAYS["coordinates"]):
        assert content.index(array.tobytes()) % 64 == 0


def test_a_change_of_any_byte_is_refused(path):
    write_arrays(path, {"n": 3}, {name: ARRAYS[name] for name in ("scalar", "labels")})
    content = path.read_bytes()
    for position in range(len(content)):
        damaged = bytearray(content)
        damaged[position] ^= 1 << position % 8
        path.write_bytes(damaged)
        with pytest.raises(GraphFormatError) as caught:
            read_arrays(path)
        assert caught.value.path == str(path)


def test_a_file_of_another_length_is_refused(path):
    write_arrays(path, {"n": 3}, {name: ARRAYS[name] for name in ("scalar", "labels")})
    content = path.read_bytes()
    for kept in range(len(content)):
        path.write_bytes(content[:kept])
        with pytest.raises(GraphFormatError, match="empty" if kept == 0 else "cut short"):
            read_arrays(path)
    path.write_bytes(content + b"\x00")
    with pytest.raises(GraphFormatError, match="should have"):
        read_arrays(path)


def test_a_damaged_array_is_named(path):
    write_arrays(path, {}, ARRAYS)
    content = path.read_bytes()
    where = content.index(ARRAYS["weights"].tobytes())
    path.write_bytes(content[:where] + b"\x01" + content[where + 1 :])
    with pytest.raises(GraphFormatError, match="array 'weights' is damaged"):
        read_arrays(path)


def test_a_newer_version_is_refused_with_advice(path):
    write_container(path, b"{}", version=3)
    with pytest.raises(GraphFormatError, match=r"version 3.*upgrade sssp"):
        read_arrays(path)


@pytest.mark.parametrize(
    "changes",
    [
        {"dtype": "|O"},
        {"dtype": "|V8"},
        {"dtype": ">i8"},
        {"dtype": 5},
        {"shape": [2]},
        {"shape": [2], "checksum": zlib.crc32(np.arange(2).tobytes())},
        {"shape": [-1]},
        {"shape": [0, 10**30]},
        {"shape": [10**12]},
        {"shape": "3"},
        {"offset": 8},
        {"offset": -64},
        {"checksum": None},
        {"name": ["x"]},
    ],
)
def test_a_header_that_makes_no_sense_is_refused(path, changes):
    data = np.arange(3).tobytes()
    entry = {"name": "x", "dtype": "<i8", "shape": [3], "offset": 0, "checksum": zlib.crc32(data)}
    write_container(path, json.dumps({"meta": {}, "arrays": [entry | changes]}).encode(), data)
    with pytest.raises(GraphFormatError, match=r"makes no sense|damaged"):
        read_arrays(path)


@pytest.mark.parametrize("header", [b"", b"[]", b"{}", b"\xff", b'{"meta": {}, "arrays": 5}'])
def test_a_header_that_is_not_the_right_json_is_refused(path, header):
    write_container(path, header)
    with pytest.raises(GraphFormatError, match="makes no sense"):
        read_arrays(path)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"p sp 2 1\na 1 2 3\n", "this is not an .sssp file"),
        (b"\x93NUMPY\x01\x00", "a NumPy .npy file"),
        (b"PK\x03\x04".ljust(30, b"\x00") + b"indptr.npy", "a NumPy .npz file"),
        (pickle.dumps(ARRAYS), "this is not an .sssp file"),
    ],
)
def test_a_file_of_another_kind_is_refused_by_name(path, content, kind):
    path.write_bytes(content)
    with pytest.raises(GraphFormatError) as caught:
        read_arrays(path)
    assert kind in caught.value.reason


@pytest.mark.parametrize(
    "array",
    [
        np.array([{}, 1], object),
        np.array([1j]),
        np.array([b"bytes"]),
        np.array(["2020-01-01"], "M8[D]"),
        np.zeros(2, [("a", int)]),
    ],
)
def test_a_dtype_that_cannot_be_stored_is_refused_and_leaves_the_old_file(path, array):
    path.write_bytes(b"old")
    with pytest.raises(TypeError, match="array 'bad' holds"):
        write_arrays(path, {}, {"good": np.arange(3), "bad": array})
    assert path.read_bytes() == b"old"


@pytest.mark.parametrize("meta", [{"x": object()}, {"x": float("nan")}])
def test_metadata_that_json_cannot_hold_is_refused_and_leaves_no_file(path, meta):
    with pytest.raises((TypeError, ValueError)):
        write_arrays(path, meta, {})
    assert list(path.parent.iterdir()) == []


def test_a_failure_while_writing_leaves_the_old_file_and_nothing_else(path, monkeypatch):
    def full_disk(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    path.write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space left"):
        write_arrays(path, META, ARRAYS)
    assert path.read_bytes() == b"old"
    assert list(path.parent.iterdir()) == [path]


def test_a_link_keeps_pointing_where_it_did(path):
    target = path.with_name("target.sssp")
    target.write_bytes(b"old")
    path.symlink_to(target)
    write_arrays(path, META, ARRAYS)
    assert path.is_symlink()
    assert read_arrays(target)[0] == META


# Forks a child per call that writing makes to the operating system, and kills it right there.
KILL_SCRIPT = """
import os, signal, sys
import numpy as np
from sssp.loaders import read_arrays, write_arrays

def save_and_die(path, call, count):
    seen = 0
    def kill(frame, event, function):
        nonlocal seen
        if event == "c_call" and function.__name__ == call:
            seen += 1
            if seen == count:
                os.kill(os.getpid(), signal.SIGKILL)
    sys.setprofile(kill)
    write_arrays(path, {"state": "new"}, {name: np.ones(300_000) for name in "abc"})

path = sys.argv[1]
for call, count in [("write", 1), ("write", 4), ("write", 6), ("fsync", 1), ("replace", 1)]:
    child = os.fork()
    if child == 0:
        save_and_die(path, call, count)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    meta, arrays = read_arrays(path)
    print(call, os.WTERMSIG(status), meta["state"], sum(a.sum() for a in arrays.values()))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and kill")
def test_kill_9_while_saving_leaves_the_old_file(path):
    write_arrays(path, {"state": "old"}, {"a": np.ones(5)})
    run = subprocess.run(
        [sys.executable, "-c", KILL_SCRIPT, path],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    killed = f"{int(signal.SIGKILL)} old 5.0"
    calls = ["write", "write", "write", "fsync", "replace"]
    assert run.stdout.splitlines() == [f"{call} {killed}" for call in calls]
    write_arrays(path, META, ARRAYS)
    assert list(path.parent.iterdir()) == [path], "the next save removes what they left"
