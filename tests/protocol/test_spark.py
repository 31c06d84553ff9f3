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
