"""Deployments of multi-message protocols: what is left without a shuffler, and runs."""

import csv
import json
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from frontend.parts import of_round
from shuffledp.cli import main
from shuffledp.deployment import account, load

TEXT = """
title = "Letters"
[population]
users = 2_000
minimum_batch = 500
colluding = 0.1
[randomizer]
{randomizer}
[target]
{target}
[data]
column = "letter"
domain = {domain}
"""
PROTOCOLS = {
    "balcer-cheu": 'name = "balcer-cheu"\np = 0.9',
    "balcer-cheu-low": 'name = "balcer-cheu"\np = 0.2',
    "balcer-et-al": 'name = "balcer-et-al"\nblankets = 2',
    "balls-into-bins": 'name = "balls-into-bins"\nd = 8\ns = 2\nblankets = 1',
    "cheu-zhilyaev": 'name = "cheu-zhilyaev"\nd = 4\nf = 0.1\nblankets = 3',
    "mix-dump": 'name = "mix-dump"\nd = 4\nf = 0.1\nblankets = 2\nrate = 0.7',
    "pure-dump": 'name = "pure-dump"\nd = 4\nblankets = 2\nrate = 0.5',
}
TWO = {"balcer-cheu", "balcer-cheu-low", "balcer-et-al"}


def text_of(kind, target="delta = 1e-5"):
    domain = ["a", "b"] if kind in TWO else ["a", "b", "c", "d"]
    return TEXT.format(randomizer=PROTOCOLS[kind], target=target, domain=json.dumps(domain))


def call(*words):
    return CliRunner().invoke(main, [str(w) for w in words])


def test_without_a_shuffler_only_the_coins_of_the_data_message_protect(tmp_path):
    for kind, eps0 in (("pure-dump", math.inf), ("cheu-zhilyaev", 2 * math.log(9))):
        (tmp_path / "d.toml").write_text(text_of(kind), encoding="utf-8")
        found = account(load(tmp_path / "d.toml").deployment)
        assert found.eps0 == pytest.approx((eps0,))
        assert found.named("shuffler fails").bound.upper == pytest.approx(eps0)
        assert found.named("now").n == 1800


# ------------------------------------------------------------------------------- on data


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    where = tmp_path_factory.mktemp("letters")
    rng = np.random.default_rng(4)
    for name, items, p in (("two", "ab", [0.3, 0.7]), ("four", "abcd", [0.6, 0.3, 0.1, 0.0])):
        letters = rng.choice(list(items), 2000, p=p)
        pq.write_table(pa.table({"letter": letters}), where / f"{name}.parquet")
    return where


def source(place, kind):
    return place / ("two.parquet" if kind in TWO else "four.parquet")


def truth(place, kind):
    letters = pq.read_table(source(place, kind))["letter"].to_pylist()
    if kind.startswith("balcer"):
        return np.array([letters.count("b") / 2000])
    return np.array([letters.count(x) / 2000 for x in ("ab" if kind in TWO else "abcd")])


def read(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("kind", list(PROTOCOLS)[::2])
def test_run_and_the_collectors_half(place, kind, tmp_path):
    (tmp_path / "d.toml").write_text(text_of(kind), encoding="utf-8")
    done = call("run", tmp_path / "d.toml", "--input", source(place, kind), "--output",
                tmp_path / "e.csv", "--reports", tmp_path / "r.parquet")  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "2,000 users" in done.output
    rows = read(tmp_path / "e.csv")
    for row, value in zip(rows, truth(place, kind), strict=True):
        assert abs(float(row["estimate"]) - value) < 6 * float(row["noise_standard_error"])
    content = json.loads((tmp_path / "e.csv.certificate.json").read_text(encoding="utf-8"))
    assert of_round(content, 0)[0]["n"] == 1800
    again = call("run", "--from-reports", tmp_path / "r.parquet", "--output", tmp_path / "e2.csv")
    assert again.exit_code == 0, again.output
    assert read(tmp_path / "e2.csv") == rows
