"""A result in every form that it comes in: what it is asked, and what it answers."""

from __future__ import annotations

import copy
import pickle
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy.sparse import csr_array

import sssp
from tests.results.forgeries import cut_to_paths

LABELS = ["depot", "bridge", "mill", "church", "inn", "island"]


@pytest.fixture(scope="module")
def town() -> sssp.Graph:
    """Streets around a bridge, and an island that nobody reaches."""
    tails, heads, minutes = [0, 1, 2, 0, 3, 5], [1, 2, 3, 4, 4, 0], [4, 2, 3, 1, 1, 2]
    return sssp.Graph.from_arcs(tails, heads, minutes, n=6, labels=LABELS)


def with_wide_indices(result: sssp.ShortestPaths) -> sssp.ShortestPaths:
    """Return a copy whose sparse parts count in int64."""
    wide = copy.copy(result)
    for name in ("distances", "predecessors"):
        matrix = getattr(result, name)
        if isinstance(matrix, csr_array):
            copied = csr_array(matrix.shape, dtype=matrix.dtype)
            copied.data = matrix.data
            copied.indices = matrix.indices.astype(np.int64)
            copied.indptr = matrix.indptr.astype(np.int64)
            setattr(wide, name, copied)
    return wide


FORMS: dict[str, Any] = {
    "targets": lambda r: r,
    "paths to targets": cut_to_paths,
    "paths to targets, int64": lambda r: with_wide_indices(cut_to_paths(r)),
    "sparse": lambda r: r,
    "sparse, int64": with_wide_indices,
}
every_form = pytest.mark.parametrize("form", FORMS)


def ask(g: sssp.Graph, form: str, sources: Any, **options: Any) -> sssp.ShortestPaths:
    if form.startswith("sparse"):
        options |= {"output": "sparse", "targets": None}
    r = sssp.shortest_paths(g, sources, predecessors=True, **options)
    result: sssp.ShortestPaths = FORMS[form](r)
    return result


@every_form
def test_paths_are_those_of_the_whole_result(town: sssp.Graph, form: str) -> None:
    whole = sssp.shortest_paths(town, [0, 2, 5], predecessors=True)
    targets = [4, 3, 5, 4]
    r = ask(town, form, [0, 2, 5], targets=targets)
    for row in range(3):
        for target in set(targets):
            assert r.distance(target, row) == whole.distance(target, row)
            if whole.distance(target, row) == np.inf:
                with pytest.raises(sssp.UnreachableError, match=f"vertex {target} is not reached"):
                    r.path(target, row)
                continue
            assert r.path(target, row).tolist() == whole.path(target, row).tolist()
            assert r.path_labels(target, row) == whole.path_labels(target, row)
            assert r.path_arcs(target, row).tolist() == whole.path_arcs(target, row).tolist()
    sssp.verify(town, r)


@every_form
def test_sums_are_those_of_the_whole_result(town: sssp.Graph, form: str) -> None:
    whole = sssp.shortest_paths(town, [0, 2, 5], predecessors=True)
    targets = [4, 3, 5, 4]
    r = ask(town, form, [0, 2, 5], targets=targets)
    columns = slice(None) if r.targets is None else r.targets
    for values in (np.arange(town.m) * 3 - 5, np.arange(town.m) / 4):
        assert r.skim(values).tolist() == whole.skim(values)[:, columns].tolist()
    volumes = np.zeros((3, 6), np.int64)
    volumes[0, 3:5], volumes[2, [3, 5]] = 7, 11
    expected = whole.load(volumes)
    if r.targets is not None:
        volumes = volumes[:, r.targets]
        volumes[:, -1] = 0  # vertex 4 is there twice
    assert r.load(volumes).tolist() == expected.tolist()


@every_form
@pytest.mark.parametrize("sources", [0, [0], [2, 0]])
def test_pickles_and_host_copies_answer_alike(town: sssp.Graph, form: str, sources: Any) -> None:
    r = ask(town, form, sources, targets=[3, 4])
    assert r.to_host() is r
    copied = pickle.loads(pickle.dumps(r))
    assert copied.path(3).tolist() == r.path(3).tolist()
    assert copied.skim(np.ones(town.m, int)).tolist() == r.skim(np.ones(town.m, int)).tolist()
    assert type(copied.predecessors) is type(r.predecessors)
    sssp.verify(copied.graph, copied)


@every_form
@pytest.mark.parametrize("options", [{"nearest": True}, {"limit": 5}])
def test_nearest_and_limited_results_in_every_form(
    town: sssp.Graph, form: str, options: dict[str, Any]
) -> None:
    whole = sssp.shortest_paths(town, [0, 2], predecessors=True, **options)
    r = ask(town, form, [0, 2], targets=[3, 4], **options)
    reached = whole.to_float()[..., 3] < np.inf
    for row in np.flatnonzero(np.atleast_1d(reached)):
        assert r.path(3, row).tolist() == whole.path(3, row).tolist()
    sssp.verify(town, r)


class OnDevice:
    """Stands for an array on a GPU."""

    __cuda_array_interface__: ClassVar[dict[str, Any]] = {}

    def __init__(self, host: Any) -> None:
        self.host = host

    def to_host(self) -> Any:
        return self.host


