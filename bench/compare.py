"""Time the working tree beside an earlier commit, and fail where it is slower.

    make bench-compare [BASE=commit]
    python -m bench.compare [BASE] [--limit 1.1] [--rounds 5] [--starts 3] [--only TEXT] [--no-fail]

BASE is checked out into a temporary worktree. Three processes, one of the working tree and two of
BASE, hold the same graphs and take turns call by call: another load of the machine slows all three
down. They are started anew several times, for processes of one commit differ as well. Every process
makes a call twice before it is timed, so that its kernels are compiled; compiled code and bytecode
go to a temporary folder.

A line fails if the median of the working tree is more than ``--limit`` times that of BASE, times
the most that the two processes of BASE have differed by in one start. What fails is timed again,
with as many starts, and judged by all samples. Without BASE it is the parent of the first commit
that is not on ``origin``'s main branch yet; where nothing has changed since, or there is no such
branch, it is the parent of HEAD. The graphs are built in, and New York where `sssp.datasets.find`
finds it. Everything runs on the CPU: GPUs have scripts of their own.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
#: the processes that take turns; the first two are of BASE
RUNS = ("old", "again", "new")
#: vertices of the smallest graph, whose call is all overhead
FEW = 100
TREES, TABLE = 64, 1000
#: seconds of calls that make one sample: shorter calls are repeated
SAMPLE_SECONDS = 0.05


class CompareError(Exception):
    """The comparison is impossible; the message is one line that says what to do."""


class Setting:
    """A graph, and the calls to time on it, in a process of either commit.

    Parameters
    ----------
    path : str
        A ``.gr`` file.
    """

    def __init__(self, path: str) -> None:
        import numpy as np

        import sssp

        self.sssp, self.path, self.graph = sssp, path, sssp.read_graph(path)
        random = np.random.default_rng(1)
        self.source = self.graph.n // 2
        self.sources, self.rows, self.columns = (
            random.integers(self.graph.n, size=size) for size in (TREES, TABLE, TABLE)
        )
        self.weights = random.permutation(self.graph.weights)

    @cached_property
    def prepared(self) -> Any:
        """The graph, prepared when it is first asked for."""
        return self.sssp.prepare(self.graph)

    def solve(self, network: Any, sources: Any, **options: Any) -> Any:
        """Return shortest paths, found on the CPU."""
        return self.sssp.shortest_paths(network, sources, device="cpu", **options)


#: what is timed on every graph
CALLS: dict[str, Callable[[Setting], Any]] = {
    "read .gr": lambda s: s.sssp.read_graph(s.path),
    "one tree": lambda s: s.solve(s.graph, s.source),
    f"{TREES} trees": lambda s: s.solve(s.graph, s.sources),
    "prepare": lambda s: s.sssp.prepare(s.graph),
    "one tree, prepared": lambda s: s.solve(s.prepared, s.source),
    f"{TREES} trees, prepared": lambda s: s.solve(s.prepared, s.sources),
    f"table {TABLE:,} x {TABLE:,}, prepared": lambda s: s.solve(
        s.prepared, s.rows, targets=s.columns
    ),
    "new weights and a tree, prepared": lambda s: s.solve(
        s.prepared.with_weights(s.weights), s.source
    ),
}
#: what is timed in processes of its own, from their start to their end: a code a line
PROCESSES = {
    "import sssp": "import sssp",
    "import sssp and its first call": "import sssp; sssp.shortest_paths",
}


def time_process(code: str) -> float:
    """Return the seconds that a new process takes to run some code."""
    began = perf_counter()
    subprocess.run([sys.executable, "-P", "-c", code], check=True)
    return perf_counter() - began


def make_sampler(setting: Setting | None, call: str) -> Callable[[], float]:
    """Run a call twice to compile it; return a function that returns its mean seconds."""
    if setting is None:
        time_process(PROCESSES[call])  # writes bytecode
        return lambda: time_process(PROCESSES[call])
    ask, known = CALLS[call], setting
    ask(known)
    began = perf_counter()
    ask(known)
    count = max(1, int(SAMPLE_SECONDS / (perf_counter() - began)))

    def sample() -> float:
        began = perf_counter()
        for _ in range(count):
            ask(known)
        return (perf_counter() - began) / count

    return sample


def answer_requests() -> None:
    """Time the calls named on stdin, one JSON line with a path and a call each, until it ends.

    The answer is a line of JSON: seconds, or the text of an error.
    """
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints is no answer
    settings: dict[str, Setting | None] = {"": None}
    samplers: dict[tuple[str, str], Callable[[], float]] = {}
    for line in sys.stdin:
        path, call = json.loads(line)
        try:
            if path not in settings:
                settings[path] = Setting(path)
            if (path, call) not in samplers:
                samplers[path, call] = make_sampler(settings[path], call)
            told: float | str = samplers[path, call]()
        except Exception as error:
            told = f"{type(error).__name__}: {error}".splitlines()[0]
        print(json.dumps(told), file=answers, flush=True)


@contextmanager
def run_worker(tree: Path, kept: Path) -> Iterator[Callable[[str, str], float | str]]:
    """Start a process that imports a tree of the package; yield a function for timings."""
    environment = os.environ | {
        "PYTHONPATH": str(tree),
        "PYTHONPYCACHEPREFIX": str(kept / "bytecode"),
        "SSSP_CACHE_DIR": str(kept / "code"),
    }
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-P", __file__, "--answer-requests"]
    process = subprocess.Popen(
        command, cwd=tree, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    requests, answers = process.stdin, process.stdout

    def ask(path: str, call: str) -> float | str:
        told = ""
        with suppress(BrokenPipeError):
            print(json.dumps((path, call)), file=requests, flush=True)
            told = answers.readline()
        if not told:
            raise CompareError(f"the process of {tree} ended while it was asked for '{call}'")
        seconds: float | str = json.loads(told)
        return seconds

    try:
        yield ask
    finally:
        process.kill()
        process.communicate()


@dataclass
class Line:
    """The timings of one call.

    Attributes
    ----------
    call, graph : str
    path : str
        The file of the graph; empty for what needs none.
    starts : list of dict of str to list of float
        Seconds by `RUNS`, a number a sample; a dict a start of the processes.
    errors : dict of str to str
        By `RUNS`, of processes in which the call fails.
    """

    call: str
    graph: str
    path: str = ""
    starts: list[dict[str, list[float]]] = field(default_factory=list)
    errors: dict[str, str] = field(default_factory=dict)

    def add(self, run: str, told: float | str) -> None:
        """Keep a timing or an error of the latest start."""
        if isinstance(told, str):
            self.errors[run] = told
        else:
            self.starts[-1][run].append(told)

    def median(self, run: str) -> float:
        """Return the median of a run's samples, in seconds."""
        return median(seconds for start in self.starts for seconds in start[run])

    @property
    def ratio(self) -> float:
        """Time of the working tree by that of BASE."""
        return self.median("new") / self.median("old")

    @property
    def noise(self) -> float:
        """The greatest ratio of the medians of BASE's two processes in one start; at least 1."""
        pairs = [(median(start["old"]), median(start["again"])) for start in self.starts]
        return max(max(pair) / min(pair) for pair in pairs)

    def fails(self, limit: float) -> bool:
        """Return whether the working tree is slower than allowed, or fails where BASE does not."""
        if self.errors:
            return set(self.errors) == {"new"}
        return self.ratio > limit * self.noise

    def cells(self, limit: float) -> list[str]:
        """Return the line of the table."""
        if self.errors:
            run, error = next(iter(self.errors.items()))
            return [self.call, self.graph, *["-"] * 5, f"{run}: {error}"]
        times = [f"{self.median(run) * 1e3:,.3f}" for run in RUNS]
        allowed = limit * self.noise
        verdict = "SLOWER" if self.fails(limit) else ""
        return [self.call, self.graph, *times, f"{self.ratio:.2f}", f"{allowed:.2f}", verdict]


