"""Columns of values and of reports: what randomizers accept, and how they say no."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from shuffledp.errors import ParameterError, rejected

Array = npt.NDArray[Any]
# Users handled at a time: words of a block fit the processor's cache.
BLOCK = 1 << 16
_CELLS = 1 << 22


class RefusedRows(ParameterError):  # noqa: N818 (what it says is which)
    """Some rows are refused: the message shows the first, ``rows`` says which they are.

    Attributes
    ----------
    rows : ndarray of bool, shape (n,)
        True for a row that is refused.
    """

    def __init__(self, name: str, column: Array, bad: npt.NDArray[np.bool_], wanted: str) -> None:
        first, count = int(np.argmax(bad)), int(np.count_nonzero(bad))
        more = f" ({count:,} of {len(bad):,} are refused)" if count > 1 else ""
        shown = rejected(f"{name}[{first}]", column[first].tolist(), wanted + more)
        super().__init__(str(shown))
        self.rows = bad

    def __reduce__(self) -> tuple[Any, ...]:
        return (ParameterError, self.args)

    def among(self, users: npt.NDArray[np.bool_]) -> RefusedRows:
        """The same, where the rows looked at were those users' among all."""
        self.rows, bad = np.zeros(len(users), dtype=np.bool_), self.rows
        self.rows[np.flatnonzero(users)[bad]] = True
        return self


