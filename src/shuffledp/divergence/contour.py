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

from shuffledp.divergence.decay import RATIO, Decay, SplitDecay
from shuffledp.divergence.gain import GainLaw
from shuffledp.divergence.nodes import NodeBlocks, node_blocks
from shuffledp.divergence.rounding import halved_sum
from shuffledp.divergence.tilt import Tilt
from shuffledp.pair import UNIT_ROUNDOFF

U = UNIT_ROUNDOFF
LARGEST_WORK = 600_000_000
LARGEST_NODES = 1 << 23
# Who asks for more than nine digits of delta (rtol of eps below 1e-9, about) asks for nodes as one
# over the root of the width, in each of some twenty brackets: a third of a second is for each of
# them (0.2 microseconds a node, of which an atom is a sixth or so), and the attempts within one.
_FINE, FINE_WORK = 1e-9, 10_000_000
_NODE, _MORE = 3, 4
_ATTEMPTS = 7
_OVERFLOW = 300.0
_BETAS = (0.03, 0.2, 0.5, 0.8, 0.95, 1.05, 1.2, 1.6, 2.5, 5.0, 17.0)
_STALLED, _HALF = 0.7, 0.5
_WIDEST = 0.1
_LEAST_INTERVALS = 60
_AMPLE = 3.0
_WIDEST_SMOOTHING = 20.0
# With more messages a law with a continuous part decays, or its rare form is used.
_FEW = 15
_NOTHING_LEFT = 700.0
# Squares of the tilt, and of what is a thousand times as far, have to stay in range.
_LARGEST_ALPHA = 1e140


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

    ``rest_upper`` and ``rest_lower`` bound the integral of the modulus of the upper and the lower
    integrand beyond the last node, divided by e^{h^2 alpha^2/2}/pi and the tilted mass.
    """

    smoothing: float
    period: float
    count: int
    rest_upper: float
    rest_lower: float

    @property
    def step(self) -> float:
        """Distance D of two nodes."""
        return 2.0 * math.pi / self.period


def expected_positive_part(
    law: GainLaw, n: int, tilt: Tilt, *, width: float, decay: Decay | SplitDecay | None = None
) -> LogInterval:
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
    decay : Decay, optional
        For laws with a continuous part: bounds on |phi| that spare the far nodes.
    """
    return integrated(law, n, tilt, width=width, decay=decay)[0]


def integrated(
    law: GainLaw, n: int, tilt: Tilt, *, width: float, decay: Decay | SplitDecay | None = None
) -> tuple[LogInterval, bool]:
    """The same, and whether errors of the integrand, not the rule, make the bracket's width."""
    width = min(width, _WIDEST)
    if not math.isfinite(tilt.log_m + tilt.log_scale):
        # alpha max G is so large that M(alpha) is out of range: this tilt says nothing.
        return LogInterval(-math.inf, math.inf), False
    best, settled = LogInterval(-math.inf, _chernoff(law, n, tilt)), False
    if not 1.0 / _LARGEST_ALPHA < tilt.alpha < _LARGEST_ALPHA:
        return best, settled
    growth = _growth_table(law, n, tilt)
    held = width < _FINE
    width = _affordable(law, n, tilt, width, growth, decay)
    smoothing = min(0.3, 0.7 * math.sqrt(width))
    guard = 1e-3 * width
    last = math.inf
    for _ in range(_ATTEMPTS):
        rule = _plan(law, n, tilt, smoothing, guard, growth, decay)
        if rule is None or (held and last < math.inf and _work(law, rule) > _MORE * FINE_WORK):
            break
        found, doubt = _apply(law, n, tilt, rule, growth)
        best = LogInterval(max(best.low, found.low), min(best.high, found.high))
        settled = doubt > -_HALF * math.expm1(-found.width)
        if best.width <= width or found.width > _STALLED * last or settled:
            break
        last = found.width
        excess = min(math.expm1(min(best.width, 30.0)) / width, 1e6)
        smoothing *= max(0.7 / math.sqrt(excess), 0.02)
        guard *= 1e-2
    return best, settled


