"""Several costs of the same arcs from several files."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sssp
from sssp import datasets
from sssp.errors import GraphFormatError
from sssp.loaders import write_gr

N = 4
vertices = st.integers(0, N - 1)
rows = st.lists(
    st.tuples(vertices, vertices, st.integers(0, 9), st.integers(-(2**40), 2**40)), max_size=20
)


@settings(max_examples=50)
@given(arcs=rows)
def test_a_cost_is_that_of_the_row_whose_time_counts(
    tmp_path_factory: pytest.TempPathFactory, arcs: list[Any]
) -> None:
    folder = tmp_path_factory.mktemp("costs")
    tails, heads, minutes, meters = (
        (np.array(column, int) for column in zip(*arcs, strict=True))
        if arcs
        else [np.empty(0, int)] * 4
    )
    write_gr(folder / "t.gr", N, tails, heads, minutes)
    write_gr(folder / "d.gr.gz", N, tails, heads, meters)
    g, costs = sssp.read_graph(
        folder / "t.gr", also={"meters": folder / "d.gr.gz", "minutes": str(folder / "t.gr")}
    )
    best: dict[tuple[int, int], tuple[int, int, int]] = {}
    for row, (tail, head, time, distance) in enumerate(arcs):
        if tail != head:
            best[tail, head] = min((time, row, distance), best.get((tail, head), (10, 0, 0)))
    assert list(costs) == ["meters", "minutes"]
    ends = zip(g.tails.tolist(), g.indices.tolist(), strict=True)
    expected = [best[pair] for pair in ends]
    assert g.m == len(best)
    assert costs["minutes"].tolist() == g.weights.tolist() == [time for time, *_ in expected]
    assert costs["meters"].tolist() == [distance for *_, distance in expected]
    assert g.with_weights(costs["minutes"]).weights.tolist() == g.weights.tolist()


TIMES = b"c\np sp 3 4\na 1 2 7\na 2 3 5\nc another\na 3 1 4\na 1 3 9\n"


@pytest.fixture
def times(tmp_path: Path) -> Path:
    path = tmp_path / "t.gr"
    path.write_bytes(TIMES)
    return path


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (
            TIMES.replace(b"a 3 1 4", b"a 3 2 4"),
            6,
            r"row 2 is the arc 3 -> 2, but in .*t\.gr it is 3 -> 1: .*\n    a 3 2 4$",
        ),
        (TIMES.replace(b"a 1 2 7\na 2 3 5\n", b"a 2 3 5\na 1 2 7\n"), 3, "row 0 .* same order"),
        (b"p sp 3 2\na 1 2 7\na 2 3 5\n", 1, r"3 vertices and 2 arcs, but .*t\.gr has 3 and 4"),
        (TIMES.replace(b"sp 3", b"sp 4"), 2, r"4 vertices and 4 arcs, but .* has 3 and 4"),
        (TIMES.replace(b"a 3 1 4", b"a 3 1 x"), 6, "weight is not a number"),
        (b"p aux sp co 1\nv 1 2 3\n", 1, "coordinates file"),
    ],
)
def test_another_graph_is_refused_with_its_line(
    times: Path, tmp_path: Path, content: bytes, line: int, message: str
) -> None:
    other = tmp_path / "d.gr.gz"
    other.write_bytes(gzip.compress(content))
    with pytest.raises(GraphFormatError, match=message) as raised:
        sssp.read_graph(times, also={"km": other})
    assert (raised.value.path, raised.value.line_number) == (str(other), line)


def test_costs_come_beside_coordinates_or_not_at_all(times: Path, tmp_path: Path) -> None:
    places = tmp_path / "t.co"
    places.write_bytes(b"p aux sp co 3\nv 1 0 0\nv 2 0 0\nv 3 5000000 0\n")
    g, costs = sssp.read_graph(times, coordinates=places, also={"same": times})
    assert g.coordinates is not None
    assert g.coordinates[2].tolist() == [5, 0]
    r = sssp.shortest_paths(g, 0, predecessors=True)
    assert r.skim(costs["same"]).tolist() == r.distances.tolist() == [0, 7, 9]
    assert sssp.read_graph(times, also={})[1] == {}
    with pytest.raises(TypeError, match=r"names and paths, as \{'km': path\}, not '"):
        sssp.read_graph(times, also=str(times))  # type: ignore[call-overload]  # that is the point
    g.save(tmp_path / "t.sssp")
    with pytest.raises(GraphFormatError, match=r"t\.sssp: also= .* holds no rows"):
        sssp.read_graph(tmp_path / "t.sssp", also={"km": times})


def test_new_york_comes_with_time_and_distance() -> None:
    time, distance = datasets.find("USA-road-t.NY"), datasets.find("USA-road-d.NY")
    if time is None or distance is None:
        pytest.skip("USA-road-t.NY and USA-road-d.NY are not both on this machine")
    g, costs = sssp.read_graph(time, also={"meters": distance})
    by_distance = sssp.read_graph(distance)
    assert costs["meters"].shape == (by_distance.m,)
    assert costs["meters"].dtype == np.int32
    # parallel streets: the fastest one need not be the shortest
    longer = costs["meters"] != by_distance.weights
    assert (costs["meters"] >= by_distance.weights).all()
    assert np.count_nonzero(longer) < by_distance.parallel_arcs
    targets = [1000, 200_000]
    r = sssp.shortest_paths(g, [0, 5], targets=targets, predecessors=True)
    meters = r.skim(costs["meters"])
    assert (meters >= sssp.shortest_paths(by_distance, [0, 5], targets=targets).distances).all()
    assert meters[0, 1] == costs["meters"][r.path_arcs(200_000)].sum()
