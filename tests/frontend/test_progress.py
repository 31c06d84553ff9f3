"""stderr while a command works: nothing in the first second, then enough to tell it from a hang."""

import os
import subprocess
import sys
import time

import click
from click.testing import CliRunner

from shuffledp.cli import progress
from shuffledp.cli.group import OneLineGroup, Place

SLOW = """
import sys, time
from types import SimpleNamespace
from shuffledp.cli import main, numbers
def slow(bound, *, as_json):
    print("0.1 <= eps <= 0.2")
numbers._show = slow
from shuffledp.accounts import Account
def epsilon(self, **more):
    time.sleep(1.6)
    return SimpleNamespace(upper=0.2)
Account.epsilon = epsilon
main(sys.argv[1:])
"""
KRR = ["epsilon", "k-rr", "--k", "3", "--eps0", "1", "-n", "50", "--delta", "0.01"]


def environment(**more):
    known = {k: v for k, v in os.environ.items() if k != "SHUFFLEDP_QUIET"}
    return {**known, "TERM": "xterm", "NO_COLOR": "1", **more}


def slow(*before, **more):
    return subprocess.run(
        [sys.executable, "-c", SLOW, *before, *KRR],
        capture_output=True, text=True, check=True, env=environment(**more),
    )  # fmt: skip


@click.group(cls=OneLineGroup, places={"work": Place(__name__, "work", "Sleep.")})
@click.option("--quiet", is_flag=True)
def group(quiet):
    pass


@click.command()
@click.argument("seconds", type=float)
def work(seconds):
    with progress.progress("first") as status:
        time.sleep(seconds / 2)
        status.update("second")
        time.sleep(seconds / 2)
    click.echo("done")


def test_lines_come_when_they_are_due_and_say_the_latest(monkeypatch):
    monkeypatch.setattr(progress, "_DUE", (0.05, 0.5))
    monkeypatch.setattr(progress, "_EVERY", 5.0)
    result = CliRunner().invoke(group, ["work", "0.8"])
    assert result.stdout == "done\n"
    assert result.stderr.splitlines() == ["working: first", "working: second (0 s)"]


def test_where_the_total_is_known_the_time_left_is_said(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    status = progress._Current("")
    tell = progress.Left(status, "repetitions", 1000)
    for done, seconds, said in (
        (100, 10.0, "100 of 1,000 repetitions, about 2 min left"),
        (500, 40.0, "500 of 1,000 repetitions, about 40 s left"),
        (501, 4000.0, "501 of 1,000 repetitions, about 66 min left"),
        (1000, 5000.0, "1,000 of 1,000 repetitions"),
    ):
        now[0] = 100.0 + seconds
        tell(done)
        assert status.message == said
