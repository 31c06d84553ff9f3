"""Random laws of (a, b) over many magnitudes, and their E[S]_+ by three oracles of their own.

Balls throughout (python-flint), none of the library's code: all count vectors where they are few;
count vectors with few messages outside the left-over where n is huge and those are rare; and the
contour integral with its own error terms where many messages count (``contour_truth``).
"""

import math
import random
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import acb, arb, ctx

from divergence.oracle import ball, exponential
from shuffledp.pair import ShuffledPair

U = 2.0**-53
PRECISION = 700


@dataclass(frozen=True)
class Case:
    """A pair of floats, the exact law it stands for, and an eps."""

    pair: ShuffledPair
    atoms: list[tuple[Fraction, Fraction, Fraction]]
    epsilon: float

    @property
    def n(self) -> int:
        return self.pair.n


def split(rng: random.Random, parts: int, decades: float) -> list[Fraction]:
    """Random exact probabilities that sum to one, over so many powers of ten."""
    raw = [Fraction(10.0 ** rng.uniform(-decades, 0.0)) for _ in range(parts)]
    total = sum(raw)
    return [x / total for x in raw]


def random_case(
    rng: random.Random,
    *,
    atoms: int,
    n: int,
    gamma: float = 1.0,
    decades: float = 1.0,
    reach: float = 3.0,
    rel: float = 2 * U,
    outside: float = 0.0,
    epsilon: float | None = None,
) -> Case:
    """A pair with ratios within e^+-reach (about) and masses over so many decades.

    ``rel``: every float is moved off the exact number by up to it.
    """
    w = [Fraction(gamma) * x for x in split(rng, atoms, decades)]
    if gamma == 1.0 and rng.random() < 0.5:
        w = [x / (1 + Fraction(rng.random()) / 4) for x in w]
    rows = []
    for _ in range(2):
        raw = [x * Fraction(math.exp(rng.uniform(-reach, reach))) for x in w]
        if rng.random() < 0.2:
            raw[rng.randrange(atoms)] = Fraction(0)
        if not any(raw):
            raw[0] = w[0]
        kept = 1 - Fraction(outside) * Fraction(rng.random()) if outside else Fraction(1)
        total = sum(raw)
        rows.append([kept * x / total for x in raw])
    a, b = ([p / x for p, x in zip(row, w, strict=True)] for row in rows)
    if epsilon is None:
        tops = [float(x / y) for x, y in zip(a, b, strict=True) if y]
        top = math.log(max([*tops, 1e-12]))
        top = 3.0 if any(x and not y for x, y in zip(a, b, strict=True)) else max(top, 0.0)
        epsilon = rng.choice([0.0, rng.uniform(0.0, top), rng.uniform(0.9, 1.0) * top])
        epsilon = min(epsilon, 60.0)

    def moved(values: list[Fraction]) -> np.ndarray:
        exact = [float(x) for x in values]
        if rel <= 4 * U:
            return np.array(exact)
        style = rng.choice(["random", "up", "down"])
        push = {"random": lambda: rng.uniform(-1, 1), "up": lambda: 1.0, "down": lambda: -1.0}
        return np.array([x * (1.0 + 0.999 * rel * push[style]()) for x in exact])

    left = 1 - sum(w)
    lost = [1 - sum(row) for row in rows]
    pair = object.__new__(ShuffledPair)  # moved sums are further from one than the class allows
    fields = {
        "w": moved(w),
        "a": moved(a),
        "b": moved(b),
        "n": n,
        "outside": np.array([moved(lost)]) if any(lost) else np.zeros((0, 2)),
        "tail": (0.0, 0.0),
        "tail_doubt": (0.0, 0.0),
        "rel": rel,
        "leftover": (float(left), 2 * U * float(left)),
        "ranges": None,
    }
    for name, value in fields.items():
        object.__setattr__(pair, name, value)
    return Case(pair, list(zip(w, a, b, strict=True)), epsilon)


