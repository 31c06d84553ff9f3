"""The variation-ratio question: counterexamples, the repaired bound, the order of the bounds."""

import math
from itertools import pairwise

import pytest
from hypothesis import given

import shuffledp as sd
from enumerated import (
    blanket_delta,
    exponential,
    positive_part,
    row_fractions,
    worst_delta,
)
from reductions.exact_pairs import F, bracket, enclosed, published_atoms, repaired_atoms
from shuffledp.bounds.variation_ratio import (
    VariationRatio,
    published_pair,
    published_reason,
    repaired_pair,
)
from shuffledp.laws.sources import ratio_of
from strategies import channels

E3 = [[F(19 if x == y else 1, 21) for y in range(3)] for x in range(3)]
ERASURE = [[F(57, 100), F(3, 100), F(40, 100)], [F(3, 100), F(57, 100), F(40, 100)]]
LOG_15 = math.log(15)


# ---------------------------------------------------------------------------- the counterexamples


def test_three_rr_by_hand():
    """3-RR, e^eps0 = 19, e^eps = 15, n = 2: true 76/441, published variation ratio 66/441."""
    assert worst_delta(E3, 2, [F(15)]) == [F(76, 441)]
    assert blanket_delta(E3, 0, 1, 2, F(15)) == F(76, 441)
    ratio = VariationRatio(p=19, beta=18 / 21, q=19)
    assert positive_part(published_atoms(F(19), F(18, 21), F(19), F(15)), 2) / 2 == F(66, 441)
    published = math.exp(bracket(published_pair(ratio, n=2), LOG_15).high)
    assert published == pytest.approx(66 / 441, rel=1e-9)
    assert math.exp(bracket(repaired_pair(ratio, n=2), LOG_15).high) >= 76 / 441


def test_three_rr_through_the_front_door():
    acc = sd.shuffle(sd.KRR(k=3, eps0=math.log(19)), n=2)
    with pytest.raises(sd.NotCertified, match=r"76/441.*66/441.*section 5.6"):
        acc.delta(epsilon=LOG_15, analysis="variation-ratio")
    forced = acc.estimate(epsilon=LOG_15, analysis="variation-ratio")
    assert isinstance(forced, sd.Estimate)
    assert "not a bound" in forced.warning
    assert forced.value == pytest.approx(66 / 441, rel=1e-6)
    bound = acc.delta(epsilon=LOG_15)
    assert forced.value < bound.lower <= bound.upper
    assert bound.lower == pytest.approx(76 / 441, rel=1e-9)
    assert acc.delta(epsilon=LOG_15, analysis="repaired-variation-ratio").upper >= 76 / 441


@pytest.mark.parametrize(
    ("n", "true", "published"), [(2, F(684, 10000), 0.0036), (6, None, 7.6331e-6)]
)
def test_erasure_channel(n, true, published):
    """2-RR kept with probability 0.6: three orders of magnitude at n = 6."""
    worst = worst_delta(ERASURE, n, [F(15)])[0]
    assert true in (None, worst)
    assert worst > F(7, 1000)
    acc = sd.shuffle(sd.Channel(matrix=[[float(x) for x in row] for row in ERASURE]), n=n)
    forced = acc.estimate(epsilon=LOG_15, analysis="variation-ratio")
    assert forced.value == pytest.approx(published, rel=1e-4)
    assert forced.value < float(worst)
    rows = row_fractions([[float(x) for x in row] for row in ERASURE])  # what the floats mean
    worst = worst_delta(rows, n, [exponential(LOG_15)[1]])[0]
    for key in ("blanket", "repaired-variation-ratio", "stronger-clone", "clone"):
        assert F(acc.delta(epsilon=LOG_15, analysis=key).upper) >= worst


def test_ten_rr_at_a_practical_size():
    """10-RR, eps0 = 6, n = 1000, delta = 1e-6: 4.951 is below the certified lower end."""
    acc = sd.shuffle(sd.KRR(k=10, eps0=6.0), n=1000)
    forced = acc.estimate(delta=1e-6, analysis="variation-ratio")
    lower = acc.epsilon(delta=1e-6, analysis="dataset").lower
    blanket = acc.epsilon(delta=1e-6, analysis="blanket").upper
    repaired = acc.epsilon(delta=1e-6, analysis="repaired-variation-ratio").upper
    found = [forced.value, lower, blanket]
    assert found == pytest.approx([4.951, 5.196, 5.253], abs=6e-4)
    assert forced.value < lower <= blanket <= repaired


