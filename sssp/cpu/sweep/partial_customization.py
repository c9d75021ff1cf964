"""Partial customization: after some arcs change, recompute only the weights that depend on them.

The two passes of a customization, restricted (Dibbelt, Strasser and Wagner 2016, section 6.4 of the
basic one; both in `sssp.cpu.sweep.customization`):

- *basic*, upward: a rank is queued if an arc above it may have changed. If a triangle that
  supported the arc has become longer, or its street has, the arc is found anew from all of its
  triangles; else it takes the least of what came. What has changed is handed on to the arcs that
  the rank's arcs make triangles with.
- *perfect*, downward: a rank is queued if an arc above it has another basic weight, or if its
  arcs make a triangle with one whose perfect weight has changed. All its arcs are done anew, in the
  steps of the full pass, so that floats come out the same to the bit.

One closed street changes some dozens of weights among millions, and copying these would take far
longer than finding them. So a version of a map shares the arrays of the map that it comes from, its
*base*, and has a layer over them: the ranks whose arcs weigh something else, with all arcs above
them, packed like those of the base. Climbs and sweeps pass the ranks in order, and take the arcs of
those from the layer.

The weights that are found on the way, of all chordal arcs, are kept once for a base. A version is
made there: its layer is laid on, the arcs are changed, the difference is taken off as a new layer,
and all is as it was; in one compiled call, which no exception can interrupt.

When a layer has grown large, or much has to be found, customizing anew is faster, and `change_arcs`
returns None. How much depends on scattered arcs is counted above them before any is changed.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.cpu.sweep import customization
from sssp.cpu.sweep.customization import Layer, Metric
from sssp.cpu.sweep.sweeps import place_from
from sssp.cpu.vectors import add, load, minimum, store, swap
from sssp.engine import thresholds
from sssp.graph.csr import arc_position, offsets, seal
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import infinity, safe_length
from sssp.kernels.jit import njit
from sssp.order.structure import NO_SLOT, Structure

#: states of a rank: nothing, its weights are saved, it is queued too
UNTOUCHED, TOUCHED, WAITS = 0, 1, 2
#: entries of ``counts``: ranks written down, their weights, triangles looked at
NOTES, HELD, LOOKED = 0, 1, 2


# ---- a change
#
# Kernels hand on their arrays in tuples:
#   structure : order, first, upper, lower_first, lower, lower_rest
#   graph : indptr, indices, weights
#   both : basic and perfect weights, shape (2 c,) each
#   scratch : of `Whole.scratch`; clean between changes
#   waiting : a heap of the numbers of queued ranks
#   log : what was before the change: ranks, where their weights begin in what is held; that, basic
#         and perfect weights, shape (2, t); counts, int64


@njit
def _queue_rank(rank, number, structure, both, scratch, waiting, log):
    """Queue a rank after saving its old weights in the log; return False if the log is full."""
    first, (basic, perfect) = structure[1], both
    _, states, places, _ = scratch
    ranks, begins, held, counts = log
    if states[rank] == UNTOUCHED:
        start, end = 2 * first[rank], 2 * first[rank + 1]
        note, place = counts[NOTES], counts[HELD]
        if note == ranks.size or place + end - start > held.shape[1]:
            return False
        for i in range(end - start):
            held[0, place + i] = basic[start + i]
            held[1, place + i] = perfect[start + i]
        ranks[note], begins[note], places[rank] = rank, place, note
        counts[NOTES] = note + 1
        counts[HELD] = place + end - start
    if states[rank] != WAITS:
        states[rank] = WAITS
        heappush(waiting, np.int64(number))
    return True


@njit
def _swap(ranks, count, begins, held, first, both):
    """Exchange the arc weights of the first `count` of `ranks` for the weights saved in `held`."""
    basic, perfect = both
    for note in range(count):
        rank, place = np.int64(ranks[note]), begins[note]
        for i in range(2 * first[rank], 2 * first[rank + 1]):
            basic[i], held[0, place] = held[0, place], basic[i]
            perfect[i], held[1, place] = held[1, place], perfect[i]
            place += 1


@njit
def _renew(v, structure, graph, inf, basic, scratch, counts):
    """Recompute the basic weights of a vertex's marked upward arcs from all lower triangles."""
    order, first, upper, lower_first, lower, rest = structure
    above, marks = scratch[0], scratch[3]
    for arc in range(first[v], first[v + 1]):
        x = upper[arc]
        above[x] = arc
        if marks[arc]:
            for down in range(2):
                tail, head = (order[x], order[v]) if down else (order[v], order[x])
                own = arc_position(graph[0], graph[1], tail, head)
                weight = graph[2][own] if own >= 0 else inf
                basic[2 * arc + down] = weight if weight < inf else inf  # (closed arcs weigh more)
    for k in range(lower_first[v], lower_first[v + 1]):
        below = np.int64(lower[k])
        end = below + 1 + rest[k]
        back = swap(load(basic, 2 * below, 2))
        for other in range(below + 1, end):
            arc = np.int64(above[upper[other]])
            if marks[arc]:
                way = add(back, load(basic, 2 * other, 2))
                store(basic, 2 * arc, minimum(load(basic, 2 * arc, 2), way))
        counts[LOOKED] += end - below
    for arc in range(first[v], first[v + 1]):
        marks[arc] = 0


