"""Prepared maps: customizable contraction hierarchies (Dibbelt, Strasser and Wagner 2016).

`prepare` builds a `Hierarchy`, `read_hierarchy` reads it. The order is in `sssp.order`, the sweeps
are in `sssp.cpu.sweep` and `sssp.cuda.sweep`.
"""
