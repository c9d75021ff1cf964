"""Select targets and their ancestors, with the arcs to them, for sweeps (RPHAST).

Only targets and their ancestors in the elimination tree lead to targets (Delling, Goldberg and
Werneck, "Faster batched shortest paths in road networks", 2011). Which ranks these are is kept with
the structure; their arcs are packed for each customization.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sssp.cpu.sweep.sweeps import ONE, Arcs
from sssp.graph.csr import freeze
from sssp.kernels.dtypes import INDEX
from sssp.kernels.jit import njit
from sssp.order.structure import Ancestors, Structure, find_ancestors


class Selection(NamedTuple):
    """Selected ranks to sweep, and the downward arcs to them (RPHAST).

    Attributes
    ----------
    places : ndarray, shape (n,), int32
        Of every rank, where its distances stand in a block; -1: it is not swept.
    order : ndarray, shape (s,), int32
        The places of the ranks that are swept, ascending by rank.
    arcs : tuple of ndarrays
        Those down, of a base and a layer; ends are places.
    """

    places: NDArray[np.int32]
    order: NDArray[np.int32]
    arcs: Arcs

    @property
    def nbytes(self) -> int:
        """Bytes of memory of the selection's arrays."""
        return sum([array.nbytes for array in (self.places, self.order, *self.arcs)])


def ancestors_of(structure: Structure, ranks: NDArray[np.int32]) -> Ancestors:
    """Return given ranks with all their ancestors; the last two results are cached.

    Versions of a map, which share its structure, are mostly asked for the same vertices.
    """
    kept: deque[tuple[NDArray[np.int32], Ancestors]]
    kept = structure.shared.get_or_build("ancestors", lambda: deque(maxlen=2))
    for known, ancestors in list(kept):
        if np.array_equal(known, ranks):
            return ancestors
    ancestors = find_ancestors(structure.parent, ranks)
    kept.append((ranks.copy(), ancestors))
    return ancestors


@njit
def _select_kernel(chosen_ranks, places, arcs_of_all, chosen_first, chosen_ends, chosen):
    """Count the arcs of selected ranks and, if output arrays are given, copy the arcs to them."""
    first, ends, weights, ranks, own_first, own_ends, own_weights = arcs_of_all
    changes = 0
    arcs = np.uint64(0)
    for place in range(chosen_ranks.size):
        rank = np.uint64(chosen_ranks[place])
        while changes < ranks.size and ranks[changes] < rank:
            changes += 1
        is_own = changes < ranks.size and ranks[changes] == rank
        start, end = np.uint64(first[rank]), np.uint64(first[rank + ONE])
        if is_own:
            start, end = np.uint64(own_first[changes]), np.uint64(own_first[changes + 1])
        if chosen.size:
            for arc in range(start, end):
                chosen_ends[arcs + arc - start] = places[own_ends[arc] if is_own else ends[arc]]
                chosen[arcs + arc - start] = own_weights[arc] if is_own else weights[arc]
        arcs += end - start
        chosen_first[place + 1] = arcs


def select_arcs(
    arcs: Arcs, ancestors: Ancestors, check: Callable[[int], object] = lambda nbytes: None
) -> Selection:
    """Return a selection of given ranks and all their ancestors, with the arcs between them.

    O(s) time and that of copying their arcs. `check` gets the bytes of the selection before they
    are allocated, and may raise.
    """
    (places, chosen_ranks), dtype = ancestors, arcs[2].dtype
    first = np.zeros(chosen_ranks.size + 1, np.uint32)
    counted = np.empty(0, np.uint32), np.empty(0, dtype)
    _select_kernel(chosen_ranks, places, arcs, first, *counted)
    size = int(first[-1])
    check(2 * first.nbytes + size * (first.itemsize + dtype.itemsize) + places.nbytes)
    chosen = first, np.empty(size, np.uint32), np.empty(size, dtype)
    _select_kernel(chosen_ranks, places, arcs, *chosen)
    no_layer = np.empty(0, np.uint32), np.zeros(1, np.uint32), chosen[1][:0], chosen[2][:0]
    order = freeze(np.arange(chosen_ranks.size, dtype=INDEX))
    return Selection(places, order, (*chosen, *no_layer))
