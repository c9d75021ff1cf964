"""The argument parser of all commands, and the arguments that they share.

The parser complains in one line, and takes nothing twice in silence.
"""

from __future__ import annotations

import argparse
import difflib
import math
import os
import re
import stat
import sys
import textwrap
from argparse import ArgumentTypeError
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import sssp
from sssp.apps.terminal.outcome import USAGE_ERROR, tell
from sssp.errors import GraphFormatError, VertexError, plain_digits, quote
from sssp.methods import METHODS, Method

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sssp.graph.drawing import Unit as Unit  # (commands name it in their signatures)


BUILT_IN = "road-like"
GRAPH_HELP = (
    "a .gr or .sssp file, one of OpenStreetMap (porto.osm.pbf, for a car in seconds; "
    "porto.osm.pbf:foot or :bicycle,metres), the name of a graph in the folder SSSP_DATA, or "
    f"{BUILT_IN}:N for a built-in one of N vertices"
)
#: endings of files with a row or a line per arc
ARC_TABLES = {".csv", ".parquet", ".geojson", ".gpkg"}
#: endings that are left out of a graph's name
SUFFIXES = {".gr", ".sssp", ".osm", ".pbf", ".gz", ".xz", ".bz2"} | ARC_TABLES
#: how names of OpenStreetMap files end
OSM_NAME = re.compile(r"\.(pbf|osm(\.(gz|xz|bz2))?)$", re.IGNORECASE)
#: values of options that are not numbers, beside texts
CONSTANTS = {"None": None, "True": True, "False": False}
#: greatest limit of bands: int64 and float64 hold all numbers up to it
GREATEST = (1 << 63) - 1


def add_graph(parser: argparse.ArgumentParser) -> None:
    """Declare the graph argument of a command, with ``--coordinates`` and options for turns."""
    parser.add_argument("graph", type=find_graph, metavar="FILE", help=GRAPH_HELP)
    add_coordinates(parser)
    add_turns(parser)


def add_coordinates(parser: argparse.ArgumentParser) -> None:
    """Declare ``--coordinates``, a file with the coordinates of the vertices."""
    text = (
        "a .co file for the same vertices, or its name in the folder SSSP_DATA, with or without .co"
    )
    parser.add_argument("--coordinates", type=_coordinates, metavar="FILE", help=text)


def add_turns(parser: argparse.ArgumentParser) -> None:
    """Declare ``--turns``, a file of turns, and ``--u-turns``, the cost of a U-turn."""
    text = "a CSV or Parquet file of turns: from, via, to, and cost or kind"
    parser.add_argument("--turns", type=Path, metavar="FILE", help=text)
    text = "what it costs to go back where one came from, inf to forbid it; dead ends excepted"
    parser.add_argument("--u-turns", type=_distance, metavar="COST", help=text)


def _coordinates(text: str) -> Path:
    if not os.path.exists(text):
        # (a graph's name stands for the coordinates beside it)
        return sssp.datasets.find(f"{text}.co") or sssp.datasets.find(text) or Path(text)
    return Path(text)


