"""Prepared maps: customizable contraction hierarchies (Dibbelt, Strasser and Wagner 2016).

`prepare` makes a `Hierarchy`; `scenarios` customizes many sets of weights; `hierarchy_file` reads
and writes it. The order stands in `sssp.order`, the sweeps in `sssp.cpu.sweep` and
`sssp.cuda.sweep`.
"""
