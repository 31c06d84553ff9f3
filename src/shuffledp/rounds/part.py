"""One mechanism of a composition, given by certified curves or by loss laws."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from shuffledp.arithmetic.balls import arb, float_below
from shuffledp.arithmetic.intervals import LogInterval
from shuffledp.bound import Theorem
from shuffledp.neighbours import Relation
from shuffledp.propose import dots as proposed
from shuffledp.propose.interpolated import Interpolated
from shuffledp.randomizers.base import pure_rho
from shuffledp.rounds.curve import LOWEST_LEVEL, Curve, Envelope, Sharper, Source
from shuffledp.rounds.dots import law_above, law_below
from shuffledp.rounds.loss import NO_LOSS, LossLaw, LossPair
from shuffledp.rounds.renyi import Tail, lower_renyi, upper_renyi
from shuffledp.rounds.total import Total
from shuffledp.values.work import Answers, Beside

# Relative width of delta at each dot: a fifth of the default relative width of eps.
WIDTH = 1e-4
# Least number of dots of a law below. If the first gap exceeds the next one by more than _GAP
# times, dots are added at these halvings of it.
_FEWEST, _GAP, _HALVINGS = 3, 8.0, (6.0, 5.0, 4.0, 3.0, 2.0, 1.5, 1.0, 0.5)
# Distances beyond the last dot, in nats, at which a curve with infinite losses is evaluated too, as
# its estimates are flat.
_FAR = (0.1, 0.3, 1.0, 3.0, 10.0, 20.0, 40.0)
# Relative width of Renyi divergences to aim at.
RENYI_RTOL = 1e-3
# Most dots for it, which take half a second. Curves whose values take 10 to 100 times as long
# have fewer, and their result is the best that is cheap.
_MOST, _MOST_SLOW = 150, 28
# Levels, as logs, down to which curves are followed for Renyi divergences; the first one that
# suffices for an order is used.
_LEVELS, _LEVELS_SLOW = (-60.0, -240.0, LOWEST_LEVEL), (-60.0, -160.0)
# Least number of panels of a Renyi divergence, and the share of its width that chords above may
# use. Continued chords below a curve lose 3.5 times as much.
_FEWEST_RENYI, _ABOVE = 32, 0.2
# Number of losses of a law from estimates, which has to resolve the largest orders; least log of a
# value.
_FINE, _LEAST = 800, -700.0

Places = tuple[float, ...]
Renyi = Callable[[float], tuple[float, float]]


class Dots(NamedTuple):
    """A dominating pair, and a dominated pair from the same values, to tell the numerical width."""

    above: LossPair
    below: LossPair


class Candidate(NamedTuple):
    """One pair of neighbouring datasets: its two curves and its witness."""

    forward: Source
    backward: Source
    witness: dict[str, Any]


@dataclass(frozen=True, repr=False, kw_only=True)
class Part(ABC):
    """One mechanism of a composition.

    Attributes
    ----------
    label : str
        Name of the mechanism in messages.
    key : hashable
        Equal for equal rounds, so that repetitions are counted together.
    relation : Relation
        The neighbouring relation of datasets.
    eps0 : float
        Pure guarantee in nats; inf if there is none.
    rtol : float
        Relative width of eps worth computing.
    assumptions, upper_theorem, lower_theorem, at
        As in ``Bound``, for one round.
    slow : bool
        Whether values of its curve, or of a sharper bound, take long.
    most : int
        Most dots, if more take too long.
    """

    label: str
    key: Hashable
    relation: Relation
    eps0: float = math.inf
    rtol: float = 5e-4
    assumptions: tuple[str, ...] = ()
    upper_theorem: Theorem | None = None
    lower_theorem: Theorem | None = None
    at: Mapping[str, float] = field(default_factory=dict, compare=False)
    slow: bool = False
    most: int = proposed.MOST

    def __repr__(self) -> str:
        fixed = "".join(f", {name}={value:g}" for name, value in self.at.items())
        name = type(self).__name__
        return f"{name}({self.label!r}{fixed}, relation={self.relation.key!r})"

    @abstractmethod
    def roughly(self, level: float) -> tuple[proposed.Law, proposed.Law]:
        """Estimates of the loss laws of both directions, followed down to e^level, in floats."""

    @abstractmethod
    def above(self, places: Places, level: float) -> Dots:
        """A dominating pair with dots at the places, and beyond them where these end too early."""

    def below(self, places: Places, around: float) -> tuple[LossPair, dict[str, Any]]:
        """A pair of laws below the curves of one pair of neighbours, and its witness."""
        del places, around
        return NO_LOSS, {}

    @abstractmethod
    def curves(self) -> tuple[Curve, Curve]:
        """The upper curves in both directions; one object if both are the same."""

    @abstractmethod
    def renyi(self, orders: tuple[float, ...]) -> Renyi:
        """Upper ends of both directions' Renyi divergence by order, with dots for these orders."""

    def renyi_below(self, orders: tuple[float, ...]) -> Renyi:
        """Lower ends of both directions' Renyi divergence by order, from one pair of neighbours."""
        del orders
        return lambda _: (0.0, 0.0)

    @property
    def rho(self) -> float:
        """A rho such that the Renyi divergence of order A is at most rho A.

        Inf if there is none.
        """
        return pure_rho(self.eps0)


