"""Time what turns cost: calls on one graph without turns, with few, and with costs of all turns.

    python -m bench.turns [GRAPH --coordinates FILE] [--device cuda] [--json FILE]

A graph with coordinates; default USA-road-t.NY. `osm`: one turn is forbidden at 2 of 100 crossings,
as in OpenStreetMap. `u-turns`: the same, and U-turns cost 20 s, by weights that may fall by an
eighth. `full`: a turn to the left costs 8 s and one to the right 3 s where three
streets meet, 2 of 100 turns are forbidden, and so are U-turns. On the CPU: CPU time of one thread.
On a GPU: whole calls, and how long the GPU is busy. The models take turns, call by call; medians of
the times, and of their ratios. Answers are compared, those of prepared maps with searches of the
graph, and those of a GPU with the CPU's.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from time import perf_counter, process_time
from typing import Any

import numpy as np

import sssp
from bench.calls import busy_milliseconds
from bench.graphs import SEED
from bench.listing import Listing, make_parser
from sssp.apps.terminal.arguments import add_coordinates, find_graph
from sssp.datasets import find

GRAPH, COORDINATES = "USA-road-t.NY", "USA-road-d.NY.co"
#: units of the weights of USA-road-t a second; what turns cost; degrees from which one bends
SECOND = 278
LEFT, RIGHT, BACK, BEND = 8 * SECOND, 3 * SECOND, 20 * SECOND, 45
#: share of the crossings, or of the turns, where one is forbidden
FORBIDDEN = 0.02
MANY, TREES, BATCH, RUNS, PREPARATIONS = 1_000, 64, 256, 15, 3
HEADINGS = "turns | call | ms | GPU busy, ms | of none | "
CELLS = "{turns} | {call} | {ms:,.3f} | {busy:,.3f} | {share:.2f} | {equal}"


def add_turns(g: sssp.Graph, turns: str) -> sssp.Graph:
    """Return the graph with the turns of a model."""
    if turns == "none":
        return g
    random = np.random.default_rng(SEED)
    streets = np.diff(g.indptr)
    counts = streets[g.indices]
    into = np.repeat(np.arange(g.m), counts)
    out = np.arange(into.size) - np.repeat(np.cumsum(counts) - counts, counts)
    out += g.indptr[g.indices[into]]
    via, is_back = g.indices[into], g.indices[out] == g.tails[into]
    is_crossing = (streets[via] >= 3) & ~is_back
    usual = random.permutation(np.flatnonzero(is_crossing))
    if turns != "full":
        usual = usual[np.unique(via[usual], return_index=True)[1]]
    closed = usual[random.random(usual.size) < FORBIDDEN]
    table = into[closed], out[closed], np.full(closed.size, np.inf)
    if turns == "osm":
        return g.with_turns(table, arcs=True)
    if turns == "u-turns":
        return g.with_turns(table, arcs=True, u_turns=BACK, lightest=7 / 8)

    def cost(angle: Any) -> Any:
        return np.where(is_crossing, LEFT * (angle > BEND) + RIGHT * (angle < -BEND), 0)

    return g.with_turns(table, arcs=True, u_turns=np.inf, cost=cost)


def calls(g: sssp.Graph, h: Any, device: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield names of calls, what asks them, and what gives the same answer in another way."""
    random = np.random.default_rng(SEED)
    sources, ends = random.integers(0, g.n, (2, MANY))
    weights = [-(-g.weights * part // 8) for part in (7, 9)]
    options: dict[str, Any] = {"device": device, "progress": False}
    if device == "cpu":
        options["threads"] = 1
    else:
        options["output"] = "device"
    ask: Any = partial(sssp.shortest_paths, **options)
    right = partial(sssp.shortest_paths, device="cpu", progress=False)

    def reweigh() -> Any:
        weights.reverse()
        return ask(h.with_weights(weights[0]), sources[:1])

    def search_anew() -> Any:
        return right(g.with_weights(weights[0]), sources[:1])

    yield "new weights and a tree", reweigh, search_anew
    yield "one tree", partial(ask, h, sources[:1]), partial(right, g, sources[:1])
    if device != "cpu":
        yield f"{BATCH} trees", partial(ask, h, sources[:BATCH]), partial(right, h, sources[:BATCH])
        return
    some = sources[:TREES]
    yield f"{TREES} trees", partial(ask, h, some), partial(right, g, some)
    table = partial(ask, h, sources, targets=ends)
    yield f"table {MANY:,} x {MANY:,}", table, partial(right, h, sources, targets=ends, threads=2)
    trips = partial(sssp.pairs, h, sources, ends, **options)
    yield f"{MANY:,} trips", trips, partial(sssp.pairs, h.with_trip_labels(), sources, ends)
    yield f"{MANY:,} trips with paths", partial(trips, predecessors=True), trips
    yield "not prepared, one source", partial(ask, g, sources[:1]), partial(right, h, sources[:1])


def measure(listing: Listing, g: sssp.Graph, models: list[str], device: str) -> None:
    """Add a row for every call and model; the models take turns, so that they meet one machine."""
    clock: Callable[[], float] = process_time if device == "cpu" else perf_counter
    graphs = [add_turns(g, turns) for turns in models]
    maps: list[Any] = [None] * len(models)

    def prepare(i: int) -> None:
        maps[i] = sssp.prepare(graphs[i], threads=1 if device == "cpu" else None)

    def add(call: str, asks: list[Any], runs: int, equal: list[Any], busy: list[Any]) -> None:
        times: list[list[float]] = [[] for _ in models]
        for _ in range(runs):
            for ask, own in zip(asks, times, strict=True):
                begun = clock()
                ask()
                own.append(1e3 * (clock() - begun))
        for i, turns in enumerate(models):
            ms = float(np.median(times[i]))
            share = float(np.median(np.divide(times[i], times[0])))
            row = {"turns": turns, "call": call, "ms": ms, "share": share}
            listing.add(row | {"busy": busy[i], "equal": equal[i]})

    none = [None] * len(models)
    add("prepare", [partial(prepare, i) for i in range(len(models))], PREPARATIONS, none, none)
    for same in zip(*map(calls, graphs, maps, [device] * len(models)), strict=True):
        equal, busy = [], []
        for _, ask, right in same:
            for _ in range(2):
                answer = ask()
            if device != "cpu":
                answer = answer.to_host()
            equal.append(bool(np.array_equal(answer.distances, right().distances)))
            busy.append(None if device == "cpu" else busy_milliseconds(ask))
        add(same[0][0], [ask for _, ask, _ in same], RUNS, equal, busy)


def main() -> int:
    """Print the table, write it as JSON where asked; 1 if any row is wrong."""
    parser = make_parser(__doc__)
    parser.add_argument("graph", nargs="?", type=find_graph, metavar="GRAPH")
    add_coordinates(parser)
    parser.add_argument("--device", default="cpu", help="cpu, the default, or cuda")
    parser.add_argument("--without", default="", help="models to leave out, such as full")
    options = parser.parse_args()
    at = options.coordinates or (None if options.graph else find(COORDINATES))
    g = (options.graph or find_graph(GRAPH)).load(at)
    listing = Listing({"seed": SEED, "device": options.device, "runs": RUNS}, HEADINGS, CELLS)
    models = [turns for turns in ("none", "osm", "u-turns", "full") if turns != options.without]
    measure(listing, g, models, options.device)
    return listing.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
