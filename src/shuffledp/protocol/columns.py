"""A column of a table as inputs of a randomizer: the public domain, and what is not in it."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from shuffledp import _check
from shuffledp.deployment.data import checked_items
from shuffledp.deployment.mechanisms import size_of
from shuffledp.errors import ParameterError, rejected
from shuffledp.protocol.casts import missing, numbers, pc, texts, whole_numbers
from shuffledp.protocol.heavy import PrefixTree, Spelling
from shuffledp.randomizers import Joint
from shuffledp.randomizers.frequency import FrequencyRandomizer

Policy = Literal["refuse", "drop", "category"]
_NULLS = ("refuse", "drop", "category")
_OUTSIDE = ("refuse", "drop", "category", "clip")
NULL_ITEM = "(none)"
OTHER_ITEM = "(other)"
_EVERY_ROW = "a value in every row"
_FOR_TEXT = "text wants a public list of items (domain in [data], --domain FILE), or hashed = true"


@dataclass(frozen=True)
class Encoded:
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

    @property
    def inputs(self) -> np.ndarray:
        """Inputs of the rows that have one, for ``Randomizer.randomize``."""
        return self.values[self.kept]


# Inputs, which rows have no value, which have another one, and what was wanted of those.
_Read = tuple[np.ndarray, np.ndarray, np.ndarray, str]


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
        Missing values: an error, left out (then n, which is public, is smaller, and whether a user
        has a value is not protected), or an item of their own after the domain.
    outside : {"refuse", "drop", "category", "clip"}
        Values outside the domain: the same; "clip" moves real numbers to the nearer end.
    hashed : bool
        An open domain: text that nobody listed. The input is a public hash of it, ``hash_of``, to
        the mechanism's items; the collector estimates whatever text it asks for.
    alphabet, length : str and int, optional
        An open domain too: text of this many letters of the alphabet, for the mechanism of a
        ``PrefixTree``, which finds the most frequent ones. Other text counts as outside.
    show_values : bool
        Name the first value that is refused in the error. Messages end up in logs: by default they
        say the row only.
    """

    name: str
    domain: tuple[str | int, ...] | None = None
    nulls: Literal["refuse", "drop", "category"] = "refuse"
    outside: Literal["refuse", "drop", "category", "clip"] = "refuse"
    hashed: bool = False
    alphabet: str | None = None
    length: int = 0
    show_values: bool = False

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
            object.__setattr__(self, "domain", checked_items("domain", self.domain))
            self._check_own_items()
        elif "category" in (self.nulls, self.outside):
            raise ParameterError("domain is missing: nulls or outside = 'category' wanted items")
        if self.domain is not None and self.outside == "clip":
            raise rejected("outside", "clip", "refuse, drop or category for a column of items")

    def _check_own_items(self) -> None:
        """No item may be called what missing or other values are called."""
        for policy, own in ((self.nulls, NULL_ITEM), (self.outside, OTHER_ITEM)):
            if policy == "category" and own in (self.domain or ()):
                raise rejected("domain", own, "another name: that is what the rest is called")

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
        if self.hashed and not isinstance(randomizer, FrequencyRandomizer):
            raise rejected("randomizer", randomizer.name, "a frequency mechanism, for hashed items")
        if self.items is not None and size is None:
            msg = f"domain: {randomizer.name} is for numbers, wanted no domain"
            raise ParameterError(msg)
        if self.items is not None and size != len(self.items):
            raise rejected(
                "domain", f"{len(self.items)} items", f"{size} for this {randomizer.name}"
            )

    def table(self) -> dict[str, Any]:
        """What reports of it are about, as the table ``data`` of a deployment says it."""
        found = {
            "column": self.name,
            "domain": None if self.items is None else list(self.items),
            "hashed": self.hashed,
            "alphabet": self.alphabet,
            "length": self.length,
        }
        return {key: value for key, value in found.items() if value}

    def encode(
        self, rows: pa.Array | pa.ChunkedArray, randomizer: Any, *, before: int | None = 0
    ) -> Encoded:
        """Inputs of the rows; ParameterError names the first row that is refused.

        ``before``: how many rows of the table come before these; None if nobody knows.
        """
        if isinstance(rows, pa.ChunkedArray):
            rows = rows.combine_chunks()
        if pa.types.is_dictionary(rows.type):
            rows = rows.dictionary_decode()
        if rows.type == pa.string_view():
            rows = rows.cast(pa.large_string())
        values, gone, outside, wanted = self._read(rows, randomizer)
        for policy, bad, words in (
            (self.nulls, gone, _EVERY_ROW),
            (self.outside, outside, wanted),
        ):
            if policy in {"refuse", "clip"} and bool(bad.any()):
                raise self._refusal(rows, bad, words, before)
        own = len(self.domain or ())
        if self.nulls == "category":
            values, gone = np.where(gone, own, values), np.zeros_like(gone)
            own += 1
        if self.outside == "category":
            values, outside = np.where(outside, own, values), np.zeros_like(outside)
        return Encoded(values, gone, outside)

    def _refusal(
        self, rows: pa.Array, bad: np.ndarray, wanted: str, before: int | None
    ) -> ParameterError:
        """Which row is refused and how many are; never its value, unless that is asked for."""
        place, where, among = int(np.argmax(bad)), "a row", f"a batch of {len(rows):,} rows"
        if before is not None:
            where = f"row {before + place + 1:,}"
            among = f"the first {before + len(rows):,} rows"
        what = f"column {self.name!r}, {where}"
        wanted += f" ({int(np.count_nonzero(bad)):,} of {among} are not)"
        if self.show_values:
            return rejected(what, rows[place].as_py(), wanted)
        return ParameterError(f"{what}: wanted {wanted}")

    def _read(self, rows: pa.Array, randomizer: Any) -> _Read:
        if self.domain is not None:
            return self._read_items(rows, self.domain)
        if self.spelling is None and not self.hashed:
            return self._read_numbers(rows, randomizer)
        gone = np.asarray(rows.is_null())
        coded = texts(rows, self.name).fill_null("").dictionary_encode()
        found, places = coded.dictionary.to_pylist(), np.asarray(coded.indices)
        if self.spelling is None:
            codes = hash_of(found, size_of(randomizer) or 1)[places]
            return codes, gone, np.zeros_like(gone), ""
        codes = self.spelling.codes(found)[places]
        tree = PrefixTree.of(randomizer, bits=self.spelling.bits)
        wanted = f"1 to {self.length} letters of the alphabet"
        return tree.inputs(np.maximum(codes, 0)), gone, (codes < 0) & ~gone, wanted

    def _read_items(self, rows: pa.Array, domain: tuple[str | int, ...]) -> _Read:
        read = texts if isinstance(domain[0], str) else whole_numbers
        keys = read(rows, self.name)
        known = pa.array(domain, type=keys.type)
        index = pc.call_function("index_in", [keys], pc.SetLookupOptions(known, skip_nulls=True))
        codes = np.asarray(index.fill_null(-1)).astype(np.int64)
        gone = np.asarray(rows.is_null(nan_is_null=True))
        return codes, gone, (codes == -1) & ~gone, "an item of the domain"

    def _read_numbers(self, rows: pa.Array, randomizer: Any) -> _Read:
        low, high = _limits(randomizer)
        whole = size_of(randomizer) is not None
        given, gone = self.numbers(rows)
        strange = np.isnan(given) & ~gone
        values = np.where(gone | strange, low, given)
        wanted = f"{'a whole number' if whole else 'a number'} from {low:g} to {high:g}"
        if bool(strange.any()) and whole:
            wanted += f"; {_FOR_TEXT}"
        if self.outside == "clip":
            values, outside = np.clip(values, low, high), strange
        else:
            outside = strange | (values < low) | (values > high)
        if whole:
            outside = outside | (values != np.floor(values))
        return values, gone, outside, wanted

    def numbers(self, rows: pa.Array) -> tuple[np.ndarray, np.ndarray]:
        """Real numbers, nan where there is none, and where the value is missing."""
        values = numbers(rows, self.name).fill_null(math.nan)
        return np.asarray(values, dtype=np.float64), missing(rows)


def hash_of(items: Sequence[str], size: int) -> np.ndarray:
    """Text to 0 .. size-1 by BLAKE2b of its UTF-8 bytes, 128 bits modulo the size.

    Whoever asks can compute it; two items collide with probability 1/size.
    """
    found = (hashlib.blake2b(item.encode(), digest_size=16).digest() for item in items)
    return np.array([int.from_bytes(x, "big") % size for x in found], dtype=np.int64)


def _limits(randomizer: Any) -> tuple[float, float]:
    size = size_of(randomizer)
    if size is not None:
        return 0.0, float(size - 1)
    low, high = getattr(randomizer, "low", None), getattr(randomizer, "high", None)
    if low is None or high is None:
        raise ParameterError(f"{randomizer.name}: wanted a mechanism for items or for a number")
    return float(low), float(high)
