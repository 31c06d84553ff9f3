"""Parts of a composition: what a round is, given by certified curves or by loss laws themselves."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from shuffledp.arithmetic.balls import arb
from shuffledp.bound import Theorem
from shuffledp.neighbours import Relation
from shuffledp.propose import dots as proposed
from shuffledp.randomizers.concentrated import pure_rho
from shuffledp.rounds.curve import Curve, Envelope, Sharper, Source, reach
from shuffledp.rounds.dots import law_above, law_below
from shuffledp.rounds.loss import NO_LOSS, LossPair
from shuffledp.rounds.renyi import Curves, Moments, Tail
from shuffledp.values.work import Answers, Beside

# Relative width of delta at each dot: a fifth of the width of eps that is aimed at by default.
WIDTH = 1e-4
# A lower law of fewer dots says nothing; where the first gap is so many times the next it is filled
# by halving.
_FEWEST, _GAP, _HALVINGS = 3, 8.0, (6.0, 5.0, 4.0, 3.0, 2.0, 1.5, 1.0, 0.5)

# The most dots of a Renyi divergence; of curves whose values take ten to a hundred times as long a
# twentieth: what follows from these is the best that is cheap.
_MOST, _MOST_SLOW = 480, 32

Places = tuple[float, ...]


class Dots(NamedTuple):
    """A dominating pair, and a dominated one made of the same values (for the numerical width)."""

    above: LossPair
    below: LossPair


class Part(Protocol):
    """One mechanism of a composition."""

    label: str
    relation: Relation
    eps0: float
    rtol: float
    assumptions: tuple[str, ...]
    upper_theorem: Theorem | None
    lower_theorem: Theorem | None
    at: Mapping[str, float]
    key: Hashable

    def roughly(self, level: float) -> tuple[proposed.Law, proposed.Law]:
        """About the loss laws of both directions, followed down to e^level, in floats."""
        ...

    def above(self, places: Places, level: float) -> Dots:
        """A dominating pair with dots at the places, and beyond where that is not far enough."""
        ...

    def below(self, places: Places, around: float) -> tuple[LossPair, dict[str, Any]]:
        """A pair below the curves of one pair of neighbours, and which neighbours these are."""
        ...

    def curves(self) -> Curves:
        """The upper curves in both directions."""
        ...

    def moments(self, orders: tuple[float, ...], rtol: float) -> UpperMoments:
        """Upper ends of Renyi divergences, with dots for these orders."""
        ...

    def pair_moments(self, order: float, rtol: float) -> tuple[float, float]:
        """Lower ends of both directions' Renyi divergence, each of one pair of neighbours."""
        ...


class UpperMoments(Protocol):
    """Upper ends of a part's Renyi divergences."""

    def upper(self, order: float) -> tuple[float, float]:
        """Of both directions, at an order."""
        ...


class Candidate(NamedTuple):
    """One pair of neighbouring datasets: its two curves and what reproduces it."""

    forward: Source
    backward: Source
    witness: dict[str, Any]


