"""One coordinate of one data set with the aggregator's noise: its curves, and rounds of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from shuffledp import theorems
from shuffledp.binary.crowd import divergence
from shuffledp.binary.curve import noisy_problem
from shuffledp.binary.noise import AddedNoise
from shuffledp.neighbours import REPLACEMENT
from shuffledp.numerics import LogInterval
from shuffledp.randomizers.bits import Bits
from shuffledp.rounds import Candidate, Round

__all__ = ["OneDataset", "between", "noisy_candidates", "noisy_round", "pure_guarantee"]

# Beyond it powers of e^eps leave the range of floats.
_LARGEST = 600.0


def between(wide: Bits, narrow: Bits) -> Bits:
    """All odds between those rounded outward and inward."""
    return replace(
        wide,
        odds_low=(wide.odds_low[0], narrow.odds_low[1]),
        odds_high=(narrow.odds_high[0], wide.odds_high[1]),
    )


@dataclass(frozen=True)
class OneDataset:
    """delta of one coordinate with noise added, of one data set in one order: a curve's source.

    Attributes
    ----------
    bits : Bits
        The coordinate, the victim's value the one of more ones first.
    ones, zeros : int
        Others whose bit is 1 with the larger, and with the smaller, probability.
    noise : AddedNoise
        What the aggregator adds.
    """

    bits: Bits
    ones: int
    zeros: int
    noise: AddedNoise

    def log_delta(self, epsilon: float, *, width: float = 0.0) -> LogInterval:
        """Certified bracket of log delta(eps)."""
        del width
        asked = noisy_problem(self.bits, epsilon, self.noise)
        if asked is None or epsilon > _LARGEST:
            return LogInterval(-math.inf, 0.0 if asked is not None else -math.inf)
        return LogInterval(*divergence(asked, self.ones, self.zeros))

    def rough_log_delta(self, epsilon: float) -> float:
        """About log delta(eps)."""
        return self.log_delta(epsilon).low

    def log_floor(self) -> float:
        """Lower bound of log delta at every eps."""
        return -math.inf


def pure_guarantee(bits: Bits, eps0: float, noise: AddedNoise | None) -> float:
    """Of one coordinate whose report alone has eps0, with noise on its sum; inf if there is none.

    Parameters
    ----------
    bits : Bits
        The coordinate.
    eps0 : float
        In nats, or inf.
    noise : AddedNoise or None
        What the aggregator adds.
    """
    if noise is None:
        return eps0
    return min(eps0, noise.pure(bits.odds_low[0], bits.odds_high[1]))


def _candidate(bits: Bits, n: int, ones: int, noise: AddedNoise) -> Candidate:
    """A coordinate that falls while so many of the others hold a 1 there; and back."""
    forward = OneDataset(bits, ones, n - 1 - ones, noise)
    # The names of the bits exchanged.
    backward = OneDataset(bits.flipped(), n - 1 - ones, ones, noise)
    return Candidate(forward, backward, {"others": ones})


def noisy_candidates(bits: Bits, n: int, noise: AddedNoise) -> tuple[Candidate, ...]:
    """A coordinate that falls while all others hold a 0 there, or all a 1."""
    return tuple(_candidate(bits, n, ones, noise) for ones in sorted({0, n - 1}))


def noisy_round(
    bits: Bits, n: int, noise: AddedNoise, *, falls: bool, ones: bool, eps0: float
) -> Round:
    """The noisy sum of a coordinate that falls or rises while all others hold the same.

    Parameters
    ----------
    bits : Bits
        The coordinate.
    n : int
        Users.
    noise : AddedNoise
        What the aggregator adds.
    falls : bool
        Whether the victim's goes from 1 to 0; else from 0 to 1.
    ones : bool
        Whether the others hold a 1.
    eps0 : float
        Pure guarantee.
    """
    made = _candidate(bits, n, n - 1 if ones else 0, noise)
    if not falls:
        made = Candidate(made.backward, made.forward, made.witness)
    return Round(
        label="noisy sum",
        groups=((made.forward,),),
        backward_groups=((made.backward,),),
        candidates=(made,),
        eps0=eps0,
        key=("noisy sum of bits", bits, n, noise, falls, ones),
        relation=REPLACEMENT,
        upper_theorem=theorems.SUMS_ADDED_DATASET,
        lower_theorem=theorems.SUMS_ADDED_DATASET,
    )
