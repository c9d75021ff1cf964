"""The thresholds stand in one file, and the page that explains them has the same numbers."""

from __future__ import annotations

import re
from pathlib import Path

from sssp.engine import thresholds

ROOT = Path(__file__).resolve().parent.parent
RULE = re.compile(r"((?:^#: .*\n)+)^([A-Z_, ]+) = (.*)\n", re.MULTILINE)


def table_of_rules() -> str:
    """Return the rules as a table of Markdown, from the source."""
    lines = ["| rule | value | what it says, and the measurement |", "| --- | ---: | --- |"]
    source = Path(thresholds.__file__).read_text(encoding="utf-8")
    for comment, names, value in RULE.findall(source):
        text = " ".join(line.removeprefix("#:").strip() for line in comment.splitlines())
        shown = ", ".join(f"`{name.strip()}`" for name in names.split(","))
        lines.append(f"| {shown} | {value} | {text} |")
    return "\n".join(lines)


def test_every_rule_is_told_with_its_measurement():
    rules = RULE.findall(Path(thresholds.__file__).read_text(encoding="utf-8"))
    named = {name.strip() for _, names, _ in rules for name in names.split(",")}
    assert named == {name for name in vars(thresholds) if name.isupper()}


def test_the_page_has_the_rules_that_there_are():
    page = (ROOT / "docs" / "choosing.md").read_text(encoding="utf-8")
    assert table_of_rules() in page, f"put into docs/choosing.md:\n{table_of_rules()}"
