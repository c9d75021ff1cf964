"""Arguments of a launch are found by the names of a kernel's parameters, and arrive as given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sssp

compiler = pytest.importorskip("sssp.cuda.compiler", exc_type=sssp.MissingExtraError)

from sssp.cuda.availability import cuda, device_number  # noqa: E402
from sssp.cuda.compiler import bind, kernel  # noqa: E402
from sssp.cuda.sweep.customization import device_map  # noqa: E402
from sssp.kernels.dtypes import INT32  # noqa: E402

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("device")]


@kernel
def _subtract_kernel(minuend, subtrahend, difference):
    """Subtract."""
    i = cuda.grid(1)
    if i < difference.size:
        difference[i] = minuend[i] - subtrahend[i]


def test_the_order_of_arguments_is_that_of_the_parameters() -> None:
    five, three, out = (cuda.to_device(np.full(4, value)) for value in (5, 3, 0))
    _subtract_kernel[1, 4](
        *bind(_subtract_kernel, {"minuend": five}, difference=out, subtrahend=three)
    )
    assert out.copy_to_host().tolist() == [2] * 4
    _subtract_kernel[1, 4](
        *bind(_subtract_kernel, {"minuend": five, "other": out}, subtrahend=five, difference=out)
    )
    assert out.copy_to_host().tolist() == [0] * 4


@kernel
def _describe_kernel(array, plane, places, scale, is_open, found):
    """Write what a kernel sees of its arguments."""
    found[0], found[1], found[2] = array.size, plane.shape[0], plane.shape[1]
    found[3], found[4] = array[1], plane[1, 1]
    found[5] = places[0] + 10 * places[1]
    found[6] = scale
    found[7] = 1 if is_open else 0


@pytest.mark.parametrize("dtype", [np.int32, np.float64])
def test_each_launch_of_a_kernel_sees_its_own_arguments(dtype: Any) -> None:
    out = cuda.to_device(np.zeros(8))
    for times in range(3):  # (the first is Numba's own launch)
        for number in (np.int32(2), np.float32(2.5), np.float64(0.5), 7, 1.25):
            array = np.arange(5 + times, dtype=dtype)
            plane = np.arange(12, dtype=dtype).reshape(3, 4)[:, times:]
            places = np.int32(3), np.int64(times)
            is_open = times == 1
            there = cuda.to_device(array), cuda.to_device(plane.copy())
            _describe_kernel[1, 1](*there, places, number, is_open, out)
            expected = [5 + times, 3, 4 - times, 1, 5 + times, 3 + 10 * times, number, is_open]
            assert out.copy_to_host().tolist() == expected
            _subtract_kernel[1, 8](there[0], there[0][:3], out[:3])
            assert out.copy_to_host()[:3].tolist() == [0] * 3


def test_names_that_are_missing_or_unknown_are_named() -> None:
    with pytest.raises(TypeError, match=r"_subtract_kernel: no argument for 'subtrahend'$"):
        bind(_subtract_kernel, {"minuend": 1}, difference=2)
    with pytest.raises(TypeError, match="no parameter 'sum', no argument for 'difference'"):
        bind(_subtract_kernel, {"minuend": 1, "subtrahend": 2}, sum=3)


def test_two_arrays_of_a_tree_that_change_places_change_distances(device: str) -> None:
    h = sssp.prepare(sssp.road_like(60 if compiler.SIMULATOR else 5000, seed=1))
    flat = sssp.shortest_paths(h.graph, [5, 40], device="cpu").distances
    options: dict[str, Any] = {"device": device, "dtype": INT32}
    assert np.array_equal(sssp.shortest_paths(h, [5, 40], **options).distances, flat)
    arrays = device_map(h, INT32, device_number(device)).tree.arrays
    arrays["lowest"], arrays["highest"] = arrays["highest"], arrays["lowest"]
    # (other sources, and as many as no call before, so that nothing recorded is replayed)
    found = sssp.shortest_paths(h, [5, 40, 6], **options).distances
    assert not np.array_equal(found[:2], flat)
