"""What ``calibrate`` prints, written into a file with its target, is shown to meet it."""

import json

import pytest
from click.testing import CliRunner

from shuffledp.cli import main
from shuffledp.deployment import account, parse


@pytest.mark.parametrize(
    ("name", "own", "n", "rounds", "delta"),
    [
        ("k-rr", {"k": 12}, 336_600, 30, 1e-8),
        ("k-rr", {"k": 12}, 336_600, 1, 1e-8),
        ("rappor", {"d": 10}, 20_000, 1, 1e-6),
        ("binary-rr", {}, 5_000, 1, 1e-6),
    ],
)
def test_a_file_with_the_calibrated_value_meets_its_target(name, own, n, rounds, delta):
    typed = [word for key, value in own.items() for word in (f"--{key}", str(value))]
    target = ["-n", str(n), "--epsilon", "1", "--delta", str(delta), "--rounds", str(rounds)]
    result = CliRunner().invoke(main, ["calibrate", name, *typed, *target, "--json"])
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    deployment = parse(
        {
            "title": "calibrated",
            "population": {"users": n},
            "randomizer": {"name": name, **own, "eps0": found["value"]},
            "target": {"delta": delta, "at_most": 1},
            "accounting": {"rounds": rounds},
        },
        where="test",
    )
    bound = account(deployment).named("now", rounds=rounds).bound
    assert 0.998 < bound.upper <= 1.0
    assert found["beyond"] > found["value"]
