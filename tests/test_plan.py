"""A plan splits, travels, runs in parts and merges to the answer of the whole call."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import sssp
from sssp.calls.make_plan import make_plan
from sssp.engine.plan import Plan, merge_answers
from sssp.engine.reductions import Reduction
from sssp.engine.request import Answer
from tests.same_results import assert_same_array
from tests.solvers import Solver, every_solver, needs_speed

GRAPH = sssp.road_like(60, seed=3)
SOURCES = [5, 17, 5, 40, 0, 33, 59]
FORMS: dict[str, dict[str, Any]] = {
    "dense": {"predecessors": True},
    "int64": {"dtype": "int64"},
    "floats": {"dtype": "float32"},
    "sparse": {"output": "sparse", "limit": 4000, "predecessors": True},
    "targets": {"targets": [3, 50, 3], "predecessors": True},
    "nearest": {"nearest": True, "predecessors": True},
}


def plan_of(g: sssp.Graph, solver: Solver, reduction: Any = None, **options: Any) -> Plan[Any]:
    return make_plan(
        g, SOURCES, method=solver.method, device=solver.device, reduction=reduction, **options
    )


def answer_in_parts(plan: Plan[Any], rows: int) -> Answer:
    """Run the parts as other processes would get them, the last one first."""
    parts = [pickle.loads(pickle.dumps(part)) for part in plan.split(rows)]
    answers = [part.run() for part in reversed(parts)][::-1]
    assert all(answer is not None for answer in answers)
    return merge_answers(answers)


@needs_speed
@every_solver()
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("rows", [1, 3, 100])
def test_parts_make_the_whole(form: str, rows: int, solver: Solver) -> None:
    plan = plan_of(GRAPH, solver, **FORMS[form])
    whole = solver(GRAPH, SOURCES, **FORMS[form])
    found = answer_in_parts(plan, rows)
    shape = whole.distances.shape if whole.single else (-1, *whole.distances.shape[1:])
    for part in ("distances", "predecessors", "origin"):
        there, here = getattr(found, part), getattr(whole, part)
        if isinstance(here, np.ndarray):
            there = np.asarray(there).reshape(shape if part == "distances" else here.shape)
        assert_same_array(there, here)
    assert found.distances.dtype == whole.distances.dtype


@needs_speed
@every_solver()
@pytest.mark.parametrize("what", ["eccentricity", "count", "sum"])
def test_parts_of_a_reduction_make_the_whole(what: str, solver: Solver) -> None:
    plan = plan_of(GRAPH, solver, Reduction(what))
    found = answer_in_parts(plan, 2).distances
    whole = sssp.reduce(GRAPH, SOURCES, what, method=solver.method, device=solver.device)
    np.testing.assert_array_equal(found, whole)


def test_rows_of_out_go_with_their_sources() -> None:
    out = np.empty((len(SOURCES), GRAPH.n), np.int64)
    for part in plan_of(GRAPH, Solver(sssp.Dijkstra(), "cpu"), out=out).split(2):
        part.run()
    np.testing.assert_array_equal(out, sssp.shortest_paths(GRAPH, SOURCES).distances)


@pytest.mark.parametrize("rows", [1, 2])
def test_parts_that_fit_int32_stand_beside_those_that_do_not(rows: int) -> None:
    g = sssp.Graph.from_arcs([0, 1, 2], [1, 2, 3], [2**30] * 3)
    solver = Solver(sssp.Dijkstra(), "cpu")
    plan = make_plan(g, [3, 2, 0], method=solver.method, device="cpu")
    found = answer_in_parts(plan, rows)
    assert found.distances.dtype == np.int64
    np.testing.assert_array_equal(found.distances, solver(g, [3, 2, 0]).distances)


def test_no_sources_are_one_part() -> None:
    plan = make_plan(GRAPH, [], method="dijkstra", device="cpu")
    assert [part.request.rows for part in plan.split(4)] == [0]
    assert answer_in_parts(plan, 4).distances.shape == (0, GRAPH.n)
