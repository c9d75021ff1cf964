"""A read-only install, and no other folder for compiled code either."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import sssp

SOLVE = """
import sssp

g = sssp.Graph.from_arcs([0, 1, 0], [1, 2, 2], [5, 5, 20])
r = sssp.shortest_paths(g, 0, method="dijkstra")
print(sssp.__file__, r.distances.tolist())
"""


def test_without_a_writable_cache_it_works_with_one_warning(tmp_path: Path) -> None:
    package = tmp_path / "sssp"
    shutil.copytree(
        Path(sssp.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__")
    )
    # a plain file where the cache folder would be stops even root from making one
    for folder in [package, *(path for path in package.rglob("*") if path.is_dir())]:
        (folder / "__pycache__").touch()
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")
    }
    environment |= {"HOME": os.devnull, "XDG_CACHE_HOME": os.devnull, "PYTHONPATH": str(tmp_path)}
    run = subprocess.run(
        [sys.executable, "-c", SOLVE],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
        timeout=300,
    )
    assert run.stdout == f"{package / '__init__.py'} [0, 5, 10]\n", run.stderr
    assert run.stderr.count("NUMBA_CACHE_DIR") == 1
    assert len(run.stderr.splitlines()) == 1, run.stderr
