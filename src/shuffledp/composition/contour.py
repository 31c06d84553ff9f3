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
from typing import NamedTuple

import numpy as np

from shuffledp.composition.enumeration import combinations, enumerated
from shuffledp.composition.loss import LossLaw
from shuffledp.composition.nodes import Rows
from shuffledp.composition.tilt import Tilt, find_tilt
from shuffledp.divergence import LogInterval
from shuffledp.pair import UNIT_ROUNDOFF

U = UNIT_ROUNDOFF
LARGEST_NODES = 1 << 19
_ATTEMPTS = 5
_FEW = 20_000
_STALLED = 0.7
_WIDEST = 0.1
# e^{h^2/8} of the kernel from below stays a float; any h is valid (Theorem 6.5).
_WIDEST_KERNEL = 60.0
_BETAS = (0.03, 0.2, 0.5, 0.8, 0.95, 1.05, 1.2, 1.6, 2.5, 5.0, 17.0)
_OVERFLOW = 300.0

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
    found = LogInterval(_log_add(finite.low, seen.low, -1.0), _log_add(finite.high, seen.high, 1.0))
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
        return _direct(laws[0], laws[1] if len(laws) == 2 else _NOTHING, epsilon)
    if combinations(parts) <= _FEW:
        return enumerated(parts, epsilon)
    # Outward: top and eps may nearly cancel, and what is rounded is their own size.
    room = top - epsilon + 8 * U * (size + abs(epsilon))
    return _contour(parts, epsilon, width=width, room=room)


_NOTHING = LossLaw(np.zeros(1), np.ones(1))


def _direct(first: LossLaw, second: LossLaw, epsilon: float) -> LogInterval:
    """One or two rounds: the sum itself, by partial sums of the second law."""
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
    if total <= 0.0 and doubt <= 0.0:
        return LogInterval(-math.inf, -math.inf)
    return _logs(total - doubt, total + doubt, 0.0, 8 * U)


class _Rule(NamedTuple):
    """Smoothing h, period L, nodes t_j = 2 pi j/L, j <= last, and what lies beyond the last."""

    h: float
    period: float
    last: int
    rest_upper: float
    rest_lower: float


def _contour(parts: Parts, epsilon: float, *, width: float, room: float) -> LogInterval:
    width = min(width, _WIDEST)
    tilt = find_tilt(parts, epsilon)
    rows = Rows(parts, tilt, epsilon)
    best = LogInterval(-math.inf, _chernoff(tilt))
    growth = _growth(parts, tilt, epsilon)
    c = min(0.3, 0.7 * math.sqrt(width))
    guard = 1e-3 * width
    last = math.inf
    for _ in range(_ATTEMPTS):
        rule = _plan(rows, tilt, c, guard, growth, room)
        if rule is None:
            break
        found = _apply(rows, tilt, rule, growth, room)
        best = LogInterval(max(best.low, found.low), min(best.high, found.high))
        if best.width <= width or found.width > _STALLED * last:
            break
        last = found.width
        excess = min(math.expm1(min(best.width, 30.0)) / width, 1e6)
        c *= max(0.7 / math.sqrt(excess), 0.02)
        guard *= 1e-2
    return best


def _log_peak(b: float) -> float:
    """log of sup over y of (1 - e^-y) e^{-b y} = b^b/(1+b)^{1+b}."""
    return (b * math.log(b) if b > 0.0 else 0.0) - (1.0 + b) * math.log1p(b)


def _chernoff(tilt: Tilt) -> float:
    slack = 64 * U * (1.0 + abs(tilt.log_scale) + tilt.log_size)
    return tilt.log_scale + _log_peak(tilt.rho) + slack


Growth = list[tuple[float, float]]


def _growth(parts: Parts, tilt: Tilt, epsilon: float) -> Growth:
    """(b, upper bound of log sup-payoff N(b) e^{-b eps} less the scale) on both sides of rho.

    The payoff is at most C(b) e^{b y}, so this bounds E f(L + shift) up to e^{b shift}; b = 0 too.
    """
    found = []
    for b in (0.0, *(x * tilt.rho for x in _BETAS)):
        total, size = -b * epsilon, abs(b * epsilon)
        for law, count in parts:
            exponent = b * law.loss
            peak = float(exponent.max())
            log = peak + math.log(float((law.mass * np.exp(exponent - peak)).sum()))
            total += count * log
            size += count * (abs(log) + abs(peak) + law.loss.size + 16.0)
        value = total + _log_peak(b) - tilt.log_scale + 16 * U * (size + abs(tilt.log_scale) + 1.0)
        if math.isfinite(value):
            found.append((b, value))
    return found


