"""Masses that floats do not hold: ends against exact fractions, where one was below the truth."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import shuffledp as sd
from oracle import worst_delta
from shuffledp.divergence import PairProfile
from shuffledp.errors import NotCertified, ParameterError
from shuffledp.numerics.combining import mixture, product
from shuffledp.pair import ShuffledPair
from shuffledp.randomizers import JointLaw
from shuffledp.reductions import VariationRatio, repaired_pair
from shuffledp.reductions.from_law import dataset_pair
from shuffledp.reductions.variation_ratio import four_point_pair

mpmath.mp.dps = 60


def around(epsilon):
    """Fractions below and above e^eps."""
    value = mpmath.exp(mpmath.mpf(epsilon))
    exact = Fraction(int(mpmath.floor(value * mpmath.mpf(2) ** 200)), 2**200)
    return exact * (1 - Fraction(1, 10**40)), exact * (1 + Fraction(1, 10**40))


def inside(bound, rows, n, epsilon):
    """Whether both ends of delta enclose the largest of all data sets."""
    low, high = around(epsilon)
    lower_truth, upper_truth = worst_delta(rows, n, high), worst_delta(rows, n, low)
    assert Fraction(bound.lower) <= upper_truth
    assert Fraction(bound.upper) >= lower_truth
    return lower_truth


def exact_rows(matrix):
    rows = [[Fraction(x) for x in row] for row in matrix]
    return [[x / sum(row) for x in row] for row in rows]


def sampled(rows, rate):
    share = Fraction(min(max(round(Fraction(rate) * 2**64), 1), 2**64), 2**64)
    return [[*(share * x for x in row), 1 - share] for row in rows]


# ------------------------------------------------------------------------------ variation ratio


def exact_ratio(p, beta, q, n, alpha):
    """Theorem 5.4: (1/n) E[sum of gains]_+, in fractions."""
    al = beta / (p - 1)
    rest = 1 - (p + 1) * al
    labels = [(p * al / q, p * al, al), (p * al / q, al, p * al), (rest / q, rest, rest)]
    gains = [(w, (a - alpha * b) / w) for w, a, b in labels if w > 0]
    gains.append((1 - sum(w for w, _ in gains), Fraction(0)))
    total = Fraction(0)
    for chosen in itertools.product(gains, repeat=n):
        weight = math.prod((w for w, _ in chosen), start=Fraction(1))
        total += weight * max(sum(g for _, g in chosen), Fraction(0))
    return total / n


@pytest.mark.parametrize(
    ("p", "beta", "q", "n", "epsilon"),
    [
        (2.0, 1e-20, 1e304, 2, 0.3),
        (1.5, 2e-18, 3e306, 2, 0.2),
        (2.0, 1e-16, 8e307, 2, 0.3),
        (2.0, 1e-300, 1e300, 3, 0.1),
        (1e300, 0.5, 1e305, 2, 1.0),
        (1e308, 0.25, 2.0, 3, 1.0),
        (19.0, 0.5, 19.0, 3, 1.0),
    ],
)
def test_variation_ratio_of_tiny_reference_masses(p, beta, q, n, epsilon):
    """The victim's mass was dropped where the others' was below the floats: eps = 0 certified."""
    low, high = around(epsilon)
    least, most = (exact_ratio(Fraction(p), Fraction(beta), Fraction(q), n, a) for a in (high, low))
    bound = sd.variation_ratio(p=p, beta=beta, q=q, n=n).delta(epsilon=epsilon)
    assert Fraction(bound.lower) <= most
    assert Fraction(bound.upper) >= least
    assert bound.upper <= float(most) * (1 + 1e-6) + 1e-290
    target = float(least) / 2
    if target > 0.0:
        upper = sd.variation_ratio(p=p, beta=beta, q=q, n=n).epsilon(delta=target).upper
        if math.isfinite(upper):
            reached = exact_ratio(Fraction(p), Fraction(beta), Fraction(q), n, around(upper)[1])
            assert reached <= Fraction(target) * (1 + Fraction(1, 10**9))


def test_a_clone_below_the_floats():
    pair = four_point_pair(p=2.0, clone=1e-310, rest=1e-310, n=2)
    assert pair.outside.shape == (3, 2)
    assert PairProfile(pair).log_delta(0.1).high >= math.log(1e-310)


def test_lower_ends_are_of_the_beta_that_was_given():
    """A beta next to the cap was raised to it, for the lower end too."""
    ratio = VariationRatio(p=3.0, beta=0.5 * (1 - 9e-13), q=3.0)
    given, cap = Fraction(ratio.beta), Fraction(1, 2)
    assert ratio.attained_variation == given < ratio.total_variation == cap
    high, low = repaired_pair(ratio, n=5), repaired_pair(ratio, n=5, attained=True)
    assert low.a[0] < high.a[0] or low.w[0] < high.w[0]
    bound = sd.variation_ratio(p=3.0, beta=ratio.beta, q=3.0, n=3).delta(epsilon=0.8)
    assert Fraction(bound.lower) <= exact_ratio(Fraction(3), given, Fraction(3), 3, around(0.8)[0])
    assert bound.witness["lower"]["beta"] == ratio.beta
    # delta(0) is beta itself, so that eps = 0 is enough.
    alone = sd.variation_ratio(p=1e30, beta=1 - 9e-13, q=1e30, n=2).epsilon(delta=1 - 9e-13)
    assert alone.lower == 0.0


# ------------------------------------------------------------------------------------- mixtures


@pytest.mark.parametrize(
    ("columns", "rate", "n", "epsilons"),
    [
        ((2e-175, 1.1e-305), 5.5e-20, 2, (100.0, 200.0, 290.0)),
        ((2.4e-174, 1.35e-304), 5.5e-20, 2, (100.0, 250.0)),
        ((1e-174, 5.6e-305), 5.5e-20, 1, (299.6, 10.0)),
        ((1e-304, 2e-304), 1e-19, 2, (1.0, 0.1)),
    ],
)
def test_subsampled_channels_of_tiny_masses(columns, rate, n, epsilons):
    matrix = [[0.6, 0.4, columns[0]], [0.4, 0.6, columns[1]]]
    mechanism = sd.PoissonSubsample(sd.Channel(matrix=matrix), rate=rate)
    rows = sampled(exact_rows(matrix), rate)
    for epsilon in epsilons:
        for analysis in ("blanket", "repaired-variation-ratio", None):
            try:
                bound = sd.shuffle(mechanism, n=n).delta(epsilon=epsilon, analysis=analysis)
            except NotCertified:
                continue
            inside(bound, rows, n, epsilon)


def pair_of(w, a, b, n=2):
    return ShuffledPair(w=np.array(w), a=np.array(a), b=np.array(b), n=n)


def test_products_and_mixtures_of_pairs_hold_every_atom():
    rare = pair_of([0.4, 0.6 - 1e-170, 1e-170], [1.0, (0.6 - 1e-60) / 0.6, 1e110], [1.0] * 3)
    with pytest.raises(ParameterError, match="w = "):
        rare.product(rare)
    with pytest.raises(ParameterError, match="w = "):
        ShuffledPair.mixture([rare, rare], [1.0 - 1e-150, 1e-150])
    plain = ShuffledPair.mixture([rare, rare], [1.0, 0.0])
    assert PairProfile(plain).log_delta(0.5).high >= PairProfile(rare).log_delta(0.5).low
    # (1e-60)^2 of the victim's reports are seen for sure.
    found = PairProfile(product(rare, rare)).log_delta(260.0)
    assert -276.32 < found.high < -276.30
    weight = 2.0**-400
    mixed = PairProfile(mixture([rare, pair_of([1.0], [1.0], [1.0])], [weight, 1.0 - weight]))
    assert mixed.log_delta(100.0).high >= math.log(1e-60) - 400 * math.log(2.0) - 1e-6


def test_ratios_that_underflow_leave_their_mass_in_the_tail():
    """e^-300 three times is 0 as a float: of the others' law all mass stays."""
    rows = np.array([[1e-131, 1.0 - 1e-131], [0.5, 0.5]])
    a = rows[0] / 0.5
    one = ShuffledPair(w=np.array([0.5, 0.5]), a=a, b=np.array([1.0, 1.0]), n=2)
    total = one
    for _ in range(2):
        total = product(total, one)
    assert total.w.sum() == pytest.approx(1.0)
    assert (total.a == 0.0).any()
    assert total.tail[0] > 0.0


