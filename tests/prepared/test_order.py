"""Elimination orders: permutations, their fill and depth, separators, threads, Ctrl-C."""

from __future__ import annotations

import pickle
import signal
import threading
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

import sssp
from sssp import datasets
from sssp.order import max_flow as flow
from sssp.order import nested_dissection as order
from sssp.order.nested_dissection import SeparatorTooLarge, elimination_order
from tests.patience import PATIENCE, wait_until

Edges = NDArray[np.int64]


class Topology(NamedTuple):
    """CSR arrays of an undirected graph."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]

    @property
    def n(self) -> int:
        return self.indptr.size - 1


def topology(n: int, edges: Any) -> Topology:
    """Return the simple graph with these edges, whichever way and however often they stand."""
    pairs = np.asarray(edges, np.int64).reshape(-1, 2)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    pairs = np.unique(np.concatenate([pairs, pairs[:, ::-1]]), axis=0)
    indptr = np.searchsorted(pairs[:, 0], np.arange(n + 1))
    return Topology(indptr, pairs[:, 1].astype(np.int32))


def path(n: int) -> Edges:
    return np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)


def cycle(n: int) -> Edges:
    return np.stack([np.arange(n), np.roll(np.arange(n), 1)], axis=1)


def star(n: int) -> Edges:
    return np.stack([np.zeros(n - 1, np.int64), np.arange(1, n)], axis=1)


def binary_tree(n: int) -> Edges:
    return np.stack([(np.arange(1, n) - 1) // 2, np.arange(1, n)], axis=1)


def clique(n: int) -> Edges:
    return np.stack(np.triu_indices(n, 1), axis=1)


def grid(width: int, height: int) -> Edges:
    numbers = np.arange(width * height).reshape(height, width)
    across = np.stack([numbers[:, :-1].ravel(), numbers[:, 1:].ravel()], axis=1)
    down = np.stack([numbers[:-1].ravel(), numbers[1:].ravel()], axis=1)
    return np.concatenate([across, down])


def copies(edges: Edges, n: int, times: int) -> Edges:
    return (edges[None] + n * np.arange(times)[:, None, None]).reshape(-1, 2)


def expander(n: int) -> Edges:
    """Four permutations: as a random graph, it has no small separators."""
    rng = np.random.default_rng(0)
    heads = np.concatenate([rng.permutation(n) for _ in range(4)])
    return np.stack([np.tile(np.arange(n), 4), heads], axis=1)


class Hierarchy(NamedTuple):
    """What an order makes: chordal arcs, and vertices on the longest path to a root."""

    arcs: int
    depth: int


def eliminate(graph: Topology, found: Iterable[int]) -> Hierarchy:
    """Eliminate the vertices by hand, with a set of later neighbours for each."""
    indptr, indices = graph.indptr.tolist(), graph.indices.tolist()
    vertices = list(found)
    rank = {vertex: i for i, vertex in enumerate(vertices)}
    assert sorted(vertices) == list(range(graph.n))
    above: list[set[int]] = [set() for _ in vertices]
    heights = [1] * graph.n
    arcs = 0
    for i, vertex in enumerate(vertices):
        neighbours = above[i]
        neighbours.update(
            rank[u] for u in indices[indptr[vertex] : indptr[vertex + 1]] if rank[u] > i
        )
        arcs += len(neighbours)
        if neighbours:
            parent = min(neighbours)
            heights[parent] = max(heights[parent], heights[i] + 1)
            neighbours.remove(parent)
            above[parent] |= neighbours
        above[i] = set()
    return Hierarchy(arcs, max(heights, default=0))


def ordered(graph: Topology, **options: Any) -> Hierarchy:
    found = elimination_order(*graph, **options)
    assert found.dtype == np.int32
    return eliminate(graph, found.tolist())


# what an order must not exceed: chordal arcs, depth
GRAPHS = {
    "nothing": (topology(0, []), 0, 0),
    "a vertex": (topology(1, []), 0, 1),
    "no arcs": (topology(100_000, []), 0, 1),
    "100,000 components": (topology(200_000, copies(path(2), 2, 100_000)), 100_000, 2),
    "a long path": (topology(20_000, path(20_000)), 2 * 20_000, 60),
    "a long cycle": (topology(20_000, cycle(20_000)), 2 * 20_000, 40),
    "a star": (topology(30_000, star(30_000)), 29_999, 2),
    "a tree": (topology(8_191, binary_tree(8_191)), 8_190, 13),
    "a hub's wheel": (
        topology(5_001, np.concatenate([star(5_001), cycle(5_000) + 1])),
        3 * 5_000,
        160,
    ),
    "a clique": (topology(400, clique(400)), 400 * 399 // 2, 400),
    "cliques": (topology(2_000, copies(clique(20), 20, 100)), 100 * 190, 20),
    "three hubs": (
        topology(3_003, [(hub, leaf) for hub in range(3) for leaf in range(3, 3_003)]),
        3 * 3_000 + 3,
        4,
    ),
    "a grid": (topology(3_600, grid(60, 60)), 14 * 3_600, 190),
    "a ladder": (topology(8_000, grid(2, 4_000)), 4 * 8_000, 220),
}


@pytest.mark.parametrize(("graph", "arcs", "depth"), GRAPHS.values(), ids=GRAPHS)
def test_an_order_has_every_vertex_once_and_makes_a_low_hierarchy(
    graph: Topology, arcs: int, depth: int
) -> None:
    made = ordered(graph)
    assert made.arcs <= arcs
    assert made.depth <= depth


@pytest.mark.parametrize("edges", [path, cycle, star, binary_tree], ids=lambda f: f.__name__)
def test_lengths_at_which_peeling_ends_lose_no_vertex(edges: Any) -> None:
    """Two tails that are peeled from both ends meet after 32 rounds, or just do not."""
    for n in range(60, 72):
        assert ordered(topology(n, edges(n))).arcs <= 2 * n


def test_the_last_vertices_separate_the_graph() -> None:
    """As many as stand in one and a half lines leave no piece above three quarters of a grid."""
    width, height = 50, 70
    graph = topology(width * height, grid(width, height))
    found = elimination_order(*graph)
    left = np.ones(graph.n, bool)
    for last in range(graph.n - 1, -1, -1):
        left[found[last]] = False
        if largest_component(graph, left) <= 3 * graph.n / 4:
            break
    assert graph.n - last <= 1.5 * width


def largest_component(graph: Topology, left: NDArray[np.bool_]) -> int:
    tails = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
    kept = left[tails] & left[graph.indices]
    ones = np.ones(np.count_nonzero(kept), np.int8)
    places = tails[kept], graph.indices[kept]
    matrix = sparse.csr_array((ones, places), shape=(graph.n, graph.n))
    _, labels = csgraph.connected_components(matrix, directed=False)
    return int(np.bincount(labels[left], minlength=1).max())


@pytest.fixture(params=["alone", "in tasks"])
def cut_into_tasks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Let small graphs be worked on as huge ones are: every piece in tasks of its own."""
    if request.param == "in tasks":
        monkeypatch.setattr(order, "GRAIN", 150)
    return bool(request.param == "in tasks")


