"""Programs without a declared law: bounds by sample splitting."""

import math

import numpy as np
import pytest

import shuffledp as sd
from audit import programs
from shuffledp.audit import limits, unknown


@pytest.mark.parametrize(
    ("mechanism", "pair", "least"),
    [
        (sd.KRR(k=10, eps0=1.0), (0, 1), 0.8),
        (sd.RAPPOR(d=6, eps0=2.0), (0, 1), 1.5),
        (sd.Laplace(eps0=1.0), (0.0, 1.0), 0.7),
        (sd.DiscreteLaplace(top=3, eps0=1.5), (0, 3), 1.3),
    ],
)
def test_bounds_are_below_what_runs_and_near_it(mechanism, pair, least):
    found = unknown(programs.honest(mechanism), pair, reports=60_000, alpha=1e-3)
    assert least < found.epsilon <= mechanism.eps0


def test_delta_at_given_eps():
    mechanism = sd.Gaussian(sigma=1.0)
    found = unknown(
        programs.honest(mechanism), (0.0, 1.0), reports=60_000, epsilons=(0.5, 1.0), alpha=1e-3
    )
    for epsilon, delta in found.delta:
        at = epsilon - 0.5
        tail = [0.5 * math.erfc(x / math.sqrt(2)) for x in (at, at + 1.0)]
        exact = tail[0] - math.exp(epsilon) * tail[1]
        assert 0.7 * exact < delta <= exact


def test_programs_that_send_the_value():
    found = unknown(np.array, (0, 1), reports=2_000)
    assert found.epsilon > 5.0
    rows = unknown(lambda v: np.column_stack([v, v]), (3, 4), reports=2_000)
    assert rows.epsilon > 5.0
    nothing = unknown(lambda v: np.zeros(len(v)), (3, 4), reports=2_000)
    assert nothing.epsilon == 0.0


def test_bounds_are_wrong_no_more_often_than_the_level():
    """The event is chosen on other reports: many outputs to choose from do not help."""
    wrong = 0
    generator = np.random.default_rng(0)
    for _ in range(15):
        found = unknown(
            lambda v: generator.integers(0, 200, len(v)), (0, 1), reports=400, alpha=0.5
        )
        wrong += found.epsilon > 0.0
    assert limits.upper_tail(wrong, 15, 0.5) > 1e-3
