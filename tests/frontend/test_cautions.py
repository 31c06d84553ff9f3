"""Named warnings: when each is said, on which side of its threshold, and how it is switched off."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from shuffledp import theorems
from shuffledp.bound import Bound
from shuffledp.certificate import Release, issue
from shuffledp.cli import main
from shuffledp.deployment import DeploymentFile, account
from shuffledp.deployment.accounting import Account, Answer
from shuffledp.deployment.files import parse
from shuffledp.deployment.setting import settings_of
from shuffledp.neighbours import REPLACEMENT
from shuffledp.review import NAMES, cautions, verdict_of

TABLE = {
    "title": "A test",
    "population": {"users": 300, "minimum_batch": 100},
    "randomizer": {"name": "binary-rr", "eps0": 1.0},
    "target": {"delta": 1e-4},
    "accounting": {"rounds": 1},
}


def changed(**tables):
    table = json.loads(json.dumps(TABLE))
    for key, value in tables.items():
        table[key] = {k: v for k, v in {**table[key], **value}.items() if v is not None}
    return table


def certified(table, *, release=None):
    deployment = parse(table, where="t.toml")
    source = DeploymentFile(Path("t.toml"), "a" * 64, deployment)
    return issue(source, account(deployment), release=release)


def claimed(table, now, failed=(0.5, 0.9), minimum=None):
    """A certificate with these ends, whatever the mechanism would give."""
    deployment = parse(table, where="t.toml")
    quantity = deployment.target.quantity
    ends = {"now": now, "minimum batch": minimum or now, "shuffler fails": failed}
    answers = [
        Answer(one, bound(quantity, *ends[one.situation])) for one in settings_of(deployment)
    ]
    source = DeploymentFile(Path("t.toml"), "a" * 64, deployment)
    return issue(source, Account(deployment, tuple(answers)))


def bound(quantity, low, high):
    return Bound(
        quantity=quantity,
        lower=low,
        upper=high,
        at={},
        relation=REPLACEMENT,
        upper_theorem=theorems.BLANKET,
        lower_theorem=theorems.DATASET,
    )


def names(certificate, **more):
    return [caution.name for caution in cautions(certificate, **more)]


def test_every_warning_has_a_name_and_is_one_line():
    table = changed(
        population={"minimum_batch": None},
        randomizer={"eps0": 8.0},
        target={"delta": 0.06, "at_most": 0.5},
        accounting={"rounds": None},
    )
    release = Release(
        table="e.csv", sha256="0" * 64, users=20, declared_users=300, nulls=0, outside=0
    )
    table["population"]["users"] = 20
    found = cautions(certified(table, release=release), expected=300)
    assert [caution.name for caution in found] == list(NAMES)
    for caution in found:
        assert str(caution) == f"warning[{caution.name}]: {caution.words}"
        assert "\n" not in caution.words


@pytest.mark.parametrize(
    ("eps", "said"),
    # (e^eps + delta)/(1 + e^eps) = 0.95 at eps = log(19) but for delta.
    [(2.94, False), (2.9444, True), (9.0, True), (0.1, False)],
)
def test_a_large_eps_is_one_by_which_a_guess_is_right_19_times_in_20(eps, said):
    assert ("large-eps" in names(claimed(TABLE, (0.0, eps)))) is said
    # The worse of both situations counts.
    assert ("large-eps" in names(claimed(TABLE, (0.0, 0.1), minimum=(0.0, eps)))) is said
    assert ("shuffler-fails" in names(claimed(TABLE, (0.0, 0.1), (0.0, eps)))) is said


@pytest.mark.parametrize(("delta", "said"), [(1 / 300, False), (0.00334, True), (1e-9, False)])
def test_delta_above_one_over_n(delta, said):
    assert ("large-delta" in names(claimed(changed(target={"delta": delta}), (0.0, 0.1)))) is said
    table = changed(target={"delta": None, "epsilon": 1.0})
    assert ("large-delta" in names(claimed(table, (0.0, delta)))) is said


TARGETS = [
    # at most, (lower, upper) now, at the minimum batch, verdict
    (0.5, (0.1, 0.2), (0.3, 0.5), "met"),
    (0.5, (0.1, 0.2), (0.3, 0.5000000000000001), "open"),
    (0.5, (0.1, 0.2), (0.5, 0.6), "open"),
    (0.5, (0.1, 0.2), (0.5000000000000001, 0.6), "missed"),
    (0.5, (0.51, 0.6), (0.1, 0.2), "missed"),
    (0.5, (0.0, float("inf")), (0.1, 0.2), "open"),
]


@pytest.mark.parametrize(("limit", "now", "minimum", "kind"), TARGETS)
def test_a_target_is_met_by_upper_ends_and_missed_by_lower_ones(limit, now, minimum, kind):
    table = changed(target={"at_most": limit})
    certificate = claimed(table, now, minimum=minimum)
    verdict = verdict_of(certificate)
    assert verdict.kind == kind
    assert "wanted at most 0.5" in verdict.words
    assert ("target-missed" in names(certificate)) is (kind != "met")
    # What is left without the shuffler is no part of it.
    assert verdict_of(claimed(table, now, (9.0, 9.0), minimum)).kind == kind


# --------------------------------------------------------------------------- the command line

TOML = """title = "A test"
[population]
users = 300
[randomizer]
name = "binary-rr"
eps0 = 8.0
[target]
delta = 0.01
at_most = 0.5
"""


def run(*args):
    return CliRunner().invoke(main, [str(a) for a in args])


def warned(result):
    assert all(line.startswith("warning[") for line in result.stderr.splitlines()), result.stderr
    return [line[8:].split("]")[0] for line in result.stderr.splitlines()]


def test_warnings_go_to_stderr_and_can_be_switched_off(tmp_path):
    path = tmp_path / "t.toml"
    path.write_text(TOML)
    args = ["account", path, "--json"]
    loud = run(*args)
    assert loud.exit_code == 0
    assert warned(loud) == ["target-missed", "large-eps", "large-delta", "no-minimum-batch"]
    fewer = run(*args, "--no-warn", "large-eps", "--no-warn", "large-delta")
    assert warned(fewer) == ["target-missed", "no-minimum-batch"]
    none = run(*args, "--no-warn", "all")
    assert none.stderr == ""
    assert none.stdout == loud.stdout == fewer.stdout
