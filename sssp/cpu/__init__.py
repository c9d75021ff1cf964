"""Solvers for the CPU, in Numba: searches, dense matrices, prepared maps.

A search is a kernel that fills one row of distances, and a driver that hands it to
`sssp.cpu.search_driver`, which runs it over all sources, a row per thread. `team` runs several
threads on one matrix. `vectors` and `intrinsics` are operations that Numba does not offer.
"""
