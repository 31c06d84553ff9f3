"""Messages among uniform ones: DUMP, and balls into bins of which each item has its own."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.ball.record import Rows
from shuffledp.errors import rejected
from shuffledp.mechanism.parameters import Domain, positive, whole
from shuffledp.multimessage.base import (
    IN_CLEAR,
    UNIT,
    MessagePair,
    Messages,
    MultiMessage,
    chance,
    digits,
    word_of,
)
from shuffledp.randomizers.frequency import Support, histogram
from shuffledp.randomizers.values import smallest_type, whole_reports, whole_values
from shuffledp.randomness import RandomSource
from shuffledp.statistics.counts import Step
from shuffledp.statistics.estimates import Aggregate

Rate = Annotated[float, positive(high=1.0)]
_Flip = Annotated[float, chance(high=lambda m: 1.0 - 1.0 / m.d)]


class UniformBlankets(MultiMessage):
    """Blanket messages uniform on 0 .. d-1, each sent with a rate; counts of messages."""

    d: Domain
    blankets: Annotated[int, whole()]
    rate: float

    @property
    def blankets_per_user(self) -> int:
        """As given."""
        return self.blankets

    @property
    def rate_word(self) -> int:
        """2^64 times the rate."""
        return word_of(self.rate)

    def _blanket(self, count: int, source: RandomSource) -> Messages:
        return source.below(self.d, count).astype(smallest_type(self.d))

    def aggregate(self, messages: ArrayLike) -> Aggregate:
        """How often each of 0 .. d-1 was sent."""
        column = whole_reports(messages, self.d)
        return Aggregate(column.size, histogram(column, self.d).astype(np.float64))

    @property
    def blanket_step(self) -> Step:
        """1/d and the rest."""
        return Step(1.0 / self.d, 1.0 - 1.0 / self.d)

    @property
    def message_bits(self) -> float:
        """log2(d)."""
        return math.log2(self.d)


def special_rows(special: int, places: int) -> Rows:
    """Uniform on some places or on as many others; a blanket message is uniform on all."""
    share = Fraction(special, places)
    one, none = Fraction(1), Fraction(0)
    return [(one, none, share), (none, one, share), (none, none, 1 - 2 * share)]


class _Dump(UniformBlankets):
    """Messages are values 0 .. d-1."""

    @property
    def items(self) -> int:
        """d."""
        return self.d

    def _checked(self, values: ArrayLike) -> np.ndarray:
        return whole_values(values, self.d)


@dataclass(frozen=True, kw_only=True)
class PureDUMP(_Dump):
    """The value itself, and uniform dummies.

    A_x is the point x, A_2 uniform on 0 .. d-1, N = n times ``blankets`` (binomial with the rate).
    Exact whatever the others hold, since their values can be subtracted from the counts. G is
    d, -e^eps d, 0 with probability 1/d, 1/d, 1 - 2/d.

    Parameters
    ----------
    d : int
        Domain size, 2 <= d <= 1e9.
    blankets : int
        Dummies of each user (s in the paper), >= 1.
    rate : float
        Probability that a dummy is sent, 0 < rate <= 1, in multiples of 2^-64.

    Notes
    -----
    Li, Wang, et al. 2020, *DUMP: A Dummy-Point-Based Framework for Histogram Estimation in Shuffle
    Model*.
    """

    name: ClassVar[str] = "pure-dump"
    summary: ClassVar[str] = "the value and uniform dummies (DUMP)"
    exact: ClassVar[bool] = True
    d: Domain
    blankets: Annotated[int, whole()]
    rate: Rate = 1.0

    def _rows(self) -> Rows:
        """The value itself."""
        return special_rows(1, self.d)

    @property
    def support(self) -> Support:
        """The value itself."""
        return IN_CLEAR

    def _data(self, values: np.ndarray, source: RandomSource) -> Messages:
        del source
        return values.astype(smallest_type(self.d))


@dataclass(frozen=True, kw_only=True)
class MixDUMP(_Dump):
    """The value by d-ary randomized response, and uniform dummies.

    A_x keeps x with probability 1 - f and is each other value with probability q = f/(d-1); A_2 is
    uniform on 0 .. d-1, N = n times ``blankets`` (binomial with the rate). Under A_2 the ratios are
    (d(1-f), dq), (dq, d(1-f)) and (dq, dq) with probability 1/d, 1/d, 1 - 2/d.

    The upper end leaves out the other users' data messages. The lower end is for others whose
    values are uniform: their messages then are uniform too.

    Parameters
    ----------
    d : int
        Domain size, 2 <= d <= 1e9.
    f : float
        Probability of another value, 0 < f < (d-1)/d, in multiples of 2^-64.
    blankets : int
        Dummies of each user, >= 1.
    rate : float
        Probability that a dummy is sent, 0 < rate <= 1, in multiples of 2^-64.

    Notes
    -----
    Li, Wang, et al. 2020, *DUMP*.
    """

    name: ClassVar[str] = "mix-dump"
    summary: ClassVar[str] = "the value by randomized response and uniform dummies (DUMP)"
    exact: ClassVar[bool] = False
    d: Domain
    f: _Flip
    blankets: Annotated[int, whole()]
    rate: Rate = 1.0

    @property
    def _flip(self) -> Fraction:
        """f."""
        return Fraction(word_of(self.f), UNIT)

    def _rows(self) -> Rows:
        """d-ary randomized response that keeps a value with probability 1 - f."""
        d, f = self.d, self._flip
        other, uniform = f / (d - 1), Fraction(1, d)
        rest = ((d - 2) * other, (d - 2) * other, (d - 2) * uniform)
        return [(1 - f, other, uniform), (other, 1 - f, uniform), rest]

    @property
    def eps0(self) -> float:
        """log((1-f)(d-1)/f), rounded up."""
        ratio = (1 - self._flip) * (self.d - 1) / self._flip
        return math.log(ratio) * (1.0 + 1e-14) + 1e-14

    @property
    def support(self) -> Support:
        """p* = 1 - f, q* = f/(d-1)."""
        other = self._flip / (self.d - 1)
        return Support.of(1 - self._flip, other, 1 - self._flip - other)

    def lower_pairs(self, n: int) -> list[MessagePair]:
        """The others' values uniform (joint convexity), all dummies sent: N + n - 1 uniform."""
        total = self.blanket_total(n) + n
        words = {"analysis": "dataset", "others": "uniform"}
        return self._both_ways(replace(self, rate=1.0), total, words)

    def _data(self, values: np.ndarray, source: RandomSource) -> Messages:
        sent = values.astype(smallest_type(self.d))
        other = source.coins(digits(word_of(self.f)), len(values))
        drawn = source.below(self.d - 1, int(np.count_nonzero(other))).astype(sent.dtype)
        sent[other] = drawn + (drawn >= sent[other])
        return sent


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
    s: Annotated[int, whole()]
    blankets: Annotated[int, whole()]
    rate: Rate = 1.0

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

    @property
    def support(self) -> Support:
        """A ball of the item is in one of its own bins."""
        return IN_CLEAR

    @property
    def blanket_step(self) -> Step:
        """s/d and the rest."""
        return Step(self.s / self.d, 1.0 - self.s / self.d)

    def aggregate(self, messages: ArrayLike) -> Aggregate:
        """How many balls are in the bins of each item."""
        balls = super().aggregate(messages)
        own = balls.sums[: self.items * self.s].reshape(self.items, self.s)
        return Aggregate(balls.count, own.sum(axis=1))
