"""The NetworkX backend: answers are NetworkX's, in its types, and so are its exceptions."""

from __future__ import annotations

import copy
import inspect
import logging
import math
import pickle
import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import partial
from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sssp.apps.networkx import backend
from sssp.apps.networkx.choice import NETWORKX
from sssp.apps.networkx.info import FUNCTIONS, get_info
from tests.networkx.needs import needs_backend

pytestmark = needs_backend
# (its stubs give every function a type of its own)
nx: Any = import_module("networkx")


@pytest.fixture(autouse=True)
def no_warnings_about_the_cache() -> Iterator[None]:
    """NetworkX warns whenever it takes a graph from its cache."""
    nx.config.warnings_to_ignore.add("cache")
    yield
    nx.config.warnings_to_ignore.discard("cache")


def plain(answer: Any) -> Any:
    """Return an answer with its iterators and mappings as lists and dicts, types beside values."""
    if isinstance(answer, np.ndarray):
        return answer.dtype, answer.tolist()
    if isinstance(answer, Mapping):
        return {key: plain(value) for key, value in answer.items()}
    if isinstance(answer, list | tuple):
        return [plain(value) for value in answer]
    if isinstance(answer, Iterator):
        return [plain(value) for value in answer]
    return type(answer), answer


def outcome(
    function: Callable[..., Any], G: Any, backend_name: str, *args: Any, **options: Any
) -> Any:
    """Return what a function answers or raises."""
    try:
        return plain(function(G, *args, backend=backend_name, **options))
    except (nx.NetworkXException, ValueError) as error:
        return type(error), str(error)


def same(function: Callable[..., Any], G: Any, *args: Any, **options: Any) -> Any:
    """Check that the backend does what NetworkX does, and return that."""
    expected = outcome(function, G, "networkx", *args, **options)
    assert outcome(function, G, "sssp", *args, **options) == expected
    return expected


#: ask about one node, about two, or about none
FROM_ONE = (
    nx.single_source_dijkstra_path,
    nx.single_source_dijkstra_path_length,
    nx.single_source_dijkstra,
    nx.single_source_bellman_ford_path,
    nx.single_source_bellman_ford_path_length,
    nx.single_source_bellman_ford,
    nx.goldberg_radzik,
    nx.dijkstra_predecessor_and_distance,
    nx.bellman_ford_predecessor_and_distance,
)
OF_TWO = (
    nx.dijkstra_path,
    nx.dijkstra_path_length,
    nx.bidirectional_dijkstra,
    nx.bellman_ford_path,
    nx.bellman_ford_path_length,
)
OF_ALL = (
    nx.all_pairs_dijkstra,
    nx.all_pairs_dijkstra_path,
    nx.all_pairs_dijkstra_path_length,
    nx.all_pairs_bellman_ford_path,
    nx.all_pairs_bellman_ford_path_length,
    nx.floyd_warshall,
    nx.floyd_warshall_numpy,
    nx.floyd_warshall_predecessor_and_distance,
    nx.johnson,
    nx.negative_edge_cycle,
    nx.shortest_path_length,
    nx.eccentricity,
    nx.diameter,
    nx.radius,
)
BY_HOPS_FROM_ONE = (
    nx.single_source_shortest_path,
    nx.single_source_shortest_path_length,
    nx.single_target_shortest_path,
    nx.single_target_shortest_path_length,
)
BY_HOPS = (nx.all_pairs_shortest_path, nx.all_pairs_shortest_path_length)


