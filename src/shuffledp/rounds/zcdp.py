"""Concentrated DP: the least rho with D_A <= rho A at every order A > 1."""

from __future__ import annotations

import math
from collections.abc import Callable

# D_A is at most D_first below the first order: next to 1, little is lost by that.
_FIRST = 1.0 + 1e-3
# Orders a factor of 1.3 apart, up to where a pure guarantee covers the rest or to the largest; then
# halved, in their logarithms, where a chord is too high, at most so many in all.
_RATIO = 1.3
_MOST_ORDERS = 400
_LARGEST_ORDER = 1e7


def best_rho(
    divergence: Callable[[float], float], *, pure: float, rtol: float
) -> tuple[float, float]:
    """A rho with D_A <= rho A for all A > 1, and about the order that asks for it.

    From certified values at some orders: K(A) = (A-1) D_A is convex with K(1) = 0, so between
    orders it is below its chord; D_A grows with A, which covers orders next to 1; and D_A <= pure
    covers large ones.

    Parameters
    ----------
    divergence : callable
        Upper bound of D_A.
    pure : float
        Upper bound of D_A for every A; inf if there is none.
    rtol : float
        Relative accuracy aimed at.
    """
    orders = [_FIRST]
    values = [divergence(_FIRST)]
    if not math.isfinite(values[0]):
        return math.inf, orders[0]
    best = values[0]
    while pure / orders[-1] > best and orders[-1] < _LARGEST_ORDER:
        orders.append(orders[-1] * _RATIO)
        values.append(divergence(orders[-1]))
        if not math.isfinite(values[-1]):
            return math.inf, orders[-1]
        best = max(best, values[-1] / orders[-1])
    # The pure guarantee covers what lies beyond the last order.
    best = max(best, pure / orders[-1])
    if math.isinf(best):
        return math.inf, orders[-1]
    # With one order alone it covers all: D_A <= D_first below it, <= pure above.
    while 1 < len(orders) < _MOST_ORDERS:
        bounds = [_panel(orders, values, i) for i in range(len(orders) - 1)]
        worst = max(range(len(bounds)), key=bounds.__getitem__)
        if bounds[worst] <= best * (1.0 + rtol):
            break
        middle = math.sqrt(orders[worst] * orders[worst + 1])
        orders.insert(worst + 1, middle)
        values.insert(worst + 1, divergence(middle))
        best = max(best, values[worst + 1] / middle)
    top = max(range(len(orders)), key=lambda i: values[i] / orders[i])
    panels = (_panel(orders, values, i) for i in range(len(orders) - 1))
    return max((best, *panels)) * (1.0 + 1e-12), orders[top]


def _panel(orders: list[float], values: list[float], i: int) -> float:
    """Upper bound of D_A/A = K(A)/(A (A-1)) between two orders, from the chord of K."""
    a, b = orders[i], orders[i + 1]
    low, high = (a - 1.0) * values[i], (b - 1.0) * values[i + 1]
    slope = max((high - low) / (b - a), 0.0)
    candidates = [low / (a * (a - 1.0)), high / (b * (b - 1.0))]
    if slope > 0.0:
        # slope (A - r)/(A) is largest at A = r + sqrt(r^2 - r).
        r = a - low / slope
        top = r + math.sqrt(max(r * r - r, 0.0))
        if a < top < b:
            candidates.append(slope * (top - r) / (top * (top - 1.0)))
    return max(candidates)
