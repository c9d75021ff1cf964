"""Execution plans of shortest-path calls, which are split into parts, run, and merged.

::

    plan = make_plan(g, sources, ...)                 # sssp.calls: checked once
    parts = plan.split(rows=64)                       # each pickles
    answers = [part.run() for part in parts]          # anywhere
    merge_answers(answers)                            # as if in one piece

A plan is split by the number of rows that it is told; fitting batches into memory is the business
of `sssp.cpu.search_driver` and `sssp.cuda.batch_size`. It runs where it was placed. If it is the
rule of ``device="auto"`` that has chosen a GPU, the CPU takes over what the GPU cannot do. Method
and device were chosen before, in `sssp.engine.choose_method` and `sssp.calls.choose_device`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from queue import SimpleQueue
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from sssp.engine import thresholds
from sssp.engine.check_memory import physical_memory
from sssp.engine.choose_method import FASTEST
from sssp.engine.device_names import kind_of
from sssp.engine.narrow import convert_into
from sssp.engine.network import Network, open_part
from sssp.engine.outputs import join_walks
from sssp.engine.progress import progress_bar
from sssp.engine.request import Answer, Request, Resources
from sssp.engine.reuse import series
from sssp.engine.workers import ordered_map
from sssp.errors import DeviceError, DistanceOverflowError
from sssp.graph.check_arrays import is_sparse
from sssp.kernels.dtypes import INT32, INT64, ROUNDED, WeightRange, largest_distance, unreached
from sssp.kernels.messages import warn_once
from sssp.methods import Method

Q = TypeVar("Q", bound=Resources)
T = TypeVar("T")
#: of a method that looks at no weights
UNIT_WEIGHTS = WeightRange(INT32, 1, 1)
#: importlib takes 3 microseconds to find a module; and waits for another thread that is about to
#: import it, as sys.modules does not
import_once = cache(import_module)


class Plan(NamedTuple, Generic[Q]):
    """A request, with the network, method and device that answer it.

    Attributes
    ----------
    network : Network
        A graph, or what stands for one.
    request : Resources
        The question, its device included; its type is that which the method's solver takes.
    method : Method
    transposed : Plan or None
        A plan that searches from the targets, on the reversed graph, if that is less work: its
        answer is the transposed one.
    """

    network: Network
    request: Q
    method: Method
    transposed: Plan[Q] | None = None

    def run(self) -> Answer | None:
        """Return the answer to the request; None if a distance fits no dtype that is allowed.

        Raises
        ------
        DeviceError
            The device cannot do it, and the caller named it.
        NegativeCycleError
            A source reaches a cycle of negative length.
        """
        if self.request.devices:
            return self.solve_on_devices(Plan.run)
        if self.request.by_rule:
            return run_placed(self.request, self._answer)
        return self._answer(self.request)

    def solve_on_devices(self, answer: Callable[[Plan[Q]], Answer | None]) -> Answer | None:
        """Answer the request on several devices; each idle device takes the next part.

        Parameters
        ----------
        answer : callable
            Answers a plan for one device.

        Raises
        ------
        DeviceError, NegativeCycleError
            As `answer` raises them; what the first part of several raises counts.
        """
        request: Any = self.request
        # (each device takes several parts, so that all end together)
        devices = len(request.devices)
        each = max(1, min(thresholds.PARTS, request.rows // (devices * thresholds.LEAST_PART)))
        parts: list[Any] = self.split(max(1, -(-request.rows // (devices * each))))
        answers: list[Answer] = []
        with progress_bar(request.rows, request.progress) as advance:
            for one in self.share_out(parts, answer):
                if one is None:
                    return None
                if request.out is not None:
                    one.distances = request.out[:0]  # where it is already
                advance(parts[len(answers)].request.rows)
                answers.append(one)
        whole = merge_answers(answers)
        if request.out is not None:
            whole.distances = request.out
        whole.device = "+".join(dict.fromkeys(one.device for one in answers))
        return whole

    def share_out(self, parts: list[Plan[Q]], answer: Callable[[Plan[Q]], T]) -> Iterator[T]:
        """Yield the answers to parts of the plan, in order; each idle device takes the next part.

        A device that is named twice works on two parts at a time.
        """
        devices = self.request.devices
        idle: SimpleQueue[str] = SimpleQueue()
        for device in devices:
            idle.put(device)
        threads = max(1, self.request.threads // len(devices))

        def answer_part(part: Plan[Q]) -> T:
            request: Any = part.request
            device = idle.get()
            try:
                own = replace(request, device=device, devices=(), threads=threads, progress=False)
                return answer(part._replace(request=own))
            finally:
                idle.put(device)

        with series():
            yield from ordered_map(answer_part, parts, len(devices))

    def _answer(self, request: Any) -> Answer | None:
        solver = solver_of(self.method, request.device)
        network = open_part(self.network)
        for dtype in weights_of(network, self.method).working_dtypes(request.dtype):
            answer: Answer | None = solver.solve(network, request, self.method, dtype)
            if answer is not None:
                answer.device = request.device
                return answer
        return None

    def split(self, rows: int) -> list[Plan[Q]]:
        """Split the plan into plans for at most `rows` rows each, in order.

        Without rows there is one part, which is empty as well.
        """
        request: Any = self.request
        if request.nearest or request.rows <= rows:
            return [self]
        cuts = [slice(first, first + rows) for first in range(0, request.rows, rows)]
        return [self._replace(request=request.part(cut)) for cut in cuts]


def weights_of(network: Network, method: Method) -> WeightRange:
    """Return the weight range of a network; that of unit weights if the method counts arcs."""
    return network._weight_range if method.weighted else UNIT_WEIGHTS


def is_symmetric(request: Request, n: int, weights: WeightRange) -> bool:
    """Return whether backward searches from targets give exactly the distances of forward ones.

    Sums of integers are. Floats are rounded from the source outward; over negative arcs what a
    source reaches (a negative cycle, what lies within a limit) is no matter of the target; and
    whether a distance leaves int64 is asked of what the source reaches.
    """
    exact = weights.dtype.kind == "i" and (request.dtype is None or request.dtype.kind == "i")
    return exact and weights.least >= 0 and int(weights.greatest) * n <= largest_distance(INT64)


def run_placed(request: Q, answer: Callable[[Q], T]) -> T:
    """Return ``answer(request)``; repeat it on the CPU if an automatically chosen GPU fails."""
    if not request.by_rule:
        return answer(request)
    try:
        return answer(replace(request, by_rule=False))
    except DeviceError as error:
        warn_once(f"device='auto' falls back to the CPU: {error}")
    return answer(replace(request, device="cpu", by_rule=False, memory_limit=physical_memory()))


def solver_of(method: Method, device: str) -> Any:
    """Import and return the module that has the solver of a method for a device.

    Raises
    ------
    DeviceError
        The method does not run there.
    """
    kind = kind_of(device)
    module = method.solvers.get(kind)
    if module is None:
        raise DeviceError(f"{method.name} does not run on {kind}")
    return import_once(module)


def merge_answers(answers: Sequence[Answer]) -> Answer:
    """Concatenate the answers to the parts of a plan, in order.

    Rows, sparse or dense, stand one below the other in the widest of their dtypes, trips one
    behind the other.
    """
    if len(answers) == 1:
        return answers[0]
    first = answers[0]
    parts = [answer.distances for answer in answers]
    widest = np.result_type(*(part.dtype for part in parts))
    if not is_sparse(first.distances):
        for place, part in enumerate(parts):  # (sentinels are other numbers in a wider dtype)
            if part.dtype != widest:
                parts[place] = np.empty(part.shape, widest)
                convert_into(part, parts[place])
    return Answer(
        _stack(parts),
        None if first.predecessors is None else _stack([a.predecessors for a in answers]),
        first.origin,
        {name: np.concatenate([a.stats[name] for a in answers]) for name in first.stats},
        first.device,
        join_walks([a.walks for a in answers if a.walks is not None]) if first.walks else None,
        first.searched_by,
    )


def _stack(parts: list[Any]) -> Any:
    """Concatenate blocks of rows: dense arrays, or sparse matrices."""
    if is_sparse(parts[0]):
        from scipy.sparse import vstack

        return vstack(parts, format="csr")
    return np.concatenate(parts)


def overflow_error(network: Network, request: Resources) -> DistanceOverflowError:
    """Return the exception that says that a distance exceeds the widest usable dtype."""
    dtype = network._weight_range.working_dtypes(getattr(request, "dtype", None))[-1]
    other = ", or weights in a larger unit" if dtype == np.float64 else f" (or {ROUNDED})"
    return DistanceOverflowError(
        f"a distance exceeds {largest_distance(dtype)}, the greatest that {dtype} arithmetic "
        f"holds; use a limit{other}"
    )


def with_fixed_dtype(plan: Plan[Request]) -> Plan[Request]:
    """Return the plan with one distance dtype set, so that all parts of a split plan use it.

    The caller's; else int32 if a bound on every distance fits, else int64.
    """
    request = plan.request
    weights = weights_of(plan.network, plan.method)
    if request.dtype is not None or weights.dtype.kind == "f":
        return plan
    # a shortest path has at most n - 1 arcs; where that many of the heaviest do not fit int32 but
    # every vertex reaches every other, a path over vertex 0 is a better bound: two searches, kept
    network = plan.network
    most = float(weights.largest) * max(network.n - 1, 0)
    if most > largest_distance(INT32) and weights.least >= 0:
        most = min(most, network._cached("longest way over vertex 0", lambda: _over_zero(network)))
    if request.limit is not None and weights.least >= 0:  # (no limit keeps distances from falling)
        most = min(most, request.limit)
    dtype = INT32 if most <= largest_distance(INT32) else INT64
    return plan._replace(request=replace(request, dtype=dtype))


def _over_zero(network: Network) -> float:
    """Return the sum of the greatest distances to and from vertex 0, a bound on all distances."""
    total = 0.0
    for graph in (network._tree_graph, network._tree_graph.reverse()):
        answer = Plan(graph, Request(np.zeros(1, np.int64), dtype=INT64), FASTEST[False]).run()
        greatest = np.inf if answer is None else answer.distances.max()
        total += np.inf if greatest == unreached(INT64) else float(greatest)
    return total
