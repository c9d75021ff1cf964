"""Show mypy where `sssp.loaders` is: a plugin, named in pyproject.toml.

Mypy looks for a package in the folder of its parent only, but the folder of the loaders stands
beside ``sssp``. A link under ``build/types``, which ``mypy_path`` names, leads there.
"""

from __future__ import annotations

from pathlib import Path

from mypy.plugin import Plugin

ROOT = Path(__file__).resolve().parents[1]


def plugin(version: str) -> type[Plugin]:
    """Make the link if it is missing; return a plugin that does nothing more."""
    link = ROOT / "build" / "types" / "sssp" / "loaders"
    link.parent.mkdir(parents=True, exist_ok=True)
    if not link.exists():
        link.unlink(missing_ok=True)
        link.symlink_to(ROOT / "loaders")
    return Plugin