def two_grids() -> Topology:
    """Return a graph of two components, numbered at random."""
    n = 50 * 50
    edges = np.concatenate([grid(50, 50), grid(50, 50) + n])
    return topology(2 * n, np.random.default_rng(1).permutation(2 * n)[edges])


def test_how_a_piece_is_cut_into_tasks_and_threads_change_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph = two_grids()
    alone = elimination_order(*graph)
    monkeypatch.setattr(order, "GRAIN", 150)
    for threads in (1, 2, 5):
        assert np.array_equal(elimination_order(*graph, threads=threads), alone)


def test_threads_change_nothing_in_a_huge_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in one of millions of vertices: reduced in chunks, narrow bands first."""
    for name, value in {"CHUNK": 700, "GRAIN": 150, "HUGE": 400}.items():
        monkeypatch.setattr(order, name, value)
    graph = two_grids()
    alone = elimination_order(*graph)
    made = eliminate(graph, alone.tolist())
    assert made.arcs <= 16 * graph.n
    assert made.depth <= 170
    for threads in (2, 5):
        assert np.array_equal(elimination_order(*graph, threads=threads), alone)


def test_chunks_leave_little_to_the_dissection(monkeypatch: pytest.MonkeyPatch) -> None:
    """What stands at the border of two chunks goes after them."""
    monkeypatch.setattr(order, "CHUNK", 100)
    graph = topology(5_000, path(5_000))
    made = ordered(graph, threads=2)
    assert made.arcs <= 2 * graph.n
    assert made.depth <= 80


def test_arrays_may_be_read_only() -> None:
    graph = topology(900, grid(30, 30))
    found = elimination_order(*graph)
    for array in graph:
        array.flags.writeable = False
    assert np.array_equal(elimination_order(*graph), found)
    assert found.flags.writeable


@pytest.mark.parametrize("threads", [1, 2])
def test_a_separator_that_is_too_wide_is_refused(cut_into_tasks: bool, threads: int) -> None:
    graph = topology(3_000, expander(3_000))
    with pytest.raises(SeparatorTooLarge) as refused:
        elimination_order(*graph, threads=threads, widest=300)
    error = refused.value
    assert error.piece <= graph.n
    assert 300 < error.separator < error.piece
    same = pickle.loads(pickle.dumps(error))
    assert (same.piece, same.separator) == (error.piece, error.separator)


def test_the_widest_separator_is_accepted(cut_into_tasks: bool) -> None:
    graph = topology(2_500, grid(50, 50))
    found = elimination_order(*graph)
    assert np.array_equal(elimination_order(*graph, widest=50), found)
    with pytest.raises(SeparatorTooLarge) as refused:
        elimination_order(*graph, widest=25)
    assert 25 < refused.value.separator <= 50


def test_all_vertices_are_counted_by_the_callers_thread(cut_into_tasks: bool) -> None:
    graph = two_grids()
    told = []

    def advance(vertices: int) -> None:
        assert threading.current_thread() is threading.main_thread()
        told.append(vertices)

    elimination_order(*graph, threads=2, advance=advance)
    assert sum(told) == graph.n
    assert min(told) >= 0


def working() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name.startswith("sssp")}


@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_is_heard_while_kernels_run(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    """It comes while a kernel is about to run, which returns at once and finds nothing."""
    before, found = working(), []
    kernel = flow.landmarks_kernel

    def interrupted(*arguments: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        stop = arguments[-1]
        wait_until(lambda: stop[0], "the word to stop")
        found.append(kernel(*arguments))
        return True

    monkeypatch.setattr(order, "GRAIN", 150)
    graph = topology(2_500, grid(50, 50))
    elimination_order(*graph)
    monkeypatch.setattr(order, "landmarks_kernel", interrupted)
    with pytest.raises(KeyboardInterrupt):
        elimination_order(*graph, threads=threads)
    for thread in working() - before:
        thread.join(PATIENCE)
        assert not thread.is_alive()
    assert found == [False]


def test_what_advance_raises_ends_all(cut_into_tasks: bool) -> None:
    before = working()

    def fail(vertices: int) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        elimination_order(*two_grids(), threads=2, advance=fail)
    for thread in working() - before:
        thread.join(PATIENCE)
        assert not thread.is_alive()


def test_more_arcs_than_can_be_numbered_are_refused() -> None:
    indices = np.broadcast_to(np.int32(0), 2**32)
    with pytest.raises(ValueError, match="fewer than 4294967295 arcs, not 4294967296"):
        elimination_order(np.array([0, 2**32]), indices)


def test_new_york_keeps_its_figures() -> None:
    found = datasets.find("USA-road-d.NY")
    if found is None:
        pytest.skip("USA-road-d.NY is not on this machine")
    graph = sssp.read_graph(found)
    made = ordered(Topology(graph.indptr, graph.indices), threads=2)
    assert made.arcs < 4.35 * graph.n
    assert made.depth <= 245
