"""A page that is served while a test runs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import sssp
from sssp.apps.page.explore import make_server
from sssp.apps.page.server import PageServer


@contextmanager
def serving(network: Any, **options: Any) -> Iterator[PageServer]:
    """Serve a map until the block ends."""
    server = make_server(network, **options)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(scope="module")
def server() -> Iterator[PageServer]:
    """The page of a small town."""
    with serving(sssp.road_like(300, seed=4), name="town") as server:
        yield server
