"""Joint: law, pairs, worst pairs and bounds against full output distributions."""

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shuffledp as sd
from enumerated import (
    exponential,
)
from laws import law_of
from randomizers import composed_cases as cases
from randomizers.sources import LEAST_P_VALUE, fits
from strategies import channels

EXACT = settings(max_examples=25)
EPSILONS = st.sampled_from([0.0, 0.05, 0.4, 1.3])


def exact_channel(channel):
    """The rows as the floats of the law mean them."""
    return cases.rows_of(channel)


@EXACT
@given(channels(largest=3), channels(largest=3), channels(zeros=False, largest=2), st.data())
def test_law_is_the_product(first, second, third, data):
    parts = [first, second, third]
    joint = sd.Joint(parts)
    rows = cases.joint_rows([exact_channel(part) for part in parts])
    inputs = tuple(data.draw(st.sampled_from(list(rows))) for _ in range(3))
    law = law_of(joint, inputs)
    floors = [min(column) for column in zip(*rows.values(), strict=True)]
    classes = {}
    for *column, floor in zip(*(rows[x] for x in inputs), floors, strict=True):
        scale = max(column)
        if scale:
            key = tuple(v / scale for v in (*column, floor))
            classes[key] = [
                s + v for s, v in zip(classes.get(key, [0] * 4), (*column, floor), strict=True)
            ]
    found = {key: [Fraction(0)] * 4 for key in classes}
    for column in np.vstack([law.mass, law.blanket]).T:
        scale = max(column)
        shape = column / scale
        key = min(classes, key=lambda k, shape=shape: np.abs(np.array(k, float) - shape).sum())
        found[key] = [s + Fraction(v) for s, v in zip(found[key], column, strict=True)]
    for key, values in classes.items():
        for value, exact in zip(found[key], values, strict=True):
            assert abs(value - exact) <= Fraction(law.rel) * exact


@settings(max_examples=12)
@given(channels(zeros=False, largest=2), channels(largest=2), st.integers(1, 2), EPSILONS)
def test_bounds_hold_against_all_datasets(first, second, n, epsilon):
    joint = sd.Joint([first, second])
    rows = cases.joint_rows([exact_channel(first), exact_channel(second)])
    low, high = exponential(epsilon)
    bound = sd.shuffle(joint, n=n, rtol=1e-3).delta(epsilon=epsilon)
    assert Fraction(bound.upper) >= cases.worst_delta(rows, n, low)
    assert Fraction(bound.lower) <= cases.worst_delta(rows, n, high)


@settings(max_examples=12)
@given(st.lists(channels(zeros=False, largest=2), min_size=3, max_size=3), st.integers(1, 2))
def test_bounds_hold_within_a_hamming_distance(parts, most):
    epsilon, n = 0.3, 2
    joint = sd.Joint(parts, hamming=most)
    rows = cases.joint_rows([exact_channel(part) for part in parts])
    low, high = exponential(epsilon)
    bound = sd.shuffle(joint, n=n, rtol=1e-3).delta(epsilon=epsilon)
    assert Fraction(bound.upper) >= cases.worst_delta(rows, n, low, most)
    assert Fraction(bound.lower) <= cases.worst_delta(rows, n, high, most)


def response(k, grow):
    """k-RR with a rational e^eps0, as rows."""
    total = grow + k - 1
    return [[Fraction(grow if x == y else 1) / total for y in range(k)] for x in range(k)]


def unary(d, grow):
    """RAPPOR with a rational e^(eps0/2), as rows."""
    keep = Fraction(grow) / (grow + 1)
    rows = []
    for x in range(d):
        row = []
        for bits in itertools.product((0, 1), repeat=d):
            p = Fraction(1)
            for i, bit in enumerate(bits):
                p *= keep if bit == (i == x) else 1 - keep
            row.append(p)
        rows.append(row)
    return rows


@pytest.mark.parametrize(
    "parts",
    [
        [response(3, 4), response(2, 3)],
        [unary(2, 2), response(3, 5)],
        [response(2, 2), response(2, 3), response(2, 5)],
    ],
    ids=["krr-krr", "rappor-krr", "three-bits"],
)
@pytest.mark.parametrize(("n", "alpha"), [(1, 2), (2, Fraction(3, 2)), (3, Fraction(9, 8))])
def test_all_attributes_differing_is_worst(parts, n, alpha):
    """The theorem of the declared pairs, over every ordered pair of records at every distance."""
    rows = cases.joint_rows(parts)
    alpha = Fraction(alpha)
    size = len(parts)
    by_distance = {}
    for x0, x1 in itertools.permutations(rows, 2):
        value = cases.blanket_delta(rows, x0, x1, n, alpha)
        subset = tuple(a != b for a, b in zip(x0, x1, strict=True))
        by_distance.setdefault(subset, set()).add(value)
    # By symmetry the bound depends on the set of attributes that differ alone, and grows with it.
    for subset, values in by_distance.items():
        assert len(values) == 1, subset
        for other, larger in by_distance.items():
            if all(b or not a for a, b in zip(subset, other, strict=True)):
                assert min(values) <= min(larger)
    assert (True,) * size in by_distance


