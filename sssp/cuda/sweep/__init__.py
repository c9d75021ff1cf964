"""Prepared maps (CCH) on a GPU: customization, sweeps and output; on a CPU: `sssp.cpu.sweep`.

What all versions of a map share, and how it is numbered:

- `device_tree`: the parts of the tree, in the memory of the device; `arc_slots`: their arcs and
  triangles; `packed_arcs`: how the arcs of a part stand in memory for sweeps.

New weights:

- `customization` launches `basic_pass` and `perfect_pass`, and holds the weights that they find;
  both go over triangles by `triangle_walk`.

Answers:

- `sweep_driver` chooses how; `lanes` launches kernels that find rows side by side: `climb`, then
  `sweeps`, or `small_batch_sweep` for a few sources;
- `sweep_outputs` makes the answer of a call, by `transpose` (rows), `sweep_trees` (predecessors)
  and `lane_sums` (reductions); `selection` sweeps for targets alone; `sweep_trips` finds single
  distances;
"""
