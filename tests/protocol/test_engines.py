"""Engines: the same job gives the same sums, reports travel through files unharmed."""

import dataclasses
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shuffledp as sd
from shuffledp.deployment.model import Population
from shuffledp.errors import NotCertified, ParameterError
from shuffledp.protocol import Column, Job, Record, read_reports, write_reports
from shuffledp.protocol.engines import ArrayEngine, DuckEngine, Settings
from shuffledp.protocol.jobs import BLOCK_ROWS
from shuffledp.protocol.reports import from_arrow, to_arrow
from shuffledp.statistics.estimates import MeanEstimate

ROWS = BLOCK_ROWS + 5000
MECHANISMS = [
    sd.KRR(k=7, eps0=1.5),
    sd.BinaryRR(eps0=1.0),
    sd.RAPPOR(d=7, eps0=2.0),
    sd.OUE(d=7, eps0=2.0),
    sd.OLH(domain=7, eps0=2.0),
    sd.HadamardResponse(domain=7, eps0=1.0),
    sd.PIRAPPOR(domain=7, eps0=1.0),
    sd.ProjectiveGeometry(domain=7, eps0=1.0),
    sd.Laplace(eps0=1.0, low=0.0, high=6.0),
    sd.Gaussian(sigma=2.0, low=0.0, high=6.0),
]


@pytest.fixture(scope="module")
def values():
    return np.random.default_rng(3).integers(0, 7, ROWS)


@pytest.fixture(scope="module")
def files(values, tmp_path_factory):
    where = tmp_path_factory.mktemp("data")
    table = pa.table({"x": values, "two": values % 2, "odd name": values})
    pq.write_table(table, where / "x.parquet", row_group_size=17_001)
    (where / "x.csv").write_text(
        "x,two,odd name\n" + "".join(f"{v},{v % 2},{v}\n" for v in values), encoding="utf-8"
    )
    return where


def column_for(mechanism):
    return Column(name="two" if isinstance(mechanism, sd.BinaryRR) else "x")


@pytest.mark.many(5)
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: m.name)
def test_one_seed_gives_the_same_sums_everywhere(mechanism, values, files):
    job = Job(mechanism.to_dict(), column_for(mechanism), seed=11)
    table = {"x": values, "two": values % 2}
    found = [
        engine.run(job, Settings()).aggregate()
        for engine in (
            ArrayEngine(table),
            ArrayEngine(pa.Table.from_batches(pa.table(table).to_batches(max_chunksize=999))),
            DuckEngine(files / "x.parquet"),
            DuckEngine(files / "x.csv"),
        )
    ]
    for other in found:
        assert other.count == ROWS
        assert np.array_equal(other.sums, found[0].sums)
    again = ArrayEngine(table).run(dataclasses.replace(job, seed=12), Settings()).aggregate()
    assert not np.array_equal(again.sums, found[0].sums)


@pytest.mark.many(5)
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: m.name)
def test_private_runs_estimate_the_truth(mechanism, values, files, tmp_path):
    """Within six standard errors; the report file holds what was summed."""
    column = column_for(mechanism)
    job = Job(mechanism.to_dict(), column)
    path = tmp_path / "r.parquet"
    found = DuckEngine(files / "x.parquet").run(job, Settings(reports=path)).aggregate()
    data = values % 2 if column.name == "two" else values
    estimate = mechanism.estimate(found)
    if isinstance(estimate, MeanEstimate):
        assert abs(estimate.mean - data.mean()) < 6 * estimate.standard_error
    else:
        truth = np.bincount(data, minlength=mechanism.items) / ROWS
        assert np.all(np.abs(estimate.frequencies - truth) < 6 * estimate.standard_errors)
    held = read_reports(path)
    assert held.randomizer == mechanism
    assert held.refused == 0
    assert held.outcome.count == ROWS
    assert np.allclose(held.outcome.aggregate().sums, found.sums, rtol=1e-12)


def test_a_written_file_is_in_another_order_than_the_values(tmp_path):
    """eps0 = 300: reports are the values, so order shows."""
    values = np.repeat(np.arange(7), 1000)
    path = tmp_path / "r.parquet"
    job = Job(sd.KRR(k=7, eps0=300.0).to_dict(), Column(name="x"))
    ArrayEngine({"x": values}).run(job, Settings(reports=path))
    reports = pq.read_table(path).column("report").to_numpy()
    assert sorted(reports.tolist()) == values.tolist()
    assert np.corrcoef(reports, np.arange(7000))[0, 1] < 6 / math.sqrt(7000)


DEPLOYMENT = """
title = "x"
[population]
users = 100_000
minimum_batch = 1000
[randomizer]
name = "k-rr"
k = 7
eps0 = 1.5
[target]
delta = 1e-6
"""


