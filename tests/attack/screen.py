"""Many claims "delta at eps is at most this" at once, against witnesses: screened, then decided.

A witness is a finite law of ratios (w, a, b), a = P/ref and b = Q/ref with probability w, which one
pair of datasets has (or the pair a theorem says it bounds). Its divergence is (1/n) E[S]_+ with S
the sum of n independent copies of a - e^eps b. A saddle point gives that to a few per cent for all
points together; what comes near the claim is decided by the kernel's certified lower end.
"""

import math
from typing import NamedTuple

import numpy as np

from shuffledp.divergence import PairProfile
from shuffledp.errors import NotCertified
from shuffledp.pair import ShuffledPair

# log s is halved this often; its bracket is 80 wide, so that the saddle is right to 1e-12.
_HALVINGS = 46
_LARGEST = 690.0


class Claim(NamedTuple):
    """delta at ``epsilon`` among ``n`` users is at most e^log_delta, for each of the witnesses."""

    n: int
    epsilon: float
    log_delta: float
    witnesses: tuple
    about: dict


def screened(laws, n, epsilon):
    """log of about (1/n) E[S]_+ and what to allow for lattices; laws: three of (points, atoms)."""
    w, a, b = laws
    gains = a - np.exp(epsilon)[:, None] * b
    # Where nothing is lost to rounding: E[a - e^eps b] = 1 - e^eps for laws with all of P and Q.
    mean = (w * a).sum(axis=1) - np.exp(epsilon) * (w * b).sum(axis=1)
    whole = np.abs((w * a).sum(axis=1) - 1.0) + np.abs((w * b).sum(axis=1) - 1.0) < 1e-9
    mean = np.where(whole, -np.expm1(epsilon), mean)
    top = (gains * (w > 0.0)).max(axis=1)
    any_gain = top > 0.0
    top = np.where(any_gain, top, 1.0)
    high = np.log(_LARGEST / top)
    low = high - 80.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        first = _moments(w, gains, mean, np.exp(middle), n)[1]
        up = first * np.exp(middle) < 2.0
        low, high = np.where(up, middle, low), np.where(up, high, middle)
    s = np.exp(0.5 * (low + high))
    value, _, second = _moments(w, gains, mean, s, n)
    log = value - 2.0 * np.log(s) - 0.5 * np.log(2.0 * np.pi * (second + 2.0 / s**2)) - np.log(n)
    # On a lattice of step h the true sum may be above by (h s)^2/e: twice that in logarithms.
    log = np.where(any_gain, log, -np.inf)
    return log, 1.0 + 2.0 * np.log1p(s * top)


def _moments(w, gains, mean, s, n):
    """n log M(s) and its first two derivatives, M the moment generating function of one gain."""
    x = np.minimum(s[:, None] * gains, _LARGEST + 10.0)
    tilted = np.where(w > 0.0, w * np.exp(x), 0.0)
    small = np.abs(x) < 1e-2
    y = np.where(small, x, 0.0)
    curved = np.where(
        small, y * y * (0.5 + y * (1 / 6 + y * (1 / 24 + y * (1 / 120 + y / 720)))), np.expm1(x) - x
    )
    grown = np.maximum(s * mean + np.where(w > 0.0, w * curved, 0.0).sum(axis=1), -1.0 + 1e-15)
    total = 1.0 + grown
    # E[g e^{sg}] = E[g] + E[g (e^{sg} - 1)].
    first = (mean + np.where(w > 0.0, w * gains * np.expm1(x), 0.0).sum(axis=1)) / total
    second = (tilted * gains**2).sum(axis=1) / total - first**2
    return n * np.log1p(grown), n * first, n * np.maximum(second, 0.0)


def certified_low(claim, witness, width=0.05):
    """The kernel's certified lower end of log delta of one witness; -inf where it has none."""
    w, a, b = (np.array(column, dtype=float) for column in witness)
    kept = w > 0.0
    w, a, b = w[kept], a[kept], b[kept]
    rest = max(1.0 - math.fsum(w), 0.0)
    pair = ShuffledPair(w=w, a=a, b=b, n=claim.n, rel=1e-14, leftover=(rest, 1e-14))
    try:
        return PairProfile(pair).log_delta(claim.epsilon, width=width).low
    except NotCertified:
        return -math.inf


class Result(NamedTuple):
    """What an attack found: points tried, those decided by the kernel, and the claims that fail."""

    points: int
    decided: int
    nearest: float
    violations: list


def attacked(claims, *, most=4000):
    """Screen all claims, decide those that are near (the nearest ``most``)."""
    near = []
    rows = [(i, law) for i, claim in enumerate(claims) for law in claim.witnesses]
    for size in sorted({len(law[0]) for _, law in rows}):
        same = [(i, law) for i, law in rows if len(law[0]) == size]
        step = max(1, 400_000 // size)
        for first in range(0, len(same), step):
            part = same[first : first + step]
            laws = np.array([law for _, law in part], dtype=float).transpose(1, 0, 2)
            n = np.array([claims[i].n for i, _ in part], dtype=float)
            epsilon = np.array([claims[i].epsilon for i, _ in part])
            target = np.array([claims[i].log_delta for i, _ in part])
            log, slack = screened(laws, n, epsilon)
            assert not np.isnan(log).any()
            over = log - target
            near += [(float(over[j]), *part[j]) for j in np.flatnonzero(over + slack > 0.0)]
    near.sort(key=lambda entry: -entry[0])
    violations, nearest = [], -math.inf
    for _, i, law in near[:most]:
        low = certified_low(claims[i], law)
        nearest = max(nearest, low - claims[i].log_delta)
        if low > claims[i].log_delta:
            violations.append((claims[i], low))
    return Result(len(claims), len(near[:most]), nearest, violations)
