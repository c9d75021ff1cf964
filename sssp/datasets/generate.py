"""A random graph similar to a road network, for benches, tests and examples.

A plane region is divided by streets, again and again, as towns grow: every new street crosses
one block and ends on two of its sides. Each block carries a budget, the number of vertices
still to be built inside it, so that exactly n vertices come out. The work seldom leaves a
neighbourhood before it is complete, hence neighbours mostly get close numbers, as in real files.

Every road is two arcs, each the other's twin. An arc borders one block, on its left, and
``after`` leads to the next arc around that block (a doubly connected edge list: Muller and
Preparata 1978, "Finding the intersection of two convex polyhedra").

All decisions are integer arithmetic on raw PCG64 words, one word per vertex.
"""

from __future__ import annotations

import math
import operator
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from sssp.graph.graph import Graph
from sssp.kernels.dtypes import INDEX, INT64
from sssp.kernels.jit import njit_inline, njit_uncounted

# Shares are parts of 2^16, as wide as the four fields that a random word is cut into.
_BITS = 16
_ONE = 1 << _BITS
_HALF = _ONE // 2

# Positions are integer microdegrees. By the first definition of the metre, 40,000 km around the
# Earth, one is 10/9 decimetres, so a squared length times 100/81 is in square decimetres.
_SQUARE_NUMERATOR, _SQUARE_DENOMINATOR = 100, 81

# What follows is calibrated on New York; each comment says which of its properties a number sets.

#: square microdegrees of the region per vertex: the median weight
_AREA_PER_VERTEX = 1_760_000
#: share of its budget that a street may shift, at most, from one half of a block to the other:
#: dense cities beside open country, so the upper quartile and the 95% percentile of the weights
_UNEVENNESS = _ONE * 340 // 1000
#: the same inside towns and cities: the 5% percentile and the lower quartile of the weights
_UNEVENNESS_IN_TOWN = _ONE * 150 // 1000
#: a block with at most this budget is a town; the larger towns are, the fewer sparse shortcuts
#: run between them: the greatest hop count
_TOWN = 4_096
#: a block with less area than this for each vertex of its budget is a city, as dense as it gets:
#: the distance from the lower quartile of the weights to the median
_AREA_IN_CITY = 800_000
#: how far the ends of a new street may lie off the middle of the block: the spread of weights
#: inside a town
_SLANT = _ONE * 107 // 1000
#: a junction at most this far off the middle is continued across the block and so becomes a
#: crossing: the share of out-degree 4
_CONTINUED = _ONE * 95 // 1000
#: a new junction keeps this distance, as a share of the road it divides, from the ends of that
#: road: the 1% percentile of the weights
_APART = _ONE * 125 // 1000
#: a block with at most this budget ...
_SMALL_BLOCK = 10
#: ... is by this chance not cut any more, but built up with dead ends: the share of out-degree 1
#: against that of 3
_STAYS_WHOLE = _ONE * 75 // 1000
#: where a place for a bend is sought, a road that has one counts as longer by the root of this:
#: chains of vertices of out-degree 2 (of NY's arcs 3.0% join two such vertices)
_WINDING = 5
#: a bend lies off the straight line by at most its road's length over this: the looks
_FLATNESS = 8
#: a dead end goes this far towards the middle of its block, and by chance up to so much farther:
#: the weights at vertices of out-degree 1
_REACH, _FARTHER = _ONE * 760 // 1000, _ONE * 610 // 1000
#: the next block waits by this chance ...
_WAITS = _ONE * 40 // 1000
#: ... until one of so many blocks that were to follow is built: the upper percentiles of
#: ``|tail - head|``
_WAITS_FOR = 12
#: a block narrower than this is not cut, because positions are integers
_NARROWEST = 16

#: there are up to 4 n arcs, numbered in int32
_GREATEST_N = 1 << 29


# The map under construction, in arrays with room for the whole:
#   tail     of each arc
#   twin     of each arc: the arc back
#   after    of each arc: the next arc around the same block
#   x, y     of each vertex: its position
#   degree   of each vertex
# and what it is made from: `shares`, four random ones a vertex, shape (n, 4).
#
# It is one kernel, with its walks around a block inlined, for a first call compiles for longer
# than it builds: each function, for each kind of argument, costs as much as a screen of code.


@njit_inline
def _spread(amount, share):
    """Scale the random integer `share` to an integer between -amount and amount."""
    return amount * (share - _HALF) >> _BITS - 1


