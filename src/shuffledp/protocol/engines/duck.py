"""DuckDB, embedded: one Parquet or CSV file, or any query, under a memory cap."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from shuffledp.errors import ParameterError
from shuffledp.protocol.engines.base import LocalEngine, Settings, in_one, unknown

_ROWS = 1 << 17
_PARQUET = "read_parquet({}, hive_partitioning=false)"
_CSV = "read_csv({}, hive_partitioning=false)"
_READERS = {".parquet": _PARQUET, ".pq": _PARQUET, ".csv": _CSV, ".tsv": _CSV, ".gz": _CSV}


class DuckEngine(LocalEngine):
    """A Parquet or CSV file, by DuckDB's readers; values of CSV have the types that it guesses.

    ``FileEngine`` is what the command line uses: it guesses nothing.

    Parameters
    ----------
    path : path
        The file, as it is called: never a pattern. Its ending says which kind it is.

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
            return int(self._query(connection, "count(*)").fetchall()[0][0])

    def columns(self) -> list[str]:
        """Names of the columns."""
        with self._connection(None) as connection:
            return [str(name) for name in self._query(connection, "*").columns]

    def arrays(self, names: tuple[str, ...], settings: Settings) -> Iterator[pa.Array]:
        """Rows in the order of the file; of several columns as structs."""
        known = self.columns()
        for name in names:
            if name not in known:
                raise unknown(name, known)
        quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
        with self._connection(settings) as connection:
            # Held by a name: a reader that outlives its relation reads freed memory (DuckDB 1.3).
            relation = self._query(connection, quoted)
            try:
                reader = _record_batches(relation)
            except _errors() as error:
                raise self._unreadable(error) from None
            while True:
                try:
                    batch = reader.read_next_batch()
                except StopIteration:
                    return
                except _errors() as error:
                    raise self._unreadable(error) from None
                yield in_one(batch)

    def _connection(self, settings: Settings | None) -> Any:
        import duckdb

        options: dict[str, Any] = {"preserve_insertion_order": True, "threads": 2}
        if settings is not None:
            options["memory_limit"] = f"{max(settings.memory // 2, 64 << 20) // (1 << 20)}MB"
            if settings.spill is not None:
                options["temp_directory"] = str(settings.spill)
        return duckdb.connect(":memory:", config=options)

    def _query(self, connection: Any, columns: str) -> Any:
        # The reader is one of ours; columns and the path are quoted. A parameter would make
        # DuckDB 1 hold the whole result.
        path = _as_it_is(self._path).replace("'", "''")
        sql = f"SELECT {columns} FROM " + self._reader.format(f"'{path}'")  # noqa: S608
        try:
            return connection.sql(sql)
        except _errors() as error:
            raise self._unreadable(error) from None

    def _unreadable(self, error: BaseException) -> ParameterError:
        """Where it fails; DuckDB's words go on to quote the row, which nobody else should read."""
        place = re.search(r"[Ll]ine:?\s+([0-9]+)", str(error))
        if "csv" in self._reader:
            where = "" if place is None else f", line {int(place[1]):,}"
            return self._error(f"not a whole CSV file{where}: fields, quotes or types do not fit")
        return self._error((str(error).splitlines() or [type(error).__name__])[0])

    def _error(self, words: str) -> ParameterError:
        return ParameterError(f"input = {str(self._path)!r}: {words}")


def _errors() -> tuple[type[Exception], ...]:
    """What comes out of a query, at once or while it is read."""
    import duckdb

    return (duckdb.Error, pa.ArrowException, OSError, RuntimeError, ValueError)


def _as_it_is(path: Path) -> str:
    """A pattern that only this name matches; from the root, so that it is no address either."""
    return re.sub(r"([*?\[])", r"[\1]", str(path.absolute()))


def _record_batches(relation: Any) -> pa.RecordBatchReader:
    """The relation as a stream; the method's name depends on DuckDB's version.

    Of a relation: what a connection executes is held whole by DuckDB 2.
    """
    if hasattr(relation, "to_arrow_reader"):
        return relation.to_arrow_reader(_ROWS)
    return relation.fetch_arrow_reader(_ROWS)
