"""Categories of reports of which nothing is known: single outputs, or cells between quantiles.

They are made from the reports that choose the event, and written to files as what they are made of.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shuffledp.audit.tables import floats, table_of
from shuffledp.audit.words import one_line
from shuffledp.errors import rejected

Labels = npt.NDArray[np.integer]

# Outputs that are told apart: a category of its own each; of numbers cells between quantiles.
MOST_CATEGORIES = 512
SINGLE, QUANTILE, TEXT = "outputs", "quantiles", "texts"


@dataclass(frozen=True)
class Categories:
    """Which category a report is in.

    Attributes
    ----------
    kind : {"outputs", "quantiles", "texts"}
        Single numbers; cells of the line; anything else by how it is written.
    marks : tuple
        The numbers, the cells' ends, or the texts. What is none of them is the last category.
    """

    kind: str
    marks: tuple[Any, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Of each category."""
        if self.kind == QUANTILE:
            shown = [f"{e:.6g}" for e in self.marks]
            inner = [f"({a}, {b}]" for a, b in itertools.pairwise(shown)]
            return (f"up to {shown[0]}", *inner, f"above {shown[-1]}", "no finite number")
        return (*(f"output {one_line(str(k))}" for k in self.marks), "any other output")

    @property
    def of(self) -> Callable[[Any], Labels]:
        """Reports -> the category of each."""
        if self.kind == TEXT:
            places = {key: place for place, key in enumerate(self.marks)}
            return lambda rows: np.array(
                [places.get(key, len(places)) for key in _texts(rows)], dtype=np.int64
            )
        marks = np.array(self.marks)
        put = _among if self.kind == SINGLE else _between
        last = len(self.names) - 1

        def of(rows: Any) -> Labels:
            # A call that answers with something else than numbers gives none of the outputs.
            numbers = rows.ndim == 1 and rows.dtype.kind in "iuf"
            return put(marks, rows) if numbers else np.full(len(rows), last)

        return of

    def to_dict(self) -> dict[str, Any]:
        """For files."""
        return {"kind": self.kind, "marks": list(self.marks)}


def categories_from_dict(table: Any) -> Categories:
    """Categories of a file."""
    given = table_of("unknown.tally.categories", table, ("kind", "marks"))
    kind, marks = given["kind"], given["marks"]
    if kind not in (SINGLE, QUANTILE, TEXT) or not isinstance(marks, list) or not marks:
        raise rejected("unknown.tally.categories", kind, f"{SINGLE}, {QUANTILE} or {TEXT}")
    if kind == TEXT:
        if len({str(m) for m in marks}) < len(marks):
            raise rejected("unknown.tally.categories", "marks", "different texts")
    elif bool((np.diff(floats("unknown.tally.categories", marks)) <= 0.0).any()):
        raise rejected("unknown.tally.categories", "marks", "numbers that grow")
    return Categories(kind, tuple(marks))


def categories_of(reports: Any) -> Categories:
    """Categories for reports like these."""
    if reports.ndim == 1 and reports.dtype.kind in "iuf":
        finite = reports[np.isfinite(reports)] if reports.dtype.kind == "f" else reports
        kinds = np.unique(finite)
        if kinds.size == 0:
            return Categories(TEXT, tuple(sorted(set(_texts(reports)))))
        if kinds.size <= MOST_CATEGORIES:
            return Categories(SINGLE, tuple(kinds.tolist()))
        return Categories(QUANTILE, _quantiles(finite))
    keys, counts = np.unique(_texts(reports), return_counts=True)
    chosen = keys[np.argsort(-counts, kind="stable")[:MOST_CATEGORIES]].tolist()
    return Categories(TEXT, tuple(chosen))


def concatenated(calls: list[Any]) -> Any:
    """Reports of several calls as one array; as texts where they are of different kinds."""
    if len({(rows.ndim, rows.shape[1:], rows.dtype.kind in "iuf") for rows in calls}) == 1:
        return np.concatenate(calls)
    return np.array([text for rows in calls for text in _texts(rows)])


def _texts(rows: Any) -> list[str]:
    """Reports as they would be written: equal texts are equal reports."""
    return [str(row) for row in np.asarray(rows).tolist()]


def _among(kinds: Any, rows: Any) -> Labels:
    place = np.minimum(np.searchsorted(kinds, rows), kinds.size - 1)
    return np.where(kinds[place] == rows, place, kinds.size)


def _between(marks: Any, rows: Any) -> Labels:
    finite = np.isfinite(rows)
    return np.where(finite, np.searchsorted(marks, rows, side="left"), marks.size + 1)


def _quantiles(finite: Any) -> tuple[float, ...]:
    tails = np.geomspace(30.0 / finite.size, 0.02, 24)
    levels = np.unique(np.concatenate([tails, np.linspace(0.02, 0.98, 97), 1.0 - tails]))
    return tuple(np.unique(np.quantile(finite, np.clip(levels, 0.0, 1.0))).tolist())
