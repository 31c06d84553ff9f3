"""Certified E[S]_+, S = G_1 + ... + G_n, by a tilted contour integral bracketed from both sides.

    E[S]_+ = (1/2 pi i) int_{Re s = alpha} M(s)^n / s^2 ds,      M(s) = E e^{sG}.

Smoothing by h Z (Z standard normal) multiplies the integrand by e^{h^2 s^2/2} for the upper end
and by e^{h^2 s^2/2} (1 - h^2 s^2) for the lower end; the trapezoidal rule's error has a sign
(Poisson summation). Every step, and why its error is bounded as it is here: docs/theory.md,
section 6. Everything is relative to M(alpha)^n / alpha^2, so nothing underflows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from shuffledp.divergence.gain import GainLaw
from shuffledp.divergence.nodes import NodeBlocks, node_blocks
from shuffledp.divergence.tilt import Tilt
from shuffledp.pair import UNIT_ROUNDOFF

U = UNIT_ROUNDOFF
LARGEST_WORK = 1_500_000_000
LARGEST_NODES = 1 << 23
_ATTEMPTS = 7
_OVERFLOW = 300.0
_STALLED = 0.7
_ABOVE = (1.05, 1.1, 1.2, 1.35, 1.6, 2.0, 3.0, 5.0, 9.0, 17.0)
_BELOW = (0.95, 0.9, 0.8, 0.65, 0.5, 0.35, 0.2, 0.1, 0.03, 0.01)


class LogInterval(NamedTuple):
    """log of a lower and an upper end of a number >= 0; -inf stands for 0."""

    low: float
    high: float

    @property
    def width(self) -> float:
        """high - low, 0 for a point, inf where the lower end is 0 and the upper is not."""
        if self.high == self.low:
            return 0.0
        return self.high - self.low


@dataclass(frozen=True)
class Rule:
    """One trapezoidal rule: smoothing h = c/alpha, period L, nodes t_j = j D, D = 2 pi/L, j <= J.

    ``middle`` is True where the nodes stop at t_J and |phi|^n is bounded by the middle-zone
    inequality up to ``cut``, beyond which e^{-h^2 t^2/2} takes over.
    """

    smoothing: float
    period: float
    count: int
    cut: float
    middle: bool

    @property
    def step(self) -> float:
        """Distance D of two nodes."""
        return 2.0 * math.pi / self.period


def expected_positive_part(law: GainLaw, n: int, tilt: Tilt, *, width: float) -> LogInterval:
    """Bracket log E[S]_+ to about ``width`` (relative width of E[S]_+), or as near as work allows.

    Parameters
    ----------
    law : GainLaw
        Law of G with 0 strictly inside [law.low, law.high].
    n : int
        Number of independent terms.
    tilt : Tilt
        The saddle point (any alpha > 0 is valid).
    width : float
        Requested relative width, > 0.
    """
    best = LogInterval(-math.inf, _chernoff(law, n, tilt))
    smoothing = min(0.3, 0.7 * math.sqrt(width))
    guard = 1e-3 * width
    last = math.inf
    for _ in range(_ATTEMPTS):
        rule = _plan(law, n, tilt, smoothing, guard)
        if rule is None:
            break
        found = _apply(law, n, tilt, rule)
        best = LogInterval(max(best.low, found.low), min(best.high, found.high))
        if best.width <= width or found.width > _STALLED * last:
            break
        last = found.width
        excess = min(math.expm1(min(best.width, 30.0)) / width, 1e6)
        smoothing *= max(0.7 / math.sqrt(excess), 0.02)
        guard *= 1e-2
    return best


def _plan(law: GainLaw, n: int, tilt: Tilt, c: float, guard: float) -> Rule | None:
    alpha = tilt.alpha
    h = c / alpha
    log_guard = math.log(1.0 / guard)
    period = _period(law, n, tilt, log_guard)
    edge = math.sqrt(2.0 * (log_guard + c * c)) / h
    zone = _middle_zone(law, n, tilt, h, log_guard)
    if zone is not None and zone[0] < edge:
        edge, cut, wide = zone
        h = max(h, wide)
    else:
        cut = edge
    if not edge * period < LARGEST_NODES * 2.0 * math.pi:
        return None
    count = math.ceil(edge * period / (2.0 * math.pi))
    if count * law.g.size > LARGEST_WORK:
        return None
    count = max(count, 8)
    step = 2.0 * math.pi / period
    return Rule(h, period, count, max(cut, count * step), middle=cut > count * step)


def _chernoff(law: GainLaw, n: int, tilt: Tilt) -> float:
    """log E[S]_+ <= n log M(alpha) - log(e alpha)."""
    growth = tilt.log_growth(law, n, tilt.alpha) + tilt.log_scale
    return growth - 1.0 - math.log(tilt.alpha) + 8 * U * (1.0 + abs(tilt.log_scale))


def _period(law: GainLaw, n: int, tilt: Tilt, log_guard: float) -> float:
    """L such that both aliasing sums are about e^{-log_guard} of the result."""
    sides = (n * law.high, math.inf)
    found = []
    for limit, ratios in zip(sides, (_ABOVE, _BELOW), strict=True):
        # S <= n max G: nothing wraps round from beyond L.
        side = limit
        for ratio in ratios:
            beta = ratio * tilt.alpha
            growth = tilt.log_growth(law, n, beta) - math.log(ratio)
            if math.isfinite(growth):
                side = min(side, (growth + log_guard + 4.0) / abs(beta - tilt.alpha))
        found.append(side)
    return max(*found, 4.0 / tilt.alpha)


def _middle_zone(
    law: GainLaw, n: int, tilt: Tilt, h: float, log_guard: float
) -> tuple[float, float, float] | None:
    """(last node, end of the zone, smoothing) if stopping early is allowed, else None.

    |phi(t)|^n <= exp(-2 n t^2 V/pi^2) for |t| (max G - min G) <= pi. Only for true atoms: there
    the tilted variance V is known to rounding.
    """
    if law.reach is not None or tilt.rare or not tilt.variance > 0.0:
        return None
    cut = math.pi / ((law.high - law.low) * (1.0 + 1e-9))
    wide = math.sqrt(2.0 * (log_guard + 1.0)) / cut
    if wide > h:
        return None
    last = math.pi * math.sqrt((log_guard + 4.0) / (2.0 * n * 0.99 * tilt.variance))
    return (last, cut, wide) if last < cut else None


def _apply(law: GainLaw, n: int, tilt: Tilt, rule: Rule) -> LogInterval:
    """Evaluate the rule and add every error, outward; in units of M(alpha)^n, logs at the end."""
    alpha, h, step = tilt.alpha, rule.smoothing, rule.step
    blocks = node_blocks(law, n, tilt, step=step, count=rule.count, smoothing=h)
    sums = _sum_blocks(blocks)
    front = step / (2.0 * math.pi) / (alpha * alpha) * math.exp(0.5 * (h * alpha) ** 2)
    front_err = 32 * U
    cut_upper, cut_lower = _truncation(n, tilt, rule, sums.mass)
    upper = front * (sums.upper + sums.upper_err) * (1.0 + front_err) + cut_upper
    lower = front * (sums.lower - sums.lower_err)
    lower -= abs(front * sums.lower) * front_err + cut_lower
    lower -= _aliasing(law, n, tilt, rule)
    slack = 8 * U * (1.0 + abs(tilt.log_scale))
    high = math.log(upper) + tilt.log_scale + slack if upper > 0.0 else -math.inf
    low = math.log(lower) + tilt.log_scale - slack if lower > 0.0 else -math.inf
    return LogInterval(low, high)


class _Sums(NamedTuple):
    upper: float
    upper_err: float
    lower: float
    lower_err: float
    mass: float


def _sum_blocks(blocks: NodeBlocks) -> _Sums:
    """Sum F over all nodes -J..J (F at -t is the conjugate of F at t)."""
    parts: list[tuple[float, float, float, float, float, float]] = []
    mass = math.inf
    for first, upper, lower, size, size_low, err, err_low in blocks:
        double = 2.0
        corner = 1.0 if first else 0.0
        # The node t = 0 counts once; it is the tilted mass.
        if first:
            mass = float(upper.flat[0]) + float(err.flat[0])
        parts.append(
            (
                double * float(upper.sum()) - corner * float(upper.flat[0]),
                double * float(lower.sum()) - corner * float(lower.flat[0]),
                double * float(err.sum()),
                double * float(err_low.sum()),
                double * float(size.sum()),
                double * float(size_low.sum()),
            )
        )
    columns = [math.fsum(column) for column in zip(*parts, strict=True)]
    # Pairwise summation inside NumPy: at most ~ 60 u of the sum of sizes for 2^23 terms.
    return _Sums(
        upper=columns[0],
        upper_err=columns[2] * (1 + 1e-9) + 128 * U * columns[4],
        lower=columns[1],
        lower_err=columns[3] * (1 + 1e-9) + 128 * U * columns[5],
        mass=mass,
    )


def _truncation(n: int, tilt: Tilt, rule: Rule, mass: float) -> tuple[float, float]:
    """Bounds on what lies beyond the last node, for the upper and the lower integrand."""
    alpha, h = tilt.alpha, rule.smoothing
    last = rule.count * rule.step
    lift = math.exp(0.5 * (h * alpha) ** 2) * mass * (1.0 + 1e-9) / math.pi
    far = math.exp(-0.5 * (h * rule.cut) ** 2) / (h * h * rule.cut)
    kernel = 1.0 / (alpha * alpha + rule.cut * rule.cut)
    upper, lower = far * kernel, far * (kernel + h * h)
    if rule.middle:
        rate = 2.0 * n * 0.99 * tilt.variance / (math.pi * math.pi)
        near = math.exp(-rate * last * last) / (2.0 * rate * last)
        kernel = 1.0 / (alpha * alpha + last * last)
        upper += near * kernel
        lower += near * (kernel + h * h)
    return lift * upper, lift * lower


def _aliasing(law: GainLaw, n: int, tilt: Tilt, rule: Rule) -> float:
    """What the lower end must give back for the copies of S shifted by multiples k L, k != 0.

    x_+ <= e^{beta x}/(e beta) gives e^{-alpha k L} E(S + kL)_+ <= e^{(beta - alpha) k L} M(beta)^n
    / (e beta): any beta in (0, alpha) for k > 0, any beta > alpha for k < 0.
    """
    total = _wrapped(law, n, tilt, rule.period, _BELOW)
    if n * law.high * (1.0 + 1e-9) > rule.period:
        total += _wrapped(law, n, tilt, rule.period, _ABOVE)
    return total


def _wrapped(
    law: GainLaw, n: int, tilt: Tilt, period: float, ratios: tuple[float, ...]
) -> float:
    """The geometric series over k of the Chernoff bounds on one side, at the best beta."""
    best = math.inf
    for ratio in ratios:
        beta = ratio * tilt.alpha
        decay = abs(beta - tilt.alpha) * period * (1.0 - 1e-12)
        exponent = tilt.log_growth(law, n, beta) + 1e-9 - decay
        if exponent < _OVERFLOW:
            series = math.exp(exponent) / (math.e * beta) / -math.expm1(-decay)
            best = min(best, series * (1.0 + 1e-6))
    return best

__all__ = ["LogInterval", "expected_positive_part"]
