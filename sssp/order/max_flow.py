"""Small separators by maximum flow: the second step of computing an elimination order.

`sssp.order.nested_dissection` tells the algorithm and its sources.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sssp.kernels.jit import njit, njit_uncounted
from sssp.order.low_degree import NONE, POLL, VERTEX

#: sides of a separator, and the separator
NEAR, FAR, BETWEEN = 0, 1, 2
DIRECTIONS = 4
#: columns of the flow table, a row for every vertex of the band: the vertices before and after it
#: on its path of flow (a terminal at the end of its path: itself); the last round in which a search
#: came out of the vertex, or into it; where a search goes on among its arcs; first arc, end of
#: arcs; whether it is a terminal
BEFORE, AFTER, OUT, IN, NEXT, BEGIN, END, KIND, FLOW_COLUMNS = 0, 1, 2, 3, 4, 5, 6, 7, 8
#: kinds of vertices; they stand where numbers in the band, which are less, take their place
SINK, MIDDLE, SOURCE = np.uint32(2**32 - 3), np.uint32(2**32 - 2), np.uint32(2**32 - 1)
#: rounding of scores: a flow is given up only where its cut is worse beyond doubt, for a tie must
#: go to the first direction, whichever is done first
CLEARLY = 1 + 1e-9


class FlowScratch(NamedTuple):
    """Work arrays (uint32) for maximum flows in a subgraph of up to n vertices and m arcs.

    Attributes
    ----------
    place : ndarray, shape (n,)
        Number in the band, else the kind of the vertex.
    queue : ndarray, shape (n + 1,)
        Of a search: vertices in the order in which it comes to them.
    flow : ndarray, shape (n, FLOW_COLUMNS)
    arcs : ndarray, shape (m,)
        Of the band: heads, ascending.
    stack : ndarray, shape (2 n + 2,)
    """

    place: NDArray[np.uint32]
    queue: NDArray[np.uint32]
    flow: NDArray[np.uint32]
    arcs: NDArray[np.uint32]
    stack: NDArray[np.uint32]


def new_scratch(n: int, m: int) -> FlowScratch:
    """Return work arrays for maximum flows in a subgraph of up to n vertices and m arcs."""
    shapes = (n, n + 1, (n, FLOW_COLUMNS), m, 2 * n + 2)
    return FlowScratch(*(np.empty(shape, VERTEX) for shape in shapes))


# -------------------------------------------------------------------------- directions


@njit
def _hops_kernel(starts, heads, source, hops, queue, stop):
    """Write hop distances from a source, breadth-first; return the number of reached vertices.

    - ``hops`` uint32, shape (n,): arcs from the source, `NONE` for vertices it does not come to.
    - ``queue`` uint32, shape (n + 1,): vertices by distance.
    """
    hops[: starts.size - 1] = NONE
    hops[source] = 0
    queue[0] = source
    done, size = 0, 1
    while done < size:
        if done & POLL == 0 and stop[0]:
            break
        tail = queue[done]
        done += 1
        far = np.uint32(hops[tail] + 1)
        for arc in range(starts[tail], starts[tail + 1]):
            head = heads[arc]
            before = hops[head]
            # (without an unpredictable branch: a vertex that is not new gets overwritten)
            queue[size] = head
            size += before == NONE
            hops[head] = min(before, far)
    return size


@njit
def landmarks_kernel(starts, heads, hops, queue, stop):
    """Find hop distances from four distant vertices of a subgraph; return False if disconnected.

    b is farthest from a, x from both, and y from x and from them.

    - ``hops`` uint32, shape (4, n): of a, b, x, y; written.
    """
    n = starts.size - 1
    source = np.int64(0)
    for search in range(5):
        row = max(search - 1, 0)
        if _hops_kernel(starts, heads, source, hops[row], queue, stop) < n:
            return False
        source = np.int64(queue[n - 1])
        if row == 0 or row == 3:
            continue
        farthest = 0
        for v in range(n):
            far = np.int64(min(hops[0, v], hops[1, v]))
            if row == 2:
                far += np.int64(hops[2, v])
            if far > farthest:
                source, farthest = v, far
    return True


@njit
def components_kernel(starts, heads, part, queue, stop):
    """Split a disconnected subgraph in two: add each component to the part with fewer vertices."""
    n = starts.size - 1
    part[:n] = BETWEEN
    lead = 0  # of the near side over the far side, in vertices
    for seed in range(n):
        if part[seed] != BETWEEN:
            continue
        side = NEAR if lead <= 0 else FAR
        part[seed] = side
        queue[0] = seed
        done, size = 0, 1
        while done < size:
            if done & POLL == 0 and stop[0]:
                return
            tail = queue[done]
            done += 1
            for arc in range(starts[tail], starts[tail + 1]):
                head = heads[arc]
                if part[head] == BETWEEN:
                    part[head] = side
                    queue[size] = head
                    size += 1
        lead += size if side == NEAR else -size


@njit
def _terminals_kernel(n, hops, direction, count, place, keys):
    """Mark the first and last vertices of a subgraph in one direction as flow sources and sinks.

    Equal ones go by number. The key of v, with a(v) for its hops from a, and so on:

    ========= ======================================= =============
    direction key                                     runs
    ========= ======================================= =============
    0         2 n + (a(v) - b(v))                     from a to b
    1         2 n + (x(v) - y(v))                     from x to y
    2         2 n + (a(v) - b(v)) + (x(v) - y(v))     their sum
    3         2 n + (a(v) - b(v)) - (x(v) - y(v))     difference
    ========= ======================================= =============

    Differences of hops are between -n and n, so with 2 n no key is negative. Sources have the least
    keys, sinks the greatest.

    - ``count``: of sources, and of sinks; less than half of the piece.
    - ``place`` uint32, shape (n,): kinds; written.
    - ``keys`` uint32, shape (n or more,): where a vertex lies along the direction; written.
    """
    along_ab = 0 if direction == 1 else 1
    along_xy = 0 if direction == 0 else (-1 if direction == 3 else 1)
    least, greatest = 4 * n, 0
    for v in range(n):
        key = 2 * n
        key += along_ab * (np.int64(hops[0, v]) - np.int64(hops[1, v]))
        key += along_xy * (np.int64(hops[2, v]) - np.int64(hops[3, v]))
        keys[v] = key
        least = min(least, key)
        greatest = max(greatest, key)
    # a counting sort: where the vertices of every key begin, then the next one's position
    positions = np.zeros(greatest - least + 2, VERTEX)
    for v in range(n):
        positions[keys[v] - least + 1] += 1
    for key in range(1, positions.size):
        positions[key] += positions[key - 1]
    for v in range(n):
        position = np.int64(positions[keys[v] - least])
        positions[keys[v] - least] += 1
        place[v] = SOURCE if position < count else SINK if position >= n - count else MIDDLE


# -------------------------------------------------------------------------------- flow


@njit
def _band_kernel(starts, heads, place, queue, flow, arcs, stop):
    """Number the vertices between the sinks and the sources (the band), breadth-first from sinks.

    Arcs within a border are left out. Return how many vertices the band has, and how many of them
    are sinks, which come first.

    - ``place``: numbers are written over kinds; beyond the borders kinds stay.
    - ``queue``: the vertices of the band.
    - ``flow``: rows of the band, without flow; written.
    - ``arcs``: heads, ascending for each vertex; written.
    """
    n = starts.size - 1
    size = 0
    for v in range(n):
        if place[v] == SINK:
            for arc in range(starts[v], starts[v + 1]):
                if place[heads[arc]] > SINK:
                    place[v] = size
                    queue[size] = v
                    size += 1
                    break
    sinks = size
    done, room = 0, np.uint64(0)
    while done < size:
        if done & POLL == 0 and stop[0]:
            break
        v = queue[done]
        kind = flow[done, KIND] if done >= sinks else SINK
        flow[done, BEFORE] = NONE
        flow[done, AFTER] = NONE
        flow[done, OUT] = 0
        flow[done, IN] = 0
        flow[done, BEGIN] = room
        flow[done, END] = room
        flow[done, KIND] = kind
        room += starts[v + 1] - starts[v]
        done += 1
        if kind == SOURCE:
            continue
        for arc in range(starts[v], starts[v + 1]):
            head = heads[arc]
            kind = place[head]
            if kind > SINK:
                flow[size, KIND] = kind
                place[head] = size
                queue[size] = head
                size += 1
    for i in range(size):
        if i & POLL == 0 and stop[0]:
            break
        v = queue[i]
        kind = flow[i, KIND]
        for arc in range(starts[v], starts[v + 1]):
            j = place[heads[arc]]
            if j < SINK and (kind == MIDDLE or flow[j, KIND] != kind):
                arcs[flow[j, END]] = i
                flow[j, END] += 1
    return size, sinks


@njit_uncounted
def _path_kernel(source, turn, flow, arcs, stack):
    """Find an augmenting path by depth-first search; return its length, or 0 if there is none.

    One unit of flow may pass a vertex. As usual that is a capacity of an arc: the vertex is split
    in two, *in* (2 v) and *out* (2 v + 1), with an arc of capacity 1 between (vertex splitting).
    Here p and q are the vertices before and after v on its path of flow, u and w any neighbours:

        v without flow        search:  u --> v out --> w       (in and out are one state)

        v with flow           flow:    p out --> v in --> v out --> q in
                              search:  p out <-- v in <-- v out <-- q in    takes flow back
                                       u --> v in             v out --> w

    A vertex with flow has two states, 2 v where a search comes in and must follow the flow back,
    and 2 v + 1 where it may go on to any neighbour; a vertex without flow only the latter. A state
    is visited once a round.

    - ``stack``: the states of the path, from the source to a sink; written.
    """
    stack[0] = 2 * source + 1
    size = 1
    flow[source, OUT] = turn
    flow[source, NEXT] = flow[source, BEGIN]
    while size > 0:
        v = stack[size - 1] >> 1
        onward = NONE
        if stack[size - 1] & 1:
            arc, end = flow[v, NEXT], flow[v, END]
            while arc < end and onward == NONE:
                u = arcs[arc]
                arc += 1
                if flow[u, KIND] == SOURCE:
                    continue
                if flow[u, BEFORE] == NONE:
                    if flow[u, OUT] != turn:
                        onward = 2 * u + 1
                elif flow[u, IN] != turn:
                    onward = 2 * u
            flow[v, NEXT] = arc
            if onward == NONE and (
                flow[v, BEFORE] != NONE and flow[v, KIND] != SOURCE and flow[v, IN] != turn
            ):
                onward = 2 * v
        elif flow[flow[v, BEFORE], OUT] != turn:
            onward = 2 * flow[v, BEFORE] + 1
        if onward == NONE:
            size -= 1
            continue
        stack[size] = onward
        size += 1
        u = onward >> 1
        if onward & 1:
            flow[u, OUT] = turn
            flow[u, NEXT] = flow[u, BEGIN]
            if flow[u, KIND] == SINK and flow[u, BEFORE] == NONE:
                return size
        else:
            flow[u, IN] = turn
    return 0


@njit_uncounted
def _augment_kernel(size, flow, stack):
    """Send one unit along a path: add flow on forward steps, cancel flow on backward steps.

    States are those of `_path_kernel`. Only a step from *out* (odd) writes: to another vertex the
    flow goes on there; to the same vertex's *in* the vertex has no flow any more. A step from *in*
    needs nothing: it leads to the *out* of the vertex before, whose next step replaces its flow.
    After the last vertex, a sink, comes itself.
    """
    source = stack[0] >> 1
    flow[source, BEFORE] = source
    for i in range(size):
        if stack[i] & 1 == 0:
            continue
        v = stack[i] >> 1
        u = stack[i + 1] >> 1 if i + 1 < size else v
        if u == v and i + 1 < size:
            # in again by its own flow, which has come to an end
            flow[v, BEFORE] = NONE
            flow[v, AFTER] = NONE
        else:
            flow[v, AFTER] = u
            if u != v:
                flow[u, BEFORE] = v


@njit
def _flow_kernel(n, size, flow, arcs, stack, best, stop):
    """Compute a maximum flow; return its value (`NONE`: stopped) and the number of the last round.

    That round has found no path, and marks all that the sources still reach. The value is `NONE`
    if the score of the cut would be worse than ``best[0]``.
    """
    value = turn = 0
    more = True
    while more:
        turn += 1
        more = False
        for source in range(size):
            if (
                flow[source, KIND] != SOURCE
                or flow[source, BEFORE] != NONE
                or flow[source, OUT] == turn
            ):
                continue
            if stop[0]:
                return NONE, turn
            length = _path_kernel(source, turn, flow, arcs, stack)
            if length > 0:
                _augment_kernel(length, flow, stack)
                value += 1
                more = True
                if 2 * value > best[0] * CLEARLY * (n - value):
                    return NONE, turn
    return value, turn


# -------------------------------------------------------------------------------- cuts


@njit
def _from_sinks_kernel(size, turn, flow, arcs, stack):
    """Write the mark `turn` to each residual-graph node from which a sink can be reached."""
    first = count = 0
    for v in range(size):
        if flow[v, KIND] != SINK:
            break
        if flow[v, BEFORE] == NONE:
            flow[v, OUT] = turn
            stack[count] = 2 * v + 1
            count += 1
    while first < count:
        v = stack[first] >> 1
        if stack[first] & 1 and flow[v, BEFORE] != NONE:
            u = flow[v, AFTER]
            if u != v and flow[u, IN] != turn:
                flow[u, IN] = turn
                stack[count] = 2 * u
                count += 1
        elif flow[v, KIND] != SOURCE:
            for arc in range(flow[v, BEGIN], flow[v, END]):
                u = arcs[arc]
                if flow[u, OUT] != turn and flow[u, KIND] != SINK:
                    flow[u, OUT] = turn
                    stack[count] = 2 * u + 1
                    count += 1
            if stack[first] & 1 == 0 and flow[v, OUT] != turn and flow[v, KIND] != SINK:
                flow[v, OUT] = turn
                stack[count] = 2 * v + 1
                count += 1
        first += 1


@njit_uncounted
def _side_by_sources(flow, row, turn):
    """Return a vertex's side (near, far, separator) of the minimum cut nearest to the sources."""
    if flow[row, OUT] == turn:
        return NEAR
    return BETWEEN if flow[row, IN] == turn or flow[row, KIND] == SOURCE else FAR


