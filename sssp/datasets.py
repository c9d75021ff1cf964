"""Real graphs that tests, benchmarks and users have on their machines, and facts about them.

Nothing is downloaded here; ``data/README.md`` says where the files come from.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sssp.kernels.store import cache_folder

__all__ = ["REFERENCE", "Reference", "available", "find", "require"]

_FORMATS = (".gr", ".co", ".ss", ".p2p", ".sssp")
_COMPRESSIONS = (".gz", ".xz", ".bz2")


@dataclass(frozen=True)
class Reference:
    """What is known of a graph, to check a reader and a solver against.

    Distances are from vertex 0 with parallel arcs reduced to their minimum; every vertex is
    reached.

    Attributes
    ----------
    file : str
        Name of the file as published.
    n : int
        Number of vertices.
    arcs_in_file : int
        Number of arcs in the file.
    m : int
        Number of arcs once parallel ones are reduced; there are no self-loops.
    least_weight, greatest_weight : int
        Range of the weights.
    distance_sum : int
        Sum of all distances.
    largest_distance, farthest_vertex : int
        The largest distance, and where it is (0-based).
    sha256 : str
        Checksum of the file.
    """

    file: str
    n: int
    arcs_in_file: int
    m: int
    least_weight: int
    greatest_weight: int
    distance_sum: int
    largest_distance: int
    farthest_vertex: int
    sha256: str


#: the graphs that tests and benchmarks use where they find them
REFERENCE = {
    "rome99": Reference(
        file="rome99.gr",
        n=3_353,
        arcs_in_file=8_870,
        m=8_859,
        least_weight=1,
        greatest_weight=12_711,
        distance_sum=116_006_476,
        largest_distance=69_102,
        farthest_vertex=2_965,
        sha256="cbc914b1d02327c2ea788b6f68a332995feadbdc97c1c7890c5e6272152f099d",
    ),
    "USA-road-d.NY": Reference(
        file="USA-road-d.NY.gr.gz",
        n=264_346,
        arcs_in_file=733_846,
        m=730_100,
        least_weight=1,
        greatest_weight=36_946,
        distance_sum=186_686_642_878,
        largest_distance=1_440_081,
        farthest_vertex=90_643,
        sha256="7b2446c7ffe6179efbc42af6812448e8cb782f12968ca2bb1d50d979343056d4",
    ),
    "USA-road-t.NY": Reference(
        file="USA-road-t.NY.gr.gz",
        n=264_346,
        arcs_in_file=733_846,
        m=730_100,
        least_weight=2,
        greatest_weight=92_366,
        distance_sum=233_812_473_957,
        largest_distance=1_916_421,
        farthest_vertex=90_643,
        sha256="de902573142dbf12c42b065d9a6a679e4794372eb91d2748ee78089720377156",
    ),
    # The topology of USA-road-NE under weights drawn from those of New York.
    "NE-synthetic": Reference(
        file="NE-synthetic-weights.gr.gz",
        n=1_524_453,
        arcs_in_file=3_868_020,
        m=3_868_020,
        least_weight=1,
        greatest_weight=36_946,
        distance_sum=1_026_698_878_662,
        largest_distance=1_281_392,
        farthest_vertex=322_367,
        sha256="c280d214a821b45915a2d04a5bf54ac6b0a28030e0ad8cdbbb7250527cd4f838",
    ),
}


def find(name: str) -> Path | None:
    """Look for a graph file on this machine.

    Parameters
    ----------
    name : str
        A key of `REFERENCE` or the name of a file, such as ``USA-road-d.BAY.gr`` or
        ``USA-road-d.NY.co``. ``.gr`` and the ending of a compression may be left out, and a
        file compressed in another way, or not at all, is found as well.

    Returns
    -------
    pathlib.Path or None
        The first such file in: the folder named by the environment variable ``SSSP_DATA``,
        ``data/`` of the checkout, the download cache. None where there is none.
    """
    for folder in _folders():
        for candidate in _file_names(name):
            path = folder / candidate
            if os.path.isfile(path):  # False as well for what is too long, or not to be looked at
                return path
    return None


def require(name: str) -> Path:
    """Look for a graph file as `find` does, and raise where there is none.

    Raises
    ------
    FileNotFoundError
        Tells where it was looked for.
    """
    path = find(name)
    if path is None:
        places = ", ".join(map(str, _folders()))
        raise FileNotFoundError(
            f"no graph '{name}' in {places}; data/README.md of the project says where to get it. "
            "Set SSSP_DATA to the folder that holds your graphs."
        )
    return path


def available() -> dict[str, Path]:
    """Return the graphs of `REFERENCE` that `find` finds, by name."""
    found = {name: find(name) for name in REFERENCE}
    return {name: path for name, path in found.items() if path is not None}


def _folders() -> list[Path]:
    folders = []
    if os.environ.get("SSSP_DATA"):
        folders.append(Path(os.environ["SSSP_DATA"]))
    checkout = Path(__file__).resolve().parent.parent
    # Beside an installed package stand the packages of others.
    if (checkout / "pyproject.toml").is_file():
        folders.append(checkout / "data")
    folders.append(cache_folder())
    return folders


def _file_names(name: str) -> Iterator[str]:
    if name in REFERENCE:
        name = REFERENCE[name].file
    yield name
    stem, suffix = os.path.splitext(name)
    if suffix not in _COMPRESSIONS:
        stem = name
    if not stem.endswith(_FORMATS):
        stem += ".gr"
    for compression in ("", *_COMPRESSIONS):
        yield stem + compression
