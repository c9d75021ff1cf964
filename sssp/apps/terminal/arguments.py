"""Arguments that programs share: graphs, methods, limits, numbers, new files, vertices by label."""

from __future__ import annotations

import argparse
import math
import os
import stat
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sssp
from sssp.errors import VertexError, plain_digits, quote
from sssp.methods import METHODS, Method

if TYPE_CHECKING:
    from numpy.typing import NDArray

BUILT_IN = "road-like"
GRAPH_HELP = (
    "a .gr or .sssp file, the name of a graph in the folder SSSP_DATA, or "
    f"{BUILT_IN}:N for a built-in one of N vertices"
)
#: endings that a graph's name goes without
SUFFIXES = {".gr", ".sssp", ".gz", ".xz", ".bz2"}
#: limit of bands: whatever is below, arrays of int64 or float64 hold
GREATEST = (1 << 63) - 1


def add_graph(parser: argparse.ArgumentParser) -> None:
    """Declare the graph that a command reads, and its ``--coordinates``."""
    parser.add_argument("graph", type=find_graph, metavar="FILE", help=GRAPH_HELP)
    parser.add_argument(
        "--coordinates",
        type=_coordinates,
        metavar="FILE",
        help="a .co file for the same vertices, or its name in the folder SSSP_DATA, with or "
        "without .co",
    )


def _coordinates(text: str) -> Path:
    if not os.path.exists(text):
        # (a graph's name stands for the coordinates beside it)
        return sssp.datasets.find(f"{text}.co") or sssp.datasets.find(text) or Path(text)
    return Path(text)


@dataclass(frozen=True)
class NamedGraph:
    """A graph that is not read or made yet: a file, or the built-in one.

    Attributes
    ----------
    name : str
        What to call the graph in a table.
    path : Path or None
        The file; None for the built-in graph.
    size : int
        Number of vertices of the built-in graph.
    """

    name: str
    path: Path | None = None
    size: int = 0

    def load(self, coordinates: Path | None = None) -> sssp.Graph:
        """Read or make the graph.

        Raises
        ------
        ValueError
            Coordinates for the built-in graph, which has its own.
        """
        if self.path is None:
            if coordinates is not None:
                raise ValueError(f"{self.name} has coordinates of its own: omit --coordinates")
            return sssp.road_like(self.size)
        return sssp.read_graph(self.path, coordinates=coordinates)

    def load_network(self, coordinates: Path | None = None) -> sssp.Graph | sssp.Hierarchy:
        """Read or make the graph, or the prepared map if the file holds one; raises as `load`."""
        if self.path is None:
            return self.load(coordinates)
        from sssp.prepared.prepare import read_network

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
        return NamedGraph(text, size=_size(text, size))
    mode = _mode(text)
    if mode is not None and stat.S_ISDIR(mode):
        raise argparse.ArgumentTypeError(f"{text!r} is a folder, not a graph file")
    path: Path | None = Path(text)
    if mode is None:
        path = sssp.datasets.find(text) if text else None
    if path is None:
        if text and sssp.datasets.published_file(text) is not None:
            raise argparse.ArgumentTypeError(f"no file {text!r}; sssp fetch {text} downloads it")
        raise argparse.ArgumentTypeError(
            f"no file {text!r}; name a .gr or .sssp file, or {BUILT_IN}:N for a built-in graph "
            "of N vertices"
        )
    return NamedGraph(_stem(path), path)


def _size(text: str, size: str) -> int:
    try:
        return whole_number(1)(size)
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(
            f"{text!r}: the built-in graph needs a number of vertices, as {BUILT_IN}:100000"
        ) from None


def _mode(text: str) -> int | None:
    """Return the kind of a file; None if there is none of that name."""
    try:
        return os.stat(text).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error.strerror}") from error


def _stem(path: Path) -> str:
    while path.suffix in SUFFIXES:
        path = path.with_suffix("")
    return path.name


def one_method(text: str, known: Mapping[str, type[Method]] = METHODS) -> Method:
    """Turn ``name`` or ``name:option=value,...`` into a method object, of those that are known.

    Raises
    ------
    argparse.ArgumentTypeError
        No such method or option, or a value that it refuses.
    """
    name, _, settings = text.partition(":")
    kind = known.get(name)
    if kind is None:
        raise argparse.ArgumentTypeError(f"unknown method {name!r}; choose from {', '.join(known)}")
    options: dict[str, Any] = {}
    settable = [field.name for field in fields(kind)]
    for setting in filter(None, settings.split(",")):
        option, equals, value = setting.partition("=")
        if not equals:
            raise argparse.ArgumentTypeError(
                f"{setting!r} is not an option of {name}; write option=value"
            )
        if option not in settable:
            raise argparse.ArgumentTypeError(
                f"{name} has no option {option!r}; "
                + (f"its options are {', '.join(settable)}" if settable else "it has no options")
            )
        if option in options:
            raise argparse.ArgumentTypeError(f"{option} of {name} is given twice")
        options[option] = _option_value(value)
    try:
        return kind(**options)
    except TypeError as error:
        raise argparse.ArgumentTypeError(f"{text}: a value has the wrong type") from error
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text}: {error}") from error


def _option_value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(plain_digits(text))
        except ValueError:
            pass
    return {"None": None, "True": True, "False": False}.get(text, text)


def method_list(text: str) -> list[Method]:
    """Turn ``a,b:option=value,option=value,c`` or ``all`` into method objects.

    Raises
    ------
    argparse.ArgumentTypeError
        As `one_method`.
    """
    if text == "all":
        return [kind() for kind in METHODS.values()]
    methods: list[str] = []
    for part in text.split(","):
        if methods and "=" in part and ":" not in part:
            # one more option of the method before it
            methods[-1] += f",{part}"
        else:
            methods.append(part)
    return [one_method(method) for method in methods]


