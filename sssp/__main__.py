"""``python -m sssp``: the command line."""

from __future__ import annotations

from sssp.apps.cli import console

if __name__ == "__main__":
    console()
