"""Many sources in one call: forms of the answer, threads, memory, interruptions, ties."""

from __future__ import annotations

import io
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sssp
from sssp.bench.papers.baselines import BaselineBellmanFord
from sssp.cpu import search_driver as runner
from sssp.engine import outputs as forms
from sssp.engine.workers import lend_pool
from sssp.methods import METHODS
from tests import naive
from tests.patience import wait_until
from tests.same_results import assert_same
from tests.strategies import (
    DYADIC,
    SMALL_INTEGERS,
    graph_of,
    negative_networks,
    networks,
    vertex_lists,
)

every_method = pytest.mark.parametrize("method", METHODS)
one_or_two_threads = pytest.mark.parametrize("threads", [1, 2])


def city(n: int = 300, seed: int = 0) -> sssp.Graph:
    """A random graph with zero weights, ties and unreachable vertices."""
    random = np.random.default_rng(seed)
    tails, heads = random.integers(0, n, (2, 2 * n))
    return sssp.Graph.from_arcs(tails, heads, random.integers(0, 20, 2 * n), n=n)


# -- threads -----------------------------------------------------------------------------------


@every_method
@pytest.mark.parametrize("options", [{}, {"targets": [7, 7, 250]}, {"limit": 40}], ids=str)
def test_the_number_of_threads_changes_nothing(method: str, options: dict[str, Any]) -> None:
    g = city()
    sources = [*range(0, 300, 13), 5, 5]
    one, two, three = (
        sssp.shortest_paths(
            g, sources, method=method, predecessors=True, threads=threads, **options
        )
        for threads in (1, 2, 3)
    )
    for r in (two, three):
        assert_same(r, one)
        for name, values in one.stats.items():
            np.testing.assert_array_equal(r.stats[name], values)


def test_two_first_rows_at_once_share_one_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    g = city()
    expected = sssp.shortest_paths(g, [0, 1], predecessors=True, threads=1)
    meeting = threading.Barrier(2)

    def slow_empty(*arguments: Any) -> Any:
        """Wait for another thread that allocates the same: in vain, if all is well."""
        try:
            meeting.wait(0.2)
        except threading.BrokenBarrierError:
            meeting.reset()
        matrix: Any = np.empty(*arguments)
        matrix[...] = -7
        return matrix

    monkeypatch.setattr(forms, "np", SimpleNamespace(**{**vars(np), "empty": slow_empty}))
    assert_same(sssp.shortest_paths(g, [0, 1], predecessors=True, threads=2), expected)


def test_calls_from_several_threads_share_a_graph() -> None:
    g = city()
    calls: list[dict[str, Any]] = [
        {"sources": [3, 4, 5], "predecessors": True},
        {"sources": 9, "targets": [1, 2]},
        {"sources": [9, 2], "nearest": True},
        {"sources": [1, 2, 3], "limit": 30, "method": "dijkstra"},
        {"sources": [8], "method": "threshold-dijkstra"},
    ]
    expected = [sssp.shortest_paths(g, **call, threads=1) for call in calls]
    with ThreadPoolExecutor(8) as executor:
        found = list(
            executor.map(lambda call: sssp.shortest_paths(g, **call, threads=2), calls * 20)
        )
    for i, r in enumerate(found):
        assert_same(r, expected[i % len(calls)])


def test_results_own_their_memory() -> None:
    g = city()
    first = sssp.shortest_paths(g, [0, 1], predecessors=True)
    distances, predecessors = first.distances.copy(), first.predecessors.copy()
    second = sssp.shortest_paths(g, [2, 3], predecessors=True)
    second.distances[:] = -1
    second.predecessors[:] = -5
    np.testing.assert_array_equal(first.distances, distances)
    np.testing.assert_array_equal(first.predecessors, predecessors)
    np.testing.assert_array_equal(sssp.shortest_paths(g, [0, 1]).distances, distances)


# -- forms of the answer -----------------------------------------------------------------------


