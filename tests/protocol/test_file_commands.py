"""Files on the command line: folders, spellings, domains, truths."""

import csv
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from protocol.small_files import SECRET, written
from shuffledp.cli import main

DEPLOYMENT = """
title = "Letters"
[population]
users = 6
[randomizer]
name = "k-rr"
k = 4
eps0 = 3.0
[target]
delta = 1e-6
[data]
column = "x"
domain = ["a", "b", "c", "d"]
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "d.toml", DEPLOYMENT)
    return tmp_path


def call(capsys, *words):
    with pytest.raises(SystemExit) as stop:
        main.main([str(word) for word in words])
    found = capsys.readouterr()
    return stop.value.code, found.out, found.err


def run(capsys, *words):
    return call(capsys, "run", "d.toml", "--output", "e.csv", *words)


def test_values_are_shown_by_a_flag_alone(place, capsys):
    written(place / "in.csv", f"x\na\n{SECRET}\n")
    before = sorted(place.iterdir())
    code, out, err = run(capsys, "--input", "in.csv")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "Jane" not in err
    assert "row 2" in err
    assert "Jane" in run(capsys, "--input", "in.csv", "--show-values")[2]
    assert (
        "Jane"
        in call(capsys, "run", "d.toml", "--simulate", 9, "--input", "in.csv", "--show-values")[2]
    )
    assert sorted(place.iterdir()) == before


def test_domain_files_as_editors_write_them(place, capsys):
    """A byte-order mark is no letter; line ends of Windows; a line separator inside an item."""
    names = ["a", "b", "c", "d\u2028e"]
    pq.write_table(pa.table({"x": [*names, "a", "a"]}), "in.parquet")
    for content in (
        "\ufeff" + "\n".join(names),
        "\r\n".join(names) + "\r\n",
        "\n\n" + "\n".join(names) + "\n\n",
    ):
        written(place / "items.txt", content)
        code, _, err = run(capsys, "--input", "in.parquet", "--domain", "items.txt")
        assert code == 0, err
        with Path("e.csv").open(encoding="utf-8", newline="") as file:
            assert [row["item"] for row in csv.DictReader(file)] == names
    for content, word in (
        ("\n".join(names).encode("utf-16"), "another encoding"),
        ("ä\nb".encode("latin-1"), "another encoding"),
        ("a\nb\0\n", "zero bytes"),
        ("a\nb\nc\na\n", "every item once"),
    ):
        written(place / "items.txt", content)
        code, _, err = run(capsys, "--input", "in.parquet", "--domain", "items.txt")
        assert (code, err.count("\n")) == (2, 1)
        assert word in err


def column_as(writer, values, path):
    """A file of one column, as this library writes it."""
    if writer == "duckdb":
        duckdb = pytest.importorskip("duckdb")
        duckdb.from_arrow(pa.table({"x": values})).write_csv(str(path))
    elif writer == "pandas":
        pandas = pytest.importorskip("pandas")
        pandas.DataFrame({"x": values}).to_csv(path, index=False)
    else:
        written(path, "x\n" + "".join(f"{value or ''}\n" for value in values))


@pytest.mark.parametrize("nulls", ["refuse", "drop", "category"])
@pytest.mark.parametrize("writer", ["lines", "duckdb", "pandas"])
def test_no_row_vanishes_before_the_policy_for_gaps_sees_it(writer, nulls, place, capsys):
    """600 a, 300 b and 100 empty lines were 900 users, whatever the policy."""
    values = ["a"] * 300 + [None] * 40 + ["b"] * 300 + ["a"] * 300 + [None] * 60
    column_as(writer, values, place / "in.csv")
    text = DEPLOYMENT.replace("users = 6", "users = 1000").replace("k = 4", "k = 3")
    third = '"c"' if nulls != "category" else None
    items = ", ".join(filter(None, ['"a"', '"b"', third]))
    text = text.replace('["a", "b", "c", "d"]', f"[{items}]") + f'nulls = "{nulls}"\n'
    written(place / "d.toml", text)
    code, out, err = run(capsys, "--input", "in.csv")
    if nulls == "refuse":
        assert (code, err.count("\n")) == (2, 1)
        assert "row 301: wanted a value in every row (100 of the first 1,000 rows" in err
    elif nulls == "drop":
        assert (code, out.splitlines()[:2]) == (0, ["900 users", "  100 rows left out: no value"])
    else:
        assert (code, out.splitlines()[0]) == (0, "1,000 users")
