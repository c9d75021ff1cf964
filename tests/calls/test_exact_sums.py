"""Sums of integers that are added up in halves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sssp
from sssp.engine.exact_sums import join_parts

COUNTS = st.integers(1, 1 << 20)
INT64S = st.integers(-(1 << 63), (1 << 63) - 1)


@given(st.lists(st.tuples(INT64S, COUNTS), max_size=5))
def test_halves_are_joined_as_integers_are_added(parts):
    # (so often each: the sum of the lower halves passes 32 bits, that of the upper ones too)
    halves = [((number >> 32) * times, (number & 0xFFFFFFFF) * times) for number, times in parts]
    sums = [number * times for number, times in parts]
    odd = [total for total in sums if not -(1 << 63) <= total < 1 << 63]
    array = np.array(halves, np.int64).reshape(len(parts), 1, 2)
    if odd:
        with pytest.raises(
            sssp.DistanceOverflowError, match=f"a sum of distances is {odd[0]}, which"
        ):
            join_parts([array[..., 0], array[..., 1]], "distances")
    else:
        found = join_parts([array[..., 0], array[..., 1]], "distances")
        assert found.dtype == np.int64
        assert found.tolist() == [[total] for total in sums]


@pytest.mark.parametrize("extreme", [-(1 << 63), (1 << 63) - 1, 0, -1, 1 << 32, -(1 << 32)])
def test_the_ends_of_int64_fit_and_no_more(extreme):
    def halves(number):
        return [np.array([number >> 32]), np.array([number & 0xFFFFFFFF])]

    assert join_parts(halves(extreme), "volumes").tolist() == [extreme]
    if extreme in (-(1 << 63), (1 << 63) - 1):
        beyond = extreme + (1 if extreme > 0 else -1)
        with pytest.raises(sssp.DistanceOverflowError, match=f"{beyond}, which does not fit int64"):
            join_parts(halves(beyond), "volumes")
