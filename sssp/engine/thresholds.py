"""Measured constants by which ``"auto"`` and solvers choose methods, devices and strategies.

Each was measured; the comment says on what. `docs/choosing.md` lists them, and a test compares the
two. Sizes that belong to one kernel, as those of its blocks and buffers, stand beside the kernel,
and the default bucket width of delta-stepping in both files `delta_stepping.py`.
NY is the road map of New York: 264,346 vertices, 730,100 arcs.
"""

# ---- Which device: a GPU, or the CPU

#: Rows times vertices and arcs: a smaller call stays on the CPU without an estimate, which takes a
#: tenth of its time. It takes some 0.1 ms, and the least call on a GPU 0.3.
NOT_ESTIMATED = 10_000
#: Seconds on the CPU from which on a GPU is faster, upload of the graph included. An H100 against
#: 16 cores: 64 sources on NY 19 ms and 46, 4 sources on a million vertices 36 and 36; against 2
#: cores one source on a million vertices 26 and 26.
WORTH_A_GPU = 0.04
#: The same for a prepared map that the GPU has: whole calls on NY take an H200 0.3 ms for one tree,
#: 0.3 to 0.5 for trips up to 1,000, tables of 256 rows, and 256 eccentricities; half more on a busy
#: host. Two cores take 5, 2.2, 9 and 79.
WORTH_A_SWEEP = 1e-3
#: Seconds until a new process can use a GPU.
LOAD = 1.5
#: Seconds to compile the kernels of a method on that machine: 5.2 for one source and 3.6 more for
#: many, 16 for Floyd-Warshall.
COMPILE = 10.0
#: Bytes a second from a GPU to the host: 1,024 rows of NY take 66 ms, and to sweep them 2.
BACK = 16e9
#: Seconds a vertex to bring a prepared map to a GPU: NY takes 88 ms.
BRING = 0.33e-6
#: Seconds of a core for a trip on a prepared map, on NY.
SECONDS_PER_TRIP = 3e-6
#: Arcs that take the time of one vertex.
ARCS_PER_VERTEX = 8
#: Vertices of a prepared map around paths to targets, for each above the targets: 6 to 8 on NY.
AROUND_PATHS = 8
#: Seconds for the smallest row, with any number of threads, on 1,000 vertices.
SECONDS_PER_ROW = 20e-6
#: Least memory of a search on a GPU: arcs, a table of first arcs, one row with its piles. The
#: prepared map of NY takes 89 bytes per arc.
BYTES_PER_VERTEX, BYTES_PER_ARC, BYTES_PER_PREPARED_ARC = 92, 12, 100

# ---- Which method

#: Pairs that Floyd-Warshall relaxes in the time that a search takes for a vertex and for an arc:
#: one core, int32, random graphs of 300 to 2,000 vertices. It holds on an H100 too: 3,000 vertices
#: with 30 arcs each take 11.6 ms by searches and 9.2 by Floyd-Warshall, 10,000 vertices 65 and
#: 105.
PAIRS_PER_VERTEX, PAIRS_PER_ARC = 800, 100
#: Vertices from which on all pairs are tried in 16 bits, and pairs of vertices for each arc, from
#: which on two searches tell beforehand whether distances may be that short. One core, whole calls:
#: 300 vertices take 1.26 ms and 1.32 in 32 bits, 500 4.2 and 4.6, 1,000 26.6 and 35.0, 2,000 186
#: and 277; an H200 gains from 2,500 on (2.25 and 2.81).
SHORT_VERTICES, SHORT_ARCS = 500, 64
#: Vertices from which on a GPU closes a matrix by products of bits, if its tensor cores have them:
#: on an H200 the sweep takes 0.20 ms for 1,024 and products 0.31, for 5,000 0.92 and 0.44, whole
#: calls the same up to some 4,000. With half an arc per vertex it is 854 and 343 ms for 100,000.
PRODUCTS_VERTICES = 4096
#: Facilities for each nearest one wanted, up to which a search from each is faster than labels: on
#: NY a search takes 12 ms on two cores, labels 0.2 s for each nearest one.
FACILITIES_SEARCHED = 8
#: The same for sweeps of a prepared map.
FACILITIES_SWEPT = 50
#: Targets of a source up to which A* to each is faster than one search.
A_STAR_TARGETS = 8
#: Trips a thread from which on landmarks pay; they take 18 searches of one thread.
WORTH_LANDMARKS = 45
#: Vertices from which on a search by A* takes longer than its preparation.
WORTH_A_STAR = 1 << 12
#: Time of A* with its landmarks, as a share of a search to one target.
A_STAR_SHARE = 0.25

# ---- Which way of a method