@dataclass(frozen=True, repr=False, kw_only=True)
class Given(Part):
    """A mechanism given by loss laws that dominate it; it has no lower end."""

    pair: LossPair = field(compare=False)

    def roughly(self, level: float) -> tuple[proposed.Law, proposed.Law]:
        """The given pair."""
        del level
        forward, backward = ((law.loss, law.mass, law.infinite, 1) for law in self.pair)
        return forward, forward if self.pair.symmetric else backward

    def above(self, places: Places, level: float) -> Dots:
        """The given pair."""
        del places, level
        return Dots(self.pair, self.pair)

    def renyi(self, orders: tuple[float, ...]) -> Renyi:
        """The Renyi divergences of the given laws."""
        del orders
        return lambda order: upper_renyi(self.pair, order, last=math.inf, tail=None)

    def curves(self) -> tuple[Curve, Curve]:
        """The pair's own curves; a law may have losses beyond the last eps of its curve."""
        return _WORK.of(self).answer("curves", self._curves)

    def _curves(self) -> tuple[Curve, Curve]:
        bounded = all(law.infinite == 0.0 for law in self.pair)
        eps0 = max(law.highest for law in self.pair) if bounded else math.inf
        made = [Curve(_LawSource(law), eps0=eps0, width=_EXACT) for law in self.pair]
        return made[0], made[0] if self.pair.symmetric else made[1]


# Relative width of a value of a loss law's own curve, which is a short sum.
_EXACT = 1e-9


class _LawSource:
    """The privacy curve of one loss law."""

    def __init__(self, law: LossLaw) -> None:
        self.law = law

    def log_delta(self, epsilon: float, *, width: float = _EXACT) -> LogInterval:
        return Total([(self.law, 1)]).log_delta(epsilon, rel=width)

    def rough_log_delta(self, epsilon: float) -> float:
        return self.log_delta(epsilon).high

    def log_floor(self) -> float:
        floor = self.law.infinite
        return float_below(arb(floor).log()) if floor > 0.0 else -math.inf