def extremal(pattern, grow):
    """Rows that favour some outputs by a rational e^eps0."""
    rows = [[Fraction(grow if hit else 1) for hit in row] for row in pattern]
    return [[p / sum(row) for p in row] for row in rows]


@pytest.mark.parametrize(
    ("pattern", "grow"),
    [([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]], 3), ([[1, 1, 0], [1, 0, 1], [0, 1, 1]], 4)],
)
def test_extremal_parts_differ_where_they_share_least(pattern, grow):
    part = sd.Extremal(pattern=pattern, eps0=math.log(grow))
    joint = sd.Joint([part, sd.KRR(k=2, eps0=math.log(3))])
    ((x0, x1),) = joint.worst_pairs().pairs
    rows = cases.joint_rows([extremal(pattern, grow), response(2, 3)])
    for n, alpha in ((1, Fraction(2)), (2, Fraction(5, 4))):
        top = cases.blanket_delta(rows, x0, x1, n, alpha)
        for pair in itertools.permutations(rows, 2):
            assert cases.blanket_delta(rows, *pair, n, alpha) <= top


@pytest.mark.many(3)
@pytest.mark.parametrize(
    "part",
    [
        sd.Duchi(eps0=1.0),
        sd.Wheel(domain=8, s=2, eps0=1.0),
        sd.SamplingRAPPOR(d=6, s=2, eps0=1.0),
        sd.PrivUnit(d=3, eps0=1.0, c=0.3),
        sd.HadamardResponse(domain=8, eps0=1.0, blocks=2),
        sd.Piecewise(eps0=1.0),
    ],
    ids=lambda part: part.name,
)
def test_parts_of_every_kind(part):
    coin = sd.KRR(k=4, eps0=1.0)
    alone = sd.shuffle(part, n=1000, rtol=1e-3).epsilon(delta=1e-6)
    for made in (sd.Joint([part, coin]), sd.Parallel([part, coin], weights=[0.5, 0.5])):
        bound = sd.shuffle(made, n=1000, rtol=1e-3).epsilon(delta=1e-6)
        settled = part.name in {"duchi", "piecewise"}
        assert bound.upper_theorem.key == ("label-stealing" if settled else "blanket")
        if made.name == "joint":
            assert alone.lower <= bound.upper  # publishing one part is a post-processing


@pytest.mark.parametrize("most", [1, 2, 3])
def test_declared_pairs_dominate_channels(most):
    """No symmetry: equal values are searched too."""
    rng = np.random.default_rng(most)
    parts = []
    for _ in range(3):
        matrix = rng.integers(1, 30, (2, 2))
        matrix[:, 1] = 64 - matrix[:, 0]
        parts.append(sd.Channel(matrix=(matrix / 64).tolist()))
    joint = sd.Joint(parts, hamming=most)
    rows = cases.joint_rows([exact_channel(part) for part in parts])
    declared = joint.worst_pairs().pairs
    for x0, x1 in declared:
        assert 0 < cases.distance(x0, x1) <= most
    for n, alpha in ((1, Fraction(1)), (2, Fraction(9, 8))):
        top = max(cases.blanket_delta(rows, *pair, n, alpha) for pair in declared)
        for x0, x1 in itertools.permutations(rows, 2):
            if cases.distance(x0, x1) <= most:
                assert cases.blanket_delta(rows, x0, x1, n, alpha) <= top


def test_hamming_picks_the_worst_attributes():
    weak, strong = sd.KRR(k=3, eps0=0.5), sd.KRR(k=3, eps0=2.0)
    joint = sd.Joint([weak, strong, weak], hamming=1)
    assert len(joint.worst_pairs().pairs) == 2  # the weak attributes are alike
    limited = sd.shuffle(joint, n=2000, rtol=1e-4)
    every = sd.shuffle(sd.Joint([weak, strong, weak]), n=2000, rtol=1e-4)
    assert limited.epsilon(delta=1e-6).upper <= every.epsilon(delta=1e-6).upper * (1.0 + 1e-5)
    one = limited.epsilon(delta=1e-6, analysis="blanket")
    assert one.upper < every.epsilon(delta=1e-6, analysis="blanket").upper
    assert joint.local_epsilon(1e-6) == 2.0
    assert joint.eps0 >= 3.0
    assert "at most 1 of its attributes" in one.assumptions[0]
    assert one.witness["upper"]["x0"] == (0, 0, 0)
    assert one.witness["upper"]["x1"] == (0, 1, 0)


