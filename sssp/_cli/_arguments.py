"""Arguments that several commands share: graphs, methods, and vertices in the file's numbers."""

from __future__ import annotations

import argparse
from ast import literal_eval
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sssp.errors import VertexError
from sssp.methods import METHODS, Method

if TYPE_CHECKING:
    from sssp.graph.graph import Graph

__all__ = ["GraphSource", "graph_source", "method_list", "method_text", "one_method", "vertex_of"]

BUILT_IN = "road-like"
#: endings that a graph's name goes without
SUFFIXES = {".gr", ".sssp", ".gz", ".xz", ".bz2"}


@dataclass(frozen=True)
class GraphSource:
    """Where a graph comes from: a file, or the built-in generator.

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
        """Read or make the graph."""
        if self.path is None:
            from sssp.generate import road_like

            return road_like(self.size)
        from sssp.graph.graph import read_graph

        return read_graph(self.path, coordinates=coordinates)


def graph_source(text: str) -> GraphSource:
    """Turn ``FILE``, ``road-like:N`` or the name of a known graph into a `GraphSource`.

    Raises
    ------
    argparse.ArgumentTypeError
        No such file or graph.
    """
    kind, _, size = text.partition(":")
    if kind == BUILT_IN:
        if not size.isdecimal() or int(size) < 1:
            raise argparse.ArgumentTypeError(
                f"{text!r}: the built-in graph needs a number of vertices, as {BUILT_IN}:100000"
            )
        return GraphSource(text, size=int(size))
    path = Path(text)
    if path.is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is a folder, not a graph file")
    if not path.exists():
        from sssp import datasets

        known = datasets.find(text)
        if known is None:
            raise argparse.ArgumentTypeError(
                f"no file {text!r}; name a .gr or .sssp file, or {BUILT_IN}:N for a built-in graph "
                "of N vertices"
            )
        path = known
    return GraphSource(_stem(path), path)


def _stem(path: Path) -> str:
    while path.suffix in SUFFIXES:
        path = path.with_suffix("")
    return path.name


def one_method(text: str) -> Method:
    """Turn ``name`` or ``name:option=value,...`` into a method object.

    Raises
    ------
    argparse.ArgumentTypeError
        No such method or option, or a value that it refuses.
    """
    name, _, settings = text.partition(":")
    kind = METHODS.get(name)
    if kind is None:
        raise argparse.ArgumentTypeError(
            f"unknown method {name!r}; choose from {', '.join(METHODS)}"
        )
    options = dict(_option(name, setting) for setting in settings.split(",") if setting)
    known = [field.name for field in fields(kind)]
    unknown = [option for option in options if option not in known]
    if unknown:
        raise argparse.ArgumentTypeError(
            f"{name} has no option {unknown[0]!r}; "
            + (f"its options are {', '.join(known)}" if known else "it has no options")
        )
    try:
        return kind(**options)
    except (TypeError, ValueError) as error:
        raise argparse.ArgumentTypeError(f"{text}: {error}") from error


def _option(name: str, setting: str) -> tuple[str, Any]:
    option, equals, value = setting.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{setting!r} is no option of {name}; write option=value")
    try:
        return option, literal_eval(value)
    except (SyntaxError, ValueError):
        return option, value


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
        number = int(text)
    except ValueError:
        raise VertexError(f"{text!r} is no vertex: this graph numbers its vertices") from None
    return g.vertex(number)
