"""Checks of all arguments of calls; solvers trust the results."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sssp.engine.check_memory import physical_memory
from sssp.engine.decay import EXPONENTIAL, FUNCTION, GAUSSIAN, LINEAR, POWER, TABLE, Decay
from sssp.engine.device_names import kind_of
from sssp.engine.reductions import REDUCTIONS, Reduction
from sssp.engine.request import Request
from sssp.graph.check_arrays import arc_column, is_integer, is_real, number_array, refuse_mask
from sssp.graph.graph import Graph
from sssp.graph.labels import label_hint, no_vertex
from sssp.kernels.dtypes import FLOAT64, INT64, distance_dtype

#: what to call with what is not a graph, by a method that tells such an object
REMEDIES = (
    ("tocsr", "sssp.Graph.from_scipy(matrix) makes one"),
    ("adjacency", "sssp.Graph.from_networkx(G) makes one"),
    ("columns", "sssp.Graph.from_dataframe(edges, tail, head, weight) makes one"),
    (
        "__array__",
        "sssp.Graph.from_scipy(scipy.sparse.csr_array(matrix)) makes one, and sssp.all_pairs takes "
        "the matrix as it is",
    ),
    ("__fspath__", "sssp.read_graph(path) makes one"),
    ("encode", "sssp.read_graph(path) makes one"),
)
LABELS_HINT = "; g.vertices(labels) turns labels into vertices"
#: the forms of a decay
DECAYS = (
    "('step', distance), ('linear', distance), ('gaussian', sigma), ('exponential', rate), "
    "('power', exponent), a tuple of edges and values, or a function of an array of distances"
)
#: their kinds, and what their numbers are
FORMS = {
    "step": (TABLE, "distance"),
    "linear": (LINEAR, "distance"),
    "gaussian": (GAUSSIAN, "sigma"),
    "exponential": (EXPONENTIAL, "rate"),
    "power": (POWER, "exponent"),
}
HOW_TO_START = "sssp.read_graph and sssp.Graph.from_arcs make one"


def as_network(value: Any) -> Graph:
    """Check that the first argument of a call is a graph or a prepared map, and return it.

    Raises
    ------
    TypeError
        It is not a graph; the message says how to make one of it.
    """
    if hasattr(type(value), "_tree_graph"):
        return value  # type: ignore[no-any-return]  # whatever answers questions like a graph
    remedy = next((text for sign, text in REMEDIES if hasattr(value, sign)), HOW_TO_START)
    raise TypeError(
        f"the first argument must be a sssp.Graph, not {type(value).__name__}; {remedy}"
    )


def as_vertices(value: Any, graph: Graph, what: str) -> tuple[NDArray[np.int64], bool]:
    """Check sources or targets; return an int64 array, and whether a single int was given.

    Parameters
    ----------
    value : int, or array_like of int
        Vertices; any integer type, and whatever NumPy takes for one row of integers.
    graph : Graph
        They belong to.
    what : str
        ``"source"``, ``"target"`` or ``"facility"``, for messages.

    Returns
    -------
    vertices : ndarray, shape (k,), int64
    single : bool
        Whether `value` was one vertex instead of a row of them.

    Raises
    ------
    TypeError
        Not integers.
    VertexError
        Outside 0..n-1.
    """
    if type(value) is int and 0 <= value < graph.n:
        return np.array([value], INT64), True
    if is_integer(value):
        vertices: NDArray[Any] = np.array(operator.index(value), np.object_)
    else:
        vertices = _row_of_integers(value, graph, what)
    single, vertices = vertices.ndim == 0, vertices.reshape(-1)
    try:
        checked = vertices.astype(INT64, copy=True)
    except OverflowError:  # (Python's integers have any size)
        checked = np.full(1, -1)
    # (as unsigned numbers those below 0 are the greatest; NumPy finds their place in half the time)
    unsigned = checked.view(np.uint64)
    if not checked.size or unsigned[unsigned.argmax()] < graph.n:
        return checked, single
    outside = np.flatnonzero((vertices < 0) | (vertices >= graph.n))
    raise no_vertex(vertices[outside[0]], graph, f"{what} ")


def as_starts(
    user: Any, sources: Any, arcs: Any
) -> tuple[NDArray[np.int64], NDArray[np.int64] | None, bool]:
    """Check source vertices or source arcs, and convert them to vertices of the searched graph.

    Parameters
    ----------
    user : Graph or Hierarchy
        As the caller gave it.
    sources, arcs : array_like or None
        Vertices, or arcs after which trips start.

    Returns
    -------
    starts : ndarray, int64
        Vertices of the graph that is searched.
    arcs : ndarray, int64, or None
        The arcs, checked.
    single : bool
        Whether the caller named one, without an axis.

    Raises
    ------
    TypeError, VertexError, IndexError
        As `as_vertices`; no arcs of this graph; both are given, or neither.
    ValueError
        Arcs of a reversed graph with turns.
    """
    turns = user.turns
    if arcs is None and sources is not None:
        vertices, single = as_vertices(sources, user, "source")
        return vertices if turns is None else turns.expansion.begin[vertices], None, single
    refuse_both("source", sources, arcs)
    graph = user._tree_graph
    places, single = arc_column(arcs, graph.m), np.ndim(arcs) == 0
    if turns is None:
        return graph.indices[places].astype(INT64), places, single
    if turns.expansion.after is None:
        raise ValueError(
            "a reversed graph with turns does not take source_arcs=: ask the graph itself, with "
            "target_arcs="
        )
    return turns.expansion.after[places], places, single


def refuse_both(what: str, vertices: Any, arcs: Any) -> None:
    """Raise TypeError unless trip ends are given as vertices or as arcs, and not as both."""
    if (vertices is None) == (arcs is None):
        wrong = "None for both" if arcs is None else "both"
        raise TypeError(f"give either {what}s or {what}_arcs=, not {wrong}")


def distinct(vertices: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the distinct vertices in ascending order; ten times as fast as `np.unique`."""
    ascending = np.sort(vertices)
    is_first = np.ones(ascending.size, np.bool_)
    np.not_equal(ascending[1:], ascending[:-1], out=is_first[1:])
    return ascending[is_first]


