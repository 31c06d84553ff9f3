"""`account` and `verify` of folders, patterns and standard input."""

import json
import re

import pytest
from click.testing import CliRunner

from frontend.parts import of_round
from shuffledp.certificate import checksum
from shuffledp.cli import files, main

DEPLOYMENT = """
title = "Letters {k}"
[population]
users = 3000
[randomizer]
name = "k-rr"
k = {k}
eps0 = 1.0
[target]
delta = 1e-6
"""


def shuffledp(*words, given=None):
    return CliRunner().invoke(main, [str(word) for word in words], input=given)


@pytest.fixture
def folder(tmp_path):
    inside = tmp_path / "in"
    (inside / "deeper").mkdir(parents=True)
    for name, k in (("b", 3), ("a", 4)):
        (inside / f"{name}.toml").write_text(DEPLOYMENT.format(k=k))
    (inside / "notes.txt").write_text("not a deployment")
    (inside / ".hidden.toml").write_text("not one either")
    (inside / "deeper" / "c.toml").write_text("nor this")
    return inside


def test_a_folder_a_pattern_and_names_are_the_same(folder, tmp_path):
    every = [[folder], [f"{folder}/*.toml"], [folder / "a.toml", folder / "b.toml"]]
    every.append([f"{folder}/a*", folder])  # what a folder or a pattern adds is taken once
    found = []
    for i, words in enumerate(every):
        out = tmp_path / f"out{i}"
        done = shuffledp("account", *words, "--output", out)
        assert done.exit_code == 0, done.output
        found.append({path.name: path.read_bytes() for path in out.iterdir()})
    assert sorted(found[0]) == ["a.certificate.json", "b.certificate.json"]
    assert all(one == found[0] for one in found)


def test_standard_input_is_a_file(folder, tmp_path):
    text = (folder / "a.toml").read_text()
    for words, given in (([folder / "a.toml"], None), (["-"], text)):
        more = ["--output", tmp_path, "--report", tmp_path / f"{given is None}.md"]
        done = shuffledp("account", *words, *more, given=given)
        assert done.exit_code == 0, done.output
    named, piped = (
        json.loads((tmp_path / f"{stem}.certificate.json").read_text()) for stem in ("a", "stdin")
    )
    assert piped["deployment"].pop("file") == "stdin.toml"
    assert named["deployment"].pop("file") == "a.toml"
    for one in (named, piped):
        one.pop("checksum")
    assert piped == named
    given = (tmp_path / "stdin.certificate.json").read_text()
    done = shuffledp("verify", "-", "--deployment", folder / "a.toml", given=given)
    assert done.exit_code == 0, done.output
    assert re.fullmatch(r"-: VERIFIED: all \d+ claims hold\n", done.stdout)
    assert "shuffledp-" not in done.output


def test_several_certificates_are_verified_and_the_worst_decides(folder, tmp_path):
    out = tmp_path / "out"
    assert shuffledp("account", folder, "--output", out).exit_code == 0
    done = shuffledp("verify", out)
    assert done.exit_code == 0, done.output
    assert [line.split(": ")[:2] for line in done.stdout.splitlines()] == [
        [str(out / f"{stem}.certificate.json"), "VERIFIED"] for stem in ("a", "b")
    ]
    forged = json.loads((out / "b.certificate.json").read_text())
    of_round(forged, 0)[0]["value"] *= 0.99
    forged["checksum"] = checksum(forged)
    (out / "b.certificate.json").write_text(json.dumps(forged))
    done = shuffledp("verify", f"{out}/*.json", "--json")
    assert done.exit_code == files.FAILS
    found = json.loads(done.stdout)
    assert [one["file"] for one in found] == [str(out / f"{s}.certificate.json") for s in "ab"]
    assert [{"does not hold"} <= {c["verdict"] for c in one["checks"]} for one in found] == [
        False,
        True,
    ]


def test_standard_input_has_a_limit(monkeypatch):
    from shuffledp.cli import given

    monkeypatch.setattr(given, "_MOST_BYTES", 3)
    done = shuffledp("account", "-", given="four")
    assert done.exit_code == 2
    assert "over" in done.stderr
