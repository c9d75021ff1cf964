"""First step of an elimination order: eliminate vertices of low degree, adding few arcs.

Trees are peeled from their leaves; then vertices of degree 2, then 3, go in rounds of vertices that
are no neighbours. `sssp.order.nested_dissection` says what for.
"""

import numpy as np

from sssp.kernels.jit import njit, njit_uncounted

# Kernels of this folder use unsigned numbers of vertices and arcs: Numba tests every signed index
# for one that counts from the end, and a breadth-first search without that takes half the time.
# Unsigned and signed numbers of 64 bits must not meet, though: their sum is a float.
VERTEX, ARC = np.uint32, np.uint64
ONE = ARC(1)
#: no vertex, no record
NONE = np.uint32(2**32 - 1)
#: a kernel reads ``stop`` once for so many vertices, and one more
POLL = 4095
#: vertices of at most this degree are eliminated before the dissection
LOW = 3
#: rounds, and heights of trees: what is longer must not be peeled from its ends, a vertex a round,
#: but halved, as rounds of a higher degree or separators do
ROUNDS = 32
#: neighbours of a vertex of greater degree stay: to eliminate them all would be quadratic
HUB = 64
#: columns of the table of vertices: first record of an arc, degree, and the last round in which a
#: neighbour was eliminated, or in whose list it stands
START, DEGREE, TOUCHED, LISTED, VERTEX_COLUMNS = 0, 1, 2, 3, 4
#: a degree, of vertices that are eliminated
GONE = 1 << 30
#: a round, in the list of which a vertex stands that must stay
ALWAYS = 1 << 30


@njit
def peel_kernel(indptr, indices, vertices, heights, eliminated, stop):
    """Repeatedly eliminate vertices of degree 0 or 1; return the number of eliminated vertices.

    - ``vertices`` uint32, shape (n, VERTEX_COLUMNS): degrees are written, the rest becomes 0.
    - ``heights`` uint32, shape (n,): 0 on entry; of the tallest tree that was peeled from a vertex.
    - ``eliminated`` uint32, shape (n,): the order, written from the front.
    """
    n = indptr.size - 1
    count = 0
    for v in range(n):
        degree = np.int64(indptr[v + 1] - indptr[v])
        vertices[v, DEGREE] = degree
        vertices[v, TOUCHED] = 0
        vertices[v, LISTED] = 0
        if degree <= 1:
            eliminated[count] = v
            count += 1
    done = 0
    while done < count:
        if done & POLL == 0 and stop[0]:
            break
        leaf = eliminated[done]
        done += 1
        lonely = vertices[leaf, DEGREE] == 0
        vertices[leaf, DEGREE] = GONE
        if lonely:
            continue
        arc = indptr[leaf]
        while vertices[indices[arc], DEGREE] == GONE:
            arc += ONE
        parent = indices[arc]
        heights[parent] = max(heights[parent], heights[leaf] + 1)
        vertices[parent, DEGREE] -= 1
        if vertices[parent, DEGREE] == 1 and heights[parent] < ROUNDS:
            eliminated[count] = parent
            count += 1
    return count


@njit
def list_arcs_kernel(first, last, indptr, indices, vertices, heads, following, stop):
    """List the arcs between vertices not yet eliminated, as a linked list for each tail.

    A vertex with a neighbour outside is kept: that neighbour may belong to another task.

    - ``vertices``: `START` and `LISTED` are written.
    - ``heads``, ``following`` uint32, shape (m,): of a record, the head, and the next record of its
      vertex or `NONE`; written.
    """
    for v in range(first, last):
        if v & POLL == 0 and stop[0]:
            return
        vertices[v, START] = NONE
        vertices[v, LISTED] = 0
        if vertices[v, DEGREE] == GONE:
            continue
        record = NONE
        for arc in range(indptr[v], indptr[v + 1]):
            head = indices[arc]
            # (those of other tasks' that go meanwhile have no arc to here)
            if vertices[head, DEGREE] == GONE:
                continue
            if head < first or head >= last:
                vertices[v, LISTED] = ALWAYS
            heads[arc] = head
            following[arc] = NONE
            if record == NONE:
                vertices[v, START] = arc
            else:
                following[record] = arc
            record = arc


