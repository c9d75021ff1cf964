"""Progress bars: only where somebody watches, and not for short work."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["progress_bar"]

#: seconds before a bar appears
DELAY = 2.0


@contextmanager
def progress_bar(total: int, wanted: bool | None) -> Iterator[Callable[[int], object]]:
    """Lend a function ``advance(count)`` that moves a bar over `total` rows on stderr.

    Parameters
    ----------
    total : int
        Number of rows.
    wanted : bool or None
        None: on a terminal or in a notebook only.
    """
    if total < 2 or not (_somebody_watches() if wanted is None else wanted):
        yield lambda count: None
        return
    from tqdm.auto import tqdm

    with tqdm(total=total, unit="source", delay=DELAY, file=sys.stderr) as bar:
        yield bar.update


def _somebody_watches() -> bool:
    return "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())
