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
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from shuffledp import _check
from shuffledp.audits.plan import AuditPlan, declared
from shuffledp.errors import NotCertified, ParameterError, rejected, unreadable
from shuffledp.randomizers import OUE, RAPPOR, Density, Randomizer, SamplingRAPPOR
from shuffledp.randomizers.composed import PartsRandomizer

Labels = npt.NDArray[np.integer]

# Seconds between two looks at a command that runs.
_LOOK = 0.02
LONGEST_TIME = 86_400.0
# Bytes of a report's line, on the average of a call; more where it is a list of many bits.
_LONGEST = 4096
# Characters of a line or an error that are shown; bytes of what was written that are looked at.
_SHOWN, _LOOKED_AT = 80, 1 << 16
_NOTHING = object()
# Mechanisms whose reports may be lists of bits.
_UNARY = (RAPPOR, OUE, SamplingRAPPOR)


@dataclass(frozen=True)
class Command:
    """A program of its own that is asked for reports: values in, reports out.

    Parameters
    ----------
    words : sequence of str
        Program and arguments; ``Command.parsed`` splits a line as a shell would, and runs none.
    randomizer : Randomizer, optional
        The declared mechanism: it says what a report looks like. Where none is declared reports
        are numbers, rows of them, or texts.
    timeout : float
        Seconds for one call.
    """

    words: tuple[str, ...]
    randomizer: Randomizer | None = None
    timeout: float = 600.0

    def __post_init__(self) -> None:
        if not self.words:
            raise rejected("command", "", "a program and its arguments")
        _check.positive("timeout", self.timeout, high=LONGEST_TIME)
        if isinstance(self.randomizer, PartsRandomizer | Density):
            name = self.randomizer.name
            raise NotCertified(f"{name}: reports of several parts are audited as a callable only")

    @staticmethod
    def parsed(
        line: str, randomizer: Randomizer | None = None, *, timeout: float = 600.0
    ) -> Command:
        """From one line, quotes as in a shell."""
        return Command(split(line), randomizer, timeout)

    def __call__(self, values: Any) -> Any:
        """One call: values in, reports out."""
        lines = self.lines(asked_lines(values))
        if self.randomizer is None:
            return _any_reports(lines)
        return _array(self.randomizer, _rows(lines), "command")

    def lines(self, given_lines: Sequence[str]) -> list[bytes]:
        """Run it once on these lines: what it writes, without an empty end."""
        bits = self.randomizer.items if isinstance(self.randomizer, _UNARY) else 0
        each = max(_LONGEST, 4 * bits)
        most = max(len(given_lines), 1) * each
        with (
            tempfile.TemporaryFile() as given,
            tempfile.TemporaryFile() as out,
            tempfile.TemporaryFile() as err,
        ):
            given.write("".join(f"{line}\n" for line in given_lines).encode())
            given.seek(0)
            try:
                # The audited program, named by whoever asks for the audit; no shell reads it.
                process = subprocess.Popen(self.words, stdin=given, stdout=out, stderr=err)  # noqa: S603
            except (OSError, ValueError) as error:
                raise ParameterError(f"command {self.words[0]!r}: {unreadable(error)}") from None
            self._ended(process, out, err, most)
            out.seek(0)
            found = out.read(most).split(b"\n")
        return found[:-1] if not found[-1].strip() else found

    def _ended(self, process: Any, out: Any, err: Any, most: int) -> None:
        """Until it ends by itself, or is stopped for its time or its output; status 0."""
        end = time.monotonic() + self.timeout
        name = f"command {self.words[0]!r}"
        try:
            while process.poll() is None:
                if time.monotonic() > end:
                    raise ParameterError(f"{name}: not done after {self.timeout:g} s")
                if os.fstat(out.fileno()).st_size > most:
                    break
                time.sleep(_LOOK)
            if os.fstat(out.fileno()).st_size > most:
                said = f"more than {most:,} bytes of reports"
                raise ParameterError(f"{name}: {said}")
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        if process.returncode != 0:
            err.seek(0)
            said = ascii(err.read(2 * _SHOWN).decode(errors="replace").strip().split("\n")[0])[1:-1]
            words = f": {said}" if said else ""
            raise ParameterError(f"{name}: status {process.returncode}{words}")


def split(line: str) -> tuple[str, ...]:
    """Words of a command line, quotes as in a shell; nothing else of one is understood."""
    try:
        words = tuple(shlex.split(line))
    except ValueError as error:
        raise rejected("command", line, f"words as in a shell ({error})") from None
    if not words:
        raise rejected("command", line, "a program and its arguments")
    return words


