"""Batch sizes: how many rows a GPU solves at once, by their bytes and the free memory."""

from __future__ import annotations

from sssp.cuda.device.grid import blocks_at_once

#: batches that are solved side by side or on their way back
WORKERS = 2
#: sources in a batch: enough to fill any GPU, few enough that results come back meanwhile
LARGEST_BATCH = 1024
#: bytes of distances that are worth a batch of their own, if it fills the GPU
BATCH_BYTES = 256 << 20
#: sources for every multiprocessor that fill the GPU
FILLING = 3
#: rows that are swept side by side, and bytes of their distances, unless those of FEWEST are more
MOST_ROWS, BYTES, FEWEST = 1024, 1 << 30, 256
#: the same of rows to targets, of which each takes less time than the launch of a batch
MOST_SELECTED_ROWS = 4096


def searched_at_once(row_bytes: int) -> int:
    """Return how many sources a search takes at once if memory suffices."""
    filling = max(FILLING * blocks_at_once(), BATCH_BYTES // max(row_bytes, 1))
    return min(filling, LARGEST_BATCH)


def swept_at_once(row_bytes: int, lanes: int, *, selected: bool) -> int:
    """Return how many sources a sweep takes at once if memory suffices, a multiple of `lanes`."""
    most = MOST_SELECTED_ROWS if selected else MOST_ROWS
    return max(FEWEST, min(most, BYTES // max(row_bytes, 1) // lanes * lanes))


def fit_batches(rows: int, most: int, row: int, fixed: int, room: int) -> tuple[int, int]:
    """Return the number of rows in a batch, and how many batches are in memory at a time.

    Parameters
    ----------
    rows, most : int
        Rows of the request, and of a batch if memory suffices.
    row, fixed, room : int
        Bytes that each row of a batch takes, that a batch takes besides, and that there are.
    """

    def fitting(workers: int) -> int:
        return int((room // workers - fixed) // max(row, 1))

    workers = 1 if rows <= min(most, fitting(1)) or fitting(WORKERS) < 1 else WORKERS
    return max(1, min(most, fitting(workers), rows)), workers
