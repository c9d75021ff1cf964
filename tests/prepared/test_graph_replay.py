"""Recorded launches are replayed only where they would do the same as before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sssp

graph_replay = pytest.importorskip("sssp.cuda.graph_replay", exc_type=sssp.MissingExtraError)

from sssp.cuda.availability import cuda, device_number  # noqa: E402
from sssp.cuda.sweep.customization import device_map  # noqa: E402
from sssp.cuda.sweep.sweep_outputs import Transposed  # noqa: E402

pytestmark = pytest.mark.gpu


class FakeRecording:
    """Calls what was recorded."""

    replays = 0

    def __init__(self, launches: Callable[[Any], None]) -> None:
        self.launches = launches

    def replay(self, stream: Any) -> None:
        FakeRecording.replays += 1
        self.launches(stream)


@pytest.fixture
def launches(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(graph_replay, "SIMULATOR", False)
    monkeypatch.setattr(graph_replay, "Recording", FakeRecording)
    monkeypatch.setattr(FakeRecording, "replays", 0)
    return graph_replay.Launches()


def note(stream: Any, owner: list[Any], *arguments: Any) -> None:
    owner.append(arguments)


@pytest.mark.usefixtures("device")
def test_two_arrays_of_one_type_that_change_places_are_not_what_came_before(launches: Any) -> None:
    one, other = cuda.to_device(np.zeros(3)), cuda.to_device(np.zeros(3))
    owner: list[Any] = []
    for _ in range(3):
        launches.do(note, None, owner, one, (other, 1))
    assert FakeRecording.replays == 2
    assert len(owner) == 3
    for different in ((other, (one, 1)), (one, (other, 2)), (one, (other[:2], 1)), (one, (one, 1))):
        launches.do(note, None, owner, *different)
        assert all(ours is given for ours, given in zip(owner[-1], different, strict=True))
    assert FakeRecording.replays == 2
    launches.do(note, None, owner, one, (other, 1))
    assert FakeRecording.replays == 3


@pytest.mark.usefixtures("device")
def test_numbers_of_other_types_are_others(launches: Any) -> None:
    owner: list[Any] = []
    for bound in (np.int32(7), np.int64(7), np.float32(7), None, "7", np.dtype("i4")):
        launches.do(note, None, owner, bound)
    assert FakeRecording.replays == 0
    assert len(owner) == 6


def test_what_launches_sees_its_arguments_alone(launches: Any) -> None:
    hidden = 1

    def closed_over(stream: Any, owner: Any) -> None:
        owner.append(hidden)

    with pytest.raises(TypeError, match="its arguments alone"):
        launches.do(closed_over, None, [])
    with pytest.raises(TypeError, match="its arguments alone"):
        launches.do([].append, None, [])
    with pytest.raises(AttributeError, match="replay_key"):
        launches.do(note, None, [], object())
    owner: list[Any] = []
    launches.do(note, None, owner, 1)
    with pytest.raises(ValueError, match="one owner"):
        launches.do(note, None, [*owner], 2)


def test_the_key_of_a_search_has_all_that_it_holds(device: str) -> None:
    h = sssp.prepare(sssp.road_like(60, seed=1))
    on_device = device_map(h, np.dtype(np.int32), device_number(device))
    key = Transposed(on_device, None).replay_key
    assert Transposed(on_device, None).replay_key == key
    other = cuda.to_device(np.zeros(5, np.int64))
    for name, value in vars(Transposed(on_device, None)).items():
        changed = Transposed(on_device, None)
        setattr(changed, name, other if value is not other else None)
        assert changed.replay_key != key, name