def asked_lines(values: Any) -> list[str]:
    """Values as JSON, each different number written once."""
    array = values if isinstance(values, np.ndarray) else None
    if array is None or array.ndim != 1 or array.dtype.kind not in "iuf":
        return [_written(v) for v in values]
    kinds, places = np.unique(array, return_inverse=True)
    texts = np.array([json.dumps(v) for v in kinds.tolist()], dtype=object)
    return texts[places].tolist()


def _written(value: Any) -> str:
    return json.dumps(value.tolist() if isinstance(value, np.ndarray | np.generic) else value)


def _rows(lines: Sequence[bytes]) -> list[Any]:
    """Lines of JSON as what they say."""
    if lines and not any(line.strip() for line in lines):
        # Lines without anything in them tell as much as others.
        said = rejected("command: lines", f"{len(lines):,} empty ones", "reports")
        raise ParameterError(str(said))
    rows = _json(b"[" + b",".join(lines) + b"]")
    if rows is _NOTHING or len(rows) != len(lines):
        place = next((i for i, line in enumerate(lines) if _json(line) is _NOTHING), 0)
        shown = lines[place][:_SHOWN].decode(errors="replace")
        said = rejected(f"command: line {place + 1}", shown, "one report a line, as JSON")
        raise ParameterError(str(said))
    return rows


def _json(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return _NOTHING


def _any_reports(lines: Sequence[bytes]) -> Any:
    """Lines of JSON as numbers or rows of them; whatever else they are, as they are written."""
    kept = [line.strip() for line in lines]
    rows = _json(b"[" + b",".join(kept) + b"]")
    try:
        array = np.array(rows if rows is not _NOTHING and len(rows) == len(kept) else "")
    except ValueError:
        array = np.array("")
    if array.dtype.kind in "iuf":
        return array
    return np.array([line.decode(errors="replace") for line in kept])


def _array(randomizer: Randomizer, rows: list[Any], name: str) -> Any:
    """Reports as the array that ``randomize`` would return.

    Bits of unary encodings may be lists of 0 and 1, one for each item, in place of packed bytes.
    """
    try:
        array = np.array(rows)
    except ValueError:
        array = np.array(None)
    if array.dtype.kind not in "iufb":
        said = rejected(f"{name}: reports", _odd_one(rows), "numbers or lists of them, all alike")
        raise ParameterError(str(said))
    if isinstance(randomizer, _UNARY):
        bits = array.ndim == 2 and array.shape[1] == randomizer.items
        if bits and bool(((array == 0) | (array == 1)).all()):
            return np.packbits(array.astype(np.uint8), axis=1)
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


def recorded(path: str | Path, plan: AuditPlan) -> tuple[Labels, Any, int]:
    """Reports that were made elsewhere for known inputs: a file of JSON lines.

    Each line is {"value": ..., "report": ...}; under each audited input as many reports are used
    as under the one with the fewest, the first ones. Lines with other values are refused.

    Returns
    -------
    tuple
        Which input was asked for, in the file's order; the reports; how many under each input.
    """
    known = {json.dumps(json.loads(_written(v))): i for i, v in enumerate(plan.values())}
    found: list[tuple[int, Any]] = []
    try:
        with Path(path).open("rb") as file:
            for place, line in enumerate(file, start=1):
                if line.strip():
                    found.append(_recorded_line(line, f"line {place} of {str(path)!r}", known))
    except OSError as error:
        raise ParameterError(f"reports {str(path)!r}: {unreadable(error)}") from None
    index = np.array([i for i, _ in found], dtype=np.uint8)
    each = int(np.bincount(index, minlength=len(known)).min())
    kept = np.zeros(len(index), dtype=bool)
    for i in range(len(known)):
        kept[np.flatnonzero(index == i)[:each]] = True
    chosen = list(itertools.compress((report for _, report in found), kept.tolist()))
    return index[kept], _array(declared(plan), chosen, f"{str(path)!r}"), each


def _recorded_line(line: bytes, where: str, known: dict[str, int]) -> tuple[int, Any]:
    """Which input a line is of, and its report."""
    try:
        row = json.loads(line)
        key, report = json.dumps(row["value"]), row["report"]
    except (ValueError, TypeError, KeyError, RecursionError):
        shown = line.strip()[:_SHOWN].decode(errors="replace")
        raise rejected(where, shown, '{"value": ..., "report": ...}') from None
    if key not in known:
        raise rejected(f"value in {where}", key, f"one of {', '.join(known)}")
    return known[key], report
