"""NetworkX's own tests of shortest paths, closeness and distance measures, through the backend.

They run in a process of their own, as NetworkX lets a backend run them: every call is converted
and handed over, and goes on in NetworkX where the backend declines. Calls are counted, for a
backend that is never asked passes as well.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sssp.apps.networkx.info import FUNCTIONS
from tests.networkx.needs import needs_backend

ROOT = Path(__file__).resolve().parents[2]
SUITES = (
    "networkx.algorithms.shortest_paths",
    "networkx.algorithms.centrality.tests.test_closeness_centrality",
    "networkx.algorithms.tests.test_distance_measures",
)
#: one test of NetworkX asks one question about 500 random graphs, in two minutes; of those some
SOME = "not test_use_bounds_on_off_consistency or 19-0"


@pytest.mark.slow
@needs_backend
def test_the_suites_of_networkx_pass_through_the_backend(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    whole = request.config.getoption("--hypothesis-profile", None) == "long"
    counts = tmp_path / "counts.json"
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "NETWORKX_TEST_BACKEND": "sssp",
        "NETWORKX_FALLBACK_TO_NX": "1",
        "SSSP_NX_COUNTS": str(counts),
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.networkx.counting"]
    command += ["-p", "no:cacheprovider", "-p", "no:xdist", "--pyargs", *SUITES]
    command += [] if whole else ["-k", SOME]
    run = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=1800
    )
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-2000:]
    outcome = run.stdout.splitlines()[-1]
    passed = re.search(r"(\d+) passed", outcome)
    assert passed is not None, outcome
    assert int(passed[1]) >= (700 if whole else 230), outcome
    assert "xfailed" not in outcome
    answered = json.loads(counts.read_text(encoding="utf-8"))["answered"]
    assert {name for name in FUNCTIONS if not answered.get(name)} == set()
