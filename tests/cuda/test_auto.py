"""`device="auto"` beside a real GPU: the answers of the CPU, from where it pays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sssp
from sssp.calls import choose_device
from sssp.engine import thresholds
from sssp.kernels import messages
from tests.cuda.conftest import SIMULATOR

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(SIMULATOR, reason="auto takes the simulator for no GPU"),
]


@pytest.fixture(autouse=True)
def by_the_rule(device, monkeypatch):
    monkeypatch.delenv("SSSP_DEVICE", raising=False)
    monkeypatch.setattr(choose_device, "_started", set())
    monkeypatch.setattr(choose_device, "_spent", {})


def assert_same(found, expected):
    np.testing.assert_array_equal(found.distances, expected.distances)
    np.testing.assert_array_equal(found.predecessors, expected.predecessors)


def test_large_calls_go_to_a_gpu_in_use_and_small_ones_do_not(device):
    g = sssp.road_like(100_000)
    sources = np.arange(0, g.n, 500)
    options: dict[str, Any] = {"predecessors": True, "threads": 2}
    expected = sssp.shortest_paths(g, sources, device="cpu", **options)
    assert sssp.shortest_paths(g, sources, **options).device == "cpu"
    assert sssp.shortest_paths(g, 0, device=device).device == "cuda:0"
    found = sssp.shortest_paths(g, sources, **options)
    assert found.device == "cuda:0"
    assert_same(found, expected)
    small = sssp.shortest_paths(g, 7, **options)
    assert small.device == "cpu"
    assert_same(small, sssp.shortest_paths(g, 7, device=device, **options))
    np.testing.assert_array_equal(
        sssp.reduce(g, sources, "sum"), sssp.reduce(g, sources, "sum", device="cpu")
    )


def test_work_that_adds_up_starts_the_gpu(monkeypatch):
    monkeypatch.setattr(thresholds, "LOAD", 0.2)
    monkeypatch.setattr(thresholds, "COMPILE", 0.0)
    g = sssp.road_like(20_000)
    places = [sssp.shortest_paths(g, range(200), threads=2).device for _ in range(9)]
    assert places[0] == "cpu"
    assert places[-1] == "cuda:0"


def test_matrices_go_there_too_but_for_floats(device):
    rng = np.random.default_rng(1)
    matrix = rng.integers(1, 100, (1500, 1500))
    options: dict[str, Any] = {"method": "floyd-warshall", "threads": 2}
    expected = sssp.all_pairs(matrix, device="cpu", predecessors=True, **options)
    sssp.all_pairs([[0]], device=device, method="floyd-warshall")
    found = sssp.all_pairs(matrix, predecessors=True, **options)
    assert found.device == "cuda:0"
    assert_same(found, expected)
    assert sssp.all_pairs(matrix / 8, **options).device == "cpu"


def test_a_graph_without_room_on_the_gpu_stays_on_the_cpu(device, monkeypatch, caplog):
    monkeypatch.setattr(thresholds, "BYTES_PER_VERTEX", 1 << 40)
    g = sssp.road_like(20_000)
    sssp.shortest_paths(g, 0, device=device)
    monkeypatch.setattr(messages, "_warned", set())
    for _ in range(2):
        assert sssp.shortest_paths(g, range(1000), threads=2).device == "cpu"
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert sssp.shortest_paths(g, 0, stream=0).device == "cuda:0"
    assert sssp.shortest_paths(g, 0, output="device").device == "cuda:0"