@njit
def _differs(arc, place, before, now):
    """Return whether the up or down weight of an arc differs from that saved in `before`."""
    return before[place] != now[2 * arc] or before[place + 1] != now[2 * arc + 1]


@njit
def _basic_pass(arcs, slots, structure, graph, inf, both, scratch, waiting, log, most):
    """Update the basic weights of a customization after some arc weights changed.

    Return False if there is no room, or the work limit is exceeded.

    Indices
    -------
    v, x : ranks; v is the lowest corner of a triangle, x the middle one
    one, other, arc : numbers of chordal arcs: from v to x, from v to the highest rank y, and from x
        to y; `start` to `end` are all arcs above v
    slot : of an arc and a direction: ``2 * arc`` is up, ``2 * arc + 1`` down
    note : where the old weights of the arcs above v begin in `before`
    place, far : where those of `one` and of `other` are there: up, and then down
    """
    first, upper = structure[1:3]
    _, states, places, marks = scratch
    _, begins, held, counts = log
    basic, before = both[0], held[0]
    for i in range(arcs.size):
        slot = slots[i]
        if slot == NO_SLOT:
            continue
        v = place_from(np.int64(slot >> 1) + 1, first) - 1
        if not _queue_rank(v, v, structure, both, scratch, waiting, log):
            return False
        weight = graph[2][arcs[i]]
        if weight <= basic[slot]:
            basic[slot] = weight
        else:
            marks[slot >> 1] = 1
    while waiting:
        v = heappop(waiting)
        states[v] = TOUCHED
        start, end, note = first[v], first[v + 1], begins[places[v]]
        for arc in range(start, end):
            if marks[arc]:
                _renew(v, structure, graph, inf, basic, scratch, counts)
                break
        for one in range(start, end):
            x, place = np.int64(upper[one]), note + 2 * (one - start)
            arc = first[x]
            one_differs = _differs(one, place, before, basic)
            for other in range(one + 1, end):
                far = note + 2 * (other - start)
                if not (one_differs or _differs(other, far, before, basic)):
                    continue
                while upper[arc] != upper[other]:
                    arc += 1
                counts[LOOKED] += 1
                for down in range(2):
                    # from x down to v and up again, or that way back
                    was = before[place + 1 - down] + before[far + down]
                    now = basic[2 * one + 1 - down] + basic[2 * other + down]
                    slot = 2 * arc + down
                    falls = now < basic[slot]
                    # Or the way over v has become longer and was as short as the arc still is: the
                    # arc may owe its weight to this way, and is found anew. If the arc is shorter
                    # than the way was, it owes its weight to another one
                    if not (falls or (now > was and was <= basic[slot])):
                        continue
                    if not _queue_rank(x, x, structure, both, scratch, waiting, log):
                        return False
                    if falls:
                        basic[slot] = now
                    else:
                        marks[arc] = 1
        if counts[LOOKED] > most:
            return False
    return True


