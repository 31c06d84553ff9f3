"""JSON lines and pipes: the same rows as from files, or one line that quotes nobody's value."""

import gzip
import io
import json
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from shuffledp.cli import main
from shuffledp.errors import ParameterError
from shuffledp.protocol.engines import FileEngine, PipeEngine, Settings, TextFormat

SECRET = "hunter2"


def values_of(engine, *names):
    return [x for array in engine.arrays(names or ("x",), Settings()) for x in array.to_pylist()]


def lines_of(rows):
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def both(tmp_path, content, *names):
    """What a file and a pipe give; they have to be equal."""
    path = tmp_path / "t.jsonl"
    path.write_bytes(content)
    found = values_of(FileEngine(path), *names)
    assert values_of(PipeEngine(io.BytesIO(content)), *names) == found
    return found


SPELLED = [
    ("a", "a"),
    ("", ""),
    (None, None),
    (3, "3"),
    (-0.0, "-0.0"),
    (True, "true"),
    (False, "false"),
    ("ünï \n\"'\t", "ünï \n\"'\t"),
]


@pytest.mark.parametrize(("value", "text"), SPELLED)
def test_values_are_what_is_written(value, text, tmp_path):
    assert both(tmp_path, lines_of([{"y": 1, "x": value}, {"x": "b"}])) == [text, "b"]


@pytest.mark.parametrize("number", ["1e400", "0.1000000000000000055", "9" * 5000, "1E-3"])
def test_no_digit_of_a_number_is_lost(number, tmp_path):
    assert both(tmp_path, b'{"x": ' + number.encode() + b"}\r\n\n") == [number]


def test_names_that_a_line_leaves_out_are_missing_values(tmp_path):
    content = b'\xef\xbb\xbf{"y": 1}\n\n  \n{"x": "a", "z": [{}]}\n{"x": null}'
    assert both(tmp_path, content) == [None, "a", None]
    records = both(tmp_path, content, "x", "y")
    assert records == [{"x": None, "y": "1"}, {"x": "a", "y": None}, {"x": None, "y": None}]
    with pytest.raises(ParameterError, match="column = 'w': wanted a name that some line has"):
        both(tmp_path, content, "w")


def test_folders_and_compressed_files(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(lines_of([{"x": "a"}]))
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(lines_of([{"x": "b"}])))
    (tmp_path / "c.ndjson").write_bytes(lines_of([{"x": "c"}]))
    engine = FileEngine(tmp_path)
    assert engine.untyped
    assert engine.columns() == ["x"]
    assert values_of(engine) == ["a", "b", "c"]
    assert engine.rows() >= 3
    (tmp_path / "d.csv").write_text("x\na\n")
    with pytest.raises(ParameterError, match="CSV and JSON lines files, wanted one kind"):
        FileEngine(tmp_path)


WRONG = [
    (b'{"x": "a"}\n[1]\n', "line 2: wanted an object"),
    (b'{"x": "a"}\n{"x": "hunter2"\n', "line 2: not JSON"),
    (b'{"x": "hunter2"} {"x": 1}\n', "line 1: not JSON"),
    (b'{"x": NaN}\n', "line 1: NaN is no JSON"),
    (b'{"x": "hunter2", "x": "a"}\n', "line 1: a name is there twice"),
    (b'{"x": ["hunter2"]}\n', "line 1, 'x': wanted text, a number, true, false or null"),
    (b'{"x": "\xff"}\n', "line 1: not UTF-8"),
    (b'{"x": "\\ud800"}\n', "text that is none, up to line 1"),
    (b'{"x": ' + b"[" * 200_000 + b"\n", "line 1: not JSON"),
    (b'{"x": "' + b"a" * (3 << 20) + b'"}\n', "longer than 1 MB"),
    (b'{"x": "a"}\n' * 3 + b'{"x"', "line 4: not JSON"),
]


@pytest.mark.parametrize(("content", "words"), WRONG, ids=[words for _, words in WRONG])
def test_what_is_no_json_is_one_line_without_a_value(content, words, tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_bytes(content)
    for engine in (lambda: FileEngine(path), lambda: PipeEngine(io.BytesIO(content))):
        with pytest.raises(ParameterError, match=words) as error:
            values_of(engine())
        assert "\n" not in str(error.value)
        assert SECRET not in str(error.value)


def test_a_file_of_empty_lines_and_another_encoding(tmp_path):
    (tmp_path / "t.jsonl").write_text("\n\n")
    for ask in (lambda e: e.columns(), values_of):
        with pytest.raises(ParameterError, match="the file is empty"):
            ask(FileEngine(tmp_path / "t.jsonl"))
    with pytest.raises(ParameterError, match="JSON lines are UTF-8, not utf-16"):
        values_of(FileEngine(tmp_path / "t.jsonl", text=TextFormat(encoding="utf-16")))


def arrow_stream(table, rows):
    out = io.BytesIO()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table, max_chunksize=rows)
    return out.getvalue()


LONG = [f"value {i}" for i in range(200_000)]


