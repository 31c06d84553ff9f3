"""Both ends beside the blanket's: the tables and the picture of docs/ends-that-meet.md.

Ten to twenty minutes. tests/test_ends_table.py makes some cells again, a long test all of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

import shuffledp as sd
from bench.figures import BLUE, DIRECTORY, ORANGE, STYLE

NOTE = DIRECTORY.parent / "ends-that-meet.md"
BLOCK = r"(<!-- {0} -->\n).*?(?=<!-- end of {0} -->)"
PICTURE = DIRECTORY / "ends_meet.png"
# Of the large table.
DELTA = 1e-6
USERS = (10**4, 10**6)
MECHANISMS: tuple[sd.Randomizer, ...] = (
    sd.BinaryRR(eps0=2.0),
    sd.BinaryRR(eps0=4.0),
    sd.KRR(k=10, eps0=4.0),
    sd.BLH(domain=100, eps0=2.0),
    sd.BLH(domain=100, eps0=4.0),
    sd.OLH(domain=100, eps0=2.0),
    sd.RAPPOR(d=10, eps0=2.0),
    sd.RAPPOR(d=10, eps0=4.0),
    sd.OUE(d=10, eps0=2.0),
    sd.SubsetSelection(d=16, eps0=2.0),
    sd.HadamardResponse(domain=10, eps0=2.0),
    sd.DiscreteLaplace(top=10, eps0=4.0),
    sd.Laplace(eps0=2.0),
    sd.Laplace(eps0=4.0),
    sd.Gaussian(sigma=2.0),
    sd.Gaussian(sigma=1.0),
    sd.Piecewise(eps0=1.0),
    sd.Hybrid(eps0=2.0),
    sd.Hybrid(eps0=4.0),
    sd.Staircase(eps0=2.0),
    sd.SamplingRAPPOR(d=20, s=3, eps0=2.0),
    sd.PCKVGRR(domain=10, s=8, eps0=2.0),
    sd.Hierarchy(domain=256, eps0=2.0),
    sd.Joint([sd.RAPPOR(d=10, eps0=1.0)] * 2),
    sd.PoissonSubsample(sd.RAPPOR(d=10, eps0=2.0), rate=0.5),
)
GENERIC = (1.0, 2.0, 4.0)
DRAWN = (
    sd.BinaryRR(eps0=2.0),
    sd.BLH(domain=100, eps0=2.0),
    sd.RAPPOR(d=10, eps0=2.0),
    sd.SubsetSelection(d=16, eps0=2.0),
    sd.Duchi(eps0=4.0),
    sd.DiscreteLaplace(top=10, eps0=4.0),
    sd.Laplace(eps0=2.0),
    sd.Gaussian(sigma=1.0),
)
DRAWN_USERS = tuple(int(10 ** (0.5 * k)) for k in range(5, 17))
# Excess in per cent: below it both ends are one line.
LEAST_DRAWN = 1e-3
# Where ends are apart: few messages that hide much, and noise that single reports tell apart.
FEW: tuple[tuple[sd.Randomizer, int, float], ...] = (
    (sd.BinaryRR(eps0=4.0), 1_000, 1e-6),
    (sd.BLH(domain=100, eps0=4.0), 1_200, 1e-6),
    (sd.BLH(domain=100, eps0=4.0), 4_000, 1e-6),
    (sd.KRR(k=10, eps0=2.0), 40, 1e-6),
    (sd.RAPPOR(d=10, eps0=2.0), 50, 1e-6),
    (sd.Laplace(eps0=4.0), 300, 1e-6),
    (sd.Gaussian(sigma=1.0), 100, 1e-6),
    (sd.Gaussian(sigma=1.0), 1_000, 1e-6),
    (sd.Gaussian(sigma=1.0), 10_000, 1e-12),
    (sd.Gaussian(sigma=0.5), 1_000_000, 1e-6),
    (sd.Gaussian(sigma=0.4), 10_000_000, 1e-6),
)


class Row(NamedTuple):
    """A row of the large table: what is shuffled, and the analysis that was the best before."""

    title: str
    account: Callable[[int], sd.Account]
    before: str


def rows() -> list[Row]:
    """The rows of the large table."""
    found = [
        Row(_title(one), lambda n, one=one: sd.shuffle(one, n=n), "blanket") for one in MECHANISMS
    ]
    for eps0 in GENERIC:
        title = f"any {eps0:g}-LDP mechanism"
        found.append(Row(title, lambda n, e=eps0: sd.generic(eps0=e, n=n), "stronger-clone"))
    return found


def write() -> list[Path]:
    """The tables and the picture; their paths."""
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    text = NOTE.read_text(encoding="utf-8")
    for name, made in (("table", table()), ("few", few())):
        block = re.compile(BLOCK.format(name), re.DOTALL)
        text = block.sub(lambda found, made=made: f"{found[1]}\n{made}\n", text)
    NOTE.write_text(text, encoding="utf-8")
    with plt.rc_context(STYLE):
        figure = _picture()
    figure.savefig(PICTURE, dpi=110, metadata={"Software": None})
    plt.close(figure)
    return [NOTE, PICTURE]


def table() -> str:
    """How far the upper end lies above the lower one, in per cent: now, and the blanket alone."""
    heads = [f"n = {n:.0e}".replace("e+0", "e") for n in USERS]
    lines = ["| mechanism | " + " | ".join(heads) + " |", "|---|" + "---|" * len(heads)]
    for row in rows():
        cells = [cell(row.account(n), DELTA, row.before) for n in USERS]
        lines.append(f"| {row.title} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def few() -> str:
    """The same where ends are apart, with the analysis that the upper end rests on."""
    lines = [
        "| mechanism | n | delta | lower end, excess % (blanket) | upper end by |",
        "|---|---|---|---|---|",
    ]
    return "\n".join([*lines, *(few_line(*one) for one in FEW)]) + "\n"


def few_line(randomizer: sd.Randomizer, n: int, delta: float) -> str:
    """One row of the table of what is apart."""
    account = sd.shuffle(randomizer, n=n)
    theorem = account.epsilon(delta=delta).upper_theorem
    said = cell(account, delta, "blanket")
    key = "" if theorem is None else theorem.key
    return f"| {_title(randomizer)} | {n:,} | {delta:g} | {said} | `{key}` |"


def _title(randomizer: sd.Randomizer) -> str:
    if isinstance(randomizer, sd.Joint):
        return f"joint of {len(randomizer.randomizers)}: {_title(randomizer.randomizers[0])}"
    if isinstance(randomizer, sd.PoissonSubsample):
        return f"{_title(randomizer.randomizer)}, subsampled"
    parameter = getattr(randomizer, "sigma", randomizer.eps0)
    more = f" of {randomizer.top + 1}" if isinstance(randomizer, sd.DiscreteLaplace) else ""
    return f"{randomizer.name}{more} {parameter:g}"


def cell(account: sd.Account, delta: float, before: str) -> str:
    """Excess of the upper end over the lower one, and of the analysis that was best before."""
    bound = account.epsilon(delta=delta)
    old = account.epsilon(delta=delta, analysis=before)
    if bound.lower == 0.0:
        return f"upper {bound.upper:.3g}"
    now, then = (100.0 * (b.upper / bound.lower - 1.0) for b in (bound, old))
    return f"{bound.lower:.5g}, {now:.2g} ({then:.2g})"


def _picture() -> plt.Figure:
    """By how many per cent the upper end lies above the lower one: the default, the blanket."""
    figure, panels = plt.subplots(
        2, 4, figsize=(9.0, 4.6), sharex=True, sharey=True, layout="constrained"
    )
    for randomizer, axes in zip(DRAWN, panels.flat, strict=True):
        now, before = [], []
        for n in DRAWN_USERS:
            account = sd.shuffle(randomizer, n=n)
            bound = account.epsilon(delta=1e-6)
            blanket = account.epsilon(delta=1e-6, analysis="blanket")
            for excess, end in ((now, bound.upper), (before, blanket.upper)):
                excess.append(max(100.0 * (end / bound.lower - 1.0), LEAST_DRAWN))
        axes.loglog(DRAWN_USERS, before, color=ORANGE, ls="--", marker="s", ms=2.5, label="blanket")
        axes.loglog(DRAWN_USERS, now, color=BLUE, marker="o", ms=2.5, label="upper end")
        axes.set_ylim(LEAST_DRAWN, 100.0)
        axes.set_title(_title(randomizer), fontsize=9)
    for axes in panels[-1]:
        axes.set_xlabel("users n")
    for axes in panels[:, 0]:
        axes.set_ylabel("above lower end, %")
    panels[0, 0].legend(fontsize=7)
    return figure
