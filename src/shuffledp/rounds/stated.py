"""One round given by values that a reader can recompute: the content of a certificate of rounds.

The curve's values at dots are rounded outward, and laws are put above and below them
(docs/theory-composition.md, section 2). Whoever has the dots and the values can compose again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from shuffledp.arithmetic.balls import arb, ctx, float_above, float_below
from shuffledp.errors import NotCertified
from shuffledp.rounds.curve import Curve, Envelope, Sharper
from shuffledp.rounds.dots import BITS, Bracket, law_above, law_below
from shuffledp.rounds.loss import NO_LOSS, LossPair
from shuffledp.rounds.part import Given, Places, Round, joined_to_0
from shuffledp.rounds.plan import Plan
from shuffledp.rounds.total import losses_of

# Relative distance of stated values from the numerical bracket, as a verifier has another
# precision.
_ROOM, _ROOM_SLOW = 2e-4, 2e-3
# Share of that distance that is left for the reader.
_SEEN = 0.25
# The last dot of an upper end is this factor beyond eps0.
_BEYOND_EPS0 = 1.0 + 2.0**-36
# Dots of a lower end stay this factor below eps0, where a curve falls to 0 at once.
_BELOW_EPS0 = 1.0 - 1e-3

# Distances beyond the last dot, in nats, at which a curve with infinite losses is evaluated too, as
# its estimates are flat.
_FAR = (0.1, 0.3, 1.0, 3.0, 10.0, 20.0, 40.0)

# Lower values of a curve at the dots, and upper values.
Ends = tuple[tuple[float, ...], tuple[float, ...]]


@dataclass(frozen=True, repr=False, kw_only=True)
class StatedRound(Given):
    """A round given by values of its curves at dots.

    Attributes
    ----------
    dots, values : tuples of float
        Upper values of the curve at these eps.
    lower_dots : tuple of float
        The eps at which the curves of one pair of datasets are enclosed.
    ends : tuple of Ends
        Lower and upper values there, for the pair and, if its curve differs, for its swap.
    lower : LossPair
        The laws below these values.
    reproduces : dict
        The witness of this pair of datasets.
    free : tuple
        For a round with a sharper bound: for each value the free numbers of every pair, or None
        where the first group's bound suffices. Otherwise empty.
    """

    dots: tuple[float, ...] = ()
    values: tuple[float, ...] = ()
    lower_dots: tuple[float, ...] = ()
    ends: tuple[Ends, ...] = ()
    lower: LossPair = field(default=NO_LOSS, compare=False)
    reproduces: dict[str, Any] = field(default_factory=dict, compare=False)
    free: tuple[list[dict[str, Any]] | None, ...] = field(default=(), compare=False)

    def below(self, places: Places, around: float) -> tuple[LossPair, dict[str, Any]]:
        """The lower laws, whatever dots are requested."""
        del places, around
        return self.lower, dict(self.reproduces) if self.ends else {}


def stated_above(dots: Sequence[float], values: Sequence[float]) -> LossPair:
    """The laws above a symmetric curve with stated upper values at the dots."""
    with ctx.workprec(BITS):
        return law_above(dots, [arb(v) for v in values])


def stated_below(
    dots: Sequence[float], ends: Sequence[tuple[Sequence[float], Sequence[float]]]
) -> LossPair:
    """The laws below the curves of one pair with stated ends at the dots."""
    with ctx.workprec(BITS):
        made = [Bracket([arb(x) for x in low], [arb(x) for x in high]) for low, high in ends]
        return law_below(dots, made[0], made[-1], arb(0))


def stated(
    part: Round, *, log_target: float, rounds: int, lower: bool = True, sharper: bool = False
) -> StatedRound:
    """The round as values at dots, fine enough for a target after some rounds.

    Parameters
    ----------
    part : Round
        A round with a symmetric relation.
    log_target : float
        An estimate of log delta after all rounds.
    rounds : int
        Number of rounds.
    lower : bool
        False: leave out the values for a lower end.
    sharper : bool
        Use the round's sharper bound too, if it has one, and state its free numbers.

    Raises
    ------
    NotCertified
        If a reader with the free numbers of a sharper bound computes a larger value than stated.
    """
    bound = _AsRead(part.sharper) if sharper and part.sharper is not None else None
    room = _ROOM_SLOW if part.slow else _ROOM
    asked = replace(part, groups=[part.groups[0]], sharper=bound, key=("stated", part.key))
    plan = Plan([(asked, rounds)], part.rtol)
    places, curve = plan.for_target(0, log_target, 1.0), asked.curve()
    eps = curve.followed(places, plan.level(log_target))
    values = [_outward(x, room) for x in curve.values_at(eps).high]
    if eps[-1] >= curve.last:
        # At another precision a reader may find 0 only slightly beyond eps0.
        eps[-1] *= _BEYOND_EPS0
    if bound is not None and len(eps) > 1:
        # A law above replaces the value at 0 by the chord of its neighbours, by symmetry.
        values[0] = 1.0
    # Keep only vertices of the convex curve, so that there are fewer values to read.
    known = dict(zip(eps, values, strict=True))
    dots = [0.0, *(x for x in stated_above(eps, values).forward.loss.tolist() if x > 0.0)]
    values = [known[e] for e in dots]
    free: tuple[list[dict[str, Any]] | None, ...] = ()
    if bound is not None:
        free = tuple(_seen(part, bound, e, known[e], _SEEN * room) for e in dots)
    made = StatedRound(
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
        free=free,
    )
    return _with_lower(made, part, places, room) if lower else made


def _with_lower(made: StatedRound, part: Round, places: Places, room: float) -> StatedRound:
    """The round with the ends of one pair of datasets' curves added."""
    candidate = part.candidate(part.curve().scale)
    if candidate is None:
        return made
    forward, backward = part.both(candidate)
    curves = [forward] if backward is forward else [forward, backward]
    dots = [e for e in joined_to_0(places) if e < _BELOW_EPS0 * forward.last]
    if len(dots) < len(places):
        dots.append(_BELOW_EPS0 * forward.last)
    if any(curve.floor > -math.inf for curve in curves):
        # Infinite losses: follow the curve far beyond every eps of interest.
        dots += [dots[-1] + far for far in _FAR if dots[-1] + far < forward.last]
    ends: list[Ends] = []
    for curve in curves:
        found = curve.values_at(dots)
        ends.append(
            (
                tuple(max(float_below(x * (1 - arb(room))), 0.0) for x in found.low),
                tuple(_outward(x, room) for x in found.high),
            )
        )
    return replace(
        made,
        lower_dots=tuple(dots),
        ends=tuple(ends),
        lower=stated_below(dots, ends),
        reproduces=dict(candidate.witness),
    )


