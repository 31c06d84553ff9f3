"""The contract of an engine, and the one way local engines work.

An engine reads the columns of a job, has every row randomized, the reports shuffled and summed, and
gives back an ``Outcome``. Local engines read batches of rows; all else is the same for them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from shuffledp.errors import ParameterError
from shuffledp.protocol.jobs import Job, Outcome, in_blocks
from shuffledp.protocol.reports import write_reports
from shuffledp.protocol.shuffler import Shuffler

Tell = Callable[[int], None]
# A column that is not there: so many of those that are there are named.
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
        """Randomize the job's column, shuffle the reports, and sum them up."""


class LocalEngine(Engine):
    """On this machine: blocks of rows in order, reports through the shuffler, then sums."""

    @property
    def untyped(self) -> bool:
        """Whether all values are text, whatever they mean: to be read as what is wanted."""
        return False

    @abstractmethod
    def arrays(self, names: tuple[str, ...], settings: Settings) -> Iterator[pa.Array]:
        """Rows in the order of the table; of several columns as structs."""

    def run(self, job: Job, settings: Settings) -> Outcome:
        """Randomize block by block, shuffle out of core, aggregate what the shuffler releases.

        With a seed the sums are formed block by block before shuffling, which changes none of
        them: then they are equal on every engine to the last bit.
        """
        if self.untyped:
            job = replace(job, column=job.column.of_text())
        total = Outcome()
        with settings.shuffler() as shuffler:
            for block, rows in enumerate(in_blocks(self.arrays(job.column.names, settings))):
                reports, left_out = job.reports(rows, block)
                total = total + left_out
                if job.seed is not None and len(reports):
                    total = total + job.outcome(reports)
                shuffler.add(reports)
                settings.tell(len(rows))
            settings.enough(total.users)
            released = leave(job, shuffler.batches(), settings.reports, total.users)
        return total + released if job.seed is None else total


def leave(job: Job, shuffled: Iterable[np.ndarray], path: Path | None, users: int) -> Outcome:
    """Sum shuffled reports as they pass, and write them to their file where one is wanted.

    Parameters
    ----------
    job : Job
        What made them.
    shuffled : iterable of ndarray
        Batches of reports in uniformly random order.
    path : Path or None
        The file, which is there whole or not at all.
    users : int
        How many users there are, for the file's metadata.
    """
    total = Outcome()

    def passing() -> Iterator[np.ndarray]:
        nonlocal total
        for reports in shuffled:
            total = total + job.outcome(reports)
            yield reports

    if path is None:
        for _ in passing():
            pass
    else:
        write_reports(path, passing(), job.mechanism, job.column.about() | {"users": users})
    return total


def in_one(batch: pa.RecordBatch) -> pa.Array:
    """The batch's one column, or all of them as structs."""
    if batch.num_columns == 1:
        return batch.column(0)
    return pa.StructArray.from_arrays(batch.columns, names=batch.schema.names)


def unknown(name: str, names: list[str]) -> ParameterError:
    """The error for a column that the table does not have once."""
    shown = ", ".join(map(str, names[:_MOST_NAMES]))
    return ParameterError(f"column = {name!r}: wanted one of {shown or 'its columns'}")
