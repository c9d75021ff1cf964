"""Progress bars: only on a terminal or in a notebook, and not for short calls.

A call that ends before a bar is due costs a look at the clock a step: tqdm is imported, and the
bar made, when it is shown. It leaves neither a thread nor a lock between processes behind.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from time import perf_counter
from typing import Any

from sssp.graph.check_arrays import as_flag
from sssp.kernels.messages import on_terminal

#: seconds before a bar appears
DELAY = 2.0
#: of calls that show none
NO_BAR: AbstractContextManager[Callable[..., object]] = nullcontext(lambda count, note="": None)


def check_progress(progress: Any) -> bool | None:
    """Check that the argument `progress` is True, False or None, and return it.

    Raises
    ------
    TypeError
        It is neither True nor False nor None.
    """
    return None if progress is None else as_flag(progress, "progress")


def progress_bar(
    total: int, wanted: bool | None, unit: str = "source"
) -> AbstractContextManager[Callable[..., object]]:
    """Show a progress bar on stderr; yield the function ``advance(count, note="")`` to move it.

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
    return NO_BAR if total < 2 or not wanted or sys.stderr is None else _bar(total, unit)


@contextmanager
def _bar(total: int, unit: str) -> Iterator[Callable[..., object]]:
    """Show a progress bar on stderr after `DELAY` seconds; yield the function that advances it."""
    start, done, lock = perf_counter(), 0, threading.Lock()
    bar: Any = None  # the first thread makes it after a delay

    def advance(count: int, note: str = "") -> None:
        nonlocal done, bar
        with lock:
            done += count
            if bar is not None:
                bar.set_postfix_str(note, refresh=False)
                bar.update(count)
            elif perf_counter() - start >= DELAY and done < total:
                # (a subclass: bars of other libraries stay as they are; this one has neither a
                # thread that watches it nor a lock of processes)
                kind = _kind_that_works()
                ours: Any = type(kind.__name__, (kind,), {"monitor_interval": 0})
                ours.set_lock(threading.RLock())
                bar = ours(total=total, unit=unit, miniters=1, delay=DELAY, file=sys.stderr)
                waited = perf_counter() - start
                bar.start_t -= waited
                bar.last_print_t -= waited
                bar.update(done)

    try:
        yield advance
    finally:
        with lock:
            if bar is not None:
                bar.close()


def _kind_that_works() -> Any:
    """Return the tqdm class to use: for notebooks if it works there, else for terminals."""
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
    """Return whether this process runs code for an IPython kernel, as in a Jupyter notebook."""
    get_shell = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return get_shell is not None and hasattr(get_shell(), "kernel")