def unique_paths(n: int, kind: type, directed: bool, seed: int) -> Any:
    """Return a random graph on strings, in which no two ways are equally long."""
    rng = random.Random(seed)
    G = nx.gnm_random_graph(n, 3 * n, seed=seed, directed=directed)
    G = nx.relabel_nodes(G, {node: f"node {node}" for node in G})
    powers = rng.sample(range(3 * n), 3 * n) if kind is int else []
    for number, (_, _, data) in enumerate(G.edges(data=True)):
        data["weight"] = 2 ** powers[number] if kind is int else rng.uniform(1.0, 9.0)
    return G


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("kind", [int, float])
def test_answers_and_their_types_are_those_of_networkx(kind: type, directed: bool) -> None:
    G = unique_paths(14, kind, directed, seed=3)
    nodes = list(G)
    for function in FROM_ONE:
        same(function, G, nodes[0])
    for function in OF_TWO:
        for target in nodes[:6]:
            # halves of a path, added up, are rounded in another way
            if function is not nx.bidirectional_dijkstra or kind is int:
                same(function, G, nodes[1], target)
    for function in OF_ALL:
        if kind is int or "floyd" not in function.__name__:
            same(function, G)
    for ends in ((), (nodes[1], nodes[4]), (nodes[1],), (None, nodes[2])):
        for method in ("dijkstra", "bellman-ford"):
            same(nx.shortest_path, G, *ends, weight="weight", method=method)
            same(nx.shortest_path_length, G, *ends, weight="weight", method=method)
    same(nx.multi_source_dijkstra, G, nodes[:3])
    same(nx.multi_source_dijkstra_path, G, nodes[2:5])
    same(nx.multi_source_dijkstra_path_length, G, nodes[2:5] * 2)
    same(nx.closeness_centrality, G, distance="weight")
    same(nx.closeness_centrality, G, nodes[3], distance="weight", wf_improved=False)
    same(nx.eccentricity, G, weight="weight")
    same(nx.eccentricity, G, nodes[:2], weight="weight")
    if kind is int:
        same(nx.floyd_warshall_numpy, G, nodes[::-1])


@pytest.mark.parametrize("directed", [False, True])
def test_hops_are_those_of_networkx(directed: bool) -> None:
    tree = nx.random_labeled_tree(12, seed=1)
    G = nx.DiGraph(tree.edges) if directed else tree
    for function in BY_HOPS_FROM_ONE:
        for cutoff in (None, 0, 1, 1.5, 2, math.inf):
            same(function, G, 4, cutoff)
    for function in BY_HOPS:
        same(function, G)
        same(function, G, cutoff=1)
    for cutoff in (None, 0, 1.5):
        for seen in (None, True):
            same(nx.predecessor, G, 4, cutoff=cutoff, return_seen=seen)
            same(nx.predecessor, G, 4, 0, cutoff, seen)
    for target in G:
        same(nx.has_path, G, 4, target)
        same(nx.bidirectional_shortest_path, G, 4, target)
        same(nx.shortest_path, G, 4, target)
        same(nx.shortest_path_length, G, 4, target)
    for weight in (None, "no such attribute"):
        same(nx.single_source_dijkstra, G, 4, cutoff=2.5, weight=weight)
        same(nx.single_source_bellman_ford, G, 4, weight=weight)
        same(nx.floyd_warshall, G, weight=weight)
        same(nx.closeness_centrality, G, distance=weight)
        same(nx.johnson, G, weight=weight)
    same(nx.eccentricity, G)
    same(nx.diameter, G)
    same(nx.radius, G)


def length_of(G: Any, path: list[Any]) -> Any:
    """Add up the weights along a path, the least of parallel edges, 1 where one is missing."""
    total: Any = 0
    for tail, head in pairwise(path):
        edges = G[tail][head].values() if G.is_multigraph() else [G[tail][head]]
        total += min(edge.get("weight", 1) for edge in edges)
    return total


KINDS = (nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph)
ends = st.integers(0, 6)


@given(
    st.sampled_from(KINDS),
    st.lists(st.tuples(ends, ends, st.none() | st.integers(0, 5)), max_size=20),
    st.sampled_from((1, 0.1)),
    st.booleans(),
)
def test_parallel_edges_loops_and_gaps_count_as_in_networkx(
    kind: Any, edges: list[tuple[int, int, int | None]], unit: float, gaps: bool
) -> None:
    G = kind()
    G.add_nodes_from(range(7))
    for tail, head, weight in edges:
        if weight is None and unit == 1 and gaps:
            G.add_edge(tail, head)  # its weight counts as 1
        else:
            G.add_edge(tail, head, weight=(weight or 0) * unit)
    expected = same(nx.single_source_dijkstra_path_length, G, 3)
    same(nx.single_source_bellman_ford_path_length, G, 3)
    for cutoff in (0, 3 * unit, Fraction(7, 2), np.int64(5), 10**30, math.inf):
        same(nx.multi_source_dijkstra_path_length, G, [3, 5], cutoff=cutoff)
        same(nx.single_source_shortest_path_length, G, 3, cutoff)
    same(nx.closeness_centrality, G, distance="weight")
    same(nx.negative_edge_cycle, G)
    for function in (
        nx.dijkstra_predecessor_and_distance,
        nx.bellman_ford_predecessor_and_distance,
        partial(nx.predecessor, return_seen=True),
    ):
        before, distances = function(G, 3, backend="networkx")
        found = function(G, 3, backend="sssp")
        assert found[1] == distances
        assert {n: sorted(b) for n, b in found[0].items()} == {
            n: sorted(set(b)) for n, b in before.items()
        }
    lengths, paths = nx.single_source_dijkstra(G, 3, backend="sssp")
    assert list(lengths.values()) == sorted(lengths.values())
    assert list(paths) == list(lengths)
    for node, path in paths.items():
        assert (path[0], path[-1]) == (3, node)
        assert expected[node] == plain(length_of(G, path))
    if gaps and NETWORKX < (3, 7):  # Floyd and Warshall's algorithm took 1.0 for them
        return
    before, distances = nx.floyd_warshall_predecessor_and_distance(G, backend="sssp")
    assert distances[3] == pytest.approx({n: lengths.get(n, math.inf) for n in G})
    loops = {node for node in G if G.has_edge(node, node)}
    for node in G:
        reached = {n for n, d in distances[node].items() if d < math.inf} - {node} | loops & {node}
        assert set(before.get(node, ())) == reached


