"""Measure the dense kernels on the GPU by CUDA events: products, all pairs, closure, baselines.

    python -m bench.dense [--only TEXT] [--json FILE]

A figure is the median of ten runs (of three where one takes seconds), with the matrix on the
device, from the initial matrix to the result. Of every figure some rows are compared with NumPy's
or with those of the CPU. The limit is what the units that take minima allow: 64 a clock on every
multiprocessor; for closure, a union of two words of 32 bits in place of a minimum.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sssp
from bench.graphs import SEED, random_graph
from bench.listing import Listing, make_parser, time_launches
from bench.products import View, multiply
from sssp.bench.papers import cuda_matrix as baselines
from sssp.cuda.availability import cuda
from sssp.cuda.device_memory import upload
from sssp.cuda.matrix import floyd_warshall, repeated_squaring, transitive_closure
from sssp.cuda.matrix.closure_products import Products
from sssp.cuda.matrix.matrix_driver import NEGATIVE, Matrix
from sssp.cuda.matrix.min_plus import tile_side
from sssp.cuda.matrix.min_plus_short import TILE, launch_short_round, multiply_short
from sssp.cuda.pool import fill
from sssp.engine.matrix_request import ClosureRequest, MatrixRequest, squarings
from sssp.kernels.dtypes import INDEX, SHORT, infinity

RUNS, FEW_RUNS = 10, 3
#: words that are written before each run: while the GPU is at that, the host launches what is timed
BALLAST = 1 << 28
#: milliseconds from which on a run is one of few
LONG = 1000
#: rows that are compared
CHECKED = 3
#: minima a clock and multiprocessor
LANES = 64
#: of products; uint16 is what int16 is found in
DTYPES = "uint16", "int32", "float32", "int64", "float64"
#: vertices of Floyd-Warshall's graphs
SIZES = 1000, 2500, 5000, 7500, 8192, 10_000, 32_768
#: and of those that are closed
CLOSED = 500, 1024, 2048, 5000, 10_000, 32_768, 100_000
#: arcs per vertex of the graphs
DEGREE = 4


HEADINGS = "what | n | dtype | rounds | ms | T updates/s | share of limit | "
CELLS = (
    "{what} | {n:,} | {dtype} | {rounds} | {median:.3f} | {rate:.2f} | {share_of_limit:.0%} | "
    "{equal}"
)

Figure = dict[str, Any]


def _limit() -> float:
    """Return the minima a second of the device."""
    device = cuda.get_current_device()
    return float(device.MULTIPROCESSOR_COUNT * LANES * device.CLOCK_RATE * 1000)


def _measure(prepare: Callable[[], Any], run: Callable[[], Any], stream: Any) -> list[float]:
    """Return the times of some runs, each after `prepare`, without the first, which compiles."""
    times: list[float] = []
    ballast = cuda.device_array(BALLAST, np.uint32)
    while len(times) <= (FEW_RUNS if times and times[-1] > LONG else RUNS):
        prepare()
        fill(ballast, np.uint32(0), stream)
        times += time_launches(stream, run)
    return times[1:]


def _figure(
    what: str, n: int, dtype: str, rounds: int, updates: float, times: list[float], equal: bool
) -> Figure:
    """Return a row of the JSON, in milliseconds."""
    median = float(np.median(times))
    rate = updates / median * 1000
    return {
        "what": what,
        "n": n,
        "dtype": dtype,
        "rounds": rounds,
        "median": median,
        "fastest": min(times),
        "updates_per_second": rate,
        "share_of_limit": rate / _limit(),
        "equal": equal,
    }


def product(n: int, dtype: str) -> Figure:
    """Measure C = min(C, A (+) B) of random square matrices."""
    random = np.random.default_rng(SEED)
    most = 16_000 if dtype == SHORT else 1_000_000
    hosts = [random.integers(0, most, (n, n)).astype(dtype) for _ in range(2)]
    stream = cuda.stream()
    a, b, out = (Matrix(n, np.dtype(dtype), stream, with_tails=False) for _ in range(3))
    for matrix, host in zip((a, b), hosts, strict=True):
        matrix.flat.copy_to_device(upload(host.reshape(-1)))
    initial = upload(np.full(n * n, infinity(dtype), dtype))

    def run() -> None:
        if dtype == SHORT:
            multiply_short(out, out, a, b)
        else:
            views = [View.of(matrix.flat.reshape((n, n))) for matrix in (out, a, b)]
            multiply(views[0], views[1], views[2], stream)

    times = _measure(lambda: out.flat.copy_to_device(initial), run, stream)
    found = out.flat[: CHECKED * n].copy_to_host().reshape(CHECKED, n)
    expected = [(hosts[0][i][:, np.newaxis] + hosts[1]).min(axis=0) for i in range(CHECKED)]
    equal = bool((found == expected).all())
    return _figure("min-plus product", n, dtype, 1, float(n) ** 3, times, equal)


def _query(graph: sssp.Graph) -> MatrixRequest:
    return MatrixRequest(
        n=graph.n,
        source=graph,
        zero_is_arc=False,
        weights=graph._weight_range,
        device="cuda:0",
    )


def _rows_equal(graph: sssp.Graph, matrix: Matrix) -> bool:
    """Compare rows with those of searches; infinity is unreached."""
    n = graph.n
    found = matrix.flat[: CHECKED * n].copy_to_host().reshape(CHECKED, n).astype(np.float64)
    found[found >= infinity(matrix.flat.dtype)] = np.inf
    expected = sssp.shortest_paths(graph, range(CHECKED), device="cpu").to_float()
    # (in 16 bits what is farther is as if it were not reached)
    expected[expected >= infinity(matrix.flat.dtype)] = np.inf
    return bool((found == expected).all())


def _all_pairs(
    what: str, n: int, dtype: str, rounds: int, run: Callable[[Matrix], Matrix]
) -> Figure:
    """Measure all pairs of a random graph by a function from matrix to closure."""
    graph = random_graph(n, DEGREE)
    matrix = Matrix.of(_query(graph), np.dtype(dtype), 0)
    initial = cuda.device_array_like(matrix.flat)
    initial.copy_to_device(matrix.flat, stream=matrix.stream)
    closed: list[Matrix] = []

    def run_once() -> None:
        closed[:] = [run(matrix)]

    times = _measure(
        lambda: matrix.flat.copy_to_device(initial, stream=matrix.stream), run_once, matrix.stream
    )
    updates = float(n) ** 3 * (rounds if "squaring" in what else 1)
    return _figure(what, n, dtype, rounds, updates, times, _rows_equal(graph, closed[0]))


def blocked(n: int, dtype: str) -> Figure:
    """Measure Floyd-Warshall."""
    tile = TILE if dtype == SHORT else tile_side(np.dtype(dtype))

    def run(matrix: Matrix) -> Matrix:
        for first in range(0, n, tile):
            if dtype == SHORT:
                launch_short_round(matrix, first)
            else:
                floyd_warshall.launch_round(matrix, first, tile)
        return matrix

    return _all_pairs("floyd-warshall", n, dtype, -(-n // tile), run)


def squared(n: int, dtype: str) -> Figure:
    """Measure repeated squaring, all rounds."""
    rounds = squarings(n - 1)
    others: list[Matrix] = []

    def run(matrix: Matrix) -> Matrix:
        if not others:
            others.append(matrix.room())
        before, after = matrix, others[0]
        for _ in range(rounds):
            repeated_squaring.launch_square(before, after)
            before, after = after, before
        return before

    return _all_pairs("repeated squaring", n, dtype, rounds, run)


def baseline_squared(n: int, side: int) -> Figure:
    """Measure one squaring of the paper's kernel, checked against ours."""
    graph = random_graph(n, DEGREE)
    matrix = Matrix.of(_query(graph), np.dtype(np.float32), 0)
    after, expected = matrix.room(), matrix.room()
    repeated_squaring.launch_square(matrix, expected)
    times = _measure(
        lambda: None,
        lambda: baselines.launch_square(
            matrix.flat, after.flat, n, side, matrix.flags, matrix.stream
        ),
        matrix.stream,
    )
    equal = bool((after.flat.copy_to_host() == expected.flat.copy_to_host()).all())
    what = f"baseline squaring, B = {side}"
    return _figure(what, n, "float32", 1, float(n) ** 3, times, equal)


