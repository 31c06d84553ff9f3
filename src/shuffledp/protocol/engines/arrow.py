"""Arrow files (IPC, Feather version 2): batch by batch, of the wanted columns alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

ENDINGS = (".arrow", ".feather", ".ipc")
_MAGIC = b"ARROW1"


def opened(raw: Any, names: tuple[str, ...] | None = None) -> Any:
    """A reader of the file; of some columns alone, the others stay on the disk.

    Parameters
    ----------
    raw : file object
        At its beginning, with random access.
    names : tuple of str, optional
        Columns to read, each there once.

    Raises
    ------
    pyarrow.ArrowException, OSError, ValueError
        If it is no Arrow file, or a damaged one.
    """
    if raw.read(len(_MAGIC)) != _MAGIC:
        # A stream, or Feather version 1: both are read as a whole, and have other endings.
        raise ValueError("not an Arrow file (IPC file format, Feather version 2)")
    raw.seek(0)
    reader = pa.ipc.open_file(raw)
    if names is None:
        return reader
    places = [reader.schema.names.index(name) for name in names]
    raw.seek(0)
    return pa.ipc.open_file(raw, options=pa.ipc.IpcReadOptions(included_fields=sorted(places)))


def rows(reader: Any) -> int:
    """About how many rows there are: as many in every batch as in the first."""
    count = reader.num_record_batches
    return max(count * reader.get_batch(0).num_rows, 1) if count else 1


def batches(reader: Any, names: tuple[str, ...], *, most: int) -> Iterator[pa.RecordBatch]:
    """Rows in order, ``most`` at a time, whatever the file's own batches hold.

    Parameters
    ----------
    reader
        As ``opened`` gives it.
    names : tuple of str
        The columns, in the order that is wanted.
    most : int
        Rows of a batch.
    """
    for place in range(reader.num_record_batches):
        batch = reader.get_batch(place).select(list(names))
        # There is no checksum: what can be told from the data is looked at before it is used.
        batch.validate(full=True)
        for start in range(0, batch.num_rows, most):
            yield batch.slice(start, most)
