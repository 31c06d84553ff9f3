"""Analysis of Shuffling Beyond Pure Local DP, 2026: its limits and the claims of its figures.

The text at hand has no numbers. Limits marked "rebuilt" are ours, from its words and proofs.
"""

from __future__ import annotations

import math

import shuffledp as sd
from papers.printed.algorithms import fft_bracket
from papers.printed.items import Item
from papers.printed.kit import Found, number, percent, row, span
from shuffledp.laws.pairs import blanket_pair
from shuffledp.published.limits import chi_of

SAME = 1e-6  # relative difference of two indices that are equal
FAR = {"small": 1e-3, "large": 12.0}  # eps0 at which limits are looked at
DELTA = 1e-6


def _chi(randomizer: sd.Randomizer) -> tuple[float, float]:
    found = sd.shuffle_index(randomizer)
    return found.lower.value, found.upper.value


def _indices_meet(randomizer: sd.Randomizer) -> bool:
    """Whether both shuffle indices are equal: the condition of their Theorem 3.7.

    For some pair that attains the lower one, some x2 has the blanket's density R_x2 = inf_x R_x
    wherever R_x0 and R_x1 differ. Searched are the worst pairs and the datasets.
    """
    low = sd.shuffle_index(randomizer).lower.value
    for x0, x1, x2 in randomizer.datasets():
        ours = chi_of(randomizer, (x0, x1), None)
        # The blanket is below R_x2, and the same wherever that counts if this is the same.
        if ours <= low * (1.0 + SAME) and chi_of(randomizer, (x0, x1), x2) <= ours * (1.0 + SAME):
            return True
    return False


@row("index-drawings")
def _drawings() -> Found:
    return Found("-", "nothing to compute")


@row("index-numbers")
def _numbers() -> Found:
    return Found("-", "not comparable: no number of its figures can be read anywhere")


def _limit(ours: float, theirs: float, where: str) -> Found:
    near = abs(ours / theirs - 1.0)
    words = f"{number(ours, 5)}, limit {number(theirs, 5)} ({where})"
    return Found(words, "holds" if near < 0.02 else f"does not: {percent(near)} off")


@row("index-krr")
def _krr_high(item: Item) -> Found:
    e = FAR["small"]
    assert callable(item.value)
    return _limit(_chi(sd.KRR(k=10, eps0=e))[0], item.value(e, 10), "10-RR, eps0 = 0.001")


@row("index-krr-low")
def _krr_low(item: Item) -> Found:
    e = FAR["large"]
    assert callable(item.value)
    return _limit(_chi(sd.KRR(k=10, eps0=e))[0], item.value(e), "10-RR, eps0 = 12")


def _ratio(randomizer: sd.Randomizer) -> float:
    low, high = _chi(randomizer)
    return low / high


@row("index-rr2-high", "index-rr2")
def _binary(item: Item) -> Found:
    e = FAR["small" if item.key.endswith("high") else "large"]
    assert isinstance(item.value, float)
    return _limit(_ratio(sd.KRR(k=2, eps0=e)), item.value, f"2-RR, eps0 = {e:g}")


@row("index-rr3")
def _three(item: Item) -> Found:
    found = [_ratio(sd.KRR(k=k, eps0=e)) for k in (3, 10) for e in (0.1, 2.0, 8.0)]
    assert isinstance(item.value, float)
    return _limit(min(found), item.value, "least of 3-RR and 10-RR at eps0 = 0.1, 2, 8")


@row("index-laplace-high")
def _laplace(item: Item) -> Found:
    e = 0.01  # scale 1/eps0, deviation sqrt(2)/eps0
    assert isinstance(item.value, float)
    chi = _chi(sd.Laplace(eps0=e))[0]
    return _limit(chi * e / math.sqrt(2.0), item.value, "deviation 141")


@row("index-gauss-high")
def _gauss(item: Item) -> Found:
    assert isinstance(item.value, float)
    return _limit(_chi(sd.Gaussian(sigma=50.0))[0] / 50.0, item.value, "sigma = 50")


@row("index-noise-high")
def _noise_high(item: Item) -> Found:
    found = min(_ratio(sd.Gaussian(sigma=50.0)), _ratio(sd.Laplace(eps0=0.01)))
    assert isinstance(item.value, float)
    return _limit(found, item.value, "the lesser of Gaussian and Laplace")


@row("index-noise-low")
def _noise_low(item: Item) -> Found:
    found = (_ratio(sd.Gaussian(sigma=0.2)), _ratio(sd.Laplace(eps0=14.0)))
    assert isinstance(item.value, float)
    far = max(found, key=lambda r: abs(r - math.sqrt(0.5)))
    return _limit(far, item.value, "Gaussian, sigma = 0.2; Laplace, eps0 = 14")


