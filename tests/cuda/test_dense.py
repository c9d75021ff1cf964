"""All pairs and transitive closure on the device, against SciPy and the CPU."""

from __future__ import annotations

import re
import shutil
from typing import Any

import numpy as np
import pytest
from numba import uint32, uint64

import sssp
from sssp import datasets
from sssp.bench.papers.baselines import (
    BaselineBlockedFloydWarshall,
    BaselineClosure,
    BaselineFloydWarshall,
    BaselineSquaring,
)
from sssp.kernels.dtypes import infinity
from sssp.methods import ClosureBySquaring, RepeatedSquaring
from tests.cuda.conftest import SIMULATOR
from tests.test_dense import (
    MATRIX_METHODS,
    PAPER,
    PAPER_DISTANCES,
    length_of,
    random_matrix,
    reference,
)

pytest.importorskip("sssp.cuda.compiler", exc_type=sssp.MissingExtraError)

from sssp.cuda.availability import cuda
from sssp.cuda.compiler import kernel
from sssp.cuda.device import ptx as intrinsics
from sssp.cuda.matrix import min_plus_short
from sssp.cuda.matrix.min_plus import DEPTH

pytestmark = pytest.mark.gpu
#: (Numba passes the first argument of an intrinsic, which no type checker knows)
ptx: Any = intrinsics

on_gpu_only = pytest.mark.skipif(
    SIMULATOR, reason="the simulator runs a few thousand threads a second"
)
SIZES = [0, 1, 2, 3, 5, 9] if SIMULATOR else [0, 1, 2, 3, 5, 31, 32, 33, 127, 128, 129, 1000]
CYCLES = [3, 5] if SIMULATOR else [3, 5, 33, 129]
#: sides of rectangles about a tile's
LENGTHS = [1, 7, 9] if SIMULATOR else [1, 63, 65, 128, 129, 300]
SIDE = 4 if SIMULATOR else 8
BASELINES = [
    BaselineFloydWarshall(),
    BaselineBlockedFloydWarshall(),
    BaselineSquaring(block=SIDE),
]
DTYPES = ["int32", "float64"] if SIMULATOR else ["int32", "int64", "float32", "float64"]


def all_pairs(matrix: Any, device: str, method: Any, **options: Any) -> sssp.ShortestPaths:
    return sssp.all_pairs(matrix, method=method, device=device, **options)


@pytest.mark.parametrize("negative", [False, True])
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("method", MATRIX_METHODS)
def test_distances_are_those_of_scipy(method, n, negative, device):
    matrix = random_matrix(n, min(1, 6 / max(n, 1)), seed=n, negative=negative)
    found = all_pairs(matrix, device, method)
    assert found.distances.dtype == np.int32
    np.testing.assert_array_equal(found.to_float(), reference(matrix))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("method", [*MATRIX_METHODS, *BASELINES])
def test_every_dtype_gives_the_same_distances(method, dtype, device):
    matrix = random_matrix(5 if SIMULATOR else 200, 0.5, negative=True)
    found = all_pairs(matrix, device, method, dtype=dtype)
    assert found.distances.dtype == dtype
    np.testing.assert_array_equal(found.to_float(), reference(matrix))


@pytest.mark.parametrize("method", [*MATRIX_METHODS, *BASELINES])
def test_the_example_of_the_papers(method, device):
    np.testing.assert_array_equal(all_pairs(PAPER, device, method).distances, PAPER_DISTANCES)
    whole = np.where(np.isinf(PAPER), 0, PAPER).astype(int)
    assert all_pairs(whole, device, method).distances.tolist() == PAPER_DISTANCES


@pytest.mark.parametrize("n", CYCLES)
@pytest.mark.parametrize("method", [*MATRIX_METHODS, BASELINES[0]])
def test_a_negative_cycle_of_all_vertices_is_found(method, n, device):
    vertices = np.random.default_rng(n).permutation(n)
    matrix = np.zeros((n, n), int)
    matrix[vertices, np.roll(vertices, -1)] = 2
    matrix[vertices[-1], vertices[0]] = 1 - 2 * n
    with pytest.raises(sssp.NegativeCycleError) as caught:
        all_pairs(matrix, device, method)
    assert sorted(caught.value.cycle) == list(range(n))
    assert length_of(caught.value.cycle, matrix) < 0


