"""What the bench imports, and when."""

from __future__ import annotations

import subprocess
import sys


def modules_after(code: str) -> set[str]:
    """Return the package's modules that are loaded when some code has run in a fresh process."""
    shown = f"{code}\nimport sys; print(*(name for name in sys.modules if name[:5] == 'sssp.'))"
    command = [sys.executable, "-c", shown]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    return set(done.stdout.splitlines()[-1].split())


def test_the_bench_and_what_programs_share_need_no_command_line():
    everything = """
import importlib, pkgutil, sssp.bench, sssp._terminal
for room in (sssp.bench, sssp._terminal):
    for module in pkgutil.walk_packages(room.__path__, room.__name__ + "."):
        importlib.import_module(module.name)
"""
    found = modules_after(everything)
    assert {"sssp.bench.harness", "sssp._terminal.parser"} <= found
    assert not [name for name in found if name.startswith("sssp._cli")]


def test_what_programs_share_knows_no_bench():
    found = modules_after("import sssp._terminal.parser, sssp._cli.solve, sssp._cli.info")
    assert not [name for name in found if name.startswith("sssp.bench")]