def test_paths_on_the_host_beside_distances_on_a_device(town: sssp.Graph) -> None:
    r = cut_to_paths(sssp.shortest_paths(town, [0, 2], targets=[3, 4], predecessors=True))
    there = copy.copy(r)
    there.distances = OnDevice(r.distances)
    with pytest.raises(TypeError, match=r"call to_host\(\) first"):
        there.path(3)
    for host in (there.to_host(), pickle.loads(pickle.dumps(there))):
        assert host.path(3, row=1).tolist() == r.path(3, row=1).tolist()
        sssp.verify(host.graph, host)
    sssp.verify(town, there)


def test_one_target_of_one_source(town: sssp.Graph) -> None:
    r = cut_to_paths(sssp.shortest_paths(town, 0, targets=3, predecessors=True))
    assert r.distances.shape == ()
    assert r.predecessors.shape == (1, 6)
    assert r.predecessors.indices.tolist() == [0, 1, 2, 3]
    assert r.predecessors.data.tolist() == [-1, 0, 1, 2]
    assert r.path_labels(3) == ["depot", "bridge", "mill", "church"]
    assert r.skim(town.weights) == r.distance(3) == 9
    assert r.load(2).tolist() == [2, 2, 2, 0, 0, 0]


# -- what is asked for -------------------------------------------------------------------------

NOT_INTEGERS = [2.7, 2.0, True, np.True_, np.array(True), "2", None, np.array(2.0), np.array([2])]


@pytest.mark.parametrize("odd", NOT_INTEGERS, ids=repr)
@pytest.mark.parametrize("name", ["distance", "path", "path_labels", "path_arcs"])
def test_what_is_no_integer_is_neither_vertex_nor_row(
    town: sssp.Graph, name: str, odd: Any
) -> None:
    for r in (
        sssp.shortest_paths(town, [0, 1, 2], predecessors=True),
        sssp.shortest_paths(town, [0, 1, 2], predecessors=True, output="sparse"),
    ):
        with pytest.raises(TypeError, match="a vertex is an int, not"):
            getattr(r, name)(odd)
        with pytest.raises(TypeError, match="a row is an int, not"):
            getattr(r, name)(3, row=odd)


@pytest.mark.parametrize("integer", [np.int64, np.int8, np.uint32, np.array, int])
def test_integers_of_any_type_are_taken(town: sssp.Graph, integer: Any) -> None:
    r = sssp.shortest_paths(town, [2, 0], predecessors=True)
    assert r.distance(integer(3), row=integer(1)) == 9
    assert r.path(integer(3), integer(1)).tolist() == [0, 1, 2, 3]
    assert r.path_arcs(integer(3), integer(-1 % 2)).tolist() == [0, 2, 3]


def test_a_label_where_a_vertex_belongs_is_told_so(town: sssp.Graph) -> None:
    r: Any = sssp.shortest_paths(town, 0, predecessors=True)
    with pytest.raises(TypeError, match=r"label of vertex 2: pass g.vertex\('mill'\)"):
        r.path("mill")
    with pytest.raises(TypeError, match="a vertex is an int, not 'tower'") as caught:
        r.path("tower")
    assert "label" not in str(caught.value)
    numbered = sssp.Graph.from_arcs([0, 1], [1, 2], [1, 1], labels=[100, 200, 300])
    r = sssp.shortest_paths(numbered, 0)
    with pytest.raises(sssp.VertexError, match=r"0\.\.2; .* vertex 1: pass g.vertex\(200\)"):
        r.distance(200)
    with pytest.raises(sssp.VertexError, match=r"vertices are 0\.\.2$"):
        r.distance(201)
    with pytest.raises(sssp.VertexError, match="row 1 does not exist"):
        r.distance(0, row=1)


# -- what it says of itself --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sources", "options", "expected"),
    [
        (0, {}, "from vertex 0, 5 of 6 reached; distances int32, shape (6,); by"),
        (
            [0, 5],
            {"targets": [3, 5], "limit": 9, "predecessors": True},
            "from 2 sources, to 2 targets, limit 9, with predecessors, 2 of 4 reached; "
            "distances int32, shape (2, 2); by",
        ),
        (
            [0, 1, 2],
            {"nearest": True, "targets": 4, "dtype": "int64"},
            "from the nearest of 3 sources, to 1 target, 1 of 1 reached; distances int64, "
            "shape (); by",
        ),
        ([], {}, "from 0 sources, 0 of 0 reached; distances int32, shape (0, 6); by"),
        (
            [3],
            {"output": "sparse", "limit": 1},
            "from 1 source, limit 1, 2 of 6 reached; distances sparse int32, shape (1, 6); by",
        ),
    ],
)
def test_repr_tells_what_was_asked_and_what_came(
    town: sssp.Graph, sources: Any, options: dict[str, Any], expected: str
) -> None:
    r = sssp.shortest_paths(town, sources, method="dijkstra", **options)
    assert repr(r) == f"<ShortestPaths {expected} dijkstra on cpu>"
