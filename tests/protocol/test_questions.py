"""Records, ranges, moments and open domains, as a user types them: right, or refused."""

import csv
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from shuffledp.cli import main

HEAD = """
title = "Questions"
[population]
users = 3_000
minimum_batch = 1_000
[target]
delta = 1e-6
[accounting]
rtol = 1e-2
"""
JOINT = (
    HEAD
    + """
[randomizer]
name = "joint"
randomizers = [
  { name = "k-rr", k = 4, eps0 = 2.0 },
  { name = "laplace", eps0 = 2.0, low = 0.0, high = 100.0 },
  { name = "oue", d = 3, eps0 = 2.0 },
]
[[data.columns]]
column = "letter"
domain = ["a", "b", "c"]
outside = "category"
[[data.columns]]
column = "size"
nulls = "drop"
outside = "clip"
[[data.columns]]
column = "code"
"""
)
RANGES = (
    HEAD
    + """
[randomizer]
name = "hierarchy"
domain = 64
eps0 = 3.0
[data]
column = "age"
ranges = [[0, 16], [18, 40], [0, 64], [63, 64]]
"""
)
MOMENTS = (
    HEAD
    + """
[randomizer]
name = "laplace"
eps0 = 2.0
low = 0.0
high = 100.0
[data]
column = "size"
nulls = "drop"
outside = "clip"
moments = 3
"""
)
OPEN = (
    HEAD
    + """
[randomizer]
name = "olh"
domain = 1_000_000_000
eps0 = 3.0
[data]
column = "word"
hashed = true
candidates = ["tea", "coffee", "water", "milk"]
"""
)
FILES = {"joint": JOINT, "ranges": RANGES, "moments": MOMENTS, "open": OPEN}
USERS = 3000


def columns():
    rng = np.random.default_rng(5)
    letters = rng.choice(list("abcz"), USERS, p=[0.5, 0.3, 0.15, 0.05])
    size = rng.gamma(3.0, 12.0, USERS).tolist()
    size[:40] = [None] * 40
    words = rng.choice(["tea", "coffee", "mate"], USERS, p=[0.6, 0.3, 0.1])
    return {
        "letter": pa.array(letters),
        "size": pa.array(size),
        "code": pa.array(rng.integers(0, 3, USERS)),
        "age": pa.array(rng.binomial(63, 0.4, USERS)),
        "word": pa.array(words),
    }


TABLE = pa.table(columns())
KEPT = TABLE.slice(40)  # the first 40 have no size


def truth(kind):
    size = np.clip(KEPT["size"].to_numpy(), 0, 100)
    if kind == "joint":
        letters = np.array([KEPT["letter"].to_pylist().count(x) for x in "abcz"])
        codes = np.bincount(KEPT["code"].to_numpy(), minlength=3)
        return np.concatenate([letters / len(KEPT), [size.mean()], codes / len(KEPT)])
    if kind == "ranges":
        age = TABLE["age"].to_numpy()
        ranges = ((0, 16), (18, 40), (0, 64), (63, 64))
        return np.array([np.mean((age >= low) & (age < high)) for low, high in ranges])
    if kind == "moments":
        return np.array([np.mean(size), np.mean(size**2), np.mean(size**3), size.var()])
    words = TABLE["word"].to_pylist()
    return np.array([words.count(w) / USERS for w in ("tea", "coffee", "water", "milk")])


@pytest.fixture
def place(tmp_path):
    pq.write_table(TABLE, tmp_path / "in.parquet")
    for name, text in FILES.items():
        (tmp_path / f"{name}.toml").write_text(text, encoding="utf-8")
    return tmp_path


def call(*words):
    return CliRunner().invoke(main, [str(w) for w in words], standalone_mode=False)


def refused(capsys, *words):
    with pytest.raises(SystemExit) as stop:
        main.main([str(w) for w in words])
    assert stop.value.code == 2
    found = capsys.readouterr()
    assert found.err.count("\n") == 1
    return found.err


