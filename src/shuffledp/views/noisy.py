"""One coordinate of sums of bits, of one data set: a curve's source."""

from __future__ import annotations

from dataclasses import dataclass

from shuffledp.amplification.one_bit import FAR, OneBitSupremum
from shuffledp.arithmetic.intervals import LogInterval
from shuffledp.rounds import Candidate

__all__ = ["OneDataset", "candidate"]


@dataclass(frozen=True)
class OneDataset:
    """delta of one coordinate, of one data set in one order: a curve's source.

    Attributes
    ----------
    of_all : OneBitSupremum
        Of all data sets.
    falls : bool
        Whether the victim's value goes from 1 to 0; else from 0 to 1.
    ones : int
        Others who hold a 1.
    """

    of_all: OneBitSupremum
    falls: bool
    ones: int

    def log_delta(self, epsilon: float, *, width: float = 0.0) -> LogInterval:
        """Certified bracket of log delta(eps)."""
        del width
        curve = self.of_all.curve
        zero, one = curve.bits.inputs
        x0, held = (one, self.ones) if self.falls else (zero, curve.n - 1 - self.ones)
        return LogInterval(*curve.of_order(x0, held, epsilon))

    def rough_log_delta(self, epsilon: float) -> float:
        """About log delta(eps)."""
        return self.log_delta(epsilon).low

    def log_floor(self) -> float:
        """Lower bound of log delta at every eps."""
        return self.log_delta(FAR).low if self.of_all.tells else float("-inf")


def candidate(of_all: OneBitSupremum, ones: int) -> Candidate:
    """A coordinate that falls while so many of the others hold a 1 there; and back."""
    down, up = (OneDataset(of_all, falls, ones) for falls in (True, False))
    return Candidate(down, up, {"others": ones})
