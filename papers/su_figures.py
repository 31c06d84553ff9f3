"""Su, Cheng, Wang 2025 (arXiv 2504.07414), Figures 2 to 8 of the later version, with ours added.

    python -m papers.su_figures

Mechanisms, eps0 = 0.1 and 4, weights, pairs and curves are as printed; axes (e^eps - 1 over n from
1e3 to 1e5), delta = 1e-6, two and four joint copies, D = 3, 5, 10, 20 and rates of 0.1 to 0.8 are
those of the authors' released code. Their upper bound is the blanket's, here by the certified
contour and by their own grid; their lower bound has all others at one third value.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.optimize import brentq

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
    epsilon_of,
    run,
)
from papers.printed.algorithms import grid_delta
from papers.printed.items import laplace_cdf
from papers.printed.su_claims import RATES
from shuffledp.laws.midpoints import midpoints
from shuffledp.laws.pairs import blanket_pair

DELTA, RTOL, DOMAIN = 1e-6, 1e-3, 64
LOW, HIGH = 0.1, 4.0
USERS = counts(1000, 10**5, 7)
BEST = Line("best", "upper end, our evaluation", BLACK, thick=True)
DATASET = Line("dataset", "lower end, our evaluation", YELLOW, end="lower")
BLANKET = Line("blanket", "optimal decomposition", GREEN)
THIRD = Line("one-dataset", "lower bound, all others a third value", ORANGE, end="lower")
BASELINES = (
    Line("hoeffding", "privacy blanket, Hoeffding", PURPLE),
    Line("bennett", "privacy blanket, Bennett", SKY),
    Line("clone", "standard clone, numerical", BLUE),
)
ALL = (BEST, DATASET, BLANKET, THIRD, *BASELINES)
# Copies of which each has an equal part of eps0.
COPIES = ((2, GREY), (4, "#444444"))
YLABEL = "exp(ε) - 1"  # the axis of their figures
GRID = Line("grid", "optimal decomposition, their FFT and grid", GREEN, end="estimate", marker="x")
# Beyond it the FFT takes minutes, or more points than there is memory for.
GRID_USERS = 10_000
# Steps of their grid are (e^eps0 - 1) over these, as printed.
STEPS = {0.1: 1200, 4.0: 1000}
Make = Callable[[float], sd.Randomizer]
MECHANISMS: dict[str, Make] = {
    "10-RR": lambda e: sd.KRR(k=10, eps0=e),
    "BLH": lambda e: sd.BLH(domain=DOMAIN, eps0=e),
    "RAPPOR": lambda e: sd.RAPPOR(d=DOMAIN, eps0=e),
    "OUE": lambda e: sd.OUE(d=DOMAIN, eps0=e),
    "Laplace on {0, 1}": lambda e: sd.Laplace(eps0=e, binary=True),
}


def accountant(randomizer: sd.Randomizer, n: int) -> sd.Account:
    """At the accuracy of a picture."""
    return sd.shuffle(randomizer, n=n, rtol=RTOL)


def panel_of(title: str, lines: list[tuple[Line, sd.Randomizer]]) -> Panel:
    """eps over n of named analyses of mechanisms."""
    panel = Panel(title, USERS, "n (users)", YLABEL)
    made: dict[int, list[sd.Account]] = {}
    for line, randomizer in lines:
        own = made.setdefault(id(randomizer), [accountant(randomizer, n) for n in USERS])
        found = [epsilon_of(acc, line, DELTA) for acc in own]
        panel.curves.append((line, [math.expm1(value) for value in found]))
    return panel


def of_mechanism(name: str, eps0: float) -> Panel:
    """Figures 2 and 3: every bound, and those of copies that share eps0."""
    make = MECHANISMS[name]
    one = make(eps0)
    joint = [
        (
            Line("blanket", f"optimal decomposition, {k}-joint", colour),
            sd.Joint((make(eps0 / k),) * k),
        )
        for k, colour in COPIES
    ]
    panel = panel_of(f"{name}, ε₀ = {eps0:g}", [*((line, one) for line in ALL), *joint])
    on_grid = [math.expm1(by_grid(one, n, eps0)) if n <= GRID_USERS else math.nan for n in USERS]
    panel.curves.append((GRID, on_grid))
    return panel


def by_grid(randomizer: sd.Randomizer, n: int, eps0: float) -> float:
    """eps by their algorithm: gains rounded up to their grid, the law of the sum by one FFT."""
    x0, x1 = randomizer.worst_pairs().pairs[0]
    pair = blanket_pair(randomizer, x0, x1, n=n)
    step = math.expm1(eps0) / STEPS[eps0]

    def excess(epsilon: float) -> float:
        found, _ = grid_delta(pair, epsilon=epsilon, step=step, up=True)
        return math.log(max(found, 1e-300)) - math.log(DELTA)

    low, high = 0.01 * eps0 / math.sqrt(n), 0.999 * eps0
    try:
        return float(brentq(excess, low, high, rtol=1e-4)) if excess(high) < 0 else math.nan
    except sd.NotCertified:
        return math.nan


def parallel(eps0: float) -> Panel:
    """Figure 4: 10-RR and BLH by halves."""
    parts = (sd.KRR(k=10, eps0=eps0), sd.BLH(domain=10, eps0=eps0))
    mixed = sd.Parallel(parts, weights=(0.5, 0.5))
    lines: list[tuple[Line, sd.Randomizer]] = [
        (BEST, mixed), (DATASET, mixed), (BLANKET, mixed), (THIRD, mixed),
        (Line("blanket", "10-RR alone", PURPLE), parts[0]),
        (Line("blanket", "BLH alone", GREY), parts[1]),
        *((line, mixed) for line in BASELINES[1:]),
        (replace(BASELINES[0], colour="#444444"), mixed),
    ]  # fmt: skip
    return panel_of(f"10-RR and BLH by halves, ε₀ = {eps0:g}", lines)


SIZES = ((3, ORANGE), (5, PURPLE), (10, BLUE), (20, GREEN))
LIMIT = 100  # stands for a large domain: the error of the limit is about 2^-D


def rappor_domains(eps0: float) -> Panel:
    """Figure 5: RAPPOR's bound over D, its limit and lower bound, and the clone."""
    lines: list[tuple[Line, sd.Randomizer]] = [
        (Line("blanket", f"D = {d}", colour), sd.RAPPOR(d=d, eps0=eps0)) for d, colour in SIZES
    ]
    limit = sd.RAPPOR(d=LIMIT, eps0=eps0)
    lines += [
        (Line("blanket", f"D = {LIMIT}", BLACK), limit),
        (replace(THIRD, colour=YELLOW), limit),
        (replace(BASELINES[2], colour=SKY), limit),
    ]
    return panel_of(f"RAPPOR, ε₀ = {eps0:g}", lines)


