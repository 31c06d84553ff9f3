"""Numbers that the label-stealing bound leaves free, chosen in floats: nothing here certifies."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from shuffledp.pair import Array
from shuffledp.stealing.bound import Gains
from shuffledp.stealing.cases import Case
from shuffledp.stealing.measures import Measure
from shuffledp.stealing.positive_sum import LARGEST_EXPONENT, Contour

# h alpha: e^{(h alpha)^2/2} is what smoothing costs, less than 0.1 % of delta.
_SMOOTHING = 0.04
# Steps against the sum's and the payoff's scales: aliases of e^{-(2 pi/1.2)^2/2} and e^{-2 pi/0.6}.
_SUM_STEP, _PAYOFF_STEP = 1.2, 0.6
# Nodes reach 3.2/h, where e^{-h^2 t^2/2} leaves a share of 1e-4 or less.
_REACH = 3.2
_MOST_NODES = 20_000
# log alpha is met to that, in so many steps at the most: halving alone takes 20.
_NEAR, _NEWTON = 1e-4, 40


class Proposal(NamedTuple):
    """A choice, a contour for it, and about the log delta they give."""

    choice: Any
    contour: Contour
    log_delta: float


def nothing(choice: Any) -> Proposal:
    """For gains none of which is above 0: any contour will do."""
    return Proposal(choice, contour_of(1.0, 1.0), -math.inf)


def propose(case: Case, epsilon: float, log_target: float, n: int) -> Proposal | None:
    """The best of the choices worth trying; None where there is none.

    Parameters
    ----------
    case : Case
        What the bound is about.
    epsilon : float
        eps > 0 in nats.
    log_target : float
        About log delta at this eps: the empty reservoir must not matter beside it.
    n : int
        Users, the victim included.
    """
    choice = case.first(epsilon, log_target, n)
    if choice is None:
        return None
    best = estimated(case, epsilon, choice, n) or nothing(choice)
    for group in case.varied(choice, epsilon, log_target, n):
        for other in list(group(best.choice)):
            found = estimated(case, epsilon, other, n)
            if found is not None and found.log_delta < best.log_delta:
                best = found
    return best


def estimated(case: Case, epsilon: float, choice: Any, n: int) -> Proposal | None:
    """The contour for a choice, and about the log delta it gives; None where there is no saddle."""
    gains = case.gains(epsilon, choice)
    saddles = [_saddle(gains.reservoir, law, n) for law in gains.types]
    alpha, value, within = max(saddles, key=lambda found: found[1])
    if not math.isfinite(value):
        return None
    paid = _paid(gains, n)
    total = float(np.logaddexp(value, math.log(paid))) if paid > 0.0 else value
    return Proposal(choice, contour_of(alpha, within), total)


def _paid(gains: Gains, n: int) -> float:
    """Empty reservoir and outputs seen for sure."""
    mass = min(float(gains.reservoir.mass.sum()), 1.0 - 1e-16)
    tail = gains.positive * math.exp((n - 1) * math.log1p(-mass))
    return tail + gains.reservoir.lost + max(law.lost for law in gains.types)


def contour_of(alpha: float, within: float) -> Contour:
    """Nodes for a tilt alpha and a sum whose parts vary by ``within`` (a standard deviation)."""
    smoothing = _SMOOTHING / alpha
    step = min(_SUM_STEP / within if within > 0.0 else math.inf, _PAYOFF_STEP * alpha)
    nodes = min(math.ceil(_REACH / (smoothing * step)), _MOST_NODES)
    return Contour(alpha, smoothing, step, nodes)


def _saddle(reservoir: Measure, law: Measure, n: int) -> tuple[float, float, float]:
    """alpha of n log(c + d) - 2 log alpha, about log J, and the deviation within the two parts."""
    masses = np.concatenate([reservoir.mass, law.mass])
    gains = np.concatenate([reservoir.gain, law.gain])
    top = float(gains.max())
    if top <= 0.0:
        return 1.0, -math.inf, 0.0

    high = math.log(LARGEST_EXPONENT / top) - 0.01
    spread = math.sqrt(n * max(float(masses @ (gains * gains)), 1e-300))
    low = min(-math.log(spread) - 5.0, high - 1.0)
    log_alpha = _root(masses, gains, n, (low, high))
    alpha = math.exp(log_alpha)
    weights = masses * np.exp(alpha * gains)
    rise = float((masses * np.expm1(alpha * gains)).sum())
    within = 0.0
    for piece in (slice(None, reservoir.mass.size), slice(reservoir.mass.size, None)):
        w, g = weights[piece], gains[piece]
        mass = float(w.sum())
        if mass > 0.0:
            within += float(w @ (g - float(w @ g) / mass) ** 2) / (1.0 + rise)
    deviation = math.sqrt(n * within)
    value = n * math.log1p(rise) - math.log(n) - 2.0 * log_alpha
    value -= 0.5 * math.log(2.0 * math.pi * (n * within + 2.0 / alpha**2))
    return alpha, value, deviation


def _root(masses: Array, gains: Array, n: int, ends: tuple[float, float]) -> float:
    """log alpha at which n alpha K'(alpha) = 2, K = log(c + d); an end if that is beyond it.

    Newton's method in log alpha, from where two moments put it; halved where it leaves the bracket.
    """
    low, high = ends
    mean, square = float(masses @ gains), float(masses @ (gains * gains))
    start = (math.sqrt(mean * mean + 8.0 * square / n) - mean) / max(2.0 * square, 1e-300)
    at = min(max(math.log(max(start, 1e-300)), low), high)
    for _ in range(_NEWTON):
        alpha = math.exp(at)
        weights = masses * np.exp(alpha * gains)
        total = 1.0 + float((masses * np.expm1(alpha * gains)).sum())
        tilted = weights * gains
        first, second = float(tilted.sum()) / total, float(tilted @ gains) / total
        value = n * alpha * first - 2.0
        if value > 0.0:
            high = at
        else:
            low = at
        rate = n * alpha * (first + alpha * (second - first * first))
        moved = at - value / rate if rate > 0.0 else 0.5 * (low + high)
        moved = min(max(moved, ends[0]), ends[1])
        if not (low <= moved <= high):
            moved = 0.5 * (low + high)
        if abs(moved - at) <= _NEAR:
            return moved
        at = moved
    return at
