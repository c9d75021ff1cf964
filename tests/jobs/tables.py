"""Tables that jobs write, and how to look at them."""

from __future__ import annotations

import pickle
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import numpy as np

import sssp

__all__ = ["Elsewhere", "contents_of", "ring_with_chords"]


def ring_with_chords(n: int, labels: Any = None) -> sssp.Graph:
    """Strongly connected, all weights different."""
    random = np.random.default_rng(n)
    ring = np.arange(n)
    tails = np.concatenate([ring, random.integers(0, n, n)])
    heads = np.concatenate([(ring + 1) % n, random.integers(0, n, n)])
    return sssp.Graph.from_arcs(tails, heads, random.permutation(2 * n), n=n, labels=labels)


def contents_of(table: Path) -> dict[str, bytes]:
    """Return the bytes of all files of a table, by name."""
    files = sorted(path for path in table.rglob("*") if path.is_file())
    return {str(path.relative_to(table)): path.read_bytes() for path in files}


class Elsewhere(Executor):
    """An executor whose worker knows nothing of this process but what travels, and the disk.

    Parameters
    ----------
    fails_after : int, optional
        Calls that it makes before one fails.
    """

    def __init__(self, fails_after: int | None = None) -> None:
        self.calls, self.fails_after = 0, fails_after

    def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        function, args = pickle.loads(pickle.dumps((function, args)))
        try:
            if self.calls == self.fails_after:
                raise KeyboardInterrupt
            self.calls += 1
            future.set_result(function(*args))
        except BaseException as error:
            future.set_exception(error)
        return future
