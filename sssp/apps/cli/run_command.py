"""Compute a table larger than memory, on many devices; an interrupted run can resume.

It is computed block by block; an interrupted run can be resumed. The table is a Zarr store, if its
name ends in .zarr, else a folder of Parquet parts. A folder beside it, with .job behind its name,
keeps the record of what is done: run the same command again after a crash, Ctrl-C or a full disk,
and only the rest is done. Every source is searched once, however often it is named. Vertices are
written in the file's own numbers (labels). The graph may be a prepared map (.sssp).

Examples
--------
  # what it would take: blocks, bytes, time
  %(prog)s USA-road-d.NY.gr.gz --sources homes.csv --targets jobs.csv --to od.zarr --dry-run
  # the table; the same line goes on after whatever stops it
  %(prog)s USA-road-d.NY.gr.gz --sources homes.csv --targets jobs.csv --to od.zarr
  # how far every vertex is from all others, on the workers of a Dask cluster
  %(prog)s USA-road-d.NY.gr.gz --all-sources --reduce mean --to mean --dask tcp://10.0.0.1:8786
"""

from __future__ import annotations

import argparse
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import sssp
from sssp.apps.terminal.arguments import add_graph, add_limit, add_search, whole_number
from sssp.apps.terminal.outcome import tell
from sssp.apps.terminal.vertices import add_vertices, find_ends, name_negatives, network_of
from sssp.errors import import_extra

#: endings of files that no table of a job is
FILES = (".csv", ".csv.gz", ".npz", ".json")
#: options that are arguments of `sssp.run` as they are
PASSED_ON = (
    "to", "reduce", "limit", "form", "method", "device", "dry_run", "block_size", "certify",
    "threads",
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command-line arguments of ``sssp run``."""
    add_graph(parser)
    add_vertices(parser, "source", help="a row of the table starts here")
    parser.add_argument("--all-sources", action="store_true", help="a row from every vertex")
    add_vertices(parser, "target", help="a column of the table (default: every vertex)")
    text = "a name.zarr, or a folder for Parquet"
    parser.add_argument("-o", "--to", required=True, metavar="TABLE", help=text)
    text = "keep one number of a row: the mean, sum, count, eccentricity, closeness, ..."
    parser.add_argument("--reduce", type=_reduction, metavar="WHAT", help=text)
    text = "of Parquet: a row for every vertex that is reached (default), or a column a target"
    parser.add_argument("--form", choices=("long", "wide"), help=text)
    parser.add_argument("--compression", choices=("zstd", "none"), default="zstd")
    add_search(parser)
    add_limit(parser, help="what lies farther than this is unreached")
    parser.add_argument("--threads", type=whole_number(1), metavar="T")
    text = "searches that are done together"
    parser.add_argument("--block-size", type=whole_number(1), metavar="N", help=text)
    text = "rows, drawn from all, that are certified (default 16)"
    parser.add_argument("--certify", type=whole_number(0), default=16, metavar="N", help=text)
    text = "of a scheduler of Dask, or its file, whose workers do it"
    parser.add_argument("--dask", metavar="ADDRESS", help=text)
    text = "refuse if something is there already"
    parser.add_argument("--no-resume", action="store_true", help=text)
    text = "measure a block, say the plan, write nothing"
    parser.add_argument("--dry-run", action="store_true", help=text)


def _reduction(text: str) -> str:
    """Return the name of a reduction (sum, mean...); refuse one that needs vertex weights."""
    from sssp.engine.reductions import REDUCTIONS  # (no NumPy for the help)

    names = [name for name, rule in REDUCTIONS.items() if not rule.weighs]
    if text not in names:
        raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(names)}")
    return text


def run(options: argparse.Namespace) -> int:
    """Compute a table of distances or reductions as a resumable job; print the job's report."""
    import numpy as np

    if options.all_sources and options.sources:
        raise ValueError("--all-sources is every vertex: name no other source beside it")
    if not (options.all_sources or options.sources):
        raise ValueError(
            "required: --source V, --source-at LON,LAT or --sources FILE, or else --all-sources"
        )
    if options.to.endswith(FILES):
        raise ValueError(
            f"{options.to!r} would be a folder: name one for its Parquet parts, or a name.zarr; "
            "`sssp table` writes one file"
        )
    network: Any = network_of(options)
    g = network._tree_graph
    sources, targets, notes = find_ends(g, options)
    client: Any = nullcontext()
    if options.dask is not None:
        distributed = import_extra("distributed", "jobs")
        is_file = options.dask.endswith(".json")
        if is_file and not os.path.exists(options.dask):
            tell(f"waits for {options.dask}, which the scheduler writes")
        client = distributed.Client(**{"scheduler_file" if is_file else "address": options.dask})
    with client as on, _show_plan(), name_negatives(g):
        report = sssp.run(
            network,
            np.arange(g.n) if sources is None else sources,
            targets=targets,
            compression=None if options.compression == "none" else options.compression,
            on=on,
            resume=not options.no_resume,
            **{name: getattr(options, name) for name in PASSED_ON},
        )
    # (the plan has been told before the work)
    print(*notes, report.plan() if options.dry_run else report.outcome(), sep="\n")
    return 0


@contextmanager
def _show_plan() -> Iterator[None]:
    """Print the log messages of the job (its plan) on stderr, while the context is open."""
    logger, handler = logging.getLogger("sssp"), logging.Handler()
    handler.emit = lambda record: tell(record.getMessage())  # type: ignore[method-assign]
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(level)
        logger.removeHandler(handler)