def _row_of_integers(value: Any, graph: Graph, what: str) -> NDArray[Any]:
    if type(value) is np.ndarray and value.dtype.kind in "iu" and value.ndim == 1:
        return value
    several = f"{what[:-1]}ies" if what.endswith("y") else f"{what}s"
    refuse_mask(value, several)
    odd: Any = [value]
    if not (value is None or isinstance(value, str | bytes | set | frozenset | dict)):
        try:
            values = np.asarray(value)
        except ValueError:  # of tuples beside numbers, say
            raise TypeError(f"{several} must be one row of integers{LABELS_HINT}") from None
        if values.dtype.kind == "f" and isinstance(value, list | tuple):
            values = np.asarray(value, np.object_)  # of uint64 and int together NumPy makes floats
        if values.ndim > 1:
            raise TypeError(
                f"{several} must be one row of integers, not of shape {values.shape}{LABELS_HINT}"
            )
        if values.dtype.kind in "iu":
            return values
        if values.ndim == 1:
            # Python integers of any size, but nothing that would have to be cut to one
            odd = [entry for entry in values if not is_integer(entry)]
            if not odd:
                return values
    hint = label_hint(graph, odd[0]) or LABELS_HINT
    raise TypeError(
        f"{several} must be an int or one row of integers, not {type(odd[0]).__name__}{hint}"
    )


def as_count(value: Any, name: str, least: int = 1) -> int:
    """Check that an argument is an integer of `least` or more, and return it.

    Raises
    ------
    ValueError
        It is not an integer of `least` or more.
    """
    if not is_integer(value) or value < least:
        raise ValueError(f"{name} must be an integer of {least} or more, not {value!r}")
    return operator.index(value)


