"""What is made from a map, or from the structure that maps share, when it is first wanted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from sssp.kernels.locks import make_lock

T = TypeVar("T")


class Derived(dict[str, Any]):
    """Objects by name, each made once. They do not travel: a copy makes its own."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = make_lock()

    def made(self, key: str, build: Callable[[], T]) -> T:
        """Return what `build` makes: made once, however many threads ask, then kept."""
        with self._lock:
            if key not in self:
                self[key] = build()
            return self[key]  # type: ignore[no-any-return]  # the key decides the type

    def free_device(self) -> None:
        """Drop what stands on CUDA devices, whose names begin with them."""
        with self._lock:
            for key in [key for key in self if key.startswith("cuda:")]:
                del self[key]

    def __reduce__(self) -> tuple[Any, ...]:
        return Derived, ()
