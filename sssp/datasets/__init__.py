"""Files of published graphs: functions to find and download them; known facts for tests.

`fetch` downloads those of the 9th DIMACS Implementation Challenge, and test problems of traffic
assignment, nothing else does; ``data/README.md`` describes them.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sssp.errors import GraphFormatError, import_extra
from sssp.kernels.cache_files import cache_folder, make_absolute, make_folder
from sssp.kernels.messages import on_terminal

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


@dataclass(frozen=True)
class Reference:
    """Known facts of a graph file (sizes, weights, distances), to test readers and solvers.

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
        file="rome99.gr", n=3_353, arcs_in_file=8_870, m=8_859, least_weight=1,
        greatest_weight=12_711, distance_sum=116_006_476, largest_distance=69_102,
        farthest_vertex=2_965,
        sha256="cbc914b1d02327c2ea788b6f68a332995feadbdc97c1c7890c5e6272152f099d",
    ),
    "USA-road-d.NY": Reference(
        file="USA-road-d.NY.gr.gz", n=264_346, arcs_in_file=733_846, m=730_100, least_weight=1,
        greatest_weight=36_946, distance_sum=186_686_642_878, largest_distance=1_440_081,
        farthest_vertex=90_643,
        sha256="7b2446c7ffe6179efbc42af6812448e8cb782f12968ca2bb1d50d979343056d4",
    ),
    "USA-road-t.NY": Reference(
        file="USA-road-t.NY.gr.gz", n=264_346, arcs_in_file=733_846, m=730_100, least_weight=2,
        greatest_weight=92_366, distance_sum=233_812_473_957, largest_distance=1_916_421,
        farthest_vertex=90_643,
        sha256="de902573142dbf12c42b065d9a6a679e4794372eb91d2748ee78089720377156",
    ),
    # The topology of USA-road-NE under weights drawn from those of New York.
    "NE-synthetic": Reference(
        file="NE-synthetic-weights.gr.gz", n=1_524_453, arcs_in_file=3_868_020, m=3_868_020,
        least_weight=1, greatest_weight=36_946, distance_sum=1_026_698_878_662,
        largest_distance=1_281_392, farthest_vertex=322_367,
        sha256="c280d214a821b45915a2d04a5bf54ac6b0a28030e0ad8cdbbb7250527cd4f838",
    ),
}  # fmt: skip

#: where the 9th DIMACS Implementation Challenge keeps its graphs
SITE = "https://www.diag.uniroma1.it/challenge9/data"
#: parts of the road network of the USA, the smallest first
REGIONS = ("NY", "BAY", "COL", "FLA", "NW", "NE", "CAL", "LKS", "E", "W", "CTR", "USA")

#: where the test problems of traffic assignment are kept, for academic research only
PROBLEM_SITE = "https://raw.githubusercontent.com/bstabler/TransportationNetworks/master"
#: some of them, and their folders there
PROBLEMS = {name: name for name in ("SiouxFalls", "Anaheim", "Barcelona", "Winnipeg")} | {
    "ChicagoSketch": "Chicago-Sketch"
}

#: the files that `fetch` knows, and where each is on its site
PUBLISHED = (
    {"rome99.gr": "rome/rome99.gr"}
    | {
        f"USA-road-{kind}.{region}.{form}.gz": f"USA-road-{kind}/USA-road-{kind}.{region}.{form}.gz"
        for region in REGIONS
        for kind, form in (("d", "gr"), ("t", "gr"), ("d", "co"))
    }
    | {
        f"{name}_{kind}.tntp": f"{folder}/{name}_{kind}.tntp"
        for name, folder in PROBLEMS.items()
        for kind in ("net", "trips", "flow")
    }
)

#: sha256 of files, as far as they are known; of others `fetch` keeps the first one beside the file
CHECKSUMS = {known.file: known.sha256 for known in REFERENCE.values()} | {
    "USA-road-d.NY.co.gz": "02547a628742164e02bd73f59e33a65d23dfac8fc54c09275c8b9169c38eafdf",
    "USA-road-d.BAY.gr.gz": "630c4a96869b3ecdd631ceb0f63923fb954ee4c7c26d983863612e2c4442462e",
}

