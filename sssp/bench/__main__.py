"""Time methods on graphs, against SciPy.

Methods are measured side by side, and every row is verified. Without arguments: the built-in graph
of a million vertices, and every real graph that is found. Methods may carry options: --methods
dijkstra,delta-stepping:delta=5000. --table sets published figures beside ours: of a thesis on
GPU-based shortest paths, or of papers on all pairs (squaring, blocks, floyd-warshall) and
transitive closure (closure); --table startup times whole processes, to their first answer, --table
csgraph what stands in for SciPy's functions, --table assignment user equilibria, beside AequilibraE
where that is installed, and --table hierarchy prepared maps, on the built-in graph and New York, or
on those that --graph names. Else loading, set-up and JIT are timed apart and never part of a row,
and --plot draws time against the number of vertices. The exit code is 1 if a row fails
verification.

Examples
--------
  # all methods on a graph, from one random source
  %(prog)s --graph USA-road-d.NY.gr.gz --methods all
  # two methods on CPU and GPU, 64 sources in one call
  %(prog)s --graph road-like:1000000 --sources 64 --devices cpu,cuda --json out.json
  # our figures beside published ones
  %(prog)s --table thesis
  # what preparing a map costs, and after how many questions it pays
  %(prog)s --table hierarchy --graph USA-road-d.NY.gr.gz
  # time against size, as a picture
  %(prog)s --plot times.svg
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from sssp import datasets
from sssp.apps.terminal import arguments as terminal
from sssp.apps.terminal.interrupt import leave, raise_interrupts
from sssp.apps.terminal.outcome import name_in_errors, on_one_line, report_errors
from sssp.apps.terminal.output import DOTS_PER_INCH, PICTURES, Output
from sssp.errors import import_extra
from sssp.kernels.messages import on_terminal
from sssp.methods import METHODS

if TYPE_CHECKING:
    from sssp.bench.harness import BenchPlan, BenchTable
    from sssp.bench.report import BenchReport

DEFAULT_METHODS = "dijkstra,delta-stepping"
DEFAULT_SIZE = 1_000_000
DENSE = "sssp.bench.papers.matrix_tables", "DenseTable"
#: the table that takes any graphs; the others have graphs of their own
OF_GRAPHS = "hierarchy"
#: modules and classes that measure tables: the one without a name, and the others
METHODS_TABLE = "sssp.bench.harness", "Methods"
TABLES = {
    "thesis": ("sssp.bench.papers.search_tables", "Thesis"),
    **dict.fromkeys(("squaring", "blocks", "floyd-warshall", "closure"), DENSE),
    "startup": ("sssp.bench.startup", "Startup"),
    "csgraph": ("sssp.bench.drop_ins", "DropIn"),
    "assignment": ("sssp.bench.equilibria", "Equilibria"),
    OF_GRAPHS: ("sssp.bench.prepared_maps", "PreparedMaps"),
}
PACKAGES = ("numpy", "scipy", "numba")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command-line arguments of ``python -m sssp.bench``."""

    def add(name: str, text: str, group: Any = parser, **options: Any) -> None:
        group.add_argument(name, help=text, **options)

    many: dict[str, Any] = {"action": "append"}
    text = f"{terminal.GRAPH_HELP}; repeatable"
    add("--graph", text, dest="graphs", type=terminal.find_graph, metavar="FILE", **many)
    text = (
        "set our figures beside published ones, with the graphs, sources, methods and devices "
        "of that table in place of those given here (hierarchy: with your graphs and devices)"
    )
    add("--table", text, choices=tuple(TABLES))
    text = "sources and targets of the table in --table hierarchy (default 1000)"
    add("--side", text, type=terminal.whole_number(1), default=1000, metavar="K")
    either = parser.add_mutually_exclusive_group()
    text = "random sources, solved in one call (default 1)"
    add("--sources", text, either, type=terminal.whole_number(1), default=1, metavar="K")
    text = "a source in the file's own numbers; repeatable"
    add("--source", text, either, dest="labels", metavar="V", **many)
    names = ", ".join(METHODS)
    text = f"all, or some of {names} (default {DEFAULT_METHODS}; with --plot all)"
    add("--methods", text, type=terminal.method_list, metavar="A,B")
    text = "devices to run them on (default cpu)"
    add("--devices", text, type=lambda text: text.split(","), default="cpu", metavar="A,B")
    text = "threads of our methods (default all cores)"
    add("--threads", text, type=terminal.whole_number(1), metavar="T")
    text = "timed calls a row (default 5)"
    add("--trials", text, type=terminal.whole_number(1), default=5, metavar="N")
    text = "seed of the random sources (default 0)"
    add("--seed", text, type=terminal.whole_number(0), default=0)
    text = "skip rows that would take longer (default 60)"
    limit = terminal.positive_number("a positive number of seconds")
    add("--row-limit", text, type=limit, default=60.0, metavar="SECONDS")
    add("--json", "also write everything there, as JSON", type=terminal.new_file, metavar="FILE")
    text = (
        "also draw time against the number of vertices, to a .png, .svg or .pdf file; the "
        "graphs are by default built-in ones of growing size"
    )
    add("--plot", text, type=_choose_picture, metavar="FILE")
    # (programs with more rivals set them)
    parser.set_defaults(rivals=(), packages=PACKAGES)


