"""Real graphs that tests, benchmarks and users have on their machines, and facts about them.

`fetch` downloads those of the 9th DIMACS Implementation Challenge, nothing else does;
``data/README.md`` describes them.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sssp.errors import GraphFormatError
from sssp.kernels.messages import on_terminal
from sssp.kernels.store import cache_folder

__all__ = [
    "CHECKSUMS",
    "PUBLISHED",
    "REFERENCE",
    "Reference",
    "available",
    "fetch",
    "find",
    "published_file",
    "require",
]

logger = logging.getLogger("sssp")

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

#: where the 9th DIMACS Implementation Challenge keeps its graphs
SITE = "http://www.diag.uniroma1.it/challenge9/data"
#: parts of the road network of the USA, the smallest first
REGIONS = ("NY", "BAY", "COL", "FLA", "NW", "NE", "CAL", "LKS", "E", "W", "CTR", "USA")

#: the files that `fetch` knows, and where each is on `SITE`
PUBLISHED = {"rome99.gr": "rome/rome99.gr"} | {
    f"USA-road-{kind}.{region}.{form}.gz": f"USA-road-{kind}/USA-road-{kind}.{region}.{form}.gz"
    for region in REGIONS
    for kind, form in (("d", "gr"), ("t", "gr"), ("d", "co"))
}

#: sha256 of files, as far as somebody has seen them
CHECKSUMS = {known.file: known.sha256 for known in REFERENCE.values()} | {
    "USA-road-d.NY.co.gz": "02547a628742164e02bd73f59e33a65d23dfac8fc54c09275c8b9169c38eafdf",
    "USA-road-d.BAY.gr.gz": "630c4a96869b3ecdd631ceb0f63923fb954ee4c7c26d983863612e2c4442462e",
}

#: bytes that are taken from the network at once
CHUNK_BYTES = 1 << 14
#: seconds of a download before its bar appears
BAR_DELAY = 0.5


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
            f"no graph '{name}' in {places}; {_remedy(name)}. Set SSSP_DATA to the folder that "
            "holds your graphs."
        )
    return path


def fetch(name: str, *, progress: bool | None = None) -> Path:
    """Return a graph file as `find` does; download it where there is none.

    Parameters
    ----------
    name : str
        As for `find`, of a file in `PUBLISHED`: ``"rome99"``, ``"USA-road-d.NY"`` (distances),
        ``"USA-road-t.NY"`` (travel times), ``"USA-road-d.NY.co"`` (coordinates), and so on for BAY,
        COL, FLA, NW, NE, CAL, LKS, E, W, CTR and USA.
    progress : bool, optional
        Show a bar on stderr; by default on a terminal.

    Returns
    -------
    pathlib.Path
        Downloaded files are kept in the cache folder, whose files are compared with their
        checksums each time.

    Raises
    ------
    FileNotFoundError
        No such file is published.
    ConnectionError
        It cannot be downloaded; the message says where it is and where to put it by hand.
    GraphFormatError
        What was downloaded is not what was published: its checksum is another one.
    MissingExtraError
        pooch is not installed.
    OSError
        The cache folder cannot be written.

    Notes
    -----
    A file appears under its name when it is complete and its checksum is right; whatever goes
    wrong before leaves nothing. Where nobody knows the checksum (see `CHECKSUMS`), the logger
    ``sssp`` says so, with that of the file.

    Examples
    --------
    A city on any machine::

        g = sssp.read_graph(sssp.datasets.fetch("USA-road-d.NY"))
    """
    file, found = published_file(name), find(name)
    if found is not None and (file is None or found != cache_folder() / file):
        return found
    if file is None:
        raise FileNotFoundError(
            f"no graph '{name}' is here, and none of that name is published; "
            f"there are rome99 and USA-road-d.{{{','.join(REGIONS)}}}, USA-road-t of the same "
            "regions, and with .co behind USA-road-d coordinates"
        )
    return _downloaded(file, cache_folder(), on_terminal() if progress is None else progress)


def published_file(name: str) -> str | None:
    """Return the file in `PUBLISHED` that `name` stands for, None for none."""
    return next((file for file in _file_names(name) if file in PUBLISHED), None)


def _remedy(name: str) -> str:
    if published_file(name) is None:
        return "data/README.md of the project says where to get graphs"
    return f"sssp.datasets.fetch('{name}') downloads it"


def _downloaded(file: str, folder: Path, progress: bool) -> Path:
    """Download a file unless it is in the folder and right."""
    from sssp.graph.extras import imported

    pooch, requests = imported("pooch", "data"), imported("requests", "data")
    url, path, checksum = f"{SITE}/{PUBLISHED[file]}", folder / file, CHECKSUMS.get(file)
    if path.is_file() and checksum in (None, pooch.file_hash(path)):
        return path
    try:
        with _without_log(pooch), _bar(file, progress) as bar, _responses() as taken:
            downloader = pooch.HTTPDownloader(
                progressbar=bar,
                chunk_size=CHUNK_BYTES,
                headers={"Accept-Encoding": "identity"},
                hooks={"response": taken},
            )
            pooch.retrieve(url, checksum, fname=file, path=folder, downloader=downloader)
    except requests.RequestException as error:
        raise ConnectionError(
            f"{url} cannot be downloaded: where there is a network, download it by hand, and put "
            f"it into {folder}, or into a folder that SSSP_DATA names ({error})"
        ) from error
    except ValueError as error:  # the message holds both checksums
        raise GraphFormatError(str(error), path=url) from None
    # what pooch makes is for its owner alone
    path.chmod(folder.stat().st_mode & 0o666)
    if checksum is None:
        logger.warning(
            "nobody has told the checksum of %s; sha256 is %s", file, pooch.file_hash(path)
        )
    return path


@contextmanager
def _responses() -> Iterator[Callable[..., None]]:
    """Lend a function that takes what servers answer, and close the connections in the end."""
    with ExitStack() as connections:

        def taken(response: Any, **_: Any) -> None:
            connections.callback(response.close)
            # or a .gz file is unpacked on the way where the server calls that an encoding
            response.raw.headers.discard("Content-Encoding")

        yield taken


@contextmanager
def _without_log(pooch: Any) -> Iterator[None]:
    """Keep pooch from telling on stderr what it does."""
    log = pooch.get_logger()
    level = log.level
    log.setLevel(logging.WARNING)
    try:
        yield
    finally:
        log.setLevel(level)


@contextmanager
def _bar(file: str, wanted: bool) -> Iterator[Any]:
    """Lend a bar that counts bytes, False if none is wanted."""
    if not wanted:
        yield False
        return
    from tqdm import tqdm

    # (the server tells the total; before that a bar without one is neither true nor false)
    with tqdm(total=1, desc=file, unit="B", unit_scale=True, leave=False, delay=BAR_DELAY) as bar:
        yield bar


def available() -> dict[str, Path]:
    """Return the graphs of `REFERENCE` that `find` finds, by name."""
    found = {name: find(name) for name in REFERENCE}
    return {name: path for name, path in found.items() if path is not None}


def _folders() -> list[Path]:
    folders = []
    if os.environ.get("SSSP_DATA"):
        folders.append(Path(os.environ["SSSP_DATA"]))
    checkout = Path(__file__).resolve().parents[2]
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
