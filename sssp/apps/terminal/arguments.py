"""Arguments that programs share: graphs, methods, numbers, new files, and vertices by label."""

from __future__ import annotations

import argparse
import math
import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sssp.errors import VertexError, plain_digits, quote
from sssp.methods import METHODS, Method

if TYPE_CHECKING:
    from sssp.graph.graph import Graph
    from sssp.prepared.hierarchy import Hierarchy

BUILT_IN = "road-like"
GRAPH_HELP = (
    "a .gr or .sssp file, the name of a graph in the folder SSSP_DATA, or "
    f"{BUILT_IN}:N for a built-in one of N vertices"
)
#: endings that a graph's name goes without
SUFFIXES = {".gr", ".sssp", ".gz", ".xz", ".bz2"}


def add_graph(parser: argparse.ArgumentParser) -> None:
    """Declare the graph that a command reads, and its ``--coordinates``."""
    parser.add_argument("graph", type=named_graph, metavar="FILE", help=GRAPH_HELP)
    parser.add_argument(
        "--coordinates",
        type=_coordinates,
        metavar="FILE",
        help="a .co file for the same vertices, or its name in the folder SSSP_DATA, with or "
        "without .co",
    )


def _coordinates(text: str) -> Path:
    if not os.path.exists(text):
        from sssp import datasets

        # (a graph's name stands for the coordinates beside it)
        return datasets.find(f"{text}.co") or datasets.find(text) or Path(text)
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

    def load(self, coordinates: Path | None = None) -> Graph:
        """Read or make the graph.

        Raises
        ------
        ValueError
            Coordinates for the built-in graph, which has its own.
        """
        if self.path is None:
            if coordinates is not None:
                raise ValueError(
                    f"{self.name} has coordinates of its own: leave --coordinates away"
                )
            from sssp.datasets.generate import road_like

            return road_like(self.size)
        from sssp.graph.reading import read_graph

        return read_graph(self.path, coordinates=coordinates)

    def load_network(self, coordinates: Path | None = None) -> Graph | Hierarchy:
        """Read or make the graph, or the prepared map if the file holds one; raises as `load`."""
        if self.path is None:
            return self.load(coordinates)
        from sssp.prepared.prepare import read_network

        return read_network(self.path, coordinates)


def named_graph(text: str) -> NamedGraph:
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
        from sssp import datasets

        path = datasets.find(text) if text else None
    if path is None:
        if text and datasets.published_file(text) is not None:
            raise argparse.ArgumentTypeError(f"no file {text!r}; sssp fetch {text} downloads it")
        raise argparse.ArgumentTypeError(
            f"no file {text!r}; name a .gr or .sssp file, or {BUILT_IN}:N for a built-in graph "
            "of N vertices"
        )
    return NamedGraph(_stem(path), path)


def _size(text: str, size: str) -> int:
    try:
        number = int(plain_digits(size)) if size.isdecimal() else 0
    except ValueError:  # more digits than Python reads
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(
            f"{text!r}: the built-in graph needs a number of vertices, as {BUILT_IN}:100000"
        )
    return number


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
                f"{setting!r} is no option of {name}; write option=value"
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


def whole_number(least: int) -> Callable[[str], int]:
    """Return what turns a text into an integer that is not below `least`."""

    def number(text: str) -> int:
        try:
            value = int(plain_digits(text))
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
        if value < least:
            raise argparse.ArgumentTypeError(f"{text} is not {least} or more")
        return value

    return number


def numbers(count: int, form: str) -> Callable[[str], list[float]]:
    """Return what turns ``a,b`` into so many finite numbers; `form` says what they are."""

    def split(text: str) -> list[float]:
        try:
            found = [float(part) for part in plain_digits(text).split(",")]
        except ValueError:
            found = []
        if len(found) != count or not all(map(math.isfinite, found)):
            raise argparse.ArgumentTypeError(f"{text!r} is not {form}")
        return found

    return split


def new_file(text: str) -> Path:
    """Find out before the work, not after it, that a file cannot be written.

    Raises
    ------
    argparse.ArgumentTypeError
        It is a folder, there is no folder for it, or writing is not allowed there.
    """
    reason = _obstacle(text)
    if reason is not None:
        raise argparse.ArgumentTypeError(f"{text!r} cannot be written: {reason}")
    return Path(text)


def _obstacle(text: str) -> str | None:
    if not text:
        return "it is no name"
    mode = _mode(text)
    if mode is not None and stat.S_ISDIR(mode):
        return "it is a folder"
    if mode is not None and not stat.S_ISREG(mode):  # a pipe or device, written as it is
        return None if os.access(text, os.W_OK) else "permission denied"
    folder = os.path.dirname(os.path.realpath(text))
    if not os.path.isdir(folder):
        return "no such folder"
    return None if os.access(folder, os.W_OK) else "permission denied in its folder"


def vertex_of(g: Graph, text: str) -> int:
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
        raise VertexError(no_number(text)) from None
    return g.vertex(number)


def no_number(name: Any) -> str:
    """Say that something is no vertex of a graph whose vertices go by integers."""
    try:
        number = float(plain_digits(name) if isinstance(name, str) else name)
        whole = number.is_integer() and not isinstance(name, bool)
    except (TypeError, ValueError):
        whole = False
    remedy = "; write it without a point (pandas: .astype('int64'))" if whole else ""
    return f"{quote(name)} is no vertex: this graph numbers its vertices{remedy}"