@row("index-noise-zero")
def _noise_zero() -> Found:
    shown, falls = [], True
    for name, noise in (
        ("Gaussian, sigma = 1, 0.2, 0.1", [sd.Gaussian(sigma=s) for s in (1.0, 0.2, 0.1)]),
        ("Laplace, eps0 = 2, 8, 14", [sd.Laplace(eps0=e) for e in (2.0, 8.0, 14.0)]),
    ):
        found = [_chi(r)[0] for r in noise]
        falls = falls and found[0] > found[1] > found[2] and found[2] < 0.01 * found[0]
        shown.append(f"{name}: {', '.join(number(x, 3) for x in found)}")
    return Found("; ".join(shown), "holds" if falls else "does not")


@row("index-lemma32")
def _leading(item: Item) -> Found:
    """The term over the certified delta of the blanket, ever further in the tail."""
    assert callable(item.value)
    randomizer, n = sd.KRR(k=10, eps0=2.0), 10**8
    acc, chi = sd.shuffle(randomizer, n=n), _chi(randomizer)[0]
    over = []
    for tail in (2.0, 4.0, 6.0, 8.0):
        epsilon = tail / (chi * math.sqrt(n))
        delta = acc.delta(epsilon=epsilon, analysis="blanket").upper
        over.append(item.value(chi, epsilon, n) / delta)
    off = [abs(ratio - 1) for ratio in over]
    words = (
        f"term over the blanket's delta {', '.join(number(r) for r in over)} where chi eps sqrt(n) "
        "= 2, 4, 6, 8 (10-RR, eps0 = 2, n = 1e8)"
    )
    tends = sorted(off, reverse=True) == off and off[-1] < 0.05
    return Found(words, "holds as a limit; no bound" if tends else "does not")


@row("index-thm37")
def _equal() -> Found:
    """Both indices are equal where the theorem says so, and nowhere else of these."""
    equal = {
        "3-RR": sd.KRR(k=3, eps0=2.0),
        "local hashing, l = 8": sd.LocalHash(domain=64, l=8, eps0=2.0),
        "PrivUnit, c = 0.01": sd.PrivUnit(d=5, c=0.01, eps0=2.0),
    }
    other = {"Laplace": sd.Laplace(eps0=2.0), "Gaussian": sd.Gaussian(sigma=1.0)}
    found = {name: _ratio(r) for name, r in (equal | other).items()}
    words = ", ".join(f"{name} {number(r)}" for name, r in found.items())
    wrong = [name for name, r in equal.items() if not _indices_meet(r)]
    wrong += [name for name, r in other.items() if _indices_meet(r)]
    verdict = f"does not for {' and '.join(wrong)}: its condition fails" if wrong else "holds"
    return Found(f"chi_lo/chi_up, eps0 = 2, sigma = 1: {words}", verdict)


# --------------------------------------------------------------------------------- figures


VISIBLE, NARROW = 0.01, 0.1  # ours: what we call visible in a figure, and narrow


def _apart(randomizer: sd.Randomizer, n: int) -> tuple[float, float]:
    """eps of the blanket over the lower end, and of the default upper end."""
    acc = sd.shuffle(randomizer, n=n, rtol=1e-4)
    delta = 0.01 / n
    bound = acc.epsilon(delta=delta)
    blanket = acc.epsilon(delta=delta, analysis="blanket").upper
    return blanket / bound.lower - 1, bound.upper / bound.lower - 1


@row("index-fig4a-krr")
def _fig4a_krr() -> Found:
    found = [_apart(sd.KRR(k=10, eps0=2.0), n) for n in (10**3, 10**4, 10**6)]
    words = (
        f"{span([b for b, _ in found])} apart (10-RR, eps0 = 2, n = 1e3, 1e4, 1e6, delta = 0.01/n)"
    )
    return Found(words, "holds" if max(b for b, _ in found) < VISIBLE else "does not")


@row("index-fig4a-gauss", slow=True)
def _fig4a_gauss() -> Found:
    found = [_apart(sd.Gaussian(sigma=1.0), n) for n in (10**4, 10**5, 10**6)]
    blanket, ours = [b for b, _ in found], [u for _, u in found]
    words = f"blanket {span(blanket)}, ours {span(ours)} above the lower end"
    visible = "holds" if min(blanket) > VISIBLE else "does not: not visible"
    if max(blanket) > NARROW:
        visible = f"visible, but {percent(max(blanket))} is not narrow"
    closed = "; label stealing closes it" if max(ours) < VISIBLE else ""
    at = "(sigma = 1, n = 1e4, 1e5, 1e6, delta = 0.01/n)"
    return Found(f"{words} {at}", f"{visible}{closed}")


