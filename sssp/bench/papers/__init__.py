"""The kernels and serial programs that published figures were taken with, for ``--table``."""
