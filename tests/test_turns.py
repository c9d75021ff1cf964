"""Graphs with turns: every question, on every device, beside a search over what was driven."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import sssp
from sssp.cpu.tree import untied_distance
from sssp.graph.weights import closed_weight
from tests.naive import Turned
from tests.solvers import draw_and_ask, every_device, every_solver
from tests.strategies import DYADIC, GREATEST_N, SMALL_INTEGERS, UNBOUND, turned_graphs

INF = math.inf
MISSING = np.iinfo(np.int64).max
#: shares of their weights that arcs may fall to, by which the U-turns that may pay are chosen
LIGHTEST = st.sampled_from([0.0, 0.5, 1.0])


def table_of(turned: Turned, n: int) -> np.ndarray:
    """Return the distances from every vertex to every other."""
    table = np.full((n, n), INF)
    for source in range(n):
        for vertex, distance in turned.distances(source).items():
            table[source, vertex] = distance
    return table


def dense(result: sssp.ShortestPaths) -> np.ndarray:
    """Return distances as floats, of sparse ones too."""
    if isinstance(result.distances, np.ndarray):
        return np.asarray(result.to_float())
    table, entries = np.full(result.distances.shape, INF), result.distances.tocoo()
    table[entries.coords] = entries.data
    return table


def check_ways(result: Any, turned: Turned, expected: np.ndarray) -> None:
    """Check that every way is one, of its length, and what is added up along them all."""
    g, n = result.graph, len(expected)
    values = np.arange(g.m) * 3 + 1
    reached = expected < INF
    volumes = np.where(reached, np.arange(n * n).reshape(n, n) + 1, 0)
    skim, flow = np.full((n, n), MISSING), np.zeros(g.m, int)
    turning: dict[tuple[int, int], int] = {}
    for source, vertex in np.argwhere(reached).tolist():
        path, way = result.path(vertex, source).tolist(), result.path_arcs(vertex, source).tolist()
        assert path == [source, *(turned.arcs[arc].head for arc in way)]
        assert path[-1] == vertex
        assert turned.length(way) == expected[source, vertex]
        skim[source, vertex] = values[way].sum()
        for i, arc in enumerate(way):
            flow[arc] += volumes[source, vertex]
            if i:
                pair = way[i - 1], arc
                turning[pair] = turning.get(pair, 0) + volumes[source, vertex]
    assert (result.skim(values) == skim).all()
    on_rows = np.zeros(g.input_arcs, int)
    np.add.at(on_rows, g.arc_origin, flow)
    assert (result.load(volumes) == on_rows).all()
    turns = g.turns
    pair_of = dict(zip(turns.turn.tolist(), zip(turns.into, turns.out, strict=True), strict=False))
    named = [0 if k < 0 else turning.get(pair_of[k], 0) for k in turns.row_turn.tolist()]
    assert result.load_turns(volumes).tolist() == named


@every_solver(weighted=True)
def test_every_method_heeds_turns(solver):
    def check(drawn: Any) -> None:
        g, given, turned = drawn
        t, expected = g.with_turns(**given), table_of(turned, g.n)
        result = solver(t, range(g.n), predecessors=True)
        assert (dense(result) == expected).all()
        check_ways(result, turned, expected)
        sssp.verify(t, result)
        assert (dense(solver(t, 0)) == expected[0]).all()
        assert (dense(solver(t, range(g.n), targets=[0])) == expected[:, :1]).all()

    drawn = turned_graphs(SMALL_INTEGERS | DYADIC, lightest=LIGHTEST)
    draw_and_ask(solver.device, drawn, check, 12)


@st.composite
def questions(draw: st.DrawFn, lightest: st.SearchStrategy[float] = UNBOUND) -> Any:
    g, given, turned = draw(turned_graphs(lightest=lightest))
    some = st.lists(st.integers(0, g.n - 1), min_size=1, max_size=3)
    return g, given, turned, draw(some), draw(st.sampled_from([None, 3]))


@every_device
@pytest.mark.parametrize("prepared", [False, True], ids=["flat", "prepared"])
def test_every_question_heeds_turns(device, prepared):
    def check(drawn: Any) -> None:
        g, given, turned, some, limit = drawn
        t, expected = g.with_turns(**given), table_of(turned, g.n)
        h = sssp.prepare(t) if prepared else t
        every, on = np.arange(g.n), {"device": device}
        near = expected if limit is None else np.where(expected <= limit, expected, INF)
        out = np.empty((g.n, g.n), np.int64)
        assert sssp.shortest_paths(h, every, out=out, **on).distances is out
        assert (np.where(out == MISSING, INF, out) == expected).all()
        for predecessors in (False, True):
            asked = {"limit": limit, "predecessors": predecessors, **on}
            for output in ("host", "sparse"):
                result = sssp.shortest_paths(h, every, output=output, **asked)
                assert (dense(result) == near).all()
                sssp.verify(t, result)
                if predecessors:
                    check_ways(result, turned, near)
            result = sssp.shortest_paths(h, every, targets=some, **asked)
            assert (dense(result) == near[:, some]).all()
            sssp.verify(t, result)
            nearest = sssp.shortest_paths(h, some, nearest=True, **asked)
            assert (dense(nearest) == near[some].min(axis=0)).all()
            sssp.verify(t, nearest)
            at = np.flatnonzero(nearest.reached)
            assert (near[nearest.origin[at], at] == dense(nearest)[at]).all()
            trips = sssp.pairs(h, np.repeat(every, g.n), np.tile(every, g.n), **asked)
            assert (trips.to_float().reshape(near.shape) == near).all()
            sssp.verify(t, trips)
            for trip in np.flatnonzero(trips.reached) if predecessors else []:
                assert turned.length(trips.path_arcs(trip).tolist()) == trips.distances[trip]
        if device != "cpu":
            many = np.resize(every, 33)  # (so many are swept side by side)
            there = sssp.shortest_paths(h, many, output="device", **on)
            assert (dense(there.to_host()) == expected[many]).all()
        within = near < INF
        weights = every + 1
        assert (sssp.reduce(h, every, "count", limit=limit, **on) == within.sum(axis=1)).all()
        sums = sssp.reduce(h, every, "weight", vertex_weights=weights, limit=limit, **on)
        assert (sums == (within * weights).sum(axis=1)).all()
        closeness = sssp.reduce(h, every, "closeness", targets=some, **on)
        assert closeness.tolist() == sssp.reduce(t, every, "closeness", targets=some).tolist()
        for direction, table in (("from", near[some]), ("to", near[:, some].T)):
            asked = {"k": 1, "direction": direction, "limit": limit, **on}
            found = sssp.nearest(h, some, **asked)
            distances = np.where(found.reached, found.distances, INF)
            assert (distances[:, 0] == table.min(axis=0)).all()
            sssp.verify(t, found)
            if len(some) > 1:
                two = sssp.nearest(h, some, **asked | {"k": 2})
                assert (
                    np.where(two.reached, two.distances, INF) == np.sort(table, axis=0)[:2].T
                ).all()
                sssp.verify(t, two)
        back = h.reverse()
        assert (dense(sssp.shortest_paths(back, every, **on)) == expected.T).all()
        assert (dense(sssp.shortest_paths(back, every, output="sparse", **on)) == expected.T).all()
        counts = sssp.reduce(back, every, "count", **on)
        assert (counts == (expected.T < INF).sum(axis=1)).all()

    draw_and_ask(device, questions(LIGHTEST), check, 12)


@pytest.mark.gpu
@pytest.mark.parametrize("u_turns", [None, 5])
def test_rows_on_a_device_are_gathered_only_where_turns_cut_something_off(device, u_turns):
    g = sssp.road_like(60, seed=4)
    named = g.with_turns(([0], [int(g.indptr[g.indices[0]])], [9]), arcs=True, u_turns=u_turns)
    into = int(g.indices[0])
    out = range(int(g.indptr[into]), int(g.indptr[into + 1]))
    entering = np.flatnonzero(g.indices == into)
    banned = np.repeat(entering, len(out)), np.tile(out, entering.size)
    apart = g.with_turns((*banned, np.full(banned[0].size, INF)), arcs=True)
    rows = np.resize(np.arange(g.n), 40)
    for t, side_by_side in ((named, True), (apart, False)):
        found = sssp.shortest_paths(sssp.prepare(t), rows, device=device, output="device")
        assert (found.distances.pitch is not None) == side_by_side
        expected = sssp.shortest_paths(t, rows, device="cpu")
        np.testing.assert_array_equal(found.to_host().distances, expected.distances)


@pytest.mark.parametrize("prepared", [False, True], ids=["flat", "prepared"])
def test_versions_and_files_keep_turns(prepared, tmp_path):
    def check(drawn: Any) -> None:
        g, given, turned, some, _ = drawn
        t = g.with_turns(**given)
        h = sssp.prepare(t) if prepared else t
        arcs = np.array(some)[np.array(some) < g.m]
        lengths = np.arange(g.m) % 5

        def answers(network: Any) -> Any:
            return dense(sssp.shortest_paths(network, range(network.n)))

        def expected(**changes: Any) -> Any:
            weights = [arc.weight for arc in turned.arcs]
            for arc, weight in changes.get("weights", {}).items():
                weights[arc] = weight
            changed = tuple(
                arc._replace(weight=weight)
                for arc, weight in zip(turned.arcs, weights, strict=True)
            )
            return table_of(Turned(changed, turned.costs, turned.ways), g.n)

        assert (
            answers(h.with_weights(lengths)) == expected(weights=dict(enumerate(lengths)))
        ).all()
        closed = expected(weights=dict.fromkeys(arcs.tolist(), INF))
        assert (answers(h.without_arcs(arcs)) == closed).all()
        assert (answers(t.without_arcs(arcs).without_closed_arcs()) == closed).all()
        there = g.reverse().arcs(g.indices[arcs], g.tails[arcs])
        assert (answers(h.reverse().without_arcs(there)) == closed.T).all()
        changed = expected(weights=dict.fromkeys(arcs.tolist(), 2))
        assert (answers(h.with_changes(arcs, 2)) == changed).all()
        if prepared:
            both = list(h.scenarios([lengths, (arcs, 2)]))
            assert (answers(both[0]) == answers(h.with_weights(lengths))).all()
            assert (answers(both[1]) == changed).all()
        usual = expected()
        assert (answers(pickle.loads(pickle.dumps(h))) == usual).all()
        for network, right in ((h, usual), (h.reverse(), usual.T)):
            network.save(tmp_path / "town.sssp")
            read = sssp.read_hierarchy if prepared else sssp.read_graph
            assert (answers(read(tmp_path / "town.sssp")) == right).all()
        assert (answers(t.scaled(3)) == 3 * usual).all()
        part = t.largest_component("weak")
        inside = np.arange(g.n) if part.labels is None else part.labels
        assert (answers(part) == usual[np.ix_(inside, inside)]).all()
        assert (answers(t.without_turns()) == answers(g)).all()

    draw_and_ask("cpu", questions(), check, 12)


# ---- what the caller says


@pytest.fixture
def crossing() -> sssp.Graph:
    """Four streets that meet at vertex 0, to the east, north, west and south."""
    places = [[0, 0], [1, 0], [0, 1], [-1, 0], [0, -1]]
    return sssp.Graph.from_arcs([0] * 4, [1, 2, 3, 4], [10] * 4, directed=False, coordinates=places)


def between(t: Any, tail: int, head: int) -> Any:
    distance = sssp.shortest_paths(t, tail, targets=head).to_float()
    return distance.item()


def test_rows_of_an_undirected_graph_meet_at_the_vertex_that_they_share(crossing):
    t = crossing.with_turns(([0, 1], [1, 2], [INF, 5]))
    assert [between(t, 1, 2), between(t, 2, 1), between(t, 2, 3)] == [40, 20, 25]
    assert repr(t.turns).startswith("<Turns: 2 of 2 rows met turns; 1 of 5 crossings split")
    assert t.turns.split == 1
    assert "1 crossings with turns" in repr(t)


def test_a_row_of_kind_only_forbids_the_other_turns(crossing):
    t = crossing.with_turns(([0], [1], [0], ["only"]), u_turns=INF)
    assert [between(t, 1, v) for v in (2, 3, 4)] == [20, 40, 40]
    lifted = t.with_turn_costs([0])
    assert [between(lifted, 1, v) for v in (2, 3, 4)] == [20, 20, 20]


def test_a_table_may_be_a_frame(crossing):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"from": [0, 0], "to": [1, 1], "cost": [3, 7]})
    assert between(crossing.with_turns(frame), 1, 2) == 27  # the dearest counts
    frame["kind"] = ["cost", "no"]
    assert between(crossing.with_turns(frame), 1, 2) == 40


def test_costs_of_angles_are_positive_to_the_left(crossing):
    seen = []

    def cost(angles: Any) -> Any:
        seen.extend(angles.round().tolist())
        return np.where(angles > 45, 8, np.where(angles < -45, 3, 0))

    t = crossing.with_turns(cost=cost, u_turns=INF)
    # from the east to the south one turns left, to the north right
    assert [between(t, 1, v) for v in (3, 4, 2)] == [20, 28, 23]
    assert {min(seen), max(seen)} == {-90, 180}


def test_the_way_back_is_an_angle_of_180_wherever_a_street_leads():
    random = np.random.default_rng(7)
    ends = random.integers(0, 60, (2, 200))
    ends = ends[:, ends[0] != ends[1]]
    places = random.uniform(-80, 80, (60, 2)).round(6)
    weights = np.ones(ends.shape[1])
    tails, heads = ends
    g = sssp.Graph.from_arcs(tails, heads, weights, coordinates=places, n=60, directed=False)

    def cost(angles: Any) -> Any:
        pairs = [(a, b) for a in range(g.m) for b in range(*g.indptr[g.indices[a] :][:2])]
        into, out = np.transpose(pairs)
        assert (angles[g.indices[out] == g.tails[into]] == 180).all()
        assert ((angles > -180) & (angles <= 180)).all()
        return np.zeros(angles.size)

    g.with_turns(cost=cost)


def test_a_closed_street_is_a_way_out():
    g = sssp.Graph.from_arcs([0, 1], [1, 2], [1, 1], directed=False)
    t = g.without_arcs(g.arcs([1, 2], [2, 1])).with_turns(u_turns=INF)
    there, back = g.arc(0, 1), g.arc(1, 0)
    for network, length in ((t, INF), (t.with_weights(g.weights), 3)):
        trip = sssp.pairs(network, source_arcs=there, target_arcs=back)
        assert trip.to_float().tolist() == [length]


def test_costs_by_the_hour_need_no_new_structure(crossing):
    h = sssp.prepare(crossing.with_turns(([0, 1], [1, 2], [INF, 0])))
    assert [between(h, 1, 2), between(h, 2, 3)] == [40, 20]
    night = h.with_turn_costs([0, INF])
    assert [between(night, 1, 2), between(night, 2, 3)] == [20, 40]
    assert night._structure is h._structure


def test_a_way_is_forbidden_from_end_to_end():
    g = sssp.Graph.from_arcs([0, 4, 1, 2, 2], [1, 1, 2, 3, 5], [1] * 5)
    t = g.with_turns(ways=[[0, 2, 3]])
    assert [between(t, 0, 3), between(t, 4, 3), between(t, 0, 5), between(t, 1, 3)] == [
        INF,
        3,
        3,
        2,
    ]


def test_rows_that_are_no_arcs_are_counted():
    g = sssp.Graph.from_arcs([0, 1, 1], [1, 1, 2], [1, 0, 1])
    t = g.with_turns(([0, 0, 1], [1, 2, 2], [1, 2, 3]), ways=[[0, 1, 2]])
    assert t.turns is not None
    assert (t.turns.rows, t.turns.unmet, t.turns.row_turn.tolist()) == (3, 2, [-1, 0, -1])
    assert between(t, 0, 2) == 4
    result = sssp.shortest_paths(t, 0, predecessors=True)
    assert result.load_turns([0, 0, 5]).tolist() == [0, 5, 0]
    assert sssp.pairs(t, 0, [1, 2], predecessors=True).load_turns([2, 5]).tolist() == [0, 5, 0]


def test_rows_may_name_turns_where_no_arc_is_left():
    g = sssp.Graph.from_arcs([0, 0], [0, 0], [1, 1])
    assert "0 of 1 rows met turns" in repr(g.with_turns(([0], [1], [1])).turns)


def test_rows_outside_of_a_part_meet_nothing_there():
    g = sssp.Graph.from_arcs([0, 1, 3, 4], [1, 2, 4, 5], [1] * 4)
    named = [0, 2], [1, 3], [1, 1]
    cut = g.largest_component("weak").with_turns(named)
    for part in (g.with_turns(named).largest_component("weak"), cut):
        assert part.turns is not None
        assert part.turns.row_turn.tolist() == [0, -1]
        assert "1 of 2 rows met turns" in repr(part.turns)
    assert "; 1 sequence forbidden" in repr(g.with_turns(ways=[[0, 1]]).turns)


def test_functions_of_scipy_refuse_a_graph(crossing):
    with pytest.raises(TypeError, match=r"give g.to_scipy\(\)"):
        sssp.csgraph.dijkstra(crossing)
    for function in (sssp.csgraph.dijkstra, sssp.csgraph.floyd_warshall):
        with pytest.raises(ValueError, match="does not know turns"):
            function(crossing.with_turns(([0], [1], [INF])))
    with pytest.raises(TypeError, match=r"sssp\.shortest_paths"):
        sssp.csgraph.yen(sssp.prepare(crossing), 0, 1, 2)


def test_arcs_to_ends_of_trips_close_no_cycle(crossing):
    searched = crossing.with_turns(([0], [1], [INF]))._searched
    assert searched.least_weight == 0
    assert untied_distance(searched, np.dtype(np.int32)) >= 100


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"table": ([0], [4], [1])}, IndexError, "to of row 0 .* is 4, and there are 4 input rows"),
        ({"table": ([0], [0], [1])}, ValueError, "meets it at both ends: name arcs"),
        (
            {"table": ([0], [1], [1]), "arcs": True},
            ValueError,
            "does not end where the other begins",
        ),
        ({"table": ([0, 0], [1, 2], [1, -1])}, ValueError, "cost of row 1 is -1"),
        ({"table": ([0], [1], [math.nan])}, ValueError, "cost of row 0 is nan"),
        ({"table": ([0], [1], [0.5])}, ValueError, "whole numbers"),
        ({"table": ([0], [1], [2**63])}, sssp.DistanceOverflowError, "row 0 .*not fit int64"),
        ({"table": ([0] * 2, [1] * 2, [1, 1e30])}, sssp.DistanceOverflowError, "cost of row 1 is"),
        (
            {"table": ([0, 1], [1, 2], [1, 2**63 - 2])},
            sssp.DistanceOverflowError,
            "cost of row 1 .* do not fit int64 together",
        ),
        ({"table": ([0], [1], [0], ["never"])}, ValueError, "kind of row 0 is 'never'"),
        ({"table": ([0], [1])}, TypeError, "not a tuple of 2"),
        ({"table": "turns.csv"}, TypeError, "not str"),
        ({"table": ([0], [1, 2], [1])}, ValueError, "equally long"),
        ({"table": ([0, math.nan], [1, 1], [1, 1])}, TypeError, "a column of integers.*row 1"),
        ({"u_turns": -1}, ValueError, "cost of U-turn 0 is -1"),
        ({"u_turns": "no"}, TypeError, "must be one number"),
        ({"u_turns": 9, "lightest": 1.5}, ValueError, "lightest must be a number from 0 to 1"),
        ({"ways": [[0]]}, ValueError, "way 0 has 1 arcs"),
        ({"ways": [[0, 1], [0, 1, 2]]}, ValueError, "way 1, .* are no path"),
        ({"cost": [1, 2]}, ValueError, "2 costs for 20 pairs"),
    ],
)
def test_what_is_no_turn_is_refused(crossing, given, error, words):
    with pytest.raises(error, match=words):
        crossing.with_turns(**given)


@given(turned_graphs(SMALL_INTEGERS | DYADIC), st.sampled_from([0.5, 1.0]), st.data())
def test_u_turns_that_may_pay_are_enough_for_weights_that_are_allowed(drawn, share, data):
    g, named, _ = drawn
    every, near = g.with_turns(**named), g.with_turns(**named | {"lightest": share})
    assert near.turns is not None
    assert every.turns is not None
    assert near.turns.split <= every.turns.split
    closed, integral = closed_weight(g.weights.dtype), g.weights.dtype.kind == "i"
    least = share * np.where(g.weights == closed, 0, g.weights)
    more = data.draw(st.lists(st.sampled_from([0, 1, 4]), min_size=g.m, max_size=g.m))
    weights = (np.ceil(least) if integral else least).astype(g.weights.dtype)
    weights += np.array(more, g.weights.dtype)
    stays = data.draw(st.lists(st.booleans(), min_size=g.m, max_size=g.m))
    weights = np.where(stays, weights, closed)
    asked, h = every.with_weights(weights), sssp.prepare(near)
    expected = dense(sssp.shortest_paths(asked, range(g.n)))
    for network in (near.with_weights(weights), h.with_weights(weights)):
        assert (dense(sssp.shortest_paths(network, range(g.n))) == expected).all()
        back = sssp.shortest_paths(network.reverse(), range(g.n))
        assert (dense(back) == expected.T).all()
    if integral:
        tripled = sssp.shortest_paths(asked.scaled(3), range(g.n))
        again = pickle.loads(pickle.dumps(near)).with_weights(weights).scaled(3)
        assert (dense(sssp.shortest_paths(again, range(g.n))) == dense(tripled)).all()


def test_weights_that_would_make_other_u_turns_pay_are_refused(tmp_path):
    # (0 - 1 - 2 - 3 - 4, and 5 beside 1: there is no way from 0 to 5 but back from 2)
    g = sssp.Graph.from_arcs([0, 1, 2, 3, 1], [1, 2, 3, 4, 5], [4, 4, 4, 4, 4], directed=False)
    t = g.with_turns(([0], [4], [INF]), u_turns=9, lightest=0.75)
    t.save(tmp_path / "town.sssp")
    for one in (t, sssp.read_graph(tmp_path / "town.sssp")):
        assert one.turns is not None
        assert one.turns.split == 3  # (1 and the crossings near: from 3 it is too far)
        assert sssp.shortest_paths(one, 0).distances[5] == 4 + 8 + 9 + 4
        assert sssp.shortest_paths(one.with_weights(g.weights - 1), 0).distances[5] == 21
        h = sssp.prepare(one)
        lighter = g.weights - 2
        for refuse in (
            lambda: one.with_weights(lighter),  # noqa: B023
            lambda: one.with_changes([1], [2]),  # noqa: B023
            lambda: h.with_weights(lighter),  # noqa: B023
            lambda: next(h.scenarios([([1], [2])])),  # noqa: B023
        ):
            with pytest.raises(ValueError, match=r"gets the weight 2, and .* hold for 3 or more"):
                refuse()
        with pytest.raises(ValueError, match="scale the graph first"):
            one.scaled(1.5)
    free = g.with_turns(u_turns=9, lightest=1)
    assert free.turns is not None
    assert free.turns.split == 0  # (nothing to go around)


def test_angles_need_coordinates():
    with pytest.raises(ValueError, match="needs coordinates"):
        sssp.Graph.from_arcs([0], [1], [1]).with_turns(cost=np.abs)


def test_what_cannot_tell_of_turns_says_so(crossing):
    t = crossing.with_turns(u_turns=INF)
    result = sssp.shortest_paths(t, 0, predecessors=True)
    assert "with predecessors" in repr(result)
    with pytest.raises(ValueError, match="no tree over its vertices"):
        _ = result.predecessors
    for ask in (
        t.to_scipy,
        t.to_networkx,
        lambda: sssp.betweenness(t),
        lambda: sssp.transitive_closure(t),
        lambda: sssp.all_pairs(t, method="floyd-warshall"),
        lambda: sssp.all_pairs(t, method="johnson"),
    ):
        with pytest.raises(ValueError, match="does not know turns"):
            ask()
    with pytest.raises(ValueError, match="has turns; give new ones"):
        t.with_turns()
    assert sssp.all_pairs(t).distances.shape == (5, 5)
    for ask in (
        lambda: crossing.with_turn_costs([]),
        lambda: result_of(crossing).load_turns([0] * 5),
    ):
        with pytest.raises(ValueError, match="no turns"):
            ask()
    with pytest.raises(ValueError, match="1 costs for 0 rows"):
        t.with_turn_costs([1])


def result_of(g: sssp.Graph) -> sssp.ShortestPaths:
    return sssp.shortest_paths(g, 0, predecessors=True)


def test_sums_of_weights_and_costs_that_leave_int64_are_refused(crossing):
    t = crossing.with_turns(([0], [1], [2**62])).with_weights([2**62] * 8)
    with pytest.raises(sssp.DistanceOverflowError, match="do not fit int64 together"):
        sssp.shortest_paths(t, 0)


@pytest.mark.parametrize("backward", [False, True])
def test_new_costs_of_turns_that_leave_int64_are_refused_by_row(crossing, backward):
    t = crossing.with_turns(([0, 2, 0], [1, 3, 2], [1, 1, 1]))
    t = t.reverse() if backward else t
    assert t.with_turn_costs([1, 2, 2**63 - 100]).turns.rows == 3
    for ask in (t, sssp.prepare(t)):
        with pytest.raises(sssp.DistanceOverflowError, match=r"cost of row 2 .* the weight 10"):
            ask.with_turn_costs([1, 2, 2**63 - 2])


def test_fractions_stand_beside_floats_alone(crossing):
    t = crossing.with_weights(crossing.weights * 0.5).with_turns(([0], [1], [0.25]))
    assert between(t, 1, 2) == 10.25
    assert between(t.scaled(4), 1, 2) == 41
    with pytest.raises(ValueError, match="whole numbers"):
        t.with_weights(crossing.weights)


@pytest.mark.parametrize("change", [{"distances": 1}, {"inside": 1}, {"trip": 1}])
def test_the_certificate_refuses_what_is_wrong(crossing, change):
    t = crossing.with_turns(([0], [1], [INF]))
    if "trip" in change:
        trips = sssp.pairs(t, [1], [2], predecessors=True)
        free = sssp.pairs(crossing, [1], [2], predecessors=True)
        trips._walks, trips._arcs = free._walks, None
        with pytest.raises(sssp.VerificationError, match="a turn that is forbidden"):
            sssp.verify(t, trips)
        return
    result = sssp.shortest_paths(t, 1, predecessors="inside" in change)
    sssp.verify(t, result)
    result.distances = result.distances + 1
    with pytest.raises(sssp.VerificationError):
        sssp.verify(t, result)
    with pytest.raises(sssp.VerificationError, match="g has none"):
        sssp.verify(crossing, result)


@pytest.mark.parametrize("unit", [1, 0.1], ids=["integers", "floats"])
def test_the_certificate_of_facilities_heeds_turns(crossing, unit):
    g = crossing.with_weights(crossing.weights * unit)
    t = g.with_turns(([0], [1], [INF]))
    for network in (t, sssp.prepare(t)):
        right = sssp.nearest(network, [1, 3, 4], k=2)
        sssp.verify(t, right)
        right.index[2] = right.index[2, ::-1]  # (as far, in the other order)
        if unit == 1:
            with pytest.raises(sssp.VerificationError, match="but with turns the nearest are"):
                sssp.verify(t, right)
        else:
            sssp.verify(t, right, rtol=1e-9)
        right.index[2, 0] = 0
        with pytest.raises(sssp.VerificationError, match="vertex 2 is given"):
            sssp.verify(t, right, rtol=1e-9)
    with pytest.raises(sssp.VerificationError, match="but with turns the nearest are"):
        sssp.verify(t, sssp.nearest(g, [1, 3, 4], k=2))


def test_a_file_with_turns_of_another_graph_is_refused(crossing, tmp_path):
    from sssp.loaders import read_any, write_arrays

    crossing.with_turns(([0], [1], [INF])).save(tmp_path / "town.sssp")
    content: Any = read_any(tmp_path / "town.sssp")
    meta, arrays = content
    for name, value in (("into", 99), ("out", 4), ("turn", 7), ("costs", -1), ("row_turn", 9)):
        wrong = np.full_like(arrays[f"turns_{name}"], value)
        write_arrays(tmp_path / "bad.sssp", meta, arrays | {f"turns_{name}": wrong})
        with pytest.raises(sssp.GraphFormatError, match="not those of this graph"):
            sssp.read_graph(tmp_path / "bad.sssp")


@pytest.mark.parametrize("prepared", [False, True], ids=["flat", "prepared"])
def test_a_job_heeds_turns(crossing, tmp_path, prepared):
    zarr = pytest.importorskip("zarr")
    t = crossing.with_turns(([0, 1], [1, 2], [INF, 7]), u_turns=3)
    h = sssp.prepare(t) if prepared else t
    rows, km = sssp.shortest_paths(t, range(5), predecessors=True), np.arange(8)
    every: dict[str, Any] = {"block_size": 2, "certify": 5}
    sssp.run(h, range(5), to=tmp_path / "od.zarr", skim={"km": km}, **every)
    table = zarr.open(tmp_path / "od.zarr")
    assert (table["distances"][:] == rows.distances).all()
    assert (table["km"][:] == rows.skim(km)).all()
    sssp.run(h, range(5), to=tmp_path / "sums.zarr", reduce="sum", **every)
    assert (zarr.open(tmp_path / "sums.zarr")["sum"][:] == rows.distances.sum(axis=1)).all()
    with pytest.raises(sssp.SSSPError):  # the table is of another graph
        sssp.run(crossing, range(5), to=tmp_path / "sums.zarr", reduce="sum", **every)


def test_named_turns_of_a_reversed_graph_are_loaded_alike_by_trips_and_trees() -> None:
    arcs = [0, 1, 1, 2, 3, 4, 5, 0], [1, 2, 3, 3, 4, 5, 0, 4], [5, 5, 9, 1, 1, 1, 1, 1]
    t = sssp.Graph.from_arcs(*arcs).with_turns(([0, 1, 4, 5, 6], [1, 3, 5, 6, 0], [2, 3, 1, 4, 6]))
    for graph in (t, t.reverse()):
        trees = sssp.shortest_paths(graph, range(6), predecessors=True)
        ends = np.indices((6, 6)).reshape(2, -1)
        trips = sssp.pairs(graph, *ends, predecessors=True)
        loads = trips.load_turns(np.ones(36, int)), trees.load_turns(np.ones((6, 6), int))
        assert loads[0].tolist() == loads[1].tolist()
        assert loads[0].any()


@every_device
@pytest.mark.parametrize("prepared", [False, True], ids=["flat", "prepared"])
@pytest.mark.parametrize("turned", [False, True], ids=["plain", "turns"])
def test_trips_start_after_arcs_and_end_on_them(device, prepared, turned):
    def check(drawn: Any) -> None:
        g, given, driven, _, limit = drawn
        if not g.m:
            return
        if not turned:
            driven = Turned(driven.arcs, {}, frozenset())
        t = g.with_turns(**given) if turned else g
        h = sssp.prepare(t) if prepared else t
        arcs = np.arange(g.m)
        on: Any = {"device": device, "limit": limit}
        searches = [driven.search((), v) for v in range(g.n)]
        searches += [driven.search((a,), int(g.indices[a])) for a in range(g.m)]
        table = np.full((g.n + g.m, g.n + g.m), INF)
        for row, found in zip(table, searches, strict=True):
            for places in (found[0].items(), ((g.n + b, far) for b, far in found[1].items())):
                for place, far in places:
                    row[place] = far if limit is None or far <= limit else INF
        sides: Any = ("sources", np.arange(g.n), 0), ("source_arcs", arcs, g.n)
        for start, first, low in sides:
            for end, last, left in (("targets", sides[0][1], 0), ("target_arcs", arcs, g.n)):
                right = table[low : low + first.size, left : left + last.size]
                rows = sssp.shortest_paths(h, **{start: first, end: last}, **on)
                assert (dense(rows) == right).all()
                sssp.verify(t, rows)
                named: Any = {start: int(first[0]), end: int(last[0])}
                one = sssp.shortest_paths(h, **named, **on)
                assert one.to_float() == right[0, 0]
                ends: Any = {start: np.repeat(first, last.size), end: np.tile(last, first.size)}
                for predecessors in (False, True):
                    trips = sssp.pairs(h, **ends, predecessors=predecessors, **on)
                    assert (trips.to_float().reshape(right.shape) == right).all()
                    sssp.verify(t, trips)
                check_trips_between_arcs(trips, driven)
        whole = sssp.shortest_paths(h, source_arcs=arcs, predecessors=True, **on)
        assert (dense(whole) == table[g.n :, : g.n]).all()
        sssp.verify(t, whole)
        near = sssp.shortest_paths(h, source_arcs=arcs, nearest=True, **on)
        assert (dense(near) == table[g.n :, : g.n].min(axis=0)).all()
        sssp.verify(t, near)

    draw_and_ask(device, questions(), check, 12)


def check_trips_between_arcs(trips: sssp.Trips, driven: Turned) -> None:
    """Check the paths of trips, and the turns on them, by driving along."""
    t = trips.graph
    turning: dict[tuple[int, int], int] = {}
    for i in np.flatnonzero(trips.reached).tolist():
        way = trips.path_arcs(i).tolist()
        if trips.target_arcs is not None:
            assert way[-1] == trips.target_arcs[i]
        before = [] if trips.source_arcs is None else [int(trips.source_arcs[i])]
        assert trips.path(i)[0] == trips.sources[i]
        whole = sum(
            driven.price([*before, *way[:k]], arc) + driven.arcs[arc].weight
            for k, arc in enumerate(way)
        )
        assert whole == trips.distances[i]
        for pair in zip([*before, *way], way if before else way[1:], strict=False):
            turning[pair] = turning.get(pair, 0) + 1
    if t.turns is not None:
        pairs = zip(t.turns.into.tolist(), t.turns.out.tolist(), strict=True)
        pair_of = dict(zip(t.turns.turn.tolist(), pairs, strict=False))
        named = [0 if k < 0 else turning.get(pair_of[k], 0) for k in t.turns.row_turn.tolist()]
        assert trips.load_turns(trips.reached.astype(int)).tolist() == named


def test_ends_on_arcs_are_checked(crossing):
    t = crossing.with_turns(([0], [1], [INF]))
    a = crossing.arcs([1], [0]).item()
    out = np.empty(2, np.int32)
    rows = sssp.shortest_paths(t, source_arcs=a, target_arcs=crossing.arcs([0, 0], [2, 3]), out=out)
    assert rows.distances is out
    assert out.tolist() == [30, 10]
    assert sssp.shortest_paths(t, 1, targets=[2, 3]).distances.tolist() == [40, 20]
    for error, words, ask in (
        (
            TypeError,
            "source_arcs=, not both",
            lambda: sssp.pairs(t, 0, 1, source_arcs=0),
        ),
        (TypeError, "targets or target_arcs=, not None", lambda: sssp.pairs(t, 0)),
        (TypeError, "sources or source_arcs=, not None", lambda: sssp.shortest_paths(t)),
        (
            TypeError,
            "targets or target_arcs=, not both",
            lambda: sssp.shortest_paths(t, 0, targets=0, target_arcs=0),
        ),
        (IndexError, "no position of an arc", lambda: sssp.pairs(t, 0, target_arcs=[8])),
        (
            ValueError,
            "sssp.pairs finds the paths",
            lambda: sssp.shortest_paths(t, 0, target_arcs=0, predecessors=True),
        ),
        (
            ValueError,
            "ask the graph itself",
            lambda: sssp.shortest_paths(t.reverse(), source_arcs=0),
        ),
        (ValueError, "columns of this table are arcs", lambda: rows.distance(2)),
    ):
        with pytest.raises(error, match=words):
            ask()
    rows.distances = rows.distances + 1
    with pytest.raises(sssp.VerificationError):
        sssp.verify(t, rows)


@given(questions())
def test_breadth_first_search_counts_streets(drawn: Any) -> None:
    g, options, turned, some, limit = drawn
    arcs = tuple(arc._replace(weight=1 if arc.weight < INF else INF) for arc in turned.arcs)
    free = {pair: cost if cost == INF else 0 for pair, cost in turned.costs.items()}
    counted = Turned(arcs, free, turned.ways)
    expected, t = table_of(counted, g.n), g.with_turns(**options)
    if limit is not None:
        expected[expected > limit] = INF
    asked: Any = {"method": "breadth-first", "limit": limit}
    every = np.arange(g.n)
    rows = sssp.shortest_paths(t, every, predecessors=True, **asked)
    assert rows.method == "breadth-first"
    assert rows.graph is t
    trips = sssp.pairs(t, np.repeat(every, g.n), np.tile(every, g.n), predecessors=True, **asked)
    near = sssp.nearest(t, some, **asked)
    assert (dense(rows) == expected).all()
    assert (trips.to_float().reshape(expected.shape) == expected).all()
    assert (np.where(near.reached, near.distances, INF)[:, 0] == expected[some].min(axis=0)).all()
    for vertex in np.flatnonzero(rows.reached[0]).tolist():
        assert rows.path_arcs(vertex).size == expected[0, vertex]
    results: list[Any] = [rows, trips, near]
    if g.m:
        on = sssp.shortest_paths(t, 0, target_arcs=range(g.m), **asked)
        found = counted.search((), 0)[1]
        right = [found.get(arc, INF) for arc in range(g.m)]
        if limit is not None:
            right = [far if far <= limit else INF for far in right]
        assert dense(on).tolist() == right
        results.append(on)
    for result in results:
        sssp.verify(t, result)


@given(turned_graphs())
def test_input_rows_name_the_turns_of_their_arcs(drawn: Any) -> None:
    g, options, _ = drawn
    assume(options["table"] is not None)
    into, out, *rest = map(np.array, options["table"])
    meets, row = g.indices[:, None] == g.tails, g.arc_origin
    pairs = [meets[np.ix_(row == row[a], row == row[b])] for a, b in zip(into, out, strict=True)]
    alone = np.array([pair.sum() == 1 for pair in pairs])
    into, out, *rest = (column[alone] for column in (into, out, *rest))
    by_arc = g.with_turns((into, out, *rest), arcs=True).turns
    by_row = g.with_turns((row[into], row[out], *rest)).turns
    for name in ("into", "out", "turn", "costs", "row_turn"):
        assert getattr(by_arc, name).tolist() == getattr(by_row, name).tolist()


@given(turned_graphs(), st.lists(st.integers(0, 6), min_size=GREATEST_N, max_size=GREATEST_N))
def test_turns_beside_negative_weights(drawn: Any, heights: list[int]) -> None:
    g, options, turned = drawn
    assume(g.directed)
    p, closed = np.array(heights[: g.n]), g.weights == np.iinfo(g.weights.dtype).max
    shifted = g.weights.astype(np.int64) + p[g.tails] - p[g.indices]
    t = g.with_weights(np.where(closed, MISSING, shifted)).with_turns(**options)
    expected = table_of(turned, g.n) + p[:, None] - p
    for network in (t, sssp.prepare(t)):
        result = sssp.shortest_paths(network, range(g.n), predecessors=True)
        assert (dense(result) == expected).all()
        sssp.verify(t, result)


@given(questions())
def test_trip_labels_heed_turns(drawn: Any) -> None:
    g, options, turned, _, limit = drawn
    h = sssp.prepare(g.with_turns(**options)).with_trip_labels()
    expected, every = table_of(turned, g.n), np.arange(g.n)
    if limit is not None:
        expected[expected > limit] = INF
    trips = sssp.pairs(h, np.repeat(every, g.n), np.tile(every, g.n), limit=limit)
    assert (trips.to_float().reshape(expected.shape) == expected).all()
