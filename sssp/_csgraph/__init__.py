"""What is behind `sssp.csgraph`: SciPy's matrices to arcs, searches over them, closed matrices."""
