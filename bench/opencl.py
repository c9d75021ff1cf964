"""Measure the dense kernels of OpenCL beside those of CUDA, on the device that both name.

    python -m bench.opencl [--device opencl:N] [--json FILE]

The clock is the host's, around work that lies on the device and is waited for; a figure is the
median of five runs. CUDA's kernels, in the same dtype and by the same method, run right before
(`bench.dense`). Every tile that OpenCL may take for a product is timed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sssp
from bench import dense
from bench.graphs import SEED, random_graph
from bench.listing import Listing, make_parser
from sssp.bench.workloads import repeat
from sssp.cpu.matrix.matrix_driver import Matrix
from sssp.engine.matrix_request import ClosureRequest
from sssp.kernels.dtypes import infinity
from sssp.opencl.compiler import DeviceQueue
from sssp.opencl.matrix.floyd_warshall import Rounds
from sssp.opencl.matrix.min_plus import DeviceMatrix, Product
from sssp.opencl.matrix.transitive_closure import Squares
from sssp.opencl.tiles import BLOCK, ProductTile, tiles_for

SIDE, CLOSED, CHECKED, DEGREE = 8192, 10_000, 3, 4
#: runs, fewer if they take longer than so many seconds
RUNS, LIMIT = 5, 20.0
HEADINGS = "what | n | dtype | tile | OpenCL, ms | CUDA, ms | ratio | "
CELLS = "{what} | {n:,} | {dtype} | {tile} | {opencl:.2f} | {cuda:.2f} | {ratio:.2f} | {equal}"


def time_it(prepare: Callable[[], None], run: Callable[[], None], queue: DeviceQueue) -> float:
    """Return the median time of a run in milliseconds, after one that compiles."""

    def once() -> float:
        prepare()
        queue.finish()

        def wait() -> None:
            run()
            queue.finish()

        return repeat(wait, 1, LIMIT)[0]

    once()
    return 1e3 * float(np.median([once() for _ in range(RUNS)]))


def fetch(there: DeviceMatrix) -> NDArray[Any]:
    """Return a copy of a matrix on the host."""
    host = Matrix(there.n, there.dtype, with_tails=False)
    there.copy_to(host)
    return host.distances


def products(queue: DeviceQueue, dtype: np.dtype[Any]) -> Iterator[dict[str, Any]]:
    """Time C = min(C, A (+) B) by every tile."""
    random = np.random.default_rng(SEED)
    hosts = [random.integers(0, 1_000_000, (SIDE, SIDE)).astype(dtype) for _ in range(2)]
    a, b, out = (DeviceMatrix(queue, SIDE, dtype, with_tails=False) for _ in range(3))
    for matrix, host in zip((a, b), hosts, strict=True):
        matrix.overwrite(host)
    expected = [(hosts[0][i][:, np.newaxis] + hosts[1]).min(axis=0) for i in range(CHECKED)]
    rival = dense.product(SIDE, str(dtype))["median"]

    def measure(tile: ProductTile | None) -> dict[str, Any]:
        product = Product(queue, dtype, with_tails=False, tile=tile)
        whole = (SIDE, SIDE, SIDE)
        median = time_it(
            lambda: queue.fill(out.flat, infinity(dtype), dtype),
            lambda: product(out.part(0, 0), out.part(0, 0), a.part(0, 0), b.part(0, 0), whole),
            queue,
        )
        equal = bool((fetch(out)[:CHECKED] == expected).all())
        return figure("min-plus product", SIDE, dtype, product.tile, median, rival, equal)

    for tile in tiles_for(queue.device, dtype):
        yield measure(tile)


def all_pairs(queue: DeviceQueue, dtype: np.dtype[Any]) -> Iterator[dict[str, Any]]:
    """Time Floyd-Warshall, with the tile that is chosen."""
    graph = random_graph(SIDE, DEGREE)
    dense_weights = graph.to_scipy().toarray().astype(dtype)
    start = np.where(dense_weights > 0, dense_weights, infinity(dtype))
    np.fill_diagonal(start, 0)
    there = DeviceMatrix(queue, SIDE, dtype, with_tails=False)
    rounds = Rounds(there)

    def run() -> None:
        for block in range(there.side // BLOCK):
            rounds.queue_round(block)

    rival = dense.blocked(SIDE, str(dtype))["median"]
    median = time_it(lambda: there.overwrite(start), run, queue)
    found = fetch(there)[:CHECKED].astype(np.float64)
    found[found >= infinity(dtype)] = np.inf
    expected = sssp.shortest_paths(graph, range(CHECKED), device="cpu").to_float()
    equal = bool((found == expected).all())
    tile = rounds.product.tile
    yield figure("floyd-warshall", SIDE, dtype, tile, median, rival, equal)


def closures(queue: DeviceQueue) -> Iterator[dict[str, Any]]:
    """Time the closure by squaring, with all its squarings."""
    graph = random_graph(CLOSED, DEGREE)
    request = ClosureRequest(CLOSED, (graph.indptr, graph.indices), None, device="opencl")
    squares = Squares(queue, CLOSED)

    def run() -> None:
        squares.close(request.squarings, early_stop=False, advance=lambda rows: None)

    rival = dense.closure(CLOSED, "squaring")["median"]
    median = time_it(lambda: squares.upload(request), run, queue)
    words = squares.to_host()[:CHECKED]
    found = np.unpackbits(words.view(np.uint8), axis=1, count=CLOSED, bitorder="little")
    expected = sssp.shortest_paths(graph, range(CHECKED), device="cpu").reached
    equal = bool((found == expected).all())
    yield figure("closure by squaring", CLOSED, "bits", squares.strip, median, rival, equal)


def figure(
    what: str, n: int, dtype: Any, tile: Any, opencl: float, cuda: float, equal: bool
) -> dict[str, Any]:
    """Return a row of the JSON, in milliseconds."""
    return {
        "what": what,
        "n": n,
        "dtype": str(dtype),
        "tile": " x ".join(map(str, tile)),
        "opencl": opencl,
        "cuda": cuda,
        "ratio": opencl / cuda,
        "equal": equal,
    }


def main() -> int:
    """Print the table, write it as JSON where asked; 1 if any row is wrong."""
    parser = make_parser(__doc__)
    parser.add_argument("--device", default="opencl", help="whose OpenCL is measured")
    options = parser.parse_args()
    queue = DeviceQueue(options.device)
    listing = Listing({"seed": SEED, "runs": RUNS, "device": queue.device.name}, HEADINGS, CELLS)
    for name in ("int32", "float32", "int64", "float64"):
        for row in products(queue, np.dtype(name)):
            listing.add(row)
    for name in ("int32", "float32"):
        for row in all_pairs(queue, np.dtype(name)):
            listing.add(row)
    for row in closures(queue):
        listing.add(row)
    return listing.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
