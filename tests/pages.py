"""What pages and notebooks show as code, to be run by tests.

A block is a fence of ``python``; a fence without a language, or of ``text``, right behind it is
what the block prints. A comment above says what the block needs beside the package itself::

    <!-- needs: new-york matplotlib -->

or, as ``page needs:`` at its very top, what all blocks of a page need. ``new-york`` are the graphs
of New York, ``sioux-falls`` are network and trips there, for `sssp.datasets.fetch` to find;
``porto`` is ``porto.osm.pbf`` where the block runs; ``gpu`` is a GPU, no simulator; ``slow`` says
that only ``make test-all`` has the time; any other word is a module, as ``networkx>=3.5``.
"""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from textwrap import dedent
from types import CodeType
from typing import NamedTuple

__all__ = [
    "ROOT",
    "Block",
    "Cell",
    "blocks_of",
    "cells_of",
    "shell_lines_of",
    "split_last",
    "written_pages",
]

ROOT = Path(__file__).parents[1]
FENCE = re.compile(
    r"(?:^[ ]*<!-- needs: (?P<needs>[^\n]*?) -->\n)?"
    r"^(?P<indent>[ ]*)```(?P<language>[\w-]*)[^\n]*\n(?P<text>.*?)^(?P=indent)```[ ]*$",
    re.DOTALL | re.MULTILINE,
)
PAGE_NEEDS = re.compile(r"\A<!-- page needs: (.*?) -->\n")
#: pages beside ``docs/``, which the site shows too
BESIDE = ("README.md", "CONTRIBUTING.md", "data/README.md", "bench/results/notes.md")
SHELL = {"sh", "bash"}


class Block(NamedTuple):
    """Code that a reader may copy.

    Attributes
    ----------
    line : int
        Of the page, counted from 0, where the code begins.
    code : str
    needs : frozenset of str
        What it needs beside the package.
    printed : str or None
        What it prints, if the page shows that.
    """

    line: int
    code: str
    needs: frozenset[str]
    printed: str | None


class Cell(NamedTuple):
    """Code of a notebook, and what the notebook shows below it.

    Attributes
    ----------
    code : str
    printed : str
    shown : str or None
        How the value of its last line prints.
    """

    code: str
    printed: str
    shown: str | None


def written_pages() -> list[Path]:
    """Return every page that a reader may open."""
    return [*(ROOT / name for name in BESIDE), *sorted((ROOT / "docs").rglob("*.md"))]


def blocks_of(page: Path) -> list[Block]:
    """Return the blocks of Python of a page, in order."""
    text = page.read_text(encoding="utf-8")
    blocks: list[Block] = []
    top = PAGE_NEEDS.match(text)
    all_need = top[1].split() if top else []
    end = -1
    for fence in FENCE.finditer(text):
        shown = dedent(fence["text"])
        if fence["language"] == "python":
            line = text.count("\n", 0, fence.start("text"))
            needs = frozenset([*all_need, *(fence["needs"] or "").split()])
            blocks.append(Block(line, shown, needs, None))
            end = fence.end()
        elif fence["language"] in ("", "text") and end >= 0:
            if not text[end : fence.start()].strip():
                blocks[-1] = blocks[-1]._replace(printed=shown)
            end = -1
        else:
            end = -1
    return blocks


def shell_lines_of(page: Path) -> list[str]:
    """Return the lines of a page that are to be typed into a shell, without their comments.

    In a ``console`` a line to type begins with a dollar; the others are what it answers.
    """
    found = []
    for fence in FENCE.finditer(page.read_text(encoding="utf-8")):
        lines = dedent(fence["text"]).replace("\\\n", " ").splitlines()
        if fence["language"] == "console":
            found += [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
        elif fence["language"] in SHELL:
            found += lines
    typed = [re.sub(r"(^|\s)#.*", "", line).strip() for line in found]
    return [line for line in typed if line]


def cells_of(notebook: Path) -> list[Cell]:
    """Return the cells of code of a notebook."""
    cells = []
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] != "code":
            continue
        printed, shown = "", None
        for output in cell["outputs"]:
            if output["output_type"] == "stream":
                printed += "".join(output["text"])
            elif output["output_type"] == "execute_result":
                shown = "".join(output["data"]["text/plain"])
        cells.append(Cell("".join(cell["source"]), printed, shown))
    return cells


def split_last(code: str, name: str) -> tuple[CodeType, CodeType | None]:
    """Compile a cell: its statements, and the expression at its end that a notebook shows."""
    tree = ast.parse(code, name)
    last = tree.body[-1] if tree.body else None
    if not isinstance(last, ast.Expr) or code.rstrip().endswith(";"):
        return compile(tree, name, "exec"), None
    tree.body.pop()
    return compile(tree, name, "exec"), compile(ast.Expression(last.value), name, "eval")
