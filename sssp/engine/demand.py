"""Demand: origins, destinations and volumes, read from arrays, data frames or series."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from sssp.engine.check_arguments import as_vertices
from sssp.errors import DistanceOverflowError, UnreachableError
from sssp.graph.check_arrays import is_sparse, number_array
from sssp.graph.csr import offsets
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import FLOAT64, INT64

#: columns of a data frame of trips
ORIGIN, DESTINATION, VOLUME = "origin", "destination", "volume"
#: float64 holds all integers up to here
EXACT = float(1 << 53)
FORMS = (
    "demand is (origins, destinations, volumes), or a DataFrame with the columns origin, "
    "destination and volume, or a Series of volumes by origin and destination"
)


@dataclass(frozen=True)
class Demand:
    """A checked travel demand: volumes of trips, none of them negative, NaN or infinite.

    Attributes
    ----------
    origins, destinations : ndarray, shape (k,) and (t,), int64
        Vertices.
    volumes : ndarray, shape (k, t), float64, or csr_array
        How much travels. Sparse: entries of a row in order of their columns, perhaps several of
        one column.
    is_integral : bool
        Whether the volumes were integers: all sums of them are exact.
    graph : Graph
        Of the caller, by whose labels messages name vertices.
    trip_of : ndarray, shape (p,), int64, or None
        Which trip of the caller's every sparse entry is; None: a table was given.
    given : Demand or None
        The caller's, which messages name, where this one was moved to other vertices.
    """

    origins: NDArray[np.int64]
    destinations: NDArray[np.int64]
    volumes: Any
    is_integral: bool
    graph: Graph
    trip_of: NDArray[np.int64] | None = None
    given: Demand | None = None

    @property
    def total(self) -> float:
        """Sum of all volumes."""
        return float(self.entries.sum())

    @property
    def entries(self) -> NDArray[np.float64]:
        """The trip volumes as an array: the dense table, or the stored entries of a sparse one."""
        return np.asarray(self.volumes.data if self.is_sparse else self.volumes)

    @property
    def is_sparse(self) -> bool:
        """Whether the volumes are stored as a sparse list of trips, not as a dense table."""
        return not isinstance(self.volumes, np.ndarray)

    def with_entries(self, entries: NDArray[np.float64]) -> Demand:
        """Return a copy of this demand with other volumes (`entries`) for the same trips."""
        if self.is_sparse:
            table = self.volumes.copy()
            table.data = entries
            entries = table
        return replace(self, volumes=entries)

    def entries_of(self, low: int, high: int) -> tuple[slice, Any]:
        """Return the indices of origins' volumes (low..high-1) in `entries` and a dense table."""
        if not self.is_sparse:
            return slice(low, high), ...
        first, last = self.volumes.indptr[[low, high]].tolist()
        rows = np.repeat(np.arange(high - low), np.diff(self.volumes.indptr[low : high + 1]))
        return slice(first, last), (rows, self.volumes.indices[first:last])

    def as_given(self, values: NDArray[Any]) -> Any:
        """Return values of trips in the layout of the caller's volumes: list, table or sparse."""
        if self.trip_of is not None:
            given = np.empty_like(values)
            given[self.trip_of] = values
            return given
        if not self.is_sparse:
            return values
        from scipy.sparse import csr_array

        pattern = self.volumes.indices.copy(), self.volumes.indptr.copy()
        return csr_array((values, *pattern), shape=self.volumes.shape)

    def ends_of(self, entry: tuple[int, ...]) -> tuple[int, int]:
        """Return the row (origin) and the column (destination) of an entry, given its index."""
        if not self.is_sparse:
            return entry[0], entry[1]
        row = int(np.searchsorted(self.volumes.indptr, entry[0], side="right")) - 1
        return row, int(self.volumes.indices[entry[0]])

    def name_of(self, ends: tuple[int, int]) -> str:
        """Return the text ``from A to B`` for the trip at a row and a column, for messages."""
        given, labels = self.given or self, self.graph.labels
        vertices = given.origins[ends[0]], given.destinations[ends[1]]
        words = vertices if labels is None else [labels[vertex] for vertex in vertices]
        return f"from {words[0]} to {words[1]}"

    def refuse_lost(self, ends: tuple[int, int]) -> NoReturn:
        """Raise `UnreachableError` that names the trip `ends`, which has a volume but no path."""
        raise UnreachableError(
            f"no path leads {self.name_of(ends)}, where a volume is to travel; set it to 0, "
            "or unreached='skip' leaves out all such volumes"
        )


