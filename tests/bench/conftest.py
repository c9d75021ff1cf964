"""A clock for the tests of the bench: what they see must not depend on how busy the machine is."""

from __future__ import annotations

from itertools import count

import pytest

from bench import listing
from sssp.bench import workloads

#: seconds from one look at the clock to the next
TICK = 0.001


@pytest.fixture(autouse=True)
def steady_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make everything that is timed in this process take `TICK` seconds, whatever it takes."""
    ticks = count()
    for module in (listing, workloads):
        monkeypatch.setattr(module, "perf_counter", lambda: TICK * next(ticks))
