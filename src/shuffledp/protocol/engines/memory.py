"""Arrays in memory: a table that is there already."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from shuffledp.errors import ParameterError
from shuffledp.protocol.engines.base import LocalEngine, Settings


class ArrayEngine(LocalEngine):
    """A PyArrow table, or anything with columns that PyArrow takes.

    Parameters
    ----------
    table : pyarrow.Table or mapping of column name to array
        The data.
    """

    def __init__(self, table: object) -> None:
        try:
            self._table: pa.Table = table if isinstance(table, pa.Table) else pa.table(table)
        except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError, ValueError) as error:
            raise ParameterError(f"table: {str(error).splitlines()[0]}") from None

    def rows(self) -> int:
        """How many rows there are."""
        return self._table.num_rows

    def arrays(self, column: str, settings: Settings) -> Iterator[pa.Array]:
        """The column's chunks."""
        del settings
        if column not in self._table.column_names:
            raise ParameterError(
                f"column = {column!r}: wanted one of {', '.join(self._table.column_names[:20])}"
            )
        yield from self._table.column(column).chunks
