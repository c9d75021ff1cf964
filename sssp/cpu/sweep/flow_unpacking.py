"""Unpack flows: pass the flow on every shortcut down to arcs of the graph.

A chordal arc whose basic weight is that of an arc of the graph is passed over that arc. Every other
one has a triangle below it whose two sides add up to its weight, to the bit, for that sum made it
(`sssp.cpu.sweep.customization`). The first such triangle counts. Its sides lead from a lower rank,
so one pass from the top hands on all flows. Paths of single trips are found without shortcuts: by
`paths_kernel` in `sssp.cpu.sweep.sweeps`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.cpu.sweep.customization import Customization, arcs_of
from sssp.graph.csr import spread
from sssp.kernels.dtypes import INDEX, Number
from sssp.kernels.jit import njit
from sssp.order.prepared_map import PreparedMap
from sssp.order.structure import NO_SLOT, Structure

ONE, TWO = np.uint64(1), np.uint64(2)


@njit
def _split_shortcut_flow(slot, left, right, flow, sides):
    """Move a shortcut's flow to the two lower arcs of its triangle."""
    flow[left] += flow[slot]
    flow[right] += flow[slot]
    flow[slot] = 0.0
    if sides is not None:
        sides[slot, 0], sides[slot, 1] = left, right


@njit
def _unpack_kernel(
    low, high, first, upper, lower_first, lower, rest, basic, street_of, arc_weights, flow, on_arc,
    sides, above, marks,
):  # fmt: skip
    """Unpack flow on chordal arcs whose lower end has rank low..high-1, from the highest down.

    Arguments
    ---------
    first, upper, lower_first, lower, rest : of the structure, unsigned
    basic : shape (2 c,), basic weights
    street_of, arc_weights : the arc of the graph on every directed chordal arc, and its weight
    flow : shape (2 c,); of shortcuts it becomes 0
    on_arc : shape (m,), written: the flow of arcs of the graph
    sides : shape (2 c, 2), written of shortcuts; or None
    above, marks : shape (n,), of one worker: where the arc to every rank above is, and for which
        rank that was written down; scratch

    In a triangle v is the lowest rank, x the middle and y the highest. `below` is the arc between v
    and x, `other` the one between v and y, `above[y]` the one between x and y, which has the flow.
    An arc e has slot 2 e upward and 2 e + 1 downward. With `up` = 2 above[y], `far` = 2 other:

    ==== ==================== ============================ ========================
    back shortcut             side between x and v         side between v and y
    ==== ==================== ============================ ========================
    0    from x to y: up      from x to v: 2 below + 1     from v to y: far
    1    from y to x: up + 1  from v to x: 2 below         from y to v: far + 1
    ==== ==================== ============================ ========================

    So the side at y goes the same way as the shortcut, up or down, and that at x the other way:
    2 below + 1 - back.
    """
    number = basic.dtype.type
    x = np.uint64(high)
    while x > np.uint64(low):
        x -= ONE
        waiting = 0
        for arc in range(first[x], first[x + ONE]):
            for slot in range(TWO * arc, TWO * arc + TWO):
                if flow[slot] != 0:
                    street = street_of[slot]
                    if street >= 0 and arc_weights[street] == basic[slot]:
                        on_arc[street] = flow[slot]
                    else:
                        waiting += 1
                        above[upper[arc]], marks[upper[arc]] = arc, x
        k = lower_first[x]
        while waiting > 0 and k < lower_first[x + ONE]:
            below = np.uint64(lower[k])
            climb, descent = basic[TWO * below], basic[TWO * below + ONE]
            for other in range(below + ONE, below + ONE + np.uint64(rest[k])):
                y = upper[other]
                if marks[y] == x:
                    up, far = TWO * np.uint64(above[y]), TWO * other
                    for back in range(np.uint64(2)):
                        slot = up + back
                        side = climb if back else descent
                        if flow[slot] != 0 and number(side + basic[far + back]) == basic[slot]:
                            street = street_of[slot]
                            if street < 0 or arc_weights[street] != basic[slot]:
                                _split_shortcut_flow(
                                    slot, TWO * below + ONE - back, far + back, flow, sides
                                )
                                waiting -= 1
            k += ONE


@njit
def _values_kernel(street_of, sides, flow, arc_values, values):
    """Sum `arc_values` along the unpacked path of each chordal arc that carries flow."""
    for slot in range(np.uint64(flow.size)):
        if sides[slot, 0] != NO_SLOT:
            values[slot] = values[sides[slot, 0]] + values[sides[slot, 1]]
        elif flow[slot] != 0:
            values[slot] = arc_values[street_of[slot]]


def street_of_slots(structure: Structure, slots: NDArray[np.uint32]) -> NDArray[np.int32]:
    """Return the graph's arc of every slot (directed chordal arc); -1 where there is none."""
    street_of, arcs = np.full(2 * structure.upper.size, -1, INDEX), np.flatnonzero(slots != NO_SLOT)
    street_of[slots[arcs]] = arcs
    return street_of


def _basic_weights(prepared: PreparedMap, dtype: Number, threads: int) -> NDArray[Any]:
    """Return a copy of a map's weights after basic customization, two per chordal arc."""
    metric, structure = prepared._layered(dtype), prepared._structure
    whole, layer = metric.whole, metric.layer
    if whole is not None:
        with whole.lock:  # (a change writes there)
            if not whole.is_changing:
                basic: NDArray[Any] = whole.basic.copy()
                begins = 2 * structure.first[layer.ranks]
                slots = spread(begins, 2 * structure.first[layer.ranks + 1] - begins)
                basic[slots] = layer.weights[0]
                return basic
    weights = prepared.graph.weights_as(dtype)
    work = Customization(structure, prepared._slots, weights, dtype, threads)
    work.find_basic(prepared._weight_range.least < 0)
    return work.weights


def unpack(
    version: PreparedMap,
    dtype: Number,
    street_of: NDArray[np.int32],
    flow: NDArray[np.float64],
    threads: int,
    sides: NDArray[np.uint32] | None = None,
) -> NDArray[np.float64]:
    """Return the flow on the graph's arcs, unpacked from the flow on chordal arcs.

    Parameters
    ----------
    version : PreparedMap
        Whose weights the flow went by, in this dtype.
    dtype : dtype
    street_of : ndarray, shape (2 c,)
        Of `street_of_slots`.
    flow : ndarray, shape (2 c,), float64
        Of every chordal arc, up and down; changed.
    threads : int
    sides : ndarray, shape (2 c, 2), uint32, optional
        Gets the two that each shortcut with flow stands for.
    """
    structure, weights = version._structure, version.graph.weights_as(dtype)
    basic = _basic_weights(version, dtype, threads)
    on_arc, n = np.zeros(weights.size), structure.order.size
    arcs = arcs_of(structure)

    def hand_on(low: int, high: int, scratch: NDArray[np.uint32]) -> None:
        _unpack_kernel(low, high, *arcs, basic, street_of, weights, flow, on_arc, sides, *scratch)

    def make_scratch() -> NDArray[np.uint32]:
        return np.full((2, n), n, np.uint32)

    structure.tasks.run(hand_on, structure.threads_for(threads), make_scratch, downward=True)
    return on_arc


def sum_over_shortcuts(
    street_of: NDArray[np.int32],
    sides: NDArray[np.uint32],
    flow: NDArray[np.float64],
    arc_values: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Sum each row of `arc_values` along the unpacked path of every chordal arc with flow."""
    values = np.zeros((len(arc_values), flow.size))
    for own, sums in zip(arc_values, values, strict=True):
        _values_kernel(street_of, sides, flow, own, sums)
    return values
