"""One coordinate of sums of bits: curves of all data sets, and of one."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from shuffledp.arithmetic.intervals import LogInterval
from shuffledp.bounds.one_bit_curve import Curve, Point
from shuffledp.rounds import Candidate
from shuffledp.views.coordinates import Coordinates
from shuffledp.views.noise import AddedNoise

__all__ = ["AllDatasets", "OneDataset", "candidate", "curve_of"]

# How far apart both ends of log delta of all data sets may be; and with Laplace noise, where
# searches take longer.
_WIDTH, _LAPLACE = 1e-3, 4e-3
# A delta that does not fall to nothing is what is left here.
_FAR = 600.0
# Curves that are kept, each with the points that were asked for.
_KEPT = 8


@functools.lru_cache(maxsize=_KEPT)
def curve_of(made: Coordinates, n: int, noise: AddedNoise | None) -> Curve:
    """delta of one coordinate among n users.

    Parameters
    ----------
    made : Coordinates
        Of the reports.
    n : int
        Users.
    noise : AddedNoise or None
        What the aggregator adds.
    """
    return Curve(made.bits, n, noise=None if noise is None else noise.law)


@dataclass(frozen=True)
class AllDatasets:
    """delta of one coordinate, the largest of all data sets and both orders: a curve's source.

    Attributes
    ----------
    made : Coordinates
        Of the reports.
    n : int
        Users.
    noise : AddedNoise or None
        What the aggregator adds.
    """

    made: Coordinates
    n: int
    noise: AddedNoise | None = None

    def log_delta(self, epsilon: float, *, width: float = _WIDTH) -> LogInterval:
        """Certified bracket of log delta(eps)."""
        del width
        found = self.point(epsilon)
        return LogInterval(found.log_low, found.log_high)

    def point(self, epsilon: float) -> Point:
        """The same, with the data set that attains the lower end."""
        slow = self.noise is not None and self.noise.kind == "discrete-laplace"
        width = _LAPLACE if slow else _WIDTH
        return curve_of(self.made, self.n, self.noise).point(epsilon, width=width)

    def rough_log_delta(self, epsilon: float) -> float:
        """About log delta(eps): where all others hold the same value."""
        return curve_of(self.made, self.n, self.noise).alike(epsilon)

    def log_floor(self) -> float:
        """Lower bound of log delta at every eps."""
        curve = curve_of(self.made, self.n, self.noise)
        tells = self.noise is None and curve.tells
        return curve.point(_FAR, width=_WIDTH).log_low if tells else float("-inf")


@dataclass(frozen=True)
class OneDataset:
    """delta of one coordinate, of one data set in one order: a curve's source.

    Attributes
    ----------
    made : Coordinates
        Of the reports.
    n : int
        Users.
    noise : AddedNoise or None
        What the aggregator adds.
    falls : bool
        Whether the victim's value goes from 1 to 0; else from 0 to 1.
    ones : int
        Others who hold a 1.
    """

    made: Coordinates
    n: int
    noise: AddedNoise | None
    falls: bool
    ones: int

    def log_delta(self, epsilon: float, *, width: float = 0.0) -> LogInterval:
        """Certified bracket of log delta(eps)."""
        del width
        x0 = self.made.one if self.falls else self.made.zero
        held = self.ones if self.falls else self.n - 1 - self.ones
        return LogInterval(*curve_of(self.made, self.n, self.noise).of_order(x0, held, epsilon))

    def rough_log_delta(self, epsilon: float) -> float:
        """About log delta(eps)."""
        return self.log_delta(epsilon).low

    def log_floor(self) -> float:
        """Lower bound of log delta at every eps."""
        tells = self.noise is None and curve_of(self.made, self.n, None).tells
        return self.log_delta(_FAR).low if tells else float("-inf")


def candidate(made: Coordinates, n: int, noise: AddedNoise | None, ones: int) -> Candidate:
    """A coordinate that falls while so many of the others hold a 1 there; and back."""
    down, up = (OneDataset(made, n, noise, falls, ones) for falls in (True, False))
    return Candidate(down, up, {"others": ones})
