"""Tables that are there already: Arrow's, data frames, and columns by their names."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from shuffledp.errors import ParameterError, not_installed
from shuffledp.protocol.engines.base import LocalEngine, Settings, in_one, unknown


class ArrayEngine(LocalEngine):
    """Columns of a table in memory; those that a job does not name are not looked at.

    Parameters
    ----------
    table : pyarrow.Table, data frame or mapping of column name to array
        The data. Frames are whatever narwhals reads: pandas, polars and others.
    """

    def __init__(self, table: object) -> None:
        self._table = table

    def arrays(self, names: tuple[str, ...], settings: Settings) -> Iterator[pa.Array]:
        """The columns' rows, batch by batch."""
        del settings
        chosen = {name: column_of(self._table, name) for name in names}
        try:
            table = pa.table(chosen)
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise ParameterError(f"table: {str(error).splitlines()[0]}") from None
        for batch in table.to_batches():
            yield in_one(batch)


def column_of(data: Any, name: str) -> pa.ChunkedArray:
    """One column of a table of any kind, as Arrow.

    Raises
    ------
    ParameterError
        If the table does not have it once, or it holds more than one kind of value.
    """
    try:
        if isinstance(data, Mapping):
            found: Any = _once(data, name, list(data))
        elif isinstance(data, pa.Table | pa.RecordBatch):
            found = _once(data, name, data.schema.names)
        else:
            found = _of_frame(data, name)
        return pa.table({name: found}).column(0)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        if isinstance(error, ParameterError):
            raise
        # Arrow's own message may quote a value, and messages end up in logs.
        wanted = "wanted one kind of value: text, whole numbers or numbers"
        raise ParameterError(f"column {name!r}: {wanted}") from None


def _once(data: Any, name: str, names: list[Any]) -> Any:
    if names.count(name) != 1:
        raise unknown(name, names)
    return data[name]


def _of_frame(data: Any, name: str) -> Any:
    """The column of a data frame, by narwhals, or by Arrow's own interface where it is enough."""
    if importlib.util.find_spec("narwhals") is None:
        if hasattr(data, "__arrow_c_stream__"):
            table = pa.table(data)
            return _once(table, name, table.schema.names)
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
    if names.count(name) != 1:
        raise unknown(name, names)
    chosen = frame.select(name)
    if isinstance(chosen, nw.LazyFrame):
        chosen = chosen.collect()
    return chosen.to_arrow()[name]