#: bytes that are taken from the network at once
CHUNK_BYTES = 1 << 14
#: seconds of a download before its bar appears
BAR_DELAY = 0.5


def find(name: str) -> Path | None:
    """Return the path of a graph file on this machine; None if there is none.

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

    Raises
    ------
    GraphFormatError
        What `fetch` has downloaded into the cache has changed since: its SHA-256 is not the known
        one, nor that kept beside the file. Other files are not checked. O(size of the file).
    """
    path = _locate(name)
    if path is not None and (known := _checksum_of(path)) and known != _digest(path):
        raise GraphFormatError(
            f"the file has changed since it was downloaded: its sha256 is not {known}; "
            f"sssp.datasets.fetch('{name}') downloads it again",
            path=path,
        )
    return path


def _locate(name: str) -> Path | None:
    """Return the path of the first graph file found for `name`, or None; no checksum test."""
    paths = (folder / candidate for folder in _folders() for candidate in _file_names(name))
    # (isfile is False as well for what is too long, or not to be looked at)
    return next((path for path in paths if os.path.isfile(path)), None)


def _checksum_of(path: Path) -> str | None:
    """Return the expected SHA-256 of a file in the cache; None if no checksum is known."""
    if path.parent != _cache():
        return None
    if path.name in CHECKSUMS:
        return CHECKSUMS[path.name]
    try:
        return Path(f"{path}.sha256").read_text(encoding="utf-8").split()[0]
    except (OSError, ValueError, IndexError):
        return None


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _cache() -> Path | None:
    """Return the folder for downloads; None without a home folder."""
    try:
        return cache_folder()
    except OSError:
        return None


def require(name: str) -> Path:
    """Return the path of a graph file, as `find` does; raise FileNotFoundError if none exists.

    Raises
    ------
    FileNotFoundError
        Tells where it was looked for.
    GraphFormatError
        As `find` says.
    """
    path = find(name)
    if path is None:
        places = ", ".join(map(str, _folders()))
        remedy = f"sssp.datasets.fetch('{name}') downloads it"
        if published_file(name) is None:
            remedy = "data/README.md of the project says where to get graphs"
        raise FileNotFoundError(
            f"no graph '{name}' in {places}; {remedy}. Set SSSP_DATA to the folder that "
            "holds your graphs."
        )
    return path


def fetch(name: str, *, progress: bool | None = None) -> Path:
    """Return the path of a graph's data file; download the file if there is no local copy.

    Parameters
    ----------
    name : str
        As for `find`, of a file in `PUBLISHED`: ``"rome99"``, ``"USA-road-d.NY"`` (distances),
        ``"USA-road-t.NY"`` (travel times), ``"USA-road-d.NY.co"`` (coordinates), and so on for BAY,
        COL, FLA, NW, NE, CAL, LKS, E, W, CTR and USA; ``"SiouxFalls_net.tntp"``,
        ``"SiouxFalls_trips.tntp"`` and ``"SiouxFalls_flow.tntp"``, the best-known flows, and so on
        for Anaheim, Barcelona, Winnipeg and ChicagoSketch, whose publisher allows academic
        research only.
    progress : bool, optional
        Show a bar on stderr; by default on a terminal.

    Returns
    -------
    pathlib.Path
        Downloaded files are kept in the cache folder.

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
        The cache folder cannot be written, or there is no home folder for it.

    Notes
    -----
    Downloads come by https; by http only if that fails and the checksum is known (`CHECKSUMS`).
    A file appears under its name when it is complete and its checksum is right; an
    error before leaves nothing. If its checksum is not known, that of the first download is kept
    beside it (``.sha256``), and the logger ``sssp`` tells it. Each later `fetch`, `find` or
    `require` compares files of the cache with their checksums: `fetch` downloads a changed one
    again. Files of other folders are the user's own, and not checked.

    Examples
    --------
    A city on any machine::

        g = sssp.read_graph(sssp.datasets.fetch("USA-road-d.NY"))
    """
    file, found = published_file(name), _locate(name)
    known = None if file is None or found is None else _checksum_of(found)
    if found is not None and (known is None or known == _digest(found)):
        return found
    if file is None:
        raise FileNotFoundError(
            f"no graph '{name}' is here, and none of that name is published; "
            f"there are rome99 and USA-road-d.{{{','.join(REGIONS)}}}, USA-road-t of the same "
            "regions, and with .co behind USA-road-d coordinates; _net.tntp, _trips.tntp and "
            f"_flow.tntp of {', '.join(PROBLEMS)}"
        )
    return _download(file, cache_folder(), on_terminal() if progress is None else progress)


