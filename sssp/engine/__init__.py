"""The contract between calls and solvers: a checked request, and the output forms of its answer."""
