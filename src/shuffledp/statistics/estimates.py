"""What comes out of reports: mergeable sums, and estimates with their errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from shuffledp import _check
from shuffledp import _special as special
from shuffledp.errors import rejected
from shuffledp.values.described import ByContent

Floats = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False, repr=False)
class Aggregate(ByContent):
    """Sums over reports; those of disjoint batches of users add up.

    Attributes
    ----------
    count : int
        Users (reports) summed over.
    sums : ndarray
        What the mechanism sums: support counts for each item, or sums of powers of reports.
    """

    count: int
    sums: Floats

    def __add__(self, other: Aggregate) -> Aggregate:
        if self.sums.shape != other.sums.shape:
            raise rejected("aggregate", other.sums.shape, f"sums of shape {self.sums.shape}")
        return Aggregate(self.count + other.count, self.sums + other.sums)


class Law(Protocol):
    """What is known of the law of the noise, beyond its standard deviation."""

    @property
    def noise(self) -> float:
        """Smallest number of counts that the noise is made of; inf where it is not of counts."""
        ...

    def ends(self, tail: float) -> tuple[Floats, Floats]:
        """Limits that the truth is beyond with at most this probability, on each side."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class FrequencyEstimate(ByContent):
    """Unbiased frequencies of the items, with standard errors of the randomizer's noise.

    Attributes
    ----------
    frequencies : ndarray, shape (k,)
        Unbiased, so they may be below 0 or above 1.
    standard_errors : ndarray, shape (k,)
        Standard deviation over the randomizers' coins, the users' data being fixed.
    n : int
        Users.
    law : Law, optional
        The exact law of the noise, where it is known.
    """

    frequencies: Floats
    standard_errors: Floats
    n: int
    law: Law | None = None

    def interval(
        self, *, confidence: float = 0.95, simultaneous: bool = False
    ) -> tuple[Floats, Floats]:
        """Intervals for each item, or (Bonferroni) for all of them at once.

        From the exact law of the counts where it is known: then they hold the truth with at least
        the confidence, however small the counts; else normal ones.
        """
        share = self.frequencies.size if simultaneous else 1
        return two_sided(
            self.frequencies, self.standard_errors, self.law, confidence=confidence, share=share
        )


@dataclass(frozen=True, eq=False, repr=False)
class MeanEstimate(ByContent):
    """Unbiased mean with the standard error of the randomizer's noise.

    Attributes
    ----------
    mean : float or ndarray, shape (d,)
        In the units of the input.
    standard_error : float or ndarray, shape (d,)
        Standard deviation over the randomizers' coins (an upper bound where it depends on more of
        the data than the reports tell).
    n : int
        Users.
    law : Law, optional
        The law of the noise, where more is known of it.
    """

    mean: float | Floats
    standard_error: float | Floats
    n: int
    law: Law | None = None

    def interval(self, *, confidence: float = 0.95) -> tuple[float | Floats, float | Floats]:
        """From the law of the noise where it is known (then never too short), else normal."""
        mean, error = np.asarray(self.mean), np.asarray(self.standard_error)
        low, high = two_sided(mean, error, self.law, confidence=confidence, share=1)
        if np.ndim(self.mean) == 0:
            return float(low), float(high)
        return low, high


@dataclass(frozen=True, eq=False, repr=False)
class PartsEstimate(ByContent):
    """Estimates of every attribute, in order.

    Attributes
    ----------
    parts : tuple of FrequencyEstimate, MeanEstimate or PartsEstimate
        One for each attribute.
    n : int
        Users.
    """

    parts: tuple[FrequencyEstimate | MeanEstimate | PartsEstimate, ...]
    n: int


AnyEstimate = FrequencyEstimate | MeanEstimate | PartsEstimate


@dataclass(frozen=True, eq=False, repr=False)
class PartsAggregate(Aggregate):
    """Sums of every part of the reports; ``sums`` has them one after another.

    Attributes
    ----------
    parts : tuple of Aggregate
        One for each part; for ``Parallel`` of the reports that part made.
    """

    parts: tuple[Aggregate, ...] = ()

    def __add__(self, other: Aggregate) -> PartsAggregate:
        parts = parts_of(other, len(self.parts))
        both = [x + y for x, y in zip(self.parts, parts, strict=True)]
        return joined(self.count + other.count, both)


def joined(count: int, parts: Sequence[Aggregate]) -> PartsAggregate:
    """Sums of all parts."""
    flat = [np.ravel(part.sums) for part in parts]
    return PartsAggregate(count, np.concatenate(flat), tuple(parts))


def parts_of(data: Aggregate, count: int) -> tuple[Aggregate, ...]:
    """The sums of each part, from what ``joined`` made."""
    if not isinstance(data, PartsAggregate) or len(data.parts) != count:
        raise rejected("aggregate", type(data).__name__, f"sums of {count} parts")
    return data.parts


def two_sided(
    estimates: Floats, errors: Floats, law: Law | None, *, confidence: float, share: int
) -> tuple[Floats, Floats]:
    """Intervals that miss to either side with probability (1 - confidence)/(2 share)."""
    level = _check.open_unit("confidence", confidence)
    return limits(estimates, errors, law, tail=0.5 * (1.0 - level) / share)


def limits(
    estimates: Floats, errors: Floats, law: Law | None, *, tail: float
) -> tuple[Floats, Floats]:
    """Limits that the truth is beyond with this probability, on each side; normal without a law.

    Limits by a law are of what can be, [0, 1] for frequencies; they are moved to the estimate where
    that is beyond.
    """
    if law is None:
        z = -float(special.ndtri(tail))
        return estimates - z * errors, estimates + z * errors
    low, high = (np.reshape(end, estimates.shape) for end in law.ends(tail))
    return np.minimum(low, estimates), np.maximum(high, estimates)
