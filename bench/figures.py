"""Draw the measurements: ``docs/pictures/*.svg`` from the JSON files of ``bench/results``.

    python -m bench.figures [FOLDER]

Nothing is measured here. Which file a figure rests on stands below it. Needs Matplotlib.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
PICTURES = ROOT / "docs" / "pictures"
#: colours that the colour-blind can distinguish, on a light ground of the figure's own
BLUE, ORANGE, GREEN, PINK = "#0072b2", "#d55e00", "#009e73", "#b0478b"
GROUND, INK = "#fafafa", "#24292f"
STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "sssp",
    "font.family": "sans-serif",
    "font.size": 11,
    "figure.facecolor": GROUND,
    "axes.facecolor": GROUND,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#d8dee4",
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
}
METHODS = {
    "delta-stepping": (BLUE, "o"),
    "dijkstra": (ORANGE, "s"),
    "threshold-dijkstra": (GREEN, "^"),
    "bellman-ford": (PINK, "D"),
}

#: bytes per second of memory of the H100 with 80 GB of HBM3, by NVIDIA's data sheet
BANDWIDTH = 3.35e12
#: bytes of an entry of the matrices of the roofline
WORD = 4

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Kernel:
    """A kernel of the roofline, with all its rows."""

    #: the beginning of its name in the record
    what: str
    label: str
    color: str
    marker: str
    #: n x n matrices that a round reads or writes
    matrices: int = 2

    def draw(self, ax: Any, rows: Rows) -> None:
        """Draw its rows."""
        chosen = [
            row
            for row in rows
            if row["what"].startswith(self.what) and row["dtype"] in ("int32", "float32")
        ]
        points = [(self._intensity(row), row["updates_per_second"]) for row in chosen]
        ax.plot(
            *zip(*points, strict=True),
            self.marker,
            color=self.color,
            label=self.label,
            markersize=8,
        )

    def _intensity(self, row: dict[str, Any]) -> float:
        """Updates of all rounds by the bytes of all rounds."""
        updates = row["updates_per_second"] * row["median"] / 1000
        return float(updates / (row["rounds"] * self.matrices * row["n"] ** 2 * WORD))


KERNELS = (
    Kernel("min-plus product", "min-plus product", GREEN, "^", matrices=4),
    Kernel("repeated squaring", "repeated squaring", PINK, "D"),
    Kernel("floyd-warshall", "Floyd-Warshall, n = 1,000 to 32,768", BLUE, "o"),
    Kernel("baseline squaring", "a paper's squaring, tiles of 4 to 32", PINK, "x"),
    Kernel("baseline floyd-warshall, b = 32", "a paper's Floyd-Warshall, blocks of 32", BLUE, "s"),
    Kernel("baseline floyd-warshall, plain", "Floyd-Warshall, a launch a vertex", BLUE, "v"),
)


def rows_of(file: str) -> Rows:
    """Return the figures of a record."""
    rows: Rows = json.loads((RESULTS / file).read_text(encoding="utf-8"))["rows"]
    return rows


def methods(pyplot: Any) -> Any:
    """One source by every method, on kinds of graphs, relative to the fastest."""
    rows = [row for row in rows_of("cpu-methods.json") if row["what"] == "one source"]
    kinds = list(dict.fromkeys(row["graph"] for row in rows))[::-1]
    least = {kind: min(row["median"] for row in rows if row["graph"] == kind) for kind in kinds}
    figure, ax = pyplot.subplots(figsize=(7, 4), layout="constrained")
    for method, (color, marker) in METHODS.items():
        of = {row["graph"]: row["median"] for row in rows if row["method"] == method}
        ratios = [of[kind] / least[kind] for kind in kinds]
        ax.plot(ratios, range(len(kinds)), marker, color=color, label=method, markersize=8)
    ax.set_xscale("log")
    ax.set_xticks([1, 2, 5, 10, 20, 50], ["1", "2", "5", "10", "20", "50"])
    ax.minorticks_off()
    ax.set_yticks(range(len(kinds)), [f"{kind}, {least[kind]:.0f} ms" for kind in kinds])
    ax.set_xlabel("times as long as the fastest (one source, one thread)")
    figure.legend(loc="outside upper center", ncols=2)
    return figure


def devices(pyplot: Any) -> Any:
    """Sources in one call on two numbers of threads and on a GPU."""
    rows = [row for row in rows_of("h100-devices.json") if row["what"] == "delta-stepping"]
    shown = {"New York, 264,346 vertices": 264_346, "built-in roads, 1,000,000": 1_000_000}
    places = {("cpu", 2): ("2 threads", ORANGE), ("cpu", 16): ("16 threads", GREEN)}
    places["cuda", 0] = ("H100", BLUE)
    figure, axes = pyplot.subplots(1, 2, figsize=(7.5, 3.6), sharey=True, layout="constrained")
    for ax, (title, n) in zip(axes, shown.items(), strict=True):
        for (device, threads), (label, color) in places.items():
            line = [
                (row["rows"], row["median"])
                for row in rows
                if (row["n"], row["device"], row["threads"]) == (n, device, threads)
            ]
            ax.plot(*zip(*sorted(line), strict=True), "o-", color=color, label=label)
        ax.set(xscale="log", yscale="log", title=title, xlabel="sources in one call")
        ax.set_xticks([1, 4, 16, 64, 512], ["1", "4", "16", "64", "512"])
        ax.minorticks_off()
    axes[0].set_yticks([5, 10, 20, 50, 100, 200, 500], map(str, [5, 10, 20, 50, 100, 200, 500]))
    axes[0].set_ylabel("ms for the call")
    axes[0].legend()
    return figure


def all_pairs(pyplot: Any) -> Any:
    """Floyd-Warshall and searches from every vertex, by density."""
    rows = [row for row in rows_of("cpu-methods.json") if row["what"] == "all pairs"]
    figure, ax = pyplot.subplots(figsize=(7, 4.6), layout="constrained")
    for n, style in ((300, ":"), (1000, "--"), (2000, "-")):
        for method, color in (("floyd-warshall", ORANGE), ("delta-stepping", BLUE)):
            line = [
                (row["m"] / n, row["median"])
                for row in rows
                if row["n"] == n and row["method"] == method
            ]
            name = "Floyd-Warshall" if method == "floyd-warshall" else "searches"
            label = f"{name}, n = {n:,}"
            ax.plot(*zip(*line, strict=True), style, marker="o", color=color, label=label)
    ax.set(xscale="log", yscale="log", xlabel="arcs a vertex", ylabel="ms for all pairs")
    ax.set_xticks([3, 10, 30, 100, 200], ["3", "10", "30", "100", "200"])
    ax.set_yticks([5, 50, 500, 5000], ["5", "50", "500", "5,000"])
    ax.minorticks_off()
    figure.legend(loc="outside lower center", ncols=2)
    return figure


def roofline(pyplot: Any) -> Any:
    """Dense kernels of 32-bit numbers on a GPU, under the limits of its memory and of its units.

    Rates were measured. Bytes were not: of each round they are counted as those that no cache
    spares, every operand read once and the result written once. Products and Floyd-Warshall only:
    a closure passes unions of words, of which a table answers several rows at once; and what
    searches read depends on the graph, and waits in chains of latencies, not for bytes.
    """
    record = json.loads((RESULTS / "h100-dense.json").read_text(encoding="utf-8"))
    peak = record["settings"]["limit, minima a second"]
    figure, ax = pyplot.subplots(figsize=(7.5, 4.8), layout="constrained")
    ridge, left, right = peak / BANDWIDTH, 0.06, 5000
    ax.plot([left, ridge, right], [left * BANDWIDTH, peak, peak], color=INK, linewidth=2)
    slope = {"rotation": 46.4, "rotation_mode": "anchor", "ha": "center", "va": "bottom"}
    ax.text(0.5, 0.58 * BANDWIDTH, f"{BANDWIDTH / 1e12:.2f} TB/s of memory", **slope)
    ax.text(100, 1.06 * peak, f"{peak / 1e12:.1f} T minima/s", ha="center", va="bottom")
    for kernel in KERNELS:
        kernel.draw(ax, record["rows"])
    ax.set(xscale="log", yscale="log", xlim=(left, right), ylim=(1.2e11, 3e13))
    ax.set_xlabel("updates a byte that a round must read or write")
    ax.set_ylabel("updates a second, measured")
    ax.set_xticks([0.1, 1, 10, 100, 1000], ["0.1", "1", "10", "100", "1,000"])
    ax.set_yticks([2e11, 1e12, 5e12, 1e13], ["0.2 T", "1 T", "5 T", "10 T"])
    ax.minorticks_off()
    figure.legend(loc="outside lower center", ncols=2)
    return figure


FIGURES = {"methods": methods, "devices": devices, "all-pairs": all_pairs, "roofline": roofline}


def draw(folder: Path) -> list[Path]:
    """Draw all figures into a folder; return their files."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    files = []
    with matplotlib.rc_context(STYLE):
        for name, make in FIGURES.items():
            files.append(folder / f"{name}.svg")
            figure = make(pyplot)
            figure.savefig(files[-1], metadata={"Date": None})
            pyplot.close(figure)
    return files


def main() -> int:
    """Draw all figures, and print the files."""
    form = RawDescriptionHelpFormatter
    parser = ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("folder", nargs="?", type=Path, default=PICTURES, metavar="FOLDER")
    for file in draw(parser.parse_args().folder):
        print(file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
