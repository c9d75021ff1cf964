"""All pairs on the CPU: solvers that work on a dense matrix, one algorithm a file."""
