"""Analysis of Shuffling Beyond Pure Local Differential Privacy (2026): the band, and Table 1.

    python -m papers.shuffle_index

The delta band between the two shuffle indices for five mechanisms, next to certified ends, and as
a multiple of the certified blanket (delta = 1e-6 and 0.01/n, settings ours). Table 1: both indices,
from the law and from the closed form. Their figures are ``papers.shuffle_index_figures``.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import shuffledp as sd
from papers.common import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    YELLOW,
    Line,
    Panel,
    counts,
    draw,
    panel_over,
    run,
    table,
)
from papers.printed.algorithms import fft_bracket, halved_epsilon
from shuffledp.laws import pairs as mechanisms
from shuffledp.published.limits import gaussian_epsilon

LINES = (
    Line("blanket", "blanket, our evaluation", BLACK, thick=True),
    Line("dataset", "certified lower end, our evaluation", YELLOW, end="lower"),
    Line("shuffle-index", "band, upper: chi of the blanket", ORANGE, end="estimate"),
    Line("shuffle-index-lower", "band, lower: chi of R_x2", PURPLE, end="estimate"),
    Line("gaussian", "Gaussian form before Mills' ratio", GREEN, end="estimate"),
    Line("blanket-certified-fft", "certified FFT (Thm 4.2), width 0.5", BLUE, marker="x"),
)
MECHANISMS = {
    "a": ("binary RR, ε₀ = 2", sd.BinaryRR(eps0=2.0)),
    "b": ("10-RR, ε₀ = 2", sd.KRR(k=10, eps0=2.0)),
    "c": ("Laplace on [0, 1], ε₀ = 2", sd.Laplace(eps0=2.0)),
    "d": ("Gaussian, σ = 1 on [0, 1]", sd.Gaussian(sigma=1.0)),
    "e": ("Gaussian, σ = 4 on [0, 1]", sd.Gaussian(sigma=4.0)),
}


def alpha_over_n(acc: sd.Account) -> float:
    """delta = 0.01/n."""
    return 0.01 / acc.n


def panels(randomizer: sd.Randomizer) -> list[Panel]:
    """eps over n at delta = 0.01/n and at 1e-6, and the first as a multiple of the blanket's."""
    found = []
    for words, delta in (("δ = 0.01/n", alpha_over_n), ("δ = 1e-6", 1e-6)):
        x = counts(100, 10**8, 10)
        found.append(
            panel_over(
                words, "n (users)", x,
                lambda n: (sd.shuffle(randomizer, n=n, rtol=1e-4), None), LINES[:-1],
                delta=delta,
            )
        )  # fmt: skip
    values = [math.nan] * len(found[0].x)
    found[0].curves.append((LINES[-1], [_fft(randomizer, int(n)) for n in found[0].x]))
    found[1].curves.append((LINES[-1], values))
    return [found[0], relative(found[0]), relative(found[1])]


def _fft(randomizer: sd.Randomizer, n: int) -> float:
    """By the FFT of Theorem 4.2 where that is a matter of seconds."""
    if n > 3000:
        return math.nan
    pair = mechanisms.blanket_pair(randomizer, *randomizer.worst_pairs().pairs[0], n=n)

    def delta_at(epsilon: float) -> float:
        return fft_bracket(pair, epsilon=epsilon, width=0.5).high

    # Far above the crossing no grid is fine enough.
    inputs = randomizer.worst_pairs().pairs[0]
    exact = mechanisms.blanket_pair(randomizer, *inputs, n=n)
    near = gaussian_epsilon(exact, delta=0.01 / n, cap=randomizer.eps0)
    try:
        return halved_epsilon(delta_at, 0.01 / n, cap=min(randomizer.eps0, 1.5 * near))
    except sd.NotCertified:
        return math.nan


def relative(panel: Panel) -> Panel:
    """Every curve divided by the first."""
    _, base = panel.curves[0]
    curves = [
        (line, [v / b for v, b in zip(values, base, strict=True)]) for line, values in panel.curves
    ]
    return replace(
        panel, ylabel="ε over the blanket's", curves=curves, yscale="linear", ylim=(0.5, 1.3)
    )


def cdf(x: float) -> float:
    """Normal distribution function."""
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


def closed_forms(randomizer: sd.Randomizer) -> tuple[float, float]:
    """chi_lo and chi_up by formula."""
    if isinstance(randomizer, sd.Gaussian):
        s = randomizer.sigma
        half = 1.0 / (2.0 * s)
        low = 2.0 * (math.exp(1.0 / s**2) * cdf(3.0 * half) - 3.0 * cdf(half) + 1.0)
        return low**-0.5, math.expm1(1.0 / s**2) ** -0.5
    E = math.exp(randomizer.eps0)
    if isinstance(randomizer, sd.Laplace):
        w = math.sqrt(E)
        low = 0.5 * math.sqrt(3.0 * w / ((w - 1.0) ** 2 * (w + 2.0)))
        return low, math.sqrt(3.0) * E / ((E - 1.0) * math.sqrt(2.0 * E + 1.0))
    k = randomizer.k if isinstance(randomizer, sd.KRR) else 2
    low = math.sqrt((E + k - 1.0) / 2.0) / (E - 1.0)
    return low, low if k > 2 else math.sqrt(E) / (E - 1.0)


def indices(out: Path) -> None:
    """Table 1: both indices."""
    rows = []
    more = [
        ("10-RR, ε₀ = 4", sd.KRR(k=10, eps0=4.0)),
        ("100-RR, ε₀ = 2", sd.KRR(k=100, eps0=2.0)),
        ("Laplace on [0, 1], ε₀ = 0.5", sd.Laplace(eps0=0.5)),
        ("Gaussian, σ = 0.5 on [0, 1]", sd.Gaussian(sigma=0.5)),
    ]
    for name, randomizer in [*MECHANISMS.values(), *more]:
        found = sd.shuffle_index(randomizer)
        low, high = closed_forms(randomizer)
        ratio = found.lower.value / found.upper.value
        rows.append((name, found.lower.value, low, found.upper.value, high, ratio))
    header = ("mechanism", "chi_lo (from the law)", "chi_lo (formula)", "chi_up (from the law)",
              "chi_up (formula)", "chi_lo/chi_up")  # fmt: skip
    table(out, "index_table1", header, rows)


def main(out: Path) -> None:
    """Draw all figures, write the table."""
    indices(out)
    for part, (label, randomizer) in MECHANISMS.items():
        title = f"Shuffle index and band: {label} (settings ours)"
        print(*draw(out, f"index_band_{part}", title, panels(randomizer)))


if __name__ == "__main__":
    run(main, __doc__)
