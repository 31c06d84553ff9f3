"""A run that is ended at any moment: whole files alone, and no report in the users' order.

Moments are operations on files (``interrupted.py``), which a slow machine does not move. Values
are sorted and eps0 = 300, so that reports are the values: any order of the users left on the
disk shows as a file that rises.
"""

import hashlib
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shuffledp.cli import main

ROWS = 1_500_000  # more than fit into the shuffler's part of 128 MB: reports go to the disk
DEPLOYMENT = """
title = "Clear"
[population]
users = 1_500_000
minimum_batch = 1000
[randomizer]
name = "k-rr"
k = 200
eps0 = 300.0
[target]
delta = 1e-6
[data]
column = "x"
"""
FINISHED = {"e.csv", "e.csv.certificate.json", "r.parquet"}
WORDS = ["--input", "in.parquet", "--output", "out/e.csv", "--reports", "out/r.parquet",
         "--memory", "128MB"]  # fmt: skip
COMMAND = [sys.executable, "-m", "shuffledp", "run", "d.toml", *WORDS]
INTERRUPTED = Path(__file__).with_name("interrupted.py")
# Operations in which the files change places and the folder of what is unfinished goes.
LAST = 12


@pytest.fixture(scope="module")
def place():
    """A folder that others may enter: one test runs as nobody."""
    with tempfile.TemporaryDirectory() as name:
        where = Path(name)
        where.chmod(0o755)
        values = np.sort(np.random.default_rng(0).integers(0, 200, ROWS))
        pq.write_table(pa.table({"x": values}), where / "in.parquet")
        pq.write_table(pa.table({"x": [1] * 1000}), where / "few.parquet")
        (where / "d.toml").write_text(DEPLOYMENT, encoding="utf-8")
        yield where


@pytest.fixture
def out(place):
    folder = place / "out"
    folder.mkdir()
    yield folder
    subprocess.run(["rm", "-rf", str(folder)], check=True)


def interrupted(place, at, what):
    """The command with something done to it at its n-th operation; its result."""
    words = [sys.executable, str(INTERRUPTED), "out", str(at), str(what), "run", "d.toml", *WORDS]
    return subprocess.run(words, cwd=place, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def operations(place):
    """How many operations on files a whole run has."""
    (place / "out").mkdir()
    done = interrupted(place, 0, 0)
    assert done.returncode == 0, done.stderr
    assert finished(place / "out") == FINISHED
    whole(place / "out")
    subprocess.run(["rm", "-rf", str(place / "out")], check=True)
    count = int(done.stdout.splitlines()[-1])
    assert count > 40  # blocks spilled, buckets, batches written, files put in their places
    return count


def finished(folder):
    return {path.name for path in folder.iterdir() if not path.name.startswith(".shuffledp-")}


def whole(folder):
    """The certificate is of this table, the reports are all there and in no order."""
    certificate = json.loads((folder / "e.csv.certificate.json").read_text(encoding="utf-8"))
    table = hashlib.sha256((folder / "e.csv").read_bytes()).hexdigest()
    assert certificate["release"]["sha256"] == table
    reports = pq.read_table(folder / "r.parquet").column("report").to_numpy()
    assert len(reports) == ROWS
    assert abs(np.corrcoef(reports, np.arange(ROWS))[0, 1]) < 6 / np.sqrt(ROWS)


def no_order(folder):
    """No file left rises with its place, whatever of it is there (0.97 in the users' order)."""
    for path in folder.rglob("*"):
        if path.is_file() and path.stat().st_size > 1000:
            content = np.frombuffer(path.read_bytes(), np.uint8).astype(float)
            assert content.std() > 0
            assert abs(np.corrcoef(content, np.arange(content.size))[0, 1]) < 0.3, path


def lines(stderr):
    """What was said, without the progress that a slow machine shows too."""
    return [line for line in stderr.splitlines() if not line.startswith("working: ")]


def some_or_all(folder, found):
    """Nothing undoes what ends between two renames: the table, which comes last, is not there then,
    and nothing that is there is cut off."""
    if found == FINISHED:
        whole(folder)
    elif found:
        assert "e.csv" not in found
        assert pq.read_table(folder / "r.parquet").num_rows == ROWS


def ended(place, out, number, at):
    """A run that ends itself at an operation; every file that is there must be whole."""
    done = interrupted(place, at, int(number))
    found = finished(out)
    no_order(out)
    some_or_all(out, found)
    if number == signal.SIGKILL:
        assert done.returncode == -number
    else:
        assert done.returncode == 128 + number
        assert len(lines(done.stderr)) == 1 or found == FINISHED
    return found


def moments(count, seed):
    """Ten operations at random."""
    return random.Random(seed).sample(range(1, count + 1), 10)


SIGNALS = [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP]


@pytest.mark.long
@pytest.mark.parametrize("number", SIGNALS, ids=lambda n: n.name)
def test_ended_in_the_middle(place, out, operations, number):
    assert ended(place, out, number, operations // 2) == set()


@pytest.mark.long
@pytest.mark.parametrize("number", SIGNALS, ids=lambda n: n.name)
def test_ended_at_ten_moments(place, out, operations, number):
    for at in moments(operations, int(number)):
        ended(place, out, number, at)
        for path in out.iterdir():
            if path.name in FINISHED:
                path.unlink()
    subprocess.run(COMMAND, cwd=place, capture_output=True, check=True)
    assert finished(out) == FINISHED


@pytest.mark.long
@pytest.mark.parametrize("number", SIGNALS[:2], ids=lambda n: n.name)
def test_ended_while_files_change_places(place, out, operations, number):
    """The last operations, one after the other."""
    seen = set()
    for at in range(operations - LAST, operations + 1):
        seen.add(frozenset(ended(place, out, number, at)))
        subprocess.run(["rm", "-rf", *map(str, out.iterdir())], check=True)
    assert frozenset(FINISHED) in seen


@pytest.mark.many(1)
@pytest.mark.parametrize("kilobytes", [0, *random.Random(3).sample(range(1, 1400), 1)])
def test_a_disk_that_is_full(place, out, kilobytes):
    """Files may grow so far: the reports take 1.5 MB, and what is spilled as much."""
    check_full(place, out, kilobytes)


def check_full(place, out, kilobytes):
    limit = kilobytes << 10
    done = subprocess.run(
        COMMAND,
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert (done.returncode, len(lines(done.stderr))) == (2, 1), done.stderr
    assert list(out.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="POSIX")
def test_a_folder_that_is_read_only(place, out, capsys, monkeypatch):
    """As nobody where we are root, who may write everywhere; what is imported is so before."""
    monkeypatch.chdir(place)
    words = ["run", "d.toml", *WORDS]
    pq.write_table(pa.table({"x": [1] * 1000}), place / "few.parquet")
    words[words.index("in.parquet")] = "few.parquet"
    assert call(words) == 0
    for path in out.iterdir():
        path.unlink()
    (out / "e.csv").write_text("kept", encoding="utf-8")
    out.chmod(0o555)
    capsys.readouterr()
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        code = call(words)
    finally:
        if root:
            os.seteuid(0)
        out.chmod(0o755)
    message = capsys.readouterr().err
    assert (code, len(lines(message))) == (2, 1), message
    assert "ermission denied" in message
    assert [path.name for path in out.iterdir()] == ["e.csv"]
    assert (out / "e.csv").read_text(encoding="utf-8") == "kept"


def call(words):
    with pytest.raises(SystemExit) as stop:
        main.main(words)
    return stop.value.code