@every_method
@one_or_two_threads
def test_a_sparse_answer_holds_what_a_dense_one_does(method: str, threads: int) -> None:
    g = city()
    sources = [0, 17, 17, 299]
    options: Any = {"method": method, "predecessors": True, "limit": 25, "threads": threads}
    full = sssp.shortest_paths(g, sources, **options)
    r = sssp.shortest_paths(g, sources, output="sparse", **options)
    assert r.distances.has_sorted_indices
    assert (r.distances.shape, r.distances.dtype) == (full.distances.shape, full.distances.dtype)
    assert r.distances.nnz == r.predecessors.nnz == full.reached.sum() < full.reached.size
    for i in range(len(sources)):
        stored = slice(*r.distances.indptr[i : i + 2])
        vertices = np.flatnonzero(full.reached[i])
        assert r.distances.indices[stored].tolist() == vertices.tolist()
        assert r.distances.data[stored].tolist() == full.distances[i, vertices].tolist()
        assert r.predecessors.indices[stored].tolist() == vertices.tolist()
        assert r.predecessors.data[stored].tolist() == full.predecessors[i, vertices].tolist()
        for vertex in vertices[::5]:
            assert r.path(vertex, row=i).tolist() == full.path(vertex, row=i).tolist()
            assert r.distance(vertex, row=i) == full.distance(vertex, row=i)


def test_a_sparse_answer_chooses_its_dtype_as_a_dense_one_does() -> None:
    g = sssp.Graph.from_arcs([0, 1, 2], [1, 2, 3], [2**30 - 5, 2**30, 2**31 - 1])
    assert sssp.shortest_paths(g, [1], output="sparse").distances.data.tolist() == [
        0,
        2**30,
        2**31 - 1 + 2**30,
    ]
    short = sssp.shortest_paths(g, [0], limit=2**31, output="sparse").distances
    assert (short.dtype, short.data.tolist()) == (np.int32, [0, 2**30 - 5, 2**31 - 5])
    with pytest.raises(sssp.DistanceOverflowError, match="int32"):
        sssp.shortest_paths(g, [0], dtype=np.int32, output="sparse")
    empty = sssp.shortest_paths(g, [], output="sparse", predecessors=True)
    assert empty.distances.shape == empty.predecessors.shape == (0, 4)


@one_or_two_threads
@pytest.mark.parametrize("targets", [None, [3, 1, 3]], ids=str)
def test_out_is_filled_however_it_lies_in_memory(
    threads: int, targets: list[int] | None, tmp_path: Path
) -> None:
    g = city()
    sources = [0, 8, 290]
    columns = 300 if targets is None else 3
    expected = sssp.shortest_paths(g, sources, targets=targets).to_float()
    big = np.full((6, columns + 2), 42)
    outs = {
        "whole": np.empty((3, columns), np.int32),
        "every other row": big[::2, :columns],
        "every other column": np.empty((3, 2 * columns), np.int32)[:, ::2],
        "backwards": np.empty((3, columns), np.int64)[::-1, ::-1],
        "transposed": np.empty((columns, 3)).T,
        "unaligned": np.empty(3 * columns * 4 + 1, np.int8)[1:].view(np.int32).reshape(3, -1),
        "memmap": np.memmap(tmp_path / "out", np.float32, "w+", shape=(3, columns)),
    }
    for name, out in outs.items():
        r = sssp.shortest_paths(g, sources, targets=targets, out=out, threads=threads)
        assert r.distances is out, name
        np.testing.assert_array_equal(r.to_float(), expected, name)
    # nothing beside the view was touched
    assert (big[1::2] == 42).all()
    assert (big[:, columns:] == 42).all()


