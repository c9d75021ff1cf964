"""Prepared maps on a GPU: the twins of the files above, on the pieces that `bundles` there cuts.

What all versions of a map share, and how it is numbered:

- `pieces`: the pieces of the tree, in the memory of the device; `arcs`: their arcs and triangles;
- `streams`: how the arcs of a piece stand in memory for sweeps.

New weights:

- `customization`, then `basic_pass` and `perfect_pass`; `versions` launches them, and holds what
  they find.

Answers:

- `rows` chooses how; `lanes` launches what finds rows side by side: `climb`, then `sweeps`, or
  `few_lanes` where they are few;
- `forms` makes of them what a call wants, by `turns` (rows), `trees` (predecessors) and `folds`
  (numbers); `selection` sweeps for targets alone; `trips` finds single distances;
- `launches` and `ready`: what has been asked before is replayed.
"""
