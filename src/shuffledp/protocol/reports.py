"""Reports in files: one Arrow column, and in its metadata the mechanism that made them."""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from shuffledp import _check
from shuffledp.deployment.data import data_of
from shuffledp.errors import NotCertified, ParameterError, rejected, unreadable
from shuffledp.multimessage import MultiMessage
from shuffledp.outputs import writing
from shuffledp.protocol.jobs import Mechanism, Outcome, mechanism_of
from shuffledp.protocol.questions import Asked, Question, question
from shuffledp.protocol.records import Values, column_of
from shuffledp.randomizers.values import RefusedRows
from shuffledp.statistics.estimates import Aggregate

_KEY = b"shuffledp"
_COLUMN = "report"
_FORMAT = 2


def report_type(sample: np.ndarray) -> pa.DataType:
    """Arrow type of a report: a number, a fixed-size list of numbers, or a struct of such."""
    if sample.dtype.names is not None and sample.ndim == 1:
        return pa.struct([(name, report_type(sample[name])) for name in sample.dtype.names])
    if sample.dtype.kind not in "iuf" or sample.ndim not in (1, 2):
        msg = f"reports of type {sample.dtype}, {sample.ndim} dimensions, have no column format"
        raise NotCertified(msg)
    kind = pa.from_numpy_dtype(sample.dtype)
    return kind if sample.ndim == 1 else pa.list_(kind, sample.shape[1])


def to_arrow(reports: np.ndarray) -> pa.Array:
    """Reports as one Arrow array."""
    kind = report_type(reports)
    names = reports.dtype.names
    if names is not None:
        columns = [to_arrow(reports[name]) for name in names]
        return pa.StructArray.from_arrays(columns, fields=list(kind))
    flat = pa.array(np.ascontiguousarray(reports).reshape(-1))
    return flat if reports.ndim == 1 else pa.FixedSizeListArray.from_arrays(flat, type=kind)


def from_arrow(array: pa.Array) -> np.ndarray:
    """The array's reports; shape (n,) or (n, width)."""
    if array.null_count:
        raise rejected("reports", None, f"a report in every row ({array.null_count:,} have none)")
    if pa.types.is_struct(array.type):
        columns = {field.name: from_arrow(array.field(field.name)) for field in array.type}
        kinds = [(name, column.dtype, column.shape[1:]) for name, column in columns.items()]
        rows = np.zeros(len(array), dtype=kinds)
        for name, column in columns.items():
            rows[name] = column
        return rows
    if pa.types.is_fixed_size_list(array.type):
        flat = np.asarray(array.flatten())
        return flat.reshape(len(array), array.type.list_size)
    if not (pa.types.is_integer(array.type) or pa.types.is_floating(array.type)):
        raise rejected("reports", str(array.type), "a column of numbers or of lists of numbers")
    return np.asarray(array)


def schema(
    randomizer: Mechanism, column: Values | None, sample: np.ndarray, *, users: int | None = None
) -> pa.Schema:
    """Schema of a report file, with the mechanism and what it is about in its metadata."""
    found = {
        "format": _FORMAT,
        "randomizer": randomizer.to_dict(),
        "data": None if column is None else column.table(),
        "users": users,
    }
    text = json.dumps(found, allow_nan=False).encode()
    return pa.schema([pa.field(_COLUMN, report_type(sample), nullable=False)], {_KEY: text})


def write_reports(
    path: str | Path,
    batches: Iterator[np.ndarray],
    randomizer: Mechanism,
    column: Values | None = None,
    *,
    users: int | None = None,
) -> int:
    """Write batches of reports to a Parquet file, whole or not at all; returns how many there were.

    ``column`` is what they are about. Where a user sends several messages ``users`` says how many
    users there are.
    """
    first = next(batches, None)
    if first is None:
        raise rejected("reports", "none", "at least one report")
    count = 0
    with writing([("reports", path)]) as held:
        form = schema(randomizer, column, first, users=users)
        with pq.ParquetWriter(held.path(path), form) as writer:
            for reports in itertools.chain([first], batches):
                writer.write_table(pa.Table.from_arrays([to_arrow(reports)], schema=form))
                count += len(reports)
    return count


