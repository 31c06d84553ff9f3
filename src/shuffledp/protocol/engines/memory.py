"""Arrays in memory: a table that is there already."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from shuffledp.errors import ParameterError
from shuffledp.protocol.engines.base import LocalEngine, Settings, in_one, unknown


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

    def arrays(self, names: tuple[str, ...], settings: Settings) -> Iterator[pa.Array]:
        """The columns' rows, batch by batch."""
        del settings
        for name in names:
            if name not in self._table.column_names:
                raise unknown(name, self._table.column_names)
        for batch in self._table.select(list(names)).to_batches():
            yield in_one(batch)
