"""Flows and skims on a prepared map by sweeps, without building shortest-path trees.

After the climbs and the sweep of `LANES` origins (`sssp.cpu.sweep.sweeps`) the same places are
passed the other way, from below. What arrives at a place goes over the arc that gave it its
distance. That arc is found again by equality, to the bit, in floats too: both sides are the same
addition. Only ancestors of an origin have their distance from its climb, if that was as short;
what arrives there goes down the climb, whose last arcs are kept. Of equal ways the climb counts
first, and then the first arc, so nothing goes around a cycle of length zero.

Ranks are in postorder and flows go to ancestors, so what waits is all on one path of the
elimination tree: an array (height, lanes), by depth, holds it, in the fastest memory. Sums of other
costs come from the root down, in the opposite order, and stand in such an array too.

What flows over shortcuts is handed on once, after all origins (`sssp.cpu.sweep.unpacking`).
"""

from __future__ import annotations

import numpy as np

from sssp.cpu.sweep.sweeps import LANES, ONE, clear_marks_kernel, sweep_lanes_kernel
from sssp.kernels.jit import njit, njit_vectorized


@njit
def slots_kernel(ancestors, first, upper, depth, down, packed_first, ends, slots, depths):
    """Write the directed chordal arc of every packed arc, and the depth of its tail.

    ``down`` is 0 for arcs up, whose depth is that of the tail, and 1 for arcs down, whose depth is
    that of the upper end.
    """
    places, ranks = ancestors
    for place in range(ranks.size):
        arc = first[ranks[place]]
        for i in range(packed_first[place], packed_first[place + 1]):
            while np.uint32(places[upper[arc]]) != ends[i]:
                arc += 1
            slots[i] = 2 * arc + down
            depths[i] = depth[upper[arc] if down else ranks[place]]


@njit
def lanes_kernel(volumes, rows, positions, lanes):
    """Write the volumes of some rows to lanes, each column at its given position."""
    for column in range(positions.size):
        own = lanes[positions[column]]
        for lane in range(rows.size):
            own[lane] = volumes[rows[lane], column]
        own[rows.size :] = 0.0


# Kernels hand on their arrays in tuples:
#   ups : of the ranks that origins climb, by place: rank, place in the block (-1: none), parent,
#         depth; first, ends and weights of their arcs up; of every such arc the depth of its tail
#   downs : of the ranks that are swept: rank, depth, the arcs down to them, without a layer; of
#         every such arc the depth of its upper end
#   climbs : shape (height, LANES) each, by depth: the rank of every lane's climb (-1: none), its
#         distance, the arc that it came over (-1: none)
#   scratch : distances of one climb; climbs; whether a place is on one; the block, shape (places,
#         LANES), in which lanes are swept; and two of shape (height, LANES)


@njit
def _climb_kernel(sources, ups, inf, scratch):
    """Search upward from every source of a group; record its climb and the arcs of the climb.

    Opens the rows of the block that are on a climb, like `climb_lanes_kernel`.
    """
    ranks, places, parent, depth, first, ends, weights, _ = ups
    distances, (on_climb, climbed, via), is_open, block, _, _ = scratch
    number = distances.dtype.type
    on_climb[:] = via[:] = -1
    for lane in range(sources.size):
        at = np.int64(sources[lane])
        distances[at] = 0
        while at >= 0:
            distance = distances[at]
            distances[at] = inf
            if distance < inf:
                for arc in range(np.uint64(first[at]), np.uint64(first[at + 1])):
                    candidate = number(distance + weights[arc])
                    if candidate < distances[ends[arc]]:
                        distances[ends[arc]] = candidate
                        via[depth[ends[arc]], lane] = arc
            on_climb[depth[at], lane] = ranks[at]
            climbed[depth[at], lane] = distance
            place = places[at]
            if place >= 0:
                if not is_open[place]:
                    is_open[place] = 1
                    for other in range(LANES):
                        block[place, other] = inf
                block[place, lane] = distance
            at = np.int64(parent[at])


@njit
def _keep_reached(target, more, at, inf, lost, which, kept):
    """Return the volumes to a target, 0 in lanes that do not reach it; count those as lost.

    `kept`, shape (LANES,), is scratch.
    """
    for lane in range(LANES):
        kept[lane] = more[lane]
        if more[lane] != 0 and at[lane] == inf:
            kept[lane] = 0.0
            lost[0] += more[lane]
            if which[0] < 0:
                which[0], which[1] = target, lane
    return kept


@njit
def _greatest(row):
    """Return the greatest entry over all lanes of a row, in a form that LLVM vectorizes."""
    a0, a1, a2, a3 = row[0], row[1], row[2], row[3]
    a4, a5, a6, a7 = row[4], row[5], row[6], row[7]
    a8, a9, a10, a11 = row[8], row[9], row[10], row[11]
    a12, a13, a14, a15 = row[12], row[13], row[14], row[15]
    return max(
        max(max(max(a0, a1), max(a2, a3)), max(max(a4, a5), max(a6, a7))),
        max(max(max(a8, a9), max(a10, a11)), max(max(a12, a13), max(a14, a15))),
    )


