"""PySpark: rows on a cluster, reports made by ``mapInArrow``, sums added up along a tree.

Reports are written to a table once and only read after that: a task that is retried writes its own
part again, and the failed attempt's part is never committed, so no value's second report is seen.
That table has each block of rows in random order, and goes when the shuffled one is there. A report
is a row of bytes there, those of its NumPy type: Spark has no unsigned numbers and no fixed lists.
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

from shuffledp.errors import ParameterError
from shuffledp.protocol.engines.base import Engine, Settings, in_one, leave, unknown
from shuffledp.protocol.jobs import BLOCK_ROWS, Job, Outcome, in_blocks
from shuffledp.protocol.shuffler import shuffle_reports
from shuffledp.randomness import SystemSource

_PICKLED = "pickled binary"
# Rows that go to Spark at a time; a column of bytes has less than 2^31 of them.
_ROWS = 1 << 13
# Random bits by which reports are ordered: two of 10^9 have the same key with probability 2e-21.
_KEY_BYTES = 16
_COUNTS = ("nulls", "outside", "users")
_REFUSED = re.compile(r"shuffledp\.errors\.ParameterError: ([^\n]*)")


class SparkEngine(Engine):
    """A Spark DataFrame.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        The table.
    materialized : str
        Where reports are written, a path every worker can write to. What stays is the table
        ``shuffled``: randomized reports in random order, never values; it is the caller's to
        remove. Below the minimum batch nothing stays.
    """

    def __init__(self, frame: Any, *, materialized: str) -> None:
        self._frame = frame
        self._where = materialized

    def run(self, job: Job, settings: Settings) -> Outcome:
        """Randomize, shuffle by random keys, write, aggregate.

        With a seed rows are numbered first, so that each block has its own stream, as on the other
        engines; no table is written then. A file of reports is written by the driver, from what
        the shuffled table holds.
        """
        for name in job.column.names:
            if name not in self._frame.columns:
                raise unknown(name, self._frame.columns)
        # Under names of ours: Spark reads a dot in a name as a field of a struct.
        quoted = ("`" + name.replace("`", "``") + "`" for name in job.column.names)
        rows = self._frame.selectExpr(*(f"{name} AS value{j}" for j, name in enumerate(quoted)))
        with _one_line():
            if job.seed is not None:
                return _simulated(job, rows, settings)
            return self._private(job, rows, settings)

    def _private(self, job: Job, rows: Any, settings: Settings) -> Outcome:
        counts = ", ".join(f"{name} long" for name in _COUNTS)
        made = rows.mapInArrow(_randomizing(job), f"report binary, order_key binary, {counts}")
        session = self._frame.sparkSession
        keyed, shuffled = f"{self._where}/keyed", f"{self._where}/shuffled"
        made.write.mode("errorifexists").parquet(keyed)
        try:
            table = session.read.parquet(keyed)
            found = table.agg(dict.fromkeys(_COUNTS, "sum")).collect()[0].asDict()
            nulls, outside, users = (int(found[f"sum({name})"] or 0) for name in _COUNTS)
            left_out = Outcome(nulls=nulls, outside=outside, users=users)
            settings.enough(left_out.users)
            mixed = table.where("report is not null").orderBy("order_key").select("report")
            mixed.write.mode("errorifexists").parquet(shuffled)
        finally:
            _remove(session, keyed)
        reports = session.read.parquet(shuffled)
        total = _reduced(_unpickled(reports.mapInArrow(_summing(job), _PICKLED).rdd))
        if settings.reports is None:
            return left_out + total
        batches = _unpickled(reports.mapInArrow(_batching(job), _PICKLED).rdd).toLocalIterator()
        leave(job, batches, settings.reports, left_out.users)
        return left_out + total


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


def _remove(session: Any, where: str) -> None:
    """Delete a table, wherever Spark has written it."""
    path = session.sparkContext._jvm.org.apache.hadoop.fs.Path(where)  # noqa: SLF001 (no other way)
    configuration = session.sparkContext._jsc.hadoopConfiguration()  # noqa: SLF001
    path.getFileSystem(configuration).delete(path, True)  # noqa: FBT003 (Java: and all in it)


def _simulated(job: Job, rows: Any, settings: Settings) -> Outcome:
    """Blocks of numbered rows, each worked on whole, wherever its rows lie."""
    numbered = rows.rdd.zipWithIndex().map(lambda p: (p[1] // BLOCK_ROWS, (p[1], tuple(p[0]))))
    blocks = numbered.groupByKey()
    total = _reduced(blocks.map(lambda found: _simulate(job, found)[1]))
    settings.enough(total.users)
    if settings.reports is not None:
        with settings.shuffler() as shuffler:
            for reports in blocks.map(lambda found: _simulate(job, found)[0]).toLocalIterator():
                shuffler.add(reports)
            leave(job, shuffler.batches(), settings.reports, total.users)
    return total


def _simulate(job: Job, found: tuple[int, Iterable[Any]]) -> tuple[np.ndarray, Outcome]:
    """Reports of one block, its rows in the table's order, and their sums."""
    block, placed = found
    rows = [row for _, row in sorted(placed, key=lambda pair: pair[0])]
    columns: list[Any] = [pa.array(values) for values in zip(*rows, strict=True)]
    names = [f"value{j}" for j in range(len(columns))]
    reports, left_out = job.reports(
        in_one(pa.record_batch(columns, names=names)), block, counted=False
    )
    return reports, left_out + job.outcome(reports) if len(reports) else left_out


