"""The layer between public calls and solvers: requests, checks, and output of results."""
