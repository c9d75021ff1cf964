"""Questions to `shortest_paths`: drawn or written down, asked of solvers, compared with the truth.

The truth is that of `tests.naive`; whatever a result holds is compared with it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy.sparse import csr_array

import sssp
from tests import naive
from tests.same_results import on_paths, trees_of
from tests.solvers import MANY, Solver, asked_of
from tests.strategies import graph_of, in_arithmetic_of, vertex_lists, with_unit_weights

__all__ = ["PLAIN", "Question", "ask_all", "questions"]

INTEGER_DTYPES = [None, np.int32, np.int64, np.float32, np.float64]
FLOAT_DTYPES = [None, np.float32, np.float64]
GREATEST_INT32, GREATEST_INT64 = 2**31 - 2, 2**62 - 2


class Question(NamedTuple):
    """A graph and the arguments of a call."""

    network: naive.Network
    sources: int | list[int]
    arguments: dict[str, Any]

    def ask(self, solver: Solver) -> sssp.ShortestPaths:
        return solver(graph_of(self.network), self.sources, **self.arguments)

    def with_unit_weights(self) -> Question:
        """Return the same question, as methods that ignore weights see it."""
        return self._replace(network=with_unit_weights(self.network))

    def expected(self) -> list[naive.Row]:
        """Return the rows of the answer."""
        sources = [self.sources] if isinstance(self.sources, int) else self.sources
        targets, limit = self.arguments["targets"], self.arguments["limit"]
        starts = [sources] if self.arguments["nearest"] else [[source] for source in sources]
        network = in_arithmetic_of(self.network, self.arguments["dtype"])
        return [
            naive.solve(
                network,
                start,
                limit=math.inf if limit is None else limit,
                targets=[targets] if isinstance(targets, int) else targets,
            )
            for start in starts
        ]

    def wanted(self) -> list[int]:
        """Return the vertices whose distances are asked for."""
        targets = self.arguments["targets"]
        return list(range(self.network.n)) if targets is None else np.atleast_1d(targets).tolist()


PLAIN = {
    "targets": None,
    "nearest": False,
    "limit": None,
    "dtype": None,
    "predecessors": False,
    "output": "host",
}


@st.composite
def questions(draw: st.DrawFn, any_network: st.SearchStrategy[naive.Network]) -> Question:
    network = draw(any_network)
    vertices: st.SearchStrategy[Any] = vertex_lists(network.n, MANY)
    if network.n:
        vertices |= st.integers(0, network.n - 1)
    output = draw(st.sampled_from(["host", "host", "sparse"]))
    sources = draw(vertices)
    return Question(
        network,
        sources,
        {
            "targets": None if output == "sparse" else draw(st.none() | vertices),
            "nearest": sources != [] and draw(st.booleans()),
            "limit": draw(
                st.none() | st.sampled_from([None, 0, 1, 2, 3.5, 5, 10, 1e3, 2**29, 2**31])
            ),
            "dtype": draw(st.sampled_from(INTEGER_DTYPES if network.integer else FLOAT_DTYPES)),
            "predecessors": draw(st.sampled_from([True, True, False])),
            "output": output,
            "threads": draw(st.sampled_from([1, 2])),
        },
    )


def ask_all(solvers: Sequence[Solver], question: Question) -> None:
    """Ask all solvers the same question; compare answers, or refusals, with the reference."""

    @cache
    def expected(weighted: bool) -> Expected:
        return expected_of(question if weighted else question.with_unit_weights())

    for solver in solvers:
        with asked_of(solver):
            check(solver, question, expected(solver.weighted))


class Expected(NamedTuple):
    """What becomes of a question: rows, or an error whose message has a word."""

    question: Question
    rows: list[naive.Row]
    error: type[Exception] | None = None
    word: str = ""


def expected_of(question: Question) -> Expected:
    try:
        rows = question.expected()
    except naive.NegativeCycle:
        return Expected(question, [], sssp.NegativeCycleError, "cycle")
    if question.network.integer and question.arguments["dtype"] not in (np.float32, np.float64):
        wanted = [row.distances[v] for row in rows for v in question.wanted() if v in row.distances]
        if any(abs(d) > GREATEST_INT64 for d in wanted):
            return Expected(question, rows, sssp.DistanceOverflowError, "float64")
        if question.arguments["dtype"] is np.int32 and not all(map(fits_int32, wanted)):
            return Expected(question, rows, sssp.DistanceOverflowError, "int32")
    return Expected(question, rows)


def check(solver: Solver, question: Question, expected: Expected) -> None:
    """Ask one solver, compare every part of the result, and certify it."""
    if expected.error is not None:
        with pytest.raises(expected.error, match=expected.word) as caught:
            question.ask(solver)
        if isinstance(caught.value, sssp.NegativeCycleError):
            check_cycle(question, caught.value.cycle)
        return
    result = question.ask(solver)
    sssp.verify(graph_of(question.network), result)
    assert result.method == solver.method.name
    assert result.device.startswith(solver.device)
    assert result.stats.keys() == solver.method.statistics.keys()
    check_distances(expected.question, expected.rows, result)
    check_trees(expected.question, expected.rows, result)


def check_cycle(question: Question, cycle: list[int]) -> None:
    assert naive.is_negative_cycle(question.network, cycle)
    sources = np.atleast_1d(question.sources).tolist()
    assert cycle[0] in naive.breadth_first(question.network, sources)


def check_distances(question: Question, rows: list[naive.Row], result: sssp.ShortestPaths) -> None:
    network, arguments = question.network, question.arguments
    targets, columns = arguments["targets"], question.wanted()
    distances = [[row.distances.get(v) for v in columns] for row in rows]
    dtype = expected_dtype(question, distances)
    assert result.distances.dtype == dtype

    missing = missing_of(dtype)
    wanted = np.array([[missing if d is None else d for d in row] for row in distances], dtype)
    one_row = isinstance(question.sources, int) or arguments["nearest"]
    shape: tuple[int, ...] = () if one_row else (len(rows),)
    shape += () if isinstance(targets, int) else (len(columns),)
    if arguments["output"] == "sparse":
        matrix: Any = result.distances
        assert isinstance(matrix, csr_array)
        assert matrix.shape == (len(rows), network.n)
        assert matrix.nnz == sum(len(row.distances) for row in rows)
        found, reached = dense(matrix, missing), dense(result.reached, False)
    else:
        assert result.distances.shape == result.reached.shape == shape
        found, reached = result.distances, result.reached
    np.testing.assert_array_equal(found.reshape(wanted.shape), wanted)
    np.testing.assert_array_equal(reached.reshape(wanted.shape), wanted != missing)


def check_trees(question: Question, rows: list[naive.Row], result: sssp.ShortestPaths) -> None:
    network, arguments = question.network, question.arguments
    if arguments["predecessors"]:
        trees: Any = result.predecessors
        assert trees.dtype == np.int32
        if arguments["targets"] is not None:
            assert isinstance(trees, csr_array)
            assert trees.shape == (len(rows), network.n)
            assert trees_of(result) == [on_paths(row, question.wanted()) for row in rows]
        else:
            if arguments["output"] == "sparse":
                trees = dense(trees, -1)
            trees = trees.reshape(len(rows), network.n)
            for row, tree in zip(rows, trees, strict=True):
                assert tree.tolist() == [row.predecessors.get(v, -1) for v in range(network.n)]
    else:
        assert result.predecessors is None
    if arguments["nearest"]:
        assert result.origin is not None
        assert result.origin.tolist() == [rows[0].origins.get(v, -1) for v in range(network.n)]
    else:
        assert result.origin is None


def fits_int32(distance: int) -> bool:
    return abs(distance) <= GREATEST_INT32


def expected_dtype(question: Question, distances: list[list[Any]]) -> np.dtype[Any]:
    asked: type[np.generic] | None = question.arguments["dtype"]
    if asked is not None:
        return np.dtype(asked)
    if not question.network.integer:
        return np.dtype(np.float64)
    fits = all(d is None or fits_int32(d) for row in distances for d in row)
    return np.dtype(np.int32 if fits else np.int64)


def missing_of(dtype: np.dtype[Any]) -> Any:
    return np.inf if dtype.kind == "f" else np.iinfo(dtype).max


def dense(matrix: Any, missing: Any) -> Any:
    """Fill a sparse matrix up with `missing`, stored zeros kept."""
    entries = matrix.tocoo()
    full = np.full(matrix.shape, missing, matrix.dtype)
    full[entries.row, entries.col] = entries.data
    return full
