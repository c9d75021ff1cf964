"""A transport analyst's day, from tables alone: own ids go in, own ids come out.

    python docs/examples/analysts_day.py

Streets and crossings are pandas DataFrames with ids of their own; no vertex number is written by
hand. Needs ``pip install "sssp[geo]"``.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

import sssp


def town(crossings: int = 2_000, seed: int = 7) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Make tables as an office has them: streets, one row each, and crossings with coordinates."""
    roads = sssp.road_like(crossings, seed)
    ids = np.array([f"X{number:05d}" for number in range(roads.n)])
    once = np.flatnonzero(roads.tails < roads.indices)
    km = roads.weights[once] / 10_000
    speed = np.random.default_rng(seed).choice([30, 50, 80], once.size, p=[0.5, 0.4, 0.1])
    streets = pd.DataFrame(
        {
            "from": ids[roads.tails[once]],
            "to": ids[roads.indices[once]],
            "km": km,
            "minutes": km / speed * 60,
            "capacity": speed * 20.0,  # cars an hour
        }
    )
    assert roads.coordinates is not None
    nodes = pd.DataFrame(roads.coordinates, index=pd.Index(ids, name="id"), columns=["lon", "lat"])
    return streets, nodes


def main() -> None:
    """Go through the day."""
    streets, crossings = town()
    chance = np.random.default_rng(1)

    # morning: the network, by its own ids, both ways along every street
    g = sssp.Graph.from_dataframe(streets, "from", "to", "minutes", nodes=crossings, directed=False)
    print(g)

    # places are given by coordinates, as they come from a survey
    def places(count: int, prefix: str) -> pd.DataFrame:
        spots = crossings.sample(count, random_state=count) + chance.normal(0, 2e-4, (count, 2))
        vertices, metres = g.nearest_vertex(spots["lon"], spots["lat"], distance=True)
        names = [f"{prefix}{number}" for number in range(count)]
        return pd.DataFrame({"vertex": vertices, "metres": metres}, index=names)

    homes, jobs, hospitals = places(60, "home"), places(40, "job"), places(4, "hospital")

    # an origin-destination table in minutes, and the kilometres along the fastest paths
    fastest = sssp.shortest_paths(g, homes["vertex"], targets=jobs["vertex"], predecessors=True)
    km = streets["km"].to_numpy()[g.arc_origin]
    table = fastest.to_dataframe()
    table["km"] = fastest.skim(km).ravel()
    print(table.describe().loc[["mean", "max"], ["distance", "km"]].round(1))

    # accessibility: jobs within five minutes, and jobs that count less the farther they are
    places_of_work = np.bincount(jobs["vertex"], minlength=g.n)
    homes["jobs in 5 minutes"] = sssp.reduce(
        g, homes["vertex"], "weight", limit=5, vertex_weights=places_of_work
    )
    homes["gravity"] = sssp.reduce(
        g,
        homes["vertex"],
        "weight",
        vertex_weights=places_of_work,
        decay=("exponential", 0.1),
    )
    print(homes.nlargest(3, "gravity").round(2))

    # the nearest hospital of every home: for the patient, and for the ambulance
    for direction in ("to", "from"):
        nearest = sssp.nearest(g, hospitals["vertex"], k=2, direction=direction)
        first = nearest.index[homes["vertex"], 0]
        homes[f"hospital, {direction}"] = hospitals.index[first]
        homes[f"minutes {direction} it"] = nearest.distances[homes["vertex"], 0]
    print(homes.filter(like="hospital").value_counts().head(3))

    # assignment: everybody drives the fastest way to work, one after the other in four steps
    cars = chance.poisson(4, fastest.distances.shape).astype(float)
    minutes = streets["minutes"].to_numpy()
    flow = np.zeros(len(streets))
    loaded = g
    for share in (0.4, 0.3, 0.2, 0.1):
        paths = sssp.shortest_paths(
            loaded, homes["vertex"], targets=jobs["vertex"], predecessors=True
        )
        flow += paths.load(share * cars)
        # congestion: the curve of the Bureau of Public Roads
        full = flow / streets["capacity"].to_numpy()
        loaded = g.with_weights(rows=minutes * (1 + 0.15 * full**4))
    streets["cars"] = flow
    print(streets.nlargest(3, "cars").round(1))

    # trips of a survey, each with its own two ends
    trips = sssp.pairs(
        loaded,
        homes["vertex"].sample(200, replace=True, random_state=1),
        jobs["vertex"].sample(200, replace=True, random_state=2),
        predecessors=True,
    )
    print(f"a trip takes {trips.distances.mean():.1f} minutes and {trips.skim(km).mean():.1f} km")

    # a bridge is closed: the busiest street, in both directions
    bridge = streets["cars"].idxmax()
    closed = loaded.without_arcs(np.flatnonzero(g.arc_origin == bridge))
    before = sssp.shortest_paths(loaded, homes["vertex"], targets=jobs["vertex"])
    after = sssp.shortest_paths(closed, homes["vertex"], targets=jobs["vertex"])
    longer = after.distances - before.distances
    slower = np.count_nonzero(longer > 1e-9)
    print(f"without it {slower} pairs take longer, by at most {longer.max():.1f} minutes")

    # evening: where shortest paths pass, and a map for the meeting
    crossings["betweenness"] = sssp.betweenness(g, homes["vertex"].unique(), normalized=True)
    arcs = closed.to_geodataframe()
    arcs["cars"] = flow[g.arc_origin[arcs["arc"]]]
    print(arcs[["tail", "head", "weight", "cars", "geometry"]].nlargest(3, "cars"))


if __name__ == "__main__":
    main()
