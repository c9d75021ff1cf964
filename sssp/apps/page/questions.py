"""Questions of the page: texts from the network, checked before anything else sees them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sssp.errors import VertexError

#: pins that one question may name, and streets that it may close
MOST_SOURCES, MOST_CLOSED = 1000, 1000
#: how many times longer traffic may make the streets of a class
FACTORS = (0.25, 10.0)
#: characters of what was sent that a message holds
SHOWN = 40


@dataclass(frozen=True)
class Sizes:
    """How many vertices, streets and classes of streets there are to name."""

    vertices: int
    streets: int
    classes: int


@dataclass(frozen=True)
class Question:
    """A question to the map, in the numbers of the page.

    Attributes
    ----------
    sources : tuple of int
        Vertices; of several the nearest counts.
    target : int or None
        Where a route leads.
    closed : tuple of int
        Streets, ascending, none twice.
    traffic : tuple of float
        A factor for the weights of every class of streets.
    by_source : bool
        Whether to colour by the nearest source instead of by distance.
    """

    sources: tuple[int, ...]
    target: int | None = None
    closed: tuple[int, ...] = ()
    traffic: tuple[float, ...] = field(default=())
    by_source: bool = False


def parse_fields(body: bytes) -> dict[str, Any]:
    """Return the object that a body of JSON holds; ValueError if it holds none."""
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        raise ValueError("the body is not JSON") from None
    if not isinstance(fields, dict):
        raise ValueError("the body is not an object of JSON")
    return fields


def parse_question(fields: dict[str, Any], sizes: Sizes) -> Question:
    """Return the question in an object of JSON; refuse what is not on the map, or too much."""
    unknown = set(fields) - {"sources", "target", "closed", "traffic", "by_source"}
    if unknown:
        raise ValueError(f"nothing is called {min(unknown)!r}")
    sources = _list(fields, "sources", MOST_SOURCES)
    if not sources:
        raise ValueError("sources must name a vertex")
    target = fields.get("target")
    by_source = fields.get("by_source", False)
    if not isinstance(by_source, bool):
        raise ValueError("by_source must be true or false")
    return Question(
        tuple(_vertex(value, sizes) for value in sources),
        None if target is None else _vertex(target, sizes),
        tuple(sorted({_street(value, sizes) for value in _list(fields, "closed", MOST_CLOSED)})),
        _traffic(_list(fields, "traffic", sizes.classes), sizes),
        by_source,
    )


def _list(fields: dict[str, Any], name: str, most: int) -> Sequence[Any]:
    values = fields.get(name, [])
    if not isinstance(values, list):
        raise ValueError(f"{name} must be a list")
    if len(values) > most:
        raise ValueError(f"{name} may name {most}, not {len(values)}")
    return values


def _number(value: Any, count: int, what: str, error: type[ValueError | VertexError]) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < count:
        raise error(f"{_shorten(value)} is not a {what}: they are 0..{count - 1}")
    return value


def _vertex(value: Any, sizes: Sizes) -> int:
    return _number(value, sizes.vertices, "vertex", VertexError)


def _street(value: Any, sizes: Sizes) -> int:
    return _number(value, sizes.streets, "street", ValueError)


def _traffic(values: Sequence[Any], sizes: Sizes) -> tuple[float, ...]:
    if values and len(values) != sizes.classes:
        raise ValueError(f"traffic must have {sizes.classes} factors, not {len(values)}")
    low, high = FACTORS
    for value in values:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not (number and low <= value <= high):
            raise ValueError(f"{_shorten(value)} is not a factor from {low:g} to {high:g}")
    factors = tuple(map(float, values))
    # (nothing changes: the same as no factors)
    return () if set(factors) <= {1.0} else factors


def _shorten(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
