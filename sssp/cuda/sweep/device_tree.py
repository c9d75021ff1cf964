"""An elimination tree in GPU memory, divided into bundles of subtrees for thread blocks."""

from __future__ import annotations

import weakref
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.cuda.availability import SIMULATOR, cuda
from sssp.cuda.compiler import most_shared_bytes
from sssp.cuda.device_memory import upload
from sssp.cuda.driver import wait_for_device
from sssp.cuda.pool import THREADS, device_array, fill
from sssp.cuda.sweep.arc_slots import (
    pairs_kernel,
    placed_arcs_kernel,
    placed_givers_kernel,
    triangles_kernel,
)
from sssp.cuda.sweep.climb import TOP
from sssp.cuda.sweep.sweeps import Pass
from sssp.cuda.sweep.target_selection import Arrays, Selections
from sssp.cuda.sweep.triangle_walk import Room
from sssp.graph.csr import offsets
from sssp.kernels.dtypes import INDEX
from sssp.kernels.locks import Derived
from sssp.order.structure import NO_SLOT, Structure
from sssp.order.tree_partition import Bundles, make_bundles

#: most rows of a bundle, by tier from below
LIMITS = (4, 6) if SIMULATOR else (40, 56, 80, 112)
#: the next ones, of trees of which something remains between bundles and top: with costs of all
#: turns New York has 394 levels then, and none with these, where one tree takes 0.33 ms, not 1.6;
#: where nothing remains they only make the highest tiers slower
WIDER = () if SIMULATOR else (160, 224)
#: arcs of a group, in the lowest tier and in all others: there vertices have more of them; powers
#: of two
GROUPS = 2, 4
#: threads of a block that lists pairs
PAIR_THREADS = 2 if SIMULATOR else 32