def blocks(users: int, width: int = 1) -> Iterator[slice]:
    """Slices of users, so that a block of ``width`` numbers for each user takes little memory."""
    step = max(1, min(BLOCK, _CELLS // max(width, 1)))
    for start in range(0, users, step):
        yield slice(start, min(start + step, users))


def smallest_type(count: int) -> np.dtype[Any]:
    """The smallest unsigned integer type that holds 0 .. count-1."""
    return np.min_scalar_type(count - 1)


def whole_values(values: ArrayLike, size: int, *, name: str = "values") -> Array:
    """Values 0 .. size-1 as the smallest unsigned type.

    Any integer type is accepted, and floats that are whole; anything else is refused by its place.

    Raises
    ------
    ParameterError
        Naming the first value refused, and how many there are.
    """
    wanted = f"a whole number from 0 to {size - 1:,}"
    column = _numbers(values, name, wanted)
    if column.dtype.kind == "f":
        good = (column >= 0) & (column <= size - 1) & (column == np.floor(column))
        _refuse(name, column, ~good, wanted)
    elif column.size and not (int(column.min()) >= 0 and int(column.max()) < size):
        _refuse(name, column, (column < 0) | (column > size - 1), wanted)
    return column.astype(smallest_type(size), copy=False)


def real_values(
    values: ArrayLike, low: float, high: float, *, end_points: bool = False, name: str = "values"
) -> npt.NDArray[np.float64]:
    """Finite values in [low, high], or only its end points, as float64.

    Raises
    ------
    ParameterError
        Naming the first value refused, and how many there are.
    """
    wanted = f"{low:g} or {high:g}" if end_points else f"a number from {low:g} to {high:g}"
    column = _numbers(values, name, wanted).astype(np.float64, copy=False)
    good = (column >= low) & (column <= high)
    if end_points:
        good = (column == low) | (column == high)
    _refuse(name, column, ~good, wanted)
    return column


def item_sets(values: ArrayLike, size: int, s: int) -> np.ndarray:
    """Rows of s different items 0 .. size-1, as the smallest unsigned type.

    Raises
    ------
    ParameterError
        Naming the first row refused.
    """
    rows = np.asarray(values)
    if rows.size == 0:
        return whole_values(rows.ravel(), size).reshape(0, s)
    if rows.ndim != 2 or rows.shape[1] != s:
        raise rejected("values shape", rows.shape, f"(n, {s}), {s} items for each user")
    checked = whole_values(rows.ravel(), size, name="values, row by row: ").reshape(rows.shape)
    ordered = np.sort(checked, axis=1)
    bad = np.asarray((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
    if bool(bad.any()):
        first = int(np.argmax(bad))
        raise rejected(f"values[{first}]", checked[first].tolist(), f"{s} different items")
    return checked


def whole_reports(reports: ArrayLike, size: int) -> Array:
    """Reports 0 .. size-1 in any integer type, as they are."""
    wanted = f"a report from 0 to {size - 1:,} in an integer type"
    column = np.asarray(reports)
    if column.ndim != 1:
        raise rejected("reports shape", column.shape, "one report for each user, shape (n,)")
    if column.dtype.kind not in "iu":
        if column.size == 0:
            return column.astype(smallest_type(size))
        raise rejected("reports[0]", column[0], wanted)
    if column.size and not (int(column.min()) >= 0 and int(column.max()) < size):
        _refuse("reports", column, (column < 0) | (column > size - 1), wanted)
    return column


def row_reports(reports: ArrayLike, width: int, size: int) -> Array:
    """Reports of ``width`` numbers 0 .. size-1 each, shape (n, width), any integer type."""
    rows = np.asarray(reports)
    if rows.ndim != 2 or rows.shape[1] != width:
        raise rejected("reports shape", rows.shape, f"(n, {width:,}), one row for each user")
    if rows.dtype.kind not in "iu":
        raise rejected("reports type", str(rows.dtype), "an integer type")
    if rows.size and not (int(rows.min()) >= 0 and int(rows.max()) < size):
        bad = np.asarray(((rows < 0) | (rows > size - 1)).any(axis=1))
        refuse_rows(rows, bad, f"numbers from 0 to {size - 1:,}")
    return rows


def refuse_rows(rows: Array, bad: npt.NDArray[np.bool_], wanted: str) -> None:
    """ParameterError that shows the first bad report, if there is one."""
    if bool(bad.any()):
        raise RefusedRows("reports", rows, bad, wanted)


def packed_reports(reports: ArrayLike, bits: int) -> npt.NDArray[np.uint8]:
    """Reports of this many bits, packed by ``np.packbits``: shape (n, ceil(bits/8)), bytes."""
    width = -(-bits // 8)
    rows = np.asarray(reports)
    if rows.ndim != 2 or rows.shape[1] != width:
        raise rejected("reports shape", rows.shape, f"(n, {width}): {bits:,} bits packed in bytes")
    if rows.dtype != np.uint8:
        raise rejected("reports type", str(rows.dtype), "uint8: bits packed in bytes")
    if bits % 8:
        _refuse(
            "last byte of reports",
            rows[:, -1],
            rows[:, -1] << (bits % 8) & 255 != 0,
            "zeros behind the last bit",
        )
    return rows


def bit_counts(rows: Array, bits: int) -> npt.NDArray[np.int64]:
    """How many of these packed rows have each bit set."""
    counts = np.zeros(bits, dtype=np.int64)
    for users in blocks(len(rows), bits):
        counts += np.unpackbits(rows[users], axis=1, count=bits).sum(axis=0, dtype=np.int64)
    return counts


def _refuse(name: str, column: Array, bad: npt.NDArray[np.bool_], wanted: str) -> None:
    if bool(bad.any()):
        raise RefusedRows(name, column, bad, wanted)


def _numbers(values: ArrayLike, name: str, wanted: str) -> Array:
    """A one-dimensional array of integers or floats; booleans, text and gaps are refused."""
    if isinstance(values, np.ma.MaskedArray):
        gaps = np.ma.getmaskarray(values)
        if bool(gaps.any()):
            raise rejected(f"{name}[{int(np.argmax(gaps))}]", None, wanted)
    if isinstance(values, list | tuple) and not set(map(type, values)) <= {int, float}:
        # NumPy would turn True into 1 beside other numbers.
        return _one_by_one(values, name, wanted)
    column = np.asarray(values)
    if column.ndim != 1:
        raise rejected(f"{name} shape", column.shape, "one value for each user, shape (n,)")
    if column.dtype.kind in "iuf":
        return column
    if column.dtype.kind == "O":
        return _one_by_one(column, name, wanted)
    if column.size == 0:
        return column.astype(np.uint8)
    raise rejected(f"{name}[0]", column[0].item(), wanted)


def _one_by_one(values: Iterable[Any], name: str, wanted: str) -> Array:
    found: list[float] = []
    for place, value in enumerate(values):
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise rejected(f"{name}[{place}]", value, wanted)
        try:
            found.append(float(value))
        except OverflowError:
            raise rejected(f"{name}[{place}]", value, wanted) from None
    return np.array(found)
