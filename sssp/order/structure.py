"""Structure of a hierarchy: the chordal arcs and the tree that follow from an elimination order.

Vertices are eliminated in order; each one joins all its remaining neighbours, both ways.
What comes of that is the chordal graph of the order (Dibbelt, Strasser and Wagner 2016, section
3). Every vertex keeps the list of those above it to which it is joined then, the first of them is
its parent, and the parents make the elimination tree: all that a vertex is joined to above it are
ancestors there, and every shortest path climbs to some vertex and descends from it.

Vertices are known by their rank. Ranks are numbers in postorder, the heaviest child last, so a
subtree is a range of ranks and a chain of single children another: work on the tree is cut into
ranges (`Tasks`). Renumbering in postorder changes neither the arcs nor the depth.

How many chordal arcs and triangles there will be is counted before any list is made, with the tree
(Davis, "Algorithm 849", 2005), so that a graph that is no road network is refused in time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import wait
from threading import Condition
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sssp.engine import thresholds
from sssp.engine.workers import POLL_SECONDS, Pool, lend_pool
from sssp.graph.arc_orders import order_of_heads
from sssp.graph.csr import arc_position, freeze, offsets
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import INDEX, OFFSET
from sssp.kernels.jit import njit
from sssp.kernels.locks import Derived

#: places of directed chordal arcs are numbers of 32 bits
MOST_ARCS = (1 << 31) - 1
NO_SLOT = np.uint32(0xFFFFFFFF)
#: ranges of subtrees: with more of them work spreads better, and more vertices remain above
PIECES = 64
#: least number of vertices in such a range
SMALLEST = 2000
#: greatest number of triangles in a range of a chain: a tenth of a second
MOST_TRIANGLES = 20_000_000
#: triangles from which on threads share a range: some milliseconds
SHARED_TRIANGLES = 2_000_000

#: ``work(low, high, scratch)``
Work = Callable[[int, int, Any], Any]
#: ``together(low, high, pool)``, which submits parts of a range to the pool
Together = Callable[[int, int, Pool], Any]


# ---- ranges of ranks
#
# The elimination tree, cut into ranges of ranks on which threads work side by side.
#
# From below the tree falls apart into whole subtrees: neighbouring small ones make a range of about
# n / `PIECES` vertices. Above them are chains, each a range too, because the heaviest child of a
# vertex has the number right before it; a chain can start when the chains below it are done.
#
# Upward work takes the subtrees in any order, the most expensive first, and then every chain after
# those below it; downward work takes the same in reverse. The result does not depend on which
# thread does what. Every call is short, so that Ctrl-C is heard.
#
# Towards the top, chains have to wait for each other. There all threads may share one: an expensive
# range is passed to a function that splits it (`Together`).


class Tasks(NamedTuple):
    """Ranges of ranks, with dependencies, for parallel passes over the elimination tree.

    Attributes
    ----------
    ranges : ndarray, shape (t, 2), int32
        First rank and end: of subtrees, the most expensive first, and then of chains, upward.
    subtrees : int
        Number of ranges of whole subtrees.
    above : ndarray, shape (t,), int32
        The chain that waits for each chain; -1 for the topmost chains and for subtrees.
    shared : ndarray, shape (t,), bool
        Chains that are worth splitting.
    """

    ranges: NDArray[np.int32]
    subtrees: int
    above: NDArray[np.int32]
    shared: NDArray[np.bool_]

    def run(
        self,
        work: Work,
        threads: int,
        make_scratch: Callable[[], Any],
        together: Together | None = None,
        *,
        downward: bool = False,
    ) -> None:
        """Call ``work(low, high, scratch)`` for every range of ranks, children before parents.

        `make_scratch` makes the scratch of a worker; `together`, if given, gets the ranges that
        several threads share. `downward`: parents before children.
        """
        subtrees, chains = range(self.subtrees), range(self.subtrees, len(self.ranges))
        phases = (chains[::-1], subtrees) if downward else (subtrees, chains)
        ranges: list[tuple[int, int]] = [(low, high) for low, high in self.ranges.tolist()]
        if threads == 1 or len(ranges) <= 1:
            scratch = make_scratch()
            for task in (task for phase in phases for task in phase):
                work(*ranges[task], scratch)
            return
        #: the tasks that may start when a task is done, and for how many each waits
        after: list[list[int]] = [[] for _ in ranges]
        waiting = [0] * len(ranges)
        for chain in chains[::-1]:
            if (above := int(self.above[chain])) >= 0:
                first, then = (above, chain) if downward else (chain, above)
                after[first].append(then)
                waiting[then] += 1
        scratches = [make_scratch() for _ in range(threads)]
        change = Condition()
        ready: deque[int] = deque()
        left = 0  # tasks of a phase that no thread has taken yet

        def is_next() -> bool:
            return bool(ready) or not left

        def process(scratch: Any) -> None:
            """Run the ready tasks (each on a range of ranks) until the phase has none left."""
            nonlocal left
            try:
                while True:
                    with change:
                        change.wait_for(is_next)
                        if not left:
                            return
                        left -= 1
                        task = ready.popleft()
                    if together is not None and self.shared[task]:
                        together(*ranges[task], pool)
                    else:
                        work(*ranges[task], scratch)
                    with change:
                        for following in after[task]:
                            waiting[following] -= 1
                            if not waiting[following]:
                                ready.append(following)
                        change.notify_all()
            except BaseException:
                stop()
                raise

        def stop() -> None:
            nonlocal left
            with change:
                left = 0
                change.notify_all()

        with lend_pool(threads) as pool, lend_pool(threads) as executor:
            try:
                for phase in phases:
                    ready.extend(task for task in phase if not waiting[task])
                    left = len(phase)
                    futures = [executor.submit(process, scratch) for scratch in scratches]
                    # (with a timeout, or some systems do not hear Ctrl-C)
                    while wait(futures, POLL_SECONDS).not_done:
                        pass
                    for future in futures:
                        future.result()
            finally:
                stop()


def make_tasks(
    parent: NDArray[np.int32], size: NDArray[np.int32], counts: NDArray[np.int64]
) -> Tasks:
    """Cut an elimination tree into ranges of ranks: the tasks of parallel passes.

    Parameters
    ----------
    parent, size : ndarray, shape (n,), int32
        Of every rank; ranks are numbers in postorder, the heaviest child last.
    counts : ndarray, shape (n,), int64
        Chordal arcs above every rank.
    """
    n = parent.size
    limit = max(SMALLEST, n // PIECES)
    costs = offsets(counts * counts // 2)
    small = size <= limit
    low_parent = parent >= 0
    inside = np.zeros(n, np.bool_)
    inside[low_parent] = small[parent[low_parent]]
    roots = np.flatnonzero(small & ~inside)
    subtrees: list[list[int]] = []
    for low, high in zip((roots - size[roots] + 1).tolist(), (roots + 1).tolist(), strict=True):
        # join neighbours while they stay small together
        if subtrees and subtrees[-1][1] == low and high - subtrees[-1][0] <= limit:
            subtrees[-1][1] = high
        else:
            subtrees.append([low, high])
    subtrees.sort(key=lambda cut: costs[cut[0]] - costs[cut[1]])
    # A chain continues from v to v + 1 if that is the parent of v and v is its only child that is
    # not small: the subtrees of its other children end before.
    tops = np.flatnonzero(~small)
    top_children = np.bincount(parent[tops][parent[tops] >= 0], minlength=n)
    chains: list[list[int]] = []
    task_of: dict[int, int] = {}
    for v in tops.tolist():
        goes_on = chains and chains[-1][1] == v and parent[v - 1] == v and top_children[v] == 1
        if goes_on and costs[v + 1] - costs[chains[-1][0]] <= MOST_TRIANGLES:
            chains[-1][1] = v + 1
        else:
            chains.append([v, v + 1])
        task_of[v] = len(subtrees) + len(chains) - 1
    above = [task_of.get(int(parent[high - 1]), -1) for _, high in chains]
    ranges = np.array(subtrees + chains, INDEX).reshape(-1, 2)
    shared = costs[ranges[:, 1]] - costs[ranges[:, 0]] >= SHARED_TRIANGLES
    shared[: len(subtrees)] = False
    return Tasks(ranges, len(subtrees), np.array([-1] * len(subtrees) + above, INDEX), shared)


# ---- the structure


class Structure(NamedTuple):
    """The vertex order, elimination tree and chordal arcs of a graph, independent of arc weights.

    Attributes
    ----------
    order : ndarray, shape (n,), int32
        The vertex of every rank.
    rank : ndarray, shape (n,), int32
        The rank of every vertex.
    parent : ndarray, shape (n,), int32
        The parent of every rank in the elimination tree; -1 for roots.
    depth : ndarray, shape (n,), int32
        How many ancestors every rank has.
    chain : ndarray, shape (n,), int32
        The top of the chain of every rank: ranks that follow each other, each the child of the
        next. To leave a chain upward at least doubles the subtree.
    size : ndarray, shape (n,), int32
        How many ranks the subtree of every rank has, which end with it.
    first : ndarray, shape (n + 1,), int64
        Where the chordal arcs above every rank begin.
    upper : ndarray, shape (c,), int32
        The ranks that they lead to, ascending for each.
    lower_first : ndarray, shape (n + 1,), uint32
        Where the chordal arcs below every rank begin, in `lower`.
    lower : ndarray, shape (c,), uint32
        Their numbers.
    lower_rest : ndarray, shape (c,), uint16
        How many arcs come after each of them in the list, in `upper`, that it stands in.
    triangles : int
        Triangles of chordal arcs: the work of a customization.
    tasks : Tasks
        The elimination tree, cut into ranges of ranks.
    shared : Derived
        What is made of it for devices, once for all maps that share it.
    """

    order: NDArray[np.int32]
    rank: NDArray[np.int32]
    parent: NDArray[np.int32]
    depth: NDArray[np.int32]
    chain: NDArray[np.int32]
    size: NDArray[np.int32]
    first: NDArray[np.int64]
    upper: NDArray[np.int32]
    lower_first: NDArray[np.uint32]
    lower: NDArray[np.uint32]
    lower_rest: NDArray[np.uint16]
    triangles: int
    tasks: Tasks
    shared: Derived

    @property
    def height(self) -> int:
        """Height of the elimination tree: greatest number of vertices on a path from a root."""
        return self.shared.get_or_build("height", lambda: int(self.depth.max(initial=-1)) + 1)

    def threads_for(self, threads: int) -> int:
        """Return how many threads to use for a pass over all triangles: 1 if they are few."""
        return threads if self.triangles > thresholds.CUSTOMIZED_ALONE else 1

    def frozen(self) -> Structure:
        """Return this elimination structure (order, tree, arcs) with arrays that stay read-only."""
        parts: list[Any] = [freeze(p) if isinstance(p, np.ndarray) else p for p in self]
        return Structure(*parts)


# ---- the graph, seen without directions


@njit
def _neighbours_kernel(indptr, indices, tails_indptr, tails, first, others):
    """Find all neighbours of every vertex, along arcs in or out: the union of two sorted lists.

    Writes where those of every vertex begin, shape (n + 1,), and they themselves as far as there is
    room: so without any it counts.
    """
    place = 0
    first[0] = 0
    for v in range(first.size - 1):
        out, out_end = indptr[v], indptr[v + 1]
        into, into_end = tails_indptr[v], tails_indptr[v + 1]
        while out < out_end or into < into_end:
            if into == into_end or (out < out_end and indices[out] <= tails[into]):
                other = indices[out]
            else:
                other = tails[into]
            if out < out_end and indices[out] == other:
                out += 1
            if into < into_end and tails[into] == other:
                into += 1
            if other != v:
                if place < others.size:
                    others[place] = other
                place += 1
        first[v + 1] = place


def neighbours(graph: Graph) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the graph as undirected, without loops: in CSR, with every edge in both directions.

    Closed arcs count, for they may open. O(n + m) time.
    """
    tails_indptr, tails, _ = order_of_heads(graph)
    arcs = graph.indptr, graph.indices, tails_indptr, tails
    first, others = np.empty(graph.n + 1, OFFSET), np.empty(0, INDEX)
    _neighbours_kernel(*arcs, first, others)
    others = np.empty(first[-1], INDEX)
    _neighbours_kernel(*arcs, first, others)
    return first, others


