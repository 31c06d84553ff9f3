"""Files larger than memory, by batches: Parquet, Arrow, CSV, JSON lines; a path is no pattern."""

from __future__ import annotations

import contextlib
import glob
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from shuffledp.errors import ParameterError, unreadable
from shuffledp.protocol.engines import arrow, json_lines
from shuffledp.protocol.engines.base import LocalEngine, Settings, in_one
from shuffledp.protocol.engines.csv_text import (
    DAMAGED,
    ROWS,
    CsvText,
    Stream,
    TextFormat,
    unknown_in_header,
)
from shuffledp.protocol.engines.json_lines import JsonLines

# Bytes of a column of Parquet that are read ahead, whatever the size of its row group.
_READ_AHEAD = 1 << 20
_MOST_NAMES = 20

Kind = Literal["csv", "parquet", "arrow", "json"]
_PARQUET = (".parquet", ".pq")
_TEXT_ENDINGS = {".csv": ",", ".tsv": "\t", ".txt": ","}
_COMPRESSED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
ENDINGS = (
    *(*_PARQUET, *arrow.ENDINGS, ".csv", ".tsv", *json_lines.ENDINGS),
    *(f"{text}{ending}" for ending in _COMPRESSED for text in (".csv", ".jsonl")),
)
_WORDS: dict[Kind, str] = {
    "arrow": "Arrow", "csv": "CSV", "json": "JSON lines", "parquet": "Parquet",
}  # fmt: skip


