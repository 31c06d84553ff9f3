"""One-bit mechanisms: both ends by all data sets, and a lower one by all numbers of ones."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakValueDictionary

from shuffledp import theorems
from shuffledp.analysis.analysis import Analysis
from shuffledp.analysis.side import Found, Side
from shuffledp.analysis.source import Source, bits_of
from shuffledp.binary.curve import Curve, Point, of_the_rarer, quick
from shuffledp.divergence import LOOSE
from shuffledp.numerics import LogInterval
from shuffledp.randomizers import Randomizer
from shuffledp.randomizers.bits import Bits
from shuffledp.values.work import Beside

# log delta is asked for ten times as wide, relatively, as eps (``Shuffled``).
_WIDER = 10.0
# Reports of the rarer kind up to which rounds rest on the search: with 237 two rounds took 37 s in
# place of 4, for ends .03 % apart in place of .17; with 119 ends are .9 % apart in place of 3.5.
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
        return self._found(found.epsilon, found.point, apart)

    def log_delta(self, epsilon: float, *, width: float) -> Found:
        """The end at this eps."""
        curve = _SEARCHED.of(self.supremum)
        point = curve.point(epsilon, rtol=width / _WIDER, most=width)
        apart = None
        if self._upper and point.log_low > -math.inf:
            apart = math.expm1(point.log_high - point.log_low)
        return self._found(point.log_high if self._upper else point.log_low, point, apart)

    def exact(self) -> OneBitSupremum | None:
        """The largest delta of all data sets, for rounds; not where one bit tells the value.

        There the search ends with what it knows at large eps, where delta does not fall any more.
        Nor where a value takes long and label stealing is as good.
        """
        bits, n = self.supremum.bits, self.supremum.n
        told = bits.odds_low[0] == 0.0 or math.isinf(bits.odds_high[1])
        return None if told or of_the_rarer(bits, n) > _MOST_IN_ROUNDS else self.supremum

    @property
    def _upper(self) -> bool:
        return self.end == "upper"

    def _found(self, value: float, point: Point | None, apart: float | None) -> Found:
        witness: dict[str, Any] = {"analysis": self.key}
        if not self._upper and point is not None:
            others = [[x, count] for x, count in point.others]
            witness |= {"x0": point.x0, "x1": point.x1, "others": others}
        return Found(value, self.theorem, apart, witness, self.assumptions)


@dataclass(frozen=True)
class OneBitSupremum:
    """log delta, the largest of all data sets and both orders of them: the curve of rounds.

    Attributes
    ----------
    bits : Bits
        The mechanism.
    n : int
        Users, the victim included.
    """

    bits: Bits
    n: int

    def log_delta(self, epsilon: float, *, width: float = LOOSE) -> LogInterval:
        """Both ends at eps >= 0, about a relative ``width`` of delta apart."""
        found = _SEARCHED.of(self).point(epsilon, rtol=1.0, most=width)
        return LogInterval(found.log_low, found.log_high)

    def rough_log_delta(self, epsilon: float) -> float:
        """Of the data sets whose others hold the same value."""
        return _SEARCHED.of(self).alike(epsilon)

    def log_floor(self) -> float:
        """No bit tells the victim's value: delta falls to nothing."""
        return -math.inf


# Both ends come of the same searches: their sides share a curve as long as they live.
_CURVES: WeakValueDictionary[tuple[Bits, int], Curve] = WeakValueDictionary()


def _curve(bits: Bits, n: int) -> Curve:
    found = _CURVES.get((bits, n))
    if found is None:
        found = _CURVES[bits, n] = Curve(bits, n)
    return found


_SEARCHED: Beside[OneBitSupremum, Curve] = Beside(lambda one: _curve(one.bits, one.n))


class _BinaryExact(Analysis):
    """Of mechanisms with two outputs."""

    def require(self, source: Source) -> None:
        """A randomizer that sends one bit."""
        super().require(source)
        bits_of(source, self.key)

    def side(self, source: Source, *, n: int, cells: int) -> Side:
        """One end of the largest delta of all data sets."""
        del cells
        self.require(source)
        supremum = OneBitSupremum(bits_of(source, self.key), n)
        _SEARCHED.of(supremum)  # too many users: said now
        theorem, words = self.theorem_for(source), self.assumptions(source)
        return BinarySide(self.key, self.end, theorem, (), (), words, supremum=supremum)


def _quick(source: Source, n: int) -> bool:
    """Whether all data sets are searched by default: what that takes grows with n."""
    bits = source.bits() if isinstance(source, Randomizer) else None
    return bits is not None and quick(bits, n)


_BITS = (
    "one randomizer with two outputs for all users, any inputs of the others; not adaptive; n up "
    "to 1,000,000"
)
BINARY_EXACT = _BinaryExact(
    "binary-exact",
    "upper",
    theorems.BINARY_EXACT,
    f"{_BITS}; with it the lower end of binary-exact-lower",
    kind="algorithm",
    slow=True,
    other_end="binary-exact-lower",
    usual=_quick,
)
BINARY_EXACT_LOWER = _BinaryExact(
    "binary-exact-lower",
    "lower",
    theorems.BINARY_EXACT_LOWER,
    _BITS,
    kind="algorithm",
    slow=True,
    usual=_quick,
)
