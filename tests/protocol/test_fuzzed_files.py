"""CSV that chance wrote, and such that is damaged: read as Python reads it, or one line."""

import csv
import io
import random
import string

from protocol.small_files import CLEAR, DOMAIN, written
from shuffledp.errors import ParameterError
from shuffledp.protocol import Column, Job
from shuffledp.protocol.engines import DuckEngine, Settings, TextFormat


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
    delimiter = rng.choice([",", ";", "\t", "|"])
    names = [f"c{j}" for j in range(width)]
    names[place] = "x"
    lines = []
    for value in values:
        row = [some_text(rng) for _ in range(width)]
        row[place] = value
        lines.append(delimiter.join(spelled(rng, field, delimiter) for field in row))
    end = rng.choice(["\n", "\r\n"])
    encoding = rng.choice(["utf-8", "utf-8-sig", "utf-16", "latin-1"])
    # Without an end of the last line nobody can tell an empty one from none.
    text = end.join([delimiter.join(names), *lines]) + rng.choice(["", end] if width > 1 else [end])
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
        engine = DuckEngine(path, text=TextFormat(**settings))
        found = engine.run(Job(CLEAR.to_dict(), column), Settings())
    except ParameterError as error:
        return str(error)
    sums = found.aggregate().sums.tolist() if found.count else [0.0] * 4
    return sums, found.nulls, found.outside


def expected(values):
    return [float(values.count(item)) for item in DOMAIN], values.count(None), 0


def test_csv_files(tmp_path):
    """Whole ones give exactly what was written; damaged ones what Python reads, or one line."""
    rng = random.Random(20261122)
    refused = 0
    for case in range(40):
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
    assert 3 < refused < 19


def by_python(content, settings):
    """What Python's reader counts, which takes nothing that is not whole."""
    encoding = settings["encoding"]
    text = content.decode("utf-8-sig" if encoding == "utf-8" else encoding)
    lines = io.StringIO(text, newline="")
    first, *rows = csv.reader(lines, delimiter=settings["delimiter"], strict=True)
    # Of one column an empty line is a row without a value, of several it is no row.
    rows = [row or [""] for row in rows] if len(first) == 1 else list(filter(None, rows))
    # DuckDB passes over a delimiter after the last field.
    rows = [row[:-1] if row[len(first) :] == [""] else row for row in rows]
    assert {len(row) for row in rows} <= {len(first)}
    values = [row[first.index("x")] for row in rows]
    sums, nulls = [float(values.count(item)) for item in DOMAIN], values.count("")
    return sums, nulls, len(values) - nulls - int(sum(sums))
