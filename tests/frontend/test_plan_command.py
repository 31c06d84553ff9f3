"""``shuffledp plan``: files in, a table and a deployment that meets the target out."""

import json
from pathlib import Path

import pytest
import tomli_w
from click.testing import CliRunner

from shuffledp import ParameterError
from shuffledp.cli import main
from shuffledp.deployment import account, load
from shuffledp.deployment.files import tomllib
from shuffledp.deployment.plan import load_plan, parse_plan

ROOT = Path(__file__).resolve().parent.parent.parent
GOOD = {
    "title": "A plan",
    "task": {"kind": "frequencies", "values": 6},
    "population": {"users": 20_000, "minimum_batch": 4_000, "colluding": 0.1},
    "target": {"epsilon": 1.0, "delta": 1e-6},
}


def run(*args):
    return CliRunner().invoke(main, [str(a) for a in args])


def written(tmp_path, **changes):
    path = tmp_path / "p.toml"
    path.write_text(tomli_w.dumps({**GOOD, **changes}))
    return path


TASKS = {
    "frequencies": {"kind": "frequencies", "values": 6},
    "ranges": {"kind": "ranges", "values": 16},
    "heavy hitters": {"kind": "heavy-hitters", "bits": 24},
    "mean": {"kind": "mean", "low": 0.0, "high": 24.0},
}


@pytest.mark.many(1)
@pytest.mark.parametrize(
    ("task", "rounds"),
    [("frequencies", 1), ("ranges", 1)]
    + [
        pytest.param(*of, marks=pytest.mark.long)
        for of in (("heavy hitters", 1), ("frequencies", 4), ("mean", 1), ("mean", 2))
    ],
)
def test_the_deployment_meets_the_target(tmp_path, task, rounds):
    target = {"epsilon": 1.0, "delta": 1e-6, "rounds": rounds}
    # Several rounds take seconds a mechanism: only those of few bits.
    limits = {"bits_per_user": 3 if rounds > 1 and task != "mean" else 10**6}
    path = written(tmp_path, task=TASKS[task], target=target, limits=limits)
    result = run("plan", path, "--out", tmp_path / "o", "--figure", "none")
    assert result.exit_code == 0, result.stderr
    deployment = load(tmp_path / "o" / "p.deployment.toml").deployment
    assert deployment.accounting.rounds == rounds
    assert deployment.population.minimum_batch == 4_000
    assert deployment.target.at_most == 1.0
    for situation in account(deployment).situations[:2]:
        bound = situation.bound if rounds == 1 else situation.composed
        assert bound.upper <= 1.0
    # The smallest batch is what the target is for: nothing to speak of is given away.
    assert bound.upper >= 0.95


@pytest.mark.long
def test_files_and_what_is_printed(tmp_path):
    path = written(tmp_path, limits={"bits_per_user": 16, "eps0": 6.0})
    result = run("plan", path, "--out", tmp_path / "o", "--figure", "svg")
    assert result.exit_code == 0, result.stderr
    assert sorted(p.name for p in (tmp_path / "o").iterdir()) == ["p.deployment.toml", "p.svg"]
    for words in ("A plan", "k-rr", "recommended", "left out", "trusted server", "account"):
        assert words in result.stdout
    assert "\x1b" not in result.stdout


@pytest.mark.long
def test_json_and_nothing_else(tmp_path):
    path = written(tmp_path)
    result = run("plan", path, "--json")
    content = json.loads(result.stdout)
    assert result.stderr == ""
    assert [p.name for p in tmp_path.iterdir()] == ["p.toml"]
    assert content["task"] == {"kind": "frequencies", "values": 6}
    assert content["hidden"] == 3_600
    assert {"label", "mechanism", "standard_error", "epsilon"} <= content["rows"][0].keys()


@pytest.mark.long
def test_nothing_meets_the_target(tmp_path):
    path = written(tmp_path, population={"users": 2}, target={"epsilon": 1e-4, "delta": 1e-12})
    result = run("plan", path, "--out", tmp_path / "o")
    assert result.exit_code == 0
    assert "no mechanism meets the target" in result.stdout
    assert list((tmp_path / "o").iterdir()) == []


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


BAD = [
    ("task.kind", "histogram", "task.kind = 'histogram': wanted one of frequencies"),
    ("task.kind", None, "task.kind is missing"),
    ("task.values", None, "task.values is missing"),
    ("task.values", "50", "task.values = '50'"),
    ("task.values", 1, "task.values = 1"),
    ("task.low", 0.0, "task.low = 0.0"),
    ("task.value", 3, "did you mean values?"),
    ("task", 3, "task = 3: wanted a table"),
    ("population.users", 2.5, "population.users = 2.5"),
    ("population.minimum_batch", 10**6, "population.minimum_batch = 1000000"),
    ("target.epsilon", 0.0, "target.epsilon = 0.0"),
    ("target.epsilon", "1", "target.epsilon = '1'"),
    ("target.epsilon", None, "target.epsilon is missing"),
    ("target.delta", 1.0, "target.delta = 1.0"),
    ("target.rounds", 1.5, "target.rounds = 1.5"),
    ("target.trust", "me", "target.trust = 'me'"),
    ("limits.bits_per_user", 0, "limits.bits_per_user = 0"),
    ("limits.eps0", -1.0, "limits.eps0 = -1.0"),
    ("limits.bits", 3, "limits.bits = 3: wanted no such key"),
    ("title", 3, "title = 3"),
    ("rounds", 3, "rounds = 3: wanted no such key"),
]


@pytest.mark.parametrize(("path", "value", "message"), BAD)
def test_bad_plan_is_one_line_and_status_2(tmp_path, path, value, message):
    with pytest.raises(ParameterError) as error:
        parse_plan(changed(path, value), where="p.toml")
    assert message in str(error.value)
    assert "\n" not in str(error.value)
    file = tmp_path / "p.toml"
    file.write_text(tomli_w.dumps(changed(path, value)))
    result = run("plan", file)
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1


def test_unreadable_files(tmp_path):
    path = tmp_path / "p.toml"
    path.write_bytes(b"title = ")
    assert "not valid TOML" in run("plan", path).stderr
    assert "plan file" in run("plan", tmp_path / "none.toml").stderr
    assert run("plan", path, "--figure", "gif").exit_code == 2


@pytest.mark.parametrize(
    "path", sorted((ROOT / "examples" / "plans").glob("*.toml")), ids=lambda p: p.stem
)
def test_examples_are_valid(path):
    assert load_plan(path).content.hidden >= 1


def test_written_tables_come_back():
    table = {
        "title": 'a "b" \\ c\n\u00e9',
        "x": {"y": [1, 2.5, True], "z": {"w": -1e-9}},
        "list": [{"name": "a", "inner": {"k": 1}}, {"name": "b"}],
        "last": 1e300,
    }
    assert tomllib.loads(tomli_w.dumps(table)) == table
