"""A real local Spark against the other engines. Run by ``make test-spark``."""

import os
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shuffledp as sd
from shuffledp.deployment.model import Population
from shuffledp.errors import ParameterError
from shuffledp.protocol import Column, Job, PrefixTree, Record
from shuffledp.protocol.engines import ArrayEngine, Settings
from shuffledp.protocol.engines.spark import SparkEngine

pytestmark = pytest.mark.spark

ROWS = 140_000
WORDS = ("aa", "b", "cafe", "bad", "dada", "gg", "odd one")
KRR = sd.KRR(k=7, eps0=1.5)
# Mechanism, and what it reads; reports of several parts, and several a user.
COMPOSED = {
    "k-rr": (KRR, Column(name="x")),
    "gaussian": (sd.Gaussian(sigma=2.0, low=0.0, high=6.0), Column(name="x")),
    "joint": (
        sd.Joint((
            sd.KRR(k=7, eps0=1.5),
            sd.RAPPOR(d=3, eps0=2.0),
            sd.Laplace(eps0=2.0, low=0.0, high=6.0),
            sd.OLH(domain=8, eps0=3.0),
        )),
        Record((
            Column(name="x"),
            Column(name="word", domain=("aa", "b"), outside="category"),
            Column(name="x y", outside="drop"),
            Column(name="z", domain=WORDS[:6], nulls="category", outside="category"),
        )),
    ),
    "hierarchy": (sd.Hierarchy(domain=7, eps0=3.0, branching=2), Column(name="x")),
    "parallel": (
        PrefixTree(bits=12, eps0=6.0, groups=2).randomizer,
        Column(name="word", alphabet="abcdefg", length=4, outside="drop"),
    ),
    "pure-dump": (sd.PureDUMP(d=7, blankets=2, rate=0.5), Column(name="x")),
    "balls-into-bins": (sd.BallsIntoBins(d=14, s=2, blankets=1), Column(name="x")),
    "cheu-zhilyaev": (sd.CheuZhilyaev(d=7, f=0.05, blankets=1), Column(name="x")),
    "balcer-et-al": (sd.BalcerEtAl(blankets=3), Column(name="x", outside="drop")),
}  # fmt: skip


@pytest.fixture(scope="module")
def spark():
    from pyspark.sql import SparkSession

    # Spark 3.5 starts its workers with the python3 of the path, which may be another one.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # A task that fails is tried once more.
    builder = SparkSession.builder.master("local[2, 2]").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.shuffle.partitions", "4").getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="module")
def values():
    return np.random.default_rng(3).integers(0, 7, ROWS)


@pytest.fixture(scope="module")
def table(values):
    words = np.array(WORDS)[values]
    z = pa.array(words, mask=values == 4)
    return pa.table({"x": values, "x y": values * 1.25, "word": words, "z": z})


@pytest.fixture(scope="module")
def frame(spark, table, tmp_path_factory):
    path = tmp_path_factory.mktemp("spark") / "x.parquet"
    pq.write_table(table, path, row_group_size=20_000)
    return spark.read.parquet(str(path))


def test_no_order_of_the_users_stays(spark, tmp_path):
    """eps0 = 300: reports are the values, which rise. The table that they were in is gone."""
    rows = 30_000
    frame = spark.createDataFrame(pa.table({"x": np.arange(rows)}).to_pandas())
    job = Job(sd.KRR(k=rows, eps0=300.0).to_dict(), Column(name="x"))
    path = tmp_path / "r.parquet"
    engine = SparkEngine(frame, materialized=str(tmp_path / "m"))
    assert engine.run(job, Settings(reports=path)).count == rows
    assert list((tmp_path / "m").iterdir()) == []
    reports = np.asarray(pq.read_table(path)["report"])
    assert np.array_equal(np.sort(reports), np.arange(rows))
    assert abs(np.corrcoef(reports, np.arange(rows))[0, 1]) < 6 / np.sqrt(rows)


def test_nothing_stays_below_the_minimum_batch(spark, tmp_path):
    frame = spark.createDataFrame([(0,), (1,), (None,)], "x long")
    job = Job(KRR.to_dict(), Column(name="x", nulls="drop"))
    with pytest.raises(ParameterError, match=r"input has 2 reports.*nothing is released"):
        SparkEngine(frame, materialized=str(tmp_path / "m")).run(
            job,
            Settings(
                enough=Population(users=3, minimum_batch=3).enough, reports=tmp_path / "r.parquet"
            ),
        )
    assert list((tmp_path / "m").iterdir()) == []
    assert not (tmp_path / "r.parquet").exists()


@pytest.mark.parametrize(("name", "kept"), [("k-rr", False), ("joint", True), ("pure-dump", False)])
def test_a_failed_task_counts_once(name, kept, spark, frame, tmp_path):
    """The second partition fails after its last row, once; dummies are one a user."""
    mechanism, column = COMPOSED.get(name, (KRR, Column(name="x")))
    if name == "pure-dump":
        mechanism = sd.PureDUMP(d=7, blankets=1)
    failed = tmp_path / "failed"

    def flaky(batches):
        from pyspark import TaskContext

        yield from batches
        context = TaskContext.get()
        if context.partitionId() == 1 and context.attemptNumber() == 0:
            failed.touch()
            raise OSError("lost")

    broken = frame.repartition(3).mapInArrow(flaky, frame.schema)
    job = Job(mechanism.to_dict(), column)
    settings = Settings(reports=tmp_path / "r.parquet" if kept else None)
    found = SparkEngine(broken, materialized=str(tmp_path / "m")).run(job, settings)
    assert failed.exists()
    assert not kept or pq.read_metadata(settings.reports).num_rows == found.count
    assert found.users + found.outside == ROWS
    assert found.count == found.users * (2 if name == "pure-dump" else 1)


# ------------------------------------------------------- reports of several parts, several a user


def same(one, other):
    """Equal to the last bit, part by part."""
    assert (one.count, one.nulls, one.outside) == (other.count, other.nulls, other.outside)
    assert one.aggregate() == other.aggregate()


def sorted_rows(path):
    return sorted(str(report) for report in pq.read_table(path).column("report").to_pylist())


@pytest.mark.parametrize("name", COMPOSED)
def test_jobs_of_one_seed_are_equal_to_the_last_bit(name, frame, table, tmp_path):
    """The sums, and every report."""
    mechanism, column = COMPOSED[name]
    job = Job(mechanism.to_dict(), column, seed=11)
    here, there = (Settings(reports=tmp_path / f"{where}.parquet") for where in ("here", "there"))
    expected = ArrayEngine(table).run(job, here)
    found = SparkEngine(frame, materialized=str(tmp_path / "m")).run(job, there)
    same(found, expected)
    assert found.users == expected.users == ROWS - expected.outside
    reports = sorted_rows(here.reports)
    assert len(reports) == expected.count
    assert sorted_rows(there.reports) == reports
    assert not (tmp_path / "m").exists()
    with pytest.raises(ParameterError, match="nothing is released"):
        SparkEngine(frame, materialized=str(tmp_path / "m")).run(
            job, Settings(enough=Population(users=ROWS + 1, minimum_batch=ROWS + 1).enough)
        )