@njit
def _make_perfect(v, structure, both, counts):
    """Compute the perfect weights of a vertex's upward arcs from their basic weights."""
    _, first, upper, _, _, _ = structure
    basic, perfect = both
    start, end = first[v], first[v + 1]
    for i in range(2 * start, 2 * end):
        perfect[i] = basic[i]
    for one in range(end - 1, start - 1, -1):
        near, arc = load(perfect, 2 * one, 2), first[upper[one]]
        for other in range(one + 1, end):
            while upper[arc] != upper[other]:
                arc += 1
            far, over = load(perfect, 2 * other, 2), load(perfect, 2 * arc, 2)
            near = minimum(near, add(far, swap(over)))
            store(perfect, 2 * other, minimum(far, add(near, over)))
        store(perfect, 2 * one, near)
        counts[LOOKED] += end - one


@njit
def _affects_triangle(one, other, arc, place, before, perfect):
    """Return whether an arc's new weight may change the other two arcs (legs) of a triangle.

    The legs lead up from one rank, to the lower and to the upper end of the arc.
    """
    climb, descent = perfect[2 * one], perfect[2 * one + 1]
    far_climb, far_descent = perfect[2 * other], perfect[2 * other + 1]
    up = min(before[place], perfect[2 * arc])
    down = min(before[place + 1], perfect[2 * arc + 1])
    return (
        climb + up <= far_climb
        or up + far_descent <= descent
        or far_climb + down <= climb
        or down + descent <= far_descent
    )


@njit
def _perfect_pass(structure, both, scratch, waiting, log, most, exact):
    """Update the perfect weights after changes; return False if the work limit is exceeded.

    Indices
    -------
    v, u : ranks; v is the middle corner of a triangle, u the lowest one. The heap has `last` less
        a rank, so that the highest comes first
    arc, below, other : numbers of chordal arcs: from v to the highest rank y, from u to v, and from
        u to y; `start` to `end` are all arcs above v
    note : first the number of a logged rank; then where the old weights of the arcs above v begin
        in `before`, those of `arc` at ``note + 2 * (arc - start)``: up, and then down
    """
    order, first, upper, lower_first, lower, rest = structure
    _, states, places, marks = scratch
    ranks, begins, held, counts = log
    perfect, before = both[1], held[1]
    last = order.size - 1
    for note in range(counts[NOTES]):
        rank = np.int64(ranks[note])
        _queue_rank(rank, last - rank, structure, both, scratch, waiting, log)
    while waiting:
        v = last - heappop(waiting)
        states[v] = TOUCHED
        _make_perfect(v, structure, both, counts)
        start, end, note = first[v], first[v + 1], begins[places[v]]
        some = False
        for arc in range(start, end):
            marks[arc] = _differs(arc, note + 2 * (arc - start), before, perfect)
            some |= marks[arc] != 0
        if not some:
            continue
        for k in range(lower_first[v], lower_first[v + 1]):
            below, arc = np.int64(lower[k]), start
            for other in range(below + 1, below + 1 + rest[k]):
                while upper[arc] != upper[other]:
                    arc += 1
                if marks[arc] and (
                    not exact
                    or _affects_triangle(
                        below, other, arc, note + 2 * (arc - start), before, perfect
                    )
                ):
                    u = place_from(below + 1, first) - 1
                    if not _queue_rank(u, last - u, structure, both, scratch, waiting, log):
                        return False
                    break
            counts[LOOKED] += arc - start
        for arc in range(start, end):
            marks[arc] = 0
        if counts[LOOKED] > most:
            return False
    return True


@njit
def _is_much_above(slots, first, parent, states, most):
    """Return whether changes of the arcs in `slots` may change more than `most` arc weights."""
    held = 0
    for is_clearing in range(2):
        for slot in slots:
            rank = -1 if slot == NO_SLOT else place_from(np.int64(slot >> 1) + 1, first) - 1
            while rank >= 0 and (states[rank] == TOUCHED) == (is_clearing == 1):
                states[rank] = UNTOUCHED if is_clearing else TOUCHED
                held += 0 if is_clearing else 2 * (first[rank + 1] - first[rank])
                rank = np.int64(parent[rank])
            if held > most and not is_clearing:
                break
    return held > most


