"""Files: a path is a path; CSV in every spelling; 1,000 fuzzed files: one line or the truth."""

import bz2
import csv
import gzip
import io
import random
import string
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shuffledp as sd
from shuffledp.cli import main
from shuffledp.errors import ParameterError
from shuffledp.protocol import Column, Job
from shuffledp.protocol.engines import DuckEngine, FileEngine, Settings, TextFormat

# eps0 = 300: reports are the values, so that sums are counts.
CLEAR = sd.KRR(k=4, eps0=300.0)
DOMAIN = ("a", "b", "c", "d")


def values_of(engine, *names):
    return [x for array in engine.arrays(names or ("x",), Settings()) for x in array.to_pylist()]


def written(path, text, encoding="utf-8"):
    path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
    return path


# -------------------------------------------------------------------------------------- names

NAMES = [
    *("glob[1]", "st*r", "que?tion", "[!a]", "a{b,c}", "**", "back\\slash", "quo'te", 'dou"ble'),
    *("dest=BB", "line\nend", "new $HOME", "~", "100%", "ünï", "file:x", "s3:x", "-", " lead"),
]


@pytest.mark.many(14)
@pytest.mark.parametrize("engine", [FileEngine, DuckEngine], ids=["files", "duckdb"])
@pytest.mark.parametrize("ending", [".parquet", ".csv"])
@pytest.mark.parametrize("name", NAMES)
def test_a_path_is_a_path(name, ending, engine, tmp_path, monkeypatch):
    """Beside it lie files that it would match as a pattern, with other values."""
    others = ["glob1", "star", "stxr", "question", "b", "ab", "ac", "x"]
    for other in {*others, name}:
        table = pa.table({"x": [1 if other == name else 2] * 3})
        if ending == ".csv":
            written(tmp_path / (other + ending), "x\n" + "1\n" * 3 if other == name else "x\n2\n")
        else:
            pq.write_table(table, tmp_path / (other + ending))
    monkeypatch.chdir(tmp_path)
    for path in (tmp_path / (name + ending), Path(name + ending)):
        assert [int(x) for x in values_of(engine(path))] == [1, 1, 1]


@pytest.mark.parametrize("engine", [FileEngine, DuckEngine], ids=["files", "duckdb"])
def test_the_name_of_a_folder_is_no_column(engine, tmp_path):
    folder = tmp_path / "dest=BB"
    folder.mkdir()
    pq.write_table(pa.table({"dest": ["a", "a"], "y": [1, 2]}), folder / "ok.parquet")
    assert values_of(engine(folder / "ok.parquet"), "dest") == ["a", "a"]
    pq.write_table(pa.table({"y": [1, 2]}), folder / "no.parquet")
    with pytest.raises(ParameterError, match="column = 'dest'"):
        values_of(engine(folder / "no.parquet"), "dest")


def test_folders_and_patterns_where_they_are_asked_for(tmp_path):
    for j, place in enumerate(["b.parquet", "a.parquet", "sub/c.parquet", "_skip.parquet",
                               ".hidden.parquet", "note.md", "sub/_x/d.parquet"]):  # fmt: skip
        path = tmp_path / "in" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"x": [j]}), path)
    folder = FileEngine(tmp_path / "in")
    assert [file.name for file in folder.files] == ["a.parquet", "b.parquet", "c.parquet"]
    assert values_of(folder) == [1, 0, 2]
    assert folder.rows() == 3
    some = FileEngine(str(tmp_path / "in" / "[ab].parquet"), pattern=True)
    assert values_of(some) == [1, 0]
    with pytest.raises(ParameterError, match="no file matches"):
        FileEngine(str(tmp_path / "*.nothing"), pattern=True)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ParameterError, match="no such file in this folder"):
        FileEngine(tmp_path / "empty")
    written(tmp_path / "in" / "z.csv", "x\n1\n")
    with pytest.raises(ParameterError, match="wanted one kind"):
        FileEngine(tmp_path / "in")
    with pytest.raises(ParameterError, match="not an ordinary file"):
        FileEngine("/dev/null")


