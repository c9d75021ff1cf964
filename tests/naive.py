"""Independent references in plain Python: dicts and lists, one step at a time.

Nothing here imports the package, NumPy, Numba or SciPy, and nothing is meant to be fast. Numbers
are whatever type the weights have: `int` is exact, `float` and `numpy.float32` round every sum.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

# int, float or numpy.float32: anything that can be added and compared
Number = Any
Pair = tuple[int, int]


class Arc(NamedTuple):
    """An arc as a user gives it; its row is its place in `Network.arcs`."""

    tail: int
    head: int
    weight: Number


@dataclass(frozen=True)
class Network:
    """A graph before anything was done to it: parallel arcs, self-loops and all."""

    n: int
    arcs: tuple[Arc, ...]
    directed: bool = True
    integer: bool = True

    def rows(self) -> dict[Pair, int]:
        """Return the input row of every open arc: the lightest, the first among equals."""
        rows: dict[Pair, int] = {}
        for row, (tail, head, weight) in enumerate(self.arcs):
            if weight == math.inf or (tail == head and weight >= 0):
                continue
            for pair in {(tail, head)} if self.directed else {(tail, head), (head, tail)}:
                if pair not in rows or weight < self.arcs[rows[pair]].weight:
                    rows[pair] = row
        return rows

    def lengths(self) -> dict[Pair, Number]:
        """Return the weight of every open arc."""
        return {pair: self.arcs[row].weight for pair, row in self.rows().items()}

    def with_weights(self, weights: Iterable[Number]) -> Network:
        """Return the same arcs with other weights."""
        arcs = (
            Arc(tail, head, weight)
            for (tail, head, _), weight in zip(self.arcs, weights, strict=True)
        )
        return Network(self.n, tuple(arcs), self.directed, self.integer)


class NegativeCycle(Exception):
    """A cycle of negative length can be reached from a source."""


class Row(NamedTuple):
    """What a request answers for one source, or for the nearest of several.

    Only reached vertices are keys. With targets, all three dicts hold the final part of the row:
    what lies no farther than the farthest target, if every target is reached.
    """

    distances: dict[int, Number]
    predecessors: dict[int, int]
    origins: dict[int, int]


def solve(
    network: Network,
    sources: Sequence[int],
    *,
    limit: float = math.inf,
    targets: Sequence[int] | None = None,
) -> Row:
    """Find distances, predecessors and origins from all `sources` together."""
    lengths = network.lengths()
    final = distances(lengths, sources, limit)
    negative = any(weight < 0 for weight in lengths.values())
    # a path over negative arcs may pass through vertices farther away than its end
    if targets and not negative and all(t in final for t in targets):
        farthest = max(final[t] for t in targets)
        final = {v: d for v, d in final.items() if d <= farthest}
    roots = {s for s in sources if s in final and final[s] == 0}
    tight = {
        (tail, head)
        for (tail, head), weight in lengths.items()
        if tail in final and head in final and final[tail] + weight == final[head]
    }
    origins = _origins(roots, tight)
    kept = {pair for pair in tight if origins[pair[0]] == origins[pair[1]]}
    if negative or any(final[tail] == final[head] for tail, head in tight):
        hops = _hops(roots, kept)
        kept = {(tail, head) for tail, head in kept if hops[tail] + 1 == hops[head]}
    predecessors = {
        v: min(tail for tail, head in kept if head == v) for v in final if v not in roots
    }
    return Row(final, predecessors, origins)


def distances(
    lengths: Mapping[Pair, Number], sources: Iterable[int], limit: float = math.inf
) -> dict[int, Number]:
    """Bellman-Ford over all arcs until nothing changes: the least sum from the source outward.

    What lies beyond the limit is not reached, and so leads nowhere.
    """
    zero = next((type(weight)(0) for weight in lengths.values()), 0)
    best = dict.fromkeys(sources, zero)
    vertices = {v for pair in lengths for v in pair}
    for _ in range(len(vertices) + 1):
        changed = False
        for (tail, head), weight in lengths.items():
            if tail not in best:
                continue
            candidate = best[tail] + weight
            if candidate <= limit and (head not in best or candidate < best[head]):
                best[head] = candidate
                changed = True
        if not changed:
            return best
    raise NegativeCycle


def breadth_first(network: Network, sources: Iterable[int]) -> dict[int, int]:
    """Count the arcs of the shortest path by arcs, level by level."""
    return _hops(set(sources), set(network.rows()))


def is_negative_cycle(network: Network, cycle: Sequence[int]) -> bool:
    """Tell whether `cycle` visits its vertices once, along arcs that sum below zero."""
    lengths = network.lengths()
    pairs = [(cycle[i], cycle[(i + 1) % len(cycle)]) for i in range(len(cycle))]
    return (
        len(set(cycle)) == len(cycle) > 0
        and all(pair in lengths for pair in pairs)
        and sum(lengths[pair] for pair in pairs) < 0
    )


def path(predecessors: Mapping[int, int], target: int) -> list[int]:
    """Return the vertices from the root of the tree to `target`."""
    vertices = [target]
    while vertices[-1] in predecessors:
        vertices.append(predecessors[vertices[-1]])
    return vertices[::-1]


def skim(
    network: Network, row: Row, values: Sequence[Number], zero: Number = 0
) -> dict[int, Number]:
    """Add `values`, one per input row, along the tree path to every reached vertex."""
    rows = network.rows()
    sums = {}
    for v in row.distances:
        total = zero
        for pair in _arcs_of(path(row.predecessors, v)):
            total = total + values[rows[pair]]
        sums[v] = total
    return sums


def load(network: Network, row: Row, volumes: Mapping[int, Number]) -> list[Number]:
    """Send each vertex' volume along its tree path; return the flow on every input row."""
    rows = network.rows()
    flow = [0] * len(network.arcs)
    for v, volume in volumes.items():
        for pair in _arcs_of(path(row.predecessors, v)):
            flow[rows[pair]] += volume
    return flow


