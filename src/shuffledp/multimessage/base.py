"""MultiMessage: what a protocol with one data message and several blanket messages a user says.

All messages of all users are shuffled. One user's data message is drawn from A_x; every blanket
message, the victim's own included, is drawn from one law A_2 that depends on no input. Without the
other users' data messages (post-processing can put them back) the victim's is one of N + 1
messages, so the identity applies with n = N + 1 (docs/theory-parts.md, section 3).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from shuffledp import _check
from shuffledp.arithmetic.balls import arb
from shuffledp.ball.outputs import Law, OutputClass, rational_ball
from shuffledp.ball.record import Definition, Rows, WorstPairs
from shuffledp.bounds.pairs import LawPair, Laws
from shuffledp.errors import rejected
from shuffledp.mechanism.base import (
    Mechanism,
    mechanism_names,
)
from shuffledp.mechanism.parameters import Limit, Rule, limit_of, positive
from shuffledp.randomizers.frequency import Support
from shuffledp.randomizers.values import whole_values
from shuffledp.randomness import Level, RandomSource
from shuffledp.statements import say
from shuffledp.statistics.counts import Step
from shuffledp.statistics.estimates import Aggregate, FrequencyEstimate, MeanEstimate
from shuffledp.theorems import MULTI_MESSAGE

UNIT = 1 << 64
_MOST = _check.LARGEST_COUNT - 1

Messages = np.ndarray


# A pair of laws of the messages that are not known, and the words that reproduce it.
NamedPair = tuple[LawPair, dict[str, Any]]


class MultiMessage(Mechanism):
    """A protocol in which every user sends one data message and some blanket messages.

    Probabilities that are parameters are rounded to multiples of 2^-64, so that sampler and law
    agree exactly.

    Attributes
    ----------
    d : int
        Numbers or bits that messages are made of.
    blankets : int
        Blanket messages that each user may send.
    rate : float
        Probability that each of them is sent.
    exact : bool
        True where the upper end is the exact loss, whatever the other users hold.
    supporting : int
        How many of the rows of outputs, the first ones, support one of the victim's two values.
    """

    noun: ClassVar[str] = "protocol"
    task: ClassVar[str] = "Several messages a user (the shuffler is all they have)"
    d: int
    blankets: int
    rate: float = 1.0
    exact: ClassVar[bool] = True
    supporting: ClassVar[int] = 1

    # ------------------------------------------------------------------------- its laws

    @abstractmethod
    def _rows(self) -> Rows:
        """Outputs: probabilities under two values of the victim, and of a blanket message sent."""

    @property
    def eps0(self) -> float:
        """Local guarantee in nats: log of the largest ratio of a data message's, rounded up."""
        both = [(max(a, b), min(a, b)) for a, b, _ in self._rows() if a or b]
        if not all(least for _, least in both):
            return math.inf
        return math.log(max(most / least for most, least in both)) * (1.0 + 1e-14) + 1e-14

    @property
    def messages_per_user(self) -> int:
        """The data message and all blanket messages."""
        return self.blankets + 1

    @property
    def rate_word(self) -> int:
        """2^64 times the probability that each blanket message is sent."""
        return word_of(self.rate)

    @property
    def _supported(self) -> tuple[Fraction, ...]:
        """Probabilities q*, p* and b, of a blanket message, that a message supports an item."""
        first, second, blanket = map(sum, zip(*self._rows()[: self.supporting], strict=True))
        return (*sorted((Fraction(first), Fraction(second))), Fraction(blanket))

    @property
    def support(self) -> Support:
        """p* and q*: a data message supports the user's item, and another one."""
        other, own, _ = self._supported
        return Support.of(own, other, own - other)

    @property
    def blanket_step(self) -> Step:
        """Whether a blanket message supports an item: b and 1 - b."""
        b = self._supported[-1]
        return Step(float(b), float(1 - b))

    def output_law(self, inputs: Sequence[Any]) -> Law:
        """The law of a message under inputs 0 and 1 (of the victim) and 2 (a blanket message).

        With T blanket messages that may be sent, each with probability g, an upper end is the exact
        loss of one data message among T + 1 draws from the law of input 2, where "not sent" is an
        output of its own, of probability 1 - g.
        """
        if any(x not in {0, 1, 2} or isinstance(x, bool) for x in inputs):
            wanted = "0, 1 or 2 (a blanket message)"
            raise rejected("inputs", tuple(inputs), wanted)
        rate = Fraction(self.rate_word, UNIT)
        rows = [(a, b, rate * w) for a, b, w in self._rows()]
        rows += [(Fraction(0), Fraction(0), 1 - rate)] if rate < 1 else []
        named = [tuple(row[x] for x in inputs) for row in rows]
        return [OutputClass(arb(0), tuple(map(rational_ball, row))) for row in named if any(row)]

    def worst_pairs(self) -> WorstPairs:
        """Any two values of a victim are alike."""
        return WorstPairs(((0, 1),), MULTI_MESSAGE)

    @property
    def exchangeable(self) -> bool:
        """Whether the two directions of the divergence are one."""
        rows = self._rows()
        return sorted(rows) == sorted((b, a, w) for a, b, w in rows)

    def lower_pairs(self, n: int) -> list[NamedPair]:
        """Pairs whose divergence is at most that of some neighbouring datasets of n users.

        Those of the upper end, where that is exact: the other users' messages are known.
        """
        known = {"analysis": "dataset", "others": "any"}
        return [(pair, {**words, **known}) for pair, words in self.pairs(n)]

    def blanket_total(self, n: int) -> int:
        """Blanket messages of n users together, where all are sent; at most 1e15 - 1."""
        total = _check.count("n", n) * self.blankets
        return _check.count("blanket messages of n users", total, low=0, high=_MOST)

    def pairs(self, n: int) -> list[NamedPair]:
        """Upper bounds for n users: with n = N + 1 messages."""
        return self.pairs_among(self.blanket_total(n))

    def pairs_among(self, blankets: int) -> list[NamedPair]:
        """Upper bounds by the number of blanket messages that may be sent, of all users together.

        Each is sent with the protocol's rate g, independently: N ~ Bin(blankets, g). The bound is
        E_N[(1/(N+1)) E(G_1 + .. + G_{N+1})_+], which is (1/(T+1)) E(G'_1 + .. + G'_{T+1})_+ with
        T = blankets and G' = G/g with probability g, else 0.
        """
        count = _check.count("blanket messages", blankets, low=0, high=_MOST)
        named = {"analysis": "multi-message", "blankets": count}
        return self._both_ways(self, count + 1, named)

    def _both_ways(
        self, protocol: Definition, messages: int, words: dict[str, Any]
    ) -> list[NamedPair]:
        """One data message among so many of this protocol, in both directions if they differ."""
        named = {**words, "x0": 0, "x1": 1}
        law = Laws(partial(protocol.cut_law, (0, 1, 2)))
        pair = LawPair(("messages", protocol), messages, law, "input")
        swapped = (pair.swap(), {**named, "swap": True})
        return [(pair, named)] if self.exchangeable else [(pair, named), swapped]

    def assumptions(self) -> tuple[str, ...]:
        """What the ends ask a reader to believe."""
        how = say("told-apart" if self.exact else "left-out")
        return (
            self.relation.sentence,
            say("counted"),
            say("seen-together"),
            say("one-run"),
            how,
        )

    # ------------------------------------------------------------------------- running it

    def _in_order(self, reports: Messages, source: RandomSource) -> Messages:
        """In a uniformly random order."""
        return reports[source.permutation(len(reports))]

    def _sample(self, values: np.ndarray, source: RandomSource) -> Messages:
        """The data messages, then the blanket messages."""
        sent = self.blanket_total(len(values)) if len(values) else 0
        if self.rate_word < UNIT:
            sent = int(np.count_nonzero(source.coins(level(self.rate_word), sent)))
        data, blanket = self._data(values, source), self._blanket(sent, source)
        return np.concatenate([data, blanket.astype(data.dtype)])

    @abstractmethod
    def _data(self, values: np.ndarray, source: RandomSource) -> Messages:
        """One data message for each user."""

    @abstractmethod
    def _blanket(self, count: int, source: RandomSource) -> Messages:
        """So many blanket messages."""

    @property
    def items(self) -> int:
        """Number of items: inputs are 0 .. items-1."""
        return self.d

    def _checked(self, values: ArrayLike) -> np.ndarray:
        return whole_values(values, self.items)

    @abstractmethod
    def aggregate(self, messages: ArrayLike) -> Aggregate:
        """Sums over messages; those of disjoint batches add up, ``count`` is of messages.

        Raises
        ------
        ParameterError
            If a message is outside the message space.
        """

    def estimate(
        self, messages: ArrayLike | Aggregate, *, n: int
    ) -> FrequencyEstimate | MeanEstimate:
        """Unbiased estimate from all messages of n users, or their sums, with standard errors.

        (C - N b - n q*)/(n (p* - q*)), where C of the messages support the item and N are blanket
        messages.

        Raises
        ------
        ParameterError
            If n users cannot have sent that many messages.
        """
        return self._shares(messages, n)

    def _shares(self, messages: ArrayLike | Aggregate, n: int) -> FrequencyEstimate:
        sums = messages if isinstance(messages, Aggregate) else self.aggregate(messages)
        blankets, rates, step = self._received(sums, n), self.support, self.blanket_step
        if sums.sums.shape != (self._counted,):
            wanted = f"({self._counted},)"
            raise rejected("shape of the aggregate's sums", sums.sums.shape, wanted)
        counts = sums.sums
        frequencies = (counts / n - blankets / n * step.up - rates.other) / rates.gap
        share, spread = np.clip(frequencies, 0.0, 1.0), blankets / n * step.up * step.stay
        errors = np.sqrt(rates.variance(share, spread) / n)
        law = rates.law(counts, n)
        rest = (np.full(counts.shape, float(blankets)), step)
        return FrequencyEstimate(frequencies, errors, n, replace(law, rest=(rest,)))

    def variance(self, frequency: float = 0.0) -> float:
        """[g m b (1 - b) + f p*(1 - p*) + (1 - f) q*(1 - q*)]/(p* - q*)^2 at frequency f.

        m blanket messages a user, each sent with the rate g.
        """
        f = _check.real("frequency", frequency, low=0.0, high=1.0)
        step, sent = self.blanket_step, self.blankets * (self.rate_word / UNIT)
        return float(self.support.variance(f, sent * step.up * step.stay))

    @property
    def _counted(self) -> int:
        """How many items an aggregate counts supporting messages of."""
        return self.items

    def _received(self, sums: Aggregate, n: int) -> int:
        """Blanket messages among those received: all but one for each of n users."""
        users, most = _check.count("n", n), self.blanket_total(n)
        blankets, some = sums.count - users, self.rate_word < UNIT
        if blankets < 0:
            wanted = f"at least one for each of {users:,} users"
            raise rejected("number of messages", sums.count, wanted)
        if blankets > most or (blankets < most and not some):
            wanted = f"{most + users:,} from {users:,} users" + ", or fewer" * some
            raise rejected("number of messages", sums.count, wanted)
        return blankets


def protocol_names() -> tuple[str, ...]:
    """Names of all protocols, sorted."""
    return mechanism_names(MultiMessage)


def word_of(p: float) -> int:
    """A probability > 0 in units of 2^-64, to the nearest, and at least one."""
    return max(round(p * UNIT), 1)


def chance(high: Limit) -> Rule:
    """A probability in (0, high); so is the multiple of 2^-64 next to it, which is meant."""
    rule = positive(high)

    def check(name: str, value: Any, mechanism: Any) -> float:
        p = rule.check(name, value, mechanism)
        most = limit_of(high, mechanism)
        if not word_of(p) < most * UNIT:
            raise rejected(name, value, f"a number > 0 and < {most:g}")
        return p

    return Rule(check, rule.limits, high)


def level(word: int) -> Level:
    """word/2^64, for ``RandomSource.coins``."""
    return lambda: arb(word) / UNIT