@pytest.mark.parametrize("method", MATRIX_METHODS)
def test_a_negative_self_loop_is_a_cycle_however_large_the_matrix(method, device):
    n = 9 if SIMULATOR else 300
    matrix = random_matrix(n, 0.5)
    matrix[n - 1, n - 1] = -1
    with pytest.raises(sssp.NegativeCycleError) as caught:
        all_pairs(matrix, device, method)
    assert caught.value.cycle == [n - 1]


@pytest.mark.parametrize("method", MATRIX_METHODS)
def test_random_weights_of_both_signs_end_at_a_cycle(method, device):
    n = 9 if SIMULATOR else 500
    matrix = np.random.default_rng(0).integers(-100, 101, (n, n))
    with pytest.raises(sssp.NegativeCycleError) as caught:
        all_pairs(matrix, device, method)
    assert length_of(caught.value.cycle, matrix) < 0


@pytest.mark.parametrize("method", MATRIX_METHODS)
def test_distances_beyond_int32_arithmetic_are_found_in_int64(method, device):
    chain = np.diag(np.full(4, 1 << 29), 1)
    found = all_pairs(chain, device, method)
    assert found.distances.dtype == np.int64
    assert found.distances[0].tolist() == [hops << 29 for hops in range(5)]
    # int32 arithmetic cannot tell these from unreachable ones, but they fit
    near = np.diag(np.full(2, 1 << 29), 1)
    assert all_pairs(near, device, method).distances.dtype == np.int32
    with pytest.raises(sssp.DistanceOverflowError, match="does not fit int32"):
        all_pairs(chain, device, method, dtype="int32")


@pytest.mark.parametrize("negative", [False, True])
@pytest.mark.parametrize("method", MATRIX_METHODS)
def test_integer_trees_are_those_of_the_cpu(method, negative, device):
    matrix = random_matrix(5 if SIMULATOR else 200, 0.5, negative=negative)
    found = all_pairs(matrix, device, method, predecessors=True)
    expected = all_pairs(matrix, "cpu", method, predecessors=True)
    np.testing.assert_array_equal(found.predecessors, expected.predecessors)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("negative", [False, True])
@pytest.mark.parametrize("method", MATRIX_METHODS)
def test_float_paths_are_as_long_as_their_distances(method, negative, dtype, device):
    matrix = random_matrix(9 if SIMULATOR else 300, 0.4, 2, negative) * 0.1
    found = all_pairs(matrix, device, method, predecessors=True, dtype=dtype)
    rtol = 1e-4 if dtype == "float32" else 1e-12
    np.testing.assert_allclose(found.distances, reference(matrix), rtol=rtol, atol=1e3 * rtol)
    lengths = found.skim(found.graph.weights)
    np.testing.assert_allclose(lengths, found.distances, rtol=rtol, atol=1e3 * rtol)
    bare = all_pairs(matrix, device, method, dtype=dtype)
    np.testing.assert_allclose(bare.distances, found.distances, rtol=rtol, atol=1e3 * rtol)


def test_rows_of_tails_that_are_no_tree_are_noticed(device):

    from sssp.cuda.matrix.matrix_driver import BROKEN, Matrix, _broken_row

    matrix = Matrix(3, np.dtype(np.float64), cuda.stream(), with_tails=True)
    distances = np.array([[0, 1, 1], [np.inf, 0, 0], [np.inf, 0, 0]])
    tails = np.array([[-1, 0, 1], [-1, -1, 1], [-1, 2, -1]], np.int32)
    for broken in (None, 0, 2):
        given = tails.copy()
        if broken is not None:
            given[broken, 1] = 2 if broken == 0 else -1
        matrix.flags.copy_to_device(np.zeros(BROKEN + 1, np.int32))
        matrix.flat.copy_to_device(distances.reshape(-1))
        assert matrix.tails is not None
        matrix.tails.copy_to_device(given.reshape(-1))
        assert _broken_row(matrix) == broken


@pytest.mark.parametrize("early_stop", [False, True])
def test_squaring_takes_as_many_rounds_as_on_the_cpu(early_stop, device):
    method = RepeatedSquaring(early_stop=early_stop)
    matrix = random_matrix(9, 0.9)
    found, expected = (all_pairs(matrix, name, method) for name in (device, "cpu"))
    np.testing.assert_array_equal(found.stats["rounds"], expected.stats["rounds"])


def test_graphs_and_matrices_are_the_same(device):
    g = sssp.road_like(10 if SIMULATOR else 1000)
    expected = sssp.shortest_paths(g, range(g.n))
    found = all_pairs(g, device, "floyd-warshall")
    np.testing.assert_array_equal(found.distances, expected.distances)
    dense = all_pairs(g.to_scipy().toarray(), device, "floyd-warshall")
    np.testing.assert_array_equal(dense.distances, expected.distances)


