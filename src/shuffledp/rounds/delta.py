"""Certified delta of many rounds: one contour integral, whatever the number of rounds.

With L = sum of T independent losses under P and N(r) = E_P[e^{rL}; L finite] = prod N_i(r)^{T_i},

    E_P[(1 - e^{eps - L})_+; L finite] = (1/2 pi i) int_{Re r = rho} N(r) e^{-r eps}/(r (r+1)) dr.

Smoothing, from both sides: e^L times e^{h Z - h^2/2}, a factor of mean 1, multiplies the integrand
by e^{h^2 r(r+1)/2} and can only enlarge the payoff, convex in e^L; the same times
1 - h^2 e^{h^2/8} r(r+1) can only lower it. The trapezoidal rule's error has a sign. Every error
term is derived in docs/theory-composition.md, section 3. All is relative to N(rho) e^{-rho eps}.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from shuffledp.contour import ROUNDS, Effort, expectation
from shuffledp.numerics import LogInterval, added
from shuffledp.pair import UNIT_ROUNDOFF
from shuffledp.rounds.enumeration import combinations, enumerated
from shuffledp.rounds.loss import LossLaw
from shuffledp.rounds.nodes import LossSum
from shuffledp.rounds.tilt import find_tilt

U = UNIT_ROUNDOFF
# A node of rounds is a sum over some thousand losses: half a million of them take some seconds.
EFFORT = Effort(attempts=5, nodes=1 << 19, work=1 << 40)
# Sums of losses listed one by one: as many as take a millisecond.
_FEW = 20_000
# Products of masses that are added up directly underflow near e^-744; far above that so many of
# them lose nothing that is seen.
_LEAST_DIRECT, _UNDERFLOW = 1e-250, 1e-300

Parts = Sequence[tuple[LossLaw, int]]


def log_delta(parts: Parts, epsilon: float, *, width: float) -> LogInterval:
    """Bracket log delta(eps) of independent rounds to about a relative ``width``.

    Parameters
    ----------
    parts : sequence of (LossLaw, count)
        Each law and in how many rounds it occurs.
    epsilon : float
        eps in nats.
    width : float
        Requested relative width of delta.
    """
    finite = log_finite(parts, epsilon, width=width)
    seen = log_infinite(parts)
    found = added(finite, seen)
    return LogInterval(min(found.low, 0.0), min(found.high, 0.0))


def log_infinite(parts: Parts) -> LogInterval:
    """log of the P-mass with an infinite loss in at least one round."""
    if not any(law.infinite > 0.0 for law, _ in parts):
        return LogInterval(-math.inf, -math.inf)
    none = grown = size = 0.0
    for law, count in parts:
        low, high = law.total()
        if low <= 0.0:
            return LogInterval(-math.inf, 0.0) if law.infinite < 1.0 else LogInterval(0.0, 0.0)
        none += count * 0.5 * (math.log(low) + math.log(high))
        grown += count * math.log1p(law.infinite / low)
        size += count * (abs(math.log(low)) + 8 * U)
    # prod (F + p) - prod F = prod F expm1(sum log1p(p/F))
    log = none + (math.log(math.expm1(grown)) if grown < 30.0 else grown)
    slack = 16 * U * (1.0 + size + grown + abs(log)) + 4 * U * sum(count for _, count in parts)
    return LogInterval(log - slack, log + slack)


def log_finite(parts: Parts, epsilon: float, *, width: float) -> LogInterval:
    """Bracket of log E_P[(1 - e^{eps - L})_+; L finite]."""
    parts = [(law, count) for law, count in parts if count > 0]
    if any(law.loss.size == 0 for law, _ in parts):
        return LogInterval(-math.inf, -math.inf)
    top = math.fsum(count * law.highest for law, count in parts)
    size = math.fsum(count * float(np.abs(law.loss).max()) for law, count in parts)
    if top + 4 * U * size <= epsilon:
        return LogInterval(-math.inf, -math.inf)
    if sum(count for _, count in parts) <= 2:
        laws = [law for law, count in parts for _ in range(count)]
        found = _direct(laws[0], laws[1] if len(laws) == 2 else _NOTHING, epsilon)
        if found is not None:
            return found
    if combinations(parts) <= _FEW:
        return enumerated(parts, epsilon)
    # Outward: top and eps may nearly cancel, and what is rounded is their own size.
    room = top - epsilon + 8 * U * (size + abs(epsilon))
    return _contour(parts, epsilon, width=width, room=room)


_NOTHING = LossLaw(np.zeros(1), np.ones(1))


def _direct(first: LossLaw, second: LossLaw, epsilon: float) -> LogInterval | None:
    """One or two rounds: the sum itself, by partial sums of the second law; None if too small."""
    rest = epsilon - first.loss
    at = np.searchsorted(second.loss, rest, side="right")
    # P-mass above, and Q-mass above relative to the first loss there, so that nothing overflows.
    above = np.append(np.cumsum(second.mass[::-1])[::-1], 0.0)
    gap = np.diff(second.loss, append=second.loss[-1])
    scaled = np.zeros(second.loss.size + 1)
    for j in range(second.loss.size - 1, -1, -1):
        scaled[j] = second.mass[j] + scaled[j + 1] * math.exp(-gap[j])
    inside = at < second.loss.size
    first_above = second.loss[np.minimum(at, second.loss.size - 1)]
    q = scaled[at] * np.exp(np.minimum(rest - first_above, 0.0))
    terms = first.mass * np.where(inside, above[at] - q, 0.0)
    error = first.mass * np.where(inside, above[at] + q, 0.0)
    phase = 8.0 * (np.abs(rest) + float(np.abs(second.loss).max()) + abs(epsilon))
    error = error * U * (4.0 * (second.loss.size + first.loss.size) + 32.0 + phase)
    # Losses within rounding of the kink may be on its other side: they pay next to nothing.
    blur = U * (1.0 + phase)
    left, right = (np.searchsorted(second.loss, rest + side * blur) for side in (-1.0, 1.0))
    edge = np.where(left < right, above[left] - above[right] + 1e-300, 0.0) * 4.0 * blur
    total = float(terms.sum())
    doubt = float((error + first.mass * edge).sum()) * (1 + 1e-9)
    if not total + doubt > _LEAST_DIRECT:
        return None
    # Millions of products that underflow lose less than that.
    doubt += _UNDERFLOW
    low = math.log(total - doubt) if total > doubt else -math.inf
    high = math.log(total + doubt)
    return LogInterval(low - 16 * U * (1.0 + abs(low)), high + 16 * U * (1.0 + abs(high)))


def _contour(parts: Parts, epsilon: float, *, width: float, room: float) -> LogInterval:
    total = LossSum(parts, find_tilt(parts, epsilon), epsilon, room=room)
    return expectation(total, ROUNDS, width=width, effort=EFFORT)[0]


__all__ = ["log_delta", "log_finite", "log_infinite"]