@njit
def _move_flow_to_climb(at, depth, rank, climbs, flow, down_flow):
    """Move a vertex's flow to the climb, in lanes where the climb gives the vertex's distance."""
    on_climb, climbed, _ = climbs
    for lane in range(LANES):
        if on_climb[depth, lane] == rank and climbed[depth, lane] == at[lane]:
            down_flow[depth, lane] += flow[lane]
            flow[lane] = 0.0


@njit_vectorized
def _gather_kernel(low, high, targets, volumes, downs, inf, scratch, on_arc, lost, which):
    """Pass flows from targets back along tight downward arcs, the lowest rank first.

    Arguments
    ---------
    low, high : the targets of these lanes, of those of several groups
    targets : places, ascending between `low` and `high`
    volumes : shape (targets, LANES); what goes there
    scratch : its block is swept; its last arrays are zeros: what waits at a depth, and again
        afterwards; and what goes down each climb from a depth, added to
    on_arc : added to: the flow of every arc down
    lost, which : added to: volume that leads to what is not reached; its first target and lane

    What a place has stands in sixteen variables: loops over lanes take three times as long. Of one
    lane, with `at` for ``block[place]``, the same is

        for every place, the lowest first:
            waiting[depth of place] += volumes that have their target here (not if unreached)
            f, waiting[depth of place] = waiting[depth of place], 0.0
            if the climb gave the place its distance:
                down_flow[depth of place] += f, and f = 0.0
            for arc in range(first[place], first[place + 1]):
                h = f if block[ends[arc]] + weights[arc] == at else 0.0
                f = f - h  # (0 after the first tight arc, which so takes all)
                waiting[end_depths[arc]] += h
                on_arc[arc] += h

    In variables: t is a sum to be written back, d the distance `at`, s the sum of h over lanes.
    """
    ranks, depths, (first, ends, weights, _, _, _, _), end_depths = downs
    _, climbs, is_open, block, waiting, down_flow = scratch
    number = block.dtype.type
    target, kept = low, np.empty(LANES)
    for place in range(np.uint64(ranks.size)):
        own, at = waiting[depths[place]], block[place]
        while target < high and targets[target] == place:
            more = volumes[target]
            if _greatest(at) == inf:
                more = _keep_reached(target, more, at, inf, lost, which, kept)
            t0, t1, t2, t3 = own[0] + more[0], own[1] + more[1], own[2] + more[2], own[3] + more[3]
            t4, t5, t6, t7 = own[4] + more[4], own[5] + more[5], own[6] + more[6], own[7] + more[7]
            t8, t9 = own[8] + more[8], own[9] + more[9]
            t10, t11 = own[10] + more[10], own[11] + more[11]
            t12, t13 = own[12] + more[12], own[13] + more[13]
            t14, t15 = own[14] + more[14], own[15] + more[15]
            own[0], own[1], own[2], own[3] = t0, t1, t2, t3
            own[4], own[5], own[6], own[7] = t4, t5, t6, t7
            own[8], own[9], own[10], own[11] = t8, t9, t10, t11
            own[12], own[13], own[14], own[15] = t12, t13, t14, t15
            target += 1
        if is_open[place]:
            _move_flow_to_climb(at, depths[place], ranks[place], climbs, own, down_flow)
        f0, f1, f2, f3 = own[0], own[1], own[2], own[3]
        f4, f5, f6, f7 = own[4], own[5], own[6], own[7]
        f8, f9, f10, f11 = own[8], own[9], own[10], own[11]
        f12, f13, f14, f15 = own[12], own[13], own[14], own[15]
        if _greatest(own) == 0:
            continue
        own[0] = own[1] = own[2] = own[3] = own[4] = own[5] = own[6] = own[7] = 0.0
        own[8] = own[9] = own[10] = own[11] = own[12] = own[13] = own[14] = own[15] = 0.0
        d0, d1, d2, d3, d4, d5, d6, d7 = at[0], at[1], at[2], at[3], at[4], at[5], at[6], at[7]
        d8, d9, d10, d11 = at[8], at[9], at[10], at[11]
        d12, d13, d14, d15 = at[12], at[13], at[14], at[15]
        for arc in range(np.uint64(first[place]), np.uint64(first[place + ONE])):
            far, to = block[np.uint64(ends[arc])], waiting[np.uint64(end_depths[arc])]
            w = weights[arc]
            h0 = f0 if number(far[0] + w) == d0 else 0.0
            h1 = f1 if number(far[1] + w) == d1 else 0.0
            h2 = f2 if number(far[2] + w) == d2 else 0.0
            h3 = f3 if number(far[3] + w) == d3 else 0.0
            h4 = f4 if number(far[4] + w) == d4 else 0.0
            h5 = f5 if number(far[5] + w) == d5 else 0.0
            h6 = f6 if number(far[6] + w) == d6 else 0.0
            h7 = f7 if number(far[7] + w) == d7 else 0.0
            h8 = f8 if number(far[8] + w) == d8 else 0.0
            h9 = f9 if number(far[9] + w) == d9 else 0.0
            h10 = f10 if number(far[10] + w) == d10 else 0.0
            h11 = f11 if number(far[11] + w) == d11 else 0.0
            h12 = f12 if number(far[12] + w) == d12 else 0.0
            h13 = f13 if number(far[13] + w) == d13 else 0.0
            h14 = f14 if number(far[14] + w) == d14 else 0.0
            h15 = f15 if number(far[15] + w) == d15 else 0.0
            f0, f1, f2, f3 = f0 - h0, f1 - h1, f2 - h2, f3 - h3
            f4, f5, f6, f7 = f4 - h4, f5 - h5, f6 - h6, f7 - h7
            f8, f9, f10, f11 = f8 - h8, f9 - h9, f10 - h10, f11 - h11
            f12, f13, f14, f15 = f12 - h12, f13 - h13, f14 - h14, f15 - h15
            t0, t1, t2, t3 = to[0] + h0, to[1] + h1, to[2] + h2, to[3] + h3
            t4, t5, t6, t7 = to[4] + h4, to[5] + h5, to[6] + h6, to[7] + h7
            t8, t9, t10, t11 = to[8] + h8, to[9] + h9, to[10] + h10, to[11] + h11
            t12, t13, t14, t15 = to[12] + h12, to[13] + h13, to[14] + h14, to[15] + h15
            to[0], to[1], to[2], to[3], to[4], to[5], to[6], to[7] = t0, t1, t2, t3, t4, t5, t6, t7
            to[8], to[9], to[10], to[11] = t8, t9, t10, t11
            to[12], to[13], to[14], to[15] = t12, t13, t14, t15
            s0, s1, s2, s3 = h0 + h8, h1 + h9, h2 + h10, h3 + h11
            s4, s5, s6, s7 = h4 + h12, h5 + h13, h6 + h14, h7 + h15
            s0, s1, s2, s3 = s0 + s4, s1 + s5, s2 + s6, s3 + s7
            on_arc[arc] += (s0 + s1) + (s2 + s3)


