"""Balls into bins: each item has its own special bins among many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from shuffledp import _check
from shuffledp.ball.record import Rows
from shuffledp.errors import rejected
from shuffledp.mechanism import Domain, Whole
from shuffledp.multimessage.base import Messages
from shuffledp.multimessage.dump import UniformBlankets, special_rows
from shuffledp.randomizers.values import smallest_type, whole_values
from shuffledp.randomness import RandomSource
from shuffledp.statistics.counts import Counts, Step
from shuffledp.statistics.estimates import Aggregate, FrequencyEstimate


@dataclass(frozen=True, kw_only=True)
class BallsIntoBins(UniformBlankets):
    """A ball into one of the item's s special bins, and balls into uniform bins.

    There are d bins; item x has the bins s x .. s x + s - 1, so there are floor(d/s) >= 2 items.
    A_x is uniform on the special bins, A_2 on all; N = n times ``blankets`` (binomial with the
    rate). G is d/s, -e^eps d/s, 0 with probability s/d, s/d, 1 - 2s/d. Exact whatever the others
    hold: only the numbers of balls in the two sets say anything, and the others' balls add known
    numbers to them.

    Sets that overlap (those of hashed items, d/s buckets) leak less: moving mass from bins that
    both items own and bins that neither does to bins of one of them enlarges G in convex order
    (docs/theory-parts.md, Lemma 3.3). So the upper end holds for them too, the sampler and the
    estimator do not.

    Parameters
    ----------
    d : int
        Bins, 2 <= d <= 1e9.
    s : int
        Special bins of an item, 2 s <= d.
    blankets : int
        Uniform balls of each user, >= 1.
    rate : float
        Probability that such a ball is thrown, 0 < rate <= 1, in multiples of 2^-64.

    Notes
    -----
    Luo, Wang, Yi 2022, *Frequency Estimation in the Shuffle Model with Almost a Single Message*;
    Wang et al. 2024, Table 4.
    """

    name: ClassVar[str] = "balls-into-bins"
    summary: ClassVar[str] = "a ball into a special bin and uniform balls"
    exact: ClassVar[bool] = True
    d: Domain
    s: Annotated[int, Whole()]
    blankets: Annotated[int, Whole()]
    rate: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 2 * self.s <= self.d:
            raise rejected("s", self.s, f"at most d/2 = {self.d // 2} special bins")

    def _rows(self) -> Rows:
        """Uniform on s special bins."""
        return special_rows(self.s, self.d)

    @property
    def items(self) -> int:
        """floor(d/s)."""
        return self.d // self.s

    def _checked(self, values: ArrayLike) -> np.ndarray:
        return whole_values(values, self.items)

    def _data(self, values: np.ndarray, source: RandomSource) -> Messages:
        bins = values.astype(np.int64) * self.s + source.below(self.s, len(values))
        return bins.astype(smallest_type(self.d))

    def estimate(self, messages: ArrayLike | Aggregate, *, n: int) -> FrequencyEstimate:
        """(C - N s/d)/n, C the balls in the item's bins, N the uniform balls received.

        The data balls of an item always hit its own bins and no other item's: noise comes from the
        uniform balls alone, variance N (s/d)(1 - s/d)/n^2 given N.
        """
        counts, blankets = self._counts(messages, n)
        own = counts[: self.items * self.s].reshape(self.items, self.s).sum(axis=1)
        share = self.s / self.d
        frequencies = own / n - blankets / n * share
        error = np.sqrt(blankets / n * share * (1.0 - share) / n)
        balls = (np.full(self.items, float(blankets)), Step(share, 1.0 - share))
        users = np.full(self.items, float(n))
        law = Counts(own, users, n, Step(1.0, 0.0), Step(0.0, 1.0), (balls,))
        return FrequencyEstimate(frequencies, np.full(self.items, error), n, law)

    def variance(self, frequency: float = 0.0) -> float:
        """g m (s/d)(1 - s/d), m balls a user, each thrown with the rate g; the data add nothing."""
        _check.real("frequency", frequency, low=0.0, high=1.0)
        share = self.s / self.d
        return self._expected * share * (1.0 - share)