def as_limit(limit: Any, *, integral: bool) -> int | float | None:
    """Return the checked distance limit, rounded down for integer distances; None if infinite.

    Raises
    ------
    TypeError, ValueError
        Not a number; negative or NaN.
    """
    if limit is None:
        return None
    if not is_real(limit):
        raise TypeError(f"limit must be a number, not {type(limit).__name__}")
    if not limit >= 0:
        raise ValueError(f"limit must be 0 or more, not {limit}")
    if limit == math.inf:
        return None
    if integral:
        return int(limit)
    try:
        return float(limit)
    except OverflowError:  # an int beyond all floats
        return None


def as_memory_limit(memory_limit: Any) -> int:
    """Return the checked memory limit in bytes; for None, the memory of the machine.

    Raises
    ------
    ValueError
        Not a number of bytes.
    """
    if memory_limit is None:
        return physical_memory()
    if not is_real(memory_limit) or not 0 <= memory_limit < math.inf:
        raise ValueError(f"memory_limit must be a number of bytes, not {memory_limit!r}")
    return int(memory_limit)


def as_stream(stream: Any, device: str) -> int:
    """Check the argument `stream`; return the integer handle of the caller's CUDA stream.

    Raises
    ------
    ValueError, TypeError
        The call does not run on a GPU; not a stream.
    """
    if kind_of(device) != "cuda":
        raise ValueError("stream= orders work on a GPU: it needs device='cuda'")
    handle = stream.__cuda_stream__()[1] if hasattr(stream, "__cuda_stream__") else stream
    if not is_integer(handle) or handle < 0:
        raise TypeError(
            f"stream must be an int or an object with __cuda_stream__, not {stream!r}; "
            "CuPy's handle is stream.ptr, PyTorch's stream.cuda_stream"
        )
    return int(handle)


def as_out(
    out: Any, dtype: DTypeLike | None, weights: np.dtype[Any]
) -> tuple[NDArray[Any] | None, np.dtype[Any] | None]:
    """Check that `out`, `dtype` and the weights' dtype agree; return `out` and the dtype.

    Returns
    -------
    out : ndarray or None
    dtype : dtype or None
        What the distances must be; None leaves it open.

    Raises
    ------
    TypeError, ValueError
        Not an array that can be written; dtypes that do not go together.
    """
    asked = distance_dtype(dtype, weights)
    if out is None:
        return None, asked
    refuse_mask(out, "out")
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out must be a NumPy array or memmap, not {type(out).__name__}")
    if not out.flags.writeable:
        raise ValueError("out is read-only; pass an array that can be written")
    if asked is not None and asked != out.dtype:
        raise TypeError(f"out holds {out.dtype}, but dtype is {asked}; omit dtype")
    return out, distance_dtype(out.dtype, weights)


def as_reduction(what: Any, vertex_weights: Any, decay: Any, n: int) -> Reduction:
    """Check a user's choice of how to reduce each row of distances; return it as a `Reduction`.

    Raises
    ------
    ValueError, TypeError
        No such reduction or decay; vertex weights or a decay missing, superfluous, of another
        shape, or no numbers.
    """
    if not isinstance(what, str) or what not in REDUCTIONS:
        raise ValueError(f"unknown reduction {what!r}; choose from {', '.join(REDUCTIONS)}")
    given = {"vertex_weights": vertex_weights, "decay": decay}
    odd = [name for name, value in given.items() if value is not None]
    if not REDUCTIONS[what].weighs:
        if odd:
            weighing = " or ".join(repr(name) for name in REDUCTIONS if REDUCTIONS[name].weighs)
            raise ValueError(f"{odd[0]} belongs to the reduction {weighing}, and to nothing else")
        return Reduction(what)
    if not odd:
        raise ValueError(f"the reduction {what!r} needs vertex_weights, or a decay, or both")
    form = None if decay is None else as_decay(decay)
    if vertex_weights is None:
        return Reduction(what, decay=form)
    weights = number_array(vertex_weights, "vertex_weights")
    if weights.ndim not in (1, 2) or weights.shape[0] != n:
        raise ValueError(f"vertex_weights must have shape ({n},) or ({n}, c), not {weights.shape}")
    if weights.dtype.kind == "u" and weights.size and weights.max() > np.iinfo(INT64).max:
        raise ValueError(f"a vertex weight of {weights.max()} does not fit int64; pass floats")
    wrong = np.argwhere(~np.isfinite(weights))
    if wrong.size:
        raise ValueError(
            f"the vertex weight of vertex {wrong[0, 0]} is {weights[tuple(wrong[0])]}; use 0 for a "
            "vertex that should not count"
        )
    weights = weights.astype(FLOAT64 if weights.dtype.kind == "f" else INT64)
    columns = np.ascontiguousarray(weights if weights.ndim == 2 else weights[:, np.newaxis])
    if form is not None:
        columns = columns.astype(FLOAT64, copy=False)
    return Reduction(what, columns, form, one_column=weights.ndim == 1)


