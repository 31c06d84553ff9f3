"""From delta of one perfect shuffle to delta of what is declared; all rounded up.

With a = e^eps, K = k T eps0 for k users' reports in T rounds and g <= gamma
times the number of orders,

    delta_local(eps) <= (e^K - a)/(e^K + 1)_+                             (KOV; 1 for K = inf)
    delta(eps) <= (1 - 2 g) delta_uniform(eps) + 2 g delta_local(eps)     (theory-shufflers, 1.1)
    delta_k(eps_0 + .. + eps_{k-1}) <= sum_i e^(eps_0 + .. + eps_{i-1}) delta_1(eps_i)      (5.1)
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from shuffledp.pair import UNIT_ROUNDOFF

U = UNIT_ROUNDOFF


def local_guarantee(eps0: float, changed: int, rounds: int) -> float:
    """K = k T eps0, rounded up.

    Parameters
    ----------
    eps0 : float
        Of one report, in nats; may be inf.
    changed, rounds : int
        Users' reports that change, and rounds.
    """
    return eps0 if changed * rounds == 1 else eps0 * (changed * rounds) * (1.0 + 4 * U)


def log_local(guarantee: float, epsilon: float) -> float:
    """log of the largest delta at eps of reports that a pure guarantee K is known of.

    Parameters
    ----------
    guarantee : float
        K in nats; may be inf.
    epsilon : float
        eps >= 0 in nats.
    """
    if epsilon >= guarantee:
        return -math.inf
    if math.isinf(guarantee):
        return 0.0
    # (e^K - e^eps)/(e^K + 1) = (1 - e^(eps - K))/(1 + e^-K); the difference is off by u times it,
    # which 1 - e^-x takes over as a relative error of at most that.
    value = -math.expm1(epsilon - guarantee) / (1.0 + math.exp(-guarantee)) * (1.0 + 16 * U)
    return min(math.log(value) + 4 * U * (1.0 + abs(math.log(value))), 0.0)


def log_mixed(log_delta: float, distance: float, log_left: float) -> float:
    """log((1 - 2 g) delta + 2 g delta_local), rounded up; delta_local for g >= 1/2.

    Parameters
    ----------
    log_delta : float
        Of a uniform permutation.
    distance : float
        g, total variation distance from it in all rounds.
    log_left : float
        log of delta_local at the same eps.
    """
    if distance == 0.0:
        return log_delta
    if distance >= 0.5 or log_delta >= log_left:
        return log_left
    if log_left == -math.inf:
        return -math.inf
    ideal = log_delta + math.log1p(-2.0 * distance)
    extra = math.log(2.0 * distance) + log_left
    high, low = max(ideal, extra), min(ideal, extra)
    value = high + math.log1p(math.exp(low - high))
    # Logarithms and their sums, each off by a unit of itself.
    size = 4.0 + abs(log_delta) + abs(ideal) + abs(extra) + abs(value)
    return min(value + 8 * U * size, log_left)


def several(distance: float, orders: int) -> float:
    """Of so many orders, each within gamma given the others: T gamma, at most 1, rounded up.

    Parameters
    ----------
    distance : float
        gamma.
    orders : int
        T.
    """
    return distance if orders == 1 else min(distance * orders * (1.0 + 4 * U), 1.0)


def steps_of(epsilon: float, changed: int, spread: float) -> tuple[float, ...]:
    """eps_0 <= eps_1 <= ... that add up to at most eps: steps eps/k, d apart.

    Parameters
    ----------
    epsilon : float
        eps >= 0 in nats.
    changed : int
        k.
    spread : float
        d >= 0; as much of it as keeps all steps >= 0.
    """
    middle = epsilon / changed
    apart = min(spread, 2.0 * middle / (changed - 1)) if changed > 1 else 0.0
    rounded = 1.0 - 8 * U
    if apart <= 0.0:
        return (middle * rounded,) * changed
    # Off by a few units of eps each, of which each gives up more.
    away = 16 * U * epsilon
    return tuple(
        max(middle + apart * (i - 0.5 * (changed - 1)) - away, 0.0) for i in range(changed)
    )


def log_chain(steps: Sequence[float], logs: Sequence[float]) -> float:
    """log sum_i e^(eps_0 + .. + eps_{i-1}) delta_i, rounded up, at most 0.

    Parameters
    ----------
    steps : sequence of float
        eps_i >= 0.
    logs : sequence of float
        log delta_1(eps_i), upper ends.
    """
    terms, before = [], 0.0
    for step, log in zip(steps, logs, strict=True):
        terms.append(before + log)
        before += step
    top = max(terms)
    if top == -math.inf:
        return -math.inf
    value = top + math.log(math.fsum(math.exp(term - top) for term in terms))
    size = 4.0 + len(terms) * before + abs(top) + abs(value) + max(map(_finite, logs))
    return min(value + 8 * U * size, 0.0)


def _finite(log: float) -> float:
    return abs(log) if math.isfinite(log) else 0.0
