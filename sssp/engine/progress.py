"""Progress bars: only on a terminal or in a notebook, and not for short calls.

A call that ends before a bar is due costs a look at the clock a step: tqdm is imported, and the
bar made, when it is shown. It leaves neither a thread nor a lock between processes behind.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

from sssp.graph.check_arrays import as_flag
from sssp.kernels.messages import on_terminal

#: seconds before a bar appears
DELAY = 2.0


def check_progress(progress: Any) -> bool | None:
    """Return whether a call shows a bar; for None, only on a terminal or in a notebook.

    Raises
    ------
    TypeError
        It is neither True nor False nor None.
    """
    return None if progress is None else as_flag(progress, "progress")


@contextmanager
def progress_bar(
    total: int, wanted: bool | None, unit: str = "source"
) -> Iterator[Callable[..., object]]:
    """Open a bar on stderr; yield the function ``advance(count, note="")`` that moves it.

    Several threads may call it. A note stands behind the bar.

    Parameters
    ----------
    total : int
        Number of steps.
    wanted : bool or None
        None: on a terminal or in a notebook only.
    unit : str
        What a step is.
    """
    if wanted is None:
        wanted = on_terminal() or _in_notebook()
    if total < 2 or not wanted or sys.stderr is None:
        yield lambda count, note="": None
        return
    bar = _LateBar(total, unit)
    try:
        yield bar.advance
    finally:
        bar.close()


class _LateBar:
    """A bar that the first thread creates after a delay."""

    def __init__(self, total: int, unit: str) -> None:
        self._total, self._unit = total, unit
        self._start = perf_counter()
        self._done = 0
        self._bar: Any = None
        self._lock = threading.Lock()

    def advance(self, count: int, note: str = "") -> None:
        with self._lock:
            self._done += count
            if self._bar is not None:
                self._bar.set_postfix_str(note, refresh=False)
                self._bar.update(count)
            elif perf_counter() - self._start >= DELAY and self._done < self._total:
                self._bar = self._show()

    def close(self) -> None:
        with self._lock:
            if self._bar is not None:
                self._bar.close()

    def _show(self) -> Any:
        kind = _kind_that_works()
        # (a subclass: the bars of others are their own business; this one has neither a thread
        # that watches it nor a lock of processes)
        ours: Any = type(kind.__name__, (kind,), {"monitor_interval": 0})
        ours.set_lock(threading.RLock())
        bar = ours(total=self._total, unit=self._unit, miniters=1, delay=DELAY, file=sys.stderr)
        waited = perf_counter() - self._start
        bar.start_t -= waited
        bar.last_print_t -= waited
        bar.update(self._done)
        return bar


def _kind_that_works() -> Any:
    """Return the class of tqdm that can be displayed here."""
    if _in_notebook():
        from tqdm import notebook

        # without ipywidgets the notebook's bar cannot work, and tqdm.auto would warn; with it,
        # tqdm.auto knows which consoles are no notebooks
        if getattr(notebook, "IProgress", None) is not None:
            from tqdm.auto import tqdm as bar_of_this_place

            return bar_of_this_place
    from tqdm import tqdm

    return tqdm


def _in_notebook() -> bool:
    """Return whether an IPython kernel runs this process; importing ipykernel is not enough."""
    get_shell = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return get_shell is not None and hasattr(get_shell(), "kernel")
