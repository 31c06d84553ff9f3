"""Duchi's mechanism for means: one bit, biased by the value."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from shuffledp import _check
from shuffledp.errors import NotCertified
from shuffledp.randomizers.base import DEFAULT_CELLS, Reports, WorstPairs
from shuffledp.randomizers.chances import digits_up, exponential, quotient
from shuffledp.randomizers.interval import checked_interval
from shuffledp.randomizers.law import JointLaw
from shuffledp.randomizers.levels import Part, grown, place, two_level_law
from shuffledp.randomizers.means import Floats, MeanRandomizer
from shuffledp.randomizers.values import real_values, whole_reports
from shuffledp.randomness import RandomSource
from shuffledp.theorems import LEAST_OVERLAP

_HALF = b"\x80"
_LARGEST_SCALE = 1e150


class IntervalMean(MeanRandomizer):
    """What mechanisms for the mean of values in [low, high] share.

    Inputs at the ends favour disjoint outputs, all others are between them.
    """

    eps0: float
    low: float
    high: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "eps0", _check.local_epsilon("eps0", self.eps0))
        checked_interval(self)

    @property
    def middle(self) -> float:
        """Middle of the interval."""
        return 0.5 * self.low + 0.5 * self.high

    @property
    def half(self) -> float:
        """Half its length."""
        return 0.5 * self.high - 0.5 * self.low

    def _checked(self, values: ArrayLike) -> np.ndarray:
        return real_values(values, self.low, self.high)

    def _places(self, values: np.ndarray) -> Floats:
        """Places in [0, 1], exact at the ends."""
        share = (0.5 * values - 0.5 * self.low) / self.half
        return np.where(values == self.high, 1.0, np.clip(share, 0.0, 1.0))

    def _centred(self, value: float) -> float:
        """Place of a value in [-1, 1]."""
        x = _check.real("value", value, low=self.low, high=self.high)
        return 2.0 * float(place(x, self.low, self.high)) - 1.0

    def worst_pairs(self) -> WorstPairs:
        """The end points; mirrored, the other direction has the same law."""
        return WorstPairs(((self.low, self.high),), LEAST_OVERLAP)

    def datasets(self) -> tuple[tuple[Any, Any, Any], ...]:
        """Victim at the end points, all others at one of them or in the middle."""
        return tuple((self.low, self.high, x2) for x2 in (self.low, self.high, self.middle))

    def _distinct(self, inputs: tuple[Any, ...]) -> tuple[list[Fraction], list[int]]:
        """Distinct places in [0, 1], and for each input which of them it is."""
        checked = [_check.real("input", x, low=self.low, high=self.high) for x in inputs]
        seen = list(dict.fromkeys(checked))
        places = [place(x, self.low, self.high) for x in seen]
        return places, [seen.index(x) for x in checked]


@dataclass(frozen=True, kw_only=True)
class Duchi(IntervalMean):
    """Duchi et al. for one value in [low, high]: a bit, 1 with a probability linear in the value.

    On [-1, 1]: P(1) = 1/2 + x (e^eps0 - 1)/(2 (e^eps0 + 1)); the bit stands for C or -C with
    C = (e^eps0 + 1)/(e^eps0 - 1), which is unbiased. Every law is a mixture of those of the two
    ends, so the blanket and the worst pair are those of binary randomized response, gamma =
    2/(e^eps0 + 1). Reports are bits (uint8).

    Parameters
    ----------
    eps0 : float
        Local privacy in nats, 0 < eps0 <= 300.
    low, high : float
        The interval of inputs.

    Notes
    -----
    Duchi, Jordan, Wainwright 2018. Per-user variance C^2 - x^2 on [-1, 1].
    """

    name: ClassVar[str] = "duchi"
    summary: ClassVar[str] = "one bit for the mean of values in an interval (Duchi et al.)"
    eps0: float
    low: float = -1.0
    high: float = 1.0

    @property
    def message_bits(self) -> float:
        """1."""
        return 1.0

    @property
    def scale(self) -> float:
        """C = (e^eps0 + 1)/(e^eps0 - 1)."""
        return usable(self.name, 1.0 / math.tanh(0.5 * self.eps0))

    def variance(self, frequency: float = 0.0) -> float:
        """C^2 times half the interval squared: the worst input is the middle."""
        del frequency
        return (self.half * self.scale) ** 2

    def variance_at(self, value: float) -> float:
        """Per-user variance for users that hold this value."""
        x = self._centred(value)
        return self.half**2 * (self.scale - x) * (self.scale + x)

    def _sample(self, values: np.ndarray, source: RandomSource) -> Reports:
        return bits(self._places(values), self.eps0, source)

    def _unbiased(self, reports: ArrayLike) -> Floats:
        sign = 2.0 * whole_reports(reports, 2) - 1.0
        return self.middle + self.half * self.scale * sign

    def law(self, inputs: tuple[Any, ...], *, cells: int = DEFAULT_CELLS) -> JointLaw:
        """Both outputs; one class where all inputs asked for are the same."""
        del cells
        places, index = self._distinct(inputs)
        return two_level_law(bit_parts(places, self.eps0), eps0=self.eps0, index=index)


def bit_parts(places: list[Fraction], eps0: float) -> list[Part]:
    """The two outputs: base mass 1/(e^eps0 + 1), favoured by the place or what lacks to 1."""
    base = 1 / (grown(eps0) + 1)
    return [(base, tuple(places)), (base, tuple(1 - x for x in places))]


def bits(places: Floats, eps0: float, source: RandomSource) -> np.ndarray:
    """A fair coin with probability 2/(e^eps0 + 1), rounded up; else the place rounded to 0 or 1.

    The rounding is unbiased, and exact in the ends; whatever it does is done before the noise.
    """
    fair = source.coins(digits_up(quotient(2, exponential(eps0), 1)), len(places))
    rounded = source.unit(len(places)) < places
    coins = source.coins(_HALF, len(places))
    return np.where(fair, coins, rounded).astype(np.uint8)


def usable(name: str, scale: float) -> float:
    """The scale of the reports, if its square is in the range of floats."""
    if not scale <= _LARGEST_SCALE:
        raise NotCertified(f"{name}: reports of scale {scale:g} leave nothing to estimate with")
    return scale
