"""What a GPU keeps of a prepared map: the pieces of its tree, and the weights of each version."""

from __future__ import annotations

import threading
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.cuda.compiler import SIMULATOR, cuda
from sssp.cuda.fill import THREADS, fill
from sssp.cuda.matrix.driver import Matrix
from sssp.cuda.matrix.floyd_warshall import launch_round
from sssp.cuda.matrix.min_plus import tile_side
from sssp.cuda.memory import upload
from sssp.hierarchy.bundles import Bundles, make_bundles
from sssp.hierarchy.cuda.sweeps import TOP, make_stream_kernel, stream_words, top_kernel
from sssp.hierarchy.customization import Metric, PackedArcs
from sssp.hierarchy.structure import Structure
from sssp.kernels.dtypes import INDEX, INT64, infinity

__all__ = ["LIMITS", "DeviceMap", "DeviceTree"]


#: most rows of a bundle, by tier from below
LIMITS = (4, 6) if SIMULATOR else (40, 56, 80, 112)
#: arcs of a group, in the lowest tier and in all others: there vertices have more of them
GROUPS = 2, 4
#: bytes of scratch that stay on the device between calls
KEPT = 512 << 20


class DeviceTree:
    """The pieces of an elimination tree on one device; all versions of a map share them.

    Attributes
    ----------
    bundles : Bundles
        On the host.
    height : int
        Most vertices on a path from a root.
    nbytes : int
        Bytes of the device.
    """

    def __init__(self, structure: Structure) -> None:
        # (the same on every device)
        self.bundles = bundles = structure.shared.made(
            "bundles", lambda: make_bundles(structure, LIMITS, TOP)
        )
        self.height = structure.height
        chain, leap = _chains(structure, bundles)
        counts = np.diff(bundles.first)
        inside = np.repeat(np.arange(counts.size, dtype=INDEX), counts)
        arrays = {
            "rank_of": structure.rank,
            "ranks": bundles.rank,
            "places": bundles.place,
            "vertices": structure.order[bundles.rank],
            "order": structure.order,
            "chain": chain,
            "leap": leap,
            "size": structure.size,
            "depth": structure.depth,
            "first": structure.first.astype(np.uint32),
            "upper": structure.upper,
            "bundles": inside,
            "levels": _levels(structure, bundles, inside),
            "bundle_first": bundles.first,
            "lowest": bundles.lowest,
            "highest": bundles.highest,
            "boundary_first": bundles.boundary_first,
            "boundary": bundles.boundary,
            "boundary_vertices": structure.order[bundles.boundary],
        }
        self._arrays = {name: _there(array) for name, array in arrays.items()}
        self.nbytes = sum(array.nbytes for array in arrays.values())

    def __getitem__(self, names: str) -> Any:
        """Return arrays by name, one or several with blanks between them."""
        found = [self._arrays[name] for name in names.split()]
        return found[0] if len(found) == 1 else found

    def group(self, tier: int) -> int:
        """How many arcs a group of the stream of a tier has."""
        lowest = tier == self.bundles.tiers.size - 2
        return GROUPS[0] if lowest else GROUPS[1]


class Pool:
    """Scratch that calls leave for those after them, as long as it is not much."""

    def __init__(self) -> None:
        self._idle: list[tuple[Any, int, tuple[Any, ...]]] = []
        self._held = 0
        self._lock = threading.Lock()

    def take(self, key: Any) -> tuple[Any, ...] | None:
        """Return scratch that was left under a key, if there is any."""
        with self._lock:
            for i, (own, nbytes, scratch) in enumerate(self._idle):
                if own == key:
                    del self._idle[i]
                    self._held -= nbytes
                    return scratch
        return None

    def leave(self, key: Any, nbytes: int, scratch: tuple[Any, ...]) -> None:
        """Leave scratch that nobody uses; what has lain longest goes."""
        with self._lock:
            self._idle.append((key, nbytes, scratch))
            self._held += nbytes
            while self._held > KEPT:
                self._held -= self._idle.pop(0)[1]