@dataclass(frozen=True)
class ReportFile:
    """A report file that was read: the mechanism, the column, and the sums over good reports.

    Attributes
    ----------
    randomizer : Randomizer or MultiMessage
        What made the reports, from the file's metadata.
    column : Column, Record or None
        What the reports are about, from the metadata too.
    outcome : Outcome
        Sums over the reports inside the message space.
    refused : int
        Reports outside it, left out and counted.
    question : Question or None
        What makes an answer of the sums; None of a prefix tree.
    """

    randomizer: Mechanism
    column: Values | None
    outcome: Outcome
    refused: int
    question: Question | None


def read_reports(
    path: str | Path, *, asked: Asked | None = None, rows: int = 1 << 20
) -> ReportFile:
    """Aggregate a report file that may be larger than memory.

    Parameters
    ----------
    path : path
        The file.
    asked : Asked
        What the reports are summed for.
    rows : int
        Reports at a time.

    Raises
    ------
    ParameterError
        If it is no such file, is cut off, or its metadata name no known mechanism.
    """
    try:
        file = pq.ParquetFile(path)
    except FileNotFoundError:
        raise ParameterError(f"reports = {str(path)!r}: no such file") from None
    except OSError as error:
        raise ParameterError(f"reports = {str(path)!r}: {unreadable(error)}") from None
    except pa.ArrowInvalid:
        raise ParameterError(
            f"reports = {str(path)!r}: not a whole Parquet file (cut off?)"
        ) from None
    with file:
        randomizer, column, users = _described(path, file.schema_arrow)
        tree = column is not None and column.spelling is not None
        wanted = None if tree else question(randomizer, column, asked or Asked())
        total, refused = Outcome(), 0
        try:
            for batch in file.iter_batches(batch_size=rows, columns=[_COLUMN]):
                reports = from_arrow(batch.column(0))
                if wanted is None:
                    total = total + Outcome(Aggregate(len(reports), np.zeros(1)))
                    continue
                outcome, bad = _sums(wanted.sums, reports)
                total, refused = total + outcome, refused + bad
        except (pa.ArrowInvalid, OSError) as error:
            first = str(error).splitlines()[0]
            raise ParameterError(f"reports = {str(path)!r}: damaged: {first}") from None
    if users is None or not isinstance(randomizer, MultiMessage):
        users = total.count
    total = dataclasses.replace(total, users=users)
    return ReportFile(randomizer, column, total, refused, wanted)


def report_batches(path: str | Path, *, rows: int = 1 << 20) -> Iterator[np.ndarray]:
    """The reports of a file that ``read_reports`` has read, batch by batch."""
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=rows, columns=[_COLUMN]):
            yield from_arrow(batch.column(0))


def _described(path: str | Path, found: pa.Schema) -> tuple[Mechanism, Values | None, int | None]:
    """The mechanism, the column and the number of users that the metadata name."""
    text, column = (found.metadata or {}).get(_KEY), None
    if text is None or _COLUMN not in found.names:
        raise ParameterError(f"reports = {str(path)!r}: wanted a report file written by shuffledp")
    try:
        about = json.loads(text)
        named = about.get("randomizer") if isinstance(about, dict) else about
        if not isinstance(named, dict):
            raise rejected("randomizer", named, "a table with a name")
        randomizer = mechanism_of(named)
        if about.get("data") is not None:
            column = column_of(data_of(about["data"]))
            column.check(randomizer)
        users = about.get("users")
        users = None if users is None else _check.count("users", users)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ParameterError(f"reports = {str(path)!r}: metadata: {error}") from None
    return randomizer, column, users


def _sums(sums_of: Callable[[np.ndarray], Aggregate], reports: np.ndarray) -> tuple[Outcome, int]:
    """Sums over the reports in the message space, and how many others there are.

    A check names all rows that fail it, so there are no more turns than there are checks; where
    the column as a whole is refused, as one of another type, all of it is left out.
    """
    refused = 0
    while len(reports):
        try:
            return Outcome.of(sums_of(reports)), refused
        except RefusedRows as error:
            kept = reports[~error.rows]
        except ParameterError:
            kept = reports[:0]
        reports, refused = kept, refused + len(reports) - len(kept)
    return Outcome(), refused
