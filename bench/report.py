"""What is measured, and the tables it is printed as (Markdown, so that they can be kept)."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

import shuffledp as sd
from bench import cases, cost, machine
from bench.timing import SLOW, Cell, measure, peak_memory

POINTS = 100
FINE = 1e-9

INTRODUCTION = """\
Measured: CPU time of one thread, median of {rounds} run(s) of each (one where that took longer than
{slow:g} s), in turn and with an FFT between any two. Every run starts from a fresh object, so
nothing is cached: the mechanism's law, the pairs and both certified ends are in it. eps0 = {eps0:g}
where there is one; delta = {delta:g}, and 1/(100 n) where that is less. Cells that took too long
say so; "later" was left to --full. One FFT (complex, length 2^18, NumPy): {cold:.2f} ms right after
other work, {warm:.2f} ms right after another FFT. The latter, the stricter unit, is used below.
"""

WIDTHS = """\
`ends`: all of it, the gap between the theorems included. `numerical`: what the computation itself
leaves of it, the wider of the two ends.
"""


def report(*, full: bool) -> str:
    """Measure everything and return the report."""
    head = machine.description()
    mechanisms = cases.mechanisms()
    limit, budget, rounds = (120.0, 1100.0, 9) if full else (5.0, 90.0, 5)
    cells = _cells(mechanisms, full=full)
    (cold, fft), done = measure(cells, rounds=rounds, limit=limit, budget=budget)
    memory = {name: peak_memory(_epsilon(r, 10**6), 2 * limit) for name, r in mechanisms.items()}
    intro = INTRODUCTION.format(
        rounds=done,
        delta=cases.DELTA,
        eps0=cases.EPS0,
        cold=1e3 * cold,
        warm=1e3 * fft,
        slow=SLOW,
    )
    return "\n".join(
        [
            "# Benchmark\n",
            head + "\n",
            intro,
            "## One certified eps, both ends: milliseconds at n users\n",
            _growth_table(mechanisms, cells),
            "\n## How far apart the ends are: upper/lower - 1\n",
            WIDTHS,
            _width_table(mechanisms, cells),
            f"\n## In FFTs of length 2^18, at n = 1e4 and n = 1e6 ({POINTS}-point profile in ms)\n",
            _unit_table(mechanisms, cells, memory, fft),
            cost_report(rounds=rounds, limit=limit, budget=0.3 * budget),
            f"\n## {cases.ROUNDS:,} rounds: both certified ends of eps, from a fresh object\n",
            _rounds_table(cells, fft),
        ]
    )


def cost_report(*, rounds: int, limit: float, budget: float) -> str:
    """What the sharper upper end costs.

    Parameters
    ----------
    rounds : int
        Runs of each at the most.
    limit, budget : float
        CPU seconds for one run and for all of them.
    """
    measured = cost.cells()
    _, done = measure(measured, rounds=rounds, limit=limit, budget=budget)
    head = "\n## What the sharper upper end costs\n"
    return "\n".join([head, cost.HEAD.format(rounds=done), table(cost.rows(measured))])


def _cells(mechanisms: dict[str, sd.Randomizer], *, full: bool) -> dict[Any, Cell]:
    # What the targets are about comes first, in case time runs out.
    cells: dict[Any, Cell] = {}

    def add(kind: str, n: int, make: Callable[[sd.Randomizer, int], Callable[[], Any]]) -> None:
        later = "" if full or kind not in {"fine", "flat", "profile"} else "later"
        for name, r in mechanisms.items():
            failure = "" if name in cases.SAMPLE else later
            cells[name, kind, n] = Cell(make(r, n), failure=failure)

    for n in (10**4, 10**6):
        add("both", n, _epsilon)
        add("upper", n, functools.partial(_epsilon, analysis="blanket"))
    add("both", cases.LARGE, _epsilon)
    add("profile", 10**6, _profile)
    for n in (10**3, 10**8, 10**10):
        add("both", n, _epsilon)
    for name in cases.COMPOSED:
        cells[name, "rounds", cases.SMALL] = Cell(_rounds(mechanisms[name]))
    add("fine", 10**6, functools.partial(_epsilon, rtol=FINE))
    add("flat", cases.LARGE, functools.partial(_epsilon, delta=cases.DELTA))
    return cells


def _epsilon(
    r: sd.Randomizer,
    n: int,
    *,
    delta: float | None = None,
    rtol: float = 1e-6,
    analysis: str | None = None,
) -> Callable[[], sd.Bound]:
    target = cases.usual_delta(n) if delta is None else delta

    def run() -> sd.Bound:
        return sd.shuffle(r, n=n, rtol=rtol).epsilon(delta=target, analysis=analysis)

    return run


def _rounds(r: sd.Randomizer) -> Callable[[], sd.Bound]:
    """All of it: the law, the pairs, one round's curve, and the composition of both ends."""
    target = cases.usual_delta(cases.SMALL)
    return lambda: sd.shuffle(r, n=cases.SMALL).compose(rounds=cases.ROUNDS).epsilon(delta=target)


