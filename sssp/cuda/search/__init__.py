"""Searches from one source on a GPU, one algorithm per file; on a CPU: `sssp.cpu.search`."""
