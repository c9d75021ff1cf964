"""Measure uploads of a graph to the GPU: pinned pieces over several streams, or one plain copy.

``python -m bench.upload [--n 4000000] [--json FILE]``, on a machine with a GPU. The arrays are
those of the built-in road network as the loaders make them. Every figure is the median of
several runs from call to the arrays being on the device; pinning and unpinning, allocation and
the making of streams are included.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sssp
from bench.listing import Listing, make_parser
from sssp.bench.workloads import time_call
from sssp.cuda.availability import cuda, device_number, select
from sssp.cuda.device_memory import PIECE, STREAMS, upload

PIECES = (4 << 20, 16 << 20, 32 << 20)
STREAM_COUNTS = (1, 2, 4, 8)
HEADINGS = "way | streams | piece | ms | GB/s | times as fast"
CELLS = "{way} | {streams} | {size} | {ms:.2f} | {speed:.1f} | {times:.2f}"


def main() -> int:
    """Measure, print a table, and write it as JSON if asked."""
    parser = make_parser(__doc__)
    parser.add_argument("--n", type=int, default=4_000_000, help="vertices of the network")
    parser.add_argument("--trials", type=int, default=15)
    options = parser.parse_args()
    g = sssp.road_like(options.n)
    arrays = [g.indptr.astype(np.int32), g.indices, g.weights]
    size = sum(array.nbytes for array in arrays)
    settings = {
        "graph": f"road_like({options.n})",
        "n": g.n,
        "m": g.m,
        "bytes": size,
        "trials": options.trials,
        "clock": "wall, milliseconds",
        "package": {"streams": STREAMS, "piece": PIECE},
    }
    listing = Listing(settings, HEADINGS, CELLS)
    with select(device_number("cuda")):
        rows = measure(arrays, options.trials)
    for row in rows:
        piece = None if row["piece"] is None else f"{row['piece'] >> 20} MiB"
        shown = {"speed": size / row["ms"] / 1e6, "times": rows[0]["ms"] / row["ms"]}
        listing.add(row, size=piece, **shown)
    return listing.finish(options.json)


def measure(arrays: list[NDArray[Any]], trials: int) -> list[dict[str, Any]]:
    """Return the median milliseconds of every way, taken in turn on the same machine."""
    ways: dict[tuple[Any, ...], Callable[[], list[Any]]] = {
        ("pageable", 1, None): lambda: [cuda.to_device(array) for array in arrays],
    }
    for piece in PIECES:
        for streams in STREAM_COUNTS:
            ways["pinned", streams, piece] = send_pinned(arrays, streams, piece)
    taken: dict[tuple[Any, ...], list[float]] = {way: [] for way in ways}
    for _ in range(trials + 1):
        for way, send in ways.items():
            cuda.synchronize()
            seconds, there = time_call(partial(_send, send))
            taken[way].append(1e3 * seconds)
            for array, copy in zip(arrays, there, strict=True):
                if len(taken[way]) == 1:  # the first run warms up, and is checked
                    np.testing.assert_array_equal(copy.copy_to_host(), array)
            del there, copy
            cuda.current_context().deallocations.clear()
    return [
        {"way": way[0], "streams": way[1], "piece": way[2], "ms": statistics.median(times[1:])}
        for way, times in taken.items()
    ]


def send_pinned(arrays: list[NDArray[Any]], streams: int, piece: int) -> Callable[[], list[Any]]:
    """Return a call that sends all arrays in pinned pieces."""
    return lambda: [upload(array, streams, piece) for array in arrays]


def _send(send: Callable[[], list[Any]]) -> list[Any]:
    """Send arrays, and wait until they are there."""
    there = send()
    cuda.synchronize()
    return there


if __name__ == "__main__":
    sys.exit(main())