@dataclass(frozen=True)
class NamedGraph:
    """A graph that is not loaded yet: a file, or the built-in generator.

    Attributes
    ----------
    name : str
        What to call the graph in a table.
    path : Path or None
        The file; None for the built-in graph.
    size : int
        Number of vertices of the built-in graph.
    roads : tuple of str
        Profile and weight, of an OpenStreetMap file; empty for others.
    """

    name: str
    path: Path | None = None
    size: int = 0
    roads: tuple[str, ...] = ()

    @property
    def is_table(self) -> bool:
        """Whether the file is a table (or map layer) with a row per arc, not a graph file."""
        return self.path is not None and self.path.suffix.lower() in ARC_TABLES

    def load(self, coordinates: Path | None = None) -> sssp.Graph:
        """Read the graph from its file, or generate it if it is the built-in graph.

        Raises
        ------
        ValueError
            Coordinates for the built-in graph, or for one of OpenStreetMap: these have their own.
        """
        if (self.path is None or self.roads) and coordinates is not None:
            raise ValueError(f"{self.name} has coordinates of its own: omit --coordinates")
        if self.path is None:
            return sssp.road_like(self.size)
        if self.roads:
            return sssp.read_osm(self.path, *self.roads)  # type: ignore[arg-type]  # (checked there)
        if self.is_table:
            raise GraphFormatError(
                f"a table or layer of arcs: sssp convert {self.path} -o {self.name}.sssp makes a "
                "graph of it"
            )
        return sssp.read_graph(self.path, coordinates=coordinates)

    def load_network(self, coordinates: Path | None = None) -> sssp.Graph | sssp.Hierarchy:
        """Read or generate the graph; if the file holds a prepared map, return that hierarchy."""
        if self.path is None or self.roads or self.is_table:
            return self.load(coordinates)
        from sssp.prepared.read_hierarchy import read_network

        return read_network(self.path, coordinates)


def find_graph(text: str) -> NamedGraph:
    """Turn ``FILE``, ``road-like:N`` or the name of a known graph into a `NamedGraph`.

    Raises
    ------
    argparse.ArgumentTypeError
        No such file or graph.
    """
    kind, _, size = text.partition(":")
    if kind == BUILT_IN:
        vertices: int | None = read_number(size, int)
        if vertices is None or vertices < 1:
            raise ArgumentTypeError(
                f"{text!r}: the built-in graph needs a number of vertices, as {BUILT_IN}:100000"
            )
        return NamedGraph(text, size=vertices)
    # OpenStreetMap's file, with profile and weight or without
    roads: tuple[str, ...] = ()
    name, _, words = (text, "", "") if OSM_NAME.search(text) else text.rpartition(":")
    if OSM_NAME.search(name):
        profile, _, weight = words.partition(",")
        text, roads = name, (profile or "car", weight or "seconds")
    mode = _mode(text)
    if mode is not None and stat.S_ISDIR(mode):
        raise ArgumentTypeError(f"{text!r} is a folder, not a graph file")
    hint = f"; name a .gr or .sssp file, or {BUILT_IN}:N for a built-in graph of N vertices"
    stem = path = find_file(text, hint)
    while stem.suffix in SUFFIXES:
        stem = stem.with_suffix("")
    return NamedGraph(stem.name, path, roads=roads)


def find_file(text: str, hint: str = "") -> Path:
    """Return the path of a file, given by its path or by its name in the folder SSSP_DATA.

    Raises
    ------
    argparse.ArgumentTypeError
        There is none; `hint` says what to name, unless it can be downloaded.
    """
    path = Path(text) if _mode(text) is not None else sssp.datasets.find(text) if text else None
    if path is not None:
        return path
    if text and sssp.datasets.published_file(text) is not None:
        hint = f"; sssp fetch {text} downloads it"
    raise ArgumentTypeError(f"no file {text!r}{hint}")


def _mode(text: str) -> int | None:
    """Return the mode (permissions and type) of a file; None if it does not exist."""
    try:
        return os.stat(text).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ArgumentTypeError(f"{text!r}: {error.strerror}") from error


def one_method(text: str, known: Mapping[str, type[Method]] = METHODS) -> Method:
    """Turn ``name`` or ``name:option=value,...`` into a method object; refuse unknown names.

    Raises
    ------
    argparse.ArgumentTypeError
        No such method or option, or a value that it refuses.
    """
    name, _, settings = text.partition(":")
    kind = known.get(name)
    if kind is None:
        raise ArgumentTypeError(f"unknown method {name!r}; choose from {', '.join(known)}")
    options: dict[str, Any] = {}
    settable = [field.name for field in fields(kind)]
    for setting in filter(None, settings.split(",")):
        option, equals, value = setting.partition("=")
        if not equals:
            raise ArgumentTypeError(f"{setting!r} is not an option of {name}; write option=value")
        if option not in settable:
            raise ArgumentTypeError(
                f"{name} has no option {option!r}; "
                + (f"its options are {', '.join(settable)}" if settable else "it has no options")
            )
        if option in options:
            raise ArgumentTypeError(f"{option} of {name} is given twice")
        number = read_number(value, int, float)
        options[option] = CONSTANTS.get(value, value) if number is None else number
    try:
        return kind(**options)
    except TypeError as error:
        raise ArgumentTypeError(f"{text}: a value has the wrong type") from error
    except ValueError as error:
        raise ArgumentTypeError(f"{text}: {error}") from error


