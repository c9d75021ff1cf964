"""Progress bars: only where somebody watches, and not for short work."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["progress_bar"]

#: seconds before a bar appears
DELAY = 2.0


@contextmanager
def progress_bar(
    total: int, wanted: bool | None, unit: str = "source"
) -> Iterator[Callable[[int], object]]:
    """Lend a function ``advance(count)`` that moves a bar to `total` on stderr.

    Parameters
    ----------
    total : int
        Number of steps.
    wanted : bool or None
        None: on a terminal or in a notebook only.
    unit : str
        What a step is.
    """
    if total < 2 or not (_somebody_watches() if wanted is None else wanted):
        yield lambda count: None
        return
    from tqdm.auto import tqdm

    lock = threading.Lock()
    with tqdm(total=total, unit=unit, delay=DELAY, file=sys.stderr) as bar:

        def advance(count: int) -> None:
            with lock:  # several workers report
                bar.update(count)

        yield advance


def _somebody_watches() -> bool:
    return "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())
