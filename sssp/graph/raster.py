"""Lines as an image: what a drawing library takes minutes for, in one pass over the lines.

A line leaves ink on the pixels that it passes, in proportion to its length and width there; a
pixel gets the mean colour of its ink, and is as opaque as it has ink. So an image does not depend
on the order of the lines, and shows where they are dense even when they are much thinner than a
pixel.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.graph.csr import seal
from sssp.kernels.jit import njit

Array = NDArray[Any]

#: red, green, blue, and how much ink there is
CHANNELS = 4
#: pixels around an image that a line through its edge may still touch
EDGE = 2


@njit
def _clip(start, step, least, most, begin, end):
    """Cut the part of ``start + t * step`` within bounds out of ``begin <= t <= end``.

    One side of the algorithm of Liang and Barsky (1984); nothing is left where ``begin > end``.
    """
    if step == 0.0:
        return (begin, end) if least <= start <= most else (1.0, 0.0)
    near, far = (least - start) / step, (most - start) / step
    return max(begin, min(near, far)), min(end, max(near, far))


@njit
def _drop(ink, x, y, red, green, blue, amount):
    """Share a drop of ink among the four pixels around a point, by how near they are."""
    column, row = math.floor(x), math.floor(y)
    right, below = x - column, y - row
    for down in range(2):
        for across in range(2):
            part = amount * (right if across else 1 - right) * (below if down else 1 - below)
            pixel = ink[row + down, column + across]
            pixel[0] += part * red
            pixel[1] += part * green
            pixel[2] += part * blue
            pixel[3] += part


@njit
def _ink_kernel(points, tails, heads, shades, colors, widths, west, north, across, down, edge, ink):
    """Draw lines, each as strands side by side no wider than a pixel.

    Parameters
    ----------
    points : float64 (n, 2)
        Where vertices are.
    tails, heads : int32 (k,)
        Ends of the lines.
    shades : uint8 (k,)
        Rows of `colors` and `widths`.
    colors : float64 (p, 4)
        Red, green, blue, opacity.
    widths : float64 (p,)
        In pixels.
    west, north, across, down : float64
        The corner of the image, and pixels for each unit to the east and to the south.
    edge : int
        How many pixels more than the image `ink` has on every side.
    ink : float32 (height + 2 edge, width + 2 edge, 4)
        Sums of ink times colour, and of ink; written.
    """
    bottom, right = ink.shape[0] - 2 * edge + 1.0, ink.shape[1] - 2 * edge + 1.0
    for i in range(tails.size):
        tail, head, shade = tails[i], heads[i], shades[i]
        x, y = (points[tail, 0] - west) * across, (north - points[tail, 1]) * down
        dx = (points[head, 0] - west) * across - x
        dy = (north - points[head, 1]) * down - y
        begin, end = _clip(x, dx, -1.0, right, 0.0, 1.0)
        begin, end = _clip(y, dy, -1.0, bottom, begin, end)
        if begin > end:
            continue
        whole = math.hypot(dx, dy)
        length = whole * (end - begin)
        if length == 0.0:
            continue
        drops = math.ceil(length)
        strands = math.ceil(widths[shade])
        amount = length / drops * widths[shade] / strands * colors[shade, 3]
        apart = widths[shade] / strands / whole
        for strand in range(strands):
            aside = (strand - (strands - 1) / 2) * apart
            for drop in range(drops):
                t = begin + (end - begin) * (drop + 0.5) / drops
                # the centre of a pixel is half a pixel from its corner
                _drop(
                    ink,
                    x + t * dx - aside * dy + edge - 0.5,
                    y + t * dy + aside * dx + edge - 0.5,
                    colors[shade, 0],
                    colors[shade, 1],
                    colors[shade, 2],
                    amount,
                )


def rasterize(
    points: Array,
    tails: Array,
    heads: Array,
    shades: Array,
    colors: Array,
    widths: Array,
    box: tuple[float, float, float, float],
    size: tuple[int, int],
) -> NDArray[np.float32]:
    """Return an image of straight lines.

    Parameters
    ----------
    points : ndarray of float64, shape (n, 2)
        Where vertices are.
    tails, heads : ndarray of int32, shape (k,)
        Ends of the lines; what lies outside of the box is left out.
    shades : ndarray of uint8, shape (k,)
        Row of `colors` and `widths` of each line.
    colors : ndarray of float64, shape (p, 4)
        Red, green, blue and opacity, 0 to 1.
    widths : ndarray of float64, shape (p,)
        In pixels.
    box : west, east, south, north
        What the image shows, in units of the points.
    size : width, height
        In pixels.

    Returns
    -------
    ndarray of float32, shape (height, width, 4)
        Red, green, blue and opacity, 0 to 1; the northmost row first. O(k + pixels under lines)
        time.
    """
    west, east, south, north = box
    width, height = size
    edge = EDGE + math.ceil(widths.max(initial=0) / 2)
    ink = np.zeros((height + 2 * edge, width + 2 * edge, CHANNELS), np.float32)
    scale = width / (east - west), height / (north - south)
    inputs = map(seal, (points, tails, heads, shades, colors, widths))
    _ink_kernel(*inputs, west, north, *scale, edge, ink)
    image = ink[edge : edge + height, edge : edge + width]
    opacity = image[..., 3]
    # pixels without ink get the mean colour, so that resampling the image leaves no dark fringes
    total = opacity.sum(dtype=np.float64)
    mean = image[..., :3].sum(axis=(0, 1), dtype=np.float64) / total if total else np.ones(3)
    inked = opacity > 0
    colored = np.empty_like(image)
    colored[..., :3] = mean
    np.divide(image[..., :3], opacity[..., None], out=colored[..., :3], where=inked[..., None])
    np.minimum(colored[..., :3], 1, out=colored[..., :3])
    np.minimum(opacity, 1, out=colored[..., 3])
    return colored
