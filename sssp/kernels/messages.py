"""Messages to the user: that compilation takes long, and warnings that are logged once."""

from __future__ import annotations

import logging
import sys
import threading
from contextlib import suppress
from time import monotonic

from sssp.kernels.cache_files import cache_folder

#: seconds of compilation, in all, after which a person at a terminal or in a notebook is told
PATIENCE = 2.0

logger = logging.getLogger("sssp")
_warned: set[str] = set()


def on_terminal() -> bool:
    """Return whether stderr is a terminal."""
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):  # there is none, or it is closed
        return False


class Compiling:
    """A timer that tells the user, once per process, that compilation takes long."""

    _timer: threading.Timer | None = None
    _depth = 0
    _told = False
    _begun, _spent = 0.0, 0.0

    def begin(self) -> None:
        """Record that compilation begins; calls may be nested."""
        self._depth += 1
        if self._depth > 1:
            return
        self._begun = monotonic()
        if not self._told and (on_terminal() or "ipykernel" in sys.modules):
            self._timer = threading.Timer(max(0.0, PATIENCE - self._spent), self._tell)
            self._timer.daemon = True
            with suppress(RuntimeError):  # the system has no more threads
                self._timer.start()

    def end(self) -> None:
        """Record that compilation has ended."""
        self._depth -= 1
        if self._depth == 0:
            self._spent += monotonic() - self._begun
            if self._timer is not None:
                self._timer.cancel()

    def _tell(self) -> None:
        self._told = True
        with suppress(OSError):  # there is no folder, of which another message tells
            print(
                "sssp: compiling kernels, once, which takes some seconds to a minute; later calls "
                f"find them in {cache_folder()} (ahead of time: sssp compile)",
                file=sys.stderr,
            )


COMPILING = Compiling()


def warn_once(text: str, *details: object) -> None:
    """Log a warning with its format arguments; each text is logged at most once per process."""
    if text not in _warned:
        _warned.add(text)
        logger.warning(text, *details)
