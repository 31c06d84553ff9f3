"""Parquet, Arrow and CSV files larger than memory, by batches; a path is a path, not a pattern."""

from __future__ import annotations

import codecs
import contextlib
import csv
import glob
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from shuffledp.errors import ParameterError, rejected, unreadable
from shuffledp.protocol.engines import arrow
from shuffledp.protocol.engines.base import LocalEngine, Settings, in_one
from shuffledp.protocol.engines.quotes import Quotes

# Rows at a time: two blocks of a job; a few megabytes of any column.
_ROWS = 1 << 17
# Bytes of text at a time. A row has to fit in them; a larger one is an open quote, not a row.
_TEXT = 1 << 20
# Bytes of a column of Parquet that are read ahead, whatever the size of its row group.
_READ_AHEAD = 1 << 20
_LONGEST_HEADER = 1 << 20
_MOST_NAMES = 20

Kind = Literal["csv", "parquet", "arrow"]
_PARQUET = (".parquet", ".pq")
_TEXT_ENDINGS = {".csv": ",", ".tsv": "\t", ".txt": ","}
_COMPRESSED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
ENDINGS = (*_PARQUET, *arrow.ENDINGS, ".csv", ".tsv", *(f".csv{ending}" for ending in _COMPRESSED))
_WORDS: dict[Kind, str] = {"arrow": "Arrow", "csv": "CSV", "parquet": "Parquet"}
_MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
# What pyarrow raises for files that are not what they should be; OSError and the others are its
# wrapping of the C++ library's errors.
_DAMAGED = (
    pa.ArrowException,
    OSError,
    ValueError,
    RuntimeError,
    TypeError,
    KeyError,
    OverflowError,
)


@dataclass(frozen=True, kw_only=True)
class TextFormat:
    """How a CSV file is written.

    Parameters
    ----------
    encoding : str
        Of the text, a name that Python knows: "utf-8" (a byte-order mark is passed over), "utf-16",
        "latin-1", "cp1252".
    delimiter : str, optional
        One character; by default a comma, and a tab in files that end in .tsv.
    header : bool
        Whether the first line has the columns' names. If not, they are called "1", "2", ...
    """

    encoding: str = "utf-8"
    delimiter: str | None = None
    header: bool = True

    def __post_init__(self) -> None:
        try:
            "".encode(self.encoding)
        except (LookupError, TypeError, ValueError):
            wanted = "the name of a text encoding, such as utf-8, utf-16, latin-1"
            raise rejected("encoding", self.encoding, wanted) from None
        given = self.delimiter
        if given is not None and (len(given) != 1 or not given.isascii() or given in '"\r\n\0'):
            raise rejected("delimiter", given, "one character, such as ';'")


class _Header(NamedTuple):
    """The first line of CSV: names, lines before the values, whether there are any."""

    names: list[str]
    before: int
    rows: bool


