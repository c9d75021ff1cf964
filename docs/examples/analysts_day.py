"""A transport analyst's day, from tables alone: own ids go in, own ids come out.

    python docs/examples/analysts_day.py
    python docs/examples/analysts_day.py USA-road-t.NY USA-road-d.NY

The second takes the streets of New York, from the folder ``SSSP_DATA``, in place of a made town.
Streets and crossings are pandas DataFrames with ids of their own; no vertex number is written by
hand. Files for a GIS are written where it runs. Needs ``pip install "sssp[geo]"``.
"""

from __future__ import annotations

import sys

import geopandas
import numpy as np
import pandas as pd

import sssp


def town(crossings: int = 2_000, seed: int = 7) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Make tables as an office has them: streets, one row each, and crossings with coordinates."""
    roads = sssp.road_like(crossings, seed)
    km = roads.weights / 10_000
    speed = np.random.default_rng(seed).choice([30, 50, 80], roads.m, p=[0.5, 0.4, 0.1])
    return tables_of(roads, km, km / speed * 60)


def city(times: str, lengths: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Make the same tables of a city of the DIMACS challenge."""
    files = [sssp.datasets.require(f"{name}.gr") for name in (times, lengths)]
    roads, costs = sssp.read_graph(
        files[0],
        coordinates=sssp.datasets.require(f"{lengths}.co"),
        also={"length": files[1]},
    )
    # tenths of metres; and 100 km/h on the fastest roads
    return tables_of(roads, costs["length"] / 10_000, roads.weights / 16_667)


def tables_of(
    roads: sssp.Graph, km: np.ndarray, minutes: np.ndarray
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return streets, which go both ways, and crossings."""
    ids = np.array([f"X{number:05d}" for number in range(roads.n)])
    once = np.flatnonzero(roads.tails < roads.indices)
    streets = pd.DataFrame(
        {
            "from": ids[roads.tails[once]],
            "to": ids[roads.indices[once]],
            "km": km[once],
            "minutes": minutes[once],
            "capacity": km[once] / minutes[once] * 60 * 20,  # cars an hour
        }
    )
    assert roads.coordinates is not None
    nodes = pd.DataFrame(roads.coordinates, index=pd.Index(ids, name="id"), columns=["lon", "lat"])
    return streets, nodes


def main() -> None:
    """Go through the day."""
    streets, crossings = city(*sys.argv[1:]) if len(sys.argv) > 1 else town()
    chance = np.random.default_rng(1)

    # morning: the network, by its own ids, both ways along every street
    g = sssp.Graph.from_dataframe(streets, "from", "to", "minutes", nodes=crossings, directed=False)
    print(g)
    h = sssp.prepare(g)  # serves all day

    # places are given by coordinates, as they come from a survey
    def places(count: int, prefix: str) -> pd.DataFrame:
        spots = crossings.sample(count, random_state=count) + chance.normal(0, 2e-4, (count, 2))
        points = geopandas.GeoSeries.from_xy(spots["lon"], spots["lat"], crs=4326)
        # (a survey may come in metres of any grid)
        vertices, metres = g.nearest_vertex(points.to_crs(3857), distance=True)
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
    places_of_work = jobs.groupby(crossings.index[jobs["vertex"]]).size()  # by own ids
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

    # areas for the report: within 2, 4 and 6 minutes of the hospitals, and where each is nearest
    reach = sssp.shortest_paths(h, hospitals["vertex"], nearest=True, limit=6)
    reach.isochrone_areas([2, 4, 6], width=60).to_file("reach.gpkg")
    served = sssp.nearest(h, hospitals["vertex"], limit=6).service_areas(width=60)
    served.to_file("service_areas.gpkg")
    print(len(served), "service areas")

    # the nearest hospital of every home: for the patient, and for the ambulance
    for direction in ("to", "from"):
        nearest = sssp.nearest(g, hospitals["vertex"], k=2, direction=direction)
        first = nearest.index[homes["vertex"], 0]
        homes[f"hospital, {direction}"] = hospitals.index[first]
        homes[f"minutes {direction} it"] = nearest.distances[homes["vertex"], 0]
    print(homes.filter(like="hospital").value_counts().head(3))

    # assignment: cars drive to work until nobody gains by another way
    cars = chance.poisson(4, fastest.distances.shape).astype(float)
    minutes = streets["minutes"].to_numpy()
    busy = sssp.assign(
        h,
        (homes["vertex"], jobs["vertex"], cars),
        sssp.BPR(minutes, streets["capacity"].to_numpy()),
        gap=1e-3,
    )
    flow = streets["cars"] = busy.flow
    loaded = h.with_weights(busy.times[g.arc_origin])
    print(streets.nlargest(3, "cars").round(1))

    # trips of a survey, each with its own two ends
    trips = sssp.pairs(
        loaded,
        homes["vertex"].sample(200, replace=True, random_state=1),
        jobs["vertex"].sample(200, replace=True, random_state=2),
        predecessors=True,
    )
    print(f"a trip takes {trips.distances.mean():.1f} minutes and {trips.skim(km).mean():.1f} km")
    trips.to_geodataframe().to_file("trips.gpkg")

    # other ways for the longest of them
    longest = int(trips.distances.argmax())
    ways = sssp.alternatives(loaded, trips.sources[longest], trips.targets[longest])
    print(ways.to_dataframe()[["source", "target", "distance", "stretch", "sharing"]].round(2))

    # the hours of the day: free in the night, as above in the rush hour, and half of it at noon
    share = np.array([0.0, 1.0, 0.5])
    hours = minutes + (busy.times - minutes) * share[:, np.newaxis]
    by_hour = sssp.times_by_departure(h, hours[:, g.arc_origin], trips.sources, trips.targets)
    print(dict(zip(["night", "rush", "noon"], by_hour.mean(axis=0).round(1).tolist(), strict=True)))

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
    arcs = closed.graph.to_geodataframe()
    arcs["cars"] = flow[g.arc_origin[arcs["arc"]]]
    print(arcs[["tail", "head", "weight", "cars", "geometry"]].nlargest(3, "cars"))


if __name__ == "__main__":
    main()