@njit
def _descend_kernel(ups, climbs, down_flow, on_arc):
    """Pass flows down each climb back to its source, adding them to arcs; clear `down_flow`."""
    tail_depths, via = ups[-1], climbs[2]
    if on_arc.size == 0:  # (all climbs end where they begin)
        down_flow[:] = 0.0
        return
    for depth in range(down_flow.shape[0]):
        own, arcs = down_flow[depth], via[depth]
        for lane in range(LANES):
            # (without a branch, which is hard to predict: the end of a climb adds 0 to some arc)
            volume = own[lane] if arcs[lane] >= 0 else 0.0
            arc = np.uint64(max(arcs[lane], 0))
            own[lane] = 0.0
            on_arc[arc] += volume
            down_flow[np.uint64(tail_depths[arc]), lane] += volume


@njit
def _sweep_group(sources, ups, downs, inf, scratch):
    """Find the distances of a group of sources by climbs and a sweep, one lane per source."""
    _climb_kernel(sources, ups, inf, scratch)
    order, (_, _, is_open, block, _, _) = np.arange(np.int32(downs[0].size)), scratch
    sweep_lanes_kernel(downs[2], order, is_open, block, ONE, ONE, inf)


@njit
def load_kernel(lanes, volumes, ups, downs, inf, scratch, on_up, on_down, lost, which):
    """Load the volumes of groups of sources onto packed arcs, one group after the other.

    ``lanes``: the places of the sources, and where those of every group begin; where its targets
    begin, and these.
    """
    sources, first_sources, starts, targets = lanes
    for group in range(starts.size - 1):
        own = sources[first_sources[group] : first_sources[group + 1]]
        _sweep_group(own, ups, downs, inf, scratch)
        low, high = starts[group], starts[group + 1]
        _gather_kernel(low, high, targets, volumes, downs, inf, scratch, on_down, lost, which)
        _descend_kernel(ups, scratch[1], scratch[-1], on_up)
        clear_marks_kernel(own, ups[2], ups[1], scratch[2])


