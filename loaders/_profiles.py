"""Speeds and open directions of a road for a kind of traveller, from its OpenStreetMap tags."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

#: asks a way for the value of a tag
Tags = Callable[[str], str | None]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: values of access tags that close
CLOSED = _words(
    "no private agricultural forestry emergency military psv bus hgv use_sidepath dismount"
)
#: barriers that are open or shut, as tags of access on them say
GATES = _words("gate lift_gate swing_gate sliding_gate entrance")


@dataclass(frozen=True)
class Profile:
    """A kind of traveller: which roads are open, in which direction, at which speed.

    ``dataclasses.replace(sssp.loaders.PROFILES["car"], delays={})`` is a car that no light stops.

    Attributes
    ----------
    name : str
        For the report.
    speeds : mapping of str to float
        Kilometres an hour by class, the value of ``highway``, or ``"ferry"``. What has none, and
        none in `permitted`, is no road.
    access : sequence of str
        Keys of access tags, from the most special to the most general; the first that a way has
        counts.
    oneway : sequence of str
        Keys of one-way tags, likewise. If ``"oneway"`` is among them, motorways and roundabouts
        without any are one-way too.
    permitted : mapping of str to float
        Kilometres an hour on classes that only an access tag opens, other than the most general.
    contraflow : sequence of str
        Keys whose value ``opposite``, ``opposite_lane`` or ``opposite_track`` opens the other
        direction of a one-way street.
    drives_limit : bool, default True
        The speed is ``maxspeed`` where there is one. False: that of the class, but not above.
    refused : mapping of str to collection of str
        Values of tags that close a way.
    closed : collection of str
        Values of access tags that close a way or a gate.
    barriers : collection of str
        Values of ``barrier`` that close a node, unless an access tag opens it.
    delays : mapping of str to float
        Seconds at nodes by the value of ``highway``, such as ``"traffic_signals"``.
    restrictions : sequence of str
        Keys that hold the kind of a turn restriction that counts here.
    exempt_as : collection of str
        Words in ``except`` that lift a restriction.

    Raises
    ------
    ValueError
        A speed that is not above 0, or a delay below it, or not finite.
    """

    name: str
    speeds: Mapping[str, float]
    access: tuple[str, ...]
    oneway: tuple[str, ...] = ()
    permitted: Mapping[str, float] = field(default_factory=dict)
    contraflow: tuple[str, ...] = ()
    drives_limit: bool = True
    refused: Mapping[str, Collection[str]] = field(default_factory=dict)
    closed: Collection[str] = CLOSED
    barriers: Collection[str] = ()
    delays: Mapping[str, float] = field(default_factory=dict)
    restrictions: tuple[str, ...] = ()
    exempt_as: Collection[str] = ()

    def __post_init__(self) -> None:
        for name, value in [*self.speeds.items(), *self.permitted.items()]:
            if not 0 < value < math.inf:
                raise ValueError(f"profile {self.name}: {value} km/h on {name} is no speed above 0")
        for name, value in self.delays.items():
            if not 0 <= value < math.inf:
                raise ValueError(f"profile {self.name}: {value} s at {name} is no delay from 0 on")

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The keys of all tags of a way that are read."""
        own = *self.access, *self.oneway, *self.contraflow, *self.refused
        return "highway", "route", "junction", "maxspeed", *LIMITS, *own

    def access_tag(self, tags: Tags) -> tuple[str | None, bool]:
        """Return the value of the access tag that applies, and whether it is a specific one."""
        for key in self.access:
            value = tags(key)
            if value is not None:
                return value, key != self.access[-1]
        return None, False

    def closes_node(self, tags: Tags) -> bool:
        """Return whether a barrier or an access tag closes a node."""
        value, _ = self.access_tag(tags)
        return tags("barrier") in self.barriers if value is None else value in self.closed

    def speeds_on(self, tags: Tags, complain: Callable[[str], Any]) -> tuple[float, float]:
        """Return the speeds along a way and against it in km/h, 0 where it is closed.

        Parameters
        ----------
        tags : callable
            From a key to a value, or None.
        complain : callable
            Is told the tag that cannot be read.
        """
        kind = road_class(tags)
        value, special = self.access_tag(tags)
        speed = self.speeds.get(kind) or (self.permitted.get(kind, 0.0) if special else 0.0)
        if value in self.closed or any(tags(key) in odd for key, odd in self.refused.items()):
            return 0.0, 0.0
        oneway = next(filter(None, map(tags, self.oneway)), None)
        round_or_fast = tags("junction") in ROUND or kind == "motorway"
        if oneway is None and round_or_fast and "oneway" in self.oneway:
            oneway = "yes"
        against = any((tags(key) or "").startswith("opposite") for key in self.contraflow)
        directions = (True, True) if against else ONEWAY.get(oneway, (True, True))
        speeds = []
        for is_open, way in zip(directions, LIMITS, strict=True):
            key = "maxspeed" if tags(way) is None else way
            text = tags(key)
            limit = math.inf if text is None or not is_open else speed_limit(text)
            if limit is None:
                complain(f"{key}={text}")
                limit = math.inf
            limited = limit if self.drives_limit and limit < math.inf else min(speed, limit)
            speeds.append(limited if is_open else 0.0)
        return speeds[0], speeds[1]


