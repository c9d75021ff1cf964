"""All-pairs solvers on a dense matrix on a GPU; the CPU versions are in `sssp.cpu.matrix`."""