@dataclass(frozen=True, repr=False)
class Round:
    """A mechanism given by its certified curves.

    Rounds are equal if their keys and numbers are; curves are not compared.

    Attributes
    ----------
    label : str
        For a reader.
    groups : sequence of sequences of Source
        Upper bounds: the maximum over a group is one; groups are in order of preference.
    candidates : tuple of Candidate, or callable
        Pairs of neighbours for the lower end; what returns them, if they take time to make.
    eps0 : float
        Pure guarantee in nats, inf if there is none.
    relation : Relation
        Of which the curves are.
    width : float
        Relative width of delta asked for at each dot.
    rtol : float
        Relative width of eps that is worth the time.
    slow : bool
        Whether the sharper bound takes longer than the groups' own values.
    sharper : Sharper, optional
        Another upper bound of the same supremum, where it is the least; for a symmetric relation.
    backward_groups : sequence, optional
        Upper bounds for the neighbours in the other order, where the relation is not symmetric.
    tail : callable, optional
        Where there is no pure guarantee: ``tail(order, eps)`` bounds the log of what outputs with
        a loss above eps add to E_Q[(P/Q)^order].
    local_renyi : callable, optional
        Upper bound of the Renyi divergence of one report alone, by order.
    local_rho : float
        It is at most this times the order; inf where that is not known.
    """

    label: str
    groups: Sequence[Sequence[Source]] = field(compare=False)
    candidates: tuple[Candidate, ...] | Callable[[], tuple[Candidate, ...]] = field(compare=False)
    eps0: float
    key: Hashable
    relation: Relation = field(kw_only=True)
    assumptions: tuple[str, ...] = ()
    upper_theorem: Theorem | None = None
    lower_theorem: Theorem | None = None
    at: Mapping[str, float] = field(default_factory=dict, compare=False)
    width: float = WIDTH
    rtol: float = 5e-4
    slow: bool = False
    sharper: Sharper | None = field(default=None, compare=False)
    backward_groups: Sequence[Sequence[Source]] | None = field(default=None, compare=False)
    tail: Tail | None = field(default=None, compare=False)
    local_renyi: Callable[[float], float] | None = field(default=None, compare=False)
    local_rho: float = field(default=math.inf, compare=False)

    def __repr__(self) -> str:
        return shown("Round", self.label, self.at, self.relation)

    def curve(self, *, backward: bool = False) -> Curve:
        """The upper curve, evaluated as far as it was needed until now."""
        other = backward and self.backward_groups is not None
        groups = (self.backward_groups or ()) if other else self.groups
        sharper = None if other else self.sharper
        return _WORK.of(self).answer(
            ("curve", other), lambda: self._curve(Envelope(groups, sharper, self.slow))
        )

    def _curve(self, source: Source) -> Curve:
        return Curve(source, eps0=self.eps0, width=self.width)

    def roughly(self, level: float) -> tuple[proposed.Law, proposed.Law]:
        """Chords through estimates."""
        return _WORK.of(self).answer(("roughly", level), lambda: self._roughly(level))

    def _roughly(self, level: float) -> tuple[proposed.Law, proposed.Law]:
        curves = self.curve(), self.curve(backward=True)
        eps = proposed.steps(
            min(curve.scale for curve in curves), max(curve.end(level) for curve in curves)
        )
        forward = curves[0].rough_at(eps)
        if self.backward_groups is None:
            return proposed.chords(eps, forward)
        return proposed.chords(eps, forward, curves[1].rough_at(eps))

    def above(self, places: Places, level: float) -> Dots:
        """Chords through the upper values; from below, the lower values of the same analysis."""
        return _WORK.of(self).answer(("above", places, level), lambda: self._above(places, level))

    def _above(self, places: Places, level: float) -> Dots:
        curve = self.curve()
        eps = curve.followed(places, level)
        if self.backward_groups is None:
            values = mirror = curve.values_at(eps)
            pair = law_above(eps, values.high)
        else:
            other = self.curve(backward=True)
            eps = other.followed(eps, level)
            values, mirror = curve.values_at(eps), other.values_at(eps)
            pair = law_above(eps, values.high, mirror.high)
        return Dots(pair, law_below(eps, values, mirror, arb(0)))

    def below(self, places: Places, around: float) -> tuple[LossPair, dict[str, Any]]:
        """Of the candidate whose delta at eps = around is largest, by the estimate."""
        if not self._pairs():
            return NO_LOSS, {}
        index = self._best(around)
        pair = _WORK.of(self).answer(("below", index, places), lambda: self._below(index, places))
        return pair, self._pairs()[index].witness

    def candidate(self, around: float) -> Candidate | None:
        """The candidate whose delta at eps = around is largest, by the estimate; None without."""
        return self._pairs()[self._best(around)] if self._pairs() else None

    def _pairs(self) -> tuple[Candidate, ...]:
        if not callable(self.candidates):
            return self.candidates
        return _WORK.of(self).answer("candidates", self.candidates)

    def _best(self, around: float) -> int:
        def size(candidate: Candidate) -> float:
            sides = (candidate.forward, candidate.backward)
            return max(side.rough_log_delta(around) for side in sides)

        return max(range(len(self._pairs())), key=lambda i: size(self._pairs()[i]))

    def _below(self, index: int, places: Places) -> LossPair:
        sides = self.pair_curves()[index][:2]
        eps = [e for e in joined_to_0(places) if e < sides[0].last]
        eps = eps if len(eps) == len(places) else [*eps, sides[0].last]
        first = sides[0].values_at(eps)
        second = first if sides[1] is sides[0] else sides[1].values_at(eps)
        return law_below(eps, first, second, floor_of(*sides))

    def curves(self) -> Curves:
        """The upper curves; one for both directions where the relation is symmetric."""
        last = reach(self.eps0)
        return Curves(
            self.curve(),
            self.curve(backward=True),
            last,
            self.tail,
            self.local_renyi,
            min(self.local_rho, pure_rho(self.eps0)),
        )

    def moments(self, orders: tuple[float, ...], rtol: float) -> Moments:
        """By chords through the upper curves."""
        return _WORK.of(self).answer(
            ("moments", orders, rtol),
            lambda: Moments(self.curves(), orders, rtol=rtol, most=self._most),
        )

    def pair_moments(self, order: float, rtol: float) -> tuple[float, float]:
        """Of the candidate whose integrand is the largest, by estimates at its scale."""
        pairs = self.pair_curves()
        if not pairs:
            return 0.0, 0.0

        def size(pair: Curves) -> float:
            eps = pair.forward.scale
            return max(pair.forward.rough(eps), pair.backward.rough(eps))

        best = max(pairs, key=size)
        return Moments(best, (order,), rtol=rtol, most=self._most).lower(order)

    @property
    def _most(self) -> int:
        """The most dots of a Renyi divergence."""
        return _MOST_SLOW if self.slow else _MOST

    def pair_curves(self) -> tuple[Curves, ...]:
        """Those of all candidates."""
        return _WORK.of(self).answer("pairs", lambda: tuple(map(self._both, self._pairs())))

    def _both(self, candidate: Candidate) -> Curves:
        forward = self._curve(candidate.forward)
        same = candidate.backward is candidate.forward
        return Curves(forward, forward if same else self._curve(candidate.backward), forward.last)


_WORK: Beside[Round, Answers] = Beside(lambda _: Answers())


def shown(kind: str, label: str, at: Mapping[str, float], relation: Relation) -> str:
    """What a part is, in a line: its kind, its label, what is fixed."""
    fixed = "".join(f", {name}={value:g}" for name, value in at.items())
    return f"{kind}({label!r}{fixed}, relation={relation.key!r})"


def floor_of(*curves: Curve) -> arb:
    """A lower bound of all of some curves at every eps."""
    least = min(curve.floor for curve in curves)
    return arb(least).exp().lower() if least > -math.inf else arb(0)


def joined_to_0(places: Places) -> Places:
    """With more of them down to 0 where the first is far from it, which a lower law starts from."""
    if len(places) < _FEWEST or places[1] <= _GAP * (places[2] - places[1]):
        return places
    return (0.0, *(places[1] * 2.0**-k for k in _HALVINGS), *places[1:])


__all__ = [
    "WIDTH",
    "Candidate",
    "Dots",
    "Part",
    "Places",
    "Round",
    "floor_of",
    "joined_to_0",
    "shown",
]
