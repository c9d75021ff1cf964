"""Benchmark of user equilibria on known test problems, compared with AequilibraE if installed.

Both go by bi-conjugate Frank-Wolfe, to the same gap, on the same threads.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from itertools import product
from logging import ERROR, getLogger
from statistics import median
from types import SimpleNamespace
from typing import Any

import numpy as np

import sssp
from sssp.bench.harness import BenchTable
from sssp.bench.report import REFUSALS, RIGHT, WRONG, Cell, explain
from sssp.bench.workloads import time_call
from sssp.calls.read_tntp import RoadProblem
from sssp.datasets import PROBLEMS, find
from sssp.engine.threads import default_threads
from sssp.errors import MissingExtraError

TITLE = "User equilibria, bi-conjugate Frank-Wolfe"
NOTE = (
    "s: median, without reading and compilation, and of AequilibraE without its graph;\n"
    "above: how far the objective is above that of the published flow, relative; equal: to it,\n"
    "but for what the gap allows, which is a bound because costs rise with flow."
)
COLUMNS = "<problem|>gap|<contender|>iterations|>s|>ms an iteration|>above|<equal"
GAPS = (1e-4, 1e-6)
#: what a unit of length and of toll costs, where it costs anything
FIXED: dict[str, dict[str, Any]] = {"ChicagoSketch": {"distance": 0.04, "toll": 0.02}}
MOST = 5000
#: a published flow is no better known than this
ROUNDED = 1e-8
#: what AequilibraE takes for free-flow times and exponents, which must be above 0 there
LEAST_TIME, LEAST_POWER = 1e-9, 1.0


class Equilibria(BenchTable):
    """Benchmark table: user equilibria of all test problems that are on this machine."""

    steps = len(PROBLEMS) * len(GAPS)

    def measure(self) -> None:
        """Time the user equilibrium of every problem, solved to every relative gap of `GAPS`."""
        comparison = self.compare(TITLE, COLUMNS, NOTE)
        threads = self.plan.threads or default_threads()
        for name in PROBLEMS:
            files = (find(f"{name}_{kind}.tntp") for kind in ("net", "trips", "flow"))
            network, trips, flows = files
            if network is None or trips is None or flows is None:
                comparison.remarks.append(f"{name} is not here: sssp fetch downloads it")
                continue
            problem = sssp.read_tntp(network, trips, **FIXED.get(name, {}))
            # the file of the published flow names links by their ends, in any order
            known = np.loadtxt(flows, skiprows=1, usecols=(0, 1, 2))
            flow_of = {(tail, head): flow for tail, head, flow in known}
            ends = zip(problem.links.tails + 1, problem.links.heads + 1, strict=True)
            flow = np.array([flow_of[pair] for pair in ends])
            best = float(problem.cost.integral(flow).sum())
            contenders = {"sssp": _ours, "AequilibraE": _aequilibrae}
            for gap, contender in product(GAPS, contenders):
                if contender == "sssp":
                    self.progress(f"{name} to a gap of {gap}")
                prepare, seconds = contenders[contender], []
                try:
                    prepare(problem, 0.5, threads)()  # compiles
                    for _ in range(self.plan.trials):
                        elapsed, found = time_call(prepare(problem, gap, threads))
                        seconds.append(elapsed)
                except REFUSALS as error:
                    comparison.remarks.append(f"{contender}, {name}: skipped: {explain(error)}")
                    continue
                excess = float(problem.cost.integral(found.flow).sum()) / best - 1
                paid = float(problem.cost.cost(found.flow) @ found.flow)
                allowed = found.gap * paid / best + ROUNDED
                record: dict[str, Cell] = {
                    "problem": name,
                    "gap": f"{gap:.0e}",
                    "contender": contender,
                    "iterations": found.iterations,
                    "s": median(seconds),
                    "ms an iteration": 1000 * median(seconds) / found.iterations,
                    "above": f"{excess:.1e}",
                    "equal": RIGHT if -ROUNDED <= excess <= allowed else WRONG,
                }
                comparison.records.append(record)


def _ours(problem: RoadProblem, gap: float, threads: int) -> Callable[[], sssp.Assignment]:
    return partial(
        sssp.assign, problem.graph, problem.demand, problem.cost,
        closed_zones=problem.closed_zones, gap=gap, iterations=MOST, threads=threads,
        progress=False,
    )  # fmt: skip


def _aequilibrae(problem: RoadProblem, gap: float, threads: int) -> Callable[[], Any]:
    """Prepare inputs for AequilibraE 1.7; return a function that solves the problem with it.

    What it returns has the attributes of `sssp.Assignment` that the table shows.
    """
    try:
        paths, matrices = map(import_module, ("aequilibrae.paths", "aequilibrae.matrix"))
        pandas = import_module("pandas")
    except ImportError as error:
        raise MissingExtraError("it is not installed: pip install aequilibrae") from error
    getLogger("aequilibrae").setLevel(ERROR)
    links, cost = problem.links, problem.cost
    columns = {
        "link_id": np.arange(1, links.tails.size + 1),
        "a_node": links.tails + 1,
        "b_node": links.heads + 1,
        "direction": 1,
        "capacity": cost.capacity,
        "free_flow_time": np.maximum(cost.free, LEAST_TIME),
        "b": cost.alpha,
        "power": np.maximum(cost.beta, LEAST_POWER),
        "fixed": cost.fixed,
    }
    zones = np.arange(1, links.zones + 1)
    graph, table = paths.Graph(), matrices.AequilibraeMatrix()
    graph.network = pandas.DataFrame(columns)
    graph.prepare_graph(zones)
    graph.set_graph("free_flow_time")
    graph.set_blocked_centroid_flows(problem.closed_zones.size > 0)
    table.create_empty(zones=zones.size, matrix_names=["trips"], memory_only=True)
    table.matrix["trips"][:, :] = problem.demand[2] * (zones != zones[:, np.newaxis])
    table.index = zones
    table.computational_view(["trips"])
    cars, run = paths.TrafficClass("cars", graph, table), paths.TrafficAssignment()
    cars.set_vot(1.0)
    cars.set_fixed_cost("fixed", 1.0)
    run.set_classes([cars])
    run.set_vdf("BPR")
    run.set_vdf_parameters({"alpha": "b", "beta": "power"})
    run.set_capacity_field("capacity")
    run.set_time_field("free_flow_time")
    run.max_iter, run.rgap_target = MOST, gap
    run.set_algorithm("bfw")
    run.set_cores(threads)

    def solve() -> SimpleNamespace:
        run.execute()
        log = run.report()
        flow = cars.results.get_load_results()["trips_tot"].to_numpy()[: links.tails.size]
        return SimpleNamespace(flow=flow, gap=float(log["rgap"].iloc[-1]), iterations=len(log))

    return solve
