"""Frequency mechanisms: reports that support items, and the one estimator they share."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from shuffledp import _check
from shuffledp.ball.record import WorstPairs
from shuffledp.errors import NotCertified, rejected
from shuffledp.randomizers.base import Randomizer, Reports
from shuffledp.randomizers.values import whole_values
from shuffledp.statistics.counts import Counts, Step
from shuffledp.statistics.estimates import Aggregate, FrequencyEstimate
from shuffledp.theorems import SYMMETRIC_PAIRS, Theorem

Floats = npt.NDArray[np.floating[Any]]
_SMALLEST_GAP = 1e-150


@dataclass(frozen=True)
class Support:
    """Probability that a report supports an item: p* from its holders, q* from all others.

    Complements and the gap are fields of their own, because 1 - p* and p* - q* lose their bits.

    Attributes
    ----------
    own, own_miss : float
        p* and 1 - p*.
    other, other_miss : float
        q* and 1 - q*.
    gap : float
        p* - q* > 0.
    """

    own: float
    own_miss: float
    other: float
    other_miss: float
    gap: float

    def law(self, counts: Floats, n: int) -> Counts:
        """The law of such counts among n reports: Bin(m, p*) + Bin(n - m, q*) for m holders."""
        users = np.full(counts.shape, float(n))
        own, other = Step(self.own, self.own_miss), Step(self.other, self.other_miss)
        return Counts(counts, users, n, own, other)


# What a set of items, one a user or several, is called in lists of mechanisms.
SETS = "Shares of items, a set a user"


class ItemRandomizer(Randomizer):
    """A mechanism for items 0 .. items-1, whose reports are summed into numbers for each item.

    Subclasses give ``items``, ``_sample``, ``_checked_reports``, ``_supporters`` and the estimator.
    """

    task: ClassVar[str] = "Shares of items, one a user"

    @property
    @abstractmethod
    def items(self) -> int:
        """Number of items: inputs are 0 .. items-1."""

    @abstractmethod
    def _checked_reports(self, reports: ArrayLike) -> np.ndarray:
        """The reports as an array in the message space, or ParameterError."""

    @abstractmethod
    def _supporters(self, reports: np.ndarray, items: np.ndarray | None) -> np.ndarray:
        """How many of the reports support each of the items (None: all of the domain)."""

    def _checked(self, values: ArrayLike) -> np.ndarray:
        return whole_values(values, self.items)

    def aggregate(self, reports: Reports, *, items: ArrayLike | None = None) -> Aggregate:
        """Support counts, which add up over batches of users.

        Parameters
        ----------
        reports : ndarray
            What ``randomize`` returned, or part of it.
        items : array_like of int, optional
            Count for these items only, in this order; all items of the domain otherwise.

        Returns
        -------
        Aggregate
            ``sums`` has one count for each item.
        """
        checked = self._checked_reports(reports)
        chosen = None if items is None else whole_values(items, self.items, name="items")
        return Aggregate(len(checked), self._supporters(checked, chosen).astype(np.float64))


class FrequencyRandomizer(ItemRandomizer):
    """A mechanism whose report supports each item with p* or q*, whichever item of others is held.

    With C the number of n reports that support an item, (C/n - q*)/(p* - q*) is unbiased for its
    frequency f, and its variance over the randomizers' coins is 1/n times
    [f p*(1 - p*) + (1 - f) q*(1 - q*)] / (p* - q*)^2, whatever the other users hold.

    Subclasses give ``items``, ``support``, ``_sample``, ``_checked_reports`` and ``_supporters``.
    """

    @property
    @abstractmethod
    def support(self) -> Support:
        """p* and q*."""

    def estimate(self, data: Reports | Aggregate) -> FrequencyEstimate:
        """Frequencies (C/n - q*)/(p* - q*), with standard errors at the estimated frequencies.

        Raises
        ------
        ParameterError
            If there are no reports.
        """
        sums = data if isinstance(data, Aggregate) else self.aggregate(data)
        n = counted(sums)
        rates = self._usable()
        frequencies = (sums.sums / n - rates.other) / rates.gap
        share = np.clip(frequencies, 0.0, 1.0)
        errors = np.sqrt(self._variances(share) / n)
        return FrequencyEstimate(frequencies, errors, n, rates.law(sums.sums, n))

    def variance(self, frequency: float = 0.0) -> float:
        """[f p*(1 - p*) + (1 - f) q*(1 - q*)] / (p* - q*)^2, per user."""
        self._usable()
        return float(self._variances(_check.real("frequency", frequency, low=0.0, high=1.0)))

    def _variances(self, share: Any) -> Any:
        rates = self.support
        own = rates.own * rates.own_miss / rates.gap / rates.gap
        other = rates.other * rates.other_miss / rates.gap / rates.gap
        return share * own + (1.0 - share) * other

    def _usable(self) -> Support:
        rates = self.support
        usable_gap(self.name, rates.gap)
        return rates


class AlikeItems(FrequencyRandomizer):
    """A mechanism whose law a permutation of the items carries into that of the permuted outputs.

    Subclasses give the theorem that says so of pairs.
    """

    pairs_alike: ClassVar[Theorem] = SYMMETRIC_PAIRS

    @property
    def alike(self) -> int:
        """All items."""
        return self.items

    def worst_pairs(self) -> WorstPairs:
        """(0, 1): all pairs are alike, in both directions."""
        return WorstPairs(((0, 1),), self.pairs_alike)

    def datasets(self) -> tuple[tuple[Any, Any, Any], ...]:
        """All others hold x0, x1 or a third value: by symmetry there is no other case."""
        return tuple((0, 1, x2) for x2 in range(min(self.items, 3)))


def usable_gap(name: str, gap: float) -> float:
    """The gap, or NotCertified where the variance, about 1/gap^2, leaves the range of floats."""
    if not gap >= _SMALLEST_GAP:
        msg = f"{name}: p* - q* = {gap:g} leaves nothing to estimate with"
        raise NotCertified(msg)
    return gap


def counted(sums: Aggregate, shape: tuple[int | None, ...] = (None,)) -> int:
    """Number of users of an aggregate, at least one, with sums of this shape (None: any length)."""
    found = sums.sums.shape
    fits = len(found) == len(shape) and all(
        wanted in {None, size} for size, wanted in zip(found, shape, strict=True)
    )
    if not fits:
        wanted = ", ".join("any" if size is None else str(size) for size in shape)
        raise rejected("shape of the aggregate's sums", found, f"({wanted}), of this mechanism")
    if not sums.count >= 1:
        raise rejected("reports", sums.count, "at least one report")
    return sums.count


def histogram(reports: np.ndarray, size: int) -> np.ndarray:
    """How often each of 0 .. size-1 occurs."""
    if reports.dtype.itemsize == 8:  # bincount takes no unsigned 64-bit integers
        reports = reports.astype(np.int64, copy=False)
    return np.bincount(reports, minlength=size)


def occurrences(reports: np.ndarray, size: int, items: np.ndarray | None) -> np.ndarray:
    """How often each of the items occurs, or each of 0 .. size-1, among reports 0 .. size-1."""
    if items is None:
        return histogram(reports, size)
    kinds, places = np.unique(items, return_inverse=True)
    if kinds.size == 0:
        return np.zeros(0, dtype=np.int64)
    found = np.minimum(np.searchsorted(kinds, reports), kinds.size - 1)
    return np.bincount(found[kinds[found] == reports], minlength=kinds.size)[places]