def pair_of(atoms, n: int, *, outside: np.ndarray | None = None, rel: float = 2 * U):
    """The nearest floats of exact atoms (w, a, b); what P and Q lack is outside."""
    lost = [1 - sum(t[0] * t[i] for t in atoms) for i in (1, 2)]
    if outside is None:
        outside = np.array([[float(x) for x in lost]]) if any(lost) else np.zeros((0, 2))
    left = float(1 - sum(t[0] for t in atoms))
    pair = object.__new__(ShuffledPair)
    for name, value in {
        "w": np.array([float(t[0]) for t in atoms]),
        "a": np.array([float(t[1]) for t in atoms]),
        "b": np.array([float(t[2]) for t in atoms]),
        "n": n,
        "outside": outside,
        "tail": (0.0, 0.0),
        "tail_doubt": (0.0, 0.0),
        "rel": rel,
        "leftover": (left, 2 * U * left),
        "ranges": None,
    }.items():
        object.__setattr__(pair, name, value)
    return pair


# ------------------------------------------------------------------------- all count vectors


def _vectors(kinds: int, total: int):
    if kinds == 1:
        yield (total,)
        return
    for c in range(total + 1):
        for rest in _vectors(kinds - 1, total - c):
            yield (c, *rest)


def _part(atoms, alpha: arb, n: int, messages: int) -> arb:
    """E[S_+; exactly so many messages outside the left-over]."""
    gains = [ball(a) - alpha * ball(b) for _, a, b in atoms]
    powers = []
    for w, _, _ in atoms:
        row, term = [arb(1)], arb(1)
        for c in range(1, messages + 1):
            term = term * ball(w) / c
            row.append(term)
        powers.append(row)
    left = ball(1 - sum((w for w, _, _ in atoms), Fraction(0)))
    front = left ** (n - messages) if n > messages else arb(1)
    for i in range(messages):
        front *= n - i
    total = arb(0)
    for counts in _vectors(len(atoms), messages):
        s = sum((c * g for c, g in zip(counts, gains, strict=True)), arb(0))
        if not s > 0:
            if not s <= 0 and float(s.rad()) > 1e-100:
                raise ArithmeticError("sign of a sum not decided")
            continue
        term = s
        for row, c in zip(powers, counts, strict=True):
            term = term * row[c]
        total += term
    return front * total


def counted_truth(atoms, n: int, epsilon: float, *, most: int | None = None) -> tuple[arb, arb]:
    """Balls below and above E[S]_+: all count vectors, or those of at most ``most`` messages."""
    old, ctx.prec = ctx.prec, PRECISION
    try:
        alpha = ball(epsilon).exp()
        left = 1 - sum((w for w, _, _ in atoms), Fraction(0))
        first = n if left == 0 else 0
        last = n if most is None else min(n, most)
        total = sum((_part(atoms, alpha, n, m) for m in range(first, last + 1)), arb(0))
        rest = arb(0)
        if last < n:
            # E[S_+; more messages] <= n g P(at least ``last`` of the other n - 1), union bound.
            share = n * ball(1 - left)
            top = max((float(ball(a) - alpha * ball(b)) for _, a, b in atoms), default=0.0)
            rest = share * max(top, 0.0) * 1.01 * share**last / arb(last).fac()
        return total, total + rest
    finally:
        ctx.prec = old


# ---------------------------------------------------------------------------- the contour


def contour_truth(atoms, n: int, epsilon: float, *, rel: float = 1e-9) -> tuple[arb, arb] | None:
    """Balls around E[S]_+ by the trapezoidal rule, smoothed so little that it does not show.

    Far from the axis |phi| < 1 is read off a grid in floats, with the law's Lipschitz constant
    and a margin far above rounding; None where it comes back near 1 (lattices).
    """
    old, ctx.prec = ctx.prec, 200
    try:
        return _contour_truth(atoms, n, epsilon, rel)
    finally:
        ctx.prec = old