def _affordable(
    law: GainLaw,
    n: int,
    tilt: Tilt,
    width: float,
    growth: GrowthTable,
    decay: Decay | SplitDecay | None,
) -> float:
    """The width asked for; one below 1e-9 no narrower than a third of a second allows."""
    while width < _FINE:
        rule = _plan(law, n, tilt, 0.7 * math.sqrt(width), 1e-3 * width, growth, decay)
        if rule is not None and _work(law, rule) <= FINE_WORK:
            break
        width = min(2.0 * width, _FINE)
    return width


def _work(law: GainLaw, rule: Rule) -> int:
    """Nodes times atoms, and what a node takes by itself."""
    return rule.count * (law.g.size + _NODE)


def _plan(
    law: GainLaw,
    n: int,
    tilt: Tilt,
    c: float,
    guard: float,
    growth: GrowthTable,
    decay: Decay | SplitDecay | None = None,
) -> Rule | None:
    """Choose period, last node and smoothing; None where the work would not be bounded."""
    log_guard = math.log(1.0 / guard)
    period = _period(law, n, tilt, log_guard, growth)
    h = c / tilt.alpha
    step = 2.0 * math.pi / period
    stop = (
        None
        if tilt.rare and decay is None
        else _early_stop(law, n, tilt, h, step, log_guard, decay)
    )
    if stop is None and decay is not None and n > _FEW:
        return None
    if stop is None:
        edge = math.sqrt(2.0 * (log_guard + c * c)) / h
    else:
        edge, h = stop.edge, stop.smoothing
    if h * tilt.alpha > _WIDEST_SMOOTHING:
        return None
    if not edge * period < LARGEST_NODES * 2.0 * math.pi:
        return None
    count = max(math.ceil(edge * period / (2.0 * math.pi)), 8)
    if count * law.g.size > LARGEST_WORK:
        return None
    last = count * 2.0 * math.pi / period
    if stop is None:
        return Rule(h, period, count, *_smoothed_away(tilt.alpha, h, last))
    return Rule(h, period, count, stop.rest_upper, stop.rest_lower)


class _Stop(NamedTuple):
    """Where the nodes may stop early: last node, smoothing, and what lies beyond."""

    edge: float
    smoothing: float
    rest_upper: float
    rest_lower: float


def _smoothed_away(alpha: float, h: float, cut: float, step: float = 0.0) -> tuple[float, float]:
    """Integrals beyond ``cut``, where e^{-h^2 t^2/2} is all that makes the integrand small.

    Where ``cut`` is not a node a sum of step-wide columns may begin up to one ``step`` before it.
    """
    far = math.exp(-min(0.5 * (h * cut) * (h * cut), 700.0)) * (1.0 / (h * h * cut) + step)
    kernel = 1.0 / (alpha * alpha + cut * cut)
    return far * kernel, far * (kernel + h * h)


def _early_stop(
    law: GainLaw,
    n: int,
    tilt: Tilt,
    h: float,
    step: float,
    log_guard: float,
    decay: Decay | SplitDecay | None,
) -> _Stop | None:
    """Stop where |phi|^n is certified to be negligible up to where the smoothing takes over."""
    if not tilt.variance > 0.0:
        return None
    if decay is not None:
        return _stop_by_decay(n, tilt, h, step, log_guard, decay)
    if law.reach is not None:
        return None
    return _stop_by_range(law, n, tilt, h, step, log_guard)


def _stop_by_range(
    law: GainLaw, n: int, tilt: Tilt, h: float, step: float, log_guard: float
) -> _Stop | None:
    """True atoms: |phi(t)|^n <= exp(-2 n t^2 V/pi^2) for |t| (max G - min G) <= pi."""
    alpha = tilt.alpha
    # Atoms that count at all must be known well enough for V to be known to 1%.
    blur = float((law.g_err * (alpha * law.g > -_NOTHING_LEFT)).max())
    if blur > 1e-3 * min(1.0 / alpha, math.sqrt(tilt.variance)):
        return None
    cut = math.pi / ((law.high - law.low) * (1.0 + 1e-9))
    wide = math.sqrt(2.0 * (log_guard + 1.0)) / cut
    # The tilted variance is known to rounding: 1% is far more than it can be off.
    rate = 2.0 * n * 0.99 * tilt.variance / (math.pi * math.pi)
    last = math.sqrt((log_guard + 4.0) / rate)
    if wide > h or last >= cut:
        return None
    near = math.exp(-rate * last * last) / (2.0 * rate * last)
    kernel = 1.0 / (alpha * alpha + last * last)
    far_upper, far_lower = _smoothed_away(alpha, h, cut, step)
    return _Stop(last, h, near * kernel + far_upper, near * (kernel + h * h) + far_lower)


