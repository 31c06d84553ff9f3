"""Concentrated DP: the least rho with D_A <= rho A at every order A > 1."""

from __future__ import annotations

import math
from collections.abc import Callable

# The first order, below which D_A is bounded by its value there; near 1, this loses little. The
# ratio of successive orders, at which K(A) is within 0.2 % of its chords.
_FIRST, _RATIO = 1.0 + 1e-3, 1.12
# Largest order that is tried.
_LARGEST_ORDER = 1e7


def orders_up_to(last: float) -> tuple[float, ...]:
    """The orders that ``best_rho`` evaluates, up to the first that is at least ``last``."""
    found = [_FIRST]
    while found[-1] < min(last, _LARGEST_ORDER):
        found.append(found[-1] * _RATIO)
    return tuple(found)


def best_rho(divergence: Callable[[float], float], *, pure: float) -> tuple[float, float]:
    """A rho with D_A <= rho A for all A > 1, and an estimate of the order that requires it.

    It follows from certified values at some orders. K(A) = (A-1) D_A is convex with K(1) = 0, so
    that between orders it is below its chord. D_A increases with A, which covers orders near 1.
    D_A <= pure covers large orders.

    Parameters
    ----------
    divergence : callable
        Upper bound of D_A.
    pure : float
        Finite upper bound of D_A for every A.
    """
    order, value = _FIRST, divergence(_FIRST)
    best, asks = value, order
    while pure / order > best and order < _LARGEST_ORDER:
        after = order * _RATIO
        found = divergence(after)
        panel = _panel(order, value, after, found)
        if panel > best:
            best, asks = panel, after
        order, value = after, found
    # The pure guarantee covers all orders beyond the last one.
    return max(best, pure / order) * (1.0 + 1e-12), asks


def _panel(a: float, at_a: float, b: float, at_b: float) -> float:
    """Upper bound of D_A/A = K(A)/(A (A-1)) between two orders, from the chord of K."""
    low, high = (a - 1.0) * at_a, (b - 1.0) * at_b
    slope = max((high - low) / (b - a), 0.0)
    candidates = [low / (a * (a - 1.0)), high / (b * (b - 1.0))]
    if slope > 0.0:
        # slope (A - r)/(A) is largest at A = r + sqrt(r^2 - r).
        r = a - low / slope
        top = r + math.sqrt(max(r * r - r, 0.0))
        if a < top < b:
            candidates.append(slope * (top - r) / (top * (top - 1.0)))
    return max(candidates)


__all__ = ["best_rho", "orders_up_to"]
