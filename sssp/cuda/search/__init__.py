"""Searches from one source on a GPU, one algorithm a file; twins of `sssp.cpu.search`."""
