"""Renyi divergence of any order > 1 from laws of the privacy loss.

    E_Q[(P/Q)^A] - 1 = A (A-1) int_0^inf [ e^{(A-1) x} h(e^x) + e^{-A x} h'(e^x) ] dx,

where h is the curve of (P, Q) and h' that of (Q, P). It increases with the curves. For curves of
chords it is a sum over losses (docs/theory-composition.md, Lemma 4.1), computed in balls.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from shuffledp.arithmetic.balls import arb, ctx, float_above, float_below, total
from shuffledp.rounds.loss import LossLaw, LossPair

# Working precision in bits: terms of small losses cancel up to (A loss)^2.
_BITS = 320
# Ratios (A + t)/A at which a tail is tried: the best of them is within a few per cent of the best
# t.
_RATIOS = tuple(1.2**k for k in range(77))
# Number of places from which a tail's bound is tried, the first at the last dot, and their ratio.
_STARTS, _FARTHER = 40, 1.15

Tail = Callable[[float, float], float]


@dataclass(frozen=True)
class RenyiTail:
    """Contribution of large losses to a moment, from local Renyi divergences of higher orders.

    For losses L above eps, t >= 0 and any curve h(e^x) <= P(L > x):

        A (A-1) int_eps^inf e^{(A-1) x} h(e^x) dx  <=  A E_P[e^{(A-1) L}; L > eps]
                                                   <=  A e^{-t eps + (A-1+t) D_{A+t}} .
    """

    renyi: Callable[[float], float]

    def __call__(self, order: float, epsilon: float) -> float:
        """log of the contribution at an order, of losses above eps; inf if there is no bound."""

        def about(higher: float) -> float:
            return (higher - 1.0) * self.renyi(higher) - (higher - order) * epsilon

        # Floats choose t: every t >= 0 is valid.
        higher = min((ratio * order for ratio in _RATIOS), key=about)
        found = self.renyi(higher)
        if not math.isfinite(found):
            return math.inf
        t = arb(higher) - arb(order)
        return float_above((arb(higher) - 1) * arb(found) - t * arb(epsilon) + arb(order).log())


def upper_renyi(
    pair: LossPair, order: float, *, last: float, tail: Tail | None
) -> tuple[float, float]:
    """Upper ends of the divergence of (P, Q) and of (Q, P), from laws above; inf if none.

    Parameters
    ----------
    pair : LossPair
        Laws above the curves; their mass at infinity bounds the curves beyond all losses.
    order : float
        A > 1.
    last : float
        The curves are 0 from this eps on; inf if there is no such eps.
    tail : callable, optional
        ``tail(order, eps)`` bounds the log of the contribution of losses above eps.
    """
    with ctx.workprec(_BITS):
        found = [
            _above(pair[this], pair[1 - this], order, last, tail)
            for this in ((0,) if pair.symmetric else (0, 1))
        ]
    return found[0], found[-1]


def _above(law: LossLaw, other: LossLaw, order: float, last: float, tail: Tail | None) -> float:
    """The sum over losses, the constant part beyond them, and the tail's contribution."""
    a, left = arb(order), arb(law.infinite)
    excess = excess_of(law, order) + (a - 1) * arb(other.infinite)
    beyond: list[arb] = []
    if law.infinite == 0.0:
        beyond.append(arb(0))
    elif last < math.inf:
        beyond.append(a * left * (((a - 1) * arb(last)).exp() - 1))
    elif tail is not None:
        start = max(law.highest, 1e-3)
        for _ in range(_STARTS):
            rest = tail(order, start)
            if rest < math.inf:
                beyond.append(a * left * (((a - 1) * arb(start)).exp() - 1) + arb(rest).exp())
            start *= _FARTHER
    if not beyond:
        return math.inf
    excess += min(beyond, key=lambda x: float_above(x.log()) if x > 0 else -math.inf)
    return max(float_above(excess.log1p() / (a - 1)), 0.0)


def lower_renyi(pair: LossPair, order: float) -> tuple[float, float]:
    """Lower ends of both divergences, from laws below the curves of one pair of neighbours."""
    with ctx.workprec(_BITS):
        found = [
            math.inf
            if law.infinite > 0.0
            else max(float_below(excess_of(law, order).log1p() / (arb(order) - 1)), 0.0)
            for law in pair
        ]
    return found[0], found[1]


def excess_of(law: LossLaw, order: float) -> arb:
    """E_Q[(P/Q)^A] - 1 of a law's finite losses: sum of q (t^A - 1 - A (t - 1)), t = e^loss.

    It equals A (A-1) int [..] of the law's own curve, whatever its masses add up to. No term is
    negative.
    """
    a = arb(order)
    return total(
        arb(mass) * (((a - 1) * arb(loss)).exp() - a + (a - 1) * (-arb(loss)).exp())
        for loss, mass in zip(law.loss.tolist(), law.mass.tolist(), strict=True)
        if loss != 0.0
    )


__all__ = ["RenyiTail", "Tail", "excess_of", "lower_renyi", "upper_renyi"]
