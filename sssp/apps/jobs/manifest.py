"""The manifest of a job: a file that records its parameters and, line by line, finished blocks.

One process writes it, whichever worker found the block, and only after the files of the block are
on disk under their names. A crash loses at most the last line; then that block is found again. What
a table is read by, its frame (metadata and labels), has a line like that of a block. A job without
a block on record counts as none: the next job begins anew in its place. It removes only files that
have names that the old job gives, and touches no others.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from operator import index
from pathlib import Path, PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sssp
from sssp.apps.jobs.stores import Piece, checksum_of, names_of_files
from sssp.errors import JobError

fcntl: Any = None
with suppress(ImportError):  # Windows
    import fcntl

#: the folder beside a table
FOLDER_SUFFIX = ".job"
#: a random part of a name
TOKEN = "[0-9a-f]{16}"
#: folders in it where files are made, under a token, before they get their names; while a job
#: runs, its inputs lie there too
UNFINISHED = "unfinished-{}"
#: of the lines' form
VERSION = 1
#: what stands for the number of a block where the files are those that the table is read by
FRAME = None
#: what makes a file anew that is gone
AGAIN = "run the job again"
#: what makes a file anew that is damaged
REMOVE = f"remove that file and {AGAIN}"
#: what reading a line of another form raises
ODD = (ValueError, KeyError, TypeError, OverflowError, RecursionError)

#: names of the files of a table, relative to it: a regular expression a folder or file
Names = list[tuple[str, ...]]

#: manifests that this process has open
_open: set[Any] = set()


def _close_in_child() -> None:
    """Close open manifests in a forked child, so that their locks end with the parent process."""
    for stream in _open:
        stream.raw.close()
    _open.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)


class Manifest:
    """The manifest file of a job: it records parameters and finished blocks.

    Parameters
    ----------
    table : Path
        Of the job; beside it is the folder.

    Attributes
    ----------
    folder : Path
    job : dict or None
        What was asked, if a block of it is on record.

    Raises
    ------
    JobError
        What is there is of no job.
    """

    def __init__(self, table: Path) -> None:
        self.table = table
        self.folder = table.with_name(table.name + FOLDER_SUFFIX)
        self.path = self.folder / "manifest.jsonl"
        self.job: dict[str, Any] | None = self._read_job()[0]

    def _read_job(self) -> tuple[dict[str, Any] | None, Names]:
        """Read the job's parameters (None before its first block) and its file name patterns."""
        try:
            with self.path.open("rb") as stream:
                line = stream.readline()
                any_block = any(map(_is_block, stream))
        except FileNotFoundError:
            if self.table.exists():
                raise JobError(
                    f"{str(self.table)!r} is there already, and no job has written it (there is "
                    f"no {str(self.path)!r}): name another place, or remove it"
                ) from None
            return None, []
        # (the process that began the job was stopped before there was a table)
        if not line.endswith(b"\n") and not self.table.exists():
            return None, []
        try:
            head = json.loads(line)
            if head["sssp job"] != VERSION:
                raise JobError(
                    f"{self.path} was written by sssp {head['package']}, in a form that this "
                    f"version {sssp.__version__} does not know: go on with that one"
                )
            job: dict[str, Any] = head["job"]
            names = names_of_files(self.table, job)
            sizes = index(job["block_size"]), index(job["chunk_bytes"] or 1)
            if not line.endswith(b"\n") or min(sizes) < 1:
                raise ValueError
        except ODD:
            raise JobError(
                f"{str(self.path)!r} is not a manifest of a job: name another place, or remove it "
                "and the table"
            ) from None
        return job if any_block else None, names

    def temporary(self, job: dict[str, Any]) -> Path:
        """Return the folder for the unfinished files of a job.

        Each job has its own: what workers still find of one that another has taken the place of
        gets no name any more.

        Parameters
        ----------
        job : dict
            What is asked.
        """
        digest = hashlib.sha256(json.dumps(job, sort_keys=True).encode()).hexdigest()
        return self.folder / UNFINISHED.format(digest[:16])

    def differences(self, job: dict[str, Any]) -> list[str]:
        """Return a text for each parameter in which the recorded job differs from `job`."""
        known = self.job or {}
        return [
            f"{name} is {known.get(name)!r} there and {job.get(name)!r} here"
            for name in dict.fromkeys([*known, *job])
            if known.get(name) != job.get(name)
        ]

    @contextmanager
    def open(self, job: dict[str, Any]) -> Iterator[None]:
        """Context manager: lock the manifest, open it to append, and record the job if it is new.

        A last line that is cut off is dropped, and of a job without a block on record everything.

        Raises
        ------
        JobError
            Another process is at work on the job, or has begun it meanwhile; or a file that no job
            has written is where one of this job's is to be.
        OSError
            The folder cannot be made or written to.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with self.path.open("a+b") as self._stream:
            stream = self._stream
            if fcntl is not None:
                try:
                    fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise JobError(
                        f"another process is at work on {str(self.table)!r}: wait for it, or end it"
                    ) from None
                except OSError:  # some file systems know no locks
                    pass
            known, names = self._read_job()
            if known != self.job:
                raise JobError(
                    f"another process has begun a job on {str(self.table)!r} meanwhile: run this "
                    "one again"
                )
            # what processes that were killed have left
            self.finish()
            if self.job is None:
                # (before the record goes: a table without one would be no job's)
                self._clear(names, names_of_files(self.table, job))
                stream.truncate(0)
                self._append({"sssp job": VERSION, "package": sssp.__version__, "job": job})
                self.job = job
            else:
                stream.seek(0)
                stream.truncate(sum(len(line) for line in stream if line.endswith(b"\n")))
            self.temporary(job).mkdir(exist_ok=True)
            _open.add(stream)
            try:
                yield
            finally:
                _open.discard(stream)

    def add(self, blocks: Iterable[tuple[int | None, list[Piece]]]) -> None:
        """Append one record per block, with its files, to the manifest, and flush it to disk."""
        self._append(*({"block": block, "files": pieces} for block, pieces in blocks))

    def _append(self, *entries: Any) -> None:
        self._stream.write(b"".join(json.dumps(entry).encode() + b"\n" for entry in entries))
        self._stream.flush()
        os.fsync(self._stream.fileno())

    def _clear(self, names: Names, new: Names) -> None:
        """Remove the files of a job without a recorded block, and folders that become empty.

        Parameters
        ----------
        names : list of tuple of str
            Of its files.
        new : list of tuple of str
            Of the files of the job that takes its place.

        Raises
        ------
        JobError
            Something that is not its file has such a name.
        """
        if not self.table.is_dir():
            if os.path.lexists(self.table):
                raise self._in_the_way(self.table)
            return
        # (before the frame is on record the job has put nothing in its place)
        frame, own = self._files(0).get(FRAME), set()
        if frame is not None:
            frames = {self.table / piece.name: piece for piece in frame}
            own = {path for path, is_file in _find_files(self.table, names) if is_file}
            own -= {p for p in own & {*frames} if checksum_of(p) != frames[p].checksum}
        for path, _ in _find_files(self.table, new):
            if path not in own:
                raise self._in_the_way(path)
        for path in own:
            path.unlink()
        above = {folder for path in own for folder in path.parents}
        inside = {folder for folder in above if folder.is_relative_to(self.table)}
        for folder in sorted(inside | {self.table}, reverse=True):
            with suppress(OSError):  # something is in it, or it is a link
                folder.rmdir()

    def _in_the_way(self, path: Path) -> JobError:
        return JobError(
            f"{str(path)!r} is in the way of the table {str(self.table)!r}, and no job has written "
            "it: move it, or name another place"
        )

    def finish(self) -> None:
        """Remove temporary folders of jobs: unfinished table files and the inputs for workers."""
        for path in self.folder.iterdir():
            with suppress(OSError):
                if re.fullmatch(UNFINISHED.format(TOKEN), path.name) and all(
                    re.fullmatch(TOKEN, made.name) for made in path.iterdir()
                ):
                    # (under its old name a worker might make a file in it meanwhile)
                    gone = self.folder / UNFINISHED.format(secrets.token_hex(8))
                    shutil.rmtree(path.rename(gone))

    def find_done(self, blocks: int) -> tuple[bool, NDArray[np.bool_]]:
        """Return whether the table's metadata exists, and a mask of blocks whose files all exist.

        A block of which a file is gone counts as missing.

        Parameters
        ----------
        blocks : int
            How many the job has.

        Raises
        ------
        JobError
            A file is not as it was written, or a line none of a manifest.
        """
        framed, done = False, np.zeros(blocks, np.bool_)
        if self.job is None:
            return framed, done
        for block, pieces in self._files(blocks).items():
            # (the frame is read, for an edit may keep the size, and there is little to read)
            there = [self._is_there(block, piece, read=block is FRAME) for piece in pieces]
            if block is FRAME:
                framed = all(there)
            else:
                done[block] = all(there)
        return framed, done

    def check(self, blocks: int) -> int:
        """Read all recorded files, compare their checksums; return the total number of bytes.

        Parameters
        ----------
        blocks : int
            How many the job has.

        Raises
        ------
        JobError
            A file is not as it was written, or gone, or a line none of a manifest; or nothing is
            there.
        """
        if not self.path.exists():
            raise JobError(f"there is no {str(self.table)!r} to check: no job has begun it")
        total = 0
        for block, pieces in self._files(blocks).items():
            for piece in pieces:
                if not self._is_there(block, piece, read=True):
                    raise self._damage(block, piece, "gone", AGAIN)
                total += piece.size
        return total

    def _files(self, blocks: int) -> dict[int | None, list[Piece]]:
        """Return a dict from block number, or None for metadata, to a list of recorded files."""
        found: dict[int | None, list[Piece]] = {}
        with self.path.open("rb") as stream:
            stream.readline()
            for number, line in enumerate(stream, 2):
                if not line.endswith(b"\n"):
                    break
                try:
                    entry = json.loads(line)
                    pieces = [_piece(*piece) for piece in entry["files"]]
                    block = entry["block"]
                    found[block if block is FRAME else range(blocks).index(block)] = pieces
                except ODD:
                    raise JobError(
                        f"line {number} of {str(self.path)!r} is damaged: remove that line, and "
                        "what it records is made again"
                    ) from None
        return found

    def _is_there(self, block: int | None, piece: Piece, *, read: bool) -> bool:
        """Return whether a recorded file exists; raise an error if the file is damaged."""
        path = self.table / piece.name
        try:
            size = path.stat().st_size
        except (FileNotFoundError, NotADirectoryError):
            return False
        if size != piece.size:
            raise self._damage(block, piece, f"{size:,} bytes instead of {piece.size:,}")
        if read and checksum_of(path) != piece.checksum:
            raise self._damage(block, piece, "not what was written: its checksum differs")
        return True

    def _damage(self, block: int | None, piece: Piece, what: str, remedy: str = REMOVE) -> JobError:
        file = f"{str(self.table / piece.name)!r} is {what}; {remedy}"
        if block is FRAME:
            return JobError(
                f"the metadata and labels that {str(self.table)!r} is read by are not those that "
                f"the job wrote: {file}: it writes them anew, and finds no block again"
            )
        return JobError(f"block {block} is damaged: {file}: it finds this block anew, and no other")


def _find_files(folder: Path, names: Names) -> Iterator[tuple[Path, bool]]:
    """Yield each path that matches a table's name patterns, and whether it is a table file.

    It is not if it is a link or a folder, or if a folder should be there. Links are not followed.
    """
    with os.scandir(folder) as entries:
        for entry in entries:
            rest = [name[1:] for name in names if re.fullmatch(name[0], entry.name)]
            if any(rest) and entry.is_dir(follow_symlinks=False):
                yield from _find_files(Path(entry.path), [name for name in rest if name])
            elif rest:
                yield Path(entry.path), () in rest and entry.is_file(follow_symlinks=False)


def _is_block(line: bytes) -> bool:
    """Return True if a manifest line records a block, or is damaged and may record one."""
    try:
        return line.endswith(b"\n") and json.loads(line)["block"] is not FRAME
    except ODD:
        return True


def _piece(name: str, size: int, checksum: int) -> Piece:
    """Return the file that a manifest line records; refuse a path outside the table's folder."""
    parts = PurePath(name).parts
    if not parts or PurePath(name).is_absolute() or ".." in parts or "\0" in name:
        raise ValueError
    return Piece(name, index(size), index(checksum))