def read_number(text: str, *kinds: type[Any]) -> Any:
    """Parse a number as the first type in `kinds` that accepts the text; None if none does."""
    for kind in kinds:
        with suppress(ValueError):
            return kind(plain_digits(text))
    return None


def method_list(text: str) -> list[Method]:
    """Turn ``a,b:option=value,option=value,c`` or ``all`` into method objects.

    Raises
    ------
    argparse.ArgumentTypeError
        As `one_method`.
    """
    if text == "all":
        return [kind() for kind in METHODS.values()]
    # (behind a comma may also stand one more option of the method before it)
    return [one_method(method) for method in re.split(r",(?![^,:]*=)", text)]


def method_text(method: Method) -> str:
    """Return a method as text, ``name:option=value,...``, without options at their defaults."""
    changed = [
        f"{field.name}={getattr(method, field.name)}"
        for field in fields(method)
        if getattr(method, field.name) != field.default
    ]
    return f"{method.name}:{','.join(changed)}" if changed else method.name


def add_search(parser: argparse.ArgumentParser, methods: Mapping[str, type[Any]] = METHODS) -> None:
    """Declare ``--method`` and ``--device``, the method and device of a search."""
    text = (
        f"auto, {', '.join(methods)}; options follow a colon, as in "
        "delta-stepping:delta=5000 (default auto)"
    )
    parser.add_argument(
        "--method", default="auto", metavar="NAME", help=text,
        type=lambda text: text if text == "auto" else one_method(text, methods),
    )  # fmt: skip
    text = "auto, cpu, cuda, cuda:N or cuda:all (default auto)"
    parser.add_argument("--device", default="auto", help=text)


def add_limit(parser: argparse.ArgumentParser, *, help: str) -> None:
    """Declare ``--limit``; `help` describes what happens to vertices beyond it."""
    parser.add_argument("--limit", type=_distance, metavar="D", help=help)


def add_limits(parser: argparse.ArgumentParser, *, required: bool = False, help: str) -> None:
    """Declare ``--limits``, the distance limits of isochrone bands."""
    parser.add_argument("--limits", type=_limits, required=required, metavar="A,B,...", help=help)


def add_unit(parser: argparse.ArgumentParser) -> None:
    """Declare the option ``--unit``: the unit of distance limits and of displayed distances."""
    text = "give limits and show distances in this unit, N of the weights each, such as min=60"
    parser.add_argument("--unit", type=unit, metavar="NAME=N", help=text)


def unit(text: str) -> Unit:
    """Parse ``NAME=N``, the name of a distance unit and its size in weight units (default 1)."""
    from sssp.graph.drawing import Unit

    name, _, size = text.partition("=")
    try:
        # (a unit without a name is as wrong as one of size 0)
        return Unit(name, positive_number("a size")(size or "1" if name else "0"))
    except ArgumentTypeError:
        raise ArgumentTypeError(f"{text!r} is not NAME=N, as min=60") from None


def take_unit(options: argparse.Namespace) -> Unit:
    """Return the chosen unit of distance; convert limits in `options` to the unit of weights."""
    from sssp.graph.drawing import Unit

    shown: Unit = options.unit or Unit("", 1.0)
    if shown.size != 1 and getattr(options, "limit", None) is not None:
        options.limit *= shown.size
    if shown.size != 1 and getattr(options, "limits", None) is not None:
        options.limits = [limit * shown.size for limit in options.limits]
    return shown


