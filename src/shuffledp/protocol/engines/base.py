"""The contract of an engine, and the one way local engines work.

An engine reads the columns of a job, has every row randomized, the reports summed up, and shuffled
where they leave, and gives back an ``Outcome``. Local engines read batches of rows; all else is the
same for them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from shuffledp.errors import ParameterError, rejected
from shuffledp.protocol.jobs import Job, Outcome, in_blocks
from shuffledp.protocol.reports import write_reports
from shuffledp.protocol.shuffler import Shuffler

Tell = Callable[[int], None]
# Columns of the table that an error names when one is missing.
_MOST_NAMES = 20


def _quiet(rows: int) -> None:
    del rows


@dataclass(frozen=True)
class Settings:
    """What a run may use and what it should leave behind.

    Attributes
    ----------
    memory : int
        Bytes for the engine's own work.
    reports : Path, optional
        Where to write the shuffled reports (Parquet).
    enough : callable
        Told how many users have a value before anything is released, sums or reports on the disk;
        it raises where they are too few.
    spill : Path, optional
        Directory for temporary files without a name; they hold randomized reports only, never
        values, and never in the users' order.
    tell : callable
        Called with the number of rows done.
    """

    memory: int = 512 << 20
    reports: Path | None = None
    enough: Tell = _quiet
    spill: Path | None = None
    tell: Tell = _quiet

    def shuffler(self) -> Shuffler:
        """The shuffler of a run, with a quarter of the memory, beside reading and sums."""
        return Shuffler(memory=max(self.memory // 4, 1 << 20), directory=self.spill)


class Engine(ABC):
    """Runs jobs over the rows of one table."""

    @abstractmethod
    def run(self, job: Job, settings: Settings) -> Outcome:
        """Randomize the job's column, sum the reports up, and shuffle those that leave."""


class LocalEngine(Engine):
    """On this machine: blocks of rows in order."""

    @abstractmethod
    def arrays(self, names: tuple[str, ...], settings: Settings) -> Iterator[pa.Array]:
        """Rows in the order of the table; of several columns as structs."""

    def run(self, job: Job, settings: Settings) -> Outcome:
        """Randomize and sum up block by block; shuffle the reports where they leave.

        Sums do not depend on the order: where no reports are written nothing is shuffled.
        """
        total, path, users = Outcome(), settings.reports, FirstRows(job.unit)
        with settings.shuffler() as shuffler:
            for block, rows in enumerate(in_blocks(users.of(self, job.column.names, settings))):
                reports, left_out = job.reports(rows, block, counted=job.unit is None)
                total = total + left_out
                if len(reports):
                    total = total + job.outcome(reports)
                if path is not None:
                    shuffler.add(reports)
                settings.tell(len(rows))
            settings.enough(total.users)
            if path is not None:
                leave(job, shuffler.batches(), path, total.users)
        return total + Outcome(repeated=users.left_out)


class FirstRows:
    """The first row of every user, in the order of the table; users' names are held in memory.

    Parameters
    ----------
    unit : str, optional
        Column that names the user. None: every row is a user's.

    Attributes
    ----------
    left_out : int
        Further rows of the same users so far.
    """

    def __init__(self, unit: str | None) -> None:
        self._unit, self.left_out = unit, 0

    def of(
        self, engine: LocalEngine, names: tuple[str, ...], settings: Settings
    ) -> Iterator[pa.Array]:
        """The rows of these columns, of several columns as structs."""
        if self._unit is None:
            yield from engine.arrays(names, settings)
            return
        if self._unit in names:
            raise rejected("unit", self._unit, "another column than those of the values")
        seen: set[Any] = set()
        for rows in engine.arrays((self._unit, *names), settings):
            users, *columns = rows.flatten()
            if users.null_count or pa.types.is_nested(users.type):
                raise rejected("unit", self._unit, "a column that names the user in every row")
            places = {user: place for place, user in reversed([*enumerate(users.to_pylist())])}
            fresh = sorted(place for user, place in places.items() if user not in seen)
            seen.update(places)
            self.left_out += len(rows) - len(fresh)
            batch = pa.RecordBatch.from_arrays(columns, names=list(names))
            yield in_one(batch.take(pa.array(fresh, pa.int64())))


def leave(job: Job, shuffled: Iterable[np.ndarray], path: Path, users: int) -> None:
    """Write batches of shuffled reports to a file, which is there whole or not at all."""
    write_reports(path, iter(shuffled), job.mechanism, job.column, users=users)


def in_one(batch: pa.RecordBatch) -> pa.Array:
    """The batch's one column, or all of them as structs."""
    if batch.num_columns == 1:
        return batch.column(0)
    return pa.StructArray.from_arrays(batch.columns, names=batch.schema.names)


def unknown(name: str, names: list[str]) -> ParameterError:
    """The error for a column that the table does not have once."""
    shown = ", ".join(map(str, names[:_MOST_NAMES]))
    return ParameterError(f"column = {name!r}: wanted one of {shown or 'its columns'}")
