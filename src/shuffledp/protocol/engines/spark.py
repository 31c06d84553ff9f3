"""PySpark: rows on a cluster, reports made by ``mapInArrow``, sums added up along a tree.

Reports are written to a table once and only read after that: a task that is retried writes its own
part again, and the failed attempt's part is never committed, so no value's second report is seen.
That table has each batch in random order, and goes when the shuffled one is there.
"""

from __future__ import annotations

import contextlib
import importlib
import pickle
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from shuffledp.errors import NotCertified, ParameterError
from shuffledp.multimessage import MultiMessage
from shuffledp.protocol.columns import Column
from shuffledp.protocol.engines.base import Engine, Settings, enough, unknown
from shuffledp.protocol.jobs import BLOCK_ROWS, Job, Outcome
from shuffledp.protocol.reports import from_arrow, to_arrow
from shuffledp.protocol.shuffler import shuffle_reports
from shuffledp.randomizers.composed import PartsRandomizer
from shuffledp.randomness import SystemSource

_SUMS = "outcome binary"
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
        engines; nothing is written then.
        """
        column = job.column
        if not isinstance(column, Column) or isinstance(
            job.mechanism, MultiMessage | PartsRandomizer
        ):
            msg = "the Spark engine takes one column and one report a user, of one part; DuckDB all"
            raise NotCertified(msg)
        if column.name not in self._frame.columns:
            raise unknown(column.name, self._frame.columns)
        if settings.reports is not None:
            msg = "reports: the Spark engine leaves them in its own table (materialized)"
            raise NotCertified(msg)
        # Under a name of ours: Spark reads a dot in a name as a field of a struct.
        rows = self._frame.selectExpr("`" + column.name.replace("`", "``") + "` AS value")
        with _one_line():
            if job.seed is not None:
                total = _simulated(job, rows)
            else:
                total = self._private(job, rows, settings.minimum_batch)
        return replace(total, users=total.count)

    def _private(self, job: Job, rows: Any, least: int | None) -> Outcome:
        kind = _spark_type(job)
        made = rows.mapInArrow(
            _randomizing(job), f"report {kind}, order_key binary, nulls long, outside long"
        )
        session = self._frame.sparkSession
        where = f"{self._where}/keyed"
        made.write.mode("errorifexists").parquet(where)
        try:
            keyed = session.read.parquet(where)
            left_out = keyed.agg({"nulls": "sum", "outside": "sum", "report": "count"})
            counts = left_out.collect()[0].asDict()
            if least is not None:
                enough(int(counts["count(report)"]), least)
            shuffled = keyed.where("report is not null").orderBy("order_key").select("report")
            shuffled.write.mode("errorifexists").parquet(f"{self._where}/shuffled")
        finally:
            _remove(session, where)
        reports = session.read.parquet(f"{self._where}/shuffled")
        total = _tree(reports.mapInArrow(_summing(job), _SUMS))
        return total + Outcome(
            nulls=int(counts["sum(nulls)"] or 0), outside=int(counts["sum(outside)"] or 0)
        )


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


def _simulated(job: Job, rows: Any) -> Outcome:
    """Blocks of numbered rows, each worked on whole, wherever its rows lie."""
    numbered = rows.rdd.zipWithIndex().map(lambda p: (p[1] // BLOCK_ROWS, (p[1], p[0][0])))
    return _reduced(numbered.groupByKey().map(_simulating(job)))


def _tree(sums: Any) -> Outcome:
    """Add up pickled outcomes."""
    return _reduced(sums.rdd.map(lambda row: pickle.loads(bytes(row[0]))))  # noqa: S301 (our own)


def _reduced(outcomes: Any) -> Outcome:
    return Outcome() if outcomes.isEmpty() else outcomes.treeReduce(lambda x, y: x + y)


def _spark_type(job: Job) -> str:
    """Spark's name for the type of a report, from the report of one value."""
    probe = job.mechanism.simulate([_any_input(job)], seed=0)
    names = {"u": "long", "i": "long", "f": "double"}
    if probe.ndim == 2 and probe.dtype == np.uint8:
        return "binary"
    if probe.ndim != 1:
        return f"array<{names[probe.dtype.kind]}>"
    return names[probe.dtype.kind]


def _any_input(job: Job) -> Any:
    low = getattr(job.mechanism, "low", None)
    return 0 if low is None else low


def _for_spark(reports: np.ndarray) -> pa.Array:
    """Spark has no unsigned numbers: bytes stay bytes, the others are widened."""
    if reports.ndim == 2 and reports.dtype == np.uint8:
        return pa.array([row.tobytes() for row in reports], type=pa.binary())
    if reports.dtype.kind == "f":
        return to_arrow(reports.astype(np.float64))
    if reports.ndim == 2:
        return to_arrow(reports.astype(np.int64)).cast(pa.list_(pa.int64()))
    return to_arrow(reports.astype(np.int64))


def _from_spark(column: pa.Array, job: Job) -> np.ndarray:
    probe = job.mechanism.simulate([_any_input(job)], seed=0)
    if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
        flat = np.frombuffer(b"".join(column.to_pylist()), dtype=np.uint8)
        return flat.reshape(len(column), probe.shape[1])
    if pa.types.is_list(column.type):
        return np.asarray(column.flatten()).reshape(len(column), -1).astype(probe.dtype)
    return from_arrow(column).astype(probe.dtype)


def _randomizing(job: Job) -> Any:
    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        source = SystemSource()
        for batch in batches:
            reports, left_out = job.reports(batch.column(0), 0, counted=False)
            reports = shuffle_reports(reports, source)
            words = source.octets(16 * len(reports)).reshape(len(reports), 16)
            keys = pa.array([row.tobytes() for row in words], type=pa.binary())
            zeros = pa.array(np.zeros(len(reports), dtype=np.int64))
            columns = [_for_spark(reports), keys, zeros, zeros]
            names = ["report", "order_key", "nulls", "outside"]
            if len(reports):
                yield pa.RecordBatch.from_arrays(columns, names=names)
            if left_out.nulls or left_out.outside:
                counts = [pa.array([left_out.nulls]), pa.array([left_out.outside])]
                blank = [pa.nulls(1, columns[0].type), pa.nulls(1, pa.binary())]
                yield pa.RecordBatch.from_arrays([*blank, *counts], names=names)

    return work


def _summing(job: Job) -> Any:
    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        total = Outcome()
        for batch in batches:
            if batch.num_rows:
                total = total + job.outcome(_from_spark(batch.column(0), job))
        if total.count:
            yield _pickled(total)

    return work


def _simulating(job: Job) -> Any:
    def work(rows: tuple[int, Iterable[tuple[int, Any]]]) -> Outcome:
        block, placed = rows
        values = pa.array([value for _, value in sorted(placed, key=lambda pair: pair[0])])
        reports, total = job.reports(values, block, counted=False)
        return total + job.outcome(reports) if len(reports) else total

    return work


def _pickled(outcome: Outcome) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([pickle.dumps(outcome)])], names=["outcome"])
