"""Steps between two data sets that differ in several users, each at an eps of its own."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from shuffledp.bounds.shufflers import log_chain

__all__ = ["Chain", "chain", "steps_of"]

# Relative amount of eps that the steps give up, so that their sum does not exceed it.
_ROUNDING = 1e-14
# Largest number of changed users for which unequal steps are tried; each step costs an evaluation.
_MOST_STEPS = 12
# Loss of log delta by equal steps from which on unequal ones are tried.
_WORTH = 0.02


class Chain(NamedTuple):
    """Steps between data sets, one user's log delta at each, and log delta of the whole chain."""

    steps: tuple[float, ...]
    logs: tuple[float, ...]
    log_delta: float


def chain(log_one: Callable[[float], float], epsilon: float, changed: int) -> Chain:
    """The better of equal steps and, where they may be worth their time, unequal ones.

    Parameters
    ----------
    log_one : callable
        eps -> upper end of log delta for one user.
    epsilon : float
        eps >= 0 in nats.
    changed : int
        k, the number of users who change.
    """
    if changed == 1:
        found = log_one(epsilon)
        return Chain((epsilon,), (found,), found)
    equal = steps_of(epsilon, changed, 0.0)
    logs = (log_one(equal[0]),) * changed
    best = Chain(equal, logs, log_chain(epsilon, equal, logs))
    if changed > _MOST_STEPS or not epsilon > 0.0:
        return best
    spread = _spread_of(equal[0], logs[0])
    # Gain of unequal steps where losses are normal: about mu^2/24 (k^2 - 1) k.
    if spread * (changed**3 - changed) / 24.0 > _WORTH:
        steps = steps_of(epsilon, changed, spread)
        other = tuple(log_one(step) for step in steps)
        best = min(
            best, Chain(steps, other, log_chain(epsilon, steps, other)), key=lambda x: x.log_delta
        )
    return best


def steps_of(epsilon: float, changed: int, spread: float) -> tuple[float, ...]:
    """Steps eps_0 <= eps_1 <= ... of about eps/k that add up to at most eps.

    Parameters
    ----------
    epsilon : float
        eps >= 0 in nats.
    changed : int
        k, the number of steps.
    spread : float
        Difference of successive steps, >= 0; it is reduced where a step would be negative.
    """
    middle = epsilon / changed
    apart = min(spread, 2.0 * middle / (changed - 1)) if changed > 1 else 0.0
    left = _ROUNDING * epsilon
    return tuple(
        max(middle + apart * (i - 0.5 * (changed - 1)) - left, 0.0) for i in range(changed)
    )


def _spread_of(step: float, log_delta: float) -> float:
    """An estimate of mu^2, for a Gaussian mechanism with this delta at this eps.

    Steps that differ by mu^2 are the best ones there; any are valid (docs/theory-shufflers.md,
    section 5).

    Parameters
    ----------
    step : float
        eps of a step, > 0.
    log_delta : float
        log delta there, < 0.
    """
    if not step > 0.0 or not -math.inf < log_delta < 0.0:
        return 0.0
    # eps = mu z + mu^2/2, where delta is about Phi(-z) and log Phi(-z) about -z^2/2 - log(z + 1).
    z = math.sqrt(-2.0 * log_delta)
    for _ in range(3):
        z = math.sqrt(max(2.0 * (-log_delta - math.log(z + 1.0)), 1e-3))
    mu = math.sqrt(z * z + 2.0 * step) - z
    return mu * mu