@njit
def _carry_kernel(lanes, ups, climbs, values, carried):
    """Sum arc values along the climb of every lane, from its source to each ancestor."""
    tail_depths, (on_climb, _, via) = ups[-1], climbs
    for lane in range(lanes):
        for depth in range(on_climb.shape[0] - 1, -1, -1):
            if on_climb[depth, lane] >= 0:
                arc = via[depth, lane]
                carried[depth, lane] = 0.0
                if arc >= 0:
                    carried[depth, lane] = carried[tail_depths[arc], lane] + values[arc]


@njit_vectorized
def _sum_kernel(low, high, targets, downs, values, inf, scratch, found):
    """Sum arc values along the path to each target, in a sweep over tight arcs.

    Arguments as of `_gather_kernel`, and
    values : of every arc down
    scratch : its last arrays are that of `_carry_kernel`, and the sums of a place and its ancestors
    found : shape (targets, LANES), written; infinity where nothing leads
    """
    ranks, depths, (first, ends, weights, _, _, _, _), end_depths = downs
    _, (on_climb, climbed, _), is_open, block, carried, sums = scratch
    number = block.dtype.type
    target = high
    place = np.uint64(ranks.size)
    while place > 0:
        place -= ONE
        at, depth = block[place], depths[place]
        d0, d1, d2, d3, d4, d5, d6, d7 = at[0], at[1], at[2], at[3], at[4], at[5], at[6], at[7]
        d8, d9, d10, d11 = at[8], at[9], at[10], at[11]
        d12, d13, d14, d15 = at[12], at[13], at[14], at[15]
        s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
        s8 = s9 = s10 = s11 = s12 = s13 = s14 = s15 = 0.0
        # (from the last arc, so that the first one counts, as for flows)
        arc = np.uint64(first[place + ONE])
        while arc > first[place]:
            arc -= ONE
            far, to = block[np.uint64(ends[arc])], sums[np.uint64(end_depths[arc])]
            w, v = weights[arc], values[arc]
            # (all are read: what is read after a test stays a branch, and the loop scalar)
            t0, t1, t2, t3 = to[0] + v, to[1] + v, to[2] + v, to[3] + v
            t4, t5, t6, t7 = to[4] + v, to[5] + v, to[6] + v, to[7] + v
            t8, t9, t10, t11 = to[8] + v, to[9] + v, to[10] + v, to[11] + v
            t12, t13, t14, t15 = to[12] + v, to[13] + v, to[14] + v, to[15] + v
            s0 = t0 if number(far[0] + w) == d0 else s0
            s1 = t1 if number(far[1] + w) == d1 else s1
            s2 = t2 if number(far[2] + w) == d2 else s2
            s3 = t3 if number(far[3] + w) == d3 else s3
            s4 = t4 if number(far[4] + w) == d4 else s4
            s5 = t5 if number(far[5] + w) == d5 else s5
            s6 = t6 if number(far[6] + w) == d6 else s6
            s7 = t7 if number(far[7] + w) == d7 else s7
            s8 = t8 if number(far[8] + w) == d8 else s8
            s9 = t9 if number(far[9] + w) == d9 else s9
            s10 = t10 if number(far[10] + w) == d10 else s10
            s11 = t11 if number(far[11] + w) == d11 else s11
            s12 = t12 if number(far[12] + w) == d12 else s12
            s13 = t13 if number(far[13] + w) == d13 else s13
            s14 = t14 if number(far[14] + w) == d14 else s14
            s15 = t15 if number(far[15] + w) == d15 else s15
        own = sums[depth]
        own[0], own[1], own[2], own[3] = s0, s1, s2, s3
        own[4], own[5], own[6], own[7] = s4, s5, s6, s7
        own[8], own[9], own[10], own[11] = s8, s9, s10, s11
        own[12], own[13], own[14], own[15] = s12, s13, s14, s15
        if is_open[place]:
            for lane in range(LANES):
                if on_climb[depth, lane] == ranks[place] and climbed[depth, lane] == at[lane]:
                    own[lane] = carried[depth, lane]
        while target > low and targets[target - 1] == place:
            target -= 1
            for lane in range(LANES):
                found[target, lane] = own[lane] if at[lane] != inf else np.inf


@njit
def skim_kernel(lanes, ups, downs, inf, scratch, up_values, down_values, found):
    """Sum arc values along the paths of trips, for one group of sources after the other.

    Shapes: values (c, arcs), found (c, targets, LANES).
    """
    sources, first_sources, starts, targets = lanes
    for group in range(starts.size - 1):
        own = sources[first_sources[group] : first_sources[group + 1]]
        _sweep_group(own, ups, downs, inf, scratch)
        low, high = starts[group], starts[group + 1]
        for column in range(found.shape[0]):
            values, sums = down_values[column], found[column]
            _carry_kernel(own.size, ups, scratch[1], up_values[column], scratch[-2])
            _sum_kernel(low, high, targets, downs, values, inf, scratch, sums)
        clear_marks_kernel(own, ups[2], ups[1], scratch[2])