@pytest.mark.parametrize(
    "randomizer",
    [
        sd.KRR(k=5, eps0=2.5),
        sd.HadamardResponse(domain=6, eps0=2.5),
        sd.Laplace(eps0=1.0),
    ],
    ids=lambda r: r.name,
)
def test_the_published_pair_is_below_the_truth_at_two_users(randomizer):
    acc = sd.shuffle(randomizer, n=2)
    epsilon = 0.9 * randomizer.eps0
    with pytest.raises(sd.NotCertified, match="variation-ratio"):
        acc.delta(epsilon=epsilon, analysis="variation-ratio")
    forced = acc.estimate(epsilon=epsilon, analysis="variation-ratio")
    assert forced.value < acc.delta(epsilon=epsilon, analysis="dataset").lower


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


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        ({"p": 0.5}, "p"),
        ({"p": math.nan}, "p"),
        ({"beta": 1.5}, "beta"),
        ({"beta": math.nan}, "beta"),
        ({"q": 0.9}, "q"),
        ({"q": math.inf}, "q"),
        ({"n": 0}, "n"),
        ({"adaptive": 1}, "adaptive"),
        ({"rtol": 1.0}, "rtol"),
        ({"trust": "none"}, "trust"),
    ],
)
def test_front_door_refuses(wrong, name):
    with pytest.raises(sd.ParameterError, match=f"^{name} = "):
        sd.variation_ratio(**{"p": 2.0, "beta": 0.2, "q": 2.0, "n": 10, **wrong})


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


@pytest.mark.parametrize(
    ("randomizer", "beta"),
    [
        (sd.KRR(k=10, eps0=3.0), lambda e: (e - 1) / (e + 9)),
        (sd.BinaryRR(eps0=3.0), lambda e: (e - 1) / (e + 1)),
        (sd.Laplace(eps0=3.0), lambda e: 1 - e**-0.5),
        (sd.LocalHash(domain=100, l=4, eps0=3.0), lambda e: 0.75 * (e - 1) / (e + 3)),
        (sd.RAPPOR(d=10, eps0=3.0), lambda e: (e**0.5 - 1) / (e**0.5 + 1)),
    ],
    ids=lambda x: getattr(x, "name", ""),
)
def test_total_variations_of_named_mechanisms(randomizer, beta):
    found = [ratio for ratio, _ in ratio_of(randomizer)]
    grow = math.exp(3.0)
    worst = max(float(r.total_variation) for r in found)
    assert beta(grow) <= worst * (1 + 1e-15)
    assert worst == pytest.approx(beta(grow), rel=1e-5)
    assert max(r.q for r in found) == pytest.approx(grow, rel=1e-10)


# ------------------------------------------------------------------------------ order of the bounds


@pytest.mark.parametrize(
    ("randomizer", "n"),
    [
        (sd.KRR(k=10, eps0=4.0), 100),
        (sd.OUE(d=20, eps0=1.0), 10_000),
        (sd.LocalHash(domain=50, l=3, eps0=0.1), 10**8),
    ],
    ids=repr,
)
def test_order_at_practical_sizes(randomizer, n):
    acc = sd.shuffle(randomizer, n=n)
    keys = ("blanket", "repaired-variation-ratio", "stronger-clone", "clone")
    found = [acc.epsilon(delta=1e-6, analysis=key).upper for key in keys]
    for smaller, larger in pairwise(found):
        assert smaller <= larger * (1 + 2e-6)  # each is at most 1e-6 above its own exact value
    assert acc.epsilon(delta=1e-6, analysis="dataset").lower <= found[0]


@pytest.mark.parametrize(
    ("protocol", "p", "beta", "q"),
    [
        (sd.PureDUMP(d=8, blankets=3), math.inf, 1.0, 8.0),
        (sd.BallsIntoBins(d=8, s=2, blankets=3), math.inf, 1.0, 4.0),
        (sd.MixDUMP(d=5, f=0.25, blankets=3), 12.0, 0.75 - 0.0625, 3.75),
    ],
    ids=lambda x: getattr(x, "name", ""),
)
def test_the_published_pair_is_that_of_balls_into_bins(protocol, p, beta, q):
    """Remark 5.10: of these protocols all of its condition holds. Both are exact, so they agree."""
    users = 20
    pair = published_pair(VariationRatio(p=p, beta=beta, q=q), n=3 * users + 1)
    for epsilon in (0.1, 0.5, 1.0):
        mine = bracket(pair, epsilon, 1e-5)
        theirs = sd.shuffle(protocol, n=users).delta(epsilon=epsilon, analysis="multi-message")
        assert mine.low <= theirs.log_upper
        assert theirs.log_lower <= mine.high
        assert mine.high == pytest.approx(theirs.log_upper, abs=1e-4)
