"""The variation-ratio question: the counterexample, the repaired bound, and its numbers."""

import math

import pytest
from hypothesis import given

import shuffledp as sd
from enumerated import (
    exponential,
    positive_part,
    row_fractions,
)
from reductions.exact_pairs import F, enclosed, published_atoms, repaired_atoms
from shuffledp.bounds.variation_ratio import (
    VariationRatio,
    published_pair,
    published_reason,
    repaired_pair,
)
from shuffledp.laws.sources import ratio_of
from shuffledp.published import Estimate
from strategies import channels

LOG_15 = math.log(15)


# ---------------------------------------------------------------------------- the counterexamples


def test_three_rr_through_the_front_door():
    acc = sd.shuffle(sd.KRR(k=3, eps0=math.log(19)), n=2)
    with pytest.raises(sd.NotCertified, match=r"76/441.*66/441.*section 5.6"):
        acc.delta(epsilon=LOG_15, analysis="variation-ratio")
    forced = acc.estimate(delta=66 / 441, analysis="variation-ratio")
    assert isinstance(forced, Estimate)
    assert "not a bound" in forced.warning
    assert forced.value == pytest.approx(LOG_15, rel=1e-6)
    assert forced.value < acc.epsilon(delta=66 / 441).lower
    bound = acc.delta(epsilon=LOG_15)
    assert bound.lower == pytest.approx(76 / 441, rel=1e-9)
    assert acc.delta(epsilon=LOG_15, analysis="repaired-variation-ratio").upper >= 76 / 441


def test_where_the_published_pair_is_a_bound():
    """Case (i): k0 = 0. It is then the repaired pair, that is the stronger clone."""
    for acc in (sd.generic(eps0=2.0, n=50, adaptive=True), sd.shuffle(sd.BinaryRR(eps0=2.0), n=50)):
        found = acc.delta(epsilon=0.7, analysis="variation-ratio")
        clone = acc.delta(epsilon=0.7, analysis="stronger-clone")
        assert isinstance(found, sd.Bound)
        assert found.upper == pytest.approx(clone.upper, rel=1e-4)
        assert found.upper_theorem.provenance == "proved here"
    assert published_reason(VariationRatio(p=math.inf, beta=1.0, q=5.0)) is None
    assert published_reason(VariationRatio(p=5.0, beta=4 / 6, q=9.0)) is None
    assert published_reason(VariationRatio(p=5.0, beta=0.6, q=9.0)) is not None
    # q below 1 + (p-1)/(p+1) lowers beta, and k0 is not 0 any more.
    assert published_reason(VariationRatio(p=5.0, beta=4 / 6, q=1.5)) is not None


# ------------------------------------------------------------------------- the pairs' exact values

SMALL = [
    (F(3), F(1, 4), F(4), 4),
    (F(19), F(6, 7), F(19), 3),
    (F(10), F(9, 11), F(3, 2), 3),  # beta capped at q - 1
    (F(5, 4), F(1), F(2), 6),  # beta capped at (p-1)/(p+1)
    (None, F(1, 2), F(5), 4),
    (None, F(1), F(3, 2), 3),
    (F(8), F(1, 2), F(6), 1),
    (F(8), F(1, 2), F(5, 4), 1),  # one user: q says nothing
]


def numbers(p, beta, q):
    """The same as floats; only dyadic ones are exact, the others are rounded up."""
    up = [math.nextafter(float(x), 9e99) if F(float(x)) < x else float(x) for x in (beta, q)]
    return VariationRatio(p=math.inf if p is None else float(p), beta=min(up[0], 1.0), q=up[1])


@pytest.mark.many(10)
@pytest.mark.parametrize(("p", "beta", "q", "n"), SMALL)
@pytest.mark.parametrize("epsilon", [0.0, 0.125, 0.75])
def test_repaired_pair_is_theorem_5_4(p, beta, q, n, epsilon):
    ratio = numbers(p, beta, q)
    exact = (None if p is None else F(ratio.p), F(ratio.beta), F(ratio.q))
    if n == 1:
        exact = (*exact[:2], max(exact[2], 1 + exact[1]))
    for pair in (repaired_pair(ratio, n=n), repaired_pair(ratio, n=n).swap()):
        enclosed(pair, lambda a: repaired_atoms(*exact, a), n, epsilon)


@pytest.mark.parametrize("epsilon", [0.0, 0.25, 1.0])
def test_published_pair_is_the_published_one(epsilon):
    ratio = VariationRatio(p=8.0, beta=0.5, q=6.0)
    for n in (1, 2, 5):
        enclosed(
            published_pair(ratio, n=n),
            lambda a: published_atoms(F(8), F(1, 2), F(6), a),
            n,
            epsilon,
        )


def test_front_door_is_attained_and_counts_one_user_right():
    acc = sd.variation_ratio(p=8.0, beta=0.5, q=6.0, n=5)
    found = acc.delta(epsilon=0.5)
    assert found.lower <= found.upper <= found.lower * (1 + 1e-4)
    low, high = exponential(0.5)
    truth = [positive_part(repaired_atoms(F(8), F(1, 2), F(6), a), 5) / 5 for a in (high, low)]
    assert F(found.lower) <= truth[0] <= truth[1] <= F(found.upper)
    assert found.upper_theorem.key == "repaired-variation-ratio"
    assert found.lower_theorem.key == "attained"
    assert math.log(8.0) <= acc.eps0 <= math.log(8.0) * (1 + 1e-14)
    assert acc.epsilon(delta=1e-300).upper <= acc.eps0
    alone = sd.variation_ratio(p=8.0, beta=0.5, q=1.25, n=1).delta(epsilon=0.0)
    assert alone.lower <= 0.5 <= alone.upper  # not capped at q - 1
    assert any(
        "every position" in words
        for words in sd.variation_ratio(p=8.0, beta=0.5, q=6.0, n=5, adaptive=True)
        .epsilon(delta=1e-3)
        .assumptions
    )


# ----------------------------------------------------------------- randomizers' own p, beta, q


@given(channels(zeros=False, largest=4))
def test_numbers_of_a_channel_hold(channel):
    """R0 <= p R1, TV <= beta, max(R0, R1) <= q R_x for every input x, in exact arithmetic."""
    rows = row_fractions(channel.matrix)
    for ratio, (x0, x1) in ratio_of(channel):
        zero, one = rows[x0], rows[x1]
        for y, (a, b) in enumerate(zip(zero, one, strict=True)):
            assert a <= F(ratio.p) * b
            assert b <= F(ratio.p) * a
            assert max(a, b) <= F(ratio.q) * min(row[y] for row in rows)
        variation = sum(max(a - b, F(0)) for a, b in zip(zero, one, strict=True))
        assert variation <= ratio.total_variation