def _stop_by_decay(
    n: int, tilt: Tilt, h: float, step: float, log_guard: float, decay: Decay | SplitDecay
) -> _Stop | None:
    """Laws with a continuous part: |phi| bounded on intervals [t, 1.3 t], window by window."""
    alpha = tilt.alpha
    start, enough = 2.0 / math.sqrt(n * tilt.variance), -_AMPLE * log_guard
    grid, logs = [start], [decay.log_power(start, n, enough)]
    far = math.sqrt(2.0 * (log_guard + 1.0)) / h
    while grid[-1] * RATIO < far and (logs[-1] < -log_guard or len(grid) < _LEAST_INTERVALS):
        grid.append(grid[-1] * RATIO)
        logs.append(decay.log_power(grid[-1], n, enough))
    if logs[-1] >= -log_guard:
        # Windows came down to single cells: smooth from here on.
        while logs and logs[-1] >= -log_guard:
            logs.pop()
    if not logs:
        return None
    cut = grid[len(logs) - 1] * RATIO
    h = max(h, math.sqrt(2.0 * (log_guard + 1.0)) / cut)
    upper, lower = _smoothed_away(alpha, h, cut, step)
    budget = 0.1 * math.exp(-log_guard) / alpha
    edge = cut
    for t, log_size in zip(reversed(grid[: len(logs)]), reversed(logs), strict=True):
        # Where the bound says nothing it is beyond any budget.
        size = math.exp(min(log_size, 700.0)) * (1.0 + 1e-9)
        kernel = 1.0 / (alpha * alpha + t * t)
        length = (RATIO - 1.0) * t
        reach = min(length, 1.0 / t - 1.0 / (RATIO * t)) if t > 1.0 else length * kernel
        reach = min(reach, length * kernel)
        more_upper = size * (reach + step * kernel)
        more_lower = more_upper + size * h * h * (length + step)
        if upper + more_upper > budget:
            break
        upper, lower, edge = upper + more_upper, lower + more_lower, t
    if edge >= cut:
        return None
    return _Stop(edge, h, upper, lower)


def _chernoff(law: GainLaw, n: int, tilt: Tilt) -> float:
    """log E[S]_+ <= n log M(alpha) - log(e alpha)."""
    growth = tilt.log_growth(law, n, tilt.alpha) + tilt.log_scale
    log_alpha = math.log(tilt.alpha)
    return growth - 1.0 - log_alpha + 8 * U * (1.0 + abs(tilt.log_scale) + abs(log_alpha))


GrowthTable = list[tuple[float, float]]


def _growth_table(law: GainLaw, n: int, tilt: Tilt) -> GrowthTable:
    """(beta, upper bound of log of the transform at beta, less the scale), both sides of alpha."""
    found = ((r * tilt.alpha, tilt.log_growth(law, n, r * tilt.alpha)) for r in _BETAS)
    return [(beta, growth) for beta, growth in found if math.isfinite(growth)]


def _period(law: GainLaw, n: int, tilt: Tilt, log_guard: float, table: GrowthTable) -> float:
    """L such that both aliasing sums are about e^{-log_guard} of the result."""
    alpha = tilt.alpha
    # S <= n max G: nothing wraps round from beyond L.
    above, below = n * law.high, math.inf
    for beta, growth in table:
        side = (growth - math.log(beta / alpha) + log_guard + 4.0) / abs(beta - alpha)
        if beta > alpha:
            above = min(above, side)
        else:
            below = min(below, side)
    return max(above, below, 4.0 / alpha)


