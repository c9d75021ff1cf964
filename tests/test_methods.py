"""The methods by name and as objects that carry options."""

from __future__ import annotations

import dataclasses
import math
import pickle
from typing import Any

import numpy as np
import pytest

import sssp
from sssp import methods
from sssp.cpu.search.delta_stepping import bucket_width
from sssp.engine.plan import solver_of


def test_the_methods_stand_in_the_order_of_the_documentation() -> None:
    assert list(methods.METHODS) == [
        "dijkstra",
        "delta-stepping",
        "bellman-ford",
        "threshold-dijkstra",
        "breadth-first",
    ]
    for name, kind in methods.METHODS.items():
        assert kind.name == name
        assert kind.__doc__
        assert kind.__name__ in methods.__all__


def test_every_method_has_a_solver_where_the_registry_says() -> None:
    for kind in methods.METHODS.values():
        assert callable(solver_of(kind(), "cpu").solve)


@pytest.mark.parametrize("name", methods.METHODS)
def test_a_name_stands_for_the_method_with_its_default_options(name: str) -> None:
    method = methods.as_method(name)
    assert method == methods.METHODS[name]()
    assert methods.as_method(method) is method
    g = sssp.Graph.from_arcs([0, 1], [1, 2], [1, 2])
    assert sssp.shortest_paths(g, 0, method=name).method == name


@pytest.mark.parametrize("unknown", ["Dijkstra", "djikstra", "", "auto", None, 3, ("dijkstra",)])
def test_an_unknown_method_is_refused_with_those_that_exist(unknown: Any) -> None:
    with pytest.raises(ValueError, match=r"auto, dijkstra, .*breadth-first"):
        methods.as_method(unknown)


def test_a_class_in_place_of_an_object_is_named() -> None:
    with pytest.raises(TypeError, match=r"a class: pass an object, as sssp.DeltaStepping\(\)"):
        methods.as_method(sssp.DeltaStepping)  # type: ignore[arg-type]  # on purpose


def test_auto_takes_the_weights_as_they_are_and_never_a_baseline() -> None:
    plain = sssp.Graph.from_arcs([0, 1], [1, 2], [1, 2])
    negative = sssp.Graph.from_arcs([0, 1], [1, 2], [1, -2])
    assert sssp.shortest_paths(plain, 0).method == "delta-stepping"
    assert sssp.shortest_paths(negative, 0).method == "bellman-ford"


@pytest.mark.parametrize("delta", [0, -1, 0.0, math.nan, math.inf, -math.inf, True, "5"])
def test_delta_must_be_a_positive_number(delta: Any) -> None:
    with pytest.raises(ValueError, match="delta must be a positive number"):
        sssp.DeltaStepping(delta=delta)


def test_the_criterion_must_be_one_of_the_two() -> None:
    for criterion in ("in", "OUT", "", None):
        with pytest.raises(ValueError, match="'out' or 'in-out'"):
            sssp.ThresholdDijkstra(criterion=criterion)  # type: ignore[arg-type]  # on purpose


def test_methods_are_values() -> None:
    method = sssp.DeltaStepping(delta=5000)
    assert method == sssp.DeltaStepping(delta=5000) != sssp.DeltaStepping()
    assert pickle.loads(pickle.dumps(method)) == method
    assert len({method, sssp.DeltaStepping(delta=5000), sssp.Dijkstra()}) == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        method.delta = 3  # type: ignore[misc]  # on purpose


def test_a_delta_too_fine_for_the_graph_is_refused_with_the_finest() -> None:
    integers = sssp.Graph.from_arcs([0, 1], [1, 2], [3, 4])
    with pytest.raises(ValueError, match=r"delta=0.5 is too fine.*take 1.0 or more"):
        sssp.shortest_paths(integers, 0, method=sssp.DeltaStepping(delta=0.5))
    r = sssp.shortest_paths(integers, 0, method=sssp.DeltaStepping(delta=1))
    assert r.distances.tolist() == [0, 3, 7]

    floats = sssp.Graph.from_arcs([0, 1], [1, 2], [2.0**60, 1.0])
    with pytest.raises(ValueError, match=r"delta=1.0 is too fine.*take 3.0 or more"):
        sssp.shortest_paths(floats, 0, method=sssp.DeltaStepping(delta=1.0))
    r = sssp.shortest_paths(floats, 0, method=sssp.DeltaStepping(delta=3.0))
    assert r.distances.tolist() == [0, 2.0**60, 2.0**60]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_integers_added_up_as_floats_may_leave_int64(dtype: str) -> None:
    far = 2**63 - 2
    # (in buckets of the median weight, 1, the number of the one that it falls into does not)
    graph = sssp.Graph.from_arcs([0, 0, 2, 6, 3, 4], [3, 2, 6, 3, 4, 5], [far, 1, 1, 1, far, far])
    expected = [0, np.inf, 1, 3, far + 3.0, 2 * far + 3.0, 2]
    for method in ("delta-stepping", sssp.DeltaStepping(delta=1), "dijkstra", "bellman-ford"):
        for targets in (None, [3, 6]):
            r = sssp.shortest_paths(graph, [0, 0], targets=targets, dtype=dtype, method=method)
            row = expected if targets is None else [expected[v] for v in targets]
            assert r.distances.tolist() == [row, row]
    trips = sssp.pairs(graph, [0, 0], [3, 5], dtype=dtype, method="a-star")
    assert trips.distances.tolist() == [expected[3], expected[5]]


def test_the_default_width_is_the_median_of_the_positive_weights() -> None:
    def width(weights: list[float]) -> float:
        heads = np.arange(1, len(weights) + 1)
        graph = sssp.Graph.from_arcs(np.zeros_like(heads), heads, weights)
        return bucket_width(graph, sssp.DeltaStepping(), graph.weights.dtype)

    assert width([0, 0, 0, 0, 7, 9, 2**31]) == 9
    assert width([0, 0]) == 1
    assert width([]) == 1
    assert width([0.25, 0.5, 1e300]) == pytest.approx(1e300 * 4 * 2**-60)
    assert width([0.25, 0.5, 0.75]) == 0.5
    # subnormal weights have a width whose inverse is finite
    assert math.isfinite(1 / width([5e-324]))
    assert math.isfinite(width([1e308] * 100))
