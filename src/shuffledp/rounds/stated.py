"""One round given by upper values of its curve at dots: fewer values to evaluate than a curve.

The values are rounded outward, and a law is put above them (docs/theory-composition.md,
section 2). There is no lower end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from shuffledp.arithmetic.balls import arb, ctx, float_above
from shuffledp.rounds.dots import BITS, law_above
from shuffledp.rounds.loss import LossPair
from shuffledp.rounds.part import Given, Round
from shuffledp.rounds.plan import Plan

# Relative distance of the values from the numerical bracket.
_ROOM, _ROOM_SLOW = 2e-4, 2e-3
# The last dot is this factor beyond eps0.
_BEYOND_EPS0 = 1.0 + 2.0**-36


@dataclass(frozen=True, repr=False, kw_only=True)
class StatedRound(Given):
    """A round given by values of its curve at dots.

    Attributes
    ----------
    dots, values : tuples of float
        Upper values of the curve at these eps.
    """

    dots: tuple[float, ...] = ()
    values: tuple[float, ...] = ()


def stated_above(dots: Sequence[float], values: Sequence[float]) -> LossPair:
    """The laws above a symmetric curve with stated upper values at the dots."""
    with ctx.workprec(BITS):
        return law_above(dots, [arb(v) for v in values])


def stated(part: Round, *, log_target: float, rounds: int) -> StatedRound:
    """The round as values at dots, fine enough for a target after some rounds.

    Parameters
    ----------
    part : Round
        A round with a symmetric relation; its sharper bound is left out.
    log_target : float
        An estimate of log delta after all rounds.
    rounds : int
        Number of rounds.
    """
    room = _ROOM_SLOW if part.slow else _ROOM
    asked = replace(part, groups=[part.groups[0]], sharper=None, key=("stated", part.key))
    plan = Plan([(asked, rounds)], part.rtol)
    places, curve = plan.for_target(0, log_target, 1.0), asked.curve()
    eps = curve.followed(places, plan.level(log_target))
    values = [_outward(x, room) for x in curve.values_at(eps).high]
    if eps[-1] >= curve.last:
        # At another precision 0 may be found only slightly beyond eps0.
        eps[-1] *= _BEYOND_EPS0
    # Keep only vertices of the convex curve, so that there are fewer losses.
    known = dict(zip(eps, values, strict=True))
    dots = [0.0, *(x for x in stated_above(eps, values).forward.loss.tolist() if x > 0.0)]
    values = [known[e] for e in dots]
    return StatedRound(
        label=part.label,
        relation=part.relation,
        pair=stated_above(dots, values),
        key=("stated", part.key, tuple(dots)),
        eps0=part.eps0,
        rtol=part.rtol,
        assumptions=part.assumptions,
        upper_theorem=part.upper_theorem,
        lower_theorem=part.lower_theorem,
        at=part.at,
        dots=tuple(dots),
        values=tuple(values),
    )


def _outward(value: Any, room: float) -> float:
    """An upper value, moved outward for rounding at another precision."""
    return 0.0 if value.is_zero() else min(float_above(value * (1 + arb(room))), 1.0)


__all__ = ["StatedRound", "stated", "stated_above"]
