"""Growth of a law of gains and the middle zone, against the worst law there is, in balls."""

import math

import numpy as np
import pytest

from divergence.oracle import ball
from shuffledp.contour import ONE_ROUND
from shuffledp.divergence.gain import GainLaw
from shuffledp.divergence.positive_part import GainSum
from shuffledp.divergence.tilt import Tilt, active_moment, find_tilt, log_moment

U = 2.0**-53


def early(law, n, tilt, h, step, log_guard):
    total = GainSum(law, n, tilt)
    return total.early_stop(ONE_ROUND, smoothing=h, step=step, log_guard=log_guard)


def one_atom(g, w=1.0, **more):
    fields = {
        "w": np.array([w]),
        "g": np.array([g]),
        "g_err": np.zeros(1),
        "rel": 0.0,
        "mean": w * g,
        "mean_err": 0.0,
        "active": np.array([g > 0.0]),
        "low": min(g, 0.0),
        "high": max(g, 0.0),
    }
    return GainLaw(**(fields | more))


@pytest.mark.parametrize("n", [1, 2, 5, 10**6])
@pytest.mark.parametrize("w", [1e-12, 1e-3, 0.3])
def test_growth_with_the_rare_event_taken_out(n, w):
    """M^n - M_-^n, sharp for one message and for rare ones; errors of w and g included."""
    base = GainLaw(
        w=np.array([w, 0.4]),
        g=np.array([1.0, -0.7]),
        g_err=np.array([1e-7, 1e-7]),
        rel=1e-8,
        mean=w - 0.28,
        mean_err=1e-6,
        active=np.array([True, False]),
        low=-0.7,
        high=1.0,
        lost=0.05,
    )
    tilt = find_tilt(base, n, force_rare=True)
    for beta in (0.1, 1.0, 4.0):
        for sign in (-1, 1):
            parts = [ball(x) * (1 + ball(1e-8) * sign) for x in base.w]
            gains = [ball(x) + ball(1e-7) * sign for x in base.g]
            up = parts[0] * (ball(beta) * gains[0]).exp()
            down = 1 - ball(0.05) * (1 - ball(1e-8) * sign) - parts[0]
            down += parts[1] * (ball(beta) * gains[1]).expm1()
            exact = ((up + down) ** n - down**n).log() - ball(tilt.log_scale)
            assert ball(tilt.log_growth(base, n, beta)) >= exact
            assert ball(active_moment(base, beta)) >= up
            if n == 1 or n * w < 1e-6:
                assert tilt.log_growth(base, n, beta) <= float(exact) + 1e-4
            whole = Tilt(tilt.alpha, tilt.log_m, n * tilt.log_m, rare=False, variance=1.0)
            exact = n * (up + down).log() - ball(n * tilt.log_m)
            assert ball(whole.log_growth(base, n, beta)) >= exact


def test_moments_of_cells_count_what_a_cell_may_hide():
    """log M of two atoms in place of a cell, against the cell's mass at its ends."""
    mass, low, high = 0.4, -0.5, 1.5
    for share in (0.1, 0.5, 0.9):
        mean = low + share * (high - low)
        variance = (mean - low) * (high - mean)
        for guess in (0.0, 0.5 * variance, variance):
            doubt, root = variance - guess, math.sqrt(guess)
            reach = max(high - low, 2.0 * root)
            law = GainLaw(
                w=np.full(2, 0.5 * mass),
                g=np.array([mean - root, mean + root]),
                g_err=np.zeros(2),
                rel=0.0,
                mean=mass * mean,
                mean_err=0.0,
                active=np.array([True, True]),
                low=low,
                high=high,
                half_var=np.full(2, 0.25 * mass * doubt),
                third=np.full(2, 0.5 * mass * variance * reach / 3.0),
                reach=np.full(2, reach),
                top=np.full(2, max(high, mean + root)),
            )
            for s in (1e-3, 0.05, 0.3, 1.0, 3.0, 20.0):
                value, slack = log_moment(law, s)
                ends = (1 - share) * (ball(s) * ball(low)).exp() + share * (
                    ball(s) * ball(high)
                ).exp()
                true = 1 + ball(mass) * (ends - 1)
                assert true.log() <= ball(value) + ball(slack)
                active = ball(active_moment(law, s))
                assert active >= ball(mass) * ends


@pytest.mark.parametrize("spread", [1e-3, 1.0, 3e3])
@pytest.mark.parametrize("which", [0, 1])
def test_no_middle_zone_for_a_variance_that_is_not_known(spread, which):
    """Gains off by a thousandth of 1/alpha or of the deviation: V may be off by more than 1%."""
    n = 10**6
    for alpha in (1e-3 / spread, 20.0 / spread):
        variance = 0.25 * spread**2
        allowed = 1e-3 * min(1.0 / alpha, math.sqrt(variance))
        for factor, known in ((0.9, True), (1.2, False), (30.0, False)):
            g_err = np.zeros(2)
            g_err[which] = factor * allowed
            law = GainLaw(
                w=np.array([0.5, 0.5]),
                g=np.array([0.5, -0.5]) * spread,
                g_err=g_err,
                rel=0.0,
                mean=0.0,
                mean_err=0.0,
                active=np.array([True, False]),
                low=-0.5 * spread,
                high=0.5 * spread,
            )
            tilt = Tilt(alpha, 0.0, 0.0, rare=False, variance=variance)
            h = 20.0 * spread
            found = early(law, n, tilt, h, 1e-3 * alpha, 5.0)
            assert (found is not None) is known
    far = one_atom(-1.0, g_err=np.array([1.0]))
    tilt = Tilt(1e3, 0.0, 0.0, rare=False, variance=1.0)
    # An atom that e^{alpha g} leaves nothing of does not count.
    assert early(far, n, tilt, 20.0, 1e-3, 5.0) is not None