def test_nothing_is_released_before_the_check(tmp_path):
    """Too few users: there is no report file, nor anything else; what stood there stays."""
    from shuffledp.deployment import load
    from shuffledp.protocol.run import run

    (tmp_path / "d.toml").write_text(DEPLOYMENT, encoding="utf-8")
    source = load(tmp_path / "d.toml")
    path = tmp_path / "r.parquet"
    engine, column = ArrayEngine({"x": [1] * 10}), Column(name="x")
    before = sorted(tmp_path.iterdir())
    for settings in (Settings(reports=path), Settings(reports=path, spill=tmp_path)):
        with pytest.raises(ParameterError, match="nothing is released"):
            run(source, engine, column, settings=settings)
        assert sorted(tmp_path.iterdir()) == before
    path.write_bytes(b"kept")
    with pytest.raises(ParameterError, match="nothing is released"):
        run(source, engine, column, settings=Settings(reports=path))
    assert path.read_bytes() == b"kept"
    job = Job(sd.KRR(k=7, eps0=1.5).to_dict(), column)
    with pytest.raises(ParameterError, match="nothing is released"):
        engine.run(
            job, Settings(reports=path, enough=Population(users=11, minimum_batch=11).enough)
        )
    assert path.read_bytes() == b"kept"
    run(source, ArrayEngine({"x": [1] * 1000}), column, settings=Settings(reports=path))
    assert read_reports(path).outcome.count == 1000


@pytest.mark.parametrize(
    ("name", "content", "word"),
    [
        ("no.parquet", None, "no such file"),
        ("x.xlsx", b"PK", "ends in"),
        ("empty.csv", b"", "empty"),
        ("cut.parquet", b"PAR1 something", "input ="),
        ("binary.parquet", bytes(range(256)), "input ="),
    ],
)
def test_files_that_cannot_be_read(name, content, word, tmp_path):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    job = Job(MECHANISMS[0].to_dict(), Column(name="x"))
    with pytest.raises(ParameterError, match=word):
        DuckEngine(path).run(job, Settings())


# ---------------------------------------------------------------------------- report files


def test_reports_outside_the_message_space_are_counted(tmp_path):
    mechanism = sd.KRR(k=5, eps0=1.0)
    reports = np.array([0, 1, 9, 4, 200, 2], dtype=np.uint8)
    path = tmp_path / "r.parquet"
    assert write_reports(path, iter([reports[:3], reports[3:]]), mechanism, None) == 6
    found = read_reports(path)
    assert (found.outcome.count, found.refused) == (4, 2)
    assert found.outcome.aggregate().sums.tolist() == [1.0, 1.0, 1.0, 0.0, 1.0]


def test_report_files_that_are_none(tmp_path):
    path = tmp_path / "x.parquet"
    with pytest.raises(ParameterError, match="no such file"):
        read_reports(path)
    pq.write_table(pa.table({"report": [1, 2]}), path)
    with pytest.raises(ParameterError, match="written by shuffledp"):
        read_reports(path)
    mechanism = sd.KRR(k=5, eps0=1.0)
    write_reports(path, iter([np.zeros(100_000, dtype=np.uint8)]), mechanism, None)
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(ParameterError, match="whole Parquet file"):
        read_reports(path)
    with pytest.raises(ParameterError, match="at least one report"):
        write_reports(tmp_path / "none.parquet", iter([]), mechanism, None)


def test_arrow_and_back():
    for shape, kind in (((5,), "u1"), ((5,), "f8"), ((5, 3), "u2"), ((4, 1), "u1")):
        reports = np.arange(math.prod(shape)).reshape(shape).astype(kind)
        back = from_arrow(to_arrow(reports))
        assert back.dtype == reports.dtype
        assert np.array_equal(back, reports)
    both = np.zeros(4, dtype=[("choice", "u1"), ("part0", "u2", (3,)), ("part1", "f8")])
    both["part0"] = np.arange(12).reshape(4, 3)
    assert np.array_equal(from_arrow(to_arrow(both)), both)
    with pytest.raises(NotCertified):
        to_arrow(np.array(["a"]))
    with pytest.raises(ParameterError, match="a report in every row"):
        from_arrow(pa.array([1, None]))


# --------------------------------------------------------------------------- larger than memory


def test_of_every_user_the_first_row_is_used():
    """Whatever the batches: 70,000 users of two rows each, far apart."""
    users = np.arange(140_000) % 70_000
    table = {"x": (np.arange(140_000) >= 70_000).astype(np.int64), "who": users}
    job = Job(sd.KRR(k=2, eps0=40.0).to_dict(), Column(name="x"), 1, unit="who")
    found = ArrayEngine(pa.table(table)).run(job, Settings())
    assert (found.users, found.repeated) == (70_000, 70_000)
    assert found.aggregate().sums.tolist() == [70_000.0, 0.0]
    pair = Record((Column(name="x"), Column(name="y")))
    both = Job(sd.Joint((sd.KRR(k=2, eps0=40.0),) * 2).to_dict(), pair, 1, unit="who")
    found = ArrayEngine({"x": [0, 1, 1], "y": [1, 0, 1], "who": ["a", "a", "b"]}).run(
        both, Settings()
    )
    assert [part.sums.tolist() for part in found.aggregate().parts] == [[1, 1], [0, 2]]
    for who, unit in (([1, None], "who"), ([1, 2], "x"), ([[1], [2]], "who")):
        with pytest.raises(ParameterError, match="unit"):
            ArrayEngine({"x": [0, 1], "who": who}).run(
                dataclasses.replace(job, unit=unit), Settings()
            )