def test_files_of_a_folder_have_to_fit_together(tmp_path):
    pq.write_table(pa.table({"x": [1]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": ["1"]}), tmp_path / "b.parquet")
    with pytest.raises(ParameterError, match="holds string, the files before it int64"):
        values_of(FileEngine(tmp_path))
    pq.write_table(pa.table({"y": [1]}), tmp_path / "b.parquet")
    with pytest.raises(ParameterError, match="column = 'x'"):
        values_of(FileEngine(tmp_path))


@pytest.mark.parametrize("engine", [FileEngine, DuckEngine], ids=["files", "duckdb"])
def test_a_column_with_a_dot(engine, tmp_path):
    """It is not the field b of a struct a, which is there too."""
    struct = pa.array([{"b": 7}, {"b": 8}])
    pq.write_table(pa.table({"a": struct, "a.b": [1, 2]}), tmp_path / "x.parquet")
    assert values_of(engine(tmp_path / "x.parquet"), "a.b") == [1, 2]
    pq.write_table(pa.table({"a": struct}), tmp_path / "y.parquet")
    with pytest.raises(ParameterError, match=r"column = 'a.b'"):
        values_of(engine(tmp_path / "y.parquet"), "a.b")


def test_columns_of_one_name(tmp_path):
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["x", "x"])
    pq.write_table(table, tmp_path / "x.parquet")
    written(tmp_path / "x.csv", "x,x\n1,2\n")
    for name in ("x.parquet", "x.csv"):
        with pytest.raises(ParameterError, match="2 times"):
            values_of(FileEngine(tmp_path / name))


# -------------------------------------------------------------------------------------- Arrow


def arrow_file(path, table, *, rows=None, compression=None):
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_file(path, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=rows)
    return path


@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
def test_arrow_files(compression, tmp_path, monkeypatch):
    monkeypatch.setattr("shuffledp.protocol.engines.files.ROWS", 4)  # fewer than in a batch
    table = pa.table({"y": [str(k) for k in range(25)], "z": [None] * 25, "x": list(range(25))})
    engine = FileEngine(arrow_file(tmp_path / "t.arrow", table, rows=10, compression=compression))
    assert values_of(engine) == list(range(25))
    assert engine.columns() == ["y", "z", "x"]
    assert engine.rows() >= 25
    assert not engine.untyped
    both = [row.as_py() for batch in engine.arrays(("x", "y"), Settings()) for row in batch]
    assert both == [{"x": k, "y": str(k)} for k in range(25)]
    with pytest.raises(ParameterError, match="column = 'n': wanted one of y, z, x"):
        values_of(engine, "n")


def test_categories_and_folders_of_arrow_files(tmp_path):
    coded = pa.table({"x": pa.array(["b", "a", None, "b"]).dictionary_encode()})
    arrow_file(tmp_path / "a.feather", coded)
    arrow_file(tmp_path / "b.ipc", coded.slice(0, 1))
    assert values_of(FileEngine(tmp_path)) == ["b", "a", None, "b", "b"]
    pq.write_table(coded, tmp_path / "c.parquet")
    with pytest.raises(ParameterError, match="Arrow and Parquet files, wanted one kind"):
        FileEngine(tmp_path)
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["x", "x"])
    with pytest.raises(ParameterError, match="2 times"):
        values_of(FileEngine(arrow_file(tmp_path / "twice.arrow", twice)))
    nothing = arrow_file(tmp_path / "nothing.arrow", coded.slice(0, 0))
    assert values_of(FileEngine(nothing)) == []


def test_arrow_files_that_are_cut_off_or_are_none(tmp_path):
    table = pa.table({"x": [f"value {k}" for k in range(40)]})
    whole = arrow_file(tmp_path / "w.arrow", table, rows=10).read_bytes()
    path = tmp_path / "x.arrow"
    for end in range(1, len(whole), 37):
        path.write_bytes(whole[:end])
        with pytest.raises(
            ParameterError, match=r"x\.arrow.*(damaged or cut off|not an Arrow file)"
        ):
            values_of(FileEngine(path))
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(ParameterError, match="not an Arrow file"):
        values_of(FileEngine(path))


# ---------------------------------------------------------------------------------------- CSV


@pytest.mark.parametrize(
    ("content", "settings", "found"),
    [
        ("x,y\n1,2\n3,4\n", {}, ["1", "3"]),
        ("x,y\r\n1,2\r\n3,4", {}, ["1", "3"]),
        ("\ufeffx,y\n1,2\n", {}, ["1"]),
        ("\n\nx,y\n1,2\n\n3,4\n", {}, ["1", "3"]),
        ('y,x\n"two\nlines","a ""b"""\n', {}, ['a "b"']),
        ('"y\nz",x\n1,2\n', {}, ["2"]),
        ('x,y\n,1\n"",2\n 3 ,4\n', {}, [None, None, " 3 "]),
        ("x;y\n1,5;2\n", {"delimiter": ";"}, ["1,5"]),
        ("5,2\n3,4\n", {"header": False, "column": "1"}, ["5", "3"]),
        ("x,y\n", {}, []),
        ("x,y\nä,1\n".encode("latin-1"), {"encoding": "latin-1"}, ["ä"]),
        ("x,y\nä,1\n".encode("utf-16"), {"encoding": "utf-16"}, ["ä"]),
        ("\ufeffx,y\n€,1\n".encode(), {"encoding": "UTF_8"}, ["€"]),
        ("x,y\n€,1\n".encode("cp1252"), {"encoding": "cp1252"}, ["€"]),
    ],
)
def test_spellings_of_csv(content, settings, found, tmp_path):
    settings = dict(settings)
    column = settings.pop("column", "x")
    path = written(tmp_path / "x.csv", content)
    assert values_of(FileEngine(path, text=TextFormat(**settings)), column) == found


def test_tabs_and_compression(tmp_path):
    text = b"x,y\n1,2\n"
    tabs = written(tmp_path / "x.tsv", text.replace(b",", b"\t"))
    assert values_of(FileEngine(tabs)) == ["1"]
    whole = pa.BufferOutputStream()
    with pa.CompressedOutputStream(whole, "zstd") as out:
        out.write(text)
    for ending, content in (
        (".gz", gzip.compress(text) + gzip.compress(b"3,4\n")),
        (".bz2", bz2.compress(text)),
        (".zst", whole.getvalue().to_pybytes()),
    ):
        found = values_of(FileEngine(written(tmp_path / f"x.csv{ending}", content)))
        assert found == (["1", "3"] if ending == ".gz" else ["1"])
    cut = written(tmp_path / "cut.csv.gz", gzip.compress(text * 1000)[:-20])
    with pytest.raises(ParameterError, match="cut off"):
        values_of(FileEngine(cut))


SECRET = "HIV-positive Jane Doe"


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (f"x,y\n1,2\n1,2,{SECRET}\n", "row 2 has 3 fields, the header line 2"),
        (f"x,y\n1,2\n{SECRET}\n", "row 2 has 1 fields, the header line 2"),
        (f"\n\nx,y\n1,2\n{SECRET}\n", "row 2 has 1 fields, the header line 2"),
        (f"{SECRET},y\n1,2\n", "not in the header line"),
        (f"{SECRET};x\n1;2\n", r"separated by ';', say so \(--delimiter\)"),
        (f'x,y\n"{SECRET},2\n3,4\n', "fields"),
        (f"x,y\n{SECRET}ä,2\n".encode("latin-1"), r"not text in utf-8: .*--encoding latin-1"),
        (f"x,y\n{SECRET},2\n".encode("utf-16"), "UTF-16, say so"),
        (f"x,y\n{SECRET}\0,2\n", "zero bytes"),
        (b"", "empty"),
        (b"\n\n\n", "empty"),
        ("x,y\n1,2\n" + "1,2\n" * 300_000 + f"{SECRET}\n", "row 300,002 has 1 fields"),
        ("x,y\n1,2\n" + "1,2\n" * 300_000 + f'"{SECRET}\n' + "1,2\n" * 2_000_000, "quote|fields"),
        (b"x,y\n1,2\n" + b"1,2\n" * 1_000_000 + b"\xff,1\n", "not text in utf-8"),
    ],
)
def test_csv_that_is_refused_without_a_word_of_what_is_in_it(content, word, tmp_path):
    path = written(tmp_path / "x.csv", content)
    with pytest.raises(ParameterError, match=word) as refused:
        values_of(FileEngine(path))
    assert "Jane" not in str(refused.value)


