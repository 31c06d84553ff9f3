"""The interface of an engine, and the one way local engines work."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from shuffledp.errors import ParameterError, rejected
from shuffledp.outputs import writing
from shuffledp.protocol.jobs import Job, Outcome, in_blocks
from shuffledp.protocol.reports import write_reports
from shuffledp.protocol.shuffler import Shuffler

Tell = Callable[[int], None]


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
    minimum_batch : int, optional
        Users below which nothing is released: no sums, and no reports on the disk.
    spill : Path, optional
        Directory for temporary files without a name; they hold randomized reports only, never
        values, and never in the users' order.
    tell : callable
        Called with the number of rows done.
    """

    memory: int = 512 << 20
    reports: Path | None = None
    minimum_batch: int | None = None
    spill: Path | None = None
    tell: Tell = _quiet


def enough(users: int, least: int | None) -> None:
    """ParameterError for too few users, before anything is released."""
    if users < 1:
        raise rejected("input", "0 rows", "at least one row with a value")
    if least is not None and users < least:
        raise ParameterError(
            f"input has {users:,} reports: wanted at least population.minimum_batch = {least:,}; "
            "nothing is released"
        )


def shuffler(settings: Settings, *, expected: int) -> Shuffler:
    """The shuffler of a run, with its part of the memory: a quarter, beside reading and sums."""
    held = max(settings.memory // 4, 1 << 20)
    return Shuffler(expected=expected, memory=held, directory=settings.spill)


def release(path: Path, batches: Iterator[np.ndarray], job: Job, users: int) -> None:
    """Write shuffled reports to their file, which is there whole or not at all."""
    about = job.column.about() | {"users": users}
    with writing([("reports", path)]) as held:
        write_reports(held.path(path), batches, job.mechanism, about)


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
    def rows(self) -> int:
        """How many rows there are."""

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
        with shuffler(settings, expected=self.rows()) as s:
            for block, rows in enumerate(in_blocks(self.arrays(job.column.names, settings))):
                reports, left_out = job.reports(rows, block)
                total = total + left_out
                if job.seed is not None and len(reports):
                    total = total + job.outcome(reports)
                if job.seed is None or settings.reports is not None:
                    s.add(reports)
                settings.tell(len(rows))
            if settings.minimum_batch is not None:
                enough(total.users, settings.minimum_batch)
            released = _summed(job, s.batches()) if job.seed is None else None
            if settings.reports is not None:
                batches = s.batches() if released is None else released.batches()
                release(settings.reports, batches, job, total.users)
            elif released is not None:
                for _ in released.batches():
                    pass
        if released is not None:
            total = total + released.outcome
        return replace(total)


def in_one(batch: pa.RecordBatch) -> pa.Array:
    """The batch's one column, or all of them as structs."""
    if batch.num_columns == 1:
        return batch.column(0)
    return pa.StructArray.from_arrays(batch.columns, names=batch.schema.names)


def unknown(name: str, names: list[str]) -> ParameterError:
    """The error for a column that the table does not have."""
    return ParameterError(f"column = {name!r}: wanted one of {', '.join(names[:20])}")


@dataclass
class _Released:
    """Batches that leave the shuffler, summed as they pass."""

    job: Job
    source: Iterator[np.ndarray]
    outcome: Outcome

    def batches(self) -> Iterator[np.ndarray]:
        for reports in self.source:
            self.outcome = self.outcome + self.job.outcome(reports)
            yield reports


def _summed(job: Job, batches: Iterator[np.ndarray]) -> _Released:
    return _Released(job, batches, Outcome())
