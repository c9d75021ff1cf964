"""The parser of all commands: complains in one line, and takes nothing twice in silence."""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from collections.abc import Sequence
from typing import Any, NoReturn

from sssp.apps.terminal.outcome import USAGE_ERROR, tell

#: room for the names of commands and their indentation
LEAST_COLUMN = 13


class Parser(argparse.ArgumentParser):
    """An `argparse.ArgumentParser` whose errors are one line that names the help."""

    def __init__(self, **options: Any) -> None:
        super().__init__(formatter_class=_HelpFormatter, **options)
        self.register("action", None, _StoreOnce)
        # what argparse takes for a value, not for an option: a point in the west too, -73.98,40.75
        self._negative_number_matcher = re.compile(r"-[.\d]")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse, and refuse what is not known: here the command is known that it was meant for."""
        given = sys.argv[1:] if args is None else list(args)
        options, unknown = super().parse_known_args(given, namespace)
        if unknown:
            known = self._option_string_actions
            before = [word for word in given[: given.index(unknown[0])] if word in known]
            hint = _how_to_give_several(known[before[-1]], unknown[0]) if before else ""
            self.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
        return options, unknown

    def error(self, message: str) -> NoReturn:
        """Tell what is wrong with the arguments, and stop."""
        tell(f"{self.prog}: error: {message} ({self.prog} --help tells more)")
        raise SystemExit(USAGE_ERROR)

    def _print_message(self, message: str, file: Any = None) -> None:
        # (argparse would hide that the help cannot be written)
        if message:
            (file or sys.stdout).write(message)


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Leaves descriptions as they are, and names of methods in one piece."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog)
        # (by itself it forgets that commands are indented, and breaks the line of the longest)
        self._action_max_length = LEAST_COLUMN

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(text, width, break_on_hyphens=False)


class _StoreOnce(argparse.Action):
    """Keep the one value of an argument, and refuse a second one."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Store the value, as argparse does."""
        given = vars(namespace).setdefault("given", set())
        if self.dest in given:
            raise argparse.ArgumentError(self, f"given twice{_in_one_piece(self)}")
        given.add(self.dest)
        setattr(namespace, self.dest, values)


def _in_one_piece(option: argparse.Action) -> str:
    """Say how an option takes several values, if they stand with commas between them."""
    name, form = option.option_strings[-1], str(option.metavar)
    return f"; {name} takes {form} in one piece, without blanks" if "," in form else ""


def _how_to_give_several(option: argparse.Action, word: str) -> str:
    """Say what to write in place of a word that stands behind the value of an option."""
    name = option.option_strings[-1]
    if word.startswith("-") or option.nargs == 0:
        return ""
    if not isinstance(option, _StoreOnce):
        return f"; for several, write {name} before each"
    return _in_one_piece(option) or f"; {name} takes one value"


def parse(parser: Parser, arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse, and keep the arguments as they were given in ``command_line``, program first."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    return parser.parse_args(given, argparse.Namespace(command_line=[*parser.prog.split(), *given]))
