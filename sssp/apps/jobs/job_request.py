"""What every block of a job is asked, how it is answered, and how a sample is certified."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sssp.apps.jobs.buffers import Buffers
from sssp.calls.many_sources import ask_reduced, reduce
from sssp.calls.question import Options, Question, ask
from sssp.calls.shortest_paths import answered, solved
from sssp.certificate import verify
from sssp.engine.memory import SMALLER_BLOCKS_OF_A_JOB
from sssp.engine.network import methods_of
from sssp.engine.request import Answer, Request
from sssp.errors import VerificationError
from sssp.methods import BellmanFord, BreadthFirst, Dijkstra, Method
from sssp.results.trees import ShortestPaths

if TYPE_CHECKING:
    from sssp.graph.graph import Graph

#: the field of a table that holds distances
DISTANCES = "distances"
#: sums of floats that two searches may add in another order differ by no more than this share
ROUNDING = 1e-9

Array = NDArray[Any]


@dataclass(frozen=True)
class Asked:
    """A question that is the same for every block, but for its sources.

    Attributes
    ----------
    targets : ndarray, int64, or None
        The sources of the call where blocks search from its targets.
    what : str or None
        A reduction.
    skims : dict of str to ndarray, shape (m,)
        Values of arcs to sum up along the paths, by the field that they fill.
    dtype : str or None
        Of all distances; None: a reduction has its own.
    limit, vertex_weights, decay, method, memory_limit
        As of the call.
    """

    targets: Array | None = None
    what: str | None = None
    limit: float | None = None
    vertex_weights: Array | None = None
    decay: tuple[Any, Any] | None = None
    skims: Mapping[str, Array] = field(default_factory=dict)
    method: str | Method = "auto"
    dtype: str | None = None
    memory_limit: float | None = None

    def question(
        self, network: Graph, sources: Array, device: Any, threads: int | None
    ) -> Question:
        """Return the question from some sources, checked; raises as the calls do."""
        options = Options(
            targets=self.targets,
            limit=self.limit,
            method=self.method,
            device=device,
            predecessors=bool(self.skims),
            dtype=self.dtype,
            threads=threads,
            memory_limit=self.memory_limit,
            progress=False,
        )
        options.advice = SMALLER_BLOCKS_OF_A_JOB
        if self.what is None:
            return ask(network, sources, options, from_either_end=True)
        return ask_reduced(network, sources, self.what, options, self.vertex_weights, self.decay)

    def answered(
        self, question: Question, buffers: Buffers
    ) -> tuple[dict[str, Array], ShortestPaths | None, str]:
        """Return every field's rows, the result that they are of, and where it was found."""
        if self.what is not None:
            answer = answered(question.plan)
            return {self.what: answer.distances}, None, answer.device
        if question.turned is None:
            plan = question.plan
            shape = plan.request.rows, plan.request.columns(plan.network.n)
            request = replace(plan.request, out=buffers.take(shape, np.dtype(self.dtype)))
            question = question._replace(plan=plan._replace(request=request))
        result = solved(question)
        fields = {name: result.skim(values) for name, values in self.skims.items()}
        return {DISTANCES: result.distances, **fields}, result, result.device

    def certify(
        self,
        network: Graph,
        sources: Array,
        rows: list[int],
        values: Mapping[str, Array],
        result: ShortestPaths | None,
    ) -> None:
        """Certify some rows of a block.

        Distances by `verify`; a reduction by that of a search on the graph itself, on the CPU.

        Parameters
        ----------
        network : Graph or Hierarchy
        sources : ndarray, int64
            Of the block.
        rows : list of int
            Which of them.
        values : mapping of str to ndarray
            Every field, of all of them.
        result : ShortestPaths or None
            Of those rows.

        Raises
        ------
        VerificationError
            A row is wrong.
        """
        if not rows:
            return
        graph = network._tree_graph
        if result is not None:
            verify(graph, result)
            return
        assert self.what is not None
        checked = reduce(
            graph, sources[rows], self.what, limit=self.limit, targets=self.targets,
            vertex_weights=self.vertex_weights, decay=self.decay, method=self._check_method(graph),
            device="cpu", threads=1, progress=False,
        )  # fmt: skip
        found = values[self.what][rows]
        exact = found.dtype.kind == "i"
        if not np.allclose(found, checked, rtol=0 if exact else ROUNDING, atol=0, equal_nan=True):
            raise VerificationError(
                f"{self.what} from the sources {sources[rows].tolist()} is {found.tolist()}, but "
                f"a search on the CPU finds {checked.tolist()}"
            )

    def _check_method(self, graph: Graph) -> Method:
        if isinstance(self.method, BreadthFirst) or self.method == BreadthFirst.name:
            return BreadthFirst()
        return BellmanFord() if graph.least_weight < 0 else Dijkstra()


def some_rows(result: ShortestPaths, rows: list[int]) -> ShortestPaths:
    """Return what a call from some of the sources would have returned."""
    request = Request(sources=result.sources[rows], targets=result.targets, limit=result.limit)
    trees = None if result.predecessors is None else result.predecessors[rows]
    return ShortestPaths(
        result.graph,
        request,
        Answer(result.distances[rows], trees),
        single=False,
        single_target=False,
        method=result.method,
        device=result.device,
    )


def digest_of(*arrays: Array | None) -> str:
    """Return what tells arrays from others: shapes, dtypes and contents."""
    digest = hashlib.sha256()
    for array in arrays:
        if array is None:
            digest.update(b"none")
            continue
        digest.update(f"{array.shape} {array.dtype.str}".encode())
        contents: Any = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        digest.update(contents)
    return digest.hexdigest()[:32]


def identity_of(network: Graph) -> dict[str, Any]:
    """Return what tells a graph from others, for the manifest."""
    graph = network._tree_graph
    return {
        "graph": digest_of(graph.indptr, graph.indices, graph.weights),
        "vertices": graph.n,
        "arcs": graph.m,
        # (sums of floats are rounded in another order there)
        "prepared": methods_of(network) is not None,
    }
