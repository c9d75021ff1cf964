"""Paths to many nodes, each put together when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.kernels.dtypes import INDEX

#: how many paths `repr` shows
_SHOWN = 6


class Paths(Mapping[Any, list[Any]]):
    """The shortest path to every node that a search has reached: a mapping, read-only.

    It stands where NetworkX has a dict of lists, and equals it. A path is made when it is asked
    for, a new list each time, in time of its length. ``dict(paths)`` or ``paths.copy()`` makes
    them all. It pickles without what the search has not reached.

    Parameters
    ----------
    names : ndarray, shape (n,), object
        The node of each vertex.
    index : dict
        The vertex of each node.
    predecessors : ndarray, shape (n,), int32
        The vertex before each one on its path; -1 for sources and unreached vertices.
    order : ndarray, int64
        The vertices that are reached, in the order of the mapping.
    """

    def __init__(
        self,
        names: NDArray[Any],
        index: dict[Any, int] | None,
        predecessors: NDArray[np.int32],
        order: NDArray[np.int64],
    ) -> None:
        self._names = names
        self._predecessors = predecessors
        self._order = order
        if index is not None:
            self._index = index

    @cached_property
    def _index(self) -> dict[Any, int]:
        return dict(zip(self._names.tolist(), range(self._names.size), strict=True))

    @cached_property
    def _starts(self) -> frozenset[int]:
        reached = self._order
        return frozenset(reached[self._predecessors[reached] < 0].tolist())

    def __getitem__(self, node: Any) -> list[Any]:
        vertex = self._index.get(node)
        if vertex is None or not self._reaches(vertex):
            raise KeyError(node)
        return self._path(vertex)

    def _reaches(self, vertex: int) -> bool:
        return bool(self._predecessors[vertex] >= 0) or vertex in self._starts

    def _path(self, vertex: int) -> list[Any]:
        return self._walk(vertex)[::-1]

    def _walk(self, vertex: int) -> list[Any]:
        """Return the nodes from a vertex back to the source."""
        item = self._predecessors.item
        walk = []
        while vertex >= 0:
            walk.append(vertex)
            vertex = item(vertex)
        nodes: list[Any] = self._names[walk].tolist()
        return nodes

    def __iter__(self) -> Iterator[Any]:
        return iter(self._names[self._order].tolist())

    def __len__(self) -> int:
        return self._order.size

    def __contains__(self, node: object) -> bool:
        vertex = self._index.get(node)
        return vertex is not None and self._reaches(vertex)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mapping):
            return NotImplemented
        return len(self) == len(other) and all(
            node in other and path == other[node] for node, path in self.items()
        )

    # (as of a dict)
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = [f"{node!r}: {path!r}" for node, path in islice(self.items(), _SHOWN)]
        more = [f"... {len(self) - _SHOWN} more"] if len(self) > _SHOWN else []
        return f"{type(self).__name__}({{{', '.join(shown + more)}}})"

    def copy(self) -> dict[Any, list[Any]]:
        """Return a dict of all paths, which may be changed."""
        return dict(self)

    def __copy__(self) -> Paths:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Keep what is reached, numbered in the order of the mapping."""
        order = self._order
        place = np.full(self._names.size + 1, -1, INDEX)
        place[order] = np.arange(order.size)
        # (the place of -1 is the last one)
        predecessors = place[self._predecessors[order]]
        return type(self), (self._names[order], None, predecessors, np.arange(order.size))


class PathsTo(Paths):
    """The shortest path from every node to the one where a search on the turned graph began."""

    def _path(self, vertex: int) -> list[Any]:
        return self._walk(vertex)