# ----------------------------------------------------------------------------- the last floats


@pytest.mark.parametrize("slack", [9e-10, -9e-10, 0.0])
@pytest.mark.parametrize("analysis", [None, "blanket", "dataset", "repaired-variation-ratio"])
def test_entries_among_the_last_floats(slack, analysis):
    """Divided by a sum that is 1e-9 off they stay as they are; e^eps multiplies what is missing."""
    matrix = [[0.5, 0.5, 1e-200], [0.6, 0.4 + slack, 1e-320]]
    rows = exact_rows(matrix)
    ratio = mpmath.log(mpmath.mpf(rows[0][2].numerator) / rows[0][2].denominator)
    ratio -= mpmath.log(mpmath.mpf(rows[1][2].numerator) / rows[1][2].denominator)
    for epsilon in (float(ratio) - 1e-6, 276.3102222925648, float(ratio) + 3e-10, 1.0, 0.0):
        for n in (1, 2):
            try:
                shuffled = sd.shuffle(sd.Channel(matrix=matrix), n=n)
                bound = shuffled.delta(epsilon=epsilon, analysis=analysis)
            except NotCertified:
                continue
            inside(bound, rows, n, epsilon)


def test_quotients_of_the_last_floats_are_no_ratios():
    matrix = [[0.5, 0.5, 1e-200], [0.6, 0.4 + 9e-10, 1e-320]]
    pair = dataset_pair(sd.Channel(matrix=matrix), 0, 1, 0, n=2)
    assert pair.rel > 1e-9
    swapped = dataset_pair(sd.Channel(matrix=[[1.0 - 1e-15, 1e-15], [1.0, 1e-320]]), 1, 0, 0, n=2)
    tiny = (swapped.a > 0.0) & (swapped.a < 1e-290)
    assert not tiny.any()
    assert swapped.tail[0] >= 1e-320


