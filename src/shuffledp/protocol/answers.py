"""Named numbers with their errors: what any estimate is made into, and rows of the result table."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from shuffledp import _check

Floats = npt.NDArray[np.floating[Any]]


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
    """

    names: tuple[str, ...]
    estimates: Floats
    noise: Floats
    sampling: Floats
    post: Floats
    columns: tuple[str, ...] = ()

    def interval(self, *, confidence: float) -> tuple[Floats, Floats]:
        """Normal intervals for the values among these users, each alone."""
        return self._around(confidence, 1)

    def interval_of_all(self, *, confidence: float) -> tuple[Floats, Floats]:
        """The same for all numbers at once (Bonferroni)."""
        return self._around(confidence, max(len(self.names), 1))

    def _around(self, confidence: float, share: int) -> tuple[Floats, Floats]:
        level = _check.open_unit("confidence", confidence)
        z = -float(ndtri(0.5 * (1.0 - level) / share))
        return self.estimates - z * self.noise, self.estimates + z * self.noise


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
        Interval for the value among these n users, this item alone.
    low_all, high_all : float
        The same for all items at once (Bonferroni).
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
    "post_processed",
)


def rows_of(answer: Answer, *, confidence: float) -> tuple[Row, ...]:
    """Rows of the result table, in the answer's order."""
    ends = (
        *answer.interval(confidence=confidence),
        *answer.interval_of_all(confidence=confidence),
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


def table(rows: Sequence[Row]) -> str:
    """The result as CSV text; with a first column for the attribute where there are several."""
    several = any(row.column for row in rows)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow((*(("column",) * several), *_HEAD))
    for row in rows:
        numbers = (
            row.estimate,
            row.noise_error,
            row.sampling_error,
            row.low,
            row.high,
            row.low_all,
            row.high_all,
            row.post,
        )
        about = (row.column,) * several
        writer.writerow((*about, row.item, *(f"{value:.9g}" for value in numbers)))
    return out.getvalue()
