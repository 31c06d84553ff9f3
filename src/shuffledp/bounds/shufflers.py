"""From delta for one user and a uniform order to delta for a declared shuffler, rounded up.

With a = e^eps, K = k T eps0 for k users' reports in T rounds, and g <= gamma times the number of
orders (docs/theory-shufflers.md, Lemma 5.2, Theorems 1.1 and 5.1),

    delta_local(eps) <= (e^K - a)/(e^K + 1)_+                             (1 for K = inf)
    delta(eps) <= (1 - 2 g) delta_uniform(eps) + 2 g delta_local(eps)
    delta_k(eps_0 + .. + eps_{k-1}) <= sum_i e^(eps_0 + .. + eps_{i-1}) delta_1(eps_i) .
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from shuffledp.arithmetic.balls import arb, ctx, float_above
from shuffledp.arithmetic.intervals import log_above
from shuffledp.errors import ParameterError

__all__ = [
    "local_guarantee",
    "log_chain",
    "log_local",
    "log_mixed",
    "several",
]

# Working precision in bits: sums are accurate to 1e-30.
_BITS = 128


def local_guarantee(eps0: float, changed: int, rounds: int) -> float:
    """K = k T eps0 in nats, rounded up.

    Parameters
    ----------
    eps0 : float
        Guarantee of one report, in nats; may be inf.
    changed, rounds : int
        Number of users whose reports change, and number of rounds.
    """
    if changed * rounds == 1 or not math.isfinite(eps0):
        return eps0
    with ctx.workprec(_BITS):
        return float_above(arb(eps0) * (changed * rounds))


def log_local(guarantee: float, epsilon: float) -> float:
    """log of the largest delta at eps that a pure guarantee K allows.

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
    with ctx.workprec(_BITS):
        k = arb(guarantee)
        return _log((1 - (arb(epsilon) - k).exp()) / (1 + (-k).exp()))


def log_mixed(log_delta: float, distance: float, log_left: float) -> float:
    """log((1 - 2 g) delta + 2 g delta_local); delta_local for g >= 1/2.

    Parameters
    ----------
    log_delta : float
        log delta for a uniform permutation.
    distance : float
        g, total variation distance from a uniform permutation in all rounds together.
    log_left : float
        log of delta_local at the same eps.
    """
    if distance == 0.0:
        return log_delta
    if not distance < 0.5 or not log_delta < log_left or log_left == -math.inf:
        return log_left
    with ctx.workprec(_BITS):
        g = arb(distance)
        return min(_log((1 - 2 * g) * _exp(log_delta) + 2 * g * _exp(log_left)), log_left)


def several(distance: float, orders: int) -> float:
    """Distance of several orders, each within gamma given the others: T gamma, at most 1.

    Parameters
    ----------
    distance : float
        gamma, for one order.
    orders : int
        T, the number of orders.
    """
    if orders == 1 or distance == 0.0:
        return distance
    with ctx.workprec(_BITS):
        return min(float_above(arb(distance) * orders), 1.0)


def log_chain(epsilon: float, steps: Sequence[float], logs: Sequence[float]) -> float:
    """log sum_i e^(eps_0 + .. + eps_{i-1}) delta_i, at most 0.

    Parameters
    ----------
    epsilon : float
        eps in nats; the steps add up to at most this.
    steps : sequence of float
        eps_i >= 0.
    logs : sequence of float
        log delta_1(eps_i), upper ends.
    """
    with ctx.workprec(_BITS):
        before, found = arb(0), arb(0)
        for step, log in zip(steps, logs, strict=True):
            found += before.exp() * _exp(log)
            before += arb(step)
        if min(steps) < 0.0 or not before <= arb(epsilon):
            raise ParameterError(f"steps = {steps!r}: wanted numbers >= 0 of at most {epsilon!r}")
        return _log(found)


def _exp(log: float) -> arb:
    """e^log of an upper end of a probability: 0 for -inf, 1 where log is not finite otherwise."""
    if log == -math.inf:
        return arb(0)
    return arb(log).exp() if math.isfinite(log) else arb(1)


def _log(value: arb) -> float:
    """The logarithm, rounded up and at most 0."""
    return min(log_above(value), 0.0)