def test_clones_are_not_strengthened_by_hamming():
    """Other users' records may differ in every attribute: the clones need the whole eps0."""
    joint = sd.Joint([sd.KRR(k=2, eps0=1.0)] * 3, hamming=1)
    found = sd.shuffle(joint, n=1000).epsilon(delta=1e-6, analysis="stronger-clone")
    whole = sd.generic(eps0=joint.eps0, n=1000).epsilon(delta=1e-6, analysis="stronger-clone")
    assert found.upper == pytest.approx(whole.upper, rel=1e-6)


# --------------------------------------------------------------------------- continuous parts


# ---------------------------------------------------------------------------------- running it


def test_sampler_has_the_product_law():
    joint = sd.Joint([sd.KRR(k=3, eps0=1.0), sd.BinaryRR(eps0=0.7)])
    reports = joint.simulate([(2, 1)] * 100_000, seed=5)
    counts = np.bincount(reports["part0"].astype(int) * 2 + reports["part1"], minlength=6)
    first = [1, 1, math.e]
    second = [1, math.exp(0.7)]
    law = np.outer(first, second).ravel()
    assert fits(counts, law / law.sum()) > LEAST_P_VALUE
    assert fits(counts, law[::-1] / law.sum()) < LEAST_P_VALUE
    assert len(joint.randomize([(0, 0)])) == 1


def test_estimates_are_the_parts_own():
    parts = [sd.KRR(k=3, eps0=1.0), sd.RAPPOR(d=9, eps0=2.0)]
    joint = sd.Joint(parts)
    values = np.array([(0, 8), (2, 4), (2, 1)] * 50)
    reports = joint.simulate(values, seed=1)
    whole = joint.estimate(reports)
    halves = joint.aggregate(reports[:70]) + joint.aggregate(reports[70:])
    for j, part in enumerate(parts):
        alone = part.estimate(reports[f"part{j}"])
        for found in (whole.parts[j], joint.estimate(halves).parts[j]):
            assert np.array_equal(found.frequencies, alone.frequencies)
            assert np.array_equal(found.standard_errors, alone.standard_errors)
    assert whole.n == 150
    assert joint.variances(0.5) == tuple(part.variance(0.5) for part in parts)
    assert joint.variance() == max(part.variance() for part in parts)
    assert joint.message_bits == pytest.approx(math.log2(3) + 9)


def test_tables_and_back():
    joint = sd.Joint(
        [{"name": "k-rr", "k": 4, "eps0": 1.0}, sd.Joint([sd.OUE(d=3, eps0=0.5)])], hamming=1
    )
    table = joint.to_dict()
    assert table["randomizers"][1]["name"] == "joint"
    assert sd.randomizer_from_dict(json.loads(json.dumps(table))) == joint
    assert hash(joint) == hash(sd.randomizer_from_dict(table))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sd.Joint([]), "number of randomizers = 0"),
        (lambda: sd.Joint("k-rr"), "randomizers = 'k-rr'"),
        (lambda: sd.Joint([3]), "randomizers = 3"),
        (lambda: sd.Joint([sd.BinaryRR(eps0=1.0)], hamming=2), "hamming = 2"),
        (lambda: sd.Joint([sd.BinaryRR(eps0=1.0)], hamming=0), "hamming = 0"),
        (lambda: law_of(sd.Joint([sd.BinaryRR(eps0=1.0)]), (0, 1)), "input = 0"),
        (
            lambda: law_of(sd.Joint([sd.BinaryRR(eps0=1.0)]), ((0, 1), (1, 0))),
            "a tuple of 1 values",
        ),
        (lambda: sd.Joint([sd.BinaryRR(eps0=1.0)]).simulate([0, 1], seed=1), r"values\[0\] = 0"),
        (lambda: sd.Joint([sd.BinaryRR(eps0=1.0)]).simulate([(2,)], seed=1), r"values\[0\] = 2"),
        (
            lambda: sd.Joint([sd.BinaryRR(eps0=1.0)]).simulate(np.zeros((2, 2)), seed=1),
            "values shape",
        ),
        (lambda: sd.Joint([sd.BinaryRR(eps0=1.0)]).aggregate(np.zeros(3)), "reports fields"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(sd.ParameterError, match=message):
        make()


def test_nothing_is_claimed_where_nothing_is_proved():
    parts = [sd.Channel(matrix=np.full((12, 12), 1 / 12).tolist())] * 2
    rng = np.random.default_rng(0)
    big = rng.random((80, 3)) + 0.1
    big /= big.sum(axis=1, keepdims=True)
    joint = sd.Joint([sd.Channel(matrix=big.tolist()), *parts])
    with pytest.raises(sd.NotCertified, match="combinations"):
        joint.worst_pairs()
    # Finite eps0: the clones still hold.
    assert sd.shuffle(joint, n=10**6, rtol=1e-2).epsilon(delta=1e-6).upper < joint.eps0