@pytest.mark.parametrize("engine", [FileEngine, DuckEngine], ids=["files", "duckdb"])
def test_a_late_bad_row_is_one_line_without_the_row(engine, tmp_path):
    rows = "x,y\n" + "1,a\n" * 400_000
    for last in (f"{SECRET}\n", f"{SECRET},a\n", f"1,a,{SECRET}\n"):
        path = written(tmp_path / "x.csv", rows + last)
        job = Job(CLEAR.to_dict(), Column(name="x"))
        with pytest.raises(ParameterError) as refused:
            engine(path).run(job, Settings(spill=tmp_path, reports=tmp_path / "r.parquet"))
        assert "Jane" not in str(refused.value)
        assert "\n" not in str(refused.value)
        assert [file.name for file in tmp_path.iterdir()] == ["x.csv"]


def test_a_name_close_to_what_was_asked_for_is_said(tmp_path):
    path = written(tmp_path / "x.csv", f"origin,destination,{SECRET}\n1,2,3\n")
    with pytest.raises(ParameterError, match="close to it 'destination'") as refused:
        values_of(FileEngine(path), "destinations")
    assert "Jane" not in str(refused.value)
    with pytest.raises(ParameterError, match="a number from 1 to 3"):
        values_of(FileEngine(path, text=TextFormat(header=False)), "x")


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"encoding": "klingon"}, "encoding = 'klingon'"),
        ({"delimiter": ""}, "delimiter"),
        ({"delimiter": ";;"}, "delimiter"),
        ({"delimiter": '"'}, "delimiter"),
        ({"delimiter": "\n"}, "delimiter"),
    ],
)
def test_formats_that_are_none(settings, word):
    with pytest.raises(ParameterError, match=word):
        TextFormat(**settings)


