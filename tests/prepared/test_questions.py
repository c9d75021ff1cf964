"""Whatever a graph is asked, its hierarchy answers the same: the suite of all methods, and more."""

from __future__ import annotations

import math
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sssp
from sssp.cpu import search_driver
from sssp.cpu.sweep.sweep_driver import _LanePaths
from sssp.engine import thresholds
from sssp.methods import Sweep
from tests import naive
from tests.questions import PLAIN, Question, ask_all, questions
from tests.same_results import assert_same
from tests.solvers import SIMULATOR, Solver, draw_and_ask, every_device, needs_speed
from tests.strategies import (
    DYADIC,
    FLOATS,
    HUGE_INTEGERS,
    HUGE_OF_ANY_SIGN,
    LARGE_INTEGERS,
    ODDITIES,
    SMALL_INTEGERS,
    graph_of,
    negative_networks,
    networks,
    times_two_to_the_27,
    vertex_lists,
)


@dataclass(frozen=True)
class Prepared(Solver):
    """Answers by a hierarchy."""

    def __call__(self, g: sssp.Graph, sources: Any, **options: Any) -> sssp.ShortestPaths:
        h = sssp.prepare(g, threads=1)
        return sssp.shortest_paths(h, sources, device=self.device, **options)


def in_own_numbers(question: Question) -> Question:
    """Ask for integers of a map of integers."""
    dtype = question.arguments["dtype"]
    if question.network.integer and dtype in (np.float32, np.float64):
        return question._replace(arguments={**question.arguments, "dtype": None})
    return question


@every_device
@pytest.mark.parametrize(
    ("weights", "examples"), [(SMALL_INTEGERS, 150), (DYADIC, 50), (LARGE_INTEGERS, 50)]
)
def test_answers_agree_with_the_reference_in_every_combination(
    device: str, weights: st.SearchStrategy[Any], examples: int
) -> None:
    drawn = questions(networks(weights)).map(in_own_numbers)
    solvers = [Prepared(Sweep(), device)]
    draw_and_ask(device, drawn, lambda question: ask_all(solvers, question), examples)