#: keys of speed limits, in the directions of a way
LIMITS = ("maxspeed:forward", "maxspeed:backward")
#: values of ``junction`` that make a way one-way
ROUND = ("roundabout", "circular")
#: whether a way is open along it and against it; what alternates is open both ways, what
#: depends on the hour neither
ONEWAY: dict[str | None, tuple[bool, bool]] = {
    **dict.fromkeys(("yes", "true", "1"), (True, False)),
    **dict.fromkeys(("-1", "reverse"), (False, True)),
    "reversible": (False, False),
}

_SPEED = re.compile(r"(\d{1,4}(?:\.\d+)?) ?(km/h|kmh|kph|mph|knots)?")
_ZONE = re.compile(r"([A-Z]{2})(?:-\w+)?:(\w+)")
_KMH = {"mph": 1.609344, "knots": 1.852}
_WALK = 6.0
#: limits that are no number: that of the class is driven
_NO_NUMBER = ("none", "signals", "variable", "default", "implicit")
#: kilometres an hour of the speed limits that a country's law has, and where it is another
_ZONES: dict[str, float] = (
    {"urban": 50, "rural": 90, "trunk": 100, "motorway": 120, "living_street": 20}
    | {"zone20": 20, "zone30": 30, "bicycle_road": 30, "urban_motorway": 80}
    | {"nsl_restricted": 48.28, "nsl_single": 96.56, "nsl_dual": 112.65}
    | {"RU:urban": 60, "RU:motorway": 110, "UZ:urban": 70, "DE:motorway": math.inf}
    | {"DE:rural": 100, "AT:rural": 100, "CH:rural": 80, "LI:rural": 80, "DK:rural": 80}
    | {"FI:rural": 80, "FR:rural": 80, "NL:rural": 80, "NO:rural": 80, "SE:rural": 70}
    | {"BE:rural": 70, "IE:rural": 80, "AT:motorway": 130, "FR:motorway": 130}
    | {"IT:motorway": 130, "FR:trunk": 110, "IT:trunk": 110, "PL:motorway": 140}
    | {"BG:motorway": 140, "GB:motorway": 112.65, "GB:urban": 48.28, "DE:living_street": 7}
)


@cache
def speed_limit(text: str) -> float | None:
    """Return a ``maxspeed`` in km/h: infinity for ``none``, None if it is not a speed.

    Examples
    --------
    >>> [speed_limit(text) for text in ("50", "30 mph", "RU:urban", "none", "fast")]
    [50.0, 48.28032, 60, inf, None]
    """
    if text in _NO_NUMBER:
        return math.inf
    number = _SPEED.fullmatch(text)
    if number is not None:
        speed = float(number[1]) * _KMH.get(number[2], 1.0)
        return speed if speed > 0 else None
    zone = _ZONE.fullmatch(text.replace("zone:", "zone"))
    if zone is not None:
        return _ZONES.get(f"{zone[1]}:{zone[2]}", _ZONES.get(zone[2]))
    return _WALK if text == "walk" else None


