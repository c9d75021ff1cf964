"""Vertices as users name them: by labels, by coordinates, or by files of labels or points."""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import sssp
from sssp import errors
from sssp.apps.terminal import arguments
from sssp.apps.terminal.outcome import on_one_line
from sssp.apps.terminal.table_files import FileTable, read_table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Network = sssp.Graph | sssp.Hierarchy

Found = TypeVar("Found")
#: vertices of a negative cycle that a message holds
SHOWN_VERTICES = 20
VERTEX, ID = "vertex", "id"
#: metres from a point to the nearest vertex, at most
MAX_DISTANCE = 1_000.0
POINT = ("lon", "lat")
COST_RULE = "cost must be 0 or more (beside integer weights a whole number below 2**63), or inf"


class Point(NamedTuple):
    """A point that the user gives, as longitude and latitude in degrees, with its text."""

    text: str
    lon: float
    lat: float


class Chosen(NamedTuple):
    """Vertices that the user chose, with messages about the vertices found for given points.

    Attributes
    ----------
    vertices : ndarray of int64, shape (k,)
    notes : list of str
        A line for each point.
    names : ndarray, shape (k,), or None
        What they are called in a table; None: of one file.
    """

    vertices: NDArray[np.int64]
    notes: list[str]
    names: Any = None


def add_vertices(parser: argparse.ArgumentParser, role: str, *, help: str) -> None:
    """Declare the options ``--ROLE``, ``--ROLE-at`` and ``--ROLEs`` for a role, such as source.

    All may be repeated and mixed; their order is kept.
    """
    dest = f"{role}s"
    add = partial(parser.add_argument, dest=dest, action="append")
    add(f"--{role}", metavar="V", help=f"{help}; repeatable")
    text = f"the vertex nearest to this point, in degrees, as a {role}; repeatable"
    add(f"--{role}-at", type=_point, metavar="LON,LAT", help=text)
    text = (
        f"{dest} from a CSV or Parquet file with a column {role}, {VERTEX} or {ID}, or with points "
        f"in columns lon and lat (longitude and latitude, x and y), in any case, or from a DIMACS "
        ".ss file; - is CSV on stdin"
    )
    add(f"--{dest}", type=Path, metavar="FILE", help=text)
    if role == "source":
        add_max_distance(parser)


def add_max_distance(parser: argparse.ArgumentParser) -> None:
    """Declare ``--max-distance``: how far a point may be from its vertex, in metres."""
    text = f"refuse points that are farther from any vertex (default {MAX_DISTANCE:,.0f})"
    kind, default = arguments.positive_number("a number of metres, as 1000"), MAX_DISTANCE
    parser.add_argument("--max-distance", type=kind, default=default, metavar="METRES", help=text)


def require_vertices(options: argparse.Namespace, *roles: str) -> None:
    """Raise ValueError if a command names no vertex for a required role, such as source."""
    for role in roles:
        if not getattr(options, f"{role}s"):
            raise ValueError(f"required: --{role} V, --{role}-at LON,LAT or --{role}s FILE")


def find_vertices(
    g: sssp.Graph,
    options: argparse.Namespace,
    role: str,
    id_column: str | None = None,
    *,
    allow_none: bool = False,
) -> Chosen:
    """Return the vertices that a command names by label, by point or in a file, in order.

    Points lie at most ``--max-distance`` from theirs. With `id_column` those of files are called by
    that column, the others as they are typed. Files without rows may leave no source only with
    `allow_none`.
    """
    import numpy as np

    parts, notes, farthest = [], list[str](), options.max_distance
    names: list[Any] = []
    for one in getattr(options, f"{role}s"):
        if isinstance(one, str):
            found, named = np.array([arguments.vertex_of(g, one)]), [one]
        elif isinstance(one, Point):
            found, metres = _nearest(g, [one.lon], [one.lat])
            if metres[0] > farthest:
                raise ValueError(f"--{role}-at {one.text} is {_too_far(metres[0], farthest)}")
            [name] = arguments.label_vertices(g, found)
            notes.append(f"{role} at {one.text}: vertex {name}, {metres[0]:,.0f} m away")
            named = [one.text]
        else:
            table = read_table(one)
            found, said, _ = find_in_table(g, table, role, (role, VERTEX), farthest)
            notes += said
            named = [] if id_column is None else table.columns[table.require(id_column)]
        parts.append(found)
        names += named
    vertices = np.concatenate(parts).astype(np.int64)
    if role == "source" and not allow_none and vertices.size == 0:
        raise ValueError(f"the files name no {role}")
    labels = arguments.label_vertices(g, vertices) if id_column is None else np.array(names)
    return Chosen(vertices, notes, labels)


