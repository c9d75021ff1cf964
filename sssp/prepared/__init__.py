"""Prepared maps: customizable contraction hierarchies (Dibbelt, Strasser and Wagner 2016).

In the order in which a map comes to be, and answers:

- `prepare`: an order of the vertices (`order`, with `low_degree` and `flow`), then what follows
  from it alone: arcs, triangles and the elimination tree (`structure`);
- `customization`: weights for all arcs, found by threads side by side (`tasks`); `layers`: for some
  that have changed; `scenarios`: for many sets of changes, some at a time;
- `hierarchy`: the map that callers hold, in its weights; `derived`: what it makes when it is first
  wanted; `storage`: its file;
- `rows`: whole rows, by `sweeps`, and what becomes of them (`finished`); `paths`: paths to a few
  targets; `trips`: single distances;
- `bundles`: the tree cut into what a GPU sweeps. `cuda` has the twins of these files.
"""
