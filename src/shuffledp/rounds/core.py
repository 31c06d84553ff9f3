"""Rounds of several mechanisms together: certified eps and delta."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, NamedTuple

from shuffledp import theorems
from shuffledp.arithmetic.floats import UNIT_ROUNDOFF
from shuffledp.arithmetic.intervals import LogInterval
from shuffledp.bound import Bound, Theorem, delta_from_log, refuse_contradiction
from shuffledp.curves import DEEP, Accountant
from shuffledp.neighbours import Relation, each_round
from shuffledp.rounds.loss import LossPair
from shuffledp.rounds.part import Part, Places
from shuffledp.rounds.plan import Plan
from shuffledp.rounds.total import Parts, Total, losses_of
from shuffledp.statements import say
from shuffledp.values.work import Beside

U = UNIT_ROUNDOFF
# Factors for the number of dots, tried in turn while the ends are farther apart than requested:
# twice as many dots make the distance a quarter.
_FINER = (1.0, 2.0, 4.0)
# Distance of an end of eps from where delta meets the target, as a share of the requested width.
_CLOSE = 0.1
# Most evaluations of one end; two are usual, as estimates are accurate to 1e-5.
_MOST_TRIES = 12
# Number of different mechanisms that the assumptions name.
_NAMED = 8
# log of the delta at which estimates begin if there is no guess: the first rung of the ladder.
_FIRST_LEVEL = -32.0


class Ends(NamedTuple):
    """Both ends, the numerical width of the upper one, and the witness of the lower one."""

    low: float
    high: float
    width: float | None
    witness: dict[str, Any]


@dataclass(frozen=True, repr=False)
class Rounds(Accountant):
    """Rounds of mechanisms on the same users: eps and delta.

    Attributes
    ----------
    parts : tuple of (Part, int)
        Each mechanism and its number of rounds.
    asked : float or None
        Requested relative width of eps; dots are refined to reach it, within bounded work. None:
        5e-4, or 6e-3 for continuous outputs.
    """

    parts: tuple[tuple[Part, int], ...]
    asked: float | None = None

    def __repr__(self) -> str:
        parts = ", ".join(f"({part!r}, {count})" for part, count in self.parts)
        return f"{type(self).__name__}([{parts}], rtol={self.asked})"

    @property
    def rounds(self) -> int:
        """Total number of rounds."""
        return sum(count for _, count in self.parts)

    @property
    def rtol(self) -> float:
        """Relative width of eps to aim at."""
        return max(part.rtol for part, _ in self.parts) if self.asked is None else self.asked

    @property
    def relation(self) -> Relation:
        """The neighbouring relation of all rounds: their common one, or one for each round."""
        return each_round((part.label, part.relation) for part, _ in self.parts)

    @property
    def eps0(self) -> float:
        """Pure guarantee of all rounds together in nats, rounded up; inf if there is none."""
        if any(math.isinf(part.eps0) for part, _ in self.parts):
            return math.inf
        exact = sum((count * Fraction(part.eps0) for part, count in self.parts), Fraction(0))
        near = float(exact)
        return near if Fraction(near) >= exact else math.nextafter(near, math.inf)

    @property
    def _plan(self) -> Plan:
        return _PLANS.of(self)

    # ------------------------------------------------------------------------- eps and delta

    def bound(self, quantity: Literal["epsilon", "delta"], value: float) -> Bound:
        """The Bound of eps at a delta, or of delta at an eps."""
        return self._epsilon(value) if quantity == "epsilon" else self._delta(value)

    def _epsilon(self, delta: float) -> Bound:
        target = math.log(delta)
        high, width, finer = self._upper_epsilon(target)
        capped = self.eps0 <= high and math.isfinite(self.eps0)
        if capped:
            high, width = self.eps0, None
        low, witness = self._lower_epsilon(target, finer, around=high / self.rounds)
        upper = self._upper_theorem(capped=capped)
        ends = Ends(low, high, width, witness)
        return self._bound("epsilon", ends, {"delta": delta}, upper=upper)

    def _delta(self, epsilon: float) -> Bound:
        found = self.log_delta(epsilon)
        low, high = delta_from_log(found.low, found.high)
        capped = epsilon >= self.eps0
        upper = self._upper_theorem(capped=capped)
        ends = Ends(low, high, None if capped else found.width, found.witness)
        logs = (min(found.low, found.high), found.high)
        return self._bound("delta", ends, {"epsilon": epsilon}, upper=upper, logs=logs)

    def log_delta(self, epsilon: float, *, lower: bool = True) -> Ends:
        """Both ends of log delta at eps >= 0; without ``lower`` the lower one is -inf."""
        if epsilon >= self.eps0:
            return Ends(-math.inf, -math.inf, 0.0, {})
        places, above, near = self._laws_for(epsilon)
        high = worst(above, epsilon, self._width).high
        if not lower:
            return Ends(-math.inf, high, None, {})
        laws, witness = self._below(places, around=epsilon / self.rounds)
        low = worst(laws, epsilon, self._width).low
        return Ends(low, high, math.expm1(min(max(high - near, 0.0), 700.0)), witness)

    def _laws_for(self, epsilon: float) -> tuple[list[Places], list[Parts], float]:
        """Dots fine enough for an eps, the laws above, and an estimate from the laws below."""
        rung = self._rung(epsilon)
        finer = 0.5 * _FINER[0]
        while True:
            finer *= 2.0
            places = self._for_all(rung, finer)
            above, inner = self._above(places, self._plan.level(rung))
            high, near = (
                max(losses_of(x).log_delta(epsilon) for x in laws) for laws in (above, inner)
            )
            tilt = max(losses_of(x).saddle(epsilon) for x in above)
            if high - near <= self.rtol * max(tilt * epsilon, 1.0) or finer >= _FINER[-1]:
                return places, above, near

    def upper_epsilon(self, *, delta: float) -> float:
        """The certified upper end of eps at 0 < delta < 1 alone, for solvers."""
        return min(self._upper_epsilon(math.log(delta))[0], self.eps0)

    def log_upper(self, epsilon: float, *, log_target: float = DEEP) -> float:
        """The certified upper end of log delta at eps >= 0 alone, for solvers."""
        del log_target
        return self.log_delta(epsilon, lower=False).high

    def log_uppers(self, log_target: float) -> Callable[[float], float]:
        """The upper end of log delta at any eps, with dots placed for one target alone."""
        above, _ = self._above(self._for(log_target, 1.0), self._plan.level(log_target))

        def at(epsilon: float) -> float:
            return -math.inf if epsilon >= self.eps0 else worst(above, epsilon, self._width).high

        return at

    @property
    def quick(self) -> bool:
        """True: estimates tell where the ends are."""
        return True

    def rough_log_delta(self, epsilon: float) -> float:
        """An estimate of the upper end of log delta, not certified."""
        if epsilon >= self.eps0:
            return -math.inf
        return self._plan.log_delta(epsilon, self._plan.level(self._rung(epsilon)))

    @property
    def _width(self) -> float:
        """Relative width of delta requested of contours at a given eps."""
        return min(self.rtol, 1e-3)

    def _rung(self, epsilon: float) -> float:
        """The rung of the ladder down to which curves are followed for this eps."""
        rung = self._plan.rung(_FIRST_LEVEL)
        # Estimates that end above delta only show that delta is lower.
        while self._plan.log_delta(epsilon, self._plan.level(rung)) < rung:
            deeper = self._plan.rung(2.0 * rung)
            if deeper == rung:
                break
            rung = deeper
        return rung

    def _upper_epsilon(self, target: float) -> tuple[float, float | None, float]:
        """The upper end of eps, its numerical width, and the fineness of the dots."""
        level, high, width, finer = self._plan.level(target), math.inf, None, _FINER[0]
        for finer in _FINER:
            above, inner = self._above(self._for(target, finer), level)
            high = self._cross(above, target, upper=True)
            near = max(losses_of(parts).epsilon(target, high) for parts in inner)
            width = max(high / near - 1.0, 0.0) if near > 0.0 and high < math.inf else None
            if width is None or width <= self.rtol:
                break
        return high, width, finer

    def _lower_epsilon(
        self, target: float, finer: float, *, around: float
    ) -> tuple[float, dict[str, Any]]:
        around = around if math.isfinite(around) else 1.0
        laws, witness = self._below(self._for(target, finer), around=around)
        return self._cross(laws, target, upper=False), witness

    def _cross(self, laws: list[Parts], target: float, *, upper: bool) -> float:
        """An eps certified to lie on the right side of the target.

        There the upper end of log delta is at most the target, or the lower end at least the
        target. Floats propose the eps. 0 is always a lower end, and inf always an upper one.
        """
        sign = 1.0 if upper else -1.0
        # The target is the rounded logarithm of delta.
        goal = target - sign * 4 * U * (1.0 + abs(target))
        totals = [Total(parts) for parts in laws]
        top = max(one.floats.top for one in totals)
        x = max(one.floats.epsilon(goal) for one in totals)
        if x == math.inf and not upper:
            x = top
        if x == (math.inf if upper else 0.0):
            return x
        best = math.inf if upper else 0.0
        slope, before = 0.0, (math.nan, math.nan)
        tolerance = _CLOSE * self.rtol
        for _ in range(_MOST_TRIES):
            at = max(x * (1.0 + 0.3 * sign * tolerance), 0.0)
            slope = slope or max(one.floats.saddle(at) for one in totals)
            room = tolerance * max(slope * at, 1e-9)
            found = [one.log_delta(at, rel=min(max(0.2 * room, 1e-9), 1e-2)) for one in totals]
            value = max(one.high if upper else one.low for one in found)
            gap = sign * (value - goal)
            if gap <= 0.0:
                best = min(best, at) if upper else max(best, at)
                if -gap <= room or at == 0.0:
                    break
            if not math.isfinite(value):
                break
            if before[0] != at and (secant := (before[1] - value) / (at - before[0])) > 0.0:
                slope = secant
            before = (at, value)
            x = max(at + (value - goal) / slope, 0.0)
        return best

    # ------------------------------------------------------------------------- the loss laws

    def _for(self, target: float, finer: float) -> list[Places]:
        return [self._plan.for_target(i, target, finer) for i in range(len(self.parts))]

    def _for_all(self, rung: float, finer: float = 1.0) -> list[Places]:
        return [self._plan.for_all(i, rung, finer) for i in range(len(self.parts))]

    def _above(self, places: list[Places], level: float) -> tuple[list[Parts], list[Parts]]:
        """The laws above, and laws below made from the same values."""
        made = [
            (part.above(at, level), count)
            for (part, count), at in zip(self.parts, places, strict=True)
        ]
        return (
            directions([(dots.above, count) for dots, count in made]),
            directions([(dots.below, count) for dots, count in made]),
        )

    def _below(self, places: list[Places], *, around: float) -> tuple[list[Parts], dict[str, Any]]:
        """Laws below one pair of neighbours in every round, and the witness of these neighbours."""
        pairs: list[tuple[LossPair, int]] = []
        witness = {}
        for i, ((part, count), at) in enumerate(zip(self.parts, places, strict=True)):
            pair, reproduces = part.below(at, around)
            pairs.append((pair, count))
            witness[f"round {i + 1}"] = {"label": part.label, "rounds": count, **reproduces}
        return directions(pairs), witness

    # ----------------------------------------------------------------------------- the Bound

    def _upper_theorem(self, *, capped: bool) -> Theorem | None:
        if capped:
            return theorems.LOCAL
        return joined([part.upper_theorem for part, _ in self.parts], theorems.COMPOSITION)

    def assumptions(self) -> tuple[str, ...]:
        """The assumptions of all parts and of the composition, as sentences."""
        said = [self.relation.sentence]
        for part, _ in self.parts:
            said += [words for words in part.assumptions if words != part.relation.sentence]
        many = f"{self.rounds:,} round{'s' if self.rounds > 1 else ''}"
        said.append(say("rounds", f"{many}{self._mechanisms()}"))
        return tuple(dict.fromkeys(said))

    def _mechanisms(self) -> str:
        """The list of different rounds, for a sentence; empty if all are of one mechanism."""
        if len(self.parts) == 1:
            return ""
        names = []
        for part, count in self.parts[:_NAMED]:
            n = f" (n = {part.at['n']:,})" if "n" in part.at else ""
            names.append(f"{count:,} of {part.label}{n}")
        more = len(self.parts) - len(names)
        listed = ", ".join([*names, *([f"{more:,} other mechanisms"] if more else [])])
        return f", {listed}, the above of each by itself"

    def _bound(
        self,
        quantity: Any,
        ends: Ends,
        at: dict[str, float],
        *,
        upper: Theorem | None,
        lower: Theorem | None = None,
        logs: tuple[float | None, float | None] = (None, None),
        notes: tuple[str, ...] = (),
    ) -> Bound:
        refuse_contradiction(ends.low, ends.high)
        if lower is None and ends.low > 0.0:
            lower = joined([part.lower_theorem for part, _ in self.parts], theorems.REPETITION)
        shared = _shared([part.at for part, _ in self.parts])
        said = list(notes)
        if upper is theorems.LOCAL:
            said.append("the pure guarantees of all rounds, added up, are the active bound")
        if quantity == "epsilon" and ends.width is not None and ends.width > self.rtol:
            said.append(
                f"numerical width {ends.width:.1e} of the composition: the {self.rtol:.0e} asked "
                "for was not reached in bounded work"
            )
        return Bound(
            quantity=quantity,
            lower=min(ends.low, ends.high),
            upper=ends.high,
            at={**at, "rounds": self.rounds, **shared},
            lower_theorem=lower,
            upper_theorem=upper if math.isfinite(ends.high) else None,
            relation=self.relation,
            assumptions=self.assumptions(),
            notes=tuple(said),
            log_lower=logs[0],
            log_upper=logs[1],
            upper_width=ends.width,
            witness={"lower": ends.witness} if ends.witness else {},
        )


_PLANS: Beside[Rounds, Plan] = Beside(lambda asked: Plan(asked.parts, asked.rtol))


def directions(pairs: list[tuple[LossPair, int]]) -> list[Parts]:
    """One set of laws for each direction; a single set if both directions are the same."""
    forward = [(pair.forward, count) for pair, count in pairs]
    if all(pair.symmetric for pair, _ in pairs):
        return [forward]
    return [forward, [(pair.backward, count) for pair, count in pairs]]


def worst(laws: list[Parts], epsilon: float, rel: float) -> LogInterval:
    """The larger of both directions' ends of log delta."""
    found = [Total(parts).log_delta(epsilon, rel=rel) for parts in laws]
    return LogInterval(max(x.low for x in found), max(x.high for x in found))


def joined(steps: list[Theorem | None], last: Theorem) -> Theorem | None:
    """The theorems of all parts, followed by the composition's."""
    known = list(dict.fromkeys(step for step in steps if step is not None))
    if not known:
        return last
    total = known[0]
    for step in known[1:]:
        total = total.with_step(step)
    return total.with_step(last)


def _shared(each: list[Any]) -> dict[str, float]:
    """The entries on which all parts agree."""
    first, *others = [dict(at) for at in each]
    return {k: v for k, v in first.items() if all(o.get(k) == v for o in others)}
