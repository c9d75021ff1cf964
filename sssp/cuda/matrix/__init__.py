"""All pairs on a GPU: solvers on a dense matrix; twins of `sssp.cpu.matrix`."""