class EndlessPaths(Exception):
    """Tight arcs close a cycle, so that shortest paths cannot be counted."""


def path_counts(network: Network, source: int) -> dict[int, int]:
    """Count the shortest paths from a source to every reached vertex."""
    lengths = network.lengths()
    final = distances(lengths, [source])
    tight = {
        (tail, head)
        for (tail, head), weight in lengths.items()
        if tail in final and head in final and final[tail] + weight == final[head]
    }
    counts: dict[int, int] = {}
    while len(counts) < len(final):
        ready = {
            v
            for v in final
            if v not in counts and all(tail in counts for tail, head in tight if head == v)
        }
        if not ready:
            raise EndlessPaths
        for v in ready:
            entering = [counts[tail] for tail, head in tight if head == v]
            counts[v] = sum(entering) if v != source else 1
    return counts


def betweenness(network: Network, sources: Sequence[int]) -> list[Fraction]:
    """Add up the shares of the shortest paths between two vertices that pass a third one."""
    lengths = network.lengths()
    counts = {v: path_counts(network, v) for v in range(network.n) if v in sources}
    final = {v: distances(lengths, [v]) for v in range(network.n)}
    shares = [Fraction(0)] * network.n
    for s in sources:
        for v in set(final[s]) - {s}:
            onward = path_counts(network, v)
            for t in set(final[v]) - {s, v}:
                if final[s][v] + final[v][t] == final[s][t]:
                    shares[v] += Fraction(counts[s][v] * onward[t], counts[s][t])
    return shares


class Phases(NamedTuple):
    """How threshold-batched Dijkstra went."""

    settled: list[int]
    largest_open: int
    open: int
    distances: dict[int, Number]


