"""Slots that take turns, so that a turn takes one barrier.

What threads count in one turn, they read in the next, and the turn after that must find zero. With
three slots the one that is cleared is read by nobody and counted in by nobody.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numba import uint32

from sssp.cuda.compiler import inline

SLOTS = 3


class Slots(NamedTuple):
    """Three places in an array, by what this turn does with them.

    Attributes
    ----------
    now : uint32
        What the last turn left: only read.
    after : uint32
        What the next turn will read: filled.
    before : uint32
        What the last turn read: cleared, to be filled in the next turn.
    """

    now: Any
    after: Any
    before: Any


@inline
def slots_of(turn, first):
    """Slots of a turn by its number; the three stand side by side from place `first` on."""
    return Slots(
        uint32(first + turn % SLOTS),
        uint32(first + (turn + 1) % SLOTS),
        uint32(first + (turn + 2) % SLOTS),
    )


@inline
def rotate(slots):
    """Slots of the turn after that of `slots`."""
    return Slots(slots.after, slots.before, slots.now)