def baseline_plain(n: int) -> Figure:
    """Measure Floyd-Warshall with a launch a vertex."""

    def run(matrix: Matrix) -> Matrix:
        baselines.launch_steps(matrix)
        return matrix

    return _all_pairs("baseline floyd-warshall, plain", n, "int32", n, run)


def baseline_blocked(n: int) -> Figure:
    """Measure Floyd-Warshall with blocks of 32."""

    def run(matrix: Matrix) -> Matrix:
        baselines.launch_rounds(matrix)
        return matrix

    rounds = -(-n // baselines.SIDE)
    return _all_pairs("baseline floyd-warshall, b = 32", n, "int32", rounds, run)


def closure(n: int, how: str, degree: float = DEGREE) -> Figure:
    """Measure the closure of a random graph, nearly all ones from some two arcs per vertex on."""
    graph = random_graph(n, degree)
    request = ClosureRequest(n, (graph.indptr, graph.indices), None, device="cuda:0")
    initial = transitive_closure.pack_matrix(request)
    reach, after = cuda.device_array_like(initial), cuda.device_array_like(initial)
    changed, stream = cuda.to_device(np.zeros(1, INDEX)), cuda.stream()
    closed, products = [reach], Products(n)

    def prepare() -> None:
        reach.copy_to_device(initial, stream=stream)
        products.take(reach, stream)

    def run() -> None:
        if how == "sweep":
            transitive_closure.sweep(reach, n, range(request.words), stream)
        elif how == "products":
            products.close(stream)
        else:
            before, into = reach, after
            for _ in range(request.squarings):
                transitive_closure.square(before, into, n, changed, stream)
                before, into = into, before
            closed[:] = [before]

    times = _measure(prepare, run, stream)
    if how == "products":
        products.give(reach, stream)
    words: Any = closed[0][: CHECKED * request.words].copy_to_host().view(np.uint8)
    found = np.unpackbits(words.reshape(CHECKED, -1), axis=1, count=n, bitorder="little")
    expected = sssp.shortest_paths(graph, range(CHECKED), device="cpu").reached
    equal = bool((found == expected).all())
    rounds = request.squarings if how == "squaring" else 1
    what = f"closure of {degree} arcs a vertex, {how}"
    return _figure(what, n, "bits", rounds, rounds * float(n) ** 3 / 32, times, equal)


def baseline_closure(n: int, side: int) -> Figure:
    """Measure one boolean squaring of the paper's kernel."""
    random = np.random.default_rng(SEED)
    bits: NDArray[np.uint8] = (random.random((n, n)) < 2 / n).astype(np.uint8)
    before, after, stream = upload(bits.reshape(-1)), cuda.device_array(n * n, np.uint8), None
    stream = cuda.stream()
    flags = upload(np.zeros(NEGATIVE + 1, np.int32))
    times = _measure(
        lambda: None,
        lambda: baselines.launch_square(before, after, n, side, flags, stream),
        stream,
    )
    found = after[: CHECKED * n].copy_to_host().reshape(CHECKED, n)
    expected = [bits[i] | bits[bits[i] > 0].max(axis=0, initial=0) for i in range(CHECKED)]
    equal = bool((found == expected).all())
    what = f"baseline boolean squaring, B = {side}"
    return _figure(what, n, "uint8", 1, float(n) ** 3, times, equal)


def _all_figures(only: str) -> Iterator[Figure]:
    """Measure the figures of the selected calls, one after the other."""
    calls: list[tuple[Callable[..., Figure], tuple[Any, ...], dict[str, Any]]] = [
        *((product, (8192, dtype), {}) for dtype in DTYPES),
        *((blocked, (n, dtype), {}) for n in SIZES for dtype in ("uint16", "int32")),
        (blocked, (8192, "float32"), {}),
        *((squared, (10_000, dtype), {}) for dtype in ("uint16", "int32")),
        *((closure, (n, how), {}) for n in CLOSED for how in ("sweep", "products")),
        *(
            (closure, (n, how, degree), {})
            for n in (10_000, 32_768)
            for degree in (0.5, 1.0, 1.3)
            for how in ("sweep", "products")
        ),
        (closure, (10_000, "squaring"), {}),
        *((baseline_squared, (5000, side), {}) for side in (4, 8, 16, 32)),
        (baseline_plain, (5000,), {}),
        (baseline_blocked, (5000,), {}),
        *((baseline_closure, (5000, side), {}) for side in (4, 8, 16, 32)),
    ]
    for call, arguments, options in calls:
        if only in f"{call.__name__} {arguments}":
            yield call(*arguments, **options)


def main() -> int:
    """Print the table, write it as JSON where asked; 1 if anything is wrong."""
    parser = make_parser(__doc__)
    parser.add_argument("--only", default="", help="part of a function's name or arguments")
    options = parser.parse_args()
    settings = {
        "runs": RUNS,
        "seed": SEED,
        "clock": "CUDA events, milliseconds",
        "limit, minima a second": _limit(),
    }
    listing = Listing(settings, HEADINGS, CELLS)
    for figure in _all_figures(options.only):
        listing.add(figure, rate=figure["updates_per_second"] / 1e12)
    return listing.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