@dataclass(frozen=True, repr=False, kw_only=True)
class Round(Part):
    """A mechanism given by its certified curves.

    Two rounds are equal if their keys and numbers are; curves are not compared.

    Attributes
    ----------
    groups : sequence of sequences of Source
        Upper bounds: each group's maximum is one; groups are in order of preference.
    candidates : tuple of Candidate, or callable
        Pairs of neighbours for the lower end, or a function that makes them when needed.
    width : float
        Relative width of delta requested at each dot.
    sharper : Sharper, optional
        Another upper bound of the same supremum, for symmetric relations.
    backward_groups : sequence, optional
        Upper bounds for the neighbours in the other order, if the relation is not symmetric.
    tail : callable, optional
        For mechanisms without a pure guarantee: ``tail(order, eps)`` bounds the log of the
        contribution of outputs with a loss above eps to E_Q[(P/Q)^order].
    local_renyi : callable, optional
        Upper bound of the Renyi divergence of one report alone, by order.
    local_rho : float
        A rho for which ``local_renyi`` is at most rho times the order; inf if there is none.
    """

    groups: Sequence[Sequence[Source]] = field(compare=False)
    candidates: tuple[Candidate, ...] | Callable[[], tuple[Candidate, ...]] = field(
        default=(), compare=False
    )
    width: float = WIDTH
    sharper: Sharper | None = field(default=None, compare=False)
    backward_groups: Sequence[Sequence[Source]] | None = field(default=None, compare=False)
    tail: Tail | None = field(default=None, compare=False)
    local_renyi: Callable[[float], float] | None = field(default=None, compare=False)
    local_rho: float = field(default=math.inf, compare=False)

    def curve(self, *, backward: bool = False) -> Curve:
        """The upper curve with the values evaluated so far."""
        other = backward and self.backward_groups is not None
        groups = (self.backward_groups or ()) if other else self.groups
        sharper = None if other else self.sharper
        return _WORK.of(self).answer(
            ("curve", other), lambda: self._curve(Envelope(groups, sharper, self.slow))
        )

    def curves(self) -> tuple[Curve, Curve]:
        """The upper curves; one object for both directions if the relation is symmetric."""
        return self.curve(), self.curve(backward=True)

    def _curve(self, source: Source) -> Curve:
        return Curve(source, eps0=self.eps0, width=self.width)

    def roughly(self, level: float) -> tuple[proposed.Law, proposed.Law]:
        """The laws of chords through estimates."""
        return _WORK.of(self).answer(("roughly", level), lambda: self._roughly(level))

    def _roughly(self, level: float) -> tuple[proposed.Law, proposed.Law]:
        curves = self.curves()
        eps = proposed.steps(
            min(curve.scale for curve in curves), max(curve.end(level) for curve in curves)
        )
        forward = curves[0].rough_at(eps)
        if self.backward_groups is None:
            return proposed.chords(eps, forward)
        return proposed.chords(eps, forward, curves[1].rough_at(eps))

    def above(self, places: Places, level: float) -> Dots:
        """Chords through the upper values; and below, the lower values of the same analysis."""
        return _WORK.of(self).answer(("above", places, level), lambda: self._above(places, level))

    def _above(self, places: Places, level: float) -> Dots:
        curve, other = self.curves()
        eps = curve.followed(places, level)
        if other is not curve:
            eps = other.followed(eps, level)
        values = mirror = curve.values_at(eps)
        if other is not curve:
            mirror = other.values_at(eps)
        pair = law_above(eps, values.high, None if other is curve else mirror.high)
        return Dots(pair, law_below(eps, values, mirror, arb(0)))

    # -------------------------------------------------------------------- one pair of neighbours

    def below(self, places: Places, around: float) -> tuple[LossPair, dict[str, Any]]:
        """Laws below the curves of the candidate with the largest estimated delta at ``around``."""
        if not self._pairs():
            return NO_LOSS, {}
        index = self._best(around)
        pair = _WORK.of(self).answer(("below", index, places), lambda: self._below(index, places))
        return pair, self._pairs()[index].witness

    def _pairs(self) -> tuple[Candidate, ...]:
        if not callable(self.candidates):
            return self.candidates
        return _WORK.of(self).answer("candidates", self.candidates)

    def _best(self, around: float) -> int:
        def size(candidate: Candidate) -> float:
            sides = (candidate.forward, candidate.backward)
            return max(side.rough_log_delta(around) for side in sides)

        pairs = self._pairs()
        return max(range(len(pairs)), key=lambda i: size(pairs[i])) if len(pairs) > 1 else 0

    def _below(self, index: int, places: Places) -> LossPair:
        candidate = self._pairs()[index]
        first, second = sides = _WORK.of(self).answer(("pair", index), lambda: self.both(candidate))
        eps = [e for e in joined_to_0(places) if e < first.last]
        eps = eps if len(eps) == len(places) else [*eps, first.last]
        if any(curve.floor > -math.inf for curve in sides):
            last = eps[-1]
            eps += [last + far for far in _FAR if last + far < first.last]
        values = first.values_at(eps)
        mirror = values if second is first else second.values_at(eps)
        least = min(curve.floor for curve in sides)
        floor = arb(least).exp().lower() if least > -math.inf else arb(0)
        return law_below(eps, values, mirror, floor)

    def both(self, candidate: Candidate) -> tuple[Curve, Curve]:
        """The curves of a pair of neighbours in both directions.

        One object if they are the same.
        """
        forward = self._curve(candidate.forward)
        same = candidate.backward is candidate.forward
        return forward, forward if same else self._curve(candidate.backward)

    # ---------------------------------------------------------------------- Renyi divergences

    @property
    def rho(self) -> float:
        """The lesser of the rho from the pure guarantee and that of a single report."""
        return min(self.local_rho, pure_rho(self.eps0))

    def renyi(self, orders: tuple[float, ...]) -> Renyi:
        """Upper ends by chords through the upper curves, or by one report where that is less."""
        pair = self.above(self._for_orders(orders), 0.0).above

        def at(order: float) -> tuple[float, float]:
            local = math.inf if self.local_renyi is None else self.local_renyi(order)
            found = upper_renyi(pair, order, last=self.eps0, tail=self.tail)
            return min(found[0], local), min(found[1], local)

        return at

    def renyi_below(self, orders: tuple[float, ...]) -> Renyi:
        """Lower ends from the candidate with the largest delta where the curve has fallen by e."""
        pair, _ = self.below(self._for_orders(orders), self.curve().scale)
        return lambda order: lower_renyi(pair, order)

    def _for_orders(self, orders: tuple[float, ...]) -> Places:
        return _WORK.of(self).answer(("orders", orders), lambda: self._dots(orders))

    def _finely(self, level: float) -> tuple[proposed.Law, proposed.Law]:
        """Estimated laws of both directions at many losses, interpolated from few estimates."""
        curves = self.curves()
        eps = np.linspace(0.0, max(curve.end(level) for curve in curves), _FINE)
        logs = [np.array([about(float(e)) for e in eps]) for about in map(_smooth, curves)]
        forward, backward = (np.exp(np.maximum(log, _LEAST)) for log in (logs[0], logs[-1]))
        return proposed.chords(eps, forward, None if curves[1] is curves[0] else backward)

    def _dots(self, orders: tuple[float, ...]) -> Places:
        """The dots at which chords, by estimates, add least to the moments of these orders.

        Orders that need a curve farther down than it is followed are not aimed at, unless all
        orders do; the first one is then used as it is.
        """
        aims: list[proposed.Aim] = []
        for level in _LEVELS_SLOW if self.slow else _LEVELS:
            rough = self._finely(level)
            aims = [
                proposed.moment_flow(law, order, _ABOVE * RENYI_RTOL, self.eps0, self.tail)
                for law in (rough if self.backward_groups is not None else rough[:1])
                for order in orders
            ]
            if all(aim.reached for aim in aims):
                break
        kept = [aim for aim in aims if aim.reached] or aims[:1]
        flow = proposed.joined([(aim.flow, 1.0) for aim in kept])
        most = min(self.most, _MOST_SLOW if self.slow else _MOST)
        return proposed.places(flow, fewest=min(_FEWEST_RENYI, most), most=most)


_WORK: Beside[Part, Answers] = Beside(lambda _: Answers())


def _smooth(curve: Curve) -> Interpolated:
    return Interpolated(curve.rough)


def joined_to_0(places: Places) -> Places:
    """The places, with more of them towards 0 if the first gap is large: a law below needs them."""
    if len(places) < _FEWEST or places[1] <= _GAP * (places[2] - places[1]):
        return places
    return (0.0, *(places[1] * 2.0**-k for k in _HALVINGS), *places[1:])


__all__ = [
    "RENYI_RTOL",
    "WIDTH",
    "Candidate",
    "Dots",
    "Given",
    "Part",
    "Places",
    "Renyi",
    "Round",
    "joined_to_0",
]