@row("index-fig4b", slow=True)
def _fig4b() -> Found:
    ratios = {}
    for n in (10**3, 10**4, 10**6):
        acc = sd.shuffle(sd.Gaussian(sigma=4.0), n=n, rtol=1e-3)
        direct = acc.epsilon(delta=0.01 / n).upper
        local = acc.epsilon(delta=0.01 / n, analysis="local").upper
        try:
            found = acc.estimate(delta=0.01 / n, analysis="fmt-3.8").value
        except sd.NotCertified:
            found = math.inf
        ratios[n] = (found / direct, found >= local)
    words = "; ".join(
        f"n = 1e{round(math.log10(n))}: " + ("none" if no else f"{number(r, 3)} times ours")
        for n, (r, no) in ratios.items()
    )
    holds = ratios[10**3][1] and not ratios[10**6][1] and ratios[10**6][0] > 2
    return Found(f"sigma = 4, delta = 0.01/n, {words}", "holds" if holds else "holds in part")


LINEAR = 1.25  # ours: the factor within which a width is flat, or follows eta
FFT_USERS = (100, 300, 1000, 3000)  # of the figure drawn here


def _brackets(settings: list[tuple[int, float]]) -> tuple[str, list[float], list[int]]:
    """The certified FFT of 10-RR at the eps of delta = 1e-4, for n users and a width asked for."""
    randomizer = sd.KRR(k=10, eps0=2.0)
    widths, points = [], []
    for n, width in settings:
        epsilon = sd.shuffle(randomizer, n=n).epsilon(delta=1e-4, analysis="blanket").upper
        pair = blanket_pair(randomizer, 0, 1, n=n)
        bracket = fft_bracket(pair, epsilon=epsilon, width=width)
        widths.append(bracket.high / bracket.low - 1)
        points.append(bracket.points)
    words = zip(settings, widths, points, strict=True)
    shown = "; ".join(f"n = {n:,}: {percent(w)} wide, {m:,} points" for (n, _), w, m in words)
    return shown, widths, points


@row("index-fig4c", slow=True)
def _fft_width() -> Found:
    etas = (0.4, 0.2, 0.1)
    shown, widths, points = _brackets([(1000, eta) for eta in etas])
    words = f"10-RR, eps0 = 2, at delta = 1e-4, eta = 0.4, 0.2, 0.1: {shown}"
    shares = [width / eta for width, eta in zip(widths, etas, strict=True)]
    if max(shares) <= LINEAR * min(shares):
        return Found(words, "holds")
    if sorted(widths, reverse=True) == widths and sorted(points) == points:
        return Found(words, "falls, not linearly: our grids are powers of two")
    return Found(words, "does not")


@row("index-fig4d", slow=True)
def _fft_users() -> Found:
    shown, widths, points = _brackets([(n, 0.4) for n in FFT_USERS])
    words = f"10-RR, eps0 = 2, at delta = 1e-4, eta = 0.4: {shown}"
    grows = points[-1] / points[0] / (FFT_USERS[-1] / FFT_USERS[0])
    linear = 1 / 2 <= grows <= 2
    if max(widths) <= LINEAR * min(widths):
        return Found(words, "holds" if linear else "flat; grid not linear")
    later = widths[1:]
    if max(later) <= LINEAR * min(later):
        return Found(words, f"does not at n = {FFT_USERS[0]}; flat from n = {FFT_USERS[1]} on")
    return Found(words, "does not")


@row("index-fig4e", slow=True)
def _mean() -> Found:
    from papers.shuffle_index_figures import figure_4e

    panel, *_ = figure_4e()
    *noise, (_, response) = panel.curves
    best = [max(column) for column in zip(*(values for _, values in noise), strict=True)]
    over = [r / b for r, b in zip(response, best, strict=True)]
    words = span(over, lambda x: number(x, 3))
    return Found(f"{words} times the best of four shapes (values uniform, our settings)",
                 "holds" if min(over) > 1 else "does not")  # fmt: skip


SHAPES = (1.0, 1.5, 2.0, 3.0)


def _of_shape(shape: float, sigma: float) -> float:
    scale = sigma * math.sqrt(math.gamma(1 / shape) / math.gamma(3 / shape))
    return _chi(sd.GeneralizedGaussian(shape=shape, scale=scale))[0] / sigma


@row("index-fig5", slow=True)
def _shapes() -> Found:
    words, best = [], []
    for sigma in (1.0, 20.0):
        found = {shape: _of_shape(shape, sigma) for shape in SHAPES}
        best.append(max(found, key=found.__getitem__))
        shown = ", ".join(f"{number(v, 3)} at {s:g}" for s, v in found.items())
        words.append(f"deviation {sigma:g}: {shown}")
    shown = f"chi_lo/deviation by shape, {'; '.join(words)}"
    if best == [2.0, 2.0]:
        return Found(shown, "holds")
    verdict = "holds for much noise" if best[1] == 2.0 else "does not"
    return Found(shown, f"{verdict}; at deviation 1 the largest is at shape {best[0]:g}")
