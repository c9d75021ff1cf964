"""SciPy's own tests of shortest paths, on `sssp.csgraph`."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any

import pytest

from sssp import csgraph

try:
    theirs = import_module("scipy.sparse.csgraph.tests.test_shortest_path")
except ImportError:
    pytest.skip("this SciPy is installed without its tests", allow_module_level=True)

#: how often SciPy's tests in this process have called each function of ours
CALLS: Counter[str] = Counter()


def counted(name: str) -> Any:
    function = getattr(csgraph, name)
    if isinstance(function, type):
        return function

    @wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        CALLS[name] += 1
        return function(*arguments, **options)

    return call


REPLACED = [name for name in csgraph.__all__ if hasattr(theirs, name)]
for name in REPLACED:
    setattr(theirs, name, counted(name))
THEIR_TESTS: dict[str, Callable[..., None]] = {
    name: test for name, test in vars(theirs).items() if name.startswith("test_")
}
globals().update(THEIR_TESTS)


def test_they_are_all_here_and_call_every_function_in_place_of_scipys():
    assert len(THEIR_TESTS) >= 20
    # those of another process do not count here
    for test in THEIR_TESTS.values():
        if not inspect.signature(test).parameters:
            test()
    assert {"shortest_path", "dijkstra", "bellman_ford", "johnson"} <= set(REPLACED)
    for name in REPLACED:
        function = getattr(theirs, name)
        assert inspect.unwrap(function) is getattr(csgraph, name)
        assert isinstance(function, type) or CALLS[name] > 0, name
