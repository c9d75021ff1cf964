"""Optional dependencies: imported where they are needed, or named with the pip line."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from sssp.errors import MissingExtraError


def imported(module: str, extra: str) -> Any:
    """Import a module that an extra of the package brings.

    Raises
    ------
    MissingExtraError
        It cannot be imported; the message holds the pip line.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f'{module} is not installed; install it with: pip install "sssp[{extra}]"'
        ) from error
