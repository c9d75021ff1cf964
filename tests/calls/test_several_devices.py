"""Several devices share the rows of a call, and nobody can tell from the answer."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest

import sssp
from sssp.engine.plan import solver_of
from sssp.methods import Dijkstra
from tests.jobs.tables import ring_with_chords
from tests.patience import wait_until
from tests.same_results import assert_same

G = ring_with_chords(200)
SOURCES = np.arange(20) * 9
TWO: Any = ["cpu", "cpu"]


@pytest.fixture(params=[1, 8], ids=["a part each", "many parts"], autouse=True)
def parts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sssp.engine.thresholds.PARTS", request.param)
    monkeypatch.setattr("sssp.engine.thresholds.LEAST_PART", 1)


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"predecessors": True},
        {"targets": [3, 50], "predecessors": True},
        {"limit": 900, "output": "sparse", "predecessors": True},
        {"dtype": np.float64},
        {"threads": 3, "method": sssp.Dijkstra()},
    ],
)
def test_rows_come_in_order_whoever_found_them(asked: dict[str, Any]) -> None:
    one = sssp.shortest_paths(G, SOURCES, **asked)
    two = sssp.shortest_paths(G, SOURCES, device=TWO, **asked)
    assert (two.device, two.method) == ("cpu", one.method)
    assert_same(two, one)
    assert {name: values.tolist() for name, values in two.stats.items()} == {
        name: values.tolist() for name, values in one.stats.items()
    }
    sssp.verify(G, two)


def test_one_source_none_and_the_nearest_of_many_need_no_second_device() -> None:
    assert sssp.shortest_paths(G, 3, device=TWO).distances.shape == (200,)
    assert sssp.shortest_paths(G, [], device=TWO).distances.shape == (0, 200)
    one = sssp.shortest_paths(G, SOURCES, nearest=True)
    two = sssp.shortest_paths(G, SOURCES, nearest=True, device=TWO)
    np.testing.assert_array_equal(one.origin, two.origin)


def test_the_array_of_the_caller_is_filled_in_place() -> None:
    out = np.empty((20, 200), np.int64)
    result = sssp.shortest_paths(G, SOURCES, out=out, device=TWO)
    assert result.distances is out
    np.testing.assert_array_equal(out, sssp.shortest_paths(G, SOURCES).distances)
    # searched from the targets
    table = np.empty((20, 2), np.int32)
    sssp.shortest_paths(G, SOURCES, targets=[7, 150], out=table, device=TWO)
    np.testing.assert_array_equal(table, out[:, [7, 150]])


def test_one_part_that_needs_wide_numbers_widens_all() -> None:
    chain = sssp.Graph.from_arcs([0, 1, 2], [1, 2, 3], [2**30 - 2] * 3)
    result = sssp.shortest_paths(chain, [3, 2, 1, 0], device=TWO)
    assert result.distances.dtype == np.int64
    one = sssp.shortest_paths(chain, [3, 2, 1, 0])
    np.testing.assert_array_equal(result.distances, one.distances)
    with pytest.raises(sssp.DistanceOverflowError):
        sssp.shortest_paths(chain, [3, 2, 1, 0], device=TWO, dtype=np.int32)


def test_reductions_trips_and_blocks_are_those_of_one_device() -> None:
    for what in ("sum", "eccentricity", "closeness"):
        one = sssp.reduce(G, SOURCES, what)
        np.testing.assert_array_equal(sssp.reduce(G, SOURCES, what, device=TWO), one)
    random = np.random.default_rng(3)
    starts, ends = random.integers(0, 200, (2, 60))
    for paths in (False, True):
        trips = sssp.pairs(G, starts, ends, predecessors=paths)
        dealt = sssp.pairs(G, starts, ends, predecessors=paths, device=TWO)
        np.testing.assert_array_equal(dealt.distances, trips.distances)
        if paths:
            assert all((dealt.path(i) == trips.path(i)).all() for i in range(60))
    blocks = list(sssp.iter_blocks(G, SOURCES, block_size=3, device=TWO))
    assert [r.rows for r in blocks] == [3] * 6 + [2]
    whole = sssp.shortest_paths(G, SOURCES).distances
    np.testing.assert_array_equal(np.concatenate([r.distances for r in blocks]), whole)


def test_a_prepared_map_is_shared_as_well() -> None:
    h = sssp.prepare(G)
    one = sssp.shortest_paths(G, SOURCES)
    np.testing.assert_array_equal(
        sssp.shortest_paths(h, SOURCES, device=TWO).distances, one.distances
    )


def test_what_a_part_raises_is_raised() -> None:
    g = sssp.Graph.from_arcs([0, 1, 2], [1, 2, 1], [1, 1, -5], n=5)
    with pytest.raises(sssp.NegativeCycleError):
        sssp.shortest_paths(g, [3, 4, 3, 0], device=TWO)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sssp.shortest_paths(G, SOURCES, device=[]), "an empty list of devices"),
        (lambda: sssp.shortest_paths(G, SOURCES, device=["cpu", "gpu"]), "unknown device 'gpu'"),
        (lambda: sssp.reduce(G, SOURCES, "sum", device=["auto", "cpu"]), "unknown device 'auto'"),
        (lambda: sssp.all_pairs(G, device=TWO), "runs on one device, not on"),
        (lambda: sssp.nearest(G, [1, 2], device="cuda:all"), "runs on one device, not on"),
        (lambda: sssp.betweenness(G, device=TWO), "runs on one device, not on"),
    ],
)
def test_devices_that_are_none_and_calls_that_take_one_are_told(
    call: Callable[[], Any], message: str
) -> None:
    with pytest.raises(sssp.DeviceError, match=message):
        call()


def test_a_result_that_stays_on_a_gpu_is_on_one() -> None:
    with pytest.raises(ValueError, match="are of one GPU"):
        sssp.shortest_paths(G, SOURCES, device=["cuda:0", "cuda:1"], output="device")
    with pytest.raises(ValueError, match="are of one GPU"):
        sssp.shortest_paths(G, SOURCES, device=["cuda:0", "cuda:1"], stream=0)


def test_a_solver_that_another_thread_is_about_to_import_is_waited_for(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    name = f"slow_solver_{request.node.callspec.params['parts']}"
    begun = tmp_path / "begun"
    (tmp_path / f"{name}.py").write_text(
        f"import pathlib, time\npathlib.Path({str(begun)!r}).touch()\ntime.sleep(0.3)\nsolve = 1\n"
    )
    monkeypatch.syspath_prepend(tmp_path)

    class Slow(Dijkstra):
        solvers: ClassVar[dict[str, str]] = {"cpu": name}

    other = threading.Thread(target=solver_of, args=(Slow(), "cpu"))
    other.start()
    wait_until(begun.exists, "the import")
    assert solver_of(Slow(), "cpu").solve == 1
    other.join()
