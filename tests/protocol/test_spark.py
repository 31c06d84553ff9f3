"""A real local Spark against the other engines. Run by ``make test-spark``."""

import os
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tomli_w

import shuffledp as sd
from shuffledp.deployment import load
from shuffledp.deployment.model import Population
from shuffledp.errors import ParameterError
from shuffledp.protocol import Asked, Column, Job, PrefixTree, Record
from shuffledp.protocol.engines import ArrayEngine, Settings
from shuffledp.protocol.engines.spark import SparkEngine
from shuffledp.protocol.run import estimate_reports, run
from shuffledp.statistics.estimates import MeanEstimate

pytestmark = pytest.mark.spark

ROWS = 140_000
MECHANISMS = [
    sd.KRR(k=7, eps0=1.5),
    sd.RAPPOR(d=7, eps0=2.0),
    sd.OLH(domain=7, eps0=2.0),
    sd.Gaussian(sigma=2.0, low=0.0, high=6.0),
]
WORDS = ("aa", "b", "cafe", "bad", "dada", "gg", "odd one")
# Reports of several parts, or several a user: mechanism, and what it reads.
COMPOSED = {
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


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: m.name)
def test_the_same_seed_gives_the_same_sums(mechanism, frame, values, tmp_path):
    job = Job(mechanism.to_dict(), Column(name="x"), seed=11)
    here = ArrayEngine({"x": values}).run(job, Settings()).aggregate()
    there = SparkEngine(frame, materialized=str(tmp_path / "m")).run(job, Settings()).aggregate()
    assert there.count == here.count == ROWS
    assert np.array_equal(there.sums, here.sums)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: m.name)
def test_private_runs_estimate_the_truth(mechanism, frame, values, tmp_path):
    job = Job(mechanism.to_dict(), Column(name="x"))
    found = SparkEngine(frame, materialized=str(tmp_path / "m")).run(job, Settings()).aggregate()
    estimate = mechanism.estimate(found)
    if isinstance(estimate, MeanEstimate):
        assert abs(estimate.mean - values.mean()) < 6 * estimate.standard_error
    else:
        truth = np.bincount(values, minlength=7) / ROWS
        assert np.all(np.abs(estimate.frequencies - truth) < 6 * estimate.standard_errors)


def test_rows_left_out_and_bad_columns(spark, tmp_path):
    frame = spark.createDataFrame([(0,), (None,), (9,), (3,)], "x long")
    job = Job(MECHANISMS[0].to_dict(), Column(name="x", nulls="drop", outside="drop"))
    found = SparkEngine(frame, materialized=str(tmp_path / "m")).run(job, Settings())
    assert (found.count, found.nulls, found.outside) == (2, 1, 1)
    other = Job(MECHANISMS[0].to_dict(), Column(name="y"))
    with pytest.raises(ParameterError, match="column = 'y'"):
        SparkEngine(frame, materialized=str(tmp_path / "n")).run(other, Settings())


@pytest.mark.parametrize("seed", [None, 7])
def test_columns_with_dots_and_quotes(seed, spark, tmp_path):
    for j, name in enumerate(("a.b", "back`tick", "odd name")):
        frame = spark.createDataFrame([(0,), (1,), (3,)], [name])
        job = Job(MECHANISMS[0].to_dict(), Column(name=name), seed)
        where = str(tmp_path / f"{seed}{j}")
        assert SparkEngine(frame, materialized=where).run(job, Settings()).count == 3


@pytest.mark.parametrize("seed", [None, 7])
def test_what_a_worker_refuses_is_a_parameter_error(seed, spark, tmp_path):
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


def as_numbers(column, job):
    """Reports of a table on the cluster, each as the bytes of its type."""
    return np.frombuffer(b"".join(column), job.sample().dtype)


def test_no_order_of_the_users_stays(spark, tmp_path):
    """eps0 = 300: reports are the values, which rise. Only the shuffled table is left."""
    rows = 30_000
    frame = spark.createDataFrame(pa.table({"x": np.arange(rows)}).to_pandas())
    job = Job(sd.KRR(k=rows, eps0=300.0).to_dict(), Column(name="x"))
    found = SparkEngine(frame, materialized=str(tmp_path / "m")).run(job, Settings())
    assert found.count == rows
    assert [path.name for path in (tmp_path / "m").iterdir()] == ["shuffled"]
    reports = as_numbers(
        spark.read.parquet(str(tmp_path / "m" / "shuffled")).toPandas()["report"], job
    )
    assert np.array_equal(np.sort(reports), np.arange(rows))
    assert abs(np.corrcoef(reports, np.arange(rows))[0, 1]) < 6 / np.sqrt(rows)


def test_nothing_stays_below_the_minimum_batch(spark, tmp_path):
    frame = spark.createDataFrame([(0,), (1,), (None,)], "x long")
    job = Job(MECHANISMS[0].to_dict(), Column(name="x", nulls="drop"))
    with pytest.raises(ParameterError, match=r"input has 2 reports.*nothing is released"):
        SparkEngine(frame, materialized=str(tmp_path / "m")).run(
            job, Settings(enough=Population(users=3, minimum_batch=3).enough)
        )
    assert not (tmp_path / "m").exists() or list((tmp_path / "m").iterdir()) == []


