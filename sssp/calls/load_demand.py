"""`load` and `skim`: flows of a demand on shortest paths, and sums of attributes along them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import mul
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sssp.calls.choose_device import named_devices
from sssp.calls.many_sources import iter_blocks
from sssp.cpu.sweep.flow_driver import SweptFlows
from sssp.cpu.tree_sums import check_arc_values, flow_on_input
from sssp.engine import thresholds
from sssp.engine.check_arguments import as_memory_limit, as_network
from sssp.engine.demand import EXACT, Demand, as_demand
from sssp.engine.device_names import kind_of, named_device
from sssp.engine.exact_sums import as_numbers, sum_products
from sssp.engine.progress import check_progress
from sssp.engine.threads import check_threads
from sssp.errors import DistanceOverflowError
from sssp.graph.check_arrays import as_choice, integer_column
from sssp.graph.frames import by_arc
from sssp.kernels.dtypes import FLOAT64, INT64
from sssp.results.row_access import onto_arcs
from sssp.results.trees import ShortestPaths

if TYPE_CHECKING:
    from sssp.graph.graph import Graph
    from sssp.prepared.hierarchy import Hierarchy


@dataclass(frozen=True, eq=False)
class Flows:
    """Flow on every arc, with all trips on shortest paths.

    Not made by hand: `sssp.load` returns it. It pickles.

    Attributes
    ----------
    graph : Graph
        What was loaded.
    by_arc : ndarray, shape (m,), int64 or float64
        Flow on every arc, at its position in ``graph.indices``; integers if the volumes were.
    total : int or float
        Volume times distance, of all trips: flow times weight, and what turns cost.
    unreached : int or float
        Volume that was left out because no path leads there (``unreached="skip"``).
    selected : ndarray or csr_array, in the shape of the volumes; or None
        Volume of the trips that use a selected row (``select=``); the flow is theirs alone.
    """

    graph: Graph
    by_arc: NDArray[Any]
    total: int | float
    unreached: int | float
    selected: Any = None

    @cached_property
    def flow(self) -> NDArray[Any]:
        """Flow on every row of the user's arc table; both directions summed if undirected."""
        return flow_on_input(self.graph, [self.by_arc])

    def __repr__(self) -> str:
        used = np.count_nonzero(self.by_arc)
        left = f", {self.unreached:,} unreached" if self.unreached else ""
        return f"<Flows on {used:,} of {self.by_arc.size:,} arcs, total {self.total:,}{left}>"


def load(
    g: Graph | Hierarchy,
    demand: Any,
    *,
    select: ArrayLike | None = None,
    unreached: Literal["raise", "skip"] = "raise",
    device: str | Sequence[str] = "auto",
    threads: int | None = None,
    memory_limit: float | None = None,
    progress: bool | None = None,
) -> Flows:
    """Load a demand onto shortest paths: all-or-nothing assignment.

    Parameters
    ----------
    g : Graph or Hierarchy
        A prepared map takes a small part of the time, because it needs no trees.
    demand : tuple (origins, destinations, volumes), DataFrame or Series
        Vertices, and how much travels between them. Volumes of shape (k, t), an array or a SciPy
        sparse matrix, are a table of k origins and t destinations; of shape (p,) they belong to
        trips, with as many origins and destinations, or one for all. A DataFrame has the columns
        ``origin``, ``destination`` and ``volume``, in any case, and names vertices by their
        labels; so does the index of a Series, by origin and destination.
    select : array_like of int, optional
        Rows of the input (select link analysis): only trips that use one of them are loaded, in
        either direction of an undirected row.
    unreached : {"raise", "skip"}
        What becomes of volumes where no path leads: an error, or `Flows.unreached`.
    device : str, or sequence of str
        As for `sssp.shortest_paths`; ``"auto"`` loads a prepared map on the CPU, and of several
        devices the first does. On a graph that is not prepared, where arcs of weight 0 make a
        cycle, and on a GPU with negative weights, trees are found, and their flows are added up on
        the host.
    threads, memory_limit, progress
        As for `sssp.shortest_paths`. The number of threads never shows in the result.

    Returns
    -------
    Flows

    Raises
    ------
    UnreachableError
        A volume leads where no path does.
    VertexError, IndexError
        No such vertex; no such row of the input.
    DistanceOverflowError
        Integers whose sum reaches 2**53; give them as floats.
    ValueError, TypeError
        Shapes that do not go together; volumes that are negative, NaN or infinite; other arguments
        that are not what they should be.
    NegativeCycleError, DeviceError
        As `sssp.shortest_paths`.

    Notes
    -----
    Exact: flow times weight, summed over the arcs, is volume times distance, summed over the trips
    (floats: but for rounding), and at every vertex as much leaves as comes. Of equally short paths
    one is taken, the same for any number of threads and on a GPU; a prepared map may take another
    than a graph. A GPU adds floats in any order: their last bits may differ from call to call.

    On a prepared map: O(arcs above the destinations) for every 16 origins, and O(triangles) once;
    16 numbers per vertex that is swept for every thread, and a few for every chordal arc. The sweep
    of PHAST (Delling, Goldberg, Nowatzyk and Werneck 2011) is passed backward; see
    `sssp.cpu.sweep.flows`.

    Examples
    --------
    >>> import sssp
    >>> g = sssp.Graph.from_arcs([0, 1, 0], [1, 2, 2], [5, 5, 20])
    >>> found = sssp.load(g, ([0, 1], [2], [[30], [4]]))
    >>> found.flow.tolist(), found.total
    ([30, 34, 0], 320)
    """
    graph = as_network(g)._tree_graph
    checked = as_demand(demand, graph)
    options: dict[str, Any] = {
        "device": device, "threads": threads, "memory_limit": memory_limit, "progress": progress,
        "skips": as_choice(unreached, "unreached", "raise", "skip") == "skip",
    }  # fmt: skip
    loader, lost, selected = Loader(g, checked, **options), 0.0, None
    if select is not None:
        kept, lost = loader.select(g, as_rows(select, graph))
        checked = checked.with_entries(kept)
        selected = checked.as_given(_as_volumes(kept, is_integral=checked.is_integral))
        loader = Loader(g, checked, **options)
    loads, left = loader.load(g)
    total = _cost_of(loads, graph._searched.weights, is_integral=checked.is_integral)
    by_arc, rest = (
        _as_volumes(part, is_integral=checked.is_integral)
        for part in (onto_arcs(graph, loads), np.array(lost + left))
    )
    return Flows(graph, by_arc, total, rest.item(), selected)


