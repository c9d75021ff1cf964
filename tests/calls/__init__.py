"""Calls of the package, one file a call."""
