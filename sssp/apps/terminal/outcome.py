"""Exit codes of commands, and errors as one line on stderr instead of a traceback."""

from __future__ import annotations

import codecs
import io
import os
import re
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from traceback import walk_tb
from typing import Any, BinaryIO, TextIO

from sssp.apps.terminal.interrupt import INTERRUPTED
from sssp.errors import SSSPError

#: exit code after an error that is the user's to mend, as argparse has it
USAGE_ERROR = 2

#: Python, as messages of the library have it: keywords, calls, names of theirs and of parameters
_PYTHON = re.compile(
    r"(?<![\w.])(?:[a-z_]+=|[a-z_.]+\(|(?:sssp|[ghr])\.[a-z]\w*|[a-z]+_[a-z_]+)", re.ASCII
)
#: one of them that may be an option of a command, and the value that stands there
_KEYWORD = re.compile(r"(?<![\w.-])([a-z_]+)(?:=('[^']*'|[^\s,;)]+))?(?![\w(=])", re.ASCII)
#: with others in them
_IN_PARENTHESES = re.compile(r" ?\((?:[^()]|\([^()]*\))*\)")
#: rooms whose messages are the command line's own
_OWN = ("sssp.apps.cli.", "sssp.apps.terminal.")

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


class _Screen:
    """A stdout terminal that escapes unprintable characters, so that labels cannot control it.

    Lines end and tabs advance as ever. Everything but writing is passed on to the terminal.
    """

    def __init__(self, buffer: BinaryIO, encoding: str) -> None:
        self._buffer, self._encoding = buffer, encoding
        self._decoder = codecs.getincrementaldecoder(encoding)("surrogateescape")

    def write(self, content: Any, /) -> int:
        """Write bytes to the terminal in its encoding, with unprintable characters escaped."""
        text = self._decoder.decode(bytes(content))
        self._buffer.write(_escape(text, "\n\t").encode(self._encoding, "backslashreplace"))
        return memoryview(content).nbytes

    def close(self) -> None:
        """Flush the terminal, and leave it open."""
        self._buffer.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._buffer, name)


@contextmanager
def _escape_stdout() -> Iterator[None]:
    """Escape unprintable characters on a terminal; pipes and files get all bytes unchanged."""
    stdout: Any = sys.stdout
    # (none of a stream that takes texts alone)
    buffer = getattr(stdout, "buffer", None)
    if buffer is None or isinstance(buffer, _Screen) or not stdout.isatty():
        yield
        return
    screen: Any = _Screen(buffer, stdout.encoding)
    sys.stdout = io.TextIOWrapper(screen, stdout.encoding, stdout.errors, line_buffering=True)
    try:
        yield
    finally:
        sys.stdout = stdout


@_escape_stdout()
def report_errors(program: str, command: Callable[[], int], options: Collection[str] = ()) -> int:
    """Run a command, return its exit code; print an error as one stderr line, no traceback.

    ``python -X dev`` lets the traceback through.

    Parameters
    ----------
    program : str
        Its name, for the message.
    command : callable
        Returns the exit code.
    options : collection of str
        What its options are called in Python, as ``block_size``.

    Returns
    -------
    int
        The exit code of the command, or of the error.
    """
    if sys.stdout is None:
        return _report(program, "stdout is closed: send the output to a file, or to /dev/null")
    try:
        code = command()
    except SystemExit as stop:  # help, or an error that the parser has told
        raise SystemExit(_flush(program, int(stop.code or 0))) from None
    except KeyboardInterrupt:
        tell(f"{program}: interrupted")
        code = INTERRUPTED
    except BrokenPipeError:
        # the reader of the output has closed it (`sssp info FILE | head -1`), which is no error
        code = 0
    except _MENDABLE as error:
        if sys.flags.dev_mode:
            raise
        message = _message(error)
        *_, (frame, _) = walk_tb(error.__traceback__)
        if not (isinstance(error, OSError) or frame.f_globals["__name__"].startswith(_OWN)):
            message = reword_for_options(message, options)
        code = _report(program, message)
    return _flush(program, code)


def reword_for_options(message: str, options: Collection[str]) -> str:
    """Reword an error message for the command line: option names replace parameter names.

    What is wrong stands first and stays; what to do stands behind it, in clauses or parentheses,
    and goes where it needs Python.

    Parameters
    ----------
    message : str
    options : collection of str
        What the options of the command are called in Python.
    """

    def option(found: re.Match[str]) -> str:
        name, value = found.groups()
        if name not in options or (value is None and "_" not in name):
            return found[0]
        return f"--{name.replace('_', '-')}" + (f" {value.strip(chr(39))}" if value else "")

    wrong, *remedies = message.split("; ")
    left: list[str] = []
    for remedy in remedies:
        words = _IN_PARENTHESES.sub(
            lambda part: "" if _PYTHON.search(part[0]) else part[0], _KEYWORD.sub(option, remedy)
        )
        if not _PYTHON.search(words):
            left.append(words if left else words.removeprefix("or "))
    return "; ".join([wrong, *left])


def tell(line: str) -> None:
    """Print a line on stderr, if stderr exists and can be written to."""
    if sys.stderr is not None:
        try:
            print(on_one_line(line), file=sys.stderr, flush=True)
        except (OSError, ValueError):
            _discard(sys.stderr)


@contextmanager
def name_in_errors(name: object) -> Iterator[None]:
    """Add a file's name to `OSError`s that have none, such as that of a full disk."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror, str(name)) from error


def on_one_line(text: str) -> str:
    """Return a text as one line without control characters."""
    return _escape(": ".join(filter(None, map(str.strip, text.splitlines()))))


def _escape(text: str, kept: str = "") -> str:
    """Escape the unprintable characters of a text, except the characters in `kept`."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in kept else ascii(c)[1:-1] for c in text)


def _report(program: str, message: str) -> int:
    tell(f"{program}: error: {on_one_line(message)}")
    return USAGE_ERROR


def _flush(program: str, code: int) -> int:
    """Flush stdout; return `code`, or an error's exit code if stdout cannot be written."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _discard(sys.stdout)
    except (OSError, ValueError) as error:
        _discard(sys.stdout)
        return code or _report(program, f"stdout cannot be written: {_message(error)}")
    return code


def _discard(stream: TextIO) -> None:
    """Redirect a broken stream to the null device, so that Python does not complain at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _message(error: BaseException) -> str:
    """Return the message of an error for users, such as reason and file name of an `OSError`."""
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