def test_paths_to_targets_are_those_of_whole_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a large map: paths are found from their ends, without a sweep, where nothing ties."""
    monkeypatch.setattr("sssp.engine.thresholds.BACKWARD", 1.0)
    solvers = [Prepared(Sweep(), "cpu")]

    def check(question: Question) -> None:
        ask_all(solvers, question._replace(arguments={**question.arguments, "predecessors": True}))

    drawn = questions(networks(SMALL_INTEGERS.map(lambda weight: weight + 1)))
    draw_and_ask("cpu", drawn.map(in_own_numbers), check, 150)


@pytest.mark.parametrize("share", [0.02, 0.8])
def test_paths_of_many_rows_are_walked_back_from_lanes(
    share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few and many targets, twice and in any order, some of them unreached, over closed arcs."""
    monkeypatch.setattr("sssp.engine.thresholds.BACKWARD", 0.0)
    monkeypatch.setattr("sssp.engine.thresholds.PATH_ROWS_BYTES", 0)
    whole = sssp.road_like(400, seed=3)
    random = np.random.default_rng(5)
    alone = np.flatnonzero((whole.tails == 7) | (whole.indices == 7))
    closed = np.concatenate((alone, random.choice(whole.m, whole.m // 8, replace=False)))
    g = whole.without_arcs(np.unique(whole.arc_origin[closed]))
    h = sssp.prepare(g)
    sources = random.integers(0, g.n, 37)
    targets = np.append(random.integers(0, g.n, int(share * g.n)), (7, sources[0], sources[0]))
    blocks: list[int] = []
    swept = _LanePaths.solve

    def solve(self: _LanePaths, rows: range, scratch: Any) -> None:
        blocks.append(len(rows))
        swept(self, rows, scratch)

    monkeypatch.setattr(_LanePaths, "solve", solve)
    for threads in (1, 3):
        asked: dict[str, Any] = {"targets": targets, "predecessors": True, "threads": threads}
        found = sssp.shortest_paths(h, sources, **asked)
        expected = sssp.shortest_paths(g, sources, **asked)
        assert sum(blocks) == sources.size
        blocks.clear()
        np.testing.assert_array_equal(found.distances, expected.distances)
        for part in ("indptr", "indices", "data"):
            ours, theirs = (getattr(r.predecessors, part) for r in (found, expected))
            np.testing.assert_array_equal(ours, theirs)
        assert not found.reached.all()


@pytest.mark.parametrize("least", [1.0, 1e-15], ids=["", "where some rows are all ties"])
def test_searched_rows_of_a_small_graph_get_their_paths_together(
    least: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As whole trees lead, on a map of floats too, in one thread and in several."""
    whole = sssp.road_like(300, seed=3)
    random = np.random.default_rng(5)
    weights = np.where(random.random(whole.m) < 0.01, least, whole.weights / 7)
    g = whole.with_weights(weights).without_arcs(np.arange(9))
    sources, targets = random.integers(0, g.n, (2, 150))
    counts: list[int] = []
    solve = search_driver._PathRows.solve

    def count(self: Any, rows: range, scratch: Any) -> None:
        counts.append(len(rows))
        solve(self, rows, scratch)

    monkeypatch.setattr(search_driver._PathRows, "solve", count)
    trees = sssp.shortest_paths(g, sources, predecessors=True)
    assert not counts
    for network in (g, sssp.prepare(g)):
        for threads in (1, 3):
            found = sssp.shortest_paths(
                network, sources, targets=targets, predecessors=True, threads=threads
            )
            assert sum(counts) == sources.size > len(counts)
            counts.clear()
            np.testing.assert_array_equal(found.distances, trees.distances[:, targets])
            rows, columns = np.nonzero(found.reached)
            for i in random.integers(0, rows.size, 40):
                row, target = rows[i], targets[columns[i]]
                way = found.path(target, row=row)
                np.testing.assert_array_equal(way, trees.path(target, row=row))


@every_device
def test_sums_beyond_int64_are_right_or_refused(device: str) -> None:
    solvers = [Prepared(Sweep(), device)]

    def check(network: naive.Network) -> None:
        ask_all(solvers, Question(network, 0, {**PLAIN, "predecessors": True}))
        ask_all(solvers, Question(network, [0, 0, 0], PLAIN))

    draw_and_ask(device, networks(HUGE_INTEGERS, least_n=1), check, 50)


@every_device
def test_floats_are_those_of_a_search_with_trees_and_close_to_them_without(device: str) -> None:
    def check(question: tuple[naive.Network, bool]) -> None:
        network, side_by_side = question
        g = graph_of(network)
        h, sources = sssp.prepare(g), [0, 0, 0] if side_by_side else 0
        searched = sssp.shortest_paths(g, sources, predecessors=True)
        swept = sssp.shortest_paths(h, sources, predecessors=True, device=device)
        np.testing.assert_array_equal(swept.distances, searched.distances)
        np.testing.assert_array_equal(swept.predecessors, searched.predecessors)
        alone = sssp.shortest_paths(h, sources, device=device).distances
        np.testing.assert_allclose(alone, searched.distances, rtol=1e-12)

    drawn = st.tuples(networks(FLOATS, least_n=1), st.booleans())
    draw_and_ask(device, drawn, check, 50)


@every_device
@pytest.mark.filterwarnings("ignore:.*overflow encountered:RuntimeWarning")  # the simulator's sums
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_beyond_floats_are_refused_as_a_graph_refuses_them(device: str, dtype: type) -> None:
    half = float(np.finfo(dtype).max) * 0.75
    g = sssp.Graph.from_arcs([0, 1, 2, 0], [1, 2, 3, 3], [half, half, 1.0, 2.0])
    options: Any = {"dtype": dtype, "device": device}
    lighter = sssp.prepare(g.with_changes(0, 1.0))
    for h in (sssp.prepare(g), lighter.with_changes(0, half)):
        for sources in (0, [0, 1, 0, 0]):
            with pytest.raises(sssp.DistanceOverflowError, match="greatest that float"):
                sssp.shortest_paths(h, sources, **options)
        with pytest.raises(sssp.DistanceOverflowError, match="greatest that float"):
            sssp.pairs(h, [0, 2], [2, 3], **options)
        assert sssp.pairs(h, [0, 2], [3, 3], **options).distances.tolist() == [2, 1]
        assert sssp.shortest_paths(h, 0, limit=half, **options).reached.tolist() == [1, 1, 0, 1]


def test_floats_whose_climbs_add_up_to_more_than_the_greatest_warn_of_nothing() -> None:
    # (the way up and the way down are the same street)
    h = sssp.prepare(sssp.Graph.from_arcs([0], [1], [1.7e308], n=3, directed=False))
    assert sssp.shortest_paths(h, 1).distances.tolist() == [1.7e308, 0.0, math.inf]


@every_device
@pytest.mark.parametrize("name", ODDITIES)
def test_odd_graphs(name: str, device: str) -> None:
    h = prepared(ODDITIES[name])
    if h is not None:
        compare(h, device)


def prepared(network: naive.Network) -> sssp.Hierarchy | None:
    """Prepare a map, or check the cycle that forbids it."""
    try:
        return sssp.prepare(graph_of(network))
    except sssp.NegativeCycleError as error:
        cycle = error.cycle
    assert naive.is_negative_cycle(network, cycle)
    return None


def compare(h: sssp.Hierarchy, device: str) -> None:
    """Compare the rows of a few sources with those of searches."""
    g = h.graph
    for sources in (range(g.n), range(min(g.n, 1)), [0, 0, 0][: 3 * g.n]):
        if SIMULATOR and len(sources) > 3:
            continue
        swept = sssp.shortest_paths(h, sources, predecessors=True, device=device)
        searched = sssp.shortest_paths(g, sources, predecessors=True)
        np.testing.assert_array_equal(swept.predecessors, searched.predecessors)
        alone = sssp.shortest_paths(h, sources, device=device)
        np.testing.assert_array_equal(alone.distances, searched.distances)


@every_device
def test_negative_weights_are_exact_and_negative_cycles_found_wherever_they_are(
    device: str,
) -> None:
    drawn = (
        negative_networks()
        | negative_networks().map(times_two_to_the_27)
        | networks(st.integers(-5, 3), least_n=1)
        | networks(HUGE_OF_ANY_SIGN, least_n=1)
    )
    draw_and_ask(device, drawn, partial(compare_of_any_sign, device), 50)


def compare_of_any_sign(device: str, network: naive.Network) -> None:
    h = prepared(network)
    if h is None:
        return
    g = h.graph
    try:
        compare(h, device)
    except sssp.DistanceOverflowError:
        with pytest.raises(sssp.DistanceOverflowError):
            sssp.shortest_paths(g, range(g.n))
        return
    if g.n and not SIMULATOR:
        everyone = np.arange(g.n)
        targets, starts = np.repeat(everyone, g.n), np.tile(everyone, g.n)
        for asked, searched in (
            (
                sssp.shortest_paths(h, everyone, targets=targets, device=device),
                sssp.shortest_paths(g, everyone, targets=targets),
            ),
            (sssp.pairs(h, starts, targets, device=device), sssp.pairs(g, starts, targets)),
            (
                sssp.shortest_paths(
                    h, everyone[::2], nearest=True, predecessors=True, device=device
                ),
                sssp.shortest_paths(g, everyone[::2], nearest=True, predecessors=True),
            ),
            (sssp.shortest_paths(h.reverse(), 0), sssp.shortest_paths(g.reverse(), 0)),
        ):
            np.testing.assert_array_equal(asked.distances, searched.distances)


def test_energy_of_electric_cars() -> None:
    """Down the hills the battery is charged: weights of any sign, without negative cycles."""
    roads = sssp.road_like(3000, seed=1)
    heights = np.random.default_rng(1).integers(0, 3000, roads.n)
    energy = roads.weights + heights[roads.indices] - heights[roads.tails]
    g = sssp.Graph.from_arcs(roads.tails, roads.indices, energy, n=roads.n)
    assert g.least_weight < 0
    h = sssp.prepare(g)
    for sources in (0, [1, 2, 3]):
        swept, searched = sssp.shortest_paths(h, sources), sssp.shortest_paths(g, sources)
        np.testing.assert_array_equal(swept.distances, searched.distances)
    floats = h.with_weights(g.weights * 0.37)
    np.testing.assert_allclose(
        sssp.shortest_paths(floats, [1, 2, 3]).distances,
        sssp.shortest_paths(floats.graph, [1, 2, 3]).distances,
        rtol=1e-9,
        atol=1e-6,
    )
    np.testing.assert_array_equal(
        sssp.reduce(h, [1, 2, 3], "eccentricity"), sssp.reduce(g, [1, 2, 3], "eccentricity")
    )
    with pytest.raises(ValueError, match=r"takes no limit; sssp\.shortest_paths\(h\.graph"):
        sssp.shortest_paths(h, 0, limit=5)


@pytest.fixture(scope="module")
def roads() -> tuple[sssp.Graph, sssp.Hierarchy]:
    """A map with one-way streets and parts that nobody reaches."""
    whole = sssp.road_like(3000, seed=3)
    rng = np.random.default_rng(3)
    kept = rng.random(whole.m) < 0.9
    tails, heads = whole.tails[kept], whole.indices[kept]
    g = sssp.Graph.from_arcs(tails, heads, whole.weights[kept], n=whole.n)
    return g, sssp.prepare(g)


@needs_speed
@pytest.mark.gpu
@pytest.mark.parametrize("k", [1, 2, 7, 8, 15, 16, 17, 31, 32, 33, 64, 255, 256, 1000])
def test_any_number_of_rows_on_a_gpu(
    roads: tuple[sssp.Graph, sssp.Hierarchy], device: str, k: int
) -> None:
    g, h = roads
    sources = np.random.default_rng(k).integers(0, g.n, k)
    for dtype in (np.int32, np.int64):
        wanted = sssp.shortest_paths(h, sources, dtype=dtype, predecessors=True)
        found = sssp.shortest_paths(h, sources, dtype=dtype, predecessors=True, device=device)
        np.testing.assert_array_equal(found.distances, wanted.distances)
        np.testing.assert_array_equal(found.predecessors, wanted.predecessors)
        np.testing.assert_array_equal(found.stats["climbed"], wanted.stats["climbed"])
        for options in ({"limit": 5000}, {"targets": np.arange(0, g.n, 170)}, {"output": "sparse"}):
            wanted = sssp.shortest_paths(h, sources, dtype=dtype, **options)
            found = sssp.shortest_paths(h, sources, dtype=dtype, device=device, **options)
            assert found.distances.dtype == wanted.distances.dtype
            difference = found.distances != wanted.distances
            assert not (difference.nnz if "output" in options else difference.any())
        kept = sssp.shortest_paths(h, sources, dtype=dtype, device=device, output="device")
        wanted = sssp.shortest_paths(h, sources, dtype=dtype)
        np.testing.assert_array_equal(kept.to_host().distances, wanted.distances)


def agree_on(h: sssp.Hierarchy, sources: Any, device: str, **options: Any) -> None:
    """Compare rows with those of the CPU."""
    wanted = sssp.shortest_paths(h, sources, device="cpu", **options)
    found = sssp.shortest_paths(h, sources, device=device, **options)
    assert found.distances.dtype == wanted.distances.dtype
    compare_rows = np.testing.assert_array_equal
    if wanted.distances.dtype.kind == "f":
        compare_rows = partial(np.testing.assert_allclose, rtol=1e-6)
    compare_rows(found.distances, wanted.distances)
    assert np.array_equal(found.stats["climbed"], wanted.stats["climbed"])


@pytest.mark.gpu
@pytest.mark.parametrize("k", [1, 2, 7, 8, 31])
def test_few_rows_and_more(tangle: sssp.Hierarchy, device: str, k: int) -> None:
    sources = np.random.default_rng(k).integers(0, tangle.n, k)
    agree_on(tangle, sources, device)
    if k < 8 or not SIMULATOR:
        agree_on(tangle, sources, device, limit=60)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.float64])
def test_few_rows_in_every_dtype(tangle: sssp.Hierarchy, device: str, dtype: type) -> None:
    heavy = dtype(1 << 33 if dtype is np.int64 else 0.37)
    h = tangle.with_weights(tangle.graph.weights.astype(dtype) * heavy)
    for sources in (3, [4, 0, 11]):
        agree_on(h, sources, device, dtype=dtype)


@pytest.mark.gpu
def test_few_rows_over_negative_weights(joined: sssp.Hierarchy, device: str) -> None:
    g = joined.graph
    heights = np.random.default_rng(1).integers(0, 10_000, g.n)
    h = joined.with_weights(g.weights + heights[g.indices] - heights[g.tails])
    assert h.least_weight < 0
    for sources in (3, [4, 0]):
        agree_on(h, sources, device)


@pytest.mark.gpu
def test_calls_of_one_kind_in_turn_have_rows_of_their_own(
    joined: sssp.Hierarchy, tangle: sssp.Hierarchy, device: str
) -> None:
    from sssp.cuda.device_memory import pinned_array

    for h in (joined, tangle):
        pinned = pinned_array(h.n, np.int32)
        wide, apart = np.empty(h.n, np.int64), np.empty((h.n, 2), np.int32)
        wanted = sssp.shortest_paths(h, range(6), device="cpu").distances
        kept = [sssp.shortest_paths(h, source, device=device) for source in range(6)]
        for source, row in enumerate(kept):
            np.testing.assert_array_equal(row.distances, wanted[source])
        for out in (pinned, apart[:, 1]):
            found = sssp.shortest_paths(h, 5, device=device, out=out)
            assert np.shares_memory(found.distances, out)
            np.testing.assert_array_equal(out, wanted[5])
        sssp.shortest_paths(h, 5, device=device, out=wide)
        reached = wanted[5] < np.iinfo(np.int32).max
        np.testing.assert_array_equal(wide[reached], wanted[5][reached])
        assert (wide[~reached] == np.iinfo(np.int64).max).all()
        found = sssp.shortest_paths(h, 2, device=device, limit=40)
        near = wanted[2] <= 40
        np.testing.assert_array_equal(found.reached, near)


@pytest.mark.parametrize("arcs", [int, float], ids=["integers", "floats"])
def test_what_rows_side_by_side_reduce_to(arcs: type) -> None:
    rng = np.random.default_rng(7)
    # (arcs one way, so that not everything is reached; lengths whose sums are exact)
    tails, heads, numbers = rng.integers(0, 60, (3, 110))
    g = sssp.Graph.from_arcs(tails, heads, numbers.astype(arcs) * arcs(1.25), n=60)
    h, sources = sssp.prepare(g), rng.integers(0, g.n, 40)
    whole, shares = rng.integers(-(1 << 40), 1 << 40, (g.n, 3)), rng.random((g.n, 2))
    decays: tuple[Any, ...] = None, ("exponential", 0.01), ("power", 1.5), ("step", 50)
    decays += ("linear", 60), ("gaussian", 30), lambda distances: 1 / (1 + distances)
    for targets in (None, [5], [40, 7, 7, 1, 20], range(g.n), []):
        for limit in (None, 70):
            asked: dict[str, Any] = {"targets": targets, "limit": limit}
            for what in ("eccentricity", "sum", "mean", "count", "closeness"):
                found, wanted = (sssp.reduce(one, sources, what, **asked) for one in (h, g))
                np.testing.assert_array_equal(found, wanted, strict=True)
            for weights in (whole, whole[:, 0], shares, shares[:, 0], None):
                for decay in decays if weights is not None else decays[1:]:
                    found, wanted = (
                        sssp.reduce(
                            one, sources, "weight", vertex_weights=weights, decay=decay, **asked
                        )
                        for one in (h, g)
                    )
                    np.testing.assert_array_equal(found, wanted, strict=True)


def test_sums_of_weights_that_leave_int64_are_refused() -> None:
    g = sssp.road_like(50)
    h, weights = sssp.prepare(g), np.full(g.n, 1 << 62)
    for one in (h, g):
        with pytest.raises(sssp.DistanceOverflowError, match=str(g.n << 62)):
            sssp.reduce(one, range(20), "weight", vertex_weights=weights)


@needs_speed
@pytest.mark.gpu
def test_sums_take_no_memory_for_most_vertices(device: str) -> None:
    from sssp.cuda import pool

    g, rows = sssp.road_like(50_000), 2000
    h = sssp.prepare(g)
    pool.release()
    found = sssp.reduce(h, range(rows), "sum", device=device)
    # (what the call has worked in waits for the next)
    assert 0 < pool.idle_bytes(0) < rows * g.n * 4 / 3
    np.testing.assert_array_equal(found, sssp.reduce(h, range(rows), "sum"))


@needs_speed
@pytest.mark.gpu
def test_calls_of_all_sizes_in_turn_do_not_disturb_each_other(
    roads: tuple[sssp.Graph, sssp.Hierarchy], device: str
) -> None:
    _, h = roads
    g = sssp.road_like(3000, seed=4)
    whole = sssp.prepare(g)
    for k in (64, 300, 64, 128, 64, 300, 128, 64):
        sources = np.random.default_rng(k).integers(0, g.n, k)
        for map_ in (whole, h):
            wanted = sssp.shortest_paths(map_, sources).distances
            kept = sssp.shortest_paths(map_, sources, device=device, output="device")
            np.testing.assert_array_equal(kept.to_host().distances, wanted)
            targets = np.arange(0, g.n, k)
            table = sssp.shortest_paths(map_, sources, targets=targets, device=device)
            np.testing.assert_array_equal(table.distances, wanted[:, targets])
            for what in ("eccentricity", "closeness"):
                found = sssp.reduce(map_, sources, what, device=device)
                np.testing.assert_array_equal(found, sssp.reduce(map_, sources, what))


@needs_speed
@pytest.mark.gpu
def test_rows_are_the_same_each_time_and_from_every_thread(
    roads: tuple[sssp.Graph, sssp.Hierarchy], device: str
) -> None:
    _, h = roads
    sources = np.arange(300)
    wanted = sssp.shortest_paths(h, sources).distances

    def ask(_: int) -> bool:
        found = sssp.shortest_paths(h, sources, device=device).distances
        return np.array_equal(found, wanted)

    with ThreadPoolExecutor(2) as executor:
        assert all(executor.map(ask, range(100)))


@needs_speed
@pytest.mark.gpu
def test_rows_with_trees_and_without_take_turns_in_the_same_memory(
    roads: tuple[sssp.Graph, sssp.Hierarchy], device: str
) -> None:
    g, h = roads
    sources, targets = np.arange(16) * 9, np.arange(0, g.n, 30)
    wanted = sssp.shortest_paths(h, sources, predecessors=True)
    for _ in range(4):
        trees = sssp.shortest_paths(h, sources, predecessors=True, device=device)
        table = sssp.shortest_paths(h, sources, targets=targets, device=device)
        np.testing.assert_array_equal(trees.predecessors, wanted.predecessors)
        np.testing.assert_array_equal(table.distances, wanted.distances[:, targets])


@needs_speed
@pytest.mark.gpu
def test_two_threads_with_streams_and_weights_of_their_own(
    roads: tuple[sssp.Graph, sssp.Hierarchy], device: str
) -> None:
    from sssp.cuda.availability import cuda

    g, h = roads
    sources = np.arange(0, g.n, g.n // 70)

    def ask(number: int) -> bool:
        stream = cuda.stream()
        version = h.with_weights(g.weights + number)
        wanted = sssp.shortest_paths(g.with_weights(g.weights + number), sources).distances
        answers = [
            sssp.shortest_paths(version, sources, device=device, output="device", stream=stream)
            for _ in range(5)
        ]
        return all(np.array_equal(one.to_host().distances, wanted) for one in answers)

    with ThreadPoolExecutor(2) as executor:
        assert all(executor.map(ask, range(10)))


# around the lanes of a group, and the groups of a block
@pytest.mark.parametrize("k", [1, 2, 3, 15, 16, 17, 33, 64, 65, 130])
@pytest.mark.parametrize("threads", [1, 3])
def test_any_number_of_rows(roads: tuple[sssp.Graph, sssp.Hierarchy], k: int, threads: int) -> None:
    g, h = roads
    sources = np.random.default_rng(k).integers(0, g.n, k)
    targets = np.arange(0, g.n, 170)
    wanted = sssp.shortest_paths(g, sources, dtype=np.int64).distances
    arguments: list[dict[str, Any]] = [
        {},
        {"out": np.empty((k, g.n), np.int64)},
        {"dtype": np.int64},
    ]
    for options in arguments:
        found = sssp.shortest_paths(h, sources, threads=threads, **options)
        dtype = np.iinfo(found.distances.dtype)
        whole = np.where(wanted == np.iinfo(np.int64).max, dtype.max, wanted)
        np.testing.assert_array_equal(found.distances, whole)
        assert found.stats["swept"].tolist() == [g.n] * k
        assert (found.stats["climbed"] > 0).all()
    table = sssp.shortest_paths(h, sources, targets=targets, threads=threads)
    few = sssp.shortest_paths(h, sources, targets=targets[:2], threads=threads)
    np.testing.assert_array_equal(few.distances, table.distances[:, :2])
    assert table.distances.dtype == np.int32
    flat = sssp.shortest_paths(g, sources, targets=targets, method="dijkstra")
    np.testing.assert_array_equal(table.distances, flat.distances)
    assert k < 3 or (table.stats["swept"] < g.n).all()
    for limit in (0, 5000, 100_000):
        near = sssp.shortest_paths(h, sources, limit=limit, output="sparse", threads=threads)
        flat = sssp.shortest_paths(g, sources, limit=limit, output="sparse")
        assert (near.distances != flat.distances).nnz == 0
        assert near.distances.nnz == flat.distances.nnz
        dense = sssp.shortest_paths(h, sources, limit=limit, threads=threads).distances
        np.testing.assert_array_equal(dense.ravel()[~near.reached.toarray().ravel()], dense.max())


@every_device
@needs_speed
def test_other_calls(roads: tuple[sssp.Graph, sssp.Hierarchy], device: str) -> None:
    g, h = roads
    rng = np.random.default_rng(5)
    starts, ends = rng.integers(0, g.n, (2, 2000))
    kinds: list[dict[str, Any]] = [{}, {"limit": 90_000}, {"predecessors": True}]
    for options in kinds:
        trips, searched = (
            sssp.pairs(h, starts, ends, device=device, **options),
            sssp.pairs(g, starts, ends, **options),
        )
        np.testing.assert_array_equal(trips.distances, searched.distances)
        assert (trips.method, trips.graph) == ("sweep", g)
        if "predecessors" in options:
            for i in np.flatnonzero(trips.reached)[:50]:
                np.testing.assert_array_equal(trips.path(i), searched.path(i))
    places = [5, 700, 5, 2500]
    for k in (1, 3):
        for direction in ("from", "to"):
            near = sssp.nearest(h, places, k=k, direction=direction, device=device)
            wanted = sssp.nearest(g, places, k=k, direction=direction)
            np.testing.assert_array_equal(near.distances, wanted.distances)
            np.testing.assert_array_equal(near.index, wanted.index)
    jobs = rng.integers(0, 100, g.n)
    for what in ("eccentricity", "sum", "mean", "count", "weight", "closeness"):
        for targets in (None, places):
            asked: dict[str, Any] = {"targets": targets}
            if what == "weight":
                asked["vertex_weights"] = jobs
            np.testing.assert_array_equal(
                sssp.reduce(h, starts[:40], what, device=device, **asked),
                sssp.reduce(g, starts[:40], what, **asked),
            )
    np.testing.assert_allclose(
        sssp.betweenness(h, places, device=device), sssp.betweenness(g, places), rtol=1e-12
    )
    blocks = sssp.iter_blocks(h, starts[:40], block_size=16, device=device)
    rows = np.concatenate([block.distances for block in blocks])
    np.testing.assert_array_equal(rows, sssp.shortest_paths(g, starts[:40]).distances)


@given(networks(SMALL_INTEGERS, least_n=1), st.data())
def test_nearest_sources_and_trips_of_small_graphs(
    network: naive.Network, data: st.DataObject
) -> None:
    g = graph_of(network)
    h, sources = sssp.prepare(g), data.draw(vertex_lists(g.n))
    targets = [data.draw(st.integers(0, g.n - 1)) for _ in sources]
    np.testing.assert_array_equal(
        sssp.pairs(h, sources, targets).distances, sssp.pairs(g, sources, targets).distances
    )
    np.testing.assert_array_equal(
        sssp.nearest(h, sources, k=2, direction="to").index,
        sssp.nearest(g, sources, k=2, direction="to").index,
    )


def test_paths_to_a_few_targets_take_a_part_of_a_sweep(
    roads: tuple[sssp.Graph, sssp.Hierarchy],
) -> None:
    g, h = roads
    starts, ends = np.random.default_rng(6).integers(0, g.n, (2, 30))
    found = sssp.pairs(h, starts, ends, predecessors=True)
    wanted = sssp.pairs(g, starts, ends, predecessors=True, method="dijkstra")
    assert found.stats["swept"].max() < g.n / 2
    np.testing.assert_array_equal(found.distances, wanted.distances)
    for i in np.flatnonzero(found.reached):
        np.testing.assert_array_equal(found.path(i), wanted.path(i))
    many = sssp.shortest_paths(h, starts[0], targets=range(g.n), predecessors=True)
    assert many.stats["swept"] == g.n


def test_many_facilities_go_by_labels_of_the_graph(
    roads: tuple[sssp.Graph, sssp.Hierarchy],
) -> None:
    h = roads[1].without_arcs([5, 900])
    places, few = range(0, h.n, 40), [5, 700]
    kinds: list[tuple[Any, str, dict[str, Any]]] = [
        (places, "dijkstra", {}),
        (places, "dijkstra", {"direction": "to"}),
        (few, "dijkstra", {"limit": 30_000}),
        (few, "sweep", {}),
    ]
    for facilities, method, options in kinds:
        found = sssp.nearest(h, facilities, **options)
        wanted = sssp.nearest(h.graph, facilities, method="delta-stepping", **options)
        assert found.method == method
        np.testing.assert_array_equal(found.distances, wanted.distances)
        np.testing.assert_array_equal(found.index, wanted.index)
        with pytest.raises(TypeError, match="integer distances"):
            sssp.nearest(h, facilities, dtype=np.float64, **options)


@given(networks(st.integers(1, 3), least_n=1), st.data())
def test_paths_to_targets_are_those_of_a_search(
    network: naive.Network, data: st.DataObject
) -> None:
    g = graph_of(network)
    h, vertices = sssp.prepare(g), st.integers(0, g.n - 1)
    for _ in range(3):
        sources, ends = (data.draw(st.lists(vertices, min_size=1, max_size=3)) for _ in range(2))
        starts = (sources * len(ends))[: len(ends)]
        options: Any = {"predecessors": True, "limit": data.draw(st.none() | st.integers(0, 6))}
        searched = sssp.pairs(h.graph, starts, ends, **options)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(thresholds, "BACKWARD", g.n)  # from their ends, however small the graph
            trips = sssp.pairs(h, starts, ends, **options)
            assert_same(
                sssp.shortest_paths(h, sources, targets=ends, **options),
                sssp.shortest_paths(h.graph, sources, targets=ends, **options),
            )
        np.testing.assert_array_equal(trips.distances, searched.distances)
        for i in np.flatnonzero(trips.reached):
            np.testing.assert_array_equal(trips.path(i), searched.path(i))
        if g.m:
            h = h.without_arcs(data.draw(st.integers(0, g.m - 1)))


@pytest.mark.gpu
@pytest.mark.parametrize("least", [0, 1])
def test_trees_on_a_gpu_are_those_of_the_cpu(device: str, least: int) -> None:
    rng = np.random.default_rng(least)
    n, m = 30, 90
    around = np.arange(n)
    tails = np.append(rng.integers(0, n, m), around)
    heads = np.append(rng.integers(0, n, m), np.roll(around, 1))
    # few different weights, so that several arcs are tight; one that is closed
    weights = rng.integers(least, 4, tails.size)
    joined = sssp.Graph.from_arcs(tails, heads, weights, n=n).without_arcs([5])
    apart = sssp.Graph.from_arcs(tails[:m], heads[:m], weights[:m], n=n)
    sources = [3, 3, 20, 11, 0]
    asked: list[tuple[sssp.Graph, dict[str, Any]]] = [
        (joined, {"output": "device"}),
        (apart, {"output": "device"}),
        (apart, {"limit": 4}),
        (joined, {"targets": [1, 17]}),
        (apart, {"output": "sparse"}),
        (joined, {"dtype": np.int64}),
    ]
    for g, options in asked if least else asked[:2]:
        h = sssp.prepare(g)
        on_device = options.get("output") == "device"
        wanted = sssp.shortest_paths(
            g, sources, predecessors=True, **({} if on_device else options)
        )
        found = sssp.shortest_paths(h, sources, predecessors=True, device=device, **options)
        found = found.to_host() if on_device else found
        for one, other in (
            (found.distances, wanted.distances),
            (found.predecessors, wanted.predecessors),
        ):
            difference = one != other
            assert not (difference.any() if isinstance(difference, np.ndarray) else difference.nnz)


@every_device
def test_nearest_sources_over_floats_are_those_of_a_search(
    tangle: sssp.Hierarchy, device: str
) -> None:
    h = tangle.with_weights(tangle.graph.weights * 0.37)
    assert_same(
        sssp.shortest_paths(h, [4, 0, 11], nearest=True, device=device),
        sssp.shortest_paths(h.graph, [4, 0, 11], nearest=True, device="cpu"),
    )


@pytest.mark.gpu
@pytest.mark.parametrize("kind", ["integers", "floats", "any sign", "wide", "beyond int64"])
def test_trips_on_a_gpu_are_those_of_the_cpu(kind: str, device: str) -> None:
    rng = np.random.default_rng(len(kind))
    n, m = 36, 80
    tails, heads, weights = rng.integers(0, n, m), rng.integers(0, n, m), rng.integers(0, 20, m)
    heights = rng.integers(0, 40, n) if kind == "any sign" else np.zeros(n, int)
    weights += heights[heads] - heights[tails]
    factor = {"floats": 0.37, "wide": 1 << 33, "beyond int64": 1 << 57}.get(kind, 1)
    g = sssp.Graph.from_arcs(tails, heads, weights * factor, n=n)
    h = sssp.prepare(g)
    # ends that several trips share, trips that lead nowhere, and one that comes twice
    starts, ends = rng.integers(0, n, (2, 50))
    starts[:3], ends[:3] = 7, (7, 8, 8)
    if kind == "beyond int64":
        with pytest.raises(sssp.DistanceOverflowError):
            sssp.pairs(g, starts, ends)
        with pytest.raises(sssp.DistanceOverflowError):
            sssp.pairs(h, starts, ends, device=device)
        return
    # (floats are added up in another order: no distance is near the limit)
    asked: list[dict[str, Any]] = [
        {},
        {"limit": 30.5 * factor if kind == "floats" else 30 * factor},
    ]
    for options in asked[: 1 if kind == "any sign" else 2]:
        wanted = sssp.pairs(h, starts, ends, **options)
        found = sssp.pairs(h, starts, ends, device=device, **options)
        assert found.distances.dtype == wanted.distances.dtype
        rounding = 1e-12 if kind == "floats" else 0
        np.testing.assert_allclose(found.distances, wanted.distances, rtol=rounding)
        assert found.distances[0] == 0
        assert 0 < np.count_nonzero(found.reached) < starts.size
        assert (found.stats["climbed"] >= 2).all()
    assert sssp.pairs(h, [], [], device=device).distances.size == 0


@pytest.mark.gpu
def test_trips_on_a_gpu_are_found_in_parts_where_memory_is_short(device: str) -> None:
    g = sssp.road_like(50, seed=2)
    h = sssp.prepare(g)
    starts, ends = np.random.default_rng(2).integers(0, g.n, (2, 9))
    with pytest.raises(sssp.DeviceError, match="a climb from both ends") as refused:
        sssp.pairs(h, starts, ends, device=device, memory_limit=1)
    (needed,) = re.findall(r"needs ([\d,]+) bytes", str(refused.value))
    least = int(needed.replace(",", ""))
    for limit in (least, 2 * least):
        found = sssp.pairs(h, starts, ends, device=device, memory_limit=limit)
        np.testing.assert_array_equal(found.distances, sssp.pairs(h, starts, ends).distances)


FALLING = sssp.Graph.from_arcs([0, 1], [1, 2], [-5, 9])


@every_device
@pytest.mark.parametrize("predecessors", [False, True])
@pytest.mark.parametrize(
    ("g", "options", "error", "word"),
    [
        (FALLING, {"limit": 5}, ValueError, "negative weights takes no limit"),
        (FALLING.with_weights([5, 9]), {"dtype": float}, TypeError, "integer distances, not float"),
    ],
)
def test_what_no_sweep_answers_is_refused_at_every_call(
    g: sssp.Graph,
    options: dict[str, Any],
    error: type[Exception],
    word: str,
    predecessors: bool,
    device: str,
) -> None:
    h, options = sssp.prepare(g), {**options, "device": device}
    calls: list[Any] = [sssp.shortest_paths, sssp.iter_blocks, partial(sssp.pairs, targets=[1, 2])]
    for call in calls:
        with pytest.raises(error, match=word):
            call(h, sources=[0, 0], predecessors=predecessors, **options)
    with pytest.raises(error, match=word):
        sssp.nearest(h, [0], **options)


def test_what_does_not_go_is_refused(roads: tuple[sssp.Graph, sssp.Hierarchy]) -> None:
    g, h = roads
    for method in ("dijkstra", sssp.DeltaStepping(), "a-star"):
        with pytest.raises(ValueError, match="choose from auto, sweep"):
            sssp.shortest_paths(h, 0, method=method)
        with pytest.raises(ValueError, match="choose from auto, sweep"):
            sssp.pairs(h, 0, 1, method=method)
    assert sssp.shortest_paths(h, 0, method="sweep").method == "sweep"
    with pytest.raises(ValueError, match="unknown method 'sweep'"):
        sssp.shortest_paths(g, 0, method="sweep")
    with pytest.raises(TypeError, match=r"with_weights\(.*astype\(float\)\)"):
        sssp.shortest_paths(h, 0, dtype=float)
    with pytest.raises(TypeError, match=r"shortest_paths\(h, range\(h\.n\)\)"):
        sssp.all_pairs(h)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"h\.graph"):
        sssp.transitive_closure(h)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"h\.graph"):
        sssp.verify(h, sssp.shortest_paths(h, 0))  # type: ignore[arg-type]
    with pytest.raises(sssp.DeviceError, match="may take"):
        sssp.shortest_paths(h, range(1000), memory_limit=1e6)
    with pytest.raises(sssp.VertexError, match="3000"):
        sssp.shortest_paths(h, 3000)
