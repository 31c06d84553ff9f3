"""A table that comes through a pipe: CSV, JSON lines or an Arrow stream, read once, never stored.

What it is, its first bytes say. Parquet and Arrow files begin at their end, so that they would have
to be stored first: values are written nowhere, and these are refused.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from shuffledp.errors import ParameterError, unreadable
from shuffledp.protocol.engines.base import LocalEngine, Settings, in_one, unknown
from shuffledp.protocol.engines.csv_text import (
    DAMAGED,
    LONGEST_HEADER,
    ROWS,
    CsvText,
    Stream,
    TextFormat,
    unknown_in_header,
)
from shuffledp.protocol.engines.json_lines import JsonLines

NAME = "-"
_WHERE = "standard input"
# An Arrow stream's first message is announced by these (the format's "continuation").
_STREAM = b"\xff\xff\xff\xff"
_FROM_THE_END = {b"PAR1": "Parquet", b"ARROW1": "Arrow files"}


class PipeEngine(LocalEngine):
    """Rows of a stream that can be read once.

    Parameters
    ----------
    stream : binary file
        For example ``sys.stdin.buffer``.
    text : TextFormat, optional
        How CSV is written; anything but the default says that it is CSV.

    Attributes
    ----------
    files : tuple of Path
        None: as of ``FileEngine``.

    Raises
    ------
    ParameterError
        If nothing comes, or something else.
    """

    files: tuple[Path, ...] = ()

    def __init__(self, stream: Any, *, text: TextFormat | None = None) -> None:
        self._stream, self._text = stream, text or TextFormat()
        self._replay = _Replay(stream)
        try:
            head = self._replay.head
        except DAMAGED as error:
            raise self._damaged(error) from None
        if not head.strip():
            raise _fault("nothing comes through the pipe")
        for mark, words in _FROM_THE_END.items():
            if head.startswith(mark):
                raise _fault(f"{words} cannot be read through a pipe: name the file")
        self._lines: CsvText | JsonLines | None = None
        if head.startswith(_STREAM):
            return
        bytes_ = Stream(self._replay.opened, _fault, self._damaged)
        if text in {None, TextFormat()} and head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{":
            self._lines = JsonLines(bytes_)
        else:
            self._lines = CsvText(bytes_, text=self._text, delimiter=self._text.delimiter or ",")

    @property
    def untyped(self) -> bool:
        """Whether all values are text: CSV and JSON lines."""
        return self._lines is not None

    def rows(self) -> int:
        """Nobody knows; only the number of temporary files depends on it."""
        return 1

    def arrays(self, names: tuple[str, ...], settings: Settings) -> Iterator[pa.Array]:
        """Rows in their order; of several columns as structs."""
        del settings
        lines = self._lines
        if isinstance(lines, CsvText):
            self._check_header(lines.names(), names)
        found = self._arrow(names) if lines is None else lines.batches(names)
        for batch in found:
            yield in_one(batch)

    def _check_header(self, known: list[str], names: tuple[str, ...]) -> None:
        for name in names:
            if known.count(name) > 1:
                raise _fault(f"column {name!r} is there {known.count(name)} times")
            if name not in known:
                delimiter = self._text.delimiter or ","
                raise unknown_in_header(
                    name, known, where=_WHERE, text=self._text, delimiter=delimiter
                )

    def _arrow(self, names: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        with self._replay.opened() as opened:
            try:
                reader = pa.ipc.open_stream(pa.PythonFile(opened, "r"))
                known = list(reader.schema.names)
                for name in names:
                    if known.count(name) != 1:
                        raise unknown(name, known)
                while (batch := next(reader, None)) is not None:
                    chosen = batch.select(list(names))
                    # There is no checksum: what the data tells is looked at before it is used.
                    chosen.validate(full=True)
                    for start in range(0, chosen.num_rows, ROWS):
                        yield chosen.slice(start, ROWS)
            except DAMAGED as error:
                if isinstance(error, ParameterError):
                    raise
                raise self._damaged(error) from None

    def _damaged(self, error: BaseException) -> ParameterError:
        """What is wrong; the library may quote a row, which nobody else should read."""
        if isinstance(error, OSError) and error.strerror:
            return _fault(unreadable(error))
        kind = {CsvText: "CSV", JsonLines: "JSON lines"}.get(type(self._lines), "an Arrow stream")
        return _fault(f"not whole {kind}" if self._lines else f"not {kind}, or cut off")


class _Replay:
    """A stream whose first bytes can be read again, as long as nothing after them was."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.head = b""
        while len(self.head) < LONGEST_HEADER:
            more = stream.read(LONGEST_HEADER - len(self.head))
            if not more:
                break
            self.head += more
        self._further = False

    @contextlib.contextmanager
    def opened(self) -> Iterator[_Reader]:
        """From the beginning."""
        if self._further:
            raise _fault("can be read once only")
        yield _Reader(self)

    def more(self, size: int) -> bytes:
        """What comes after the first bytes."""
        if len(self.head) < LONGEST_HEADER:
            return b""
        self._further = True
        return self._stream.read(size)


class _Reader:
    """The first bytes, then the others; closing it closes nothing else."""

    def __init__(self, replay: _Replay) -> None:
        self._replay, self._place = replay, 0
        self.closed = False

    def readable(self) -> bool:
        """As of files."""
        return True

    def close(self) -> None:
        """As of files; the stream is its owner's."""
        self.closed = True

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        head = self._replay.head
        stop = len(head) if size < 0 else min(self._place + size, len(head))
        found = head[self._place : stop]
        self._place = stop
        # All that is asked for, unless it ends: a reader of Arrow takes less for the end.
        left = -1 if size < 0 else size - len(found)
        return found + self._replay.more(left) if left else found


def _fault(words: str) -> ParameterError:
    return ParameterError(f"input = {NAME!r} ({_WHERE}): {words}")


__all__ = ["NAME", "PipeEngine"]
