"""``python -m sssp``: the command line."""

from __future__ import annotations

from sssp._cli import console

if __name__ == "__main__":
    console()
