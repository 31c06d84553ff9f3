"""How CSV is written, and what its first line says."""

from __future__ import annotations

import codecs
import csv
import difflib
import io
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from shuffledp.errors import ParameterError, rejected

# Python's names of the encodings that DuckDB reads, and DuckDB's.
_ENCODINGS = {
    "utf-8": "utf-8", "utf-8-sig": "utf-8", "ascii": "utf-8", "utf-16": "utf-16",
    "iso8859-1": "latin-1",
}  # fmt: skip
# Bytes in which the first line has to end.
_LONGEST_LINE = 1 << 20


class WrongFile(Exception):  # noqa: N818 (words on their way to the error that names the file)
    """What is wrong with a file, in words."""


@dataclass(frozen=True, kw_only=True)
class TextFormat:
    """How a CSV file is written.

    Parameters
    ----------
    encoding : str
        Of the text: "utf-8" (a byte-order mark is passed over), "latin-1", or "utf-16", which has
        to be little-endian.
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
            known = codecs.lookup(self.encoding).name in _ENCODINGS
        except (LookupError, TypeError, ValueError):
            known = False
        if not known:
            wanted = "utf-8, utf-16 or latin-1 (iconv -f NAME -t utf-8 makes it UTF-8)"
            raise rejected("encoding", self.encoding, wanted)
        given = self.delimiter
        if given is not None and (len(given) != 1 or not given.isascii() or given in '"\r\n\0'):
            raise rejected("delimiter", given, "one character, such as ';'")

    @property
    def codec(self) -> str:
        """The encoding by its name in Python, which passes over a byte-order mark."""
        name = codecs.lookup(self.encoding).name
        return "utf-8-sig" if name == "utf-8" else name

    @property
    def engine_name(self) -> str:
        """The encoding by its name in DuckDB."""
        return _ENCODINGS[codecs.lookup(self.encoding).name]


def names_in(file: Path, text: TextFormat, delimiter: str, *, compression: str | None) -> list[str]:
    """Names of the columns: those in the first line, or their numbers.

    Raises
    ------
    WrongFile
        If the first line is none of CSV, or the text is in another encoding.
    """
    with file.open("rb") as raw, pa.input_stream(raw, compression=compression) as opened:
        head = opened.read(_LONGEST_LINE)
    if head.startswith(b"\xfe\xff"):
        raise WrongFile("text in big-endian UTF-16, wanted UTF-8")
    if head.startswith(b"\xff\xfe") and text.codec != "utf-16":
        raise WrongFile('text in UTF-16, say so (data.csv.encoding = "utf-16")')
    try:
        decoder = codecs.getincrementaldecoder(text.codec)()
        content = decoder.decode(head, final=len(head) < _LONGEST_LINE)
        first = next(csv.reader(io.StringIO(content, newline=""), delimiter=delimiter))
    except UnicodeError:
        words = f'not text in {text.encoding}: say which (as data.csv.encoding = "latin-1")'
        raise WrongFile(words) from None
    except csv.Error:
        raise WrongFile("the first line is not one of CSV") from None
    except StopIteration:
        raise WrongFile("the file is empty") from None
    if "\0" in content:
        raise WrongFile("zero bytes, this is not text (or in another encoding)")
    if not text.header:
        return [str(place + 1) for place in range(max(len(first), 1))]
    if not first:
        raise WrongFile("the first line is empty, wanted the names of the columns")
    return first


def not_among(name: str, known: list[str], *, header: bool) -> ParameterError:
    """A column that is not there; not all names: a first line may be somebody's data."""
    if not header:
        words = f"wanted a number from 1 to {len(known)}, as there is no header line"
        return ParameterError(f"column = {name!r}: {words}")
    words = f"not in the header line, which has {len(known)} names"
    if near := difflib.get_close_matches(name, known, n=3):
        words += f", close to it {', '.join(map(repr, near))}"
    other = [mark for mark in ";\t|," if mark in known[0]]
    if len(known) == 1 and other:
        words += f"; if columns are separated by {other[0]!r}, say so (data.csv.delimiter)"
    return ParameterError(
        f"column = {name!r}: {words}; a file without header line: data.csv.header = false"
    )
