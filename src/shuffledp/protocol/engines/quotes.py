"""Quotes of CSV (RFC 4180): what is wrong with them joins rows, and no reader notices.

A field begins with a quote and ends with the next one that is not doubled; after that comes the
next field or row. PyArrow also takes text after the closing quote, and a quote that is never
closed: then all rows up to some other quote, or to the end, are one value. A quote inside a field
that does not begin with one is that mark and nothing else.
"""

from __future__ import annotations

import codecs
from typing import Any

import numpy as np

_QUOTE, _NEWLINE, _RETURN = b'"\n\r'
_MARK = "\ufeff".encode()
# Encodings in which a byte below 128 is that ASCII character and nothing else.
_PLAIN = {"utf-8", "ascii", "iso8859-1", "iso8859-15", "cp1252"}


class Quotes:
    """A stream of CSV text that is read through this, and looked at.

    Parameters
    ----------
    stream : file
        Bytes.
    encoding, delimiter : str
        Of the text.

    Attributes
    ----------
    wrong : str or None
        What is wrong so far, and in which line; the stream ends there.
    """

    def __init__(self, stream: Any, *, encoding: str, delimiter: str) -> None:
        self._stream, self._ends = stream, (ord(delimiter), _NEWLINE, _RETURN)
        name = codecs.lookup(encoding).name
        self._decode = None if name in _PLAIN else codecs.getincrementaldecoder(encoding)()
        self._begun = self._inside = self.closed = False
        self._looking = True
        self._before = _NEWLINE  # the byte before what is held
        self._held = b""  # quotes whose next byte is not known yet
        self._line = self._opened = 1
        self.wrong: str | None = None

    def readable(self) -> bool:
        """As of files."""
        return True

    def close(self) -> None:
        """As of files; the stream itself is its owner's."""
        self.closed = True

    def read(self, size: int = -1) -> bytes:
        """The stream's next bytes, no more after what is wrong."""
        data = self._stream.read(size)
        if self.wrong is None and self._looking:
            self._look(bytes(data), last=False)
        return b"" if self.wrong is not None else data

    def end(self) -> str | None:
        """What is wrong, once all is read."""
        if self.wrong is None and self._looking:
            self._look(b"", last=True)
        return self.wrong

    def _look(self, data: bytes, *, last: bool) -> None:
        if self._decode is not None:
            try:
                text = self._decode.decode(data, final=last)
            except UnicodeError:  # the reader says so
                self._looking = False
                return
            data = text.encode("utf-8", errors="surrogatepass")
        if not self._begun and data:
            self._begun, data = True, data.removeprefix(_MARK)
        text = self._held + data
        whole = len(text) if last else len(text.rstrip(b'"'))
        text, self._held = text[:whole], text[whole:]
        if text:
            self._follow(text)
        if last and self.wrong is None and self._inside:
            self.wrong = f"a quote in line {self._opened:,} is not closed"

    def _follow(self, text: bytes) -> None:
        """Go on through text that does not end with a quote, but for the last of all."""
        content = np.frombuffer(text, np.uint8)
        places = np.flatnonzero(content == _QUOTE)
        if places.size:
            starts = self._at_end(content, places - 1, first=self._before)
            stops = self._at_end(content, places + 1, first=self._before)
            bad = self._all_are_marks(places, starts, stops, text)
            if bad is None:
                bad = self._one_by_one(places.tolist(), starts.tolist(), stops.tolist(), text)
            if bad >= 0:
                line = self._line_of(text, bad)
                self.wrong = f"text after the closing quote of a field in line {line:,}"
                return
        self._line += _line_ends(text)
        self._before = text[-1]

    def _at_end(self, content: np.ndarray, places: np.ndarray, *, first: int) -> np.ndarray:
        """Whether an end of a field is there; before the text is ``first``, after it an end."""
        inner = (places >= 0) & (places < content.size)
        beside = np.where(places < 0, first, _NEWLINE)
        beside[inner] = content[places[inner]]
        delimiter, newline, back = self._ends
        return (beside == delimiter) | (beside == newline) | (beside == back)

    def _all_are_marks(
        self, places: np.ndarray, starts: np.ndarray, stops: np.ndarray, text: bytes
    ) -> int | None:
        """-1 where quotes open and close in turn, each where it may; else None: look closer."""
        opens = (np.arange(places.size) % 2 == 1) == self._inside
        follows = np.append(False, np.diff(places) == 1)
        doubled = np.append(follows[1:], False)
        if not bool(np.all(np.where(opens, starts | follows, stops | doubled))):
            return None
        if places.size % 2 == 1:
            self._inside = not self._inside
        if self._inside and bool(np.any(opens & starts)):
            self._opened = self._line_of(text, int(places[opens & starts][-1]))
        return -1

    def _one_by_one(
        self, places: list[int], starts: list[bool], stops: list[bool], text: bytes
    ) -> int:
        """Where text follows a closing quote, -1 if nowhere."""
        j, opened = 0, None
        while j < len(places):
            if not self._inside:
                if starts[j]:
                    self._inside, opened = True, places[j]
            elif j + 1 < len(places) and places[j + 1] == places[j] + 1:
                j += 1
            elif stops[j]:
                self._inside = False
            else:
                return places[j]
            j += 1
        if self._inside and opened is not None:
            self._opened = self._line_of(text, opened)
        return -1

    def _line_of(self, text: bytes, place: int) -> int:
        return self._line + _line_ends(text[:place])


def _line_ends(text: bytes) -> int:
    return max(text.count(b"\n"), text.count(b"\r"))
