"""Both ends for mechanisms with two outputs, by a search over all data sets."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from shuffledp import theorems
from shuffledp.amplification import words
from shuffledp.amplification.end import Certifier, End, EpsilonAt, LogDeltaAt, Side
from shuffledp.arithmetic.balls import precision_for
from shuffledp.bounds.integer_noise import NoiseLaw
from shuffledp.errors import NotCertified
from shuffledp.laws.sources import Source, refuse_protocol
from shuffledp.propose.inverse import lower_epsilon, upper_epsilon
from shuffledp.propose.one_bit import AllDataSets
from shuffledp.randomizers import Randomizer

# Expected number of reports of the rarer kind up to which rounds rest on the search over all data
# sets, which they evaluate hundreds of times. Gap between the ends of two rounds' eps: 0.03 % in
# place of 0.17 % at 237 such reports, 0.9 % in place of 3.5 % at 119.
_MOST_IN_ROUNDS = 150.0
# Share of the requested width by which a lower end of eps may miss the crossing: delta of the worst
# data set is known nearly exactly.
_NEARER = 0.01


@dataclass(frozen=True)
class OneBit(Certifier):
    """The largest delta over all data sets: its upper or its lower end."""

    curve: AllDataSets = field(kw_only=True)

    def epsilon(self, asked: EpsilonAt) -> End:
        """An evaluated eps that is certified for this end."""
        log, cap, rtol = math.log(asked.delta), asked.cap, asked.rtol
        if self.end == "lower":
            low = lower_epsilon([self.curve], log, cap=cap, rtol=_NEARER * rtol).low
            return self._found(low, low, None)
        low, high, _ = upper_epsilon([self.curve], log, cap=cap, rtol=rtol, width=asked.width)
        return self._found(
            high, high, high / low - 1.0 if math.isfinite(high) and low > 0.0 else None
        )

    def log_delta(self, asked: LogDeltaAt) -> End:
        """The end of log delta at this eps."""
        low, high = self.curve.log_delta(asked.epsilon, width=asked.width)
        if self.end == "lower":
            return self._found(low, asked.epsilon, None)
        return self._found(high, asked.epsilon, math.expm1(high - low) if low > -math.inf else None)

    def rough(self, epsilon: float) -> float:
        """An estimate of log delta."""
        return self.curve.rough_log_delta(epsilon)

    def exact(self) -> AllDataSets | None:
        """The largest delta over all data sets, for rounds, or None.

        It is None where label stealing serves better, and where one bit reveals the value, as delta
        then does not fall to zero.
        """
        many = self.curve.n * self.curve.rarest > _MOST_IN_ROUNDS
        return None if many or self.curve.log_floor() > -math.inf else self.curve

    def _found(self, value: float, epsilon: float, apart: float | None) -> End:
        witness: dict[str, Any] = {"analysis": self.key}
        if self.end == "lower" and value not in {0.0, -math.inf}:
            witness |= self.curve.witness(epsilon)
        return End(value, self.theorem, apart, witness, self.assumptions)


@lru_cache(maxsize=16)
def _searched(mechanism: Randomizer, n: int, noise: NoiseLaw | None, bits: int) -> AllDataSets:
    del bits  # searches at another precision are others
    return AllDataSets(mechanism, n, noise)


def all_data_sets(mechanism: Randomizer, n: int, noise: NoiseLaw | None = None) -> AllDataSets:
    """The largest delta over all data sets: both ends, and equal questions, share one search."""
    return _searched(mechanism, n, noise, precision_for(n))


def one_bit(end: Side, source: Source, n: int) -> OneBit:
    """One end of the largest delta over all data sets, for mechanisms with two outputs."""
    key = "binary-exact" if end == "upper" else "binary-exact-lower"
    refuse_protocol(source, key)
    if not isinstance(source, Randomizer) or source.one_bit() is None:
        msg = f"analysis = {key!r}: wanted a randomizer with two outputs, whose inputs' laws differ"
        raise NotCertified(msg)
    curve, assumed = all_data_sets(source, n), words.of_all(source)
    if end == "lower":
        return OneBit(key, end, theorems.BINARY_EXACT_LOWER, assumed, curve=curve)
    return OneBit(key, end, theorems.BINARY_EXACT, (*assumed, words.SAME), curve=curve)