def test_out_has_the_axes_of_the_distances() -> None:
    g = city()
    cases: list[tuple[dict[str, Any], tuple[int, ...]]] = [
        ({"sources": 3}, (300,)),
        ({"sources": 3, "targets": 9}, ()),
        ({"sources": [3, 4], "targets": 9}, (2,)),
        ({"sources": [3, 4], "nearest": True}, (300,)),
        ({"sources": [3, 4], "nearest": True, "targets": [9]}, (1,)),
        ({"sources": []}, (0, 300)),
    ]
    for arguments, shape in cases:
        out = np.empty(shape, np.int64)
        r = sssp.shortest_paths(g, **arguments, out=out)
        assert r.distances is out
        expected = sssp.shortest_paths(g, **arguments, dtype=np.int64).distances
        np.testing.assert_array_equal(out, expected)
        for wrong in ((*shape, 1), (5,), (1, *shape)):
            with pytest.raises(ValueError, match="out has shape"):
                sssp.shortest_paths(g, **arguments, out=np.empty(wrong, np.int64))


def test_an_out_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    g = city()
    locked = np.empty((2, 300), np.int32)
    locked.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        sssp.shortest_paths(g, [0, 1], out=locked)
    (tmp_path / "out").write_bytes(bytes(2 * 300 * 4))
    mapped = np.memmap(tmp_path / "out", np.int32, "r", shape=(2, 300))
    with pytest.raises(ValueError, match="read-only"):
        sssp.shortest_paths(g, [0, 1], out=mapped)
    for dtype in (np.uint32, np.float16, ">i4", object):
        with pytest.raises(TypeError, match="dtype must be"):
            sssp.shortest_paths(g, [0, 1], out=np.empty((2, 300), dtype))
    floats = g.with_weights(g.weights * 0.5)
    with pytest.raises(TypeError, match="float64 weights"):
        sssp.shortest_paths(floats, [0, 1], out=np.empty((2, 300), np.int32))


@one_or_two_threads
def test_an_out_too_narrow_for_a_distance_is_refused(threads: int) -> None:
    g = sssp.Graph.from_arcs([0, 1, 2], [1, 2, 3], [2**30 - 5, 2**30, 2**31 - 1])
    with pytest.raises(sssp.DistanceOverflowError, match=f"{2**32 - 6} does not fit int32"):
        sssp.shortest_paths(g, [3, 0, 3], out=np.empty((3, 4), np.int32), threads=threads)
    out = np.empty((2, 4), np.int32)
    sssp.shortest_paths(g, [0, 3], limit=2**31, out=out, threads=threads)
    missing = 2**31 - 1
    assert out.tolist() == [
        [0, 2**30 - 5, 2**31 - 5, missing],
        [missing, missing, missing, 0],
    ]
    wide = np.empty((2, 4), np.int64)
    sssp.shortest_paths(g, [0, 3], out=wide, threads=threads)
    assert wide[0].tolist() == [0, 2**30 - 5, 2**31 - 5, 2**32 - 6]


@every_method
def test_statistics_have_one_number_a_row(method: str) -> None:
    g = city()
    rows = sssp.shortest_paths(g, [0, 8, 0], method=method).stats
    assert rows
    for name, values in rows.items():
        assert (values.shape, values.dtype) == ((3,), np.int64)
        assert values[0] == values[2] > 0
        single = sssp.shortest_paths(g, 0, method=method, threads=1).stats[name]
        assert type(single) is int
        assert single == values[0]
    nearest = sssp.shortest_paths(g, [0, 8], method=method, nearest=True).stats
    assert all(type(value) is int for value in nearest.values())
    none = sssp.shortest_paths(g, [], method=method).stats
    assert all(values.shape == (0,) for values in none.values())


# -- memory ------------------------------------------------------------------------------------


def test_an_answer_too_large_for_the_memory_is_refused_with_the_numbers() -> None:
    g = city(100)
    # 10 rows of 100 int32 with a counter each, 10 sources, and a search with three int32 a vertex
    enough = 10 * (100 * 4 + 8) + 10 * 8 + 100 * 12
    ask: dict[str, Any] = {"sources": range(10), "method": "dijkstra"}
    sssp.shortest_paths(g, **ask, memory_limit=enough)
    with pytest.raises(
        sssp.DeviceError,
        match=r"needs 5,360 bytes of memory \(the answer 4,080, the question 80, a search 1,200\), "
        rf"but may take {enough - 1:,};",
    ):
        sssp.shortest_paths(g, **ask, memory_limit=enough - 1)
    with pytest.raises(sssp.DeviceError, match="the answer 8,080"):
        sssp.shortest_paths(g, **ask, memory_limit=enough, predecessors=True)
    with pytest.raises(sssp.DeviceError, match="the answer 8,080"):
        sssp.shortest_paths(g, **ask, memory_limit=enough, dtype=np.int64)
    # what the message advises
    for advice in (
        {"targets": [3]},
        {"output": "sparse", "limit": 9},
        {"out": np.empty((10, 100), np.int32)},
        {"sources": range(5)},
    ):
        sssp.shortest_paths(g, **{**ask, **advice, "memory_limit": enough - 1})