@pytest.mark.parametrize(
    "content",
    [
        ("y,x\r\n" + "".join(f'1,"{v}"\r\n' for v in LONG)).encode(),
        lines_of({"x": v, "y": 1} for v in LONG),
        arrow_stream(pa.table({"y": [1] * len(LONG), "x": LONG}), 7_000),
    ],
    ids=["csv", "json", "arrow"],
)
def test_more_than_a_pipe_keeps_comes_through_once(content):
    assert len(content) > 1 << 21  # more than the bytes that are read again
    engine = PipeEngine(io.BytesIO(content))
    assert values_of(engine) == LONG
    with pytest.raises(ParameterError, match="read once"):
        values_of(engine)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "nothing comes through"),
        (b"\n \n", "nothing comes through"),
        (b"PAR1....", "Parquet cannot be read through a pipe"),
        (b"ARROW1..", "Arrow files cannot be read through a pipe"),
        (b"y\n1\n", "column = 'x': not in the header line of standard input"),
        (b"x,x\n1,2\n", "column 'x' is there 2 times"),
        (b'x,y\n"hunter2"z,1\n', "not whole CSV"),
        (b"x,y\nhunter2\n", "row 1 has 1 fields"),
        (b"\xff\xff\xff\xffrubbish hunter2", "not an Arrow stream"),
        (arrow_stream(pa.table({"x": LONG}), 9_000)[:-90_000], "an Arrow stream"),
        (arrow_stream(pa.table({"y": LONG[:9]}), 9), "column = 'x': wanted one of y"),
    ],
)  # fmt: skip
def test_what_comes_is_refused_in_one_line(content, words):
    with pytest.raises(ParameterError, match=words) as error:
        values_of(PipeEngine(io.BytesIO(content)))
    assert "\n" not in str(error.value)
    assert SECRET not in str(error.value)


def test_options_of_csv_say_that_it_is_csv():
    text = TextFormat(header=False)
    assert values_of(PipeEngine(io.BytesIO(b'{"x"};1\n'), text=text), "1") == ['{"x"};1']
    text = TextFormat(delimiter=";")
    assert values_of(PipeEngine(io.BytesIO(b"x;y\na;b\n"), text=text)) == ["a"]


def rows_or_none(engine):
    try:
        return values_of(engine())
    except ParameterError as error:
        assert "\n" not in str(error)  # noqa: PT017 (either is right)
        return None


def test_fuzzed_lines_are_one_line_or_the_rows(tmp_path):
    rng = random.Random(5)
    path = tmp_path / "t.jsonl"
    for _ in range(300):
        values = [rng.choice(["a", "b", None]) for _ in range(rng.randrange(1, 30))]
        content = bytearray(lines_of({"x": v, "y": rng.random()} for v in values))
        for _ in range(rng.randrange(3)):
            content[rng.randrange(len(content))] = rng.randrange(256)
        path.write_bytes(bytes(content))
        outcomes = [
            rows_or_none(lambda: FileEngine(path)),
            rows_or_none(lambda: PipeEngine(io.BytesIO(content))),  # noqa: B023
        ]
        if content[:1] == b"{":  # a pipe of anything else is CSV
            assert outcomes[0] == outcomes[1]


# ----------------------------------------------------------------------------- the command line

DEPLOYMENT = """
title = "A test"
[population]
users = 60
[randomizer]
name = "k-rr"
k = 2
eps0 = 300.0
[target]
delta = 1e-6
[data]
column = "x"
domain = ["a", "b"]
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.toml").write_text(DEPLOYMENT)
    return tmp_path


def run(source, given=None):
    words = ["run", "d.toml", "--input", source, "--output", "e.csv"]
    return CliRunner().invoke(main, words, input=given)


def test_a_run_from_a_pipe_gives_what_the_file_gives(place):
    rows = [{"x": "a"}] * 40 + [{"x": "b"}] * 20
    (place / "t.jsonl").write_bytes(lines_of(rows))
    pq.write_table(pa.table({"x": [row["x"] for row in rows]}), place / "t.parquet")
    found = []
    for source, given in (("t.parquet", None), ("t.jsonl", None), ("-", lines_of(rows))):
        done = run(source, given)
        assert done.exit_code == 0, done.output
        assert "60 users" in done.output
        found.append((place / "e.csv").read_text())
    assert found[0] == found[1] == found[2]  # eps0 = 300: no noise


@pytest.mark.parametrize("given", [b"", b"x\nc\n", b'{"x": "hunter2"}\n', b"PAR1"])
def test_a_pipe_that_is_refused_leaves_nothing(given, place):
    done = run("-", given)
    assert done.exit_code == 2
    last = done.output.strip().splitlines()[-1]
    assert last.startswith("shuffledp: ")
    assert SECRET not in done.output
    assert sorted(path.name for path in place.iterdir()) == ["d.toml"]


def test_reports_through_a_pipe_are_estimated_as_from_their_file(place):
    (place / "t.jsonl").write_bytes(lines_of([{"x": "a"}] * 40 + [{"x": "b"}] * 20))
    words = ["run", "d.toml", "--input", "t.jsonl", "--output", "e.csv", "--reports", "r.parquet"]
    assert CliRunner().invoke(main, words).exit_code == 0
    content = (place / "r.parquet").read_bytes()
    found = [
        CliRunner().invoke(main, ["estimate", "--reports", source], input=given)
        for source, given in (("r.parquet", None), ("-", content), ("-", b""), ("-", b"x"))
    ]
    assert [done.exit_code for done in found] == [0, 0, 2, 2]
    assert found[0].output == found[1].output
    assert all("reports = '-': not a whole Parquet file" in done.output for done in found[2:])