def as_demand(demand: Any, graph: Graph, *, needs_volumes: bool = True) -> Demand:
    """Check a caller's demand, and convert it to a `Demand` on the graph's vertices.

    Parameters
    ----------
    demand : tuple or DataFrame
        See `sssp.load`; without `needs_volumes`, ``(origins, destinations)`` too: one trip of each
        pair.
    graph : Graph
        Its vertices; own ids of a data frame are its labels.

    Raises
    ------
    TypeError, ValueError, VertexError
        It has another form or shape; an id is unknown; a volume is negative, NaN or infinite.
    DistanceOverflowError
        Integers whose sum is 2**53 or more.
    """
    if isinstance(demand, Demand):  # of a caller that has checked it
        return demand
    demand = _columns(demand, graph, needs_volumes)
    sizes = (3,) if needs_volumes else (2, 3)
    if not isinstance(demand, tuple | list) or len(demand) not in sizes:
        raise TypeError(f"{FORMS}, not {type(demand).__name__}")
    origins, one_origin = as_vertices(demand[0], graph, "origin")
    destinations, one_destination = as_vertices(demand[1], graph, "destination")
    if len(demand) == 2:
        shape = origins.size, destinations.size
        return Demand(origins, destinations, np.broadcast_to(1.0, shape), True, graph)
    given, sparse = demand[2], is_sparse(demand[2])
    if not (sparse and given.ndim == 2):
        given, sparse = number_array(given.toarray() if sparse else given, "volumes"), False
    if given.dtype.kind not in "biuf":
        raise TypeError(f"volumes must be integers or floats, not {given.dtype}")
    is_integral, numbers = given.dtype.kind != "f", given
    from scipy.sparse import csr_array

    if sparse:  # (sorted rows, no duplicates)
        numbers = csr_array(given.astype(FLOAT64))
        numbers.sum_duplicates()
    # (a large table is not copied without need; kernels take it in one form)
    elif given.dtype != FLOAT64 or not (given.flags.carray and given.ndim == 2):
        numbers = given.astype(FLOAT64, order="C")
    if numbers.ndim == 2:
        if numbers.shape != (origins.size, destinations.size):
            raise ValueError(
                f"volumes of shape {numbers.shape} for {origins.size} origins and "
                f"{destinations.size} destinations"
            )
        found = Demand(origins, destinations, numbers, is_integral, graph)
    else:
        if one_origin != one_destination:
            origins, destinations = np.broadcast_arrays(origins, destinations)
        if not origins.shape == destinations.shape == numbers.shape:
            raise ValueError(
                f"{origins.size} origins, {destinations.size} destinations and volumes of shape "
                f"{numbers.shape}: one volume a trip goes with one origin and one destination each,"
                f" a table has shape ({origins.size}, {destinations.size})"
            )
        # a sparse table with an entry for each trip
        starts, rows = np.unique(origins, return_inverse=True)
        ends, columns = np.unique(destinations, return_inverse=True)
        order = np.lexsort((columns, rows))
        indptr = offsets(np.bincount(rows, minlength=starts.size))
        entries = numbers[order], columns[order], indptr
        table = csr_array(entries, shape=(starts.size, ends.size))
        found = Demand(starts, ends, table, is_integral, graph, order)
    _check_volumes(found)
    return found


def _columns(demand: Any, graph: Graph, needs_volumes: bool) -> Any:
    """Return origins and destinations (as vertices) and volumes of a data frame or Series.

    Whatever else is returned unchanged.
    """
    pandas = sys.modules.get("pandas")
    frames, series = (getattr(pandas, name, ()) for name in ("DataFrame", "Series"))
    if isinstance(demand, series) and demand.index.nlevels == 2:
        demand = demand.rename_axis([ORIGIN, DESTINATION]).rename(VOLUME).reset_index()
    if not isinstance(demand, frames):
        return demand
    wanted = [ORIGIN, DESTINATION, *([VOLUME] if needs_volumes else [])]
    frame = demand.rename(columns=lambda name: str(name).strip().lower())
    missing = [name for name in wanted if name not in frame.columns]
    if missing:
        raise ValueError(f"the DataFrame has no column {', '.join(map(repr, missing))}; {FORMS}")
    ends = (graph.vertices(frame[name].to_numpy()) for name in (ORIGIN, DESTINATION))
    volumes = frame[VOLUME].to_numpy() if VOLUME in frame.columns else np.ones(len(frame), INT64)
    return (*ends, volumes)


def _check_volumes(demand: Demand) -> None:
    """Raise if a volume is negative, NaN or infinite, or if the sum of all volumes overflows."""
    entries, total = demand.entries, demand.total
    if not (total < np.inf and entries.min(initial=0) >= 0):
        wrong = np.argwhere(~((entries >= 0) & (entries < np.inf)))
        if not wrong.size:
            raise DistanceOverflowError("the volumes add up to more than float64 holds")
        first = tuple(wrong[0].tolist())
        name = demand.name_of(demand.ends_of(first))
        raise ValueError(f"the volume {name} is {entries[first]}; volumes are 0 or more")
    if demand.is_integral and total >= EXACT:
        raise DistanceOverflowError(
            f"the volumes add up to {total:.17g}, and integers are added exactly below 2**53; "
            "pass floats, which are rounded"
        )