def test_an_answer_widened_to_int64_is_planned_anew() -> None:
    g = sssp.Graph.from_arcs([0, 1], [1, 2], [2**29, 2**29], n=100)
    enough = 100 * 4 + 16 + 100 * 12
    with pytest.raises(sssp.DeviceError, match="the answer 1,208"):  # with its copy in int32
        sssp.shortest_paths(g, 0, method="dijkstra", memory_limit=enough)
    enough = 100 * 12 + 16 + 100 * 16
    r = sssp.shortest_paths(g, 0, method="dijkstra", memory_limit=enough)
    assert r.distance(2) == 2**30


def test_only_so_many_threads_work_as_have_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    g = city(100)
    sizes = []

    def lend_counted(threads: int) -> Any:
        sizes.append(threads)
        return lend_pool(threads)

    monkeypatch.setattr(runner, "lend_pool", lend_counted)
    expected = sssp.shortest_paths(g, range(10), method="dijkstra", threads=1).distances
    for workers in (1, 2, 3, 9):
        r = sssp.shortest_paths(
            g, range(10), method="dijkstra", threads=4, memory_limit=4160 + workers * 1200
        )
        np.testing.assert_array_equal(r.distances, expected)
    sssp.shortest_paths(g, range(3), method="dijkstra", threads=4)
    # one worker needs no pool
    assert sizes == [2, 3, 4, 3]


def test_scratch_beyond_what_a_graph_keeps_is_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    g = city()
    expected = sssp.shortest_paths(g, [0, 1, 2], targets=[5], predecessors=True, threads=1)
    monkeypatch.setattr("sssp.engine.thresholds.KEPT_SCRATCH", 0)
    for _ in range(2):
        r = sssp.shortest_paths(g, [0, 1, 2], targets=[5], predecessors=True, threads=2)
        assert_same(r, expected)


# -- interruptions -----------------------------------------------------------------------------


