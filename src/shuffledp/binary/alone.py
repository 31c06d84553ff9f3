"""One bit with noise and nobody else: a bound of every data set's divergence, in closed form.

With z the masses of the noise, alpha = v0 - e^eps v1 > 0 and b = e^eps - 1 (docs/theory-sums.md,
Lemma 6.5)

    D = max_{j >= 0} F_j,   F_j = alpha z(j) - b P(Z > j),

which is at least that among any others, and that itself where no other's bit is random. For
discrete Laplace noise F_0 = (alpha (1 - r) - b r)/(1 + r) is the largest; for discrete Gaussian
noise j is next to sigma^2 log (1 + b/alpha) - 1/2. All in logs: where noise is next to nothing
e^eps and 1/z(1) leave the range of floats. Of wide normal noise nothing is said here.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

from shuffledp.binary.noise import AddedNoise
from shuffledp.pair import UNIT_ROUNDOFF

__all__ = ["Alone", "log_alone"]

U = UNIT_ROUNDOFF
# Gaussian noise no wider than that: then 48 masses are 24 deviations, and the best j is at most
# sigma^2 log 2 < 3 from where a search starts.
_WIDEST = 2.0
# F_j is looked at from two before the first that can be positive, and so many; masses beyond j
# are added up, so many of them.
_BEFORE, _LOOKED, _SUMMED = 2, 8, 48
# The sum of all weights, each to 1e-14 relatively, and what is left out beyond 12 deviations.
_WHOLE = 1e-13


class Alone(NamedTuple):
    """Lower and upper bound of log D of one noisy bit; -inf for 0."""

    log_low: float
    log_high: float


def log_alone(noise: AddedNoise, alpha: tuple[float, float], log_b: tuple[float, float]) -> Alone:
    """Both ends of log D, for all alpha and b in their brackets.

    Parameters
    ----------
    noise : AddedNoise
        What is added to the bit.
    alpha : tuple of float
        Lower and upper bound of v0 - e^eps v1; the upper one above 0.
    log_b : tuple of float
        Lower and upper bound of log(e^eps - 1), -inf at eps = 0.
    """
    if noise.kind == "discrete-gaussian" and noise.scale > _WIDEST:
        return Alone(-math.inf, 0.0)
    low = -math.inf
    found = _laplace if noise.kind == "discrete-laplace" else _gaussian
    if alpha[0] > 0.0:
        low = found(noise.scale, math.log(alpha[0]), log_b[1], up=False)
    return Alone(low, min(found(noise.scale, math.log(alpha[1]), log_b[0], up=True), 0.0))


def _difference(log_first: float, log_ratio: float, err: float, *, up: bool) -> float:
    """log (A - B) with log A and log B/A known to ``err``; -inf where nothing is left."""
    ratio = log_ratio - err if up else log_ratio + err
    if ratio >= 0.0:
        return -math.inf
    value = log_first + math.log(-math.expm1(ratio))
    more = err + 8 * U * (1.0 + abs(value) + abs(log_first))
    return value + more if up else value - more


def _laplace(scale: float, log_alpha: float, log_b: float, *, up: bool) -> float:
    """log [alpha (1 - r) - b r]/(1 + r), r = e^(-1/t)."""
    rate = 1.0 / scale
    log_left = math.log(-math.expm1(-rate))
    first = log_alpha + log_left - math.log1p(math.exp(-rate))
    ratio = log_b - rate - log_left - log_alpha
    err = 16 * U * (1.0 + abs(log_alpha) + 2.0 * abs(log_left) + rate)
    return _difference(first, ratio, err + _size(log_b), up=up)


def _size(log_b: float) -> float:
    return 16 * U * abs(log_b) if math.isfinite(log_b) else 0.0


def _gaussian(sigma: float, log_alpha: float, log_b: float, *, up: bool) -> float:
    """The largest log F_j, z(j) = e^(-j^2/(2 sigma^2))/N."""
    half, log_whole = 0.5 / (sigma * sigma), _log_whole(sigma)
    start = 0
    if math.isfinite(log_b):
        # F_j <= alpha z(j) - b z(j + 1) <= 0 while (2j + 1)/(2 sigma^2) <= log b/alpha.
        start = max(math.floor(0.5 * ((log_b - log_alpha) / half - 1.0)) - _BEFORE, 0)
    best = -math.inf
    for j in range(start, start + _LOOKED):
        first = log_alpha - half * j * j - log_whole
        ratio = log_b - log_alpha + _log_beyond(half, j, up=up)
        err = _WHOLE + 16 * U * (
            1.0 + abs(log_alpha) + half * (j + 2.0) ** 2 + 2.0 * abs(log_whole)
        )
        best = max(best, _difference(first, ratio, err + _size(log_b), up=up))
    if up:
        # Every later F_j is at most alpha z(j).
        j = start + _LOOKED
        rest = log_alpha - half * j * j - log_whole
        best = max(best, rest + _WHOLE + 16 * U * (1.0 + abs(rest) + abs(log_alpha)))
    return best


def _log_beyond(half: float, j: int, *, up: bool) -> float:
    """log P(Z > j)/z(j): the first masses; and, from above, all others as a geometric series."""
    ratios = [math.exp(-half * i * (2.0 * j + i)) for i in range(1, _SUMMED + 1)]
    total = math.fsum(ratios)
    if not up:
        share = math.exp(-half * (2.0 * (j + _SUMMED) + 1.0))
        total += 1.01 * ratios[-1] * share / -math.expm1(-half * (2.0 * (j + _SUMMED) + 1.0))
    if total > 1e-290:
        # Exponents below 700 to 4 u of themselves.
        return math.log(total) - (1e-12 if up else -1e-12)
    # z(j + 1)/z(j) alone, or less than twice it: later masses are smaller by e^-600.
    return -half * (2.0 * j + 1.0) + (0.0 if up else math.log(2.0))


@lru_cache(maxsize=64)
def _log_whole(sigma: float) -> float:
    """log of the sum of e^(-z^2/(2 sigma^2)) over the integers."""
    reach = math.ceil(13.0 * sigma) + 3
    half = 0.5 / (sigma * sigma)
    return math.log1p(2.0 * math.fsum(math.exp(-half * z * z) for z in range(1, reach + 1)))