@given(
    st.lists(st.tuples(ends, ends, st.integers(-2, 9)), max_size=12),
    st.sampled_from((1, 0.5)),
    st.booleans(),
)
def test_negative_weights_do_what_they_do_in_networkx(
    edges: list[tuple[int, int, int]], unit: float, directed: bool
) -> None:
    G: Any = nx.DiGraph() if directed else nx.Graph()
    G.add_nodes_from(range(7))
    G.add_weighted_edges_from((u, v, w * unit) for u, v, w in edges)
    same(nx.single_source_bellman_ford_path_length, G, 3)
    same(nx.bellman_ford_path_length, G, 3, 5)
    for function in (nx.bellman_ford_path_length, nx.bellman_ford_path):
        same(function, G, 3, "absent")
    same(nx.single_source_bellman_ford, G, 3, "absent")
    same(nx.negative_edge_cycle, G)
    if not nx.negative_edge_cycle(G, backend="networkx"):
        expected = nx.floyd_warshall(G, backend="networkx")
        assert nx.floyd_warshall(G, backend="sssp") == expected
    elif NETWORKX >= (3, 7):
        assert same(nx.floyd_warshall, G)[0] is nx.NetworkXUnbounded
    else:  # NetworkX returns something
        with pytest.raises(NotImplementedError):
            nx.floyd_warshall(G, backend="sssp")


def test_a_node_that_is_missing_or_not_reached_raises_what_networkx_raises() -> None:
    ends: tuple[Any, Any]
    for G in (nx.Graph([(0, 1), (2, 3)]), nx.DiGraph([(0, 1), (2, 3)])):
        for function in (*FROM_ONE, *BY_HOPS_FROM_ONE):
            kind, _ = same(function, G, "nowhere")
            assert kind is nx.NodeNotFound
        for function in (*OF_TWO, nx.bidirectional_shortest_path, nx.shortest_path):
            assert same(function, G, 0, 2)[0] is nx.NetworkXNoPath
            for ends in ((0, "nowhere"), ("nowhere", 0), ("nowhere", "nowhere")):
                assert same(function, G, *ends)[0] in (nx.NetworkXNoPath, nx.NodeNotFound)
        for method in ("dijkstra", "bellman-ford", "no method"):
            for weight in (None, "weight"):
                options = {"weight": weight, "method": method}
                for ends in ((0, 2), (0, "nowhere"), ("nowhere", None), (None, "nowhere")):
                    for function in (nx.shortest_path, nx.shortest_path_length):
                        kind, _ = same(function, G, *ends, **options)
                        assert issubclass(kind, Exception)
        assert same(nx.has_path, G, 0, "nowhere")[0] is nx.NodeNotFound
        for ends in ((0, None), (None, 0), (None, None), (None, "nowhere"), ("nowhere", None)):
            same(nx.has_path, G, *ends)
        for function in (*FROM_ONE, *BY_HOPS_FROM_ONE):
            assert same(function, G, None)[0] is nx.NodeNotFound
        assert same(nx.multi_source_dijkstra, G, [])[0] is ValueError
        assert same(nx.multi_source_dijkstra_path, G, [0, "nowhere"])[0] is nx.NodeNotFound
        assert same(nx.multi_source_dijkstra, G, [0, 1], 3)[0] is nx.NetworkXNoPath
        assert same(nx.single_source_dijkstra, G, 0, 1, cutoff=0)[0] is nx.NetworkXNoPath
        assert same(nx.closeness_centrality, G, "nowhere")[0] is nx.NodeNotFound
        for function in (nx.eccentricity, nx.diameter, nx.radius):
            assert same(function, G)[0] is nx.NetworkXError
        assert same(nx.floyd_warshall_numpy, G, [0, 1])[0] is nx.NetworkXError
        assert same(nx.floyd_warshall_numpy, G, [0, 1, 2, "nowhere"])[0] is nx.NetworkXError