@njit_uncounted
def _replace_kernel(vertex, gone, x, y, spare, vertices, heads, following):
    """Replace a vertex's neighbour `gone` by x and y; omit those that are neighbours already.

    x or y may be `NONE`. The record ``spare`` is taken if one more is needed.
    """
    mine = before = last = NONE
    record = vertices[vertex, START]
    while record != NONE:
        head = heads[record]
        if head == gone:
            mine, before = record, last
        elif head == x:
            x = NONE
        elif head == y:
            y = NONE
        last = record
        record = following[record]
    if x == NONE:
        x, y = y, x
    if x == NONE:
        vertices[vertex, DEGREE] -= 1
        if before == NONE:
            vertices[vertex, START] = following[mine]
        else:
            following[before] = following[mine]
        return
    heads[mine] = x
    if y != NONE:
        vertices[vertex, DEGREE] += 1
        heads[spare] = y
        following[spare] = following[mine]
        following[mine] = spare


@njit_uncounted
def _neighbours_kernel(v, vertices, heads, following):
    """Return up to three neighbours of a vertex, or three times `NONE` if one has high degree."""
    a = b = c = NONE
    record = vertices[v, START]
    while record != NONE:
        if vertices[heads[record], DEGREE] > HUB:
            return NONE, NONE, NONE
        a, b, c = b, c, heads[record]
        record = following[record]
    return a, b, c


@njit
def rounds_kernel(first, last, vertices, heads, following, listed, eliminated, stop):
    """Eliminate vertices of low degree in the range `first` to `last`; return their number.

    That takes no memory: the records of an eliminated vertex are enough for the arcs that join its
    neighbours. A round passes over the neighbours of what it has eliminated, so that chains end up
    at logarithmic depth.

    - ``listed`` uint32, shape (2, n): vertices for this round and the next, from position `first`.
    - ``eliminated`` uint32, shape (n,): the order, written from position `first`.
    """
    done, turn, now = first, 0, 0
    for limit in range(2, LOW + 1):
        size = 0
        for v in range(first, last):
            if vertices[v, DEGREE] <= limit and vertices[v, LISTED] != ALWAYS:
                listed[now, first + size] = v
                size += 1
        for _ in range(ROUNDS):
            turn += 1
            later = 0
            for i in range(size):
                if i & POLL == 0 and stop[0]:
                    return done - first
                v = listed[now, first + i]
                if vertices[v, DEGREE] > limit:
                    continue
                if vertices[v, TOUCHED] == turn:
                    if vertices[v, LISTED] < turn:
                        vertices[v, LISTED] = turn
                        listed[1 - now, first + later] = v
                        later += 1
                    continue
                a, b, c = _neighbours_kernel(v, vertices, heads, following)
                if c == NONE and vertices[v, START] != NONE:
                    continue
                record = vertices[v, START]
                while record != NONE:
                    after = following[record]
                    head = heads[record]
                    x = b if head == c else c
                    y = b if head == a else a
                    _replace_kernel(head, v, x, y, record, vertices, heads, following)
                    vertices[head, TOUCHED] = turn
                    if vertices[head, DEGREE] <= limit and vertices[head, LISTED] < turn:
                        vertices[head, LISTED] = turn
                        listed[1 - now, first + later] = head
                        later += 1
                    record = after
                vertices[v, DEGREE] = GONE
                eliminated[done] = v
                done += 1
            now, size = 1 - now, later
    return done - first


@njit
def core_kernel(vertices, heads, following, core, starts, core_heads, stop):
    """Build the core (the graph left after eliminations), with vertices numbered breadth-first.

    So vertices that lie together stand together, whatever the graph's numbering.

    - ``vertices``: `TOUCHED` becomes a vertex' number in the core.
    - ``core`` uint32, shape (n of the core + 1,): its vertices.
    - ``starts`` uint64, ``core_heads`` uint32: its CSR arrays.
    """
    for v in range(vertices.shape[0]):
        vertices[v, TOUCHED] = NONE
    size = done = 0
    arcs = 0
    for seed in range(vertices.shape[0]):
        if vertices[seed, DEGREE] == GONE or vertices[seed, TOUCHED] != NONE:
            continue
        vertices[seed, TOUCHED] = size
        core[size] = seed
        size += 1
        while done < size:
            if done & POLL == 0 and stop[0]:
                return arcs
            starts[done] = arcs
            record = vertices[core[done], START]
            done += 1
            while record != NONE:
                head = heads[record]
                if vertices[head, TOUCHED] == NONE:
                    vertices[head, TOUCHED] = size
                    core[size] = head
                    size += 1
                core_heads[arcs] = vertices[head, TOUCHED]
                arcs += 1
                record = following[record]
    starts[size] = arcs
    return arcs
