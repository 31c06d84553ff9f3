"""The bound with one distinguished gain as a curve, for normal noise on an interval.

The numbers at an eps are proposed from that eps alone and certified once with a cover of all
inputs: so the bound is a function of eps, and every eps returned for a delta was evaluated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from shuffledp.arithmetic.floats import UNIT_ROUNDOFF
from shuffledp.errors import NotCertified
from shuffledp.stealing.choices import Cut
from shuffledp.stealing.jump_cover import jump_cover, places_of
from shuffledp.stealing.jump_proposal import JUMPS, jumps_worth, propose_alone
from shuffledp.stealing.jump_rough import log_about_and_needed
from shuffledp.stealing.jump_search import least_epsilon, slope_of
from shuffledp.stealing.jumps import Alone, log_bound_alone
from shuffledp.stealing.noise import IntervalCase
from shuffledp.stealing.proposal import served

U = UNIT_ROUNDOFF
# Where log delta is guessed to be, rounds of guessing, and how much deeper laws are computed for.
_GUESS, _GUESSES, _DEEPER = -20.0, 2, 10.0
_DEEPEST = -700.0
# Where alpha times the gain that jumps start at is less, nothing is gained by keeping them apart.
_HEAVY = 1.5
# Places in eps, in a factor of two, at which jumps and joining are chosen.
_PLACES = 4.0
# How far the cover is thought to be above the end points, in log delta.
_COVER = 0.006
# Estimates of where a delta is.
_ESTIMATES = 8
# eps is looked for between these.
_LARGEST, _SMALLEST = 4.0, 1e-12
# Where a crossing is looked for beside that of a normal law, if the largest eps is no start.
_BESIDE = (2.0, 1.4, 1.1)


class CertifiedAlone(NamedTuple):
    """A certified bound, log delta(epsilon) <= log_delta, and its free numbers.

    ``cover``: places of x1, x0 and x along the three edges of triples; empty for two inputs.
    """

    epsilon: float
    log_delta: float
    numbers: Alone
    cover: tuple[tuple[float, ...], ...] = ()


class JumpCurve:
    """Upper bounds of normal noise among n users by the bound with one distinguished gain.

    Parameters
    ----------
    case_for : callable
        log delta -> all inputs of the noise, in enough detail for it.
    n : int
        Users, the victim included.
    """

    def __init__(self, case_for: Callable[[float], IntervalCase], n: int) -> None:
        self._case_for, self._n = case_for, n
        self._cases: dict[float, IntervalCase] = {}
        self._worth: dict[int, tuple[float, float]] = {}

    def log_delta(self, epsilon: float) -> CertifiedAlone | None:
        """Upper bound of log delta at this eps > 0; None where there is none."""
        found = self._estimated(epsilon)
        if found is None:
            return None
        case, numbers, _ = found
        places: tuple[tuple[float, ...], ...] = ()
        if case.two_inputs:
            gains = case.gains(epsilon, Cut(numbers.kappa, numbers.theta, math.inf))
        else:
            try:
                triples = jump_cover(epsilon, numbers, self._n, case.chords, case.rows)
            except NotCertified:
                return None
            places = places_of(triples)
            gains = case.gains_of(
                case.rows(triples), epsilon, Cut(numbers.kappa, numbers.theta, math.inf)
            )
        value = log_bound_alone(gains, self._n, numbers)
        return CertifiedAlone(epsilon, min(value, 0.0), numbers, places)

    def epsilon(self, log_target: float, *, cap: float) -> CertifiedAlone | None:
        """An eps below ``cap`` with a certified log delta of at most the target; None if none."""
        start = self._crossing(log_target - _COVER, min(cap, _LARGEST))
        if start is None:
            return None
        point, slope = start
        goal = log_target - 4 * U * (1.0 + abs(log_target))
        return least_epsilon(self.log_delta, goal=goal, start=point, slope=slope, cap=cap)

    def _case(self, log_delta: float) -> IntervalCase:
        """A case in enough detail: twice the guess, in powers of two."""
        level = 2.0 * _GUESS
        while level > max(log_delta, _DEEPEST) - _DEEPER:
            level *= 2.0
        if level not in self._cases:
            self._cases[level] = self._case_for(level)
        return self._cases[level]

    def _best_worth(self, epsilon: float) -> tuple[float, float]:
        """Jumps and joining that are best at a place near eps, the same for all eps near it."""
        place = round(_PLACES * math.log2(epsilon))
        if place not in self._worth:
            near = 2.0 ** (place / _PLACES)
            guess, _ = served(lambda g: self._numbers(near, g, (JUMPS[0], 1.0)), _GUESS)
            self._worth[place] = jumps_worth(self._case(guess), near, guess, self._n)
        return self._worth[place]

    def _numbers(self, epsilon: float, guess: float, worth: tuple[float, float]) -> Alone | None:
        jumps, join = worth
        return propose_alone(self._case(guess), epsilon, guess, self._n, jumps, join=join)

    def _estimated(self, epsilon: float) -> tuple[IntervalCase, Alone, float] | None:
        """The case, numbers, and the bound for others at the end points alone."""
        if self._n < 3:
            return None
        guess = _GUESS
        found = None
        worth = self._best_worth(epsilon)
        for _ in range(_GUESSES):
            guess, numbers = served(lambda g: self._numbers(epsilon, g, worth), guess)
            case = self._case(guess)
            if numbers is None:
                return found
            if numbers.alpha * numbers.start < _HEAVY:
                return None
            gains = case.gains(epsilon, Cut(numbers.kappa, numbers.theta, math.inf))
            value, numbers = log_about_and_needed(gains, self._n, numbers)
            found = case, numbers, value
            if not math.isfinite(value):
                break
            guess = min(max(value, _DEEPEST), -0.1)
        return found

    def _crossing(self, log_target: float, top: float) -> tuple[float, float] | None:
        """About where the bound for others at the ends crosses the target, and -d log/d log."""

        def gap(epsilon: float) -> float:
            found = self._estimated(epsilon)
            return 1.0 if found is None else min(found[2], 1.0) - log_target

        for here in self._starts(log_target, top):
            value = gap(here)
            if value <= 0.0:
                break
        else:
            return None
        known = [(math.log(here), value)]
        for _ in range(_ESTIMATES):
            if abs(known[-1][1]) <= 0.3 * _COVER:
                break
            move = known[-1][1] / slope_of(known)
            here = math.exp(known[-1][0] + max(min(move, 0.7), -0.7))
            if not here < top:
                return None
            known.append((math.log(here), gap(here)))
        return math.exp(known[-1][0]), slope_of(known)

    def _starts(self, log_target: float, top: float) -> list[float]:
        """Where the bound may be below the target: the top, and beside where a normal law is.

        Where eps is large no numbers may be known for it, although there are for smaller ones.
        """
        spread = self._case(_GUESS).spread
        middle = spread * math.sqrt(-2.0 * log_target / self._n)
        found = [top * (1.0 - 1e-6)] + [f * middle for f in _BESIDE if f * middle < top]
        return [here for here in found if here > _SMALLEST]


def jump_curve(cases: Callable[[float], object], n: int) -> JumpCurve:
    """The curve of a mechanism's only case.

    Raises
    ------
    NotCertified
        Where that is not noise with unbounded ratios on an interval.
    """

    def case_for(log_delta: float) -> IntervalCase:
        case = cases(log_delta)
        if not isinstance(case, IntervalCase) or case.bounded:
            msg = "analysis = 'lone-jump': wanted noise with unbounded ratios on an interval"
            raise NotCertified(msg)
        return case

    return JumpCurve(case_for, n)
