"""The contract of calls and solvers: a checked request, and the forms of its answer."""
