"""PySpark: rows on a cluster, reports made by ``mapInArrow``, sums added up along a tree.

What a worker makes of a block of rows, its reports in random order and their sums, is one pickled
value. Where reports are written they are made once, in a table that is only read after that: a task
that is retried writes its own part again, and the failed attempt's part is never committed, so no
value's second report is seen. The driver shuffles them, and the table goes when they are written.
"""

from __future__ import annotations

import contextlib
import importlib
import pickle
import re
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from shuffledp.errors import ParameterError, rejected
from shuffledp.protocol.engines.base import Engine, Settings, in_one, leave, unknown
from shuffledp.protocol.jobs import BLOCK_ROWS, Job, Outcome, in_blocks
from shuffledp.protocol.shuffler import shuffle_reports

_REFUSED = re.compile(r"shuffledp\.errors\.ParameterError: ([^\n]*)")
# Reports of a block in random order, none where they are not written, and their sums.
_Block = tuple[np.ndarray | None, Outcome]


class SparkEngine(Engine):
    """A Spark DataFrame.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        The table.
    materialized : str
        A folder every worker can write to. Where reports are written a table ``reports`` is in it
        meanwhile: blocks of randomized reports, never values. It is removed at the end.
    """

    def __init__(self, frame: Any, *, materialized: str) -> None:
        self._frame = frame
        self._where = materialized

    def run(self, job: Job, settings: Settings) -> Outcome:
        """Randomize and sum up block by block; shuffle the reports where they leave.

        With a seed rows are numbered first, so that each block has its own stream, as on the other
        engines; no table is written then.
        """
        if job.unit is not None:
            raise rejected("unit", job.unit, "none with Spark: a frame with one row a user")
        for name in job.column.names:
            if name not in self._frame.columns:
                raise unknown(name, self._frame.columns)
        # Under names of ours: Spark reads a dot in a name as a field of a struct.
        quoted = ("`" + name.replace("`", "``") + "`" for name in job.column.names)
        rows = self._frame.selectExpr(*(f"{name} AS value{j}" for j, name in enumerate(quoted)))
        kept = settings.reports is not None
        with _one_line(), contextlib.ExitStack() as stack:
            if job.seed is not None:
                blocks = _numbered(job, rows, kept=kept)
            else:
                blocks = rows.mapInArrow(_working(job, kept=kept), "pickled binary")
                if kept:
                    blocks = stack.enter_context(self._written(blocks))
                # What our own workers pickled, one block a row.
                blocks = blocks.rdd.map(lambda row: pickle.loads(bytes(row[0])))  # noqa: S301
            total = blocks.map(lambda found: found[1]).treeAggregate(
                Outcome(), lambda x, y: x + y, lambda x, y: x + y
            )
            settings.enough(total.users)
            if settings.reports is not None:
                with settings.shuffler() as shuffler:
                    for reports, _ in blocks.toLocalIterator():
                        shuffler.add(reports)
                    leave(job, shuffler.batches(), settings.reports, total.users)
        return total

    @contextlib.contextmanager
    def _written(self, blocks: Any) -> Iterator[Any]:
        """The same blocks from a table, which is removed at the end."""
        session, table = self._frame.sparkSession, f"{self._where}/reports"
        blocks.write.mode("errorifexists").parquet(table)
        try:
            yield session.read.parquet(table)
        finally:
            path = session.sparkContext._jvm.org.apache.hadoop.fs.Path(table)  # noqa: SLF001
            configuration = session.sparkContext._jsc.hadoopConfiguration()  # noqa: SLF001
            path.getFileSystem(configuration).delete(path, True)  # noqa: FBT003 (and all in it)


@contextlib.contextmanager
def _one_line() -> Iterator[None]:
    """What a worker refuses is the same error as on the other engines, not Spark's trace of it."""
    errors = (
        importlib.import_module("pyspark.errors").PySparkException,
        importlib.import_module("py4j.protocol").Py4JJavaError,
    )
    try:
        yield
    except errors as error:
        # The worker's own last line, as Python prints it.
        found = _REFUSED.search(str(error))
        if found is not None:
            raise ParameterError(found[1].strip()) from None
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise ParameterError(f"input: Spark: {first}") from None


def _worked(job: Job, rows: pa.Array, block: int, *, kept: bool) -> _Block:
    """A block of rows, nobody knows which of the table's."""
    reports, found = job.reports(rows, block, counted=False)
    if len(reports):
        found = found + job.outcome(reports)
    return shuffle_reports(reports) if kept else None, found


def _working(job: Job, *, kept: bool) -> Any:
    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # A block at a time, however few rows Spark hands over at once: what is written has only
        # the order of blocks.
        for rows in in_blocks(in_one(batch) for batch in batches):
            made = pickle.dumps(_worked(job, rows, 0, kept=kept))
            yield pa.RecordBatch.from_arrays([pa.array([made], pa.binary())], names=["pickled"])

    return work


def _numbered(job: Job, rows: Any, *, kept: bool) -> Any:
    """Blocks of numbered rows, each worked on whole, wherever its rows lie."""

    def work(found: tuple[int, Iterable[Any]]) -> _Block:
        block, placed = found
        ordered = [row for _, row in sorted(placed, key=lambda pair: pair[0])]
        columns: list[Any] = [pa.array(values) for values in zip(*ordered, strict=True)]
        names = [f"value{j}" for j in range(len(columns))]
        batch = in_one(pa.record_batch(columns, names=names))
        return _worked(job, batch, block, kept=kept)

    places = rows.rdd.zipWithIndex().map(lambda p: (p[1] // BLOCK_ROWS, (p[1], tuple(p[0]))))
    return places.groupByKey().map(work)
