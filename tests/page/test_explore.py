"""`ShortestPaths.explore`: a result as a page that is served, or as one file."""

from __future__ import annotations

import base64
import gzip
import json
import re
import subprocess
import sys
import urllib.request
import webbrowser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sssp
from sssp.apps.page.server import STATIC
from tests.patience import PATIENCE

GRAPH = sssp.road_like(300, seed=4)
NO_PLACES = sssp.Graph.from_arcs([0], [1], [1])


def unpacked(content: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    length = int.from_bytes(content[:4], "little")
    head = json.loads(content[4 : 4 + length])
    arrays = {
        entry["name"]: np.frombuffer(
            content, entry["dtype"], entry["length"], 4 + length + entry["offset"]
        )
        for entry in head["arrays"]
    }
    return head, arrays


def map_of(address: str) -> tuple[dict[str, Any], dict[str, Any]]:
    with urllib.request.urlopen(f"{address}map", timeout=PATIENCE) as reply:
        return unpacked(reply.read())


def map_in(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    found = re.search(r'id="map-data">([^<]*)</script>', path.read_text(encoding="utf-8"))
    assert found is not None
    return unpacked(gzip.decompress(base64.b64decode(found[1])))


def test_a_result_is_what_its_page_shows_first():
    r = sssp.shortest_paths(GRAPH, [7, 9])
    with r.explore(row=1, unit="min", name="town", open_browser=False) as page:
        head, arrays = map_of(page.address)
        assert page.address in page._repr_html_()
    assert head["unit"] == {"name": "min", "size": 1.0}
    assert head["result"]["sources"] == [9]
    found = head["result"]["least"] + head["result"]["step"] * arrays["values"]
    assert np.abs(found - r.distances[1]).max() <= head["result"]["step"]
    assert "closed" in repr(page)


def test_clicks_are_answered_by_the_prepared_map_if_it_is_given():
    h = sssp.prepare(GRAPH)
    r = sssp.shortest_paths(h, 7)
    with r.explore(network=h, open_browser=False) as page:
        assert map_of(page.address)[0]["prepared"] is True
        question = urllib.request.Request(
            f"{page.address}distances", b'{"sources": [3]}', {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(question, timeout=PATIENCE) as reply:
            assert json.loads(reply.headers["Answer"])["method"] == "sweep"
    with pytest.raises(ValueError, match="prepared map of this result's graph"):
        r.explore(network=sssp.prepare(GRAPH.scaled(2)), open_browser=False)


def test_a_browser_is_opened_but_not_from_a_notebook(monkeypatch):
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    r = sssp.shortest_paths(GRAPH, 7)
    with r.explore() as page:
        assert opened == [page.address]
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    with r.explore():
        assert len(opened) == 1


def test_a_file_holds_everything(tmp_path):
    path = tmp_path / "town.html"
    r = sssp.shortest_paths(GRAPH, 7, predecessors=True)
    assert r.explore(path=path, name="town", unit="min") == path
    text = path.read_text(encoding="utf-8")
    # nothing is asked of a server
    assert not re.search(r'(src|href)="(?!data:)', text)
    for name, _ in STATIC.values():
        assert f'"{name}"' not in text
    head, arrays = map_in(path)
    assert head["standalone"] is True
    assert arrays["predecessors"].tolist() == r.predecessors.tolist()
    found = head["result"]["least"] + head["result"]["step"] * arrays["values"]
    assert np.abs(found - r.distances).max() <= head["result"]["step"]


def test_a_file_holds_the_ways_of_turns(tmp_path):
    t = GRAPH.with_turns(u_turns=np.inf, cost=lambda angles: np.where(angles > 45, 900, 0))
    for graph in (t, t.reverse()):
        r = sssp.shortest_paths(graph, [3, 7], predecessors=True)
        r.explore(row=1, path=tmp_path / "town.html")
        _, arrays = map_in(tmp_path / "town.html")
        for target in (300 - 1, 12, 7):
            at, way = arrays["predecessors"][arrays["ends"][target]], [target]
            while at >= 0:
                if arrays["vertex_of"][at] != way[-1]:
                    way.append(int(arrays["vertex_of"][at]))
                at = arrays["predecessors"][at]
            assert way[::-1] == r.path(target, 1).tolist()
    with r.explore(network=sssp.prepare(r.graph), open_browser=False) as page:
        head, _ = map_of(page.address)
        assert head["result"]["reached"] == GRAPH.n


def test_files_of_other_results(tmp_path):
    path = tmp_path / "page.html"
    limited = sssp.shortest_paths(GRAPH, [5, 7], limit=9000, output="sparse")
    limited.explore(row=1, path=path)
    head, arrays = map_in(path)
    assert "predecessors" not in arrays
    expected = sssp.shortest_paths(GRAPH, 7, limit=9000)
    assert ((arrays["values"] == 65_535) == ~expected.reached).all()
    assert head["result"]["reached"] == expected.reached.sum() < 300
    nearest = sssp.shortest_paths(GRAPH, [5, 7], nearest=True)
    nearest.explore(path=path)
    assert map_in(path)[0]["result"]["sources"] == [5, 7]


@pytest.mark.skipif(sys.platform == "win32", reason="this system has no limits of a process")
def test_without_room_the_old_file_stays(tmp_path):
    import resource

    path, r = tmp_path / "town.html", sssp.shortest_paths(GRAPH, 7)
    r.explore(path=path)
    before = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) // 2, limits[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            r.explore(path=path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (None, {}),
        ([5, 6, 7], {"first_label": 5}),
        ([7, 5, 6], {"labels": ["7", "5", "6"]}),
        (["a", "b", "<i>"], {"labels": ["a", "b", "<i>"]}),
    ],
)
def test_a_file_names_vertices_by_their_labels(labels, expected, tmp_path):
    places = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]
    g = sssp.Graph.from_arcs([0, 1], [1, 2], [3, 4], labels=labels, coordinates=places)
    sssp.shortest_paths(g, 0).explore(path=tmp_path / "page.html")
    head, _ = map_in(tmp_path / "page.html")
    assert {name: head[name] for name in ("first_label", "labels") if name in head} == expected
    assert head["result"]["labels"] == [str(0 if labels is None else labels[0])]


def test_a_name_of_a_map_is_no_markup(tmp_path):
    path = tmp_path / "page.html"
    name = "</script><script>alert(1)</script>"
    sssp.shortest_paths(GRAPH, 7).explore(path=path, name=name, unit=name)
    assert "alert(1)" not in path.read_text(encoding="utf-8")
    assert map_in(path)[0]["name"] == name


@pytest.mark.parametrize("form", [{"path": "page.html"}, {"open_browser": False}])
@pytest.mark.parametrize(
    ("graph", "asked", "row", "error", "message"),
    [
        (NO_PLACES, {"sources": 0}, 0, ValueError, "coordinates"),
        (GRAPH, {"sources": 0, "targets": [3]}, 0, ValueError, "omit targets="),
        (GRAPH, {"sources": [0, 1]}, 2, sssp.VertexError, "row 2"),
    ],
)
def test_what_has_no_page_is_refused(
    graph, asked, row, error, message, form, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    r = sssp.shortest_paths(graph, **asked)
    with pytest.raises(error, match=message):
        r.explore(row=row, **form)
    assert list(tmp_path.iterdir()) == []


def test_a_script_may_wait_and_ends_without_waiting():
    code = """
import sssp
page = sssp.shortest_paths(sssp.road_like(300, seed=4), 7).explore(open_browser=False)
print(page.address.rpartition(":")[0])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    assert done.stdout == "http://127.0.0.1\n"
