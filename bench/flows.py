"""Time flows on prepared maps: all-or-nothing, skims and assignment, on the CPU and on a GPU.

    python -m bench.flows [GRAPH] [--threads N] [--device cuda] [--json FILE]

Chicago Sketch where its files are on this machine, New York (or another graph) with 1,000 origins
and 1,000 or all destinations, and a built-in network of the size of Chicago Regional with a demand
by gravity. Whole calls, the median of several, kernels compiled: `sssp.load` and `sssp.skim` with
what they check, and a loader that has its demand already, as `sssp.assign` uses it, with the same
weights and with others each time. Trees and their `load` are what they replace.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

import sssp
from bench.graphs import SEED
from bench.listing import Listing, make_parser
from sssp.apps.terminal.arguments import find_graph
from sssp.bench.equilibria import FIXED
from sssp.calls.load_demand import Loader
from sssp.datasets import find
from sssp.engine.demand import as_demand

GRAPH = "USA-road-d.NY"
HEADINGS = "network | what | by | ms | of trees | "
CELLS = "{network} | {what} | {by} | {ms:,.2f} | {share} | {equal}"
#: vertices and zones of Chicago Regional
REGIONAL, ZONES = 12_982, 1_771
#: how fast gravity falls with distance; and capacities, in mean flows
FALL, ROOM = 3.0, (3.0, 6.0, 12.0)
GAP = 1e-4
RUNS, SLOW = 7, 3

Demand = tuple[Any, Any, Any]


def networks(name: str | None) -> Iterator[tuple[str, sssp.Graph, Demand, Any, Any]]:
    """Yield a name, a graph, a demand, and a cost function with closed zones for an assignment."""
    files = [find(f"ChicagoSketch_{kind}.tntp") for kind in ("net", "trips")]
    if None not in files:
        p = sssp.read_tntp(*files, **FIXED["ChicagoSketch"])  # type: ignore[arg-type]
        yield "Chicago Sketch", p.graph, p.demand, p.cost, p.closed_zones
    random = np.random.default_rng(SEED)
    g = sssp.road_like(REGIONAL, seed=2)
    zones = random.choice(g.n, ZONES, replace=False)
    yield "like Chicago Regional", g, *_gravity(g, zones, random), None
    g = (name or find_graph(GRAPH)).load()  # type: ignore[union-attr]
    origins, ends = (random.choice(g.n, min(1_000, g.n), replace=False) for _ in range(2))
    volumes = random.integers(0, 9, (origins.size, ends.size))
    yield "1,000 x 1,000", g, (origins, ends, volumes), None, None
    yield "1,000 x all", g, (origins, np.arange(g.n), np.ones((origins.size, g.n))), None, None


def _gravity(g: sssp.Graph, zones: Any, random: Any) -> tuple[Demand, sssp.BPR]:
    """Return a demand by gravity between zones, and costs at which it is congested."""
    places = np.asarray(g.coordinates)[zones]
    far = np.sqrt(((places[:, None] - places) ** 2).sum(axis=2))
    mass = random.lognormal(size=zones.size)
    volumes = mass[:, None] * mass * np.exp(-FALL * far / far.mean())
    np.fill_diagonal(volumes, 0.0)
    demand = zones, zones, volumes
    flow = sssp.load(sssp.prepare(g), demand, device="cpu").flow
    capacity = np.maximum(flow.mean() * random.choice(ROOM, flow.size), 1.0)
    return demand, sssp.BPR(g.weights[g.row_arc] / 600, capacity)


def time_calls(call: Callable[[], Any], runs: int) -> tuple[float, Any]:
    """Return the median milliseconds of a call, and its last result."""
    for _ in range(3):  # (compiles; and what is launched is recorded the second time)
        found = call()
    times = []
    for _ in range(runs):
        begin = perf_counter()
        found = call()
        times.append(1e3 * (perf_counter() - begin))
    return median(times), found


def measure(
    listing: Listing, network: str, g: sssp.Graph, demand: Demand, options: dict[str, Any]
) -> None:
    """Add lines for loads and skims of a demand on a network."""
    h, by = sssp.prepare(g), options["device"]
    runs = RUNS if demand[1].size < g.n or g.n < 2 * REGIONAL else SLOW
    add = partial(_add, listing, network)
    if by == "cpu" and demand[1].size < g.n:
        trees = partial(
            sssp.shortest_paths, h, demand[0], targets=demand[1], predecessors=True, **options
        )
        whole, wanted = time_calls(lambda: trees().load(demand[2]), SLOW)
        add("all-or-nothing", "trees, r.load", whole)
    else:
        whole, wanted = None, sssp.load(h, demand, device="cpu").flow
    ms, found = time_calls(lambda: sssp.load(h, demand, **options), runs)
    add("all-or-nothing", f"load, {by}", ms, whole, _same_cost(h, found.flow, wanted))
    loader = Loader(h, as_demand(demand, g), **options)
    ms, _ = time_calls(lambda: loader.load(h), runs)
    add("all-or-nothing", f"a loader, {by}", ms, whole)
    numbers = count()
    ms, _ = time_calls(lambda: loader.load(h.with_weights(g.weights + next(numbers) % 3)), runs)
    add("new weights, all-or-nothing", f"a loader, {by}", ms, whole)
    if by == "cpu":
        values = np.random.default_rng(SEED).random(g.m)
        ms, sums = time_calls(lambda: sssp.skim(h, demand, values, **options), runs)
        flow = sssp.load(h, demand, **options).by_arc
        right = np.isclose((sums * demand[2]).sum(), (flow * values).sum())
        add("skim", f"skim, {by}", ms, None, bool(right))


def _same_cost(h: sssp.Hierarchy, found: Any, wanted: Any) -> bool:
    """Return whether two flows cost the same; they may take different paths of equal length."""
    weights = h.graph.weights[h.graph.row_arc].astype(float)
    return bool(np.isclose(found @ weights, np.asarray(wanted) @ weights, rtol=1e-9))


def assign(
    listing: Listing, network: str, g: Any, demand: Demand, cost: Any, zones: Any, options: Any
) -> None:
    """Add a line for an assignment."""
    call = partial(
        sssp.assign, g, demand, cost, gap=GAP, closed_zones=zones, progress=False, **options
    )
    ms, found = time_calls(call, SLOW)
    by = f"assign, {options['device']}, {len(found.history)} iterations"
    _add(listing, network, f"assignment to {GAP:.0e}", by, ms, None, bool(found.gap <= GAP))


def _add(
    listing: Listing,
    network: str,
    what: str,
    by: str,
    ms: float,
    whole: float | None = None,
    equal: bool | None = None,
) -> None:
    share = None if whole is None else f"{ms / whole:.3f}"
    listing.add(
        {"network": network, "what": what, "by": by, "ms": ms, "share": share, "equal": equal}
    )


def main() -> int:
    """Print the table, write it as JSON where asked; 1 if a flow is wrong."""
    parser = make_parser(__doc__)
    parser.add_argument("graph", nargs="?", type=find_graph, metavar="GRAPH")
    parser.add_argument("--threads", type=int, metavar="N")
    parser.add_argument("--device", default="cpu", help="cpu, the default, or cuda")
    given = parser.parse_args()
    options = {"device": given.device, "threads": given.threads}
    settings = {"seed": SEED, **options}
    listing = Listing(settings, HEADINGS, CELLS)
    for network, g, demand, cost, zones in networks(given.graph):
        measure(listing, network, g, demand, options)
        if cost is not None:
            assign(listing, network, g, demand, cost, zones, options)
    return listing.finish(given.json)


if __name__ == "__main__":
    sys.exit(main())
