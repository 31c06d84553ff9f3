"""Named numbers with their errors: what any estimate is made into, and rows of the result table."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shuffledp.statistics.estimates import Law, limits, two_sided

Floats = npt.NDArray[np.floating[Any]]
# Below this many counts a Poisson law has a skewness above 1/sqrt(20) = 0.22: a normal interval of
# 95 % then misses to one side twice as often as to the other.
FEW_COUNTS = 20.0
# Significant digits of the table, more where an error would be lost in them; those of a float.
_DIGITS, _MOST_DIGITS = 9, 15


@dataclass(frozen=True)
class Answer:
    """Estimates, each with a name.

    Attributes
    ----------
    names : tuple of str
        What each number is about.
    estimates : ndarray, shape (K,)
        Unbiased.
    noise : ndarray, shape (K,)
        Standard errors over the randomizers' coins, the data being fixed.
    sampling : ndarray, shape (K,)
        Standard errors of drawing these users from a larger population.
    post : ndarray, shape (K,)
        After post-processing; the estimates where there is none.
    columns : tuple of str
        The attribute of each number where there are several, else empty.
    law : Law, optional
        The law of the noise, where it is known.
    fewest : float
        The smallest number of counts that the noise of a number without a known law is made of.
    """

    names: tuple[str, ...]
    estimates: Floats
    noise: Floats
    sampling: Floats
    post: Floats
    columns: tuple[str, ...] = ()
    law: Law | None = None
    fewest: float = math.inf

    def interval(self, *, confidence: float) -> tuple[Floats, Floats]:
        """Intervals for the values among these users, each alone: by the law, else normal."""
        return self._around(confidence, 1)

    def interval_of_all(self, *, confidence: float) -> tuple[Floats, Floats]:
        """The same for all numbers at once (Bonferroni)."""
        return self._around(confidence, max(len(self.names), 1))

    def interval_of_population(self, *, confidence: float) -> tuple[Floats, Floats]:
        """Intervals for the population of which these users are a random sample, each alone.

        Its distance from the estimate is that of ``interval`` and that of a normal interval of the
        sampling, in quadrature (Zou and Donner 2008).
        """
        drawn = two_sided(0.0 * self.sampling, self.sampling, None, confidence=confidence, share=1)
        low, high = (
            np.hypot(end - self.estimates, reach)
            for end, reach in zip(self.interval(confidence=confidence), drawn, strict=True)
        )
        return self.estimates - low, self.estimates + high

    def _around(self, confidence: float, share: int) -> tuple[Floats, Floats]:
        return two_sided(self.estimates, self.noise, self.law, confidence=confidence, share=share)

    def notes(self) -> tuple[str, ...]:
        """What to know where the noise is of few counts, a line each."""
        known = math.inf if self.law is None else self.law.noise
        if min(self.fewest, known) >= FEW_COUNTS:
            return ()
        normal = self.fewest < FEW_COUNTS
        counts = self.fewest if normal else known
        what = f"the noise of a number is of about {counts:.2g} counts, below {FEW_COUNTS:g}: "
        if normal:
            what += "it is skewed, and normal intervals hold the truth less often than stated"
        else:
            what += "it is skewed; use the intervals, which allow for that, not standard errors"
        return (what,)


@dataclass(frozen=True)
class Beside:
    """The laws of several answers, one after the other; normal where one has none."""

    answers: tuple[Answer, ...]

    @property
    def noise(self) -> float:
        """The smallest of those that are known."""
        return min((one.law.noise for one in self.answers if one.law is not None), default=math.inf)

    def ends(self, tail: float) -> tuple[Floats, Floats]:
        """Limits of all of them."""
        found = [limits(one.estimates, one.noise, one.law, tail=tail) for one in self.answers]
        low, high = zip(*found, strict=True)
        return np.concatenate(low), np.concatenate(high)


@dataclass(frozen=True)
class Row:
    """One estimated number.

    Attributes
    ----------
    item : str
        What it is about: an item, a range, or "mean".
    estimate : float
        Unbiased.
    noise_error, sampling_error : float
        Standard errors: of the randomizers' coins with the data fixed, and of drawing n users from
        a larger population.
    low, high : float
        Interval for the value among these n users, this item alone: exact limits where the law of
        the noise is known, else normal.
    low_all, high_all : float
        The same for all items at once (Bonferroni).
    population_low, population_high : float
        Interval for the population of which these users are a random sample, this item alone.
    post : float
        After post-processing (the estimate itself if there is none).
    column : str
        The attribute, where there are several.
    """

    item: str
    estimate: float
    noise_error: float
    sampling_error: float
    low: float
    high: float
    low_all: float
    high_all: float
    population_low: float
    population_high: float
    post: float
    column: str = ""


_HEAD = (
    "item",
    "estimate",
    "noise_standard_error",
    "sampling_standard_error",
    "low",
    "high",
    "low_all",
    "high_all",
    "population_low",
    "population_high",
    "post_processed",
)


def rows_of(answer: Answer, *, confidence: float) -> tuple[Row, ...]:
    """Rows of the result table, in the answer's order."""
    ends = (
        *answer.interval(confidence=confidence),
        *answer.interval_of_all(confidence=confidence),
        *answer.interval_of_population(confidence=confidence),
    )
    columns = (answer.estimates, answer.noise, answer.sampling, *ends, answer.post)
    numbers = np.stack(columns, axis=1)
    about = answer.columns or ("",) * len(answer.names)
    return tuple(
        Row(name, *map(float, row), column=column)
        for name, row, column in zip(answer.names, numbers, about, strict=True)
    )


def largest_rows(rows: Sequence[Row], count: int) -> tuple[Row, ...]:
    """The rows of the largest estimates, largest first."""
    return tuple(sorted(rows, key=lambda row: -row.estimate)[:count])


def digits_of(row: Row, *, least: int) -> int:
    """Significant digits in which its interval can be written: a tenth of the error, or finer.

    Parameters
    ----------
    row : Row
        Means of large numbers (years, times of day in seconds) have small errors.
    least : int
        The least number of digits; a float has at most 17.
    """
    largest = max(abs(row.low_all), abs(row.high_all))
    if not (row.noise_error > 0.0 and 0.0 < largest < math.inf):
        return least
    finer = math.ceil(math.log10(largest) - math.log10(row.noise_error)) + 2
    return min(max(least, finer), _MOST_DIGITS)


def table(rows: Sequence[Row]) -> str:
    """The result as CSV text; with a first column for the attribute where there are several."""
    several = any(row.column for row in rows)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow((*(("column",) * several), *_HEAD))
    for row in rows:
        about = (row.column,) * several
        digits = digits_of(row, least=_DIGITS)
        writer.writerow(
            (*about, row.item, *(f"{value:.{digits}g}" for value in astuple(row)[1:-1]))
        )
    return out.getvalue()