def test_values_of_csv_are_what_is_wanted_of_them(tmp_path):
    """Text, whole numbers or numbers: nothing is guessed from the rows."""
    path = written(tmp_path / "x.csv", "t,w,r\n1,10,0.5\n2,20,-1\n1,10,3e0\n")
    text = Job(sd.KRR(k=3, eps0=300.0).to_dict(), Column(name="t", domain=("1", "2", "x")))
    assert FileEngine(path).run(text, Settings()).aggregate().sums.tolist() == [2, 1, 0]
    whole = Job(sd.KRR(k=2, eps0=300.0).to_dict(), Column(name="w", domain=(10, 20)))
    assert FileEngine(path).run(whole, Settings()).aggregate().sums.tolist() == [2, 1]
    real = Job(sd.Laplace(eps0=300.0, low=-1.0, high=3.0).to_dict(), Column(name="r"))
    assert FileEngine(path).run(real, Settings()).aggregate().sums[0] == pytest.approx(2.5, abs=0.5)
    with pytest.raises(ParameterError, match=r"column 't', row 2: wanted a whole number"):
        FileEngine(path).run(Job(sd.KRR(k=2, eps0=1.0).to_dict(), Column(name="t")), Settings())


# --------------------------------------------------------------------------------- fuzzed files


def spelled(rng, value, delimiter):
    """One of the ways to write a field of CSV."""
    if value is None:
        return rng.choice(["", '""'])
    if any(mark in value for mark in (delimiter, '"', "\n", "\r")) or rng.random() < 0.3:
        return '"' + value.replace('"', '""') + '"'
    return value


def some_text(rng):
    return "".join(rng.choices(string.ascii_letters + " ,;'\"\t|äß€\n", k=rng.randrange(0, 9)))


def csv_case(rng):
    """A CSV file in a random spelling, its settings, and the values of its column x."""
    count, width = rng.randrange(0, 60), rng.randrange(1, 5)
    place = rng.randrange(width)
    values = [rng.choice([*DOMAIN, *DOMAIN, None]) for _ in range(count)]
    if width == 1:  # an empty line is no row
        values = [value or "a" for value in values]
    delimiter = rng.choice([",", ";", "\t", "|"])
    names = [f"c{j}" for j in range(width)]
    names[place] = "x"
    lines = []
    for value in values:
        row = [some_text(rng) for _ in range(width)]
        row[place] = value
        lines.append(delimiter.join(spelled(rng, field, delimiter) for field in row))
    end = rng.choice(["\n", "\r\n"])
    encoding = rng.choice(["utf-8", "utf-8-sig", "utf-16", "cp1252"])
    text = end.join([delimiter.join(names), *lines]) + rng.choice(["", end])
    settings = {"encoding": encoding.removesuffix("-sig"), "delimiter": delimiter}
    return text.encode(encoding, errors="replace"), settings, values


def damaged(rng, content):
    """Bytes changed, cut, doubled or put in."""
    found = bytearray(content)
    for _ in range(rng.randrange(1, 6)):
        place = rng.randrange(len(found) + 1)
        kind = rng.randrange(5)
        if kind == 0 and place < len(found):
            found[place] = rng.randrange(256)
        elif kind == 1:
            del found[place : place + rng.randrange(1, 40)]
        elif kind == 2:
            found[place:place] = rng.randbytes(rng.randrange(1, 9))
        elif kind == 3:
            found[place:place] = rng.choice([b'"', b"\n", b",", b";", b"\r", b"\0", b"\xff"])
        else:
            found += found[place : place + 50]
        found = found or bytearray(b"x")
    return bytes(found)