def _apply(
    law: GainLaw, n: int, tilt: Tilt, rule: Rule, growth: GrowthTable
) -> tuple[LogInterval, float]:
    """Evaluate the rule and add every error, outward; in units of M(alpha)^n, logs at the end.

    Also the width that the errors of the integrand make, which no other rule would lessen.
    """
    alpha, h, step = tilt.alpha, rule.smoothing, rule.step
    blocks = node_blocks(law, n, tilt, step=step, count=rule.count, smoothing=h)
    sums = _sum_blocks(blocks)
    front = step / (2.0 * math.pi) / (alpha * alpha) * math.exp(0.5 * (h * alpha) ** 2)
    front_err = 32 * U * (1.0 + (h * alpha) ** 2)
    cut_upper, cut_lower = _truncation(tilt, rule, sums.mass)
    upper = front * (sums.upper + sums.upper_err) * (1.0 + front_err) + cut_upper
    lower = front * (sums.lower - sums.lower_err)
    lower -= abs(front * sums.lower) * front_err + cut_lower
    lower -= _aliasing(law, n, tilt, rule, growth)
    # Anything but a positive number says nothing: overflow in an error term, for one.
    high = math.log(upper) if upper > 0.0 else math.inf
    low = math.log(lower) if lower > 0.0 else -math.inf
    scale = tilt.log_scale
    doubt = front * (sums.upper_err + sums.lower_err) / upper if upper > 0.0 else 0.0
    ends = LogInterval(low + scale - _slack(low, scale), high + scale + _slack(high, scale))
    return ends, doubt


def _slack(log_value: float, log_scale: float) -> float:
    """Rounding of a logarithm and of its sum with the scale's; 0 where there is none."""
    return 8 * U * (1.0 + abs(log_value) + abs(log_scale)) if math.isfinite(log_value) else 0.0


class _Sums(NamedTuple):
    upper: float
    upper_err: float
    lower: float
    lower_err: float
    mass: float


def _sum_blocks(blocks: NodeBlocks) -> _Sums:
    """Sum F over all nodes -J..J (F at -t is the conjugate of F at t)."""
    parts: list[tuple[float, ...]] = []
    mass = math.inf
    for first, upper, lower, size, size_low, err, err_low in blocks:
        corner = 0.0, 0.0
        # The node t = 0 counts once; it is the tilted mass.
        if first:
            mass = max(1.0, float(upper.flat[0]) + float(err.flat[0]))
            corner = -float(upper.flat[0]), -float(lower.flat[0])
        (above, above_err), (below, below_err) = halved_sum(upper), halved_sum(lower)
        # Sums of what is positive: any order rounds them by less than 1e-9.
        doubt = 2.0 * (float(err.sum()) + above_err), 2.0 * (float(err_low.sum()) + below_err)
        # Room for the rounding of what is done with the sums themselves.
        each = 2.0 * float(size.sum()), 2.0 * float(size_low.sum())
        parts.append((2.0 * above, corner[0], 2.0 * below, corner[1], *doubt, *each))
    columns = [math.fsum(column) for column in zip(*parts, strict=True)]
    return _Sums(
        upper=columns[0] + columns[1],
        upper_err=columns[4] * (1 + 1e-9) + 16 * U * columns[6],
        lower=columns[2] + columns[3],
        lower_err=columns[5] * (1 + 1e-9) + 16 * U * columns[7],
        mass=mass,
    )


def _truncation(tilt: Tilt, rule: Rule, mass: float) -> tuple[float, float]:
    """Bounds on what lies beyond the last node, for the upper and the lower integrand."""
    lift = math.exp(0.5 * (rule.smoothing * tilt.alpha) ** 2) * mass * (1.0 + 1e-9) / math.pi
    return lift * rule.rest_upper, lift * rule.rest_lower


def _aliasing(law: GainLaw, n: int, tilt: Tilt, rule: Rule, table: GrowthTable) -> float:
    """What the lower end must give back for the copies of S shifted by multiples k L, k != 0.

    x_+ <= e^{beta x}/(e beta) gives e^{-alpha k L} E(S + kL)_+ <= e^{(beta - alpha) k L} M(beta)^n
    / (e beta): any beta in (0, alpha) for k > 0, any beta > alpha for k < 0.
    """
    above = below = math.inf
    for beta, growth in table:
        decay = abs(beta - tilt.alpha) * rule.period * (1.0 - 1e-12)
        exponent = growth + 1e-9 - decay
        if exponent >= _OVERFLOW:
            continue
        series = math.exp(exponent) / (math.e * beta) / -math.expm1(-decay) * (1.0 + 1e-6)
        if beta > tilt.alpha:
            above = min(above, series)
        else:
            below = min(below, series)
    if n * law.high * (1.0 + 1e-9) <= rule.period:
        above = 0.0
    return below + above


__all__ = ["LogInterval", "expected_positive_part"]
