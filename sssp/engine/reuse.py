"""Objects and device memory that are kept between calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar
from weakref import WeakSet

from sssp.kernels.locks import make_lock

T = TypeVar("T")


class Derived(dict[str, Any]):
    """A cache of objects by name, each built once; a copy or pickle starts empty."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = make_lock()

    def get_or_build(self, key: str, build: Callable[[], T]) -> T:
        """Return the object kept under `key`; call `build` to make it the first time."""
        with self._lock:
            if key not in self:
                self[key] = build()
            return self[key]  # type: ignore[no-any-return]  # the key decides the type

    def free_device(self) -> None:
        """Drop the objects on CUDA devices, whose keys begin with "cuda"."""
        with self._lock:
            for key in [key for key in self if key.startswith("cuda:")]:
                del self[key]

    def __reduce__(self) -> tuple[Any, ...]:
        return Derived, ()


# ---- a series of calls: between single calls a device keeps little, within a series all


class Keeper(Protocol):
    """The interface of a holder of reusable device memory."""

    def trim(self) -> None:
        """Free the memory that exceeds what is kept between single calls."""


_lock = make_lock()
_keepers: WeakSet[Keeper] = WeakSet()
_running = 0


def in_series() -> bool:
    """Return whether a series of calls is running, in any thread."""
    return _running > 0


def trim_after_series(keeper: Keeper) -> None:
    """Call ``keeper.trim()`` after every series, while the keeper exists."""
    with _lock:
        _keepers.add(keeper)


@contextmanager
def series() -> Iterator[None]:
    """Keep device memory between the calls in a ``with`` block."""
    global _running
    with _lock:
        _running += 1
    try:
        yield
    finally:
        with _lock:
            _running -= 1
            keepers = [] if _running else list(_keepers)
        for keeper in keepers:
            keeper.trim()
