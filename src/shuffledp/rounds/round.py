"""One mechanism of a composition: certified curves, or loss laws that dominate it."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from shuffledp.arithmetic.balls import arb, float_below
from shuffledp.arithmetic.intervals import LogInterval
from shuffledp.bound import Theorem
from shuffledp.bounds.pairs import End
from shuffledp.neighbours import Relation
from shuffledp.propose import dots as proposed
from shuffledp.propose.interpolated import Interpolated
from shuffledp.randomizers.base import pure_rho
from shuffledp.rounds.curve import LOWEST_LEVEL, Curve, Least, Source
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
# Relative width of a value of a loss law's own curve, which is a short sum.
_EXACT = 1e-9

Places = tuple[float, ...]
Renyi = Callable[[float], tuple[float, float]]


class Candidate(NamedTuple):
    """One pair of neighbouring datasets: its two curves and its witness."""

    forward: Source
    backward: Source
    witness: dict[str, Any]


@dataclass(frozen=True, repr=False, kw_only=True)
class Round:
    """One mechanism of a composition.

    Two rounds are equal if their keys and numbers are; curves are not compared.

    Attributes
    ----------
    label : str
        Name of the mechanism in messages.
    key : hashable
        Equal for equal rounds, so that repetitions are counted together.
    relation : Relation
        The neighbouring relation of datasets.
    groups : sequence of sequences of Source
        Upper bounds of its curve: each group's maximum is one.
    backward_groups : sequence, optional
        Upper bounds for the neighbours in the other order, if the relation is not symmetric.
    pair : LossPair, optional
        In the place of both: loss laws that dominate the mechanism.
    candidates : tuple of Candidate, or callable
        Pairs of neighbours for the lower end, or a function that makes them when needed.
    eps0 : float
        Pure guarantee in nats; inf if there is none.
    width : float
        Relative width of delta requested at each dot.
    rtol : float
        Relative width of eps worth computing.
    assumptions, upper_theorem, lower_theorem, at
        As in ``Bound``, for one round.
    slow : bool
        Whether values of its curve take long.
    most : int
        Most dots, if more take too long.
    tail : callable, optional
        For mechanisms without a pure guarantee: ``tail(order, eps)`` bounds the log of the
        contribution of outputs with a loss above eps to E_Q[(P/Q)^order].
    local_renyi : callable, optional
        Upper bound of the Renyi divergence of one report alone, by order.
    local_rho : float
        A rho for which ``local_renyi`` is at most rho times the order; inf if there is none.
    """

    label: str
    key: Hashable
    relation: Relation
    groups: Sequence[Sequence[Source]] = field(default=(), compare=False)
    backward_groups: Sequence[Sequence[Source]] | None = field(default=None, compare=False)
    pair: LossPair | None = field(default=None, compare=False)
    candidates: tuple[Candidate, ...] | Callable[[], tuple[Candidate, ...]] = field(
        default=(), compare=False
    )
    eps0: float = math.inf
    width: float = WIDTH
    rtol: float = 5e-4
    assumptions: tuple[str, ...] = ()
    upper_theorem: Theorem | None = None
    lower_theorem: Theorem | None = None
    at: Mapping[str, float] = field(default_factory=dict, compare=False)
    slow: bool = False
    most: int = proposed.MOST
    tail: Tail | None = field(default=None, compare=False)
    local_renyi: Callable[[float], float] | None = field(default=None, compare=False)
    local_rho: float = field(default=math.inf, compare=False)

    def __repr__(self) -> str:
        fixed = "".join(f", {name}={value:g}" for name, value in self.at.items())
        return f"Round({self.label!r}{fixed}, relation={self.relation.key!r})"

    @property
    def rho(self) -> float:
        """A rho such that the Renyi divergence of order A is at most rho A; inf if there is none.

        The lesser of that from the pure guarantee and that of a single report.
        """
        return min(self.local_rho, pure_rho(self.eps0))

    # ------------------------------------------------------------------- the curves from above

    def curves(self) -> tuple[Curve, Curve]:
        """The upper curves in both directions, with the values evaluated so far.

        One object for both directions if they are the same.
        """
        return _WORK.of(self).answer("curves", self._curves)

    def _curves(self) -> tuple[Curve, Curve]:
        if self.pair is not None:
            # A law may have losses beyond the last eps of its curve.
            bounded = all(law.infinite == 0.0 for law in self.pair)
            eps0 = max(law.highest for law in self.pair) if bounded else math.inf
            made = [
                Curve(_LawSource(law), eps0=eps0, width=_EXACT, end="upper") for law in self.pair
            ]
            return made[0], made[0] if self.pair.symmetric else made[1]
        forward = self._curve(Least(self.groups, slow=self.slow), "upper")
        if self.backward_groups is None:
            return forward, forward
        return forward, self._curve(Least(self.backward_groups, slow=self.slow), "upper")

    def _curve(self, source: Source, end: End) -> Curve:
        return Curve(source, eps0=self.eps0, width=self.width, end=end)

    def roughly(self, level: float) -> tuple[proposed.Law, proposed.Law]:
        """Estimates of the loss laws of both directions, followed down to e^level, in floats.

        These are the given laws, or those of chords through estimates.
        """
        return _WORK.of(self).answer(("roughly", level), lambda: self._roughly(level))

    def _roughly(self, level: float) -> tuple[proposed.Law, proposed.Law]:
        if self.pair is not None:
            forward, backward = ((law.loss, law.mass, law.infinite, 1) for law in self.pair)
            return forward, forward if self.pair.symmetric else backward
        first, second = self.curves()
        eps = proposed.steps(
            min(first.scale, second.scale), max(first.end(level), second.end(level))
        )
        mirror = None if second is first else second.rough_at(eps)
        return proposed.chords(eps, first.rough_at(eps), mirror)

    def above(self, places: Places, level: float) -> LossPair:
        """A dominating pair: chords through upper values at the places, or the given laws.

        Dots are added beyond the places where these end above e^level.
        """
        if self.pair is not None:
            return self.pair
        return _WORK.of(self).answer(("above", places, level), lambda: self._above(places, level))

    def _above(self, places: Places, level: float) -> LossPair:
        first, second = self.curves()
        eps = first.followed(places, level)
        if second is first:
            return law_above(eps, first.values_at(eps).high)
        eps = second.followed(eps, level)
        return law_above(eps, first.values_at(eps).high, second.values_at(eps).high)

    # -------------------------------------------------------------------- one pair of neighbours

    def below(self, places: Places, around: float) -> tuple[LossPair, dict[str, Any]]:
        """Laws below the curves of one pair of neighbours, and its witness."""
        sides, witness = self.attained(around)
        if not sides:
            return NO_LOSS, {}
        pair = _WORK.of(self).answer(("below", sides, places), lambda: _below(sides, places))
        return pair, witness

    def attained(self, around: float) -> tuple[tuple[Curve, ...], dict[str, Any]]:
        """Both curves of the candidate with the largest estimated delta at ``around``, its witness.

        One object for both directions if they are the same; no curve without candidates.
        """
        pairs = self._pairs()
        if not pairs:
            return (), {}
        index = self._best(around)
        made = lambda: self._both(pairs[index])  # noqa: E731
        return _WORK.of(self).answer(("pair", index), made), pairs[index].witness

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

    def _both(self, candidate: Candidate) -> tuple[Curve, Curve]:
        forward = self._curve(candidate.forward, "both")
        same = candidate.backward is candidate.forward
        return forward, forward if same else self._curve(candidate.backward, "both")

    # ---------------------------------------------------------------------- Renyi divergences

    def renyi(self, orders: tuple[float, ...]) -> Renyi:
        """Upper ends by chords through the upper curves, or by one report where that is less."""
        pair = self.pair or self.above(self._for_orders(orders), 0.0)

        def at(order: float) -> tuple[float, float]:
            local = math.inf if self.local_renyi is None else self.local_renyi(order)
            found = upper_renyi(pair, order, last=self.eps0, tail=self.tail)
            return min(found[0], local), min(found[1], local)

        return at

    def renyi_below(self, orders: tuple[float, ...]) -> Renyi:
        """Lower ends from the candidate with the largest delta where the curve has fallen by e."""
        if not self._pairs():
            return lambda _: (0.0, 0.0)
        pair, _ = self.below(self._for_orders(orders), self.curves()[0].scale)
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


_WORK: Beside[Round, Answers] = Beside(lambda _: Answers())


def _below(sides: tuple[Curve, ...], places: Places) -> LossPair:
    """Laws below both curves of one pair of neighbours."""
    first, second = sides
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


class _LawSource:
    """The privacy curve of one loss law."""

    def __init__(self, law: LossLaw) -> None:
        self.law = law

    def log_delta(self, epsilon: float, *, width: float = _EXACT, end: End = "both") -> LogInterval:
        del end
        return Total([(self.law, 1)]).log_delta(epsilon, rel=width)

    def rough_log_delta(self, epsilon: float) -> float:
        return self.log_delta(epsilon).high

    def log_floor(self) -> float:
        floor = self.law.infinite
        return float_below(arb(floor).log()) if floor > 0.0 else -math.inf


def _smooth(curve: Curve) -> Interpolated:
    return Interpolated(curve.rough)


def joined_to_0(places: Places) -> Places:
    """The places, with more of them towards 0 if the first gap is large: a law below needs them."""
    if len(places) < _FEWEST or places[1] <= _GAP * (places[2] - places[1]):
        return places
    return (0.0, *(places[1] * 2.0**-k for k in _HALVINGS), *places[1:])


__all__ = ["RENYI_RTOL", "WIDTH", "Candidate", "Places", "Renyi", "Round", "joined_to_0"]
