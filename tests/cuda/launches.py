"""What the drivers launch, with the types of the arguments: a program for Numba's simulator.

    NUMBA_ENABLE_CUDASIM=1 python -m tests.cuda.launches FILE DTYPE ...

The simulator compiles nothing, but what a driver hands to a kernel there has the types that Numba
compiles it for on a GPU. Every solver is asked for every form of an answer, and each launch is
written down; `tests.cuda.test_types` compiles them in a process without the simulator. Most kernels
do not even run: device memory is all zeros, and the drivers go on with that.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Launch", "Made"]


class Made(NamedTuple):
    """What makes a kernel: a module, or a function there with its arguments."""

    module: str
    kernel: str
    factory: str | None = None
    arguments: tuple[tuple[str, Any], ...] = ()


class Launch(NamedTuple):
    """A kernel, and the types of its arguments."""

    made: Made
    signature: tuple[Any, ...]


class Recorder:
    """Stands in for the decorator of kernels."""

    def __init__(self, decorate: Any) -> None:
        self.decorate = decorate
        self.launches: set[Launch] = set()
        self.running = False

    def kernel(self, function: Any) -> Any:
        return self.recorded(function, sys._getframe(1))

    def kernel_with(self, **options: Any) -> Any:
        return self.kernel

    def recorded(self, function: Any, maker: Any) -> Any:
        made, code = Made(function.__module__, function.__name__), maker.f_code
        if code.co_name != "<module>":
            names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            # (the type check puts in a barrier of its own)
            arguments = [(name, maker.f_locals[name]) for name in names if name != "barrier"]
            made = made._replace(factory=code.co_name, arguments=tuple(arguments))
        kernel = self.decorate(function)
        simulated = type(kernel)

        def launch(kernel: Any, *arguments: Any) -> None:
            self.launches.add(Launch(made, tuple(map(type_of, arguments))))
            if self.running:
                simulated.__call__(kernel, *arguments)

        kernel.__class__ = type(simulated.__name__, (simulated,), {"__call__": launch})
        return kernel

    @contextmanager
    def really(self) -> Iterator[None]:
        """Let kernels run: some are launched for what others have found."""
        self.running = True
        yield
        self.running = False


def type_of(argument: Any) -> Any:
    from numba import typeof
    from numba.core import types

    if isinstance(argument, tuple):
        return types.Tuple([type_of(part) for part in argument])
    return typeof(getattr(argument, "_ary", argument))


def zeros(shape: Any, dtype: Any = np.float64, stream: Any = 0) -> Any:
    """Stand in for `numba.cuda.device_array`, whose memory holds anything."""
    from numba import cuda

    return cuda.to_device(np.zeros(shape, dtype), stream=stream)


def ask(recorder: Recorder, dtypes: list[str]) -> None:
    """Ask every solver for everything, in some dtypes."""
    for dtype in map(np.dtype, dtypes):
        ask_searches(recorder, {"device": "cuda", "dtype": dtype})
        ask_prepared(recorder, dtype)
        ask_with_weights_there(dtype)
        ask_matrices(dtype)
    ask_reductions(dtypes)
    ask_closures()
    ask_for_sums_along_trees()
    ask_for_wide_distances(recorder)


def ask_searches(recorder: Recorder, common: dict[str, Any]) -> None:
    import sssp

    g = sssp.Graph.from_arcs([0, 1, 2, 3, 0], [1, 2, 3, 0, 2], [3, 1, 4, 1, 5])
    negative = sssp.Graph.from_arcs([0, 1, 2, 3], [1, 2, 3, 0], [4, -1, 1, 4])
    streamed = sssp.BellmanFord(streams=2)
    for method in (
        sssp.DeltaStepping(),
        sssp.ThresholdDijkstra(),
        sssp.ThresholdDijkstra(criterion="in-out"),
        sssp.BellmanFord(),
        sssp.BellmanFord(variant="pull"),
        streamed,
    ):
        sssp.shortest_paths(g, 0, method=method, **common)
        if method.negative_weights:
            sssp.shortest_paths(negative, 0, method=method, predecessors=True, **common)
    # (those were searches by all blocks together, this is one by each)
    sssp.shortest_paths(g, np.arange(9) % g.n, method="delta-stepping", **common)
    forms: list[dict[str, Any]] = [
        {"targets": [1], "limit": 2},
        {"nearest": True, "predecessors": True},
        {"predecessors": True, "output": "device"},
    ]
    for form in forms:
        sssp.shortest_paths(g, [0, 2], method="delta-stepping", **common, **form)
    # vertices are gathered where some are reached, and arcs travel where they are waited for
    pair = sssp.Graph.from_arcs([0], [1], [1])
    with recorder.really():
        for form in ({"output": "sparse"}, {"targets": [1], "predecessors": True}):
            sssp.shortest_paths(pair, 0, method="delta-stepping", **common, **form)
        sssp.shortest_paths(pair, 0, method=streamed, **common)


def ask_for_sums_along_trees() -> None:
    import sssp

    g = sssp.Graph.from_arcs([0, 1], [1, 0], [1, 1])
    trees = sssp.shortest_paths(g, [0, 1], predecessors=True, output="device", device="cuda")
    for values in ([1, 2], [0.5, 1.5]):
        trees.skim(values)
    trees.load([[0, 1], [1, 0]])


def ask_prepared(recorder: Recorder, dtype: np.dtype[Any]) -> None:
    import sssp

    # random arcs, so that there are levels between the bundles and the top
    tails, heads, weights = np.random.default_rng(0).integers(0, 50, (3, 150))
    heavy = 1 << 33 if dtype == np.int64 else 1
    g = sssp.Graph.from_arcs(tails, heads, (weights * heavy).astype(dtype), n=50)
    h = sssp.prepare(g, threads=1)
    # a few rows, and many
    for rows in ([0, 1], range(20)):
        sssp.shortest_paths(h, rows, device="cuda")
    sssp.pairs(h, [0, 1], [1, 0], device="cuda")
    sssp.load(h, ([0], [1], [[1]]), unreached="skip", device="cuda")
    # what is selected for targets is numbered and packed for what has been counted
    line = np.arange(19)
    small = sssp.Graph.from_arcs(line, line + 1, (line % 3 * heavy).astype(dtype))
    with recorder.really():
        sssp.shortest_paths(sssp.prepare(small, threads=1), 0, targets=range(20), device="cuda")
        turned = sssp.prepare(small.with_turns(([0], [1], [1])), threads=1)
        sssp.shortest_paths(turned, [0] * 33, output="device", device="cuda")
    if dtype.kind == "i":
        # lanes are transposed, or are the answer where each vertex reaches each
        there_and_back = sssp.Graph.from_arcs([0, 1], [1, 0], [1, 1])
        # (of an array a kernel would find the extremes, which does not run here)
        fresh = h.with_weights((g.weights + 1).tolist())
        for prepared in (fresh, sssp.prepare(there_and_back)):
            for rows in ([0, 1], [0, 1] * 10):
                sssp.shortest_paths(
                    prepared, rows, predecessors=True, output="device", device="cuda"
                )
    list(h.scenarios([(0, 1), (1, 2)], device="cuda"))
    if dtype == np.int32:
        sssp.reduce(h, [0, 1], "sum", device="cuda")
    # (asked again, all is answered at once)
    for _ in range(2):
        sssp.reduce(h, [0, 1], "sum", targets=[1, 2], device="cuda")
    for targets in (None, [1, 2]):
        sssp.reduce(h, [0, 1], "weight", vertex_weights=range(50), targets=targets, device="cuda")


def ask_with_weights_there(dtype: np.dtype[Any]) -> None:
    import sssp
    from sssp.cuda.arrays import DeviceArray

    g = sssp.Graph.from_arcs([0, 1], [1, 2], np.ones(2, dtype), directed=False)
    for graph in (g, g.without_arcs([0])):
        h = sssp.prepare(graph, threads=1)
        for each in {dtype, *map(np.dtype, ["bool", "uint64", "int64", "float32"])}:
            h.with_weights(DeviceArray(zeros(g.m, each), (g.m,), 0))


def ask_matrices(dtype: np.dtype[Any]) -> None:
    import sssp
    from sssp.bench.papers import baselines
    from sssp.engine import thresholds

    common: dict[str, Any] = {"device": "cuda", "dtype": dtype}
    # 33 vertices are more than a tile; tails travel along with floats, where trees are asked for
    g = sssp.Graph.from_arcs(np.arange(33), (np.arange(33) + 1) % 33, np.ones(33, int))
    trees: dict[str, Any] = {"predecessors": dtype != np.float32}
    sssp.all_pairs(g, method="floyd-warshall", **trees, **common)
    if dtype != np.int32:  # a product takes long to type, and this one has been typed above
        sssp.all_pairs(g, method="repeated-squaring", **trees, **common)
    if dtype == np.int32:
        thresholds.SHORT_VERTICES = 0
        for method in ("floyd-warshall", "repeated-squaring"):
            sssp.all_pairs(g, method=method, **common)
        sssp.all_pairs(g, method="floyd-warshall", device="cuda", dtype="int16")
    for baseline in (
        baselines.BaselineFloydWarshall(),
        baselines.BaselineBlockedFloydWarshall(),
        baselines.BaselineSquaring(),
    ):
        sssp.all_pairs(g, method=baseline, **common)


def ask_reductions(dtypes: list[str]) -> None:
    import sssp
    from sssp.engine.reductions import REDUCTIONS

    g = sssp.Graph.from_arcs([0, 1, 2], [1, 2, 0], [3, 1, 4])
    for dtype in dtypes:
        heavy = 1 << 40 if dtype == "int64" else 1
        weighted = g.with_weights(g.weights.astype(dtype) * np.dtype(dtype).type(heavy))
        for what in REDUCTIONS:
            inhabitants = [None] if what != "weight" else [np.ones((3, 2), int), np.ones(3)]
            for numbers, targets in product(inhabitants, (None, [1, 2])):
                sssp.reduce(
                    *(weighted, 0, what),
                    vertex_weights=numbers,
                    targets=targets,
                    method="delta-stepping",
                    device="cuda",
                )
        sssp.betweenness(weighted, method="delta-stepping", device="cuda")


def ask_closures() -> None:
    import sssp
    from sssp.bench.papers.baselines import BaselineClosure

    for method in ("closure-by-warshall", "closure-by-squaring", BaselineClosure()):
        sssp.transitive_closure(np.ones((5, 5)), method=method, device="cuda")


def ask_for_wide_distances(recorder: Recorder) -> None:
    """Ask for some that fit, and some that do not fit, the narrow dtypes."""
    import sssp

    g = sssp.Graph.from_arcs([0, 1, 2], [1, 2, 3], [1 << 28, 1 << 29, 1 << 29])
    # (of the searches, this one's kernel takes the least time to type)
    method = sssp.BellmanFord(variant="pull")
    common: dict[str, Any] = {"method": method, "device": "cuda"}
    with recorder.really():
        sssp.shortest_paths(g, 0, targets=[1], **common)
        sssp.shortest_paths(g.scaled(2), 0, targets=[1], output="device", **common)


def main(file: str, dtypes: list[str]) -> None:
    from numba import cuda

    from sssp.cuda import compiler
    from tests.simulator import prepare

    prepare()
    door: Any = compiler
    recorder = Recorder(door.kernel)
    # before any other module takes them from there
    door.kernel, door.kernel_with = recorder.kernel, recorder.kernel_with
    cuda.device_array = cuda.mapped_array = zeros
    ask(recorder, dtypes)
    Path(file).write_bytes(pickle.dumps(recorder.launches))


if __name__ == "__main__":
    # under its name, for what is pickled says where it comes from
    from tests.cuda import launches

    launches.main(sys.argv[1], sys.argv[2:])
