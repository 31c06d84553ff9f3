"""Deployment files, the account command, what it writes."""

import json
import math
from pathlib import Path

import pytest
from click.testing import CliRunner

from shuffledp import ParameterError
from shuffledp.cli import main
from shuffledp.deployment import account, json_schema, load
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


BAD = [
    ("population.users", "3", "population.users = '3': wanted a whole number"),
    ("population.users", 2.5, "population.users = 2.5: wanted a whole number"),
    ("population.users", True, "population.users = True"),
    ("population.users", 0, "population.users = 0"),
    ("population.users", math.nan, "population.users = nan"),
    ("population.users", None, "population.users is missing"),
    ("population.user", 3, "did you mean users?"),
    ("population.minimum_batch", 1001, "population.minimum_batch = 1001: wanted at most 900"),
    ("population.minimum_batch", 901, "no batch would be released"),
    ("population.dropout", 1.0, "population.dropout = 1.0"),
    ("population.dropout", -0.1, "population.dropout = -0.1"),
    ("population.dropout", "0.1", "population.dropout = '0.1'"),
    ("population.dropout", math.nan, "population.dropout = nan"),
    ("population.dropout", 0.9999, "wanted at least one report that arrives"),
    ("population.participation", 0.5, "participation or dropout, not both"),
    ("population.participation", 0, "population.participation = 0"),
    ("population.colluding", 1.0, "population.colluding = 1.0"),
    ("population.colluding", 0.995, "wanted at least one honest message in a batch of 100"),
    ("population", 3, "population = 3: wanted a table"),
    ("randomizer.eps0", 0, "randomizer.eps0 = 0"),
    ("randomizer.eps0", math.nan, "randomizer.eps0 = nan"),
    ("randomizer.eps0", "4", "randomizer.eps0 = '4'"),
    ("randomizer.k", 10**12, "randomizer.k = 1000000000000"),
    ("randomizer.k", None, "randomizer.k is missing"),
    ("randomizer.q", 1, "k-rr parameter = 'q': wanted one of k, eps0"),
    ("randomizer.name", "krrr", "randomizer.name = 'krrr': wanted a mechanism such as k-rr"),
    ("randomizer.name", None, "randomizer.name is missing"),
    ("randomizer", 7, "randomizer = 7"),
    (
        "randomizer",
        {"name": "channel", "matrix": [[0.5, 0.4], [1, 0]]},
        "sum of matrix row 0 = 0.9",
    ),
    ("randomizer", {"name": "generic"}, "randomizer.eps0 is missing"),
    ("randomizer", {"name": "generic", "eps0": 1.0, "k": 2}, "randomizer.k = 2"),
    ("target.delta", 0, "target.delta = 0"),
    ("target.delta", 1.0, "target.delta = 1.0"),
    ("target.delta", math.nan, "target.delta = nan"),
    ("target.delta", None, "wanted exactly one of delta, epsilon"),
    ("target.epsilon", 1.0, "wanted exactly one of delta, epsilon"),
    ("accounting.rounds", 0, "accounting.rounds = 0: wanted a whole number from 1"),
    ("accounting.rounds", 1.5, "accounting.rounds = 1.5: wanted a whole number"),
    ("accounting.rounds", True, "accounting.rounds = True: wanted a whole number"),
    ("accounting.rounds", 10**12, "accounting.rounds = 1000000000000: wanted a whole number"),
    ("accounting.trust", "some", "accounting.trust = 'some': wanted one of all, published"),
    ("accounting.rtol", 2, "accounting.rtol = 2"),
    ("title", 3, "title = 3: wanted a text"),
    ("extra", 3, "extra = 3: wanted no such key"),
    ("target", None, "target is missing"),
]


@pytest.mark.parametrize(("path", "value", "message"), BAD)
def test_bad_deployment_is_one_line(path, value, message):
    with pytest.raises(ParameterError) as error:
        parse(changed(path, value), where="f.toml")
    assert message in str(error.value)
    assert str(error.value).startswith("f.toml: ")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"title = ", "not valid TOML"), (b"\xff", "UTF-8"), (b"", "title is missing")],
)
def test_unreadable_file(tmp_path, content, message):
    path = tmp_path / "t.toml"
    path.write_bytes(content)
    result = run("account", path)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert message in run("account", tmp_path).stderr  # what a folder stands for


