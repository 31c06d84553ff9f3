"""Feldman, McMillan, Talwar 2021 (arXiv 2012.12803), Figures 2 to 4, with ours added.

    python -m papers.feldman_clones

Figure 2 has the printed settings. Of Figures 3 and 4 the text has the curves and what they show,
but not n, eps0 and delta: these are ours. Figure 2's curve of Balle, Kairouz, McMahan, Thakkar and
Thakurta has the order that is printed, e^(2.5 eps0)/sqrt(n), and constants that are rebuilt.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from scipy.special import logsumexp
from scipy.stats import binom

import shuffledp as sd
from papers.common import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    YELLOW,
    Line,
    Panel,
    counts,
    draw,
    panel_over,
    run,
    steps,
)
from papers.printed.feldman import bkmtt
from shuffledp.published import formulas as forms

DELTA = 1e-6
RTOL = 1e-3
OURS = Line(
    "label-stealing", "any mechanism, upper end, our evaluation", BLACK, thick=True, on="generic"
)
LOWER = Line(
    "dataset", "any mechanism, lower end, our evaluation", YELLOW, end="lower", on="generic"
)
BINARY = Line("dataset", "2RR, lower bound (Alg. 7)", ORANGE, end="lower")
CLOSED = Line("fmt-3.1", "Clones, Theoretical (Thm 3.1)", GREEN, on="generic")
CLONES = Line("clone", "Clones (Thm 3.2)", BLUE, on="generic")
BLANKET = Line("bennett-generic", "BBGN'19 (Bennett, generic)", SKY, on="generic")
CHEU = Line("csuzz19", "CSUZZ'19, 2RR", PURPLE, end="estimate")
BKMTT = Line("bkmtt20", "BKMTT'20 (constants rebuilt)", GREY, end="estimate")
FIGURE_2 = (OURS, LOWER, BINARY, CLONES, CLOSED, BLANKET, CHEU)
LOCAL = [0.01, 0.03, 0.1, 0.3, 0.6, *steps(1.0, 8.0, 8)]


def both(eps0: float, n: int):
    """Binary RR, and everything eps0-LDP."""
    binary = sd.shuffle(sd.BinaryRR(eps0=eps0), n=n, rtol=RTOL)
    return binary, sd.generic(eps0=eps0, n=n, rtol=RTOL)


def figure_2() -> list[Panel]:
    """Printed: (a) eps0 = 0.1 and (b) 6, n from 1e5 to 1e7; (c) n = 1e6, eps0 from 0.01 to 8."""
    panels = [
        panel_over(
            f"({part}) ε₀ = {eps0:g}", "n (users)", counts(10**5, 10**7, 7),
            lambda n, e=eps0: both(e, n), FIGURE_2, delta=DELTA,
        )
        for part, eps0 in (("a", 0.1), ("b", 6.0))
    ]  # fmt: skip
    last = panel_over(
        "(c) n = 1,000,000", "local ε₀ (nats)", LOCAL, lambda e: both(e, 10**6), FIGURE_2,
        delta=DELTA,
    )  # fmt: skip
    last.xscale = "linear"
    _add_bkmtt(panels[0], [(0.1, int(n)) for n in panels[0].x])
    _add_bkmtt(panels[1], [(6.0, int(n)) for n in panels[1].x])
    _add_bkmtt(last, [(eps0, 10**6) for eps0 in last.x])
    return [*panels, last]


def _add_bkmtt(panel: Panel, settings: list[tuple[float, int]]) -> None:
    """It ends where it is no better than no shuffler."""
    found = [(eps0, bkmtt(eps0=eps0, n=n, delta=DELTA)) for eps0, n in settings]
    panel.curves.append((BKMTT, [eps if eps < eps0 else math.nan for eps0, eps in found]))


ORDERS = [2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128, 256, 512, 1024]
ROUNDS = [1, 3, 10, 30, 100, 300, 1000]
FIGURE_3 = (4.0, 10**4)  # eps0 and n of ours


def figure_3() -> list[Panel]:
    """Renyi divergence over the order, and eps of T rounds by the routes that the paper names."""
    eps0, n = FIGURE_3
    clone = sd.generic(eps0=eps0, n=n, trust="published")
    ours = sd.generic(eps0=eps0, n=n)
    certified = {order: ours.renyi(order=float(order)) for order in ORDERS}
    clones = {order: clone.renyi(order=float(order)).upper for order in ORDERS}
    girgis = {order: forms.girgis(eps0=eps0, n=n, order=order) for order in ORDERS}
    binary = {order: _renyi_of_binary_rr(eps0=eps0, n=n, order=order) for order in ORDERS}
    first = Panel("ε₀ = 4, n = 10,000: one shuffle", ORDERS, "order α", "Rényi divergence ε(α)")
    first.curves = [
        (OURS, [bound.upper for bound in certified.values()]),
        (LOWER, [bound.lower for bound in certified.values()]),
        (BINARY, list(binary.values())),
        (CLONES, list(clones.values())),
        (GIRGIS, [value if value < eps0 else math.nan for value in girgis.values()]),
    ]
    return [first, _rounds(ours, clone, clones, girgis)]


def _renyi_of_binary_rr(*, eps0: float, n: int, order: int) -> float:
    """Renyi divergence of shuffled 2-RR, D(1, 0, .., 0 || 0, .., 0): no bound can be below it.

    1/(lam-1) log E_{k ~ Bin(n, 1/(E+1))} (1 + (E^2-1)(k - n/(E+1))/(nE))^lam.
    """
    grow = math.exp(eps0)
    share, scale = 1.0 / (grow + 1.0), (grow - 1.0 / grow) / n
    k = np.arange(n + 1)
    ratio = 1.0 + scale * (k - n * share)
    kept = ratio > 0.0
    terms = binom.logpmf(k[kept], n, share) + order * np.log(ratio[kept])
    return float(logsumexp(terms)) / (order - 1)


GIRGIS = Line("girgis", "GDDSK'21 (from memory)", GREEN, end="estimate")


def _rounds(ours, clone, clones: dict[int, float], girgis: dict[int, float]) -> Panel:
    """Adaptive composition of T shuffles at delta = 1e-6."""
    eps0 = FIGURE_3[0]
    panel = Panel("the same: T shuffles, δ = 1e-6", ROUNDS, "rounds T", "ε of all rounds")
    composed = [ours.compose(rounds=t).epsilon(delta=DELTA) for t in ROUNDS]
    lines = (
        (OURS, [bound.upper for bound in composed]),
        (LOWER, [bound.lower for bound in composed]),
        (CLONES, [clone.compose(rounds=t).epsilon(delta=DELTA).upper for t in ROUNDS]),
        (
            Line("approx", "Clones, via Approximate DP", SKY),
            [_approximate(clone, t) for t in ROUNDS],
        ),
        (Line("rdp", "Clones, via RDP", PURPLE), [_converted(clones, t) for t in ROUNDS]),
        (GIRGIS, [_converted(girgis, t) for t in ROUNDS]),
    )
    for line, values in lines:
        shown = [v if v < eps0 * t else math.nan for v, t in zip(values, ROUNDS, strict=True)]
        panel.curves.append((line, shown))
    return panel


def _converted(divergences: dict[int, float], rounds: int) -> float:
    """The least over orders of T eps(alpha), converted as Canonne, Kamath, Steinke, Prop. 12."""
    return min(
        rounds * value + math.log1p(-1.0 / order) - math.log(DELTA * order) / (order - 1.0)
        for order, value in divergences.items()
    )


def _approximate(clone, rounds: int) -> float:
    """(eps, delta) of one shuffle, composed at best; half of delta for the rounds."""
    delta = 0.5 * DELTA / rounds
    part = sd.central.approximate(epsilon=clone.epsilon(delta=delta).upper, delta=delta)
    return sd.compose([(part, rounds)]).epsilon(delta=DELTA).upper


FIGURE_4 = (1000, (2.0, 3.0, 4.0))  # n and eps0 of ours


def figure_4() -> list[Panel]:
    """log10(1/delta) over eps: exact 2RR, the clone, and log(1/delta) = n/(2 e^eps0)."""
    n, local = FIGURE_4
    panels = []
    for eps0 in local:
        middle = n * math.exp(-eps0) / 2
        x = [eps0 * i / 24 for i in range(1, 24)] + [0.99 * eps0, 0.999 * eps0]
        binary = sd.shuffle(sd.BinaryRR(eps0=eps0), n=n, rtol=RTOL)
        everything = sd.generic(eps0=eps0, n=n, rtol=RTOL)
        panel = Panel(
            f"ε₀ = {eps0:g}, n = {n:,}", x, "ε (nats)", "log₁₀ δ", xscale="linear", yscale="linear"
        )
        exact = [binary.delta(epsilon=e, analysis="dataset").log_lower for e in x]
        clones = [everything.delta(epsilon=e, analysis="clone").log_upper for e in x]
        panel.curves = [
            (Line("exact", "2RR, exact", ORANGE, thick=True), [_decimal(v) for v in exact]),
            (Line("clone", "Clones (Thm 3.2)", BLUE), [_decimal(v) for v in clones]),
            (
                Line("middle", "log(1/δ) = n/(2 exp ε₀)", BLACK, end="estimate"),
                [-middle / math.log(10.0)] * len(x),
            ),
        ]
        panel.ylim = (-3.0 * middle / math.log(10.0), 0.0)
        panels.append(panel)
    return panels


def _decimal(log: float | None) -> float:
    return math.nan if log is None or not math.isfinite(log) else log / math.log(10.0)


RESPONSE = (
    Line("blanket", "blanket, exact, our evaluation", BLACK, thick=True),
    Line("dataset", "certified lower end, our evaluation", YELLOW, end="lower"),
    Line("bennett", "blanket, Bennett for k-RR", SKY),
    Line("hoeffding", "blanket, Hoeffding for k-RR", PURPLE),
    Line("clone", "clone, numerical (any randomizer)", BLUE),
    Line("fmt-4.1", "clones of three laws (Thm 4.1)", ORANGE),
    Line("fmt-4.2", "clones for k-RR (Cor. 4.2)", GREEN),
)


def response() -> list[Panel]:
    """Section 4 has no figure: Theorem 4.1 and Corollary 4.2 for k-RR."""
    panels = [
        panel_over(
            f"{k}-RR, n = {n:,}", "local ε₀ (nats)", [0.1, 0.3, *steps(1.0, 8.0, 8)],
            lambda e, n=n, k=k: (sd.shuffle(sd.KRR(k=k, eps0=e), n=n, rtol=RTOL), None), RESPONSE,
            delta=DELTA,
        )
        for k, n in ((10, 10**4), (100, 10**4), (10, 10**6))
    ]  # fmt: skip
    for panel in panels:
        panel.xscale = "linear"
    return panels


def main(out: Path) -> None:
    """Draw all figures."""
    title = "FMT 2021, Fig. 2: any ε₀-LDP mechanism, δ = 1e-6 (settings as printed, points not)"
    print(*draw(out, "feldman_fig2", title, figure_2()))
    title = "FMT 2021, Fig. 3: Rényi divergence and rounds (curves as named there, settings ours)"
    print(*draw(out, "feldman_fig3", title, figure_3()))
    title = "FMT 2021, Fig. 4: δ over ε about the transition (curves as named there, settings ours)"
    print(*draw(out, "feldman_fig4", title, figure_4()))
    title = "FMT 2021, section 4: k-RR, central ε over ε₀ at δ = 1e-6 (no figure there)"
    print(*draw(out, "feldman_krr", title, response()))


if __name__ == "__main__":
    run(main, __doc__)
