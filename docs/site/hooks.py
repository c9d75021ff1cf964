"""What the site shows of files that are no pages of ``docs/``: the README, notes, notebooks.

MkDocs calls these functions (``hooks`` in mkdocs.yml). Pages link to files as they lie in the
checkout, so that the links work there too; here they are turned to the pages made of them.
"""

from __future__ import annotations

import json
import posixpath
import re
from base64 import b64decode
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
#: page of the site by the file that it is made of
MADE_OF = {
    "README.md": "index.md",
    "data/README.md": "graphs.md",
    "bench/results/notes.md": "measured.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changes.md",
    "SECURITY.md": "security.md",
    "CITATION.cff": "CITATION.cff",
    "docs/examples/new-york.ipynb": "examples/new-york.md",
    "docs/examples/chicago.ipynb": "examples/chicago.md",
}
ORIGIN = {page: origin for origin, page in MADE_OF.items()}
LINK = re.compile(r"(\]\(|(?:src|href)=\")([^)\s\"]+)")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are made of other files."""
    for origin, page in MADE_OF.items():
        path = ROOT / origin
        if path.suffix == ".ipynb":
            text, pictures = page_of(path, Path(page).stem)
            for name, picture in pictures.items():
                place = posixpath.join(posixpath.dirname(page), name)
                files.append(File.generated(config, place, content=picture))
        else:
            text = path.read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Turn links to files of the checkout to the pages made of them."""
    here = page.file.src_uri
    folder = posixpath.dirname(ORIGIN.get(here, f"docs/{here}"))

    def turned(match: re.Match[str]) -> str:
        target, _, anchor = match[2].partition("#")
        if not target or re.match(r"[a-z]+:", target):
            return match[0]
        path = posixpath.normpath(posixpath.join(folder, target))
        to = MADE_OF.get(path, path.removeprefix("docs/"))
        if path not in MADE_OF and not path.startswith("docs/"):
            raise ValueError(f"{here} links to {path}, of which no page is made")
        relative = posixpath.relpath(to, posixpath.dirname(here) or ".")
        return match[1] + relative + (f"#{anchor}" if anchor else "")

    return LINK.sub(turned, markdown)


def on_page_content(html: str, page: Any, config: Any, files: Files) -> str:
    """Print one colon where a docstring announces a block of code by two."""
    return html.replace("::</p>", ":</p>")


def page_of(notebook: Path, name: str) -> tuple[str, dict[str, bytes]]:
    """Return a notebook as Markdown, and its pictures by name."""
    parts: list[str] = []
    pictures: dict[str, bytes] = {}
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        for output in cell.get("outputs", ()):
            parts.append(_shown(output, name, pictures))
    return "\n\n".join(parts) + "\n", pictures


def _shown(output: dict[str, Any], name: str, pictures: dict[str, bytes]) -> str:
    """Return one output of a cell; a picture is put beside."""
    data = output.get("data", {})
    if "image/png" in data:
        file = f"{name}-{len(pictures) + 1}.png"
        pictures[file] = b64decode("".join(data["image/png"]))
        return f"![]({file})"
    if "text/html" in data:
        return f'<div class="output">{"".join(data["text/html"])}</div>'
    text = "".join(output.get("text", data.get("text/plain", "")))
    return f"```text\n{text.rstrip()}\n```"
