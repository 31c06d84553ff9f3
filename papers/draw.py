"""Small multiples of named analyses on a grid, each figure with its numbers as CSV."""

from __future__ import annotations

import argparse
import csv
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import shuffledp as sd
from shuffledp.amplification.analyses import UNCERTIFIED

# Beside what `make demo` writes, and as little tracked.
OUT = Path("out") / "papers"

# Okabe and Ito's palette, each colour with a mark of its own. Solid: upper ends, the papers' own
# formulas among them; dashed: lower ends; dotted: no bound. Ours are thick.
BLACK, BLUE, ORANGE, GREEN, PURPLE, SKY, YELLOW, GREY, DARK = (
    "#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#B8A000", "#777777",
    "#444444",
)  # fmt: skip
MARKS = {BLUE: "o", ORANGE: "v", GREEN: "s", PURPLE: "D", SKY: "^", YELLOW: "+", GREY: "x"}
DASHES = {"upper": "-", "lower": (0, (5, 2)), "estimate": (0, (1, 1.3))}
STYLE = {
    "font.size": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "0.92",
    "legend.frameon": False,
    "axes.titlesize": 8.5,
}


def run(main: Callable[[Path], None], words: str | None) -> None:
    """``main(directory)`` with the directory that the command line names, made if needed."""
    parser = argparse.ArgumentParser(description=(words or "").splitlines()[0])
    parser.add_argument(
        "--out",
        metavar="DIRECTORY",
        type=Path,
        default=OUT,
        help="where pictures and tables are written  [default: %(default)s]",
    )
    out = parser.parse_args().out
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        parser.error(f"--out {out}: {error.strerror}")
    main(out)


@dataclass(frozen=True)
class Line:
    """One curve of a panel: an analysis by name ("best": the default), and how it looks.

    "a or b" is the smaller of two upper ends, as some papers draw them.
    """

    key: str
    label: str
    colour: str
    end: str = "upper"  # "upper", "lower" or "estimate"
    thick: bool = False
    marker: str = ""


@dataclass
class Panel:
    """One set of axes: x values, curves, and what is written at them."""

    title: str
    x: Sequence[float]
    xlabel: str
    ylabel: str = "central ε (nats)"
    curves: list[tuple[Line, list[float]]] = field(default_factory=list)
    xscale: str = "log"
    yscale: str = "log"

    def add(self, lines: Sequence[Line], rows: Sequence[Sequence[float]]) -> Panel:
        """The panel with these curves; a row has the values of all lines at one x."""
        columns = map(list, zip(*rows, strict=True))
        self.curves += zip(lines, columns, strict=True)
        return self


def epsilon_of(accountant: sd.Account, line: Line, delta: float) -> float:
    """eps of one analysis; nan where it does not apply or is no better than no shuffler."""
    if " or " in line.key:
        each = [epsilon_of(accountant, replace(line, key=k), delta) for k in line.key.split(" or ")]
        return min((value for value in each if not math.isnan(value)), default=math.nan)
    try:
        if line.end == "estimate" or line.key in UNCERTIFIED:
            value = accountant.estimate(delta=delta, analysis=line.key).value
        else:
            analysis = None if line.key == "best" else line.key
            bound = accountant.epsilon(delta=delta, analysis=analysis)
            value = bound.lower if line.end == "lower" else bound.upper
    except sd.NotCertified:
        return math.nan
    return value if 0.0 < value < 0.9999 * accountant.eps0 else math.nan


def draw(
    out: Path, name: str, title: str, panels: Sequence[Panel], *, columns: int = 3
) -> list[Path]:
    """PNG of small multiples with one legend, and one CSV with a row for each x of each panel."""
    columns = min(columns, len(panels))
    rows = math.ceil(len(panels) / columns)
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(
            rows, columns, figsize=(3.1 * columns + 0.3, 2.7 * rows + 0.95), squeeze=False,
            layout="constrained",
        )  # fmt: skip
        handles = {}
        for ax, panel in zip(axes.flat, panels, strict=False):
            _draw(ax, panel)
            found = zip(*ax.get_legend_handles_labels(), strict=True)
            handles |= {label: handle for handle, label in found if label not in handles}
        for ax in list(axes.flat)[len(panels) :]:
            ax.set_visible(False)
        figure.suptitle(title, fontsize=9)
        figure.legend(
            handles.values(), handles.keys(), loc="outside lower center",
            ncols=min(columns, 3), fontsize=7,
        )  # fmt: skip
        path = out / f"{name}.png"
        # No date or version inside: the same numbers give the same file.
        figure.savefig(path, dpi=120, metadata={"Software": None})
        plt.close(figure)
    return [path, _csv(path.with_suffix(".csv"), panels)]


def _draw(ax, panel: Panel) -> None:
    for i, (line, values) in enumerate(panel.curves):
        if not any(map(math.isfinite, values)):
            continue  # its domain is elsewhere: no entry in the legend without a curve
        label = f"{line.label} (no certificate)" if line.end == "estimate" else line.label
        # About six marks a curve, not at the same x for all of them.
        every = max(1, round(len(values) / 6))
        ax.plot(
            panel.x, values, color=line.colour, ls=DASHES[line.end], lw=2.4 if line.thick else 1.1,
            marker=line.marker or ("" if line.thick else MARKS.get(line.colour, "")), ms=3.5,
            mfc="white", mew=0.8, markevery=(i % every, every), label=label,
            zorder=3 if line.thick else 4,
        )  # fmt: skip
    ax.set(xscale=panel.xscale, yscale=panel.yscale, xlabel=panel.xlabel, ylabel=panel.ylabel)
    ax.set_title(panel.title)


def _csv(path: Path, panels: Sequence[Panel]) -> Path:
    labels = list(dict.fromkeys(line.label for p in panels for line, _ in p.curves))
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["panel", "x", *labels])
        for p in panels:
            by_label = {line.label: values for line, values in p.curves}
            for i, x in enumerate(p.x):
                row = [by_label[label][i] if label in by_label else math.nan for label in labels]
                out.writerow(
                    [p.title, f"{x:g}", *("" if math.isnan(v) else f"{v:.6g}" for v in row)]
                )
    return path


def counts(low: int, high: int, points: int) -> list[int]:
    """Numbers of users, evenly in the logarithm."""
    return [round(n) for n in np.geomspace(low, high, points)]
