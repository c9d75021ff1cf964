"""Scenarios that are reduced in one call."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import sssp
from sssp.prepared.scenarios import Scenarios, build_in_batches
from tests.conftest import usable

CLOSED = int(np.iinfo(np.int64).max)
WEIGHTS = np.random.default_rng(2).integers(0, 50, (40, 2))


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def place(request: pytest.FixtureRequest) -> str:
    """A kind of device that works."""
    return usable(request.param)


@pytest.fixture(scope="module")
def tangle() -> sssp.Hierarchy:
    tails, heads, numbers = np.random.default_rng(3).integers(1, 40, (3, 130))
    return sssp.prepare(sssp.Graph.from_arcs(tails, heads, numbers, n=40))


def changes_of(h: sssp.Hierarchy) -> list[Any]:
    rng = np.random.default_rng(7)
    return [
        (3, CLOSED),
        rng.integers(1, 90, h.m),
        ([], []),
        ([1, 2], [5, 0]),
        (np.arange(h.m), CLOSED),
        (8, CLOSED),
        (9, 4),
    ]


def options_of(place: str) -> dict[str, Any]:
    return {"device": place, "progress": False}


@pytest.mark.parametrize("batch", [3, 64])
@pytest.mark.parametrize(
    ("what", "options"),
    [
        ("eccentricity", {}),
        ("mean", {"targets": [5, 1, 5, 30, 2]}),
        ("closeness", {"limit": 60}),
        ("count", {"targets": []}),
        ("sum", {"targets": [4]}),
        ("weight", {"vertex_weights": WEIGHTS[:, 0]}),
        ("weight", {"vertex_weights": WEIGHTS, "targets": [7, 8, 9]}),
        ("weight", {"vertex_weights": WEIGHTS / 3, "decay": ("linear", 90.0)}),
        ("weight", {"decay": ("exponential", 0.1), "targets": range(0, 40, 3)}),
        ("weight", {"decay": lambda distances: 1.0 / (1.0 + distances)}),
    ],
)
def test_the_same_numbers_as_of_each_scenario(
    what: str, options: dict[str, Any], batch: int, place: str, tangle: sssp.Hierarchy
) -> None:
    sources = [3, 0, 17, 3, 39]
    changes = changes_of(tangle)
    wanted = [
        sssp.reduce(one, sources, what, device="cpu", **options)
        for one in tangle.scenarios(changes)
    ]
    # (a GPU records what is launched the second time, and replays it the third)
    for _ in range(1 if place == "cpu" or os.environ.get("NUMBA_ENABLE_CUDASIM") else 5):
        scenarios = tangle.scenarios(changes, batch, device=place)
        found = sssp.reduce(scenarios, sources, what, **options, **options_of(place))
        assert found.dtype == wanted[0].dtype
        np.testing.assert_allclose(found, np.stack(wanted), rtol=1e-12)
        assert list(scenarios) == []


def test_scenarios_in_another_dtype(place: str, tangle: sssp.Hierarchy) -> None:
    rng = np.random.default_rng(9)
    heavy, floats = (rng.integers(1, 90, tangle.m) * factor for factor in (1 << 25, 0.5))
    several: list[list[Any]]
    several = [[(3, 7), heavy, (4, 7)], [floats, floats * 2], [floats, heavy, (1, 1)]]
    for changes in several:
        wanted = [
            sssp.reduce(one, [1, 2], "sum", device="cpu") for one in tangle.scenarios(changes)
        ]
        scenarios = tangle.scenarios(changes, device=place)
        found = sssp.reduce(scenarios, [1, 2], "sum", **options_of(place))
        np.testing.assert_allclose(found, np.stack(wanted), rtol=1e-12)


def test_unreached_in_scenarios_of_integers_and_floats(place: str, tangle: sssp.Hierarchy) -> None:
    changes: list[Any] = [(3, 7), np.ones(tangle.m) / 2]
    ask: dict[str, Any] = {"targets": [0], **options_of(place)}  # (which no arc leads to)
    for some in (changes, changes[::-1]):
        found = sssp.reduce(tangle.scenarios(some, device=place), [1, 0], "eccentricity", **ask)
        assert found.tolist() == [[np.inf, 0.0]] * 2


def test_shapes(place: str, tangle: sssp.Hierarchy) -> None:
    def shape(changes: list[Any], sources: Any, **options: Any) -> tuple[int, ...]:
        scenarios = tangle.scenarios(changes, device=place)
        found = sssp.reduce(scenarios, sources, "weight", **options, **options_of(place))
        return tuple(found.shape)

    two, columns = [(1, 2), (2, 3)], {"vertex_weights": WEIGHTS}
    assert shape(two, 5, vertex_weights=WEIGHTS[:, 0]) == (2,)
    assert shape(two, 5, **columns) == (2, 2)
    assert shape(two, [5, 6, 7], **columns) == (2, 3, 2)
    assert shape(two, [], vertex_weights=WEIGHTS[:, 0]) == (2, 0)
    assert shape([], [5, 6], vertex_weights=WEIGHTS[:, 0]) == (0, 2)


def test_what_is_left_of_scenarios(place: str, tangle: sssp.Hierarchy) -> None:
    taken = []

    def changes() -> Iterator[Any]:
        for number in range(6):
            taken.append(number)
            yield number, 1

    scenarios = tangle.scenarios(changes(), 2, device=place)
    next(scenarios)
    assert taken == [0, 1]
    found = sssp.reduce(scenarios, range(40), "eccentricity", **options_of(place))
    wanted = [
        sssp.reduce(tangle.with_changes(number, 1), range(40), "eccentricity", device="cpu")
        for number in range(1, 6)
    ]
    np.testing.assert_array_equal(found, np.stack(wanted))


def test_errors_name_the_scenario(place: str, tangle: sssp.Hierarchy) -> None:
    scenarios = tangle.scenarios([(0, 1), (1, 1), (10**9, 5)], 2, device=place)
    with pytest.raises(IndexError, match=r"^scenario 2: "):
        sssp.reduce(scenarios, [1], "sum", **options_of(place))
    scenarios = tangle.scenarios([(0, 1)], device=place)
    with pytest.raises(sssp.VertexError):
        sssp.reduce(scenarios, [40], "sum", **options_of(place))


def test_no_more_than_two_batches_are_held_at_a_time() -> None:
    class Version:
        """Stand-in for a map."""

    made: list[weakref.ref[Version]] = []
    alive = []

    def build(change: int, threads: int) -> Version:
        version = Version()
        made.append(weakref.ref(version))
        return version

    def finish(batch: list[Version]) -> None:
        alive.append(sum(version() is not None for version in made))

    batches = build_in_batches(build, range(12), 3, 1, finish, lambda change: True)
    assert [len(batch) for batch in Scenarios(batches).batches()] == [3] * 4
    assert alive == [3, 6, 6, 6]


@pytest.mark.gpu
def test_a_batch_is_reduced_at_once(
    tangle: sssp.Hierarchy, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sssp.cuda.sweep import sweep_driver

    def reduce(**options: Any) -> Any:
        scenarios = tangle.scenarios([(0, 1), (1, 1)], device=device)
        what = "weight" if "decay" in options else "sum"
        return sssp.reduce(scenarios, [1, 4], what, **options, **options_of(device))

    several: dict[str, Any]
    for several in ({}, {"targets": [4, 9]}, {"decay": ("gaussian", 30.0), "targets": [4, 9]}):
        wanted = reduce(**several)  # (targets that come again are selected)
        with monkeypatch.context() as patch:
            patch.setattr(sweep_driver, "solve", None)
            np.testing.assert_array_equal(reduce(**several), wanted)


@pytest.mark.gpu
def test_a_batch_with_little_memory(tangle: sssp.Hierarchy, device: str) -> None:
    scenarios = tangle.scenarios([(0, 1), (1, 1)], device=device)
    with pytest.raises(sssp.DeviceError, match="memory"):
        sssp.reduce(scenarios, [1], "sum", device=device, memory_limit=1e-6)
