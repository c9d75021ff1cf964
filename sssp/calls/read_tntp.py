"""Read TNTP files (traffic assignment problems) as the arguments of `assign`."""

from __future__ import annotations

from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sssp.cpu.link_costs import BPR
from sssp.errors import GraphFormatError
from sssp.graph.graph import Graph
from sssp.kernels.dtypes import FLOAT64
from sssp.loaders import LinkTable, read_tntp_net, read_tntp_nodes, read_tntp_trips


class RoadProblem(NamedTuple):
    """A traffic assignment problem: the arguments of `sssp.assign`.

    Attributes
    ----------
    graph : Graph
        A row a link, with its cost while it is empty; the numbers of the file are labels.
    demand : tuple, or None
        Origins, destinations and volumes: all zones, shape (zones,), and ndarray of float64, shape
        (zones, zones). None without a file of trips.
    cost : BPR
        Of every link.
    closed_zones : ndarray of int64, shape (c,)
        Zones that may not be passed.
    links : LinkTable
        All columns of the network: lengths and tolls to skim.
    """

    graph: Graph
    demand: Any
    cost: BPR
    closed_zones: NDArray[np.int64]
    links: LinkTable


def read_tntp(
    network: str | PathLike[str],
    trips: str | PathLike[str] | None = None,
    *,
    nodes: str | PathLike[str] | None = None,
    distance: float = 0.0,
    toll: float = 0.0,
) -> RoadProblem:
    """Read a test problem of https://github.com/bstabler/TransportationNetworks (TNTP files).

    Parameters
    ----------
    network : path-like
        A ``_net.tntp`` file; as all of these plain or compressed (gzip, xz, bzip2).
    trips : path-like, optional
        Its ``_trips.tntp`` file. Trips within a zone load nothing.
    nodes : path-like, optional
        Its ``_node.tntp`` file, whose columns become the coordinates of the graph: of use where
        they are longitude and latitude.
    distance, toll : float
        What a unit of the columns length and toll costs, in units of the free-flow time, as the
        problem's own page says: 0.04 and 0.02 for Chicago Sketch.

    Returns
    -------
    RoadProblem

    Raises
    ------
    GraphFormatError
        A file is malformed, or the trips are of other zones; the message names file and line.
    OSError
        A file cannot be opened.
    ValueError
        A cost is negative, or a capacity 0; names the row.

    Examples
    --------
    ::

        p = sssp.read_tntp("SiouxFalls_net.tntp", "SiouxFalls_trips.tntp")
        a = sssp.assign(p.graph, p.demand, p.cost, closed_zones=p.closed_zones)
    """
    links = read_tntp_net(network)
    fixed = distance * links.length + toll * links.toll
    cost = BPR(links.free, links.capacity, links.alpha, links.beta, fixed)
    places = None if nodes is None else read_tntp_nodes(nodes, links.n)
    weights, names = cost.cost(np.zeros(links.free.size)), range(1, links.n + 1)
    graph = Graph.from_arcs(
        links.tails, links.heads, weights, links.n, coordinates=places, labels=names
    )
    demand = None
    if trips is not None:
        table = read_tntp_trips(trips)
        if table.zones != links.zones:
            raise GraphFormatError(
                f"trips between {table.zones} zones, but the network has {links.zones}", path=trips
            )
        volumes = np.zeros((links.zones, links.zones), FLOAT64)
        np.add.at(volumes, (table.origins, table.destinations), table.volumes)
        demand = np.arange(links.zones), np.arange(links.zones), volumes
    return RoadProblem(graph, demand, cost, np.arange(links.closed_zones), links)
