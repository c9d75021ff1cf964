"""`TurnedPaths`: shortest paths on a graph with turns, found on its expansion."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.cpu.tree_sums import TreeSums, add_at
from sssp.engine.plan import Plan
from sssp.engine.request import Answer, Request
from sssp.graph.check_arrays import is_sparse
from sssp.graph.graph import Graph
from sssp.methods import BreadthFirst, Dijkstra
from sssp.results.trees import ShortestPaths


class TurnedPaths(ShortestPaths):
    """Shortest paths on a graph with turns (`Graph.with_turns`), used like all others.

    There is no tree over the vertices, for the best way to a vertex need not begin with the best
    way to the vertex before: `predecessors` refuses, and `path`, `path_arcs`, `skim`, `load` and
    `load_turns` tell of ways. Of origins at the same distance it may be any.
    """

    def __init__(
        self, graph: Graph, request: Request, answer: Answer, *, method: str, device: str
    ) -> None:
        assert graph.turns is not None
        expansion = graph.turns.expansion
        found = {"method": method, "device": device}
        # the same result on the expansion, if its rows are whole or it knows ways
        whole = request.targets is None and request.width is None
        self._inside: ShortestPaths | None = None
        if whole or request.predecessors:
            self._inside = ShortestPaths(graph._searched, request, answer, **found)
        distances, origin = answer.distances, answer.origin
        columns: Any = expansion.end
        if expansion.rows_come_first:
            columns = slice(expansion.n)  # (a view)
        if whole:
            distances = distances[:, columns]
            if is_sparse(distances):
                distances.sort_indices()
        if origin is not None:
            own = np.append(expansion.vertex_of, -1)
            origin = own[origin[columns]].astype(origin.dtype)
        no_vertices = request.width is not None or request.arc_ends is not None
        targets = None if no_vertices else request.targets
        self._starts = request.sources
        named = replace(
            request,
            sources=expansion.vertex_of[request.sources],
            targets=None if targets is None else expansion.vertex_of[targets],
        )
        own_answer = replace(answer, distances=distances, origin=origin, predecessors=None)
        super().__init__(graph, named, own_answer, **found)

    @property
    def predecessors(self) -> Any:
        """None if the call did not ask for predecessors; else raises, as there are only paths."""
        if not self.has_paths:
            return None
        raise ValueError(
            "a graph with turns has no tree over its vertices: r.path(v) and r.path_arcs(v) are "
            "the ways, r.skim(values), r.load(volumes) and r.load_turns(volumes) go along them"
        )

    @predecessors.setter
    def predecessors(self, value: None) -> None:
        """Ignore the value: the paths are those over the expansion."""

    @property
    def has_paths(self) -> bool:
        """Whether the call asked for predecessors, so that paths are known."""
        return self._inside is not None and self._inside.has_paths

    def _searched_distances(self, row: int) -> NDArray[Any]:
        if self._inside is not None:
            return self._inside._searched_distances(row)
        # of the copies of crossings nothing was kept
        counted = self.method == BreadthFirst.name
        graph = (self.graph._counting_streets() if counted else self.graph)._searched
        request = Request(self._starts[row : row + 1], limit=self.limit)
        answer = Plan(graph, request, Dijkstra()).run()
        assert answer is not None  # (or the call had failed, too)
        found: NDArray[Any] = answer.distances[0]
        return found

    def _walk_to(self, vertex: int, row: int) -> NDArray[np.int64]:
        assert self._inside is not None
        expansion = self.graph.turns.expansion  # type: ignore[union-attr]
        return expansion.user_vertices(self._inside._walk_to(int(expansion.end[vertex]), row))

    def _tree_sums(self, dtype: np.dtype[Any], ends: NDArray[np.int64] | None = None) -> TreeSums:
        assert self._inside is not None
        own: NDArray[np.int64] = self.graph.turns.expansion.end  # type: ignore[union-attr]
        return self._inside._tree_sums(dtype, own if self.targets is None else own[self.targets])

    def _values_along(self, values: NDArray[Any]) -> NDArray[Any]:
        return self.graph.turns.expansion.values_of_arcs(values)  # type: ignore[union-attr]

    def _loads_of_arcs(self, load: NDArray[Any]) -> NDArray[Any]:
        return add_up(load, self.graph.turns.expansion.arc_of, self.graph.m)  # type: ignore[union-attr]

    def _loads_of_turns(self, load: NDArray[Any]) -> NDArray[Any]:
        turns = self.graph.turns
        assert turns is not None
        return add_up(load, turns.expansion.turn_of, turns.costs.size)


def add_up(load: NDArray[Any], places: NDArray[np.int32], size: int) -> NDArray[Any]:
    """Sum loads by place; -1 means none."""
    sums = np.zeros(size + 1, load.dtype)
    add_at(sums, np.where(places < 0, size, places), load)
    return sums[:size]