# --------------------------------------------------------------------------------------- crowds


def test_equal_floats_of_a_crowd_of_channels_are_not_equal_numbers():
    """Their left-over was stated without an error, although entries are off by 1e-16."""
    first = [[1, 1e-29, 1e-30, 1e-30], [1, 1e-30, 1e-29, 1e-30]]
    second = [[1, 1e-30, 1e-30, 1e-17], [1, 1e-30, 1e-30, 2e-17]]
    groups = [(sd.Channel(matrix=first), 1), (sd.Channel(matrix=second), 1)]
    own, other = exact_rows(first), exact_rows(second)
    alpha = around(2.0)[1]
    worst = Fraction(0)
    for x0, x1 in ((0, 1), (1, 0)):
        for held in other:
            total = Fraction(0)
            for y, z in itertools.combinations_with_replacement(range(4), 2):
                p, q = (
                    row[y] * held[z] + (row[z] * held[y] if y != z else 0)
                    for row in (own[x0], own[x1])
                )
                total += max(p - alpha * q, Fraction(0))
            worst = max(worst, total)
    bound = sd.crowd(groups, victim=0).delta(epsilon=2.0)
    assert Fraction(bound.lower) <= worst * (1 + Fraction(1, 10**9))
    assert Fraction(bound.upper) >= worst > Fraction(1, 10**47)


def test_crowds_whose_laws_are_hardly_apart_have_no_ties():
    from shuffledp.crowds.case import CrowdCase, Others

    rows = np.full((2, 3), 1.0 / 3.0)
    others = Others(3, rows, rows.min(axis=0))
    assert not CrowdCase(rows, (others,), 1e-15, ties=True)._law(rows).ties
    apart = np.array([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25]])
    assert CrowdCase(apart, (others,), 1e-15, ties=True)._law(rows).ties
    assert not CrowdCase(apart, (others,), 1e-15, ties=False)._law(rows).ties
    assert JointLaw(apart, apart.min(axis=0)).ties


def test_a_tail_does_not_vanish_under_a_weight():
    one = np.ones(1)
    pair = ShuffledPair(w=one, a=one, b=one, n=3, tail=(1e-310, 2e-305), leftover=(0.0, 0.0))
    mixed = mixture([pair], [1e-20], constant=1.0 - 1e-20)
    assert mixed.tail[0] >= 1e-320
    assert mixed.tail[1] > 2e-325
    assert mixture([pair], [1e-20], constant=1.0 - 1e-20).tail_doubt[1] >= mixed.tail[1] * 1e-6


def test_what_two_parts_miss_together_does_not_vanish():
    one = np.ones(1)
    pair = ShuffledPair(
        w=one, a=one, b=one, n=1, outside=np.array([[1e-140, 3e-150]]), leftover=(0.0, 0.0)
    )
    both = product(pair, pair)
    assert both.tail[0] >= 1e-280
    assert both.tail[1] >= 9e-300
    assert not (both.outside[:, 0] == 1e-280).any()
