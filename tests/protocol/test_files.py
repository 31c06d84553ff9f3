"""Files: a path is a path; CSV in every spelling; 1,000 fuzzed files: one line or the truth."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from protocol.small_files import SECRET, values_of, written
from shuffledp.errors import ParameterError
from shuffledp.protocol.engines import DuckEngine, TextFormat

# -------------------------------------------------------------------------------------- names

NAMES = [
    *("glob[1]", "st*r", "que?tion", "[!a]", "a{b,c}", "**", "back\\slash", "quo'te", 'dou"ble'),
    *("dest=BB", "line\nend", "new $HOME", "~", "100%", "ünï", "file:x", "s3:x", "-", " lead"),
]


@pytest.mark.many(14)
@pytest.mark.parametrize("ending", [".parquet", ".csv"])
@pytest.mark.parametrize("name", NAMES)
def test_a_path_is_a_path(name, ending, tmp_path, monkeypatch):
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
        assert [int(x) for x in values_of(DuckEngine(path))] == [1, 1, 1]


def test_folders_and_patterns_where_they_are_asked_for(tmp_path):
    for j, place in enumerate(["b.parquet", "a.parquet", "sub/c.parquet", "_skip.parquet",
                               ".hidden.parquet", "note.md", "sub/_x/d.parquet"]):  # fmt: skip
        path = tmp_path / "in" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"x": [j]}), path)
    folder = DuckEngine(tmp_path / "in")
    assert [file.name for file in folder.files] == ["a.parquet", "b.parquet", "c.parquet"]
    assert values_of(folder) == [1, 0, 2]
    some = DuckEngine(str(tmp_path / "in" / "[ab].parquet"))
    assert values_of(some) == [1, 0]
    with pytest.raises(ParameterError, match="no file matches"):
        DuckEngine(str(tmp_path / "*.nothing"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(ParameterError, match="no such file in this folder"):
        DuckEngine(tmp_path / "empty")
    written(tmp_path / "in" / "z.csv", "x\n1\n")
    with pytest.raises(ParameterError, match="wanted one kind"):
        DuckEngine(tmp_path / "in")
    with pytest.raises(ParameterError, match="not an ordinary file"):
        DuckEngine("/dev/null")


# ---------------------------------------------------------------------------------------- CSV


@pytest.mark.parametrize(
    ("content", "settings", "found"),
    [
        ("x,y\n1,2\n3,4\n", {}, ["1", "3"]),
        ("x,y\r\n1,2\r\n3,4", {}, ["1", "3"]),
        ("\ufeffx,y\n1,2\n", {}, ["1"]),
        ("x,y\n1,2\n\n3,4\n", {}, ["1", "3"]),
        ("x\n1\n\n\n3\n\n", {}, ["1", None, None, "3", None]),
        ('x\n\n1\n""\n', {}, [None, "1", None]),
        ("x,y\n#1,2\n# a,\n 2 ,\n", {}, ["#1", "# a", " 2 "]),
        ("x\n#\n \n'a\n\\N\nNULL\nnull\n", {}, ["#", " ", "'a", "\\N", "NULL", "null"]),
        ("\n1\n\n", {"header": False, "column": "1"}, [None, "1", None]),
        ('y,x\n"two\nlines","a ""b"""\n', {}, ['a "b"']),
        ('"y\nz",x\n1,2\n', {}, ["2"]),
        ('x,y\n,1\n"",2\n 3 ,4\n', {}, [None, None, " 3 "]),
        ("x;y\n1,5;2\n", {"delimiter": ";"}, ["1,5"]),
        ("5,2\n3,4\n", {"header": False, "column": "1"}, ["5", "3"]),
        ("x,y\n", {}, []),
        ("x,y\nä,1\n".encode("latin-1"), {"encoding": "latin-1"}, ["ä"]),
        ("x,y\nä,1\n".encode("utf-16"), {"encoding": "utf-16"}, ["ä"]),
        ("\ufeffx,y\n€,1\n".encode(), {"encoding": "UTF_8"}, ["€"]),
    ],
)
def test_spellings_of_csv(content, settings, found, tmp_path):
    settings = dict(settings)
    column = settings.pop("column", "x")
    path = written(tmp_path / "x.csv", content)
    assert values_of(DuckEngine(path, text=TextFormat(**settings)), column) == found


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (f"x,y\n1,2\n1,2,{SECRET}\n", "line 3: it has 3 fields, the first line 2"),
        (f"x,y\n1,2\n{SECRET}\n", "line 3: it has 1 fields, the first line 2"),
        (f"\n\nx,y\n1,2\n{SECRET}\n", "the first line is empty"),
        (f"{SECRET},y\n1,2\n", "not in the header line"),
        (f"{SECRET};x\n1;2\n", r"separated by ';', say so \(data.csv.delimiter"),
        (f'x,y\n"{SECRET},2\n3,4\n', "line 2: a quote is not closed"),
        (f'x\n"{SECRET}"b\na\n', "line 2: a quote is not closed, or text follows"),
        (f'x\na\n"{SECRET}\na\n"a\nb\n', "line 3: a quote is not closed, or text follows"),
        (f"x,y\n{SECRET}ä,2\n".encode("latin-1"), "not text in utf-8: .*encoding = .latin-1"),
        (f"x,y\n{SECRET},2\n".encode("utf-16"), "UTF-16, say so"),
        (b"\xfe\xff" + f"x,y\n{SECRET},2\n".encode("utf-16-be"), "big-endian UTF-16"),
        (f"x,y\n{SECRET}\0,2\n", "zero bytes"),
        (b"", "empty"),
        (b"\n\n\n", "empty"),
        ("x,y\n1,2\n" + "1,2\n" * 300_000 + f"{SECRET}\n", "line 300,003: it has 1 fields"),
        ("x,y\n1,2\n" + "1,2\n" * 300_000 + f'"{SECRET}\n' + "1,2\n" * 2_000_000, "quote|fields"),
        (b"x,y\n1,2\n" + b"1,2\n" * 1_000_000 + b"\xff,1\n", "in another encoding"),
    ],
)
def test_csv_that_is_refused_without_a_word_of_what_is_in_it(content, word, tmp_path):
    path = written(tmp_path / "x.csv", content)
    with pytest.raises(ParameterError, match=word) as refused:
        values_of(DuckEngine(path))
    assert "Jane" not in str(refused.value)
