"""Certificates of `Trips` and `NearestFacilities`.

Trips are certified source by source, as distances to targets are; their paths must be paths of that
length.

The k nearest facilities of a vertex are labels (facility, distance). They are right if and only if

- they are complete: the label of a tail, moved along an arc, is among the labels of the head, or
  all k labels there come before it, by distance and then by position of the facility;
- they are real: one search along tight arcs, from the labels of distance 0 at the facilities
  themselves, visits every label.

The first makes them no farther than the true ones, for what is among the k nearest of a head is
among those of the tail before it on a shortest path; the second says that such paths exist.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sssp.certificate.certify import Certifier, Row
from sssp.cpu.tree_sums import arcs_between, skim_kernel
from sssp.errors import VerificationError
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import INDEX, INT64, unreached
from sssp.kernels.jit import njit
from sssp.results.facilities import NearestFacilities
from sssp.results.trip_results import Trips

#: what the kernel found; the place that it returns is an arc for `INCOMPLETE`, else a vertex
RIGHT, BAD_NUMBER, DISORDER, NOT_HERE, INCOMPLETE, UNREAL = range(6)


@njit
def _certify_labels_kernel(
    indptr, indices, weights, facilities, distances, index, bounds, seen, stack
):
    """Certify the labels of all vertices; return a code, and the vertex or arc where it fails.

    `distances` and `index` have shape (n, k), `index` -1 where there is no label; `bounds` are the
    greatest distance that a label may have, the greatest that a missing one may not have, and the
    tolerance. `seen` bool (n, k), false, and `stack` int64 (n k,) are scratch.
    """
    greatest, least_missing, tolerance = bounds
    n, k = index.shape
    left = 0
    for v in range(n):
        for i in range(k):
            place, distance = index[v, i], distances[v, i]
            if place < 0:
                if i + 1 < k and index[v, i + 1] >= 0:
                    return DISORDER, v
                continue
            left += 1
            # (written so that NaN fails too)
            if place >= facilities.size or not 0 <= distance <= greatest:
                return BAD_NUMBER, v
            for j in range(i):
                if index[v, j] == place or distances[v, j] > distance:
                    return DISORDER, v
            tie = i > 0 and tolerance == 0 and distances[v, i - 1] == distance
            if tie and index[v, i - 1] > place:
                return DISORDER, v

    size = 0
    for place in range(facilities.size):
        v = facilities[place]
        at = -1
        for i in range(k):
            if index[v, i] == place:
                at = i
        if at >= 0 and distances[v, at] == 0:
            seen[v, at] = True
            stack[size] = v * k + at
            size += 1
        elif at >= 0 or index[v, k - 1] < 0 or distances[v, k - 1] > 0:
            return NOT_HERE, v

    for tail in range(n):
        for arc in range(indptr[tail], indptr[tail + 1]):
            head = indices[arc]
            for i in range(k):
                if index[tail, i] < 0:
                    break
                place, there = index[tail, i], distances[tail, i] + weights[arc]
                if there > least_missing:
                    break
                holds = False
                for j in range(k):
                    if index[head, j] == place:
                        if distances[head, j] > there + tolerance:
                            return INCOMPLETE, arc
                        holds = True
                if holds:
                    continue
                last = index[head, k - 1]
                if last < 0 or distances[head, k - 1] > there + tolerance:
                    return INCOMPLETE, arc
                if tolerance == 0 and distances[head, k - 1] == there and last > place:
                    return INCOMPLETE, arc

    while size > 0:
        size -= 1
        left -= 1
        tail, i = stack[size] // k, stack[size] % k
        for arc in range(indptr[tail], indptr[tail + 1]):
            head = indices[arc]
            for j in range(k):
                if index[head, j] == index[tail, i] and not seen[head, j]:
                    gap = distances[tail, i] + weights[arc] - distances[head, j]
                    if -tolerance <= gap <= tolerance:
                        seen[head, j] = True
                        stack[size] = head * k + j
                        size += 1
    if left == 0:
        return RIGHT, 0
    for v in range(n):
        for i in range(k):
            if index[v, i] >= 0 and not seen[v, i]:
                return UNREAL, v
    return UNREAL, 0


def certify_facilities(g: Graph, result: NearestFacilities, rtol: float | None) -> None:
    """Raise `VerificationError` unless `result` holds the k nearest facilities of every vertex."""
    facilities, distances, index = result.facilities, result.distances, result.index
    _require(
        facilities.dtype == INT64 and facilities.ndim == 1, "facilities must be int64 vertices"
    )
    inside = (facilities >= 0) & (facilities < g.n)
    _require(inside.all() and facilities.size > 0, "facilities must be vertices of this graph")
    shaped = index.ndim == 2 and index.shape == distances.shape and len(index) == g.n
    _require(
        shaped and index.dtype == INDEX, "index must be int32, shaped as distances: (vertices, k)"
    )
    _require(
        ((index < 0) == (distances == unreached(distances.dtype))).all(),
        "index must be -1 just where there is no distance",
    )
    asked = g.reverse() if result.direction == "to" else g
    certifier = Certifier(asked, result, rtol)
    numbers, weights = certifier.operands(distances)
    greatest, least_missing, _, tolerance = certifier.bounds(numbers, result.limit, certifier.rtol)
    graph, size = certifier.graph, index.size
    code, place = _certify_labels_kernel(
        graph.indptr,
        graph.indices,
        weights,
        facilities,
        np.ascontiguousarray(numbers),
        np.ascontiguousarray(index),
        (greatest, least_missing, tolerance),
        np.zeros(index.shape, np.bool_),
        np.empty(size, np.int64),
    )
    if code == RIGHT:
        return
    vertex = int(graph.indices[place]) if code == INCOMPLETE else int(place)
    given = f"vertex {vertex} is given the facilities {index[vertex]} at {distances[vertex]}"
    reason = {
        BAD_NUMBER: "a position or a distance is none, or is beyond the limit",
        DISORDER: "they are not ascending by distance and position, each once",
        NOT_HERE: "a facility stands here, at distance 0",
        INCOMPLETE: "one is nearer by way of an arc from vertex "
        f"{graph.tails[place] if code == INCOMPLETE else ''}",
        UNREAL: "no path to one of them is of that length",
    }[code]
    raise VerificationError(f"{given}, but {reason}")


def certify_trips(g: Graph, result: Trips, rtol: float | None) -> None:
    """Raise `VerificationError` unless every trip has its distance, and its path that length."""
    shape = (len(result),)
    for name in ("sources", "targets"):
        vertices = getattr(result, name)
        _require(vertices.dtype == INT64 and vertices.shape == shape, f"{name} must be int64, 1-D")
        _require(((vertices >= 0) & (vertices < g.n)).all(), f"{name} must be vertices")
    _require(result.distances.shape == shape, "distances must have one number a trip")
    certifier = Certifier(g, result, rtol)
    order = np.argsort(result.sources, kind="stable")
    for trips in np.split(order, np.flatnonzero(np.diff(result.sources[order])) + 1):
        if trips.size:
            row = Row(int(trips[0]), result.sources[trips[:1]], result.distances[trips])
            certifier.certify_targets(row, result.targets[trips], result.limit)
    if result.has_paths:
        _certify_paths(certifier, result)


def _certify_paths(certifier: Certifier, result: Trips) -> None:
    """Raise unless every path leads from its source to its target, at its distance."""
    walks, g = result._require_walks(), certifier.graph
    reached, firsts = result.reached, walks.firsts[result._walk_of]
    ends = walks.firsts[result._walk_of + 1]
    _require((ends > firsts)[reached].all(), "a trip that is reached has no path")
    at = np.flatnonzero(reached)
    wrong = (walks.vertices[firsts[at]] != result.sources[at]) | (
        walks.vertices[ends[at] - 1] != result.targets[at]
    )
    if wrong.any():
        trip = int(at[np.argmax(wrong)])
        raise VerificationError(
            f"the path of trip {trip} does not lead from its source to its target"
        )
    begins = walks.firsts[:-1][np.diff(walks.firsts) > 0]
    tails = np.roll(walks.vertices, 1)
    tails[begins] = -1
    inner = tails >= 0
    arcs = arcs_between(g, tails, walks.vertices)
    arcs[inner] = np.minimum(arcs[inner], g.m - 1)
    there = (g.tails[arcs] == tails) & (g.indices[arcs] == walks.vertices)
    if (inner & ~there).any():
        place = int(np.argmax(inner & ~there))
        raise VerificationError(
            f"a path goes from vertex {tails[place]} to {walks.vertices[place]}, where there "
            "is no open arc"
        )
    numbers, weights = certifier.operands(result.distances)
    lengths = np.zeros(walks.firsts.size - 1, numbers.dtype)
    skim_kernel(walks.firsts, arcs, weights, lengths)
    given, found = numbers[at], lengths[result._walk_of[at]]
    wrong = np.abs(found - given) > certifier.tolerance(numbers, certifier.last_rtol)
    if wrong.any():
        place = int(np.argmax(wrong))
        raise VerificationError(
            f"the path of trip {at[place]} is {found[place]} long, its distance {given[place]}"
        )


def _require(holds: Any, reason: str) -> None:
    if not holds:
        raise VerificationError(reason)
