"""The exceptions of the package; every module may import this one.

::

    SSSPError
    ├── GraphFormatError       (ValueError)      a file is not what it should be
    ├── VertexError            (IndexError)      no such vertex
    ├── NegativeWeightError    (ValueError)      the method needs weights >= 0
    ├── NegativeCycleError                       distances are unbounded below
    ├── DistanceOverflowError  (OverflowError)   a distance does not fit its dtype
    ├── UnreachableError       (ValueError)      no path to ask for
    ├── VerificationError      (AssertionError)  a result failed its certificate
    ├── DeviceError            (RuntimeError)    the device cannot do it
    ├── JobError               (RuntimeError)    a job cannot start or go on
    └── MissingExtraError      (ImportError)     an optional dependency is absent

Every one survives pickling, so that it can cross a process pool. Below them stands what
shortens texts of files and users in messages, and what imports optional dependencies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from importlib import import_module
from itertools import islice
from os import PathLike, fspath
from typing import Any

__all__ = [
    "DeviceError",
    "DistanceOverflowError",
    "GraphFormatError",
    "JobError",
    "MissingExtraError",
    "NegativeCycleError",
    "NegativeWeightError",
    "SSSPError",
    "UnreachableError",
    "VerificationError",
    "VertexError",
]


class SSSPError(Exception):
    """Root of all exceptions that this package raises on purpose."""


class GraphFormatError(SSSPError, ValueError):
    """A graph file (or an in-memory graph) is malformed.

    Parameters
    ----------
    reason : str
        What is wrong and what to do.
    path : str or path-like, optional
        The file.
    line_number : int, optional
        The offending line, counted from 1.
    line : str, optional
        Its text.

    Attributes
    ----------
    reason, path, line_number, line
        As given; ``path`` as ``str``.
    """

    def __init__(
        self,
        reason: str,
        *,
        path: str | PathLike[str] | None = None,
        line_number: int | None = None,
        line: str | None = None,
    ) -> None:
        self.reason = reason
        self.path = None if path is None else fspath(path)
        self.line_number = line_number
        self.line = line
        place = "" if self.path is None else self.path
        if line_number is not None:
            place += f":{line_number}"
        text = f"{place}: {reason}" if place else reason
        if line is not None:
            text += f"\n    {line}"
        super().__init__(text)

    def __reduce__(self) -> tuple[Any, ...]:
        facts: dict[str, Any] = {
            "path": self.path,
            "line_number": self.line_number,
            "line": self.line,
        }
        return partial(type(self), self.reason, **facts), ()


class VertexError(SSSPError, IndexError):
    """A vertex or label that the graph does not have."""


class NegativeWeightError(SSSPError, ValueError):
    """A negative weight was given to a method that does not accept it."""


class NegativeCycleError(SSSPError):
    """A cycle of negative length is reachable, so distances are unbounded below.

    Attributes
    ----------
    cycle : list of int
        The vertices of one such cycle, in order; the first is not repeated.
    """

    def __init__(self, message: str, cycle: Sequence[int] = ()) -> None:
        super().__init__(message)
        self.cycle = [int(v) for v in cycle]

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return type(self), (self.args[0], self.cycle)


class DistanceOverflowError(SSSPError, OverflowError):
    """A distance does not fit the dtype that the call has to use."""


class UnreachableError(SSSPError, ValueError):
    """A path was asked for that does not exist."""


class VerificationError(SSSPError, AssertionError):
    """A result is not a correct answer for its graph."""


class DeviceError(SSSPError, RuntimeError):
    """The device does not exist, cannot be used, or lacks memory."""


class JobError(SSSPError, RuntimeError):
    """A job cannot start or continue; its finished blocks are kept."""


class MissingExtraError(SSSPError, ImportError):
    """An optional dependency is missing; the message holds the pip command."""


def import_extra(module: str, extra: str) -> Any:
    """Import a module that belongs to an optional extra of the package.

    Raises
    ------
    MissingExtraError
        It cannot be imported; the message holds the pip line.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f'{module} is not installed; install it with: pip install "sssp[{extra}]"'
        ) from error


#: characters of a file's content that an error shows
LONGEST = 80


def quote(value: Any) -> str:
    """Return the ``repr`` of a value, shortened if it is long."""
    short = value[: LONGEST + 1] if isinstance(value, str | bytes) else value
    return shorten(repr(short))


def join_briefly(texts: Iterable[str], between: str = ", ") -> str:
    """Join texts into one with a separator, and shorten the result if it is too long."""
    return shorten(between.join(islice(texts, LONGEST)))


def shorten(text: str) -> str:
    """Return a text, shortened if it is long."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def plain_digits(text: str) -> str:
    """Return a number's text unchanged; raise ValueError if it has ``_`` or non-ASCII characters.

    Both also read the digits of other scripts, and ``1_0`` as 10.

    Raises
    ------
    ValueError
        They are not.
    """
    if "_" in text or not text.isascii():
        raise ValueError(f"{quote(text)} is not written in plain digits")
    return text
