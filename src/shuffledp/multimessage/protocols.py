"""The protocols: bits, values among uniform ones (DUMP), balls into bins, flipped vectors."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from shuffledp import _check
from shuffledp.ball.record import Rows
from shuffledp.errors import rejected
from shuffledp.mechanism.parameters import Domain, positive, whole
from shuffledp.multimessage.base import (
    UNIT,
    Messages,
    MultiMessage,
    NamedPair,
    chance,
    level,
    word_of,
)
from shuffledp.randomizers.frequency import histogram
from shuffledp.randomizers.values import (
    bit_counts,
    blocks,
    packed_reports,
    smallest_type,
    whole_reports,
)
from shuffledp.randomness import RandomSource
from shuffledp.statistics.estimates import Aggregate, MeanEstimate

Rate = Annotated[float, positive(high=1.0)]
_Flip = Annotated[float, chance(high=lambda m: 1.0 - 1.0 / m.d)]


class Numbers(MultiMessage):
    """Messages are numbers 0 .. d-1; each item has s of them of its own.

    A_x is uniform on the item's own numbers, A_2 on all, N = n times ``blankets`` (binomial with
    the rate). G is d/s, -e^eps d/s, 0 with probability s/d, s/d, 1 - 2s/d. Exact whatever the
    others hold: their numbers of messages can be subtracted from the counts.
    """

    s: int

    def _rows(self) -> Rows:
        """One value's own numbers, as many of the other's, and all the rest."""
        share = Fraction(self.s, self.d)
        one, none = Fraction(1), Fraction(0)
        return [(one, none, share), (none, one, share), (none, none, 1 - 2 * share)]

    @property
    def items(self) -> int:
        """floor(d/s)."""
        return self.d // self.s

    @property
    def message_bits(self) -> float:
        """log2(d)."""
        return math.log2(self.d)

    def _data(self, values: np.ndarray, source: RandomSource) -> Messages:
        own = source.below(self.s, len(values)) if self.s > 1 else 0
        return (values.astype(np.int64) * self.s + own).astype(smallest_type(self.d))

    def _blanket(self, count: int, source: RandomSource) -> Messages:
        return source.below(self.d, count).astype(smallest_type(self.d))

    def aggregate(self, messages: ArrayLike) -> Aggregate:
        """How many messages are of the numbers of each item."""
        column = whole_reports(messages, self.d)
        own = histogram(column, self.d)[: self.items * self.s].reshape(self.items, self.s)
        return Aggregate(column.size, own.sum(axis=1).astype(np.float64))


class _Bits(Numbers):
    """The bit itself, and blanket bits that are 1 with probability p."""

    d = 2
    s = 1
    p: float

    def _rows(self) -> Rows:
        """1 and 0; a blanket bit is 1 with probability p."""
        one, none, p = Fraction(1), Fraction(0), Fraction(word_of(self.p), UNIT)
        return [(none, one, p), (one, none, 1 - p)]

    def _blanket(self, count: int, source: RandomSource) -> Messages:
        return source.coins(level(word_of(self.p)), count).astype(np.uint8)

    def aggregate(self, messages: ArrayLike) -> Aggregate:
        """How many are 1."""
        both = super().aggregate(messages)
        return Aggregate(both.count, both.sums[1:])

    @property
    def _counted(self) -> int:
        return 1

    def estimate(self, messages: ArrayLike | Aggregate, *, n: int) -> MeanEstimate:
        """The mean of the bits: (ones - N p)/n, N = n times the blanket bits of each user."""
        found = self._shares(messages, n)
        mean, error = float(found.frequencies[0]), float(found.standard_errors[0])
        return MeanEstimate(mean, error, n, found.law)


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
    blankets = 1


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
    p = 0.5
    blankets: Annotated[int, whole()]


@dataclass(frozen=True, kw_only=True)
class PureDUMP(Numbers):
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
    s = 1
    d: Domain
    blankets: Annotated[int, whole()]
    rate: Rate = 1.0


@dataclass(frozen=True, kw_only=True)
class MixDUMP(Numbers):
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
    s = 1
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

    def lower_pairs(self, n: int) -> list[NamedPair]:
        """The others' values uniform (joint convexity), all dummies sent: N + n - 1 uniform."""
        total = self.blanket_total(n) + n
        words = {"analysis": "dataset", "others": "uniform"}
        return self._both_ways(replace(self, rate=1.0), total, words)

    def _data(self, values: np.ndarray, source: RandomSource) -> Messages:
        sent = values.astype(smallest_type(self.d))
        other = source.coins(level(word_of(self.f)), len(values))
        drawn = source.below(self.d - 1, int(np.count_nonzero(other))).astype(sent.dtype)
        sent[other] = drawn + (drawn >= sent[other])
        return sent


