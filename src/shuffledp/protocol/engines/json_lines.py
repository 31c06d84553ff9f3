"""JSON lines (one object a line, UTF-8): values become the text that is written there.

As in CSV, text is read as what is wanted of it, so that no digit is lost on the way: a number is
its own characters, true and false are these words; null, and a name that a line does not have, is a
missing value. Errors name lines, never what is in them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from shuffledp.errors import ParameterError
from shuffledp.protocol.engines.csv_text import DAMAGED, LARGEST_ROW, ROWS, Stream

ENDINGS = (".jsonl", ".ndjson")
_MARK = "\ufeff".encode()
_WORDS = {True: "true", False: "false"}


class _WrongLineError(ValueError):
    """What is wrong with a line, in words."""


class JsonLines:
    """Values of some names, line by line; empty lines are passed over.

    Parameters
    ----------
    stream : Stream
        The bytes.
    encoding : str
        What was asked for: it has to be UTF-8.
    """

    def __init__(self, stream: Stream, *, encoding: str = "utf-8") -> None:
        if encoding.lower().replace("_", "-") not in {"utf-8", "utf8", "utf-8-sig"}:
            raise stream.fault(f"JSON lines are UTF-8, not {encoding}")
        self._stream = stream

    def names(self) -> list[str]:
        """Of the first object."""
        for _, found in self._objects():
            return list(found)
        raise self._stream.fault("the file is empty")

    def batches(self, names: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        """Rows in order; every name has to be there in one line at least."""
        seen: set[str] = set()
        columns: dict[str, list[str | None]] = {name: [] for name in names}
        lines = 0
        for line, found in self._objects():
            lines += 1
            for name, column in columns.items():
                if name in found:
                    seen.add(name)
                column.append(self._text(found.get(name), name, line))
            if lines % ROWS == 0:
                yield self._batch(columns, line)
                columns = {name: [] for name in names}
        if not lines:
            raise self._stream.fault("the file is empty")
        for name in names:
            if name not in seen:
                raise ParameterError(f"column = {name!r}: wanted a name that some line has")
        if any(columns.values()):
            yield self._batch(columns, lines)

    def _batch(self, columns: dict[str, list[str | None]], line: int) -> pa.RecordBatch:
        try:
            arrays = [pa.array(column, pa.string()) for column in columns.values()]
        except DAMAGED:  # half of a pair of UTF-16, written as an escape
            raise self._stream.fault(f"text that is none, up to line {line:,}") from None
        return pa.RecordBatch.from_arrays(arrays, names=list(columns))

    def _text(self, value: Any, name: str, line: int) -> str | None:
        if value is None or isinstance(value, str):
            return value
        if isinstance(value, bool):
            return _WORDS[value]
        words = "wanted text, a number, true, false or null"
        raise self._stream.fault(f"line {line:,}, {name!r}: {words}")

    def _objects(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Each object with the number of its line."""
        line = 0
        try:
            with self._stream.open() as opened:
                for line, text in enumerate(_lines(opened), 1):
                    if text.strip():
                        yield line, _object(text)
        except _WrongLineError as wrong:
            raise self._stream.fault(f"line {line:,}: {wrong}") from None
        except ParameterError:
            raise
        except DAMAGED as error:
            raise self._stream.damaged(error) from None


def _lines(opened: Any) -> Iterator[bytes]:
    """Lines without their ends; no more than one of the largest is held."""
    held, first = b"", True
    while more := bytes(opened.read(LARGEST_ROW)):
        held += more.removeprefix(_MARK) if first else more
        first = False
        *whole, held = held.split(b"\n")
        yield from whole
        if len(held) > LARGEST_ROW:
            raise _WrongLineError(f"longer than {LARGEST_ROW >> 20} MB: wanted one object a line")
    if held:
        yield held


def _object(text: bytes) -> dict[str, Any]:
    try:
        found = json.loads(
            text.decode("utf-8"),
            parse_int=str,
            parse_float=str,
            parse_constant=_refused,
            object_pairs_hook=_once,
        )
    except UnicodeError:
        raise _WrongLineError("not UTF-8") from None
    except _WrongLineError:
        raise
    except (ValueError, RecursionError):
        raise _WrongLineError("not JSON") from None
    if not isinstance(found, dict):
        raise _WrongLineError("wanted an object, {...}")
    return found


def _refused(word: str) -> Any:
    raise _WrongLineError(f"{word} is no JSON")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _WrongLineError("a name is there twice")
    return found