def _distance(text: str) -> int | float:
    number: int | float | None = read_number(text, int, float)
    if number is None:
        raise ArgumentTypeError(f"{text!r} is not a number")
    if not number >= 0:
        raise ArgumentTypeError(f"{text} is not a number from 0 on")
    # (no distance is greater than the greatest float)
    return number if number <= sys.float_info.max else math.inf


def _limits(text: str) -> list[int | float]:
    try:
        limits = sorted(set(map(_distance, text.split(","))))
    except ArgumentTypeError as error:
        raise ArgumentTypeError(f"{error}; several go as 2000,4000") from None
    if limits[-1] > GREATEST:
        raise ArgumentTypeError(f"{text}: no distance is as great as {limits[-1]}")
    return limits


def whole_number(least: int) -> Callable[[str], int]:
    """Return a function that parses an integer of at least `least`."""

    def parse(text: str) -> int:
        value: int | None = read_number(text, int)
        if value is None:
            raise ArgumentTypeError(f"{text!r} is not a whole number")
        if value < least:
            raise ArgumentTypeError(f"{text} is not {least} or more")
        return value

    return parse


def positive_number(form: str) -> Callable[[str], float]:
    """Return a parser of finite numbers above 0, which calls them `form` in error messages."""

    def parse(text: str) -> float:
        number: float | None = read_number(text, float)
        if number is None or not 0 < number < math.inf:
            raise ArgumentTypeError(f"{text!r} is not {form}")
        return number

    return parse


def numbers(count: int, form: str) -> Callable[[str], list[float]]:
    """Return a parser of `count` comma-separated finite numbers, for a command-line option."""

    def parse(text: str) -> list[float]:
        found = [read_number(part, float) for part in text.split(",")]
        if len(found) != count or None in found or not all(map(math.isfinite, found)):
            raise ArgumentTypeError(f"{text!r} is not {form}")
        return found

    return parse


def new_file(text: str) -> Path:
    """Return the path of a file to write; refuse at once a path that cannot be written."""
    mode, folder, reason = _mode(text), os.path.dirname(os.path.realpath(text)), ""
    if not text:
        reason = "the name is empty"
    elif mode is not None and stat.S_ISDIR(mode):
        reason = "it is a folder"
    elif mode is not None and not stat.S_ISREG(mode):  # a pipe or device, written as it is
        reason = "" if os.access(text, os.W_OK) else "permission denied"
    elif not os.path.isdir(folder):
        reason = "no such folder"
    elif not os.access(folder, os.W_OK):
        reason = "permission denied in its folder"
    if reason:
        raise ArgumentTypeError(f"{text!r} cannot be written: {reason}")
    return Path(text)


def vertex_of(g: sssp.Graph, name: Any) -> int:
    """Return the vertex whose label is written as `name`.

    Raises
    ------
    VertexError
        No vertex has that label.
    """
    return g.vertex(label_of(g, name))


def label_of(g: sssp.Graph, name: Any) -> str | int:
    """Convert a text or a table cell to a vertex label of the graph: a string or an integer.

    Raises
    ------
    VertexError
        The graph numbers its vertices, and it is no integer.
    """
    if g.labels is not None and g.labels.dtype.kind == "U":
        return str(name)
    number: Any = read_number(name, int, float) if isinstance(name, str) else name
    if isinstance(number, int) and not isinstance(number, bool):
        return number
    whole = isinstance(number, float) and number.is_integer()
    remedy = "; write it without a point (pandas: .astype('int64'))" if whole else ""
    raise VertexError(f"{quote(name)} is not a vertex: this graph numbers its vertices{remedy}")


def label_vertices(g: sssp.Graph, vertices: NDArray[Any]) -> NDArray[Any]:
    """Return the labels of vertices as a column; without labels, their numbers."""
    return vertices if g.labels is None else g.labels[vertices]


