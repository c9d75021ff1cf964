"""Transitive closure of a graph as a bit matrix: by one sweep (Warshall) or by squaring.

S. Warshall, "A theorem on boolean matrices" (1962), in blocks of one word; by squaring: Xiao et
al., "Parallel transitive closure algorithm for heterogeneous architecture" (2021). Both take a
word of vertices at a time: a row that reaches some of them takes over what those reach. Which
rows those are is looked up, eight vertices at a time, in tables of all 256 unions of eight rows
(V. L. Arlazarov, E. A. Dinic, M. A. Kronrod, I. A. Faradzev, "On economical construction of the
transitive closure of a directed graph", 1970): n^3 / 512 steps on words that vector units take
eight at a time.

The sweep first finds out, in one word per row, what the 64 vertices reach through one another;
each row is then completed by that in its own word before it is looked up, so that tables of the
rows as they were suffice.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sssp.cpu.intrinsics import wait_for_all
from sssp.cpu.team import run_team, step_of, team_size
from sssp.engine.check_memory import check_memory
from sssp.engine.matrix_request import WORD, ClosureRequest
from sssp.engine.progress import progress_bar
from sssp.kernels.jit import njit
from sssp.methods import ClosureBySquaring, ClosureByWarshall

#: vertices of a table, its entries, and tables of a word
EIGHT, UNIONS, TABLES = 8, 256, 8
LOW = np.uint64(UNIONS - 1)
ONE = np.uint64(1)

Words = NDArray[np.uint64]


@njit
def _look_up(word, table):
    """Return the index in `tables` of the union of matrix rows that a byte of `word` selects."""
    return table * UNIONS + np.int64((word >> np.uint64(table * EIGHT)) & LOW)


@njit
def _close_words(words):
    """Compute the transitive closure of a bit matrix, at most 64 x 64, in place (Warshall)."""
    for k in range(words.size):
        for i in range(words.size):
            if (words[i] >> np.uint64(k)) & ONE:
                words[i] |= words[k]


@njit
def _fill_table(rows, table, tables):
    """Write the unions of all 256 subsets of eight matrix rows to a table."""
    base = table * UNIONS
    tables[base] = 0
    for union in range(1, UNIONS):
        vertex = 0
        while not (union >> vertex) & 1:
            vertex += 1
        k = table * EIGHT + vertex
        if k >= rows.shape[0]:
            return  # no row has a bit beyond the last vertex
        smaller, own, entry = tables[base + (union & (union - 1))], rows[k], tables[base + union]
        for j in range(entry.size):
            entry[j] = smaller[j] | own[j]


@njit
def _unite(row, word, tables):
    """Add to `row` all vertices that the pivots in `word` reach; return whether `row` changed."""
    t0, t1 = tables[_look_up(word, 0)], tables[_look_up(word, 1)]
    t2, t3 = tables[_look_up(word, 2)], tables[_look_up(word, 3)]
    t4, t5 = tables[_look_up(word, 4)], tables[_look_up(word, 5)]
    t6, t7 = tables[_look_up(word, 6)], tables[_look_up(word, 7)]
    news = np.uint64(0)
    for j in range(row.size):
        before = row[j]
        found = before | t0[j] | t1[j] | t2[j] | t3[j] | t4[j] | t5[j] | t6[j] | t7[j]
        news |= found ^ before
        row[j] = found
    return news != 0


@njit
def _closure_kernel(source, target, first_word, last_word, sweep, tables, barrier, thread, threads):
    """Add the vertices that pivots reach to this thread's rows; return whether a row changed.

    In a sweep `source` is `target`; else this is a part of ``target |= target source``.
    ``tables`` uint64, shape (`TABLES` * `UNIONS`, words), is shared.
    """
    n = source.shape[0]
    begin, end = thread * n // threads, (thread + 1) * n // threads
    inner = np.zeros((TABLES * UNIONS, 1), np.uint64)
    changed = False
    for word in range(first_word, last_word):
        pivots = source[word * WORD : min(n, (word + 1) * WORD)]
        for table in range(thread, TABLES, threads):
            _fill_table(pivots, table, tables)
        if sweep:
            closed = pivots[:, word].copy()
            _close_words(closed)
            for table in range(TABLES):
                _fill_table(closed.reshape(closed.size, 1), table, inner)
        wait_for_all(barrier, threads)
        for i in range(begin, end):
            own = source[i, word]
            if own == 0:
                continue
            if sweep:
                through = own
                for table in range(TABLES):
                    through |= inner[_look_up(own, table), 0]
                own = through
            if _unite(target[i], own, tables):
                changed = True
        wait_for_all(barrier, threads)
    return changed


def close(request: ClosureRequest, method: ClosureByWarshall | ClosureBySquaring) -> Words:
    """Compute the transitive closure of a request as a matrix of bits, 64 vertices to a word.

    Parameters
    ----------
    request : ClosureRequest
    method : ClosureByWarshall or ClosureBySquaring

    Returns
    -------
    ndarray, shape (n, ceil(n / 64)), uint64
        Column j is bit ``j % 64`` of word ``j // 64``; bits beyond n are 0.

    Raises
    ------
    DeviceError
        It needs more memory than the call may take.
    """
    n, words = request.n, request.words
    squaring = isinstance(method, ClosureBySquaring)
    needed = (n * (2 if squaring else 1) + TABLES * UNIONS) * words * 8
    parts = {f"the closure of {n:,} vertices": needed}
    check_memory(parts, request.memory_limit, request.device, request.advice)
    reach, tables = np.empty((n, words), np.uint64), np.zeros((TABLES * UNIONS, words), np.uint64)
    request.fill(reach, range(n))
    step = step_of(n * words * TABLES)
    threads = team_size(request.threads, n * words * words * TABLES)

    def prepare(threads: int) -> Callable[[int], bool]:
        part = reach, target, first, last, not squaring, tables, np.zeros(2, np.int64)
        return lambda thread: _closure_kernel(*part, thread, threads)

    rounds = request.squarings if squaring else 1
    with progress_bar(rounds * words, request.progress, "word") as advance:
        for _ in range(rounds):
            target, changed = reach.copy() if squaring else reach, False
            for first in range(0, words, step):
                last = min(first + step, words)
                changed |= any(run_team(threads, prepare))
                advance(last - first)
            reach = target
            if isinstance(method, ClosureBySquaring) and method.early_stop and not changed:
                break
    return reach
