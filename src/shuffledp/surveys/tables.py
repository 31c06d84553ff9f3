"""Columns of tables of every kind, as Arrow; the rest of the data is not looked at."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from shuffledp import _check
from shuffledp.errors import ParameterError, not_installed, rejected


def items_of(domain: Any) -> tuple[Any, ...]:
    """The domain's items as Python's own text and numbers, in their order."""
    if isinstance(domain, str | bytes | set | frozenset | Mapping):
        raise rejected("domain", domain, "a list of items in order")
    for name in ("tolist", "to_list", "to_pylist"):
        if hasattr(domain, name):
            domain = getattr(domain, name)()
            break
    try:
        return tuple(getattr(item, "item", lambda item=item: item)() for item in domain)
    except TypeError:
        raise rejected("domain", domain, "a list of items in order") from None


def table_of(data: Any, column: str) -> Any:
    """One column as an Arrow table; the rest of the data is not looked at."""
    import pyarrow as pa

    try:
        if isinstance(data, Mapping):
            found: Any = _named(data, column, list(data))
        elif isinstance(data, pa.Table | pa.RecordBatch):
            found = _named(data, column, data.schema.names)
        else:
            found = _from_frame(data, column)
        return pa.table({column: found})
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        if isinstance(error, ParameterError):
            raise
        # Arrow's own message may quote a value, and messages end up in logs.
        wanted = "wanted one kind of value: text, whole numbers or numbers"
        raise ParameterError(f"column {column!r}: {wanted}") from None


def _named(data: Any, column: str, names: list[Any]) -> Any:
    if names.count(column) != 1:
        there = ", ".join(str(name) for name in names[:20])
        raise rejected("column", column, f"one of {there}" if there else "a table with columns")
    return data[column]


def _from_frame(data: Any, column: str) -> Any:
    """The column of a data frame, by narwhals, or by Arrow's own interface where it is enough."""
    import pyarrow as pa

    if importlib.util.find_spec("narwhals") is None:
        if hasattr(data, "__arrow_c_stream__"):
            table = pa.table(data)
            return _named(table, column, table.schema.names)
        raise ParameterError(not_installed("a data frame", ["narwhals"], "notebook"))
    import narwhals as nw

    try:
        frame = nw.from_native(data, pass_through=True)
    except nw.exceptions.DuplicateError:
        raise ParameterError("data: wanted every column under a name of its own") from None
    if not isinstance(frame, nw.DataFrame | nw.LazyFrame):
        kind = type(data).__name__
        raise ParameterError(f"data is a {kind}: wanted a data frame, or columns by their names")
    names = list(frame.collect_schema().names())
    if names.count(column) != 1:
        _named(None, column, names)
    chosen = frame.select(column)
    if isinstance(chosen, nw.LazyFrame):
        chosen = chosen.collect()
    return chosen.to_arrow()[column]


# ------------------------------------------------------------------------------------- ranges


def ranges_of(ranges: Any) -> tuple[tuple[float, ...], tuple[tuple[int, int], ...]]:
    """Ends of all ranges in order, and each range as the pieces between them that it is made of.

    Parameters
    ----------
    ranges : iterable of (low, high)
        Shares of low <= value < high are asked for; they may overlap and leave gaps.

    Returns
    -------
    tuple of float, tuple of (int, int)
        Ends, and for each range its first piece and the one after its last.
    """
    wanted = "pairs (low, high) of finite numbers with low < high"
    if isinstance(ranges, str | bytes | Mapping) or not isinstance(ranges, Iterable):
        raise rejected("ranges", ranges, wanted)
    pairs = []
    for one in ranges:
        try:
            low, high = one
        except (TypeError, ValueError):
            raise rejected("ranges", one, wanted) from None
        low, high = (_check.real("ranges", end) for end in (low, high))
        if not low < high:
            raise rejected("ranges", (low, high), wanted)
        pairs.append((low, high))
    ends = tuple(sorted({end for pair in pairs for end in pair}))
    if len(ends) < 3:
        raise rejected("ranges", pairs, "two ranges at least, as the others' share is the rest")
    if len(set(pairs)) != len(pairs):
        raise rejected("ranges", pairs, "every range once")
    return ends, tuple((ends.index(low), ends.index(high)) for low, high in pairs)


def in_pieces(table: Any, column: Any, ends: tuple[float, ...]) -> Any:
    """The table with the number of the piece that a value lies in: -1 below all, above one more.

    A value is in a piece from its lower end on; its upper end is the next one's.

    Parameters
    ----------
    table : pyarrow.Table
        With this column.
    column : protocol.Column
        How its values are read.
    ends : tuple of float, (pieces + 1,)
        In order.
    """
    import pyarrow as pa

    values, missing = column.numbers(table[column.name].combine_chunks(), whole=False)
    strange = np.isnan(values) & ~missing
    places = np.searchsorted(ends, np.where(np.isnan(values), ends[0], values), side="right") - 1.0
    places[strange] = np.nan
    other = (strange | (places < 0) | (places >= len(ends) - 1)) & ~missing
    if column.outside == "refuse" and bool(other.any()):
        count, first = int(np.count_nonzero(other)), int(np.argmax(other)) + 1
        wanted = f"a number from {ends[0]:g} to below {ends[-1]:g}"
        told = f"({count:,} of {len(values):,} rows are not)"
        raise ParameterError(f"column {column.name!r}, row {first:,}: wanted {wanted} {told}")
    return pa.table({column.name: pa.array(places, mask=missing)})
