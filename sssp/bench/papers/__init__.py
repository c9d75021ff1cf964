"""The kernels and serial programs behind published figures, for ``--table``."""