class DeviceTree(Arrays):
    """An elimination tree in GPU memory, cut into bundles of subtrees, one per thread block.

    Attributes
    ----------
    bundles : Bundles
        On the host.
    height : int
        Most vertices on a path from a root.
    size : int
        Vertices.
    above : int
        Those above the lowest tier, whose places come first.
    given_first : int
        Two for each chordal arc above the lowest tier: the graph's weights come to these first.
    top_levels : list of int
        The place where every level of the top begins; the last is where the top ends.
    passes : list of Pass
        Tiers of bundles, from above.
    selections : Selections
        For sweeps to some targets.
    made : Derived
        What is made for all versions of a map, when it is first wanted.
    nbytes : int
        Bytes of the device.
    """

    def __init__(self, structure: Structure) -> None:
        super().__init__()
        # (the same on every device)
        self.bundles = bundles = structure.shared.get_or_build(
            "bundles", lambda: _cut_into_bundles(structure)
        )
        self.height, self.tiers, self.made = structure.height, bundles.tiers.size - 1, Derived()
        depths = structure.depth[bundles.rank[: bundles.top]]
        self.top_levels: list[int] = np.searchsorted(
            depths, np.arange(depths.max(initial=-1) + 2)
        ).tolist()
        self.size, self.selections = bundles.rank.size, Selections()
        self.passes = [
            Pass(low, high, room, self.group(tier), tier == self.tiers - 1)
            for tier, ((low, high), room) in enumerate(
                zip(pairwise(bundles.tiers.tolist()), bundles.rooms.tolist(), strict=True)
            )
        ]
        chain, leap = _chains(structure, bundles)
        self.arrays = {
            "rank_of": upload(structure.rank),
            "ranks": upload(bundles.rank),
            "places": upload(bundles.place),
            "vertices": upload(structure.order[bundles.rank]),
            "order": upload(structure.order),
            "chain": upload(chain),
            "leap": upload(leap),
            "size": upload(structure.size),
            "depth": upload(structure.depth),
            "first": upload(structure.first.astype(np.uint32)),
            "upper": upload(structure.upper),
            "bundle_first": upload(bundles.first),
            "lowest": upload(bundles.lowest),
            "highest": upload(bundles.highest),
            "boundary_first": upload(bundles.boundary_first),
            "boundary": upload(bundles.boundary),
            "boundary_vertices": upload(structure.order[bundles.boundary]),
        }
        # (which bundle each place in one is in)
        start, counts = bundles.start, np.diff(bundles.first)
        owners = np.repeat(np.arange(counts.size, dtype=INDEX), counts)
        degrees = np.diff(structure.first)[bundles.rank]
        firsts = offsets(degrees)
        self.arcs = int(firsts[-1])
        steps, levels = self._find_steps(structure.depth[bundles.rank[start:]], owners)
        # the chordal arcs, numbered by the places of their tails
        n, size = self.size, max(1, self.arcs)
        kept_first = np.empty(n, np.uint32)
        kept_first[bundles.rank] = firsts[:-1]
        self.arrays |= {
            "bundles": upload(owners),
            "arcs_first": upload(firsts.astype(np.uint32)),
            "kept_first": upload(kept_first),
            "heads": device_array(size, INDEX),
            "depths": device_array(size, INDEX),
            "rows": device_array(size, np.uint32),
        }
        if n:
            grid, first_place = (-(-n // THREADS), THREADS), np.uint32(start)
            self.launch(placed_arcs_kernel, grid, start=first_place, levels=upload(levels))
        self._list_pairs(structure.parent[bundles.rank[start:]], owners, degrees)
        self._list_triangles(steps, owners, degrees[start:])
        del self.arrays["bundles"]  # which sweeps do not read
        # where the stream of each bundle begins, with room for all groups of arcs
        places, sizes = bundles.first - start, np.empty(n - start, np.int64)
        for tier, (low, high) in enumerate(pairwise(bundles.tiers)):
            own, group = slice(places[low], places[high]), self.group(tier)
            sizes[own] = group * np.maximum(1, -(-degrees[start:][own] // group))
        stream_first = offsets(sizes)[places]
        self.stream_arcs = int(stream_first[-1])
        self.arrays["stream_first"] = upload(stream_first.astype(np.uint32))
        self.above = int(bundles.first[bundles.tiers[-2]]) if self.tiers else start
        self.given_first = 2 * int(firsts[self.above])
        arcs, bounded = np.diff(firsts[bundles.first]), np.diff(bundles.boundary_first)
        ways = arcs + bounded.astype(np.int64) * (bounded - 1) // 2
        self.rooms = [
            Room(int(rows), int(arcs[low:high].max()), int(ways[low:high].max()))
            for rows, (low, high) in zip(bundles.rooms, pairwise(bundles.tiers), strict=True)
        ]
        self.nbytes = sum(array.nbytes for array in self.arrays.values())

    def _find_steps(
        self, depths: NDArray[np.int32], owners: NDArray[np.int32]
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Divide the vertices of each bundle of subtrees into steps, one step for each tree depth.

        Return the first place of each, and the step of every place in its bundle.
        """
        new_bundle = np.diff(owners, prepend=-1) != 0
        begins = new_bundle | (np.diff(depths, prepend=-1) != 0)
        steps = np.flatnonzero(begins) + self.bundles.start
        passed = np.cumsum(begins, dtype=INDEX)
        self.arrays |= {
            "steps": upload(steps.astype(np.uint32)),
            "step_first": upload(np.searchsorted(steps, self.bundles.first).astype(np.uint32)),
        }
        return steps, passed - passed[new_bundle][owners]

    def _list_pairs(
        self, parents: NDArray[np.int32], owners: NDArray[np.int32], degrees: NDArray[np.int64]
    ) -> None:
        """List on the GPU the arcs between the boundary vertices of each bundle of subtrees."""
        bundles, start = self.bundles, self.bundles.start
        above = np.where(parents >= 0, bundles.place[parents], 0)
        roots = np.flatnonzero(above < bundles.first[owners]).astype(INDEX) + INDEX.type(start)
        root_pairs = offsets(degrees[roots] * (degrees[roots] - 1) // 2)
        pair_first = root_pairs[np.searchsorted(roots, bundles.first)]
        size = max(1, int(root_pairs[-1]))
        self.arrays |= {
            "pair_first": upload(pair_first.astype(np.uint32)),
            "pairs": device_array(size, np.uint32),
            "pair_arcs": device_array(size, np.uint32),
        }
        if roots.size:
            self.launch(
                pairs_kernel, (roots.size, PAIR_THREADS), start=np.uint32(start),
                roots=upload(roots), root_pairs=upload(root_pairs.astype(np.uint32)),
            )  # fmt: skip
        wait_for_device()

    def _list_triangles(
        self, steps: NDArray[np.int64], owners: NDArray[np.int32], degrees: NDArray[np.int64]
    ) -> None:
        """List on the device the arc triangles whose lowest vertex is in a bundle of subtrees."""
        start, firsts = self.bundles.start, offsets(degrees * (degrees - 1) // 2)
        triangle_first = firsts[self.bundles.first - start]
        size = max(1, int(firsts[-1]))
        in_bundles = firsts[steps - start] - triangle_first[owners[steps - start]]
        self.arrays |= {
            "step_triangles": upload(in_bundles.astype(np.uint32)),
            "triangle_first": upload(triangle_first),
            "legs": device_array(size, np.uint32),
            "thirds": device_array(size, np.uint16),
        }
        if degrees.size:
            grid, first_place = (-(-degrees.size // THREADS), THREADS), np.uint32(start)
            self.launch(triangles_kernel, grid, start=first_place, triangles_first=upload(firsts))
        wait_for_device()

    def givers(self, slots: NDArray[np.uint32]) -> Any:
        """Return, for each directed chordal arc, the graph's arc that gives its weight.

        Made once for an array of slots, and kept as long as that is there.
        """
        key = f"givers {id(slots)}"

        def make() -> Any:
            weakref.finalize(slots, self.made.pop, key, None).atexit = False
            givers = device_array(max(1, 2 * self.arcs), np.uint32)
            fill(givers, np.uint32(NO_SLOT), cuda.default_stream())
            if slots.size:
                grid = -(-slots.size // THREADS), THREADS
                self.launch(placed_givers_kernel, grid, slots=upload(slots), givers=givers)
            wait_for_device()
            return givers

        return self.made.get_or_build(key, make)

    def outside(self, tier: int, dtype: np.dtype[Any]) -> int:
        """Return how many arc weights of one tier (layer of subtrees) are in global memory."""
        room = self.rooms[tier]
        if room.shared_bytes(dtype, packs=True, outside=False) <= most_shared_bytes():
            return 0
        return int(np.diff(self.bundles.tiers)[tier]) * room.numbers(packs=True)

    def group(self, tier: int) -> int:
        """Return how many arcs are packed together in one group in a tier of the tree: 2 or 4."""
        return GROUPS[0] if tier == self.tiers - 1 else GROUPS[1]


class Above(Arrays):
    """Device arrays of an elimination tree without its lowest tier of vertices.

    That tier has nine vertices of ten; the lanes of the others stand in order of place.

    Attributes
    ----------
    size : int
        Places that lanes have.
    passes : list of Pass
    nbytes : int
        Bytes of the device, besides the tree.
    """

    def __init__(self, tree: DeviceTree) -> None:
        super().__init__()
        self.size, self.passes = tree.above, tree.passes
        bundles = tree.bundles
        own = {
            "vertices": upload(np.arange(self.size, dtype=INDEX)),
            "boundary_vertices": upload(bundles.place[bundles.boundary]),
        }
        self.nbytes = sum(array.nbytes for array in own.values())
        self.arrays = tree.arrays | own | {"order": tree["places"]}


def _cut_into_bundles(structure: Structure) -> Bundles:
    """Cut the elimination tree into bundles: groups of subtrees that fit one GPU thread block."""
    bundles = make_bundles(structure, LIMITS, TOP)
    return bundles if bundles.levels.size == 1 else make_bundles(structure, LIMITS + WIDER, TOP)


def _chains(structure: Structure, bundles: Bundles) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Find for each rank the end of its chain (path of consecutive ranks) and the end's parent."""
    ranks = np.arange(structure.order.size, dtype=INDEX)
    in_top = bundles.place < bundles.top
    above = np.where(structure.parent >= 0, structure.parent, 0)
    leaves = (structure.parent != ranks + 1) | (~in_top & in_top[above])
    # (the next rank that leaves its chain)
    last = np.where(leaves, ranks, ranks.size)
    chain = np.minimum.accumulate(last[::-1])[::-1].astype(INDEX)
    parent = structure.parent[chain]
    return chain, np.where((parent >= 0) & ~in_top[np.maximum(parent, 0)], parent, -1).astype(INDEX)
