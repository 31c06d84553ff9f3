"""Where the contour of many rounds crosses the real axis, and the tilted laws there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shuffledp.numerics.roots import bracketed_root
from shuffledp.pair import UNIT_ROUNDOFF, Array
from shuffledp.rounds.loss import LossLaw

U = UNIT_ROUNDOFF
_SEARCH = 400
_LARGEST_LOG = 600.0
# The smallest float > 0.
LEAST = 5e-324


@dataclass(frozen=True)
class Tilt:
    """A crossing rho > 0; any value gives a valid bracket.

    Attributes
    ----------
    rho : float
        Real part of the contour.
    log_scale : float
        sum T_i log N_i(rho) - rho eps up to rounding: what everything is relative to.
    log_size : float
        Sum of the sizes of the terms of ``log_scale``, for its rounding error.
    """

    rho: float
    log_scale: float
    log_size: float


@dataclass(frozen=True)
class Tilted:
    """The law mass e^{rho loss}/N, its normalizer and moments.

    ``rel`` bounds the relative error of every weight, ``rest`` that of their sum.
    """

    loss: Array
    weight: Array
    log_n: float
    mean: float
    variance: float
    rel: float
    rest: float


def tilted(law: LossLaw, rho: float) -> Tilted:
    """The tilted law at rho."""
    exponent = rho * law.loss
    peak = float(exponent.max())
    share = law.mass * np.exp(exponent - peak)
    total = math.fsum(share)
    weight = share / total
    log_n = peak + math.log(total)
    mean = float((weight * law.loss).sum())
    return Tilted(
        loss=law.loss,
        weight=weight,
        log_n=log_n,
        mean=mean,
        variance=float((weight * (law.loss - mean) ** 2).sum()),
        rel=U * (64.0 + 8.0 * float(np.abs(exponent).max()) + 16.0 * (abs(log_n) + abs(peak))),
        # Masses that underflow, in products and quotients, lose less than the smallest float each.
        rest=abs(math.fsum(weight) - 1.0) + 2 * U + law.loss.size * (LEAST / total + LEAST),
    )


def find_tilt(parts: Sequence[tuple[LossLaw, int]], epsilon: float) -> Tilt:
    """Saddle point of sum T_i log N_i(rho) - rho eps - log rho - log(1 + rho)."""

    def slope(theta: float) -> float:
        rho = math.exp(theta)
        mean = math.fsum(count * tilted(law, rho).mean for law, count in parts)
        return rho * (mean - epsilon) - 1.0 - rho / (1.0 + rho)

    variance = sum(count * tilted(law, 0.0).variance for law, count in parts)
    start = -0.5 * math.log(variance) if variance > 1e-200 else 0.0
    low = high = start
    # At and beyond the largest loss there is no saddle point to look for.
    below_top = epsilon < math.fsum(count * law.highest for law, count in parts)
    for _ in range(_SEARCH if below_top else 0):
        if slope(high) > 0.0 or high > _LARGEST_LOG:
            break
        high += 1.0
    for _ in range(_SEARCH if below_top else 0):
        if slope(low) < 0.0 or low < -_LARGEST_LOG:
            break
        low -= 1.0
    theta = start
    if below_top and slope(low) < 0.0 < slope(high):
        theta = bracketed_root(slope, low, high, absolute=1e-3)
    rho = math.exp(theta)
    logs = [(count, tilted(law, rho).log_n) for law, count in parts]
    return Tilt(
        rho=rho,
        log_scale=math.fsum(count * log for count, log in logs) - rho * epsilon,
        log_size=math.fsum(count * abs(log) for count, log in logs) + abs(rho * epsilon),
    )
