"""The output of a request as device arrays; for host output see `sssp.engine.outputs`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64

from sssp.cuda.arrays import DeviceArray
from sssp.cuda.availability import SIMULATOR, cuda
from sssp.cuda.compiler import kernel
from sssp.cuda.device_memory import on_host
from sssp.cuda.pool import THREADS, device_array
from sssp.cuda.solved_rows import DeviceRows, gather
from sssp.engine.narrow import refuse_narrow
from sssp.engine.request import Answer, Request
from sssp.kernels.dtypes import INDEX, INT32, INT64, unreached

#: blocks of a kernel that leaves one number for a whole matrix
BLOCKS = 1 if SIMULATOR else 512


@kernel
def _magnitude_kernel(values, missing, greatest):
    """Find the greatest absolute value of integer distances, ignoring unreached entries."""
    own = int64(0)
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        if values[i] != missing:
            own = max(own, abs(int64(values[i])))
    cuda.atomic.max(greatest, 0, own)


@kernel
def _narrow_kernel(values, missing, narrow, narrow_missing):
    """Convert distances or weights to a narrower dtype; translate the sentinel value, too."""
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        narrow[i] = narrow_missing if values[i] == missing else narrow.dtype.type(values[i])


def narrow_on_device(
    flat: Any,
    asked: np.dtype[Any] | None,
    stream: Any = None,
    extremes: tuple[Any, Any] | None = None,
) -> Any:
    """Convert integers on a GPU to the call's dtype; without one, to int32 if every value fits.

    The twin of `sssp.engine.narrow`.

    Parameters
    ----------
    flat : device array, one axis
    asked : dtype or None
        What the distances must be.
    stream : stream, optional
    extremes : tuple, optional
        Least and greatest distance, where they are known.

    Raises
    ------
    DistanceOverflowError
        A distance does not fit the dtype that the call asks for.
    """
    wide, target = np.dtype(flat.dtype), asked or INT32
    if wide.kind == "f" or wide.itemsize <= target.itemsize:
        return flat
    stream = stream or cuda.stream()
    if extremes is None:
        found = cuda.to_device(np.zeros(1, INT64))
        _magnitude_kernel[BLOCKS, THREADS, stream](flat, unreached(wide), found)
        magnitude = int(on_host(found, stream)[0])
    else:
        magnitude = max(int(extremes[1]), -int(extremes[0]))
    if magnitude >= unreached(target):
        if asked is None:
            return flat
        raise refuse_narrow(magnitude, target)
    return copy_narrow(flat, target, stream)


def copy_narrow(flat: Any, target: np.dtype[Any], stream: Any) -> Any:
    """Return a copy of distances or weights in a narrower dtype, in which all of them fit."""
    narrow, missing = device_array(flat.size, target), unreached(flat.dtype)
    _narrow_kernel[BLOCKS, THREADS, stream](flat, missing, narrow, unreached(target))
    stream.synchronize()
    return narrow


class DeviceForm:
    """Result matrices of distances and predecessors that stay in the memory of the GPU.

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
        #: the matrices of distances and of predecessors as flat arrays, once they are reserved
        self.flat: Any = None
        self.flat_tree: Any = None
        self._origin: Any = None

    def reserve(self) -> None:
        """Allocate the matrices of distances and predecessors, at the first call only."""
        if self.flat is not None:
            return
        self.flat = device_array(self.size, self.dtype)
        if self.request.predecessors:
            self.flat_tree = device_array(self.tree_size, INDEX)

    def place(self, rows: range) -> Any:
        """Return a view of rows of the distance matrix; None if it is not allocated yet."""
        return self._part(self.flat, self.shape[1], rows)

    def tree_place(self, rows: range) -> Any:
        """Return a view of rows of the predecessor matrix; None if it was not requested."""
        return self._part(self.flat_tree, self.tree_shape[1], rows)

    def _part(self, flat: Any, columns: int, rows: range) -> Any:
        """Return a view of some matrix rows: 2-d if stored by rows, flat if stored by columns."""
        if flat is None:
            return None
        whole = len(rows) == self.shape[0]  # (to cut an array takes longer than to launch a kernel)
        if self.pitch is not None:
            return flat if whole else flat[rows.start :]
        if whole:
            return flat.reshape(len(rows), columns)
        return flat[rows.start * columns : rows.stop * columns].reshape(len(rows), columns)

    def take(self, found: DeviceRows) -> None:
        """Add the results of a finished batch, such as distances to targets, to the answer."""
        self._origin = found.on_device_origin
        if found.targeted and self.shape[1]:
            gather(found.batch, self.place(found.rows))

    def answer(self) -> Answer:
        """Return an `Answer` with device arrays: distances, predecessors, nearest sources."""

        def wrap(flat: Any, shape: tuple[int, ...], pitch: int | None = None) -> DeviceArray | None:
            return None if flat is None else DeviceArray(flat, shape, self.number, stream, pitch)

        stream = self.request.stream
        origin = self._origin
        narrow = narrow_on_device(self.flat, self.request.dtype)
        return Answer(
            wrap(narrow, self.shape, self.pitch),
            wrap(self.flat_tree, self.tree_shape, self.pitch),
            wrap(origin, () if origin is None else origin.shape),
        )
