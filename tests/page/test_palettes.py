"""Colours of the page and of pictures, as colour-blind people see them.

G. M. Machado, M. M. Oliveira and L. A. F. Fernandes, A physiologically-based model for simulation
of color vision deficiency, IEEE TVCG 2009: matrices of linear light at full severity.
"""

from __future__ import annotations

import re
from importlib.resources import files
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from sssp.graph import drawing

Array = np.ndarray[Any, np.dtype[np.float64]]

SIGHT = {
    "usual": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.01182, 0.04294, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.3039],
        ]
    ),
}
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = np.array([0.9505, 1.0, 1.089])
#: steps of CIELAB that are told apart at a glance, on lines and pins of some pixels
APART = 12
SCRIPT = (files("sssp.apps.page") / "static" / "page.js").read_text(encoding="utf-8")


def lab(colors: Any, sight: str) -> Array:
    """Return colours, of numbers from 0 to 1, in CIELAB as somebody sees them."""
    rgb = np.atleast_2d(np.asarray(colors, float))[:, :3]
    light = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    xyz = np.clip(light @ SIGHT[sight].T, 0, 1) @ XYZ.T / WHITE
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], 1)


def parsed(text: str) -> Array:
    return np.array([[int(one[i : i + 2], 16) / 255 for i in (0, 2, 4)] for one in text.split()])


def named(name: str) -> str:
    """Return a text of colours in the script of the page, in hexadecimal digits."""
    found = re.search(rf'\b{name}\b\s*[:=]\s*"#?([0-9a-f ]+)"', SCRIPT)
    assert found, name
    return found[1]


def scales() -> dict[str, Array]:
    pytest.importorskip("matplotlib")
    names = re.search(r"const PALETTES = \{(.*?)\};", SCRIPT, re.DOTALL)
    assert names
    found = {name: parsed(named(name)) for name in re.findall(r"(\w+):", names[1])}
    assert len(found) >= 2
    return found | {"pictures": drawing.scale_of_distances(None)(np.linspace(0, 1, 17))}


@pytest.mark.parametrize("sight", SIGHT)
def test_scales_grow_lighter_all_the_way(sight: str) -> None:
    for name, colors in scales().items():
        lightness = lab(colors, sight)[:, 0]
        steps = np.diff(lightness)
        assert (steps > 0).all() or (steps < 0).all(), name
        assert np.ptp(lightness) > 40, name


@pytest.mark.parametrize("sight", SIGHT)
def test_pins_are_told_apart(sight: str) -> None:
    pins = lab(parsed(named("PIN_COLORS")), sight)
    assert min(np.linalg.norm(a - b) for a, b in combinations(pins, 2)) > APART


@pytest.mark.parametrize("sight", SIGHT)
def test_routes_are_told_from_other_ways(sight: str) -> None:
    route, other = (lab(parsed(named(name)), sight) for name in ("ROUTE", "OTHER"))
    assert np.linalg.norm(route - other) > 2 * APART


@pytest.mark.parametrize("sight", SIGHT)
def test_a_path_is_told_from_the_scale_below_it(sight: str) -> None:
    path = lab(parsed(drawing.PATH_COLOR.removeprefix("#")), sight)
    for name, colors in scales().items():
        assert np.linalg.norm(lab(colors, sight) - path, axis=1).min() > APART, name