class DeviceMap:
    """The weights of a map in one dtype on one device.

    Attributes
    ----------
    tree : DeviceTree
    up, down : tuple of device arrays
        The arcs that are kept, by rank: where they begin, where they lead to (upward as depths),
        weights.
    stream_first, stream : device arrays
        Arcs down into bundles, as they are swept.
    between : device array, shape (top * top,)
        Distances within the top.
    shifts : device array, shape (n,) or (0,)
        Potentials of the vertices, if the weights are between them.
    nbytes : int
        Bytes of the device, of the tree too.
    pool : Pool
        Scratch of sweeps.
    nothing : tuple of device arrays
        What kernels take that fold nothing, in place of totals, and no targets.
    """

    def __init__(self, tree: DeviceTree, structure: Structure, metric: Metric) -> None:
        self.pool = Pool()
        self.nothing = cuda.to_device(np.zeros((1, 1, 1), INT64)), _there(np.empty(0, INT64))
        self.tree, self.dtype = tree, np.dtype(metric.down.weights.dtype)
        depths = structure.depth[metric.up.ends]
        self.up = tuple(_there(part) for part in (metric.up.first, depths, metric.up.weights))
        self.down = tuple(_there(part) for part in metric.down)
        shifts = metric.potentials
        self.shifts = _there(np.empty(0, self.dtype) if shifts is None else shifts)
        stream = cuda.stream()
        self.stream_first, self.stream = self._streamed(metric.down, stream)
        ends_up = _there(metric.up.ends)
        self.between = self._closed((self.up[0], ends_up, self.up[2]), stream)
        stream.synchronize()
        own = *self.up, *self.down, self.shifts, self.stream_first, self.stream, self.between
        self.nbytes = tree.nbytes + sum(array.nbytes for array in own)

    def _streamed(self, down: PackedArcs, stream: Any) -> tuple[Any, Any]:
        """Return where the groups of every place begin, and the stream."""
        tree, bundles = self.tree, self.tree.bundles
        start = int(bundles.first[0]) if bundles.first.size else 0
        counts = np.diff(down.first)[bundles.rank[start:]].astype(INT64)
        tiers = [
            (int(bundles.first[low]), int(bundles.first[high]), tree.group(tier))
            for tier, (low, high) in enumerate(pairwise(bundles.tiers))
        ]
        for low, high, group in tiers:
            of_tier = counts[low - start : high - start]
            of_tier[:] = np.maximum(1, -(-of_tier // group)) * group
        firsts = np.zeros(counts.size + 1, np.uint32)
        np.cumsum(counts, out=firsts[1:])
        stream_first = _there(firsts)
        words = cuda.device_array(max(1, int(counts.sum())) * stream_words(self.dtype), INT64)
        make = make_stream_kernel(self.dtype)
        for low, high, group in tiers:
            make[-(-(high - low) // THREADS), THREADS, stream](
                *map(np.uint32, (low, high, group)),
                *tree["ranks places bundles levels bundle_first boundary_first boundary"],
                *self.down,
                stream_first,
                words,
            )
        return stream_first, words

    def _closed(self, up: tuple[Any, ...], stream: Any) -> Any:
        """Return the distances within the top."""
        top = self.tree.bundles.top
        matrix = Matrix(max(top, 1), self.dtype, stream, with_tails=False)
        fill(matrix.flags, INDEX.type(0), stream)
        fill(matrix.flat, infinity(self.dtype), stream)
        for arcs, is_down in ((up, False), (self.down, True)):
            if top:
                top_kernel[-(-top // THREADS), THREADS, stream](
                    *self.tree["ranks places"], *arcs, is_down, np.uint32(top), matrix.flat
                )
        for first in range(0, top, tile_side(self.dtype)):
            launch_round(matrix, first)
        return matrix.flat


def _there(array: NDArray[Any]) -> Any:
    return upload(np.ascontiguousarray(array))


def _levels(structure: Structure, bundles: Bundles, inside: NDArray[np.int32]) -> NDArray[np.int32]:
    """Number the depths in every bundle, from above; return that of every place in one."""
    depths = structure.depth[bundles.rank[bundles.rank.size - inside.size :]]
    begins = np.diff(inside, prepend=-1) != 0
    passed = np.cumsum(begins | (np.diff(depths, prepend=-1) != 0), dtype=INDEX)
    return np.asarray(passed - passed[begins][inside], INDEX)


def _chains(structure: Structure, bundles: Bundles) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the last rank of every chain below the top, and the rank above it, -1 in the top."""
    ranks = np.arange(structure.order.size, dtype=INDEX)
    in_top = bundles.place < bundles.top
    above = np.where(structure.parent >= 0, structure.parent, 0)
    leaves = (structure.parent != ranks + 1) | (~in_top & in_top[above])
    # (the next rank that leaves its chain)
    last = np.where(leaves, ranks, ranks.size)
    chain = np.minimum.accumulate(last[::-1])[::-1].astype(INDEX)
    parent = structure.parent[chain]
    return chain, np.where((parent >= 0) & ~in_top[np.maximum(parent, 0)], parent, -1).astype(INDEX)
