"""Sums of numbers or vectors with normal noise: the Gaussian mechanism, exactly, in all rounds.

Inputs of one user move the sum by at most high - low, of vectors the ball's diameter, and the noise
of n users has deviation sigma sqrt(n): T rounds are one Gaussian mechanism with
mu = sqrt(T/n) (high - low)/sigma (docs/theory-sums.md; Balle and Wang 2018; Dong, Roth, Su 2022,
Corollary 3.3).
"""

from __future__ import annotations

import math

from shuffledp.amplification.end import exact_ends
from shuffledp.amplification.seen import Quantity
from shuffledp.arithmetic.balls import arb
from shuffledp.arithmetic.intervals import LogInterval
from shuffledp.bound import Bound, delta_from_log
from shuffledp.bounds.local import delta_gaussian
from shuffledp.randomizers import Gaussian
from shuffledp.rounds.gaussian import enclosed
from shuffledp.views.added_up import AddedUp


def normal_sum(view: AddedUp, noise: Gaussian, quantity: Quantity, value: float) -> Bound:
    """Both ends, 1e-12 apart.

    Parameters
    ----------
    view : AddedUp
        What is added up, and how often.
    noise : Gaussian
        What each user adds, along the line on which inputs differ.
    quantity : {"epsilon", "delta"}
        What is bounded.
    value : float
        What is held fixed: delta for "epsilon", eps for "delta".
    """

    def log_delta(epsilon: float) -> LogInterval:
        def delta() -> arb:
            width = arb(noise.high) - arb(noise.low)
            mu = (arb(view.rounds) / view.n).sqrt() * width / arb(noise.sigma)
            return delta_gaussian(mu, arb(epsilon))

        return enclosed(delta)

    ends, logs = exact_ends(log_delta, quantity, value), (None, None)
    if quantity == "delta":
        ends, logs = delta_from_log(*ends), ends
    witness = {"analysis": "sum-of-normals"}
    some = ends[0] > 0.0 or logs[0] not in (None, -math.inf)
    both = {"upper": witness, "lower": witness if some else {}}
    return view.bound_of(quantity, value, (ends, logs), both, (0.0, None))


__all__ = ["normal_sum"]
