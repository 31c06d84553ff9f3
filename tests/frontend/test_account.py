"""Deployment files, the account command, what it writes."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from shuffledp.cli import main
from shuffledp.deployment import account, load
from shuffledp.deployment.files import parse
from shuffledp.deployment.setting import situations

ROOT = Path(__file__).resolve().parent.parent.parent
GOOD = {
    "title": "A test",
    "population": {"users": 1000, "minimum_batch": 100, "dropout": 0.1, "colluding": 0.1},
    "randomizer": {"name": "k-rr", "k": 5, "eps0": 2.0},
    "target": {"delta": 1e-6},
}
TOML = """
title = "A test"
[population]
users = 1000
minimum_batch = 100
dropout = 0.1
[randomizer]
name = "k-rr"
k = 5
eps0 = 2.0
[target]
delta = 1e-6
"""


def changed(path, value):
    table = json.loads(json.dumps(GOOD))
    *way, last = path.split(".")
    inner = table
    for key in way:
        inner = inner.setdefault(key, {})
    if value is None:
        del inner[last]
    else:
        inner[last] = value
    return table


def run(*args):
    return CliRunner().invoke(main, [str(a) for a in args])


@pytest.fixture
def toml(tmp_path):
    path = tmp_path / "t.toml"
    path.write_text(TOML)
    return path


def test_n_is_rounded_against_the_deployment():
    p = parse(changed("population.dropout", 0.3333), where="f").population
    assert p.arriving == 666  # ceil(333.3) are gone
    assert p.honest(101) == 90  # ceil(10.1) collude
    q = parse(
        {**GOOD, "population": {"users": 1000, "participation": 0.6667}}, where="f"
    ).population
    assert q.arriving == 666
    assert q.honest(q.arriving) == 666


def test_a_decimal_fraction_is_the_number_that_was_written():
    # The float 0.1 is a little more than 1/10: taken for itself it would make 101 colluders.
    p = parse(changed("population.dropout", None), where="f").population
    assert p.honest(1000) == 900


def test_situations_say_where_n_comes_from():
    found = situations(parse(GOOD, where="f"))
    assert [(name, n) for name, n, _ in found] == [
        ("now", 810),
        ("minimum batch", 90),
        ("shuffler fails", 1),
    ]
    assert found[0][2] == "1,000 users - 100 dropped out - 90 colluding = 810"


def test_users_who_dropped_out_are_in_no_shard():
    table = {**GOOD, "shuffler": {"shards": 4, "dummies": 10}}
    found = situations(parse(table, where="f"))
    assert found[0][1:] == (
        212,
        "(1,000 users - 100 dropped out) / 4 shards - 23 colluding + 10 dummies = 212",
    )
    assert found[1][2].startswith("100 messages / 4 shards")


def test_published_bound_is_given_where_it_differs():
    table = {**GOOD, "randomizer": {"name": "generic", "eps0": 2.0, "adaptive": True}}
    for s in account(parse(table, where="f")).answers[:2]:
        assert s.published is not None
        assert s.published.upper > s.bound.upper
        assert any("history" in words for words in s.bound.assumptions)
    only = account(parse({**table, "accounting": {"trust": "published"}}, where="f"))
    assert only.answers[0].published is None
    assert only.answers[0].bound.upper_theorem.provenance == "published"


def test_account_replaces_its_own_certificate(toml, tmp_path):
    again = ("account", toml, "--output", tmp_path)
    assert run(*again).exit_code == 0
    toml.write_text(TOML.replace("eps0 = 2.0", "eps0 = 1.0"))
    assert run(*again).exit_code == 0
    kept = tmp_path / "t.certificate.json"
    assert json.loads(kept.read_text())["deployment"]["content"]["randomizer"]["eps0"] == 1.0


def test_all_or_nothing(toml, tmp_path):
    bad = tmp_path / "bad.toml"
    bad.write_text(TOML.replace("users = 1000", "users = 0"))
    out = tmp_path / "out"
    assert run("account", bad, "--output", out).exit_code == 2
    assert not out.exists()
    assert run("account", toml, "--output", toml).exit_code == 2


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.toml")), ids=lambda p: p.stem)
def test_examples_are_valid(path):
    found = load(path, sums=True, widened=True, groups=True)
    assert len(found.sha256) == 64
    assert [n for _, n, _ in situations(found.deployment)][-1] == 1