def test_account_writes_certificate_and_figure_and_says_what_to_do_next(toml, tmp_path):
    out = tmp_path / "new" / "out"
    result = run("account", toml, "--output", out, "--plot", tmp_path / "t.png")
    assert result.exit_code == 0, result.stderr
    assert [p.name for p in out.iterdir()] == ["t.certificate.json"]
    assert (tmp_path / "t.png").read_bytes().startswith(b"\x89PNG")
    for words in ("now", "minimum batch", "shuffler fails", "assumptions", "shuffledp verify"):
        assert words in result.stdout
    assert max(map(len, result.stdout.split("wrote")[0].splitlines())) <= 80 + len(str(tmp_path))
    assert "\x1b" not in result.stdout


def test_json_alone_writes_nothing(toml, tmp_path):
    result = run("account", toml, "--json")
    assert json.loads(result.stdout)["format"] == "shuffledp-certificate/3"
    assert result.stderr == ""
    assert [p.name for p in tmp_path.iterdir()] == ["t.toml"]


@pytest.mark.parametrize("made", [True, False])
def test_interrupted_it_leaves_no_directory_of_its_own(toml, tmp_path, monkeypatch, made):
    out = tmp_path / "new" / "out"
    if not made:
        out.mkdir(parents=True)

    def interrupted(*_, **__):
        assert out.is_dir()
        raise KeyboardInterrupt

    monkeypatch.setattr("shuffledp.cli.files._account_for", interrupted)
    result = run("account", toml, "--output", out)
    assert (result.exit_code, result.stderr.strip()) == (130, "shuffledp: interrupted")
    assert out.parent.exists() == (not made)
    assert out.exists() == (not made)


def test_account_replaces_its_own_certificate_and_no_other(toml, tmp_path):
    again = ("account", toml, "--output", tmp_path)
    assert run(*again).exit_code == 0
    toml.write_text(TOML.replace("eps0 = 2.0", "eps0 = 1.0"))
    assert run(*again).exit_code == 0
    kept = tmp_path / "t.certificate.json"
    assert json.loads(kept.read_text())["deployment"]["content"]["randomizer"]["eps0"] == 1.0
    other = tmp_path / "t"
    toml.rename(other)
    before = kept.read_bytes()
    result = run("account", other, "--output", tmp_path)
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "is the certificate of the deployment 't.toml'; wanted another --output" in result.stderr
    assert kept.read_bytes() == before


@pytest.mark.long
def test_several_files_give_a_comparison(toml, tmp_path):
    other = tmp_path / "u.toml"
    other.write_text(TOML.replace("eps0 = 2.0", "eps0 = 1.0"))
    out = tmp_path / "out"
    result = run("account", toml, other, "--output", out, "--plot", out / "both.svg")
    assert "Comparison" in result.stdout
    found = {p.name for p in out.iterdir()}
    assert found == {"both.svg", "t.certificate.json", "u.certificate.json"}
    assert len(json.loads(run("account", toml, other, "--json").stdout)) == 2


def test_all_or_nothing(toml, tmp_path):
    bad = tmp_path / "bad.toml"
    bad.write_text(TOML.replace("users = 1000", "users = 0"))
    out = tmp_path / "out"
    assert run("account", toml, bad, "--output", out).exit_code == 2
    assert not out.exists()
    twin = tmp_path / "sub" / "t.toml"
    twin.parent.mkdir()
    twin.write_text(TOML)
    result = run("account", toml, twin, "--output", out)
    assert "wanted different names" in result.stderr
    assert not out.exists()
    assert run("account", toml, "--output", toml).exit_code == 2


@pytest.mark.long
def test_delta_target(tmp_path):
    path = tmp_path / "d.toml"
    path.write_text(TOML.replace("delta = 1e-6", "epsilon = 0.5"))
    result = run("account", path, "--output", tmp_path, "--plot", tmp_path / "d.pdf")
    assert result.exit_code == 0, result.stderr
    assert "delta <=" in result.stdout
    assert (tmp_path / "d.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.toml")), ids=lambda p: p.stem)
def test_examples_are_valid(path):
    found = load(path, sums=True, widened=True, groups=True)
    assert len(found.sha256) == 64
    assert [n for _, n, _ in situations(found.deployment)][-1] == 1


def test_schema_names_every_table_and_randomizer():
    text = json.dumps(json_schema())
    for word in ("minimum_batch", "k-rr", "channel", "generic", "rounds"):
        assert word in text
    assert json.loads(run("list", "schema").stdout) == json_schema()
