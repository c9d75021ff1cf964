"""No forged result passes `verify`, and no right one fails, whatever the kind of either."""

from __future__ import annotations

import collections

import numpy as np
import pytest

import sssp
from tests.results.forgeries import answered, forged, is_right

RESULTS, FORGERIES = 40, 12


@pytest.mark.parametrize("seed", range(4))
def test_results_pass_exactly_if_they_are_right(seed: int) -> None:
    random = np.random.default_rng(seed)
    seen: collections.Counter[bool] = collections.Counter()
    for _ in range(RESULTS):
        network, g, result = answered(random)
        assert is_right(network, result)
        sssp.verify(g, result)
        for _ in range(FORGERIES):
            forgery, is_malformed = forged(random, result)
            right = not is_malformed and is_right(network, forgery)
            seen[right] += 1
            if right:
                sssp.verify(g, forgery)
            else:
                with pytest.raises(sssp.VerificationError):
                    sssp.verify(g, forgery)
    assert min(seen[True], seen[False]) > RESULTS