@njit_inline
def _extent(tail, after, x, y, start):
    """Return the bounding box of a city block: least x, width in x, least y, width in y."""
    low_x = high_x = x[tail[start]]
    low_y = high_y = y[tail[start]]
    a = after[start]
    while a != start:
        v = tail[a]
        low_x, high_x = min(low_x, x[v]), max(high_x, x[v])
        low_y, high_y = min(low_y, y[v]), max(high_y, y[v])
        a = after[a]
    return low_x, high_x - low_x, low_y, high_y - low_y


@njit_inline
def _add_road(tail, twin, degree, a, u, v):
    """Write arc a from u to v and its reverse a + 1; add 1 to the degrees of u and v."""
    tail[a], tail[a + 1] = u, v
    twin[a], twin[a + 1] = a + 1, a
    degree[u] += 1
    degree[v] += 1


@njit_inline
def _divide(tail, twin, after, degree, a, v, onward):
    """Split the road of arc a at vertex v; arc a and its reverse arc then both end at v.

    The rest of the road are arcs `onward` and `onward` + 1.
    """
    back, homeward = twin[a], onward + 1
    tail[onward] = tail[homeward] = v
    after[onward], after[a] = after[a], onward
    after[homeward], after[back] = after[back], homeward
    twin[a], twin[homeward] = homeward, a
    twin[back], twin[onward] = onward, back
    degree[v] = 2


@njit_inline
def _junction(tail, after, along, degree, start, middle, reach):
    """Choose a vertex on a street block's border for a new road; return the arc into it, or -1.

    A junction (or bend) qualifies if the block's side goes on along the axis there, so that it
    is no corner of the block.
    """
    best, nearest = -1, reach
    a = start
    while True:
        b = after[a]
        v = tail[b]
        here = along[v]
        goes_on = (here - along[tail[a]]) * (along[tail[after[b]]] - here) > 0
        if goes_on and degree[v] < 4 and abs(here - middle) < nearest:
            best, nearest = a, abs(here - middle)
        a = b
        if a == start:
            return best


@njit_inline
def _site(tail, after, x, y, degree, start, bend):
    """Choose an arc of a city block to bend or branch; return it and the block's middle (x, y)."""
    site, greatest = start, np.int64(-1)
    sum_x = sum_y = vertices = 0
    a = start
    while True:
        u, b = tail[a], after[a]
        v = tail[b]
        dx, dy = x[v] - x[u], y[v] - y[u]
        square = dx * dx + dy * dy
        if bend and (degree[u] == 2 or degree[v] == 2):
            square *= _WINDING
        if square > greatest:
            site, greatest = a, square
        sum_x += x[u]
        sum_y += y[u]
        vertices += 1
        a = b
        if a == start:
            return site, sum_x // vertices, sum_y // vertices