# ---- elimination tree and ranks


@njit
def _eliminate_kernel(indptr, indices, order, rank, most, parent, counts):
    """For each position in the order, find the tree parent and count the upward chordal arcs.

    Joined to position r are its lower neighbours in the graph, and all that lie between these and
    r in the tree: each gets one arc more, to r. On entry `parent` is -1, and `counts` is 0. Returns
    early once there are more than `most` arcs.
    """
    seen = np.empty(order.size, np.int32)
    arcs = 0
    for r in range(order.size):
        v = order[r]
        seen[r] = r
        for arc in range(indptr[v], indptr[v + 1]):
            below = rank[indices[arc]]
            while below < r and seen[below] != r:
                seen[below] = r
                counts[below] += 1
                arcs += 1
                if parent[below] < 0:
                    parent[below] = r
                below = parent[below]
        if arcs > most:
            return


@njit
def _postorder_kernel(parent, size, heaviest, number):
    """Number the vertices in postorder, with the child of the largest subtree last.

    Arguments: parent, of every place, above it; the others are written here: size of the
    subtree, heaviest child (the last of equals), new number.
    """
    n = parent.size
    size[:] = 1
    heaviest[:] = -1
    for v in range(n):
        up = parent[v]
        if up >= 0:
            size[up] += size[v]
            if heaviest[up] < 0 or size[v] >= size[heaviest[up]]:
                heaviest[up] = v
    # The number of a parent is known when its children come. Its heaviest child gets the range of
    # numbers right before it, the others get theirs from what is left below that range: `free` of
    # the parent is where this ends, one more than the greatest number left
    free = np.empty(n, np.int32)
    top = n
    for v in range(n - 1, -1, -1):
        up = parent[v]
        if up < 0:
            end = top
            top -= size[v]
        elif heaviest[up] == v:
            end = number[up]
        else:
            end = free[up]
            free[up] -= size[v]
        number[v] = end - 1
        free[v] = end - 1
        if heaviest[v] >= 0:
            free[v] -= size[heaviest[v]]


