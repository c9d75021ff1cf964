"""Checked requests of the map page and their answers: distances, routes, areas, certificates."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import sssp
from sssp import Graph, Hierarchy
from sssp.apps.page.street_map import CLASSES, StreetMap
from sssp.errors import UnreachableError, VertexError, plain_digits
from sssp.kernels.dtypes import unreached

#: pins that one question may name, and streets that it may close
MOST_SOURCES, MOST_CLOSED = 1000, 1000
#: areas that one question may ask for; metres that they reach beside the streets
MOST_LIMITS, AREA_WIDTH = 12, 60
#: routes to a target, the shortest among them
WAYS = 3
#: how many times longer traffic may make the streets of a class
FACTORS = (0.25, 10.0)
#: characters of what was sent that a message holds
SHOWN = 40


@dataclass(frozen=True)
class MapRequest:
    """A checked request to the map page: sources, target, closed streets, traffic factors.

    Attributes
    ----------
    sources : tuple of int
        Vertices; of several the nearest counts.
    target : int or None
        Where a route leads.
    closed : tuple of int
        Streets, ascending, none twice.
    traffic : tuple of float
        A factor for the weights of every class of streets.
    by_source : bool
        Whether to colour by the nearest source instead of by distance.
    others : bool
        Whether a route is to come with other ways.
    limits : tuple of float
        Of areas, in units of the weights.
    """

    sources: tuple[int, ...]
    target: int | None = None
    closed: tuple[int, ...] = ()
    traffic: tuple[float, ...] = ()
    by_source: bool = False
    others: bool = False
    limits: tuple[float, ...] = ()


def parse_fields(body: bytes) -> dict[str, Any]:
    """Parse a JSON body as an object; raise ValueError if it is anything else."""
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        raise ValueError("the body is not JSON") from None
    if not isinstance(fields, dict):
        raise ValueError("the body is not an object of JSON")
    return fields


def parse_request(fields: dict[str, Any], vertices: int, streets: int) -> MapRequest:
    """Parse a `MapRequest` from JSON fields; refuse unknown or too many vertices or streets.

    There are so many vertices and streets to name.
    """
    flags = "by_source", "others"
    unknown = set(fields) - {"sources", "target", "closed", "traffic", "limits", *flags}
    if unknown:
        raise ValueError(f"nothing is called {min(unknown)!r}")
    sources = _list(fields, "sources", MOST_SOURCES)
    if not sources:
        raise ValueError("sources must name a vertex")
    target, closed = fields.get("target"), _list(fields, "closed", MOST_CLOSED)
    vertex = partial(_number, count=vertices, what="vertex", error=VertexError)
    street = partial(_number, count=streets, what="street", error=ValueError)
    for name in flags:
        if not isinstance(fields.get(name, False), bool):
            raise ValueError(f"{name} must be true or false")
    limits = _list(fields, "limits", MOST_LIMITS)
    if not all(_is_number(limit) and 0 <= limit < math.inf for limit in limits):
        raise ValueError("limits must be finite numbers, 0 or more")
    traffic = _list(fields, "traffic", len(CLASSES))
    if traffic and len(traffic) != len(CLASSES):
        raise ValueError(f"traffic must have {len(CLASSES)} factors, not {len(traffic)}")
    low, high = FACTORS
    for value in traffic:
        if not (_is_number(value) and low <= value <= high):
            raise ValueError(f"{_shorten(value)} is not a factor from {low:g} to {high:g}")
    return MapRequest(
        tuple(map(vertex, sources)),
        None if target is None else vertex(target),
        tuple(sorted(set(map(street, closed)))),
        # (nothing changes with factors of 1: the same as no factors)
        () if set(traffic) <= {1} else tuple(map(float, traffic)),
        limits=tuple(map(float, limits)),
        **{name: fields.get(name, False) for name in flags},
    )


def _list(fields: dict[str, Any], name: str, most: int) -> Sequence[Any]:
    values = fields.get(name, [])
    if not isinstance(values, list):
        raise ValueError(f"{name} must be a list")
    if len(values) > most:
        raise ValueError(f"{name} may name {most}, not {len(values)}")
    return values


def _number(value: Any, count: int, what: str, error: type[ValueError | VertexError]) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < count:
        raise error(f"{_shorten(value)} is not a {what}: they are 0..{count - 1}")
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _shorten(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


Array = NDArray[Any]
Network = Graph | Hierarchy

#: the distance of an unreached vertex in 16 bits, and the greatest distance
UNREACHED = (1 << 16) - 1
GREATEST = UNREACHED - 1
#: bytes that versions of the map with other weights may hold, what one holds an arc (weights,
#: orders of arcs, or those of a hierarchy), and how many there are at least and at most
VERSION_BYTES, BYTES_OF_AN_ARC = 384 << 20, 96
FEWEST_VERSIONS, MOST_VERSIONS = 2, 16
#: characters of a label that the page shows
LABEL = 60


class MapAnswer(NamedTuple):
    """A 16-bit code per vertex for its distance or nearest source, with data to decode the codes.

    Attributes
    ----------
    values : ndarray of uint16, shape (n,)
        ``least + step * value`` is the distance, rounded to a step; `UNREACHED` for none. By
        source: the position of the nearest one.
    facts : dict
        ``least``, ``step``, ``greatest``, ``reached`` and what ran.
    """

    values: NDArray[np.uint16]
    facts: dict[str, Any]


class Answers:
    """The solver behind the page: answers map requests, also with closed streets and traffic.

    Parameters
    ----------
    network : Graph or Hierarchy
        A prepared map answers faster, and learns of a closed street without a new search order.
    street_map : StreetMap
        Of its graph.
    device : str
        As of `sssp.shortest_paths`.

    Notes
    -----
    Asked from several threads. Versions of the map, by what is closed and how heavy traffic is,
    are kept while there is room; the longest unused one goes first.
    """

    def __init__(self, network: Network, street_map: StreetMap, device: str = "auto") -> None:
        self.network = network
        #: without closed streets and traffic
        self.graph = network._tree_graph
        self.map = street_map
        self.device = device
        room = VERSION_BYTES // (BYTES_OF_AN_ARC * max(network.m, 1))
        most = min(max(room, FEWEST_VERSIONS), MOST_VERSIONS)
        self._find_version = lru_cache(most)(self._make_version)

    # -- answers -------------------------------------------------------------------------------

    def distances(self, question: MapRequest) -> MapAnswer:
        """Return each vertex's distance from its nearest source or, on request, that source."""
        start = perf_counter()
        result = self._search(self._version(question), question)
        facts = {
            "method": result.method,
            "device": result.device,
            "milliseconds": (perf_counter() - start) * 1e3,
            "labels": [self.label(source) for source in question.sources],
        }
        values, scale = encode(result.distances)
        if question.by_source and result.origin is not None:
            position = np.full(self.network.n + 1, UNREACHED, np.uint16)
            # (of a source that is named twice the first; the origin -1 is the last entry)
            position[[*reversed(question.sources)]] = range(len(question.sources))[::-1]
            values = position[result.origin]
        return MapAnswer(values, facts | scale)

    def route(self, question: MapRequest) -> dict[str, Any]:
        """Return the route to the target, from the source that is nearest to it.

        Returns
        -------
        dict
            ``vertices``, ``distance``, ``length``, ``labels`` of both ends, ``source``; or none of
            them but ``reached`` False. ``others``, if asked for: the first three of other ways, and
            their ``stretch`` and ``sharing``.
        """
        if question.target is None:
            raise ValueError("target must be a vertex")
        start = perf_counter()
        network = self._version(question)
        sources, ends = list(question.sources), [question.target] * len(question.sources)
        trips = sssp.pairs(network, sources, ends, predecessors=True, device=self.device)
        first = int(np.argmin(trips.to_float()))
        try:
            way = self._way(trips, first)
        except UnreachableError:
            return {"reached": False, "labels": [None, self.label(question.target)]}
        others = []
        if question.others:
            both_ends = way["vertices"][0], way["vertices"][-1]
            ways = sssp.alternatives(network, *both_ends, k=WAYS, progress=False)
            for number in range(1, len(ways)):
                ratios = ways.stretch[number].item(), ways.sharing[number].item()
                named = dict(zip(("stretch", "sharing"), ratios, strict=True))
                others.append(self._way(ways, number) | named)
        return {
            "reached": True,
            "source": question.sources[first],
            **way,
            "labels": [self.label(question.sources[first]), self.label(question.target)],
            "others": others,
            "milliseconds": (perf_counter() - start) * 1e3,
        }

    def _way(self, found: sssp.Trips | sssp.Alternatives, number: int) -> dict[str, Any]:
        return {
            "vertices": found.path(number).tolist(),
            "distance": found.distances[number].item(),
            "length": float(self.map.lengths[found.path_arcs(number)].sum()),
        }

    def areas(self, question: MapRequest) -> dict[str, Any]:
        """Return the isochrone areas for the limits of a request, as GeoJSON."""
        if not question.limits:
            raise ValueError("limits must name a limit")
        limit = math.ceil(max(question.limits))
        result = self._search(self._version(question), question, limit=limit)
        areas = result.isochrone_areas(sorted(question.limits), width=AREA_WIDTH)
        found: dict[str, Any] = json.loads(areas.to_json())
        return found

    def certificate(self, question: MapRequest) -> dict[str, Any]:
        """Certify a request's shortest-path tree; return the time, and vertex and arc counts."""
        network = self._version(question)
        result = self._search(network, question, predecessors=True)
        start = perf_counter()
        sssp.verify(network._tree_graph, result)
        return {
            "vertices": int(np.count_nonzero(result.reached)),
            "arcs": network.m - network._tree_graph.closed_arcs,
            "milliseconds": (perf_counter() - start) * 1e3,
        }

    def warm_up(self) -> Iterator[Callable[[], object]]:
        """Yield a function per kind of request; calling it compiles the kernels in advance."""
        if self.network.n == 0:
            return
        question = MapRequest((0,), self.network.n - 1)
        yield lambda: self.distances(question)
        yield lambda: self.route(question)
        if len(self.map.streets):
            yield lambda: self.distances(replace(question, closed=(0,)))
            yield lambda: self.distances(replace(question, traffic=(1.5,) * len(CLASSES)))
        yield lambda: self.certificate(question)
        yield lambda: self.distances(replace(question, sources=(0, self.network.n - 1)))

    def vertex(self, label: str) -> int:
        """Return the vertex of `label`, or of the shortest label that contains `label`."""
        labels = self.graph.labels
        if labels is not None and labels.dtype.kind == "U":
            names = np.char.lower(labels)
            found = np.flatnonzero(np.char.find(names, label.strip().lower()) >= 0)
            if label in labels or not (found.size and label.strip()):
                return self.graph.vertex(label)
            # the one that has least beside it
            return int(found[np.argmin(np.char.str_len(names[found]))])
        try:
            return self.graph.vertex(int(plain_digits(label)))
        except ValueError:
            raise VertexError(f"{label[:LABEL]!r} is not a vertex: they go by numbers") from None

    def label(self, vertex: int) -> str:
        """Return the label of a vertex as text; its number if the graph has no labels."""
        labels = self.graph.labels
        return str(vertex if labels is None else labels[vertex])[:LABEL]

    def _search(self, network: Network, question: MapRequest, **options: Any) -> Any:
        sources = list(question.sources)
        # (a search from one source is told apart, for it has solvers of its own)
        asked: Any = sources[0] if len(sources) == 1 else sources
        options |= {"nearest": len(sources) > 1, "device": self.device}
        return sssp.shortest_paths(network, asked, **options)

    # -- versions of the map -------------------------------------------------------------------

    def _version(self, question: MapRequest) -> Network:
        """Return the network with a request's streets closed and its traffic factors applied."""
        if question.traffic or question.closed:
            return self._find_version(question.traffic, question.closed)
        return self.network

    def _make_version(self, factors: tuple[float, ...], closed: tuple[int, ...]) -> Network:
        if closed:
            arcs = self.map.arcs[list(closed)].ravel()
            network = self._find_version(factors, ()) if factors else self.network
            return network.without_arcs(arcs[arcs >= 0])
        weights = self.graph.weights
        scaled = weights * np.array(factors)[self.map.arc_class]
        shut = weights == unreached(weights.dtype)
        if weights.dtype.kind == "i":
            # (a closed arc weighs the greatest integer, which no float is)
            scaled = np.rint(np.where(shut, 0, scaled)).astype(np.int64)
        scaled[shut] = unreached(scaled.dtype)
        return self.network.with_weights(scaled)


def encode(distances: Array) -> tuple[NDArray[np.uint16], dict[str, Any]]:
    """Encode distances in 16 bits; return the codes and the scale to decode them.

    Returns
    -------
    values : ndarray of uint16, shape (n,)
        ``least + step * value``, rounded; `UNREACHED` for none. Integers below 65,535 apart are
        exact.
    scale : dict
        ``least``, ``step``, ``greatest`` and ``reached``, how many are.
    """
    reached = distances != unreached(distances.dtype)
    count = int(np.count_nonzero(reached))
    known = distances if count == distances.size else distances[reached]
    least = known.min().item() if count else 0
    greatest = known.max().item() if count else 0
    span = greatest - least
    exact = distances.dtype.kind == "i" and span <= GREATEST
    step = 1.0 if exact or span == 0 else span / GREATEST
    steps = known - np.float64(least)
    steps /= step
    # (rounds as rint does, in a third of the time)
    steps += 0.5
    if count == distances.size:
        values = steps.astype(np.uint16)
    else:
        values = np.full(distances.size, UNREACHED, np.uint16)
        values[reached] = steps.astype(np.uint16)
    return values, {"least": least, "step": step, "greatest": greatest, "reached": count}
