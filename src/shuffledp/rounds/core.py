"""Rounds: the certified eps and delta of several mechanisms together."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from shuffledp import theorems
from shuffledp.bound import Bound, Theorem, delta_from_log, refuse_contradiction
from shuffledp.curves import Accountant
from shuffledp.neighbours import Relation, each_round
from shuffledp.numerics import LogInterval
from shuffledp.pair import UNIT_ROUNDOFF
from shuffledp.rounds.aims import ANYWHERE, COARSE, QUICK, ROUGHLY, Aim, Aims, directions
from shuffledp.rounds.curve import LOWEST_LEVEL
from shuffledp.rounds.delta import Parts, log_delta, log_infinite
from shuffledp.rounds.part import Dots, Part
from shuffledp.rounds.solve import crossing, normal_guess
from shuffledp.rounds.tilt import find_tilt
from shuffledp.values.work import Beside

U = UNIT_ROUNDOFF
# Halving the steps of dots divides the width by four: twice is enough for 5e-4 of what is usual,
# once more of what is not, and of all for each factor of four that is asked beyond; six times are
# 64 times the dots.
_REFINED, _LEAST_REFINED, _MOST_REFINED = 1e-3, 2, 6
# Less than this was won by a refinement: it is not the dots that make the ends part.
_WON = 1.5
# A level so far below delta/rounds changes delta by a factor 1 + 1e-6.
_DEPTH = 14.0
# How far down estimates are followed first.
_FIRST_LEVEL = -45.0
# Where a value takes long the dots cost far more than looking for eps with them: it is as near as
# a search for a parameter asks (1e-6), so that where delta meets a target eps does, too.
_CLOSE = 1e-6
# Of different mechanisms so many are named among the assumptions.
_NAMED = 8


class Ends(NamedTuple):
    """Both ends, the numerical width of the upper one, and what reproduces the lower one."""

    low: float
    high: float
    width: float | None
    witness: dict[str, Any]


class _Upper(NamedTuple):
    """An upper end of log delta; down to where, for what and how near dots were placed for it."""

    high: float
    level: float
    aim: Aim
    refine: int


@dataclass(frozen=True, repr=False)
class Rounds(Accountant):
    """Rounds of mechanisms on the same users: eps and delta.

    Attributes
    ----------
    parts : tuple of (Part, int)
        Each mechanism and in how many rounds it runs.
    asked : float or None
        Requested relative width of eps; dots are refined to reach it, in bounded work. None:
        what is worth the time: 5e-4, of continuous outputs 6e-3.
    """

    parts: tuple[tuple[Part, int], ...]
    asked: float | None = None

    def __repr__(self) -> str:
        parts = ", ".join(f"({part!r}, {count})" for part, count in self.parts)
        return f"{type(self).__name__}([{parts}], rtol={self.asked})"

    @property
    def rounds(self) -> int:
        """How many rounds in all."""
        return sum(count for _, count in self.parts)

    @property
    def rtol(self) -> float:
        """Relative width of eps that is aimed at."""
        return max(part.rtol for part, _ in self.parts) if self.asked is None else self.asked

    @property
    def relation(self) -> Relation:
        """The neighbouring relation of all rounds: their common one, or round by round."""
        return each_round((part.label, part.relation) for part, _ in self.parts)

    @property
    def eps0(self) -> float:
        """Pure guarantee of all rounds together in nats, inf if there is none."""
        return math.fsum(count * part.eps0 for part, count in self.parts) * (1.0 + 4 * U)

    # ------------------------------------------------------------------------- eps and delta

    def _epsilon_at(self, delta: float) -> Bound:
        target = math.log(delta)
        level = self._level(target)
        high, width, refine = self._upper_epsilon(target, level)
        capped = self.eps0 <= high and math.isfinite(self.eps0)
        if capped:
            high, width = self.eps0, None
        low, witness = self._lower_epsilon(target, level, refine, around=high / self.rounds)
        upper = self._upper_theorem(capped=capped)
        ends = Ends(low, high, width, witness)
        return self._bound("epsilon", ends, {"delta": delta}, upper=upper)

    def _delta_at(self, epsilon: float) -> Bound:
        found = self.log_delta(epsilon)
        low, high = delta_from_log(found.low, found.high)
        capped = epsilon >= self.eps0
        upper = self._upper_theorem(capped=capped)
        ends = Ends(low, high, None if capped else found.width, found.witness)
        logs = (min(found.low, found.high), found.high)
        return self._bound("delta", ends, {"epsilon": epsilon}, upper=upper, logs=logs)

    def log_delta(self, epsilon: float, *, lower: bool = True) -> Ends:
        """log delta at eps >= 0, both ends (the lower one trivial without ``lower``)."""
        if epsilon >= self.eps0:
            return Ends(-math.inf, -math.inf, 0.0, {})
        # Both ends are asked for one eps, the upper one alone for many: slow ones with fewer dots.
        above = self._upper_log_delta(epsilon, lower=lower)
        if not lower:
            return Ends(-math.inf, above.high, None, {})
        refine, level, aim = above.refine, above.level, above.aim
        near = _worst(self._inner(level, refine, aim), epsilon, self._width).low
        low, witness = self._lower_log_delta(epsilon, level, refine, aim)
        return Ends(low, above.high, math.expm1(min(above.high - near, 700.0)), witness)

    def upper_epsilon(self, *, delta: float) -> float:
        """The certified upper end of ``epsilon`` at 0 < delta < 1 by itself: for solvers."""
        target = math.log(delta)
        return min(self._upper_epsilon(target, self._level(target))[0], self.eps0)

    def log_upper(self, epsilon: float) -> float:
        """log of the certified upper end of ``delta`` at eps >= 0, by itself: for solvers."""
        if epsilon >= self.eps0:
            return -math.inf
        return self._upper_log_delta(epsilon, lower=True).high

    def log_upper_coarse(self, epsilon: float, *, log_target: float) -> float:
        """The same with a quarter of the dots: still certified, a per cent or so larger.

        Parameters
        ----------
        epsilon : float
            eps >= 0 in nats.
        log_target : float
            log of the delta it is compared with: curves are followed down to a millionth of it.
        """
        if epsilon >= self.eps0:
            return -math.inf
        aim = ANYWHERE
        if any(part.placed for part, _ in self.parts):
            level = self._level(log_target)
            aim = Aim(_AIMS.of(self).tilt_at(epsilon, level), epsilon)
        return _worst(self._above(self._level(log_target), COARSE, aim), epsilon, 1e-3).high

    @property
    def _width(self) -> float:
        """Relative width of delta that contours are asked for at a given eps."""
        return min(self.rtol, 1e-3)

    def _upper_log_delta(self, epsilon: float, *, lower: bool) -> _Upper:
        """With as many dots as serve both ends, or with fewer for many eps."""
        level = self._level(_FIRST_LEVEL)
        rough = _worst(_AIMS.of(self).laws(level), epsilon, ROUGHLY).high
        level = max(level, self._level(rough))
        while True:
            tilt = _AIMS.of(self).tilt_at(epsilon, level, many=True)
            aim = Aim(tilt, epsilon if lower else math.nan)
            # Intervals are halved once; not those of slow curves, where dots one by one are enough.
            halved = self.rtol <= QUICK or (lower and not _AIMS.of(self).serve(level))
            refine = int(halved)
            laws = self._above(level, refine, aim)
            high = _worst(laws, epsilon, self._width).high
            seen = max(log_infinite(law).high for law in laws)
            if seen <= high - _DEPTH + 4.0 or level <= LOWEST_LEVEL:
                return _Upper(high, level, aim, refine)
            level = max(1.6 * level, LOWEST_LEVEL)

    def _refined_enough(self, width: float, before: float, wanted: float, refine: int) -> bool:
        """Whether dots are near enough to each other, or halving their distance no longer helps."""
        if width <= wanted or refine >= self._most_refined():
            return True
        return refine >= _LEAST_REFINED and width > before / _WON

    def _lower_log_delta(
        self, epsilon: float, level: float, refine: int, aim: Aim
    ) -> tuple[float, dict[str, Any]]:
        laws, witness = self._below(level, refine, aim, around=epsilon / self.rounds)
        return _worst(laws, epsilon, self._width).low, witness

    def _upper_epsilon(self, target: float, level: float) -> tuple[float, float | None, int]:
        aim, refine, before = self._aim(target, level), 0, math.inf
        high = aim.epsilon
        while True:
            high = self._cross(self._above(level, refine, aim), target, upper=True, near=high)
            inner = self._inner(level, refine, aim)
            near = self._cross(inner, target, upper=False, near=high * (1.0 - 0.3 * self.rtol))
            width = high / near - 1.0 if 0.0 < near <= high < math.inf else None
            if width is None or self._refined_enough(width, before, self.rtol, refine):
                return high, width, refine
            before, refine = width, refine + 1

    def _most_refined(self) -> int:
        """How often every interval between dots may be halved for the accuracy asked for."""
        wanted = math.ceil(0.5 * math.log2(_REFINED / self.rtol))
        return min(max(wanted, _LEAST_REFINED + 1), _MOST_REFINED)

    def _lower_epsilon(
        self, target: float, level: float, refine: int, *, around: float
    ) -> tuple[float, dict[str, Any]]:
        if not math.isfinite(around):
            around = 1.0
        aim = self._aim(target, level)
        laws, witness = self._below(level, refine, aim, around=around)
        near = around * self.rounds
        return self._cross(laws, target, upper=False, near=near), witness

    def _cross(
        self,
        laws: list[Parts],
        target: float,
        *,
        upper: bool,
        near: float = math.nan,
        rtol: float | None = None,
    ) -> float:
        estimates, rtol = rtol is not None, self.rtol if rtol is None else rtol
        width = min(0.3 * rtol, 1e-3)

        def value(epsilon: float) -> float:
            found = _worst(laws, epsilon, width)
            return found.high if upper else found.low

        def slope(epsilon: float) -> float:
            # By the envelope theorem the saddle point is the slope, nearly.
            return min(find_tilt(parts, epsilon).rho for parts in laws)

        slack = 4 * U * (1.0 + abs(target))
        goal = target - slack if upper else target + slack
        top = max(math.fsum(count * law.highest for law, count in parts) for parts in laws)
        start = near if math.isfinite(near) else max(normal_guess(p, target) for p in laws)
        close = 0.1 * rtol if estimates or rtol <= QUICK else _CLOSE
        below, above = crossing(value, goal, start=start, top=top, slope=slope, rtol=close)
        return above if upper else below

    def _level(self, target: float) -> float:
        return max(target - math.log(self.rounds) - _DEPTH, LOWEST_LEVEL)

    # ------------------------------------------------------------------------- the loss laws

    def _aim(self, target: float, level: float) -> Aim:
        """What a target comes to, by estimates: for the dots."""
        return _AIMS.of(self).answers.answer(
            ("aim", target, level), lambda: self._find_aim(target, level)
        )

    def _find_aim(self, target: float, level: float) -> Aim:
        epsilon = self._cross(_AIMS.of(self).laws(level), target, upper=True, rtol=1e-2)
        if not 0.0 < epsilon < math.inf:
            return Aim(math.inf, epsilon)
        return Aim(_AIMS.of(self).tilt_at(epsilon, level), epsilon)

    def _above(self, level: float, refine: int, aim: Aim) -> list[Parts]:
        return directions([(dots.above, k) for dots, k in self._dots(level, refine, aim)])

    def _inner(self, level: float, refine: int, aim: Aim) -> list[Parts]:
        return directions([(dots.below, k) for dots, k in self._dots(level, refine, aim)])

    def _dots(self, level: float, refine: int, aim: Aim) -> list[tuple[Dots, int]]:
        found = []
        for i, (part, count) in enumerate(self.parts):
            at = _AIMS.of(self).places(i, level, refine, aim)
            found.append((part.above(level, refine, aim.tilt, at), count))
        return found

    def _below(
        self, level: float, refine: int, aim: Aim, *, around: float
    ) -> tuple[list[Parts], dict[str, Any]]:
        pairs, witness = [], {}
        for i, (part, count) in enumerate(self.parts):
            at = _AIMS.of(self).places(i, level, refine, aim)
            dots, reproduces = part.below(level, refine, aim.tilt, around, at)
            pairs.append((dots.below, count))
            witness[f"round {i + 1}"] = {"label": part.label, "rounds": count, **reproduces}
        return directions(pairs), witness

    # ----------------------------------------------------------------------------- the Bound

    def _upper_theorem(self, *, capped: bool) -> Theorem | None:
        if capped:
            return theorems.LOCAL
        return joined([part.upper_theorem for part, _ in self.parts], theorems.COMPOSITION)

    def assumptions(self) -> tuple[str, ...]:
        """Those of all parts, and of the composition."""
        said = [self.relation.sentence]
        for part, _ in self.parts:
            said += [words for words in part.assumptions if words != part.relation.sentence]
        rounds = self.rounds
        said.append(
            f"{rounds:,} round{'s' if rounds > 1 else ''}{self._mechanisms()}; each user takes "
            "part in every one, with fresh randomness; what is asked in a round may depend on all "
            "earlier outputs"
        )
        return tuple(dict.fromkeys(said))

    def _mechanisms(self) -> str:
        """Which rounds there are, where they are not all of one mechanism."""
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
    ) -> Bound:
        refuse_contradiction(ends.low, ends.high)
        if lower is None and ends.low > 0.0:
            lower = joined([part.lower_theorem for part, _ in self.parts], theorems.REPETITION)
        shared = _shared([part.at for part, _ in self.parts])
        notes = []
        if upper is theorems.LOCAL:
            notes.append("the pure guarantees of all rounds, added up, are the active bound")
        if quantity == "epsilon" and ends.width is not None and ends.width > self.rtol:
            notes.append(
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
            notes=tuple(notes),
            log_lower=logs[0],
            log_upper=logs[1],
            upper_width=ends.width,
            witness={"lower": ends.witness} if ends.witness else {},
        )


_AIMS: Beside[Rounds, Aims] = Beside(lambda asked: Aims(asked.parts, asked.rtol))


def _worst(laws: list[Parts], epsilon: float, width: float) -> LogInterval:
    found = [log_delta(parts, epsilon, width=width) for parts in laws]
    return LogInterval(max(x.low for x in found), max(x.high for x in found))


def joined(steps: list[Theorem | None], last: Theorem) -> Theorem | None:
    """All parts' theorems and the composition's."""
    known = list(dict.fromkeys(step for step in steps if step is not None))
    if not known:
        return last
    total = known[0]
    for step in known[1:]:
        total = total.with_step(step)
    return total.with_step(last)


def _shared(each: list[Any]) -> dict[str, float]:
    """What all parts have in common."""
    first, *others = [dict(at) for at in each]
    return {k: v for k, v in first.items() if all(o.get(k) == v for o in others)}
