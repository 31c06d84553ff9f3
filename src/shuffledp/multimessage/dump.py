"""DUMP: values, in clear or by randomized response, among uniform dummies."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from shuffledp import _check
from shuffledp.ball.record import Rows
from shuffledp.errors import rejected
from shuffledp.mechanism import Domain, Whole
from shuffledp.multimessage.base import (
    UNIT,
    MessagePair,
    Messages,
    MultiMessage,
    counted,
    digits,
    probability_word,
)
from shuffledp.randomizers.frequency import histogram
from shuffledp.randomizers.values import smallest_type, whole_reports, whole_values
from shuffledp.randomness import RandomSource
from shuffledp.statistics.counts import Counts, Step
from shuffledp.statistics.estimates import Aggregate, FrequencyEstimate


class UniformBlankets(MultiMessage):
    """Blanket messages uniform on 0 .. d-1, each sent with a rate; counts of messages."""

    d: Domain
    blankets: Annotated[int, Whole()]
    rate: float

    def __post_init__(self) -> None:
        super().__post_init__()
        word = probability_word("rate", self.rate, one=True)
        object.__setattr__(self, "rate", float(self.rate))
        object.__setattr__(self, "_rate_word", word)

    @property
    def blankets_per_user(self) -> int:
        """As given."""
        return self.blankets

    @property
    def rate_word(self) -> int:
        """2^64 times the rate."""
        return self.__dict__["_rate_word"]

    def _blanket(self, count: int, source: RandomSource) -> Messages:
        return source.below(self.d, count).astype(smallest_type(self.d))

    def aggregate(self, messages: ArrayLike) -> Aggregate:
        """How often each of 0 .. d-1 was sent."""
        column = whole_reports(messages, self.d)
        return Aggregate(column.size, histogram(column, self.d).astype(np.float64))

    def _counts(self, messages: ArrayLike | Aggregate, n: int) -> tuple[np.ndarray, int]:
        """How often each of 0 .. d-1 was sent, and how many blanket messages there are."""
        sums = self._sums(messages, self.d)
        blankets = counted(n, sums.count)
        most = self.blanket_total(n)
        if blankets > most or (self.rate_word == UNIT and blankets < most):
            wanted = f"{most + n:,} from {n:,} users" + ", or fewer" * (self.rate_word < UNIT)
            raise rejected("number of messages", sums.count, wanted)
        return sums.sums, blankets

    @property
    def message_bits(self) -> float:
        """log2(d)."""
        return math.log2(self.d)

    @property
    def _expected(self) -> float:
        """Blanket messages of a user on average."""
        return self.blankets * (self.rate_word / UNIT)


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

    @property
    @abstractmethod
    def _flip(self) -> tuple[float, float, float]:
        """f, 1 - f and q = f/(d-1)."""

    def estimate(self, messages: ArrayLike | Aggregate, *, n: int) -> FrequencyEstimate:
        """(C - N/d - n q)/(n (1 - f - q)), N the blanket messages that were received.

        Raises
        ------
        ParameterError
            If n users cannot have sent that many messages.
        """
        counts, blankets = self._counts(messages, n)
        flip, keep, other = self._flip
        frequencies = (counts / n - blankets / n / self.d - other) / (keep - other)
        share = np.clip(frequencies, 0.0, 1.0)
        data = share * keep * flip + (1.0 - share) * other * (1.0 - other)
        noise = blankets / n / self.d * (1.0 - 1.0 / self.d)
        errors = np.sqrt((noise + data) / n) / (keep - other)
        own, not_own = Step(keep, flip), Step(other, 1.0 - other)
        dummies = (np.full(counts.shape, float(blankets)), Step(1.0 / self.d, 1.0 - 1.0 / self.d))
        users = np.full(counts.shape, float(n))
        law = Counts(counts, users, n, own, not_own, (dummies,))
        return FrequencyEstimate(frequencies, errors, n, law)

    def variance(self, frequency: float = 0.0) -> float:
        """[g m (1/d)(1 - 1/d) + x f(1 - f) + (1 - x) q(1 - q)]/(1 - f - q)^2 at frequency x.

        m blanket messages a user, each sent with the rate g.
        """
        x = _check.real("frequency", frequency, low=0.0, high=1.0)
        flip, keep, other = self._flip
        data = x * keep * flip + (1.0 - x) * other * (1.0 - other)
        noise = self._expected / self.d * (1.0 - 1.0 / self.d)
        return (noise + data) / (keep - other) ** 2


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
    blankets: Annotated[int, Whole()]
    rate: float = 1.0

    def _rows(self) -> Rows:
        """The value itself."""
        return special_rows(1, self.d)

    @property
    def _flip(self) -> tuple[float, float, float]:
        return 0.0, 1.0, 0.0

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
    f: float
    blankets: Annotated[int, Whole()]
    rate: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        word = probability_word("f", self.f, high=1.0 - 1.0 / self.d)
        object.__setattr__(self, "f", float(self.f))
        object.__setattr__(self, "_f_word", word)
        if not Fraction(word, UNIT) * self.d < self.d - 1:
            raise rejected("f", self.f, f"a number below (d-1)/d = {1.0 - 1.0 / self.d:g}")

    def _rows(self) -> Rows:
        """d-ary randomized response that keeps a value with probability 1 - f."""
        d, f = self.d, Fraction(self.__dict__["_f_word"], UNIT)
        other, uniform = f / (d - 1), Fraction(1, d)
        rest = ((d - 2) * other, (d - 2) * other, (d - 2) * uniform)
        return [(1 - f, other, uniform), (other, 1 - f, uniform), rest]

    @property
    def eps0(self) -> float:
        """log((1-f)(d-1)/f), rounded up."""
        _, keep, other = self._flip
        return math.log(keep / other) * (1.0 + 1e-14) + 1e-14

    @property
    def _flip(self) -> tuple[float, float, float]:
        word = self.__dict__["_f_word"]
        return word / UNIT, (UNIT - word) / UNIT, word / (UNIT * (self.d - 1))

    def lower_pairs(self, n: int) -> list[MessagePair]:
        """The others' values uniform (joint convexity), all dummies sent: N + n - 1 uniform."""
        total = self.blanket_total(n) + n
        words = {"analysis": "dataset", "others": "uniform"}
        return self._both_ways({**self.to_dict(), "rate": 1.0}, total, words)

    def _data(self, values: np.ndarray, source: RandomSource) -> Messages:
        sent = values.astype(smallest_type(self.d))
        other = source.coins(digits(self.__dict__["_f_word"]), len(values))
        drawn = source.below(self.d - 1, int(np.count_nonzero(other))).astype(sent.dtype)
        sent[other] = drawn + (drawn >= sent[other])
        return sent

    def coin(self) -> tuple[str, float]:
        """f, below (d-1)/d."""
        return "f", 1.0 - 1.0 / self.d

    def with_noise(self, noise: float) -> MixDUMP:
        """Another f."""
        return replace(self, f=noise)