def _unpickled(rows: Any) -> Any:
    """What our own workers pickled, one thing a row."""
    return rows.map(lambda row: pickle.loads(bytes(row[0])))  # noqa: S301 (our own)


def _reduced(outcomes: Any) -> Outcome:
    return outcomes.treeAggregate(Outcome(), lambda x, y: x + y, lambda x, y: x + y)


def _randomizing(job: Job) -> Any:
    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        source = SystemSource()
        # A block at a time, however few rows Spark hands over at once: what is written has only
        # the order of blocks.
        for rows in in_blocks(in_one(batch) for batch in batches):
            reports, left_out = job.reports(rows, 0, counted=False)
            reports = shuffle_reports(reports, source)
            for start in range(0, len(reports), _ROWS):
                yield _keyed(reports[start : start + _ROWS], source)
            yield _counted(left_out)

    return work


def _keyed(reports: np.ndarray, source: SystemSource) -> pa.RecordBatch:
    keys = source.octets(_KEY_BYTES * len(reports)).reshape(len(reports), _KEY_BYTES)
    zeros = pa.array(np.zeros(len(reports), dtype=np.int64))
    columns = [_octets(reports), _octets(keys), *[zeros] * len(_COUNTS)]
    return pa.RecordBatch.from_arrays(columns, names=["report", "order_key", *_COUNTS])


def _octets(rows: np.ndarray) -> pa.Array:
    """Rows of any type and width as a column of their bytes."""
    flat = np.ascontiguousarray(rows)
    width = flat.nbytes // len(rows)
    offsets = np.arange(len(rows) + 1, dtype=np.int32) * np.int32(width)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(flat.tobytes())]
    return pa.Array.from_buffers(pa.binary(), len(rows), buffers)


def _counted(left_out: Outcome) -> pa.RecordBatch:
    """A row that is no report: what was counted in one block."""
    counts = [pa.array([int(getattr(left_out, name))]) for name in _COUNTS]
    columns = [pa.nulls(1, pa.binary()), pa.nulls(1, pa.binary()), *counts]
    return pa.RecordBatch.from_arrays(columns, names=["report", "order_key", *_COUNTS])


def _summing(job: Job) -> Any:
    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        total = Outcome()
        for reports in _reports(batches, job):
            total = total + job.outcome(reports)
        if total.count:
            yield _pickled(total)

    return work


def _batching(job: Job) -> Any:
    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for reports in _reports(batches, job):
            yield _pickled(reports)

    return work


def _reports(batches: Iterable[pa.RecordBatch], job: Job) -> Iterator[np.ndarray]:
    sample = job.sample()
    for batch in batches:
        if batch.num_rows:
            octets = b"".join(batch.column(0).to_pylist())
            yield np.frombuffer(octets, sample.dtype).reshape(-1, *sample.shape[1:])


def _pickled(value: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([pickle.dumps(value)])], names=["pickled"])
