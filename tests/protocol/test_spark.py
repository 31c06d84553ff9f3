"""A real local Spark against the other engines. Run by ``make test-spark``."""

import os
import sys

import numpy as np
import pyarrow as pa
import pytest

import shuffledp as sd
from shuffledp.errors import NotCertified, ParameterError
from shuffledp.estimates import MeanEstimate
from shuffledp.protocol import Column, Job
from shuffledp.protocol.engines import ArrayEngine, Settings

pytestmark = pytest.mark.spark

ROWS = 140_000
MECHANISMS = [
    sd.KRR(k=7, eps0=1.5),
    sd.RAPPOR(d=7, eps0=2.0),
    sd.OLH(domain=7, eps0=2.0),
    sd.Gaussian(sigma=2.0, low=0.0, high=6.0),
]


@pytest.fixture(scope="module")
def spark():
    from pyspark.sql import SparkSession

    # Spark 3.5 starts its workers with the python3 of the path, which may be another one.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.shuffle.partitions", "4").getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="module")
def values():
    return np.random.default_rng(3).integers(0, 7, ROWS)


@pytest.fixture(scope="module")
def frame(spark, values, tmp_path_factory):
    import pyarrow.parquet as pq

    path = tmp_path_factory.mktemp("spark") / "x.parquet"
    pq.write_table(pa.table({"x": values}), path, row_group_size=20_000)
    return spark.read.parquet(str(path))


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: m.name)
def test_the_same_seed_gives_the_same_sums(mechanism, frame, values, tmp_path):
    from shuffledp.protocol.engines.spark import SparkEngine

    job = Job(mechanism.to_dict(), Column(name="x"), seed=11)
    here = ArrayEngine({"x": values}).run(job, Settings()).aggregate()
    there = SparkEngine(frame, materialized=str(tmp_path / "m")).run(job, Settings()).aggregate()
    assert there.count == here.count == ROWS
    assert np.array_equal(there.sums, here.sums)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: m.name)
def test_private_runs_estimate_the_truth(mechanism, frame, values, tmp_path):
    from shuffledp.protocol.engines.spark import SparkEngine

    job = Job(mechanism.to_dict(), Column(name="x"))
    found = SparkEngine(frame, materialized=str(tmp_path / "m")).run(job, Settings()).aggregate()
    estimate = mechanism.estimate(found)
    if isinstance(estimate, MeanEstimate):
        assert abs(estimate.mean - values.mean()) < 6 * estimate.standard_error
    else:
        truth = np.bincount(values, minlength=7) / ROWS
        assert np.all(np.abs(estimate.frequencies - truth) < 6 * estimate.standard_errors)


def test_rows_left_out_and_bad_columns(spark, tmp_path):
    from shuffledp.protocol.engines.spark import SparkEngine

    frame = spark.createDataFrame([(0,), (None,), (9,), (3,)], "x long")
    job = Job(MECHANISMS[0].to_dict(), Column(name="x", nulls="drop", outside="drop"))
    found = SparkEngine(frame, materialized=str(tmp_path / "m")).run(job, Settings())
    assert (found.count, found.nulls, found.outside) == (2, 1, 1)
    other = Job(MECHANISMS[0].to_dict(), Column(name="y"))
    with pytest.raises(ParameterError, match="column = 'y'"):
        SparkEngine(frame, materialized=str(tmp_path / "n")).run(other, Settings())
    with pytest.raises(NotCertified):
        SparkEngine(frame, materialized=str(tmp_path / "o")).run(
            job, Settings(reports=tmp_path / "r.parquet")
        )


@pytest.mark.parametrize("seed", [None, 7])
def test_columns_with_dots_and_quotes(seed, spark, tmp_path):
    from shuffledp.protocol.engines.spark import SparkEngine

    for j, name in enumerate(("a.b", "back`tick", "odd name")):
        frame = spark.createDataFrame([(0,), (1,), (3,)], [name])
        job = Job(MECHANISMS[0].to_dict(), Column(name=name), seed)
        where = str(tmp_path / f"{seed}{j}")
        assert SparkEngine(frame, materialized=where).run(job, Settings()).count == 3


@pytest.mark.parametrize("seed", [None, 7])
def test_what_a_worker_refuses_is_a_parameter_error(seed, spark, tmp_path):
    from shuffledp.protocol.engines.spark import SparkEngine

    frame = spark.createDataFrame([("a",), ("HIV-positive Jane Doe",)], "x string")
    column = Column(name="x", domain=tuple("abcdefg"))
    job = Job(MECHANISMS[0].to_dict(), column, seed)
    with pytest.raises(ParameterError, match=r"^column 'x', a row: wanted an item") as refused:
        SparkEngine(frame, materialized=str(tmp_path / "m")).run(job, Settings())
    assert "Jane" not in str(refused.value)
    assert "\n" not in str(refused.value)
    other = Column(name="x")
    with pytest.raises(ParameterError, match="public list of items"):
        SparkEngine(frame, materialized=str(tmp_path / "n")).run(
            Job(MECHANISMS[0].to_dict(), other, seed), Settings()
        )


def test_no_order_of_the_users_stays(spark, tmp_path):
    """eps0 = 300: reports are the values, which rise. Only the shuffled table is left."""
    from shuffledp.protocol.engines.spark import SparkEngine

    rows = 30_000
    frame = spark.createDataFrame(pa.table({"x": np.arange(rows)}).to_pandas())
    job = Job(sd.KRR(k=rows, eps0=300.0).to_dict(), Column(name="x"))
    found = SparkEngine(frame, materialized=str(tmp_path / "m")).run(job, Settings())
    assert found.count == rows
    assert [path.name for path in (tmp_path / "m").iterdir()] == ["shuffled"]
    reports = spark.read.parquet(str(tmp_path / "m" / "shuffled")).toPandas()["report"].to_numpy()
    assert np.array_equal(np.sort(reports), np.arange(rows))
    assert abs(np.corrcoef(reports, np.arange(rows))[0, 1]) < 6 / np.sqrt(rows)


def test_nothing_stays_below_the_minimum_batch(spark, tmp_path):
    from shuffledp.protocol.engines.spark import SparkEngine

    frame = spark.createDataFrame([(0,), (1,), (None,)], "x long")
    job = Job(MECHANISMS[0].to_dict(), Column(name="x", nulls="drop"))
    with pytest.raises(ParameterError, match=r"input has 2 reports.*nothing is released"):
        SparkEngine(frame, materialized=str(tmp_path / "m")).run(job, Settings(minimum_batch=3))
    assert not (tmp_path / "m").exists() or list((tmp_path / "m").iterdir()) == []