def method_text(method: Method) -> str:
    """Return a method as `one_method` reads it, without the options that have their default."""
    changed = [
        f"{field.name}={getattr(method, field.name)}"
        for field in fields(method)
        if getattr(method, field.name) != field.default
    ]
    return f"{method.name}:{','.join(changed)}" if changed else method.name


def add_search(parser: argparse.ArgumentParser, methods: Mapping[str, type[Any]] = METHODS) -> None:
    """Declare ``--method`` and ``--device``."""
    parser.add_argument(
        "--method",
        type=partial(_method_or_auto, known=methods),
        default="auto",
        metavar="NAME",
        help=f"auto, {', '.join(methods)}; options follow a colon, as in "
        "delta-stepping:delta=5000 (default auto)",
    )
    parser.add_argument(
        "--device", default="auto", help="auto, cpu, cuda, cuda:N or cuda:all (default auto)"
    )


def add_limit(parser: argparse.ArgumentParser, *, help: str) -> None:
    """Declare ``--limit``; `help` says what becomes of what lies beyond."""
    parser.add_argument("--limit", type=_distance, metavar="D", help=help)


def add_limits(parser: argparse.ArgumentParser, *, required: bool = False, help: str) -> None:
    """Declare ``--limits``, those of bands."""
    parser.add_argument("--limits", type=_limits, required=required, metavar="A,B,...", help=help)


def _method_or_auto(text: str, known: Mapping[str, type[Any]]) -> Any:
    return text if text == "auto" else one_method(text, known)


def _distance(text: str) -> int | float:
    number: int | float
    try:
        try:
            number = int(plain_digits(text))
        except ValueError:
            number = float(plain_digits(text))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not number >= 0:
        raise argparse.ArgumentTypeError(f"{text} is not a number from 0 on")
    # (no distance is greater than the greatest float)
    return number if number <= sys.float_info.max else math.inf


def _limits(text: str) -> list[int | float]:
    try:
        limits = sorted(set(map(_distance, text.split(","))))
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(f"{error}; several go as 2000,4000") from None
    if limits[-1] > GREATEST:
        raise argparse.ArgumentTypeError(f"{text}: no distance is as great as {limits[-1]}")
    return limits


def whole_number(least: int) -> Callable[[str], int]:
    """Return a function that parses an integer of at least `least`."""

    def parse(text: str) -> int:
        try:
            value = int(plain_digits(text))
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
        if value < least:
            raise argparse.ArgumentTypeError(f"{text} is not {least} or more")
        return value

    return parse


def positive_number(form: str) -> Callable[[str], float]:
    """Return a function that parses a finite number above 0; `form` describes it."""

    def parse(text: str) -> float:
        try:
            number = float(plain_digits(text))
        except ValueError:
            number = math.nan
        if not 0 < number < math.inf:
            raise argparse.ArgumentTypeError(f"{text!r} is not {form}")
        return number

    return parse


def numbers(count: int, form: str) -> Callable[[str], list[float]]:
    """Return a function that parses ``a,b`` as `count` finite numbers, described by `form`."""

    def parse(text: str) -> list[float]:
        try:
            found = [float(part) for part in plain_digits(text).split(",")]
        except ValueError:
            found = []
        if len(found) != count or not all(map(math.isfinite, found)):
            raise argparse.ArgumentTypeError(f"{text!r} is not {form}")
        return found

    return parse


def new_file(text: str) -> Path:
    """Return the path of a file to write; refuse before the work one that cannot be written."""
    reason = _obstacle(text)
    if reason is not None:
        raise argparse.ArgumentTypeError(f"{text!r} cannot be written: {reason}")
    return Path(text)


def _obstacle(text: str) -> str | None:
    if not text:
        return "the name is empty"
    mode = _mode(text)
    if mode is not None and stat.S_ISDIR(mode):
        return "it is a folder"
    if mode is not None and not stat.S_ISREG(mode):  # a pipe or device, written as it is
        return None if os.access(text, os.W_OK) else "permission denied"
    folder = os.path.dirname(os.path.realpath(text))
    if not os.path.isdir(folder):
        return "no such folder"
    return None if os.access(folder, os.W_OK) else "permission denied in its folder"


def vertex_of(g: sssp.Graph, text: str) -> int:
    """Return the vertex whose label is written as `text`.

    Raises
    ------
    VertexError
        No vertex has that label.
    """
    labels = g.labels
    if labels is not None and labels.dtype.kind == "U":
        return g.vertex(text)
    try:
        number = int(plain_digits(text))
    except ValueError:
        raise VertexError(explain_no_number(text)) from None
    return g.vertex(number)


def explain_no_number(name: Any) -> str:
    """Return the message for a name that is not a vertex where vertices are integers."""
    try:
        number = float(plain_digits(name) if isinstance(name, str) else name)
        whole = number.is_integer() and not isinstance(name, bool)
    except (TypeError, ValueError):
        whole = False
    remedy = "; write it without a point (pandas: .astype('int64'))" if whole else ""
    return f"{quote(name)} is not a vertex: this graph numbers its vertices{remedy}"


def label_vertices(g: sssp.Graph, vertices: NDArray[Any]) -> NDArray[Any]:
    """Return the labels of vertices as a column; without labels, their numbers."""
    return vertices if g.labels is None else g.labels[vertices]


def require_coordinates(g: sssp.Graph) -> NDArray[Any]:
    """Return the coordinates of a graph; ValueError if it has none, or none in degrees."""
    from sssp.graph.sphere import require_degrees

    if g.coordinates is None:
        raise ValueError(
            "this graph has no coordinates to draw it by; name its .co file with --coordinates"
        )
    require_degrees(g.coordinates)
    return g.coordinates
