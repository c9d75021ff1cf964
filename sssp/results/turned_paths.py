"""`TurnedPaths`: shortest paths on a graph with turns, found on its expansion."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.cpu.tree_sums import TreeSums
from sssp.engine.plan import Plan
from sssp.engine.request import Answer, Request
from sssp.graph.check_arrays import is_sparse
from sssp.graph.graph import Graph
from sssp.methods import BreadthFirst, Dijkstra
from sssp.results.trees import ShortestPaths


class TurnedPaths(ShortestPaths):
    """Shortest paths on a graph with turns (`Graph.with_turns`), used like `ShortestPaths`.

    There is no tree over the vertices, for the shortest path to a vertex need not begin with the
    shortest path to the vertex before: `predecessors` raises an error, and `path`, `path_arcs`,
    `skim`, `load` and `load_turns` use the paths over the expansion. Of origins at the same
    distance it may be any.
    """

    def __init__(
        self, graph: Graph, request: Request, answer: Answer, *, method: str, device: str
    ) -> None:
        assert graph.turns is not None
        expansion = graph.turns.expansion
        found = {"method": method, "device": device}
        # the same result on the expansion, if its rows are whole or it has paths
        whole = request.targets is None and request.width is None
        self._inside: ShortestPaths | None = None
        if whole or request.predecessors:
            self._inside = ShortestPaths(graph._searched, request, answer, **found)
        distances, origin = answer.distances, answer.origin
        # (a slice makes a view)
        columns: Any = slice(expansion.n) if expansion.rows_come_first else expansion.end
        if whole:
            distances = distances[:, columns]
            if is_sparse(distances):
                distances.sort_indices()
        if origin is not None:
            origin = np.append(expansion.vertex_of, -1)[origin[columns]].astype(origin.dtype)
        no_vertices = request.width is not None or request.arc_ends is not None
        targets = None if no_vertices else request.targets
        if targets is not None:
            targets = expansion.vertex_of[targets]
        self._starts = request.sources
        named = replace(request, sources=expansion.vertex_of[request.sources], targets=targets)
        own_answer = replace(answer, distances=distances, origin=origin, predecessors=None)
        super().__init__(graph, named, own_answer, **found)

    @property
    def predecessors(self) -> Any:
        """None if no predecessors were requested; else raises ValueError, as there is no tree."""
        if not self.has_paths:
            return None
        raise ValueError(
            "a graph with turns has no tree over its vertices: r.path(v) and r.path_arcs(v) are "
            "the paths; r.skim(values), r.load(volumes) and r.load_turns(volumes) follow them"
        )

    @predecessors.setter
    def predecessors(self, value: None) -> None:
        """Ignore the assigned value: with turns there is no predecessor tree."""

    @property
    def has_paths(self) -> bool:
        """Whether the call asked for predecessors, so that paths are known."""
        return self._inside is not None and self._inside.has_paths

    def _searched_distances(self, row: int) -> NDArray[Any]:
        if self._inside is not None:
            return self._inside._searched_distances(row)
        # the distances of the expansion's other vertices were not kept
        counted = self.method == BreadthFirst.name
        graph = (self.graph._counting_streets() if counted else self.graph)._searched
        request = Request(self._starts[row : row + 1], limit=self.limit)
        answer = Plan(graph, request, Dijkstra()).run()
        assert answer is not None  # (or the call had failed, too)
        return np.asarray(answer.distances[0])

    def _walk_to(self, vertex: int, row: int) -> NDArray[np.int64]:
        assert self._inside is not None
        expansion = self.graph.turns.expansion  # type: ignore[union-attr]
        return expansion.user_vertices(self._inside._walk_to(int(expansion.end[vertex]), row))

    def _tree_sums(self, dtype: np.dtype[Any], ends: NDArray[np.int64] | None = None) -> TreeSums:
        assert self._inside is not None
        own: NDArray[np.int64] = self.graph.turns.expansion.end  # type: ignore[union-attr]
        return self._inside._tree_sums(dtype, own if self.targets is None else own[self.targets])
