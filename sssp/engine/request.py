"""The checked arguments of a call (`Request`), and the result of a solver (`Answer`).

`sssp.calls.make_plan` turns the arguments of a call into a `Request` once; from then on it does not
change, and solvers trust it. (A frozen dataclass would see to that, for a tenth of the time that a
call on a small graph takes.)
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sssp.engine.check_memory import FEWER_ROWS, NO_LIMIT
from sssp.engine.reductions import Reduction
from sssp.kernels.dtypes import largest_distance

if TYPE_CHECKING:
    from sssp.engine.arc_ends import ArcEnds
    from sssp.graph.graph import Graph


@dataclass(kw_only=True)
class Resources:
    """The device, threads, memory and output of a call.

    Attributes
    ----------
    output : {"host", "device", "sparse"}
        The last for rows of shortest paths only.
    device : str
        ``"cpu"``, ``"cuda:N"`` or ``"opencl:N"``.
    by_rule : bool
        Whether the rule of ``"auto"`` has chosen a GPU, so that the CPU may take over.
    devices : tuple of str
        Where several share the rows: all of them, `device` the first. Empty: `device` alone.
    threads : int
        Greatest number of worker threads; several devices share them.
    memory_limit : int
        Bytes that results and scratch of this call may take together on the device.
    advice : str
        What the caller can do where that is not enough, of the texts in `sssp.engine.check_memory`.
    stream : int or None
        CUDA only: handle of the caller's stream, in whose order the call stands.
    progress : bool or None
        None: only on a terminal or in a notebook.
    """

    output: str = "host"
    device: str = "cpu"
    by_rule: bool = False
    devices: tuple[str, ...] = ()
    threads: int = 1
    memory_limit: int = NO_LIMIT
    advice: str = FEWER_ROWS
    stream: int | None = None
    progress: bool | None = None

    def resources(self) -> dict[str, Any]:
        """Return the options of the call (device, threads, memory limit...) as a dict by name."""
        return {one.name: getattr(self, one.name) for one in fields(Resources)}


@dataclass
class Request(Resources):
    """A checked call of `shortest_paths`.

    Attributes
    ----------
    sources : ndarray, shape (k,), int64
    targets : ndarray, shape (t,), int64, or None
        None: all vertices.
    width : int or None
        Number of the user's vertices, where a row is to have all of these, and the graph that is
        searched has more: the targets, or without targets its first vertices.
    asked : Graph or None
        The user's graph, if it has turns: sources and targets are vertices of its expansion.
    source_arcs : ndarray, shape (k,), int64, or None
        The arcs of the user's graph after which the sources are.
    arc_ends : ArcEnds or None
        The arcs on which the caller ends; `targets` are their tails.
    target_offsets : ndarray, shape (k + 1,), int64, or None
        Of trips: source i is asked for ``targets[target_offsets[i]:target_offsets[i + 1]]`` alone,
        and the answer is one row of t distances, with the paths there instead of trees. None:
        every source is asked for all targets.
    limit : int, float or None
        Inclusive; an int for integer arithmetic.
    dtype : dtype or None
        What the distances must be; None leaves it to the solver (int32 if all fit).
    nearest : bool
        One search from all sources together instead of one from each.
    origins : bool
        Whether a nearest search is to tell the winning sources; with predecessors it does.
    predecessors : bool
        Whether trees are wanted too.
    outward : bool
        Whether float distances have to be rounded from the source outward, as those of trees are:
        then every arc of a shortest path is tight.
    fewest_arcs : bool
        Whether every tree takes the fewest arcs and then the smallest tail, instead of only
        those in which the smallest tail alone might close a cycle.
    reduction : Reduction or None
        Keep a number or some of each row instead of distances; `targets` are ascending then, and
        only they count.
    single, single_target : bool
        Whether the call named one source or target with an int, and so expects no axis for it.
    out : ndarray, shape (k, n) or (k, t), or None
        Where the distances go.
    given_out : ndarray or None
        The array of the caller that `out` is a view of.
    reserved_bytes : int
        Bytes of the host that the call holds beside this question and its answer, as what leads
        from these trips to those of the caller.
    rows : int
        Number of searches, and of rows in the answer.
    wants_tree : bool
        Whether distances alone do not answer it.
    """

    sources: NDArray[np.int64]
    targets: NDArray[np.int64] | None = None
    width: int | None = None
    asked: Graph | None = None
    source_arcs: NDArray[np.int64] | None = None
    arc_ends: ArcEnds | None = None
    target_offsets: NDArray[np.int64] | None = None
    limit: int | float | None = None
    dtype: np.dtype[Any] | None = None
    nearest: bool = False
    origins: bool = True
    predecessors: bool = False
    outward: bool = False
    fewest_arcs: bool = False
    reduction: Reduction | None = None
    single: bool = False
    single_target: bool = False
    out: NDArray[Any] | None = None
    given_out: NDArray[Any] | None = None
    reserved_bytes: int = 0
    rows: int = field(init=False)
    wants_tree: bool = field(init=False)

    def __post_init__(self) -> None:
        self.rows = 1 if self.nearest else self.sources.size
        if self.nearest:
            self.wants_tree = self.predecessors or self.origins
        else:
            self.wants_tree = self.predecessors and self.target_offsets is None

    def kind(self) -> Any:
        """Return a cache key: the sizes of all array fields, and the values of all other fields."""
        named = vars(self)
        if self.reduction is not None:
            named = named | {"reduction": self.reduction.key}
        values = named.values()
        return tuple([value.size if type(value) is np.ndarray else value for value in values])

    @property
    def nbytes(self) -> int:
        """Bytes of the request's arrays on the host; 0 for trips, which the output counts."""
        if self.target_offsets is not None:
            return 0
        nbytes: int = self.reserved_bytes + self.sources.nbytes
        if self.targets is not None:
            nbytes += self.targets.nbytes
        if self.reduction is not None and self.reduction.vertex_weights is not None:
            nbytes += self.reduction.vertex_weights.nbytes
        return nbytes

    def part(self, rows: slice) -> Request:
        """Return the request restricted to some of its rows."""
        part = replace(
            self, sources=self.sources[rows], out=None if self.out is None else self.out[rows]
        )
        if self.target_offsets is not None and self.targets is not None:
            first, end, _ = rows.indices(self.rows)
            target_offsets = self.target_offsets[first : end + 1]
            part.targets = self.targets[target_offsets[0] : target_offsets[-1]]
            part.target_offsets = target_offsets - target_offsets[0]
        return part

    def columns(self, n: int) -> int:
        """Return the number of distances in a row, for a graph with `n` vertices."""
        if self.targets is not None:
            return self.targets.size
        return n if self.width is None else self.width

    def targets_of(self, row: int) -> NDArray[np.int64] | None:
        """Return the targets of a row; None for all vertices."""
        if self.target_offsets is None or self.targets is None:
            return self.targets
        return self.targets[self.target_offsets[row] : self.target_offsets[row + 1]]

    def bound(self, dtype: np.dtype[Any]) -> Any:
        """Return the distance limit as a `dtype` number, or the greatest distance it can hold."""
        largest = largest_distance(dtype)
        if self.limit is None or self.limit >= largest.item():
            return largest
        return dtype.type(self.limit)