@pytest.mark.parametrize("kind", KINDS)
def test_a_graph_without_nodes(kind: Any) -> None:
    G = kind()
    for function in OF_ALL:
        same(function, G)
    same(nx.closeness_centrality, G)


def test_a_loop_of_weight_zero_is_on_shortest_paths() -> None:
    G = nx.DiGraph([(0, 1, {"weight": 2})])
    G.add_edge(1, 1, weight=0)
    G.add_edge(0, 0, weight=1)
    for function in (
        nx.dijkstra_predecessor_and_distance,
        nx.bellman_ford_predecessor_and_distance,
    ):
        before, _ = same(function, G, 0)
        assert [node for _, node in before[1]] == [0, 1]
    same(nx.predecessor, G, 0)


def test_a_negative_loop_is_a_cycle() -> None:
    G = nx.DiGraph([(0, 1)])
    G.add_edge(2, 2, weight=-1)
    for function in (nx.goldberg_radzik, nx.bellman_ford_predecessor_and_distance):
        assert same(function, G, 0)[0] is nx.NetworkXUnbounded
    assert same(nx.single_source_bellman_ford, G, 2)[0] is nx.NetworkXUnbounded
    assert same(nx.negative_edge_cycle, G) == (bool, True)
    same(nx.single_source_bellman_ford, G, 0)


GO_BACK = (
    None,
    True,
    "3",
    Fraction(1, 3),
    Decimal(3),
    1 << 70,
    1 << 62,
    math.inf,
    math.nan,
    1e308,
    1.5,  # beside ints
    np.float32(1.5),
)