def skim(
    g: Graph | Hierarchy,
    demand: Any,
    values: ArrayLike,
    *,
    device: str | Sequence[str] = "auto",
    threads: int | None = None,
    memory_limit: float | None = None,
    progress: bool | None = None,
) -> Any:
    """Sum arc attributes, such as length or toll, along the shortest path of every trip.

    Parameters
    ----------
    g : Graph or Hierarchy
    demand : tuple or DataFrame
        As of `load`, whose paths these are; ``(origins, destinations)`` is the whole table.
    values : array_like, shape (m,) or (m, c)
        A number per arc, or c of them, at its position in ``graph.indices``;
        ``attribute[graph.arc_origin]`` brings an attribute of the input there. Or a Series of
        pandas by own ids, tail and head. What stands at arcs that no path uses does not matter.
    device, threads, memory_limit, progress
        As of `load`; sums along a prepared map are always those of the CPU. On a graph a GPU finds
        trees, and values are summed along them on the host.

    Returns
    -------
    ndarray, int64 or float64, in the shape of the volumes; with c values (..., c)
        Where no path leads ``iinfo(int64).max``, or inf. Of sparse volumes a `csr_array` of their
        entries, and with c values a list of c of them.

    Raises
    ------
    ValueError
        Not one value per arc; a value on a path that is NaN or infinite.
    DistanceOverflowError
        Integers so large that n of them may reach 2**53; floats whose sum may leave float64.
    SSSPError, TypeError
        As `load`.

    Notes
    -----
    The sum of the skim times the volumes is the sum of the flow times the values. The time of
    `load`, about, and again half of it for every further value.

    Examples
    --------
    >>> import sssp
    >>> g = sssp.Graph.from_arcs([0, 1, 0], [1, 2, 2], [5, 5, 20])
    >>> km = [1.5, 2.5, 1.0]  # by row of the input
    >>> sssp.skim(g, ([0, 1], [2]), [km[row] for row in g.arc_origin]).tolist()
    [[4.0], [2.5]]
    """
    graph = as_network(g)._tree_graph
    checked = as_demand(demand, graph, needs_volumes=False)
    numbers = as_numbers(by_arc(values, graph), "values")
    check_arc_values(graph, numbers.shape[:1] if numbers.ndim == 2 else numbers.shape)
    columns = numbers if numbers.ndim == 2 else numbers[:, np.newaxis]
    is_integral = numbers.dtype.kind == "i"
    finite = np.abs(columns[np.isfinite(columns)].astype(FLOAT64))
    if not finite.max(initial=0) * graph._searched.n < (EXACT if is_integral else np.inf):
        raise DistanceOverflowError(
            f"values of up to {finite.max()} may add up to more than float64 holds"
            f"{' exactly; pass floats, which are rounded' if is_integral else ''}"
        )
    # (infinity is what unreached looks like)
    arc_values = np.where(np.isfinite(columns), columns, np.nan).T.astype(FLOAT64)
    loader = Loader(
        g, checked, device=device, threads=threads, memory_limit=memory_limit, progress=progress
    )
    found = loader.skim(g, np.ascontiguousarray(arc_values))
    odd = np.argwhere(np.isnan(found))
    if odd.size:
        name = checked.name_of(checked.ends_of(tuple(odd[0, 1:].tolist())))
        raise ValueError(
            f"a value on the path {name} is NaN or infinite; every value on a path must be finite"
        )
    if is_integral:
        unreached = np.isinf(found)
        found[unreached] = 0
        found = _as_volumes(found, is_integral=True)
        found[unreached] = np.iinfo(INT64).max
    if numbers.ndim == 1:
        return checked.as_given(found[0])
    if checked.is_sparse and checked.trip_of is None:
        return [checked.as_given(column) for column in found]
    return checked.as_given(np.moveaxis(found, 0, -1))