class FileEngine(LocalEngine):
    """One file, all files of one kind in a folder, or all that match a pattern.

    Parquet, Arrow, CSV or JSON lines. Values of CSV and JSON lines are text, and are read as what
    is wanted of them (``Column.of_text``); an empty field of CSV, null and a name that a line of
    JSON does not have are missing values. Names of folders are no columns.

    Parameters
    ----------
    path : path
        The file, as it is called, whatever characters are in its name; or a folder: all files of
        one of these kinds in it and below, by name, but for names that begin with a dot or
        an underscore.
    pattern : bool
        Read ``path`` as a pattern (``*``, ``?``, ``[...]``, ``**``) in place of a name.
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

    def __init__(
        self, path: str | Path, *, pattern: bool = False, text: TextFormat | None = None
    ) -> None:
        self._given, self._text = str(path), text or TextFormat()
        self._argument = "input-glob" if pattern else "input"
        self.files = self._found(Path(path), pattern=pattern)
        self._kind: Kind = self._one_kind()
        for file in self.files:
            if file.stat().st_size == 0:
                raise self._error("the file is empty", file)

    @property
    def untyped(self) -> bool:
        """Whether all values are text: CSV and JSON lines."""
        return self._kind in {"csv", "json"}

    def rows(self) -> int:
        """How many rows there are; for text about how many, from its size."""
        if self.untyped:
            return max(sum(file.stat().st_size for file in self.files) // 2, 1)
        total = 0
        for file in self.files:
            if self._kind == "arrow":
                with self._arrow(file) as opened:
                    total += arrow.rows(opened)
                continue
            with self._parquet(file) as opened:
                total += opened.metadata.num_rows
        return total

    def columns(self) -> list[str]:
        """Names of the columns of the first file."""
        return self._names(self.files[0])

    def arrays(self, names: tuple[str, ...], settings: Settings) -> Iterator[pa.Array]:
        """Rows in the order of the files; of several columns as structs."""
        del settings
        types: list[pa.DataType] | None = None
        for file in self.files:
            if self._kind != "json":  # a line may leave out what is missing: known at the end
                self._check_names(file, names)
            for batch in self._batches(file, names):
                found = [column.type for column in batch.columns]
                if types is not None and found != types:
                    before, now = (", ".join(map(str, kinds)) for kinds in (types, found))
                    raise self._error(f"holds {now}, the files before it {before}", file)
                types = found
                yield in_one(batch)

    def _batches(self, file: Path, names: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        if self.untyped:
            return self._lines(file).batches(names)
        return (self._arrow_batches if self._kind == "arrow" else self._parquet_batches)(
            file, names
        )

    # ---------------------------------------------------------------------------- which files

    def _found(self, path: Path, *, pattern: bool) -> tuple[Path, ...]:
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
            try:
                if not path.exists():
                    raise self._error("no such file")
                if not path.is_file():
                    raise self._error("not an ordinary file")
            except (OSError, ValueError) as error:
                if isinstance(error, ParameterError):
                    raise
                raise self._error(unreadable(error)) from None
        if not files:
            where = "no file matches" if pattern else "no such file in this folder"
            raise self._error(f"{where}: wanted files that end in {', '.join(ENDINGS)}")
        return files

    def _one_kind(self) -> Kind:
        kinds: set[Kind] = set()
        for file in self.files:
            kind = _ending(file)
            if kind is None:
                raise self._error(f"wanted a file that ends in {', '.join(ENDINGS)}", file)
            kinds.add(kind)
        if len(kinds) > 1:
            found = " and ".join(_WORDS[kind] for kind in sorted(kinds))
            raise self._error(f"{found} files, wanted one kind; name them by --input-glob")
        return kinds.pop()

    def _check_names(self, file: Path, names: Sequence[str]) -> None:
        known = self._names(file)
        for name in names:
            if known.count(name) > 1:
                raise self._error(f"column {name!r} is there {known.count(name)} times", file)
            if name not in known:
                raise self._unknown(name, known, file)

    def _names(self, file: Path) -> list[str]:
        if self.untyped:
            return self._lines(file).names()
        if self._kind == "arrow":
            with self._arrow(file) as opened:
                return [str(name) for name in opened.schema.names]
        with self._parquet(file) as opened:
            return [str(name) for name in opened.schema_arrow.names]

    def _unknown(self, name: str, known: list[str], file: Path) -> ParameterError:
        """Of Parquet and Arrow the names are said; a first line of CSV may be somebody's data."""
        if self._kind != "csv":
            shown = ", ".join(known[:_MOST_NAMES])
            return ParameterError(f"column = {name!r}: wanted one of {shown}")
        delimiter, where = self._delimiter(file), repr(str(file))
        return unknown_in_header(name, known, where=where, text=self._text, delimiter=delimiter)

    # -------------------------------------------------------------------------------- Parquet

    @contextlib.contextmanager
    def _parquet(self, file: Path) -> Iterator[pq.ParquetFile]:
        with contextlib.ExitStack() as stack:
            try:
                # A file object: the library reads names as addresses and patterns.
                raw = stack.enter_context(file.open("rb"))
                # Page by page: buffered before, all of a row group's column would be held.
                opened = stack.enter_context(
                    pq.ParquetFile(
                        raw,
                        buffer_size=_READ_AHEAD,
                        pre_buffer=False,
                        page_checksum_verification=True,
                    )
                )
            except DAMAGED as error:
                raise self._damaged(error, file) from None
            yield opened

    def _parquet_batches(self, file: Path, names: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        with self._parquet(file) as opened:
            expected, seen = opened.metadata.num_rows, 0
            # A row group at a time: one reader of all holds on to more with every one it has read.
            for group in range(opened.num_row_groups):
                for batch in self._group(opened, group, file, names):
                    seen += batch.num_rows
                    yield batch
        if seen != expected:
            raise self._error(f"damaged: {seen:,} rows, its footer says {expected:,}", file)

    def _group(
        self, opened: pq.ParquetFile, group: int, file: Path, names: tuple[str, ...]
    ) -> Iterator[pa.RecordBatch]:
        """The batches of a row group; whatever is wrong with it is one line."""
        try:
            batches = opened.iter_batches(batch_size=ROWS, row_groups=[group], columns=list(names))
            while (batch := next(batches, None)) is not None:
                # A name with a dot also chooses fields of structs: by name, then.
                batch = batch.select(list(names))
                batch.validate(full=True)
                yield batch
        except DAMAGED as error:
            if isinstance(error, ParameterError):
                raise
            raise self._damaged(error, file) from None

    # ---------------------------------------------------------------------------------- Arrow

    @contextlib.contextmanager
    def _arrow(self, file: Path, names: tuple[str, ...] | None = None) -> Iterator[Any]:
        with contextlib.ExitStack() as stack:
            try:
                found = arrow.opened(stack.enter_context(file.open("rb")), names)
            except DAMAGED as error:
                raise self._damaged(error, file) from None
            yield found

    def _arrow_batches(self, file: Path, names: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        with self._arrow(file, names) as opened:
            found = arrow.batches(opened, names, most=ROWS)
            while (batch := self._next(found, file)) is not None:
                yield batch

    def _next(self, found: Iterator[pa.RecordBatch], file: Path) -> pa.RecordBatch | None:
        """The next batch; whatever is wrong with it is one line."""
        try:
            return next(found, None)
        except DAMAGED as error:
            raise self._damaged(error, file) from None

    # ------------------------------------------------------------------------- CSV, JSON lines

    def _delimiter(self, file: Path) -> str:
        endings = [ending.lower() for ending in file.suffixes if ending.lower() in _TEXT_ENDINGS]
        return self._text.delimiter or (_TEXT_ENDINGS[endings[-1]] if endings else ",")

    @contextlib.contextmanager
    def _open_text(self, file: Path) -> Iterator[Any]:
        kind = _COMPRESSED.get(file.suffix.lower())
        with file.open("rb") as raw:
            if kind is None:
                yield raw
                return
            with pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), kind) as opened:
                yield opened

    def _lines(self, file: Path) -> CsvText | JsonLines:
        stream = Stream(
            open=lambda: self._open_text(file),
            fault=lambda words: self._error(words, file),
            damaged=lambda error: self._damaged(error, file),
        )
        if self._kind == "json":
            return JsonLines(stream, encoding=self._text.encoding)
        return CsvText(stream, text=self._text, delimiter=self._delimiter(file))

    # --------------------------------------------------------------------------------- errors

    def _damaged(self, error: BaseException, file: Path) -> ParameterError:
        """What the library says, but for text: there it may quote the row."""
        if isinstance(error, OSError) and error.strerror:
            return self._error(unreadable(error), file)
        if self.untyped and file.suffix.lower() not in _COMPRESSED:
            return self._error(f"not a whole file of {_WORDS[self._kind]}", file)
        first = (str(error).splitlines() or [type(error).__name__])[0]
        shown = "".join(mark if mark.isprintable() else "?" for mark in first)
        return self._error(f"damaged or cut off: {shown}", file)

    def _error(self, words: str, file: Path | None = None) -> ParameterError:
        where = f"{self._argument} = {self._given!r}"
        if file is not None and str(file) != self._given:
            where += f", file {str(file)!r}"
        return ParameterError(f"{where}: {words}")


def _ending(file: Path) -> Kind | None:
    ending = file.suffix.lower()
    if ending in _PARQUET:
        return "parquet"
    if ending in arrow.ENDINGS:
        return "arrow"
    if ending in json_lines.ENDINGS:
        return "json"
    if ending in _COMPRESSED:
        return "json" if Path(file.stem).suffix.lower() in json_lines.ENDINGS else "csv"
    return "csv" if ending in _TEXT_ENDINGS else None
