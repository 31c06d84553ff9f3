"""``shuffledp calibrate``: any one of the quantities, given the others."""

import json
import math

import pytest
from click.testing import CliRunner

import shuffledp as sd
from shuffledp.cli import main

KRR = ("k-rr", "k=4", "eps0=2")


def run(*args):
    return CliRunner().invoke(main, ["calibrate", *map(str, args)])


def solved(*args):
    result = run(*args, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_eps0_is_the_default():
    found = solved("k-rr", "k=4", "-n", 2000, "--epsilon", 1, "--delta", 1e-6)
    assert found["what"] == "eps0"
    assert found["log_delta"] <= math.log(1e-6) < found["log_delta_beyond"]


def test_users():
    found = solved(*KRR, "--find", "n", "--epsilon", 0.5, "--delta", 1e-6)
    n = found["value"]
    assert found["beyond"] == n - 1
    mechanism = sd.KRR(k=4, eps0=2.0)
    assert sd.shuffle(mechanism, n=n).delta(epsilon=0.5).upper <= 1e-6
    assert sd.shuffle(mechanism, n=n - 1).delta(epsilon=0.5).upper > 1e-6


def test_rounds():
    found = solved(*KRR, "--find", "rounds", "-n", 2000, "--epsilon", 1, "--delta", 1e-6)
    assert found["beyond"] == found["value"] + 1
    assert found["value"] >= 2


@pytest.mark.parametrize("rounds", [1, 3])
@pytest.mark.parametrize(("key", "other"), [("delta", "epsilon"), ("epsilon", "delta")])
def test_eps_and_delta_are_bounds(rounds, key, other):
    value = {"epsilon": 0.5, "delta": 1e-5}[other]
    args = (*KRR, "--find", key, "-n", 2000, f"--{other}", value, "--rounds", rounds)
    found = solved(*args)
    assert found["quantity"] == key
    assert 0.0 < found["lower"] <= found["upper"]
    assert "<=" in run(*args).stdout


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((*KRR, "--epsilon", 1, "--delta", 1e-6), "n is missing: wanted to solve for eps0"),
        ((*KRR, "--find", "n", "--delta", 1e-6), "epsilon is missing"),
        ((*KRR, "--find", "n", "-n", 5, "--epsilon", 1, "--delta", 1e-6), "n = 5: wanted no value"),
        ((*KRR, "--find", "m", "-n", 5, "--epsilon", 1, "--delta", 1e-6), "find = 'm'"),
        (
            (*KRR, "--find", "rounds", "-n", 5, "--epsilon", 1e-3, "--delta", 1e-9),
            "does not meet eps = 0.001",
        ),
        (
            ("k-rr", "k=4", "-n", 5, "--epsilon", 1e-6, "--delta", 1e-9),
            "it would with n =",
        ),
    ],
)
def test_refused_in_one_line(args, message):
    result = run(*args)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