def read(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.many(2)
@pytest.mark.parametrize("kind", FILES)
def test_run_and_the_collectors_half(place, kind):
    result = call("run", place / f"{kind}.toml", "--input", place / "in.parquet", "--output",
                  place / "e.csv", "--reports", place / "r.parquet")  # fmt: skip
    assert result.exit_code == 0, result.output
    rows = read(place / "e.csv")
    errors = [
        (float(row["estimate"]) - value) / max(float(row["noise_standard_error"]), 1e-9)
        for row, value in zip(rows, truth(kind), strict=True)
    ]
    assert np.abs(errors).max() < 6
    certificate = json.loads((place / "e.csv.certificate.json").read_text(encoding="utf-8"))
    users = len(KEPT) if kind in {"joint", "moments"} else USERS
    assert certificate["deployment"]["content"]["population"]["users"] == users
    again = call("run", place / f"{kind}.toml", "--from-reports", place / "r.parquet", "--output",
                 place / "e2.csv")  # fmt: skip
    assert again.exit_code == 0, again.output
    for left, right in zip(rows, read(place / "e2.csv"), strict=True):
        assert list(left) == list(right)
        assert left["item"] == right["item"]
        for key in ("estimate", "noise_standard_error", "high_all"):
            assert float(left[key]) == pytest.approx(float(right[key]), rel=1e-6, abs=1e-9)


def edited(text, old, new):
    assert old in text
    return text.replace(old, new)


BAD = [
    ("joint", ('[[data.columns]]\ncolumn = "code"', ""), "number of columns = 2"),
    ("joint", ('column = "code"', 'column = "letter"'), "column = 'letter'"),
    ("joint", ('column = "code"', 'column = "nothing"'), "column = 'nothing'"),
    ("joint", ('outside = "category"', 'outside = "refuse"'), "3 items"),
    ("joint", ('"c"]\noutside = "category"', '"c", "d"]'), "column 'letter', row 10: wanted"),
    ("joint", ('nulls = "drop"', 'nulls = "refuse"'), "column 'size', row 1: wanted a value"),
    ("joint", ('column = "size"', 'column = "word"'), "column 'word'"),
    ("joint", ('name = "oue", d = 3', 'name = "oue", d = 2'), "column 'code', row 3: want"),
    ("joint", ('"joint"', '"parallel"'), "randomizer"),
    ("ranges", ("[63, 64]", "[63, 65]"), "ranges = [63, 65]"),
    ("ranges", ("[63, 64]", "[63, 63]"), "ranges = [63, 63]"),
    ("ranges", ("domain = 64", "domain = 20"), "ranges = [18, 40]"),
    ("ranges", ("ranges", "moments = 2\n#"), "moments"),
    ("ranges", ("domain = 64", "domain = 50_000\n#"), "column = 'nothing'"),
    ("moments", ("moments = 3", "moments = 9"), "moments = 9"),
    ("moments", ("moments = 3", "ranges = [[0, 1]]"), "ranges: wanted the mechanism hierarchy"),
    ("moments", ('name = "laplace"\neps0 = 2.0', 'name = "duchi"\neps0 = 2.0'), "moments need"),
    ("moments", ('outside = "clip"', 'outside = "refuse"'), "0 to 100"),
    ("open", ("hashed = true", ""), "candidates"),
    ("open", ('candidates = ["tea", "coffee", "water", "milk"]', ""), "candidates are missing"),
    ("open", ('name = "olh"\ndomain', 'name = "hierarchy"\nbranching = 4 # \n#'), "domain"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "change", "word"), BAD, ids=range(len(BAD)))
def test_bad_files_and_columns_are_one_line_and_leave_nothing(place, capsys, kind, change, word):
    text = edited(FILES[kind], *change)
    if word == "column = 'nothing'" and kind == "ranges":
        text = edited(text, 'column = "age"', 'column = "nothing"')
    (place / "d.toml").write_text(text, encoding="utf-8")
    before = sorted(place.iterdir())
    found = refused(capsys, "run", place / "d.toml", "--input", place / "in.parquet", "--output",
                    place / "e.csv", "--reports", place / "r.parquet")  # fmt: skip
    assert word in found
    assert sorted(place.iterdir()) == before
