"""Where reports come from: an external command, a file, or a callable that needs nothing here.

A command gets one value a line on standard input, as JSON, and writes one report a line, as JSON:
numbers, or lists of them. No shell is involved; time and output are limited; a status other than
0, a line that is no report or another number of lines is an error, and no audit.
"""

from __future__ import annotations

import itertools
import json
import os
import shlex
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from shuffledp import _check
from shuffledp.audit.plan import AuditPlan
from shuffledp.audit.tally import SPARE, Written
from shuffledp.audit.words import one_line
from shuffledp.errors import NotCertified, ParameterError, rejected, unreadable
from shuffledp.randomizers import OUE, RAPPOR, Randomizer, SamplingRAPPOR
from shuffledp.randomizers.composed import PartsRandomizer

Labels = npt.NDArray[np.integer]

# Bytes of one line of output; a report of 2^16 bits as a list takes twice as many characters.
_LONGEST_LINE = 1 << 18
# Seconds between two looks at a command that runs.
_LOOK = 0.02
LONGEST_TIME = 86_400.0
# Bytes that a pipe holds on Linux (pipe(7)): no read gives more.
_CHUNK = 1 << 16
_SHOWN = 200
# Different lines of a file whose meaning is remembered: all of small domains, 10 MB of others.
_MOST_SEEN = 1 << 16


class NotReportsError(ParameterError):
    """What was written is no reports: whoever wrote it did not refuse its input.

    Attributes
    ----------
    lines : int or None
        How many lines it is, where all of it was read.
    """

    def __init__(self, message: str, lines: int | None) -> None:
        super().__init__(message)
        self.lines = lines


@dataclass(frozen=True)
class Command:
    """A program of its own that is asked for reports.

    Parameters
    ----------
    words : sequence of str
        Program and arguments; ``Command.parsed`` splits a line as a shell would, and runs none.
    randomizer : Randomizer
        The declared mechanism: it says what a report looks like.
    timeout : float
        Seconds for one call.
    longest : int
        Bytes of a report's line.
    """

    words: tuple[str, ...]
    randomizer: Randomizer
    timeout: float = 600.0
    longest: int = 4096

    def __post_init__(self) -> None:
        if not self.words:
            raise rejected("command", "", "a program and its arguments")
        _check.positive("timeout", self.timeout, high=LONGEST_TIME)
        _check.count("longest", self.longest, high=_LONGEST_LINE)
        if isinstance(self.randomizer, PartsRandomizer) or not _jsonable(self.randomizer):
            name = self.randomizer.name
            raise NotCertified(f"{name}: reports of several parts are audited as a callable only")

    @staticmethod
    def parsed(line: str, randomizer: Randomizer, *, timeout: float = 600.0) -> Command:
        """From one line, quotes as in a shell."""
        return Command(split(line), randomizer, timeout)

    def __call__(self, values: Any) -> Any:
        """One call: values in, reports out."""
        return parsed_reports(self.randomizer, self._lines(values), name="command")

    def written(self, values: Any) -> Written:
        """The same, with how the reports were written: equal ones ought to be written alike."""
        lines = self._lines(values)
        rows = _rows(lines, "command")
        lengths = np.fromiter(map(len, lines[: len(rows)]), dtype=np.int64, count=len(rows))
        short = np.fromiter(map(_shortest, rows), dtype=np.int64, count=len(rows))
        return Written(_array(self.randomizer, rows, "command"), (lengths - short) % SPARE)

    def _lines(self, values: Any) -> list[bytes]:
        asked = asked_lines(values)
        run = Lines(self.words, self.timeout, self.longest)
        return run("\n".join(asked) + "\n", len(asked))