def run(options: argparse.Namespace) -> int:
    """Run the measurements, print the report, and return the exit code.

    Rows measured before an error or Ctrl-C are reported all the same.
    """
    if options.table not in (None, OF_GRAPHS) and options.graphs:
        raise ValueError(f"--table {options.table} has graphs of its own: omit --graph")
    from sssp.bench.harness import BenchPlan
    from sssp.bench.report import BenchReport, draw, find_hardware, find_versions, now
    from sssp.engine.threads import default_threads

    if options.plot is not None:
        if options.table:
            raise ValueError("--plot draws methods on graphs: omit --table")
        import_extra("matplotlib", "plot")  # (refuses before the work)
    plan = BenchPlan(options.trials, options.row_limit, options.threads)
    settings = {"trials": plan.trials, "seed": options.seed}
    settings["threads"] = plan.threads or default_threads()
    settings["row limit in seconds"] = plan.row_limit
    hardware = find_hardware(["cuda"] if options.table else options.devices)
    versions = find_versions(options.packages)
    report = BenchReport(options.command_line, now(), versions, hardware, settings)
    with raise_interrupts():
        try:
            _measure(options, plan, report)
        finally:
            # if one of these fails, the others are still done: last in, first out
            with ExitStack() as steps:
                if report.rows or report.comparisons:
                    steps.callback(lambda: print(report.text()))
                    if options.plot is not None:
                        steps.callback(lambda: options.plot.draw(draw(report), DOTS_PER_INCH))
                    if options.json is not None:
                        steps.enter_context(name_in_errors(options.json))
                        steps.callback(report.write_json, options.json)
    return 1 if report.failed else 0


def _measure(options: argparse.Namespace, plan: BenchPlan, report: BenchReport) -> None:
    """Run the measurements of the chosen table, and add them to `report`."""
    from sssp.bench.report import SIZES
    from sssp.bench.workloads import REAL

    sizes: Sequence[int] = (DEFAULT_SIZE,)
    files, chosen = datasets.available(), DEFAULT_METHODS
    if options.plot is not None:
        sizes, files, chosen = SIZES, {}, "all"
    elif options.table == OF_GRAPHS:
        files = {name: path for name, path in files.items() if name == REAL}
    if not options.graphs:
        built_in = [terminal.find_graph(f"{terminal.BUILT_IN}:{size}") for size in sizes]
        options.graphs = [*built_in, *map(terminal.NamedGraph, files, files.values())]
    options.methods = options.methods or terminal.method_list(chosen)
    module, kind = TABLES.get(options.table, METHODS_TABLE)
    table: BenchTable = getattr(import_module(module), kind)(plan, options, report)
    with _progress(table.steps) as table.progress:
        table.measure()


@contextmanager
def _progress(steps: int) -> Iterator[Callable[[str], None]]:
    """Yield a function that shows the current step on stderr, if that is a terminal."""
    from tqdm import tqdm

    form, hidden = "{percentage:3.0f}% |{bar:20}| {elapsed} {desc}", not on_terminal()
    with tqdm(total=steps, bar_format=form, leave=False, file=sys.stderr, disable=hidden) as bar:

        def step(text: str) -> None:
            bar.update()
            bar.set_description_str(on_one_line(text))

        yield step


def _choose_picture(text: str) -> Output:
    path = terminal.new_file(text)
    ending = path.suffix.lower().removeprefix(".")
    if ending not in PICTURES:
        endings = ", ".join(f".{name}" for name in PICTURES)
        raise argparse.ArgumentTypeError(f"{text!r} must end in one of {endings}")
    return Output(path, ending)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark from the command line; return the exit code, 1 if a result is wrong."""
    program = "python -m sssp.bench"

    def command() -> int:
        parser = terminal.Parser(prog=program, description=__doc__)
        add_arguments(parser)
        return run(terminal.parse(parser, arguments))

    return report_errors(program, command)


if __name__ == "__main__":
    leave(main)