@one_or_two_threads
@pytest.mark.parametrize("form", [{}, {"targets": [5, 250]}, {"output": "sparse"}], ids=str)
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_a_row_that_breaks_off_leaves_nothing_to_the_next_call(
    threads: int, form: dict[str, Any], error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    g = city()
    options: Any = {**form, "predecessors": True, "threads": threads}
    expected = sssp.shortest_paths(g, range(20), predecessors=True, threads=1)

    def break_off(form: Any, found: Any) -> None:
        if found.rows.start >= 3:
            raise error

    for form_of_answer in (forms.DenseForm, forms.SparseForm):
        monkeypatch.setattr(form_of_answer, "take", break_off)
    with pytest.raises(error):
        sssp.shortest_paths(g, range(20), **options)
    monkeypatch.undo()
    for _ in range(2):  # with whatever scratch there is
        assert_same(sssp.shortest_paths(g, range(20), predecessors=True, threads=threads), expected)
        targeted = sssp.shortest_paths(g, range(20), targets=range(300), threads=threads)
        np.testing.assert_array_equal(targeted.distances, expected.distances)


@one_or_two_threads
@pytest.mark.parametrize("method", ["bellman-ford", BaselineBellmanFord()])
def test_a_negative_cycle_leaves_nothing_to_the_next_call(method: str, threads: int) -> None:
    base = city(50)
    tails, heads = [*base.tails, 50, 51], [*base.indices, 51, 50]
    g = sssp.Graph.from_arcs(tails, heads, [*base.weights, 3, -4])
    options: Any = {"method": method, "threads": threads, "targets": range(52)}
    expected = sssp.shortest_paths(base, range(50)).to_float()
    for sources in ([0, 50, 1], [51], [3, 2, 1, 50]):
        with pytest.raises(sssp.NegativeCycleError, match=r"source 5[01] "):
            sssp.shortest_paths(g, sources, **options)
        r = sssp.shortest_paths(g, range(50), **options)
        np.testing.assert_array_equal(r.to_float()[:, :50], expected)


@one_or_two_threads
def test_an_overflow_leaves_nothing_to_the_next_call(threads: int) -> None:
    g = sssp.Graph.from_arcs([0, 1, 2, 4], [1, 2, 3, 5], [2**61, 2**61, 1, 7])
    for _ in range(2):
        with pytest.raises(sssp.DistanceOverflowError):
            sssp.shortest_paths(g, [4, 0, 1], targets=[3, 5], threads=threads)
        r = sssp.shortest_paths(g, [4, 1], targets=[3, 5], threads=threads)
        assert r.to_float().tolist() == [[np.inf, 7], [2.0**61 + 1, np.inf]]


def is_stopped(work: Any) -> bool:
    """Tell whether another thread stops the work, sooner or later."""
    try:
        wait_until(lambda: work.stop)
    except TimeoutError:
        return False
    return True


def test_ctrl_c_between_rows_stops_all_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    g = city()
    told: list[bool] = []
    solve = runner._SearchedRows.solve

    def solve_once_stopped(self: Any, rows: range, scratch: Any) -> None:
        told.append(all(told) and is_stopped(self))
        solve(self, rows, scratch)

    def interrupted(*arguments: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(runner._SearchedRows, "solve", solve_once_stopped)
    monkeypatch.setattr(runner, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        sssp.shortest_paths(g, range(200), threads=2)
    assert len(told) <= 2  # the rows in hand
    assert all(told)


def test_an_error_in_one_row_stops_the_other_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    g = city()
    told: list[bool] = []
    solve = runner._SearchedRows.solve

    def fail_at_first(self: Any, rows: range, scratch: Any) -> None:
        if rows.start == 0:
            raise MemoryError("no more")
        told.append(all(told) and is_stopped(self))
        solve(self, rows, scratch)

    monkeypatch.setattr(runner._SearchedRows, "solve", fail_at_first)
    with pytest.raises(MemoryError, match="no more"):
        sssp.shortest_paths(g, range(200), threads=3)
    assert len(told) <= 2
    assert all(told)


# -- progress ----------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@one_or_two_threads
def test_a_bar_appears_unasked_on_a_terminal_only(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    g = city()
    monkeypatch.setattr("sssp.engine.progress.DELAY", 0)
    shown = {}
    for name, stream in (("terminal", Terminal()), ("file", io.StringIO())):
        for wanted in (None, False, True):
            for sources in (range(30), 0):
                with monkeypatch.context() as patch:
                    patch.setattr(sys, "stderr", stream)
                    stream.seek(0)
                    stream.truncate()
                    sssp.shortest_paths(g, sources, progress=wanted, threads=threads)
                shown[name, wanted, sources == 0] = "source" in stream.getvalue()
    assert {case for case, seen in shown.items() if seen} == {
        ("terminal", None, False),
        ("terminal", True, False),
        ("file", True, False),
    }


def test_short_work_shows_no_bar(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sssp.engine.progress.perf_counter", lambda: 0.0)
    sssp.shortest_paths(city(), range(30), progress=True)
    assert capsys.readouterr() == ("", "")


# -- the nearest of several sources ------------------------------------------------------------


def origins(r: sssp.ShortestPaths) -> list[int]:
    assert r.origin is not None
    assert r.origin.dtype == np.int32
    return list(r.origin.tolist())


@settings(max_examples=250)
@given(
    network=networks(SMALL_INTEGERS, least_n=1)
    | networks(st.integers(0, 1), least_n=1)
    | networks(DYADIC, least_n=1)
    | negative_networks(),
    data=st.data(),
)
def test_every_vertex_belongs_to_the_smallest_of_its_nearest_sources(
    network: naive.Network, data: st.DataObject
) -> None:
    sources = data.draw(vertex_lists(network.n, 6))
    if not sources:
        return
    output: Any = data.draw(st.sampled_from(["host", "sparse"]))
    try:
        expected = naive.solve(network, sources)
    except naive.NegativeCycle:
        return
    r = sssp.shortest_paths(
        graph_of(network), sources, nearest=True, predecessors=True, output=output
    )
    sssp.verify(graph_of(network), r)
    assert origins(r) == [expected.origins.get(v, -1) for v in range(network.n)]
    for vertex in expected.distances:
        path = r.path(vertex).tolist()
        assert path == naive.path(expected.predecessors, vertex)
        assert path[0] == expected.origins[vertex]
        assert r.distance(vertex) == expected.distances[vertex]


@every_method
def test_of_equally_near_sources_the_smallest_vertex_wins(method: str) -> None:
    # 2 lies in the middle between 1 and 3, and 4 hangs on it
    g = sssp.Graph.from_arcs([3, 1, 2], [2, 2, 4], [1, 1, 1], n=6)
    for sources in ([3, 1], [1, 3], [3, 1, 3, 1]):
        r = sssp.shortest_paths(g, sources, nearest=True, method=method, predecessors=True)
        assert origins(r) == [-1, 1, 1, 3, 1, -1]
        assert r.path(4).tolist() == [1, 2, 4]
        assert r.predecessors.tolist() == [-1, -1, 1, -1, 2, -1]


@pytest.mark.parametrize("method", [name for name in METHODS if name != "breadth-first"])
def test_sources_at_distance_zero_of_each_other_own_themselves(method: str) -> None:
    # a circle of zeros: every source on it reaches all of it at no cost
    ring = np.arange(6)
    g = sssp.Graph.from_arcs(ring, np.roll(ring, -1), np.zeros(6, int))
    r = sssp.shortest_paths(g, [4, 1], nearest=True, method=method, predecessors=True)
    assert r.distances.tolist() == [0] * 6
    assert origins(r) == [4, 1, 1, 1, 4, 4]
    assert r.predecessors.tolist() == [5, -1, 1, 2, -1, 4]
    assert r.path(0).tolist() == [4, 5, 0]
    sssp.verify(g, r)


@pytest.mark.parametrize("method", ["bellman-ford", BaselineBellmanFord()])
def test_a_source_nearer_to_another_belongs_to_that_one(method: str) -> None:
    g = sssp.Graph.from_arcs([0, 1, 2], [1, 2, 3], [-5, 2, 1])
    r = sssp.shortest_paths(g, [1, 0], nearest=True, method=method, predecessors=True)
    assert r.distances.tolist() == [0, -5, -3, -2]
    assert origins(r) == [0, 0, 0, 0]
    assert r.path(3).tolist() == [0, 1, 2, 3]
    sssp.verify(g, r)


def test_the_vertices_of_a_targeted_nearest_search_are_known_up_to_the_farthest_target() -> None:
    chain = sssp.Graph.from_arcs([0, 1, 2, 6, 5], [1, 2, 3, 5, 4], [1] * 5, n=8)
    r = sssp.shortest_paths(chain, [6, 0], nearest=True, targets=[5, 2], predecessors=True)
    assert r.distances.tolist() == [1, 2]
    assert origins(r) == [0, 0, 0, -1, 6, 6, 6, -1]
    assert r.predecessors.indices.tolist() == [0, 1, 2, 5, 6]
    assert r.predecessors.data.tolist() == [-1, 0, 1, 6, -1]
    unreached = sssp.shortest_paths(chain, [6, 0], nearest=True, targets=7, predecessors=True)
    assert unreached.distance(7) == np.inf
    assert origins(unreached) == [0, 0, 0, 0, 6, 6, 6, -1]
