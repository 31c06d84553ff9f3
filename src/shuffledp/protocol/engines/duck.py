"""DuckDB, embedded: Parquet and CSV files larger than memory, under a memory cap."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from shuffledp.errors import ParameterError
from shuffledp.protocol.engines.base import LocalEngine, Settings, in_one, unknown

_ROWS = 1 << 17
_READERS = {
    ".parquet": "read_parquet(?)",
    ".pq": "read_parquet(?)",
    ".csv": "read_csv(?)",
    ".tsv": "read_csv(?)",
    ".gz": "read_csv(?)",
}


class DuckEngine(LocalEngine):
    """A Parquet or CSV file.

    Parameters
    ----------
    path : path
        The file; its ending says which kind it is.

    Raises
    ------
    ParameterError
        If there is no such file, it is empty, or it cannot be read to its end.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        reader = _READERS.get(self._path.suffix.lower())
        if reader is None:
            raise self._error(f"wanted a file that ends in {', '.join(_READERS)}")
        if not self._path.is_file():
            raise self._error("no such file")
        if self._path.stat().st_size == 0:
            raise self._error("the file is empty")
        self._reader = reader

    def rows(self) -> int:
        """How many rows there are; for CSV about how many, from its size."""
        if "csv" in self._reader:
            return max(self._path.stat().st_size // 2, 1)
        with self._connection(None) as connection:
            return int(self._query(connection, "count(*)").fetchone()[0])

    def columns(self) -> list[str]:
        """Names of the columns."""
        with self._connection(None) as connection:
            return [str(row[0]) for row in self._query(connection, "*", limit=0).description]

    def arrays(self, names: tuple[str, ...], settings: Settings) -> Iterator[pa.Array]:
        """Rows in the order of the file; of several columns as structs."""
        known = self.columns()
        for name in names:
            if name not in known:
                raise unknown(name, known)
        quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
        with self._connection(settings) as connection:
            reader = _record_batches(self._query(connection, quoted))
            while True:
                try:
                    batch = reader.read_next_batch()
                except StopIteration:
                    return
                except (pa.ArrowException, OSError, RuntimeError) as error:
                    raise self._error(_first_line(error)) from None
                yield in_one(batch)

    def _connection(self, settings: Settings | None) -> Any:
        import duckdb

        options: dict[str, Any] = {"preserve_insertion_order": True, "threads": 2}
        if settings is not None:
            options["memory_limit"] = f"{max(settings.memory // 2, 64 << 20) // (1 << 20)}MB"
            if settings.spill is not None:
                options["temp_directory"] = str(settings.spill)
        return duckdb.connect(":memory:", config=options)

    def _query(self, connection: Any, columns: str, *, limit: int | None = None) -> Any:
        import duckdb

        # The reader is one of ours, the column is quoted, the path is a parameter.
        sql = f"SELECT {columns} FROM {self._reader}"  # noqa: S608
        if limit is not None:
            sql += f" LIMIT {limit}"
        try:
            return connection.execute(sql, [str(self._path)])
        except duckdb.Error as error:
            raise self._error(_first_line(error)) from None

    def _error(self, words: str) -> ParameterError:
        return ParameterError(f"input = {str(self._path)!r}: {words}")


def _record_batches(found: Any) -> pa.RecordBatchReader:
    """The result as a stream; the method's name depends on DuckDB's version."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if hasattr(found, "to_arrow_reader"):
            return found.to_arrow_reader(_ROWS)
        return found.fetch_record_batch(_ROWS)


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0]