def _contour_truth(atoms, n, epsilon, rel):
    alpha_e = ball(epsilon).exp()
    w = [ball(x) for x, _, _ in atoms]
    g = [ball(a) - alpha_e * ball(b) for _, a, b in atoms]
    wf, gf = np.array([float(x) for x in w]), np.array([float(x) for x in g])
    alpha = _saddle(wf, gf, n)
    if alpha is None:
        return None
    span = float(gf.max(initial=0.0) - gf.min(initial=0.0))
    rest = max(0.0, 1.0 - float(wf.sum()))
    m = rest + float((wf * np.exp(alpha * gf)).sum())
    share = wf * np.exp(alpha * gf) / m
    mean = float((share * gf).sum())
    deviation = math.sqrt(float((share * (gf - mean) ** 2).sum()) + rest / m * mean**2)
    spread = math.sqrt(n) * deviation
    # Where the middle zone has made |phi|^n negligible, and where the smoothing takes over.
    near = 14.0 / spread * math.pi / 2
    if near * span > math.pi:
        return None
    far = 15.0 * alpha / math.sqrt(rel)
    gains, masses = np.append(gf, 0.0) - mean, np.append(share, rest / m)
    largest = _largest_modulus(gains, masses, deviation, n, math.pi / span, far)
    if largest is None:
        return None
    a, h = arb(alpha), arb(15.0) / arb(far)
    period = 60.0 / alpha + 40.0 * spread
    delta = 2 * arb.pi() / arb(period)
    nodes = int(near / float(delta)) + 1
    scale = _moment(w, g, acb(a)).real
    total = arb(0)
    for j in range(nodes + 1):
        s = acb(a, j * delta)
        value = (_moment(w, g, s) / scale) ** n * (h * h * s * s / 2).exp() / s**2
        total += value.real * (1 if j == 0 else 2)
    total *= delta / (2 * arb.pi())
    # Omitted nodes, in units of M(alpha)^n: middle zone, far grid, smoothing.
    edge = nodes * delta
    middle = (-2 * n * (edge * arb(deviation) * 0.999 / arb.pi()) ** 2).exp()
    outer = arb(largest) ** n if largest > 0 else arb(0)
    lift = (h * h * a * a / 2).exp() / arb.pi()
    kernel = 1 / (a * a + edge * edge) + h * h
    cut = (
        lift * kernel * ((middle + outer) * (arb(far) + delta) + (-arb(112)).exp() * (far + delta))
    )
    # Smoothing: psi_h - x_+ <= h phi(x/h), whose transform is h^2 e^{h^2 s^2/2}: same nodes.
    bell = arb(0)
    for j in range(nodes + 1):
        s = acb(a, j * delta)
        value = (_moment(w, g, s) / scale) ** n * h * h * (h * h * s * s / 2).exp()
        bell += value.real * (1 if j == 0 else 2)
    bell *= delta / (2 * arb.pi())
    front = scale**n
    alias = arb(0)
    for beta in (0.5 * alpha, 1.5 * alpha):
        best = None
        for factor in (0.1, 0.3, 0.6, 0.9) if beta < alpha else (1.1, 1.3, 1.7, 2.5):
            point = arb(alpha * factor)
            fall = (-abs(point - a) * arb(period)).exp()
            moment = _moment(w, g, acb(point)).real ** n / front
            term = moment / (arb(1).exp() * point) * fall / (1 - fall)
            best = term if best is None or term < best else best
        alias += best
    upper = front * (total + cut)
    lower = front * (total - bell - cut - alias)
    return lower, upper


def _moment(w, g, s):
    return 1 + sum((p * ((s * x).exp() - 1) for p, x in zip(w, g, strict=True)), acb(0))


def _largest_modulus(gains, masses, deviation, n, near, far):
    """Upper bound of sup |phi| on [near, far], in steps that |phi'| <= deviation allows."""
    t, top = near, 0.0
    for _ in range(30_000):
        if t >= far:
            return top
        gap = 1.0 - abs(complex((masses * np.exp(1j * t * gains)).sum())) - 1e-10
        if n * gap < 240.0:
            return None
        top = max(top, 1.0 - 0.5 * gap)
        t += 0.5 * gap / deviation
    return None


def _saddle(w, g, n):
    """alpha with alpha n E_tilted G = 2, by bisection in logs; None where there is none."""
    if not (g.max(initial=0.0) > 0.0 > g.min(initial=0.0)):
        return None
    rest = max(0.0, 1.0 - float(w.sum()))

    def excess(theta):
        alpha = math.exp(theta)
        if alpha * g.max() > 600.0:
            return 1.0
        rise = w * np.exp(alpha * g)
        return alpha * n * float((rise * g).sum()) / (float(rise.sum()) + rest) - 2.0

    low, high = -60.0, math.log(600.0 / float(g.max()))
    if excess(high) < 0.0:
        return None
    for _ in range(80):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if excess(middle) < 0.0 else (low, middle)
    return math.exp(low)


__all__ = [
    "Case",
    "contour_truth",
    "counted_truth",
    "exponential",
    "pair_of",
    "random_case",
    "split",
]
