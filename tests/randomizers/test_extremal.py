"""Extremal mechanisms by their patterns, exactly."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import shuffledp as sd
from enumerated import positive_part
from randomizers.checks import (
    assert_bracket,
    columns,
    rational_exponential,
)
from randomizers.finite import MIXED, PATTERNS, SIDES, TWO, TWO_MORE


def rows_of(pattern, grow):
    """Weights e^eps0 and 1, divided by their sum row by row."""
    weights = [[grow if bit else Fraction(1) for bit in row] for row in pattern]
    return [[w / sum(row) for w in row] for row in weights]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_least_in_common_is_the_worst(pattern):
    rows, alpha = rows_of(pattern, Fraction(5)), Fraction(7, 5)
    found = {}
    for x0, x1 in itertools.permutations(range(len(pattern)), 2):
        gains = {}
        for floor, (p, q) in columns(rows, (x0, x1)):
            gain = (p - alpha * q) / floor
            gains[gain] = gains.get(gain, 0) + floor
        found[x0, x1] = positive_part([(b, g) for g, b in gains.items()], 3)
    ((x0, x1),) = sd.Extremal(pattern=pattern, eps0=math.log(5)).worst_pairs().pairs
    assert found[x0, x1] == max(found.values()) == found[x1, x0]


@pytest.mark.parametrize("pattern", [TWO, TWO_MORE, MIXED, SIDES])
def test_bracket_by_enumeration(pattern):
    rows = rows_of(pattern, rational_exponential(1.2))
    assert_bracket(sd.Extremal(pattern=pattern, eps0=1.2), rows, (1, 2, 3), (0.0, 0.4, 1.0))


def test_two_inputs_are_binary_randomized_response():
    for n in (5, 10_000):
        ours = sd.shuffle(sd.Extremal(pattern=TWO, eps0=2.0), n=n).epsilon(delta=1e-4)
        theirs = sd.shuffle(sd.BinaryRR(eps0=2.0), n=n).epsilon(delta=1e-4)
        # As far as secants go in label stealing.
        assert ours.upper == pytest.approx(theirs.upper, rel=1e-4)
        assert ours.lower == pytest.approx(theirs.lower, rel=1e-6)


@pytest.mark.parametrize("seed", range(30))
def test_every_private_channel_of_two_inputs_comes_from_it(seed):
    """Kairouz, Oh, Viswanath: any eps0-LDP pair of rows is binary RR followed by a channel."""
    rng = np.random.default_rng(seed)
    grow = Fraction(3)
    # Random ratios within [1/3, 3], scaled so that both rows sum to one.
    weights = [Fraction(int(w)) for w in rng.integers(1, 100, 5)]
    ratio = [Fraction(int(r), 60) for r in rng.integers(20, 181, 5)]
    p, q = weights, [w * r for w, r in zip(weights, ratio, strict=True)]
    p = [v / sum(p) for v in p]
    q = [v / sum(q) for v in q]
    if max(max(a / b, b / a) for a, b in zip(p, q, strict=True)) > grow:
        return
    kernel = [
        [(grow * a - b) / (grow - 1) for a, b in zip(p, q, strict=True)],
        [(grow * b - a) / (grow - 1) for a, b in zip(p, q, strict=True)],
    ]
    assert all(v >= 0 for r in kernel for v in r)
    assert all(sum(r) == 1 for r in kernel)
    binary = rows_of(TWO, grow)
    for row, wanted in zip(binary, (p, q), strict=True):
        made = [sum(b * k[y] for b, k in zip(row, kernel, strict=True)) for y in range(5)]
        assert made == wanted


def test_binary_mechanism():
    made = sd.Extremal.binary(inputs=4, subset=[1, 3], eps0=1.0)
    assert made.pattern == ((1, 0), (0, 1), (1, 0), (0, 1))
    with pytest.raises(sd.NotCertified, match="in common"):
        made.variance()
    for bad in ([], [0, 1, 2, 3], [4], [0.5]):
        with pytest.raises(sd.ParameterError, match="subset"):
            sd.Extremal.binary(inputs=4, subset=bad, eps0=1.0)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (5, "pattern = 5"),
        ([[1, 0]], "pattern shape"),
        ([[1], [1]], "ones in each row"),
        ([[1, 0], [1]], "pattern"),
        ([[1, 0], [0.5, 0.5]], "pattern"),
        ([[1, 0], [1, 1]], "ones in each row"),
        ([[0, 0], [0, 0]], "ones in each row"),
        ([[1, 1], [1, 1]], "ones in each row"),
    ],
)
def test_bad_patterns(pattern, message):
    with pytest.raises(sd.ParameterError, match=message):
        sd.Extremal(pattern=pattern, eps0=1.0)


def test_from_a_file_description():
    made = sd.randomizer_from_dict({"name": "extremal", "pattern": [[1, 0], [0, 1]], "eps0": 1.0})
    assert made == sd.Extremal(pattern=TWO, eps0=1.0)
    assert made.to_dict()["pattern"] == TWO