class Walks(NamedTuple):
    """Paths, stored as their vertices in one array, one path after another.

    Attributes
    ----------
    firsts : ndarray, shape (t + 1,), int64
        Path i is ``vertices[firsts[i]:firsts[i + 1]]``, from its source on; empty where there is
        none.
    vertices : ndarray, int32
    """

    firsts: NDArray[np.int64]
    vertices: NDArray[np.int32]


@dataclass
class Answer:
    """The raw answer of a solver: distances, predecessors, origins, paths, and counters.

    Attributes
    ----------
    distances : ndarray, shape (rows, n) or (rows, t), or csr_array, shape (rows, n)
        Of a reduction: ndarray, shape (rows,) or (rows, c); of trips, shape (t,). With
        ``output="device"`` all arrays are `sssp.cuda.arrays.DeviceArray`.
    predecessors : the same for predecessors, or None
        Always n wide; with targets a csr_array of the vertices on paths to them.
    origin : ndarray, shape (n,), int32, or None
        The winning source of every vertex, for nearest searches.
    stats : dict
        Counters by name, each an int64 array with an entry per row.
    device : str
        Where it was found.
    walks : Walks or None
        Of trips: the path to every target, if wanted.
    searched_by : str or None
        The method that answered in place of the sweeps of a prepared map.
    """

    distances: Any
    predecessors: Any = None
    origin: Any = None
    stats: dict[str, NDArray[np.int64]] = field(default_factory=dict)
    device: str = "cpu"
    walks: Walks | None = None
    searched_by: str | None = None
