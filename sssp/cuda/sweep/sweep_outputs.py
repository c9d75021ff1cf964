"""Sweeps on a GPU whose results are rows of distances, their transpose, or reductions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.cuda.availability import cuda
from sssp.cuda.device_memory import fetch, upload
from sssp.cuda.graph_replay import key_of_fields
from sssp.cuda.ordered_sums import OrderedSums, SumsMemory, sums_bytes
from sssp.cuda.pool import THREADS, device_array
from sssp.cuda.search_base import Batch, Search
from sssp.cuda.solved_rows import DeviceRows
from sssp.cuda.sweep.customization import DeviceMap
from sssp.cuda.sweep.device_tree import Above
from sssp.cuda.sweep.lane_sums import SLOTS, place_kernel, total_kernel
from sssp.cuda.sweep.lanes import LanesSearch, whole_lanes
from sssp.cuda.sweep.target_selection import Packed, pack_streams
from sssp.cuda.sweep.transpose import TILE, TILE_ROWS, few_transpose_kernel, transpose_kernel
from sssp.engine.reductions import GREATEST, Reduction, Step, least_number
from sssp.kernels.dtypes import INT64, infinity, unreached


class Transposed(LanesSearch):
    """Sweep search whose output is a row of distances per source, to all vertices or targets."""

    def __init__(
        self,
        on_device: DeviceMap,
        targets: NDArray[np.int64] | None,
        trees: tuple[Any, ...] | None = None,
        *,
        direct: bool = False,
        packed: Packed | None = None,
    ) -> None:
        super().__init__(on_device, trees, packed)
        self.direct = direct and trees is None
        self.columns = None if targets is None else targets.size
        if packed is not None:
            self.wanted, self.places_wanted = packed.selection.wanted, packed.selection.columns

    def is_row(self, rows: int) -> bool:
        """Return whether a batch is a single row that a sweep writes directly to the result."""
        return self.direct and self.lanes(rows) == 1

    def launch(self, batch: Batch, scratch: Any) -> None:
        """Sweep a batch; write its distances, and predecessors if requested, row by row."""
        columns, lanes = self.n if self.columns is None else self.columns, self.lanes(batch.rows)
        if self.is_row(batch.rows):
            self.fill_lanes(batch, scratch, lanes, batch.distances.reshape(self.n))
            return
        self.fill_lanes(batch, scratch, lanes, scratch.swept)
        if not columns:
            return
        wanted = self.wanted, self.places_wanted
        if self.columns is not None and self.packed is None:
            wanted = batch.targets, batch.targets
        transpose, shape = few_transpose_kernel, ((-(-columns // THREADS), 1), (THREADS, 1))
        if batch.rows > self.few:
            grid = -(-columns // TILE), -(-batch.rows // TILE)
            transpose, shape = transpose_kernel, (grid, (TILE, TILE_ROWS))
        transpose[*shape, batch.stream](
            scratch.swept, np.uint32(lanes), *wanted, infinity(self.dtype), unreached(self.dtype),
            batch.bound, self.map.shifts, batch.sources, batch.distances,
        )  # fmt: skip
        if self.finds_trees:
            self.find_tails(batch, lanes, scratch.swept, transposed=True)


class SideBySide(LanesSearch):
    """A sweep whose result stays on the device, as a matrix with one column per source."""

    few = 0

    def __init__(
        self, on_device: DeviceMap, rows: int, trees: tuple[Any, ...] | None = None
    ) -> None:
        super().__init__(on_device, trees)
        self.pitch = whole_lanes(rows)

    def lanes_memory(self, lanes: int) -> Any:
        """Return None: no extra memory is needed, as the sweep writes directly into the answer."""
        return None

    def launch(self, batch: Batch, scratch: Any) -> None:
        """Sweep from a batch of sources directly into the result array; find trees if requested."""
        assert self.pitch is not None
        self.fill_lanes(batch, scratch, self.pitch, batch.distances)
        if self.finds_trees and self.n:
            self.find_tails(batch, self.pitch, batch.distances, transposed=False)


class Folded(LanesSearch):
    """GPU sweep that reduces the distances of each source to their count, sum and maximum.

    In place of distances it may add up what the vertices weigh.

    The lowest tier writes nothing, and nothing stands in memory for it.
    """

    columns = few = 0

    def __init__(
        self, on_device: DeviceMap, reduction: Reduction, packed: Packed | None = None
    ) -> None:
        tree, weights = on_device.tree, reduction.vertex_weights
        above = tree.made.get_or_build("above", lambda: Above(tree)) if packed is None else None
        super().__init__(on_device, packed=packed, above=above)
        self.folds = "greatest" if reduction.rule.steps == (GREATEST,) else "distances"
        if weights is not None:
            self.folds, self.values = "weights", upload(weights[:, 0])
            if packed is None:
                given, self.values = self.values, device_array(self.n, INT64)
                blocks = -(-self.n // THREADS)
                place_kernel[blocks, THREADS](given, self.tree["vertices"], self.values)
            self.held += self.values.nbytes

    def allocate(self, rows: int) -> Any:
        """Return device memory for a sweep, and for counts, sums and maxima of distances."""
        lanes = self.lanes(rows)
        totals, numbers = device_array((SLOTS, 3, lanes), INT64), (3, lanes)
        words, here = device_array(numbers, INT64), cuda.pinned_array(numbers, INT64)
        return super().allocate(rows)._replace(totals=totals, words=words, here=here)

    def launch(self, batch: Batch, scratch: Any) -> None:
        """Queue a sweep, and the count, sum and maximum of the distances from each source."""
        swept, totals, words = scratch.swept, scratch.totals, scratch.words
        batch.fill(totals, 0)
        lanes = whole_lanes(batch.rows)
        if self.packed is None:
            self.fill_lanes(batch, scratch, lanes, swept, totals)
        else:
            self.fill_lanes(batch, scratch, lanes, swept)
            self.fold(batch, self.packed.selection.columns, np.uint32(lanes), swept, totals)
        blocks = -(-words.shape[1] // THREADS)
        total_kernel[(blocks, 3), THREADS, batch.stream](totals, words)
        fetch(words, scratch.here, batch.stream)

    def complete(self, rows: DeviceRows, scratch: Any) -> DeviceRows:
        """Return the finished batch as `FoldedRows`: count, sum and maximum of each row."""
        return FoldedRows(**vars(rows), words=scratch.here)


@dataclass
class FoldedRows(DeviceRows):
    """Finished batch with only count, sum and maximum of the distances of each row.

    Attributes
    ----------
    words : ndarray, shape (3, lanes), int64
        How many distances there are, their sum, and one more than the greatest; 0: there is none.
    """

    words: Any = None

    def reduce_by(self, step: Step) -> NDArray[Any]:
        """Return the results of a reduction step (such as a sum), one per row."""
        numbers: NDArray[np.int64]
        counts, sums, greatest = self.words[:, : self.batch.rows]
        if step.number == "one":
            numbers = counts
        elif step.combine == "max":
            numbers = np.where(greatest > 0, greatest - 1, least_number(INT64))
        else:  # in halves
            numbers = np.zeros((sums.size, 1, 2), INT64)
            numbers[:, 0, 1] = sums
        return numbers


class Summed(LanesSearch):
    """GPU sweep that reduces each row of distances to float sums, added in order of vertices."""

    columns = few = 0

    def __init__(self, on_device: DeviceMap, step: Step, packed: Packed | None = None) -> None:
        super().__init__(on_device, packed=packed)
        places = None if packed is None else packed.selection.columns
        size, weights = self.n if places is None else places.size, step.vertex_weights
        there = None if weights is None else upload(weights.T)
        self.adds = OrderedSums(step, there, places, size)

    @property
    def row_bytes(self) -> int:
        """Bytes of scratch memory that one row of a batch takes, including its sums."""
        return super().row_bytes + sums_bytes(self.adds.columns, self.adds.size)

    @property
    def kind(self) -> Any:
        """Key that must be equal for another search to reuse this search's scratch memory."""
        return *super().kind, self.adds.columns, self.adds.size

    def allocate(self, rows: int) -> Any:
        """Allocate memory, on device and host, to sweep `rows` rows and sum up each row."""
        sums, totals = SumsMemory.allocate(self.adds.columns, self.adds.size, self.lanes(rows))
        here = cuda.pinned_array(totals.shape, totals.dtype)
        return super().allocate(rows)._replace(totals=sums, words=totals, here=here)

    def launch(self, batch: Batch, scratch: Any) -> None:
        """Reduce each source's distances to float sums in a sweep; copy the sums to the host."""
        lanes, memory = whole_lanes(batch.rows), SumsMemory(scratch.totals, scratch.words)
        self.fill_lanes(batch, scratch, lanes, scratch.swept)
        self.adds.launch(scratch.swept, (1, lanes), batch.bound, lanes, memory, batch.stream)
        fetch(memory.totals, scratch.here, batch.stream)

    def complete(self, rows: DeviceRows, scratch: Any) -> DeviceRows:
        """Return the finished batch as `SummedRows`: the float sums of each row."""
        return SummedRows(**vars(rows), totals=scratch.here)


