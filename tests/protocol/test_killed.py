"""A run that is ended at any moment: all files or none, and no report in the users' order.

The values are sorted and eps0 = 300, so that reports are the values: any order of the users that
is left on the disk shows as a file that rises.
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
import time
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
FINISHED = {"e.csv", "e.certificate.json", "r.parquet"}
WORDS = ["--input", "in.parquet", "--output", "out/e.csv", "--reports", "out/r.parquet",
         "--memory", "128MB"]  # fmt: skip
COMMAND = [sys.executable, "-m", "shuffledp", "run", "d.toml", *WORDS]


@pytest.fixture(scope="module")
def place():
    """A folder that others may enter: one test runs as nobody."""
    with tempfile.TemporaryDirectory() as name:
        where = Path(name)
        where.chmod(0o755)
        values = np.sort(np.random.default_rng(0).integers(0, 200, ROWS))
        pq.write_table(pa.table({"x": values}), where / "in.parquet")
        (where / "d.toml").write_text(DEPLOYMENT, encoding="utf-8")
        yield where


@pytest.fixture
def out(place):
    folder = place / "out"
    folder.mkdir()
    yield folder
    subprocess.run(["rm", "-rf", str(folder)], check=True)


@pytest.fixture(scope="module")
def seconds(place):
    """How long a whole run takes here."""
    (place / "out").mkdir()
    start = time.monotonic()
    done = subprocess.run(COMMAND, cwd=place, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert finished(place / "out") == FINISHED
    whole(place / "out")
    subprocess.run(["rm", "-rf", str(place / "out")], check=True)
    return time.monotonic() - start


def finished(folder):
    return {path.name for path in folder.iterdir() if not path.name.startswith(".shuffledp-")}


def whole(folder):
    """The certificate is of this table, the reports are all there and in no order."""
    certificate = json.loads((folder / "e.certificate.json").read_text(encoding="utf-8"))
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


def ended(place, out, number, moment):
    """Start a run, end it after so many seconds; all or nothing must be there."""
    with subprocess.Popen(
        COMMAND, cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as child:
        time.sleep(moment)
        child.send_signal(number)
        message = child.stderr.read()
    found = finished(out)
    assert found in (set(), FINISHED)
    if found:
        whole(out)
    no_order(out)
    if number != signal.SIGKILL and child.returncode != 0:
        assert list(out.iterdir()) == [] or found == FINISHED
        # Before its own code runs, a process dies of the signal itself.
        if child.returncode > 0:
            assert child.returncode == 128 + number
            assert message.count("\n") == 1
    return found


def many(place, out, seconds, number, moments):
    rng = random.Random(number)
    for _ in range(moments):
        ended(place, out, number, rng.uniform(0.0, 1.1 * seconds))
        for path in list(out.iterdir()):
            if path.name in FINISHED:
                path.unlink()
    # What killed runs have left goes with the next one.
    left = list(out.iterdir())
    done = subprocess.run(COMMAND, cwd=place, capture_output=True, text=True, check=True)
    assert {path.name for path in out.iterdir()} == FINISHED
    assert all(path.name in done.stderr for path in left)
    return left


SIGNALS = [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP]


@pytest.mark.parametrize("number", SIGNALS, ids=lambda n: n.name)
def test_ended_in_the_middle(place, out, seconds, number):
    assert ended(place, out, number, 0.7 * seconds) in (set(), FINISHED)


@pytest.mark.long
@pytest.mark.parametrize("number", SIGNALS, ids=lambda n: n.name)
def test_ended_at_ten_moments(place, out, seconds, number):
    left = many(place, out, seconds, number, 10)
    assert number == signal.SIGKILL or left == []


def test_nohup_is_not_ended_by_a_hangup(place, out, seconds):
    command = ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", *COMMAND]
    with subprocess.Popen(
        command, cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as child:
        time.sleep(0.6 * seconds)
        child.send_signal(signal.SIGHUP)
        child.stderr.read()
    assert child.returncode == 0
    assert finished(out) == FINISHED


@pytest.mark.parametrize("kilobytes", [0, *random.Random(3).sample(range(1, 1400), 1)])
def test_a_disk_that_is_full(place, out, kilobytes):
    """Files may grow so far: the reports take 1.5 MB, and what is spilled as much."""
    check_full(place, out, kilobytes)


@pytest.mark.long
@pytest.mark.parametrize("kilobytes", random.Random(4).sample(range(1, 1400), 10))
def test_a_disk_that_is_full_at_ten_moments(place, out, kilobytes):
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
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
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
    assert (code, message.count("\n")) == (2, 1), message
    assert "ermission denied" in message
    assert [path.name for path in out.iterdir()] == ["e.csv"]
    assert (out / "e.csv").read_text(encoding="utf-8") == "kept"


def call(words):
    with pytest.raises(SystemExit) as stop:
        main.main(words)
    return stop.value.code
