"""Mean mechanisms: reports that become unbiased values, and the estimator they share."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from shuffledp import _check
from shuffledp.ball.record import WorstPairs
from shuffledp.errors import rejected
from shuffledp.neighbours import REPLACEMENT, Relation, within
from shuffledp.randomizers.base import Randomizer, Reports, pure_rho
from shuffledp.randomizers.frequency import counted
from shuffledp.randomizers.values import real_values
from shuffledp.statistics.estimates import Aggregate, Law, MeanEstimate
from shuffledp.theorems import END_POINTS, LEAST_OVERLAP, Theorem

Floats = npt.NDArray[np.floating[Any]]


# The reports' squares tell of the values' where they vary with them by more than rounding does.
_KNOWN = 1e-9


def place(x: float, low: float, high: float) -> Fraction:
    """The place of x in [low, high], from 0 to 1, exactly."""
    return (Fraction(x) - Fraction(low)) / (Fraction(high) - Fraction(low))


class MeanRandomizer(Randomizer):
    """A mechanism with an unbiased value in every report; the estimate is their mean.

    Subclasses give ``_checked``, ``_sample``, ``_unbiased`` and ``variance`` (per user, the worst
    case over inputs where it depends on them; for vectors of each coordinate).
    """

    task: ClassVar[str] = "Means of numbers"

    @abstractmethod
    def _unbiased(self, reports: ArrayLike) -> Floats:
        """Values with the inputs as means, shape (n,) or (n, d); refuses impossible reports."""

    @property
    def message_bits(self) -> float:
        """64: a float."""
        return 64.0

    @property
    def centre(self) -> float:
        """The value about which squares are summed; 0 of vectors."""
        return 0.0

    def aggregate(self, reports: Reports) -> Aggregate:
        """Sums of the reports' unbiased values, and of their squares about ``centre``.

        The shape is (2,) or (2, d).

        Raises
        ------
        ParameterError
            If a report is impossible, or their sum is no float.
        """
        values = self._unbiased(reports)
        # Squares that are no floats are inf, and so is the error that is made of them.
        with np.errstate(over="ignore", invalid="ignore"):
            total, squares = values.sum(axis=0), np.square(values - self.centre).sum(axis=0)
        if not bool(np.isfinite(total).all()):
            raise rejected("reports", float(np.abs(values).max()), "numbers with a finite sum")
        return Aggregate(len(values), np.array([total, squares]))

    def estimate(self, data: Reports | Aggregate) -> MeanEstimate:
        """Mean of the unbiased values, with the standard error of the noise alone.

        Raises
        ------
        ParameterError
            If there are no reports.
        """
        sums = data if isinstance(data, Aggregate) else self.aggregate(data)
        n = counted(sums, (2, None) if sums.sums.ndim > 1 else (2,))
        mean = sums.sums[0] / n
        error = np.full_like(mean, np.sqrt(self._variance_seen(sums) / n))
        if mean.ndim == 0:
            return MeanEstimate(float(mean), float(error), n, self._law(sums))
        return MeanEstimate(mean, error, n)

    def _variance_seen(self, sums: Aggregate) -> float:
        """Per-user variance as far as the reports tell it; by default the worst over the inputs."""
        del sums
        return self.variance()

    def _law(self, sums: Aggregate) -> Law | None:
        """More of the law of the noise than its standard deviation, where it is known."""
        del sums
        return None


class Metric(MeanRandomizer):
    """Neighbours are two values at most a distance apart: metric privacy of Laplace noise."""

    scale: float
    distance: float | None
    moved: ClassVar[str] = "value"

    @property
    @abstractmethod
    def widest(self) -> float:
        """The largest distance of two values."""

    @property
    @abstractmethod
    def apart(self) -> float:
        """Largest distance of neighbours after rounding to the lattice, in scales, rounded up."""

    @property
    def reach(self) -> float:
        """The distance, as a number."""
        return self.widest if self.distance is None else self.distance

    def at(self, distance: float) -> Any:
        """The same mechanism for neighbours at most this far apart."""
        return dataclasses.replace(self, distance=distance)  # type: ignore[type-var]

    @property
    def relation(self) -> Relation:
        """One value moved by at most the distance, if that is not all of the domain."""
        if self.reach >= self.widest:
            return REPLACEMENT
        return within(self.reach, of=self.moved)

    def unrestricted(self) -> Randomizer:
        """Any two values."""
        return self.at(self.widest)

    def local_epsilon(self, delta: float) -> float:
        """eps of one report alone, for neighbours: distance/scale, rounded up."""
        del delta
        return min(float(self.eps0), self.apart)

    @property
    def local_rho(self) -> float:
        """By the pure guarantee of neighbours."""
        return pure_rho(self.local_epsilon(0.5))


class OnInterval(MeanRandomizer):
    """A mechanism for values in [low, high] whose law is mirrored where the interval is."""

    # The theorem by which the end points are the worst pair.
    ends_theorem: ClassVar[Theorem] = END_POINTS
    low: float
    high: float

    @property
    def middle(self) -> float:
        """Middle of the interval."""
        return 0.5 * self.low + 0.5 * self.high

    @property
    def centre(self) -> float:
        """The middle."""
        return self.middle

    def _checked(self, values: ArrayLike) -> np.ndarray:
        return real_values(values, self.low, self.high)

    def worst_pairs(self) -> WorstPairs:
        """The end points; mirrored, the other direction has the same law."""
        return WorstPairs(((self.low, self.high),), self.ends_theorem)

    def datasets(self) -> tuple[tuple[Any, Any, Any], ...]:
        """Victim at the end points, all others at one of them (by symmetry either) or halfway."""
        return tuple((self.low, self.high, x2) for x2 in (self.low, self.middle))


class IntervalMean(OnInterval):
    """What mechanisms for the mean of values in [low, high] share.

    Inputs at the ends favour disjoint outputs, all others are between them.
    """

    ends_theorem: ClassVar[Theorem] = LEAST_OVERLAP
    eps0: float

    @property
    def half(self) -> float:
        """Half its length."""
        return 0.5 * self.high - 0.5 * self.low

    def _places(self, values: np.ndarray) -> Floats:
        """Places in [0, 1], exact at the ends."""
        share = (0.5 * values - 0.5 * self.low) / self.half
        return np.where(values == self.high, 1.0, np.clip(share, 0.0, 1.0))

    def _centred(self, value: float) -> float:
        """Place of a value in [-1, 1]."""
        x = _check.real("value", value, low=self.low, high=self.high)
        return 2.0 * float(place(x, self.low, self.high)) - 1.0

    @abstractmethod
    def _spread(self, square: float) -> float:
        """Per-user variance on [-1, 1] where the squares of the values have this mean (linear)."""

    def variance_at(self, value: float) -> float:
        """Per-user variance for users that hold this value."""
        return self.half**2 * self._spread(self._centred(value) ** 2)

    def _variance_seen(self, sums: Aggregate) -> float:
        """At the mean square q of the values that the reports' squares tell of.

        A report for x has the mean square x^2 + V(x) about the middle, so theirs is q + V(q). Where
        that does not depend on q, as with bits, q is what makes the variance largest: the mean's
        square or 1.
        """
        first, second = sums.sums / sums.count
        mean = min(max((float(first) - self.middle) / self.half, -1.0), 1.0)
        none, slope = self._spread(0.0), self._spread(1.0) - self._spread(0.0)
        square = mean * mean if slope < 0.0 else 1.0
        if 1.0 + slope > _KNOWN * (1.0 + none):
            seen = (float(second) / self.half**2 - none) / (1.0 + slope)
            square = min(max(seen, mean * mean), 1.0)
        return self.half**2 * self._spread(square)

    def _exact_places(self, inputs: Sequence[Any]) -> list[Fraction]:
        """Where in the interval inputs lie, from 0 to 1, exactly."""
        low, high = self.low, self.high
        return [place(_check.real("input", x, low=low, high=high), low, high) for x in inputs]