@dataclass
class SummedRows(DeviceRows):
    """A finished batch of rows that holds only the floating-point sums of each row.

    Attributes
    ----------
    totals : ndarray, shape (c, lanes), float64
    """

    totals: Any = None

    def reduce_by(self, step: Step) -> NDArray[Any]:
        """Return the float sums to which the sweep has reduced each row's distances."""
        numbers: NDArray[Any] = self.totals[:, : self.batch.rows].T
        return numbers


class OfVersions(Search):
    """Search from the same sources under several weight sets; keep only totals of each row.

    Parameters
    ----------
    searches : sequence of Folded or of Summed
        Of the versions, alike but for the weights.
    rows : int
        Rows of a version. A batch has those of several versions: two batches of all, which fill
        each other's gaps.
    """

    writes_all, is_replayed, reads_targets, columns = True, True, False, 0

    def __init__(self, searches: Sequence[Folded | Summed], rows: int) -> None:
        self.searches, self.rows = tuple(searches), rows
        self.together, self.rows_at_once = rows, -(-len(searches) // 2) * rows

    @cached_property
    def replay_key(self) -> Any:
        """Key under which recorded GPU launches are cached, made of all fields of this object."""
        return key_of_fields(self)

    @property
    def fixed_bytes(self) -> int:
        """Bytes of scratch memory that all weight sets of a batch share, one at a time."""
        first = self.searches[0]
        return first.fixed_bytes + self.rows * first.row_bytes

    @property
    def kind(self) -> Any:
        """Key of the scratch arrays: only searches with an equal key can reuse them."""
        return type(self.searches[0]), self.searches[0].kind, self.rows

    def part(self, rows: range) -> OfVersions:
        """Return this search for only those sets of weights whose result rows are in `rows`."""
        versions = slice(rows.start // self.rows, rows.stop // self.rows)
        return OfVersions(self.searches[versions], self.rows)

    def allocate(self, rows: int) -> Any:
        """Allocate scratch for one set of weights, and memory for the results of all sets."""
        scratch = self.searches[0].allocate(self.rows)
        shape = rows // self.rows, *scratch.words.shape
        numbers = device_array(shape, scratch.words.dtype)
        return scratch._replace(words=numbers, here=cuda.pinned_array(shape, numbers.dtype))

    def launch(self, batch: Batch, scratch: Any) -> None:
        """For each set of weights, queue a sweep from all sources and reduce its distances."""
        for version, search in enumerate(self.searches):
            rows = slice(version * self.rows, (version + 1) * self.rows)
            if search.packed is not None:
                pack_streams(batch.stream, search.packed, search.map.streams)
            own = {name: getattr(batch, name)[rows] for name in ("given", "sources", "counters")}
            one = replace(batch, rows=self.rows, **own)
            words = {"words": scratch.words[version], "here": scratch.here[version]}
            search.launch(one, scratch._replace(**words))

    def complete(self, rows: DeviceRows, scratch: Any) -> DeviceRows:
        """Return a batch with the reduction (such as a sum) of each row under every weight set."""
        numbers = np.concatenate(scratch.here[:, :, : self.rows], axis=1)
        return self.searches[0].complete(rows, scratch._replace(here=numbers))
