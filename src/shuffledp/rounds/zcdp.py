"""Concentrated DP: the least rho with D_A <= rho A at every order A > 1."""

from __future__ import annotations

import math
from collections.abc import Callable

# The first order, below which D_A is bounded by its value there; near 1, this loses 0.1 %.
_FIRST = 1.0 + 1e-3
# sqrt(A - 1) grows by this times sqrt A from order to order: if D_A = rho A, chords of K(A) are
# above it by at most the square, 0.34 %. Far from 1 orders grow by 12 %.
_STEP = 0.058
# The order that requires rho is only known up to about this factor until dots are placed for it.
_NEAR = 1.3
# Largest order that is tried.
_LARGEST_ORDER = 1e7


def orders_up_to(last: float) -> tuple[float, ...]:
    """The orders that ``best_rho`` evaluates, up to the first that is at least ``last``."""
    found = [_FIRST]
    while found[-1] < min(last, _LARGEST_ORDER):
        found.append(_after(found[-1]))
    return tuple(found)


def _after(order: float) -> float:
    """The next order, so that the chord of A (A-1) is at most _STEP^2 A (A-1) above it."""
    return 1.0 + (math.sqrt(order - 1.0) + _STEP * math.sqrt(order)) ** 2


def orders_around(order: float) -> tuple[float, float]:
    """Two orders for which dots are placed where this order, > 1, requires the rho."""
    return max(order / _NEAR, _FIRST), order


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
        after = _after(order)
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


__all__ = ["best_rho", "orders_around", "orders_up_to"]
