"""Tile sizes of the min-plus product by device; the fastest is measured once and kept on disk.

Whatever tile is taken, every entry of a product is the least of the same sums, and of equal ones
the first: the choice never shows in a result. The sides of tiles divide `BLOCK`, which is the same
on every device, since float sums on a matrix depend on it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter
from timeit import repeat
from typing import Any, NamedTuple

import numpy as np

from sssp.kernels import cache_files
from sssp.kernels.messages import warn_once
from sssp.opencl.compiler import Device

#: vertices of a round of Floyd-Warshall; matrices are padded to a multiple of it
BLOCK = 64
#: times that a candidate is timed, of which the least counts
TRIALS = 3


class ProductTile(NamedTuple):
    """The part of a min-plus product that one work-group computes, and its layout.

    Attributes
    ----------
    height, width : int
        Work-items of the group.
    rows, vectors, entries : int
        A work-item has ``rows`` by ``vectors`` vectors of so many ``entries`` in registers.
    depth : int
        Of the slices in local memory; 0: none, the caches of a CPU do.
    """

    height: int
    width: int
    rows: int
    vectors: int
    entries: int
    depth: int

    @property
    def sides(self) -> tuple[int, int]:
        """Number of rows and of columns of the tile."""
        return self.height * self.rows, self.width * self.vectors * self.entries


#: on GPUs, by columns of an item: items of a group, rows of an item, and depth
GPU_TILES = ((16, 16, 4, 4, 16), (16, 16, 4, 4, 32), (8, 16, 8, 4, 16), (8, 8, 8, 8, 16))
#: bytes that an item of a GPU reads at once, and entries of which it is at most
READ, MOST_ENTRIES = 16, 4
#: vectors on CPUs: entries at most (OpenCL C has no longer ones), and vectors of a tile's row
LONGEST, ROW = 16, 2


def tiles_for(device: Device, dtype: np.dtype[Any]) -> list[ProductTile]:
    """Return the tile shapes for matrix products that the limits of a device allow.

    On a CPU a group is one item, with the longest vectors there are: as many rows of them as
    registers hold (32 of 64 bytes, 16 of shorter ones). On a GPU a group makes `BLOCK` rows and
    columns.
    """
    facts = device.facts
    if device.is_cpu:
        nbytes = max(16, facts.native_vector_width_int * 4)
        entries = max(2, min(LONGEST, nbytes // dtype.itemsize))
        return [ProductTile(1, 1, 8 if nbytes >= 64 else 4, ROW, entries, 0)]
    entries = min(MOST_ENTRIES, READ // dtype.itemsize)
    found = []
    for height, width, rows, columns, depth in GPU_TILES:
        slices = depth * (2 * BLOCK + 4) * dtype.itemsize
        if height * width <= facts.max_work_group_size and slices <= facts.local_mem_size:
            found.append(ProductTile(height, width, rows, columns // entries, entries, depth))
    return found


def choose_tile(
    device: Device, tiles: Sequence[ProductTile], what: str, measure: Callable[[ProductTile], None]
) -> ProductTile:
    """Return the tile shape that multiplies matrices fastest, as measured now or earlier.

    Parameters
    ----------
    device : Device
    tiles : sequence of ProductTile
    what : str
        They are for.
    measure : callable
        ``measure(tile)`` makes a product, and waits for it.
    """
    if len(tiles) == 1:
        return tiles[0]
    facts = device.facts
    shown = repr((facts.platform.name, facts.name, facts.driver_version, what, list(tiles)))
    name = f"sssp.opencl.tiles-{hashlib.sha256(shown.encode()).hexdigest()[:32]}"
    try:
        kept = cache_files.read(name)
        if kept is not None:
            return tiles[int(kept)]
    except (OSError, ValueError, IndexError) as error:
        warn_once("the tile that was measured cannot be read, and is measured again: %s", error)
    seconds = []
    for run in (partial(measure, tile) for tile in tiles):
        run()  # compiles
        seconds.append(min(repeat(run, timer=perf_counter, number=1, repeat=TRIALS)))
    best = int(np.argmin(seconds))
    try:
        cache_files.write(name, str(best).encode())
    except OSError as error:
        warn_once(
            "the tile that was measured is not kept (%s); set "
            f"{cache_files.VARIABLE} to a folder of yours to avoid this",
            error,
        )
    return tiles[best]
