"""`assign` against plain Python: no trip has a better way, and everything that begins also ends."""

from __future__ import annotations

import math
import pickle
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import sssp
from sssp.calls import assign as assigning
from sssp.datasets import find
from tests import naive
from tests.strategies import graph_of, networks, turned_graphs

#: the two ways of `two_ways`: one row, and two rows behind each other
FREE, CAPACITY = np.array([10.0, 4.0, 4.0]), np.array([100.0, 50.0, 50.0])
#: trips along them
ONE = [0], [2], [[400.0]]
#: best objectives of the publisher, and what a unit of length and toll costs there
PUBLISHED = {
    "SiouxFalls": (4_231_335.28711, 0.0, 0.0),
    "Anaheim": (1_286_032.1711, 0.0, 0.0),
    "ChicagoSketch": (17_313_018.7387, 0.04, 0.02),
}


def two_ways():
    return sssp.Graph.from_arcs([0, 0, 1], [2, 1, 2], [1, 1, 1])


def linear():
    return sssp.BPR(FREE, CAPACITY, beta=1.0)


def least_payment(network, costs, demand, closed=()):
    """Return what all trips cost on shortest paths, by plain Python."""
    paid = 0.0
    for origin in {origin for origin, _ in demand}:
        passable = tuple(
            naive.Arc(
                arc.tail,
                arc.head,
                cost if arc.tail == origin or arc.tail not in closed else math.inf,
            )
            for arc, cost in zip(network.arcs, costs, strict=True)
        )
        part = naive.Network(network.n, passable, network.directed, integer=False)
        distances = naive.solve(part, [origin]).distances
        paid += sum(
            volume * distances[destination]
            for (start, destination), volume in demand.items()
            if start == origin and volume
        )
    return paid


def balance(network, flows):
    """Return what begins at every vertex, less what ends there."""
    more = [0.0] * network.n
    for arc, flow in zip(network.arcs, flows, strict=True):
        more[arc.tail] += flow
        more[arc.head] -= flow
    return np.array(more)


def by_formula(free, capacity, flow, alpha=0.15, beta=4.0):
    return [f * (1 + alpha * (x / c) ** beta) for f, c, x in zip(free, capacity, flow, strict=True)]


@st.composite
def problems(draw):
    """Draw a network, its capacities, and trips between vertices that paths connect."""
    network = draw(networks(least_n=2))
    assume(network.arcs)
    size = len(network.arcs)
    capacity = draw(st.lists(st.integers(1, 9), min_size=size, max_size=size))
    volumes = st.sampled_from([0.0, 0.5, 1.0, 7.0, 20.0])
    pairs = {}
    for origin in draw(
        st.lists(st.integers(0, network.n - 1), min_size=1, max_size=3, unique=True)
    ):
        for destination in sorted(naive.solve(network, [origin]).distances):
            pairs[origin, destination] = draw(volumes)
    return network, np.array(capacity, float), pairs


def trips_of(pairs):
    origins, destinations = np.array(list(pairs)).T
    return origins, destinations, np.array(list(pairs.values()))


