"""A column of a table as inputs of a randomizer: the public domain, and what is not in it."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shuffledp import _check
from shuffledp.errors import ParameterError, rejected
from shuffledp.protocol.heavy import PrefixTree, Spelling
from shuffledp.randomizers import Hierarchy, Joint
from shuffledp.randomizers.frequency import ItemRandomizer

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


@dataclass(frozen=True)
class Placed:
    """Every row's input, and which rows have one.

    Attributes
    ----------
    values : ndarray, shape (m,)
        Inputs; where there is none, anything.
    nulls, outside : ndarray of bool, shape (m,)
        Rows that a policy leaves out.
    """

    values: np.ndarray
    nulls: np.ndarray
    outside: np.ndarray

    @property
    def kept(self) -> np.ndarray:
        """Rows with an input."""
        return ~(self.nulls | self.outside)


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
    hashed : bool
        An open domain: text that nobody listed. The input is a public hash of it, ``hash_of``, to
        the mechanism's items; the collector estimates whatever text it asks for.
    alphabet, length : str and int, optional
        An open domain too: text of so many letters of the alphabet, for the mechanism of a
        ``PrefixTree``, which finds the most frequent ones. Other text counts as outside.
    """

    name: str
    domain: tuple[str | int, ...] | None = None
    nulls: Literal["refuse", "drop", "category"] = "refuse"
    outside: Literal["refuse", "drop", "category", "clip"] = "refuse"
    hashed: bool = False
    alphabet: str | None = None
    length: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise rejected("column", self.name, "the name of a column")
        _check.choice("nulls", self.nulls, _NULLS)
        _check.choice("outside", self.outside, _OUTSIDE)
        if self.hashed and (self.domain is not None or self.outside != "refuse"):
            raise rejected("hashed", self.hashed, "no domain and no policy for what is outside it")
        if self.alphabet is not None:
            self._check_spelling()
        elif self.length:
            raise ParameterError(f"length = {self.length!r}: wanted an alphabet too")
        if self.domain is not None:
            object.__setattr__(self, "domain", _domain(self.domain))
        elif "category" in (self.nulls, self.outside):
            raise ParameterError("domain is missing: nulls or outside = 'category' wanted items")
        if self.domain is not None and self.outside == "clip":
            raise rejected("outside", "clip", "refuse, drop or category for a column of items")

    def _check_spelling(self) -> None:
        if self.domain is not None or self.hashed or self.outside not in {"refuse", "drop"}:
            raise rejected("alphabet", self.alphabet, "no domain, not hashed, outside not clipped")
        Spelling(str(self.alphabet), self.length)

    @property
    def spelling(self) -> Spelling | None:
        """How text is spelled, where there is an alphabet."""
        return None if self.alphabet is None else Spelling(self.alphabet, self.length)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the table that are read: this one."""
        return (self.name,)

    @property
    def items(self) -> tuple[str | int, ...] | None:
        """All items a report can be about, with those for missing and other values."""
        if self.domain is None:
            return None
        extra = [NULL_ITEM] * (self.nulls == "category") + [OTHER_ITEM] * (
            self.outside == "category"
        )
        return (*self.domain, *extra)

    def check(self, randomizer: Any) -> None:
        """ParameterError unless the mechanism is for as many items as there are."""
        if isinstance(randomizer, Joint):
            count = len(randomizer.randomizers)
            raise rejected("column", self.name, f"{count} columns for this {randomizer.name}")
        if self.spelling is not None:
            PrefixTree.of(randomizer, bits=self.spelling.bits)
            return
        size = size_of(randomizer)
        if self.hashed and not isinstance(randomizer, ItemRandomizer):
            raise rejected("randomizer", randomizer.name, "a frequency mechanism, for hashed items")
        if self.items is not None and size is None:
            msg = f"domain: {randomizer.name} is for numbers, wanted no domain"
            raise ParameterError(msg)
        if self.items is not None and size != len(self.items):
            raise rejected(
                "domain", f"{len(self.items)} items", f"{size} for this {randomizer.name}"
            )

    def about(self) -> dict[str, Any]:
        """What the numbers are about, for the metadata of a report file."""
        found: dict[str, Any] = {"items": None if self.items is None else list(self.items)}
        if self.alphabet is not None:
            found |= {"alphabet": self.alphabet, "length": self.length}
        return found | ({"hashed": True} if self.hashed else {})

    def encode(self, rows: pa.Array | pa.ChunkedArray, randomizer: Any) -> Encoded:
        """Inputs of the rows; ParameterError names the first value that is refused."""
        found = self.place(rows, randomizer)
        nulls, outside = (int(np.count_nonzero(x)) for x in (found.nulls, found.outside))
        return Encoded(found.values[found.kept], nulls, outside)

    def place(self, rows: pa.Array | pa.ChunkedArray, randomizer: Any) -> Placed:
        """The same row by row, none left out."""
        if isinstance(rows, pa.ChunkedArray):
            rows = rows.combine_chunks()
        if pa.types.is_dictionary(rows.type):
            rows = rows.dictionary_decode()
        if self.domain is not None:
            return self._place_items(rows)
        if self.hashed:
            return self._place_hashed(rows, size_of(randomizer) or 1)
        if self.spelling is not None:
            return self._place_spelled(rows, self.spelling, randomizer)
        return self._place_numbers(rows, randomizer)

    def _place_items(self, rows: pa.Array) -> Placed:
        domain = self.domain or ()
        keys = _as_keys(self.name, rows, domain)
        known = pa.array(domain, type=keys.type)
        index = pc.call_function("index_in", [keys], pc.SetLookupOptions(known, skip_nulls=True))
        codes = np.asarray(index.fill_null(-1)).astype(np.int64)
        missing = np.asarray(rows.is_null(nan_is_null=True))
        other = (codes == -1) & ~missing
        codes, nulls = self._policy(codes, missing, "nulls", None, len(domain))
        place = len(domain) + (self.nulls == "category")
        first = rows[int(np.argmax(other))].as_py() if bool(other.any()) else None
        codes, outside = self._policy(codes, other, "outside", first, place)
        return Placed(codes, nulls, outside)

    def _place_spelled(self, rows: pa.Array, spelling: Spelling, randomizer: Any) -> Placed:
        text, missing = self._text(rows)
        coded = text.dictionary_encode()
        codes = spelling.codes(coded.dictionary.to_pylist())[np.asarray(coded.indices)]
        other = (codes < 0) & ~missing
        if bool(other.any()) and self.outside == "refuse":
            wanted = f"1 to {self.length} letters of the alphabet ({int(other.sum()):,} are not)"
            raise rejected(f"column {self.name!r}", rows[int(np.argmax(other))].as_py(), wanted)
        tree = PrefixTree.of(randomizer, bits=spelling.bits)
        return Placed(tree.inputs(np.maximum(codes, 0)), missing, other)

    def _text(self, rows: pa.Array) -> tuple[pa.Array, np.ndarray]:
        """Text, empty where it is missing, and where that is."""
        text = _as_keys(self.name, rows, ("",))
        missing = np.asarray(rows.is_null())
        count = int(np.count_nonzero(missing))
        if count and self.nulls == "refuse":
            raise rejected(
                f"column {self.name!r}", None, f"a value in every row ({count:,} have none)"
            )
        return text.fill_null(""), missing

    def _place_hashed(self, rows: pa.Array, size: int) -> Placed:
        text, missing = self._text(rows)
        coded = text.dictionary_encode()
        codes = hash_of(coded.dictionary.to_pylist(), size)[np.asarray(coded.indices)]
        return Placed(codes, missing, np.zeros_like(missing))

    def _policy(
        self, codes: np.ndarray, bad: np.ndarray, which: str, first: Any, place: int
    ) -> tuple[np.ndarray, np.ndarray]:
        count = int(np.count_nonzero(bad))
        policy = getattr(self, which)
        if count and policy == "refuse":
            wanted = "an item of the domain" if which == "outside" else "a value in every row"
            raise rejected(f"column {self.name!r}", first, f"{wanted} ({count:,} rows are not)")
        if policy == "category":
            return np.where(bad, place, codes), np.zeros_like(bad)
        return codes, bad

    def _place_numbers(self, rows: pa.Array, randomizer: Any) -> Placed:
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
        low, high = _limits(randomizer)
        values = np.where(missing, low, values)
        outside = (values < low) | (values > high)
        count = int(np.count_nonzero(outside))
        if self.outside == "clip":
            return Placed(np.clip(values, low, high), missing, np.zeros_like(outside))
        if count and self.outside == "refuse":
            first = float(values[outside][0])
            raise rejected(
                f"column {self.name!r}", first, f"{low:g} to {high:g} ({count:,} rows are not)"
            )
        return Placed(values, missing, outside)


def hash_of(items: Sequence[str], size: int) -> np.ndarray:
    """Text to 0 .. size-1 by BLAKE2b of its UTF-8 bytes, 128 bits modulo the size.

    Whoever asks can compute it; two items collide with probability 1/size.
    """
    found = (hashlib.blake2b(item.encode(), digest_size=16).digest() for item in items)
    return np.array([int.from_bytes(x, "big") % size for x in found], dtype=np.int64)


def size_of(randomizer: Any) -> int | None:
    """Number of items of a mechanism for items 0 .. k-1; None for others."""
    if isinstance(randomizer, Hierarchy):
        return randomizer.domain
    return getattr(randomizer, "items", None)


def _limits(randomizer: Any) -> tuple[float, float]:
    size = size_of(randomizer)
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
