"""The interface between calls and solvers: checked requests, and the output of answers."""
