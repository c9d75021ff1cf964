"""Choose the device of a call: ``device=``, ``SSSP_DEVICE``, and the rule of ``"auto"``.

A device that the caller names is used, or refused with an error. ``"auto"`` goes to the GPU by a
rule that rests on whole calls, from and to arrays of the host (``bench/devices.py``):

- What the CPU does in `thresholds.WORTH_A_GPU` seconds stays there: the least call on a GPU takes 2
  ms, and first the graph has to travel. So one source belongs on the CPU, except on the largest
  graphs, and the more cores there are, the more sources.
- Before its first answer a GPU needs `thresholds.LOAD` seconds for imports and its driver, and
  `thresholds.COMPILE` seconds for a method whose kernels are not on disk yet. So the CPU goes on
  until calls of a method that were worth the GPU have taken it that long together. A single call of
  that length goes to the GPU at once, and so does any that is worth it once the process has used
  that method on a GPU.
- Dense rows of a prepared map come from the CPU about as fast as from a GPU, from where they have
  to travel, and the pieces of the map have to be brought there first: so much more a call must be
  worth.
- What could differ between the two (sums of floats added in another order, the exponentials and
  powers of a decay), and a call with a ``memory_limit`` of the caller's, which is about the memory
  of the host, stay on the CPU.

Times are estimated from sizes, so that no driver is asked, and nothing imported, before it pays.
"""

from __future__ import annotations

import logging
import os
from functools import cache
from typing import Any, NamedTuple

from sssp.engine import thresholds
from sssp.engine.check_arguments import as_memory_limit, as_stream
from sssp.engine.check_memory import physical_memory
from sssp.engine.device_names import ALL, is_device_name, kind_of, named_device
from sssp.engine.plan import import_once
from sssp.engine.request import Request, Resources
from sssp.errors import DeviceError, MissingExtraError
from sssp.kernels import cache_files
from sssp.kernels.locks import make_lock
from sssp.kernels.messages import warn_once
from sssp.methods import CLOSURE_METHODS, DENSE_METHODS, METHODS, Method, Sweep

logger = logging.getLogger("sssp")
_lock = make_lock()
#: a child after a fork cannot use the driver that its parent has started
_home = os.getpid()
#: solvers whose kernels this process has used, and seconds that calls of the others took the CPU;
#: by module, for that is where kernels stand: methods that share it share them
_started: set[str] = set()
_spent: dict[str, float] = {}


class Work(NamedTuple):
    """The estimated cost of a call that may run on the CPU or a GPU.

    Attributes
    ----------
    seconds : float
        Estimated, on the CPU with the threads of the call.
    device_bytes : int
        Needed on a GPU before its driver can divide the work by what is free.
    host_bytes : int
        Of the result on the host.
    bringing : float
        Seconds until a GPU has what it needs, but for a graph.
    worth : float
        Seconds on the CPU from which on a GPU is faster.
    """

    seconds: float
    device_bytes: int = 0
    host_bytes: int = 0
    bringing: float = 0.0
    worth: float = thresholds.WORTH_A_GPU


def search_work(
    method: Method,
    n: int,
    m: int,
    rows: int,
    threads: int,
    *,
    targets: int | None = None,
    limited: bool = False,
    trees: bool = False,
    host_bytes: int = 0,
    is_there: bool = False,
) -> Work | None:
    """Estimate the cost of `rows` searches or sweeps; None if the method runs only on the CPU.

    Parameters
    ----------
    method : Method
    n, m : int
        Size of the graph.
    rows, threads : int
        Searches, and threads that share them.
    targets : int, optional
        Vertices at which a search stops: taken to stand anywhere, so that t of them are settled
        with t / (t + 1) of the graph. Of n vertices of a prepared map about sqrt(t n) are above
        them.
    limited : bool
        Whether distances have a limit: it is taken to be close.
    trees : bool
        Whether trees are wanted.
    host_bytes : int
        As of `Work`.
    is_there : bool
        Whether a GPU has the prepared map.
    """
    if method.seconds is None:
        return None
    seconds = (method.tree_seconds if trees else None) or method.seconds
    share, swept = 1.0, method.task == Sweep.task
    if targets is not None:
        above = (thresholds.AROUND_PATHS if trees else 1) * (targets / max(1, n)) ** 0.5
        share = min(1.0, above) if swept else targets / (targets + 1)
    vertices = 0.0 if limited else share * (n + m / thresholds.ARCS_PER_VERTEX)
    searching = rows / max(min(rows, threads), 1) * vertices * seconds
    return Work(
        rows * thresholds.SECONDS_PER_ROW + searching,
        thresholds.BYTES_PER_VERTEX * n
        + (thresholds.BYTES_PER_PREPARED_ARC if swept else thresholds.BYTES_PER_ARC) * m,
        host_bytes,
        thresholds.BRING * n if swept and not is_there else 0.0,
        thresholds.WORTH_A_SWEEP if swept and is_there else thresholds.WORTH_A_GPU,
    )


