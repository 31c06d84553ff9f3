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


def test_folders_and_patterns_on_the_command_line(place, capsys):
    (place / "in").mkdir()
    for name in ("a", "b", "[c]"):
        written(place / "in" / f"{name}.csv", "x\na\nb\n")
    code, out, err = run(capsys, "--input", "in")
    assert (code, out.splitlines()[0]) == (0, "6 users in 3 files"), err
    code, out, err = run(capsys, "--input", "in/[ab].csv")
    assert (code, out.splitlines()[0]) == (0, "4 users in 2 files"), err
    assert "4 users have a value, of 6 expected" in err
    code, out, err = run(capsys, "--input", "in/[c].csv")
    assert (code, out.splitlines()[0]) == (0, "2 users"), err
    for words in ([], ["--input", "in/*.nothing"]):
        code, _, err = run(capsys, *words)
        assert (code, err.count("\n")) == (2, 1)
    before = sorted(place.rglob("*"))
    code, _, err = call(capsys, "run", "d.toml", "--input", "in", "--output", "in/e.csv")
    assert code == 2
    assert "input folder" in err
    assert sorted(place.rglob("*")) == before
    code, out, _ = call(capsys, "run", "d.toml", "--input", "in", "--simulate", "2")
    assert code == 0
    assert "6 users in 3 files" in out


def test_how_text_is_written_on_the_command_line(place, capsys):
    written(place / "in.csv", "1;a\n2;b\n" * 3, "utf-16")
    table = DEPLOYMENT.replace('column = "x"', 'column = "2"\ncsv = { CSV }')
    right = 'encoding = "utf-16", delimiter = ";", header = false'
    wrong = ('header = "maybe"', 'delimiter = ";", coding = "x"', 'encoding = "utf-7"', "")
    for said in (right, *wrong):
        written(place / "d.toml", table.replace("CSV", said))
        code, _, err = run(capsys, "--input", "in.csv")
        assert (code, err.count("\n") > 1) == ((0, True) if said == right else (2, False))
    assert 'data.csv.encoding = "utf-16"' in err


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


@pytest.mark.parametrize(
    ("column", "items"),
    [
        (pa.array([1, 2, 30, 4, 1, 1]), "1\n2\n30\n4\n"),
        (pa.array([0, 1] * 3, pa.date32()), "1970-01-01\n1970-01-02\nx\ny\n"),
    ],
)
def test_domain_files_of_values_that_are_no_text(column, items, place, capsys):
    pq.write_table(pa.table({"x": column}), "in.parquet")
    written(place / "items.txt", items)
    words = ["--input", "in.parquet", "--domain", "items.txt"]
    code, _, err = run(capsys, *words)
    assert (code, err.count("\n")) == (2, 1)
    assert "type = 'text'" in err
    written(place / "d.toml", DEPLOYMENT + 'type = "text"\n')
    code, _, err = run(capsys, *words)
    assert code == 0, err
    with Path("e.csv").open(encoding="utf-8", newline="") as file:
        assert [row["item"] for row in csv.DictReader(file)] == items.split()


def test_booleans_and_a_domain_file_of_text(place, capsys):
    """They need no type: as text there is one way to write them."""
    pq.write_table(pa.table({"x": [True, False, True] * 2}), "in.parquet")
    written(place / "items.txt", "true\nfalse\nx\ny\n")
    words = ["--input", "in.parquet", "--domain", "items.txt"]
    for about in ("", 'type = "text"\n'):
        written(place / "d.toml", DEPLOYMENT + about)
        code, _, err = run(capsys, *words)
        assert code == 0, err
        with Path("e.csv").open(encoding="utf-8", newline="") as file:
            assert [row["item"] for row in csv.DictReader(file)] == ["true", "false", "x", "y"]


def test_whole_numbers_of_a_domain_file(place, capsys):
    pq.write_table(pa.table({"x": ["1", "2", "3"] * 2}), "in.parquet")
    written(place / "items.txt", "1\n2\n3\n4\n")
    written(place / "d.toml", DEPLOYMENT + 'type = "integer"\n')
    words = ["--input", "in.parquet", "--domain", "items.txt"]
    assert run(capsys, *words)[0] == 0
    written(place / "items.txt", "1\n2\nthree\n4\n")
    code, _, err = run(capsys, *words)
    assert (code, err.count("\n")) == (2, 1)
    assert "item 3" in err


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


def test_text_without_a_domain_is_told_what_is_missing(place, capsys):
    written(place / "d.toml", DEPLOYMENT.split("domain", maxsplit=1)[0])
    pq.write_table(pa.table({"x": ["a", "b"] * 3}), "in.parquet")
    written(place / "in.csv", "x\na\nb\n")
    for name in ("in.parquet", "in.csv"):
        code, _, err = run(capsys, "--input", name)
        assert (code, err.count("\n")) == (2, 1)
        assert "public list of items (domain in [data], --domain FILE), or hashed = true" in err


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
