"""Arrays of a result that stay on the GPU."""

from __future__ import annotations

import math
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from sssp.cuda.availability import cuda, select
from sssp.cuda.device_memory import download
from sssp.cuda.driver import address, wait_for_device

#: what the interface calls the default stream, where others call it 0
DEFAULT_STREAM = 1


class DeviceArray:
    """An array on a GPU that other libraries can use without a copy.

    ``cupy.asarray(a)`` and ``torch.as_tensor(a, device="cuda")`` share its memory and keep it
    alive; so does whatever else reads ``__cuda_array_interface__``. `to_host` copies it. It
    pickles as its host copy.

    Parameters
    ----------
    flat : device array, one axis
        Its entries.
    shape : tuple of int
    number : int
        Its device.
    stream : int, optional
        Handle of the stream in whose order it is ready; by default it is ready for all.
    pitch : int, optional
        Of a matrix whose rows stand side by side, how far apart neighbours in a row are: it is the
        transposed matrix of memory with so many columns, the first of which are its rows.

    Attributes
    ----------
    flat, number, pitch
        As above.
    shape : tuple of int
        Length of every axis.
    dtype : dtype
        Type of an entry.
    """

    def __init__(
        self,
        flat: Any,
        shape: tuple[int, ...],
        number: int,
        stream: int | None = None,
        pitch: int | None = None,
    ) -> None:
        if flat.size != (math.prod(shape) if pitch is None else pitch * shape[1]):
            raise ValueError(f"{flat.size} entries do not make the shape {shape}")
        self.flat, self.number, self._stream, self.pitch = flat, number, stream, pitch
        self.shape = shape
        self.dtype: np.dtype[Any] = np.dtype(flat.dtype)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of entries."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Number of bytes that the entries take."""
        return self.size * self.dtype.itemsize

    @property
    def device(self) -> str:
        """Name of the array's device: ``"cuda:N"``."""
        return f"cuda:{self.number}"

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """CUDA array interface, version 3, with the stream that a reader has to wait for."""
        stream, itemsize = self._stream, self.dtype.itemsize
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (address(self.flat) if self.size else 0, False),
            "strides": None if self.pitch is None else (itemsize, self.pitch * itemsize),
            "version": 3,
            "stream": DEFAULT_STREAM if stream == 0 else stream,
        }

    def reshape(self, shape: tuple[int, ...]) -> DeviceArray:
        """Return a view in another shape; raise ValueError if the matrix is stored by columns."""
        if self.pitch is not None:
            if shape != self.shape:
                raise ValueError(f"rows that stand side by side cannot be seen as {shape}")
            return self
        return DeviceArray(self.flat, shape, self.number, self._stream)

    def cut(self, columns: int) -> DeviceArray:
        """Return a view of the first `columns` columns of a matrix stored column by column."""
        assert self.pitch is not None
        flat = self.flat[: self.pitch * columns]
        return DeviceArray(flat, (self.shape[0], columns), self.number, self._stream, self.pitch)

    def like(self, flat: Any) -> DeviceArray:
        """Return an array over other flat memory, with the shape and strides of this one."""
        return DeviceArray(flat, self.shape, self.number, self._stream, self.pitch)

    def for_kernels(self) -> Any:
        """Return the array as a Numba array, in its shape and memory order."""
        return self._shaped(self.flat)

    def _shaped(self, flat: Any) -> Any:
        """Return a flat device or host array in this array's shape and memory order."""
        if self.pitch is None:
            return flat.reshape(self.shape)
        return flat.reshape((self.shape[1], self.pitch)).T[: self.shape[0]]

    def to_host(self) -> NDArray[Any]:
        """Return a copy on the host, once all queued work on the device is done."""
        host: NDArray[Any] = np.empty(self.flat.size, self.dtype)
        with select(self.number):
            wait_for_device()
            download(self.flat, host, cuda.stream())
        shaped: NDArray[Any] = self._shaped(host)
        return shaped

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<DeviceArray on {self.device}: {self.dtype}, shape {self.shape}>"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        raise TypeError(f"this array lives on {self.device}: copy it with to_host()")

    def __reduce__(self) -> tuple[Any, ...]:
        return np.asarray, (self.to_host(),)