@pytest.mark.parametrize("weight", GO_BACK, ids=repr)
def test_other_weights_go_back_to_networkx(weight: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ordinary = 0.5 if isinstance(weight, float) and weight != 1.5 else 2
    G = nx.DiGraph([(0, 1, {"weight": ordinary}), (1, 2, {"weight": weight})])
    function = nx.single_source_dijkstra_path_length
    with pytest.raises(NotImplementedError):
        function(G, 0, backend="sssp")
    expected = outcome_of_any_kind(function, G, backend="networkx")
    monkeypatch.setattr(backend, "should_run", lambda *_: True)
    with nx.config(backend_priority=["sssp"]):
        for _ in range(2):  # NetworkX remembers that the graph was refused
            assert outcome_of_any_kind(function, G) == expected


def outcome_of_any_kind(function: Callable[..., Any], G: Any, **options: Any) -> Any:
    try:
        return repr(function(G, 0, **options))
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("weight", [np.int64(3), np.int32(3), np.float64(3)], ids=repr)
def test_numbers_of_numpy_give_numbers_of_python(weight: Any) -> None:
    lengths = nx.single_source_dijkstra_path_length(
        nx.Graph([(0, 1, {"weight": weight})]), 0, backend="sssp"
    )
    assert plain(lengths) == {0: (int, 0), 1: (type(weight.item()), 3)}


@pytest.mark.parametrize(
    ("function", "arguments", "why"),
    [
        (nx.dijkstra_path, {"source": 0, "target": 1, "weight": lambda *_: 1}, "function"),
        (nx.closeness_centrality, {"distance": lambda *_: 1}, "function"),
        (nx.single_source_dijkstra, {"source": 0, "cutoff": -1}, "cutoff"),
        (nx.single_source_dijkstra, {"source": 0, "cutoff": "far"}, "cutoff"),
        (nx.single_source_shortest_path, {"source": 0, "cutoff": math.nan}, "cutoff"),
        (nx.multi_source_dijkstra, {"sources": iter([0])}, "iterator"),
        (nx.eccentricity, {"sp": {}}, None),
        (nx.eccentricity, {"sp": {0: {0: 0}}}, "distances or bounds"),
        (nx.eccentricity, {"v": 17}, "v is neither"),
        (nx.diameter, {"e": {0: 1}}, "distances or bounds"),
        (nx.radius, {"usebounds": True}, "distances or bounds"),
    ],
)
def test_can_run_says_why_not(
    function: Any, arguments: dict[str, Any], why: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    G = nx.path_graph(3)
    reason = backend.can_run(function.__name__, (G,), arguments)
    if why is None:
        assert reason is True
        return
    assert isinstance(reason, str)
    assert why in reason
    with (
        caplog.at_level(logging.DEBUG, "networkx.utils.backends"),
        pytest.raises(NotImplementedError),
    ):
        function(G, **arguments, backend="sssp")
    assert reason in caplog.text


def test_small_graphs_are_left_to_networkx(caplog: pytest.LogCaptureFixture) -> None:
    small, large = nx.path_graph(4), nx.path_graph(20_000)
    call = nx.single_source_dijkstra_path_length
    with (
        nx.config(backend_priority=["sssp"]),
        caplog.at_level(logging.DEBUG, "networkx.utils.backends"),
    ):
        call(small, 0)
        reason = backend.should_run(call.__name__, (small, 0), {})
        assert isinstance(reason, str)
        assert reason in caplog.text
        assert small.__networkx_cache__ == {}
        assert backend.should_run(call.__name__, (), {"source": 0, "G": large}) is True
        call(large, 0)
    assert "sssp" in large.__networkx_cache__["backends"]


class OnlyItsSize(nx.Graph):  # type: ignore[misc]
    """A graph that tells its size, but does not let anyone walk over it."""

    def __iter__(self) -> Any:
        raise AssertionError("this takes time in the size of the graph")

    size = edges = nodes = degree = adj = property(__iter__)


def test_choices_take_no_time_in_the_size_of_the_graph() -> None:
    G = OnlyItsSize()
    for name in FUNCTIONS:
        required = [
            parameter.name
            for parameter in inspect.signature(getattr(nx, name).orig_func).parameters.values()
            if parameter.default is parameter.empty
        ]
        arguments = {parameter: {0} for parameter in required[1:]}
        assert backend.can_run(name, (G,), arguments) is True
        backend.should_run(name, (G,), arguments)


def test_a_converted_graph_is_worth_more() -> None:
    G = nx.path_graph(1000)
    pair: Any = ("bidirectional_dijkstra", (G, 0, 999), {})
    before = backend.should_run(*pair)
    nx.dijkstra_path(G, 0, 1, backend="sssp")
    assert isinstance(before, str)
    assert "not converted" in before
    assert backend.should_run(*pair) is True
    assert backend.should_run(pair[0], pair[1], {"weight": "another"}) == before


def test_the_conversion_is_kept_until_the_graph_changes() -> None:
    G = nx.path_graph(5)
    call = nx.single_source_dijkstra_path_length
    assert call(G, 0, backend="sssp")[4] == 4
    [converted] = G.__networkx_cache__["backends"]["sssp"].values()
    assert call(G, 0, backend="sssp")[4] == 4
    assert list(G.__networkx_cache__["backends"]["sssp"].values()) == [converted]
    G.add_edge(0, 1, weight=7)  # NetworkX clears its cache
    assert call(G, 0, backend="sssp")[4] == 10


def test_a_change_in_place_needs_the_cache_cleared() -> None:
    G = nx.path_graph(5)
    call = nx.single_source_dijkstra_path_length
    assert call(G, 0, backend="sssp")[4] == 4
    G[0][1]["weight"] = 7
    assert call(G, 0, backend="sssp")[4] == 4
    G.__networkx_cache__.clear()
    assert call(G, 0, backend="sssp")[4] == 10
    assert "__networkx_cache__.clear()" in str(backend.__doc__)


def test_a_graph_pickles_with_its_cache() -> None:
    G = nx.path_graph(5)
    nx.shortest_path(G, 0, backend="sssp")
    for H in (pickle.loads(pickle.dumps(G)), copy.deepcopy(G)):
        assert "sssp" in H.__networkx_cache__["backends"]
        assert nx.shortest_path(H, 0, backend="sssp")[4] == [0, 1, 2, 3, 4]
        H.add_edge(0, 4)
        assert nx.shortest_path(H, 0, backend="sssp")[4] == [0, 4]


PATHS = (
    lambda G: nx.single_source_dijkstra_path(G, "a", backend="sssp"),
    lambda G: nx.shortest_path(G, target="a", backend="sssp"),
)


@pytest.mark.parametrize("ask", PATHS)
def test_paths_are_a_mapping_to_read(ask: Callable[..., Any]) -> None:
    G = nx.Graph([("a", "b"), ("b", "c"), ("x", "y")])
    paths: Any = ask(G)
    forward: Any = {"a": ["a"], "b": ["a", "b"], "c": ["a", "b", "c"]}
    expected = forward if ask is PATHS[0] else {node: p[::-1] for node, p in forward.items()}
    assert isinstance(paths, Mapping) is True
    assert paths == expected
    assert expected == paths
    assert paths != {**expected, "x": ["x"]}
    assert paths != {**expected, "c": ["c"]}
    assert paths != 1
    assert list(paths) == list(expected)
    assert len(paths) == 3
    assert dict(paths) == dict(paths.items()) == expected
    assert "c" in paths
    assert "x" not in paths
    assert paths.get("x") is None
    for missing in ("x", "nowhere"):
        with pytest.raises(KeyError, match=missing):
            paths[missing]
    with pytest.raises(TypeError, match="unhashable"):
        paths[[]]
    with pytest.raises(TypeError):
        paths["c"] = []
    with pytest.raises(TypeError):
        hash(paths)
    paths["c"].append("d")  # a list of its own
    assert paths["c"] == expected["c"]
    for again in (copy.copy(paths), copy.deepcopy(paths), pickle.loads(pickle.dumps(paths))):
        assert type(again) is type(paths)
        assert again == expected
        assert list(again) == list(expected)
        assert "x" not in again
    changed = paths.copy()
    changed["c"] = []
    assert paths == expected
    assert repr(paths) == f"{type(paths).__name__}({expected!r})"


def test_many_paths_are_shown_in_part_and_pickled_without_the_rest() -> None:
    G = nx.path_graph(1000)
    paths = nx.single_source_shortest_path(G, 0, backend="sssp")
    assert repr(paths).endswith("5: [0, 1, 2, 3, 4, 5], ... 994 more})")
    few = nx.single_source_shortest_path(G, 0, cutoff=2, backend="sssp")
    assert len(pickle.dumps(few)) < len(pickle.dumps(paths)) / 5
    assert pickle.loads(pickle.dumps(few)) == {0: [0], 1: [0, 1], 2: [0, 1, 2]}


def test_signatures_are_those_of_networkx() -> None:
    for name in FUNCTIONS:
        theirs = inspect.signature(getattr(nx, name).orig_func).parameters.values()
        ours = inspect.signature(getattr(backend, name)).parameters
        for parameter in theirs:
            mine = ours[parameter.name]
            assert (mine.default, mine.kind) == (parameter.default, parameter.kind), name
        positions = [p.name for p in ours.values() if p.kind is not p.KEYWORD_ONLY]
        assert positions == [p.name for p in theirs if p.kind is not p.KEYWORD_ONLY], name
        # of a newer version
        assert set(ours) - {parameter.name for parameter in theirs} <= {"sp"}


def test_the_backend_has_the_functions_that_it_tells_networkx() -> None:
    interface = {"can_run", "should_run", "convert_from_nx", "convert_to_nx"}
    own = {
        name
        for name, value in vars(backend).items()
        if inspect.isfunction(value) and value.__module__ == backend.__name__ and name[0] != "_"
    }
    assert own == set(FUNCTIONS)
    assert set(backend.__all__) == interface
    assert set(get_info()["functions"]) == set(FUNCTIONS)
    for name in FUNCTIONS:
        assert "sssp" in getattr(nx, name).backends, name
        assert getattr(backend, name).__doc__, name
        assert FUNCTIONS[name] in getattr(nx, name).__doc__.replace("\n      ", "\n"), name


def test_importing_networkx_loads_what_is_light() -> None:
    code = "import sys, networkx; print(*sorted(m for m in sys.modules if m[:4] == 'sssp'))"
    heavy = "print(*({'numpy', 'numba', 'scipy'} & set(sys.modules)))"
    command = [sys.executable, "-c", f"{code}; {heavy}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "sssp sssp.apps sssp.apps.networkx sssp.apps.networkx.info",
        "",
    ]