#: Sources for each target from which on trips are searched from their targets.
WORTH_TRANSPOSING = 2
#: Vertices and arcs, of one row and of all rows, up to which `sssp.csgraph` calls a kernel without
#: the engine: one row takes no longer than the way there; all take some 50 ms, in which Ctrl-C
#: waits.
SCIPY_ROW, SCIPY_ROWS = 1 << 12, 1 << 20
#: Rows of a prepared map that are swept one by one. NY, one thread of two busy cores, least of 7
#: runs, as for the next three: 1, 2, 3, 4 and 8 rows take 3.0, 8.3, 12.7, 16.1 and 35.8 ms; in
#: lanes 21, 17, 18, 13 and 15.
SINGLE_ROWS = 2
#: Entries of a table, for each vertex, up to which they are found as trips: 1/256, 1/64 and 1/16
#: take 0.7, 2.8 and 7.7 ms, by a sweep to the targets 1.0, 1.7 and 3.3; but that passes over all
#: vertices, of which a larger map has more.
TRIPS_A_VERTEX = 1 / 64
#: Targets of a source, as a share of the vertices, up to which paths are found from their ends: 4
#: sources with 1/4000, 1/1000 and 1/250 take 8.4, 21.7 and 55 ms; by sweeps 15, 22 and 36.
BACKWARD = 1 / 1000
#: Share of the vertices that the first row within a limit looks at, up to which rows are swept one
#: by one: 64 sparse rows that look at 2, 11 and 21% take 12, 47 and 88 ms; in lanes 36, 39 and 51.
NEAR = 1 / 16
#: Changed arcs from which on a full customization is faster than a partial one.
MOST_CHANGES = 10_000
#: Weights above changed arcs, up to the root, that a partial customization may meet: so many in
#: any case, or one of so many of all. About half of them change.
WEIGHTS_ABOVE, ABOVE_SHARE = 30_000, 8
#: Triangles that a partial customization may look at: 0.2 s. To look at all takes half as long as
#: to customize on one core, and as long on two.
MOST_TRIANGLES_LOOKED_AT = 50_000_000
#: Triangles up to which one thread customizes a map alone. One thread and two of a busy machine,
#: CPU time: 0.03 million 0.6 and 2.6 ms, 0.5 million 2.8 and 6.0, 2.5 million 9.9 and 14.0, 6.3
#: million 23 and 27: to start threads takes some 4 ms.
CUSTOMIZED_ALONE = 2_000_000
#: Steps of a kernel for which it pays to start a thread.
WORTH_A_THREAD = 1 << 24
#: Packed arcs times origins for which a block of flows, and a thread, pays. Chicago Sketch, 3.9
#: million: as one block 2.2 ms; as two, on two threads, 1.4; as seven 1.7.
FLOW_STEPS = 1 << 21

# ---- How much at once

#: Bytes of distances in a block of `iter_blocks`.
ITERATED_BYTES = 256 << 20
#: Bytes of distances of `betweenness` before their paths are counted, and least rows per thread.
COUNTED_BYTES, COUNTED_ROWS = 64 << 20, 4
#: Bytes of distances that `nearest` merges at once.
MERGED_BYTES = 256 << 20
#: Bytes of rows from a GPU, from which paths of trips are read.
PATHS_BYTES = 256 << 20
#: Parts of a call for each of several devices, and least rows of a part: each part starts anew,
#: and the last ones do not end together.
PARTS, LEAST_PART = 8, 2048
#: Lanes of a block of swept rows: with 16, 32, 64, 128 and 256, sums of 256 rows of NY take 194,
#: 143, 93, 86 and 134 ms.
MOST_LANES = 64
#: Bytes of such a block, if it has more than one group of lanes.
LANES_BYTES = 256 << 20
#: Sources in one call of a kernel for trips with paths: some milliseconds, in which Ctrl-C waits.
TRIPS_TOGETHER = 64
#: Bytes of searched rows whose paths to targets are found together: 387 rows of Chicago Sketch, two
#: threads, 39 ms one by one, 15 ms together. Rows of large maps take long enough for Python.
PATH_ROWS_BYTES = 4 << 20
#: Times the length of its answer that a single row is searched with and not copied from, of a graph
#: with turns: NY with turns at 2 of 100 crossings took 1.12 of the time without turns, then 1.02.
WIDER_ROW = 1.125
#: Bytes of volumes that are kept side by side for the next version of a map, and, as a divisor of
#: the memory, from the second version on: 1,000 origins and all of NY, two cores, 1,000 and 700 ms.
KEPT_LANES, KEPT_SHARE = 256 << 20, 4
#: Bytes of scratch that a graph keeps between calls; beyond it workers allocate anew.
KEPT_SCRATCH = 256 << 20
