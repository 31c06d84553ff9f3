"""Shuffled SGD: the approximate clone against full enumeration, and an epoch."""

import math
from fractions import Fraction

import numpy as np
import pytest

import shuffledp as sd
from rounds.exact_rounds import atoms, dyadic_rows, hockey, neighbouring_laws
from shuffledp.bounds.clones import stronger_clone_pair
from shuffledp.propose.profile import Profile
from shuffledp.training.shuffled import EpochCurve, log_extra


@pytest.mark.parametrize("seed", range(12))
def test_approximate_clone_holds(seed):
    # Random channels are (eps0, delta0)-LDP for every eps0, delta0 = their worst H_{e^eps0}.
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 4))
    rows = dyadic_rows(rng, 2, 3, unit=32)
    pairs = [atoms(p, q) for p, q in neighbouring_laws(rows, n)]
    for eps0 in (0.3, 1.0, 2.0):
        grow = Fraction(math.exp(eps0))
        delta0 = max(
            sum((max(p - grow * q, Fraction(0)) for p, q in zip(x, y, strict=True)), Fraction(0))
            for x in rows
            for y in rows
        )
        profile = Profile(stronger_clone_pair(eps0=eps0, n=n))
        for eps in (0.0, 0.2, 0.7, 1.5):
            a = Fraction(math.exp(eps))
            exact = max(hockey(pair, a) for pair in pairs)
            high = math.exp(profile.log_delta(eps, width=1e-6).high)
            if delta0 > 0:
                extra = log_extra(eps0, math.log(delta0), n)
                high += math.exp(extra) * (1.0 + math.exp(eps))
            assert Fraction(high * (1 + 1e-12) + 1e-15) >= exact


def test_an_epoch_is_between_one_dataset_and_one_report():
    n, noise = 400, 4.0
    curve = EpochCurve(n=n, distance=2.0 / noise)
    fixed = sd.shuffle(sd.Gaussian(sigma=noise, low=-1.0, high=1.0), n=n)
    alone = sd.central.gaussian(sigma=noise, sensitivity=2.0).groups[0][0]
    for eps in (0.0, 0.2):
        found = curve.log_delta(eps, width=1e-3).high
        assert found >= fixed.delta(epsilon=eps, analysis="dataset").log_lower
        assert found <= alone.log_delta(eps).high
    # Shuffling does help.
    assert curve.log_delta(0.0, width=1e-3).high < alone.log_delta(0.0).high - 0.5
