"""Reports as a column of Spark's: its types, there and back, no bit lost.

Spark has no unsigned numbers and no lists of fixed length. Rows of bytes are binary, other whole
numbers are widened to 64 bits (those of 64 bits without a sign wrap around, and back), numbers to
doubles, a row of numbers is an array, and a report of several parts a struct of such.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from shuffledp.protocol.reports import report_type


def spark_type(sample: np.ndarray) -> str:
    """Spark's name for the type of these reports.

    Raises
    ------
    NotCertified
        If reports of this type have no column format.
    """
    report_type(sample)
    return _named(sample)


def _named(sample: np.ndarray) -> str:
    names = sample.dtype.names
    if names is not None:
        return f"struct<{', '.join(f'{name}: {_named(sample[name])}' for name in names)}>"
    if _is_bytes(sample):
        return "binary"
    kind = "double" if sample.dtype.kind == "f" else "long"
    return kind if sample.ndim == 1 else f"array<{kind}>"


def _is_bytes(reports: np.ndarray) -> bool:
    return reports.ndim == 2 and reports.dtype == np.uint8


def to_spark(reports: np.ndarray) -> pa.Array:
    """Reports as a column of the type ``spark_type`` says."""
    names = reports.dtype.names
    if names is not None:
        columns: list[Any] = [to_spark(reports[name]) for name in names]
        return pa.StructArray.from_arrays(columns, names=list(names))
    if _is_bytes(reports):
        return octets_column(reports)
    kind = np.float64 if reports.dtype.kind == "f" else np.int64
    flat = pa.array(np.ascontiguousarray(reports).reshape(-1).astype(kind))
    if reports.ndim == 1:
        return flat
    return pa.ListArray.from_arrays(_offsets(reports), flat)


def octets_column(rows: np.ndarray) -> pa.Array:
    """Rows of bytes, shape (m, width), as a binary column."""
    buffers = [None, pa.py_buffer(_offsets(rows)), pa.py_buffer(np.ascontiguousarray(rows))]
    return pa.Array.from_buffers(pa.binary(), len(rows), buffers)


def _offsets(rows: np.ndarray) -> Any:
    return np.arange(len(rows) + 1, dtype=np.int32) * np.int32(rows.shape[1])


def from_spark(column: Any, sample: np.ndarray) -> np.ndarray:
    """The reports of a column, of the type and width of ``sample``."""
    names = sample.dtype.names
    if names is not None:
        made = np.zeros(len(column), dtype=sample.dtype)
        for name in names:
            made[name] = from_spark(column.field(name), sample[name])
        return made
    if sample.ndim == 1:
        return np.asarray(column).astype(sample.dtype)
    width = sample.shape[1]
    if _is_bytes(sample):
        flat = np.frombuffer(b"".join(column.to_pylist()), dtype=np.uint8)
    else:
        flat = np.asarray(column.flatten()).astype(sample.dtype)
    return flat.reshape(len(column), width)
