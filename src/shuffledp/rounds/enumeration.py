"""The sum over all combinations of losses, where few rounds or few losses leave few of them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from shuffledp.numerics import LogInterval
from shuffledp.numerics.factorials import log_factorials
from shuffledp.pair import UNIT_ROUNDOFF, Array
from shuffledp.rounds.loss import LossLaw

U = UNIT_ROUNDOFF
_MANY = 1 << 40

Parts = Sequence[tuple[LossLaw, int]]


def combinations(parts: Parts) -> int:
    """How many different sums of losses there are at most."""
    total = 1
    for law, count in parts:
        if law.loss.size > 64:
            return _MANY
        total *= math.comb(min(count, _MANY) + law.loss.size - 1, law.loss.size - 1)
        if total > _MANY:
            return _MANY
    return total


def enumerated(parts: Parts, epsilon: float) -> LogInterval:
    """log E_P[(1 - e^{eps - L})_+; L finite], every rounding outward."""
    loss, log_mass, size = np.zeros(1), np.zeros(1), np.zeros(1)
    reach = abs(epsilon)
    for law, count in parts:
        one, two, three = _sums(law, count)
        loss = (loss[:, None] + one[None, :]).ravel()
        log_mass = (log_mass[:, None] + two[None, :]).ravel()
        size = (size[:, None] + three[None, :]).ravel()
        reach += count * float(np.abs(law.loss).max())
    # Each sum of losses is off by less than this.
    blur = 8 * U * reach * (2.0 + len(parts))
    gap = loss - epsilon
    low, high = -np.expm1(-np.maximum(gap - blur, 0.0)), -np.expm1(-np.maximum(gap + blur, 0.0))
    doubt = 32 * U * (size + 8.0)
    return LogInterval(_log_sum(log_mass - doubt, low, -1.0), _log_sum(log_mass + doubt, high, 1.0))


def _sums(law: LossLaw, count: int) -> tuple[Array, Array, Array]:
    """Every count vector of one law: its sum, log probability, and the size of the terms."""
    left = np.array([count])
    loss, log_mass, size = np.zeros(1), np.zeros(1), np.zeros(1)
    for j, (one, mass) in enumerate(zip(law.loss, law.mass, strict=True)):
        last = j == law.loss.size - 1
        repeats = np.ones(left.size, dtype=np.int64) if last else left + 1
        index = np.repeat(np.arange(left.size), repeats)
        c = (
            left
            if last
            else np.arange(index.size) - np.repeat(np.cumsum(repeats) - repeats, repeats)
        )
        log_factorial = log_factorials(c)
        term = c * math.log(mass) - log_factorial
        loss = loss[index] + c * one
        log_mass = log_mass[index] + term
        size = size[index] + c * abs(math.log(mass)) + log_factorial
        left = left[index] - c
    whole = math.lgamma(count + 1)
    return loss, log_mass + whole, size + whole


def _log_sum(logs: Array, value: Array, outward: float) -> float:
    keep = value > 0.0
    if not bool(keep.any()):
        return -math.inf
    terms = logs[keep] + np.log(value[keep])
    top = float(terms.max())
    total = top + math.log(float(np.exp(np.maximum(terms - top, -745.0)).sum()))
    return total + outward * U * (terms.size + 64.0) * (1.0 + abs(total))
