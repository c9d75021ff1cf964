"""A plugin for pytest: count what each function of the backend answers, and what it hands back.

It runs in the process of NetworkX's tests, and writes a JSON file to the path that the environment
variable ``SSSP_NX_COUNTS`` names: ``{"answered": {name: calls}, "handed back": {name: calls}}``.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

from sssp.apps.networkx import backend
from sssp.apps.networkx.info import FUNCTIONS

answered: Counter[str] = Counter()
handed_back: Counter[str] = Counter()


def counted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            answer = function(*args, **kwargs)
        except NotImplementedError:
            handed_back[name] += 1
            raise
        answered[name] += 1
        return answer

    return call


def pytest_configure(config: pytest.Config) -> None:
    for name in FUNCTIONS:
        setattr(backend, name, counted(name, getattr(backend, name)))


def pytest_sessionfinish(session: pytest.Session) -> None:
    counts = {"answered": answered, "handed back": handed_back}
    Path(os.environ["SSSP_NX_COUNTS"]).write_text(json.dumps(counts), encoding="utf-8")
