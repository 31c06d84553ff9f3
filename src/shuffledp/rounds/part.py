"""Parts of a composition: what a round is, given by certified curves or by loss laws themselves."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from shuffledp.bound import Theorem
from shuffledp.neighbours import Relation
from shuffledp.pair import UNIT_ROUNDOFF
from shuffledp.randomizers.concentrated import pure_rho
from shuffledp.rounds.curve import STEPS, Curve, Envelope, Estimates, Sharper, Source, reach
from shuffledp.rounds.dots import lower_pair, upper_pair
from shuffledp.rounds.loss import NO_LOSS, LossPair
from shuffledp.rounds.renyi import Curves, Tail
from shuffledp.values.work import Answers, Beside

# Relative width of delta at each point of a curve: a tenth of the width of eps that is aimed at.
WIDTH = 6e-5
# A lower law of fewer dots says nothing; where the first gap is so many times the next it is filled
# by halving.
_FEWEST, _GAP, _HALVINGS = 3, 8.0, (6.0, 5.0, 4.0, 3.0, 2.0, 1.5, 1.0, 0.5)

U = UNIT_ROUNDOFF


class Dots(NamedTuple):
    """A dominating pair, and a dominated one made of the same values (for the numerical width)."""

    above: LossPair
    below: LossPair


Places = tuple[float, ...]
NO_DOTS = Dots(NO_LOSS, NO_LOSS)


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

    @property
    def placed(self) -> bool:
        """Whether dots are put one by one where they matter, as values take long."""
        ...

    def above(self, level: float, refine: int, tilt: float, places: Places = ()) -> Dots:
        """A dominating pair, fine down to e^level and where ``tilt`` puts the weight.

        With ``places`` its dots are there, and beyond where that is not far enough.
        """
        ...

    def estimated(self) -> Part:
        """The same by estimates, quickly, to propose by; itself where it is quick."""
        ...

    def scale(self) -> float:
        """About the eps at which delta has fallen by a factor e; inf where that says nothing."""
        ...

    def below(
        self, level: float, refine: int, tilt: float, around: float, places: Places = ()
    ) -> tuple[Dots, dict[str, Any]]:
        """Above and below the curves of one pair of neighbours, and which pair that is."""
        ...

    def curves(self) -> Curves:
        """The upper curves in both directions."""
        ...

    def pair_curves(self) -> tuple[Curves, ...]:
        """Both directions' curves of pairs of neighbours, for lower ends."""
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
        Relative width of delta asked for at each point of a curve.
    steps : float
        Dots for each factor e that delta falls from its value at eps = 0, before refinement.
    rtol : float
        Relative width of eps that is worth refining for.
    placed : bool
        Whether dots are put one by one where they matter for what is asked, not along the curve:
        worth the estimates it takes where a value takes long. For a symmetric relation.
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
    steps: float = STEPS
    rtol: float = 5e-4
    placed: bool = False
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
            ("curve", other), lambda: self._curve(Envelope(groups, sharper, self.placed))
        )

    def _curve(self, source: Source) -> Curve:
        return Curve(source, eps0=self.eps0, width=self.width, steps=self.steps)

    def estimated(self) -> Round:
        """The same round with estimates in place of certified values."""
        back = self.backward_groups
        return Round(
            label=self.label,
            groups=[[Estimates(Envelope([self.groups[0]], self.sharper))]],
            candidates=(),
            eps0=self.eps0,
            key=("estimated", self.key),
            relation=self.relation,
            width=self.width,
            steps=self.steps,
            rtol=self.rtol,
            backward_groups=None if back is None else [[Estimates(Envelope([back[0]]))]],
        )

    def scale(self) -> float:
        """That of the curve."""
        return self.curve().scale

    def above(self, level: float, refine: int, tilt: float, places: Places = ()) -> Dots:
        """Chords through the upper values; from below, the lower values of the same analysis."""
        asked = ("above", level, refine, tilt, places)
        return _WORK.of(self).answer(asked, lambda: self._above(level, refine, tilt, places))

    def _above(self, level: float, refine: int, tilt: float, places: Places) -> Dots:
        curve = self.curve()
        if self.backward_groups is None:
            if places:
                values = curve.values_at(np.array(curve.followed(places, level)))
            else:
                values = curve.values(level, tilt=tilt, refine=refine)
            pair = upper_pair(values.eps, values.high)
            return Dots(pair, _below(values.eps, values[1:], values[1:]))
        other = self.curve(backward=True)
        march = max(
            curve.march(level, tilt, min(refine, 0)),
            other.march(level, tilt, min(refine, 0)),
            key=lambda points: points[-1],
        )
        values = curve.values(level, refine=refine, march=march)
        mirror = other.values(level, refine=refine, march=march)
        pair = upper_pair(values.eps, values.high, mirror.high)
        return Dots(pair, _below(values.eps, values[1:], mirror[1:]))

    def below(
        self, level: float, refine: int, tilt: float, around: float, places: Places = ()
    ) -> tuple[Dots, dict[str, Any]]:
        """The candidate whose delta at eps = around is largest, by the estimate."""
        if not self._pairs():
            return NO_DOTS, {}
        index = self._best(around)
        asked = ("below", index, level, refine, tilt, places)
        dots = _WORK.of(self).answer(asked, lambda: self._below(index, level, refine, tilt, places))
        return dots, self._pairs()[index].witness

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

    def _below(self, index: int, level: float, refine: int, tilt: float, places: Places) -> Dots:
        sides = self.pair_curves()[index]
        if places:
            points = np.array(_joined_to_0(places))
            first, second = (side.values_at(points) for side in sides[:2])
        else:
            marches = (side.march(level, tilt) for side in sides[:2])
            march = max(marches, key=lambda points: points[-1])
            first, second = (side.values(level, refine=refine, march=march) for side in sides[:2])
        floors = tuple(math.exp(side.floor) * (1.0 - 1e-12) for side in sides[:2])
        above = upper_pair(first.eps, first.high, second.high)
        return Dots(above, _below(first.eps, first[1:], second[1:], floors))  # type: ignore[arg-type]

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


def _joined_to_0(places: Places) -> Places:
    """With more of them down to 0 where the first is far from it, which a lower law starts from."""
    if len(places) < _FEWEST or places[1] <= _GAP * (places[2] - places[1]):
        return places
    return (0.0, *(places[1] * 2.0**-k for k in _HALVINGS), *places[1:])


def _below(
    eps: Any, forward: Any, backward: Any, floors: tuple[float, float] = (0.0, 0.0)
) -> LossPair:
    return lower_pair(eps, forward, backward, floors) if eps.size >= 3 else NO_LOSS
