"""Several columns as one record: the inputs of a joint report."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from shuffledp.deployment.data import Attribute, Data
from shuffledp.errors import ParameterError, rejected
from shuffledp.protocol.columns import Column, Encoded
from shuffledp.randomizers import Joint
from shuffledp.randomizers.composed import field


@dataclass(frozen=True)
class Record:
    """The columns of a record, in the order of the joint mechanism's parts.

    A row that one of the columns leaves out is left out whole; it counts as missing if any of its
    values is missing, else as outside.
    """

    columns: tuple[Column, ...]
    # No record is read by a prefix tree.
    spelling: ClassVar[None] = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        if len(self.columns) < 2:
            raise rejected("number of columns", len(self.columns), "2 or more")
        if len(set(self.names)) < len(self.names):
            twice = next(name for name in self.names if self.names.count(name) > 1)
            raise rejected("column", twice, "every column once")

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the table that are read."""
        return tuple(column.name for column in self.columns)

    def check(self, randomizer: Any) -> None:
        """ParameterError unless the mechanism is joint, with a part for each column."""
        wanted = "the name joint, for several columns"
        if not isinstance(randomizer, Joint):
            raise rejected("randomizer", randomizer.name, wanted)
        if len(randomizer.randomizers) != len(self.columns):
            count = len(randomizer.randomizers)
            raise rejected("number of columns", len(self.columns), f"{count} for this joint")
        for column, part in zip(self.columns, randomizer.randomizers, strict=True):
            column.check(part)

    def table(self) -> dict[str, Any]:
        """What reports of it are about, as the table ``data`` of a deployment says it."""
        return {"columns": [column.table() for column in self.columns]}

    def encode(self, rows: Any, randomizer: Any, *, before: int | None = 0) -> Encoded:
        """Records as an array with a field for each part; ``before`` as of ``Column.encode``."""
        if isinstance(rows, pa.ChunkedArray):
            rows = rows.combine_chunks()
        parts = zip(self.columns, randomizer.randomizers, strict=True)
        found = [c.encode(rows.field(j), m, before=before) for j, (c, m) in enumerate(parts)]
        nulls = np.logical_or.reduce([one.nulls for one in found])
        outside = np.logical_or.reduce([one.outside for one in found]) & ~nulls
        made = np.zeros(len(nulls), [(field(j), one.values.dtype) for j, one in enumerate(found)])
        for j, one in enumerate(found):
            made[field(j)] = one.values
        return Encoded(made, nulls, outside)


Values = Column | Record


def column_of(
    data: Data | None, *, domain: tuple[str | int, ...] | None = None, show_values: bool = False
) -> Values:
    """The columns that the table ``data`` of a deployment names.

    Parameters
    ----------
    data : Data or None
        The table.
    domain : tuple, optional
        Items of the one column, in place of the table's.
    show_values : bool
        Whether errors may name values.
    """
    listed = () if data is None else tuple(data.columns or ())
    if data is not None and data.column is not None and listed:
        raise ParameterError("data.columns: wanted column or columns, not both")
    if len(listed) < 2:
        one = listed[0] if listed else data
        if one is None or one.column is None:
            raise ParameterError("data.column is missing: wanted the column that holds the values")
        more = {} if domain is None else {"domain": domain}
        return _column(one, show_values=show_values, **more)
    if domain is not None:
        raise ParameterError("domain: wanted one column; several have theirs in [[data.columns]]")
    return Record(tuple(_column(one, show_values=show_values) for one in listed))


def _column(table: Data | Attribute, **more: Any) -> Column:
    """The column of a table that names one; ``more`` are arguments in the place of its keys."""
    known = {f.name for f in fields(Column)} & {*type(table).model_fields}
    return Column(name=str(table.column), **{**table.model_dump(include=known), **more})
