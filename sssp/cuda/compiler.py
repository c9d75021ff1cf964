"""Decorate GPU kernels, bind their arguments by name, and launch them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from sssp.cuda.availability import SIMULATOR, cuda
from sssp.errors import DeviceError


def kernel_with(**options: Any) -> Callable[[Any], Any]:
    """Return a decorator that compiles a kernel with Numba `options`; code is cached on disk.

    Mypy reads a kernel that it decorates if `typing.no_type_check` does not stand between.
    """

    def decorate(function: Any) -> Any:
        if SIMULATOR:  # which knows no options, and compiles nothing
            return cuda.jit(function)
        from sssp.cuda.direct_launch import DirectLaunch
        from sssp.cuda.kernel_cache import DeviceCodeCache

        dispatcher = cuda.jit(**options)(function)
        dispatcher._cache = DeviceCodeCache(function, repr(sorted(options.items())))
        dispatcher.call = DirectLaunch(dispatcher)
        return dispatcher

    return decorate


def _inline(function: Any) -> Any:
    """Decorate a small device function that Numba inlines at every call."""
    return cuda.jit(device=True, inline="always")(function)


def _part(function: Any) -> Any:
    """Decorate a part of a kernel, a device function that LLVM inlines at every call.

    It is typed on its own, so that parts within parts compile in a fraction of the time that copies
    of their source take, to the same machine code. An array in shared memory that it makes is the
    same one at every call.
    """
    return cuda.jit(device=True, **({} if SIMULATOR else {"forceinline": True}))(function)


if TYPE_CHECKING:  # the types within a kernel are Numba's business
    from typing import no_type_check as inline
    from typing import no_type_check as kernel
    from typing import no_type_check as part
else:
    kernel, inline, part = kernel_with(), _inline, _part

#: bytes of shared memory that a block gets without being asked for
SHARED = 48 << 10


def most_shared_bytes() -> int:
    """Return the most shared memory that a block of the current device may have, in bytes."""
    if SIMULATOR:
        return SHARED
    return int(cuda.get_current_device().MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)


def launch(kernel: Any, configuration: tuple[Any, ...], *arguments: Any) -> None:
    """Launch a kernel that may need more shared memory than the default limit.

    `configuration`: blocks, threads, stream, and bytes of dynamic shared memory if any.
    """
    nbytes = configuration[3] if len(configuration) == 4 else 0
    if nbytes > SHARED and not SIMULATOR:
        from cuda.bindings import driver

        types = tuple(map(kernel.typeof_pyval, arguments))
        function = kernel.compile(types)._codelibrary.get_cufunc()
        attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        device = cuda.get_current_device().id
        (status,) = driver.cuKernelSetAttribute(attribute, nbytes, function.handle, device)
        if int(status) != 0:
            raise DeviceError(
                f"the CUDA driver refuses {nbytes:,} bytes of shared memory: {status}"
            )
    kernel[configuration](*arguments)


def bind(kernel: Any, arrays: Mapping[str, Any], /, **others: Any) -> list[Any]:
    """Return the arguments of a kernel in order, looked up by the names of its parameters.

    Parameters
    ----------
    kernel : kernel
    arrays : mapping of device arrays by name
        More than the kernel takes, perhaps.
    others
        Further arguments; they count before arrays of the same name.

    Raises
    ------
    TypeError
        The kernel has no parameter of this name, or nothing has the name of a parameter.
    """
    function = kernel.fn if SIMULATOR else kernel.py_func
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    if wrong := [
        *(f"no parameter {name!r}" for name in others if name not in names),
        *(f"no argument for {name!r}" for name in names if name not in {**arrays, **others}),
    ]:
        raise TypeError(f"launch of {function.__name__}: {', '.join(wrong)}")
    return [others[name] if name in others else arrays[name] for name in names]


def launch_by_name(
    kernel: Any, configuration: tuple[Any, ...], arrays: Mapping[str, Any], /, **others: Any
) -> None:
    """Launch a kernel; look up arguments by parameter name in `arrays` and `others`."""
    launch(kernel, configuration, *bind(kernel, arrays, **others))
