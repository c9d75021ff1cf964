"""The checkout that the tests run in: its files, and copies of them, as Windows makes them too."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def git(*arguments: str | Path) -> str:
    """Return what git prints of the checkout; skip the test where there is none."""
    if not (ROOT / ".git").exists():
        pytest.skip("this is not a clone: git does not know its files")
    command = ["git", "-C", str(ROOT), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def copy_without_links(folder: Path) -> Path:
    """Copy the files of the checkout as git does without symbolic links: a link becomes a text."""
    for name in git("ls-files", "-co", "--exclude-standard").splitlines():
        origin, copy = ROOT / name, folder / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if origin.is_symlink():
            copy.write_text(str(origin.readlink()))
        elif origin.is_file():
            copy.write_bytes(origin.read_bytes())
    return folder
