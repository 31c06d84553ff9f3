"""Audits that are killed at any of their calls, and go on, give what uninterrupted ones give."""

import contextlib
import json
import random
import zlib

import numpy as np
import pytest
from click.testing import CliRunner

from shuffledp.audit import checkpoint
from shuffledp.audit.sources import Lines
from shuffledp.cli import main

DEPLOYMENT = """
title = "t"
[population]
users = 100
minimum_batch = 16
[randomizer]
name = "k-rr"
k = 2
eps0 = 1.0
[target]
delta = 1e-6
"""
RUNS = {
    "all parts": ["--deployment", "d.toml", "--command", "client", "-N", "160", "--outside",
                  "--delta", "1e-6", "--estimates", "5", "--shuffler", "mixer",
                  "--messages", "16", "--batches", "5"],
    "a pair": ["--command", "client", "--pair", "0,1", "-N", "240", "--claimed", "0.2"],
}  # fmt: skip


class KilledError(BaseException):
    """The machine is turned off: nothing is written any more."""


class Machine:
    """Programs whose answers are functions of what they are given; off after so many calls."""

    def __init__(self, patch, calls):
        self.left, self.on = calls, True
        self.made = 0
        patch.setattr(Lines, "__call__", lambda lines, text, count: self.client(text))
        patch.setattr(Lines, "timed", lambda lines, text, count: self.mixer(text))
        write = checkpoint.Checkpoint.write
        patch.setattr(checkpoint.Checkpoint, "write", lambda kept: self.on and write(kept))
        patch.setitem(checkpoint.Checkpoint.__init__.__kwdefaults__, "every", 0.0)

    def call(self):
        if self.left == 0:
            self.on = False
            raise KilledError
        self.left -= 1
        self.made += 1

    def client(self, text):
        self.call()
        generator = np.random.default_rng(zlib.crc32(text.encode()))
        values = np.array([int(line) for line in text.split()])
        kept = generator.random(len(values)) < 0.7
        return [b"%d" % y for y in np.where(kept, values, 1 - values)]

    def mixer(self, text):
        self.call()
        lines = [line.encode() for line in text.split("\n") if line]
        out = random.Random(text).sample(lines, len(lines)) if len(lines) > 15 else []
        return [(line, len(line) % 3 * 0.5) for line in out]


def run(words, patch, calls=-1):
    machine = Machine(patch, calls)
    done = None
    with contextlib.suppress(KilledError):
        done = CliRunner().invoke(main, ["audit", *words, "--alpha", "1e-3"])
    return machine, done


# All of some twenty calls, or some of them.
EVERY = [("all parts", 9), ("a pair", 3), pytest.param("all parts", 1, marks=pytest.mark.long)]


@pytest.mark.parametrize(("what", "step"), EVERY)
def test_killed_after_any_number_of_calls(what, step, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.toml").write_text(DEPLOYMENT)
    with pytest.MonkeyPatch.context() as patch:
        straight, done = run([*RUNS[what], "--output", "straight.json"], patch)
    assert done.exit_code in {0, 1}
    kept = [*RUNS[what], "--checkpoint", "c.json", "--output", "out.json"]
    expected = json.loads((tmp_path / "straight.json").read_text())
    again = 0
    for calls in range(2, straight.made, step) if step > 1 else range(straight.made):
        with pytest.MonkeyPatch.context() as patch:
            machine, _ = run(kept, patch, calls)
        assert not machine.on
        assert not (tmp_path / "out.json").exists()
        if (tmp_path / "c.json").exists():
            judged = CliRunner().invoke(main, ["audit", "--check", "c.json"])
            assert judged.exit_code in {0, 1}, judged.output
            assert "Not done" in judged.output
        with pytest.MonkeyPatch.context() as patch:
            machine, done = run(kept, patch)
        assert done.exit_code in {0, 1}, done.output
        assert machine.made <= straight.made
        again += straight.made - machine.made
        assert json.loads((tmp_path / "out.json").read_text()) == expected
        assert not (tmp_path / "c.json").exists()
        (tmp_path / "out.json").unlink()
    # Calls that were counted are not made again.
    assert again > 0
