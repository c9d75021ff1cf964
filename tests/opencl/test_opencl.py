"""OpenCL: what it refuses, that layouts and measurements never show, and where answers come from.

That distances, trees and closures are right is asked in `tests/test_dense.py`, of every method.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sssp
from sssp import datasets
from sssp.errors import DeviceError
from sssp.kernels import cache_files, messages
from tests.conftest import usable
from tests.test_dense import random_matrix, reference

pytest.importorskip("sssp.opencl.compiler", exc_type=ImportError)

from sssp.opencl import compiler, tiles
from sssp.opencl.matrix import min_plus
from sssp.opencl.tiles import BLOCK, GPU_TILES, ProductTile, choose_tile, tiles_for

ask: Any = sssp.all_pairs
METHODS = ["floyd-warshall", "repeated-squaring"]
GRAPH = sssp.road_like(30)
MAP = sssp.prepare(GRAPH)


@pytest.fixture(autouse=True)
def device() -> Any:
    """The device of these tests."""
    return compiler._device(int(usable("opencl:0").partition(":")[2]))


class Facts:
    """What a driver says of a device, but for some things."""

    def __init__(self, real: Any, **others: Any) -> None:
        self._real, self._others = real, others

    def __getattr__(self, name: str) -> Any:
        return self._others[name] if name in self._others else getattr(self._real, name)


@pytest.fixture
def pretend(device: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let the device say other things of itself."""

    def change(**others: Any) -> None:
        monkeypatch.setattr(device, "facts", Facts(device.facts, **others))

    return change


