"""`load` and `skim`, on graphs by trees and on prepared maps without."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_array

import sssp
from sssp.calls.load_demand import Loader
from sssp.engine import thresholds
from sssp.engine.demand import as_demand
from sssp.results.row_access import onto_arcs
from tests import naive
from tests.strategies import (
    DYADIC,
    FLOATS,
    HUGE_INTEGERS,
    LARGE_INTEGERS,
    SMALL_INTEGERS,
    graph_of,
    negative_networks,
    networks,
    turned_graphs,
    vertex_lists,
)

Array = np.ndarray[Any, Any]
VOLUMES = st.sampled_from([0, 0, 1, 2, 5])


@st.composite
def demands(draw: st.DrawFn, n: int) -> tuple[Array, Array, Array]:
    """Draw more origins than a group of lanes has, duplicates and all, and volumes."""
    origins = draw(vertex_lists(n, greatest=20))
    destinations = draw(vertex_lists(n, greatest=6))
    size = len(origins) * len(destinations)
    volumes = draw(st.lists(VOLUMES, min_size=size, max_size=size))
    return (
        np.array(origins),
        np.array(destinations),
        np.array(volumes).reshape(len(origins), len(destinations)),
    )


def rows_of(network: naive.Network, origins: Array) -> dict[int, naive.Row]:
    try:
        return {origin: naive.solve(network, [origin]) for origin in origins.tolist()}
    except naive.NegativeCycle:
        assume(False)
        raise


def assert_loaded(
    network: naive.Network, asked: Any, demand: tuple[Array, Array, Array], rtol: float = 0.0
) -> None:
    """Compare flows with naive distances, and with naive flows where paths are unique."""
    origins, destinations, volumes = demand
    rows = rows_of(network, origins)
    wanted, left = 0, 0
    unique = rtol == 0 and all(arc.weight > 0 for arc in network.arcs)
    carried = np.zeros(len(network.arcs), volumes.dtype)
    net = np.zeros(network.n, volumes.dtype)
    far = np.full(volumes.shape, math.inf)
    for i, origin in enumerate(origins.tolist()):
        row = rows[origin]
        counts = naive.path_counts(network, origin) if unique else {}
        for j, destination in enumerate(destinations.tolist()):
            volume = volumes[i, j].item()
            if destination not in row.distances:
                left += volume
                continue
            far[i, j] = row.distances[destination]
            wanted += volume * row.distances[destination]
            net[origin] += volume
            net[destination] -= volume
            unique &= counts.get(destination) == 1 or volume == 0
            carried += np.array(naive.load(network, row, {destination: volume}), volumes.dtype)
    g = asked if isinstance(asked, sssp.Graph) else asked.graph
    if left:
        with pytest.raises(sssp.UnreachableError, match="no path leads from"):
            sssp.load(asked, demand)
    found = sssp.load(asked, demand, unreached="skip")
    assert found.unreached == left
    assert found.total == pytest.approx(wanted, rel=rtol, abs=0)
    assert found.by_arc.dtype == volumes.dtype
    assert (found.by_arc >= 0).all()
    balance = np.bincount(g.tails, found.by_arc, g.n) - np.bincount(g.indices, found.by_arc, g.n)
    np.testing.assert_array_equal(balance, net)
    if unique:
        np.testing.assert_array_equal(found.flow, carried)
    for threads in (1, 3):
        again = sssp.load(asked, demand, unreached="skip", threads=threads)
        np.testing.assert_array_equal(again.by_arc, found.by_arc)
    # closed arcs weigh the greatest number, and are not used
    weights = np.where(g.weights < 1e31, g.weights, 0).astype(float)
    sums = sssp.skim(asked, demand, weights)
    np.testing.assert_allclose(sums, far, rtol=rtol)
    length = np.random.default_rng(0).integers(1, 9, (g.m, 2))
    sums = sssp.skim(asked, demand, length)
    assert sums.dtype == np.int64
    reached = far < math.inf
    for column in range(2):
        assert (sums[..., column][~reached] == np.iinfo(np.int64).max).all()
        summed = (sums[..., column] * volumes)[reached].sum()
        assert summed == (found.by_arc * length[:, column]).sum()


@given(networks(SMALL_INTEGERS, least_n=1) | networks(DYADIC, least_n=1), st.data())
def test_flows_on_small_graphs(network: naive.Network, data: st.DataObject) -> None:
    demand = data.draw(demands(network.n))
    g = graph_of(network)
    assert_loaded(network, g, demand)
    h = sssp.prepare(g)
    assert_loaded(network, h, demand)
    # versions that share the weights of their base, but for a layer
    arcs = data.draw(st.lists(st.integers(0, g.m - 1), unique=True)) if g.m else []
    changed = h.without_arcs(arcs)
    weights = np.where(changed.graph.weights < 1e9, changed.graph.weights, np.inf).tolist()
    lengths = zip(g.tails.tolist(), g.indices.tolist(), weights, strict=True)
    closed = naive.Network(network.n, tuple(naive.Arc(*arc) for arc in lengths), True)
    origins, destinations, volumes = demand
    found = sssp.load(changed, demand, unreached="skip")
    far = {origin: naive.solve(closed, [origin]).distances for origin in origins.tolist()}
    assert found.total == sum(
        volumes[i, j] * far[origin][destination]
        for i, origin in enumerate(origins.tolist())
        for j, destination in enumerate(destinations.tolist())
        if destination in far[origin]
    )
    # the reversed map carries the same the other way, as far as it costs
    back = sssp.load(h.reverse(), (destinations, origins, volumes.T), unreached="skip")
    assert back.total == sssp.load(h, demand, unreached="skip").total


def test_no_trip_passes_its_end_and_returns() -> None:
    g = sssp.Graph.from_arcs([3, 1, 2, 1], [0, 0, 3, 2], [0, 0, 1, 0], directed=False)
    h = sssp.prepare(g)
    assert sssp.load(h, (3, 0, [5])).flow.tolist() == [5, 0, 0, 0]
    assert sssp.load(h, (3, 0, [5]), select=1).selected.tolist() == [0]
    assert sssp.skim(h, ([3], [0]), np.ones(8, int)).tolist() == [[1]]


@given(networks(st.integers(0, 1), least_n=1), st.data())
def test_no_trip_goes_around_where_arcs_weigh_nothing(
    network: naive.Network, data: st.DataObject
) -> None:
    g = graph_of(network)
    h = sssp.prepare(g)
    one, other = data.draw(st.tuples(*[st.integers(0, g.n - 1)] * 2))
    counted = sssp.load(h, (one, other, [1]), unreached="skip")
    # a simple path takes an arc once, and enters no vertex twice
    assert counted.by_arc.max(initial=0) <= 1
    assert np.bincount(g.indices, counted.by_arc, minlength=g.n).max() <= 1
    if not counted.unreached:
        assert sssp.skim(h, (one, other), np.ones(g.m, int)) == counted.by_arc.sum()


@pytest.mark.slow  # (compiles for another dtype)
@given(networks(LARGE_INTEGERS, least_n=1) | networks(HUGE_INTEGERS, least_n=1), st.data())
def test_flows_where_sums_leave_a_dtype(network: naive.Network, data: st.DataObject) -> None:
    origins, destinations, volumes = data.draw(demands(network.n))
    try:
        h = sssp.prepare(graph_of(network))
        far = sssp.shortest_paths(h, origins, targets=destinations)
    except sssp.DistanceOverflowError:
        assume(False)
    found = sssp.load(h, (origins, destinations, volumes), unreached="skip")
    reached = far.reached
    trips = zip(volumes[reached].tolist(), far.distances[reached].tolist(), strict=True)
    assert found.total == sum(volume * distance for volume, distance in trips)


@given(networks(FLOATS, least_n=1), st.data())
def test_flows_of_floats(network: naive.Network, data: st.DataObject) -> None:
    origins, destinations, volumes = data.draw(demands(network.n))
    g = graph_of(network)
    for asked in (g, sssp.prepare(g)):
        assert_loaded(network, asked, (origins, destinations, volumes), 1e-12)


@given(negative_networks(), st.data())
def test_flows_between_negative_weights(network: naive.Network, data: st.DataObject) -> None:
    assume(network.n > 0)
    demand = data.draw(demands(network.n))
    g = graph_of(network)
    try:
        h = sssp.prepare(g)
    except sssp.NegativeCycleError:
        assume(False)
    assert_loaded(network, h, demand)


@given(turned_graphs(), st.data())
def test_flows_on_graphs_with_turns(drawn: Any, data: st.DataObject) -> None:
    g, options, turned = drawn
    origins, destinations, volumes = demand = data.draw(demands(g.n))
    far = {origin: turned.distances(origin) for origin in origins.tolist()}
    ends = [(i, j) for i, j in np.ndindex(volumes.shape) if destinations[j] in far[origins[i]]]
    turning = g.with_turns(**options)
    for asked in (turning, sssp.prepare(turning)):
        found = sssp.load(asked, demand, unreached="skip")
        total = sum(volumes[i, j] * far[origins[i]][destinations[j]] for i, j in ends)
        assert found.total == total
        assert found.unreached == volumes.sum() - sum(volumes[i, j] for i, j in ends)
        net = np.zeros(g.n, int)
        for i, j in ends:
            net[origins[i]] += volumes[i, j]
            net[destinations[j]] -= volumes[i, j]
        balance = np.bincount(g.tails, found.by_arc, g.n)
        balance -= np.bincount(g.indices, found.by_arc, g.n)
        np.testing.assert_array_equal(balance, net)
        values = np.arange(g.m) * 3 + 1
        sums = sssp.skim(asked, demand, values)
        assert sum(sums[i, j] * volumes[i, j] for i, j in ends) == (found.by_arc * values).sum()
        if found.unreached:
            with pytest.raises(sssp.UnreachableError, match="no path leads from"):
                sssp.load(asked, demand)


@given(networks(least_n=2), st.data())
def test_selected_rows_keep_their_flow(network: naive.Network, data: st.DataObject) -> None:
    assume(network.arcs)
    demand = data.draw(demands(network.n))
    row = data.draw(st.integers(0, len(network.arcs) - 1))
    for asked in (graph_of(network), sssp.prepare(graph_of(network))):
        all_flow = sssp.load(asked, demand, unreached="skip")
        found = sssp.load(asked, demand, select=row, unreached="skip")
        assert found.flow[row] == all_flow.flow[row]
        assert (found.flow <= all_flow.flow).all()
        assert ((found.selected == 0) | (found.selected == demand[2])).all()
        assert (found.selected.sum() > 0) == (found.flow[row] > 0)
        assert found.unreached == all_flow.unreached
        if all_flow.unreached:
            with pytest.raises(sssp.UnreachableError):
                sssp.load(asked, demand, select=[row])


@pytest.fixture(scope="module")
def town() -> sssp.Graph:
    """Unique shortest paths, floats."""
    g = sssp.road_like(2000, seed=3)
    return g.with_weights(g.weights + np.random.default_rng(0).random(g.m))


@pytest.fixture(scope="module")
def demand() -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(1)
    origins, destinations = rng.choice(2000, 70, replace=False), rng.integers(0, 2000, 40)
    return origins, destinations, rng.random((70, 40))


@pytest.fixture(scope="module")
def by_trees(town: sssp.Graph, demand: tuple[Array, Array, Array]) -> Array:
    origins, destinations, volumes = demand
    r = sssp.shortest_paths(town, origins, targets=destinations, predecessors=True)
    return r.load(volumes)


def test_flows_are_those_of_trees_and_of_any_number_of_threads(
    town: sssp.Graph, demand: tuple[Array, Array, Array], by_trees: Array, monkeypatch: Any
) -> None:
    h = sssp.prepare(town)
    monkeypatch.setattr(thresholds, "FLOW_STEPS", 1)
    monkeypatch.setattr(thresholds, "CUSTOMIZED_ALONE", 1)
    one = sssp.load(h, demand, threads=1)
    np.testing.assert_allclose(one.flow, by_trees, rtol=1e-12)
    for where in ({"threads": 4}, {"device": ["cpu"]}, {"device": ["cpu", "cpu"]}):
        assert sssp.load(h, demand, **where).by_arc.tobytes() == one.by_arc.tobytes()
    np.testing.assert_allclose(sssp.load(town, demand).flow, by_trees, rtol=1e-12)


@pytest.mark.parametrize("prepared", [False, True])
def test_forms_of_a_demand(
    town: sssp.Graph, demand: tuple[Array, Array, Array], prepared: bool
) -> None:
    pd = pytest.importorskip("pandas")
    named = sssp.Graph.from_arcs(
        town.tails, town.indices, town.weights, n=town.n, labels=[f"v{i}" for i in range(town.n)]
    )
    asked = sssp.prepare(named) if prepared else named
    origins, destinations, volumes = demand
    rows, columns = (side.ravel() for side in np.indices(volumes.shape))
    trips = origins[rows], destinations[columns], volumes.ravel()
    frame = pd.DataFrame(
        {
            "origin": [f"v{v}" for v in trips[0]],
            "destination": [f"v{v}" for v in trips[1]],
            "volume": trips[2],
        }
    )
    km = np.random.default_rng(2).random((named.m, 2))
    table = sssp.skim(asked, demand, km)
    assert table.shape == (70, 40, 2)
    np.testing.assert_array_equal(sssp.skim(asked, demand[:2], km[:, 0]), table[..., 0])
    by_arc = sssp.load(town, demand).by_arc
    sparse = *trips[:2], coo_array(trips[2])
    for form in (demand, trips, frame, sparse):
        np.testing.assert_allclose(sssp.load(asked, form).flow, by_arc, rtol=1e-12)
        np.testing.assert_allclose(sssp.skim(asked, form, km).reshape(table.shape), table)
    half = np.where(volumes > 0.5, volumes, 0.0)
    wanted = sssp.load(asked, (origins, destinations, half))
    for matrix in (csr_array(half), coo_array(half)):
        given = (origins, destinations, matrix)
        np.testing.assert_allclose(sssp.load(asked, given).flow, wanted.flow, rtol=1e-12)
        one, other = sssp.skim(asked, given, km)
        np.testing.assert_allclose(other.toarray(), np.where(half > 0, table[..., 1], 0))
        assert one.nnz == np.count_nonzero(half)
    row = int(np.argmax(wanted.flow))
    found = sssp.load(asked, (origins, destinations, csr_array(half)), select=[row])
    assert found.selected.sum() == pytest.approx(wanted.flow[row])


@pytest.mark.parametrize("prepared", [False, True])
def test_single_trips_sweep_only_what_leads_to_their_ends(town: sssp.Graph, prepared: bool) -> None:
    rng = np.random.default_rng(5)
    starts, ends = rng.integers(0, town.n, (2, 300))
    asked = sssp.prepare(town) if prepared else town
    trips = sssp.pairs(town, starts, ends, predecessors=True)
    found = sssp.load(asked, (starts, ends, np.ones(300, int)))
    np.testing.assert_array_equal(found.flow, trips.load(np.ones(300, int)))
    km = rng.random(town.m)
    np.testing.assert_allclose(sssp.skim(asked, (starts, ends, starts), km), trips.skim(km))
    hub = sssp.load(asked, (starts, 7, np.ones(300)))
    assert hub.total == pytest.approx(sssp.pairs(town, starts, 7).distances.sum())


def test_a_loader_serves_all_versions(town: sssp.Graph, demand: tuple[Array, Array, Array]) -> None:
    h = sssp.prepare(town)
    loader = Loader(h, as_demand(demand, town))
    for seed in range(3):
        weights = town.weights * np.random.default_rng(seed).uniform(1, 2, town.m)
        flow, left = loader.load(h.with_weights(weights))
        assert left == 0
        wanted = sssp.load(town.with_weights(weights), demand)
        np.testing.assert_allclose(flow, wanted.by_arc, rtol=1e-12)
    # without the customized weights of a base, as those of scenarios
    (version,) = h.scenarios([weights])
    assert loader.load(version)[0].tobytes() == flow.tobytes()


def test_targets_are_selected_once_for_versions_that_follow(town: sssp.Graph) -> None:
    h = sssp.prepare(town)
    targets = np.arange(0, 2000, 50)
    wanted = sssp.shortest_paths(h, range(40), targets=targets).distances
    kept = h._structure.shared["ancestors"]
    ancestors = kept[-1][1]
    again = sssp.shortest_paths(h.with_weights(2 * town.weights), range(40), targets=targets)
    assert kept[-1][1] is ancestors
    np.testing.assert_allclose(again.distances, 2 * wanted)
    sssp.shortest_paths(h, range(40), targets=targets[1:])
    assert kept[-1][1] is not ancestors


def test_large_integers_are_exact_or_refused() -> None:
    g = sssp.Graph.from_arcs([0, 1, 2], [1, 2, 0], [1, 2, 3])
    most = 2**53 - 1
    for asked in (g, sssp.prepare(g)):
        found = sssp.load(asked, ([0], [2], [[most]]))
        assert found.flow.tolist() == [most, most, 0]
        assert found.total == 3 * most
        with pytest.raises(sssp.DistanceOverflowError, match=r"2\*\*53"):
            sssp.load(asked, ([0], [2], [[most + 1]]))
        assert sssp.skim(asked, ([0], [2]), [2**50, 1, 1]).tolist() == [[2**50 + 1]]
        with pytest.raises(sssp.DistanceOverflowError, match="pass floats"):
            sssp.skim(asked, ([0], [2]), [2**53, 1, 1])


def test_values_on_paths_must_be_finite() -> None:
    g = sssp.Graph.from_arcs([0, 1, 0, 2], [1, 2, 2, 3], [5, 5, 20, 1])
    for asked in (g, sssp.prepare(g)):
        sums = sssp.skim(asked, ([0], [2, 0]), [1.5, math.nan, 2.0, math.inf])
        assert sums.tolist() == [[3.5, 0.0]]
        for odd in (math.nan, math.inf):
            with pytest.raises(ValueError, match=r"NaN|nan|infinite"):
                sssp.skim(asked, ([0], [2]), [odd, 1.0, 2.0, 3.0])
        with pytest.raises(ValueError, match="one an arc"):
            sssp.skim(asked, ([0], [2]), [1.0])


def test_what_is_no_demand_is_refused() -> None:
    pd = pytest.importorskip("pandas")
    g = sssp.Graph.from_arcs([0, 1], [1, 2], [1, 1], labels=["a", "b", "c"])
    refused: list[tuple[Any, type[Exception], str]] = [
        ([0, 1], TypeError, "demand is"),
        (([0], [1]), TypeError, "demand is"),
        (pd.DataFrame({"origin": ["a"], "to": ["b"]}), ValueError, "no column 'destination', 'vol"),
        (
            pd.DataFrame({"origin": ["z"], "destination": ["b"], "volume": [1]}),
            sssp.VertexError,
            "label 'z'",
        ),
        (([0], [9], [[1]]), sssp.VertexError, "destination 9"),
        (([0, 1], [2], [[1]]), ValueError, "shape"),
        (([0, 1], [2], [1, 1]), ValueError, "one volume a trip"),
        (([0, 1], [2, 2], [[1, 1], [1, -1]]), ValueError, "from b to c is -1"),
        (([0], [2], [[math.nan]]), ValueError, "from a to c is nan"),
        (([0, 1], [2, 2], [1, math.inf]), ValueError, "from b to c is inf"),
        (([0], [2], [["x"]]), TypeError, "volumes"),
        (([0], [2], csr_array([[1j]])), TypeError, "volumes"),
        (([2], [0], [[1]]), sssp.UnreachableError, "from c to a"),
    ]
    for asked in (g, sssp.prepare(g)):
        for demand, error, words in refused:
            with pytest.raises(error, match=words):
                sssp.load(asked, demand)
        with pytest.raises(ValueError, match="'raise' or 'skip'"):
            sssp.load(asked, ([0], [1], [[1]]), unreached="count")  # type: ignore[arg-type]
        with pytest.raises(IndexError, match="row 2 of select is no row of the input"):
            sssp.load(asked, ([0], [1], [[1]]), select=[2])
        with pytest.raises(TypeError, match="select must be rows of the input"):
            sssp.load(asked, ([0], [1], [[1]]), select=[True, False])
        nothing = sssp.load(asked, ([], [], np.empty((0, 0))))
        assert nothing.flow.tolist() == [0, 0]
    with pytest.raises(TypeError, match="read_graph"):
        sssp.load("city.gr", ([0], [1], [[1]]))  # type: ignore[arg-type]


def test_a_memory_limit_is_kept(town: sssp.Graph, demand: tuple[Array, Array, Array]) -> None:
    for asked in (town, sssp.prepare(town)):
        with pytest.raises(sssp.DeviceError, match="memory"):
            sssp.load(asked, demand, memory_limit=10_000)
    # trees come in blocks that fit
    limited = sssp.load(town, demand, memory_limit=2_000_000)
    np.testing.assert_allclose(limited.by_arc, sssp.load(town, demand).by_arc)


def test_flows_show_themselves_and_pickle() -> None:
    g = sssp.Graph.from_arcs([0, 1], [1, 2], [4, 5])
    found = sssp.load(sssp.prepare(g), ([0, 2], [2, 0], [[1000, 0], [3, 0]]), unreached="skip")
    assert repr(found) == "<Flows on 2 of 2 arcs, total 9,000>"
    back = pickle.loads(pickle.dumps(found))
    assert back.flow.tolist() == [1000, 1000]


@pytest.mark.gpu
@pytest.mark.parametrize("seed", range(6))
def test_a_gpu_loads_as_the_cpu_does(device: str, seed: int, monkeypatch: Any) -> None:
    flow_driver = pytest.importorskip("sssp.cuda.sweep.flow_driver")
    monkeypatch.setattr(flow_driver, "MOST_LANES", flow_driver.LANES)  # (several batches)
    rng = np.random.default_rng(seed)
    n, m = 9 + 3 * seed, 30 + 14 * seed
    weights = rng.integers(0, 4, m) * (1 if seed % 2 else 0.25)
    tails, heads = rng.integers(0, n, (2, m))
    g = sssp.Graph.from_arcs(tails, heads, weights, n=n)
    if seed == 3:
        first, second = rng.integers(0, m, (2, 40))
        meet = g.indices[g.row_arc[first]] == g.tails[g.row_arc[second]]
        kept = meet & (g.row_arc[first] >= 0) & (g.row_arc[second] >= 0)
        g = g.with_turns((first[kept], second[kept], np.full(kept.sum(), np.inf)))
    h = sssp.prepare(g)
    versions = h, h.with_weights(g.weights[::-1]), h.without_arcs(rng.integers(0, g.m, 4))
    origins, destinations = rng.integers(0, n, 5), rng.integers(0, n, 4)
    volumes = rng.integers(0, 3, (5, 4))
    trips = origins[rng.integers(0, 5, 9)], destinations[rng.integers(0, 4, 9)], rng.random(9)
    for version in versions:
        for demand in ((origins, destinations, volumes), trips):
            wanted = sssp.load(version, demand, unreached="skip")
            found = sssp.load(version, demand, unreached="skip", device=device)
            np.testing.assert_allclose(found.by_arc, wanted.by_arc, rtol=1e-12)
            assert found.unreached == pytest.approx(wanted.unreached, rel=1e-12)
            if wanted.unreached:
                with pytest.raises(sssp.UnreachableError, match="no path leads from"):
                    sssp.load(version, demand, device=device)
    loader = Loader(h, as_demand((origins, destinations, volumes), g), device=device, skips=True)
    for version in versions:
        wanted = sssp.load(version, (origins, destinations, volumes), unreached="skip")
        loads = onto_arcs(version._tree_graph, loader.load(version)[0])
        np.testing.assert_array_equal(loads, wanted.by_arc)


@pytest.mark.gpu
def test_a_gpu_goes_by_trees_where_weights_are_negative_and_refuses_what_does_not_fit(
    device: str,
) -> None:
    g = sssp.Graph.from_arcs([0, 1, 2, 0], [1, 2, 3, 3], [4, -2, 1, 9])
    h = sssp.prepare(g)
    assert sssp.load(h, ([0], [3], [5]), device=device).flow.tolist() == [5, 5, 5, 0]
    large = sssp.prepare(g.with_weights(rows=[2**40, 2**41, 2**42, 2**43]))
    assert sssp.load(large, ([0], [3], [5]), device=device).flow.tolist() == [5, 5, 5, 0]
    with pytest.raises(sssp.DeviceError, match="give fewer origins or destinations"):
        sssp.load(large, ([0], [3], [5]), device=device, memory_limit=100)
    empty: list[int] = []
    assert sssp.load(h, (empty, [3], np.empty((0, 1), int)), device=device).total == 0
    assert sssp.load(large, ([0], empty, np.empty((1, 0), int)), device=device).total == 0
