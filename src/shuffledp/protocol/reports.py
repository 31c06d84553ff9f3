"""Reports in files: one Arrow column, and in its metadata the mechanism that made them."""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from shuffledp import _check
from shuffledp.errors import NotCertified, ParameterError, rejected, unreadable
from shuffledp.multimessage import MultiMessage
from shuffledp.outputs import writing
from shuffledp.protocol.columns import Column
from shuffledp.protocol.jobs import Mechanism, Outcome, mechanism_of
from shuffledp.protocol.questions import Asked, Question, question
from shuffledp.protocol.records import Record
from shuffledp.randomizers import Joint
from shuffledp.randomizers.values import RefusedRows
from shuffledp.statistics.estimates import Aggregate

_KEY = b"shuffledp"
_COLUMN = "report"
_FORMAT = 1
# Entries of the metadata: their types, in words, and what stands for one that is not there.
_ENTRIES: dict[str, tuple[Any, str, Any]] = {
    "randomizer": (dict, "a table with a name", None),
    "name": (str, "the column's name", _COLUMN),
    "items": (list | None, "a list of items, or null", None),
    "columns": (list | None, "a list of tables, one for each part, or null", None),
    "hashed": (bool, "true or false", False),
    "alphabet": (str | None, "text, or null", None),
    "length": (int, "a whole number", 0),
}


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


def schema(randomizer: Mechanism, about: Mapping[str, Any], sample: np.ndarray) -> pa.Schema:
    """Schema of a report file, with the mechanism and what it is about in its metadata."""
    found = {"format": _FORMAT, "randomizer": randomizer.to_dict(), "items": None, **about}
    text = json.dumps(found, allow_nan=False, default=_plain).encode()
    return pa.schema([pa.field(_COLUMN, report_type(sample), nullable=False)], {_KEY: text})


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    return list(value)


def write_reports(
    path: str | Path,
    batches: Iterator[np.ndarray],
    randomizer: Mechanism,
    about: Mapping[str, Any] | None,
) -> int:
    """Write batches of reports to a Parquet file, whole or not at all; returns how many there were.

    ``about`` is what a column says of itself (``Column.about``), and how many users there are.
    """
    first = next(batches, None)
    if first is None:
        raise rejected("reports", "none", "at least one report")
    count = 0
    with writing([("reports", path)]) as held:
        form = schema(randomizer, about or {}, first)
        with pq.ParquetWriter(held.path(path), form) as writer:
            for reports in itertools.chain([first], batches):
                writer.write_table(pa.Table.from_arrays([to_arrow(reports)], schema=form))
                count += len(reports)
    return count


@dataclass(frozen=True)
class ReportFile:
    """A report file that was read: the mechanism, the items, and the sums over good reports.

    Attributes
    ----------
    randomizer : Randomizer or MultiMessage
        What made the reports, from the file's metadata.
    items : tuple or None
        What the estimated numbers are about.
    outcome : Outcome
        Sums over the reports inside the message space.
    refused : int
        Reports outside it, left out and counted.
    about : mapping
        All metadata.
    question : Question or None
        What makes an answer of the sums; None of a prefix tree.
    """

    randomizer: Mechanism
    items: tuple[str | int, ...] | None
    outcome: Outcome
    refused: int
    about: Mapping[str, Any]
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
        randomizer, about = _about(path, file.schema_arrow)
        tree = about.get("alphabet") is not None
        wanted = None if tree else question(randomizer, about, asked or Asked())
        total, refused = Outcome(), 0
        try:
            for batch in file.iter_batches(batch_size=rows, columns=[_COLUMN]):
                reports = from_arrow(batch.column(0))
                if wanted is None:
                    total = total + Outcome(len(reports), np.zeros(1))
                    continue
                outcome, bad = _sums(wanted.sums, reports)
                total, refused = total + outcome, refused + bad
        except (pa.ArrowInvalid, OSError) as error:
            first = str(error).splitlines()[0]
            raise ParameterError(f"reports = {str(path)!r}: damaged: {first}") from None
    items = about.get("items")
    users = about.get("users", total.count) if isinstance(randomizer, MultiMessage) else total.count
    total = dataclasses.replace(total, users=users)
    items = None if items is None else tuple(items)
    return ReportFile(randomizer, items, total, refused, about, wanted)


def report_batches(path: str | Path, *, rows: int = 1 << 20) -> Iterator[np.ndarray]:
    """The reports of a file that ``read_reports`` has read, batch by batch."""
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=rows, columns=[_COLUMN]):
            yield from_arrow(batch.column(0))


def _about(path: str | Path, found: pa.Schema) -> tuple[Mechanism, dict[str, Any]]:
    text = (found.metadata or {}).get(_KEY)
    if text is None or _COLUMN not in found.names:
        raise ParameterError(f"reports = {str(path)!r}: wanted a report file written by shuffledp")
    try:
        about = json.loads(text)
        if not isinstance(about, dict):
            raise rejected("metadata", about, "a table with randomizer and items")
        randomizer = mechanism_of(_given(about, "randomizer"))
        _check_about(randomizer, about)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ParameterError(f"reports = {str(path)!r}: metadata: {error}") from None
    return randomizer, about


def _given(about: Mapping[str, Any], key: str) -> Any:
    """The entry of that name; ParameterError where it is something else than is written."""
    kind, wanted, usual = _ENTRIES[key]
    value = about.get(key, usual)
    if not isinstance(value, kind):
        raise rejected(key, value, wanted)
    return value


def _check_about(randomizer: Mechanism, about: Mapping[str, Any]) -> None:
    """ParameterError unless reports of this mechanism can be about such columns."""
    columns = _given(about, "columns")
    if columns is None and isinstance(randomizer, Joint):
        return
    made = [
        Column(
            name=_given(one, "name"),
            domain=None if (items := _given(one, "items")) is None else tuple(items),
            hashed=_given(one, "hashed"),
            alphabet=_given(one, "alphabet"),
            length=_given(one, "length"),
        )
        for one in ([about] if columns is None else columns)
    ]
    (made[0] if columns is None else Record(tuple(made))).check(randomizer)
    if isinstance(randomizer, MultiMessage) and "users" in about:
        _check.count("users", about["users"])


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
