"""Arguments that commands share which search: method, device, limit; and what is negative."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from sssp.apps.terminal.arguments import one_method
from sssp.apps.terminal.table_files import labelled
from sssp.errors import NegativeCycleError, NegativeWeightError, join_briefly, plain_digits
from sssp.methods import METHODS

if TYPE_CHECKING:
    from sssp.graph.graph import Graph

#: vertices of a negative cycle that a message holds
SHOWN_VERTICES = 20
#: limit of bands: whatever is below, arrays of int64 or float64 hold
GREATEST = (1 << 63) - 1


def add_search(parser: argparse.ArgumentParser, methods: Mapping[str, type[Any]] = METHODS) -> None:
    """Declare ``--method`` and ``--device``."""
    parser.add_argument(
        "--method",
        type=partial(_method_or_auto, known=methods),
        default="auto",
        metavar="NAME",
        help=f"auto, {', '.join(methods)}; options follow a colon, as in "
        "delta-stepping:delta=5000 (default auto)",
    )
    parser.add_argument(
        "--device", default="auto", help="auto, cpu, cuda, cuda:N or cuda:all (default auto)"
    )


def add_limit(parser: argparse.ArgumentParser, *, help: str) -> None:
    """Declare ``--limit``; `help` says what becomes of what lies beyond."""
    parser.add_argument("--limit", type=_distance, metavar="D", help=help)


def add_limits(parser: argparse.ArgumentParser, *, required: bool = False, help: str) -> None:
    """Declare ``--limits``, those of bands."""
    parser.add_argument("--limits", type=_limits, required=required, metavar="A,B,...", help=help)


@contextmanager
def negatives_named(g: Graph) -> Iterator[None]:
    """Tell what is negative in the file's own numbers; the errors count vertices from 0."""
    try:
        yield
    except (NegativeCycleError, NegativeWeightError) as error:
        raise type(error)(_negative(g, error)) from error


def _negative(g: Graph, error: NegativeCycleError | NegativeWeightError) -> str:
    import numpy as np

    if isinstance(error, NegativeCycleError):
        cycle = np.array([*error.cycle, error.cycle[0]])
        names = map(str, labelled(g.labels, cycle[: SHOWN_VERTICES + 1]))
        return (
            "a cycle of negative length is reached, so distances have no lower bound; its "
            f"{cycle.size - 1:,} vertices are {join_briefly(names, ' -> ')}"
            f"{' ...' * (cycle.size > SHOWN_VERTICES + 1)}"
        )
    arc = int(np.argmin(g.weights))
    tail, head = labelled(g.labels, np.array([g.tails[arc], g.indices[arc]]))
    ends = join_briefly([str(tail), str(head)], " -> ")
    return (
        f"the arc {ends} weighs {g.weights[arc]}, below zero, "
        "which this method does not take; bellman-ford does"
    )


def _method_or_auto(text: str, known: Mapping[str, type[Any]]) -> Any:
    return text if text == "auto" else one_method(text, known)


def _distance(text: str) -> int | float:
    number: int | float
    try:
        try:
            number = int(plain_digits(text))
        except ValueError:
            number = float(plain_digits(text))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not number >= 0:
        raise argparse.ArgumentTypeError(f"{text} is not a number from 0 on")
    # what no float holds, nothing is as far as
    return number if number <= sys.float_info.max else math.inf


def _limits(text: str) -> list[int | float]:
    try:
        limits = sorted(set(map(_distance, text.split(","))))
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(f"{error}; several go as 2000,4000") from None
    if limits[-1] > GREATEST:
        raise argparse.ArgumentTypeError(f"{text}: no distance is as great as {limits[-1]}")
    return limits