def as_decay(decay: Any) -> Decay:
    """Check the argument `decay` (factor of vertex weights by distance); return the `Decay`.

    Raises
    ------
    ValueError, TypeError
        Not one of the forms that `sssp.reduce` takes, or not with such numbers.
    """
    if callable(decay):
        return Decay(FUNCTION, function=decay)
    if not isinstance(decay, tuple) or len(decay) != 2:
        raise TypeError(f"decay must be {DECAYS}, not {decay!r}")
    kind, number = decay
    if not isinstance(kind, str):
        return _as_table(*decay)
    if kind not in FORMS:
        raise ValueError(f"unknown decay {kind!r}; decay must be {DECAYS}")
    form, name = FORMS[kind]
    if not is_real(number):
        raise TypeError(f"the {name} of a decay must be a number, not {number!r}")
    if not 0 <= number < math.inf:
        raise ValueError(f"the {name} of a decay must be 0 or more, not {number}")
    if form in (LINEAR, GAUSSIAN) and number == 0:
        raise ValueError(f"the {name} of a {kind} decay must be more than 0; use ('step', 0)")
    if form == TABLE:
        return Decay(TABLE, edges=np.array([number], FLOAT64), values=np.ones(1))
    return Decay(form, float(number))


def _as_table(edges: Any, values: Any) -> Decay:
    """Return a `Decay` that is constant on intervals; check the intervals' ends and the values."""
    parts = []
    for name, given in (("edges", edges), ("values", values)):
        numbers = number_array(given, f"the {name} of a decay")
        if numbers.ndim != 1 or numbers.size == 0 or not np.isfinite(numbers).all():
            raise ValueError(f"the {name} of a decay must be one row of finite numbers")
        parts.append(numbers.astype(FLOAT64))
    edges, values = parts
    if edges.size != values.size:
        raise ValueError(
            f"a decay needs a value for every edge, not {values.size} for {edges.size}: it holds "
            "for distances above the edge before, up to this edge"
        )
    if edges[0] < 0 or (np.diff(edges) <= 0).any():
        raise ValueError("the edges of a decay must ascend, from 0 or more")
    return Decay(TABLE, edges=edges, values=values)


def refuse_unprepared(network: Graph, request: Request) -> None:
    """Raise an error if a prepared map cannot answer a request with this limit or dtype.

    Raises
    ------
    TypeError
        Integer weights, and a float dtype asked for.
    ValueError
        Negative weights, and a limit.
    """
    if request.limit is not None and network.least_weight < 0:
        raise ValueError(
            "a prepared map with negative weights takes no limit; sssp.shortest_paths(h.graph, "
            "...) does"
        )
    asked = request.dtype
    if asked is not None and asked.kind == "f" and network._weight_range.dtype.kind == "i":
        raise TypeError(
            f"a prepared map of integer weights has integer distances, not {asked}; "
            "h.with_weights(h.graph.weights.astype(float)) has others, and r.to_float() makes "
            "floats of a result"
        )
