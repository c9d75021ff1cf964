"""Download known road networks.

Those of the 9th DIMACS Implementation Challenge, or test problems, once. What is on this machine
already, in the folder SSSP_DATA or in the cache folder, is not downloaded again. A file is kept
once it is complete and has the checksum that is known of it. The path of every file is printed;
other commands know the files by their names too.

Examples
--------
  # the roads of New York: distances, and coordinates
  %(prog)s USA-road-d.NY USA-road-d.NY.co
  # the streets of Rome, the smallest graph
  %(prog)s rome99
  # all that there are, and where on this machine
  %(prog)s --list
"""

from __future__ import annotations

import argparse

from sssp import datasets
from sssp.apps.terminal.interrupt import raise_interrupts
from sssp.apps.terminal.outcome import on_one_line


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command-line arguments of ``sssp fetch``."""
    text = (
        "a graph: rome99, USA-road-d.NY (distances), USA-road-t.NY (travel times) or "
        "USA-road-d.NY.co (coordinates); SiouxFalls_net.tntp and SiouxFalls_trips.tntp (traffic "
        "assignment, for academic research only); --list names all"
    )
    parser.add_argument("names", nargs="*", type=_check_name, metavar="NAME", help=text)
    parser.add_argument("--list", action="store_true", help="list all graphs, and where they are")


def run(options: argparse.Namespace) -> int:
    """Download the named data files and print their paths, or list all known files."""
    if options.list:
        names = [file.removesuffix(".gz").removesuffix(".gr") for file in datasets.PUBLISHED]
        width = max(map(len, names))
        for name in names:
            here = datasets.find(name)
            print(f"{name:{width}}  {'not here' if here is None else on_one_line(str(here))}")
    elif not options.names:
        raise ValueError("name a graph, as rome99; --list shows which ones there are")
    for name in options.names:
        with raise_interrupts():
            path = datasets.fetch(name)
        print(on_one_line(str(path)), flush=True)
    return 0


def _check_name(text: str) -> str:
    if datasets.published_file(text) is None:
        raise argparse.ArgumentTypeError(f"no graph {text!r} is published; --list names all")
    return text
