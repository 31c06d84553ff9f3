"""``shuffledp run``, ``estimate`` and ``simulate`` as a user types them."""

import csv
import hashlib
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

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


def test_simulate(place):
    result = call(
        "run", place / "d.toml", "--input", place / "in.parquet", "--simulate", 40, "--json"
    )
    assert result.exit_code == 0
    found = json.loads(result.output)
    assert found["repetitions"] == 40
    assert 0.85 < found["coverage"] < 1.0
