"""The NetworkX backend ``sssp``: NetworkX reads `info` and calls functions of `backend`."""
