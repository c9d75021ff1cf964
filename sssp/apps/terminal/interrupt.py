"""End a program: at once after Ctrl-C, unless it has to clean up first.

Little is imported before Ctrl-C is heard.
"""

from __future__ import annotations

import os
import signal
import sys
from _thread import interrupt_main
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from threading import Timer, main_thread
from time import sleep
from typing import Any, NoReturn

#: exit code after Ctrl-C, as shells have it
INTERRUPTED = 130
#: a callback has returned by then
SECONDS_OF_A_CALLBACK = 0.01


def leave(main: Callable[[], int]) -> NoReturn:
    """Run a program and end the process with its exit code; Ctrl-C ends it at once.

    As an exception Ctrl-C is lost now and then while modules are imported and kernels compiled
    (one in a hundred times; then the program goes on), and where it is not, Python waits for
    threads that are still at work. So it is an exception in `raise_interrupts` only.
    """
    # (a shell lets programs in the background ignore it)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end_at_once)
    try:
        code = main()
    except KeyboardInterrupt:
        _end_at_once()
    if code == INTERRUPTED:
        # not sys.exit: Python would turn some interrupts into a signal to itself
        os._exit(code)
    sys.exit(code)


def end_on_sigterm() -> None:
    """Make SIGTERM end this program at once, with exit code 0.

    For a program that runs until it is told to end, and leaves nothing to tidy up. As the first
    process of a container it would not even hear the signal otherwise.
    """
    # (only in a process that `leave` will end, and that does not ignore the signal)
    of_leave = signal.getsignal(signal.SIGINT) in (_end_at_once, signal.SIG_IGN)
    if of_leave and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, lambda *_: os._exit(0))


@contextmanager
def raise_interrupts() -> Iterator[None]:
    """Turn Ctrl-C into an exception while the context is open, so that code can clean up."""
    if signal.getsignal(signal.SIGINT) is not _end_at_once:
        yield
        return
    hook = sys.unraisablehook
    sys.unraisablehook = partial(_interrupt_again, hook)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, _end_at_once)
        sys.unraisablehook = hook


def _end_at_once(*details: object) -> NoReturn:
    if sys.stderr is not None:
        with suppress(OSError):
            os.write(2, b"sssp: interrupted\n")
    os._exit(INTERRUPTED)


def _interrupt_again(hook: Callable[[Any], object], lost: Any) -> None:
    """Send SIGINT again if a callback lost KeyboardInterrupt; pass other errors to `hook`."""
    if issubclass(lost.exc_type, KeyboardInterrupt):
        Timer(SECONDS_OF_A_CALLBACK, _interrupt).start()
    else:
        hook(lost)


def _interrupt() -> None:
    while _is_in_hook():  # where it would be lost again, as on a busy machine
        sleep(SECONDS_OF_A_CALLBACK)
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(main_thread().ident or 0, signal.SIGINT)  # wakes it up, too
    else:
        interrupt_main()


def _is_in_hook() -> bool:
    """Return whether the main thread is running the function `_interrupt_again`."""
    frame = sys._current_frames().get(main_thread().ident or 0)
    while frame is not None and frame.f_code is not _interrupt_again.__code__:
        frame = frame.f_back
    return frame is not None