def _outward(value: Any, room: float) -> float:
    """An upper value, moved outward for a reader."""
    return 0.0 if value.is_zero() else min(float_above(value * (1 + arb(room))), 1.0)


class _AsRead:
    """A sharper bound as a reader computes it, from its free numbers alone."""

    def __init__(self, bound: Sharper) -> None:
        self._bound = bound
        self._known: dict[float, tuple[float, list[dict[str, Any]]] | None] = {}

    def log_upper(self, epsilon: float) -> float:
        """The bound at its free numbers; 0 if there are none."""
        found = self.reproduced(epsilon)
        return 0.0 if found is None else found[0]

    def rough(self, epsilon: float) -> float:
        """The bound's own estimate."""
        return self._bound.rough(epsilon)

    def reproduced(self, epsilon: float) -> tuple[float, list[dict[str, Any]]] | None:
        """The bound's own free numbers, computed once."""
        if epsilon not in self._known:
            self._known[epsilon] = self._bound.reproduced(epsilon)
        return self._known[epsilon]


def _seen(
    part: Round, sharper: Sharper, epsilon: float, value: float, left: float
) -> list[dict[str, Any]] | None:
    """The free numbers by which a reader obtains at most this value.

    None if the first group does.
    """
    if value >= 1.0:
        return None
    # A reader of another precision has to obtain it too.
    limit = math.log(value) - left if value > 0.0 else -math.inf
    bound = sharper.reproduced(epsilon)
    if bound is not None and value > 0.0 and bound[0] <= limit:
        return bound[1]
    plain = Curve(Envelope([part.groups[0]]), eps0=part.eps0, width=part.width)
    if plain.at(epsilon).high <= limit:
        return None
    raise NotCertified("a value of one round is smaller than its bound")


def direction(part: StatedRound, rounds: int, epsilon: float) -> bool:
    """Whether the swapped direction has the larger lower end of delta after these rounds."""
    ends = [losses_of([(law, rounds)]).log_delta(epsilon) for law in part.lower]
    return ends[1] > ends[0]


__all__ = ["StatedRound", "direction", "stated", "stated_above", "stated_below"]
