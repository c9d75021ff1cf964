"""Compile kernels ahead of time.

For images and clusters, so that no later process has to. What is compiled is kept in the folder
SSSP_CACHE_DIR, else in the user's folder for caches. It is good for the machine's kind of processor
and of GPU, for one version of this package, of Python and of Numba. What is there already is not
compiled again.

Examples
--------
  # all methods, for the CPU
  %(prog)s
  # two methods for the GPU, into a folder that goes into an image
  SSSP_CACHE_DIR=/opt/sssp %(prog)s --device cuda --methods delta-stepping,floyd-warshall
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import sssp
from sssp import methods as registry
from sssp.methods import Method

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ALL = registry.METHODS | registry.TRIP_METHODS | registry.SWEEP_METHODS
ALL |= registry.DENSE_METHODS | registry.CLOSURE_METHODS
DTYPES = ("int32", "int64", "float32", "float64")
#: vertices of the graph that is searched, and of the matrices
SEARCHED, DENSE = 20_000, 200
#: number of sources: so many that on a GPU each has its own thread block
SEVERAL = 16
#: entries of the matrices are below this
GREATEST = 5_000
#: vertices of a matrix that 16 bits are tried for: more than the rule asks for
SHORT = 600

Step = Callable[[], object]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command-line arguments of ``sssp compile``."""
    text = "what to compile for (default cpu)"
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help=text)
    for name, known, of in (("methods", ALL, ""), ("dtypes", DTYPES, "of the distances: ")):
        text = f"{of}all, or some of {', '.join(known)} (default all)"
        some = partial(_some_of, tuple(known))
        parser.add_argument(f"--{name}", type=some, default="all", metavar="A,B", help=text)


def run(options: argparse.Namespace) -> int:
    """Compile kernels by calls that use each of them; print the number of compiled functions."""
    from sssp.calls.choose_device import choose_device
    from sssp.engine.progress import progress_bar
    from sssp.kernels import cache, cache_files

    methods = [ALL[name]() for name in options.methods]
    methods = [method for method in methods if options.device in method.solvers]
    for method in methods:
        choose_device(options.device, method, None)
    folder = cache_files.cache_folder()
    start = perf_counter()
    steps = list(_steps(methods, options.device, options.dtypes))
    with progress_bar(len(steps), None, "step") as advance:
        for step in steps:
            step()
            advance(1)
    print(
        f"compiled {cache.COUNTS['compiled']} functions in {perf_counter() - start:.0f} s "
        f"({cache.COUNTS['found']} were there); kept in {folder}"
    )
    return 0


def _some_of(known: Sequence[str], text: str) -> list[str]:
    """Split ``a,b`` into a list of names (``all``: every known name); refuse unknown names."""
    names = list(known) if text == "all" else text.split(",")
    for name in names:
        if name not in known:
            raise ArgumentTypeError(
                f"{name!r} is unknown: choose all, or some of {', '.join(known)}"
            )
    return names


def _steps(methods: Sequence[Method], device: str, dtypes: Sequence[str]) -> Iterator[Step]:
    """Yield functions whose calls compile all kernels of `methods` for a device and dtypes."""
    import numpy as np

    def matrix(dtype: np.dtype[Any], size: int) -> NDArray[Any]:
        entries = np.random.default_rng(0).integers(1, GREATEST, (size, size)).astype(dtype)
        return entries << 31 if dtype == np.int64 else entries

    g = sssp.road_like(SEARCHED)
    if device == "cpu":
        yield partial(_use_graph, g)
    for name in dtypes:
        dtype = np.dtype(name)
        # (integers that only int64 holds)
        weights = g.weights.astype(np.int64) << 31 if name == "int64" else g.weights.astype(dtype)
        weighted = g.with_weights(weights)
        for method in methods:
            options: dict[str, Any] = {"device": device, "dtype": dtype}
            if method.task == "search":
                yield from _searches(weighted, method, device, dtype)
            elif method.task == "trips":
                ask = partial(sssp.pairs, weighted, range(SEVERAL), 0, **options)
                yield partial(ask, method=method)
                yield partial(ask, predecessors=True)
            elif method.task == "sweep":
                yield partial(_sweep, weighted, device, dtype)
            elif method.task == "matrix":
                close = partial(sssp.all_pairs, method=method, **options)
                yield partial(close, matrix(dtype, DENSE), predecessors=False)
                yield partial(close, matrix(dtype, DENSE), predecessors=True)
                if name == "int32":
                    yield partial(close, matrix(dtype, SHORT))
    reach = partial(sssp.transitive_closure, matrix(np.dtype(np.int32), DENSE), device=device)
    closures = [method for method in methods if method.task == "closure"]
    for method, packed in product(closures, (False, True)):
        yield partial(reach, method=method, packed=packed)


