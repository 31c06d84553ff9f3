"""Conversion to dp_accounting: a PrivacyLossDistribution that dominates rounds."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from shuffledp import _check
from shuffledp.arithmetic.floats import UNIT_ROUNDOFF, Array
from shuffledp.errors import NotCertified, ParameterError, not_installed
from shuffledp.rounds.loss import LossLaw, LossPair

U = UNIT_ROUNDOFF
_MOST_POINTS = 4_000_000


def composed_pld(parts: Iterable[tuple[LossPair, int]], discretization: float) -> Any:
    """PLD of dominating pairs, composed by dp_accounting in floats, which is not certified here.

    Raises
    ------
    ParameterError
        If the grid is outside its domain, or dp_accounting is not installed.
    """
    grid = _check.positive("discretization", discretization, high=1.0)
    try:
        from dp_accounting.pld import privacy_loss_distribution as distribution
    except ImportError:
        words = not_installed("pld", ["dp_accounting"], "dp-accounting")
        raise ParameterError(words) from None
    found = None
    for pair, count in parts:
        forward = _pmf(pair.forward, grid)
        backward = forward if pair.symmetric else _pmf(pair.backward, grid)
        one = distribution.PrivacyLossDistribution(forward, None if pair.symmetric else backward)
        one = one.self_compose(count)
        found = one if found is None else found.compose(one)
    return found


def _pmf(law: LossLaw, grid: float) -> Any:
    """Connect the dots at the grid's multiples, through the law's own curve rounded up."""
    from dp_accounting.pld import pld_pmf

    first = math.floor(float(law.loss[0]) / grid) - 1
    last = math.ceil(float(law.loss[-1]) / grid) + 1
    if last - first > _MOST_POINTS:
        raise NotCertified(
            f"pld: discretization = {grid:g} would need {last - first:,} points; a coarser grid"
        )
    index = np.arange(first, last + 1, dtype=np.float64)
    delta = np.minimum(curve_of(law, index * grid), 1.0)
    return pld_pmf.create_pmf_pessimistic_connect_dots(
        grid, index.astype(np.int64), np.minimum.accumulate(delta)
    )


def curve_of(law: LossLaw, eps: Array) -> Array:
    """Upper values of infinite + sum mass (1 - e^{eps - loss})_+ at increasing eps."""
    at = np.searchsorted(law.loss, eps, side="right")
    p = np.append(np.cumsum(law.mass[::-1])[::-1], 0.0)
    # Q-mass above, scaled by e^{first loss above} so that it does not overflow.
    scaled = np.zeros(law.loss.size + 1)
    for j in range(law.loss.size - 1, -1, -1):
        gap = law.loss[j + 1] - law.loss[j] if j + 1 < law.loss.size else 0.0
        scaled[j] = law.mass[j] + scaled[j + 1] * math.exp(-gap)
    inside = at < law.loss.size
    nearest = law.loss[np.minimum(at, law.loss.size - 1)]
    q = scaled[at] * np.exp(np.minimum(eps - nearest, 0.0))
    size = p[at] + q
    # Multiples of the grid are rounded, and so is every loss next to one of them.
    slack = U * (2.0 * law.loss.size + 32.0 + 8.0 * np.abs(eps) + 8.0 * np.abs(law.loss).max())
    value = np.where(inside, p[at] - q + slack * size, 0.0)
    return law.infinite + np.maximum(value, 0.0)