def trip_work(n: int, m: int, trips: int, threads: int, *, is_there: bool) -> Work:
    """Estimate the cost of computing trips on a prepared map, to choose between CPU and GPU."""
    work = search_work(Sweep(), n, m, 0, threads, is_there=is_there)
    assert work is not None
    return work._replace(seconds=trips * thresholds.SECONDS_PER_TRIP / threads)


def matrix_work(method: Method, n: int, threads: int, *, host_bytes: int) -> Work | None:
    """Estimate the cost of a dense method; None for a method that runs only on the CPU."""
    if method.seconds is None:
        return None
    return Work(n**3 * method.seconds / threads, host_bytes=host_bytes)


def choose_device(
    device: str,
    method: Method,
    work: Work | None,
    *,
    output: str = "host",
    stream: Any = None,
    memory_limit: float | None = None,
) -> tuple[str, bool]:
    """Return the device on which a call runs, and whether ``"auto"`` chose a GPU.

    Parameters
    ----------
    device : str
        As the caller of the package gave it.
    method : Method
        Whose kernels it needs.
    work : Work or None
        None: ``"auto"`` keeps it on the CPU.
    output, stream, memory_limit
        Of the call: only a GPU leaves results there or follows a stream, and a limit on memory
        means that of the host.

    Returns
    -------
    device : str
        ``"cpu"``, ``"cuda:N"`` or ``"opencl:N"``, checked to be usable.
    by_rule : bool
        Whether the rule has chosen a GPU, so that the CPU may take over.

    Raises
    ------
    DeviceError
        The name is none, the method has no solver there, or the device cannot be used; the
        message says why and what to do.
    """
    named = named_device(device)
    if named == "auto" and (output == "device" or stream is not None):
        named = "cuda"
    by_rule = named == "auto"
    if by_rule:
        stays = work is None or memory_limit is not None or not _gpu_is_faster(method, work)
        named = "cpu" if stays else "cuda"
    if named == "cpu":
        return "cpu", False
    kind = kind_of(named)
    if kind not in method.solvers:
        known = METHODS if kind == "cuda" else DENSE_METHODS | CLOSURE_METHODS
        able = ", ".join(name for name, other in known.items() if kind in other.solvers)
        others = f"searches that do: {able}"
        if kind == "opencl":
            others = f"{kind} has {able}, and no searches: name device='cuda' or 'cpu' for those"
        raise DeviceError(f"{method.name} does not run on {kind}; {others}")
    number = _number(named)
    if kind == "cuda" and method.solvers["cuda"] not in _started:
        with _lock:
            _started.add(method.solvers["cuda"])
    return f"{kind}:{number}", by_rule


