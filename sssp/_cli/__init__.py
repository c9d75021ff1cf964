"""The command line: ``python -m sssp`` and the console script ``sssp``, one module a command.

A command is a module with a ``SUMMARY``, a function ``add_arguments(parser)`` and a function
``run(options)`` that returns the exit code. Nothing heavy is imported before ``run``.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

import sssp
from sssp.errors import SSSPError

__all__ = ["main", "parse", "reporting_errors"]

#: the module behind every command, in the order of the help text
COMMANDS = {
    "info": "sssp._cli.info",
    "solve": "sssp._cli.solve",
    "bench": "sssp.bench.__main__",
}
#: exit codes: an error that is the user's to mend (as argparse has it), and Ctrl-C
USAGE_ERROR, INTERRUPTED = 2, 130


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
    """
    parser = argparse.ArgumentParser(
        prog="sssp", description="Exact shortest paths on road networks."
    )
    parser.add_argument("--version", action="version", version=f"sssp {sssp.__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, module_name in COMMANDS.items():
        module = import_module(module_name)
        command = commands.add_parser(
            name,
            help=module.SUMMARY,
            description=module.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(command)
        command.set_defaults(run=module.run, program=command.prog)
    options = parse(parser, arguments)
    return reporting_errors(options.program, options.run, options)


def parse(parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse, and keep the arguments as they were given in ``command_line``, program first."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    return parser.parse_args(given, argparse.Namespace(command_line=[*parser.prog.split(), *given]))


def reporting_errors(
    program: str, run: Callable[[argparse.Namespace], int], options: argparse.Namespace
) -> int:
    """Run a command; tell what goes wrong in one line on stderr, without a traceback.

    Parameters
    ----------
    program : str
        Its name, for the message.
    run : callable
        The command.
    options : argparse.Namespace
        Its arguments.

    Returns
    -------
    int
        The exit code of the command, or of the error.
    """
    try:
        code = run(options)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # whoever read the output has closed it (`sssp info FILE | head -1`), which is no error;
        # Python would stumble over it once more when it flushes at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (SSSPError, OSError) as error:
        message = ": ".join(line.strip() for line in str(error).splitlines())
        print(f"{program}: error: {message}", file=sys.stderr)
        return USAGE_ERROR
    except KeyboardInterrupt:
        print(f"{program}: interrupted", file=sys.stderr)
        return INTERRUPTED
