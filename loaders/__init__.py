"""Read files of several formats into arrays, and write arrays; without graphs and solvers.

========== ============================== ====================================
format     read                           write
========== ============================== ====================================
``.gr``    `read_gr`: arcs                `write_gr`
``.gr``    `read_weights`: another cost
``.co``    `read_co`: coordinates         `write_co`
``.ss``    `read_ss`: sources
``.p2p``   `read_p2p`: queries
``.sssp``  `read_arrays`: named arrays    `write_arrays`
``.osm``   `read_osm`: roads, also .pbf
``.tntp``  `read_tntp_net`: links
``.tntp``  `read_tntp_trips`: demand
``.tntp``  `read_tntp_nodes`: coordinates
========== ============================== ====================================

The text formats are those of the 9th DIMACS Implementation Challenge, and of the test problems
of traffic assignment (TNTP); in them vertices count from 1, in the arrays from 0. What is read may
be compressed with gzip, xz or bzip2, and may be a pipe: every file is opened once and read from the
beginning to the end.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from sssp.loaders._cut_ways import RoadNetwork
from sssp.loaders._dimacs import (
    ArcList,
    arcs_in,
    read_co,
    read_gr,
    read_p2p,
    read_ss,
    read_weights,
    write_co,
    write_gr,
)
from sssp.loaders._files import SSSP_MAGIC, Pathname, decompressed, first_bytes, is_osm
from sssp.loaders._osm import read_osm, roads_in
from sssp.loaders._profiles import PROFILES, Profile
from sssp.loaders._sssp_container import arrays_in, read_arrays, write_arrays
from sssp.loaders._tntp import LinkTable, TripTable, read_tntp_net, read_tntp_nodes, read_tntp_trips

__all__ = [
    "PROFILES",
    "ArcList",
    "LinkTable",
    "Profile",
    "RoadNetwork",
    "TripTable",
    "read_any",
    "read_arrays",
    "read_co",
    "read_gr",
    "read_osm",
    "read_p2p",
    "read_ss",
    "read_tntp_net",
    "read_tntp_nodes",
    "read_tntp_trips",
    "read_weights",
    "write_arrays",
    "write_co",
    "write_gr",
]


def read_any(
    path: Pathname,
) -> ArcList | RoadNetwork | tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read a ``.gr``, an ``.sssp`` or an OpenStreetMap file; its first bytes say which one it is.

    Parameters
    ----------
    path : path-like
        A file, plain or compressed.

    Returns
    -------
    ArcList, RoadNetwork, or meta and arrays
        As `read_gr`, `read_osm` for a car, or `read_arrays`, which say what is raised.
    """
    with decompressed(path) as stream:
        head = first_bytes(stream)
        if is_osm(head):
            return roads_in(stream, path)
        return (arrays_in if head.startswith(SSSP_MAGIC) else arcs_in)(stream, path)