class FileEngine(LocalEngine):
    """One Parquet, Arrow or CSV file, all files in a folder, or all that match a pattern.

    Values of CSV are text, and are read as what is wanted of them (``Column.of_text``); an empty
    field is a missing value. Names of folders are no columns.

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
        self._kind = self._one_kind()
        for file in self.files:
            if file.stat().st_size == 0:
                raise self._error("the file is empty", file)

    @property
    def untyped(self) -> bool:
        """Whether all values are text: CSV."""
        return self._kind == "csv"

    def rows(self) -> int:
        """How many rows there are; for CSV about how many, from its size."""
        if self._kind == "csv":
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
            self._check_names(file, names)
            for batch in self._batches(file, names):
                found = [column.type for column in batch.columns]
                if types is not None and found != types:
                    before, now = (", ".join(map(str, kinds)) for kinds in (types, found))
                    raise self._error(f"holds {now}, the files before it {before}", file)
                types = found
                yield in_one(batch)

    def _batches(self, file: Path, names: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        if self._kind == "csv":
            return self._text_batches(file, names)
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
        if self._kind == "csv":
            return self._header(file).names
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
        if not self._text.header:
            words = f"wanted a number from 1 to {len(known)}, as there is no header line"
            return ParameterError(f"column = {name!r}: {words}")
        import difflib

        near = difflib.get_close_matches(name, known, n=3)
        words = f"not in the header line of {str(file)!r}, which has {len(known)} names"
        if near:
            words += f", close to it {', '.join(map(repr, near))}"
        other = [mark for mark in ";\t|," if mark != self._delimiter(file) and mark in known[0]]
        if len(known) == 1 and other:
            words += f"; if columns are separated by {other[0]!r}, say so (--delimiter)"
        return ParameterError(
            f"column = {name!r}: {words}; a file without header line: --no-header"
        )

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
            except _DAMAGED as error:
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
            batches = opened.iter_batches(batch_size=_ROWS, row_groups=[group], columns=list(names))
            while (batch := next(batches, None)) is not None:
                # A name with a dot also chooses fields of structs: by name, then.
                batch = batch.select(list(names))
                batch.validate(full=True)
                yield batch
        except _DAMAGED as error:
            if isinstance(error, ParameterError):
                raise
            raise self._damaged(error, file) from None

    # ---------------------------------------------------------------------------------- Arrow

    @contextlib.contextmanager
    def _arrow(self, file: Path, names: tuple[str, ...] | None = None) -> Iterator[Any]:
        with contextlib.ExitStack() as stack:
            try:
                found = arrow.opened(stack.enter_context(file.open("rb")), names)
            except _DAMAGED as error:
                raise self._damaged(error, file) from None
            yield found

    def _arrow_batches(self, file: Path, names: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        with self._arrow(file, names) as opened:
            found = arrow.batches(opened, names, most=_ROWS)
            while (batch := self._next(found, file)) is not None:
                yield batch

    def _next(self, found: Iterator[pa.RecordBatch], file: Path) -> pa.RecordBatch | None:
        """The next batch; whatever is wrong with it is one line."""
        try:
            return next(found, None)
        except _DAMAGED as error:
            raise self._damaged(error, file) from None

    # ------------------------------------------------------------------------------------ CSV

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

    def _head(self, file: Path) -> bytes:
        """The first bytes of the text."""
        try:
            with self._open_text(file) as opened:
                head = b""
                while len(head) < _LONGEST_HEADER and (more := opened.read(_LONGEST_HEADER)):
                    head += more
        except _DAMAGED as error:
            raise self._damaged(error, file) from None
        return head

    def _decoded(self, head: bytes, file: Path) -> str:
        """The same as text; a character that is cut off at the end is left out."""
        mark = _MARKS.get(head[:2])
        if mark is not None and not self._text.encoding.lower().startswith("utf-16"):
            raise self._error(f"text in {mark.upper()}, say so (--encoding {mark})", file)
        encoding = self._text.encoding
        if encoding.lower().replace("_", "-") in {"utf-8", "utf8"}:
            encoding = "utf-8-sig"
        try:
            decoder = codecs.getincrementaldecoder(encoding)()
            text = decoder.decode(head, final=len(head) < _LONGEST_HEADER)
        except UnicodeError:
            raise self._undecoded(file) from None
        if "\0" in text:
            raise self._error("zero bytes, this is not text (or in another encoding)", file)
        return text

    def _header(self, file: Path) -> _Header:
        """What the first line that is not empty says."""
        head = self._head(file)
        text = self._decoded(head, file)
        try:
            lines = io.StringIO(text, newline="")
            reader = csv.reader(lines, delimiter=self._delimiter(file))
            blank, first = 0, []
            for first in reader:
                if first:
                    break
                blank += 1
        except csv.Error:
            raise self._error("the first line is not one of CSV", file) from None
        if not first:
            raise self._error("the file is empty", file)
        if not self._text.header:
            return _Header([str(j + 1) for j in range(len(first))], blank, rows=True)
        rows = len(head) >= _LONGEST_HEADER or bool(lines.read().strip("\r\n"))
        return _Header(first, blank + 1, rows=rows)

    def _text_batches(self, file: Path, names: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        known, before, rows = self._header(file)
        if not rows:  # the library does not take a file that ends with its header
            return
        bad: list[Any] = []

        def ragged(row: pa_csv.InvalidRow) -> str:
            bad.append(row)
            return "error"

        read = pa_csv.ReadOptions(
            use_threads=False,
            block_size=_TEXT,
            encoding=self._text.encoding,
            # By place: a name may hold quotes and line ends, which the library reads otherwise.
            column_names=[str(j) for j in range(len(known))],
            skip_rows_after_names=before,
        )
        parse = pa_csv.ParseOptions(
            delimiter=self._delimiter(file), newlines_in_values=True, invalid_row_handler=ragged
        )
        places = [str(known.index(name)) for name in names]
        convert = pa_csv.ConvertOptions(
            include_columns=places,
            column_types={place: pa.string() for place in places},
            null_values=[""],
            strings_can_be_null=True,
        )
        quotes: Quotes | None = None
        try:
            with self._open_text(file) as opened:
                delimiter = self._delimiter(file)
                quotes = Quotes(opened, encoding=self._text.encoding, delimiter=delimiter)
                with pa_csv.open_csv(pa.PythonFile(quotes, "r"), read, parse, convert) as reader:
                    yield from self._renamed(reader, names)
            if quotes.end() is not None:
                raise self._error(f"not whole CSV: {quotes.wrong}", file)
        except ParameterError:
            raise
        except _DAMAGED as error:
            if quotes is not None and quotes.wrong is not None:
                raise self._error(f"not whole CSV: {quotes.wrong}", file) from None
            if bad:
                raise self._ragged(bad[0], len(known), before, file) from None
            if "UTF" in str(error) or isinstance(error, UnicodeError):
                raise self._undecoded(file) from None
            if "straddl" in str(error):
                words = f"a row of more than {_TEXT >> 20} MB: a quote that is not closed?"
                raise self._error(words, file) from None
            raise self._damaged(error, file) from None

    @staticmethod
    def _renamed(reader: Any, names: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        for batch in reader:
            for start in range(0, batch.num_rows, _ROWS):
                part = batch.slice(start, _ROWS)
                yield pa.RecordBatch.from_arrays(part.columns, names=list(names))

    # --------------------------------------------------------------------------------- errors

    def _ragged(self, row: Any, wanted: int, before: int, file: Path) -> ParameterError:
        first = "header line" if self._text.header else "first line"
        where = "a row" if row.number is None else f"row {row.number - before:,}"
        words = f"{where} has {row.actual_columns} fields, the {first} {wanted}"
        hint = f"wanted as many, separated by {self._delimiter(file)!r} (--delimiter)"
        return self._error(f"{words}; {hint}", file)

    def _undecoded(self, file: Path) -> ParameterError:
        told = "say its encoding (--encoding latin-1, for example)"
        return self._error(f"not text in {self._text.encoding}: {told}", file)

    def _damaged(self, error: BaseException, file: Path) -> ParameterError:
        """What the library says, but for a CSV file: there it may quote the row."""
        if isinstance(error, OSError) and error.strerror:
            return self._error(unreadable(error), file)
        if self._kind == "csv" and file.suffix.lower() not in _COMPRESSED:
            return self._error("not a whole CSV file", file)
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
    return "csv" if ending in _TEXT_ENDINGS or ending in _COMPRESSED else None
