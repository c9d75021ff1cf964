"""The NetworkX backend ``sssp``: `info` is what NetworkX reads, `backend` what it calls."""
