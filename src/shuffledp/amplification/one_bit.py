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
from shuffledp.arithmetic.intervals import LogInterval
from shuffledp.bounds.integer_noise import NoiseLaw
from shuffledp.errors import NotCertified
from shuffledp.laws.sources import Source, refuse_protocol
from shuffledp.propose.one_bit_curve import Curve, Point
from shuffledp.propose.profile import LOOSE
from shuffledp.randomizers import Randomizer

# Expected number of reports of the rarer kind up to which rounds rest on the search over all data
# sets, which they evaluate hundreds of times. Gap between the ends of two rounds' eps: 0.03 % in
# place of 0.17 % at 237 such reports, 0.9 % in place of 3.5 % at 119.
_MOST_IN_ROUNDS = 150.0
# An eps at which a delta that does not fall to nothing is what is left.
FAR = 600.0


@dataclass(frozen=True)
class OneBit(Certifier):
    """The largest delta over all data sets: its upper or its lower end."""

    supremum: OneBitSupremum = field(kw_only=True)

    def epsilon(self, asked: EpsilonAt) -> End:
        """An evaluated eps that is certified for this end."""
        curve = self.supremum.curve
        find = curve.upper if self.end == "upper" else curve.lower
        found = find(math.log(asked.delta), rtol=asked.rtol, cap=asked.cap)
        apart = found.width if self.end == "upper" and math.isfinite(found.width) else None
        return self._found(curve, found.epsilon, found.point, apart)

    def log_delta(self, asked: LogDeltaAt) -> End:
        """The end of log delta at this eps."""
        curve = self.supremum.curve
        point = curve.point(asked.epsilon, width=asked.width)
        if self.end == "lower":
            return self._found(curve, point.log_low, point, None)
        seen = point.log_low > -math.inf
        apart = math.expm1(point.log_high - point.log_low) if seen else None
        return self._found(curve, point.log_high, point, apart)

    def rough(self, epsilon: float) -> float:
        """An estimate of log delta."""
        return self.supremum.rough_log_delta(epsilon)

    def exact(self) -> OneBitSupremum | None:
        """The largest delta over all data sets, for rounds, or None.

        It is None where label stealing serves better, and where one bit reveals the value, as delta
        then does not fall to zero.
        """
        curve = self.supremum.curve
        many = self.supremum.n * curve.rarest > _MOST_IN_ROUNDS
        return None if many or self.supremum.tells else self.supremum

    def _found(self, curve: Curve, value: float, point: Point | None, apart: float | None) -> End:
        witness: dict[str, Any] = {"analysis": self.key}
        if self.end == "lower" and point is not None:
            witness |= curve.named(point.held)
        return End(value, self.theorem, apart, witness, self.assumptions)


@dataclass(frozen=True)
class OneBitSupremum:
    """Largest log delta over all data sets and both orders of a pair: an ``Exact`` curve.

    Attributes
    ----------
    mechanism : Randomizer
        A mechanism with two outputs, or with a vector of bits, of which one is seen.
    n : int
        Number of users, the victim included.
    noise : NoiseLaw or None
        What an aggregator adds to the sum of the bits.
    """

    mechanism: Randomizer
    n: int
    noise: NoiseLaw | None = None

    @property
    def curve(self) -> Curve:
        """The search so far."""
        return _searched(self, precision_for(self.n))

    def log_delta(self, epsilon: float, *, width: float = LOOSE) -> LogInterval:
        """Both ends at eps >= 0 (nats), with delta's relative width near ``width``."""
        found = self.curve.point(epsilon, width=width)
        return LogInterval(found.log_low, found.log_high)

    def rough_log_delta(self, epsilon: float) -> float:
        """An estimate of log delta from data sets in which all other users hold the same value."""
        return self.curve.alike(epsilon)

    @property
    def tells(self) -> bool:
        """Whether a bit tells the victim's value: then delta does not fall to nothing."""
        return self.noise is None and self.curve.tells

    def log_floor(self) -> float:
        """Lower bound of log delta at every eps."""
        return self.log_delta(FAR).low if self.tells else -math.inf


# Both ends share one search.
@lru_cache(maxsize=16)
def _searched(asked: OneBitSupremum, bits_wanted: int) -> Curve:
    del bits_wanted  # searches at another precision are others
    bits = asked.mechanism.added_bits()
    if bits is None:
        raise ValueError("mechanism: wanted one whose reports are bits")
    return Curve(bits, asked.n, noise=asked.noise)


def one_bit(end: Side, source: Source, n: int) -> OneBit:
    """One end of the largest delta over all data sets, for mechanisms with two outputs."""
    key = "binary-exact" if end == "upper" else "binary-exact-lower"
    refuse_protocol(source, key)
    if not isinstance(source, Randomizer) or source.one_bit() is None:
        msg = f"analysis = {key!r}: wanted a randomizer with two outputs, whose inputs' laws differ"
        raise NotCertified(msg)
    supremum, assumed = OneBitSupremum(source, n), words.of_all(source)
    if end == "lower":
        return OneBit(key, end, theorems.BINARY_EXACT_LOWER, assumed, supremum=supremum)
    return OneBit(key, end, theorems.BINARY_EXACT, (*assumed, words.SAME), supremum=supremum)
