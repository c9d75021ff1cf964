"""What the scripts share: graphs to measure on, a table to read, and a record of it as JSON."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, is_dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import sssp
from sssp import datasets
from sssp.bench.machine import hardware, versions
from sssp.bench.report import SCHEMA
from sssp.kernels.jit import njit

__all__ = [
    "Record",
    "installed",
    "options_of",
    "percolated_grid",
    "random_graph",
    "real_graph",
]

PACKAGES = ("numpy", "numba", "numba-cuda")
#: of random graphs
SEED = 1
#: weights of random graphs are drawn from 1 up to, but without, this
GREATEST = 1000
#: weights are drawn from this up to, but without, that
LIGHTEST, END = 100, 2000


@njit
def _percolated_arcs_kernel(
    width: int, height: int, share: float, seed: int, tails: Any, heads: Any, weights: Any
) -> int:
    """Keep each arc to the right and each arc down with probability `share`; return how many."""
    # the legacy generator, for the figures of other programs were taken on what it gives
    np.random.seed(seed)  # noqa: NPY002
    count = 0
    for vertex in range(width * height):
        right, down = vertex % width + 1 < width, vertex // width + 1 < height
        for head, exists in ((vertex + 1, right), (vertex + width, down)):
            if exists and np.random.random() < share:  # noqa: NPY002
                tails[count], heads[count] = vertex, head
                weights[count] = np.random.randint(LIGHTEST, END)  # noqa: NPY002
                count += 1
    return count


def percolated_grid(width: int, height: int, *, share: float = 0.62, seed: int = 1) -> sssp.Graph:
    """Return the largest component of a grid of which some arcs are left out.

    Like a road network it has few arcs a vertex (2.6), all both ways, and dead ends; like none
    it has no faster roads.

    Parameters
    ----------
    width, height : int
        Vertices of the grid.
    share : float
        Probability of an arc to be kept.
    seed : int
        The same seed gives the same graph.

    Returns
    -------
    Graph
        Labels are places in the grid, row by row; weights are integers from 100 to 1999.
    """
    size = 2 * width * height
    arcs: list[Any] = [np.empty(size, np.int32) for _ in range(3)]
    count = _percolated_arcs_kernel(width, height, share, seed, *arcs)
    tails, heads, weights = (part[:count] for part in arcs)
    whole = sssp.Graph.from_arcs(tails, heads, weights, n=width * height, directed=False)
    return whole.largest_component()


def random_graph(n: int, degree: int) -> sssp.Graph:
    """Return a graph with `degree` arcs a vertex between random ends, less self-loops and twins."""
    random = np.random.default_rng(SEED)
    tails, heads = random.integers(0, n, (2, degree * n))
    return sssp.Graph.from_arcs(tails, heads, random.integers(1, GREATEST, tails.size), n=n)


def real_graph(name: str) -> sssp.Graph | None:
    """Read a published graph; None, and a line on stderr, if it is not on this machine."""
    path = datasets.find(name)
    if path is None:
        print(f"{name} is not here; data/README.md says where to get it", file=sys.stderr)
        return None
    return sssp.read_graph(path)


def installed(packages: Sequence[str]) -> list[str]:
    """Return those that have a version to report."""
    here = {distribution.name for distribution in metadata.distributions()}
    return [package for package in packages if package in here]


# -- tables and records ------------------------------------------------------------------------


def options_of(description: str | None) -> argparse.ArgumentParser:
    """Return a parser with the options that all scripts have, described by their docstring."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=description, formatter_class=form)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures there")
    return parser


class Record:
    """What a script measures, from its start on: a table line by line, and JSON.

    The fields of the file are named as in that of ``python -m sssp.bench --json``: versions and
    commit, processor, GPU and driver among them.

    Parameters
    ----------
    settings : dict
        How it is measured: clock, number of runs and the like.
    columns : sequence of str
        Headings of the table, which is Markdown.

    Attributes
    ----------
    rows : list of dict
        The figures so far.
    """

    def __init__(self, settings: dict[str, Any], columns: Sequence[str]) -> None:
        self.settings = settings
        self.rows: list[dict[str, Any]] = []
        self._started = datetime.now(UTC).isoformat(timespec="seconds")
        self._begun = perf_counter()
        _print_line(columns)
        _print_line(["---"] * len(columns))

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return perf_counter() - self._begun

    def add(self, figures: Sequence[Any], cells: Sequence[str]) -> None:
        """Keep figures, dataclasses or dicts, and print them as one line."""
        self.rows += [asdict(one) if is_dataclass(one) else one for one in figures]  # type: ignore[arg-type]
        _print_line(cells)

    def finish(self, file: Path | None) -> int:
        """Write everything to a file, if asked; return the exit code: 1 if a figure is wrong.

        Of some nobody has looked whether they are: they say None.
        """
        if file is not None:
            content = {
                "schema": SCHEMA,
                "command": ["python", *sys.orig_argv[1:]],
                "started": self._started,
                "versions": versions(installed(PACKAGES)),
                "hardware": hardware(["cuda"]),
                "settings": self.settings,
                "rows": self.rows,
            }
            file.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        return 0 if all(row.get("equal") in (None, True) for row in self.rows) else 1


def _print_line(cells: Sequence[str]) -> None:
    print(f"| {' | '.join(cells)} |", flush=True)
