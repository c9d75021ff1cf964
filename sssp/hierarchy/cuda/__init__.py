"""Prepared maps on a GPU: the twins of the files above."""
