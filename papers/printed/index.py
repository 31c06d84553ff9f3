"""Analysis of Shuffling Beyond Pure Local DP, 2026: its limits and the claims of its figures.

The text at hand has no numbers. Limits marked "rebuilt" are ours, from its words and proofs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.optimize import brentq
from scipy.special import lambertw

import shuffledp as sd
from papers.printed import rows
from papers.printed.fft import fft_bracket
from papers.printed.rows import INDEX, Found, factors, number, numbers, percent, says, span
from shuffledp.laws.pairs import blanket_pair
from shuffledp.published.limits import chi_of

row, no_number = partial(rows.row, INDEX), partial(rows.no_number, INDEX)
SAME = 1e-6  # relative difference of two indices that are equal
SMALL, BIG = 1e-3, 12.0  # eps0 at which limits are looked at
VISIBLE, NARROW = 0.01, 0.1  # ours: what we call visible in a figure, and narrow
TEN = sd.KRR(k=10, eps0=2.0)

no_number("Fig. 1 to 3", "the extended mechanism; normal approximation; an integrand", "drawings")
no_number(
    "all", "settings and numbers of its figures", "not in the text at hand",
    "not comparable: no number of its figures can be read anywhere",
)  # fmt: skip


def _chi(randomizer: sd.Randomizer) -> float:
    return sd.shuffle_index(randomizer).lower.value


def _ratio(randomizer: sd.Randomizer) -> float:
    found = sd.shuffle_index(randomizer)
    return found.lower.value / found.upper.value


def _limit(what: str, printed: str, limit: float, ours: Callable[[], float], at: str) -> None:
    """A row of Table 1: a value near its limit."""

    def make() -> Found:
        found = ours()
        words = f"{number(found, 5)}, limit {number(limit, 5)} ({at})"
        off = abs(found / limit - 1.0)
        return Found(words, says(off < 0.02, f"does not: {percent(off)} off"))

    row("Table 1", f"{what} (rebuilt)", printed)(make)


def _noise_low() -> float:
    """The one of the two that is farther from the limit."""
    found = (_ratio(sd.Gaussian(sigma=0.2)), _ratio(sd.Laplace(eps0=14.0)))
    return max(found, key=lambda ratio: abs(ratio - math.sqrt(0.5)))


_limit("chi of k-RR, eps0 to 0", "sqrt(k/2)/eps0", math.sqrt(5) / SMALL,
       lambda: _chi(sd.KRR(k=10, eps0=SMALL)), "10-RR, eps0 = 0.001")  # fmt: skip
_limit("chi of k-RR, eps0 large", "e^(-eps0/2)/sqrt(2)", math.exp(-BIG / 2) / math.sqrt(2),
       lambda: _chi(sd.KRR(k=10, eps0=BIG)), "10-RR, eps0 = 12")  # fmt: skip
_limit("chi_lo/chi_up, k = 2, eps0 to 0", "1", 1.0, lambda: _ratio(sd.KRR(k=2, eps0=SMALL)),
       "2-RR, eps0 = 0.001")  # fmt: skip
_limit("chi_lo/chi_up, k = 2, eps0 large", "1/sqrt(2)", math.sqrt(0.5),
       lambda: _ratio(sd.KRR(k=2, eps0=BIG)), "2-RR, eps0 = 12")  # fmt: skip
_limit("chi_lo/chi_up, k >= 3", "1", 1.0,
       lambda: min(_ratio(sd.KRR(k=k, eps0=e)) for k in (3, 10) for e in (0.1, 2.0, 8.0)),
       "least of 3-RR and 10-RR at eps0 = 0.1, 2, 8")  # fmt: skip
_limit("chi_lo/sigma, Laplace, sigma large", "1/sqrt(2)", math.sqrt(0.5),
       lambda: _chi(sd.Laplace(eps0=0.01)) * 0.01 / math.sqrt(2.0), "deviation 141")  # fmt: skip
_limit("chi_lo/sigma, Gaussian, sigma large", "1", 1.0,
       lambda: _chi(sd.Gaussian(sigma=50.0)) / 50.0, "sigma = 50")  # fmt: skip
_limit("chi_lo/chi_up, noise, sigma large", "1", 1.0,
       lambda: min(_ratio(sd.Gaussian(sigma=50.0)), _ratio(sd.Laplace(eps0=0.01))),
       "the lesser of Gaussian and Laplace")  # fmt: skip
_limit("chi_lo/chi_up, noise, sigma small", "1/sqrt(2)", math.sqrt(0.5), _noise_low,
       "Gaussian, sigma = 0.2; Laplace, eps0 = 14")  # fmt: skip


@row("Table 1", "chi_lo of noise, sigma small (rebuilt)", "tends to 0")
def _noise_zero() -> Found:
    shown, falls = [], True
    for name, noise in (
        ("Gaussian, sigma = 1, 0.2, 0.1", [sd.Gaussian(sigma=s) for s in (1.0, 0.2, 0.1)]),
        ("Laplace, eps0 = 2, 8, 14", [sd.Laplace(eps0=e) for e in (2.0, 8.0, 14.0)]),
    ):
        found = [_chi(one) for one in noise]
        falls = falls and found[0] > found[1] > found[2] and found[2] < 0.01 * found[0]
        shown.append(f"{name}: {numbers(found, 3)}")
    return Found("; ".join(shown), says(falls))


@row("Lemma 3.2", "leading term of the blanket's delta", "phi(chi eps sqrt(n))/(chi^3 eps^2 n^1.5)")
def _leading() -> Found:
    """The term over the certified delta of the blanket, ever further in the tail."""
    n, over = 10**8, []
    acc, chi = sd.shuffle(TEN, n=n), _chi(TEN)
    for tail in (2.0, 4.0, 6.0, 8.0):
        epsilon = tail / (chi * math.sqrt(n))
        term = math.exp(-tail * tail / 2) / math.sqrt(2 * math.pi) / (chi**3 * epsilon**2 * n**1.5)
        over.append(term / acc.delta(epsilon=epsilon, analysis="blanket").upper)
    words = (
        f"term over the blanket's delta {numbers(over)} where chi eps sqrt(n) = 2, 4, 6, 8 "
        "(10-RR, eps0 = 2, n = 1e8)"
    )
    off = [abs(ratio - 1) for ratio in over]
    tends = sorted(off, reverse=True) == off and off[-1] < 0.05
    return Found(words, says(tends, yes="holds as a limit; no bound"))


@row(
    "Thm 3.4", "eps at delta = 0.01/n (rebuilt)",
    "sqrt(2 W0(sqrt(n)/(2 sqrt(2 pi) alpha chi)))/(chi sqrt(n))",
)  # fmt: skip
def _explicit() -> Found:
    alpha, ratios, chi = 0.01, [], _chi(TEN)
    for n in (10**4, 10**6, 10**8):
        inside = math.sqrt(n) / (2 * math.sqrt(2 * math.pi) * alpha * chi)
        said = math.sqrt(2 * float(lambertw(inside).real)) / (chi * math.sqrt(n))
        ratios.append(
            said / sd.shuffle(TEN, n=n).epsilon(delta=alpha / n, analysis="blanket").upper
        )
    off = [abs(ratio - 1) for ratio in ratios]
    words = f"formula over the certified blanket {numbers(ratios)} at n = 1e4, 1e6, 1e8"
    near = sorted(off, reverse=True) == off
    return Found(f"{words} (10-RR, eps0 = 2)", says(near, yes="holds as a limit; no bound"))


def indices_meet(randomizer: sd.Randomizer) -> bool:
    """Whether both shuffle indices are equal: the condition of their Theorem 3.7.

    For some pair that attains the lower one, some x2 has the blanket's density R_x2 = inf_x R_x
    wherever R_x0 and R_x1 differ. Searched are the worst pairs and the datasets.
    """
    low = _chi(randomizer)
    for x0, x1, x2 in randomizer.datasets():
        ours = chi_of(randomizer, (x0, x1), None)
        # The blanket is below R_x2, and the same wherever that counts if this is the same.
        if ours <= low * (1.0 + SAME) and chi_of(randomizer, (x0, x1), x2) <= ours * (1.0 + SAME):
            return True
    return False


@row(
    "Thm 3.7", "chi_lo = chi_up",
    "k-RR (k >= 3), local hashing, PrivUnit with small caps; not Laplace, Gaussian",
)  # fmt: skip
def _equal() -> Found:
    """Both indices are equal where the theorem says so, and nowhere else of these."""
    equal = {
        "3-RR": sd.KRR(k=3, eps0=2.0),
        "local hashing, l = 8": sd.LocalHash(domain=64, l=8, eps0=2.0),
        "PrivUnit, c = 0.01": sd.PrivUnit(d=5, c=0.01, eps0=2.0),
    }
    other = {"Laplace": sd.Laplace(eps0=2.0), "Gaussian": sd.Gaussian(sigma=1.0)}
    words = ", ".join(f"{name} {number(_ratio(r))}" for name, r in (equal | other).items())
    wrong = [name for name, r in equal.items() if not indices_meet(r)]
    wrong += [name for name, r in other.items() if indices_meet(r)]
    no = f"does not for {' and '.join(wrong)}: its condition fails"
    return Found(f"chi_lo/chi_up, eps0 = 2, sigma = 1: {words}", says(not wrong, no))


# --------------------------------------------------------------------------------- figures


def _apart(randomizer: sd.Randomizer, n: int) -> tuple[float, float]:
    """eps of the blanket over the lower end, and of the default upper end."""
    acc = sd.shuffle(randomizer, n=n, rtol=1e-4)
    bound = acc.epsilon(delta=0.01 / n)
    blanket = acc.epsilon(delta=0.01 / n, analysis="blanket").upper
    return blanket / bound.lower - 1, bound.upper / bound.lower - 1


@row("Fig. 4a", "k-RR: upper and lower end", "indistinguishable")
def _fig4a_krr() -> Found:
    found = [_apart(TEN, n)[0] for n in (10**3, 10**4, 10**6)]
    words = f"{span(found)} apart (10-RR, eps0 = 2, n = 1e3, 1e4, 1e6, delta = 0.01/n)"
    return Found(words, says(max(found) < VISIBLE))


@row("Fig. 4a", "Gaussian: upper and lower end", "a visible, narrow band", slow=True)
def _fig4a_gauss() -> Found:
    found = (_apart(sd.Gaussian(sigma=1.0), n) for n in (10**4, 10**5, 10**6))
    blanket, ours = zip(*found, strict=True)
    words = f"blanket {span(blanket)}, ours {span(ours)} above the lower end"
    visible = says(min(blanket) > VISIBLE, "does not: not visible")
    if max(blanket) > NARROW:
        visible = f"visible, but {percent(max(blanket))} is not narrow"
    closed = "; label stealing closes it" if max(ours) < VISIBLE else ""
    at = "(sigma = 1, n = 1e4, 1e5, 1e6, delta = 0.01/n)"
    return Found(f"{words} {at}", f"{visible}{closed}")


@row(
    "Fig. 4b", "Gaussian by (eps0, delta0), against directly",
    "no amplification, then several times larger", slow=True,
)  # fmt: skip
def _fig4b() -> Found:
    words, none, ratio = [], {}, math.inf
    for n in (10**3, 10**4, 10**6):
        acc = sd.shuffle(sd.Gaussian(sigma=4.0), n=n, rtol=1e-3)
        formula = rows.upper_of(acc, "fmt-3.8", 0.01 / n)
        none[n] = formula >= acc.epsilon(delta=0.01 / n, analysis="local").upper
        ratio = formula / acc.epsilon(delta=0.01 / n).upper
        found = "none" if none[n] else f"{number(ratio, 3)} times ours"
        words.append(f"n = {rows.short(n)}: {found}")
    holds = none[10**3] and not none[10**6] and ratio > 2
    shown = f"sigma = 4, delta = 0.01/n, {'; '.join(words)}"
    return Found(shown, says(holds, "holds in part"))


LINEAR = 1.25  # ours: the factor within which a width is flat, or follows eta


def _flat(values: list[float]) -> bool:
    return max(values) <= LINEAR * min(values)


def _brackets(settings: list[tuple[int, float]]) -> tuple[str, list[float], list[int]]:
    """The certified FFT of 10-RR at the eps of delta = 1e-4, for n users and a width asked for."""
    found = []
    for n, width in settings:
        epsilon = sd.shuffle(TEN, n=n).epsilon(delta=1e-4, analysis="blanket").upper
        found.append(fft_bracket(blanket_pair(TEN, 0, 1, n=n), epsilon=epsilon, width=width))
    widths = [bracket.high / bracket.low - 1 for bracket in found]
    points = [bracket.points for bracket in found]
    words = zip(settings, widths, points, strict=True)
    shown = "; ".join(f"n = {n:,}: {percent(w)} wide, {m:,} points" for (n, _), w, m in words)
    return shown, widths, points


@row("Fig. 4c", "FFT: error over eta", "falls linearly, time like a power of 1/eta", slow=True)
def _fft_width() -> Found:
    etas = (0.4, 0.2, 0.1)
    shown, widths, points = _brackets([(1000, eta) for eta in etas])
    words = f"10-RR, eps0 = 2, at delta = 1e-4, eta = 0.4, 0.2, 0.1: {shown}"
    falls = sorted(widths, reverse=True) == widths and sorted(points) == points
    no = says(falls, yes="falls, not linearly: our grids are powers of two")
    return Found(words, says(_flat([w / eta for w, eta in zip(widths, etas, strict=True)]), no))


@row("Fig. 4d", "FFT: over n at fixed eta", "flat error, time near linear", slow=True)
def _fft_users() -> Found:
    shown, widths, points = _brackets([(n, 0.4) for n in (100, 300, 1000, 3000)])
    words = f"10-RR, eps0 = 2, at delta = 1e-4, eta = 0.4: {shown}"
    linear = 1 / 2 <= points[-1] / points[0] / 30 <= 2
    later = says(_flat(widths[1:]), yes="does not at n = 100; flat from n = 300 on")
    return Found(words, says(_flat(widths), later, says(linear, "flat; grid not linear")))


# ------------------------------------------------- moments, values uniform on [0, 1], our settings

# Deviations of the noise, equal to the error of the mean times sqrt(n).
DEVIATIONS = (0.5, 0.7, 1.0, 1.4, 2.0, 3.0, 4.5)
SHAPES = (1.0, 1.5, 2.0, 3.0)


def _scale(shape: float, deviation: float) -> float:
    return deviation * math.sqrt(math.gamma(1 / shape) / math.gamma(3 / shape))


def _of_shape(shape: float, deviation: float) -> float:
    return _chi(sd.GeneralizedGaussian(shape=shape, scale=_scale(shape, deviation)))


def deviation_of_krr(k: int, eps0: float) -> float:
    """Root of the mean variance of one k-RR report's estimate, values uniform on [0, 1].

    A value is rounded at random, unbiased, to one of k even steps; a report y is the step with
    probability t = (E - 1)/(E + k - 1), else any of them, and (y - (1 - t)/2)/t is unbiased.
    """
    steps = np.linspace(0.0, 1.0, k)
    t = math.expm1(eps0) / (math.exp(eps0) + k - 1)
    x = (np.arange(4000) + 0.5) / 4000
    place = np.minimum((x * (k - 1)).astype(int), k - 2)
    up = x * (k - 1) - place
    second = (1 - up) * steps[place] ** 2 + up * steps[place + 1] ** 2
    square = t * second + (1 - t) * float(np.mean(steps**2))
    mean = t * x + (1 - t) / 2
    return math.sqrt(float(np.mean(square - mean**2))) / t


def _chi_of_krr(k: int, deviation: float) -> float:
    """chi of k-RR, in closed form, at the eps0 whose error is this."""
    eps0 = float(brentq(lambda e: deviation_of_krr(k, e) - deviation, 1e-3, 30.0))
    E = math.exp(eps0)
    return math.sqrt((E + k - 1) / 2) / (E - 1)


def later_errors(shape: float, deviation: float) -> tuple[float, float]:
    """Errors times sqrt(n) of the variance and the third central moment, from the noisy reports.

    Over the noise alone, as the mean's: y = x + z, x uniform on [0, 1] and fixed, z symmetric. z's
    own part is known and subtracted, so the plug-in estimates have the influence functions
    f = (y - m)^2 and (y - m)^3 - 3 v (y - m), m the mean and v the variance of y; errors are the
    roots of E f^2 - E (E[f | x])^2.
    """
    x = [1.0, 0.0, 1 / 12, 0.0, 1 / 80, 0.0, 1 / 448]  # central moments of uniform values
    scale = _scale(shape, deviation)
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


@row("Fig. 4e", "at equal error of the mean, k-RR's chi_lo", "the largest", slow=True)
def _mean() -> Found:
    over = [
        max(_chi_of_krr(k, deviation) for k in (3, 4, 6, 10))
        / max(_of_shape(shape, deviation) for shape in SHAPES)
        for deviation in DEVIATIONS
    ]
    words = f"{factors(over)} times the best of four shapes (values uniform, our settings)"
    return Found(words, says(min(over) > 1))


@row(
    "section 5.3", "errors of variance and third moment",
    "the Gaussian's the smallest over a wide range",
)  # fmt: skip
def _moments() -> Found:
    found = [
        np.divide(later_errors(3.0, deviation), later_errors(2.0, deviation))
        for deviation in DEVIATIONS
    ]
    second, third = (span(column, number) for column in zip(*found, strict=True))
    words = (
        f"shape 3's are {second} and {third} times the Gaussian's, Laplace's and shape 1.5's "
        "larger (values uniform, our settings)"
    )
    best = bool(np.max(found) < 1.0)
    return Found(words, says(not best, "does not at equal error of the mean: shape 3 is better"))


@row("Fig. 5a", "chi_lo over the shape at equal variance", "rises to the Gaussian, then falls",
     slow=True)  # fmt: skip
def _shapes() -> Found:
    words, best = [], []
    for sigma in (1.0, 20.0):
        found = {shape: _of_shape(shape, sigma) / sigma for shape in SHAPES}
        best.append(max(found, key=found.__getitem__))
        shown = ", ".join(f"{number(v, 3)} at {s:g}" for s, v in found.items())
        words.append(f"deviation {sigma:g}: {shown}")
    much = says(best[1] == 2.0, yes="holds for much noise")
    no = f"{much}; at deviation 1 the largest is at shape {best[0]:g}"
    return Found(f"chi_lo/deviation by shape, {'; '.join(words)}", says(best == [2.0, 2.0], no))