@dataclass(frozen=True)
class Lines:
    """A command that is given lines and writes lines, in limited time and with limited output.

    Parameters
    ----------
    words : tuple of str
        Program and arguments.
    timeout : float
        Seconds for one call.
    longest : int
        Bytes of a line, on the average of a call.
    """

    words: tuple[str, ...]
    timeout: float = 600.0
    longest: int = 4096

    def __post_init__(self) -> None:
        _check.positive("timeout", self.timeout, high=LONGEST_TIME)

    def __call__(self, text: str, count: int) -> list[bytes]:
        """Run it once: its lines, for an input of ``count`` lines."""
        most = count * self.longest
        with (
            tempfile.TemporaryFile() as given,
            tempfile.TemporaryFile() as out,
            tempfile.TemporaryFile() as err,
        ):
            given.write(text.encode())
            given.seek(0)
            process = self._started(given, out, err)
            try:
                self._ended(process, lambda: _size(out), most, err)
            except ParameterError as error:
                out.seek(0)
                if _reports_in(out.read(_CHUNK)):
                    # Who fails after that has not refused.
                    said = f"{error}; reports had been written"
                    raise NotReportsError(said, None) from None
                raise
            out.seek(0)
            return out.read(most).split(b"\n")

    def timed(self, text: str, count: int) -> list[tuple[bytes, float]]:
        """Run it once: its lines, each with the seconds since the one before had left."""
        found: list[tuple[bytes, float]] = []
        most = count * self.longest
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as err:
            given.write(text.encode())
            given.seek(0)
            process = self._started(given, subprocess.PIPE, err)
            chunks: list[tuple[float, bytes]] = []
            reader = threading.Thread(target=_chunks, args=(process.stdout, chunks), daemon=True)
            reader.start()
            self._ended(process, lambda: sum(len(c) for _, c in chunks), most, err)
            reader.join(self.timeout)
            rest, last = b"", chunks[0][0] if chunks else 0.0
            for when, chunk in chunks:
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    found.append((line, when - last))
                    last = when
            if rest:
                found.append((rest, 0.0))
        return found

    def _started(self, given: Any, out: Any, err: Any) -> subprocess.Popen[bytes]:
        try:
            # The audited program, named by whoever asks for the audit; no shell reads it.
            return subprocess.Popen(self.words, stdin=given, stdout=out, stderr=err)  # noqa: S603
        except (OSError, ValueError) as error:
            raise ParameterError(f"command {self.words[0]!r}: {unreadable(error)}") from None

    def _ended(
        self, process: subprocess.Popen[bytes], size: Callable[[], int], most: int, err: Any
    ) -> None:
        """Until it ends by itself, or is stopped for its time or its output; status 0."""
        status = self._wait(process, size, most)
        if status != 0:
            err.seek(0)
            said = err.read(_SHOWN).decode(errors="replace").strip().split("\n")[0]
            words = f": {one_line(said)}" if said else ""
            raise ParameterError(f"command {self.words[0]!r}: status {status}{words}")

    def _wait(self, process: subprocess.Popen[bytes], size: Callable[[], int], most: int) -> int:
        end = time.monotonic() + self.timeout
        try:
            while process.poll() is None:
                if time.monotonic() > end:
                    raise ParameterError(
                        f"command {self.words[0]!r}: not done after {self.timeout:g} s"
                    )
                if size() > most:
                    raise self._too_much(most)
                time.sleep(_LOOK)
            if size() > most:
                raise self._too_much(most)
            return process.returncode
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()

    def _too_much(self, most: int) -> NotReportsError:
        said = f"more than {most:,} bytes of reports, {self.longest:,} each"
        return NotReportsError(f"command {self.words[0]!r}: {said}", None)


def _reports_in(written: bytes) -> bool:
    """Whether a line of it is a report: a number or a list, and no message about an error."""
    found = (line for line in written.split(b"\n") if line.strip())
    return any(isinstance(_json(line), int | float | list) for line in found)


def split(line: str) -> tuple[str, ...]:
    """Words of a command line, quotes as in a shell; nothing else of one is understood."""
    try:
        words = tuple(shlex.split(line))
    except ValueError as error:
        raise rejected("command", line, f"words as in a shell ({error})") from None
    if not words:
        raise rejected("command", line, "a program and its arguments")
    return words


def _chunks(pipe: Any, into: list[tuple[float, bytes]]) -> None:
    """What comes through a pipe, with the time at which it came."""
    with pipe:
        while chunk := os.read(pipe.fileno(), _CHUNK):
            into.append((time.monotonic(), chunk))


def _size(file: Any) -> int:
    return os.fstat(file.fileno()).st_size


def _shortest(row: Any) -> int:
    """Characters of a report without spaces, whole numbers without a point: of equal ones equal."""
    if isinstance(row, list):
        return 1 + sum(_shortest(value) + 1 for value in row)
    whole = isinstance(row, float) and row.is_integer()
    return len(repr(row)) - (2 if whole and abs(row) < 1e16 else 0)


def asked_lines(values: Any) -> list[str]:
    """Values as JSON, each different number written once."""
    array = values if isinstance(values, np.ndarray) else None
    if array is None or array.ndim != 1 or array.dtype.kind not in "iuf":
        return [json.dumps(_plain(v)) for v in values]
    kinds, places = np.unique(array, return_inverse=True)
    texts = np.array([json.dumps(v) for v in kinds.tolist()], dtype=object)
    return texts[places].tolist()


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return list(value) if isinstance(value, tuple) else value


def _jsonable(randomizer: Randomizer) -> bool:
    return randomizer.name != "density"


def parsed_reports(randomizer: Randomizer, lines: Sequence[bytes], *, name: str) -> Any:
    """Lines of JSON as the array that ``randomize`` would return.

    Bits of unary encodings may be lists of 0 and 1, one for each item, in place of packed bytes.
    """
    return _array(randomizer, _rows(lines, name), name)


