"""Counting with bits: Balcer and Cheu 2020, Balcer et al. 2021, and Cheu and Zhilyaev 2022."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from shuffledp import _check
from shuffledp.ball.record import Rows
from shuffledp.mechanism.parameters import whole
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
from shuffledp.randomizers.frequency import Support
from shuffledp.randomizers.values import (
    bit_counts,
    blocks,
    packed_reports,
    whole_reports,
    whole_values,
)
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
            for seen in ((0, 0), (0, 1), (1, 0), (1, 1))
        ]

    @property
    def eps0(self) -> float:
        """2 log((1-f)/f), rounded up."""
        return 2.0 * math.log((1 - self._flip) / self._flip) * (1.0 + 1e-14) + 1e-14

    @property
    def support(self) -> Support:
        """p* = 1 - f, q* = f."""
        return Support.of(1 - self._flip, self._flip, 1 - 2 * self._flip)

    @property
    def blanket_step(self) -> Step:
        """f and 1 - f."""
        return Step(float(self._flip), float(1 - self._flip))

    @property
    def blankets_per_user(self) -> int:
        """As given."""
        return self.blankets

    def lower_pairs(self, n: int) -> list[MessagePair]:
        """Two bits of every message published, the others at a third value."""
        words = {"analysis": "dataset", "x2": 2, "published": "the bits of x0 and x1"}
        return self._both_ways(self, self.blanket_total(n) + n, words)

    def _checked(self, values: ArrayLike) -> np.ndarray:
        return whole_values(values, self.d)

    def _data(self, values: np.ndarray, source: RandomSource) -> Messages:
        messages = self._blanket(len(values), source)
        place = values.astype(np.int64)
        bit = (128 >> (place % 8)).astype(np.uint8)
        messages[np.arange(len(values)), place // 8] ^= bit
        return messages

    def _blanket(self, count: int, source: RandomSource) -> Messages:
        width = -(-self.d // 8)
        messages = np.empty((count, width), dtype=np.uint8)
        flips = digits(word_of(self.f))
        for part in blocks(count, self.d):
            size = part.stop - part.start
            bits = source.coins(flips, size * self.d).reshape(size, self.d)
            messages[part] = np.packbits(bits, axis=1)
        return messages

    @property
    def items(self) -> int:
        """d."""
        return self.d

    def aggregate(self, messages: ArrayLike) -> Aggregate:
        """How many messages have each bit."""
        rows = packed_reports(messages, self.d)
        return Aggregate(len(rows), bit_counts(rows, self.d).astype(np.float64))

    @property
    def message_bits(self) -> float:
        """d."""
        return float(self.d)
