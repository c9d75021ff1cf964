"""Time other libraries and programs beside our methods in one run, and verify their answers.

    python -m bench.rivals [--rivals networkit,gapbs] [options of python -m sssp.bench]

A library is found if it can be imported, a program by an environment variable or on PATH:

========== ============================ ================= =========================================
rival      found as                     by the variable   what of its answer is compared with ours
========== ============================ ================= =========================================
networkit  package networkit                              all distances
igraph     package igraph                                 all distances
rustworkx  package rustworkx                              all distances
gapbs      program gapbs-sssp           GAPBS_SSSP        vertices reached; it passes its own test
wasp       program wasp-sssp            WASP_SSSP         as gapbs, on which it is built
adds       program adds-sssp            ADDS_SSSP         all distances
routingkit program run_dijkstra         RUN_DIJKSTRA      distance of the farthest vertex
cch        package routingkit-cch                         all distances
pandana    package pandana                                all distances of trips
========== ============================ ================= =========================================

The last two prepare maps, and ``--table hierarchy`` asks them what it asks ours; cch needs
coordinates (``USA-road-d.NY.co.gz`` beside the graph).

A rival that is not installed is skipped, with a remark. A library is timed from call to its own
result, which is turned into an array afterwards. A program is started anew for every source, and
its own clock counts: reading the graph is not in it, and neither is a call from Python. gapbs and
wasp get the delta of `DELTAS` that is best for them on the graph; their threads are those of
OMP_NUM_THREADS.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sssp
from sssp.apps.terminal.arguments import Parser, parse
from sssp.apps.terminal.interrupt import leave
from sssp.apps.terminal.outcome import report_errors
from sssp.bench.__main__ import PACKAGES, add_arguments, run
from sssp.bench.harness import Rival, RivalAnswer, RivalMap, read_rows
from sssp.loaders import write_gr

Sources = NDArray[np.int64]
Solve = Callable[[Sources], Any]

#: seconds after which a program that has not ended is given up
PATIENCE = 600
#: widths of a bucket that are tried, in mean weights
DELTAS = (1, 4, 16, 64)
#: the greatest weight that programs with 32-bit arithmetic hold
LARGEST = np.iinfo(np.int32).max // 2
#: pandana counts thousandths in 32 bits: the greatest weight, and what stands for unreached
PANDANAS_GREATEST, PANDANAS_FARTHEST = (2**31 - 1) // 1000, (2**32 - 1) / 1000
SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


class RivalError(sssp.SSSPError):
    """A rival is not installed, does not take the graph, or failed."""


# -- libraries ---------------------------------------------------------------------------------


def _library(package: str, named: str | None = None) -> Any:
    try:
        return import_module(package)
    except ImportError:
        raise RivalError(f"not installed: pip install {named or package}") from None


def _prepare_networkit(graph: sssp.Graph) -> Solve:
    networkit = _library("networkit")
    # (it takes narrower indices for 64-bit ones, and reads beyond their end)
    ends = (graph.tails.astype(np.uint64), graph.indices.astype(np.uint64))
    arcs = (graph.weights.astype(np.float64), ends)
    theirs = networkit.GraphFromCoo(arcs, n=graph.n, weighted=True, directed=True)

    def solve(sources: Sources) -> list[Any]:
        searches = [networkit.distance.Dijkstra(theirs, s, False) for s in sources.tolist()]
        return [search.run() for search in searches]

    return solve


def _read_networkit(searches: list[Any]) -> RivalAnswer:
    distances = np.array([search.getDistances(asarray=True) for search in searches])
    distances[distances == np.finfo(np.float64).max] = np.inf
    return read_rows(distances)


def _prepare_igraph(graph: sssp.Graph) -> Solve:
    igraph = _library("igraph")
    arcs = np.column_stack((graph.tails, graph.indices))
    theirs = igraph.Graph(n=graph.n, edges=arcs, directed=True)
    theirs.es["weight"] = graph.weights.tolist()
    return lambda sources: [
        theirs.distances(source=source, weights="weight", mode="out")[0]
        for source in sources.tolist()
    ]


def _prepare_rustworkx(graph: sssp.Graph) -> Solve:
    rustworkx = _library("rustworkx")
    theirs = rustworkx.PyDiGraph()
    theirs.add_nodes_from(range(graph.n))
    arcs = (graph.tails.tolist(), graph.indices.tolist(), graph.weights.tolist())
    theirs.add_edges_from(list(zip(*arcs, strict=True)))
    search = rustworkx.dijkstra_shortest_path_lengths
    return lambda sources: [
        (graph.n, source, search(theirs, source, float)) for source in sources.tolist()
    ]


def _read_rustworkx(found: list[tuple[int, int, Mapping[int, float]]]) -> RivalAnswer:
    distances = np.full((len(found), found[0][0]), np.inf)
    for row, (_, source, lengths) in zip(distances, found, strict=True):
        row[list(lengths.keys())] = list(lengths.values())
        row[source] = 0  # which it leaves out
    return read_rows(distances)


# -- libraries that prepare maps ---------------------------------------------------------------


def _map_with_cch(graph: sssp.Graph) -> Callable[[], RivalMap]:
    """Use the customizable contraction hierarchies of RoutingKit, ordered by inertial flow."""
    cch = _library("routingkit_cch", "routingkit-cch")
    _refuse_wide_weights(graph)
    if graph.coordinates is None:
        raise RivalError("its order needs coordinates, and the graph has none")
    arcs = (graph.n, graph.tails.tolist(), graph.indices.tolist())
    weights = graph.weights.tolist()
    # (latitude first)
    places = [graph.coordinates[:, column].tolist() for column in (1, 0)]

    def prepare() -> RivalMap:
        order = cch.compute_order_inertial(*arcs, *places)
        metric = cch.CCHMetric(cch.CCH(order, *arcs[1:], False), weights)

        def table(sources: Sources, targets: Sources) -> list[Any]:
            pinned = cch.CCHOneToMany(metric, targets.tolist())
            return [pinned.distances_from(source) for source in sources.tolist()]

        def trips(sources: Sources, targets: Sources) -> list[Any]:
            # (as long as there is a request, there are no new weights)
            request = cch.CCHQuery(metric)
            ends = zip(sources.tolist(), targets.tolist(), strict=True)
            return [request.run(source, target).distance for source, target in ends]

        def paths(sources: Sources, targets: Sources) -> list[Any]:
            request, lengths, ways = cch.CCHQuery(metric), [], []
            for source, target in zip(sources.tolist(), targets.tolist(), strict=True):
                trip = request.run(source, target)
                ways.append(trip.node_path)
                lengths.append(trip.distance)
                del trip  # (a request has one result at a time)
            return lengths

        everywhere = np.arange(graph.n)
        return RivalMap(
            lambda sources: table(sources, everywhere),
            table,
            trips,
            _infinite_for_none,
            lambda new: metric.reset(new.tolist()),
            paths,
        )

    return prepare


def _infinite_for_none(distances: list[Any]) -> NDArray[np.float64]:
    return np.nan_to_num(np.array(distances, np.float64), nan=np.inf, posinf=np.inf)


def _prepare_cch(graph: sssp.Graph) -> Solve:
    trees = _map_with_cch(graph)().trees
    assert trees is not None
    return trees


def _read_cch(rows: list[Any]) -> RivalAnswer:
    return read_rows(_infinite_for_none(rows))


def _map_with_pandana(graph: sssp.Graph) -> Callable[[], RivalMap]:
    """Use pandana, which finds trips only, and takes no new weights."""
    pandana, frames = _library("pandana"), _library("pandas")
    if graph.greatest_weight > PANDANAS_GREATEST:
        raise RivalError(f"it takes weights up to {PANDANAS_GREATEST:,}")
    # (it only keeps them)
    places = np.zeros((graph.n, 2)) if graph.coordinates is None else graph.coordinates
    nodes = [frames.Series(places[:, column]) for column in (0, 1)]
    ends = [frames.Series(side.astype(np.int64)) for side in (graph.tails, graph.indices)]
    weights = frames.DataFrame({"weight": graph.weights.astype(np.float64)})

    def prepare() -> RivalMap:
        network = pandana.Network(*nodes, *ends, weights, twoway=False)

        def table(sources: Sources, targets: Sources) -> NDArray[np.float64]:
            ends = np.repeat(sources, targets.size), np.tile(targets, sources.size)
            return trips(*ends).reshape(sources.size, targets.size)

        def trips(sources: Sources, targets: Sources) -> NDArray[np.float64]:
            return np.asarray(network.shortest_path_lengths(sources, targets))

        return RivalMap(None, table, trips, _read_pandana)

    return prepare


def _read_pandana(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(distances >= PANDANAS_FARTHEST, np.inf, distances)


def _prepare_pandana(graph: sssp.Graph) -> Solve:
    raise RivalError("it finds no trees: --table hierarchy asks it for trips")


# -- programs ----------------------------------------------------------------------------------

#: solves from one source
SolveOne = Callable[[int], RivalAnswer]
#: ``prepare(program, graph, folder)`` makes files of a graph in a folder
Prepare = Callable[[str, sssp.Graph, Path], SolveOne]


def _program(
    name: str, command: str, variable: str, prepare: Prepare, device: str = "cpu"
) -> Rival:
    """Return a program as a rival: named by a variable, or found as a command on PATH."""

    def find_and_prepare(graph: sssp.Graph) -> Solve:
        program = os.environ.get(variable) or shutil.which(command)
        if program is None:
            raise RivalError(f"not found: put it on PATH as {command}, or name it in {variable}")
        if not os.access(program, os.X_OK):
            raise RivalError(f"{variable} names no program: {program!r}")
        _refuse_wide_weights(graph)
        folder = Path(mkdtemp(prefix="sssp-rival-"))
        solve = partial(_solve_in_turn, prepare(program, graph.without_closed_arcs(), folder))
        weakref.finalize(solve, shutil.rmtree, folder, True)
        return solve

    return Rival(name, find_and_prepare, device=device, read=lambda answer: answer)


def _refuse_wide_weights(graph: sssp.Graph) -> None:
    if graph.weights.dtype.kind == "f" or graph.greatest_weight > LARGEST:
        raise RivalError(f"it takes whole weights up to {LARGEST:,}")


def _solve_in_turn(solve: SolveOne, sources: Sources) -> RivalAnswer:
    """Solve for one source after the other, and join the answers."""
    answers = [solve(source) for source in sources.tolist()]
    first = answers[0]

    def join(field: str) -> Any:
        parts = [getattr(answer, field) for answer in answers]
        return None if parts[0] is None else np.concatenate(parts)

    return RivalAnswer(
        join("reached"),
        join("distances"),
        join("vertices"),
        sum(answer.seconds or 0.0 for answer in answers),
        all(answer.right for answer in answers),
        first.remark,
    )


def _run_program(*command: str | Path | int) -> str:
    """Run a program, and return its output."""
    words = [str(part) for part in command]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RivalError(str(error)) from error
    if done.returncode:
        raise RivalError(f"it ended with code {done.returncode}: {_last_line(done.stderr)}")
    return done.stdout + done.stderr


def _last_line(text: str) -> str:
    return (text.strip() or "no word why").splitlines()[-1]


def _read_number(pattern: str, output: str) -> float:
    found = re.search(pattern, output)
    if found is None:
        raise RivalError(f"its output has no {pattern!r}: {_last_line(output)}")
    return float(found[1])


def _prepare_gapbs(program: str, graph: sssp.Graph, folder: Path) -> SolveOne:
    """Use the command line of GAPBS: ``sssp -f FILE -r SOURCE -d DELTA -n 1 -a -v``."""
    file = folder / "graph.gr"
    write_gr(file, graph.n, graph.tails, graph.indices, graph.weights)

    def solve(source: int, delta: int) -> RivalAnswer:
        output = _run_program(program, "-f", file, "-r", source, "-d", delta, "-n", 1, "-a", "-v")
        return RivalAnswer(
            np.array([int(_read_number(r"reaches\s+(\d+) nodes", output))]),
            seconds=_read_number(r"Trial Time:\s*([\d.]+)", output),
            right=re.search(r"Verification:\s*PASS", output) is not None,
            remark=f"delta {delta}; it reports no distances: its own test and the number of "
            "vertices stand for them",
        )

    mean = max(1.0, float(graph.weights.mean())) if graph.m else 1.0
    source = int(np.argmax(np.diff(graph.indptr) > 0))
    deltas = [int(mean * share) for share in DELTAS]
    best = min(deltas, key=lambda delta: solve(source, delta).seconds or 0.0)
    return partial(solve, delta=best)


def _prepare_adds(program: str, graph: sssp.Graph, folder: Path) -> SolveOne:
    """Use the command line and the files of LonestarGPU: ``sssp -s SOURCE -o FILE GRAPH``."""
    file, out = folder / "graph.gr", folder / "distances.txt"
    with file.open("wb") as stream:
        # version, bytes of a weight, n, m; ends of the rows; heads, to a whole number of words
        np.array([1, 4, graph.n, graph.m], np.uint64).tofile(stream)
        graph.indptr[1:].astype(np.uint64).tofile(stream)
        np.append(graph.indices, [0] * (graph.m % 2)).astype(np.uint32).tofile(stream)
        graph.weights.astype(np.uint32).tofile(stream)

    def solve(source: int) -> RivalAnswer:
        output = _run_program(program, "-s", source, "-o", out, file)
        times = re.findall(r"[Tt]ime\D*?([\d.]+)\s*(ns|us|ms|s)\b", output)
        if not times:
            raise RivalError(f"its output has no time: {_last_line(output)}")
        words = out.read_text().replace("INF", "inf").split()
        answer = read_rows([words[1::2]])
        number, unit = times[-1]
        return RivalAnswer(answer.reached, answer.distances, seconds=float(number) * SECONDS[unit])

    return solve


def _prepare_routingkit(program: str, graph: sssp.Graph, folder: Path) -> SolveOne:
    """Use ``run_dijkstra FIRST_OUT HEAD WEIGHT SOURCES TARGETS DISTANCES``, vectors of uint32.

    It stops at its target, so that is the farthest vertex by our search.
    """
    names = ("first_out", "head", "weight", "source", "target", "distance")
    files = [folder / name for name in names]
    vectors: list[NDArray[Any]] = [graph.indptr, graph.indices, graph.weights]
    for file, vector in zip(files[:3], vectors, strict=True):
        vector.astype(np.uint32).tofile(file)

    def solve(source: int) -> RivalAnswer:
        ours = sssp.shortest_paths(graph, source, device="cpu", progress=False)
        farthest = int(np.argmax(np.where(ours.reached, ours.distances, -1)))
        for file, vertex in zip(files[3:5], (source, farthest), strict=True):
            np.array([vertex], np.uint32).tofile(file)
        output = _run_program(program, *files)
        return RivalAnswer(
            np.array([np.count_nonzero(ours.reached)]),
            np.fromfile(files[5], np.uint32).astype(np.float64)[np.newaxis],
            np.array([[farthest]]),
            _read_number(r"avg running time\s*:\s*(\d+)", output) * SECONDS["us"],
            remark="only the distance of the farthest vertex is compared",
        )

    return solve


RIVALS = {
    "networkit": Rival("networkit Dijkstra", _prepare_networkit, read=_read_networkit),
    "igraph": Rival("igraph distances", _prepare_igraph),
    "rustworkx": Rival("rustworkx dijkstra", _prepare_rustworkx, read=_read_rustworkx),
    "gapbs": _program("GAPBS sssp", "gapbs-sssp", "GAPBS_SSSP", _prepare_gapbs),
    "wasp": _program("Wasp", "wasp-sssp", "WASP_SSSP", _prepare_gapbs),
    "adds": _program("ADDS", "adds-sssp", "ADDS_SSSP", _prepare_adds, "cuda"),
    "routingkit": _program(
        "RoutingKit run_dijkstra", "run_dijkstra", "RUN_DIJKSTRA", _prepare_routingkit
    ),
    "cch": Rival("routingkit-cch", _prepare_cch, read=_read_cch, mapped=_map_with_cch),
    "pandana": Rival("pandana", _prepare_pandana, mapped=_map_with_pandana),
}


# -- the bench with them -----------------------------------------------------------------------


def _rival_list(text: str) -> list[Rival]:
    names = list(RIVALS) if text == "all" else text.split(",")
    for name in names:
        if name not in RIVALS:
            raise argparse.ArgumentTypeError(
                f"unknown rival {name!r}; choose from {', '.join(['all', *RIVALS])}"
            )
    return [RIVALS[name] for name in names]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the bench with rivals; 1 if a row is wrong."""
    program = "python -m bench.rivals"

    def command() -> int:
        parser = Parser(prog=program, description=__doc__)
        add_arguments(parser)
        parser.add_argument(
            "--rivals",
            type=_rival_list,
            default="all",
            metavar="A,B",
            help=f"all, or some of {', '.join(RIVALS)} (default all)",
        )
        parser.set_defaults(packages=[*PACKAGES, *RIVALS, "routingkit_cch"])
        return run(parse(parser, arguments))

    return report_errors(program, command)


if __name__ == "__main__":
    leave(main)