def _rows(lines: Sequence[bytes], name: str) -> list[Any]:
    kept = list(lines)
    while kept and not kept[-1].strip():
        kept.pop()
    try:
        rows = json.loads(b"[" + b",".join(kept) + b"]")
    except (ValueError, RecursionError):
        rows = None
    if not kept and len(lines) > 1:
        # Lines without anything in them tell as much as others.
        said = rejected(f"{name}: lines", f"{len(lines) - 1:,} empty ones", "reports")
        raise NotReportsError(str(said), len(lines) - 1)
    if rows is None or len(rows) != len(kept):
        place = next((i for i, line in enumerate(kept) if not _one(line)), 0)
        shown = kept[place][:80].decode(errors="replace")
        said = rejected(f"{name}: line {place + 1}", shown, "one report a line, as JSON")
        raise NotReportsError(str(said), len(kept))
    return rows


def _one(line: bytes) -> bool:
    return _json(line) is not _NOTHING


def _json(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return _NOTHING


_NOTHING = object()


def _array(randomizer: Randomizer, rows: list[Any], name: str) -> Any:
    try:
        array = np.array(rows)
    except ValueError:
        array = None
    if array is None or array.dtype.kind not in "iufb":
        said = rejected(f"{name}: reports", _odd_one(rows), "numbers or lists of them, all alike")
        raise NotReportsError(str(said), len(rows))
    if isinstance(randomizer, RAPPOR | OUE | SamplingRAPPOR):
        return _packed(array, randomizer.items)
    return array.astype(np.int64) if array.dtype.kind == "b" else array


def _odd_one(rows: list[Any]) -> Any:
    """The first that is no number, and no list of numbers of the first one's shape."""
    shape = None
    for row in rows:
        try:
            array = np.array(row)
        except ValueError:
            return row
        if array.dtype.kind not in "iufb" or array.shape != (shape or array.shape):
            return row
        shape = array.shape
    return rows[0] if rows else "none"


def _packed(array: Any, d: int) -> Any:
    """Bytes of bits; anything else is left for the reading to call outside the message space."""
    if array.ndim == 2 and array.shape[1] == d and bool(((array == 0) | (array == 1)).all()):
        return np.packbits(array.astype(np.uint8), axis=1)
    if array.ndim == 2 and bool(((array >= 0) & (array < 256)).all()):
        return array.astype(np.uint8)
    return array


@dataclass(frozen=True)
class Recorded:
    """Reports that were made elsewhere for known inputs: a file of JSON lines.

    Each line is {"value": ..., "report": ...}; under each audited input as many reports are used
    as under the one with the fewest, the first ones.

    Attributes
    ----------
    order : ndarray of int
        Which input was asked for, in the file's order.
    reports : array
        What came back.
    each : int
        Reports under each input.
    """

    order: Labels
    reports: Any
    each: int


def recorded(path: str | Path, plan: AuditPlan) -> Recorded:
    """Read a file of reports for the inputs of a plan; lines with other values are refused."""
    known = {json.dumps(_plain_json(v)): i for i, v in enumerate(plan.values())}
    inputs: list[int] = []
    rows: list[Any] = []
    seen: dict[bytes, tuple[int, Any]] = {}
    try:
        with Path(path).open("rb") as file:
            for place, line in enumerate(file, start=1):
                found = seen.get(line)
                if found is None:
                    if not line.strip():
                        continue
                    found = _recorded_line(line, f"line {place} of {str(path)!r}", known)
                    if len(seen) < _MOST_SEEN:
                        seen[line] = found
                inputs.append(found[0])
                rows.append(found[1])
    except OSError as error:
        raise ParameterError(f"reports {str(path)!r}: {unreadable(error)}") from None
    index = np.array(inputs, dtype=np.uint8)
    counts = np.bincount(index, minlength=len(known))
    each = int(counts.min())
    kept = np.zeros(len(index), dtype=bool)
    for i in range(len(known)):
        kept[np.flatnonzero(index == i)[:each]] = True
    chosen = list(itertools.compress(rows, kept.tolist()))
    return Recorded(index[kept], _array(plan.randomizer, chosen, f"{str(path)!r}"), each)


def _recorded_line(line: bytes, where: str, known: dict[str, int]) -> tuple[int, Any]:
    """Which input a line is of, and its report."""
    try:
        row = json.loads(line)
        key, report = json.dumps(row["value"]), row["report"]
    except (ValueError, TypeError, KeyError, RecursionError):
        shown = line.strip()[:80].decode(errors="replace")
        raise rejected(where, shown, '{"value": ..., "report": ...}') from None
    if key not in known:
        raise rejected(f"value in {where}", key, f"one of {', '.join(known)}")
    return known[key], report


def _plain_json(value: Any) -> Any:
    return json.loads(json.dumps(_plain(value)))


Program = Callable[[Any], Any]
