"""Rounds of a deployment: ends of the account beside those of ``compose``."""

import math

import pytest

import shuffledp as sd
from frontend.parts import of_rounds
from shuffledp.certificate import issue, to_dict
from shuffledp.deployment import account, load
from shuffledp.deployment.files import parse

DEPLOYMENT = """
title = "t"
[population]
users = 20_000
colluding = 0.1
[randomizer]
name = "k-rr"
k = 5
eps0 = 2.0
[target]
delta = 1e-5
[accounting]
rounds = 12
rtol = 1e-4
"""


@pytest.fixture(scope="module")
def weekly(tmp_path_factory):
    """The certificate of twelve rounds, as a dictionary."""
    source = tmp_path_factory.mktemp("weekly") / "weekly.toml"
    source.write_text(DEPLOYMENT)
    found = load(source)
    return to_dict(issue(found, account(found.deployment)))


def composed(content, end, scenario=0):
    return next(c for c in of_rounds(content, scenario) if c["end"] == end)


def test_the_ends_are_those_of_compose_moved_outward(weekly):
    best = sd.shuffle(sd.KRR(k=5, eps0=2.0), n=18000, rtol=1e-4)
    best = best.compose(rounds=12).epsilon(delta=1e-5)
    upper, lower = (composed(weekly, end) for end in ("upper", "lower"))
    assert upper["value"] == pytest.approx((1 + 1e-4) * best.upper, rel=1e-9)
    assert lower["value"] == pytest.approx((1 - 1e-4) * best.lower, rel=1e-9)
    assert {c["rounds"] for c in weekly["claims"]} == {1, 12}
    failed = composed(weekly, "upper", scenario=1)
    # 12 eps0, rounded up.
    assert failed["value"] <= math.nextafter(24.0, 25.0)


def test_of_a_mechanism_without_a_published_curve_nothing_is_certified():
    table = {
        "title": "t",
        "population": {"users": 1000},
        "randomizer": {"name": "gaussian", "sigma": 2.0, "low": 0.0, "high": 1.0},
        "target": {"delta": 1e-6},
        "accounting": {"rounds": 4, "trust": "published", "rtol": 1e-3},
    }
    found = account(parse(table, where="f"))
    for name in ("now", "shuffler fails"):
        assert found.named(name, rounds=4).bound.upper == math.inf
        assert found.named(name).bound.upper < math.inf
