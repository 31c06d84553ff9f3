"""Rounds of several mechanisms together: certified eps and delta."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, Literal, NamedTuple, Protocol

from shuffledp import theorems
from shuffledp.arithmetic.floats import UNIT_ROUNDOFF
from shuffledp.arithmetic.intervals import LogInterval
from shuffledp.bound import Bound, Theorem, delta_from_log, refuse_contradiction
from shuffledp.bounds.pairs import End
from shuffledp.curves import DEEP, Accountant
from shuffledp.neighbours import Relation, each_round
from shuffledp.propose.solve import LEAST, Root, Value, certified
from shuffledp.rounds.loss import LossPair
from shuffledp.rounds.plan import Aim, Plan
from shuffledp.rounds.round import Round
from shuffledp.rounds.total import Parts, Total
from shuffledp.statements import say
from shuffledp.values.work import Beside

U = UNIT_ROUNDOFF
# Distance of an end of eps from where delta meets the target, as a share of the requested width. Of
# one round by itself, which needs no dots, that width is at most the second number, and delta's
# width is this share of it.
_CLOSE, _ALONE, _OF_DELTA = 0.1, 1e-3, 0.3
# Share of the room of log delta that a value may take, its least and largest width, and that at
# eps = 0, which decides whether delta is below a target everywhere.
_SHARE, _NARROWEST, _WIDEST, _AT_ZERO = 0.2, 1e-9, 1e-2, 1e-6
# A direction below the other one by estimates is bracketed to this share of the distance, and at
# most so wide.
_FAR, _LOOSEST = 0.25, 0.5
# The losses of all rounds are rounded sums: they end at most this share beyond.
_BEYOND = 1e-12
# Number of different mechanisms that the assumptions name.
_NAMED = 8


class Side(Protocol):
    """The curve of all rounds in one direction: of one round alone, or of the sum of losses."""

    last: float

    def log_delta(self, epsilon: float, *, rel: float, end: End) -> LogInterval:
        """Certified bracket of log delta at an eps, about so wide; one end or both."""
        ...

    def rough(self, epsilon: float) -> float:
        """An estimate of log delta at an eps."""
        ...

    def root(self, log_target: float) -> Root:
        """An estimate of the eps at a target."""
        ...


class Ends(NamedTuple):
    """Both ends, and the witness of the lower one."""

    low: float
    high: float
    witness: dict[str, Any]


@dataclass(frozen=True, repr=False)
class Rounds(Accountant):
    """Rounds of mechanisms on the same users: eps and delta.

    Attributes
    ----------
    parts : tuple of (Round, int)
        Each mechanism and its number of rounds.
    asked : float or None
        Requested relative width of eps; dots are placed to reach it, within bounded work. None:
        5e-4, or 6e-3 for continuous outputs.
    """

    parts: tuple[tuple[Round, int], ...]
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
        high = self._upper_epsilon(target)
        capped = self.eps0 <= high and math.isfinite(self.eps0)
        high = self.eps0 if capped else high
        around = high / self.rounds if math.isfinite(high) else 1.0
        sides, witness = self._below(partial(self._plan.at_target, target), around=around)
        low = self._cross(sides, target, upper=False)
        upper = self._upper_theorem(capped=capped)
        return self._bound("epsilon", Ends(low, high, witness), {"delta": delta}, upper=upper)

    def _delta(self, epsilon: float) -> Bound:
        found = self.log_delta(epsilon)
        low, high = delta_from_log(found.low, found.high)
        upper = self._upper_theorem(capped=epsilon >= self.eps0)
        logs = (min(found.low, found.high), found.high)
        ends = Ends(low, high, found.witness)
        return self._bound("delta", ends, {"epsilon": epsilon}, upper=upper, logs=logs)

    def log_delta(self, epsilon: float) -> Ends:
        """Both ends of log delta at eps >= 0."""
        if epsilon >= self.eps0:
            return Ends(-math.inf, -math.inf, {})
        aim = partial(self._plan.around, epsilon)
        sides, witness = self._below(aim, around=epsilon / self.rounds)
        low = worst(sides, epsilon, self._width, "lower").low
        return Ends(low, self.log_upper(epsilon), witness)

    def upper_epsilon(self, *, delta: float) -> float:
        """The certified upper end of eps at 0 < delta < 1 alone, for solvers."""
        return min(self._upper_epsilon(math.log(delta)), self.eps0)

    def log_upper(self, epsilon: float, *, log_target: float = DEEP) -> float:
        """The certified upper end of log delta at eps >= 0 alone, for solvers."""
        del log_target
        return self._at(self._above(partial(self._plan.around, epsilon)), epsilon)

    def log_uppers(self, log_target: float) -> Callable[[float], float]:
        """The upper end of log delta at any eps, with dots placed for one target alone."""
        return partial(self._at, self._above(partial(self._plan.at_target, log_target)))

    def _at(self, sides: Sequence[Side], epsilon: float) -> float:
        return (
            -math.inf if epsilon >= self.eps0 else worst(sides, epsilon, self._width, "upper").high
        )

    @property
    def quick(self) -> bool:
        """True: estimates tell where the ends are."""
        return True

    def rough_log_delta(self, epsilon: float) -> float:
        """An estimate of the upper end of log delta, not certified."""
        return -math.inf if epsilon >= self.eps0 else self._plan.log_delta(epsilon)

    @property
    def _width(self) -> float:
        """Relative width of delta requested at a given eps."""
        return _OF_DELTA * self._near if self.rounds == 1 else min(self.rtol, 1e-3)

    @property
    def _near(self) -> float:
        """The relative width of eps to aim at; of one round by itself at most 1e-3."""
        return min(self.rtol, _ALONE) if self.rounds == 1 else self.rtol

    def _upper_epsilon(self, target: float) -> float:
        sides = self._above(partial(self._plan.at_target, target))
        return self._cross(sides, target, upper=True)

    def _cross(self, sides: Sequence[Side], target: float, *, upper: bool) -> float:
        """An eps certified to lie on the right side of the target.

        There the upper end of log delta is at most the target, or the lower end at least the
        target. 0 is always a lower end, and inf always an upper one.
        """
        # The target is the rounded logarithm of delta.
        goal = target + (-4 if upper else 4) * U * (1.0 + abs(target))
        last = max((side.last for side in sides), default=0.0)
        start = max((side.root(goal) for side in sides), default=Root(0.0))
        if start.epsilon == 0.0:
            if not upper or worst(sides, 0.0, _AT_ZERO, "upper").high <= goal:
                return 0.0
            start = Root(2.0 * LEAST)
        if start.epsilon == math.inf:
            if upper or last <= 0.0:
                return math.inf if upper else 0.0
            start = Root(last)

        def certify(epsilon: float, near: float) -> Value:
            rel = min(max(_SHARE * near, _NARROWEST), _WIDEST)
            found = worst(sides, epsilon, rel, "upper" if upper else "lower")
            return Value(found.high if upper else found.low)

        near = _CLOSE * self._near
        found = certified(certify, goal, start, last, upper=upper, rtol=near)
        if found is not None:
            return found.epsilon
        beyond = last * (1.0 + _BEYOND)
        met = upper and worst(sides, beyond, _WIDEST, "upper").high <= goal
        return beyond if met else math.inf if upper else 0.0

    # ---------------------------------------------------------------- the curves of all rounds

    def _above(self, aim: Callable[[], Aim]) -> Sequence[Side]:
        """Upper curves: that of one round itself, or the sum of losses of laws above."""
        if self.rounds == 1:
            return list(dict.fromkeys(self.parts[0][0].curves()))
        return directions(self._laws_above(aim()))

    def _laws_above(self, aim: Aim) -> list[tuple[LossPair, int]]:
        places, level = self._plan.places(aim), self._plan.level(aim.log_delta)
        return [
            (part.above(at, level), count)
            for (part, count), at in zip(self.parts, places, strict=True)
        ]

    def _below(
        self, aim: Callable[[], Aim], *, around: float
    ) -> tuple[Sequence[Side], dict[str, Any]]:
        """Lower curves, from one pair of neighbours in every round, and the neighbours' witness."""
        if self.rounds == 1:
            curves, reproduces = self.parts[0][0].attained(around)
            return list(dict.fromkeys(curves)), self._witness([reproduces])
        found = [
            (part.below(at, around), count)
            for (part, count), at in zip(self.parts, self._plan.places(aim()), strict=True)
        ]
        pairs = [(pair, count) for (pair, _), count in found]
        return directions(pairs), self._witness([reproduces for (_, reproduces), _ in found])

    def _witness(self, found: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            f"round {i + 1}": {"label": part.label, "rounds": count, **reproduces}
            for i, ((part, count), reproduces) in enumerate(zip(self.parts, found, strict=True))
        }

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
            witness={"lower": ends.witness} if ends.witness else {},
        )