@pytest.mark.parametrize("dtype", DTYPES)
def test_results_may_stay_on_the_device(dtype, device):
    matrix = random_matrix(7, 0.5)
    options: dict[str, Any] = {"predecessors": True, "dtype": dtype}
    found = all_pairs(matrix, device, "floyd-warshall", output="device", **options)
    expected = all_pairs(matrix, "cpu", "floyd-warshall", **options)
    assert found.distances.__cuda_array_interface__["shape"] == (7, 7)
    np.testing.assert_array_equal(found.to_host().distances, expected.distances)
    if dtype.startswith("int"):
        np.testing.assert_array_equal(found.to_host().predecessors, expected.predecessors)
    assert found.predecessors.__cuda_array_interface__["shape"] == (7, 7)


@pytest.mark.parametrize("method", MATRIX_METHODS)
def test_memory_is_planned_and_refused_with_numbers(method, device):
    copies = 1 if method == "floyd-warshall" else 2
    needed = f"{copies * 9 * 9 * 4:,} bytes"
    with pytest.raises(sssp.DeviceError, match=needed):
        all_pairs(np.ones((9, 9), int), device, method, memory_limit=copies * 9 * 9 * 4 - 1)
    all_pairs(np.ones((9, 9), int), device, method, memory_limit=copies * 9 * 9 * 4)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_product_of_rectangles_inside_larger_matrices(dtype, device):
    from bench.products import View, multiply

    random = np.random.default_rng(0)
    stream = cuda.stream()
    for rows, columns, depth in zip(LENGTHS, reversed(LENGTHS), np.roll(LENGTHS, 1), strict=True):
        shapes = (rows, columns), (rows, int(depth)), (int(depth), columns)
        hosts = [random.integers(0, 100, (r + 3, c + 5)).astype(dtype) for r, c in shapes]
        hosts[0] += hosts[0].dtype.type(60)
        hosts[1][random.random(hosts[1].shape) < 0.5] = infinity(dtype)
        on_device = [cuda.to_device(host) for host in hosts]
        views = [
            View.of(matrix).part(slice(2, 2 + r), slice(4, 4 + c))
            for matrix, (r, c) in zip(on_device, shapes, strict=True)
        ]
        multiply(views[0], views[1], views[2], stream)
        stream.synchronize()
        out, a, b = (host[2 : 2 + r, 4 : 4 + c] for host, (r, c) in zip(hosts, shapes, strict=True))
        out[...] = np.minimum(out, (a[:, :, np.newaxis] + b).min(axis=1))
        np.testing.assert_array_equal(on_device[0].copy_to_host(), hosts[0])
    one = View.of(cuda.device_array((2, 2), dtype)).part(slice(1), slice(1))
    two = View.of(cuda.device_array((2, 1), dtype))
    with pytest.raises(ValueError, match=r"\(1, 1\) times \(2, 1\) is not \(1, 1\)"):
        multiply(one, one, two, stream)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try 16 bits for the smallest matrices too."""
    monkeypatch.setattr("sssp.engine.thresholds.SHORT_VERTICES", 0)


SHORT_SIZES = [1, 2, 3, 17, 33] if SIMULATOR else [*SIZES, 255, 256, 257]


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("n", SHORT_SIZES)
@pytest.mark.parametrize("method", MATRIX_METHODS)
def test_distances_in_16_bits_are_those_of_scipy(method, n, device):
    for density in (2 / max(n, 2), 0.9)[: 1 if SIMULATOR else 2]:
        matrix = random_matrix(n, density, seed=n)
        for dtype in (None, "int16"):
            found = all_pairs(matrix, device, method, dtype=dtype)
            assert found.distances.dtype == (dtype or np.int32)
            np.testing.assert_array_equal(found.to_float(), reference(matrix))


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("dtype", [None, "int16"])
def test_short_results_stay_on_the_device_and_have_trees(dtype, device):
    matrix = random_matrix(5 if SIMULATOR else 257, 0.5)
    options: dict[str, Any] = {"predecessors": True, "dtype": dtype}
    found = all_pairs(matrix, device, "floyd-warshall", output="device", **options).to_host()
    expected = all_pairs(matrix, "cpu", "floyd-warshall", **options)
    assert found.distances.dtype == expected.distances.dtype
    np.testing.assert_array_equal(found.distances, expected.distances)
    np.testing.assert_array_equal(found.predecessors, expected.predecessors)


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("method", MATRIX_METHODS)
def test_the_longest_short_distance_is_32_766(method, device):
    for middle in (10_766, 10_767):
        path = sssp.Graph.from_arcs([0, 1, 2], [1, 2, 3], [11_000, middle, 11_000])
        found = all_pairs(path, device, method).distances
        assert found[0].tolist() == [0, 11_000, 11_000 + middle, 22_000 + middle]
        if middle == 10_766:
            found = all_pairs(path, device, method, dtype="int16").distances
            assert found[0, 3] == 32_766
            assert found[3, 0] == 32_767
        else:
            with pytest.raises(sssp.DistanceOverflowError, match="32767 does not fit int16"):
                all_pairs(path, device, method, dtype="int16")


def test_negative_weights_are_narrowed_to_int16(device):
    matrix = random_matrix(5 if SIMULATOR else 200, 0.5, negative=True)
    found = all_pairs(matrix, device, "floyd-warshall", dtype="int16")
    assert found.distances.dtype == np.int16
    np.testing.assert_array_equal(found.to_float(), reference(matrix))


@kernel
def _halves_kernel(a, b, c, least, lower, low, high):
    """Apply every instruction to words."""
    i = cuda.grid(1)
    if i < a.size:
        least[i], lower[i] = ptx.least_halves(a[i], b[i]), ptx.lower_halves(a[i], b[i], c[i])
        low[i], high[i] = ptx.low_twice(a[i]), ptx.high_twice(a[i])


@pytest.mark.usefixtures("device")
def test_instructions_do_what_their_twins_do():
    random = np.random.default_rng(0)
    size = 8 if SIMULATOR else 1024
    edges = [0, 1, 0x7FFF, 0x8000, 0xFFFF]
    words = random.integers(0, 1 << 32, (3, size)).astype(np.uint32)
    halves = words.view(np.uint16)
    halves[:, ::3] = random.choice(edges, halves[:, ::3].shape)
    found = [cuda.device_array(size, np.uint32) for _ in range(4)]
    given = [cuda.to_device(row) for row in words]
    _halves_kernel[1, size](*given, *found)
    least, lower, low, high = (each.copy_to_host() for each in found)
    for i, (a, b, c) in enumerate(words.T):
        assert least[i] == ptx.least_halves_twin(a, b)
        assert lower[i] == ptx.lower_halves_twin(a, b, c)
        assert low[i] == int(a) % 0x10000 * 0x10001
        assert high[i] == int(a) // 0x10000 * 0x10001


@on_gpu_only
def test_a_slice_takes_as_many_instructions_as_it_has_words(device):
    if shutil.which("nvdisasm") is None:
        pytest.skip("nvdisasm is not installed")
    if not ptx.has_short_arithmetic():
        pytest.skip("this GPU has no instruction for two sums and minima")
    all_pairs(random_matrix(600, 0.1), device, "repeated-squaring", dtype="int16")
    (code,) = min_plus_short._product_kernel.inspect_sass().values()
    words = DEPTH * min_plus_short.PER**2
    assert len(re.findall(r"VIADDMNMX\.U16x2", code)) == words
    assert not re.search(r"\b(STL|LDL)\b", code)


@pytest.mark.parametrize("reflexive", [True, False])
@pytest.mark.parametrize("n", [0, 1, 2, 5, 66] if SIMULATOR else [*SIZES, 2100])
@pytest.mark.parametrize("method", ["closure-by-warshall", "closure-by-squaring"])
def test_closures_are_those_of_the_cpu(method, n, reflexive, device):
    matrix = np.random.default_rng(n).random((n, n)) < 1.5 / max(n, 1)
    options = {"reflexive": reflexive, "packed": True}
    found = sssp.transitive_closure(matrix, method=method, device=device, **options)
    np.testing.assert_array_equal(found, sssp.transitive_closure(matrix, device="cpu", **options))


@pytest.mark.parametrize(
    "method",
    [
        "closure-by-warshall",
        "closure-by-squaring",
        ClosureBySquaring(early_stop=False),
        BaselineClosure(block=SIDE),
    ],
)
def test_the_closure_of_the_example_of_the_papers(method, device):
    tails, heads = [0, 0, 0, 2, 3, 4], [1, 2, 4, 1, 2, 3]
    g = sssp.Graph.from_arcs(tails, heads, np.ones(6, int), n=5)
    expected = [[1, 1, 1, 1, 1], [0, 1, 0, 0, 0], [0, 1, 1, 0, 0], [0, 1, 1, 1, 0], [0, 1, 1, 1, 1]]
    found = sssp.transitive_closure(g, method=method, device=device)
    assert found.astype(int).tolist() == expected
    irreflexive = sssp.transitive_closure(g, method=method, device=device, reflexive=False)
    np.testing.assert_array_equal(irreflexive, np.array(expected) - np.eye(5))


@on_gpu_only
@pytest.mark.parametrize("reflexive", [True, False])
@pytest.mark.parametrize("n", [1, 2, 64, 511, 512, 513, 2047, 2049, 4100])
def test_closures_by_products_are_those_of_the_cpu(n, reflexive, device, monkeypatch):
    if not ptx.has_bit_products():
        pytest.skip("this GPU has no products of bits")
    monkeypatch.setattr("sssp.engine.thresholds.PRODUCTS_VERTICES", 1)
    random = np.random.default_rng(n)
    options: dict[str, Any] = {"reflexive": reflexive, "packed": True}
    for degree in (0, 0.7, 1.2, 3):
        matrix = random.random((n, n)) < degree / n
        if degree == 3:  # a path through all
            matrix[np.arange(n - 1), np.arange(1, n)] = True
        found = sssp.transitive_closure(matrix, device=device, **options)
        expected = sssp.transitive_closure(matrix, device="cpu", **options)
        np.testing.assert_array_equal(found, expected)


def add_common_bits(counts: Any, a: Any, b: Any) -> Any:
    """Add to 16 x 8 counts the common bits of 16 rows and 8 columns of 256 bits each, by a warp.

    Parameters
    ----------
    counts : ndarray, shape (32, 4), uint32
        Of lane ``4 g + q``: rows g, g, g + 8, g + 8 and columns 2 q, 2 q + 1, 2 q, 2 q + 1.
    a : ndarray, shape (32, 4), uint32
        Of lane ``4 g + q``: words q of rows g and g + 8, words 4 + q of the same.
    b : ndarray, shape (32, 2), uint32
        Of lane ``4 g + q``: words q and 4 + q of column g.
    """
    rows, columns = np.zeros((16, 8), np.uint32), np.zeros((8, 8), np.uint32)
    found = counts.copy()
    for lane in range(32):
        g, q = divmod(lane, 4)
        rows[g, q], rows[g + 8, q], rows[g, 4 + q], rows[g + 8, 4 + q] = a[lane]
        columns[g, q], columns[g, 4 + q] = b[lane]
    common = np.bitwise_count(rows[:, np.newaxis] & columns).sum(axis=2)
    for lane in range(32):
        g, q = divmod(lane, 4)
        found[lane] += common[[g, g, g + 8, g + 8], [2 * q, 2 * q + 1] * 2].astype(np.uint32)
    return found


def four_tiles(words: Any, starts: Any) -> Any:
    """Return the words that each lane of a warp gets from four tiles of 8 rows by 4 words.

    Parameters
    ----------
    words : ndarray, one axis, uint32
    starts : ndarray, shape (32,)
        Of lane ``8 t + r``: where row r of tile t begins, a multiple of 4.

    Returns
    -------
    ndarray, shape (32, 4)
        Of lane ``4 r + w``: word w of row r of every tile.
    """
    lane = np.arange(32)
    return words[starts.reshape(4, 8)[:, lane // 4] + lane % 4].T


@kernel
def _warp_kernel(words, starts, counts, a, b, tiles, found):
    """Apply the instructions of a warp: load tiles, and add what bits have in common."""
    shared = cuda.shared.array(1024, uint32, alignment=16)
    lane = uint32(cuda.threadIdx.x)
    for i in range(32):
        shared[uint32(i * 32 + lane)] = words[uint32(i * 32 + lane)]
    cuda.syncthreads()
    w0, w1, w2, w3 = ptx.four_tiles(shared, starts[lane])
    tiles[lane, 0], tiles[lane, 1], tiles[lane, 2], tiles[lane, 3] = w0, w1, w2, w3
    c0, c1, c2, c3 = ptx.add_common_bits(
        counts[lane, 0], counts[lane, 1], counts[lane, 2], counts[lane, 3],
        a[lane, 0], a[lane, 1], a[lane, 2], a[lane, 3], b[lane, 0], b[lane, 1],
    )  # fmt: skip
    found[lane, 0], found[lane, 1], found[lane, 2], found[lane, 3] = c0, c1, c2, c3


@on_gpu_only
@pytest.mark.usefixtures("device")
def test_instructions_of_a_warp_do_what_their_twins_do():
    if not ptx.has_bit_products():
        pytest.skip("this GPU has no products of bits")
    random = np.random.default_rng(1)
    words = random.integers(0, 1 << 32, 1024).astype(np.uint32)
    starts = (4 * random.permutation(256)[:32]).astype(np.uint32)
    shapes = (32, 4), (32, 4), (32, 2)
    counts, a, b = (random.integers(0, 1 << 32, shape).astype(np.uint32) for shape in shapes)
    counts %= 1000
    tiles, found = (cuda.device_array((32, 4), np.uint32) for _ in range(2))
    given = [cuda.to_device(each) for each in (words, starts, counts, a, b)]
    _warp_kernel[1, 32](*given, tiles, found)
    np.testing.assert_array_equal(tiles.copy_to_host(), four_tiles(words, starts))
    expected = add_common_bits(counts, a, b)
    np.testing.assert_array_equal(found.copy_to_host(), expected)


@kernel
def _four_kernel(words, copied, written):
    """Move words by fours: through shared memory, and at once."""
    shared = cuda.shared.array(128, uint32, alignment=16)
    thread = uint32(cuda.threadIdx.x)
    at = uint32(4 * thread)
    ptx.start_copy(shared, at, words, uint64(at))
    ptx.wait_for_copies()
    ptx.wait_for_group(uint32(1), uint32(32))
    for i in range(4):
        copied[uint32(at + i)] = shared[uint32(at + i)]
    w0, w1, w2, w3 = ptx.read_four(words, uint64(at))
    ptx.write_four(written, uint64(at), w0, w1, w2, w3)


@on_gpu_only
@pytest.mark.usefixtures("device")
def test_instructions_that_move_four_words_move_them():
    words = np.random.default_rng(2).integers(0, 1 << 32, 128).astype(np.uint32)
    copied, written = (cuda.device_array(128, np.uint32) for _ in range(2))
    _four_kernel[1, 32](cuda.to_device(words), copied, written)
    np.testing.assert_array_equal(copied.copy_to_host(), words)
    np.testing.assert_array_equal(written.copy_to_host(), words)


@on_gpu_only
def test_a_slice_of_bits_takes_64_products(device, monkeypatch):
    if shutil.which("nvdisasm") is None:
        pytest.skip("nvdisasm is not installed")
    if not ptx.has_bit_products():
        pytest.skip("this GPU has no products of bits")
    monkeypatch.setattr("sssp.engine.thresholds.PRODUCTS_VERTICES", 1)
    sssp.transitive_closure(np.eye(600), device=device)
    from sssp.cuda.matrix import closure_products

    (code,) = closure_products.make_products_kernel().inspect_sass().values()
    assert len(re.findall(r"BMMA\.168256", code)) == 64


def test_packed_closures_may_stay_on_the_device(device):
    matrix = np.roll(np.eye(70, dtype=bool), 1, axis=1)
    found = sssp.transitive_closure(matrix, device=device, packed=True, output="device")
    np.testing.assert_array_equal(found.to_host(), sssp.transitive_closure(matrix, packed=True))


def test_a_closure_is_refused_with_numbers(device):
    needed = r"1,040 bytes on cuda:0 \(the closure of 65 vertices"
    with pytest.raises(sssp.DeviceError, match=needed):
        sssp.transitive_closure(np.ones((65, 65)), device=device, packed=True, memory_limit=1039)


@on_gpu_only
@pytest.mark.parametrize("method", MATRIX_METHODS)
def test_rome_is_exact(method, device):
    path = datasets.find("rome99")
    if path is None:
        pytest.skip("rome99 is not here; data/README.md says where to get it")
    g = sssp.read_graph(path)
    found = all_pairs(g, device, method, predecessors=True)
    expected = sssp.shortest_paths(g, range(g.n), predecessors=True)
    np.testing.assert_array_equal(found.distances, expected.distances)
    np.testing.assert_array_equal(found.predecessors, expected.predecessors)


@on_gpu_only
def test_offsets_beyond_31_bits(device):
    cupy = pytest.importorskip("cupy")
    g = sssp.road_like(46_400)
    found = all_pairs(g, device, "floyd-warshall", output="device")
    rows = [0, 1, 23_200, 46_398, 46_399]
    expected = sssp.shortest_paths(g, rows).distances
    np.testing.assert_array_equal(cupy.asarray(found.distances)[rows].get(), expected)
