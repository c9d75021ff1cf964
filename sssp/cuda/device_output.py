"""The form of an answer that stays on the device; the others are `sssp.engine.outputs`."""

from __future__ import annotations

from typing import Any

import numpy as np

from sssp.cuda.arrays import DeviceArray
from sssp.cuda.compiler import cuda
from sssp.cuda.narrow_device import narrow_on_device
from sssp.cuda.pool import device_array
from sssp.cuda.solved_rows import DeviceRows, gather
from sssp.engine.request import Answer, Request
from sssp.kernels.dtypes import INDEX, INT32, INT64


class DeviceForm:
    """Matrices that stay on the device.

    Parameters
    ----------
    n : int
        Number of vertices.
    request : Request
    dtype : dtype
        Of the search.
    number : int
        The device, which is current.
    pitch : int, optional
        How far apart neighbours in a row stand, if rows stand side by side.

    Attributes
    ----------
    nbytes : int
        Bytes of the host: none.
    device_bytes : int
        Bytes of the device.
    """

    nbytes = 0

    def __init__(
        self, n: int, request: Request, dtype: np.dtype[Any], number: int, pitch: int | None = None
    ) -> None:
        self.request, self.dtype, self.number, self.pitch = request, dtype, number, pitch
        self.shape = request.rows, request.columns(n)
        self.tree_shape = request.rows, n if request.predecessors else 0
        may_narrow = dtype == INT64 and request.dtype != INT64
        entry = dtype.itemsize + (INT32.itemsize if may_narrow else 0)
        rows = request.rows if pitch is None else pitch
        self.size, self.tree_size = rows * self.shape[1], rows * self.tree_shape[1]
        self.device_bytes = self.size * entry + self.tree_size * INDEX.itemsize
        self._distances: Any = None
        self._predecessors: Any = None
        self._origin: Any = None

    def reserve(self) -> None:
        """Allocate the matrices."""
        self._distances = device_array(self.size, self.dtype)
        if self.request.predecessors:
            self._predecessors = device_array(self.tree_size, INDEX)

    @property
    def flat(self) -> Any:
        """The matrix of distances, one row behind the other."""
        return self._distances

    def place(self, rows: range) -> Any:
        """Where a search writes its distances, if those are what is wanted: into the matrix."""
        if self.pitch is not None:
            return self._distances[rows.start :]
        return _part(self._distances, self.shape, rows)

    def tree_place(self, rows: range) -> Any:
        """Rows of the matrix of predecessors."""
        if self._predecessors is None:
            return None
        if self.pitch is not None:
            return self._predecessors[rows.start :]
        return _part(self._predecessors, self.tree_shape, rows)

    def take(self, found: DeviceRows) -> None:
        """Gather the columns of targets; all else is in place."""
        self._origin = found.on_device_origin
        if found.targeted and self.shape[1]:
            gather(found.batch, _part(self._distances, self.shape, found.rows))

    def answer(self) -> Answer:
        """Return the matrices, in the dtype that the call fixed or in the narrowest that fits."""

        def wrapped(
            flat: Any, shape: tuple[int, ...], pitch: int | None = None
        ) -> DeviceArray | None:
            return None if flat is None else DeviceArray(flat, shape, self.number, stream, pitch)

        stream = self.request.stream
        origin = self._origin
        narrow = narrow_on_device(self._distances, self.request.dtype, cuda.stream())
        return Answer(
            wrapped(narrow, self.shape, self.pitch),
            wrapped(self._predecessors, self.tree_shape, self.pitch),
            wrapped(origin, () if origin is None else origin.shape),
        )


def _part(flat: Any, shape: tuple[int, int], rows: range) -> Any:
    """Some rows of a matrix as a matrix."""
    columns = shape[1]
    return flat[rows.start * columns : rows.stop * columns].reshape(len(rows), columns)
