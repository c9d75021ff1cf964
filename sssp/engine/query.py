"""A checked question, and a solver's raw answer to it.

`solve.py` turns the arguments of a call into a `Query` once; solvers trust it.
"""

from __future__ import annotations

import math
import numbers
import operator
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sssp.errors import DistanceOverflowError, VertexError
from sssp.kernels.dtypes import FLOAT64, INT64, integer_dtypes, largest_distance

if TYPE_CHECKING:
    from sssp.graph.graph import Graph

__all__ = ["REDUCTIONS", "Answer", "Call", "Query", "Reduction", "as_limit", "as_vertices"]

REDUCTIONS = ("eccentricity", "sum", "count", "weight")


@dataclass(frozen=True)
class Reduction:
    """What to keep of a row: one number.

    Attributes
    ----------
    what : str
        One of `REDUCTIONS`.
    vertex_weights : ndarray, shape (n,), int64 or float64, or None
        The numbers that ``"weight"`` adds up.
    """

    what: str
    vertex_weights: NDArray[Any] | None = None


@dataclass(frozen=True, kw_only=True)
class Call:
    """What every checked call says of where it runs, what it may take and where results go.

    Attributes
    ----------
    output : {"host", "device", "sparse"}
        The last for rows of shortest paths only.
    device : str
        ``"cpu"`` or ``"cuda:N"``.
    threads : int
        Greatest number of worker threads.
    memory_limit : int
        Bytes that results and scratch of this call may take together on the device.
    stream : int or None
        CUDA only: handle of the caller's stream, in whose order the call stands.
    progress : bool or None
        None: only where somebody watches.
    """

    output: str = "host"
    device: str = "cpu"
    threads: int = 1
    memory_limit: int = 1 << 62
    stream: int | None = None
    progress: bool | None = None


@dataclass(frozen=True)
class Query(Call):
    """One call of `shortest_paths`, checked.

    Attributes
    ----------
    sources : ndarray, shape (k,), int64
    targets : ndarray, shape (t,), int64, or None
        None: all vertices.
    limit : int, float or None
        Inclusive; an int for integer arithmetic.
    dtype : dtype or None
        What the distances must be; None leaves it to the solver (int32 if all fit).
    nearest : bool
        One search from all sources together instead of one from each.
    predecessors : bool
        Whether trees are wanted too.
    reduction : Reduction or None
        Keep one number a row instead of distances.
    out : ndarray, shape (k, n) or (k, t), or None
        Where the distances go.
    """

    sources: NDArray[np.int64]
    targets: NDArray[np.int64] | None = None
    limit: int | float | None = None
    dtype: np.dtype[Any] | None = None
    nearest: bool = False
    predecessors: bool = False
    reduction: Reduction | None = None
    out: NDArray[Any] | None = None

    @property
    def rows(self) -> int:
        """Number of searches, and of rows in the answer."""
        return 1 if self.nearest else self.sources.size

    @property
    def wants_tree(self) -> bool:
        """Whether distances alone do not answer it."""
        return self.predecessors or self.nearest

    def working_dtypes(self, graph: Graph) -> list[np.dtype[Any]]:
        """Dtypes to try in turn: the next one when the previous overflows.

        Raises
        ------
        DistanceOverflowError
            A weight is too large for any of them.
        """
        if self.dtype is not None and self.dtype.kind == "f":
            return [self.dtype]
        if graph.weights.dtype.kind == "f":
            return [FLOAT64]
        largest = max(abs(graph.least_weight), abs(graph.greatest_weight))
        return integer_dtypes(int(largest), self.dtype)

    def widened(self, graph: Graph, attempt: Callable[[np.dtype[Any]], Answer | None]) -> Answer:
        """Return the answer of the first working dtype in which `attempt` does not overflow.

        Raises
        ------
        DistanceOverflowError
            It overflows (returns None) in all of them.
        """
        for dtype in self.working_dtypes(graph):
            answer = attempt(dtype)
            if answer is not None:
                return answer
        raise DistanceOverflowError(
            f"a distance exceeds {largest_distance(dtype)}, the greatest that {dtype} arithmetic "
            "holds; use dtype='float64' for distances that are rounded, or a limit"
        )

    def bound(self, dtype: np.dtype[Any]) -> Any:
        """Greatest distance of interest, as a number of `dtype` that its arithmetic can hold."""
        largest = largest_distance(dtype)
        if self.limit is None or self.limit >= largest:
            return largest
        return dtype.type(self.limit)


@dataclass
class Answer:
    """What a solver hands back.

    Attributes
    ----------
    distances : ndarray, shape (rows, n) or (rows, t), or csr_array, shape (rows, n)
        Of a reduction: ndarray, shape (rows,). With ``output="device"`` all arrays are
        `sssp.cuda.arrays.DeviceArray`.
    predecessors : the same for predecessors, always n wide, or None
    origin : ndarray, shape (n,), int32, or None
        The winning source of every vertex, for nearest searches.
    stats : dict
        Counters by name, each an int64 array with an entry a row.
    """

    distances: Any
    predecessors: Any = None
    origin: Any = None
    stats: dict[str, NDArray[np.int64]] = field(default_factory=dict)


def as_vertices(value: Any, n: int, what: str) -> tuple[NDArray[np.int64], bool]:
    """Check sources or targets.

    Parameters
    ----------
    value : int or sequence of int
        Vertices; any integer type.
    n : int
        Number of vertices of the graph.
    what : str
        ``"source"`` or ``"target"``, for messages.

    Returns
    -------
    vertices : ndarray, shape (k,), int64
    single : bool
        Whether `value` was one vertex instead of a sequence.

    Raises
    ------
    TypeError
        Not integers.
    VertexError
        Outside 0..n-1.
    """
    single = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if single:
        values = np.array([operator.index(value)], dtype=object)
    else:
        if not isinstance(value, Sequence | np.ndarray | range) or isinstance(value, str | bytes):
            raise TypeError(
                f"{what}s must be an int or a sequence of ints, not {type(value).__name__}; "
                "g.vertices(labels) turns labels into vertices"
            )
        values = np.asarray(value)
        if values.ndim == 0 and values.dtype.kind in "iu":
            values, single = values.reshape(1), True
        if values.size == 0:
            values = values.astype(INT64).reshape(-1)
        if values.ndim != 1 or values.dtype.kind not in "iuO":
            raise TypeError(
                f"{what}s must be one row of integers, not {values.dtype} of shape {values.shape}"
            )
    outside = np.flatnonzero((values < 0) | (values >= n))
    if outside.size:
        raise VertexError(
            f"{what} {values[outside[0]]} is not a vertex of this graph: vertices are 0..{n - 1}"
            if n
            else f"{what} {values[outside[0]]} is not a vertex: the graph has none"
        )
    return values.astype(INT64), single


def as_limit(limit: Any, integral: bool) -> int | float | None:
    """Check a distance limit; for integer arithmetic round it down, which changes nothing.

    Raises
    ------
    TypeError, ValueError
        Not a number; negative or NaN.
    """
    if limit is None:
        return None
    if isinstance(limit, bool | np.bool_) or not _is_real(limit):
        raise TypeError(f"limit must be a number, not {type(limit).__name__}")
    if not limit >= 0:
        raise ValueError(f"limit must be 0 or more, not {limit}")
    if limit == math.inf:
        return None
    return int(limit) if integral else float(limit)


def _is_real(value: Any) -> bool:
    return isinstance(value, numbers.Real)


def physical_memory() -> int:
    """Bytes of memory that the machine has."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not every system tells
        return Query.memory_limit
