"""DuckDB, embedded: Parquet, CSV and JSON lines of any size under a memory cap.

Values of CSV and JSON lines are text, and are read as what is wanted of them: nothing is guessed
from the rows. An empty field of CSV, null and a name that a line of JSON does
not have are missing values. DuckDB's own words on what it refuses quote the row, which is
somebody's data: none of them are passed on, only the number of the line.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from shuffledp.errors import ParameterError, not_installed, unreadable
from shuffledp.protocol.engines.base import LocalEngine, Settings, in_one, unknown
from shuffledp.protocol.engines.csv_text import TextFormat, WrongFile, names_in, not_among

Kind = Literal["CSV", "JSON lines", "Parquet"]
_KINDS: dict[str, Kind] = {
    ".parquet": "Parquet", ".pq": "Parquet", ".csv": "CSV", ".tsv": "CSV", ".txt": "CSV",
    ".jsonl": "JSON lines", ".ndjson": "JSON lines",
}  # fmt: skip
_COMPRESSED = (".gz", ".zst")
ENDINGS = (*_KINDS, *(f"{text}{end}" for text in (".csv", ".jsonl") for end in _COMPRESSED))
# Rows at a time: two blocks of a job; a few megabytes of any column.
_ROWS = 1 << 17
# Bytes of CSV that DuckDB reads at a time in each of two threads; a row has to fit in a quarter.
_BUFFER = 8 << 20
# What DuckDB says of a line of CSV, and what of that is said here: never more than numbers.
_FAULTS = (
    (r"Expected Number of Columns: (\d+) Found: (\d+)", "it has {1} fields, the first line {0}"),
    ("[Uu]nicode|not utf-8|not latin-1", "it is in another encoding (data.csv.encoding)"),
    ("quote", "a quote is not closed, or text follows a closing quote"),
    ("[Mm]aximum line size", "it is longer than {limit} MB: a quote that is not closed?"),
)


class DuckEngine(LocalEngine):
    """One file, all files of one kind in a folder, or all that match a pattern.

    Parameters
    ----------
    path : path
        The file, as it is called, whatever characters are in its name; or a folder: all files of
        these kinds in it and below, by name, but for names that begin with a dot or an underscore.
        Names of folders are no columns. Where nothing has that very name, all files that match it
        as a pattern (``*``, ``?``, ``[...]``, ``**``).
    text : TextFormat, optional
        How CSV files are written.

    Attributes
    ----------
    files : tuple of Path
        What is read, in this order.

    Raises
    ------
    ParameterError
        If there is no such file, it is empty, or it cannot be read to its end.
    """

    def __init__(self, path: str | Path, *, text: TextFormat | None = None) -> None:
        try:
            import duckdb  # noqa: F401 (said before any work)
        except ModuleNotFoundError:
            raise ParameterError(not_installed("reading files", ["duckdb"], "run")) from None
        self._given, self._text = str(path), text or TextFormat()
        self.files = self._found(Path(path))
        kinds: list[Kind] = [self._kind_of(file) for file in self.files]
        if len({*kinds}) > 1:
            found = " and ".join(sorted({*kinds}))
            raise self._error(f"{found} files, wanted one kind; name them by a pattern")
        self._kind: Kind = kinds[0]

    def arrays(self, names: tuple[str, ...], settings: Settings) -> Iterator[pa.Array]:
        """Rows in the order of the files; of several columns as structs."""
        types: list[pa.DataType] | None = None
        for file in self.files:
            for batch in self._batches(file, names, settings):
                found = [column.type for column in batch.columns]
                if types is not None and found != types:
                    before, now = (", ".join(map(str, kinds)) for kinds in (types, found))
                    raise self._error(f"holds {now}, the files before it {before}", file)
                types = found
                yield in_one(batch)

    def _batches(
        self, file: Path, names: tuple[str, ...], settings: Settings
    ) -> Iterator[pa.RecordBatch]:
        import duckdb

        options: dict[str, Any] = {
            "preserve_insertion_order": True,
            "threads": 2,
            "memory_limit": f"{max(settings.memory // 2, 64 << 20) >> 20}MB",
            # Values are written nowhere, and nothing is fetched to read them.
            "temp_directory": "",
            "autoinstall_known_extensions": False,
        }
        # What comes out of a query, at once or while it is read.
        errors = (duckdb.Error, pa.ArrowException, OSError, RuntimeError, ValueError)
        try:
            query = self._query(file, names)
            with duckdb.connect(":memory:", config=options) as connection:
                if self._kind == "JSON lines":
                    self._check_lines(connection, query, names)
                # Held by a name: a reader that outlives its relation reads freed memory.
                relation = connection.sql(query)
                yield from _streamed(relation)
        except WrongFile as wrong:
            raise self._error(str(wrong), file) from None
        except errors as error:
            if isinstance(error, ParameterError):
                raise
            raise self._unreadable(error, file) from None

    # -------------------------------------------------------------------------------- queries

    def _query(self, file: Path, names: tuple[str, ...]) -> str:
        """What reads these columns, in SQL. A parameter would make DuckDB hold all of it."""
        path, codec = _literal(_as_it_is(file)), _codec_of(file)
        if self._kind == "JSON lines":
            wanted = ", ".join(f"{_quoted(name)}: 'VARCHAR'" for name in names)
            return (
                f"SELECT {', '.join(map(_quoted, names))} FROM read_json({path}, "  # noqa: S608
                f"columns={{{wanted}}}, format='newline_delimited', records=true, "
                f"auto_detect=false, compression='{codec or 'none'}')"
            )
        if self._kind == "Parquet":
            known = _parquet_names(file)
            self._check_names(file, known, names)
            # By place, here and below: to DuckDB names that differ in nothing but case are one.
            chosen = ", ".join(f"#{known.index(name) + 1} AS {_quoted(name)}" for name in names)
            return f"SELECT {chosen} FROM read_parquet({path}, hive_partitioning=false)"  # noqa: S608
        delimiter = self._delimiter(file)
        known = names_in(file, self._text, delimiter, compression=codec)
        self._check_names(file, known, names)
        chosen = ", ".join(f"c{known.index(name)} AS {_quoted(name)}" for name in names)
        columns = ", ".join(f"'c{place}': 'VARCHAR'" for place in range(len(known)))
        return (
            f"SELECT {chosen} FROM read_csv({path}, columns={{{columns}}}, auto_detect=false, "  # noqa: S608
            f"header={str(self._text.header).lower()}, delim={_literal(delimiter)}, "
            f"quote='\"', escape='\"', nullstr='', strict_mode=true, null_padding=false, "
            f"ignore_errors=false, encoding='{self._text.engine_name}', buffer_size={_BUFFER}, "
            f"max_line_size={_BUFFER // 4}, compression='{codec or 'none'}', "
            "hive_partitioning=false)"
        )

    def _check_lines(self, connection: Any, query: str, names: tuple[str, ...]) -> None:
        """A line may leave out what is missing: one of them has to have the name, though."""
        for name in names:
            column = _quoted(name)
            some = f"SELECT 1 FROM ({query}) WHERE {column} IS NOT NULL LIMIT 1"  # noqa: S608
            if not connection.sql(some).fetchall():
                words = "wanted a name under which some line has a value"
                raise ParameterError(f"column = {name!r}: {words}")

    def _check_names(self, file: Path, known: list[str], names: tuple[str, ...]) -> None:
        for name in names:
            if known.count(name) > 1:
                raise self._error(f"column {name!r} is there {known.count(name)} times", file)
            if name not in known:
                if self._kind == "Parquet":
                    raise unknown(name, known)
                raise not_among(name, known, header=self._text.header)

    def _delimiter(self, file: Path) -> str:
        tabs = ".tsv" in map(str.lower, file.suffixes)
        return self._text.delimiter or ("\t" if tabs else ",")

    # ---------------------------------------------------------------------------- which files

    def _found(self, path: Path) -> tuple[Path, ...]:
        pattern = glob.has_magic(str(path)) and not os.path.lexists(path)
        if pattern:
            found = sorted(Path(name) for name in glob.glob(str(path), recursive=True))  # noqa: PTH207
            files = tuple(file for file in found if file.is_file())
        elif path.is_dir():
            files = tuple(
                file
                for file in sorted(path.rglob("*"))
                if file.is_file()
                and not any(part[0] in "._" for part in file.relative_to(path).parts)
                and _ending(file) is not None
            )
        else:
            files = (path,)
        if not files:
            where = "no file matches" if pattern else "no such file in this folder"
            raise self._error(f"{where}: wanted files that end in {', '.join(ENDINGS)}")
        return files

    def _kind_of(self, file: Path) -> Kind:
        """What kind a file is of; ParameterError unless it is there, and is not empty."""
        kind = _ending(file)
        try:
            if not file.exists():
                raise self._error("no such file")
            if not file.is_file():
                raise self._error("not an ordinary file")
            if kind is None:
                raise self._error(f"wanted a file that ends in {', '.join(ENDINGS)}", file)
            with file.open("rb") as raw:
                if not raw.read(1):
                    raise self._error("the file is empty", file)
        except (OSError, ValueError) as error:
            if isinstance(error, ParameterError):
                raise
            raise self._error(unreadable(error)) from None
        return kind

    # --------------------------------------------------------------------------------- errors

    def _unreadable(self, error: BaseException, file: Path) -> ParameterError:
        """Where it fails, and why as far as numbers say it."""
        if isinstance(error, OSError) and error.strerror:
            return self._error(unreadable(error), file)
        said = str(error)
        place = re.search(r"[Ll]ine:?\s+([0-9]+)", said)
        where = "" if place is None or self._kind == "Parquet" else f", line {int(place[1]):,}"
        why = ""
        for fault, words in _FAULTS if self._kind == "CSV" else ():
            if found := re.search(fault, said):
                why = ": " + words.format(*found.groups(), limit=_BUFFER >> 22)
                break
        return self._error(f"not a whole file of {self._kind}{where}{why}", file)

    def _error(self, words: str, file: Path | None = None) -> ParameterError:
        where = f"input = {self._given!r}"
        if file is not None and str(file) != self._given:
            where += f", file {str(file)!r}"
        return ParameterError(f"{where}: {words}")


def _ending(file: Path) -> Kind | None:
    end = file.suffix.lower()
    if end in _COMPRESSED:
        kind = _KINDS.get(Path(file.stem).suffix.lower())
        return None if kind == "Parquet" else kind
    return _KINDS.get(end)


def _codec_of(file: Path) -> str | None:
    return {".gz": "gzip", ".zst": "zstd"}.get(file.suffix.lower())


def _parquet_names(file: Path) -> list[str]:
    """Names of the columns, as they are written: DuckDB renames those that are there twice."""
    with file.open("rb") as raw:
        return [str(name) for name in pq.read_schema(raw).names]


def _as_it_is(path: Path) -> str:
    """A pattern that only this name matches; from the root, so that it is no address either."""
    return re.sub(r"([*?\[])", r"[\1]", str(path.absolute()))


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _streamed(relation: Any) -> Iterator[pa.RecordBatch]:
    """The relation's rows; the method's name depends on DuckDB's version.

    Of a relation: what a connection executes is held whole by DuckDB 2.
    """
    if hasattr(relation, "to_arrow_reader"):
        yield from relation.to_arrow_reader(_ROWS)
    else:
        yield from relation.fetch_arrow_reader(_ROWS)
