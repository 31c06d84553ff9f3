"""Counting with bits: Balcer and Cheu 2020, and Balcer, Cheu, Joseph and Mao 2021."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.ball.record import Rows
from shuffledp.mechanism.parameters import whole
from shuffledp.multimessage.base import (
    IN_CLEAR,
    UNIT,
    Messages,
    MultiMessage,
    chance,
    digits,
    word_of,
)
from shuffledp.randomizers.frequency import Support
from shuffledp.randomizers.values import whole_reports, whole_values
from shuffledp.randomness import RandomSource
from shuffledp.statistics.counts import Step
from shuffledp.statistics.estimates import Aggregate, MeanEstimate


class _Bits(MultiMessage):
    """The bit itself, and blanket bits that are 1 with probability p."""

    exact: ClassVar[bool] = True

    @property
    def _word(self) -> int:
        """2^64 p."""
        return UNIT // 2

    def _rows(self) -> Rows:
        """Points 0 and 1; a blanket bit is 1 with probability p."""
        one, p = Fraction(1), Fraction(self._word, UNIT)
        return [(one, 0 * one, 1 - p), (0 * one, one, p)]

    @property
    def exchangeable(self) -> bool:
        """Where the blanket bits are fair."""
        return self._word == UNIT // 2

    def _checked(self, values: ArrayLike) -> np.ndarray:
        return whole_values(values, 2)

    def _data(self, values: np.ndarray, source: RandomSource) -> Messages:
        del source
        return values.astype(np.uint8)

    def _blanket(self, count: int, source: RandomSource) -> Messages:
        return source.coins(digits(self._word), count).astype(np.uint8)

    @property
    def items(self) -> int:
        """2: no and yes."""
        return 2

    def aggregate(self, messages: ArrayLike) -> Aggregate:
        """How many are 1."""
        bits = whole_reports(messages, 2)
        return Aggregate(bits.size, np.array([float(np.count_nonzero(bits))]))

    @property
    def _counted(self) -> int:
        return 1

    @property
    def support(self) -> Support:
        """The bit itself."""
        return IN_CLEAR

    @property
    def blanket_step(self) -> Step:
        """p and 1 - p."""
        return Step(self._word / UNIT, (UNIT - self._word) / UNIT)

    def estimate(self, messages: ArrayLike | Aggregate, *, n: int) -> MeanEstimate:
        """The mean of the bits: (ones - N p)/n, N = n times the blanket bits of each user."""
        found = self._shares(messages, n)
        mean, error = float(found.frequencies[0]), float(found.standard_errors[0])
        return MeanEstimate(mean, error, n, found.law)

    @property
    def message_bits(self) -> float:
        """1."""
        return 1.0


@dataclass(frozen=True, kw_only=True)
class BalcerCheu(_Bits):
    """One bit, and one blanket bit that is 1 with probability p; the sum is what the analyst needs.

    A_x is the point x, A_2 = Bern(p), N = n. The paper takes p near 1, p = 1 - 50 log(2/delta)/
    (eps^2 n); ``shuffledp calibrate`` finds the p nearest to 1 that meets a target. The exact loss,
    whatever the others hold: the divergence of 1 + Bin(n, p) from Bin(n, p) and back.

    For a histogram the paper runs it once for each item, with the item written on the messages:
    two items change when one value does, so the losses of two runs add up.

    Parameters
    ----------
    p : float
        Bias of the blanket bits, 0 < p < 1, in multiples of 2^-64.

    Notes
    -----
    Balcer, Cheu 2020, *Separating Local & Shuffled Differential Privacy via Histograms*.
    """

    name: ClassVar[str] = "balcer-cheu"
    summary: ClassVar[str] = "a bit and one biased blanket bit (Balcer, Cheu 2020)"
    p: Annotated[float, chance(high=1.0)]

    @property
    def _word(self) -> int:
        return word_of(self.p)

    @property
    def blankets_per_user(self) -> int:
        """1."""
        return 1


@dataclass(frozen=True, kw_only=True)
class BalcerEtAl(_Bits):
    """One bit, and fair blanket bits.

    A_x is the point x, A_2 = Bern(1/2), N = n times ``blankets``. The exact loss, whatever the
    others hold: the divergence of 1 + Bin(N, 1/2) from Bin(N, 1/2).

    Parameters
    ----------
    blankets : int
        Blanket bits of each user, >= 1.

    Notes
    -----
    Balcer, Cheu, Joseph, Mao 2021, *Connecting Robust Shuffle Privacy and Pan-Privacy*.
    """

    name: ClassVar[str] = "balcer-et-al"
    summary: ClassVar[str] = "a bit and fair blanket bits (Balcer et al. 2021)"
    blankets: Annotated[int, whole()]

    @property
    def blankets_per_user(self) -> int:
        """As given."""
        return self.blankets
