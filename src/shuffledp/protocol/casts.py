"""Values as they are stored -> text, whole numbers or numbers, whichever is wanted of a column.

A value has one spelling: whole numbers in decimal digits, booleans as "true" and "false", dates and
times by ISO 8601, times to the second as the clock of their zone shows them. As numbers booleans
are 0 and 1, and dates and times are seconds since 1970 (UTC where the column has a zone).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute

from shuffledp.errors import ParameterError

# Its functions are made when it is imported, where type checkers do not see them.
pc: Any = pyarrow.compute
# Decimal notation, as people and programs write it; what pyarrow reads beside it (hexadecimal,
# "infinity") is no number here.
_DECIMAL = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_DIGITS = r"^[+-]?[0-9]{1,18}$"
# Whole numbers above this are not all floats.
_EXACT = 2.0**53


def texts(rows: pa.Array, name: str) -> pa.Array:
    """The rows' spelling; ParameterError names the column where it has values without one."""
    kind = rows.type
    if pa.types.is_timestamp(kind):
        rows = pc.floor_temporal(rows, unit="second").cast(pa.timestamp("s", tz=kind.tz))
        rows = pc.strftime(rows, "%Y-%m-%dT%H:%M:%S")
    elif pa.types.is_boolean(kind):
        rows = pc.if_else(rows, "true", "false")
    elif pa.types.is_date64(kind):
        rows = rows.cast(pa.date32())
    elif not (
        _is_text(kind)
        or pa.types.is_null(kind)
        or pa.types.is_integer(kind)
        or pa.types.is_date32(kind)
    ):
        words = f"wanted text, and it holds {kind}, which can be written in more than one way"
        raise ParameterError(f"column {name!r}: {words}")
    return rows.cast(pa.large_string())


def whole_numbers(rows: pa.Array, name: str) -> pa.Array:
    """64-bit whole numbers, null where a value is none or is larger."""
    if rows.type == pa.uint64():
        fits = pc.less_equal(rows, pa.scalar(2**63 - 1, pa.uint64()))
        rows = pc.if_else(fits, rows, pa.scalar(None, pa.uint64()))
    if pa.types.is_integer(rows.type):
        return rows.cast(pa.int64())
    if not _is_text(rows.type):
        return _integral(numbers(rows, name))
    text = pc.utf8_trim_whitespace(rows)
    digits = pc.match_substring_regex(text, _DIGITS)
    found = pc.utf8_ltrim(pc.if_else(digits, text, None), "+").cast(pa.int64())
    if pc.all(digits, min_count=0).as_py():
        return found
    return pc.coalesce(found, _integral(numbers(rows, name)))


def numbers(rows: pa.Array, name: str) -> pa.Array:
    """Floats; null where a text is no number."""
    kind = rows.type
    if _is_text(kind):
        text = pc.utf8_trim_whitespace(rows)
        good = pc.match_substring_regex(text, _DECIMAL)
        rows = pc.utf8_ltrim(pc.if_else(good, text, None), "+")
    elif pa.types.is_boolean(kind):
        rows = rows.cast(pa.int8())
    elif pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        # Nanoseconds have more digits than a float.
        ticks = rows.cast(pa.timestamp("us", tz=getattr(kind, "tz", None)), safe=False)
        return pc.divide(ticks.cast(pa.int64()).cast(pa.float64()), 1e6)
    elif not (
        pa.types.is_null(kind)
        or pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
    ):
        raise ParameterError(f"column {name!r}: wanted numbers, and it holds {kind}")
    return rows.cast(pa.float64())


def missing(rows: pa.Array) -> np.ndarray:
    """Rows without a value; NaN is none, nor is it where it is written out."""
    found = np.asarray(rows.is_null(nan_is_null=True))
    if _is_text(rows.type):
        same = pc.equal(pc.utf8_lower(pc.utf8_trim_whitespace(rows)), "nan")
        found = found | np.asarray(same.fill_null(fill_value=False)).astype(bool)
    return found


def _integral(values: pa.Array) -> pa.Array:
    """Floats that are whole numbers; null for others."""
    found = np.asarray(values.fill_null(np.nan), dtype=np.float64)
    good = np.isfinite(found) & (found == np.floor(found)) & (np.abs(found) < _EXACT)
    return pa.array(np.where(good, found, 0.0).astype(np.int64), mask=~good)


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)
