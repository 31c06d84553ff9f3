"""Declared casts: values that are stored as something else than what they are matched as."""

from __future__ import annotations

import re
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute

from shuffledp.errors import ParameterError, rejected

Kind = Literal["text", "integer", "number"]
# Its functions are made when it is imported, where type checkers do not see them.
pc: Any = pyarrow.compute
TYPES = ("text", "integer", "number")
TEXT, WHOLE, REAL = TYPES
# Decimal notation, as people and programs write it; what pyarrow reads beside it (hexadecimal,
# "infinity") is no number here.
_DECIMAL = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_DIGITS = r"^[+-]?[0-9]{1,18}$"
# Ticks of a second, by the units of Arrow's times.
_TICKS = {"s": 1.0, "ms": 1e3, "us": 1e6}


def cast(rows: pa.Array, kind: Kind | None, name: str) -> pa.Array:
    """The rows as text, whole numbers or numbers; null where a text is none.

    Parameters
    ----------
    rows : Array
        Values as they are stored.
    kind : {"text", "integer", "number"} or None
        What to make of them; None: they stay.
    name : str
        The column, for messages.

    Raises
    ------
    ParameterError
        If values of this type have no one spelling, or are no numbers.

    Notes
    -----
    Dates and times as numbers are seconds since 1970, in UTC where the column has a zone.
    """
    stored = rows.type
    text = is_text(stored)
    if kind is None or pa.types.is_null(stored):
        return rows
    if kind == TEXT:
        return rows if text else _spelled(rows, name)
    if text:
        return _parsed(rows, whole=kind == WHOLE)
    if pa.types.is_boolean(stored):
        return rows.cast(pa.int64())
    if pa.types.is_date32(stored):
        return pc.multiply(rows.cast(pa.int32()).cast(pa.float64()), 86_400.0)
    if pa.types.is_timestamp(stored) or pa.types.is_date64(stored):
        unit = getattr(stored, "unit", "ms")
        if unit == "ns":  # more digits than a float has
            rows, unit = pc.floor_temporal(rows, unit="microsecond"), "us"
            rows = rows.cast(pa.timestamp(unit, tz=stored.tz))
        return pc.divide(rows.cast(pa.int64()).cast(pa.float64()), _TICKS[unit])
    if pa.types.is_integer(stored) or pa.types.is_floating(stored) or pa.types.is_decimal(stored):
        return rows.cast(pa.float64()) if pa.types.is_decimal(stored) else rows
    raise ParameterError(f"column {name!r}: type = {kind!r}: {stored} cannot be read as that")


def domain_as(domain: Any, kind: Kind | None) -> tuple[Any, ...]:
    """The items of a domain, of the type that is declared."""
    items = tuple(domain)
    if kind == REAL:
        raise rejected("type", kind, "text or integer for a column with a domain")
    if kind == TEXT:
        return tuple(str(item) if type(item) is int else item for item in items)
    if kind == WHOLE:
        return tuple(_whole(place, item) for place, item in enumerate(items, start=1))
    return items


def _whole(place: int, item: Any) -> Any:
    if isinstance(item, str):
        if re.fullmatch(_DIGITS, item.strip()) is None:
            raise rejected("domain", item, f"whole numbers, as type = 'integer' (item {place:,})")
        return int(item)
    return item


def _spelled(rows: pa.Array, name: str) -> pa.Array:
    """Whole numbers, booleans and dates as text, and times as ISO 8601 to the second."""
    kind = rows.type
    if pa.types.is_timestamp(kind):
        # As the clock of the column's zone shows it; of a part of a second nothing is said.
        local = rows if kind.tz is None else pc.local_timestamp(rows)
        whole = pc.floor_temporal(local, unit="second").cast(pa.timestamp("s"))
        return pc.strftime(whole, "%Y-%m-%dT%H:%M:%S")
    if pa.types.is_boolean(kind):
        return pc.if_else(rows, "true", "false")
    if pa.types.is_integer(kind) or pa.types.is_date32(kind):
        return rows.cast(pa.string())
    if pa.types.is_date64(kind):
        return rows.cast(pa.date32()).cast(pa.string())
    raise ParameterError(
        f"column {name!r}: type = 'text': {kind} can be written in more than one way; "
        "wanted whole numbers, booleans, dates or times"
    )


def _parsed(rows: pa.Array, *, whole: bool) -> pa.Array:
    text = pc.utf8_trim_whitespace(rows)
    if whole:
        digits = pc.match_substring_regex(text, _DIGITS)
        if pc.all(digits, min_count=0).as_py():
            return text.cast(pa.int64()) if not _signed(text) else _real(text).cast(pa.int64())
    return _real(text)


def _signed(text: pa.Array) -> bool:
    """Whether a number begins with +, which pyarrow does not read."""
    return bool(pc.any(pc.starts_with(text, "+"), min_count=0).as_py())


def _real(text: pa.Array) -> pa.Array:
    good = pc.match_substring_regex(text, _DECIMAL)
    plain = pc.utf8_ltrim(pc.if_else(good, text, None), "+")
    return plain.cast(pa.float64())


def is_text(kind: pa.DataType) -> bool:
    """Whether a column of this type holds text."""
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def is_number(kind: pa.DataType) -> bool:
    """Whether a column of this type holds numbers."""
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def in_words(kind: pa.DataType) -> str:
    """What a column of this type holds, for messages."""
    return "text" if is_text(kind) else str(kind)


def as_int64(rows: pa.Array) -> pa.Array:
    """Whole numbers that fit; larger ones are in no domain."""
    if rows.type == pa.uint64():
        fits = pc.less_equal(rows, pa.scalar(2**63 - 1, pa.uint64()))
        rows = pc.if_else(fits, rows, pa.scalar(None, pa.uint64()))
    return rows.cast(pa.int64())


def spelled_nan(rows: pa.Array) -> np.ndarray:
    """Where a number that is none was written out as text."""
    same = pc.equal(pc.utf8_lower(pc.utf8_trim_whitespace(rows)), "nan")
    return np.asarray(same.fill_null(fill_value=False)).astype(bool)