@dataclass(frozen=True, kw_only=True)
class BallsIntoBins(Numbers):
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
    d: Domain
    s: Annotated[int, whole()]
    blankets: Annotated[int, whole()]
    rate: Rate = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 2 * self.s <= self.d:
            raise rejected("s", self.s, f"at most d/2 = {self.d // 2} special bins")


@dataclass(frozen=True, kw_only=True)
class CheuZhilyaev(MultiMessage):
    """The value as a one-hot vector, each bit flipped, and flipped zero vectors (fake users).

    RR_f flips every bit with probability f. A_x = RR_f(e_x), A_2 = RR_f(0), N = n times
    ``blankets``; each user sends m = ``blankets`` + 1 messages. Only the two bits that differ
    matter: with r = (1-f)/f the ratio A_x/A_2 is r where bit x is 1 and 1/r where it is 0.

    The upper end leaves out the other users' data messages. The lower end is for others who all
    hold a third value, whose messages look like fake ones on the two bits.

    Messages are bits packed in bytes, shape (number, ceil(d/8)), as ``np.unpackbits`` reads them.

    Parameters
    ----------
    d : int
        Domain size (bits of a message), 3 <= d <= 1e9; of two values one bit says all.
    f : float
        Probability of a flip, 0 < f < 1/2, in multiples of 2^-64.
    blankets : int
        Fake messages of each user, >= 1.

    Notes
    -----
    Cheu, Zhilyaev 2022, *Differentially Private Histograms in the Shuffle Model from Fake Users*.
    """

    name: ClassVar[str] = "cheu-zhilyaev"
    summary: ClassVar[str] = "flipped one-hot vectors among flipped zero vectors (fake users)"
    exact: ClassVar[bool] = False
    supporting: ClassVar[int] = 2
    d: Annotated[int, whole(low=3, high=_check.LARGEST_DOMAIN)]
    f: Annotated[float, chance(high=0.5)]
    blankets: Annotated[int, whole()]

    @property
    def _flip(self) -> Fraction:
        """f."""
        return Fraction(word_of(self.f), UNIT)

    def _rows(self) -> Rows:
        """The two bits that differ of RR_f(e_0), RR_f(e_1) and RR_f(0)."""
        f = self._flip

        def likely(sent: tuple[int, int], seen: tuple[int, int]) -> Fraction:
            flips = sum(a != b for a, b in zip(sent, seen, strict=True))
            return f**flips * (1 - f) ** (2 - flips)

        return [
            (likely((1, 0), seen), likely((0, 1), seen), likely((0, 0), seen))
            for seen in ((1, 0), (1, 1), (0, 0), (0, 1))
        ]

    def lower_pairs(self, n: int) -> list[NamedPair]:
        """Two bits of every message published, the others at a third value."""
        words = {"analysis": "dataset", "x2": 2, "published": "the bits of x0 and x1"}
        return self._both_ways(self, self.blanket_total(n) + n, words)

    def _data(self, values: np.ndarray, source: RandomSource) -> Messages:
        messages = self._blanket(len(values), source)
        place = values.astype(np.int64)
        bit = (128 >> (place % 8)).astype(np.uint8)
        messages[np.arange(len(values)), place // 8] ^= bit
        return messages

    def _blanket(self, count: int, source: RandomSource) -> Messages:
        width = -(-self.d // 8)
        messages = np.empty((count, width), dtype=np.uint8)
        flips = level(word_of(self.f))
        for part in blocks(count, self.d):
            size = part.stop - part.start
            bits = source.coins(flips, size * self.d).reshape(size, self.d)
            messages[part] = np.packbits(bits, axis=1)
        return messages

    def aggregate(self, messages: ArrayLike) -> Aggregate:
        """How many messages have each bit."""
        rows = packed_reports(messages, self.d)
        return Aggregate(len(rows), bit_counts(rows, self.d).astype(np.float64))

    @property
    def message_bits(self) -> float:
        """d."""
        return float(self.d)
