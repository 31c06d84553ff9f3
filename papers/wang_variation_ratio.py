"""Wang et al., PVLDB 17(8) 2024 (variation ratio): where it is no bound, and tables beside ours.

    python -m papers.wang_variation_ratio

The published variation-ratio number of single mechanisms is no bound there (docs/theory.md,
section 5.6); the same repaired, and the bounds of others, at a few settings of ours. Their figures
are drawn by ``papers.wang_figures``, their tables are rows of ``papers.printed_numbers``.
"""

from __future__ import annotations

import math
from pathlib import Path

import shuffledp as sd
from papers.common import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    SKY,
    YELLOW,
    Line,
    Panel,
    draw,
    run,
    steps,
    table,
)
from shuffledp.laws.ratios import ratio_of

DELTA = 1e-6
LINES = (
    Line("blanket", "blanket, our evaluation", BLACK, thick=True),
    Line("dataset", "certified lower end, our evaluation", YELLOW, end="lower"),
    Line("repaired-variation-ratio", "variation ratio, repaired, our evaluation", GREEN),
    Line("variation-ratio", "variation ratio, published", ORANGE, end="estimate"),
    Line("stronger-clone", "stronger clone (= variation ratio for all)", BLUE),
    Line("variation-ratio-4.2", "its closed form, Thm 4.2", PURPLE, on="generic"),
    Line("clone", "clone", SKY),
)
MECHANISMS = {
    "k-rr": ("10-RR", lambda e: sd.KRR(k=10, eps0=e)),
    "subset": ("subset selection, 100 values", lambda e: sd.SubsetSelection(d=100, eps0=e)),
    "hashing": ("optimal local hashing, 100 values", lambda e: sd.OLH(domain=100, eps0=e)),
    "laplace": ("Laplace on [0, 1]", lambda e: sd.Laplace(eps0=e)),
    "hadamard": (
        "Hadamard response, 100 values",
        lambda e: sd.HadamardResponse(domain=100, eps0=e),
    ),
}


def violation() -> list[Panel]:
    """Certified lower end of delta over the published number: above 1 it is no bound."""
    e = math.log(19.0)
    erasure = [[0.57, 0.03, 0.4], [0.03, 0.57, 0.4]]
    cases = (
        ("10-RR, ε₀ = 6, n = 1,000", sd.shuffle(sd.KRR(k=10, eps0=6.0), n=1000), 5.9),
        ("3-RR, e^ε₀ = 19, n = 2", sd.shuffle(sd.KRR(k=3, eps0=e), n=2), 0.999 * e),
        ("binary RR erased w.p. 0.4, e^ε₀ = 19, n = 6",
         sd.shuffle(sd.Channel(matrix=erasure), n=6), 0.999 * e),
    )  # fmt: skip
    panels = []
    for title, acc, last in cases:
        x = steps(0.0, last, 40)
        panel = Panel(
            title, x, "ε (nats)", "δ over the published δ", xscale="linear", ylim=(0.1, 1e9)
        )
        below = [acc.delta(epsilon=v, analysis="dataset").log_lower for v in x]
        above = [acc.delta(epsilon=v, analysis="blanket").log_upper for v in x]
        said = [acc.estimate(epsilon=v, analysis="variation-ratio").log_value for v in x]
        for line, logs in ((LINES[0], above), (LINES[1], below), (LINES[3], said)):
            panel.curves.append((line, [_ratio(v, s) for v, s in zip(logs, said, strict=True)]))
        panels.append(panel)
    return panels


def _ratio(log: float, base: float) -> float:
    return math.exp(min(log - base, 50.0)) if log > -math.inf and base > -math.inf else math.nan


def parameters(out: Path) -> None:
    """p, beta and q of each mechanism: exact, next to the paper's beta (its Table 2)."""
    e0 = 2.0
    E, w = math.exp(e0), math.exp(e0 / 2)
    d, k = 100, 12
    z = E * math.comb(d - 1, k - 1) + math.comb(d - 1, k)
    rows = [
        ("k-RR, k = 10", sd.KRR(k=10, eps0=e0), (E - 1) / (E + 9), "agrees"),
        ("RAPPOR, 100 bits", sd.RAPPOR(d=100, eps0=e0), (w - 1) / (w + 1), "agrees"),
        (
            "subset selection, 12 of 100", sd.SubsetSelection(d=d, k=k, eps0=e0),
            (E - 1) * math.comb(d - 2, k - 1) / z, "agrees",
        ),
        (
            "local hash, l = 8, 100 values", sd.LocalHash(domain=100, l=8, eps0=e0),
            (1 - 1 / 8) * (E - 1) / (E + 7), "differs (its Table 2)",
        ),
        ("Hadamard response, 100 values", sd.HadamardResponse(domain=100, eps0=e0),
         (E - 1) / (2 * (E + 1)), "agrees"),
        ("Laplace on [0, 1]", sd.Laplace(eps0=e0), 1 - 1 / w, "agrees"),
        ("PrivUnit, cap c = 0.3, 5 dimensions", sd.PrivUnit(d=5, c=0.3, eps0=e0),
         0.3 * (E - 1) / (0.3 * E + 0.7), "agrees"),
        ("PrivUnit, cap c = 0.7, 5 dimensions", sd.PrivUnit(d=5, c=0.7, eps0=e0),
         0.3 * (E - 1) / (0.7 * E + 0.3), "differs for c > 1/2"),
    ]  # fmt: skip
    found = []
    for name, randomizer, printed, note in rows:
        ratios = [ratio for ratio, _ in ratio_of(randomizer)]
        worst = max(ratios, key=lambda r: r.total_variation)
        found.append(
            (
                name,
                e0,
                worst.p,
                float(worst.total_variation),
                printed,
                max(r.q for r in ratios),
                note,
            )
        )
    header = (
        "mechanism",
        "eps0",
        "p",
        "TV (from the law, rounded up)",
        "TV in closed form",
        "q",
        "the paper's beta",
    )
    table(out, "wang_table2", header, found)


def numbers(out: Path) -> None:
    """eps of every kind of bound at a few settings (settings ours)."""
    found = []
    for label, make in MECHANISMS.values():
        for eps0, n in ((1.0, 10**4), (3.0, 10**4), (5.0, 10**5)):
            acc = sd.shuffle(make(eps0), n=n, rtol=1e-5)
            row: list[object] = [label, eps0, n]
            row.append(acc.epsilon(delta=DELTA, analysis="dataset").lower)
            row.append(acc.epsilon(delta=DELTA, analysis="blanket").upper)
            row.append(acc.epsilon(delta=DELTA, analysis="repaired-variation-ratio").upper)
            row.append(acc.estimate(delta=DELTA, analysis="variation-ratio").value)
            row += [
                acc.epsilon(delta=DELTA, analysis=key).upper for key in ("stronger-clone", "clone")
            ]
            found.append(row)
    header = ("mechanism", "eps0", "n", "lower end", "blanket", "repaired variation ratio",
              "published variation ratio (no certificate)", "stronger clone", "clone")  # fmt: skip
    table(out, "wang_numbers", header, found)


def main(out: Path) -> None:
    """Draw all figures, write all tables."""
    title = "Where the published variation ratio is no bound: exact δ of one dataset over it"
    print(*draw(out, "wang_violation", title, violation()))
    parameters(out)
    numbers(out)


if __name__ == "__main__":
    run(main, __doc__)
