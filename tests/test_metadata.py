"""What the package says of itself: its version, what it needs, the hooks of a commit."""

from __future__ import annotations

import re
import tomllib
from itertools import chain
from typing import Any

import sssp
from tests.checkout import ROOT
from tests.environments import LIBRARIES, newest, oldest


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def settings() -> dict[str, Any]:
    return tomllib.loads(text_of("pyproject.toml"))


def test_the_version_is_stated_once() -> None:
    project = settings()["project"]
    assert "version" in project["dynamic"]
    assert "version" not in project
    assert settings()["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "sssp.__version__"}
    assert re.fullmatch(r"\d+\.\d+\.\d+", sssp.__version__)


def test_the_citation_and_the_changelog_are_of_this_version() -> None:
    cited = re.findall(r"^version: (.+)$", text_of("CITATION.cff"), re.MULTILINE)
    assert cited == [sssp.__version__]
    newest_heading = re.search(r"^## \[(.+?)\]", text_of("CHANGELOG.md"), re.MULTILINE)
    assert newest_heading is not None
    assert newest_heading[1] == sssp.__version__


def test_the_package_and_the_citation_are_described_alike() -> None:
    project, citation = settings()["project"], text_of("CITATION.cff")
    assert f"license: {project['license']}\n" in citation
    assert project["description"].lower() in citation.lower()
    (author,) = project["authors"]
    assert f"  - name: {author['name']}\n" in citation


def test_every_package_of_the_checkout_is_in_the_wheel() -> None:
    packages = {
        ".".join(path.parent.relative_to(ROOT).parts)
        for folder in ("sssp", "loaders")
        for path in (ROOT / folder).rglob("__init__.py")
    }
    listed = set(settings()["tool"]["setuptools"]["packages"])
    assert listed == {"sssp.loaders" if name == "loaders" else name for name in packages}


def test_what_private_parts_are_used_of_has_an_upper_bound() -> None:
    project = settings()["project"]
    needs = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    of_numba = [need for need in needs if re.match(r"numba(-cuda)?\b", need)]
    assert len(of_numba) == 4
    assert all(re.search(r",<[\d.]+$", need) for need in of_numba), of_numba


def test_environments_keep_to_the_bounds() -> None:
    for name, old, new in zip(LIBRARIES, oldest(), newest(), strict=True):
        assert re.fullmatch(rf"{name}==[\d.]+\.\*", old)
        assert new in [
            *settings()["project"]["dependencies"],
            *settings()["project"]["optional-dependencies"]["networkx"],
        ]


def test_every_hook_of_a_commit_is_a_step_of_make_test() -> None:
    hooks = re.findall(r"entry: \.venv/bin/(.+)", text_of(".pre-commit-config.yaml"))
    assert {hook.split()[0] for hook in hooks} == {"ruff", "codespell"}
    steps = text_of("Makefile").partition("\ntest:")[2].partition("\n\n")[0]
    for hook in hooks:
        assert f"$(BIN)/{hook.removesuffix(' --force-exclude')}" in steps
