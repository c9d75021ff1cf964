"""The command line: ``python -m sssp`` and the console script ``sssp``, one module a command.

A command is a module with a function ``add_arguments(parser)`` and a function ``run(options)`` that
returns the exit code; its docstring is its help, and begins with what it does in a few words.
Nothing heavy is imported before ``run``, and little before Ctrl-C is heard.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from sssp.apps.terminal.interrupt import leave

#: the module behind every command, in the order of the help text
COMMANDS = {
    name: f"sssp.apps.cli.{name}_command"
    for name in (
        *("info", "solve", "table", "pairs", "run", "isochrone", "assign"),
        *("convert", "plot", "serve", "fetch", "compile"),
    )
} | {"bench": "sssp.bench.__main__"}

EXIT_CODES = """
exit codes:
  0 done; 1 something measured is wrong (bench); 2 an error, told in one line on stderr;
  130 Ctrl-C, after which no file is left half-written
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line, run the command that it names, and return the exit code.

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
    from sssp.apps.terminal.outcome import report_errors

    def command() -> int:
        from importlib import import_module

        import sssp
        from sssp.apps.terminal.arguments import Parser, parse

        parser = Parser(
            prog="sssp",
            description="Exact shortest paths on road networks.",
            epilog=f"sssp COMMAND --help explains a command, with examples.\n{EXIT_CODES}",
        )
        parser.add_argument("--version", action="version", version=f"sssp {sssp.__version__}")
        commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
        for name, module_name in COMMANDS.items():
            module = import_module(module_name)
            texts: dict[str, Any] = {"description": module.__doc__ or "", "epilog": EXIT_CODES}
            summary = texts["description"].partition(".\n")[0]
            one = commands.add_parser(name, help=summary[:1].lower() + summary[1:], **texts)
            module.add_arguments(one)
            one.set_defaults(run=module.run, program=one.prog)
        options = parse(parser, arguments)
        return report_errors(options.program, lambda: options.run(options), vars(options))

    return report_errors("sssp", command)


def console() -> NoReturn:
    """Run the console script ``sssp``, and end the process with its exit code."""
    leave(main)
