"""Label stealing for noise on an interval, among n users.

Floats propose an eps, free numbers and a cover; balls certify the bound there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from shuffledp.arithmetic.balls import ctx, precision_for
from shuffledp.ball.record import Definition
from shuffledp.bounds.interval import is_binary, log_delta_on_interval, outputs_of
from shuffledp.bounds.stealing import Numbers
from shuffledp.errors import NotCertified
from shuffledp.kernel.positive_sum import step_of
from shuffledp.propose.covers import COARSE, FEW, FINE, Detail, cover
from shuffledp.propose.interval import Free, Laws, Sketch, free_numbers
from shuffledp.propose.solve import Root, Value, certified
from shuffledp.propose.stealing_ends import End, Stealing

__all__ = ["IntervalStealing", "free_of"]

# Relative amount by which a bound has to improve on the others' eps, among few users.
_GAINED = 1e-4
# Allowance for a cover's cost, in units of the cost of its first step.
_MORE = 1.4
# If a certificate misses by more than this in log delta, no bound by a cover is near.
_HOPELESS = 3.0
# h alpha of the sums at many eps: it costs 2e-4 of log delta.
_SMOOTHING = 0.02


class IntervalStealing(Stealing):
    """Label stealing of one mechanism with noise on an interval, among n >= 2 users.

    Parameters
    ----------
    mechanism : Definition
        A mechanism with Laplace or normal noise on an interval.
    n : int
        Number of users, the victim included.
    """

    rtol: ClassVar[float] = 1e-4
    far: ClassVar[float] = 0.0

    def __init__(self, mechanism: Definition, n: int) -> None:
        super().__init__()
        self._n, self._bits = n, precision_for(n)
        self._binary = is_binary(mechanism)
        with ctx.workprec(self._bits):
            self._at = outputs_of(mechanism)
        self._sketch = Sketch(self._at.normal, float(self._at.scale.mid()))

    @property
    def deviation(self) -> float:
        """Standard deviation of the privacy loss, to first order."""
        square = Laws(self._sketch, self._n, 0.0, -20.0).spreads()[1]
        return math.sqrt(min(square, 1e6) / self._n)

    def is_dear(self, target: float) -> bool:
        """Whether few users hide the victim: bounds then take seconds and seldom are the best."""
        return Laws(self._sketch, self._n, 0.0, target).few

    def first(self, target: float, cap: float) -> Root:
        """The cap among few users, where the central limit theorem is inaccurate."""
        # There a gain is unlikely.
        return Root(cap * (1.0 - _GAINED)) if self.is_dear(target) else super().first(target, cap)

    def search(self, eps: float, about: float, last: Sequence[Free] | None) -> list[Free] | None:
        """Free numbers for a log delta near ``about``; None where none are found."""
        found = self._search(eps, about, None if last is None else last[0])
        return None if found is None else [found]

    def moved(self, plans: Sequence[Free], eps: float, about: float) -> list[Free]:
        """The same numbers at another eps, each at its saddle point there."""
        return [self._moved_one(plan, eps, about) for plan in plans]

    def aimed(self, start: Root, plans: Sequence[Free], goal: float, cap: float) -> Root:
        """The eps at which the two likely worst labels leave room for all others."""
        detail = self._detail(goal)
        aim = goal - self._margin(start.slope, detail)

        def certify(eps: float, near: float) -> Value:
            del near
            numbers = _numbers(self._moved(plans, eps, goal)[0])
            value = self._value(eps, numbers, goal, detail, ends=True)
            if not math.isfinite(value):
                raise NotCertified("label stealing: numbers at which labels have no bound")
            return Value(value)

        found = certified(certify, aim, start, cap, upper=True, rtol=self.rtol)
        if found is None:
            raise NotCertified("label stealing: no eps below that of the other analyses")
        off = (aim - found.value.log_delta) / start.slope
        return start._replace(epsilon=found.epsilon * math.exp(off))

    def bound(
        self,
        plans: Sequence[Free],
        eps: float,
        about: float,
        *,
        enough: float = -math.inf,
        rough: bool = False,
    ) -> End:
        """The bound with a cover of all labels."""
        numbers = _numbers(plans[0], _SMOOTHING * rough)
        detail = COARSE if rough else self._detail(about)
        value = self._value(eps, numbers, about, detail, enough=enough)
        if not value < enough + _HOPELESS and math.isfinite(enough):
            raise NotCertified("label stealing: no bound by a cover is near")
        return End(eps, value, [numbers], 0)

    def _detail(self, about: float) -> Detail:
        return FEW if self.is_dear(about) else FINE

    def _margin(self, slope: float, detail: Detail) -> float:
        """An estimate of what all labels add to the log delta of the two likely worst ones."""
        return -slope * _MORE * detail.first

    def _search(self, eps: float, about: float, start: Free | None) -> Free | None:
        return free_numbers(self._sketch, self._n, eps, about, start)

    def _moved_one(self, free: Free, eps: float, about: float) -> Free:
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
