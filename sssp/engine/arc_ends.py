"""Trips that start at the end of an arc, or end along an arc, instead of at a vertex.

After an arc is a vertex of the graph that is searched: the head, or with turns the copy of it that
the arc leads to. On an arc is none: with turns several arcs of the expansion stand for it, behind
other turns. Its distance is the least of those of their tails and what they weigh.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sssp.errors import DistanceOverflowError
from sssp.graph.csr import offsets, spread
from sssp.graph.graph import Graph
from sssp.graph.weights import closed_weight
from sssp.kernels.dtypes import INT64, unreached


class ArcEnds(NamedTuple):
    """Arcs on which trips end, and the arcs that represent them in the graph that is searched.

    Attributes
    ----------
    arcs : ndarray, shape (t,), int64
        Arcs of the user's graph.
    places : ndarray, shape (c,), int64
        Arcs of the graph that is searched: those that stand for each of `arcs`, one at least.
    firsts : ndarray, shape (t + 1,), int64
        Those of ``arcs[i]`` are ``places[firsts[i]:firsts[i + 1]]``.
    tails : ndarray, shape (c,), int64
        Their tails.
    weights : ndarray, shape (c,)
        Their weights.
    """

    arcs: NDArray[np.int64]
    places: NDArray[np.int64]
    firsts: NDArray[np.int64]
    tails: NDArray[np.int64]
    weights: NDArray[Any]

    @classmethod
    def of(
        cls, graph: Graph, searched: Graph, arcs: NDArray[np.int64], *, weighted: bool
    ) -> ArcEnds:
        """Return, for the arcs where trips end, the arcs that represent them in the searched graph.

        Parameters
        ----------
        weighted : bool
            Whether an open arc has its weight, and not 1.
        """
        places = arcs
        firsts = np.arange(arcs.size + 1)
        if graph.turns is not None:
            arc_of = graph.turns.expansion.arc_of
            is_asked = np.zeros(graph.m + 1, np.bool_)
            is_asked[arcs] = True
            found = np.flatnonzero(is_asked[arc_of])
            found = found[np.argsort(arc_of[found], kind="stable")]
            low, high = (np.searchsorted(arc_of[found], arcs, side) for side in ("left", "right"))
            firsts = offsets(high - low)
            places = found[spread(low, high - low)]
        weights = searched.weights[places]
        if not weighted:
            weights = np.where(weights == closed_weight(weights.dtype), weights, 1)
        return cls(arcs, places, firsts, searched.tails[places].astype(INT64), weights)

    @property
    def counts(self) -> NDArray[np.int64]:
        """For each arc of `arcs`, the number of arcs of the searched graph that represent it."""
        return np.diff(self.firsts)

    def reach(
        self, distances: NDArray[Any], limit: float | None
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the lengths of the shortest paths that end with each of the target arcs.

        Parameters
        ----------
        distances : ndarray, shape (rows, c)
            Of `tails`.
        limit : float, optional

        Returns
        -------
        totals : ndarray, shape (rows, c)
            Of `places`; int64 or the dtype of float distances.
        least : ndarray, shape (rows, t)
            The least of each.

        Raises
        ------
        DistanceOverflowError
            A sum does not fit int64.
        """
        missing, closed = unreached(distances.dtype), closed_weight(self.weights.dtype)
        leads = (distances != missing) & (self.weights != closed)
        wide = INT64 if distances.dtype.kind == "i" else distances.dtype
        more = np.where(self.weights == closed, 0, self.weights).astype(wide)
        totals = np.where(leads, distances, 0).astype(wide) + more
        if wide == INT64 and (leads & (more > 0) & (totals < distances)).any():
            raise DistanceOverflowError("the distance of a target arc does not fit int64")
        if limit is not None:
            leads &= totals <= limit
        totals = np.where(leads, totals, unreached(totals.dtype))
        if not self.arcs.size:
            return totals, totals
        return totals, np.minimum.reduceat(totals, self.firsts[:-1], axis=1)

    def choose(self, totals: NDArray[Any], least: NDArray[Any]) -> NDArray[np.int64]:
        """Return for each user arc the index of the nearest searched arc that represents it."""
        best = np.flatnonzero(totals == np.repeat(least, self.counts))
        return best[np.searchsorted(best, self.firsts[:-1])]

    def extend(self, searched: Graph) -> Graph:
        """Return the searched graph with one extra vertex per target arc, as that arc's head."""
        is_open = self.weights != closed_weight(self.weights.dtype)
        kept = searched.without_closed_arcs()
        own = np.repeat(np.arange(self.arcs.size), self.counts)
        return Graph.from_arcs(
            np.concatenate([kept.tails, self.tails[is_open]]),
            np.concatenate([kept.indices, searched.n + own[is_open]]),
            np.concatenate([kept.weights, self.weights[is_open]]),
            searched.n + self.arcs.size,
        )
