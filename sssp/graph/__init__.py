"""The graph: CSR arrays, labels, coordinates, files, and other libraries' graphs in and out."""

from sssp.graph.graph import Graph
from sssp.graph.reading import read_graph

__all__ = ["Graph", "read_graph"]
