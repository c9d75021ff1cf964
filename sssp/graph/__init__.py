"""The graph: CSR arrays, labels, coordinates, files, and conversions to other libraries."""

from sssp.graph.graph import Graph
from sssp.graph.reading import read_graph

__all__ = ["Graph", "read_graph"]
