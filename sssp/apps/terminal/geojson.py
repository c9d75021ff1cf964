"""Lines on the map as GeoJSON (RFC 7946), which every GIS opens; written without any."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sssp.apps.terminal.output import Output

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sssp.apps.terminal.table_files import Columns
    from sssp.graph.graph import Graph

#: digits behind the point of degrees: a centimetre
DIGITS = 7
#: features that are turned into text at once
BLOCK = 1 << 14


def require_coordinates(g: Graph) -> NDArray[Any]:
    """Return the coordinates of a graph, which has to have some, in degrees.

    Raises
    ------
    ValueError
        It has none, or none in degrees.
    """
    from sssp.graph.sphere import require_degrees

    if g.coordinates is None:
        raise ValueError(
            "this graph has no coordinates to draw it by; name its .co file with --coordinates"
        )
    require_degrees(g.coordinates)
    return g.coordinates


def write_lines(
    output: Output, g: Graph, tails: NDArray[Any], heads: NDArray[Any], properties: Columns
) -> int:
    """Write a straight line between every two vertices, and return how many there are.

    Parameters
    ----------
    tails, heads : ndarray of int, shape (k,)
        Vertices.
    properties : mapping of names to columns, shape (k,)
    """
    import numpy as np

    places = np.round(require_coordinates(g), DIGITS)
    with output.opened() as stream:
        stream.write(b'{"type": "FeatureCollection", "features": [')
        for start in range(0, tails.size, BLOCK):
            part = slice(start, start + BLOCK)
            ends = np.stack([places[tails[part]], places[heads[part]]], axis=1).tolist()
            cells = [np.asarray(column[part]).tolist() for column in properties.values()]
            features = [
                json.dumps(_feature(line, dict(zip(properties, values, strict=True))))
                for line, *values in zip(ends, *cells, strict=True)
            ]
            stream.write((",\n" if start else "\n").encode() + ",\n".join(features).encode())
        stream.write(b"\n]}\n")
    return int(tails.size)


def _feature(line: list[list[float]], properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "Feature",
        "properties": properties,
        "geometry": {"type": "LineString", "coordinates": line},
    }