def as_rows(select: Any, graph: Graph) -> NDArray[Any]:
    """Check selected row numbers of the input; return them as an integer array."""
    what = "rows of the input, integers"
    rows = integer_column(np.atleast_1d(select), "select", "they count from 0", what)
    outside = rows[(rows < 0) | (rows >= graph.input_arcs)]
    if outside.size:
        raise IndexError(
            f"row {outside[0]} of select is no row of the input, which has {graph.input_arcs}"
        )
    return rows


class Loader:
    """Object that assigns one demand to shortest paths, or skims its trips, under any weights.

    A prepared map is swept, for sums of values always on the CPU; all else goes by trees, a block
    of origins at a time. What does not depend on weights is prepared once.

    Parameters
    ----------
    network : Graph or Hierarchy
    demand : Demand
    device, **options
        ``threads``, ``memory_limit`` and ``progress``, as of `load`.
    skips : bool
        Whether volumes that lead nowhere are left out.
    """

    def __init__(
        self,
        network: Any,
        demand: Demand,
        *,
        device: str | Sequence[str] = "auto",
        skips: bool = False,
        **options: Any,
    ) -> None:
        turns = network._tree_graph.turns
        if turns is not None:
            starts = turns.expansion.begin[demand.origins]
            ends = turns.expansion.end[demand.destinations]
            demand = replace(
                demand, origins=starts, destinations=ends, given=demand.given or demand
            )
        self.network, self.demand, self.skips = network, demand, skips
        self.options = {"device": device} | options
        limit = as_memory_limit(options.get("memory_limit"))
        shown = check_progress(options.get("progress"))
        self._limits = check_threads(options.get("threads")), limit, shown
        self._sweeps = network._methods is not None
        self._on_gpu: Any = None
        # (of several devices the first has all: trees would choose others of equal paths)
        named = named_device(named_devices(device)[0]) if self._sweeps else "auto"
        kind = "cpu" if named == "auto" else kind_of(named)
        self._sweeps &= kind in ("cpu", "cuda")
        if self._sweeps and kind == "cuda":
            from sssp.cuda.availability import device_number
            from sssp.cuda.sweep import flow_driver

            number = device_number(named)
            self._on_gpu = flow_driver.SweptFlows(demand, number, limit, shown, skips=skips)

    @cached_property
    def _swept(self) -> SweptFlows:
        """CPU solver that loads and skims the demand by sweeps over a prepared map (a CCH)."""
        return SweptFlows(self.network._searched, self.demand, *self._limits, skips=self.skips)

    def load(self, version: Any) -> tuple[NDArray[np.float64], float]:
        """Load the demand; return the flow on the searched graph's arcs, and unreached volume.

        Parameters
        ----------
        version : Graph or Hierarchy
            The network that the loader was made for, or one with other weights on its arcs.
        """
        searched = version._searched
        if self._sweeps and not _has_free_cycle(searched.graph):
            found = (self._on_gpu or self._swept).load(searched)
            if found is not None:
                return found
        flow, left = np.zeros(searched.m), 0.0
        for low, high, r in self._trees(searched):
            rows = self.demand.volumes[low:high]
            rows = rows.toarray() if self.demand.is_sparse else rows
            lost, volumes = self.drop_unreached(rows, r.reached, low)
            left += lost
            flow += r._load_arcs(volumes)[0]
        return flow, left

    def skim(self, version: Any, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sums of arc attributes along every trip's shortest path; inf if unreached."""
        searched, turns = version._searched, version.turns
        if turns is not None:
            values = np.stack([turns.expansion.values_of_arcs(own) for own in values])
        if self._sweeps and not _has_free_cycle(searched.graph):
            sums = self._swept.skim(searched, values)
            if sums is not None:
                return sums
        found = np.empty((len(values), *self.demand.entries.shape))
        for low, high, r in self._trees(searched):
            rows, places = self.demand.entries_of(low, high)
            for own, column in zip(found, values, strict=True):
                own[rows] = r.skim(column)[places]
        return found

    def select(self, version: Any, rows: NDArray[Any]) -> tuple[NDArray[np.float64], float]:
        """Return trip volumes, 0 if the path has no link in `rows`; and the unreached volume."""
        uses = np.isin(version._tree_graph.arc_origin, rows)
        sums = self.skim(version, uses[np.newaxis].astype(FLOAT64))[0]
        lost, kept = self.drop_unreached(self.demand.entries, sums < np.inf)
        return np.where(sums > 0, kept, 0.0), lost

    def _trees(self, searched: Any) -> Iterator[tuple[int, int, ShortestPaths]]:
        """Yield start position, end position and shortest-path trees for every block of origins."""
        ends, low = self.demand.destinations, 0
        room = min(thresholds.ITERATED_BYTES, self._limits[1] // 4)
        asked = self.options | {"block_size": max(1, room // max(1, 8 * searched.n))}
        for r in iter_blocks(
            searched, self.demand.origins, targets=ends, predecessors=True, **asked
        ):
            yield low, low + r.rows, r
            low += r.rows

    def drop_unreached(self, volumes: Any, reached: Any, first_row: int = 0) -> tuple[float, Any]:
        """Return the total volume of unreached trips, and `volumes` with 0 for these trips."""
        lost = ~reached & (volumes > 0)
        if not lost.any():
            return 0.0, volumes
        if not self.skips:
            row, *column = np.argwhere(lost)[0].tolist()
            ends = (first_row + row, column[0]) if column else self.demand.ends_of((row,))
            self.demand.refuse_lost(ends)
        return float(volumes[lost].sum()), np.where(lost, 0.0, volumes)


def _has_free_cycle(graph: Graph) -> bool:
    """Return whether arcs of weight 0 form a cycle, ignoring arcs from or to dead ends.

    Sweeps lead no path into a dead end and back.
    """
    if graph._least_inner_weight != 0:
        return False
    free = np.flatnonzero(graph.weights == 0)
    known: dict[str, tuple[NDArray[np.int64], bool]] = graph._shared("free cycle", dict)
    last = known.get("last")
    if last is not None and np.array_equal(last[0], free):  # (mostly the same for all versions)
        return last[1]
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    before, after = np.zeros((2, graph.n), INT64)
    before[graph.indices], after[graph.tails] = graph.tails, graph.indices
    alone = np.maximum(np.diff(graph.indptr), np.bincount(graph.indices, minlength=graph.n)) == 1
    is_dead_end = alone & (before == after)
    tails, heads = graph.tails[free], graph.indices[free]
    inner = ~(is_dead_end[tails] | is_dead_end[heads])
    ends = tails[inner], heads[inner]
    matrix: Any = csr_array((np.ones(ends[0].size, np.bool_), ends), shape=(graph.n, graph.n))
    parts, _ = connected_components(matrix, connection="strong")
    known["last"] = free, bool(parts < graph.n)
    return known["last"][1]


def _cost_of(flow: NDArray[np.float64], weights: NDArray[Any], *, is_integral: bool) -> int | float:
    """Return the sum of flow times weight over all arcs; exact for integers."""
    used = np.flatnonzero(flow)  # (closed arcs weigh infinity)
    flow, weights = flow[used], weights[used]
    total = sum_products(flow, weights)
    if weights.dtype.kind == "f" or not is_integral:
        return total
    if sum_products(flow, np.abs(weights, dtype=FLOAT64)) < EXACT:
        return int(total)
    return int(sum(map(mul, map(int, flow.tolist()), weights.tolist())))


def _as_volumes(numbers: NDArray[np.float64], *, is_integral: bool) -> NDArray[Any]:
    """Convert sums to int64 if the volumes are integers; raise if a sum may be inexact.

    Raises
    ------
    DistanceOverflowError
        One is too large to be exact.
    """
    if not is_integral:
        return numbers
    if numbers.size and not max(numbers.max(), -numbers.min()) < EXACT:
        raise DistanceOverflowError(
            "a sum of integers reaches 2**53, where float64 stops being exact; pass floats, which "
            "are rounded"
        )
    return numbers.astype(INT64)
