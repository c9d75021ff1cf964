"""The command line: ``python -m sssp`` and the console script ``sssp``, one module a command.

A command is a module with a ``SUMMARY``, ``EXAMPLES``, a function ``add_arguments(parser)`` and a
function ``run(options)`` that returns the exit code. Nothing heavy is imported before ``run``, and
little before Ctrl-C is heard.
"""

from __future__ import annotations

import os
import signal
import sys
from _thread import interrupt_main
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from threading import Timer, main_thread
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from sssp._cli._parser import Parser

__all__ = ["console", "leave", "main", "tidying_up"]

#: the module behind every command, in the order of the help text
COMMANDS = {
    "info": "sssp._cli.info",
    "solve": "sssp._cli.solve",
    "bench": "sssp.bench.__main__",
}
#: exit code after Ctrl-C, as shells have it
INTERRUPTED = 130
#: a callback has returned by then
SECONDS_OF_A_CALLBACK = 0.01


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    arguments : sequence of str, optional
        What follows the program's name; by default ``sys.argv[1:]``.

    Returns
    -------
    int
        0; 1 if something measured turned out wrong; 2 after an error, told in one line on
        stderr; 130 after Ctrl-C.

    Raises
    ------
    SystemExit
        The arguments make no sense (2), or ask for help or the version (0).
    """
    from sssp._cli._outcome import reporting_errors

    def command() -> int:
        from sssp._cli._parser import parse

        options = parse(_command_parser(), arguments)
        return reporting_errors(options.program, lambda: options.run(options))

    return reporting_errors("sssp", command)


def console() -> NoReturn:
    """Be the console script ``sssp``."""
    leave(main)


def leave(main: Callable[[], int]) -> NoReturn:
    """Run a program and end the process with its exit code; Ctrl-C ends it at once.

    As an exception Ctrl-C is lost now and then while modules are imported and kernels compiled
    (one in a hundred times; then the program goes on), and where it is not, Python waits for
    threads that are still at work. So it is an exception in `tidying_up` only.
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


@contextmanager
def tidying_up() -> Iterator[None]:
    """Hear Ctrl-C as an exception for a while, because something has to be tidied up after it."""
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
    """Raise a Ctrl-C once more that came where no exception can leave: in a callback."""
    if issubclass(lost.exc_type, KeyboardInterrupt):
        Timer(SECONDS_OF_A_CALLBACK, _interrupt).start()
    else:
        hook(lost)


def _interrupt() -> None:
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(main_thread().ident or 0, signal.SIGINT)  # wakes it up, too
    else:
        interrupt_main()


def _command_parser() -> Parser:
    from importlib import import_module

    import sssp
    from sssp._cli._parser import Parser

    parser = Parser(
        prog="sssp",
        description="Exact shortest paths on road networks.",
        epilog="sssp COMMAND --help explains a command, with examples.",
    )
    parser.add_argument("--version", action="version", version=f"sssp {sssp.__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, module_name in COMMANDS.items():
        module = import_module(module_name)
        command = commands.add_parser(
            name, help=module.SUMMARY, description=module.__doc__, epilog=module.EXAMPLES
        )
        module.add_arguments(command)
        command.set_defaults(run=module.run, program=command.prog)
    return parser
