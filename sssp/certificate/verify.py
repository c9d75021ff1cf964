"""`verify`: a certificate that a result is right, whatever computed it."""

from __future__ import annotations

import math
from typing import Any

from sssp.certificate.certify import certify_trees
from sssp.certificate.trips_and_facilities import certify_facilities, certify_trips
from sssp.engine.network import methods_of
from sssp.graph.graph import Graph
from sssp.results.check_result import is_real
from sssp.results.facilities import NearestFacilities
from sssp.results.trees import ShortestPaths
from sssp.results.trip_results import Trips

RESULTS = (ShortestPaths, Trips, NearestFacilities)


def verify(
    g: Graph, result: ShortestPaths | Trips | NearestFacilities, *, rtol: float | None = None
) -> None:
    """Certify that `result` answers its request on `g`.

    Parameters
    ----------
    g : Graph
        The graph that was asked about.
    result : ShortestPaths, Trips or NearestFacilities
        From any method and device: one source or many, nearest, limited, with targets, sparse;
        trips with their paths; the k nearest facilities. One on a device is copied to the host.
    rtol : float, optional
        How far the two sides of ``d[tail] + w == d[head]`` may lie apart, as a share of the
        greatest distance of the row. By default 0 for integers, and for methods that add from
        the source outward: they agree bit for bit. ``4 * eps * n`` for float distances of
        methods that add in another order (Floyd-Warshall, repeated squaring, Johnson), and for
        float rows that no sums fulfil exactly, because rounding makes a cycle of length zero
        seem negative.

    Raises
    ------
    VerificationError
        The result is wrong: a distance that is not the shortest, a vertex that should be
        reached or should not, predecessors that are not a shortest-path tree, an origin that is
        not the smallest nearest source, parts that do not belong together. The message names the
        row, the vertex or arc and the numbers.
    TypeError
        `g` is not a `Graph`, `result` not a result, `rtol` not a number.
    ValueError
        An `rtol` that is not a finite number of 0 or more.

    Notes
    -----
    O(n + m) time a row and O(n) memory. A limited result is certified complete as well: no arc
    leads to an unreached vertex within the limit. Rows with targets do not hold enough to be
    certified alone: they are found anew by Dijkstra's algorithm, certified, and compared, which
    takes longer (by Bellman-Ford if a weight is negative); their predecessors must be the tree
    that the call promises, cut to the paths to the targets. Trips are certified in the same way,
    one search a source, and their paths must be paths of that length. Nearest facilities take
    O(k^2 m) time and O(k n) memory. Results of ``breadth-first`` are certified with every weight 1.

    Examples
    --------
    >>> import sssp
    >>> g = sssp.Graph.from_arcs([0, 1], [1, 2], [5, 5])
    >>> sssp.verify(g, sssp.shortest_paths(g, 0, predecessors=True))
    """
    _check_arguments(g, result, rtol)
    if isinstance(result, Trips):
        certify_trips(g, result, rtol)
    elif isinstance(result, NearestFacilities):
        certify_facilities(g, result, rtol)
    else:
        certify_trees(g, result, rtol)


def _check_arguments(g: Any, result: Any, rtol: Any) -> None:
    if isinstance(g, RESULTS):
        raise TypeError("verify(g, result) takes the graph first, then the result")
    if not isinstance(g, Graph):
        own = "; of a prepared map that is h.graph" if methods_of(g) is not None else ""
        raise TypeError(f"g must be the Graph that was asked about, not {type(g).__name__}{own}")
    if not isinstance(result, RESULTS):
        raise TypeError(
            "result must be what shortest_paths, all_pairs, pairs or nearest returned, not "
            f"{type(result).__name__}"
        )
    if rtol is None:
        return
    if not is_real(rtol):
        raise TypeError(f"rtol must be a number, not {rtol!r}")
    if not 0 <= rtol < math.inf:
        raise ValueError(f"rtol must be a finite number of 0 or more, not {rtol}")