@njit
def _depth_kernel(parent, depth, chain):
    """Write each rank's depth in the elimination tree, and the top rank of its chain."""
    for v in range(parent.size - 1, -1, -1):
        above = parent[v]
        depth[v] = 0 if above < 0 else depth[above] + 1
        chain[v] = chain[above] if above == v + 1 else v


# ---- chordal arcs


@njit
def sort_runs(values):
    """Sort an array in place by Shell sort (1959), fast for short or partly sorted arrays."""
    gap = np.int64(1)
    while 9 * gap < values.size:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, values.size):
            value = values[i]
            j = i - gap
            while j >= 0 and values[j] > value:
                values[j + gap] = values[j]
                j -= gap
            values[j + gap] = value
        gap //= 3


@njit
def _chordal_kernel(low, high, indptr, indices, order, rank, size, first, upper, seen):
    """Write the upward chordal arcs of ranks low..high-1, from graph arcs and children's arcs.

    Arguments
    ---------
    indptr, indices : the graph
    order, rank, size, first : of the structure
    upper : written
    seen : shape (n,), int32, of one worker: no entry is a rank from here
    """
    for v in range(low, high):
        place, vertex = first[v], order[v]
        for arc in range(indptr[vertex], indptr[vertex + 1]):
            head = rank[indices[arc]]
            if head > v:
                seen[head] = v
                upper[place] = head
                place += 1
        below = v - 1
        while below > v - size[v]:  # the children, which are done: what they lead to above v
            for e in range(first[below] + 1, first[below + 1]):
                head = upper[e]
                if seen[head] != v:
                    seen[head] = v
                    upper[place] = head
                    place += 1
            below -= size[below]
        sort_runs(upper[first[v] : place])