@njit
def _change_kernel(
    arcs, slots, structure, graph, inf, both, scratch, log, layer_ranks, layer_begins, layer_held,
    parent, above, most, exact,
):  # fmt: skip
    """Customize again after arcs changed; return the number of changed ranks, -1 if too costly.

    Arguments
    ---------
    arcs, slots : which arcs of the graph, and where they stand among the directed chordal arcs
    structure, graph, both, scratch, log : see above; `both` are those of the base, before and after
    layer_ranks, layer_begins, layer_held : the version's layer; scratch
    parent : of every rank, -1 for roots
    above : weights that may stand above the arcs, up to the root
    most : triangles that may be visited
    exact : whether sums are exact; then a way that is too long before and after is not queued

    On return the log has the ranks with their new weights.
    """
    ranks, begins, held, counts = log
    first = structure[1]
    for i in range(counts.size):
        counts[i] = 0
    if _is_much_above(slots, first, parent, scratch[1], above):
        return -1
    _swap(layer_ranks, layer_ranks.size, layer_begins, layer_held, first, both)
    waiting = [np.int64(0) for _ in range(0)]
    work = both, scratch, waiting, log, most
    is_done = _basic_pass(arcs, slots, structure, graph, inf, *work)
    is_done = is_done and _perfect_pass(structure, *work, exact)
    _, states, _, marks = scratch
    _swap(ranks, counts[NOTES], begins, held, first, both)
    _swap(layer_ranks, layer_ranks.size, layer_begins, layer_held, first, both)
    for note in range(counts[NOTES]):
        rank = np.int64(ranks[note])
        states[rank] = UNTOUCHED
        for arc in range(first[rank], first[rank + 1]):
            marks[arc] = 0
    return counts[NOTES] if is_done else -1


# ---- the new layer