@settings(max_examples=25, deadline=None)
@given(problem=problems(), method=st.sampled_from(assigning.METHODS))
def test_the_gap_is_that_of_plain_python(problem, method):
    network, capacity, pairs = problem
    free = np.array([arc.weight for arc in network.arcs], float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cost = sssp.BPR(free, capacity)
        a = sssp.assign(graph_of(network), trips_of(pairs), cost, method=method, iterations=20)
    costs = by_formula(free, capacity, a.flow)
    assert a.times == pytest.approx(
        [
            math.inf if arc.tail == arc.head else c
            for arc, c in zip(network.arcs, costs, strict=True)
        ]
    )
    paid = float(a.flow @ costs)
    least = least_payment(network, costs, pairs)
    assert a.total == pytest.approx(paid)
    assert a.gap == pytest.approx((paid - least) / paid if paid else 0.0, abs=1e-9)
    assert (a.flow >= 0).all()
    if network.directed:
        wanted = np.zeros(network.n)
        for (origin, destination), volume in pairs.items():
            wanted[[origin, destination]] += [volume, -volume] if origin != destination else 0
        assert balance(network, a.flow) == pytest.approx(wanted, abs=1e-9)


@settings(max_examples=30, deadline=None)
@given(problem=problems(), count=st.integers(1, 3))
def test_no_path_passes_a_closed_zone(problem, count):
    network, capacity, pairs = problem
    assume(network.directed)
    closed = list(range(min(count, network.n)))
    free = np.array([arc.weight for arc in network.arcs], float)
    reached = {}
    for (origin, destination), volume in pairs.items():
        arcs = [a for a in network.arcs if a.tail == origin or a.tail not in closed]
        part = naive.Network(network.n, tuple(arcs))
        if destination in naive.solve(part, [origin]).distances:
            reached[origin, destination] = volume
    assume(reached)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        g, cost = graph_of(network), sssp.BPR(free, capacity)
        a = sssp.assign(g, trips_of(reached), cost, closed_zones=closed, iterations=20)
    costs = by_formula(free, capacity, a.flow)
    paid, least = float(a.flow @ costs), least_payment(network, costs, reached, closed)
    assert a.gap == pytest.approx((paid - least) / paid if paid else 0.0, abs=1e-9)
    sums = a.skim(trips_of(reached), a.times)
    assert sums @ np.array(list(reached.values())) == pytest.approx(least)
    within = [origin == destination for origin, destination in reached]
    assert (sums[within] == 0).all()


@pytest.mark.parametrize("prepared", [True, False])
def test_two_ways_are_equally_long(prepared):
    g = two_ways()
    a = sssp.assign(sssp.prepare(g) if prepared else g, ONE, linear(), gap=1e-9)
    # 10 + 0.015 x = 8 + 0.024 (400 - x)
    assert a.flow == pytest.approx([7.6 / 0.039, 400 - 7.6 / 0.039, 400 - 7.6 / 0.039])
    assert a.times[0] == pytest.approx(a.times[1] + a.times[2])
    assert a.graph is g
    assert a.total == pytest.approx(400 * a.times[0])
    assert a.by_class == {}
    assert a.selected is a.selected_flow is None
    assert repr(a).startswith("<Assignment of 3 rows: gap ")
    found = pickle.loads(pickle.dumps(a))
    assert np.array_equal(found.flow, a.flow)
    assert found.load(([0], [2], [[1.0]])).flow.sum() in (1, 2)


def test_parallel_rows_share_what_travels():
    g = sssp.Graph.from_arcs([0, 0], [1, 1], [1, 1])
    cost = sssp.BPR([2.0, 2.0], [1.0, 3.0], beta=1.0)
    assert sssp.assign(g, ([0], [1], [[8.0]]), cost, gap=1e-12).flow == pytest.approx([2, 6])


def own_cost(cost, slope, integral):
    return SimpleNamespace(cost=cost, slope=slope, integral=integral)


def test_a_new_road_makes_everybody_slower_under_costs_of_ones_own():
    """Braess 1968: six trips, and a bridge that costs each of them nine minutes."""
    tails, heads = [0, 1, 0, 2, 1], [1, 3, 2, 3, 2]
    a, b = np.array([0.0, 50, 50, 0, 10]), np.array([10.0, 1, 1, 10, 1])
    cost = own_cost(
        lambda x: a + b * x,
        lambda x: b + 0 * x,
        lambda x: np.where(np.isinf(a), 0, a) * x + b * x * x / 2,
    )
    g = sssp.Graph.from_arcs(tails, heads, np.ones(5, int))
    six = [0], [3], [[6.0]]
    with_bridge = sssp.assign(g, six, cost, gap=1e-10)
    assert with_bridge.flow == pytest.approx([4, 2, 2, 4, 2])
    assert with_bridge.total == pytest.approx(6 * 92)
    without = sssp.assign(g.without_arcs(g.arc(1, 2)), six, cost, gap=1e-10)
    assert without.flow == pytest.approx([3, 3, 3, 3, 0])
    assert without.total == pytest.approx(6 * 83)
    assert math.isinf(without.times[4])
    # closed by its cost in place of the graph
    a[4] = math.inf
    assert sssp.assign(g, six, cost, gap=1e-10).flow == pytest.approx(without.flow)


@pytest.mark.parametrize("method", ["fw", "msa"])
def test_other_methods_come_to_the_same(method):
    a = sssp.assign(two_ways(), ONE, linear(), method=method, gap=1e-5, iterations=100_000)
    assert a.flow[0] == pytest.approx(7.6 / 0.039, rel=1e-3)


def test_conical_costs_have_the_slopes_and_integrals_that_they_say():
    flow = np.array([0.0, 30, 100, 250])
    for cost in (
        sssp.Conical(np.full(4, 3.0), 100.0, alpha=[2, 4, 5, 8], fixed=1.0),
        sssp.BPR(np.full(4, 3.0), 100.0, beta=[0, 1, 4, 2.5], fixed=[1, 2, 3, 4]),
    ):
        nearby = 1e-4
        rise = (cost.cost(flow + nearby) - cost.cost(flow)) / nearby
        assert rise == pytest.approx(cost.slope(flow), rel=1e-3, abs=1e-6)
        steps = np.linspace(0, 1, 20_001)
        sums = np.trapezoid([cost.cost(step * flow) for step in steps], steps, axis=0) * flow
        assert cost.integral(flow) == pytest.approx(sums, rel=1e-6)
    assert sssp.Conical([10.0], 100.0).cost([100.0]) == pytest.approx([20.0])


def test_classes_choose_by_what_they_pay_besides():
    g, toll = two_ways(), np.array([5.0, 0, 0])
    trips = {"rich": ([0], [2], [[200.0]]), "poor": ([0], [2], [[200.0]])}
    classes = {"rich": toll / 10, "poor": toll}
    a = sssp.assign(g, trips, linear(), classes=classes, gap=1e-9)
    assert a.by_class["rich"] + a.by_class["poor"] == pytest.approx(a.flow)
    # the toll road is empty enough for the rich, and too dear for the poor
    assert a.by_class["poor"] == pytest.approx([0, 200, 200])
    assert a.times[0] + 0.5 == pytest.approx(a.times[1] + a.times[2])
    assert a.total == pytest.approx(a.flow @ a.times + a.by_class["rich"] @ classes["rich"])
    assert a.load(([0], [2], [[1.0]]), name="poor").flow.tolist() == [0, 1, 1]
    again = sssp.assign(g, trips, linear(), classes=classes, start=a, gap=1e-8)
    assert again.iterations == 1
    with pytest.raises(ValueError, match="'rich', 'poor'"):
        a.load(([0], [2], [[1.0]]))
    # without anything besides they are one
    same = sssp.assign(g, trips, linear(), classes=dict.fromkeys(trips, 0), gap=1e-9)
    alone = sssp.assign(g, ONE, linear(), gap=1e-9)
    assert same.flow == pytest.approx(alone.flow)


def test_a_start_saves_the_iterations_that_led_to_it():
    g, demand = two_ways(), ONE
    cost = sssp.BPR(FREE, CAPACITY)
    a = sssp.assign(g, demand, cost, gap=1e-8)
    assert sssp.assign(g, demand, cost, gap=1e-8, start=a).iterations == 1
    assert sssp.assign(g, demand, cost, gap=1e-8, start=a.flow).flow == pytest.approx(a.flow)
    with pytest.raises(ValueError, match="does not carry this demand"):
        sssp.assign(g, ([0], [2], [[401.0]]), cost, start=a)
    closed = sssp.BPR([math.inf, 4, 4], CAPACITY)
    with pytest.raises(ValueError, match=r"row 0, .* 0 on a closed row"):
        sssp.assign(g, demand, closed, start=a)


def test_select_tells_whose_trips_use_a_row():
    g = sssp.Graph.from_arcs([0, 0, 1, 3], [2, 1, 2, 1], [1, 1, 1, 1])
    cost = sssp.BPR([10.0, 4.0, 4.0, 1.0], 50.0, beta=1.0)
    demand = [0, 3], [2, 1], np.array([[400.0, 20.0], [30.0, 7.0]])
    a = sssp.assign(g, demand, cost, select=[2], gap=1e-8)
    assert a.selected_flow[2] == pytest.approx(a.flow[2])
    assert a.selected.sum() == pytest.approx(a.flow[2])
    assert a.selected[0, 0] == pytest.approx(a.flow[1] - 20)
    assert a.selected[:, 1].tolist() == [0, 0]
    assert a.selected[1, 0] == 30


def test_ctrl_c_keeps_the_last_flow_whose_gap_is_known():
    cost, calls = linear(), []

    def interrupted(flow):
        calls.append(flow)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return cost.cost(flow)

    own = own_cost(interrupted, cost.slope, cost.integral)
    a = sssp.assign(two_ways(), ONE, own, gap=0, method="msa")
    assert a.interrupted
    assert len(a.history) == a.iterations
    assert a.gap == a.history.gap.iloc[-1] > 0
    assert cost.cost(a.flow) == pytest.approx(a.times)
    calls[:] = [0, 0, 0, 0]
    with pytest.raises(KeyboardInterrupt):  # nothing is known yet
        sssp.assign(two_ways(), ONE, own)


def test_too_few_iterations_are_told_once():
    with pytest.warns(UserWarning, match="after 2 iterations, and 1.00e-05 was asked for") as told:
        a = sssp.assign(two_ways(), ONE, linear(), method="msa", iterations=2, gap=1e-5)
    assert len(told) == 1
    assert a.iterations == 2
    assert list(a.history) == ["gap", "objective", "seconds"]
    assert a.objective == a.history.objective.iloc[-1]
    assert not a.interrupted


def test_what_no_map_can_be_prepared_of_goes_by_trees(monkeypatch):
    def refuse(*_, **__):
        raise ValueError("the graph is no road network")

    a = sssp.assign(two_ways(), ONE, linear(), gap=1e-9)
    monkeypatch.setattr(assigning, "prepare", refuse)
    b = sssp.assign(two_ways(), ONE, linear(), gap=1e-9)
    assert a.flow == pytest.approx(b.flow)


def test_what_leads_nowhere_may_be_left_out():
    trips = [0, 2, 2], [2, 0, 2], [400.0, 3.0, 5.0]
    a = sssp.assign(two_ways(), trips, linear(), unreached="skip", gap=1e-9)
    assert a.unreached == 3
    assert a.flow == pytest.approx(sssp.assign(two_ways(), ONE, linear(), gap=1e-9).flow)


def test_messages_name_the_ends_that_were_asked_for():
    g = sssp.Graph.from_arcs([0, 1], [1, 2], [1, 1], labels=["a", "b", "c"])
    with pytest.raises(sssp.UnreachableError, match="from c to a"):
        sssp.assign(g, ([2], [0], [[1.0]]), sssp.BPR([1.0, 1.0], 1.0), closed_zones=[0, 1])


@pytest.mark.parametrize("prepared", [True, False])
def test_no_trip_takes_a_forbidden_turn(prepared):
    t = two_ways().with_turns(([1], [2], [math.inf]))
    a = sssp.assign(sssp.prepare(t) if prepared else t, ONE, linear(), gap=1e-9)
    assert a.flow.tolist() == [400, 0, 0]
    assert a.gap == 0


@pytest.mark.parametrize("prepared", [True, False])
def test_a_turn_costs_what_a_row_would(prepared):
    t = two_ways().with_turns(([1], [2], [3]))
    network = sssp.prepare(t) if prepared else t
    a = sssp.assign(network, ONE, linear(), gap=1e-9, select=[2])
    b = sssp.assign(two_ways(), ONE, linear(), classes=None, gap=1e-9)
    c = sssp.assign(two_ways(), {"all": ONE}, linear(), classes={"all": [0, 0, 3.0]}, gap=1e-9)
    assert a.flow == pytest.approx(c.flow)
    assert a.flow[2] < b.flow[2]
    assert (a.total, a.objective) == pytest.approx((c.total, c.objective))
    assert a.total == pytest.approx(a.times @ a.flow + 3 * a.flow[2])
    assert a.selected == pytest.approx(a.flow[2])
    with pytest.raises(ValueError, match="what its turns cost"):
        sssp.assign(t, ONE, linear(), start=a)


@settings(max_examples=20, deadline=None)
@given(drawn=turned_graphs(closes=False), data=st.data())
def test_at_equilibrium_with_turns_all_pay_the_least(drawn, data):
    g, options, _ = drawn
    assume(g.m)
    t = g.with_turns(**options)
    ends = np.arange(g.n)
    closed = data.draw(st.lists(st.sampled_from(ends.tolist()), max_size=2))
    cost = sssp.BPR(np.ones(g.input_arcs), 10.0)
    shut = t._close_vertices(np.array(closed, int))
    reached = sssp.shortest_paths(shut, ends).reached
    volumes = np.where(reached, ends[:, None] + 2.0, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        a = sssp.assign(
            t, (ends, ends, volumes), cost, closed_zones=closed, gap=1e-6, iterations=300
        )
    searched = shut.with_weights(rows=np.where(np.isinf(a.times), np.inf, a.times))
    least = (sssp.shortest_paths(searched, ends).to_float()[reached] * volumes[reached]).sum()
    assert a.total - least == pytest.approx(a.gap * a.total, abs=1e-6 * max(a.total, 1))
    assert a.skim((ends, ends), a.times)[~reached].min(initial=np.inf) == np.inf


def test_closed_zones_of_undirected_rows_are_not_passed():
    rows = [0, 1, 0], [1, 2, 2]
    g = sssp.Graph.from_arcs(*rows, [1, 1, 5], directed=False)
    cost = sssp.BPR([1.0, 1.0, 5.0], 100.0)
    demand = [0, 0, 1], [2, 1, 1], [4.0, 3.0, 2.0]
    assert sssp.assign(g, demand, cost).flow.tolist() == [7, 4, 0]
    a = sssp.assign(g, demand, cost, closed_zones=[1])
    assert a.flow.tolist() == [3, 0, 4]
    assert a.load(demand).flow.tolist() == [3, 0, 4]
    assert a.skim(demand, [1, 10, 100]).tolist() == [100, 1, 0]


def test_nothing_to_carry_is_carried():
    a = sssp.assign(two_ways(), ([0], [2], [[0.0]]), linear())
    assert (a.gap, a.total, a.iterations) == (0, 0, 1)
    assert a.flow.tolist() == [0, 0, 0]


CARS, FOR_CARS = {"demand": {"cars": ONE}}, {"classes": {"cars": 0}}
UNDIRECTED = sssp.Graph.from_arcs([0, 0, 1], [2, 1, 2], [1, 1, 1], directed=False)


@pytest.mark.parametrize(
    ("error", "match", "change"),
    [
        (ValueError, "unknown method 'best'", {"method": "best"}),
        (ValueError, "gap must be", {"gap": -1}),
        (ValueError, "unreached must be", {"unreached": "ignore"}),
        (ValueError, "iterations must be", {"iterations": 0}),
        (TypeError, "no method cost", {"cost": FREE}),
        (TypeError, "both be mappings", {"classes": {"cars": 0}}),
        (ValueError, "needs classes", {"demand": {"cars": ONE}}),
        (ValueError, "'cars', but the demand is of 'vans'", {"demand": {"vans": ONE}, **FOR_CARS}),
        (ValueError, "row 1 costs class 'cars' -1", {**CARS, "classes": {"cars": [0, -1, 0]}}),
        (ValueError, r"shape \(3,\)", {**CARS, "classes": {"cars": [0, 1]}}),
        (ValueError, "one direction", {"g": UNDIRECTED, "start": [0, 0, 0]}),
        (ValueError, r"start must have shape \(3,\)", {"start": [0, 0]}),
        (ValueError, "hold flows of '', not of 'cars'", {"start": {"cars": [0, 0, 0]}}),
        (ValueError, "omit start or select", {"start": [0, 0, 0], "select": [0]}),
        (ValueError, r"shape \(2,\), not \(3,\)", {"cost": sssp.BPR(FREE[:2], 1.0)}),
        (sssp.UnreachableError, "2", {"demand": ([2], [0], [[1.0]])}),
        (sssp.VertexError, "zone 3 is not a vertex", {"closed_zones": [3]}),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(error, match, change):
    given = {"g": two_ways(), "demand": ONE, "cost": linear()} | change
    with pytest.raises(error, match=match):
        sssp.assign(given.pop("g"), given.pop("demand"), given.pop("cost"), **given)


def test_a_cost_that_is_none_is_refused_where_it_is_found():
    base = linear()
    for wrong, value in (("cost", -1.0), ("cost", math.nan), ("integral", math.inf)):
        parts = {"cost": base.cost, "slope": base.slope, "integral": base.integral}
        parts[wrong] = lambda flow, value=value: np.where(flow > 300, value, base.cost(flow))
        with pytest.raises(ValueError, match=f"{wrong} of row 1 is .* at a flow of 400"):
            sssp.assign(two_ways(), ONE, own_cost(**parts))


def test_a_row_that_is_closed_in_one_direction_is_refused():
    g = UNDIRECTED.without_arcs(UNDIRECTED.arc(2, 0))
    with pytest.raises(ValueError, match="row 0 is closed in one direction"):
        sssp.assign(g, ONE, linear())


@pytest.mark.parametrize(
    ("match", "parts"),
    [
        ("free of row 1 is -1", {"free": [1, -1], "capacity": 1}),
        ("capacity of row 0 is 0", {"free": [1, 1], "capacity": [0, 1]}),
        ("capacity of row 0 is inf", {"free": [1, 1], "capacity": math.inf}),
        ("beta of row 0 is 0.5", {"free": [1, 1], "capacity": 1, "beta": 0.5}),
        ("alpha of row 1 is nan", {"free": [1, 1], "capacity": 1, "alpha": [0, math.nan]}),
        ("fixed of row 0 is inf", {"free": [1, 1], "capacity": 1, "fixed": math.inf}),
        ("hold one for each row", {"free": [1, 1], "capacity": [1, 1, 1]}),
        ("hold one for each row", {"free": 1, "capacity": 1}),
    ],
)
def test_parameters_out_of_range_name_their_row(match, parts):
    with pytest.raises(ValueError, match=match):
        sssp.BPR(**parts)
    if "beta" not in parts and "alpha" not in parts:
        with pytest.raises(ValueError, match=match):
            sssp.Conical(**parts)


def test_conical_costs_need_an_alpha_above_one():
    with pytest.raises(ValueError, match="alpha of row 0 is 1"):
        sssp.Conical([1.0], 1.0, alpha=1)
    assert repr(sssp.Conical([1.0], 1.0)) == "<Conical of 1 rows>"


def test_the_objective_never_rises_where_rounding_hides_its_least():
    network, trips = (find(f"Anaheim_{kind}.tntp") for kind in ("net", "trips"))
    if network is None or trips is None:
        pytest.skip("Anaheim is not on this machine (see data/README.md)")
    p = sssp.read_tntp(network, trips)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        a = sssp.assign(
            p.graph, p.demand, p.cost, closed_zones=p.closed_zones, gap=0, iterations=2000
        )
    objective = a.history["objective"].to_numpy()
    assert (np.diff(objective) <= 1e-12 * objective[1:]).all()
    assert a.gap < 1e-7


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_optima_are_reached(name):
    best, distance, toll = PUBLISHED[name]
    network, trips, flow = (find(f"{name}_{kind}.tntp") for kind in ("net", "trips", "flow"))
    if network is None or trips is None or flow is None:
        pytest.skip(f"{name} is not on this machine (see data/README.md)")
    p = sssp.read_tntp(network, trips, distance=distance, toll=toll)
    a = sssp.assign(p.graph, p.demand, p.cost, closed_zones=p.closed_zones, gap=1e-6)
    assert a.gap <= 1e-6
    assert a.objective == pytest.approx(best, rel=1e-6)
    known = np.loadtxt(flow, skiprows=1, usecols=(0, 1, 2))
    volumes = {(tail, head): volume for tail, head, volume in known}
    ends = zip(p.links.tails + 1, p.links.heads + 1, strict=True)
    published = np.array([volumes[pair] for pair in ends])
    assert float(p.cost.integral(published).sum()) == pytest.approx(best, rel=1e-9)
    assert np.abs(a.flow - published).sum() < 2e-3 * published.sum()
    # and everybody pays what the shortest ways cost, but for the gap
    skimmed = a.skim(p.demand, a.times)
    assert float((skimmed * p.demand[2]).sum()) == pytest.approx(a.total, rel=2e-6)