def counts_of(path, settings):
    """What a run over the file counts, or the one line that refuses it; nothing else is raised."""
    column = Column(name="x", domain=DOMAIN, nulls="drop", outside="drop")
    try:
        engine = FileEngine(path, text=TextFormat(**settings))
        found = engine.run(Job(CLEAR.to_dict(), column), Settings())
    except ParameterError as error:
        return str(error)
    sums = found.aggregate().sums.tolist() if found.count else [0.0] * 4
    return sums, found.nulls, found.outside


def expected(values):
    return [float(values.count(item)) for item in DOMAIN], values.count(None), 0


def test_500_csv_files(tmp_path):
    """Whole ones give exactly what was written; damaged ones what Python reads, or one line."""
    rng = random.Random(20261122)
    refused = 0
    for case in range(500):
        content, settings, values = csv_case(rng)
        path = written(tmp_path / "x.csv", content)
        if case % 2 == 0:
            assert counts_of(path, settings) == expected(values)
            continue
        content = damaged(rng, content)
        found = counts_of(written(path, content), settings)
        if isinstance(found, str):
            refused += 1
            assert found.isprintable()
            assert len(found) < 500
        else:
            assert found == by_python(content, settings)
    assert 50 < refused < 240


def by_python(content, settings):
    """What Python's reader counts, which takes nothing that is not whole."""
    encoding = settings["encoding"]
    text = content.decode("utf-8-sig" if encoding == "utf-8" else encoding)
    lines = io.StringIO(text, newline="")
    first, *rows = filter(None, csv.reader(lines, delimiter=settings["delimiter"], strict=True))
    assert {len(row) for row in rows} <= {len(first)}
    values = [row[first.index("x")] for row in rows]
    sums, nulls = [float(values.count(item)) for item in DOMAIN], values.count("")
    return sums, nulls, len(values) - nulls - int(sum(sums))


