"""One-bit mechanisms: both ends by all data sets."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar
from weakref import WeakValueDictionary

from shuffledp import theorems
from shuffledp.analysis import words
from shuffledp.analysis.analysis import Analysis
from shuffledp.analysis.side import Found, Side
from shuffledp.analysis.source import Source, has_bits, one_bit_of
from shuffledp.arithmetic.intervals import LogInterval
from shuffledp.ball.one_bit import bits_of
from shuffledp.bounds.one_bit_curve import Curve, Point
from shuffledp.bounds.profile import LOOSE
from shuffledp.laws.pairs import table_of
from shuffledp.randomizers import Randomizer
from shuffledp.values.work import Beside

# Reports of the rarer kind up to which rounds rest on the search, which asks for hundreds of its
# values: with 237 two rounds' ends are .03 % apart in place of .17, with 119 .9 % in place of 3.5.
_MOST_IN_ROUNDS = 150.0


@dataclass(frozen=True)
class BinarySide(Side):
    """The largest delta of all data sets: its upper or, by the analysis' end, its lower end."""

    supremum: OneBitSupremum = field(kw_only=True)

    def epsilon(
        self, delta: float, *, cap: float, rtol: float, width: float | None = None
    ) -> Found:
        """An eps that was evaluated and is certified for this end."""
        del width
        curve = _SEARCHED.of(self.supremum)
        find = curve.upper if self._upper else curve.lower
        found = find(math.log(delta), rtol=rtol, cap=cap)
        apart = found.width if self._upper and math.isfinite(found.width) else None
        return self._found(curve, found.epsilon, found.point, apart)

    def log_delta(self, epsilon: float, *, width: float) -> Found:
        """The end at this eps."""
        curve = _SEARCHED.of(self.supremum)
        point = curve.point(epsilon, width=width)
        apart = None
        if self._upper and point.log_low > -math.inf:
            apart = math.expm1(point.log_high - point.log_low)
        value = point.log_high if self._upper else point.log_low
        return self._found(curve, value, point, apart)

    def rough(self, epsilon: float) -> float:
        """About log delta."""
        return self.supremum.rough_log_delta(epsilon)

    def exact(self) -> OneBitSupremum | None:
        """The largest delta of all data sets, for rounds; not where one bit tells the value.

        There delta does not fall to nothing. Nor where label stealing is as good and quicker.
        """
        curve = _SEARCHED.of(self.supremum)
        many = self.supremum.n * curve.rarest > _MOST_IN_ROUNDS
        return None if many or curve.tells else self.supremum

    @property
    def _upper(self) -> bool:
        return self.end == "upper"

    def _found(self, curve: Curve, value: float, point: Point | None, apart: float | None) -> Found:
        witness: dict[str, Any] = {"analysis": self.key}
        if not self._upper and point is not None:
            witness |= curve.named(point.held)
        return Found(value, self.theorem, apart, witness, self.assumptions)


@dataclass(frozen=True)
class OneBitSupremum:
    """log delta, the largest of all data sets and both orders of them: ``Exact`` curve of rounds.

    Attributes
    ----------
    mechanism : Randomizer
        With two outputs.
    n : int
        Users, the victim included.
    """

    mechanism: Randomizer
    n: int
    slow: ClassVar[bool] = True

    @property
    def slow_to_read(self) -> bool:
        """A verifier takes some tenths of a second for a value."""
        return False

    def log_delta(self, epsilon: float, *, width: float = LOOSE) -> LogInterval:
        """Both ends at eps >= 0, about a relative ``width`` of delta apart."""
        found = _SEARCHED.of(self).point(epsilon, width=width)
        return LogInterval(found.log_low, found.log_high)

    def rough_log_delta(self, epsilon: float) -> float:
        """Of the data sets whose others hold the same value."""
        return _SEARCHED.of(self).alike(epsilon)

    def log_floor(self) -> float:
        """No bit tells the victim's value: delta falls to nothing."""
        return -math.inf


# Both ends come of the same searches: their sides share a curve as long as they live.
_CURVES: WeakValueDictionary[tuple[Randomizer, int], Curve] = WeakValueDictionary()


def _curve(one: OneBitSupremum) -> Curve:
    key = (one.mechanism, one.n)
    found = _CURVES.get(key)
    if found is None:
        bits = bits_of(table_of(one.mechanism))
        if bits is None:
            raise ValueError("mechanism: wanted one with two outputs")
        found = _CURVES[key] = Curve(bits, one.n)
    return found


_SEARCHED: Beside[OneBitSupremum, Curve] = Beside(_curve)


def _upper(source: Source, n: int) -> Side:
    """The upper end of the largest delta of all data sets."""
    supremum = OneBitSupremum(one_bit_of(source, "binary-exact"), n)
    assumed = (*words.of_all(source), words.SAME)
    theorem = theorems.BINARY_EXACT
    return BinarySide("binary-exact", "upper", theorem, (), (), assumed, supremum=supremum)


def _lower(source: Source, n: int) -> Side:
    """Its lower end."""
    key, theorem = "binary-exact-lower", theorems.BINARY_EXACT_LOWER
    supremum = OneBitSupremum(one_bit_of(source, key), n)
    return BinarySide(key, "lower", theorem, (), (), words.of_all(source), supremum=supremum)


def _has_bits(source: Source, n: int) -> bool:
    """Whether it is among the default analyses: of all one-bit reports."""
    del n
    return has_bits(source)


_BITS = "one randomizer with two outputs for all users, any inputs of the others; not adaptive"
BINARY_EXACT = Analysis(
    "binary-exact",
    "upper",
    theorems.BINARY_EXACT,
    f"{_BITS}; with it the lower end of binary-exact-lower",
    make=_upper,
    slow=True,
    other_end="binary-exact-lower",
    usual=_has_bits,
)
BINARY_EXACT_LOWER = Analysis(
    "binary-exact-lower",
    "lower",
    theorems.BINARY_EXACT_LOWER,
    _BITS,
    make=_lower,
    slow=True,
    usual=_has_bits,
)
