"""Convert turn restrictions of OpenStreetMap, relations of ways and nodes, to sequences of rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sssp.loaders._profiles import Profile

Array = NDArray[Any]


class LeftOut:
    """Count the omissions of a reader by reason, and keep the first case of each."""

    def __init__(self) -> None:
        self.cases: dict[str, list[Any]] = {}

    def __call__(self, reason: str, case: str) -> None:
        self.cases.setdefault(reason, [0, case])[0] += 1


class Relation(NamedTuple):
    """A restriction as read from the file.

    Attributes
    ----------
    id : int
        Of the relation.
    only : bool
        It names the only way on, not one that is forbidden.
    members : dict of (str, str) to list of int
        Ids by role and type: ``("from", "w")``, ``("via", "n")`` or ``("via", "w")``, and
        ``("to", "w")``.
    """

    id: int
    only: bool
    members: dict[tuple[str, str], list[int]]

    def ways(self, role: str) -> list[int]:
        """Return the ids of the ways with a role."""
        return self.members.get((role, "w"), [])

    @property
    def all_ways(self) -> list[int]:
        """The ids of all ways of the restriction."""
        return [way for role in ("from", "via", "to") for way in self.ways(role)]


class Rows(NamedTuple):
    """The rows of a network.

    Attributes
    ----------
    ids : ndarray of int64, shape (n,)
        Of nodes, ascending, by vertex.
    tails, heads : ndarray of int32, shape (k,)
        Vertices.
    ways : ndarray of int64, shape (k,)
        Ids. The rows of a way stand in its order.
    along : ndarray of bool, shape (k,)
        Whether a row goes as its way does.
    """

    ids: Array
    tails: Array
    heads: Array
    ways: Array
    along: Array


class Turns(NamedTuple):
    """The turns that restrictions forbid.

    Attributes
    ----------
    pairs : ndarray of int64, shape (p, 2)
        Rows; the second may not follow the first.
    chains : list of list of int
        Three rows or more that may not follow each other, of restrictions along ways.
    """

    pairs: Array
    chains: list[list[int]]


def read_relation(relation: Any, profile: Profile, left_out: LeftOut) -> Relation | None:
    """Return a relation of type ``restriction``, or None if it does not apply to the profile."""
    tags = {tag.k: tag.v for tag in relation.tags}
    kinds = [tags[key] for key in profile.restrictions if key in tags]
    timed = {"day_on", "day_off", "hour_on", "hour_off"} & tags.keys()
    conditional = [key for key in tags if key.startswith("restriction") and "conditional" in key]
    others = [key for key in tags if key.startswith("restriction")]
    exempt = {word.strip() for word in tags.get("except", "").split(";")}
    kind = kinds[-1] if kinds else ""
    members: dict[tuple[str, str], list[int]] = {}
    for member in relation.members:
        members.setdefault((member.role, member.type), []).append(member.ref)
    over = len(members.get(("via", "n"), [])) == 1 or ("via", "w") in members
    reason = ""
    if timed or (conditional and not kinds):
        reason, kind = "restrictions that depend on the hour", (conditional or sorted(timed))[0]
    elif others and not kinds:
        reason, kind = "restrictions of others", ", ".join(others)
    elif exempt.intersection(profile.exempt_as):
        reason, kind = "restrictions with an exception", f"except={tags['except']}"
    elif not kind.startswith(("no_", "only_")):
        reason = "restrictions of an unknown kind"
    elif not over or not {("from", "w"), ("to", "w")} <= members.keys():
        reason = "restrictions without from, via or to"
    if reason:
        left_out(reason, f"relation {relation.id}: {kind}")
        return None
    return Relation(relation.id, kind.startswith("only_"), members)


def places_of(wanted: ArrayLike, ids: Array) -> Array:
    """Return the position of each wanted number in an ascending array; -1 if absent."""
    numbers = np.asarray(wanted, np.int64)
    if not ids.size:
        return np.full(numbers.shape, -1)
    places = np.searchsorted(ids, numbers) % ids.size
    return np.where(ids[places] == numbers, places, -1)


def resolve_turns(
    relations: Sequence[Relation], rows: Rows, left_out: LeftOut
) -> tuple[Turns, int]:
    """Find the turns that restrictions forbid.

    Returns
    -------
    turns : Turns
    met : int
        How many relations are among them.
    """
    finder = _Finder(rows, [way for relation in relations for way in relation.all_ways])
    banned: set[tuple[int, ...]] = set()
    met = 0
    for relation in relations:
        found = finder.sequences(relation)
        # one way into the crossing and one out of it for each member, else it is ambiguous
        if found and len(found) <= len(relation.ways("from")) * len(relation.ways("to")):
            met += 1
            banned.update(finder.others(found) if relation.only else found)
            continue
        case = f"relation {relation.id}"
        absent = [way for way in relation.all_ways if way not in finder.rows_of]
        if found:
            left_out("restrictions that may mean several turns", case)
        elif absent:
            left_out("restrictions of ways that are not among the rows", f"{case}, way {absent[0]}")
        else:
            left_out("restrictions of ways that do not meet, or not in that direction", case)
    pairs = sorted(turn for turn in banned if len(turn) == 2)
    chains = [list(turn) for turn in sorted(banned) if len(turn) > 2]
    return Turns(np.array(pairs, np.int64).reshape(-1, 2), chains), met


class _Finder:
    """Finds the rows of the ways in restrictions, and the rows that leave a vertex."""

    def __init__(self, rows: Rows, named: list[int]) -> None:
        self._all = rows
        self.rows_of: dict[int, list[int]] = defaultdict(list)
        among = places_of(rows.ways, np.unique(np.array(named, np.int64))) >= 0
        for row in np.flatnonzero(among).tolist():
            self.rows_of[int(rows.ways[row])].append(row)
        self._by_tail = np.argsort(rows.tails, kind="stable")
        self._tails = rows.tails[self._by_tail]

    def sequences(self, relation: Relation) -> list[tuple[int, ...]]:
        """Return the sequences of rows from one way to another over the ways between them."""
        tails, heads, along = self._all.tails, self._all.heads, self._all.along
        paths = [[row] for way in relation.ways("from") for row in self.rows_of.get(way, [])]
        if ("via", "n") in relation.members:
            via = places_of(relation.members["via", "n"][0], self._all.ids)
            paths = [path for path in paths if heads[path[0]] == via]
        for way in relation.ways("via"):
            # from end to end, in each direction that is open throughout
            both = self.rows_of.get(way, [])
            ahead = [row for row in both if along[row]]
            back = [row for row in reversed(both) if not along[row]]
            passages = [
                rows
                for rows in (ahead, back)
                if rows and np.array_equal(heads[rows[:-1]], tails[rows[1:]])
            ]
            paths = [path + rows for path in paths for rows in passages if self._meet(path, rows)]
        ends = [[row] for way in relation.ways("to") for row in self.rows_of.get(way, [])]
        return [(*path, *row) for path in paths for row in ends if self._meet(path, row)]

    def others(self, found: list[tuple[int, ...]]) -> set[tuple[int, ...]]:
        """Return the sequences that end on another row than the given ones."""
        banned = set()
        for path in found:
            vertex = self._all.tails[path[-1]]
            first, last = np.searchsorted(self._tails, [vertex, vertex + 1])
            banned |= {(*path[:-1], row) for row in self._by_tail[first:last].tolist()}
        return banned.difference(found)

    def _meet(self, path: list[int], rows: list[int]) -> bool:
        return bool(self._all.heads[path[-1]] == self._all.tails[rows[0]])