def test_few_rows_at_once_are_mixed_by_blocks(spark, tmp_path, monkeypatch):
    """What is written first has no order but that of the partitions' blocks."""
    from shuffledp.protocol.engines import spark as module

    monkeypatch.setattr(module, "_remove", lambda *_: None)
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "10")
    try:
        rows = 20_000
        frame = spark.createDataFrame(pa.table({"x": np.arange(rows)}).to_pandas())
        job = Job(sd.KRR(k=rows, eps0=300.0).to_dict(), Column(name="x"))
        engine = module.SparkEngine(frame.coalesce(1), materialized=str(tmp_path / "m"))
        assert engine.run(job, Settings()).count == rows
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    (part,) = (tmp_path / "m" / "keyed").glob("part-*")
    reports = as_numbers(pq.read_table(part).column("report").drop_null().to_pylist(), job)
    assert np.array_equal(np.sort(reports), np.arange(rows))
    assert abs(np.corrcoef(reports, np.arange(rows))[0, 1]) < 6 / np.sqrt(rows)


@pytest.mark.parametrize("name", ["k-rr", "joint", "pure-dump"])
def test_a_failed_task_counts_once(name, spark, frame, tmp_path):
    """The second partition fails after its last row, once; dummies are one a user."""
    mechanism, column = COMPOSED.get(name, (MECHANISMS[0], Column(name="x")))
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
    found = SparkEngine(broken, materialized=str(tmp_path / "m")).run(job, Settings())
    assert failed.exists()
    assert found.users + found.outside == ROWS
    assert found.count == found.users * (2 if name == "pure-dump" else 1)


def test_what_a_killed_run_left_is_said(spark, tmp_path):
    """Spark appends nothing to a table that is there."""
    (tmp_path / "m" / "keyed").mkdir(parents=True)
    frame = spark.createDataFrame([(0,), (1,)], "x long")
    job = Job(MECHANISMS[0].to_dict(), Column(name="x"))
    with pytest.raises(ParameterError, match=r"keyed.* already exists") as refused:
        SparkEngine(frame, materialized=str(tmp_path / "m")).run(job, Settings())
    assert "\n" not in str(refused.value)


# ------------------------------------------------------- reports of several parts, several a user


def same(one, other):
    """Equal to the last bit, part by part."""
    assert (one.count, one.nulls, one.outside) == (other.count, other.nulls, other.outside)
    assert len(one.children) == len(other.children)
    for left, right in zip(one.children, other.children, strict=True):
        same(left, right)
    if not one.children:
        assert np.array_equal(one.aggregate().sums, other.aggregate().sums)


def sorted_rows(path):
    return sorted(str(report) for report in pq.read_table(path).column("report").to_pylist())


@pytest.mark.parametrize("name", COMPOSED)
def test_composed_jobs_of_one_seed_are_equal_to_the_last_bit(name, frame, table, tmp_path):
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


DEPLOYMENT = {
    "title": "x",
    "population": {"users": ROWS, "minimum_batch": 1000},
    "target": {"delta": 1e-6},
}


def written(table):
    """The table as TOML has it: nothing in place of None."""
    if isinstance(table, list):
        return [written(one) for one in table]
    if not isinstance(table, dict):
        return table
    return {key: written(value) for key, value in table.items() if value is not None}


def truths(name, values):
    """Shares and means by column and item."""
    word = np.bincount(values, minlength=7)[:7]
    if name == "balcer-et-al":
        return {("", "mean"): word[1] / word[:2].sum()}
    if name == "parallel":
        return {("", WORDS[j]): word[j] / word[:6].sum() for j in range(6)}
    if name != "joint":
        return {("", str(j)): word[j] / ROWS for j in range(7)}
    kept, n = word[:5], word[:5].sum()
    found = {("x", str(j)): kept[j] / n for j in range(5)}
    found |= {("word", "aa"): kept[0] / n, ("word", "(other)"): kept[2:].sum() / n}
    found |= {("x y", "mean"): (kept * np.arange(5) * 1.25).sum() / n}
    return found | {("z", "(none)"): kept[4] / n, ("z", "cafe"): kept[2] / n, ("z", "gg"): 0.0}


@pytest.mark.parametrize("name", COMPOSED)
def test_composed_jobs_estimate_the_truth(name, frame, values, tmp_path):
    """Intervals at 1 - 1e-7; the collector finds the same in the file of reports."""
    mechanism, column = COMPOSED[name]
    text = tomli_w.dumps(DEPLOYMENT | {"randomizer": written(mechanism.to_dict())})
    (tmp_path / "d.toml").write_text(text, encoding="utf-8")
    path = tmp_path / "r.parquet"
    asked = Asked(top=6) if name == "parallel" else Asked()
    engine = SparkEngine(frame, materialized=str(tmp_path / "m"))
    found = run(
        load(tmp_path / "d.toml"),
        engine,
        column,
        settings=Settings(reports=path),
        asked=asked,
        confidence=1.0 - 1e-7,
    )
    again, _ = estimate_reports(path, asked=asked, confidence=1.0 - 1e-7)
    assert again.rows == found.rows
    assert [one.name for one in (tmp_path / "m").iterdir()] == ["shuffled"]
    rows = {(row.column, row.item): row for row in found.rows}
    truth = truths(name, values)
    assert truth.keys() <= rows.keys()
    for key, value in truth.items():
        assert rows[key].low <= value <= rows[key].high, key
