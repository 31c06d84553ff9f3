"""Quotes of CSV: against a machine that goes from character to character, and Python's reader."""

import csv
import io

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import shuffledp as sd
from shuffledp.errors import ParameterError
from shuffledp.protocol import Column, Job
from shuffledp.protocol.engines import FileEngine, Settings, TextFormat
from shuffledp.protocol.engines.quotes import Quotes

texts = st.text(alphabet='"""a,\n\r€', max_size=40)


class Pieces:
    """A stream that gives so many bytes at a time."""

    def __init__(self, content, sizes):
        self.content, self.sizes = content, list(sizes)

    def read(self, size):
        size = min(size, self.sizes.pop() if self.sizes else 7)
        found, self.content = self.content[:size], self.content[size:]
        return found


def judged(text, sizes, encoding="utf-8"):
    """What is said of the text, and what was read of it."""
    content = text.encode(encoding)
    quotes = Quotes(Pieces(content, sizes), encoding=encoding, delimiter=",")
    read = b""
    while more := quotes.read(1 << 20):
        read += more
    wrong = quotes.end()
    assert content.startswith(read)
    assert wrong is not None or read == content
    return wrong


def expected(text):
    """None, or the line of a quote that is never closed, or of one with text after it."""
    state, opened = "start", 0
    for place, mark in enumerate(text):
        if state == "quoted":
            state = "closing" if mark == '"' else state
        elif state == "closing" and mark == '"':
            state = "quoted"
        elif mark in ",\n\r":
            state = "start"
        elif state == "closing":
            return "after", line_of(text, place - 1)
        elif state == "start" and mark == '"':
            state, opened = "quoted", place
        else:
            state = "plain"
    return ("open", line_of(text, opened)) if state == "quoted" else None


def line_of(text, place):
    return 1 + max(text[:place].count("\n"), text[:place].count("\r"))


@given(texts, st.lists(st.integers(1, 9), max_size=12))
@example('"a"b', [])
@example('"a\n', [1, 1])
@example('a"b,"c""d","",""""\n"e"', [3])
def test_every_text_in_pieces(text, sizes):
    found, wanted = judged(text, sizes), expected(text)
    assert (found is None) == (wanted is None)
    if wanted is not None:
        kind, line = wanted
        assert found.startswith("text after the closing quote" if kind == "after" else "a quote in")
        # Lines are counted piece by piece, so a file with two kinds of line ends has some more.
        if "\r" not in text:
            assert f"line {line:,}" in found


@given(texts.filter(lambda text: "\r" not in text))
def test_what_is_taken_is_what_python_takes(text):
    try:
        list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except csv.Error:
        assert judged(text, []) is not None
    else:
        assert judged(text, []) is None


@given(texts, st.sampled_from(["utf-16", "utf-8-sig", "utf-32", "cp1252"]))
def test_encodings(text, encoding):
    assert (judged(text, [5, 3], encoding) is None) == (expected(text) is None)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('x\na\n"b\na\na\n', "a quote in line 3 is not closed"),
        ('x\na\n"b\na\n"a\nb\n', "text after the closing quote of a field in line 5"),
        ('x\na\n"b" \na\n', "text after the closing quote of a field in line 3"),
    ],
)
def test_rows_are_not_joined(text, words, tmp_path):
    """Left out as "outside" they would have been: users lost, and a certificate for the rest."""
    path = tmp_path / "x.csv"
    path.write_text(text, encoding="utf-8")
    column = Column(name="x", domain=("a", "b"), outside="drop")
    job = Job(sd.KRR(k=2, eps0=1.0).to_dict(), column)
    with pytest.raises(ParameterError, match=f"not whole CSV: {words}"):
        FileEngine(path).run(job, Settings())


def test_far_into_a_file(tmp_path):
    """Blocks of a megabyte: quotes on their edges, one wrong one after 300,000 rows."""
    rows = np.where(np.arange(300_000) % 3 == 0, '"a""b"', '"c"').tolist()
    for text, wrong in (("\n".join(rows), None), ("\n".join([*rows, '"c"c']), 300_001)):
        assert len(text) > 1 << 20
        found = judged(text, [1 << 17] * 20)
        assert (found is None) if wrong is None else (f"line {wrong:,}" in found)
    path = tmp_path / "x.csv"
    path.write_text("x\n" + "\n".join(rows), encoding="utf-8")
    read = list(FileEngine(path, text=TextFormat()).arrays(("x",), Settings()))
    assert pa.chunked_array(read).to_pylist() == [
        'a"b' if place % 3 == 0 else "c" for place in range(300_000)
    ]