@pytest.fixture
def as_gpu(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lay groups out as on a GPU: items that share local memory, and meet at barriers."""
    monkeypatch.setattr(device, "is_cpu", False)
    monkeypatch.setattr(min_plus, "_tiles", {})


# -- what is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (
            lambda: sssp.shortest_paths(GRAPH, 0, device="opencl"),
            "opencl has floyd-warshall, repea",
        ),
        (lambda: sssp.pairs(GRAPH, 0, 5, device="opencl"), "and no searches: name device='cuda'"),
        (lambda: sssp.reduce(MAP, 0, "sum", device="opencl"), "sweep does not run on opencl"),
        (lambda: MAP.scenarios([(0, 5)], device="opencl"), "on 'cpu' or 'cuda', not on 'opencl'"),
        (lambda: sssp.csgraph.dijkstra(np.ones((3, 3)), device="opencl"), "and no searches"),
        (lambda: sssp.all_pairs(GRAPH, method="johnson", device="opencl"), "johnson does not run"),
        (lambda: sssp.shortest_paths(GRAPH, [0, 1], device=["opencl:0", "cpu"]), "no searches"),
        (lambda: ask(GRAPH, device=["opencl:0", "opencl:1"]), "runs on one device"),
        (lambda: sssp.all_pairs(GRAPH, device="opencl:99"), "no device 'opencl:99': OpenCL finds"),
        (lambda: sssp.all_pairs(GRAPH, device="opencl:x"), "'opencl' or 'opencl:N'"),
        (
            lambda: sssp.transitive_closure(GRAPH, method="closure-by-warshall", device="opencl"),
            "closure-by-warshall does not run on opencl; opencl has .* closure-by-squaring",
        ),
        (lambda: sssp.all_pairs(GRAPH, device="opencl", memory_limit=10_000), "may take 10,000"),
    ],
)
def test_what_does_not_run_there_is_refused_with_what_does(call: Any, match: str) -> None:
    with pytest.raises(DeviceError, match=match):
        call()


@pytest.mark.parametrize("call", [sssp.all_pairs, sssp.transitive_closure])
def test_results_do_not_stay_there_and_follow_no_stream(call: Any) -> None:
    for options in ({"output": "device"}, {"stream": 1}):
        with pytest.raises(ValueError, match="needs device='cuda'"):
            call([[0, 1], [1, 0]], device="opencl", **options)


def test_floats_of_64_bits_are_refused_by_the_name_of_the_device(
    device: Any, pretend: Callable[..., None]
) -> None:
    pretend(double_fp_config=0)
    floats = np.array([[0, 0.5], [0.25, 0]])
    with pytest.raises(DeviceError, match=rf"{re.escape(device.name)} has no 64-bit floats"):
        sssp.all_pairs(floats, device="opencl")
    found = sssp.all_pairs(floats, device="opencl", dtype="float32").distances
    assert found.tolist() == floats.tolist()


def test_what_is_too_large_is_refused_with_numbers(pretend: Callable[..., None]) -> None:
    pretend(max_mem_alloc_size=1000)
    with pytest.raises(DeviceError, match=r"16,384 bytes in one piece, of which .* gives 1,000"):
        sssp.all_pairs(GRAPH, device="opencl")
    with pytest.raises(DeviceError, match=r"bytes in one piece, of which .* gives 1,000"):
        sssp.transitive_closure(GRAPH, device="opencl")
    pretend(global_mem_size=2000)
    for call in (sssp.all_pairs, sssp.transitive_closure):
        with pytest.raises(DeviceError, match=r"bytes on opencl:0 .* may take 2,000"):
            call(GRAPH, device="opencl")


def test_a_machine_without_devices_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> Any:
        raise compiler.cl.LogicError("clGetPlatformIDs failed: PLATFORM_NOT_FOUND_KHR")

    monkeypatch.setattr(compiler.cl, "get_platforms", none)
    with pytest.raises(DeviceError, match=r"no device was found; install .*OCL_ICD_VENDORS"):
        sssp.all_pairs(GRAPH, device="opencl")


@pytest.mark.parametrize(
    ("fact", "match"),
    [
        ("available", "it is not available"),
        ("compiler_available", "has no compiler"),
        ("endian_little", "is big-endian"),
    ],
)
def test_a_device_that_cannot_be_used_is_named_with_the_reason(
    device: Any, monkeypatch: pytest.MonkeyPatch, fact: str, match: str
) -> None:
    broken = Facts(device.facts, **{fact: False})
    monkeypatch.setattr(compiler, "find_devices", lambda: [broken])
    with pytest.raises(DeviceError, match=f"{re.escape(broken.name)}.* cannot be used: .*{match}"):
        sssp.all_pairs(GRAPH, device="opencl")
    assert match in compiler.describe(broken)


def test_the_first_gpu_counts_before_other_devices(
    device: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu = Facts(device.facts, type=compiler.cl.device_type.GPU)
    monkeypatch.setattr(compiler, "find_devices", lambda: [device.facts, gpu])
    assert compiler.device_number("opencl") == 1
    assert compiler.device_number("opencl:0") == 0
    monkeypatch.setattr(compiler, "find_devices", lambda: [device.facts, device.facts])
    assert compiler.device_number("opencl") == 0


def test_the_child_of_a_fork_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "_home", -1)
    with pytest.raises(DeviceError, match="by the method 'spawn'"):
        sssp.all_pairs(GRAPH, device="opencl")


def test_errors_of_the_driver_are_errors_of_the_device() -> None:
    with (
        pytest.raises(DeviceError, match=r"opencl:0 fails: .*OUT_OF_RESOURCES"),
        compiler.open_queue("opencl:0"),
    ):
        raise compiler.cl.RuntimeError("clFinish failed: OUT_OF_RESOURCES")


# -- answers -----------------------------------------------------------------------------------


def test_a_named_device_takes_the_method_that_runs_there() -> None:
    r = sssp.all_pairs(GRAPH, device="opencl")
    assert (r.method, r.device) == ("floyd-warshall", "opencl:0")
    np.testing.assert_array_equal(r.distances, sssp.all_pairs(GRAPH, device="cpu").distances)
    assert sssp.transitive_closure(GRAPH, device="opencl").all()


def test_what_a_matrix_cannot_tell_is_searched_on_the_cpu() -> None:
    far = 2**61
    chain = np.array([[0, far - 1, 0], [0, 0, far - 1], [0, 0, 0]])
    for method in METHODS:
        r = sssp.all_pairs(chain, method=method, device="opencl", predecessors=True)
        assert r.device == "cpu"
        assert r.distance(2, row=0) == 2 * far - 2
        assert r.path(2, row=0).tolist() == [0, 1, 2]


@given(
    n=st.integers(1, 12),
    density=st.floats(0, 1),
    seed=st.integers(0, 2**32 - 1),
    scale=st.sampled_from([1, 2**24, 2**34]),
)
def test_random_matrices_agree_with_searches(n: int, density: float, seed: int, scale: int) -> None:
    matrix = random_matrix(n, density, seed, negative=seed % 2 == 0) * scale
    expected = sssp.all_pairs(matrix, method="bellman-ford", predecessors=True)
    for method in METHODS:
        r = sssp.all_pairs(matrix, method=method, device="opencl", predecessors=True)
        assert r.distances.dtype == expected.distances.dtype
        np.testing.assert_array_equal(r.distances, expected.distances)
        np.testing.assert_array_equal(r.predecessors, expected.predecessors)


@pytest.mark.slow
def test_rome_is_exact() -> None:
    path = datasets.find("rome99")
    if path is None:
        pytest.skip("rome99 is not on this machine; data/README.md says where to get it")
    g = sssp.read_graph(path)
    found = sssp.all_pairs(g, device="opencl")
    assert found.device == "opencl:0"
    np.testing.assert_array_equal(found.distances, sssp.all_pairs(g, device="cpu").distances)


def test_squarings_are_counted_as_on_the_cpu() -> None:
    # all paths to vertex 3 lead over 0, 1 and 2, and have four arcs at most; its potential makes
    # them negative, so that distances to the padding, beyond infinity, would fall once more
    complete = np.full((40, 40), 1000)
    complete[:, 0], complete[[0, 1, 2], [1, 2, 3]] = 10, 1
    complete[:, 3] -= 5000
    complete[3] += 5000
    np.fill_diagonal(complete, 0)
    for device in ("cpu", "opencl"):
        r = sssp.all_pairs(complete, method="repeated-squaring", device=device)
        assert r.stats["rounds"].tolist() == [3] * 40


def test_what_is_queued_in_parts_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "QUEUED", 1)
    # entries fall in the last rows and columns only
    path = np.zeros((200, 200), int)
    path[np.arange(130, 199), np.arange(131, 200)] = 1
    for matrix in (path, random_matrix(200, 0.05, negative=True)):
        for method in METHODS:
            found = sssp.all_pairs(matrix, method=method, device="opencl")
            np.testing.assert_array_equal(found.to_float(), reference(matrix))
        closed = sssp.transitive_closure(matrix, device="opencl")
        np.testing.assert_array_equal(closed, found.reached)


def test_several_threads_may_call_at_once() -> None:
    matrices = [random_matrix(100, 0.1, seed) for seed in range(8)]

    def solve(matrix: Any) -> Any:
        return sssp.all_pairs(matrix, method="floyd-warshall", device="opencl").to_float()

    with ThreadPoolExecutor(4) as pool:
        for matrix, found in zip(matrices, pool.map(solve, matrices), strict=True):
            np.testing.assert_array_equal(found, reference(matrix))


# -- layouts -----------------------------------------------------------------------------------


def test_tiles_divide_a_block_on_every_device(
    device: Any, pretend: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    for is_cpu in (True, False):
        monkeypatch.setattr(device, "is_cpu", is_cpu)
        for width in (1, 4, 8, 16):
            pretend(native_vector_width_int=width)
            for dtype in compiler.NUMBERS:
                found = tiles_for(device, dtype)
                assert found
                for tile in found:
                    assert BLOCK % tile.sides[0] == BLOCK % tile.sides[1] == 0
    pretend(max_work_group_size=64, local_mem_size=16 << 10)
    assert tiles_for(device, np.dtype(np.int32)) == [ProductTile(8, 8, 8, 2, 4, 16)]


@pytest.mark.usefixtures("as_gpu")
@pytest.mark.parametrize("number", [0, 2])
def test_layouts_of_a_gpu_give_the_same_bits(
    number: int, device: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Floats and trees too: the order of sums does not depend on tiles."""
    floats = np.random.default_rng(number).random((130, 130), np.float32)
    floats[floats > 0.3] = np.inf
    whole = random_matrix(130, 0.1, number, negative=True)

    def one(device: Any, dtype: Any) -> list[ProductTile]:
        return tiles_for(device, dtype)[number : number + 1]

    asked = [(whole, "int32", False), (floats, "float32", False), (floats, "float32", True)]

    def answers() -> list[sssp.ShortestPaths]:
        min_plus._tiles.clear()
        return [
            sssp.all_pairs(matrix, method=method, dtype=dtype, predecessors=trees, device="opencl")
            for matrix, dtype, trees in asked
            for method in METHODS
        ]

    monkeypatch.setattr(min_plus, "tiles_for", one)
    there = answers()
    monkeypatch.setattr(device, "is_cpu", True)
    monkeypatch.setattr(min_plus, "tiles_for", tiles_for)
    for found, other in zip(there, answers(), strict=True):
        np.testing.assert_array_equal(found.distances, other.distances)
        np.testing.assert_array_equal(found.predecessors, other.predecessors)


@pytest.mark.usefixtures("as_gpu")
def test_layouts_of_a_gpu_close_a_relation(pretend: Callable[..., None]) -> None:
    pretend(local_mem_size=32 << 10)
    for n in (1, 70, 300):
        matrix = np.random.default_rng(n).random((n, n)) < 1.5 / n
        for reflexive in (True, False):
            found = sssp.transitive_closure(matrix, reflexive=reflexive, device="opencl")
            expected = sssp.transitive_closure(matrix, reflexive=reflexive, device="cpu")
            np.testing.assert_array_equal(found, expected)


# -- the measurement of tiles ------------------------------------------------------------------

Choose = Callable[[], tuple[ProductTile, int]]
TILES = [ProductTile(1, 1, 4, 2, 4, 0), ProductTile(1, 1, 8, 2, 4, 0)]


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for what is kept."""
    monkeypatch.setenv(cache_files.VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(messages, "_warned", set())
    return tmp_path / "cache"


def entry_in(kept: Path) -> Path:
    (found,) = kept.rglob("sssp.opencl.tiles-*")
    return found


@pytest.fixture
def choose(device: Any, monkeypatch: pytest.MonkeyPatch) -> Choose:
    """Choose a tile, of which the second is faster; return it and how many were measured."""
    measured: list[ProductTile] = []
    monkeypatch.setattr(tiles, "perf_counter", lambda: measured.count(TILES[0]))

    def ask() -> tuple[ProductTile, int]:
        measured.clear()
        return choose_tile(device, TILES, "int32", measured.append), len(set(measured))

    return ask


def test_tiles_are_measured_once(kept: Path, choose: Choose) -> None:
    assert choose() == (TILES[1], 2)
    assert choose() == (TILES[1], 0)
    entry_in(kept).write_bytes(b"?")
    assert choose() == (TILES[1], 2)
    assert choose() == (TILES[1], 0)


def test_what_others_may_have_written_is_not_read(
    kept: Path, choose: Choose, caplog: pytest.LogCaptureFixture
) -> None:
    assert choose() == (TILES[1], 2)
    kept.chmod(0o777)
    assert choose() == (TILES[1], 2)
    assert cache_files.VARIABLE in caplog.text


def test_a_single_tile_is_not_measured(device: Any) -> None:
    def fail(tile: ProductTile) -> None:
        raise AssertionError(tile)

    assert choose_tile(device, TILES[:1], "int32", fail) == TILES[0]


@pytest.mark.usefixtures("kept")
def test_a_product_is_measured_with_every_tile(
    device: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(min_plus, "_tiles", {})
    monkeypatch.setattr(min_plus, "MEASURED", BLOCK)
    monkeypatch.setattr(min_plus, "tiles_for", lambda *_: TILES)
    matrix = random_matrix(70, 0.1)
    found = sssp.all_pairs(matrix, method="floyd-warshall", device="opencl")
    np.testing.assert_array_equal(found.to_float(), reference(matrix))
    assert min_plus._tiles[0, np.dtype(np.int32), False] in TILES


def test_kernels_use_no_extension() -> None:
    sources = list(Path(min_plus.__file__).parent.glob("*.cl"))
    assert len(sources) == 4
    assert GPU_TILES
    for source in sources:
        text = source.read_text(encoding="utf-8")
        assert not re.search(r"sub_group|cl_khr|EXTENSION|asm|__CUDA|nv_|amd_|intel_", text)
