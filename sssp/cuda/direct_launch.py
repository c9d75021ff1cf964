"""Launch compiled kernels through the driver, without Numba's work for each argument.

Numba finds the type of each argument anew, and makes a view of each array: 98 us for a kernel with
17 arrays, where a launch from here takes 25 (a core beside an H200). The words of an array, as
compiled kernels take them, are kept with it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from cuda.core import LaunchConfig, launch
from numba.cuda.cudadrv.devicearray import DeviceNDArray

#: what cuda.core calls a launch whose blocks wait for each other, since 1.0 and before
COOPERATIVE = "is_cooperative" if hasattr(LaunchConfig, "is_cooperative") else "cooperative_launch"
#: types of numbers that are passed as they are
NUMBERS = frozenset({int, float, bool, np.bool_, np.float32, np.float64}).union(
    {np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32, np.uint64, np.int64}
)


class DirectLaunch:
    """Launcher of a CUDA kernel that bypasses Numba for argument types already compiled.

    Parameters
    ----------
    dispatcher : CUDADispatcher
    """

    def __init__(self, dispatcher: Any) -> None:
        self._dispatcher, self._usual = dispatcher, dispatcher.call
        self._compiled: dict[Any, Any] = {}

    def __call__(self, arguments: tuple[Any, ...], configuration: Any) -> None:
        """Launch the kernel, directly if compiled for the types of `arguments`, else by Numba."""
        types: list[Any] = []
        words: list[Any] = []
        for argument in arguments:
            kind = type(argument)
            if kind is DeviceNDArray:
                types.append(argument._numba_type_._code)
                words += pack_array(argument)
            elif kind in NUMBERS:
                types.append(kind)
                words.append(argument)
            else:
                self._usual(arguments, configuration)
                return
        key = tuple(types)
        compiled = self._compiled.get(key)
        if compiled is None:
            self._usual(arguments, configuration)
            dispatcher = self._dispatcher
            if not dispatcher._launch_config_sensitive:
                known = tuple(map(dispatcher.typeof_pyval, arguments))
                self._compiled[key] = dispatcher.overloads.get(known)
            return
        chosen = LaunchConfig(
            grid=configuration.griddim,
            block=configuration.blockdim,
            shmem_size=configuration.sharedmem,
            **{COOPERATIVE: compiled.cooperative},
        )
        function = compiled._codelibrary.get_cufunc()
        launch(configuration.stream, chosen, function.kernel, *words)


def pack_array(array: Any) -> tuple[int, ...]:
    """Return an array as argument words of a compiled kernel: sizes, address, strides."""
    known: tuple[int, ...] | None = array.__dict__.get("words")
    if known is None:
        start = int(array.device_ctypes_pointer.value or 0)
        # (Numba's records of reference counts, not used on a GPU, come first)
        sizes = 0, 0, array.size, array.dtype.itemsize
        known = array.words = (*sizes, start, *array.shape, *array.strides)
    return known
