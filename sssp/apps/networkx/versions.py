"""The version of NetworkX that is there, and what the backend makes of it."""

from __future__ import annotations

import re

import networkx as nx

_found = re.match(r"(\d+)\.(\d+)", nx.__version__)
#: major and minor number
NETWORKX = tuple(map(int, _found.groups())) if _found else (0, 0)
#: the first one whose functions return what they return today, and that goes on without a backend
#: which refuses a graph; below it the backend declines
FIRST = (3, 5)
#: since when Floyd and Warshall's algorithm raises on a cycle of negative length, and takes a
#: missing weight for 1 instead of 1.0; before, it returned some numbers
FLOYD_WARSHALL_KNOWS_CYCLES = NETWORKX >= (3, 7)