@njit
def _merge_kernel(
    new_ranks, new_begins, new_weights, ranks, begins, weights, first, upper, both, merged,
    merged_weights, merged_first, merged_upper,
):  # fmt: skip
    """Merge ranks changed now with ranks changed before; return how many ranks and weights result.

    Both lists of ranks are ascending; new ones count before old ones, and what is as in the base is
    left out.
    """
    count = held = 0
    new = old = 0
    merged_first[0] = 0
    while new < new_ranks.size or old < ranks.size:
        is_new = old == ranks.size or (new < new_ranks.size and new_ranks[new] <= ranks[old])
        if is_new:
            rank, place = np.int64(new_ranks[new]), new_begins[new]
            old += old < ranks.size and ranks[old] == new_ranks[new]
            new += 1
        else:
            rank, place = np.int64(ranks[old]), begins[old]
            old += 1
        source = new_weights if is_new else weights
        start, end = 2 * first[rank], 2 * first[rank + 1]
        is_base = True
        for i in range(end - start):
            is_base &= source[0, place + i] == both[0][start + i]
            is_base &= source[1, place + i] == both[1][start + i]
        if is_base:
            continue
        merged[count] = rank
        count += 1
        for row in range(2):
            for i in range(end - start):
                merged_weights[row, held + i] = source[row, place + i]
        for arc in range(first[rank], first[rank + 1]):
            merged_upper[held // 2 + arc - first[rank]] = upper[arc]
        held += end - start
        merged_first[count] = held // 2
    return count, held


@njit
def _rise_kernel(ranks, first, ends, weights, climbs):
    """Return an upper bound on how much changed arcs lengthen the longest upward path."""
    rise = 0.0
    for i in range(ranks.size):
        climb = 0.0
        for arc in range(first[i], first[i + 1]):
            climb = max(climb, climbs[ends[arc]] + weights[arc])
        # (a way passes a rank once, so its length rises by no more than all these together)
        rise += max(0.0, climb - climbs[ranks[i]])
    return rise


def change_arcs(
    version: Metric,
    structure: Structure,
    graph: Graph,
    arcs: NDArray[np.int64],
    slots: NDArray[np.uint32],
) -> Metric | None:
    """Return a `Metric` updated for changed arcs; None if a full customization is needed or faster.

    Parameters
    ----------
    version : Metric
        Without negative weights.
    structure : Structure
    graph : Graph
        What it is to be the version of; no weight is negative.
    arcs : ndarray, shape (k,)
        All arcs that weigh something else, none twice.
    slots : ndarray, shape (k,), uint32
        Where they stand among the directed chordal arcs.

    Returns
    -------
    Metric or None
        None: customizing anew is faster, or must tell whether the dtype is wide enough.
    """
    layer, whole = version.layer, version.whole
    if whole is None or not version.fits:
        return None
    dtype = layer.weights.dtype
    inf, first = infinity(dtype), structure.first
    lower = structure.lower_first, structure.lower, structure.lower_rest
    lists = structure.order, first, structure.upper, *lower
    above = max(thresholds.WEIGHTS_ABOVE, whole.basic.size // thresholds.ABOVE_SHARE)
    begins = offsets(2 * (first[layer.ranks + 1] - first[layer.ranks]))
    most = max(thresholds.WEIGHTS_ABOVE, structure.triangles)
    most = min(most, thresholds.MOST_TRIANGLES_LOOKED_AT)
    with whole.lock:
        if whole.is_changing:
            return None
        whole.is_changing = True
        both, log = (whole.basic, whole.perfect), whole.log
        count = _change_kernel(
            arcs, slots, lists, (graph.indptr, graph.indices, graph.weights_as(dtype)), inf, both,
            whole.scratch, log, layer.ranks, begins, layer.weights.copy(), structure.parent, above,
            most, dtype.kind == "i",
        )  # fmt: skip
        if count < 0:
            whole.is_changing = False
            return None
        ascending = np.argsort(log[0][:count])
        new_ranks, new_begins = log[0][ascending], log[1][ascending]
        ranks: NDArray[np.uint32] = np.empty(count + layer.ranks.size, np.uint32)
        weights: NDArray[Any] = np.empty((2, int(log[3][HELD]) + layer.weights.shape[1]), dtype)
        arcs_first = np.empty(ranks.size + 1, np.uint64)
        upper = np.empty(weights.shape[1] // 2, np.uint32)
        count, held = _merge_kernel(
            new_ranks, new_begins, log[2], layer.ranks, begins, layer.weights, first,
            structure.upper, both, ranks, weights, arcs_first, upper,
        )  # fmt: skip
        whole.is_changing = False
    if held > whole.most_held:
        return None
    # the changed arcs are packed as a layer over the base
    own_arcs = seal(arcs_first[: count + 1]), seal(upper[: held // 2])
    ranks, weights = ranks[:count].copy(), weights[:, :held].copy()
    ups, downs, greatest = customization.count_kernel(0, weights.shape[1] // 2, *weights, inf)
    up, down = customization.allocate_arcs(ranks.size, (ups, downs), dtype)
    packed = 0, ups, *up, 0, downs, *down
    customization.pack_kernel(0, ranks.size, *own_arcs, *weights, inf, *packed)
    # sums are sure to fit by depth, else by measure
    limit = safe_length(dtype)
    if 2.0 * whole.deepest * max(whole.greatest, float(greatest)) >= limit:
        rises = map(_rise_kernel, (ranks, ranks), *zip(up, down, strict=True), whole.climbs)
        if not max(whole.longest + sum(rises), 2.0 * float(greatest)) < limit:
            return None
    layer = Layer(ranks, weights, up, down)
    tops = whole.tops + [
        np.count_nonzero(own.first[1:] == own.first[:-1])
        - np.count_nonzero(before.first[ranks + 1] == before.first[ranks])
        for own, before in ((up, version.base_up), (down, version.base_down))
    ]
    return version._replace(layer=layer, joined=bool((tops == 1).all()))