def published_file(name: str) -> str | None:
    """Return the name of a graph's file in `PUBLISHED`; None if no published file has that name."""
    return next((file for file in _file_names(name) if file in PUBLISHED), None)


def _download(file: str, folder: Path, progress: bool) -> Path:
    """Download a published file into a folder; store its checksum if unknown; return its path."""
    pooch, requests = import_extra("pooch", "data"), import_extra("requests", "data")
    from tqdm import tqdm

    path = folder / file
    make_folder(folder)
    site = PROBLEM_SITE if file.endswith(".tntp") else SITE
    checksum, urls = _checksum_of(path), [f"{site}/{PUBLISHED[file]}"]
    if checksum is not None:
        urls.append(urls[0].replace("https:", "http:", 1))
    try:
        with ExitStack() as stack:
            # (the server tells the total; before that a bar without one is neither true nor false)
            bar = tqdm(
                total=1, desc=file, disable=not progress, unit="B", unit_scale=True, leave=False,
                delay=BAR_DELAY,
            )  # fmt: skip
            stack.enter_context(bar)
            # (pooch writes messages to stderr)
            log = pooch.get_logger()
            stack.callback(log.setLevel, log.level)
            log.setLevel(logging.WARNING)

            def keep(response: Any, **_: Any) -> None:
                stack.callback(response.close)
                # or a .gz file is unpacked on the way where the server calls that an encoding
                response.raw.headers.discard("Content-Encoding")

            options = {"headers": {"Accept-Encoding": "identity"}, "hooks": {"response": keep}}
            downloader = pooch.HTTPDownloader(bar, CHUNK_BYTES, **options)
            for url in dict.fromkeys(urls):
                try:
                    pooch.retrieve(url, checksum, fname=file, path=folder, downloader=downloader)
                    break
                except requests.ConnectionError:
                    if url == urls[-1]:
                        raise
    except requests.RequestException as error:
        raise ConnectionError(
            f"{urls[0]} cannot be downloaded: where there is a network, download it by hand, and "
            f"put it into {folder}, or into a folder that SSSP_DATA names ({error})"
        ) from error
    except ValueError as error:  # the message holds both checksums
        remedy = "" if file in CHECKSUMS else f" If it was published anew, delete {path}.sha256."
        raise GraphFormatError(f"{error}{remedy}", path=urls[0]) from None
    # what pooch makes is for its owner alone
    path.chmod(folder.stat().st_mode & 0o666)
    if checksum is None:
        checksum = _digest(path)
        # (in the form of sha256sum)
        Path(f"{path}.sha256").write_text(f"{checksum}  {file}\n", encoding="utf-8")
        logger.warning("the checksum of %s is not known; its sha256 %s is kept", file, checksum)
    return path


def available() -> dict[str, Path]:
    """Return the paths of the `REFERENCE` graphs on this machine, as a dict by name."""
    return {name: path for name in REFERENCE if (path := find(name)) is not None}


def _folders() -> list[Path]:
    folders = []
    if named := os.environ.get("SSSP_DATA"):
        folders.append(make_absolute(named))
    checkout = Path(__file__).resolve().parents[2]
    # Beside an installed package stand the packages of others.
    if (checkout / "pyproject.toml").is_file():
        folders.append(checkout / "data")
    cache = _cache()
    return folders if cache is None else [*folders, cache]


def _file_names(name: str) -> Iterator[str]:
    if name in REFERENCE:
        name = REFERENCE[name].file
    yield name
    compressions = (".gz", ".xz", ".bz2")
    stem, suffix = os.path.splitext(name)
    if suffix not in compressions:
        stem = name
    if not stem.endswith((".gr", ".co", ".ss", ".p2p", ".sssp", ".tntp")):
        stem += ".gr"
    yield from (stem + compression for compression in ("", *compressions))
