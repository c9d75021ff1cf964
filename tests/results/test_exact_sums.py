"""Skims and loads are exact, or refused: int64 never wraps, infinity never stands for a number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sssp
from tests.results.forgeries import cut_to_paths

GREATEST, LEAST = 2**63 - 1, -(2**63)


def chain(arcs: int) -> sssp.Graph:
    return sssp.Graph.from_arcs(np.arange(arcs), np.arange(1, arcs + 1), np.ones(arcs, int))


def along_chain(arcs: int, targets: Any = None, **options: Any) -> sssp.ShortestPaths:
    r = sssp.shortest_paths(chain(arcs), 0, targets=targets, predecessors=True, **options)
    return cut_to_paths(r)


# -- integers ----------------------------------------------------------------------------------


def test_a_skim_beyond_int64_is_refused_with_the_sum() -> None:
    r = along_chain(3)
    with pytest.raises(sssp.DistanceOverflowError, match=str(2**63)):
        r.skim([2**62, 2**62, 5])
    with pytest.raises(sssp.DistanceOverflowError, match=str(-(2**63) - 1)):
        r.skim([-(2**62), -(2**62), -1])
    assert r.skim([-(2**62), -(2**62), 1]).tolist() == [0, -(2**62), LEAST, LEAST + 1]


@pytest.mark.parametrize("output", ["host", "sparse"])
def test_a_skim_may_leave_int64_and_come_back_on_the_way_to_a_target(output: str) -> None:
    values = [2**62, 2**62, 2**62, LEAST, -7]
    assert along_chain(5, [5, 4]).skim(values).tolist() == [2**62 - 7, 2**62]
    for targets in (2, [5, 3]):
        with pytest.raises(sssp.DistanceOverflowError):
            along_chain(5, targets).skim(values)
    with pytest.raises(sssp.DistanceOverflowError):
        along_chain(5, output=output).skim(values)


def test_a_skim_may_not_be_what_stands_for_unreached() -> None:
    assert along_chain(2).skim([2**62, 2**62 - 2]).tolist() == [0, 2**62, GREATEST - 1]
    with pytest.raises(sssp.DistanceOverflowError, match=r"vertex 2 .*stands for unreached"):
        along_chain(2).skim([2**62, 2**62 - 1])
    with pytest.raises(sssp.DistanceOverflowError, match=r"vertex 1 .*stands for unreached"):
        along_chain(1, 1).skim([GREATEST])


def test_values_of_arcs_off_the_paths_do_not_matter() -> None:
    g = sssp.Graph.from_arcs([0, 0, 1], [1, 2, 2], [1, 9, 1])
    r = sssp.shortest_paths(g, 0, predecessors=True)
    assert r.skim([5, GREATEST, 6]).tolist() == [0, 5, 11]
    assert r.skim([0.5, np.nan, 0.25]).tolist() == [0, 0.5, 0.75]


def test_a_load_beyond_int64_is_refused_with_the_sum() -> None:
    r = along_chain(2)
    assert r.load([0, 0, GREATEST]).tolist() == [GREATEST, GREATEST]
    with pytest.raises(sssp.DistanceOverflowError, match=str(2**63)):
        r.load([0, 1, GREATEST])
    both = sssp.shortest_paths(chain(2), [0, 0], predecessors=True)
    with pytest.raises(sssp.DistanceOverflowError, match=str(2**64 - 2)):
        both.load([[0, 0, GREATEST]] * 2)
    twice = along_chain(2, [2, 2])
    with pytest.raises(sssp.DistanceOverflowError, match=str(2**63)):
        twice.load([2**62, 2**62])


def test_a_load_may_leave_int64_and_come_back() -> None:
    rows = sssp.shortest_paths(chain(2), [0, 0, 0], predecessors=True)
    volumes = [[0, 0, GREATEST], [0, 0, GREATEST], [0, 0, LEAST]]
    assert rows.load(volumes).tolist() == [GREATEST - 1, GREATEST - 1]
    thrice = along_chain(2, [2, 2, 2])
    assert thrice.load([GREATEST, 5, -9]).tolist() == [GREATEST - 4, GREATEST - 4]
    # both directions of a street together
    street = sssp.Graph.from_arcs([0], [1], [1], directed=False)
    both = sssp.shortest_paths(street, [0, 1], predecessors=True)
    assert both.load([[0, GREATEST], [LEAST, 0]]).tolist() == [-1]
    with pytest.raises(sssp.DistanceOverflowError, match=str(2**63)):
        both.load([[0, GREATEST], [1, 0]])


def random_tree(random: np.random.Generator, n: int) -> sssp.Graph:
    tails = [int(random.integers(head)) for head in range(1, n)]
    return sssp.Graph.from_arcs(tails, range(1, n), np.ones(n - 1, int), n=n)


def large(random: np.random.Generator, shape: int) -> Any:
    """Draw integers of all sizes, up to the ends of int64."""
    numbers = random.integers(LEAST, GREATEST, shape, endpoint=True)
    return numbers >> random.choice([0, 0, 0, 1, 40], shape)


def test_sums_agree_with_those_of_python_whatever_the_numbers() -> None:
    random = np.random.default_rng(7)
    refused = 0
    for _ in range(300):
        n = int(random.integers(2, 9))
        g = random_tree(random, n)
        targets = random.integers(0, n, 3)
        r = cut_to_paths(sssp.shortest_paths(g, 0, targets=targets, predecessors=True))
        values, volumes = large(random, g.m), large(random, 3)
        paths = [r.path_arcs(target).tolist() for target in targets.tolist()]
        sums = [sum(int(values[arc]) for arc in path) for path in paths]
        flows = [0] * g.m
        for path, volume in zip(paths, volumes.tolist(), strict=True):
            for arc in path:
                flows[arc] += volume
        if all(LEAST <= total < GREATEST for total in sums):
            assert r.skim(values).tolist() == sums
        else:
            refused += 1
            with pytest.raises(sssp.DistanceOverflowError):
                r.skim(values)
        on_input = np.array(flows, object)
        on_input[g.arc_origin] = flows
        if all(LEAST <= flow <= GREATEST for flow in flows):
            assert r.load(volumes).tolist() == on_input.tolist()
        else:
            refused += 1
            with pytest.raises(sssp.DistanceOverflowError):
                r.load(volumes)
    assert 50 < refused < 500


@pytest.mark.parametrize(
    ("numbers", "worst"),
    [
        (np.array([1, 2**63], np.uint64), 2**63),
        ([1, 2**63], 2**63),
        ([-1, 2**63], 2**63),
        ([1, 2**64], 2**64),
        ([-(2**63) - 1, 0], -(2**63) - 1),
    ],
)
def test_integers_that_do_not_fit_int64_are_refused(numbers: Any, worst: int) -> None:
    with pytest.raises(sssp.DistanceOverflowError, match=f"values must fit int64, and {worst} "):
        along_chain(2).skim(numbers)
    with pytest.raises(sssp.DistanceOverflowError, match=f"volumes must fit int64, and {worst} "):
        along_chain(1).load(numbers)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint64, np.int16, np.bool_])
def test_integers_of_any_type_that_fit_are_taken(dtype: Any) -> None:
    r = along_chain(2)
    assert r.skim(np.array([1, 1], dtype)).tolist() == [0, 1, 2]
    assert r.load(np.array([0, 1, 1], dtype)).tolist() == [2, 1]
    if dtype is np.uint64:
        assert r.skim(np.array([2**62, 3], dtype)).tolist() == [0, 2**62, 2**62 + 3]


def test_integers_that_numpy_makes_floats_or_objects_of_are_taken() -> None:
    r = along_chain(2)
    values: list[Any] = [np.uint64(2**53 + 1), 2]
    assert r.skim(values).tolist() == [0, 2**53 + 1, 2**53 + 3]
    assert r.load([0, *values]).tolist() == [2**53 + 3, 2]
    pandas = pytest.importorskip("pandas")
    table = sssp.shortest_paths(r.graph, [0, 1], predecessors=True)
    for dtype, flow in (("Int64", np.int64), ("Float64", np.float64)):
        trips = pandas.DataFrame([[0, 1, 2], [0, 0, 2**53]], dtype=dtype)
        found = table.load(trips)
        assert found.dtype == flow
        assert found.tolist() == [3, 2**53 + 2]
    for missing in ("Int64", "Float64"):
        with pytest.raises(ValueError, match="the volume from source 0 to vertex 2 is nan"):
            table.load(pandas.DataFrame([[0, 1, None], [0, 0, 0]], dtype=missing))
    with pytest.raises(TypeError, match="volumes must be integers or floats, not object"):
        table.load(pandas.DataFrame([[0, 1, "two"], [0, 0, 0]]))
    # (a column of objects from the start: with NumPy 2.0 pandas cannot make this one itself)
    great = pandas.Series([10**400, 0], dtype=object)
    with pytest.raises(sssp.DistanceOverflowError, match="volumes must fit int64, and 1000"):
        table.load(pandas.DataFrame({0: [0, 0], 1: [0.5, 0], 2: great}))


def test_what_stands_behind_a_mask_is_not_added_up() -> None:
    r = along_chain(2)
    trips = sssp.pairs(r.graph, [0], [2], predecessors=True)
    masked: Any = np.ma.masked_greater([1, 2], 1)
    for result in (r, trips):
        with pytest.raises(TypeError, match="values must not be a masked array"):
            result.skim(masked)
    with pytest.raises(TypeError, match="volumes must not be a masked array"):
        r.load(np.ma.masked_greater([0, 1, 2], 1))
    with pytest.raises(TypeError, match="volumes must not be a masked array"):
        trips.load(masked[:1])


# -- floats ------------------------------------------------------------------------------------


@pytest.mark.parametrize("targets", [None, [2]])
def test_floats_that_add_up_to_infinity_are_refused(targets: Any) -> None:
    r = along_chain(2, targets)
    for values in ([1e308, 1e308], [-1e308, -1e308]):
        with pytest.raises(sssp.DistanceOverflowError, match="vertex 2 does not fit float64"):
            r.skim(values)
    twice = along_chain(2, [2, 2])
    with pytest.raises(sssp.DistanceOverflowError, match="float64"):
        twice.load([1e308, 1e308])


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_floats_on_a_path_must_be_finite(odd: float) -> None:
    r = along_chain(3)
    with pytest.raises(ValueError, match=rf"arc 1 .* to vertex 2 is {odd}; every value"):
        r.skim([0.5, odd, 1.0])
    assert along_chain(3, 1).skim([0.5, odd, 1.0]) == 0.5
    with pytest.raises(ValueError, match=rf"volume from source 0 to vertex 2 is {odd}.*write 0"):
        r.load([0.0, 1.0, odd, 1.0])
    with pytest.raises(ValueError, match=rf"volume from source 0 to vertex 3 is {odd}"):
        along_chain(3, [1, 3]).load([0.0, odd])


# -- messages ----------------------------------------------------------------------------------


def test_a_wrong_shape_is_told_what_to_do() -> None:
    g = sssp.Graph.from_arcs([0, 0, 1], [1, 1, 2], [1, 2, 3])
    r = sssp.shortest_paths(g, 0, predecessors=True)
    with pytest.raises(ValueError, match=r"\(2,\), not \(3,\); values\[graph.arc_origin\]"):
        r.skim([1, 2, 3])
    with pytest.raises(ValueError, match=r"positions of graph.indices"):
        r.skim([1])
    with pytest.raises(ValueError, match=r"shape \(3,\), not \(2,\); fill numpy.zeros"):
        r.load([1, 2])
