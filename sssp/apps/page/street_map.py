"""The street map of the web page: positions of vertices, and streets with their speed classes.

The vertex nearest to a click is found in the browser (`static/places.js`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from sssp import Graph
from sssp.graph.drawing import MOST_LATITUDE, street_arcs
from sssp.graph.sphere import locate_vertices, mercator, metres_between

Array = NDArray[Any]

#: what traffic slows down together: streets from so many times the usual speed. Speeds are shares
#: of the median of all arcs: real road networks have a few speeds and most streets the same, which
#: shares of streets would tear apart
CLASSES = {"slow": 0.0, "usual": 0.75, "main": 1.25, "fast": 1.75}
USUAL = 1
#: arrays begin at multiples of this, as typed arrays of a browser ask for
ALIGNMENT = 8


class StreetMap:
    """The streets of a graph, in the order in which the page numbers them.

    Parameters
    ----------
    graph : Graph
        With coordinates in degrees.
    lengths : ndarray, shape (m,), optional
        Of every arc, in units of their own; None: in metres, straight from vertex to vertex.

    Raises
    ------
    ValueError
        A graph without coordinates, or with none in degrees.

    Attributes
    ----------
    middle : tuple of float
        Of the box around the vertices, in degrees.
    positions : ndarray of float32, shape (n, 2)
        Metres east and north of the middle of the map, by Mercator's projection, true there.
    streets : ndarray of uint32, shape (s, 2)
        The vertices at both ends; a street that goes both ways is there once.
    arcs : ndarray of int64, shape (s, 2)
        Positions in the graph of the arcs of a street, one a direction; -1 for none.
    lengths : ndarray of float64, shape (m,)
        Of every arc.
    straight : bool
        Whether those are of straight lines.
    arc_class : ndarray of uint8, shape (m,)
        Position in `CLASSES` of every arc.
    """

    def __init__(self, graph: Graph, lengths: Array | None = None) -> None:
        coordinates, box = locate_vertices(graph, " to draw it by")
        north, south = np.clip([box.north, box.south], -MOST_LATITUDE, MOST_LATITUDE).tolist()
        self.middle = (box.west + box.east) / 2, (south + north) / 2
        # (`page.js` does the same)
        inside = np.clip(coordinates, (-np.inf, -MOST_LATITUDE), (np.inf, MOST_LATITUDE))
        metres = mercator(inside) - mercator(np.array([self.middle]))
        self.positions = (metres * np.cos(np.radians(self.middle[1]))).astype(np.float32)
        self.straight = lengths is None
        if lengths is None:
            self.lengths = metres_between(coordinates, graph.tails, graph.indices)
        else:
            self.lengths = lengths.astype(np.float64)
        # the class of every arc, by its speed relative to the median
        known = (graph.weights > 0) & (self.lengths > 0)
        speeds = self.lengths[known] / graph.weights[known]
        self.arc_class = np.full(graph.m, USUAL, np.uint8)
        if known.any():
            bounds = [*CLASSES.values()][1:]
            self.arc_class[known] = np.searchsorted(bounds, speeds / np.median(speeds), "right")
        arcs, twins = street_arcs(graph)
        ends = np.stack([graph.tails[arcs], graph.indices[arcs]], axis=1)
        # fast streets come last, on top of the others; of a class neighbours are drawn together
        places = np.empty(arcs.size, np.int64)
        places[KDTree(self.positions[ends].mean(axis=1)).indices] = np.arange(arcs.size)
        order = np.lexsort((places, self.arc_class[arcs]))
        self.streets = ends[order].astype(np.uint32)
        self.arcs = np.stack([arcs, twins], axis=1)[order]

    @property
    def classes(self) -> list[dict[str, Any]]:
        """Name, share of arcs, and speed range of every street class, also of empty ones."""
        shares = np.bincount(self.arc_class, minlength=len(CLASSES)) / max(self.arc_class.size, 1)
        rows = zip(CLASSES, shares.tolist(), pairwise([*CLASSES.values(), None]), strict=True)
        return [
            {"name": name, "share": share, "from": low, "to": high}
            for name, share, (low, high) in rows
        ]

    def arrays(self, flows: Array | None = None) -> dict[str, Array]:
        """Return the page's arrays: vertex positions, streets, street classes, and any flows."""
        sent = {"positions": self.positions, "streets": self.streets}
        sent["classes"] = self.arc_class[self.arcs[:, 0]]
        if flows is not None:
            # (-1 for no arc is the last entry)
            both = np.append(flows, 0)[self.arcs].sum(axis=1)
            sent["flows"] = np.rint(255 * both / (both.max(initial=0) or 1)).astype(np.uint8)
        return sent


def pack(head: Mapping[str, Any], arrays: Mapping[str, Array]) -> bytes:
    """Pack metadata (as JSON) and arrays into the bytes that the page unpacks.

    Four bytes hold the length of a JSON text, little-endian as all numbers here; the text follows:
    `head`, and under ``arrays`` the name, dtype, length and offset of every array behind it.
    """
    listed, body = [], bytearray()
    for name, array in arrays.items():
        facts = {"name": name, "dtype": array.dtype.name, "length": array.size}
        listed.append(facts | {"offset": len(body)})
        body += np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()
        body += bytes(-len(body) % ALIGNMENT)
    text = json.dumps({**head, "arrays": listed}).encode("ascii")
    text += b" " * (-(len(text) + 4) % ALIGNMENT)
    return b"".join([len(text).to_bytes(4, "little"), text, body])
