"""The figures of a script as JSON, with where and how they were taken."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sssp.bench.machine import hardware, versions
from sssp.bench.report import SCHEMA

__all__ = ["Record"]

PACKAGES = ("numpy", "numba", "numba-cuda")


@dataclass
class Record:
    """What a script measures on the GPU, from its start on.

    The fields are named as in the file of ``python -m sssp.bench --json``.

    Attributes
    ----------
    settings : dict
        How it is measured: clock, number of runs and the like.
    rows : list
        The figures, dataclasses or dicts.
    started : str
        ISO 8601, with the time zone.
    """

    settings: dict[str, Any]
    rows: list[Any] = field(default_factory=list)
    started: str = field(
        default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"), init=False
    )

    def write_json(self, path: Path) -> None:
        """Write everything to a file."""
        content = {
            "schema": SCHEMA,
            "command": ["python", *sys.argv],
            "started": self.started,
            "versions": versions(PACKAGES),
            "hardware": hardware(["cuda"]),
            "settings": self.settings,
            "rows": asdict(self)["rows"],
        }
        path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
