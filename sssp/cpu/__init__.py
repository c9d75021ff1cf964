"""Solvers for the CPU, in Numba, one algorithm a file.

Every one-source solver is a kernel that fills one row of distances, and a driver that hands it
to `sssp.cpu._rows`, which runs it over all sources.
"""
