"""A column of a table as inputs of a randomizer: the public domain, and what is not in it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shuffledp import _check
from shuffledp.errors import ParameterError, rejected
from shuffledp.randomizers import Randomizer

Policy = Literal["refuse", "drop", "category"]
_NULLS = ("refuse", "drop", "category")
_OUTSIDE = ("refuse", "drop", "category", "clip")
NULL_ITEM = "(none)"
OTHER_ITEM = "(other)"
_MOST_ITEMS = 100_000_000


@dataclass(frozen=True)
class Encoded:
    """Inputs of a batch, and how many rows gave none.

    Attributes
    ----------
    values : ndarray, shape (m,)
        Inputs for ``Randomizer.randomize``.
    nulls, outside : int
        Rows left out by the column's policies.
    """

    values: np.ndarray
    nulls: int
    outside: int


@dataclass(frozen=True, kw_only=True)
class Column:
    """Which column, its public domain, and what happens to values that are not in it.

    Parameters
    ----------
    name : str
        Column of the table.
    domain : sequence, optional
        Items in order, for mechanisms on items: text or whole numbers. It has to be public: a
        domain read off the data would tell who is in them. None where the column holds the numbers
        0 .. k-1 themselves, or real numbers.
    nulls : {"refuse", "drop", "category"}
        Missing values: an error, left out (then who has one is visible to nobody, but n is
        smaller), or an item of their own after the domain.
    outside : {"refuse", "drop", "category", "clip"}
        Values outside the domain: the same; "clip" moves real numbers to the nearer end.
    """

    name: str
    domain: tuple[str | int, ...] | None = None
    nulls: Literal["refuse", "drop", "category"] = "refuse"
    outside: Literal["refuse", "drop", "category", "clip"] = "refuse"

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise rejected("column", self.name, "the name of a column")
        _check.choice("nulls", self.nulls, _NULLS)
        _check.choice("outside", self.outside, _OUTSIDE)
        if self.domain is not None:
            object.__setattr__(self, "domain", _domain(self.domain))
        elif "category" in (self.nulls, self.outside):
            raise ParameterError("domain is missing: nulls or outside = 'category' wanted items")
        if self.domain is not None and self.outside == "clip":
            raise rejected("outside", "clip", "refuse, drop or category for a column of items")

    @property
    def items(self) -> tuple[str | int, ...] | None:
        """All items a report can be about, with those for missing and other values."""
        if self.domain is None:
            return None
        extra = [NULL_ITEM] * (self.nulls == "category") + [OTHER_ITEM] * (
            self.outside == "category"
        )
        return (*self.domain, *extra)

    def check(self, randomizer: Randomizer) -> None:
        """ParameterError unless the randomizer is for as many items as there are."""
        size = getattr(randomizer, "items", None)
        if self.items is not None and size is None:
            msg = f"domain: {randomizer.name} is for numbers, wanted no domain"
            raise ParameterError(msg)
        if self.items is not None and size != len(self.items):
            raise rejected(
                "domain", f"{len(self.items)} items", f"{size} for this {randomizer.name}"
            )

    def encode(self, rows: pa.Array | pa.ChunkedArray, randomizer: Randomizer) -> Encoded:
        """Inputs of the rows; ParameterError names the first value that is refused."""
        if isinstance(rows, pa.ChunkedArray):
            rows = rows.combine_chunks()
        if pa.types.is_dictionary(rows.type):
            rows = rows.dictionary_decode()
        if self.domain is not None:
            return self._encode_items(rows)
        return self._encode_numbers(rows, randomizer)

    def _encode_items(self, rows: pa.Array) -> Encoded:
        domain = self.domain or ()
        keys = _as_keys(self.name, rows, domain)
        known = pa.array(domain, type=keys.type)
        index = pc.call_function("index_in", [keys], pc.SetLookupOptions(known, skip_nulls=True))
        codes = np.asarray(index.fill_null(-1)).astype(np.int64)
        missing = np.asarray(rows.is_null(nan_is_null=True))
        codes, nulls = self._policy(codes, missing, "nulls", None, len(domain))
        other = (codes == -1) & ~missing
        place = len(domain) + (self.nulls == "category")
        first = rows[int(np.argmax(other))].as_py() if bool(other.any()) else None
        codes, outside = self._policy(codes, other, "outside", first, place)
        return Encoded(codes[codes >= 0], nulls, outside)

    def _policy(
        self, codes: np.ndarray, bad: np.ndarray, which: str, first: Any, place: int
    ) -> tuple[np.ndarray, int]:
        count = int(np.count_nonzero(bad))
        policy = getattr(self, which)
        if count and policy == "refuse":
            wanted = "an item of the domain" if which == "outside" else "a value in every row"
            raise rejected(f"column {self.name!r}", first, f"{wanted} ({count:,} rows are not)")
        if policy == "category":
            return np.where(bad, place, codes), 0
        return codes, count

    def _encode_numbers(self, rows: pa.Array, randomizer: Randomizer) -> Encoded:
        if not (pa.types.is_integer(rows.type) or pa.types.is_floating(rows.type)) and not (
            pa.types.is_decimal(rows.type) or pa.types.is_null(rows.type)
        ):
            first = rows.drop_null()[0].as_py() if len(rows) > rows.null_count else None
            raise rejected(f"column {self.name!r}", first, f"numbers, found {rows.type}")
        values = np.asarray(rows.cast(pa.float64()).fill_null(math.nan), dtype=np.float64)
        missing = np.isnan(values)
        nulls = int(np.count_nonzero(missing))
        if nulls and self.nulls == "refuse":
            raise rejected(
                f"column {self.name!r}", None, f"a value in every row ({nulls:,} have none)"
            )
        values = values[~missing]
        low, high = _limits(randomizer)
        outside = (values < low) | (values > high)
        count = int(np.count_nonzero(outside))
        if self.outside == "clip":
            return Encoded(np.clip(values, low, high), nulls, 0)
        if count and self.outside == "refuse":
            first = float(values[outside][0])
            raise rejected(
                f"column {self.name!r}", first, f"{low:g} to {high:g} ({count:,} rows are not)"
            )
        return Encoded(values[~outside], nulls, count)


def _limits(randomizer: Randomizer) -> tuple[float, float]:
    size = getattr(randomizer, "items", None)
    if size is not None:
        return 0.0, float(size - 1)
    low, high = getattr(randomizer, "low", None), getattr(randomizer, "high", None)
    if low is None or high is None:
        raise ParameterError(f"{randomizer.name}: wanted a mechanism for items or for a number")
    return float(low), float(high)


def _domain(items: Sequence[Any]) -> tuple[str | int, ...]:
    found = tuple(items)
    if not 2 <= len(found) <= _MOST_ITEMS:
        raise rejected("domain", f"{len(found)} items", f"2 to {_MOST_ITEMS:,} items")
    kinds = {type(item) for item in found}
    if kinds not in ({str}, {int}):
        raise rejected("domain", found[0], "all text or all whole numbers")
    if len(set(found)) != len(found):
        twice = next(item for item in found if found.count(item) > 1)
        raise rejected("domain", twice, "every item once")
    return found


def _as_keys(name: str, rows: pa.Array, domain: tuple[str | int, ...]) -> pa.Array:
    """The rows in the type of the domain: text, or whole numbers."""
    if pa.types.is_null(rows.type):
        return rows.cast(pa.string() if isinstance(domain[0], str) else pa.int64())
    if isinstance(domain[0], str):
        if pa.types.is_string(rows.type) or pa.types.is_large_string(rows.type):
            return rows.cast(pa.large_string())
        first = rows.drop_null()[0].as_py() if len(rows) > rows.null_count else None
        raise rejected(f"column {name!r}", first, f"text like the domain's, found {rows.type}")
    if pa.types.is_integer(rows.type):
        return rows.cast(pa.int64())
    if pa.types.is_floating(rows.type):
        values = np.asarray(rows.fill_null(math.nan), dtype=np.float64)
        whole = np.isfinite(values) & (values == np.floor(values)) & (np.abs(values) < 2.0**53)
        return pa.array(np.where(whole, values, 0.0).astype(np.int64), mask=~whole)
    first = rows.drop_null()[0].as_py() if len(rows) > rows.null_count else None
    raise rejected(f"column {name!r}", first, f"whole numbers like the domain's, found {rows.type}")
