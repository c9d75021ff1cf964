"""Sums along trees: finding the arc from a predecessor, within the arcs and their padding."""

import numpy as np

from sssp.cpu import tree_sums


def test_no_vertex_looks_beyond_the_arcs_and_what_is_put_behind_them() -> None:
    find = tree_sums._arc_into.py_func  # (Python looks at every index)
    for tails in ([], [7], [0, 1, 2, 3, 4]):
        # all arcs lead to the first vertex; the second has none, and no arc comes behind
        indptr = np.array([0, len(tails), len(tails)])
        longer = tree_sums._lengthen(np.array(tails, np.int32))
        for place, tail in enumerate(tails):
            assert find(indptr, longer, 0, tail) == place
        assert 0 <= find(indptr, longer, 1, -1) < len(longer)
