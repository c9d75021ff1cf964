"""Prepared maps on a CPU (customizable contraction hierarchies; PHAST).

- `customization`: weights of all chordal arcs; `partial_customization`: after some arcs changed;
- `sweeps`: kernels that sweep many sources; `sweep_driver`: whole rows, trees and tables;
- `paths`: paths to a few targets; `sweep_trips`: single distances by two climbs.
"""
