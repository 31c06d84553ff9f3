"""CSV, block by block: every value is text, an empty field is a missing value.

Errors name rows and counts, never what is in them: they end up in logs.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.csv as pa_csv

from shuffledp.errors import ParameterError, rejected
from shuffledp.protocol.engines.quotes import Quotes

# Rows at a time: two blocks of a job; a few megabytes of any column.
ROWS = 1 << 17
# Bytes of text at a time. A row has to fit in them; a larger one is an open quote, not a row.
LARGEST_ROW = 1 << 20
LONGEST_HEADER = 1 << 20
_MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
# What pyarrow raises for files that are not what they should be; OSError and the others are its
# wrapping of the C++ library's errors.
DAMAGED = (
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


@dataclass(frozen=True)
class Stream:
    """Bytes of text that are there from their beginning whenever they are opened.

    Attributes
    ----------
    open : callable
        A context manager whose value has ``read(size)``.
    fault : callable
        The error that says what is wrong, from a few words.
    damaged : callable
        The same from what was raised while reading.
    """

    open: Callable[[], AbstractContextManager[Any]]
    fault: Callable[[str], ParameterError]
    damaged: Callable[[BaseException], ParameterError]

    def head(self, size: int) -> bytes:
        """The first bytes."""
        try:
            with self.open() as opened:
                head = b""
                while len(head) < size and (more := opened.read(size - len(head))):
                    head += more
        except DAMAGED as error:
            if isinstance(error, ParameterError):
                raise
            raise self.damaged(error) from None
        return head


class CsvText:
    """Columns of CSV by their names.

    Parameters
    ----------
    stream : Stream
        The text.
    text : TextFormat
        How it is written.
    delimiter : str
        Between fields.
    """

    def __init__(self, stream: Stream, *, text: TextFormat, delimiter: str) -> None:
        self._stream, self._text, self._delimiter = stream, text, delimiter

    def names(self) -> list[str]:
        """Of the columns."""
        return self._header().names

    def _decoded(self, head: bytes) -> str:
        """The first bytes as text; a character that is cut off at the end is left out."""
        mark = _MARKS.get(head[:2])
        if mark is not None and not self._text.encoding.lower().startswith("utf-16"):
            raise self._stream.fault(f"text in {mark.upper()}, say so (--encoding {mark})")
        encoding = self._text.encoding
        if encoding.lower().replace("_", "-") in {"utf-8", "utf8"}:
            encoding = "utf-8-sig"
        try:
            decoder = codecs.getincrementaldecoder(encoding)()
            text = decoder.decode(head, final=len(head) < LONGEST_HEADER)
        except UnicodeError:
            raise self._undecoded() from None
        if "\0" in text:
            words = "zero bytes, this is not text (or in another encoding)"
            raise self._stream.fault(words)
        return text

    def _header(self) -> _Header:
        """What the first line that is not empty says."""
        head = self._stream.head(LONGEST_HEADER)
        text = self._decoded(head)
        try:
            lines = io.StringIO(text, newline="")
            reader = csv.reader(lines, delimiter=self._delimiter)
            blank, first = 0, []
            for first in reader:
                if first:
                    break
                blank += 1
        except csv.Error:
            raise self._stream.fault("the first line is not one of CSV") from None
        if not first:
            raise self._stream.fault("the file is empty")
        if not self._text.header:
            return _Header([str(j + 1) for j in range(len(first))], blank, rows=True)
        rows = len(head) >= LONGEST_HEADER or bool(lines.read().strip("\r\n"))
        return _Header(first, blank + 1, rows=rows)

    def batches(self, names: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        """Rows in order, of these columns alone."""
        known, before, rows = self._header()
        if not rows:  # the library does not take a file that ends with its header
            return
        bad: list[Any] = []

        def ragged(row: pa_csv.InvalidRow) -> str:
            bad.append(row)
            return "error"

        read = pa_csv.ReadOptions(
            use_threads=False,
            block_size=LARGEST_ROW,
            encoding=self._text.encoding,
            # By place: a name may hold quotes and line ends, which the library reads otherwise.
            column_names=[str(j) for j in range(len(known))],
            skip_rows_after_names=before,
        )
        parse = pa_csv.ParseOptions(
            delimiter=self._delimiter, newlines_in_values=True, invalid_row_handler=ragged
        )
        places = [str(known.index(name)) for name in names]
        convert = pa_csv.ConvertOptions(
            include_columns=places,
            column_types={place: pa.string() for place in places},
            null_values=[""],
            strings_can_be_null=True,
        )
        fault = self._stream.fault
        quotes: Quotes | None = None
        try:
            with self._stream.open() as opened:
                quotes = Quotes(opened, encoding=self._text.encoding, delimiter=self._delimiter)
                with pa_csv.open_csv(pa.PythonFile(quotes, "r"), read, parse, convert) as reader:
                    yield from _renamed(reader, names)
            if quotes.end() is not None:
                raise fault(f"not whole CSV: {quotes.wrong}")
        except ParameterError:
            raise
        except DAMAGED as error:
            if quotes is not None and quotes.wrong is not None:
                raise fault(f"not whole CSV: {quotes.wrong}") from None
            if bad:
                raise self._ragged(bad[0], len(known), before) from None
            if "UTF" in str(error) or isinstance(error, UnicodeError):
                raise self._undecoded() from None
            if "straddl" in str(error):
                words = f"a row of more than {LARGEST_ROW >> 20} MB: a quote that is not closed?"
                raise fault(words) from None
            raise self._stream.damaged(error) from None

    def _ragged(self, row: Any, wanted: int, before: int) -> ParameterError:
        first = "header line" if self._text.header else "first line"
        where = "a row" if row.number is None else f"row {row.number - before:,}"
        words = f"{where} has {row.actual_columns} fields, the {first} {wanted}"
        hint = f"wanted as many, separated by {self._delimiter!r} (--delimiter)"
        return self._stream.fault(f"{words}; {hint}")

    def _undecoded(self) -> ParameterError:
        told = "say its encoding (--encoding latin-1, for example)"
        return self._stream.fault(f"not text in {self._text.encoding}: {told}")


def unknown_in_header(
    name: str, known: list[str], *, where: str, text: TextFormat, delimiter: str
) -> ParameterError:
    """A column that CSV does not have; not all names: a first line may be somebody's data."""
    if not text.header:
        words = f"wanted a number from 1 to {len(known)}, as there is no header line"
        return ParameterError(f"column = {name!r}: {words}")
    import difflib

    near = difflib.get_close_matches(name, known, n=3)
    words = f"not in the header line of {where}, which has {len(known)} names"
    if near:
        words += f", close to it {', '.join(map(repr, near))}"
    other = [mark for mark in ";\t|," if mark != delimiter and mark in known[0]]
    if len(known) == 1 and other:
        words += f"; if columns are separated by {other[0]!r}, say so (--delimiter)"
    return ParameterError(f"column = {name!r}: {words}; a file without header line: --no-header")


def _renamed(reader: Any, names: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    for batch in reader:
        for start in range(0, batch.num_rows, ROWS):
            part = batch.slice(start, ROWS)
            yield pa.RecordBatch.from_arrays(part.columns, names=list(names))
