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

What flows over shortcuts is handed on once, after all origins (`sssp.cpu.sweep.flow_unpacking`).
"""

import numpy as np

from sssp.cpu.sweep.sweeps import LANES, ONE, clear_marks_kernel, sweep_lanes_kernel
from sssp.cpu.vectors import add, choose, fill, greatest_of, load, store, sum_of
from sssp.kernels.jit import njit


@njit
def slots_kernel(ancestors, first, upper, depth, down, packed_first, ends, slots, depths):
    """Write the number (slot) of every arc of a packed arc list, and the depth of its tail.

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
    """Transpose chosen rows of a volume table into `lanes`, with one column per chosen row."""
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
    """Search upward from each source of a group; record the visited ranks, distances and arcs.

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
    """Return a target's volume from each source, replaced by 0 (and added to `lost`) if unreached.

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

    The flow of a place is what waits at its depth, and the volumes that have their target there.
    In lanes in which the climb gave the place its distance it goes down the climb, and else over
    the first tight arc, to wait at the depth of the upper end.
    """
    ranks, depths, (first, ends, weights, _, _, _, _), end_depths = downs
    _, (on_climb, climbed, _), is_open, block, waiting, down_flow = scratch
    target, kept = low, np.empty(LANES)
    for place in range(np.uint64(ranks.size)):
        depth = np.uint64(depths[place])
        flow, distance = load(waiting, depth, LANES), load(block, place, LANES)
        while target < high and targets[target] == place:
            more = volumes[target]
            if greatest_of(distance) == inf:
                more = _keep_reached(target, more, block[place], inf, lost, which, kept)
            flow = add(flow, load(more, 0, LANES))
            target += 1
        store(waiting, depth, fill(0.0, LANES))
        if is_open[place]:
            descends = choose(load(climbed, depth, LANES), distance, flow, 0.0)
            descends = choose(load(on_climb, depth, LANES), ranks[place], descends, 0.0)
            store(down_flow, depth, add(load(down_flow, depth, LANES), descends))
            flow = choose(flow, descends, 0.0, flow)
        if greatest_of(flow) == 0:
            continue
        for arc in range(np.uint64(first[place]), np.uint64(first[place + ONE])):
            above, far = np.uint64(end_depths[arc]), load(block, np.uint64(ends[arc]), LANES)
            length = add(far, weights[arc])
            passes, flow = choose(length, distance, flow, 0.0), choose(length, distance, 0.0, flow)
            store(waiting, above, add(load(waiting, above, LANES), passes))
            on_arc[arc] += sum_of(passes)


@njit
def _descend_kernel(ups, climbs, down_flow, on_arc):
    """Add flows to the upward arcs on the paths from the sources to their ancestors."""
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
    """Load trip volumes onto the arcs of the hierarchy, one group of sources after the other.

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
    """For each source, sum arc values along the upward path to each of its ancestors."""
    tail_depths, (on_climb, _, via) = ups[-1], climbs
    for lane in range(lanes):
        for depth in range(on_climb.shape[0] - 1, -1, -1):
            if on_climb[depth, lane] >= 0:
                arc = via[depth, lane]
                carried[depth, lane] = 0.0
                if arc >= 0:
                    carried[depth, lane] = carried[tail_depths[arc], lane] + values[arc]


@njit
def _sum_kernel(low, high, targets, downs, values, inf, scratch, found):
    """Sum arc values along the path to each target, in a sweep over tight arcs.

    Arguments as of `_gather_kernel`, and
    values : of every arc down
    scratch : its last arrays are that of `_carry_kernel`, and the sums of a place and its ancestors
    found : shape (targets, LANES), written; infinity where nothing leads
    """
    ranks, depths, (first, ends, weights, _, _, _, _), end_depths = downs
    _, (on_climb, climbed, _), is_open, block, carried, sums = scratch
    target = high
    place = np.uint64(ranks.size)
    while place > 0:
        place -= ONE
        distance, depth = load(block, place, LANES), np.uint64(depths[place])
        own = fill(0.0, LANES)
        # (from the last arc, so that the first one counts, as for flows)
        arc = np.uint64(first[place + ONE])
        while arc > first[place]:
            arc -= ONE
            length = add(load(block, np.uint64(ends[arc]), LANES), weights[arc])
            longer = add(load(sums, np.uint64(end_depths[arc]), LANES), values[arc])
            own = choose(length, distance, longer, own)
        if is_open[place]:
            brought = load(carried, depth, LANES)
            brought = choose(load(climbed, depth, LANES), distance, brought, own)
            own = choose(load(on_climb, depth, LANES), ranks[place], brought, own)
        store(sums, depth, own)
        while target > low and targets[target - 1] == place:
            target -= 1
            store(found, target, choose(distance, inf, np.inf, own))


@njit
def skim_kernel(lanes, ups, downs, inf, scratch, up_values, down_values, found):
    """Sum arc values along the paths of trips, one group of sources after another.

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
