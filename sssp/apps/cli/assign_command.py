r"""Find the user equilibrium: load trips until no other path is cheaper for any trip.

That is the user equilibrium: flows at which no trip gets cheaper on another way. Network and trips
are TNTP files, as of https://github.com/bstabler/TransportationNetworks: paths, or names of files
that were fetched or lie in the folder SSSP_DATA. What is written has a row a link, in the order of
the network: tail, head, flow and cost. Ctrl-C ends the search, and the last flow whose gap is known
is written; the exit code is 130 all the same.

Examples
--------
  # flows of the morning, to a gap of a ten-thousandth
  %(prog)s SiouxFalls_net.tntp SiouxFalls_trips.tntp --gap 1e-4 -o flows.csv
  # where miles and tolls count beside minutes
  %(prog)s ChicagoSketch_net.tntp ChicagoSketch_trips.tntp \
      --distance 0.04 --toll 0.02 -o flows.csv
"""

from __future__ import annotations

import argparse
import warnings
from time import perf_counter

import sssp
from sssp.apps.terminal import arguments
from sssp.apps.terminal.interrupt import INTERRUPTED, raise_interrupts
from sssp.apps.terminal.output import STDOUT, add_output, choose_output
from sssp.apps.terminal.table_files import write_table
from sssp.apps.terminal.vertices import with_turns

FORMATS = ("csv", "parquet")
METHODS = ("bfw", "fw", "msa")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command-line arguments of ``sssp assign``."""
    for name, what in (("network", "links"), ("trips", "trips")):
        text = f"a TNTP file of {what}, plain or compressed"
        parser.add_argument(name, type=arguments.find_file, metavar=name.upper(), help=text)
    arguments.add_turns(parser)
    above = arguments.positive_number("a number above 0")
    text = "end at this relative gap (default 1e-4)"
    parser.add_argument("--gap", type=above, default=1e-4, metavar="G", help=text)
    text = "end after so many iterations (default 1000)"
    count = arguments.whole_number(1)
    parser.add_argument("--iterations", type=count, default=1000, metavar="N", help=text)
    text = "bi-conjugate Frank-Wolfe, Frank-Wolfe, or successive averages (default bfw)"
    parser.add_argument("--method", choices=METHODS, default="bfw", help=text)
    for name, what in (("distance", "length"), ("toll", "toll")):
        text = f"what a unit of the column {what} costs, in units of time (default 0)"
        parser.add_argument(f"--{name}", type=above, default=0.0, metavar="X", help=text)
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N (default auto)")
    parser.add_argument("--threads", type=count, metavar="T", help="threads (default all cores)")
    add_output(parser, FORMATS, default=STDOUT)


def run(options: argparse.Namespace) -> int:
    """Find the user equilibrium; write flow and cost of every link, and print a summary."""
    output = choose_output(options)
    costs = {"distance": options.distance, "toll": options.toll}
    problem = sssp.read_tntp(options.network, options.trips, **costs)
    names = ("gap", "iterations", "method", "device", "threads")
    asked = {name: getattr(options, name) for name in names}
    asked["closed_zones"] = problem.closed_zones
    g = with_turns(problem.graph, options)
    start = perf_counter()
    with raise_interrupts(), warnings.catch_warnings():
        # (the summary tells it)
        warnings.filterwarnings("ignore", "the gap is", UserWarning)
        found = sssp.assign(g, problem.demand, problem.cost, **asked)
    seconds = perf_counter() - start
    columns = arguments.label_arcs(g, problem.links.tails, problem.links.heads)
    count = write_table(output, [columns | {"flow": found.flow, "cost": found.times}])
    ended = "interrupted" if found.interrupted else "reached"
    missed = found.gap > options.gap and not found.interrupted
    output.summarize(
        [
            f"gap {found.gap:.3g} {'not yet ' if missed else ''}{ended} after "
            f"{found.iterations:,} iterations, {seconds:.3f} s with compilation, if any",
            f"objective {found.objective:.10g}, everybody's cost {found.total:.10g}",
            f"wrote {count:,} rows to {output.name}",
        ]
    )
    return INTERRUPTED if found.interrupted else 0
