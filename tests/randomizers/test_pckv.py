"""PCKV-GRR from its published steps: sample a pair, round its value, keep or replace both."""

import math
from fractions import Fraction

import numpy as np
import pytest

import shuffledp as sd
from randomizers.sources import LEAST_P_VALUE, fits


def row(pairs, domain, s, grow, *, padding=False):
    """Output law of one user: a, p, b of the paper; symbols (key, sign) in order."""
    keys = domain + s if padding else domain
    scale = s * (grow - 1)
    a = (scale + 2) / (scale + 2 * keys)
    p = (scale + 1) / (scale + 2)
    b = (1 - a) / (keys - 1) if keys > 1 else Fraction(0)
    full = [*pairs, *((domain + i, Fraction(0)) for i in range(len(pairs), s))]
    law = [Fraction(0)] * (2 * keys)
    for key, value in full:
        for sign in (-1, 1):
            chance = (1 + sign * Fraction(value)) / 2 / s
            for k in range(keys):
                for v in (-1, 1):
                    q = (a * (p if v == sign else 1 - p)) if k == key else b / 2
                    law[2 * k + (v > 0)] += chance * q
    return law


@pytest.mark.parametrize("padding", [False, True])
def test_sampler(padding):
    randomizer = sd.PCKVGRR(domain=4, s=3, eps0=2.0, padding=padding)
    pairs = [(2, 0.5), (0, -1.0)] if padding else [(2, 0.5), (0, -1.0), (3, 0.0)]
    filled = [*pairs, (-1, 0.3)] if padding else pairs
    reports = randomizer.simulate(np.tile(np.array(filled), (100_000, 1, 1)), seed=2)
    exact = row([(k, Fraction(v)) for k, v in pairs], 4, 3, Fraction(math.e**2), padding=padding)
    seen = np.bincount(reports, minlength=len(exact))
    assert fits(seen, [float(p) for p in exact]) > LEAST_P_VALUE
    assert fits(seen, [float(p) for p in exact[::-1]]) < LEAST_P_VALUE


@pytest.mark.parametrize("padding", [False, True])
@pytest.mark.parametrize("grow", [Fraction(11, 10), Fraction(7), Fraction(10**6)])
def test_unbiased_and_variance(grow, padding):
    """Over all outputs, in rational arithmetic, values inside the interval too."""
    domain, s = 4, 2
    randomizer = sd.PCKVGRR(domain=domain, s=s, eps0=math.log(float(grow)), padding=padding)
    total = s * (grow - 1) + randomizer.symbols
    for held in ([(0, Fraction(1, 2)), (3, Fraction(-1))], [(1, Fraction(0)), (2, Fraction(1))]):
        law = row(held, domain, s, grow, padding=padding)
        values = dict(held)
        for key in range(domain):
            up, down = law[2 * key + 1], law[2 * key]
            assert (up + down - 2 / total) * total / (grow - 1) == (key in values)
            spread = (up + down) * (1 - up - down) * (total / (grow - 1)) ** 2
            found = randomizer.variance(float(key in values))
            assert found == pytest.approx(float(spread), rel=1e-10)
            mean = (up - down) * total / (grow - 1)
            assert mean == values.get(key, 0)
            spread = (up + down) * (total / (grow - 1)) ** 2 - mean**2
            found = randomizer.value_variance(frequency=float(key in values), value=float(mean))
            assert found == pytest.approx(float(spread), rel=1e-10)


def test_estimates():
    randomizer = sd.PCKVGRR(domain=5, s=2, eps0=3.0)
    rng = np.random.default_rng(0)
    keys = np.array([[0, 1], [1, 2], [3, 1]])[rng.integers(0, 3, 90_000)]
    values = np.stack([keys, np.where(keys == 1, 0.5, -0.25)], axis=2)
    reports = randomizer.simulate(values, seed=3)
    found, sums = randomizer.estimate(reports), randomizer.estimate_values(reports)
    shares = np.array([(keys == k).any(axis=1).mean() for k in range(5)])
    assert (np.abs(found.frequencies - shares) < 5 * found.standard_errors).all()
    wanted = shares * np.array([-0.25, 0.5, -0.25, -0.25, 0.0])
    assert (np.abs(sums.mean - wanted) < 5 * sums.standard_error).all()
    n = len(keys)
    first = math.sqrt(randomizer.value_variance(frequency=float(found.frequencies[0])) / n)
    assert sums.standard_error[0] == pytest.approx(first, rel=1e-12)
    some = randomizer.estimate(randomizer.aggregate(reports, items=[4, 0]))
    assert np.array_equal(some.frequencies, found.frequencies[[4, 0]])
