"""A profile of many points: chords above the truth, by as little as they promise."""

import itertools
import math

import numpy as np
import pytest

import shuffledp as sd
from enumerated import exponential, row_fractions, worst_delta
from shuffledp.propose.profile import rough_log_expectation

MATRIX = ((0.5, 0.375, 0.125), (0.25, 0.25, 0.5), (0.125, 0.625, 0.25))
# What a profile of many points may be above single answers: chords 1 %, values 0.5 %.
PROMISED = math.log(1.01 * 1.005) + 1e-3


def grid(top, points=40):
    return [float(e) for e in np.linspace(0.0, top, points)]


@pytest.mark.parametrize("n", [2, 5])
def test_ends_enclose_all_data_sets(n):
    channel = sd.Channel(matrix=MATRIX)
    rows = row_fractions(MATRIX)
    # Next to eps0 delta falls to nothing: every point there is a node.
    points = grid(0.5 * channel.eps0)
    found = sd.shuffle(channel, n=n).profile(points)
    assert any(bound.witness["upper"]["analysis"] == "chord" for bound in found)
    for epsilon, bound in zip(points, found, strict=True):
        low, high = exponential(epsilon)
        most, least = worst_delta(rows, n, [low, high])
        assert bound.lower <= most
        assert bound.upper >= least


SHARP = {
    "k-rr": (sd.KRR(k=10, eps0=4.0), 10**4, 0.38),
    "binary-rr": (sd.BinaryRR(eps0=4.0), 10**4, 0.31),
    "rappor": (sd.RAPPOR(d=16, eps0=4.0), 10**4, 0.33),
}


@pytest.mark.parametrize("name", SHARP)
def test_chords_are_as_near_as_they_promise(name):
    mechanism, n, top = SHARP[name]
    points = grid(top, 100)
    found = sd.shuffle(mechanism, n=n).profile(points)
    assert sum(bound.witness["upper"]["analysis"] == "chord" for bound in found) > 50
    for k in (3, 27, 51, 80, 98):
        alone = sd.shuffle(mechanism, n=n).delta(epsilon=points[k])
        assert found[k].log_upper >= alone.log_lower
        assert found[k].log_lower <= alone.log_upper
        # Where its own ends are apart a single answer has free numbers of its own.
        apart = alone.log_upper - alone.log_lower
        assert found[k].log_upper <= alone.log_upper + PROMISED + 0.5 * apart
        assert found[k].log_lower >= alone.log_lower - PROMISED


def test_order_and_repetition_change_nothing():
    points = grid(0.4, 60)
    account = sd.shuffle(sd.KRR(k=3, eps0=2.0), n=1000)
    found = account.profile(points)
    turned = account.profile([*reversed(points), points[7]])
    assert turned == [*reversed(found), found[7]]
    assert found == sd.shuffle(sd.KRR(k=3, eps0=2.0), n=1000).profile(points)


def test_points_beyond_the_local_guarantee_are_nothing():
    account = sd.shuffle(sd.KRR(k=3, eps0=1.0), n=100)
    found = account.profile([*grid(0.5, 20), 1.0, 1.5])
    assert [bound.upper for bound in found[-2:]] == [0.0, 0.0]
    for near, far in itertools.pairwise(found):
        assert far.lower <= near.upper


def test_gains_whose_masses_underflow_have_no_logarithm():
    """Of discrete Gaussian noise of a small sigma an estimate stopped with a domain error."""
    assert rough_log_expectation(np.array([1.0, 0.0]), np.array([-1.0, 2.0]), 5, 0.0) == (
        -math.inf,
        [],
    )