def report(lines: Sequence[Line], limit: float) -> int:
    """Print the table; return the exit status, 1 if a line fails."""
    print("| call | graph | old ms | again | new | ratio | allowed |  |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |")
    for line in lines:
        print(f"| {' | '.join(line.cells(limit))} |")
    failed = [f"{line.call} ({line.graph})" for line in lines if line.fails(limit)]
    print(f"slower than allowed: {'; '.join(failed) or 'nothing'}")
    return 1 if failed else 0


def git(*arguments: str) -> str | None:
    """Return the first line that git prints; None if it fails."""
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True)
    return done.stdout.strip().partition("\n")[0] if done.returncode == 0 else None


def find_base(named: str | None) -> str:
    """Return the commit to compare with.

    Raises
    ------
    CompareError
        There is no such commit.
    """
    mains = [git("merge-base", "HEAD", main) for main in ("origin/HEAD", "origin/main")]
    cloned = next((commit for commit in mains if commit), None)
    if named:
        base = git("rev-parse", "--verify", f"{named}^{{commit}}")
    elif cloned and git("diff", "--quiet", cloned) is None:
        base = cloned
    else:
        base = git("rev-parse", "--verify", "HEAD^")
    if base is None:
        missing = f"git knows no commit '{named}'" if named else "git finds no earlier commit"
        raise CompareError(f"{missing}: name one, make bench-compare BASE=commit")
    return base