def rappor_differences(eps0: float) -> Panel:
    """The same: by how much eps is below that at D = 100, in per cent."""
    panel = Panel(f"RAPPOR, ε₀ = {eps0:g}", USERS, "n (users)", "ε below that at D = 100, %",
                  yscale="linear")  # fmt: skip
    found = {
        d: [
            accountant(sd.RAPPOR(d=d, eps0=eps0), n).epsilon(delta=DELTA, analysis="blanket").upper
            for n in USERS
        ]
        for d in (*(d for d, _ in SIZES), LIMIT)
    }
    for d, colour in SIZES:
        below = [100 * (1 - v / w) for v, w in zip(found[d], found[LIMIT], strict=True)]
        panel.curves.append((Line("blanket", f"D = {d}", colour), below))
    return panel


def poisson(eps0: float) -> Panel:
    """Figure 6: 10-RR sampled with a rate, then shuffled."""
    lines: list[tuple[Line, sd.Randomizer]] = []
    for rate, colour in zip(RATES, (BLUE, GREEN, PURPLE, ORANGE), strict=True):
        mechanism = sd.PoissonSubsample(sd.KRR(k=10, eps0=eps0), rate=rate)
        lines += [
            (Line("blanket", f"rate {rate:g}, optimal decomposition", colour), mechanism),
            (Line("one-dataset", f"rate {rate:g}, lower bound", YELLOW, end="lower"), mechanism),
        ]
    lines.append((Line("blanket", "not sampled", BLACK, thick=True), sd.KRR(k=10, eps0=eps0)))
    return panel_of(f"10-RR, Poisson sampling, ε₀ = {eps0:g}", lines)


def hamming(eps0: float) -> Panel:
    """Figure 7: four k-RR of eps0/4, records that differ in 1 to 4 of them."""
    lines: list[tuple[Line, sd.Randomizer]] = []
    for m, colour in zip((1, 2, 3, 4), (SKY, BLUE, GREEN, BLACK), strict=True):
        mechanism = sd.Joint((sd.KRR(k=10, eps0=eps0 / 4),) * 4, hamming=m)
        lines.append((Line("blanket", f"{m} of 4 differ, upper end", colour), mechanism))
        lower = Line("dataset", f"{m} of 4 differ, lower end", ORANGE, end="lower")
        lines.append((lower, mechanism))
    return panel_of(f"four 10-RR, ε₀ = {eps0:g} in all", lines)


def laplace_law() -> Panel:
    """Figure 8: the distribution function of L, eps0 = 1 and eps = 0.1, printed in full."""
    eps0, epsilon = 1.0, 0.1
    a = math.exp(epsilon)
    law = midpoints(sd.Laplace(eps0=eps0, binary=True), (0, 1))
    gamma = float(law.reference.sum())
    values = gamma * (law.first - a * law.second) / law.reference
    x = list(np.linspace(float(values.min()) - 0.1, float(values.max()) + 0.1, 301))
    masses = law.reference / gamma
    panel = Panel("Laplace on {0, 1}, ε₀ = 1, ε = 0.1", x, "t", "P(L ≤ t)", xscale="linear",
                  yscale="linear")  # fmt: skip
    panel.curves = [
        (Line("law", "the library's law", BLACK, thick=True),
         [float(masses[values <= t].sum()) for t in x]),
        (Line("formula", "their formula", ORANGE),
         [laplace_cdf(t, eps0=eps0, epsilon=epsilon) for t in x]),
    ]  # fmt: skip
    return panel


SETTINGS = "(mechanisms, ε₀ as printed; n, δ = 1e-6, copies of their released code)"


def main(out: Path) -> None:
    """Draw all figures."""
    for figure, names in ((2, list(MECHANISMS)[:3]), (3, list(MECHANISMS)[3:])):
        panels = [of_mechanism(name, eps0) for eps0 in (LOW, HIGH) for name in names]
        title = f"Su, Cheng, Wang 2025, Fig. {figure} {SETTINGS}"
        print(*draw(out, f"su_fig{figure}", title, panels, columns=len(names)))
    for figure, *makers in (
        (4, parallel), (5, rappor_domains, rappor_differences), (6, poisson), (7, hamming),
    ):  # fmt: skip
        title = f"Su, Cheng, Wang 2025, Fig. {figure} (settings of their released code)"
        panels = [make(eps0) for make in makers for eps0 in (LOW, HIGH)]
        print(*draw(out, f"su_fig{figure}", title, panels, columns=2))
    title = "Su, Cheng, Wang 2025, Fig. 8 (all as printed)"
    print(*draw(out, "su_fig8", title, [laplace_law()]))


if __name__ == "__main__":
    run(main, __doc__)