def parquet_case(rng):
    count = rng.randrange(1, 400)
    values = [rng.choice([*DOMAIN, None]) for _ in range(count)]
    kind = rng.choice([pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
    table = pa.table({"x": pa.array(values, pa.string()).cast(kind), "y": list(range(count))})
    out = io.BytesIO()
    pq.write_table(
        table,
        out,
        row_group_size=rng.choice([7, 100, 1000]),
        compression=rng.choice(["none", "snappy", "zstd", "gzip"]),
        use_dictionary=rng.choice([True, False]),
        data_page_version=rng.choice(["1.0", "2.0"]),
        write_page_checksum=True,
    )
    return out.getvalue(), values


@pytest.mark.long
def test_500_parquet_files(tmp_path):
    """With page checksums a damaged page is found; what is read is what was written."""
    rng = random.Random(20261122)
    refused = 0
    for case in range(500):
        content, values = parquet_case(rng)
        path = written(tmp_path / "x.parquet", content)
        if case % 2 == 0:
            assert counts_of(path, {}) == expected(values)
            continue
        # Not in the footer, which has no checksum: there a changed count is a smaller file.
        footer = int.from_bytes(content[-8:-4], "little") + 8
        body = damaged_in_place(rng, content[:-footer])
        cut = rng.random() < 0.3
        written(path, content[: rng.randrange(len(content))] if cut else body + content[-footer:])
        found = counts_of(path, {})
        if isinstance(found, str):
            refused += 1
            assert found.isprintable()
        else:
            assert found == expected(values)
    assert refused > 100


def damaged_in_place(rng, body):
    found = bytearray(body)
    for _ in range(rng.randrange(1, 4)):
        found[rng.randrange(4, len(found))] ^= 1 << rng.randrange(8)
    return bytes(found)


def test_footers_of_parquet_that_are_damaged_are_one_line_or_read(tmp_path):
    rng = random.Random(20261122)
    for _ in range(300):
        content, _ = parquet_case(rng)
        footer = int.from_bytes(content[-8:-4], "little") + 8
        changed = bytearray(content)
        for _ in range(rng.randrange(1, 4)):
            changed[-rng.randrange(1, footer)] = rng.randrange(256)
        found = counts_of(written(tmp_path / "x.parquet", bytes(changed)), {})
        assert not isinstance(found, str) or found.isprintable()


# ------------------------------------------------------------------------------ the command line

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
    code, out, err = run(capsys, "--input-glob", "in/[ab].csv")
    assert (code, out.splitlines()[0]) == (0, "4 users in 2 files"), err
    assert "4 users have a value, of 6 expected" in err
    code, out, err = run(capsys, "--input", "in/[c].csv")
    assert (code, out.splitlines()[0]) == (0, "2 users"), err
    for words in ([], ["--input", "in", "--input-glob", "in/*"]):
        code, _, err = run(capsys, *words)
        assert (code, err.count("\n")) == (2, 1)
    before = sorted(place.rglob("*"))
    code, _, err = call(capsys, "run", "d.toml", "--input", "in", "--output", "in/e.csv")
    assert code == 2
    assert "input folder" in err
    assert sorted(place.rglob("*")) == before
    code, out, _ = call(capsys, "simulate", "d.toml", "--input", "in", "-R", "2")
    assert code == 0
    assert "6 users in 3 files" in out


def test_how_text_is_written_on_the_command_line(place, capsys):
    written(place / "in.csv", "1;a\n2;b\n" * 3, "utf-16")
    words = ["--input", "in.csv", "--encoding", "utf-16", "--delimiter", ";", "--no-header"]
    assert run(capsys, *words, "--column", "2")[0] == 0
    code, _, err = run(capsys, "--input", "in.csv")
    assert (code, err.count("\n")) == (2, 1)
    assert "--encoding utf-16" in err


def test_values_are_shown_by_a_flag_alone(place, capsys):
    written(place / "in.csv", f"x\na\n{SECRET}\n")
    before = sorted(place.iterdir())
    code, out, err = run(capsys, "--input", "in.csv")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "Jane" not in err
    assert "row 2" in err
    assert "Jane" in run(capsys, "--input", "in.csv", "--show-values")[2]
    assert "Jane" in call(capsys, "simulate", "d.toml", "--input", "in.csv", "--show-values")[2]
    assert sorted(place.iterdir()) == before


@pytest.mark.parametrize(
    ("column", "items"),
    [
        (pa.array([1, 2, 30, 4, 1, 1]), "1\n2\n30\n4\n"),
        (pa.array([True, False] * 3), "true\nfalse\nx\ny\n"),
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
    code, _, err = run(capsys, *words, "--type", "text")
    assert code == 0, err
    with Path("e.csv").open(encoding="utf-8", newline="") as file:
        assert [row["item"] for row in csv.DictReader(file)] == items.split()


def test_whole_numbers_of_a_domain_file(place, capsys):
    pq.write_table(pa.table({"x": ["1", "2", "3"] * 2}), "in.parquet")
    written(place / "items.txt", "1\n2\n3\n4\n")
    words = ["--input", "in.parquet", "--domain", "items.txt", "--type", "integer"]
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
        ("\n".join(names).encode("utf-16"), "UTF-16"),
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


@pytest.mark.parametrize(
    ("truth", "word"),
    [
        ("item,value\na,0.5\nb,0.2\n", None),
        ("\ufeffitem,value\na,0.5\n", None),
        ("x\na\nb\n", "another header"),
        ("a,0.5\nb,0.2\n", "another header"),
        ("item,value\na,0.5\na,0.2\n", "line 3: an item that was there before"),
        ("item,value\na,30\n", "shares of the users"),
        ("item,value\nnobody,0.3\n", "none of the 4 estimated"),
        ("item,value\na,nan\n", "line 2: not a finite number"),
        ("item,value\na,0.1,0.2\n", "line 2: not an item"),
        ("item,value\n", "no items"),
        ("x,name\n1,Jane\n", "another header"),
    ],
)
def test_truth_is_shares_and_nothing_else(truth, word, place, capsys):
    written(place / "in.csv", "x\n" + "a\nb\nc\n" * 2)
    written(place / "t.csv", truth)
    before = sorted(place.iterdir())
    code, _, err = run(capsys, "--input", "in.csv", "--truth", "t.csv", "--figure", "f.png")
    if word is None:
        assert code == 0, err
        return
    assert (code, err.count("\n")) == (2, 1)
    assert word in err
    assert sorted(place.iterdir()) == before


def test_truth_without_a_figure_is_refused(place, capsys):
    written(place / "in.csv", "x\na\n")
    written(place / "t.csv", "item,value\na,0.5\n")
    code, _, err = run(capsys, "--input", "in.csv", "--truth", "t.csv")
    assert (code, err.count("\n")) == (2, 1)
    assert "wanted --figure too" in err
