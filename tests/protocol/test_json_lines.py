"""JSON lines: the same rows as from Parquet, or one line that quotes nobody's value."""

import json

import pytest

from protocol.small_files import values_of, written
from shuffledp.errors import ParameterError
from shuffledp.protocol.engines import DuckEngine

SECRET = "hunter2"


def lines_of(rows):
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def found_in(tmp_path, content, *names):
    return values_of(DuckEngine(written(tmp_path / "t.jsonl", content)), *names)


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
    assert found_in(tmp_path, lines_of([{"y": 1, "x": value}, {"x": "b"}])) == [text, "b"]


WRONG = [
    b'{"x": "a"}\n["hunter2"]\n',
    b'{"x": "a"}\n{"x": "hunter2"\n',
    b'{"x": "hunter2"} {"x": 1}\n',
    b'{"x": "hunter2", "x": "a"}\n',
    b'{"x": "\xff hunter2"}\n',
    b'{"x": "hunter2 \\ud800"}\n',
    b'{"x": ' + b"[" * 200_000 + b"\n",
    b'{"x": "a"}\n' * 3 + b'{"x"',
]


@pytest.mark.parametrize("content", WRONG, ids=range(len(WRONG)))
def test_what_is_no_json_is_one_line_without_a_value(content, tmp_path):
    with pytest.raises(ParameterError, match=r"not a whole file of JSON lines|some line") as error:
        found_in(tmp_path, content)
    assert "\n" not in str(error.value)
    assert SECRET not in str(error.value)