def _plan(
    rows: Rows, tilt: Tilt, c: float, guard: float, growth: Growth, room: float
) -> _Rule | None:
    rho, kernel = tilt.rho, tilt.rho * (tilt.rho + 1.0)
    log_guard = math.log(1.0 / guard)
    # In units of the integrand at t = 0, whose integral is about 1/(spread of the contour).
    period = _period(tilt, log_guard, growth, room)
    h = min(c / math.sqrt(kernel), _WIDEST_KERNEL)
    stop = rows.early_stop(h, log_guard, 2.0 * math.pi / period)
    if stop is None:
        edge = math.sqrt(2.0 * (log_guard + 0.5 * h * h * kernel)) / h
    else:
        edge, h = stop.edge, stop.smoothing
    if not edge * period < LARGEST_NODES * 2.0 * math.pi:
        return None
    count = max(math.ceil(edge * period / (2.0 * math.pi)), 8)
    last = count * 2.0 * math.pi / period
    if stop is not None:
        return _Rule(h, period, count, stop.rest_upper, stop.rest_lower)
    return _Rule(h, period, count, *_beyond(rho, h, last))


def _beyond(rho: float, h: float, cut: float) -> tuple[float, float]:
    """Integrals of the two smoothed kernels beyond ``cut``, by e^{-h^2 t^2/2} alone."""
    far = math.exp(-min(0.5 * (h * cut) ** 2, 700.0)) / (h * h * cut)
    kernel = 1.0 / (math.hypot(rho, cut) * math.hypot(rho + 1.0, cut))
    return far * kernel, far * (kernel + h * h * math.exp(0.125 * h * h))


def _period(tilt: Tilt, log_guard: float, growth: Growth, room: float) -> float:
    """L such that both aliasing sums are about e^{-log_guard} of the integral."""
    rho = tilt.rho
    above, below = max(room, 0.0), math.inf
    target = -log_guard - 4.0 + _log_peak(rho)
    for b, value in growth:
        if b == rho:
            continue
        side = (value - target) / abs(b - rho)
        if b > rho:
            above = min(above, side)
        else:
            below = min(below, side)
    return max(above, below, 4.0 / rho)


def _apply(rows: Rows, tilt: Tilt, rule: _Rule, growth: Growth, room: float) -> LogInterval:
    step = 2.0 * math.pi / rule.period
    sums = rows.sums(step, rule.last, rule.h)
    kernel = tilt.rho * (tilt.rho + 1.0)
    lift = math.exp(0.5 * rule.h**2 * kernel) * (1.0 + 1e-12)
    front = step / (2.0 * math.pi) * (1.0 + 32 * U)
    rest = lift * sums.mass / math.pi * (1.0 + 1e-9)
    upper = front * (sums.upper + sums.upper_err) + rest * rule.rest_upper
    lower = front * (sums.lower - sums.lower_err) - 64 * U * abs(front * sums.lower)
    lower -= rest * rule.rest_lower + _aliasing(tilt, rule, growth, room)
    return _logs(lower, upper, tilt.log_scale, 64 * U * (1.0 + abs(tilt.log_scale) + tilt.log_size))


def _aliasing(tilt: Tilt, rule: _Rule, growth: Growth, room: float) -> float:
    """What the lower end must give back for copies shifted by multiples of the period."""
    above = below = math.inf
    for b, value in growth:
        decay = abs(b - tilt.rho) * rule.period * (1.0 - 1e-12)
        exponent = value + 1e-9 - decay
        if exponent >= _OVERFLOW or decay <= 0.0:
            continue
        series = math.exp(exponent) / -math.expm1(-decay) * (1.0 + 1e-6)
        if b > tilt.rho:
            above = min(above, series)
        else:
            below = min(below, series)
    if room <= rule.period * (1.0 - 4 * U):
        # No sum of losses is so large that a copy shifted down still pays.
        above = 0.0
    return below + above


def _logs(lower: float, upper: float, log_scale: float, slack: float) -> LogInterval:
    high = math.log(upper) + log_scale + slack if upper > 0.0 else math.inf
    low = math.log(lower) + log_scale - slack if lower > 0.0 else -math.inf
    return LogInterval(low, high)


def _log_add(x: float, y: float, outward: float) -> float:
    top, rest = max(x, y), min(x, y)
    if not math.isfinite(top) or rest == -math.inf:
        return top
    total = top + math.log1p(math.exp(rest - top))
    return total + outward * 8 * U * (1.0 + abs(total))


__all__ = ["log_delta", "log_finite", "log_infinite"]
