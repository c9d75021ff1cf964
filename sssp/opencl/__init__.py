"""Solvers on a dense matrix for devices of any vendor, in OpenCL C 1.2.

Each is the twin of the file of the same name in `sssp.cpu`, which gives it the matrix and makes the
answer of it: only the rounds run on the device. ``"auto"`` never chooses one.
"""