@njit_uncounted
def _side_by_sinks(flow, row, turn):
    """Return a vertex's side (near, far, separator) of the minimum cut nearest to the sinks."""
    out = flow[row, OUT] == turn
    if flow[row, IN] == turn or (out and flow[row, BEFORE] == NONE):
        return FAR
    return BETWEEN if out or flow[row, KIND] == SINK else NEAR


@njit
def cut_kernel(starts, heads, hops, direction, share, best, scratch, part, stop):
    """Find two minimum vertex cuts, write the more balanced one, and return its score.

    That is its vertices for every vertex of the smaller side; less is better. If there is none as
    good as ``best[0]``, infinity; ``best[0]`` falls to it.

    - ``hops``: of `landmarks_kernel`.
    - ``share``: part of the piece that is terminal, at either end.
    - ``best`` float64, shape (1,): of this piece, shared by all its directions.
    - ``scratch``: a `FlowScratch`.
    - ``part`` uint8, shape (n or more,): `NEAR`, `FAR` or `BETWEEN`; written.
    """
    n = starts.size - 1
    place, queue, flow, arcs, stack = scratch
    count = min(max(1, int(share * n)), (n - 1) // 2)
    _terminals_kernel(n, hops, direction, count, place, queue)
    size, sinks = _band_kernel(starts, heads, place, queue, flow, arcs, stop)
    value, turn = _flow_kernel(n, size, flow, arcs, stack, best, stop)
    if value == NONE:
        return np.inf
    far = 0
    for v in range(n):
        row = place[v]
        # (outside the band sinks are far, all others near)
        beyond = FAR if row == SINK else NEAR
        part[v] = _side_by_sources(flow, row, turn) if row < SINK else beyond
        far += part[v] == FAR
    least = min(far, n - value - far)
    turn += 1
    _from_sinks_kernel(size, turn, flow, arcs, stack)
    far = count - sinks
    for row in range(size):
        far += _side_by_sinks(flow, row, turn) == FAR
    if min(far, n - value - far) > least:
        least = min(far, n - value - far)
        for v in range(n):
            row = place[v]
            beyond = FAR if row == SINK else NEAR
            part[v] = _side_by_sinks(flow, row, turn) if row < SINK else beyond
    score = value / max(least, 0.5)
    if score < best[0]:
        best[0] = score
    return score
