"""Origins of nearest searches on a GPU: `tests.test_shortest_paths` asks for those of any graph."""

from __future__ import annotations

import numpy as np
import pytest

import sssp
from tests.cuda.same_on_gpu import assert_like_the_cpu

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("weight", [0, 3])
@pytest.mark.parametrize("sources", [[0, 1], [1, 0], [1]], ids=str)
def test_the_smallest_of_sources_as_near_comes_down_a_long_path(sources, weight, device):
    from sssp.cuda.tree import HOPS, PASSES

    # longer than pointers lead at a time, and than origins are handed on for one look; against the
    # order of vertices, in which the simulator goes
    length = 2 + max(HOPS, PASSES)
    path = np.arange(length)[::-1]
    sources = np.add(sources, length)
    tails, heads = np.append([length, length + 1], path[:-1]), np.append([path[0]] * 2, path[1:])
    weights = np.append([4, 4], np.full(length - 1, weight))
    g, method = sssp.Graph.from_arcs(tails, heads, weights), sssp.BellmanFord()
    assert_like_the_cpu(g, sources, method, nearest=True, predecessors=True)
    found = sssp.shortest_paths(g, sources, nearest=True, method=method, device=device)
    assert found.origin is not None
    assert (found.origin[path] == sources.min()).all()
