"""Wang et al., PVLDB 17(8) 2024 (variation ratio), Figures 1 to 5, with ours added.

    python -m papers.wang_figures

n, d, the ranges of eps0 and eps' and the curves are as printed. delta = 0.01/n, the size of subsets
and the original bound of Cheu and Zhilyaev (Figure 3's axis) are those of the authors' released
code. Ours are delta = 1e-6 and d/s in Figure 4, and one fake message a user in Figures 3 and 4.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

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
    draw,
    epsilon_of,
    panel_over,
    run,
)
from papers.printed.wang import delta_at, published
from papers.printed.wang_claims import cheu, range_queries, subset
from shuffledp.published.formulas import variation_ratio_4_2, variation_ratio_4_3

RTOL = 1e-3
USERS = (10**4, 10**5)
DOMAINS = (16, 128)
LOCAL = [0.1, 0.4, 0.7, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0]
UPPER = Line("best", "upper end, our evaluation", BLACK, thick=True)
LOWER = Line("dataset", "lower end, our evaluation", YELLOW, end="lower")
SINGLE = (
    UPPER,
    LOWER,
    Line("variation-ratio", "variation-ratio", ORANGE, end="estimate"),
    Line("stronger-clone", "stronger clone", BLUE),
    Line("clone", "clone", SKY),
    Line("bennett or hoeffding", "privacy-blanket, specific", GREEN),
    Line("bennett-generic or hoeffding-generic", "privacy-blanket, general", PURPLE, on="generic"),
    Line("efmrtt19", "EFMRTT19", GREY, on="generic"),
)
RATIO = "log₂(ε₀/ε)"


def amplification(panel: Panel) -> Panel:
    """log2 of x over every value: the axis of these figures."""
    curves = [
        (line, [math.log2(x / v) if v > 0 else math.nan for x, v in zip(panel.x, ys, strict=True)])
        for line, ys in panel.curves
    ]
    return replace(panel, curves=curves, ylabel=RATIO, xscale="linear", yscale="linear")


def single(make: Callable[[int, float], sd.Randomizer]) -> list[Panel]:
    """Figures 1 and 2: a panel for each d and n."""
    panels = []
    for d in DOMAINS:
        for n in USERS:

            def at(eps0: float, d=d, n=n):
                own = sd.shuffle(make(d, eps0), n=n, rtol=RTOL)
                return own, sd.generic(eps0=eps0, n=n, rtol=RTOL)

            title = f"d = {d}, n = {n:,}"
            found = panel_over(title, "local ε₀ (nats)", LOCAL, at, SINGLE, delta=delta_at(n))
            panels.append(amplification(found))
    return panels


MANY = (
    Line("upper", "upper end, our evaluation", BLACK, thick=True),
    Line("lower", "lower end, our evaluation", YELLOW, end="lower"),
    Line("published", "variation-ratio (numerical)", ORANGE, end="estimate"),
    Line("4.2", "variation-ratio, analytic (Thm 4.2)", GREEN, end="estimate"),
    Line("4.3", "variation-ratio, asymptotic (Thm 4.3)", BLUE, end="estimate"),
)
# With p infinite and beta = 1 the published pair is exact, and what bounds it a bound.
CLEAR = (*MANY[:2], *(replace(line, end="upper") for line in MANY[2:]))


def _protocol(protocol: sd.MultiMessage, n: int, delta: float) -> list[float]:
    """eps of the five curves."""
    acc = sd.shuffle(protocol, n=n, rtol=RTOL)
    bound = acc.epsilon(delta=delta)
    r = sd.ratios(protocol)
    found = [bound.upper, bound.lower, published(protocol, n, delta)]
    for form in (variation_ratio_4_2, variation_ratio_4_3):
        among = protocol.blanket_total(n) + 1
        try:
            found.append(form(p=r.p, beta=r.beta, q=r.q, n=among, delta=delta))
        except sd.NotCertified:
            found.append(math.nan)
    return found


def figure_3() -> list[Panel]:
    """log2(eps'/eps) where f is what the original analysis asks for; d >= 3 changes nothing."""
    panels = []
    for n in USERS:
        protocols = [cheu(n, target) for target in CHEU_TARGETS]
        rows = [
            [math.nan] * len(MANY) if one is None else _protocol(one, n, delta_at(n))
            for one in protocols
        ]
        panel = Panel(f"d = 16 and 128, n = {n:,}", CHEU_TARGETS, "ε' of the original analysis",
                      "ε")  # fmt: skip
        panel.curves = [(line, list(column)) for line, column in zip(MANY, zip(*rows, strict=True),
                                                                     strict=True)]  # fmt: skip
        panels.append(replace(amplification(panel), ylabel="log₂(ε'/ε)"))
    return panels


CHEU_TARGETS = [0.01, 0.05, 0.14, 0.16, 0.2, 0.25, 0.3, 0.35, 0.42, 0.45, 0.5, 0.6, 0.8, 1.0,
                1.25, 1.5]  # fmt: skip
TARGETS = [0.01, 0.03, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5]
FIGURE_4_DELTA = 1e-6


def figure_4() -> list[Panel]:
    """log2(eps'/eps) where n = 32 log(2/delta) d/(eps'^2 s); of d and s only d/s matters."""
    panels = []
    for share in (16, 128):
        protocol = sd.BallsIntoBins(d=share, s=1, blankets=1)
        rows = []
        for target in TARGETS:
            n = math.ceil(32 * math.log(2 / FIGURE_4_DELTA) * share / target**2)
            rows.append(_protocol(protocol, n, FIGURE_4_DELTA))
        panel = Panel(f"d/s = {share}", TARGETS, "ε' of the original analysis", "ε")
        panel.curves = [(line, list(column)) for line, column in zip(CLEAR, zip(*rows, strict=True),
                                                                     strict=True)]  # fmt: skip
        panels.append(replace(amplification(panel), ylabel="log₂(ε'/ε)"))
    return panels


RANGES = (
    Line("best", "the same reports, upper end, our evaluation", BLACK, thick=True),
    Line("dataset", "the same reports, lower end, our evaluation", YELLOW, end="lower"),
    Line("advanced", "advanced parallel", ORANGE, end="estimate"),
    Line("code", "the same with the β of their released code", SKY, end="estimate"),
    Line("basic", "basic parallel", BLUE),
    Line("separate best", "separate, best", GREEN, end="estimate"),
    Line("separate worst", "separate, worst", PURPLE),
)
RANGE_LOCAL = [0.5, 1.0, 2.0, 3.0, 4.0, 5.0]


def figure_5() -> list[Panel]:
    """Range queries by p, beta and q as printed; ours is the tree's own law."""
    panels = []
    for d in (64, 2048):
        for n in USERS:
            columns: dict[str, list[float]] = {line.key: [] for line in RANGES}
            for eps0 in RANGE_LOCAL:
                for key, value in range_queries(d, n, eps0).items():
                    columns[key].append(value if value < 0.9999 * eps0 else math.nan)
                tree = sd.Hierarchy(domain=d, eps0=eps0, branching=2, base="k-rr")
                acc = sd.shuffle(tree, n=n, rtol=RTOL)
                for line in RANGES[:2]:
                    columns[line.key].append(epsilon_of(acc, line, delta_at(n)))
            panel = Panel(f"d = {d}, n = {n:,}", RANGE_LOCAL, "local ε₀ (nats)", "ε")
            panel.curves = [(line, columns[line.key]) for line in RANGES]
            panels.append(amplification(panel))
    return panels


def main(out: Path) -> None:
    """Draw all figures."""
    title = "Wang et al. 2024, Fig. 1: subset selection (as printed; δ, sizes of their code)"
    panels = single(subset)
    print(*draw(out, "wang_fig1", title, panels, columns=2))
    title = "Wang et al. 2024, Fig. 2: optimal local hashing (as printed; δ = 0.01/n of their code)"
    panels = single(lambda d, eps0: sd.OLH(domain=d, eps0=eps0))
    print(*draw(out, "wang_fig2", title, panels, columns=2))
    title = "Wang et al. 2024, Fig. 3: Cheu-Zhilyaev (as printed; δ = 0.01/n, f of their code)"
    print(*draw(out, "wang_fig3", title, figure_3()))
    title = "Wang et al. 2024, Fig. 4: balls into bins (n over ε' as printed; δ = 1e-6, d/s ours)"
    print(*draw(out, "wang_fig4", title, figure_4()))
    title = "Wang et al. 2024, Fig. 5: range queries (as printed; δ = 0.01/n of their code)"
    print(*draw(out, "wang_fig5", title, figure_5(), columns=2))


if __name__ == "__main__":
    run(main, __doc__)