def _rounds_table(cells: dict[Any, Cell], fft: float) -> str:
    lines = [
        f"| mechanism | n | eps | seconds | FFTs (target {cases.ROUNDS_TARGET:,}) |",
        "|---|--:|--:|--:|--:|",
    ]
    for name in cases.COMPOSED:
        cell = cells[name, "rounds", cases.SMALL]
        if cell.median is None:
            lines.append(f"| {name} | {cases.SMALL:,} | {cell.failure} | | |")
            continue
        ends = f"{cell.result.lower:.5g} to {cell.result.upper:.5g}"
        row = [name, f"{cases.SMALL:,}", ends, f"{cell.median:.2f}", f"{cell.median / fft:.0f}"]
        lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines)


def _profile(r: sd.Randomizer, n: int) -> Callable[[], list[sd.Bound]]:
    epsilons = np.linspace(0.0, 100.0 / math.sqrt(n), POINTS)
    return lambda: sd.shuffle(r, n=n).profile(epsilons)


def _growth_table(mechanisms: dict[str, sd.Randomizer], cells: dict[Any, Cell]) -> str:
    growth = f"1e12 : 1e4 (target {cases.GROWTH_TARGET:g})"
    rows = [["mechanism", *_heads(), growth, "n = 1e12, delta = 1e-6"]]
    for name in mechanisms:
        small, large = (cells[name, "both", n].median for n in (cases.SMALL, cases.LARGE))
        ratio = f"{large / small:.2f}" if small and large else "-"
        times = [_ms(cells[name, "both", n]) for n in cases.COUNTS]
        rows.append([name, *times, ratio, _ms(cells[name, "flat", cases.LARGE])])
    return table(rows)


def _width_table(mechanisms: dict[str, sd.Randomizer], cells: dict[Any, Cell]) -> str:
    rows = [["mechanism", "", *_heads()]]
    for name in mechanisms:
        bounds = [cells[name, "both", n].result for n in cases.COUNTS]
        rows.append([name, "ends", *(_gap(b) for b in bounds)])
        rows.append(["", "numerical", *(_numerical(b) for b in bounds)])
    return table(rows)


def _unit_table(
    mechanisms: dict[str, sd.Randomizer],
    cells: dict[Any, Cell],
    memory: dict[str, float | None],
    fft: float,
) -> str:
    head = ["mechanism", "both, 1e4", "both, 1e6", "target", "upper, 1e4", "upper, 1e6"]
    head += ["rtol = 1e-9, 1e6", "numerical width", "profile, 1e6", "peak MB, 1e6"]
    rows = [head]
    for name in mechanisms:
        continuous = name in cases.CONTINUOUS
        target = cases.CONTINUOUS_TARGET if continuous else cases.FINITE_TARGET
        times = [_ffts(cells[name, "both", n], fft) for n in (10**4, 10**6)]
        uppers = [_ffts(cells[name, "upper", n], fft) for n in (10**4, 10**6)]
        fine = cells[name, "fine", 10**6]
        peak = memory[name]
        rows.append([name, *times, f"{target:g}", *uppers])
        rows[-1] += [_ffts(fine, fft), _numerical(fine.result), _ms(cells[name, "profile", 10**6])]
        rows[-1].append("-" if peak is None else f"{peak:.1f}")
    return table(rows)


def _heads() -> list[str]:
    return [f"n = {n:.0e}".replace("e+0", "e").replace("e+", "e") for n in cases.COUNTS]


def _ms(cell: Cell) -> str:
    return cell.failure if cell.median is None else f"{1e3 * cell.median:.0f}"


def _ffts(cell: Cell, fft: float) -> str:
    return cell.failure if cell.median is None else f"{cell.median / fft:.1f}"


def _gap(bound: sd.Bound | None) -> str:
    if bound is None or not bound.lower > 0.0:
        return "-"
    return f"{bound.upper / bound.lower - 1.0:.1e}"


def _numerical(bound: sd.Bound | None) -> str:
    if bound is None or bound.upper_width is None:
        return "-"
    return f"{max(bound.upper_width, bound.lower_width or 0.0):.1e}"


def table(rows: list[list[str]]) -> str:
    """A Markdown table whose columns also line up as plain text."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [" | ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) for row in rows]
    lines.insert(1, " | ".join("-" * w for w in widths))
    return "\n".join(f"| {line} |" for line in lines)
