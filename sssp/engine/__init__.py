"""What all calls and all solvers agree on: a checked question, and the forms of its answer."""
