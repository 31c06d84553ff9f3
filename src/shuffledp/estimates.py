"""What comes out of reports: mergeable sums, and estimates with their errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from shuffledp import _check
from shuffledp.described import ByContent
from shuffledp.errors import rejected

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
    """

    frequencies: Floats
    standard_errors: Floats
    n: int

    def interval(
        self, *, confidence: float = 0.95, simultaneous: bool = False
    ) -> tuple[Floats, Floats]:
        """Normal intervals, for each item or (Bonferroni) for all of them at once."""
        share = self.frequencies.size if simultaneous else 1
        z = _quantile(confidence, share)
        return self.frequencies - z * self.standard_errors, self.frequencies + z * (
            self.standard_errors
        )


@dataclass(frozen=True, eq=False, repr=False)
class MeanEstimate(ByContent):
    """Unbiased mean with the standard error of the randomizer's noise.

    Attributes
    ----------
    mean : float or ndarray, shape (d,)
        In the units of the input.
    standard_error : float or ndarray, shape (d,)
        Standard deviation over the randomizers' coins (an upper bound where it depends on data).
    n : int
        Users.
    """

    mean: float | Floats
    standard_error: float | Floats
    n: int

    def interval(self, *, confidence: float = 0.95) -> tuple[float | Floats, float | Floats]:
        """Normal interval."""
        z = _quantile(confidence, 1)
        return self.mean - z * self.standard_error, self.mean + z * self.standard_error


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


def _quantile(confidence: float, share: int) -> float:
    level = _check.open_unit("confidence", confidence)
    return -float(ndtri(0.5 * (1.0 - level) / share))
