"""Prepared maps on a CPU (customizable contraction hierarchies; PHAST).

- `customization`: weights of all chordal arcs; `partial_customization`: after some arcs changed;
- `sweeps`: kernels for one source, many sources, and paths to a few targets; `selection`: the
  ranks and arcs that lead to some targets; `sweep_driver`: rows, trees and tables; `sweep_trips`:
  single distances by two climbs, or from the labels of `trip_labels`;
- `flows`: flows and skims without trees; `flow_driver`: their blocks; `flow_unpacking`: shortcuts.
"""