@contextmanager
def check_out(commit: str, folder: Path) -> Iterator[Path]:
    """Check a commit out into a worktree; yield its path, and remove it afterwards."""
    command = ["git", "-C", str(ROOT), "worktree"]
    subprocess.run([*command, "add", "--quiet", "--detach", str(folder), commit], check=True)
    try:
        yield folder
    finally:
        subprocess.run([*command, "remove", "--force", str(folder)], check=True)


def make_lines(folder: Path, size: int, only: str) -> list[Line]:
    """Write the built-in graphs; return a line for every call that contains a text."""
    import numpy as np

    import sssp
    from sssp.loaders import write_gr

    graphs = {}
    for n in (FEW, size):
        graph = sssp.road_like(n)
        path = folder / f"{n}.gr"
        tails = np.repeat(np.arange(n), np.diff(graph.indptr))
        write_gr(path, n, tails, graph.indices, graph.weights)
        graphs[f"road-like:{n}"] = str(path)
    new_york = sssp.datasets.find("USA-road-d.NY")
    if new_york is not None:
        graphs["New York"] = str(new_york)
    lines = [Line(call, "-") for call in PROCESSES]
    lines += [Line("one tree", f"road-like:{FEW}", str(folder / f"{FEW}.gr"))]
    for name, path_of_graph in list(graphs.items())[1:]:
        lines += [Line(call, name, path_of_graph) for call in CALLS]
    return [line for line in lines if only in f"{line.call} {line.graph}"]


def measure(lines: Sequence[Line], trees: dict[str, Path], kept: Path, rounds: int) -> None:
    """Start the processes, and add a number of samples to every line, in turns."""
    with ExitStack() as stack:
        for line in lines:
            line.starts.append({run: [] for run in RUNS})
        ask = {run: stack.enter_context(run_worker(trees[run], kept)) for run in RUNS}
        for line in lines:
            for number in range(rounds):
                first = number % len(RUNS)
                for run in (*RUNS[first:], *RUNS[:first]):
                    line.add(run, ask[run](line.path, line.call))


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare; return 1 if something is slower than allowed, 2 if nothing can be compared."""
    parser = argparse.ArgumentParser(prog="python -m bench.compare", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("base", nargs="?", metavar="BASE", help="a commit")
    parser.add_argument("--limit", type=float, default=1.1, help="greatest ratio (default 1.1)")
    parser.add_argument("--rounds", type=int, default=5, help="samples of a process (default 5)")
    parser.add_argument("--starts", type=int, default=3, help="starts of processes (default 3)")
    parser.add_argument("--size", type=int, default=100_000, help="vertices of the built-in graph")
    parser.add_argument("--only", default="", help="only lines that contain this text")
    parser.add_argument("--no-fail", action="store_true", help="print, and exit with 0")
    options = parser.parse_args(arguments)
    try:
        base = find_base(options.base)
        print(f"old: {git('log', '-1', '--format=%h %s', base)}; new: the working tree")
        with tempfile.TemporaryDirectory(prefix="sssp-compare-") as name:
            folder = Path(name)
            lines = make_lines(folder, options.size, options.only)
            with check_out(base, folder / "old") as old:
                trees = {"old": old, "again": old, "new": ROOT}
                for _ in range(options.starts):
                    measure(lines, trees, folder / "kept", options.rounds)
                for _ in range(options.starts):
                    if failing := [line for line in lines if line.fails(options.limit)]:
                        measure(failing, trees, folder / "kept", options.rounds)
        status = report(lines, options.limit)
    except CompareError as error:
        print(f"bench.compare: {error}", file=sys.stderr)
        status = 2
    return 0 if options.no_fail else status


if __name__ == "__main__":
    if sys.argv[1:] == ["--answer-requests"]:
        answer_requests()
    else:
        sys.exit(main())