def road_class(tags: Tags) -> str:
    """Return the class of a way: its ``highway``, or ``"ferry"``."""
    return tags("highway") or tags("route") or ""


_ROADS = _words("primary secondary tertiary unclassified residential living_street service road")
_LINKS = _words("primary_link secondary_link tertiary_link")
_PATHS = _words("pedestrian footway path track cycleway bridleway steps corridor")
_FAST = _words("motorway motorway_link trunk trunk_link")
_STILES = _words("stile kissing_gate turnstile full-height_turnstile")
_BLOCKS = _words(
    "bollard block cycle_barrier motorcycle_barrier jersey_barrier planter log debris chain"
)

#: the profiles that go by a name
PROFILES: Mapping[str, Profile] = {
    profile.name: profile
    for profile in (
        Profile(
            name="car",
            speeds={"motorway": 110, "motorway_link": 60, "trunk": 85, "trunk_link": 50}
            | {"primary": 65, "primary_link": 40, "secondary": 55, "secondary_link": 35}
            | {"tertiary": 40, "tertiary_link": 30, "unclassified": 30, "residential": 30}
            | {"living_street": 15, "service": 15, "road": 30},
            permitted={"track": 15, "pedestrian": 10, "ferry": 20, "busway": 30},
            access=("motorcar", "motor_vehicle", "vehicle", "access"),
            oneway=("oneway:motorcar", "oneway:motor_vehicle", "oneway:vehicle", "oneway"),
            refused={"area": ("yes",)},
            barriers=_BLOCKS | _STILES,
            delays={"traffic_signals": 8, "crossing": 1},
            restrictions=("restriction", "restriction:motor_vehicle", "restriction:motorcar"),
            exempt_as=("motorcar", "motor_vehicle", "vehicle"),
        ),
        Profile(
            name="bicycle",
            speeds=dict.fromkeys((*_ROADS, *_LINKS), 16)
            | {"cycleway": 18, "path": 12, "track": 12, "living_street": 12, "ferry": 20},
            permitted=dict.fromkeys(_FAST, 16)
            | {"footway": 10, "pedestrian": 8, "bridleway": 10, "corridor": 5},
            access=("bicycle", "vehicle", "access"),
            oneway=("oneway:bicycle", "oneway"),
            contraflow=("cycleway", "cycleway:left", "cycleway:right", "cycleway:both"),
            drives_limit=False,
            refused={"motorroad": ("yes",)},
            barriers=_STILES,
            delays={"traffic_signals": 8, "crossing": 1},
            restrictions=("restriction", "restriction:bicycle"),
            exempt_as=("bicycle", "vehicle"),
        ),
        Profile(
            name="foot",
            speeds={**dict.fromkeys((*_ROADS, *_LINKS, *_PATHS), 5), "steps": 2.5, "ferry": 20},
            permitted=dict.fromkeys(_FAST, 5),
            access=("foot", "access"),
            oneway=("oneway:foot",),
            drives_limit=False,
            refused={"motorroad": ("yes",)},
            delays={"traffic_signals": 8, "crossing": 4},
            restrictions=("restriction:foot",),
            exempt_as=("foot",),
        ),
    )
}


def find_profile(profile: str | Profile) -> Profile:
    """Return a profile by its name; return a `Profile` unchanged.

    Raises
    ------
    ValueError
        There is none of that name.
    TypeError
        Neither a name nor a profile.
    """
    if isinstance(profile, str) and profile in PROFILES:
        return PROFILES[profile]
    if isinstance(profile, str):
        names = ", ".join(PROFILES)
        raise ValueError(f"no profile {profile!r}: choose from {names}, or make a sssp.Profile")
    if not isinstance(profile, Profile):
        raise TypeError(f"profile must be a name or a sssp.Profile, not {type(profile).__name__}")
    return profile
