"""How a command ends: its exit code, and errors as one line on stderr instead of a traceback."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from sssp._terminal.interrupt import INTERRUPTED
from sssp.errors import SSSPError

__all__ = ["USAGE_ERROR", "naming", "on_one_line", "reporting_errors", "tell"]

#: exit code after an error that is the user's to mend, as argparse has it
USAGE_ERROR = 2

#: what is the user's to mend: files, arguments, memory, packages; anything else is a bug of ours
_MENDABLE = (
    SSSPError,
    OSError,
    ValueError,
    TypeError,
    OverflowError,
    MemoryError,
    RecursionError,
    ImportError,
)


def reporting_errors(program: str, command: Callable[[], int]) -> int:
    """Run a command; tell what goes wrong in one line on stderr, without a traceback.

    ``python -X dev`` lets the traceback through.

    Parameters
    ----------
    program : str
        Its name, for the message.
    command : callable
        Returns the exit code.

    Returns
    -------
    int
        The exit code of the command, or of the error.
    """
    if sys.stdout is None:
        return _refused(program, "stdout is closed: send the output to a file, or to /dev/null")
    try:
        code = command()
    except SystemExit as stop:  # help, or an error that the parser has told
        raise SystemExit(_flushed(program, int(stop.code or 0))) from None
    except KeyboardInterrupt:
        tell(f"{program}: interrupted")
        code = INTERRUPTED
    except BrokenPipeError:
        # whoever read the output has closed it (`sssp info FILE | head -1`), which is no error
        code = 0
    except _MENDABLE as error:
        if sys.flags.dev_mode:
            raise
        code = _refused(program, _message(error))
    return _flushed(program, code)


def tell(line: str) -> None:
    """Print a line on stderr, if there is one and it takes it."""
    if sys.stderr is not None:
        try:
            print(on_one_line(line), file=sys.stderr, flush=True)
        except (OSError, ValueError):
            _discard(sys.stderr)


@contextmanager
def naming(name: object) -> Iterator[None]:
    """Name the file in errors that do not, as those that a full disk makes while it is written."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror, str(name)) from error


def on_one_line(text: str) -> str:
    """Return a text as one line that is safe to show, whatever names and labels it holds."""
    line = ": ".join(filter(None, map(str.strip, text.splitlines())))
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)


def _refused(program: str, message: str) -> int:
    tell(f"{program}: error: {on_one_line(message)}")
    return USAGE_ERROR


def _flushed(program: str, code: int) -> int:
    """Empty stdout."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _discard(sys.stdout)
    except (OSError, ValueError) as error:
        _discard(sys.stdout)
        return code or _refused(program, f"stdout cannot be written: {_message(error)}")
    return code


def _discard(stream: TextIO) -> None:
    """Throw away what cannot be written; else Python would try again at exit, and complain."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _message(error: BaseException) -> str:
    """Say what is wrong, without the words that only programmers know."""
    if isinstance(error, UnicodeEncodeError):
        refused = ascii(error.object[error.start : error.end])
        return f"the output takes only {error.encoding}, which has no {refused}" + (
            "" if error.encoding == "utf-8" else "; set PYTHONIOENCODING=utf-8"
        )
    if isinstance(error, OSError) and error.strerror:
        return error.strerror + ("" if error.filename is None else f": {error.filename!r}")
    if isinstance(error, MemoryError):
        return f"out of memory: {error}" if str(error) else "out of memory"
    return str(error) or type(error).__name__