@njit
def _lower_kernel(first, upper, place, lower, rest):
    """Fill `lower` with the indices of all chordal arcs, sorted by upper end, then by lower end."""
    for v in range(first.size - 1):
        for e in range(first[v], first[v + 1]):
            head = upper[e]
            lower[place[head]] = e
            rest[place[head]] = first[v + 1] - e - 1
            place[head] += 1


@njit
def _slots_kernel(indptr, indices, rank, first, upper, slots):
    """Write the position of every arc of the graph among the directed chordal arcs."""
    for tail in range(indptr.size - 1):
        for arc in range(indptr[tail], indptr[tail + 1]):
            below, above, down = rank[tail], rank[indices[arc]], 0
            if below == above:
                slots[arc] = NO_SLOT
                continue
            if below > above:
                below, above, down = above, below, 1
            slots[arc] = 2 * arc_position(first, upper, below, above) + down


# ---- all of it


def make_structure(
    around: tuple[NDArray[np.int64], NDArray[np.int32]],
    order: NDArray[np.int32],
    threads: int,
    accept: Callable[[int, int], object] = lambda arcs, triangles: None,
) -> Structure:
    """Build the elimination tree and the chordal arcs of a graph for an elimination order.

    Parameters
    ----------
    around : tuple of two ndarrays
        The `neighbours` of the graph.
    order : ndarray, shape (n,), int32
        A permutation of the vertices, the first to be eliminated first.
    threads : int
    accept : callable
        Gets the numbers of chordal arcs and of triangles before anything of their size is there,
        and raises if that is too much.

    Notes
    -----
    O(n + m + chordal arcs) time but for sorting the longer lists.
    """
    n = order.size
    rank = np.empty(n, INDEX)
    rank[order] = np.arange(n, dtype=INDEX)
    parent_by_place, counts_by_place = np.full(n, -1, INDEX), np.zeros(n, OFFSET)
    _eliminate_kernel(*around, order, rank, MOST_ARCS, parent_by_place, counts_by_place)
    triangles = int((counts_by_place * (counts_by_place - 1) // 2).sum())
    accept(int(counts_by_place.sum()), triangles)

    size_by_place, scratch, number = np.empty((3, n), INDEX)
    _postorder_kernel(parent_by_place, size_by_place, scratch, number)
    before = np.empty(n, INDEX)
    before[number] = np.arange(n, dtype=INDEX)
    order, rank = order[before], number[rank]
    size, counts, parent = size_by_place[before], counts_by_place[before], parent_by_place[before]
    parent = np.where(parent < 0, parent, number[parent])
    depth, chain = np.empty((2, n), INDEX)
    _depth_kernel(parent, depth, chain)
    first = offsets(counts)
    upper = np.empty(first[-1], INDEX)
    tasks = make_tasks(parent, size, counts)

    def find(low: int, high: int, seen: NDArray[np.int32]) -> None:
        _chordal_kernel(low, high, *around, order, rank, size, first, upper, seen)

    tasks.run(find, threads, lambda: np.full(n, -1, INDEX))
    lower_first = offsets(np.bincount(upper, minlength=n)).astype(np.uint32)
    # (more after one arc, in a clique, would be more arcs than are accepted)
    lower, rest = np.empty(upper.size, np.uint32), np.empty(upper.size, np.uint16)
    _lower_kernel(first, upper, lower_first[:-1].copy(), lower, rest)
    return Structure(
        order, rank, parent, depth, chain, size, first, upper, lower_first, lower, rest,
        triangles, tasks, Derived(),
    ).frozen()  # fmt: skip


def slots_of(structure: Structure, graph: Graph) -> NDArray[np.uint32]:
    """Return the positions of a graph's arcs among the directed chordal arcs.

    ``2 e`` is the way up along chordal arc e, ``2 e + 1`` the way down; self-loops have `NO_SLOT`.
    """
    slots, arcs = np.empty(graph.m, np.uint32), (graph.indptr, graph.indices)
    _slots_kernel(*arcs, structure.rank, structure.first, structure.upper, slots)
    return freeze(slots)


class Ancestors(NamedTuple):
    """A set of ranks with all their ancestors in the elimination tree, and each rank's index in it.

    Attributes
    ----------
    places : ndarray, shape (n,), int32
        Of every rank, its place among these; -1: it is none of them.
    ranks : ndarray, shape (s,), int32
        Ascending.
    """

    places: NDArray[np.int32]
    ranks: NDArray[np.int32]


@njit
def _mark_ancestors_kernel(ranks, parent, places):
    """Set `places`, an array filled with -1, to 0 at given ranks and at all their ancestors."""
    for rank in ranks:
        above = rank
        while above >= 0 and places[above] < 0:
            places[above] = 0
            above = parent[above]


def find_ancestors(parent: NDArray[np.int32], ranks: NDArray[np.int32]) -> Ancestors:
    """Return given ranks and all their ancestors, as `Ancestors`; O(n) time."""
    places = np.full(parent.size, -1, INDEX)
    _mark_ancestors_kernel(ranks, parent, places)
    chosen = np.flatnonzero(places == 0).astype(INDEX)
    places[chosen] = np.arange(chosen.size, dtype=INDEX)
    # (read-only like the arrays of the selection of all, so that kernels take both as one type)
    return Ancestors(freeze(places), freeze(chosen))
