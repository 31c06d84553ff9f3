"""PCKV-GRR from its published steps: sample a pair, round its value, keep or replace both."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import shuffledp as sd
from enumerated import positive_part
from laws import law_of
from randomizers.checks import (
    assert_bracket,
    assert_law,
    assert_private,
    columns,
    rational_exponential,
)
from randomizers.sources import LEAST_P_VALUE, fits

EPS0 = [1e-3, 1.0, 4.0, 300.0]
SIZES = [(1, 1), (2, 1), (3, 1), (2, 2), (3, 2), (4, 2), (7, 3)]


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


def users(domain, s, *, values=(-1, 1), padding=False):
    sizes = range(s + 1) if padding else [s]
    for size in sizes:
        for keys in itertools.combinations(range(domain), size):
            for v in itertools.product(values, repeat=size):
                yield list(zip(keys, v, strict=True))


@pytest.mark.many(11)
@pytest.mark.parametrize("padding", [False, True])
@pytest.mark.parametrize(("domain", "s"), SIZES)
@pytest.mark.parametrize("eps0", EPS0)
def test_law_is_the_definition(domain, s, eps0, padding):
    grow = rational_exponential(eps0)
    named = [[(k, 1) for k in range(s)], [(k, -1) for k in range(s)]]
    named.append([] if padding else [(k, 1) for k in range(domain - s, domain)])
    # The blanket over everything a user may hold, values inside the interval too.
    more = itertools.islice(users(domain, s, values=(-1, 1, 0), padding=padding), 100)
    rows = [row(u, domain, s, grow, padding=padding) for u in [*named, *more]]
    assert all(sum(r) == 1 for r in rows)
    assert_private(rows, eps0)
    randomizer = sd.PCKVGRR(domain=domain, s=s, eps0=eps0, padding=padding)
    for inputs in [(0, 1), (1, 0), (0, 1, 2), (0, 1, 1), (2, 0)]:
        if eps0 == 1e-3:
            law = law_of(randomizer, inputs)
            truth = sum(b for b, _ in columns(rows, inputs))
            assert law.blanket.sum() == pytest.approx(float(truth), rel=1e-13)
            continue
        assert_law(law_of(randomizer, inputs), columns(rows, inputs))


@pytest.mark.parametrize(("domain", "s", "padding"), [(2, 1, False), (3, 2, False), (2, 2, True)])
def test_opposite_values_are_the_worst_pair(domain, s, padding):
    grow, alpha = Fraction(4), Fraction(3, 2)
    held = [[(k, 1) for k in range(s)], [(k, -1) for k in range(s)]]
    held += list(users(domain, s, values=(-1, 1, Fraction(1, 3)), padding=padding))
    rows = [row(u, domain, s, grow, padding=padding) for u in held]
    found = []
    for x0, x1 in itertools.permutations(range(len(held)), 2):
        gains = {}
        for floor, (p, q) in columns(rows, (x0, x1)):
            gain = (p - alpha * q) / floor
            gains[gain] = gains.get(gain, 0) + floor
        found.append(positive_part([(b, g) for g, b in gains.items()], 2))
    assert max(found) == found[0]


@pytest.mark.parametrize(("domain", "s", "padding"), [(2, 1, False), (3, 2, False), (1, 1, True)])
def test_bracket_by_enumeration(domain, s, padding):
    grow = rational_exponential(1.3)
    rows = [row(u, domain, s, grow, padding=padding) for u in users(domain, s, padding=padding)]
    randomizer = sd.PCKVGRR(domain=domain, s=s, eps0=1.3, padding=padding)
    assert_bracket(randomizer, rows, (1, 2), (0.0, 0.3, 0.9))


def test_formula_of_the_pair():
    """m10 = s/Z and m11 = (2d - 2s)/Z with Z = s e^eps0 + 2d - s."""
    law = law_of(sd.PCKVGRR(domain=50, s=4, eps0=2.0), (0, 1))
    total = 4 * math.e**2 + 100 - 4
    assert sorted(law.blanket) == pytest.approx([4 / total, 4 / total, 92 / total], rel=1e-13)


def test_bracket_is_narrow():
    bound = sd.shuffle(sd.PCKVGRR(domain=50, s=4, eps0=3.0), n=10**5).epsilon(delta=1e-8)
    assert bound.upper <= bound.lower * 1.01


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


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[0, 1]], "values shape"),
        ([[[0, 1.0]]], "values shape"),
        ([[[0, 1.0], [0, -1.0]]], r"keys of values\[0\]"),
        ([[[0, 1.0], [5, 0.0]]], r"values\[0, 1\] = \[5.0, 0.0\]"),
        ([[[0, 1.0], [1, 1.5]]], r"values\[0, 1\]"),
        ([[[0, 1.0], [-1, 0.0]]], r"values\[0, 1\]"),
        ([[[0, 1.0], [1, float("nan")]]], r"values\[0, 1\]"),
        ([[["a", 1.0], [1, 0.0]]], "values = "),
    ],
)
def test_bad_values(values, message):
    with pytest.raises(sd.ParameterError, match=message):
        sd.PCKVGRR(domain=5, s=2, eps0=1.0).randomize(values)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"domain": 2, "s": 3, "eps0": 1.0}, "s = 3"),
        ({"domain": 0, "s": 1, "eps0": 1.0}, "domain = 0"),
        ({"domain": 2, "s": 1, "eps0": 301.0}, "eps0"),
        ({"domain": 2, "s": 1, "eps0": 1.0, "padding": 1}, "padding"),
    ],
)
def test_bad_parameters(arguments, name):
    with pytest.raises(sd.ParameterError, match=name):
        sd.PCKVGRR(**arguments)
