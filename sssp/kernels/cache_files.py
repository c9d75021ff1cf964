"""Files of compiled code: one file per entry, written completely or not at all.

They stand in ``SSSP_CACHE_DIR``, else in the user's folder for caches: in a folder for every place
that the package is installed in, and there in one whose name is a stamp, taken over all sources
that can enter a kernel. So code that was compiled from other sources is not even looked at; it is
deleted as soon as something newer stands beside it.

A file is written under another name first and holds a checksum: of processes that write the same
entry at once one wins, and what is cut off or damaged reads as not there.

Entries run as code. So a folder is used only if it belongs to this user or to root and no other
user may write there, on systems that tell (POSIX).
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import platform
import shutil
import stat
import sys
import time
import zlib
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
#: beginning of the name of a file that tells when a host last used the entries beside it
USED = "used-"
#: seconds after which entries count as unused by a host: those that share a home keep each other's
UNUSED = 90 * 24 * 3600

PACKAGE = Path(__file__).parents[1]
#: Windows would translate line ends
BINARY: int = getattr(os, "O_BINARY", 0)


def cache_folder() -> Path:
    """Return the absolute path of the folder that caches compiled code.

    Raises
    ------
    OSError
        None is named, and there is no home folder.
    """
    if named := os.environ.get(VARIABLE):
        return make_absolute(named)
    if sys.platform == "win32":
        root = os.environ.get("LOCALAPPDATA", "~/AppData/Local")
    elif sys.platform == "darwin":
        root = "~/Library/Caches"
    else:
        root = os.environ.get("XDG_CACHE_HOME", "")
        root = root if os.path.isabs(root) else "~/.cache"
    folder = Path(os.path.expanduser(root), "sssp")
    if not folder.is_absolute():  # files of whatever folder is the current one must not count
        raise FileNotFoundError(f"there is no home folder for a cache; {VARIABLE} may name one")
    return folder


@functools.cache
def make_absolute(folder: str) -> Path:
    """Return a folder from the environment as an absolute path, resolved on the first call."""
    return Path(folder).absolute()


def source_stamp() -> str:
    """Return a digest of all sources that can affect a kernel, as they are on disk now."""
    digest = hashlib.sha256()
    for path in sorted(_sources()):
        source = path.read_bytes()
        digest.update(f"{os.path.relpath(path, PACKAGE)} {len(source)}\n".encode())
        digest.update(source)
    return digest.hexdigest()[:DIGITS]


def _sources() -> Iterator[Path]:
    """Yield the source files that can affect kernels, or the archive that holds the package."""
    if _installed().is_file():
        yield _installed()
    # a checkout has the loaders beside the package, a wheel has them in it
    beside = [] if (PACKAGE / "loaders").is_dir() else [PACKAGE.parent / "loaders"]
    for root in (PACKAGE, *beside):
        for folder, folders, files in os.walk(root):
            if folder == str(PACKAGE):
                folders[:] = set(folders) - CALLERS
            yield from (Path(folder, name) for name in files if name.endswith((".py", ".cl")))


def _installed() -> Path:
    """Return the folder of the package, or the archive that it is imported from."""
    return next(path for path in (PACKAGE, *PACKAGE.parents) if path.exists())


#: what this process has loaded, or is about to
STAMP = source_stamp()


def _folders() -> list[Path]:
    """Return the cache folder and its subfolders down to the entries of this installation."""
    top = cache_folder()
    installation = hashlib.sha256(str(PACKAGE).encode()).hexdigest()[:DIGITS]
    kernels = top / "kernels"
    return [top, kernels, kernels / installation, kernels / installation / STAMP]


def names() -> Iterator[str]:
    """Yield the names of all cache entries of this installation."""
    with contextlib.suppress(OSError):
        yield from (name for name in os.listdir(_folders()[-1]) if not name.startswith(USED))


def read(name: str) -> bytes | None:
    """Return the content of a cache entry; None if absent, or its folder cannot be trusted.

    Raises
    ------
    OSError
        It is damaged, cannot be read, or may come from another user.
    """
    try:
        folder = _check_folders()
        # (a link could lead anywhere)
        number = os.open(folder / name, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | BINARY)
    except (FileNotFoundError, NotADirectoryError, UntrustedError):
        return None
    with open(number, "rb") as file:
        _check(folder / name, os.fstat(number))
        kept = file.read()
    checksum, data = kept[:32], kept[32:]
    if hashlib.sha256(data).digest() != checksum:
        raise OSError(f"{folder / name} is damaged")
    _note_use(folder)
    return data


def write(name: str, data: bytes) -> None:
    """Write an entry, replacing one of the same name; file modes follow the umask.

    Nothing is kept once the sources have changed under the running process.

    Raises
    ------
    OSError
        The folder cannot be made, written or trusted.
    """
    if source_stamp() != STAMP:
        return
    folder = _check_folders(make=True)
    unfinished = folder / f"{name}.{os.urandom(8).hex()}"
    try:
        with open(unfinished, "xb", opener=_open_for_us) as file:
            file.write(hashlib.sha256(data).digest() + data)
        os.replace(unfinished, folder / name)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    _note_use(folder)
    _delete_stale()


def _open_for_us(path: str, flags: int) -> int:
    """Open or create a file (mode 0o644: others only read); return its descriptor."""
    return os.open(path, flags, 0o644)


def make_folder(folder: Path) -> None:
    """Create a folder, readable for others as far as the umask allows."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o755, exist_ok=True)


