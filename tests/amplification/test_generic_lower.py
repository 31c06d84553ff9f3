"""The lower end of ``generic``: the better of two members of the family, by name."""

import math
from fractions import Fraction

import pytest
from flint import arb

import shuffledp as sd
from enumerated import ball, exponential, row_fractions, worst_delta
from laws import log_delta

MEMBERS = {"binary-rr": {"name": "binary-rr"}, "3-rr": {"name": "k-rr", "k": 3}}


def in_balls(bound, eps0, n, epsilon):
    """log delta of the pair of datasets that the bound's witness names."""
    witness = bound.witness["lower"]
    return log_delta(
        {**MEMBERS[witness["member"]], "eps0": eps0},
        analysis="dataset",
        n=n,
        epsilon=epsilon,
        x0=witness["x0"],
        x1=witness["x1"],
        x2=witness["x2"],
        swap=witness["swap"],
    )


@pytest.mark.parametrize(
    ("eps0", "n", "member"),
    [(0.3, 10**4, "binary-rr"), (1.5, 10**4, "3-rr"), (4.0, 30, "binary-rr"), (9.0, 10**9, "3-rr")],
)
def test_the_witness_has_that_loss(eps0, n, member):
    found = sd.generic(eps0=eps0, n=n).epsilon(delta=1e-6)
    assert found.witness["lower"]["member"] == member
    _, high = in_balls(found, eps0, n, found.lower)
    assert high >= math.log(1e-6)
    profile = sd.generic(eps0=eps0, n=n).delta(epsilon=0.5 * found.lower)
    low, high = in_balls(profile, eps0, n, 0.5 * found.lower)
    assert low - 1e-3 <= profile.log_lower <= high


@pytest.mark.parametrize("n", [2, 3, 4])
def test_below_the_worst_of_a_member_enumerated(n):
    """No more than the worst pair of datasets of 2-RR and 3-RR, in exact arithmetic."""
    eps0 = 1.5
    high = exponential(eps0)[1]
    for epsilon in (0.2, 0.9, 1.4):
        worst = []
        for k in (2, 3):
            rows = [[high if x == y else Fraction(1) for y in range(k)] for x in range(k)]
            worst.append(worst_delta(row_fractions(rows), n, [exponential(epsilon)[0]])[0])
        found = sd.generic(eps0=eps0, n=n).delta(epsilon=epsilon)
        assert arb(found.log_lower) <= ball(max(worst)).log()
