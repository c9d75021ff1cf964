"""Searches from one source on the CPU, one algorithm a file."""