def find_ends(
    g: sssp.Graph, options: argparse.Namespace
) -> tuple[NDArray[np.int64] | None, NDArray[np.int64] | None, list[str]]:
    """Return a command's sources and targets, each None if not named, and messages for the user."""
    ends: list[NDArray[np.int64] | None] = [None, None]
    notes: list[str] = []
    for place, role in enumerate(("source", "target")):
        if getattr(options, f"{role}s"):
            chosen = find_vertices(g, options, role)
            ends[place], notes = chosen.vertices, notes + chosen.notes
    return ends[0], ends[1], notes


def find_in_table(
    g: sssp.Graph,
    table: FileTable,
    role: str,
    columns: Sequence[str],
    farthest: float,
    before: str = "",
) -> Chosen:
    """Return the vertices that a table lists by labels or, without labels, by coordinates.

    Points lie at most `farthest` metres from theirs; `before` stands before the names of their
    columns.
    """
    column, axes = table.find(*columns), [f"{before}{axis}" for axis in POINT]
    found_axes = [table.find(axis) for axis in axes]
    if column is None and None in found_axes:
        # (beside points it is a name of theirs)
        column = table.find(ID)
    if column is not None:
        return Chosen(read_labels(g, table, column), [])
    if None in found_axes:
        raise table.lacks(f"{' or '.join(columns)}, nor {' and '.join(axes)}")
    lon, lat = (table.numbers(axis) for axis in found_axes if axis is not None)
    if not lon:
        return Chosen(g.vertices([]), [])
    found, metres = _nearest(g, lon, lat)
    if metres.max() > farthest:
        row = int((metres > farthest).argmax())
        table.refuse(row, f"the point {lon[row]},{lat[row]} is {_too_far(metres[row], farthest)}")
    note = (
        f"{len(lon):,} {role}s at points of {on_one_line(table.path)}: their vertices are "
        f"{metres.mean():,.0f} m away on average, {metres.max():,.0f} m at most"
    )
    return Chosen(found, [note])


def read_labels(g: sssp.Graph, table: FileTable, column: str) -> NDArray[np.int64]:
    """Return the vertices whose labels are listed in a column of a table.

    Raises
    ------
    GraphFormatError
        No vertex has such a label, or there is none in a row; names the line.
    """
    values = table.columns[column]
    texts = g.labels is not None and g.labels.dtype.kind == "U"
    # (what is missing goes first: it makes floats of all integers beside it)
    for row, value in enumerate(values):
        if value is None or value != value or not (texts or str(value).strip()):
            table.refuse(row, f"{column} is missing; omit such rows")
    try:
        return g.vertices([arguments.label_of(g, value) for value in values])
    except (errors.VertexError, TypeError):
        # (a number that is none of int64 is not an integer to NumPy)
        for row, value in enumerate(values):
            try:
                arguments.vertex_of(g, value)
            except errors.VertexError as error:
                table.refuse(row, str(error))
        raise


def graph_of(options: argparse.Namespace) -> sssp.Graph:
    """Read the graph named on the command line; add turns from ``--turns`` and ``--u-turns``."""
    return with_turns(options.graph.load(options.coordinates), options)


def network_of(options: argparse.Namespace) -> Network:
    """Read the network named in a command: a graph, with its turns, or a prepared map."""
    network: Network = options.graph.load_network(options.coordinates)
    if isinstance(network, sssp.Graph):
        return with_turns(network, options)
    if options.turns is not None or options.u_turns is not None:
        raise ValueError("this map is prepared already: --turns and --u-turns need a graph")
    return network


