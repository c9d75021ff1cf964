"""`times_by_departure`: trips with the weights of each hour at which they may start."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sssp.calls.pairs import pairs
from sssp.engine import check_arguments

if TYPE_CHECKING:
    from sssp.graph.graph import Graph
    from sssp.prepared.hierarchy import Hierarchy


def times_by_departure(
    g: Graph | Hierarchy,
    weights: Iterable[ArrayLike],
    sources: ArrayLike,
    targets: ArrayLike,
    **options: Any,
) -> NDArray[np.float64]:
    """Find the distance of every trip at every hour of departure, with the weights of that hour.

    Parameters
    ----------
    g : Graph or Hierarchy
        A prepared map learns of new weights in milliseconds.
    weights : iterable of array_like, or array_like, shape (hours, m)
        Of each hour the weights of all arcs, as for `Graph.with_weights`. Lengths over speeds, say:
        ``(length[:, None] / speed)[g.arc_origin].T`` of a table of speeds by input row and hour.
    sources, targets : int, or array_like of int, shape (p,)
        The ends of the trips, as for `sssp.pairs`.
    **options
        Of `sssp.pairs`.

    Returns
    -------
    ndarray, shape (p, hours), float64
        Distances; inf where no path leads.

    Raises
    ------
    ValueError, TypeError, VertexError, SSSPError
        As `Hierarchy.scenarios` and `sssp.pairs`.

    Notes
    -----
    Travel is frozen at departure: a trip meets the streets of the hour at which it starts until
    its end. That is wrong for trips that are long beside an hour whose weights change.

    Examples
    --------
    >>> import sssp
    >>> g = sssp.Graph.from_arcs([0, 1, 0], [1, 2, 2], [5, 5, 20])
    >>> sssp.times_by_departure(g, [[5, 20, 5], [9, 20, 14]], [0, 1], [2, 2]).tolist()
    [[10.0, 20.0], [5.0, 14.0]]
    """
    network = check_arguments.as_network(g)
    # (a prepared map customizes many together)
    scenarios = getattr(network, "scenarios", partial(map, network.with_weights))
    options = {"progress": False} | options
    columns = [pairs(at, sources, targets, **options).to_float() for at in scenarios(weights)]
    return np.stack(columns, axis=1) if columns else np.empty((0, 0))
