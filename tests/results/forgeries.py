"""Results of every kind, ways to spoil them, and a plain judgement of whether one is right."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse

import sssp
from tests import naive
from tests.naive import Arc, Network
from tests.strategies import graph_of, with_unit_weights

Random = np.random.Generator
MATRIX_METHODS = ["floyd-warshall", "repeated-squaring", "johnson"]
SEARCHES = ["dijkstra", "delta-stepping", "bellman-ford", "threshold-dijkstra"]


class Answered(NamedTuple):
    """A graph, and a right result on it."""

    network: Network
    graph: sssp.Graph
    result: sssp.ShortestPaths


def _is_sparse(matrix: Any) -> bool:
    return bool(issparse(matrix))


def answered(random: Random) -> Answered:
    """Draw a graph and a call that has an answer."""
    while True:
        network = _network(random)
        g = graph_of(network)
        try:
            return Answered(network, g, _answer(random, g))
        except sssp.NegativeCycleError:
            continue


def _network(random: Random) -> Network:
    n = int(random.integers(1, 8))
    m = int(random.integers(0, 4 * n))
    tails, heads = random.integers(0, n, (2, m)).tolist()
    weights = random.choice([0, 1, 1, 2, 3, 9], m)
    if random.random() < 0.3:  # negative arcs, by potentials: seldom a negative cycle
        heights = random.integers(0, 4, n) * 3
        weights = weights + heights[tails] - heights[heads]
    integer = bool(random.random() < 0.6)
    lengths = weights.tolist() if integer else (weights / 8).tolist()
    directed = bool(random.random() < 0.8)
    return Network(n, tuple(map(Arc, tails, heads, lengths)), directed, integer)


def _answer(random: Random, g: sssp.Graph) -> sssp.ShortestPaths:
    predecessors = bool(random.random() < 0.7)
    if random.random() < 0.15:
        method = str(random.choice(MATRIX_METHODS))
        return sssp.all_pairs(g, method=method, predecessors=predecessors, device="cpu")
    count = int(random.integers(1, 4))
    sources: Any = random.integers(0, g.n, count)
    if random.random() < 0.3:
        sources = int(sources[0])
    targets: Any = None
    output: Any = random.choice(["host", "host", "sparse"])
    if output == "host" and random.random() < 0.5:
        targets = random.integers(0, g.n, int(random.integers(1, 4)))
        if random.random() < 0.2:
            targets = int(targets[0])
    limits = [None, None, 0, 1, 2, 3.5, 6]
    limit = limits[random.integers(len(limits))]
    methods = ["bellman-ford", "breadth-first"]
    if g.least_weight >= 0:
        methods += SEARCHES
    result = sssp.shortest_paths(
        g,
        sources,
        targets=targets,
        nearest=bool(random.random() < 0.3),
        limit=limit,
        method=str(random.choice(methods)),
        predecessors=predecessors,
        output=str(output),  # type: ignore[arg-type]
        dtype="float64" if random.random() < 0.1 else None,
        device="cpu",
    )
    return cut_to_paths(result) if random.random() < 0.8 else result


def cut_to_paths(result: sssp.ShortestPaths) -> sssp.ShortestPaths:
    """Bring predecessors of a call with targets to a CSR matrix of the paths to them."""
    if result.targets is None or result.predecessors is None or _is_sparse(result.predecessors):
        return result
    cut = copy.copy(result)
    rows = np.asarray(result.predecessors).reshape(result.rows, result.graph.n)
    reached = np.asarray(result.reached).reshape(result.rows, result.targets.size)
    stored = [
        _on_paths(row.tolist(), result.targets[mask].tolist())
        for row, mask in zip(rows, reached, strict=True)
    ]
    cut.predecessors = _csr(stored, (result.rows, result.graph.n), np.int32)
    return cut


def _on_paths(tails: list[int], targets: list[int]) -> dict[int, int]:
    stored: dict[int, int] = {}
    for target in targets:
        vertex = target
        while vertex >= 0 and vertex not in stored:
            stored[vertex] = tails[vertex]
            vertex = tails[vertex]
    return stored


def _csr(rows: list[dict[int, Any]], shape: tuple[int, int], dtype: Any) -> Any:
    indptr = np.cumsum([0, *map(len, rows)])
    entries = [entry for row in rows for entry in sorted(row.items())]
    indices = np.array([column for column, _ in entries], np.int32)
    return csr_array((np.array([value for _, value in entries], dtype), indices, indptr), shape)


# -- what is right -----------------------------------------------------------------------------


def is_right(network: Network, result: sssp.ShortestPaths) -> bool:
    """Judge a result of the right form, by naive algorithms and walks along its tails."""
    if result.method == "breadth-first":
        network = with_unit_weights(network)
    elif result.distances.dtype.kind == "i" and result.graph.weights.dtype.kind == "f":
        return False
    if _is_sparse(result.distances) and result.predecessors is not None:
        if not np.array_equal(result.predecessors.indptr, result.distances.indptr):
            return False
        if not np.array_equal(result.predecessors.indices, result.distances.indices):
            return False
    sources, targets = result.sources.tolist(), result.targets
    limit = math.inf if result.limit is None else result.limit
    for i, start in enumerate([sources] if result.nearest else [[s] for s in sources]):
        try:
            whole = naive.solve(network, start, limit=limit)
            wanted = None if targets is None else targets.tolist()
            final = naive.solve(network, start, limit=limit, targets=wanted)
        except naive.NegativeCycle:
            return False
        columns = range(network.n) if targets is None else wanted
        if _row(result.distances, i, result) != [whole.distances.get(v) for v in columns or []]:
            return False
        if not _is_right_tree(network, result, i, start, final):
            return False
        if result.nearest and result.origin.tolist() != [
            final.origins.get(v, -1) for v in range(network.n)
        ]:
            return False
    return True


def _row(matrix: Any, i: int, result: sssp.ShortestPaths) -> list[Any]:
    """Return the numbers of a row, None where unreached."""
    if _is_sparse(matrix):
        stored = slice(*matrix.indptr[i : i + 2])
        values: list[Any] = [None] * matrix.shape[1]
        for v, value in zip(matrix.indices[stored], matrix.data[stored].tolist(), strict=True):
            values[v] = value
        return values
    missing = np.inf if matrix.dtype.kind == "f" else np.iinfo(matrix.dtype).max
    row = np.asarray(matrix).reshape(result.rows, -1)[i].tolist()
    return [None if value == missing else value for value in row]


def _is_right_tree(
    network: Network, result: sssp.ShortestPaths, i: int, start: list[int], final: naive.Row
) -> bool:
    if result.predecessors is None:
        return True
    if _is_sparse(result.predecessors) and result.targets is not None:
        stored = {v: t for v, t in enumerate(_row(result.predecessors, i, result)) if t is not None}
        tails = [final.predecessors.get(v, -1) for v in range(network.n)]
        reached = [t for t in result.targets.tolist() if t in final.distances]
        return stored == _on_paths(tails, reached)
    lengths, distances = network.lengths(), final.distances
    tails = [-1 if t is None else t for t in _row(result.predecessors, i, result)]
    if _is_sparse(result.predecessors):
        tails = [-1 if v not in distances else t for v, t in enumerate(tails)]
    for v, tail in enumerate(tails):
        is_root = v in start and distances.get(v) == 0
        if is_root or v not in distances:
            if tail != -1:
                return False
            continue
        arc = (tail, v)
        if arc not in lengths or distances.get(tail) is None:
            return False
        if distances[tail] + lengths[arc] != distances[v]:
            return False
        if result.nearest and final.origins[tail] != final.origins[v]:
            return False
        seen = {v}
        while tail != -1:
            if tail in seen or not 0 <= tail < network.n:
                return False
            seen.add(tail)
            tail = tails[tail]
    return True


# -- how to spoil it ---------------------------------------------------------------------------


def forged(random: Random, result: sssp.ShortestPaths) -> tuple[sssp.ShortestPaths, bool]:
    """Return a copy with something changed, and whether the change spoils its form."""
    forgery = copy.copy(result)
    ways = CONTENTS + FORMS
    while True:
        way = ways[random.integers(len(ways))]
        if way(random, forgery):
            return forgery, way in FORMS


def _values(random: Random, array: Any) -> Any:
    """Draw a number to write into `array`."""
    number = array.dtype.type
    if array.dtype.kind == "f":
        return number(random.choice([0, 1, -1, 0.125, 2, 9, np.inf, -np.inf, np.nan, 1e300]))
    limits = np.iinfo(number)
    odd = [0, 1, -1, 2, 3, 9, limits.max, limits.max - 1, limits.min, 2**30, -(2**30)]
    return number(random.choice(odd))


def _spoil_entries(random: Random, array: Any) -> bool:
    """Change some entries in place."""
    if array.size == 0:
        return False
    before = array.copy()
    for _ in range(int(random.integers(1, 3))):
        place = np.unravel_index(int(random.integers(array.size)), array.shape)
        other = array.flat[int(random.integers(array.size))]
        with np.errstate(over="ignore"):
            near = array[place] + array.dtype.type(random.choice([-1, 1]))
        array[place] = [_values(random, array), other, near][random.integers(3)]
    return bool(before.tobytes() != array.tobytes())


def _other_distances(random: Random, r: sssp.ShortestPaths) -> bool:
    r.distances = r.distances.copy()
    return _spoil_entries(random, r.distances.data if _is_sparse(r.distances) else r.distances)


def _other_predecessors(random: Random, r: sssp.ShortestPaths) -> bool:
    if r.predecessors is None:
        return False
    r.predecessors = r.predecessors.copy()
    tails = r.predecessors.data if _is_sparse(r.predecessors) else r.predecessors
    if tails.size == 0:
        return False
    place = np.unravel_index(int(random.integers(tails.size)), tails.shape)
    before = tails[place]
    tails[place] = random.integers(-2, r.graph.n + 2)
    return bool(before != tails[place])


def _other_branches(random: Random, r: sssp.ShortestPaths) -> bool:
    """Store a vertex more or less, of a tree or of sparse rows."""
    name = str(random.choice(["distances", "predecessors"]))
    matrix = getattr(r, name)
    if not _is_sparse(matrix) or matrix.shape[0] == 0:
        return False
    rows = [dict[int, Any]() for _ in range(matrix.shape[0])]
    for i, row in enumerate(rows):
        stored = slice(*matrix.indptr[i : i + 2])
        row.update(zip(matrix.indices[stored].tolist(), matrix.data[stored], strict=True))
    row = rows[random.integers(len(rows))]
    vertex = int(random.integers(matrix.shape[1]))
    if vertex in row:
        del row[vertex]
    else:
        row[vertex] = random.integers(-1, r.graph.n)
    setattr(r, name, _csr(rows, matrix.shape, matrix.dtype))
    return True


def _other_origin(random: Random, r: sssp.ShortestPaths) -> bool:
    if r.origin is None:
        return False
    v = int(random.integers(r.graph.n))
    r.origin = r.origin.copy()
    before, r.origin[v] = r.origin[v], random.integers(-2, r.graph.n + 1)
    return bool(before != r.origin[v])


def _other_vertices(random: Random, r: sssp.ShortestPaths) -> bool:
    name = str(random.choice(["sources", "targets"]))
    vertices = getattr(r, name)
    if vertices is None or vertices.size == 0:
        return False
    vertices = vertices.copy()
    vertices[random.integers(vertices.size)] = random.integers(r.graph.n)
    setattr(r, name, vertices)
    return True


def _other_limit(random: Random, r: sssp.ShortestPaths) -> bool:
    limits: list[Any] = [
        None,
        0,
        1,
        2,
        3,
        5,
        9,
        0.5,
        10**400,
        np.int64(2),
        np.float32(1.5),
        math.inf,
    ]
    r.limit = limits[random.integers(len(limits))]
    return True


def _other_method(random: Random, r: sssp.ShortestPaths) -> bool:
    r.method = str(random.choice([*SEARCHES, "breadth-first"]))
    return True


def _other_rows(random: Random, r: sssp.ShortestPaths) -> bool:
    if r.single or r.nearest or r.rows < 2:
        return False
    order = random.permutation(r.rows)
    for name in ("distances", "predecessors"):
        if getattr(r, name) is not None and random.random() < 0.7:
            setattr(r, name, getattr(r, name)[order])
    return True


def _no_predecessors(random: Random, r: sssp.ShortestPaths) -> bool:
    r.predecessors = None
    return True


def _wrong_limit(random: Random, r: sssp.ShortestPaths) -> bool:
    limits: list[Any] = [-1, math.nan, "5", True, [3], -math.inf, np.array([1, 2])]
    r.limit = limits[random.integers(len(limits))]
    return True


def _wrong_origin(random: Random, r: sssp.ShortestPaths) -> bool:
    if r.origin is None:
        r.origin = np.full(r.graph.n, -1, np.int32)
    else:
        wrong = [None, r.origin[:-1], r.origin.astype(np.int64), r.origin.tolist()]
        r.origin = wrong[random.integers(len(wrong))]
    return True


def _wrong_vertices(random: Random, r: sssp.ShortestPaths) -> bool:
    name = str(random.choice(["sources", "targets"]))
    vertices = getattr(r, name)
    if vertices is None:
        return False
    wrong: list[Any] = [
        np.append(vertices, 0),
        vertices.astype(np.float64),
        vertices.astype(np.int32),
        vertices.tolist(),
        np.full_like(vertices, r.graph.n),
        np.full_like(vertices, -1),
        vertices[np.newaxis],
    ]
    if r.nearest and name == "sources":
        wrong = wrong[1:]
    if vertices.size == 0:
        return False
    setattr(r, name, wrong[random.integers(len(wrong))])
    return True


def _wrong_flags(random: Random, r: sssp.ShortestPaths) -> bool:
    if random.random() < 0.5:
        r.nearest = not r.nearest
        return True
    one_target = r.targets is not None and r.targets.size == 1
    if r.nearest or _is_sparse(r.distances) or r.single or one_target:
        return False
    r.single = True
    return True


def _wrong_array(random: Random, r: sssp.ShortestPaths) -> bool:
    name = str(random.choice(["distances", "predecessors"]))
    array = getattr(r, name)
    if array is None:
        return False
    if _is_sparse(array):
        ways: list[Callable[[Any], Any]] = [
            lambda a: a.toarray()[:, :-1],
            lambda a: a.tocsc(),
            lambda a: csr_array((a.data, a.indices, a.indptr), (a.shape[0], a.shape[1] + 1)),
            lambda a: a.astype(np.int16),
        ]
    else:
        ways = [
            lambda a: a.astype(object),
            lambda a: a.astype(np.uint32),
            lambda a: a.astype(bool),
            lambda a: a[..., np.newaxis, np.newaxis],
            lambda a: np.append(a, a.dtype.type(0)),
            lambda a: a.tolist(),
            lambda a: a.astype(a.dtype.newbyteorder()),
            lambda a: a.astype(complex),
        ]
        if name == "distances":
            ways.append(lambda a: None)
        else:
            ways.append(lambda a: csr_array(a.reshape(r.rows, -1) + 1) if r.targets is None else 0)
    with np.errstate(invalid="ignore", over="ignore"):
        setattr(r, name, ways[random.integers(len(ways))](array))
    return True


def _wrong_csr(random: Random, r: sssp.ShortestPaths) -> bool:
    """Break the arrays of a CSR matrix."""
    name = str(random.choice(["distances", "predecessors"]))
    matrix = getattr(r, name)
    if not _is_sparse(matrix) or matrix.nnz < 2:
        return False
    matrix = matrix.copy()
    setattr(r, name, matrix)
    way = int(random.integers(7))
    if way == 0:
        matrix.indptr[-1] += random.choice([-1, 1])
    elif way == 1:
        matrix.indices[random.integers(matrix.nnz)] = random.choice([-1, r.graph.n])
    elif way == 2:
        matrix.indptr[0] = 1
    elif way == 3:
        matrix.data = matrix.data[:-1]
    elif way == 4:
        matrix.indptr = matrix.indptr[:-1]
    elif way == 5:
        matrix.indices = matrix.indices.astype(float)
    else:
        row = int(np.argmax(np.diff(matrix.indptr)))
        first = matrix.indptr[row]
        if matrix.indptr[row + 1] - first < 2:
            return False
        matrix.indices[first + 1] = matrix.indices[first]
    return True


Way = Callable[[Random, sssp.ShortestPaths], bool]
#: changes after which `is_right` decides
CONTENTS: list[Way] = [
    _other_distances,
    _other_distances,
    _other_distances,
    _other_predecessors,
    _other_predecessors,
    _other_branches,
    _other_branches,
    _other_origin,
    _other_vertices,
    _other_limit,
    _other_method,
    _other_rows,
    _no_predecessors,
]
#: changes that are never right
FORMS: list[Way] = [
    _wrong_limit,
    _wrong_origin,
    _wrong_vertices,
    _wrong_flags,
    _wrong_array,
    _wrong_csr,
]
