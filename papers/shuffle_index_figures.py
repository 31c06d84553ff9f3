"""Analysis of Shuffling Beyond Pure Local Differential Privacy (2026): Figures 4a to 4e and 5a.

    python -m papers.shuffle_index_figures

The text has what each figure contains, and none of its numbers: mechanisms, alpha = 0.01, n and
widths are ours. Figure 4e's errors are those for large n, ``papers.shuffle_index_moments`` measures
some.
"""

from __future__ import annotations

import math
import time
from pathlib import Path

import numpy as np
from scipy.optimize import brentq

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
    counts,
    draw,
    panel_over,
    run,
)
from papers.printed.algorithms import fft_bracket
from shuffledp.laws.pairs import blanket_pair

ALPHA, RTOL = 0.01, 1e-3
BAND = (
    Line("best", "upper end, our evaluation", BLACK, thick=True),
    Line("dataset", "one data set, lower end (contour)", YELLOW, end="lower"),
    Line("blanket", "the blanket, upper end (contour)", GREEN),
    Line("shuffle-index", "band, upper: chi of the blanket", ORANGE, end="estimate"),
    Line("shuffle-index-lower", "band, lower: chi of R_x2", PURPLE, end="estimate"),
)


def alpha_over_n(acc: sd.Account) -> float:
    """delta = alpha/n."""
    return ALPHA / acc.n


def figure_4a() -> list[Panel]:
    """eps over n at delta = alpha/n: k-RR, where the ends meet, and a Gaussian."""
    cases = (("10-RR, ε₀ = 2", sd.KRR(k=10, eps0=2.0)), ("Gaussian, σ = 1", sd.Gaussian(sigma=1.0)))
    return [
        panel_over(
            words, "n (users)", counts(1000, 10**7, 6),
            lambda n, r=randomizer: (sd.shuffle(r, n=n, rtol=RTOL), None), BAND, delta=alpha_over_n,
        )
        for words, randomizer in cases
    ]  # fmt: skip


WAYS = (
    Line("best", "directly, upper end, our evaluation", BLACK, thick=True),
    Line("dataset", "directly, lower end, our evaluation", YELLOW, end="lower"),
    Line("fmt-3.8", "Feldman et al., Thm 3.8, (ε₀, δ₀)", BLUE),
    Line("local", "no shuffler", ORANGE),
)


def figure_4b() -> list[Panel]:
    """The Gaussian through (eps0, delta0) of one report, and directly."""
    panels = []
    for sigma in (2.0, 4.0):
        noise = sd.Gaussian(sigma=sigma)
        panels.append(
            panel_over(
                f"Gaussian, σ = {sigma:g}", "n (users)", counts(1000, 10**7, 7),
                lambda n, r=noise: (sd.shuffle(r, n=n, rtol=RTOL), None), WAYS,
                delta=alpha_over_n,
            )
        )  # fmt: skip
    return panels


WIDTHS = [0.1, 0.2, 0.4, 0.8]
FFT_USERS = [100, 300, 1000, 3000]
FFT_DELTA = 1e-4


def _fft(n: int, width: float) -> tuple[float, float, float]:
    """Certified relative width, CPU seconds of the FFT, and of the contour at that width."""
    randomizer = sd.KRR(k=10, eps0=2.0)
    acc = sd.shuffle(randomizer, n=n)
    epsilon = acc.epsilon(delta=FFT_DELTA, analysis="blanket").upper
    pair = blanket_pair(randomizer, 0, 1, n=n)
    started = time.process_time()
    bracket = fft_bracket(pair, epsilon=epsilon, width=width)
    middle = time.process_time()
    sd.shuffle(randomizer, n=n).delta(epsilon=epsilon, analysis="blanket")
    return bracket.high / bracket.low - 1.0, middle - started, time.process_time() - middle


def figure_4cd() -> list[Panel]:
    """The certified FFT on k-RR: width and time over the width asked for, and over n."""
    lines = (
        Line("width", "FFT (Thm 4.2): certified relative width", BLUE),
        Line("seconds", "FFT: CPU seconds", ORANGE),
        Line("contour", "contour at 1e-6, our evaluation: CPU seconds", BLACK, thick=True),
    )
    panels = []
    for title, label, x, settings in (
        ("Fig. 4c: n = 1,000", "relative width η asked for", WIDTHS, [(1000, w) for w in WIDTHS]),
        ("Fig. 4d: η = 0.4", "n (users)", FFT_USERS, [(n, 0.4) for n in FFT_USERS]),
    ):
        found = [_fft(n, width) for n, width in settings]
        panel = Panel(title, x, label, "relative width; seconds")
        columns = zip(*found, strict=True)
        panel.curves = [(line, list(c)) for line, c in zip(lines, columns, strict=True)]
        panels.append(panel)
    panels[0].xscale = "linear"
    return panels


DEVIATIONS = [0.5, 1.0, 2.0, 5.0, 20.0]


def figure_5a() -> list[Panel]:
    """chi_lo over the deviation, for shapes at equal variance."""
    panel = Panel("generalized Gaussian noise on [0, 1]", DEVIATIONS, "standard deviation",
                  "χ_lo over the deviation", yscale="linear")  # fmt: skip
    for colour, shape in zip((SKY, BLUE, GREEN, PURPLE, ORANGE), (0.5, 1.0, 1.5, 2.0, 3.0),
                             strict=True):  # fmt: skip
        spread = math.sqrt(math.gamma(1 / shape) / math.gamma(3 / shape))
        values = []
        for sigma in DEVIATIONS:
            noise = sd.GeneralizedGaussian(shape=shape, scale=sigma * spread)
            try:
                values.append(sd.shuffle_index(noise).lower.value / sigma)
            except sd.NotCertified:
                values.append(math.nan)
        panel.curves.append((Line("chi", f"shape {shape:g}", colour, end="estimate"), values))
    return [panel]


