"""``shuffledp run``, ``estimate`` and ``simulate`` as a user types them."""

import csv
import hashlib
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from shuffledp.certificate import read
from shuffledp.cli import main

DEPLOYMENT = """
title = "Letters"
[population]
users = 5_000
minimum_batch = {least}
colluding = 0.1
[randomizer]
name = "k-rr"
k = 4
eps0 = 3.0
[target]
delta = 1e-6
[data]
column = "letter"
domain = ["a", "b", "c"]
nulls = "drop"
outside = "category"
"""


@pytest.fixture
def place(tmp_path):
    letters = np.random.default_rng(0).choice(list("abcz"), 5000, p=[0.5, 0.3, 0.15, 0.05]).tolist()
    letters[:50] = [None] * 50
    pq.write_table(pa.table({"letter": letters}), tmp_path / "in.parquet")
    (tmp_path / "d.toml").write_text(DEPLOYMENT.format(least=1000), encoding="utf-8")
    return tmp_path


def call(*words):
    return CliRunner().invoke(main, [str(w) for w in words], standalone_mode=False)


def run(place, *more):
    return call(
        "run", place / "d.toml", "--input", place / "in.parquet", "--output", place / "e.csv", *more
    )


def table(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_run_writes_estimates_and_the_certificate_of_this_n(place):
    with (place / "d.toml").open("a", encoding="utf-8") as file:
        file.write("simplex = true\n")
    result = run(place, "--reports", place / "r.parquet", "--plot", place / "f.png")
    assert result.exit_code == 0, result.output
    rows = table(place / "e.csv")
    assert [row["item"] for row in rows] == ["a", "b", "c", "(other)"]
    for row, share in zip(rows, (0.5, 0.3, 0.15, 0.05), strict=True):
        error = float(row["noise_standard_error"]) + float(row["sampling_standard_error"])
        assert abs(float(row["estimate"]) - share) < 6 * error
        assert float(row["low_all"]) < float(row["low"]) < float(row["high"])
    assert abs(sum(float(row["post_processed"]) for row in rows) - 1.0) < 1e-6
    certificate = json.loads((place / "e.csv.certificate.json").read_text(encoding="utf-8"))
    assert certificate["deployment"]["content"]["population"]["users"] == 4950
    assert certificate["claims"][0]["n"] == 4950 - 495
    assert (place / "f.png").stat().st_size > 10_000
    assert call("verify", place / "e.csv.certificate.json").exit_code == 0
    # The collector's half gives the same numbers from the report file.
    assert call("run", place / "d.toml", "--from-reports", place / "r.parquet", "--output",
                place / "e2.csv").exit_code == 0  # fmt: skip
    assert table(place / "e2.csv") == rows
    assert "50 rows left out: no value" in result.output


def test_the_certificate_is_of_this_table_and_no_other(place):
    assert run(place).exit_code == 0
    path = place / "e.csv.certificate.json"
    release = json.loads(path.read_text(encoding="utf-8"))["release"]
    assert release["sha256"] == hashlib.sha256((place / "e.csv").read_bytes()).hexdigest()
    assert (release["table"], release["users"], release["declared_users"]) == ("e.csv", 4950, 5000)
    assert (release["nulls"], release["outside"]) == (50, 0)
    verified = call("verify", path, "--table", place / "e.csv", "-v")
    assert verified.exit_code == 0
    assert "is of this table of estimates" in verified.output
    left = "50 rows without a value and 0 with one outside the domain were left out"
    assert left in " ".join(verified.output.split())
    assert run(place).exit_code == 0  # another run, other noise
    (place / "old.json").write_bytes(path.read_bytes())
    assert run(place).exit_code == 0
    assert call("verify", place / "old.json", "--table", place / "e.csv").exit_code == 1
    assert call("verify", path, "--table", place / "d.toml").exit_code == 1


@pytest.mark.parametrize("change", [{"users": 10}, {"outside": 1}])
def test_a_certificate_of_another_number_of_users_is_found(change, place):
    from shuffledp.certificate import checksum, to_dict, to_json

    assert run(place).exit_code == 0
    whole = read(place / "e.csv.certificate.json")
    release = whole.release.model_copy(update=change)
    forged = whole.model_copy(update={"release": release})
    forged = forged.model_copy(update={"checksum": checksum(to_dict(forged))})
    (place / "f.json").write_text(to_json(forged), encoding="utf-8")
    result = call("verify", place / "f.json")
    assert result.exit_code == 1
    assert "users of the run" in result.output


@pytest.mark.parametrize(("rows", "least"), [(1, None), (4000, None), (5000, None), (4000, 10)])
def test_fewer_users_than_declared_are_not_passed_over(rows, least, place):
    text = DEPLOYMENT.format(least=least or 1).replace("colluding = 0.1\n", "")
    if least is None:
        text = text.replace("minimum_batch = 1\n", "")
    (place / "d.toml").write_text(text, encoding="utf-8")
    pq.write_table(pa.table({"letter": ["a"] * rows}), place / "in.parquet")
    result = run(place)
    assert result.exit_code == 0
    said = f"{rows:,} users have a value, of 5,000 expected" in result.stderr
    assert said == (least is None and rows < 5000)
    release = json.loads((place / "e.csv.certificate.json").read_text(encoding="utf-8"))["release"]
    assert (release["users"], release["declared_users"]) == (rows, 5000)


def refused(capsys, *words):
    with pytest.raises(SystemExit) as stop:
        main.main([str(w) for w in words])
    assert stop.value.code == 2
    found = capsys.readouterr()
    assert found.err.count("\n") == 1
    return found.err


def left(place):
    return sorted(path.name for path in place.iterdir())


def test_below_the_minimum_batch_nothing_is_written(place, capsys):
    (place / "d.toml").write_text(DEPLOYMENT.format(least=4951), encoding="utf-8")
    before = left(place)
    message = refused(capsys, "run", place / "d.toml", "--input", place / "in.parquet",
                      "--output", place / "e.csv", "--reports", place / "r.parquet")  # fmt: skip
    assert "4,950" in message
    assert "minimum_batch" in message
    assert left(place) == before


FEW = """title = "t"
{view}
[population]
users = 100
colluding = {colluding}
[randomizer]
name = "binary-rr"
eps0 = 1.0
[target]
delta = 1e-6
[data]
column = "a"
"""


@pytest.mark.parametrize(
    ("rows", "colluding", "view"),
    [(1, 0.5, ""), (5, 0.9, ""), (1, 0.5, 'view = "sums"')],
)
def test_a_run_of_colluders_alone_is_one_line_and_writes_nothing(
    tmp_path, capsys, rows, colluding, view
):
    (tmp_path / "d.toml").write_text(FEW.format(colluding=colluding, view=view))
    (tmp_path / "in.csv").write_text("a\n" + "1\n" * rows)
    before = left(tmp_path)
    files = [] if view else ["--reports", tmp_path / "r.parquet"]
    message = refused(capsys, "run", tmp_path / "d.toml", "--input", tmp_path / "in.csv",
                      "--output", tmp_path / "e.csv", *files)  # fmt: skip
    assert f"input has {rows} reports: population.colluding = {colluding}: wanted" in message
    assert left(tmp_path) == before


def test_simulate(place):
    result = call(
        "run", place / "d.toml", "--input", place / "in.parquet", "--simulate", 40, "--json"
    )
    assert result.exit_code == 0
    found = json.loads(result.output)
    assert found["repetitions"] == 40
    assert 0.85 < found["coverage"] < 1.0


def test_estimate_counts_bad_reports(place):
    from shuffledp import KRR
    from shuffledp.protocol import write_reports

    path = place / "r.parquet"
    reports = np.array([0, 1, 2, 9], dtype=np.uint8)
    write_reports(path, iter([reports]), KRR(k=3, eps0=1.0), None)
    result = call("run", "--from-reports", path)
    assert result.exit_code == 0
    assert "1 reports outside the message space were left out" in result.output
    assert "note: the noise of a number is of about 0.64 counts" in result.output
    assert result.output.count("\n") == 6
