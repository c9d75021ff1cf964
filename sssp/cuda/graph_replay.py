"""Record repeated launches as CUDA graphs (`sssp.cuda.driver.Recording`), and replay them.

The key of a recording is derived from the arguments of the function that launches, all of them: it
cannot be stale, whatever a launch depends on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import is_dataclass
from types import FunctionType, NoneType
from typing import Any

import numpy as np

from sssp.cuda.availability import SIMULATOR
from sssp.cuda.driver import Recording, address

#: different launches that one scratch remembers: some for each of the maps of a batch of scenarios
MOST_SEEN = 256
#: types whose values are keys themselves
VALUES = frozenset({bool, int, float, str, NoneType})


def key_of(argument: Any) -> Any:
    """Return a key for a launch argument; recorded launches with equal keys can be replayed.

    Arrays count by address, shape and dtype, since kernels read what they hold when they run;
    numbers by value; objects by their `replay_key`, tuples and other dataclasses by their entries.
    """
    kind = type(argument)
    if kind in VALUES:
        return argument
    if hasattr(kind, "replay_key"):
        return argument.replay_key
    if hasattr(argument, "copy_to_host"):
        return address(argument), argument.shape, argument.dtype
    if isinstance(argument, tuple):
        return kind, *map(key_of, argument)
    if isinstance(argument, np.generic):
        return argument.dtype, argument.item()
    if isinstance(argument, np.dtype):
        return argument
    return key_of_fields(argument) if is_dataclass(argument) else argument.replay_key


def key_of_fields(record: Any) -> Any:
    """Return a key made of an object's type and fields, for the cache of recorded launches."""
    return type(record), *map(key_of, vars(record).values())


class Launches:
    """Launch cache of one owner object: records a repeated call as a CUDA graph, then replays it.

    A launch from Python takes as long as several kernels run. When too many are remembered, all are
    forgotten: addresses of answers, and limits, may never come again.
    """

    def __init__(self) -> None:
        self._seen: dict[Any, Recording | None] = {}
        self._owner: int | None = None

    def do(self, launch: Callable[..., None], stream: Any, owner: Any, *arguments: Any) -> None:
        """Call ``launch(stream, owner, *arguments)``, or replay the recording of an equal call.

        Parameters
        ----------
        launch : function
            Launches kernels on the stream. A plain function, which sees its arguments alone.
        owner : object
            The same in every call, with the same memory as long as it exists.
        """
        key = launch, *map(key_of, arguments)
        recording = self._seen.get(key)
        if recording is not None:
            recording.replay(stream)
            return
        if not isinstance(launch, FunctionType) or launch.__closure__ is not None:
            raise TypeError("launches must be a function of its arguments alone")
        if self._owner not in (None, id(owner)):
            raise ValueError("launches have one owner")
        self._owner = id(owner)
        if key in self._seen:
            self._seen[key] = recording = Recording(lambda own: launch(own, owner, *arguments))
            recording.replay(stream)
            return
        launch(stream, owner, *arguments)
        if len(self._seen) == MOST_SEEN:
            self._seen.clear()
        if not SIMULATOR:
            self._seen[key] = None