MEAN_DEVIATIONS = [0.5, 0.7, 1.0, 1.4, 2.0, 3.0, 4.5]  # of the noise; 0.25, 1, 4 among variances
SIZES = (3, 4, 6, 10)


def deviation_of_krr(k: int, eps0: float) -> float:
    """Root of the mean variance of one k-RR report's estimate, values uniform on [0, 1].

    A value is rounded at random, unbiased, to one of k even steps; a report y is the step with
    probability t = (E - 1)/(E + k - 1), else any of them, and (y - (1 - t)/2)/t is unbiased.
    """
    steps = np.linspace(0.0, 1.0, k)
    E = math.exp(eps0)
    t = math.expm1(eps0) / (E + k - 1)
    x = (np.arange(4000) + 0.5) / 4000
    place = np.minimum((x * (k - 1)).astype(int), k - 2)
    up = x * (k - 1) - place
    second = (1 - up) * steps[place] ** 2 + up * steps[place + 1] ** 2
    square = t * second + (1 - t) * float(np.mean(steps**2))
    mean = t * x + (1 - t) / 2
    return math.sqrt(float(np.mean(square - mean**2))) / t


def later_errors(shape: float, deviation: float) -> tuple[float, float]:
    """Errors times sqrt(n) of the variance and the third central moment, from the noisy reports.

    Over the noise alone, as the mean's: y = x + z, x uniform on [0, 1] and fixed, z symmetric. z's
    own part is known and subtracted, so the plug-in estimates have the influence functions
    f = (y - m)^2 and (y - m)^3 - 3 v (y - m), m the mean and v the variance of y; errors are the
    roots of E f^2 - E (E[f | x])^2.
    """
    x = [1.0, 0.0, 1 / 12, 0.0, 1 / 80, 0.0, 1 / 448]  # central moments of uniform values
    scale = deviation * math.sqrt(math.gamma(1 / shape) / math.gamma(3 / shape))
    z = [
        0.0 if j % 2 else scale**j * math.gamma((j + 1) / shape) / math.gamma(1 / shape)
        for j in range(7)
    ]
    y = [sum(math.comb(j, i) * x[i] * z[j - i] for i in range(j + 1)) for j in range(7)]
    v = y[2]
    second = y[4] - (x[4] + 2 * z[2] * x[2] + z[2] ** 2)
    b = 3 * (z[2] - v)
    third = y[6] - 6 * v * y[4] + 9 * v**3 - (x[6] + 2 * b * x[4] + b**2 * x[2])
    return math.sqrt(second), math.sqrt(third)


def figure_4e() -> list[Panel]:
    """chi_lo over the error of the mean, and errors of two more moments of the same reports.

    Noise of four shapes; k-RR with the best k, which gives the mean alone.
    """
    lines, variances, thirds = [], [], []
    for colour, shape in zip((BLUE, GREEN, PURPLE, ORANGE), (1.0, 1.5, 2.0, 3.0), strict=True):
        spread = math.sqrt(math.gamma(1 / shape) / math.gamma(3 / shape))
        chis = [
            sd.shuffle_index(sd.GeneralizedGaussian(shape=shape, scale=s * spread)).lower.value
            for s in MEAN_DEVIATIONS
        ]
        line = Line("chi", f"noise of shape {shape:g}", colour, end="estimate")
        lines.append((line, chis))
        errors = [later_errors(shape, s) for s in MEAN_DEVIATIONS]
        variances.append((line, [variance for variance, _ in errors]))
        thirds.append((line, [third for _, third in errors]))
    best = []
    for target in MEAN_DEVIATIONS:
        found = [_krr_at(k, target) for k in SIZES]
        best.append(max(found))
    lines.append((Line("chi", "k-RR, best k of 3, 4, 6, 10", BLACK, end="estimate"), best))
    panel = Panel("values uniform on [0, 1]", MEAN_DEVIATIONS, "error of the mean times √n",
                  "χ_lo", lines, xscale="linear", yscale="linear")  # fmt: skip
    label, height = "error of the mean times √n", "its error times √n"
    return [
        panel,
        Panel("the same reports: variance", MEAN_DEVIATIONS, label, height, variances, "linear"),
        Panel("third central moment", MEAN_DEVIATIONS, label, height, thirds, "linear"),
    ]


def _krr_at(k: int, target: float) -> float:
    """chi of k-RR at the eps0 whose error is this; closed form, docs of ``shuffle_index``."""
    eps0 = float(brentq(lambda e: deviation_of_krr(k, e) - target, 1e-3, 30.0))
    E = math.exp(eps0)
    return math.sqrt((E + k - 1) / 2) / (E - 1)


def main(out: Path) -> None:
    """Draw all figures."""
    words = "(Beyond Pure Local DP, 2026; settings ours, none is readable)"
    print(*draw(out, "index_fig4a", f"Fig. 4a: δ = 0.01/n {words}", figure_4a()))
    print(*draw(out, "index_fig4b", f"Fig. 4b: δ = 0.01/n {words}", figure_4b()))
    print(*draw(out, "index_fig4cd", f"Fig. 4c, 4d: 10-RR, ε₀ = 2 {words}", figure_4cd()))
    title = "Fig. 4e: the index and errors of three moments (settings ours)"
    print(*draw(out, "index_fig4e", title, figure_4e()))
    print(*draw(out, "index_fig5a", "Fig. 5a (settings ours)", figure_5a(), columns=1))


if __name__ == "__main__":
    run(main, __doc__)
