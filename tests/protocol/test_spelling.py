"""Short text that nobody listed: spelled as numbers, and found by a prefix tree."""

import csv
import string

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from shuffledp.cli import main
from shuffledp.errors import ParameterError
from shuffledp.protocol.heavy import Spelling

TEXT = """
title = "Codes"
[population]
users = 9_000
minimum_batch = 1_000
[randomizer]
name = "parallel"
weights = [0.5, 0.5]
randomizers = [
  { name = "olh", domain = 512, eps0 = 5.0 },
  { name = "olh", domain = 1024, eps0 = 5.0 },
]
[target]
delta = 1e-6
[accounting]
rtol = 1e-2
[data]
column = "code"
alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
length = 2
outside = "drop"
nulls = "drop"
"""


@given(st.text(alphabet="abcxyz", min_size=1, max_size=5))
def test_text_and_back(text):
    spelling = Spelling("abcxyz", 5)
    (code,) = spelling.codes([text]).tolist()
    assert 0 < code < 1 << spelling.bits
    assert spelling.text(code) == text


def test_what_cannot_be_spelled():
    spelling = Spelling("abc", 2)
    assert spelling.codes(["", "abc", "d", "a", "cc"]).tolist() == [-1, -1, -1, 0b0100, 0b1111]
    assert spelling.text(0) == "?"
    assert Spelling("abcd", 2).text(0b111000) == "?"  # 7 is no letter
    for alphabet, length in (("a", 2), ("aab", 2), ("ab", 0), ("ab", 15), (3, 2)):
        with pytest.raises(ParameterError):
            Spelling(alphabet, length)
    assert Spelling(string.ascii_uppercase, 5).bits == 25


@pytest.fixture
def place(tmp_path):
    rng = np.random.default_rng(2)
    shares = {"NY": 0.3, "LA": 0.2, "B": 0.1}
    codes = rng.choice([*shares, *string.ascii_uppercase], 9000,
                       p=[*shares.values(), *[0.4 / 26] * 26]).tolist()  # fmt: skip
    codes[:10], codes[10:15] = [None] * 10, ["abc"] * 5
    pq.write_table(pa.table({"code": codes}), tmp_path / "in.parquet")
    (tmp_path / "d.toml").write_text(TEXT, encoding="utf-8")
    return tmp_path


def call(*words):
    return CliRunner().invoke(main, [str(w) for w in words])


def read(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_most_frequent_are_found(place):
    with (place / "d.toml").open("a", encoding="utf-8") as file:
        file.write("top = 3\n")
    words = ["run", place / "d.toml", "--input", place / "in.parquet", "--output", place / "e.csv"]
    done = call(*words, "--reports", place / "r.parquet")
    assert done.exit_code == 0, done.output
    assert "8,985 users" in done.output
    rows = read(place / "e.csv")
    assert [row["item"] for row in rows] == ["NY", "LA", "B"]
    codes = pq.read_table(place / "in.parquet")["code"].to_pylist()
    for row in rows:
        error = float(row["estimate"]) - codes.count(row["item"]) / 8985
        assert abs(error) < 5 * float(row["noise_standard_error"])
    again = call("run", place / "d.toml", "--from-reports", place / "r.parquet", "--output",
                 place / "e2.csv")  # fmt: skip
    assert again.exit_code == 0, again.output
    assert read(place / "e2.csv") == rows
    # The reports are read twice, but not kept where nobody asked for them.
    (place / "r.parquet").unlink()
    assert call(*words).exit_code == 0
    assert list(place.glob("*.parquet")) == [place / "in.parquet"]