def with_turns(g: sssp.Graph, options: argparse.Namespace) -> sssp.Graph:
    """Return the graph with turn costs and forbidden turns from ``--turns`` and ``--u-turns``."""
    if options.turns is None and options.u_turns is None:
        return g
    if options.turns is None:
        return g.with_turns(None, arcs=True, u_turns=options.u_turns)
    table, whole = read_table(options.turns), g.weights.dtype.kind == "i"
    ends = [read_labels(g, table, table.require(name)) for name in ("from", "via", "to")]
    arcs = [_find_arcs(g, table, *pair) for pair in pairwise(ends)]
    kinds = list(table.columns.get(table.find("kind") or "", ["cost"] * len(table.lines)))
    given = table.columns[table.require("cost")] if "cost" in kinds else kinds
    number_types = (int, float) if whole else (float,)
    costs: list[int | float] = [0] * len(table.lines)
    for row, (kind, cell) in enumerate(zip(kinds, given, strict=True)):
        if kind not in ("cost", "no", "only"):
            table.refuse(row, f"kind must be cost, no or only, not {errors.quote(kind)}")
        # (an integer may have more digits than a float)
        cost = arguments.read_number(str(cell), *number_types) if kind == "cost" else 0
        if cost == math.inf:
            kinds[row] = "no"  # (beside it NumPy would make floats of integers)
        elif cost is None or not cost >= 0 or (whole and (cost % 1 or cost > arguments.GREATEST)):
            table.refuse(row, f"{COST_RULE}, not {errors.quote(cell)}")
        else:
            costs[row] = int(cost) if whole else cost
    return g.with_turns((*arcs, costs, kinds), arcs=True, u_turns=options.u_turns)


def _find_arcs(g: sssp.Graph, table: FileTable, tails: Any, heads: Any) -> NDArray[np.int64]:
    """Return the position of the arc in each table row; refuse a row whose arc does not exist."""
    import numpy as np

    try:
        return g.arcs(tails, heads)
    except errors.VertexError:
        for row, ends in enumerate(zip(tails, heads, strict=True)):
            try:
                g.arc(*ends)
            except errors.VertexError:
                names = map(str, arguments.label_vertices(g, np.array(ends)))
                table.refuse(row, f"no arc leads from {errors.join_briefly(names, ' to ')}")
        raise


def _nearest(g: sssp.Graph, lon: Any, lat: Any) -> tuple[Any, Any]:
    if g.coordinates is None:
        raise ValueError(
            "this graph has no coordinates to find the vertices of points by; name its .co file "
            "with --coordinates"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that all are far away: --max-distance decides
        return g.nearest_vertex(lon, lat, distance=True)


def _too_far(metres: float, farthest: float) -> str:
    return (
        f"{metres:,.0f} m from the nearest vertex, farther than --max-distance {farthest:,.0f}; "
        "are longitude and latitude swapped?"
    )


def _point(text: str) -> Point:
    return Point(text, *arguments.numbers(2, "LON,LAT in degrees, as -73.98,40.75")(text))


def search(
    g: Network, options: argparse.Namespace, call: Callable[..., Found], *ends: Any, **asked: Any
) -> tuple[Found, str]:
    """Call a search with the method and device of a command; return the result and a summary."""
    start = perf_counter()
    with name_negatives(g._tree_graph):
        result: Any = call(g, *ends, method=options.method, device=options.device, **asked)
    seconds = perf_counter() - start
    return result, f"{result.method} on {result.device}, {seconds:.3f} s with compilation, if any"


@contextmanager
def name_negatives(g: sssp.Graph) -> Iterator[None]:
    """Replace vertex numbers by labels in errors about negative arcs and cycles."""
    import numpy as np

    try:
        yield
    except errors.NegativeCycleError as error:
        cycle = np.array([*error.cycle, error.cycle[0]])
        names = map(str, arguments.label_vertices(g, cycle[: SHOWN_VERTICES + 1]))
        raise type(error)(
            "a cycle of negative length is reached, so distances have no lower bound; its "
            f"{cycle.size - 1:,} vertices are {errors.join_briefly(names, ' -> ')}"
            f"{' ...' * (cycle.size > SHOWN_VERTICES + 1)}"
        ) from error
    except errors.NegativeWeightError as error:
        arc = int(np.argmin(g.weights))
        ends = arguments.label_vertices(g, np.array([g.tails[arc], g.indices[arc]]))
        raise type(error)(
            f"the arc {errors.join_briefly(map(str, ends), ' -> ')} weighs {g.weights[arc]}, below "
            "zero, which this method does not take; bellman-ford does"
        ) from error
