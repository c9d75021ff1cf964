"""Bellman-Ford on the GPU: rounds over the vertices whose distance changed.

"Research on GPU-based optimisation of the SSSP algorithm" (2022), sections 3.2 and 4.2, in two
forms; `sssp.cpu.search.bellman_ford` is the serial twin.

- Push (`push`): the vertices that changed relax the arcs that leave them.
- Pull (`pull`): every vertex looks at the arcs that enter it.
- Streamed (`streamed`): push, while the arcs are still on their way, or where they do
  not fit.

A source has the whole grid, whose blocks meet at a barrier, and a few sources have it in turn; many
have a block each.
"""

from sssp.cuda.search.bellman_ford.driver import solve

__all__ = ["solve"]
