"""The scripts of ``docs/examples`` run from beginning to end, as a new user would run them."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "docs" / "examples"


def test_an_analysts_day_goes_without_a_number_translated_by_hand(
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("geopandas", reason="GeoPandas is not installed")
    runpy.run_path(str(EXAMPLES / "analysts_day.py"), run_name="__main__")
    printed = capsys.readouterr().out
    for told in ("labels 'X00000' to 'X01999'", "home", "hospital", "LINESTRING", "take longer"):
        assert told in printed