class UntrustedError(PermissionError):
    """Error: another user may have written files that would be executed as code."""


def _check_folders(*, make: bool = False) -> Path:
    """Check that the cache folders can be trusted; return the folder of the cache entries.

    The user's own link may lead to the first of them.
    """
    folders = _folders()
    for folder in folders:
        if make:
            make_folder(folder)
        _check(folder, os.stat(folder, follow_symlinks=folder is folders[0]))
    return folders[-1]


def _check(path: Path, status: os.stat_result) -> None:
    """Raise `UntrustedError` if a path is a symbolic link or can be changed by other users."""
    if os.name != "posix":
        return
    if status.st_uid not in (0, os.geteuid()):
        reason = "belongs to another user"
    elif stat.S_ISLNK(status.st_mode):
        reason = "is a symbolic link"
    elif status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        reason = "may be written by other users (chmod go-w helps)"
    else:
        return
    raise UntrustedError(f"{path} {reason}")


@functools.cache
def _note_use(folder: Path) -> None:
    """Record that this host uses a cache folder now, as the modification time of a file."""
    with contextlib.suppress(OSError), open(folder / _mark(), "ab", opener=_open_for_us):
        os.utime(folder / _mark())  # (a folder may be read-only)


def _mark() -> str:
    """Return the name of the file that records when this host last used the cache folder."""
    return f"{USED}{zlib.crc32(platform.node().encode()):08x}"


@functools.cache
def _delete_stale() -> None:
    """Delete cached code of other source versions and of removed installations of the package.

    Once a process; what another host has used lately stays.
    """
    _, kernels, here, current = _folders()
    with open(here / WHERE, "w", encoding="utf-8", opener=_open_for_us) as file:
        file.write(f"{_installed()}\n")
    stale = [path for path in here.iterdir() if path.is_dir() and path != current]
    for path in kernels.iterdir():
        with contextlib.suppress(OSError):  # another process deletes it too
            if not Path((path / WHERE).read_text(encoding="utf-8").rstrip("\n")).exists():
                stale.append(path)
    for path in stale:
        with contextlib.suppress(OSError):
            marks = [mark for mark in path.rglob(f"{USED}*") if mark.name != _mark()]
            if all(time.time() - mark.stat().st_mtime >= UNUSED for mark in marks):
                shutil.rmtree(path, ignore_errors=True)