@njit_uncounted
def _build_kernel(tail, twin, after, x, y, degree, shares, starts, budgets):
    """Build the random road network by dividing street blocks one after another.

    Returns how many arcs there are.
    """
    vertices, arcs = 4, 8
    starts[0], budgets[0] = 0, x.size - vertices
    blocks = 1 if budgets[0] > 0 else 0
    while blocks > 0:
        blocks -= 1
        first = vertices
        turn = blocks
        if shares[first, 3] < _WAITS:
            turn = max(0, blocks - (shares[first, 2] * _WAITS_FOR >> _BITS))
        start, budget = starts[turn], budgets[turn]
        starts[turn], budgets[turn] = starts[blocks], budgets[blocks]
        low, width, low_y, width_y = _extent(tail, after, x, y, start)
        area = width * width_y
        along, across = x, y
        if width < width_y:
            along, across = y, x
            low, width = low_y, width_y
        stays_whole = budget <= _SMALL_BLOCK and shares[first, 0] < _STAYS_WHOLE
        if budget < 3 or stays_whole or width < _NARROWEST:
            while budget > 0:
                v, share = vertices, shares[vertices, 1]
                site, middle_x, middle_y = _site(tail, after, x, y, degree, start, budget == 1)
                u, w = tail[site], tail[after[site]]
                dx, dy = x[w] - x[u], y[w] - y[u]
                x[v], y[v] = x[u] + (dx >> 1), y[u] + (dy >> 1)
                _divide(tail, twin, after, degree, site, v, arcs)
                vertices += 1
                arcs += 2
                budget -= 1
                if budget == 0:
                    # a bend: of degree 2, a little off the straight line
                    x[v] += _spread(dy // _FLATNESS, share)
                    y[v] -= _spread(dx // _FLATNESS, share)
                else:
                    # a dead end: a junction and a road from it into the block
                    reach = _REACH + (_FARTHER * share >> _BITS)
                    x[vertices] = x[v] + ((middle_x - x[v]) * reach >> _BITS)
                    y[vertices] = y[v] + ((middle_y - y[v]) * reach >> _BITS)
                    _add_road(tail, twin, degree, arcs, v, vertices)
                    after[arcs], after[arcs + 1] = arcs + 1, after[site]
                    after[site] = arcs
                    vertices += 1
                    arcs += 2
                    budget -= 1
            continue
        # A street across the block. Both ends lie inside its width, as _SLANT and _CONTINUED make
        # less than a half. At most one end is a vertex that was there before, on a rising side; the
        # other one is then new, on a falling side (or the other way round). The sides of a block
        # never touch themselves, so no two roads join the same vertices.
        middle = low + (width >> 1)
        slant = _spread(width * _SLANT >> _BITS, shares[first, 1])
        rising_at, falling_at = middle + slant, middle - slant
        up = down = -1
        junction = _junction(tail, after, along, degree, start, middle, width * _CONTINUED >> _BITS)
        if junction >= 0:
            middle = along[tail[after[junction]]]
            rising_at = falling_at = middle + slant
            if along[tail[junction]] < middle:
                up = junction
            else:
                down = junction
        a = start
        while up < 0 or down < 0:
            here, there = along[tail[a]], along[tail[after[a]]]
            if up < 0 and here <= rising_at < there:
                up = a
            elif down < 0 and there <= falling_at < here:
                down = a
            a = after[a]
        for side, position in ((up, rising_at), (down, falling_at)):
            if side != junction:
                u, w = tail[side], tail[after[side]]
                run, rise = along[w] - along[u], across[w] - across[u]
                margin = abs(run) * _APART >> _BITS
                least, most = min(along[u], along[w]) + margin, max(along[u], along[w]) - margin
                along[vertices] = min(max(position, least), most)
                across[vertices] = across[u] + rise * (along[vertices] - along[u]) // run
                _divide(tail, twin, after, degree, side, vertices, arcs)
                vertices += 1
                arcs += 2
        rest_up, rest_down = after[up], after[down]
        _add_road(tail, twin, degree, arcs, tail[rest_up], tail[rest_down])
        after[up], after[arcs] = arcs, rest_down
        after[down], after[arcs + 1] = arcs + 1, rest_up
        arcs += 2
        # what is left of the budget, for both halves
        in_town = budget <= _TOWN or budget * _AREA_IN_CITY > area
        budget -= vertices - first
        share = ((middle - low) << _BITS) // width
        share += _spread(_UNEVENNESS_IN_TOWN if in_town else _UNEVENNESS, shares[first, 2])
        below = (budget * share + shares[first, 3]) >> _BITS
        for half, its_budget in ((arcs - 2, below), (arcs - 1, budget - below)):
            if its_budget > 0:
                starts[blocks], budgets[blocks] = half, its_budget
                blocks += 1
    return arcs


def _road_arrays(n: int, seed: int) -> tuple[NDArray[Any], ...]:
    """Return tails, heads and weights, one per road, and the coordinates of all vertices."""
    if n < 4:  # (a region needs four vertices) a road along the equator
        vertices = np.arange(n, dtype=INDEX)
        place = np.stack([vertices * math.isqrt(_AREA_PER_VERTEX), vertices * 0])
        weight = 1 + math.isqrt(_AREA_PER_VERTEX * _SQUARE_NUMERATOR // _SQUARE_DENOMINATOR)
        weights = np.full(max(n - 1, 0), weight, np.int32)
        return vertices[:-1], vertices[1:], weights, np.divide(place.T, 1e6, order="C")
    # four roads around the region, in arrays with room for all the others
    side = math.isqrt(n * _AREA_PER_VERTEX)
    tail, twin, after = (np.empty(4 * n, INDEX) for _ in range(3))
    place, degree = np.empty((2, n), INT64), np.zeros(n, np.int8)
    # arcs 0 to 3 run around the region with its blocks on their left, 4 to 7 the other way
    tail[:8] = 0, 1, 2, 3, 1, 2, 3, 0
    twin[:8] = 4, 5, 6, 7, 0, 1, 2, 3
    after[:8] = 1, 2, 3, 0, 7, 4, 5, 6
    place[:, :4] = np.array([(0, side, side, 0), (0, 0, side, side)]) - side // 2
    degree[:4] = 2
    words = np.random.PCG64(seed).random_raw(n).astype("<u8", copy=False)
    shares = words.view("<u2").reshape(n, 4)
    built = _build_kernel(tail, twin, after, *place, degree, shares, *np.empty((2, n), INT64))
    arcs = np.arange(built, dtype=INDEX)
    arcs = arcs[arcs < twin[:built]]
    tails, heads = tail[arcs], tail[twin[arcs]]
    ways = place[:, heads] - place[:, tails]
    squares = np.einsum("ij,ij->j", ways, ways)
    # lengths in decimetres, rounded up, so that none is 0; below 2^52 the whole part of a float's
    # root is that of the integer
    roots: NDArray[np.float64] = np.sqrt(squares * _SQUARE_NUMERATOR // _SQUARE_DENOMINATOR)
    return tails, heads, 1 + roots.astype(np.int32), np.divide(place.T, 1e6, order="C")


def road_like(n: SupportsIndex, seed: SupportsIndex = 0) -> Graph:
    """Make a random graph that looks like a road network, with any number of vertices.

    Parameters
    ----------
    n : int
        Number of vertices, 0 to 2^29.
    seed : int, default 0
        Not negative. The same `n` and `seed` give the same graph everywhere.

    Returns
    -------
    Graph
        Exactly `n` vertices, strongly connected, without parallel arcs. Each road is stored both
        ways with one weight and one ``arc_origin``: its length in decimetres, int32, rounded up.
        Coordinates are degrees around longitude 0, latitude 0, where a degree is as long in
        both directions and which no real map covers; a weight is never less than
        the distance between its ends on a sphere of circumference 40,000 km.

    Raises
    ------
    ValueError
        `n` or `seed` out of range.
    TypeError
        `n` or `seed` is not an integer.

    Notes
    -----
    1. The region is a square block of four roads, with an area in proportion to `n`. Its budget,
       the vertices still to be built inside, is the rest.
    2. A street cuts the block across its longer extent, near the middle and a little slanted.
       Where it ends it makes junctions on two sides of the block, or it continues a road that
       comes in from the other side, which makes a crossing.
    3. What is left of the budget is divided between the two halves by their widths. The division
       is shifted by chance: strongly in the country, so that cities and empty land arise, and
       little within a town or once a block is as dense as a city.
    4. Both halves are cut again, until their budgets are below 3, or below 11 by chance. Such a
       block spends the rest on dead ends, two vertices each, and the last vertex on a bend in
       one of its roads.
    5. Vertices are numbered as they are built: one neighbourhood after the other, except that a
       block waits by chance until a later one is done, for real numberings are not perfect.

    Against the New York graph of the 9th DIMACS challenge (USA-road-d.NY), n = 264,346, seed 0:

    ====================================== ============================ ============================
    property                               New York                     road_like
    ====================================== ============================ ============================
    arcs per vertex                        2.762                        2.704
    share of out-degree 1, 2, 3, 4         0.156, 0.153, 0.471, 0.216   0.163, 0.168, 0.470, 0.199
    weights: 5%, 25%, 50%, 75%, 95%        288, 687, 951, 1615, 3041    312, 628, 954, 1524, 3142
    arcs that join two of out-degree 2     3.0%                         2.4%
    greatest hop count from n // 2         448                          511
    greatest distance from n // 2          1,051,459                    1,104,610
    ``|tail - head|``: 50%, 75%, 90%, 99%  4, 23, 445, 17578            6, 40, 401, 15784
    ====================================== ============================ ============================

    Other seeds and sizes come out alike, but small graphs have longer roads (median weight 1237
    for n = 10,000), since they have room for one town only. Hop counts depend on where n // 2
    happens to lie (351 to 511 for seeds 0 to 3).

    Time grows about linearly with `n` (a block of k vertices has some sqrt(k) on its sides to look
    at): less than a second for n = 1,000,000 on one core. It takes about 190 bytes per vertex.

    Examples
    --------
    >>> g = road_like(1000)
    >>> g.n, bool((g.reverse().weights == g.weights).all())
    (1000, True)
    """
    count, start = operator.index(n), operator.index(seed)
    if not 0 <= count <= _GREATEST_N:
        raise ValueError(f"a road-like graph has 0 to {_GREATEST_N} vertices, not {count}")
    if start < 0:
        raise ValueError(f"seed must not be negative: {start}")
    tails, heads, weights, coordinates = _road_arrays(count, start)
    return Graph.from_arcs(tails, heads, weights, n=count, directed=False, coordinates=coordinates)
