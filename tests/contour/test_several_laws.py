"""E f(S), S a sum over several laws with counts: both payoffs against all combinations in balls."""

import itertools
import math

import numpy as np
import pytest
from flint import arb

from contour.points import exact
from divergence.oracle import ball
from shuffledp.contour import ONE_ROUND, ROUNDS, Effort, expectation
from shuffledp.rounds import LossLaw
from shuffledp.rounds.nodes import LossSum
from shuffledp.rounds.tilt import Tilt, tilted

EFFORT = Effort(attempts=6, nodes=1 << 16, work=1 << 30)


def law_of(rng, atoms, spread):
    gains = np.sort(rng.normal(size=atoms) * spread)
    return LossLaw(gains, rng.dirichlet(np.ones(atoms)) * rng.uniform(0.5, 1.0))


def truth(parts, payoff, epsilon):
    """Every combination of what the single terms are."""
    laws = [law for law, count in parts for _ in range(count)]
    total = arb(0)
    for chosen in itertools.product(*(range(law.loss.size) for law in laws)):
        mass, place = arb(1), -ball(epsilon)
        for law, i in zip(laws, chosen, strict=True):
            mass *= ball(float(law.mass[i]))
            place += ball(float(law.loss[i]))
        total += mass * exact(payoff, place)
    return total


def tilt_at(parts, epsilon, rho):
    logs = [(count, tilted(law, rho).log_n) for law, count in parts]
    return Tilt(
        rho=rho,
        log_scale=math.fsum(count * log for count, log in logs) - rho * epsilon,
        log_size=math.fsum(count * abs(log) for count, log in logs) + abs(rho * epsilon),
    )


@pytest.mark.parametrize("payoff", [ONE_ROUND, ROUNDS], ids=["one round", "rounds"])
@pytest.mark.parametrize("counts", [(1, 2), (3, 2), (2, 1, 2), (4, 1, 1)])
def test_sums_of_two_and_three_laws(payoff, counts):
    rng = np.random.default_rng([*counts, int(payoff.gap)])
    for spread in (0.1, 1.0):
        parts = [(law_of(rng, int(rng.integers(2, 4)), spread), count) for count in counts]
        top = sum(float(law.loss[-1]) * count for law, count in parts)
        for epsilon in (0.0, 0.3 * top, 0.8 * top):
            true = truth(parts, payoff, epsilon)
            if not true > 0:
                continue
            room = top - epsilon + 1e-9 * (1.0 + abs(top))
            # Any crossing is valid; the better ones give near ends.
            for rho, width in ((0.3 / spread, 1e-3), (1.0 / spread, 1e-5), (4.0 / spread, 1e-2)):
                total = LossSum(parts, tilt_at(parts, epsilon, rho), epsilon, room=room)
                found, _ = expectation(total, payoff, width=width, effort=EFFORT)
                assert ball(found.low) <= true.log() <= ball(found.high)
                if rho == 1.0 / spread:
                    assert found.width < 1e-2
