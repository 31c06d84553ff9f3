"""Deployment files of crowds: `account` says what each group gets; nothing else takes them."""

import json

import pytest
from click.testing import CliRunner

import shuffledp as sd
from shuffledp.cli import main
from shuffledp.deployment import account_crowd, load, load_crowd
from shuffledp.errors import ParameterError

TEXT = """title = "two versions"
[[group]]
users = 60
randomizer = { name = "binary-rr", eps0 = 1.0 }
[[group]]
users = 40
randomizer = { name = "duchi", eps0 = 3.0 }
[target]
delta = 1e-3
"""


def written(folder, text=TEXT):
    path = folder / "crowd.toml"
    path.write_text(text)
    return path


def run(*words):
    return CliRunner().invoke(main, [str(word) for word in words])


def test_account_says_what_each_group_gets_and_writes_nothing(tmp_path, monkeypatch):
    path = written(tmp_path)
    found = account_crowd(load_crowd(path).deployment)
    groups = [(sd.BinaryRR(eps0=1.0), 60), (sd.Duchi(eps0=3.0), 40)]
    for k, bound in enumerate(found.bounds):
        assert bound == sd.crowd(groups, victim=k).epsilon(delta=1e-3)
    monkeypatch.chdir(tmp_path)
    done = run("account", path)
    assert done.exit_code == 0, done.output
    for words in ("two versions", "group 1: duchi", "60", "who is in which group",
                  "no certificate", "published estimate", "upper by"):  # fmt: skip
        assert words in done.output
    assert list(tmp_path.iterdir()) == [path]
    said = json.loads(run("account", path, "--json").stdout)
    assert said["certificate"] is None
    assert "verify does not recompute" in said["why"]
    assert [group["bound"]["upper"] for group in said["groups"]] == [
        bound.upper for bound in found.bounds
    ]
    assert said["groups"][0]["published_approximation"]["certified"] is False


def test_what_is_asked_may_be_delta(tmp_path):
    path = written(tmp_path, TEXT.replace("delta = 1e-3", "epsilon = 0.5"))
    found = account_crowd(load_crowd(path).deployment)
    assert found.estimates == (None, None)
    assert all(0.0 < bound.lower <= bound.upper < 1.0 for bound in found.bounds)


def test_other_commands_refuse_a_crowd_in_one_line(tmp_path):
    path = written(tmp_path)
    with pytest.raises(ParameterError, match="account"):
        load(path)
    for words in (["run", path], ["verify", path], ["account", path, "--out", tmp_path / "x"]):
        done = run(*words)
        assert done.exit_code == 2, words
        assert "Traceback" not in done.output
    assert not (tmp_path / "x").exists()
    printed = tmp_path / "printed.json"
    printed.write_text(run("account", path, "--json").stdout)
    assert run("verify", printed).exit_code == 2


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("users = 60", "users = 0", "users"),
        ("users = 60", "people = 60", "people"),
        ("[[group]]\nusers = 60", "[[group]]\ncolluding = 0.1\nusers = 60", "colluding"),
        ('"binary-rr"', '"pure-dump"', "pure-dump"),
        ('"binary-rr", eps0', '"generic", eps0', "generic"),
        ("eps0 = 1.0", "eps0 = -1.0", "eps0"),
        ("delta = 1e-3", "delta = 1e-3\n[accounting]\nrounds = 2", "rounds"),
        ("delta = 1e-3", "delta = 1e-3\n[population]\nusers = 5", "population"),
        ("delta = 1e-3", "delta = 2", "delta"),
    ],
)
def test_bad_files_are_refused_with_the_key(tmp_path, old, new, words):
    assert old in TEXT
    path = written(tmp_path, TEXT.replace(old, new, 1))
    done = run("account", path)
    assert done.exit_code == 2
    assert words in done.output
    assert "Traceback" not in done.output