_PLANS: Beside[Rounds, Plan] = Beside(lambda asked: Plan(asked.parts, asked.rtol))


def directions(pairs: Sequence[tuple[LossPair, int]]) -> list[Total]:
    """The sum of losses in each direction; a single one if both directions are the same."""
    found: list[Parts] = [[(pair.forward, count) for pair, count in pairs]]
    if not all(pair.symmetric for pair, _ in pairs):
        found.append([(pair.backward, count) for pair, count in pairs])
    return [Total(parts) for parts in found]


def worst(sides: Sequence[Side], epsilon: float, rel: float, end: End) -> LogInterval:
    """The larger of both directions' ends of log delta; -inf if there are none.

    A lower end is asked of the direction with the larger estimate alone, and an upper end of the
    other direction only as narrow as may matter.
    """
    rough = [side.rough(epsilon) for side in sides]
    best = LogInterval(-math.inf, -math.inf)
    for side, about in zip(sides, rough, strict=True):
        below = max(rough) - about
        if end == "lower" and below > 0.0:
            continue
        loose = max(rel, min(_FAR * below, _LOOSEST)) if math.isfinite(below) else rel
        found = side.log_delta(epsilon, rel=loose, end=end)
        best = LogInterval(max(best.low, found.low), max(best.high, found.high))
    return best


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