def label_arcs(g: sssp.Graph, tails: NDArray[Any], heads: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Return columns ``tail`` and ``head``, the labels of both ends of each arc."""
    return {"tail": label_vertices(g, tails), "head": label_vertices(g, heads)}


def require_coordinates(g: sssp.Graph) -> NDArray[Any]:
    """Return the coordinates of a graph; raise ValueError if it has none in degrees."""
    from sssp.graph.sphere import require_degrees

    if g.coordinates is None:
        raise ValueError(
            "this graph has no coordinates to draw it by; name its .co file with --coordinates"
        )
    require_degrees(g.coordinates)
    return g.coordinates


#: room for the names of commands and their indentation
LEAST_COLUMN = 13


class Parser(argparse.ArgumentParser):
    """An `argparse.ArgumentParser` with one-line errors that point to ``--help``.

    The description is the docstring of a program, whose section of examples stands below the
    options.
    """

    def __init__(self, *, description: str | None, epilog: str = "", **options: Any) -> None:
        about, _, examples = (description or "").partition("\n\nExamples\n--------\n")
        if examples:
            epilog = f"examples:\n{examples}{epilog}"
        form = _HelpFormatter
        super().__init__(description=about, epilog=epilog, formatter_class=form, **options)
        self.register("action", None, _StoreOnce)
        # what argparse takes for a value, not for an option: a point in the west too, -73.98,40.75
        self._negative_number_matcher = re.compile(r"-[.\d]")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the arguments; refuse unknown ones, with a hint about the option before them."""
        given = sys.argv[1:] if args is None else list(args)
        options, unknown = super().parse_known_args(given, namespace)
        if unknown:
            known = self._option_string_actions
            before = [word for word in given[: given.index(unknown[0])] if word in known]
            option, hint = known[before[-1]] if before else None, ""
            # (how to give an option several values, before a stray word)
            if option is not None and option.nargs != 0 and not unknown[0].startswith("-"):
                name = option.option_strings[-1]
                hint = _comma_hint(option) or f"; {name} takes one value"
                if not isinstance(option, _StoreOnce):
                    hint = f"; for several, write {name} before each"
            self.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
        return options, unknown

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse a value that is not among the choices; suggest the most similar one."""
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            close = difflib.get_close_matches(str(value), map(str, action.choices or ()), n=1)
            error.message += f"; did you mean {close[0]}?" if close else ""
            raise

    def error(self, message: str) -> NoReturn:
        """Print an error in the arguments on one line, and exit with `USAGE_ERROR`."""
        tell(f"{self.prog}: error: {message} ({self.prog} --help tells more)")
        raise SystemExit(USAGE_ERROR)

    def _print_message(self, message: str, file: Any = None) -> None:
        # (argparse would hide that the help cannot be written)
        (file or sys.stdout).write(message)


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """A help formatter that keeps line breaks of descriptions, and splits no word at hyphens."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog)
        # (by itself it forgets that commands are indented, and breaks the line of the longest)
        self._action_max_length = LEAST_COLUMN

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(text, width, break_on_hyphens=False)


class _StoreOnce(argparse.Action):
    """An action that stores the value of an argument, and refuses a second value."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: Any = None) -> None:
        """Store the value as argparse does; raise if the argument was given before."""
        given = vars(namespace).setdefault("given", set())
        if self.dest in given:
            raise argparse.ArgumentError(self, f"given twice{_comma_hint(self)}")
        given.add(self.dest)
        setattr(namespace, self.dest, values)


def _comma_hint(option: argparse.Action) -> str:
    """Return a hint that comma-separated values take no blanks; '' for options without commas."""
    name, form = option.option_strings[-1], str(option.metavar)
    return f"; {name} takes {form} in one piece, without blanks" if "," in form else ""


def parse(parser: Parser, arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the arguments; store the command line itself as `command_line` in the result."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    return parser.parse_args(given, argparse.Namespace(command_line=[*parser.prog.split(), *given]))