def _sweep(g: sssp.Graph, device: str, dtype: np.dtype[Any]) -> None:
    """Compile the kernels of sweeps over a hierarchy, by running queries of every kind."""
    import numpy as np

    h = sssp.prepare(g)
    ask = partial(sssp.shortest_paths, h, device=device, dtype=dtype)
    several, half = np.arange(SEVERAL), np.arange(g.n // 2)
    # one, a few, and so many that a GPU sweeps them side by side
    for sources in (0, several, np.arange(3 * SEVERAL)):
        ask(sources)
    ask(several, predecessors=True)
    # (a GPU sweeps to targets alone when they come again)
    for _ in range(2):
        ask(several, targets=half)
    sssp.reduce(h, several, "mean", targets=half, device=device)
    ask(several, limit=g.weights.max(), output="sparse")
    ask(several, limit=g.weights.max() * g.n)
    ask(several, nearest=True, predecessors=True)
    sssp.reduce(h, several, "mean", device=device)
    for paths in (False, True):
        sssp.pairs(h, several, several[::-1], predecessors=paths, device=device, dtype=dtype)
    fallen = h.with_changes([0], [-1])
    for sources in (0, several):
        sssp.shortest_paths(fallen, sources, device=device, dtype=dtype)
    if device == "cuda":  # weights from an array on the GPU
        from sssp.cuda.arrays import DeviceArray
        from sssp.cuda.availability import device_number, select
        from sssp.cuda.device_memory import upload

        number = device_number(device)
        with select(number):
            weights = DeviceArray(upload(h.graph.weights.astype(dtype)), (h.m,), number)
        for version in (h, h.without_arcs([0])):
            version.with_weights(weights)
    elif dtype == np.float64:  # traffic assignment
        rows = np.ones(h.graph.input_arcs)
        trips = [0, 1], [2, 3], np.ones((2, 2))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # (a gap of 0 is not reached)
            for cost in (sssp.BPR(rows, rows), sssp.Conical(rows, rows)):
                sssp.assign(h, trips, cost, gap=0, iterations=4, select=[0])


def _searches(g: sssp.Graph, method: Method, device: str, dtype: np.dtype[Any]) -> Iterator[Step]:
    """Yield functions whose calls compile the kernels of a search method for all query kinds."""
    import numpy as np

    ask = partial(sssp.shortest_paths, g, method=method, device=device, dtype=dtype)
    several = np.arange(SEVERAL)
    yield partial(ask, 0, predecessors=True)
    yield partial(_use_trees, ask, several)
    yield partial(_use_trees, partial(ask, targets=several), several)
    yield partial(ask, several, nearest=True, predecessors=True)
    yield partial(ask, several, limit=g.weights.max(), output="sparse")
    yield partial(sssp.nearest, g, several, k=2, method=method, device=device, dtype=dtype)
    summed = partial(sssp.reduce, g, several, method=method, device=device)
    for targets in (None, several):
        for what in ("eccentricity", "sum", "count"):
            yield partial(summed, what, targets=targets)
        for weights in (np.ones(g.n), np.ones(g.n, np.int64)):
            yield partial(summed, "weight", vertex_weights=weights, targets=targets)
        decayed = partial(summed, "weight", targets=targets, decay=("power", 1))
        yield decayed
        yield partial(decayed, vertex_weights=np.ones(g.n))
    yield partial(sssp.betweenness, g, several, method=method, device=device)


def _use_trees(ask: Callable[..., sssp.ShortestPaths], sources: NDArray[np.int64]) -> None:
    """Compile, by calling them, the kernels of shortest-path trees and of sums along trees."""
    import numpy as np

    result = ask(sources, predecessors=True)
    for dtype in (np.int64, np.float64):
        result.skim(np.ones(result.graph.m, dtype))
        result.load(np.zeros(result.distances.shape, dtype))


def _use_graph(g: sssp.Graph) -> None:
    """Run file reading, graph operations and result methods once, to compile their kernels."""
    with tempfile.TemporaryDirectory() as folder:
        graph, places = Path(folder, "small.gr"), Path(folder, "small.co")
        graph.write_text("p sp 2 2\na 1 2 3\na 2 1 3\n", encoding="ascii")
        places.write_text("p aux sp co 2\nv 1 0 0\nv 2 1 1\n", encoding="ascii")
        kept = Path(folder, "small.sssp")
        sssp.read_graph(graph, coordinates=places).save(kept)
        sssp.read_graph(kept)
    g.largest_component()
    g.reverse()
    result = sssp.shortest_paths(g, 0, predecessors=True)
    sssp.verify(g, result)
    result.path(1)
    result.skim(g.weights)
    result.load(g.weights[: g.n])
