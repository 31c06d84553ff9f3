"""One trapezoidal rule: what is chosen, and its value with every error term, outward."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from shuffledp.arithmetic.intervals import LogInterval, log_of
from shuffledp.contour.aliasing import Growth, aliasing, period
from shuffledp.contour.integrand import Sums, integrand, summed
from shuffledp.contour.payoff import Payoff
from shuffledp.contour.stop import smoothed_away
from shuffledp.contour.transform import Transform
from shuffledp.pair import UNIT_ROUNDOFF

U = UNIT_ROUNDOFF
# e^{h^2 kappa/2} of a wider smoothing is no bound of anything.
_WIDEST_SMOOTHING = 20.0
_LEAST_NODES = 8


@dataclass(frozen=True)
class Rule:
    """One trapezoidal rule: smoothing h, period L, nodes t_j = j D, D = 2 pi/L, j <= J.

    ``rest_upper`` and ``rest_lower`` bound the integral of the modulus of the upper and the lower
    integrand beyond the last node, divided by e^{h^2 kappa(alpha)/2}/pi and the tilted mass.
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


def planned(
    transform: Transform,
    payoff: Payoff,
    table: Sequence[Growth],
    *,
    c: float,
    guard: float,
    most: int,
) -> Rule | None:
    """Choose period, last node and smoothing; None where that takes more than ``most`` nodes.

    Parameters
    ----------
    c : float
        The smoothing in units of 1/payoff.scale(alpha).
    guard : float
        What truncation and aliasing may be, relative to the result, each.
    """
    log_guard = math.log(1.0 / guard)
    length = period(transform, payoff, table, log_guard)
    alpha, step = transform.alpha, 2.0 * math.pi / length
    h = min(c / payoff.scale(alpha), payoff.widest)
    stop = transform.early_stop(payoff, smoothing=h, step=step, log_guard=log_guard)
    if stop is None and transform.must_stop:
        return None
    if stop is None:
        edge = math.sqrt(2.0 * (log_guard + c * c)) / h
    else:
        edge, h = stop.edge, stop.smoothing
    if h * payoff.scale(alpha) > _WIDEST_SMOOTHING or h > payoff.widest:
        return None
    if not edge * length < most * 2.0 * math.pi:
        return None
    count = max(math.ceil(edge * length / (2.0 * math.pi)), _LEAST_NODES)
    if stop is None:
        last = count * 2.0 * math.pi / length
        return Rule(h, length, count, *smoothed_away(payoff, alpha, h, last))
    return Rule(h, length, count, stop.rest_upper, stop.rest_lower)


def applied(
    transform: Transform, payoff: Payoff, table: Sequence[Growth], rule: Rule
) -> tuple[LogInterval, float]:
    """Evaluate the rule and add every error, outward; in units of the scale, logs at the end.

    Also the width that the errors of the integrand make, which no other rule would lessen.
    """
    alpha, h = transform.alpha, rule.smoothing
    nodes = transform.nodes(rule.step, rule.count)
    sums = summed(integrand(block, payoff, alpha, h) for block in nodes)
    return assembled(transform, payoff, rule, sums, aliasing(transform, table, rule.period))


def assembled(
    transform: Transform, payoff: Payoff, rule: Rule, sums: Sums, copies: float
) -> tuple[LogInterval, float]:
    """Sums, front factor, what lies beyond the last node and copies, put together outward."""
    alpha, h = transform.alpha, rule.smoothing
    lift = h * alpha * (h * (alpha + payoff.gap))
    front = rule.step / (2.0 * math.pi) / payoff.kappa(alpha) * math.exp(0.5 * lift)
    front_err = 32 * U * (1.0 + lift)
    cut_upper, cut_lower = truncated(payoff, alpha, rule, sums.mass)
    upper = front * (sums.upper + sums.upper_err)
    upper += abs(upper) * front_err + cut_upper
    lower = front * (sums.lower - sums.lower_err)
    lower -= abs(front * sums.lower) * front_err + cut_lower
    lower -= copies
    # Anything but a positive number says nothing: overflow in an error term, for one.
    high = log_of(upper) if upper > 0.0 else math.inf
    low = log_of(lower) if lower > 0.0 else -math.inf
    scale = transform.log_scale
    doubt = front * (sums.upper_err + sums.lower_err) / upper if upper > 0.0 else 0.0
    ends = LogInterval(low + scale - _slack(low, transform), high + scale + _slack(high, transform))
    return ends, doubt


def _slack(log_value: float, transform: Transform) -> float:
    """Rounding of a logarithm and of its sum with the scale's; 0 where there is none."""
    if not math.isfinite(log_value):
        return 0.0
    return 8 * U * (1.0 + abs(log_value) + abs(transform.log_scale)) + transform.scale_error


def truncated(payoff: Payoff, alpha: float, rule: Rule, mass: float) -> tuple[float, float]:
    """Bounds on what lies beyond the last node, for the upper and the lower integrand."""
    h = rule.smoothing
    lift = math.exp(0.5 * (h * alpha) * (h * (alpha + payoff.gap))) * mass * (1.0 + 1e-9) / math.pi
    return lift * rule.rest_upper, lift * rule.rest_lower