def threshold_phases(network: Network, source: int, criterion: str = "out") -> Phases:
    """Run threshold-batched Dijkstra by the dynamic criterion, ``"out"`` or ``"in-out"``.

    A phase settles the open vertices no farther than the least ``d[u] + w`` over arcs from an
    open `u` to a head that is not settled; with ``"in-out"`` also those no farther than the least
    open distance plus their lightest arc from a tail that is not settled. Both tests look at the
    states as they were when the phase began.
    """
    lengths = network.lengths()
    best: dict[int, Number] = {source: 0}
    open_vertices, settled = {source}, set[int]()
    settled_then, open_then = [], []
    while open_vertices:
        open_then.append(len(open_vertices))
        waiting = [(t, h, w) for (t, h), w in lengths.items() if not {t, h} & settled]
        threshold = min((best[t] + w for t, h, w in waiting if t in open_vertices), default=None)
        least = min(best[v] for v in open_vertices)
        batch = {v for v in open_vertices if threshold is None or best[v] <= threshold}
        if criterion == "in-out":
            for v in open_vertices:
                entering = min((w for _, h, w in waiting if h == v), default=None)
                if entering is None or best[v] <= least + entering:
                    batch.add(v)
        settled |= batch
        open_vertices -= batch
        settled_then.append(len(batch))
        for tail in batch:
            for (t, head), weight in lengths.items():
                if t == tail and (head not in best or best[tail] + weight < best[head]):
                    best[head] = best[tail] + weight
                    open_vertices.add(head)
    return Phases(settled_then, max(open_then), sum(open_then), best)


def _origins(roots: Collection[int], tight: Collection[Pair]) -> dict[int, int]:
    """Give every vertex the smallest root that reaches it by tight arcs past no other root."""
    origins = {root: root for root in roots}
    for root in sorted(roots):
        stack = [root]
        while stack:
            v = stack.pop()
            for tail, head in tight:
                if tail == v and head not in origins:
                    origins[head] = root
                    stack.append(head)
    return origins


def _hops(roots: Collection[int], arcs: Collection[Pair]) -> dict[int, int]:
    """Count the fewest `arcs` from `roots`."""
    hops = dict.fromkeys(roots, 0)
    level = set(roots)
    while level:
        level = {head for tail, head in arcs if tail in level and head not in hops}
        hops.update(dict.fromkeys(level, max(hops.values()) + 1))
    return hops


def _arcs_of(vertices: Sequence[int]) -> list[Pair]:
    return list(pairwise(vertices))


# ---- turns


@dataclass(frozen=True)
class Turned:
    """What turns cost: kept arcs by position, costs of pairs of positions, forbidden ways."""

    arcs: tuple[Arc, ...]
    costs: Mapping[Pair, Number]
    ways: frozenset[tuple[int, ...]]

    def price(self, driven: Sequence[int], after: int) -> Number:
        """Return what the turn to an arc costs, inf if it is forbidden."""
        longer = (*driven, after)
        if any(longer[i:] in self.ways for i in range(len(longer) - 1)):
            return math.inf
        return self.costs.get((driven[-1], after), 0) if driven else 0

    def distances(self, source: int) -> dict[int, Number]:
        """Return the distances of the vertices that are reached from one."""
        return self.search((), source)[0]

    def search(
        self, driven: tuple[int, ...], source: int
    ) -> tuple[dict[int, Number], dict[int, Number]]:
        """Search over what was driven last: as many arcs as the longest way has, less one.

        Return the distances of vertices, and those of arcs to their ends, after some arcs.
        """
        memory = max([2, *map(len, self.ways)]) - 1
        best: dict[int, Number] = {}
        seen: set[tuple[tuple[int, ...], int]] = set()
        open_states: list[tuple[Number, tuple[int, ...], int]] = [(0, driven, source)]
        on_arcs: dict[int, Number] = {}
        while open_states:
            state = min(open_states)
            open_states.remove(state)
            far, driven, vertex = state
            if (driven, vertex) in seen:
                continue
            seen.add((driven, vertex))
            best.setdefault(vertex, far)
            for after, (tail, head, weight) in enumerate(self.arcs):
                if tail == vertex and (step := self.price(driven, after) + weight) < math.inf:
                    open_states.append((far + step, (*driven, after)[-memory:], head))
                    on_arcs[after] = min(on_arcs.get(after, math.inf), far + step)
        return best, on_arcs

    def length(self, way: Sequence[int]) -> Number:
        """Return how long a way over some arcs is, inf if it is none."""
        total: Number = 0
        for i, arc in enumerate(way):
            if i and self.arcs[way[i - 1]].head != self.arcs[arc].tail:
                return math.inf
            total += self.price(way[:i], arc) + self.arcs[arc].weight
        return total
