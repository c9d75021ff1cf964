"""The kernels of the package, as its sources have them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import sssp

__all__ = ["kernels"]

PACKAGE = Path(sssp.__file__).parent


def kernels() -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yield every function that is decorated as a kernel, after the name of its module."""
    for room in ("cuda", "bench/papers"):
        for path in sorted((PACKAGE / room).rglob("*.py")):
            module = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.FunctionDef) and any(
                    re.match(r"kernel(_with)?\b", ast.unparse(each)) for each in node.decorator_list
                ):
                    yield module, node
