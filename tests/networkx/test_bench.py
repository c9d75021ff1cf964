"""The table of NetworkX by itself and through the backend."""

from __future__ import annotations

import json
from pathlib import Path

import networkx as nx
import pytest

from bench.backend import main
from tests.networkx.needs import needs_backend


@needs_backend
def test_the_table_compares_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("numba_cuda")  # whose version it names
    monkeypatch.setattr(nx.config, "warnings_to_ignore", {"cache"})  # and restored
    file = tmp_path / "out.json"
    assert main(["--vertices", "90", "--trials", "1", "--json", str(file)]) == 0
    content = json.loads(file.read_text(encoding="utf-8"))
    assert content["settings"]["networkx"] == nx.__version__
    assert len(content["rows"]) == len(capsys.readouterr().out.splitlines()) - 2 == 9
    for row in content["rows"]:
        assert row["equal"]
        assert min(row["networkx"], row["first"], row["converted"]) > 0
