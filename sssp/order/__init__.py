"""Elimination order, chordal arcs and tree partition of a prepared map, for any weights.

- `nested_dissection`: an elimination order, by cuts of least size (`max_flow`) after vertices of
  `low_degree`;
- `structure`: chordal arcs, triangles and the elimination tree of an order;
- `tree_partition`: the elimination tree divided into parts for thread blocks of a GPU.
"""
