"""Certified ends of eps and delta by label stealing, for noise on an interval among n users.

Floats propose an eps, free numbers and a cover; balls certify the bound there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from shuffledp.arithmetic.balls import ctx, precision_for
from shuffledp.ball.record import Definition
from shuffledp.bounds.interval import is_binary, log_delta_on_interval, outputs_of
from shuffledp.bounds.stealing import Numbers
from shuffledp.errors import NotCertified
from shuffledp.kernel.positive_sum import step_of
from shuffledp.propose.covers import COARSE, FEW, FINE, FINEST, Detail, cover
from shuffledp.propose.interval import Free, Laws, Sketch, free_numbers
from shuffledp.propose.solve import LEAST, crossing, first_epsilon
from shuffledp.propose.stealing_ends import End
from shuffledp.propose.stealing_solve import first_log_delta

__all__ = ["IntervalStealing", "free_of"]

# Relative amount by which a bound has to improve on the others' eps; largest eps that is tried.
_GAINED, _MOST = 1e-4, 60.0
# Least amount by which a certified log delta is below the target; a finer sum does not notice it.
_SPARE = 2e-7
# Allowance for a cover's cost, in units of the cost of its first step.
_MORE = 1.4
# Most certificates for one end, and the least amount in log delta by which the next one aims below
# the target.
_TRIES, _BELOW = 6, 3e-4
# The same as a share of the last miss, as slopes are wrong by about that much.
_BELOW_MISS = 0.12
# A miss of log delta, of the two likely worst labels, that needs no correction; largest step of log
# eps.
_NEAR_AIM, _LONGEST = 1e-3, 0.5
# If a certificate misses by more than this in log delta, no bound by a cover is near.
_HOPELESS = 3.0
# Most searches for a first eps; distance in log delta at which they end; tolerance of a crossing.
_SEARCHES, _SETTLED, _NEARLY = 6, 0.02, 3e-4
# Least ratio of the slope of searched numbers to that of fixed numbers.
_FLATTEST = 0.2
# Factor for a guess of log delta for which no numbers are found.
_SHALLOWER = 0.6
# First guess of d log delta/d log eps.
_SLOPE = -20.0


class IntervalStealing:
    """Label stealing of one mechanism with noise on an interval, among n >= 2 users.

    Parameters
    ----------
    mechanism : Definition
        A mechanism with Laplace or normal noise on an interval.
    n : int
        Number of users, the victim included.
    more_bits : int
        Bits beyond the usual working precision.
    """

    def __init__(self, mechanism: Definition, n: int, *, more_bits: int = 0) -> None:
        self._n, self._bits = n, precision_for(n) + more_bits
        self._binary = is_binary(mechanism)
        with ctx.workprec(self._bits):
            self._at = outputs_of(mechanism)
        self._sketch = Sketch(self._at.normal, float(self._at.scale.mid()))

    @property
    def deviation(self) -> float:
        """Standard deviation of the privacy loss, to first order."""
        square = Laws(self._sketch, self._n, 0.0, -20.0).spreads()[1]
        return math.sqrt(min(square, 1e6) / self._n)

    def epsilon(self, target: float, *, cap: float) -> End | None:
        """An eps, close to the least, with log delta certified at most the target; None if none.

        Parameters
        ----------
        target : float
            log of the target delta.
        cap : float
            Upper limit: None is returned where the eps would not be below it.
        """
        if self._n < 2:
            return None
        with np.errstate(all="ignore"):
            found = self._crossing(target, cap)
        if found is None:
            return None
        eps, slope, free = found
        # The two likely worst labels alone tell where to aim.
        detail = FEW if self.is_dear(target) else FINE
        aim, numbers = target - self._margin(slope, detail), _numbers(free)
        for _ in range(2):
            value = self._value(eps, numbers, target, detail, ends=True)
            if not (math.isfinite(value) and eps < cap):
                return None
            eps *= math.exp((aim - value) / slope)
            if abs(aim - value) < _NEAR_AIM:
                break
        return self._certified_end(eps, slope, numbers, target, detail, cap)

    def _certified_end(
        self,
        eps: float,
        slope: float,
        numbers: Numbers,
        target: float,
        detail: Detail,
        cap: float,
    ) -> End | None:
        """The first eps at which the bound meets the target.

        Each certificate tells where the next aims.
        """
        before: tuple[float, float] | None = None
        for _ in range(_TRIES):
            if not eps < cap:
                break
            value = self._value(eps, numbers, target, detail, enough=target - _SPARE)
            if value <= target - _SPARE:
                return End(eps, value, [numbers], 0)
            if not value < target + _HOPELESS:
                break
            if before is not None and before[0] < eps and value < before[1]:
                slope = max((value - before[1]) / math.log(eps / before[0]), slope)
            before = eps, value
            below = max(_BELOW, _BELOW_MISS * (value - target))
            eps *= math.exp(min((target - value - below) / slope, _LONGEST))
        return None

    def is_dear(self, target: float) -> bool:
        """Whether few users hide the victim: bounds then take seconds and seldom are the best."""
        return Laws(self._sketch, self._n, 0.0, target).few

    def log_delta(self, eps: float) -> End | None:
        """A certified log delta at eps > 0; None where no bound is below 1."""
        log, plans = self.searched(eps)
        if not (plans and log < 0.0):
            return None
        return self._end(eps, _numbers(plans[0]), log, FEW if self.is_dear(log) else FINE)

    def searched(self, eps: float) -> tuple[float, list[Free]]:
        """An estimate of log delta at eps, and the free numbers found by a search there."""
        log, free = first_log_delta(eps, self.deviation), None
        with np.errstate(all="ignore"):
            for _ in range(3):
                free = self._search(eps, log, free) or free
                if free is None:
                    # So small a delta would require more users than there are.
                    log *= _SHALLOWER
                    continue
                if not math.isfinite(free.log_delta):
                    return 0.0, []
                before, log = log, min(free.log_delta, -0.01)
                if abs(log - before) < 0.5:
                    break
        return (0.0, []) if free is None else (free.log_delta, [free])

    def moved(self, plans: Sequence[Free], eps: float, about: float) -> list[Free]:
        """The same numbers at another eps, each at its saddle point there."""
        with np.errstate(all="ignore"):
            return [self._moved(plan, eps, about) for plan in plans]

    def numbers(self, plan: Free, smoothest: float) -> Numbers:
        """The plan's free numbers, with the line and step of the sums."""
        return _numbers(plan, smoothest)

    def certified(
        self, eps: float, numbers: Sequence[Numbers], about: float, which: int = 0
    ) -> End | None:
        """A certified log delta at these numbers, for rounds; None where it is not below 0."""
        del which
        return self._end(eps, numbers[0], about, COARSE)

    def claimed(self, numbers: Numbers, epsilon: float, about: float, enough: float) -> float:
        """log of the bound at a claim's numbers, in finer cells, rounded up to a float.

        ``enough`` if the bound is certainly at most that.
        """
        return self._value(epsilon, numbers, about, FINEST, enough=enough)

    def _end(self, eps: float, numbers: Numbers, about: float, detail: Detail) -> End | None:
        value = self._value(eps, numbers, about, detail) + _SPARE
        return End(eps, value, [numbers], 0) if value < 0.0 else None

    def _crossing(self, target: float, cap: float) -> tuple[float, float, Free] | None:
        """Estimates of the eps with this delta and of d log delta/d log eps, with free numbers."""
        free, dear, most = None, self.is_dear(target), min(cap * (1.0 - _GAINED), _MOST)
        eps, slope = first_epsilon(self.deviation**2, 1, target, cap), _SLOPE
        # Among few users the central limit theorem is inaccurate, and a gain is unlikely.
        eps = most if dear else min(eps, most)
        before: tuple[float, float] | None = None
        for _ in range(_SEARCHES):
            new = self._search(eps, target, free)
            if new is None or not math.isfinite(new.log_delta):
                return None
            at, gap = eps, new.log_delta - target
            if gap > 0.0 and eps >= most:
                return None
            eps, slope = crossing(
                lambda at, kept=new: self._about(kept, at, target), target, eps, cap, _NEARLY, slope
            )
            free = self._moved(new, eps, target)
            if abs(gap) < _SETTLED:
                break
            if before is not None and (gap - before[1]) * (at - before[0]) < 0.0:
                # With numbers searched at every eps, log delta falls less steeply than at fixed
                # numbers.
                flatter = (gap - before[1]) / math.log(at / before[0])
                flatter = min(flatter, _FLATTEST * slope)
                eps = max(min(at * math.exp(-gap / flatter), most), LEAST)
            before = at, gap
        if free is None or not abs(free.log_delta - target) < 0.1:
            return None
        return eps, slope, free

    def _margin(self, slope: float, detail: Detail) -> float:
        """An estimate of what all labels add to the log delta of the two likely worst ones."""
        return -slope * _MORE * detail.first + _SPARE

    def _about(self, free: Free, eps: float, target: float) -> float:
        """An estimate of log delta at these numbers."""
        return self._moved(free, eps, target).log_delta

    def _search(self, eps: float, about: float, start: Free | None) -> Free | None:
        """Free numbers for a log delta near ``about``; None where none are found."""
        return free_numbers(self._sketch, self._n, eps, about, start)

    def _moved(self, free: Free, eps: float, about: float) -> Free:
        """The same numbers at another eps, at the saddle point there."""
        return Laws(self._sketch, self._n, eps, about).moved(free)

    def _value(
        self,
        eps: float,
        numbers: Numbers,
        about: float,
        detail: Detail,
        *,
        ends: bool = False,
        enough: float = -math.inf,
    ) -> float:
        """log of the certified bound; ``ends``: of the labels (1, 0, 0) and (0, 1, 0) alone."""
        free = free_of(numbers, about)
        with np.errstate(all="ignore"):
            two = self._binary or ends
            made = cover(self._sketch, self._n, eps, free, two_inputs=two, detail=detail)
        with ctx.workprec(self._bits):
            return log_delta_on_interval(
                self._at, made, numbers, self._n, eps, two_inputs=two, enough=enough
            )


def _numbers(free: Free, smoothest: float = 0.0) -> Numbers:
    step = step_of(free.deviation, free.alpha)
    ceiling = float(free.ceiling) if math.isfinite(free.ceiling) else None
    smooth = max(free.smooth, smoothest) / free.alpha
    split = (float(free.kappa),), (float(free.theta),)
    return Numbers(*split, float(free.alpha), float(smooth), float(step), ceiling)


def free_of(numbers: Numbers, about: float) -> Free:
    """The free numbers in the form from which a cover is proposed."""
    (kappa,), (theta,) = numbers.share, numbers.join
    if not (0.0 < kappa < 1.0 and 0.0 <= theta < 1.0 and numbers.alpha > 0 and numbers.step > 0):
        raise NotCertified("label stealing: numbers at which no cover of all inputs is known")
    ceiling = math.inf if numbers.ceiling is None else numbers.ceiling
    return Free(kappa, theta, numbers.alpha, ceiling, 1.1 / numbers.step, min(about, -0.01))
