"""`reduce` and `iter_blocks`: many sources without the whole matrix."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import sssp
from tests import naive
from tests.solvers import every_device
from tests.strategies import (
    DYADIC,
    LARGE_INTEGERS,
    SMALL_INTEGERS,
    graph_of,
    negative_networks,
    networks,
    vertex_lists,
)

REDUCTIONS = ["eccentricity", "sum", "mean", "count", "weight", "closeness"]
#: sums that are rounded, to other numbers in another order
TENTHS = st.integers(-9, 9).map(lambda tenths: tenths / 10)
DECAYS: list[Any] = [
    ("step", 3),
    ("exponential", 0.3),
    ("power", 2),
    ([1, 5.5], [1.0, 0.3]),
    ("linear", 5),
    ("gaussian", 2.5),
    lambda distances: 1 / (1 + distances),
]


def ring_with_chords(n: int) -> sssp.Graph:
    """Strongly connected, all weights different."""
    random = np.random.default_rng(n)
    ring = np.arange(n)
    tails = np.concatenate([ring, random.integers(0, n, n)])
    heads = np.concatenate([(ring + 1) % n, random.integers(0, n, n)])
    return sssp.Graph.from_arcs(tails, heads, random.permutation(2 * n), n=n)


def reduced(what: str, distances: dict[int, Any], others: int, source: int) -> Any:
    """Reduce the distances of the vertices that count as the words say."""
    total = in_order(distances.values())
    if what == "eccentricity":
        floats = any(isinstance(d, float) for d in distances.values())
        return max(distances.values(), default=math.inf if floats else 2**63 - 1)
    if what == "mean":
        return total / len(distances) if distances else math.nan
    if what == "closeness":
        reached = len(distances) - (source in distances)
        return (reached / total) * (reached / others) if total > 0 else 0
    return total if what == "sum" else len(distances)


def in_order(numbers: Iterable[Any]) -> Any:
    """Add up, one after the other: `sum` rounds floats in a way of its own."""
    total: Any = 0
    for number in numbers:
        total = total + number
    return total


def factor(decay: Any, distance: Any) -> float:
    """By how much a vertex counts."""
    if callable(decay):
        return float(decay(np.array([distance], float))[0])
    kind, number = decay
    if kind == "linear":
        return float(max(0.0, 1 - distance / number))
    if kind == "gaussian":
        return math.exp(-(distance**2) / (2 * number**2))
    if kind == "step":
        return 1.0 if distance <= number else 0.0
    if kind == "exponential":
        return math.exp(-number * distance)
    if kind == "power":
        return float(max(distance, 1) ** -number)
    values: list[float] = [v for edge, v in zip(kind, number, strict=True) if distance <= edge]
    return values[0] if values else 0.0


class Asked(NamedTuple):
    """A call of `reduce` but for what it asks, and the distances that count for each source."""

    graph: sssp.Graph
    sources: Any
    options: dict[str, Any]
    rows: list[dict[int, Any]]
    #: number of vertices that count, less the source
    others: list[int]


@st.composite
def asked(draw: st.DrawFn) -> Asked:
    network = draw(
        networks(SMALL_INTEGERS, least_n=1)
        | networks(LARGE_INTEGERS, least_n=1)
        | networks(DYADIC, least_n=1)
        | networks(TENTHS.map(abs), least_n=1)
        | negative_networks()
    )
    sources: Any = draw(vertex_lists(network.n))
    starts = sources
    if len(sources) == 1 and draw(st.booleans()):
        sources = sources[0]
    limit = draw(st.none() | st.integers(0, 100))
    targets = draw(st.none() | vertex_lists(network.n) | st.just([]))
    counting = range(network.n) if targets is None else sorted(set(targets))
    try:
        rows = [
            naive.solve(network, [source], limit=math.inf if limit is None else limit)
            for source in starts
        ]
    except naive.NegativeCycle:
        assume(False)
    options = {"limit": limit, "targets": targets, "threads": draw(st.sampled_from([1, 2]))}
    found = [{v: row.distances[v] for v in counting if v in row.distances} for row in rows]
    others = [len(counting) - (source in counting) for source in starts]
    return Asked(graph_of(network), sources, options, found, others)


@pytest.mark.parametrize("what", [what for what in REDUCTIONS if what != "weight"])
@settings(max_examples=100)
@given(call=asked())
def test_reductions_agree_with_the_reference(what: str, call: Asked) -> None:
    values = sssp.reduce(call.graph, call.sources, what, **call.options)
    starts = np.atleast_1d(call.sources).tolist()
    expected = [
        reduced(what, row, others, source)
        for row, others, source in zip(call.rows, call.others, starts, strict=True)
    ]
    if call.graph.weights.dtype == np.float64 and what == "eccentricity":
        expected = [math.inf if value == 2**63 - 1 else value for value in expected]
    if isinstance(call.sources, int):
        assert type(values) in (int, float)
        values, expected = np.array(values), expected[:1]
    assert values.dtype in (np.int64, np.float64)
    np.testing.assert_array_equal(np.atleast_1d(values), expected)


@pytest.mark.parametrize("arcs", [[3, 4], [0.5, 0.25]])
def test_integer_weights_of_vertices_are_exact_whatever_the_distances(arcs: list[Any]) -> None:
    g = sssp.Graph.from_arcs([0, 1], [1, 2], arcs)
    # which is no float
    odd = 2**53 + 1
    assert sssp.reduce(g, 0, "weight", vertex_weights=[0, odd, 0]) == odd


@settings(max_examples=150)
@given(call=asked(), data=st.data())
def test_weights_of_vertices_agree_with_the_reference(call: Asked, data: st.DataObject) -> None:
    n = call.graph.n
    numbers: st.SearchStrategy[Any] = st.integers(-9, 9) | st.integers(2**53, 2**54)
    numbers = data.draw(st.sampled_from([numbers, st.booleans(), DYADIC, TENTHS]))
    shape = data.draw(st.sampled_from([(n,), (n, 1), (n, 3)]))
    size = math.prod(shape)
    weights = np.array(data.draw(st.lists(numbers, min_size=size, max_size=size))).reshape(shape)
    decay = data.draw(st.none() | st.sampled_from(DECAYS))
    values = sssp.reduce(
        call.graph, call.sources, "weight", vertex_weights=weights, decay=decay, **call.options
    )
    columns = (weights if weights.ndim == 2 else weights[:, np.newaxis]).T.tolist()
    expected: Any = [
        [
            in_order(
                column[v] if decay is None else factor(decay, d) * column[v] for v, d in row.items()
            )
            for column in columns
        ]
        for row in call.rows
    ]
    if isinstance(call.sources, int):
        expected = expected[0]
    if len(shape) == 1:
        expected = [row[0] for row in expected] if isinstance(call.sources, list) else expected[0]
    if not call.rows:  # of no row nobody can tell how many columns it has
        expected = np.empty((0, *shape[1:]))
    assert np.shape(values) == np.shape(expected)
    if decay is None:
        np.testing.assert_array_equal(values, expected)
    else:  # a power may be off by the last bit
        np.testing.assert_allclose(values, np.asarray(expected, float), rtol=1e-13, atol=1e-13)


@every_device
@pytest.mark.parametrize("targets", [None, range(5, 130)], ids=["all", "targets"])
def test_floats_are_added_up_by_groups_of_places(device: str, targets: range | None) -> None:
    """Rows, lanes, few reached vertices, and those of graphs with turns: all in one order."""
    g = sssp.road_like(130, seed=2)
    tenths = np.random.default_rng(1).integers(-99, 99, (g.n, 2)) / 10
    turned = g.with_turns(([0], [int(g.indptr[g.indices[0]])], [0]), arcs=True)
    sources, looked_at = np.arange(20), np.arange(g.n) if targets is None else np.array(targets)
    distances = sssp.shortest_paths(g, sources).distances[:, looked_at]
    for limit in (None, int(np.quantile(distances, 0.05))):
        expected = []
        for row in distances:
            counted = np.where((row <= (limit or np.inf))[:, None], tenths[looked_at], 0.0)
            parts = [in_order(counted[i : i + 64]) for i in range(0, len(counted), 64)]
            expected.append(in_order(parts))
        for asked in (g, sssp.prepare(g), turned, sssp.prepare(turned)):
            for some in (sources, sources[:1]):
                found = sssp.reduce(
                    asked, some, "weight", vertex_weights=tenths, targets=targets, limit=limit,
                    device=device,
                )  # fmt: skip
                assert found.tolist() == np.array(expected[: some.size]).tolist()


def test_closeness_is_that_of_networkx_on_the_reversed_graph() -> None:
    g = sssp.Graph.from_arcs([0, 1, 2, 3, 0, 5], [1, 2, 0, 1, 3, 0], [3, 1, 4, 1, 5, 9], n=7)
    reversed_graph = g.reverse().to_networkx()
    theirs = nx.closeness_centrality(reversed_graph, distance="weight")
    found = sssp.reduce(g, range(7), "closeness")
    assert dict(enumerate(found.tolist())) == pytest.approx(theirs)


def test_a_decay_counts_vertices_where_they_have_no_weights() -> None:
    g = sssp.Graph.from_arcs([0, 1, 2], [1, 2, 3], [4, 4, 4])
    assert sssp.reduce(g, 0, "weight", decay=("step", 8)) == 3.0
    assert sssp.reduce(g, [0, 2], "weight", decay=("power", 1)).tolist() == [
        1 + 1 / 4 + 1 / 8 + 1 / 12,
        1 + 1 / 4,
    ]
    by_bands = sssp.reduce(g, [0, 3], "weight", decay=([0, 7.5, 8], [10, 3, 1]), targets=[0, 1, 2])
    assert by_bands.tolist() == [14.0, 0.0]
    # a negative arc may lead back within a step
    back = sssp.Graph.from_arcs([0, 1], [1, 2], [5, -4])
    assert sssp.reduce(back, 0, "weight", decay=("step", 2)) == 2.0


def test_without_a_vertex_that_counts_a_mean_is_nan_and_nothing_is_farthest() -> None:
    g = sssp.Graph.from_arcs([0], [1], [7], n=3)
    assert math.isnan(sssp.reduce(g, 0, "mean", targets=2))
    assert sssp.reduce(g, 0, "eccentricity", targets=2) == 2**63 - 1
    assert sssp.reduce(g.with_weights([0.5]), 0, "eccentricity", targets=[]) == math.inf
    assert sssp.reduce(g, 0, "mean", targets=[1, 1, 0]) == 3.5
    # larger than int64, but its mean is not
    heavy = sssp.Graph.from_arcs(np.zeros(8, int), np.arange(1, 9), np.full(8, 2**61))
    assert sssp.reduce(heavy, 0, "mean", targets=range(1, 9)) == 2.0**61
    means = sssp.reduce(heavy, [0, 8], "mean", targets=range(1, 8))
    np.testing.assert_array_equal(means, [2.0**61, math.nan])


def test_the_numbers_of_floats_are_floats_and_counts_are_integers() -> None:
    g = sssp.Graph.from_arcs([0, 1], [1, 2], [0.5, 0.25], n=4)
    assert sssp.reduce(g, 0, "eccentricity") == 0.75
    assert sssp.reduce(g, 0, "sum") == 1.25
    for what, vertex_weights, kind in [
        ("eccentricity", None, np.float64),
        ("sum", None, np.float64),
        ("count", None, np.int64),
        ("weight", [1, 2, 3, 4], np.int64),
        ("weight", [True, False, True, True], np.int64),
        ("weight", np.ones(4, np.float32), np.float64),
    ]:
        values = sssp.reduce(g, [0, 3], what, vertex_weights=vertex_weights)
        assert (values.dtype, values.shape) == (kind, (2,))
        assert sssp.reduce(g, [], what, vertex_weights=vertex_weights).shape == (0,)


def test_every_method_reduces_alike_and_breadth_first_counts_arcs() -> None:
    g = ring_with_chords(400)
    sources = range(0, 400, 40)
    expected = sssp.shortest_paths(g, sources).distances
    for method in ("dijkstra", "delta-stepping", "bellman-ford", "threshold-dijkstra"):
        found = sssp.reduce(g, sources, "sum", method=method)
        assert found.tolist() == expected.sum(axis=1).tolist()
        found = sssp.reduce(g, sources, "eccentricity", method=method)
        assert found.tolist() == expected.max(axis=1).tolist()
    hops = sssp.shortest_paths(g, sources, method="breadth-first").distances
    found = sssp.reduce(g, sources, "count", limit=5, method="breadth-first")
    assert found.tolist() == (hops <= 5).sum(axis=1).tolist()


def test_sums_are_exact_beyond_the_integers_of_a_float() -> None:
    heads = np.arange(1, 5)
    weights = 2**59 + np.arange(1, 5)
    g = sssp.Graph.from_arcs(np.zeros(4, int), heads, weights)
    assert sssp.reduce(g, 0, "sum") == sum(weights.tolist()) == 2**61 + 10
    assert sssp.reduce(g, 0, "eccentricity") == 2**59 + 4
    people = [2**62, -(2**62), 1, 2**53, 1]
    assert sssp.reduce(g, 0, "weight", vertex_weights=people) == 2**53 + 2
    negative = sssp.Graph.from_arcs(np.zeros(4, int), heads, -weights)
    assert sssp.reduce(negative, 0, "sum") == -(2**61) - 10
    assert sssp.reduce(negative, 0, "eccentricity") == 0


@pytest.mark.parametrize("prepared", [False, True])
def test_the_first_sum_beyond_int64_is_named_whatever_the_threads(prepared: bool) -> None:
    stars = 200  # side by side, each with sums of its own
    tails = 6 * np.arange(stars).repeat(5)
    heads = tails + np.tile(np.arange(1, 6), stars)
    g: Any = sssp.Graph.from_arcs(tails, heads, 2**61 + tails)
    g = sssp.prepare(g) if prepared else g
    sources = np.flatnonzero(np.arange(6 * stars) % 6 == 0)[::-1]
    sources = np.concatenate((np.ones(20, int), sources))  # of the first nothing is reached
    for threads in (1, 2, 3, 8) * 10:
        with pytest.raises(
            sssp.DistanceOverflowError, match=f" {5 * (2**61 + int(sources[20]))}, "
        ):
            sssp.reduce(g, sources, "sum", threads=threads)


def test_a_sum_beyond_int64_is_refused() -> None:
    star = sssp.Graph.from_arcs(np.zeros(5, int), np.arange(1, 6), np.full(5, 2**61))
    with pytest.raises(sssp.DistanceOverflowError, match=str(5 * 2**61)):
        sssp.reduce(star, 0, "sum")
    assert sssp.reduce(star, 0, "count") == 6
    with pytest.raises(sssp.DistanceOverflowError, match=str(-6 * 2**62)):
        sssp.reduce(star, [1, 0], "weight", vertex_weights=[-(2**62)] * 6)
    assert sssp.reduce(star, [1], "weight", vertex_weights=[-(2**63)] * 6).tolist() == [-(2**63)]


@pytest.mark.parametrize(
    ("what", "vertex_weights", "error", "message"),
    [
        ("median", None, ValueError, "median.*eccentricity, sum, mean, count, weight"),
        ("weight", None, ValueError, "vertex_weights"),
        ("sum", [1, 1, 1], ValueError, "vertex_weights"),
        ("weight", [1, 1], ValueError, r"\(3, c\), not \(2,\)"),
        ("weight", [[1, 1, 1]], ValueError, r"\(3, c\), not \(1, 3\)"),
        ("weight", 1, ValueError, r"\(3,\) or .* not \(\)"),
        ("weight", [1, np.nan, 1], ValueError, "vertex 1 is nan"),
        ("weight", ["a", "b", "c"], TypeError, "integers or floats"),
        ("weight", [1j, 1, 1], TypeError, "complex"),
    ],
)
def test_a_bad_reduction_is_refused(
    what: str, vertex_weights: Any, error: type[Exception], message: str
) -> None:
    g = sssp.Graph.from_arcs([0, 1], [1, 2], [1, 1])
    with pytest.raises(error, match=message):
        sssp.reduce(g, 0, what, vertex_weights=vertex_weights)


@pytest.mark.parametrize(
    ("decay", "error", "message"),
    [
        ("step", TypeError, "decay must be .'step'"),
        (("cubic", 3), ValueError, "unknown decay 'cubic'"),
        (("linear", 0), ValueError, "distance of a linear decay must be more than 0"),
        (lambda distances: distances[1:], ValueError, "must return a number for each of 3"),
        (
            lambda distances: np.where(distances, 1, -np.inf),
            ValueError,
            "decay returns -inf for the distance 0",
        ),
        (("step", "far"), TypeError, "distance of a decay must be a number"),
        (("exponential", -1), ValueError, "rate of a decay must be 0 or more, not -1"),
        (("power", np.nan), ValueError, "exponent of a decay must be 0 or more"),
        (([1, 2], [1]), ValueError, "a value for every edge, not 1 for 2"),
        (([2, 2], [1, 1]), ValueError, "edges of a decay must ascend"),
        (([], []), ValueError, "one row of finite numbers"),
        (([1], [np.inf]), ValueError, "values of a decay must be one row of finite"),
        ((["a"], [1]), TypeError, "edges of a decay must be integers or floats"),
    ],
)
def test_a_bad_decay_is_refused(decay: Any, error: type[Exception], message: str) -> None:
    g = sssp.Graph.from_arcs([0, 1], [1, 2], [1, 1])
    with pytest.raises(error, match=message):
        sssp.reduce(g, 0, "weight", decay=decay)
    with pytest.raises(ValueError, match="decay belongs to the reduction 'weight'"):
        sssp.reduce(g, 0, "count", decay=decay)


def test_other_arguments_of_a_reduction_are_checked_as_ever() -> None:
    g = sssp.Graph.from_arcs([0, 1], [1, 2], [1, 1])
    cases: list[tuple[dict[str, Any], type[Exception]]] = [
        ({"sources": 3}, sssp.VertexError),
        ({"limit": -1}, ValueError),
        ({"method": "fastest"}, ValueError),
        ({"device": "tpu"}, sssp.DeviceError),
        ({"memory_limit": 10}, sssp.DeviceError),
        ({"threads": 0}, ValueError),
    ]
    for arguments, error in cases:
        with pytest.raises(error):
            sssp.reduce(g, **{"sources": [0], "what": "sum", **arguments})


@pytest.mark.parametrize("dtype", ["Int64", "UInt8", "Float64", "boolean", "int64[pyarrow]"])
def test_tables_of_vertex_weights_may_have_dtypes_that_know_what_is_missing(
    dtype: str, tmp_path: Path
) -> None:
    pandas = pytest.importorskip("pandas")
    if "pyarrow" in dtype:
        pytest.importorskip("pyarrow")
    g = ring_with_chords(4)
    people = pandas.DataFrame({"day": [1, 0, 1, 1], "night": [0, 1, 1, 0]}, dtype=dtype)
    wanted = sssp.reduce(g, [0, 3], "weight", limit=9, vertex_weights=people.to_numpy(float))
    for weights, column in ((people, slice(None)), (people["night"], 1)):
        found = sssp.reduce(g, [0, 3], "weight", limit=9, vertex_weights=weights)
        assert found.dtype == (np.float64 if dtype == "Float64" else np.int64)
        np.testing.assert_array_equal(found, wanted[:, column])
    if importlib.util.find_spec("pyarrow"):
        job: Any = {"to": tmp_path / "od", "reduce": "weight", "vertex_weights": people}
        assert sssp.run(g, [0, 3], block_size=2, **job).done == 1
        assert sssp.run(g, [0, 3], **job).done == 0
    people.loc[2, "night"] = pandas.NA
    for weights in (people, people["night"]):
        with pytest.raises(ValueError, match="the vertex weight of vertex 2 is nan"):
            sssp.reduce(g, [0, 3], "weight", vertex_weights=weights)
        with pytest.raises(ValueError, match="the vertex weight of vertex 2 is nan"):
            sssp.run(g, [0], to=tmp_path / "no", reduce="weight", vertex_weights=weights)


@pytest.mark.parametrize("block_size", [1, 7, 20, 1000, None])
def test_blocks_side_by_side_are_one_call(block_size: int | None) -> None:
    g = ring_with_chords(200)
    sources = np.arange(20) * 9
    whole = sssp.shortest_paths(g, sources, predecessors=True)
    blocks = list(sssp.iter_blocks(g, sources, block_size=block_size, predecessors=True))
    size = 20 if block_size is None else block_size
    assert [r.rows for r in blocks] == [len(sources[i : i + size]) for i in range(0, 20, size)]
    assert whole.predecessors is not None
    for name in ("sources", "distances", "predecessors"):
        np.testing.assert_array_equal(
            np.concatenate([getattr(r, name) for r in blocks]), getattr(whole, name)
        )


def test_a_block_of_no_given_size_holds_so_many_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    g = ring_with_chords(100)
    monkeypatch.setattr("sssp.engine.thresholds.ITERATED_BYTES", 3 * 8 * 100)
    assert [r.rows for r in sssp.iter_blocks(g, range(8))] == [3, 3, 2]
    monkeypatch.setattr("sssp.engine.thresholds.ITERATED_BYTES", 1)
    assert [r.rows for r in sssp.iter_blocks(g, [4, 4])] == [1, 1]


def test_the_options_of_a_block_are_those_of_a_call() -> None:
    g = ring_with_chords(100)
    options: dict[str, Any] = {
        "targets": [3, 50],
        "limit": 250,
        "method": sssp.Dijkstra(),
        "dtype": np.float64,
        "threads": 2,
    }
    for r, sources in zip(
        sssp.iter_blocks(g, [1, 2, 3], block_size=2, **options), ([1, 2], [3]), strict=True
    ):
        expected = sssp.shortest_paths(g, sources, **options)
        assert (r.method, r.limit, r.distances.dtype) == ("dijkstra", 250, np.float64)
        np.testing.assert_array_equal(r.distances, expected.distances)


def test_blocks_are_solved_only_when_they_are_asked_for() -> None:
    g = sssp.Graph.from_arcs([0, 1, 2], [1, 2, 1], [1, 1, -5], n=5)
    blocks = sssp.iter_blocks(g, [3, 4, 0], block_size=1)
    assert next(blocks).sources.tolist() == [3]
    assert next(blocks).sources.tolist() == [4]
    with pytest.raises(sssp.NegativeCycleError):
        next(blocks)


def test_blocks_have_one_dtype_fixed_before_the_first() -> None:
    chain = sssp.Graph.from_arcs([0, 1], [1, 2], [2**29, 2**30])
    assert [r.distances.dtype for r in sssp.iter_blocks(chain, [2, 0], block_size=1)] == [
        np.int64,
        np.int64,
    ]
    # n - 1 of the heaviest arcs do not fit, but a way over vertex 0 does
    tails = np.arange(3000)
    ring = sssp.Graph.from_arcs(tails, (tails + 1) % 3000, [2**20, *[1] * 2999])
    assert {r.distances.dtype for r in sssp.iter_blocks(ring, range(4), block_size=2)} == {
        np.dtype(np.int32)
    }
    limited = sssp.iter_blocks(chain, [0, 1], block_size=1, limit=2**29)
    assert {r.distances.dtype for r in limited} == {np.dtype(np.int32)}
    floats = sssp.iter_blocks(chain, [0, 1], block_size=1, dtype="float32")
    assert {r.distances.dtype for r in floats} == {np.dtype(np.float32)}


def test_a_limit_says_nothing_of_how_far_distances_fall() -> None:
    g = sssp.Graph.from_arcs([0, 1, 2], [1, 2, 3], [-(2**30)] * 3)
    whole = sssp.shortest_paths(g, [0, 1], limit=5)
    blocks = list(sssp.iter_blocks(g, [0, 1], block_size=1, limit=5))
    assert [r.distances.dtype for r in blocks] == [np.int64, np.int64]
    assert np.concatenate([r.to_float() for r in blocks]).tolist() == whole.to_float().tolist()
    assert whole.distance(3) == -3 * 2**30


def test_blocks_are_checked_at_the_call() -> None:
    g = ring_with_chords(100)
    with pytest.raises(sssp.VertexError, match="100 is not a vertex"):
        sssp.iter_blocks(g, [1, 100])
    with pytest.raises(TypeError, match="colour"):
        sssp.iter_blocks(g, [1], colour="red")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="a sequence of sources"):
        sssp.iter_blocks(g, 1)
    for size in (0, 2.5, "3", True):
        with pytest.raises(ValueError, match="block_size must be an integer of 1 or more"):
            sssp.iter_blocks(g, [1, 2], block_size=size)  # type: ignore[arg-type]


def test_no_sources_make_no_blocks_and_bad_arguments_are_refused() -> None:
    g = ring_with_chords(100)
    assert list(sssp.iter_blocks(g, [])) == []
    for size in (0, -3):
        with pytest.raises(ValueError, match=f"block_size.*{size}"):
            next(sssp.iter_blocks(g, [1], block_size=size))
    with pytest.raises(sssp.VertexError, match="source 100"):
        next(sssp.iter_blocks(g, [0, 100], block_size=1))
