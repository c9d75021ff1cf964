"""Files of compiled code: a file an entry, whole or not there.

They stand in ``SSSP_CACHE_DIR``, else in the user's folder for caches: in a folder for every place
that the package is installed in, and there in one whose name is a stamp, taken over all sources
that can enter a kernel. So code that was compiled from other sources is not even looked at; it is
deleted as soon as something newer stands beside it.

A file is written under another name first and holds a checksum: of processes that write the same
entry at once one wins, and what is cut off or damaged reads as not there.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

#: names the folder
VARIABLE = "SSSP_CACHE_DIR"
#: folders without a kernel, from which no kernel takes a helper or a constant
CALLERS = {"apps", "calls", "csgraph", "prepared"}
#: digits of a stamp, and of what tells installations apart
DIGITS = 16
#: file in the folder of an installation that tells where that is
WHERE = "package.txt"

PACKAGE = Path(__file__).parents[1]


def cache_folder() -> Path:
    """Return the folder for what can be made or fetched again."""
    if named := os.environ.get(VARIABLE):
        return Path(named)
    if sys.platform == "win32":
        root = os.environ.get("LOCALAPPDATA", "~/AppData/Local")
    elif sys.platform == "darwin":
        root = "~/Library/Caches"
    else:
        root = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(os.path.expanduser(root), "sssp")


def source_stamp() -> str:
    """Return a digest of all sources that can enter a kernel, as they are on disk now."""
    digest = hashlib.sha256()
    for path in sorted(_sources()):
        source = path.read_bytes()
        digest.update(f"{os.path.relpath(path, PACKAGE)} {len(source)}\n".encode())
        digest.update(source)
    return digest.hexdigest()[:DIGITS]


def _sources() -> Iterator[Path]:
    """Yield the files of the package, or the archive that it is imported from."""
    if _installed().is_file():
        yield _installed()
    # a checkout has the loaders beside the package, a wheel has them in it
    beside = [] if (PACKAGE / "loaders").is_dir() else [PACKAGE.parent / "loaders"]
    for root in (PACKAGE, *beside):
        for folder, folders, files in os.walk(root):
            if folder == str(PACKAGE):
                folders[:] = set(folders) - CALLERS
            yield from (Path(folder, name) for name in files if name.endswith(".py"))


def _installed() -> Path:
    """Return the folder of the package, or the archive that it is imported from."""
    return next(path for path in (PACKAGE, *PACKAGE.parents) if path.exists())


#: what this process has loaded, or is about to
STAMP = source_stamp()


def _folder() -> Path:
    """Return the folder of this installation."""
    return cache_folder() / "kernels" / hashlib.sha256(str(PACKAGE).encode()).hexdigest()[:DIGITS]


def names() -> Iterator[str]:
    """Yield the names of all entries."""
    with contextlib.suppress(OSError):
        yield from os.listdir(_folder() / STAMP)


def read(name: str) -> bytes | None:
    """Return what an entry holds; None if it is not there.

    Raises
    ------
    OSError
        It is damaged, or cannot be read.
    """
    path = _folder() / STAMP / name
    try:
        kept = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    checksum, data = kept[:32], kept[32:]
    if hashlib.sha256(data).digest() != checksum:
        raise OSError(f"{path} is damaged")
    return data


def write(name: str, data: bytes) -> None:
    """Keep an entry, in place of one that has its name.

    Nothing is kept once the sources have changed under the running process.

    Raises
    ------
    OSError
        The folder cannot be made or written.
    """
    if source_stamp() != STAMP:
        return
    folder = _folder() / STAMP
    folder.mkdir(parents=True, exist_ok=True)
    number, unfinished = tempfile.mkstemp(dir=folder)
    try:
        with open(number, "wb") as file:
            file.write(hashlib.sha256(data).digest() + data)
        os.replace(unfinished, folder / name)
    except BaseException:
        os.unlink(unfinished)
        raise
    _delete_stale()


@functools.cache
def _delete_stale() -> None:
    """Delete what other sources were compiled to, here or where no package is any more.

    Once a process.
    """
    here = _folder()
    (here / WHERE).write_text(f"{_installed()}\n", encoding="utf-8")
    stale = [path for path in here.iterdir() if path.is_dir() and path.name != STAMP]
    for path in here.parent.iterdir():
        with contextlib.suppress(OSError):  # another process deletes it too
            if not Path((path / WHERE).read_text(encoding="utf-8").rstrip("\n")).exists():
                stale.append(path)
    for path in stale:
        shutil.rmtree(path, ignore_errors=True)
