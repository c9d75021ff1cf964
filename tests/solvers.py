"""Every solver that there is: a method with its options, on a device. One suite asks them all.

A test takes ``solver``, parametrised by `every_solver`, or ``device``, parametrised by
`every_device`, and then asks `solvers_on` that device. Those on a GPU carry the mark ``gpu``; they
run in Numba's simulator too, on tiny graphs, and are skipped with the reason where neither is.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sssp
from sssp.bench.papers.baselines import BaselineBellmanFord, BaselineDijkstra
from sssp.methods import METHODS, Method

__all__ = [
    "MANY",
    "SIMULATOR",
    "SOLVERS",
    "Solver",
    "asked_of",
    "draw_and_ask",
    "every_device",
    "every_solver",
    "needs_speed",
    "parametrize",
    "solvers_on",
]

SIMULATOR = os.environ.get("NUMBA_ENABLE_CUDASIM") == "1"
DEVICES = ("cpu", "cuda")
#: options beside the default ones, by method and device
VARIANTS: dict[tuple[str, str], list[Method]] = {
    ("delta-stepping", "cpu"): [sssp.DeltaStepping(delta=1), sssp.DeltaStepping(delta=1e6)],
    ("delta-stepping", "cuda"): [sssp.DeltaStepping(delta=1), sssp.DeltaStepping(delta=1e6)],
    ("threshold-dijkstra", "cpu"): [sssp.ThresholdDijkstra(criterion="in-out")],
    ("threshold-dijkstra", "cuda"): [sssp.ThresholdDijkstra(criterion="in-out")],
    ("bellman-ford", "cuda"): [sssp.BellmanFord(variant="pull"), sssp.BellmanFord(streams=2)],
}
#: sources beyond those that all blocks of a GPU search together
MANY = 5
#: a test on a GPU is worth so many times the examples of one on a CPU, as it hunts races too
ON_A_GPU = 8
IN_THE_SIMULATOR = 1 / 50
#: examples of a test in the default profile
USUAL = 100

needs_speed = pytest.mark.skipif(
    SIMULATOR, reason="the simulator runs a few thousand threads a second"
)


@dataclass(frozen=True)
class Solver:
    """A method on a device; called as `sssp.shortest_paths` is."""

    method: Method
    device: str

    def __call__(self, g: sssp.Graph, sources: Any, **options: Any) -> sssp.ShortestPaths:
        return sssp.shortest_paths(g, sources, method=self.method, device=self.device, **options)

    @property
    def weighted(self) -> bool:
        return self.method.weighted

    @property
    def negative_weights(self) -> bool:
        return self.method.negative_weights

    @property
    def any_floats(self) -> bool:
        """Whether weights may be far apart: buckets of a fixed width could not be numbered."""
        return getattr(self.method, "delta", None) is None

    def __str__(self) -> str:
        usual = type(self.method)()
        changed = (
            f"{field.name}={getattr(self.method, field.name)}"
            for field in fields(self.method)
            if getattr(self.method, field.name) != getattr(usual, field.name)
        )
        return "-".join([self.method.name, *changed, self.device])


KINDS: list[type[Method]] = [*METHODS.values(), BaselineDijkstra, BaselineBellmanFord]
SOLVERS = [
    Solver(method, device)
    for device in DEVICES
    for kind in KINDS
    if device in kind.solvers
    for method in [kind(), *VARIANTS.get((kind.name, device), [])]
    # widths of a bucket have no kernels of their own
    if device == "cpu" or not SIMULATOR or getattr(method, "delta", None) is None
]


def solvers_on(device: str, **wanted: bool) -> list[Solver]:
    """Return the solvers on a device that have all these properties."""
    return [s for s in chosen(wanted) if s.device == device]


def chosen(wanted: dict[str, bool]) -> Iterator[Solver]:
    for solver in SOLVERS:
        if all(getattr(solver, name) == value for name, value in wanted.items()):
            yield solver


def parametrize(solvers: Iterable[Solver]) -> pytest.MarkDecorator:
    """Run a test that takes ``solver`` with each of these."""
    params = [pytest.param(solver, marks=marks_of(solver.device)) for solver in solvers]
    return pytest.mark.parametrize("solver", params, ids=str, indirect=True)


def every_solver(**wanted: bool) -> pytest.MarkDecorator:
    """Run a test that takes ``solver`` with all that have these properties."""
    return parametrize(chosen(wanted))


def marks_of(device: str) -> list[pytest.MarkDecorator]:
    return [] if device == "cpu" else [pytest.mark.gpu]


#: runs a test that takes ``device`` with each of them
every_device = pytest.mark.parametrize(
    "device", [pytest.param(device, marks=marks_of(device)) for device in DEVICES], indirect=True
)


def draw_and_ask(
    device: str, strategy: st.SearchStrategy[Any], check: Callable[[Any], None], examples: int
) -> None:
    """Call `check` with examples of a strategy: as many as suit the device and the profile."""
    worth = 1.0 if device == "cpu" else IN_THE_SIMULATOR if SIMULATOR else ON_A_GPU
    profile = settings().max_examples / USUAL

    @settings(max_examples=max(1, round(examples * worth * profile)))
    @given(strategy)
    def ask(question: Any) -> None:
        check(question)

    ask()


@contextmanager
def asked_of(solver: Solver) -> Iterator[None]:
    """Name the solver in whatever goes wrong."""
    try:
        yield
    except Exception as error:
        error.add_note(f"asked of {solver}")
        raise
