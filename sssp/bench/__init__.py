"""The benchmark, ``python -m sssp.bench``: compare methods and SciPy on real graphs.

`timing` is the clock, `report` prints tables and writes JSON: the scripts in ``bench/`` use them
too. `harness` times and verifies methods and the `rival` beside them; `papers` holds published
kernels and figures.
"""