def place(
    request: Resources,
    device: Any,
    method: Method,
    work: Work | None,
    *,
    stream: Any = None,
    memory_limit: float | None = None,
) -> None:
    """Choose the device of a call, and set the fields of its request that depend on it.

    Parameters
    ----------
    request : Resources
        Checked but for its place. Several devices may share the rows of a `Request`.
    device, method, work, stream, memory_limit
        As of `choose_device`.

    Raises
    ------
    DeviceError
        As `choose_device` does.
    ValueError, TypeError
        The result is to stay on a GPU, or to follow a stream, and the call does not run there, or
        on several; a stream or a number of bytes that is none.
    """
    one = isinstance(device, str) and device != ALL
    names = [device] if one or not isinstance(request, Request) else named_devices(device)
    if len(names) > 1 and (request.output == "device" or stream is not None):
        raise ValueError(
            "output='device' and stream= are of one GPU: name one, as device='cuda:0', or omit them"
        )
    limits = {"output": request.output, "stream": stream, "memory_limit": memory_limit}
    request.device, request.by_rule = choose_device(names[0], method, work, **limits)
    if len(names) > 1:
        request.devices = tuple([choose_device(name, method, work, **limits)[0] for name in names])
    on_cuda = kind_of(request.device) == "cuda"
    if request.output == "device" and not on_cuda:
        raise ValueError("output='device' leaves the result on a GPU: it needs device='cuda'")
    if memory_limit is not None:
        request.memory_limit = as_memory_limit(memory_limit)
    elif not on_cuda:
        request.memory_limit = physical_memory()
    if stream is not None:
        request.stream = as_stream(stream, request.device)


def named_devices(device: Any) -> list[str]:
    """Return a list of the devices that a call names: one, or several that share the rows.

    Raises
    ------
    DeviceError
        A name is none, or there is no GPU.
    """
    if isinstance(device, str) and device == ALL:
        from sssp.cuda.availability import device_count

        return [f"cuda:{number}" for number in range(device_count())]
    if not isinstance(device, list | tuple):
        return [device]
    for one in device:
        if not is_device_name(one):
            raise DeviceError(f"unknown device {one!r} in a list; choose 'cpu', 'cuda' or 'cuda:N'")
    if not device:
        raise DeviceError("an empty list of devices: name one at least, as 'cuda:0'")
    return list(device)


def _number(named: str) -> int:
    """Return the number of a device given by name, starting its driver; raise if unusable."""
    module = {"cuda": "sssp.cuda.availability", "opencl": "sssp.opencl.compiler"}[kind_of(named)]
    number: int = import_once(module).device_number(named)
    return number


def _gpu_is_faster(method: Method, work: Work) -> bool:
    """Return whether a GPU is expected to be faster; query its driver only for large calls."""
    least = max(work.worth, work.host_bytes / thresholds.BACK) + work.bringing
    if work.seconds < least or os.getpid() != _home:
        return False
    solver = method.solvers["cuda"]
    with _lock:
        if solver not in _started:
            _spent[solver] = _spent.get(solver, 0.0) + work.seconds
            # the seconds until this process gets a first answer from these kernels
            module = f"{method.kernels or solver}."
            compiled = any(name.startswith(module) for name in cache_files.names())
            start = 0.0 if _started else thresholds.LOAD
            if _spent[solver] < start + (0.0 if compiled else thresholds.COMPILE):
                return False
    return (
        work.host_bytes <= physical_memory() and _gpu_is_usable() and _has_room(work.device_bytes)
    )


@cache
def _gpu_is_usable() -> bool:
    """Return whether a GPU is usable; test this only once, and log the result."""
    try:
        number = _number("cuda")
        from sssp.cuda.availability import SIMULATOR
    except (DeviceError, MissingExtraError) as error:
        logger.info("device='auto' is the CPU: %s", error)
        return False
    if SIMULATOR:
        logger.info("device='auto' is the CPU: Numba's CUDA simulator is not a GPU")
        return False
    logger.info("device='auto' uses cuda:%d for calls that are worth it", number)
    return True


def _has_room(needed: int) -> bool:
    """Return whether the GPU has `needed` bytes of memory free; log a shortage."""
    from sssp.cuda.availability import select
    from sssp.cuda.device_memory import SHARE, free_bytes

    with select(_number("cuda")):
        fits = needed <= free_bytes() * SHARE
    if not fits:
        warn_once(f"device='auto' is the CPU for a graph that takes {needed:,} bytes on the GPU")
    return fits
