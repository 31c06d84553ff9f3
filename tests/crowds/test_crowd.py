"""sd.crowd: both ends against all data sets of small crowds, questions, words, bad input."""

import math
import random

import pytest

import shuffledp as sd
from crowds.exact import row, worst
from shuffledp import theorems
from shuffledp.errors import NotCertified, ParameterError


def channel(rows):
    return sd.Channel(matrix=[[float(x) for x in law] for law in rows])


# Three groups of the most users: most of a minute each.
SLOW = (0, 5)


def drawn(seed):
    """Two or three groups of random channels; none where a channel says nothing."""
    rng = random.Random(seed)
    outputs, size = rng.randint(2, 3), rng.choice((2, 2, 3))
    groups = [
        (rng.randint(1, 2), [row(rng, outputs, zeros=rng.random() < 0.2) for _ in range(2)])
        for _ in range(size)
    ]
    return [] if any(first == second for _, (first, second) in groups) else groups


@pytest.mark.parametrize(
    "seed", [pytest.param(s, marks=[pytest.mark.long] * (s >= 7 or s in SLOW)) for s in range(30)]
)
def test_both_ends_against_all_data_sets(seed):
    """Each group's members, both kinds of question."""
    groups = drawn(seed)
    if not groups:
        return
    size = len(groups)
    given = [(channel(rows), count) for count, rows in groups]
    asked = sd.shuffle(groups=given)
    members = [sd.shuffle(groups=given, victim=victim) for victim in range(size)]
    for victim, one in enumerate(members):
        for epsilon in (0.1, 0.6):
            truth = worst(groups, victim, epsilon)
            found = one.delta(epsilon=epsilon)
            assert found.lower <= truth <= found.upper
        bound = one.epsilon(delta=0.05)
        assert bound.lower <= bound.upper
        if math.isfinite(bound.upper):
            assert worst(groups, victim, bound.upper) <= 0.05
        if bound.lower > 0.0:
            assert worst(groups, victim, bound.lower) >= 0.05 * (1.0 - 1e-12)
    together = asked.delta(epsilon=0.3)
    single = [one.delta(epsilon=0.3) for one in members]
    assert together.upper == max(one.upper for one in single)
    assert together.lower == max(one.lower for one in single)


def test_tilts_as_large_as_they_get():
    """Rows with a probability next to 0 tilt the steps by 200,000: no weight overflows."""
    test_both_ends_against_all_data_sets(86)


TIERS = [(sd.BinaryRR(eps0=1.0), 600), (sd.BinaryRR(eps0=3.0), 500)]


def test_members_of_one_group_are_hidden_by_all():
    crowd = sd.shuffle(groups=TIERS)
    members = [sd.shuffle(groups=TIERS, victim=k) for k in (0, 1)]
    bounds = [one.epsilon(delta=1e-6) for one in members]
    for k, bound in enumerate(bounds):
        mechanism, count = TIERS[k]
        alone = sd.shuffle(mechanism, count).epsilon(delta=1e-6)
        assert bound.lower <= bound.upper < 0.95 * alone.upper
        assert bound.upper <= 1.03 * bound.lower
        assert bound.upper_theorem == theorems.CROWD_STEALING
        assert bound.lower_theorem == theorems.CROWD_DATASET
        back = members[k].delta(epsilon=bound.upper)
        assert back.lower <= 1e-6 <= back.upper * (1.0 + 1e-2)
        assert back.upper <= 1e-6 * (1.0 + 1e-2)
    assert crowd.epsilon(delta=1e-6).upper == bounds[1].upper
    profile = members[0].profile([0.1, 0.2])
    assert profile[0].upper > profile[1].upper > 0.0


def test_krr_of_several_eps0():
    groups = [(sd.KRR(k=10, eps0=2.0), 1500), (sd.KRR(k=10, eps0=4.0), 1500)]
    for victim in (0, 1):
        found = sd.shuffle(groups=groups, victim=victim).epsilon(delta=1e-6)
        assert found.upper <= 1.04 * found.lower
        assert found.upper < sd.shuffle(*groups[victim]).epsilon(delta=1e-6).upper


def test_one_mechanism_in_two_groups_is_one_shuffle():
    groups = [(sd.KRR(k=5, eps0=2.0), 300), (sd.KRR(k=5, eps0=2.0), 700)]
    alike = sd.shuffle(sd.KRR(k=5, eps0=2.0), 1000)
    for victim in (0, 1, None):
        crowd = sd.shuffle(groups=groups, victim=victim)
        bound, wanted = crowd.epsilon(delta=1e-5), alike.epsilon(delta=1e-5)
        assert (bound.lower, bound.upper) == (wanted.lower, wanted.upper)
        assert bound.upper_theorem == wanted.upper_theorem
        delta, wanted = crowd.delta(epsilon=0.2), alike.delta(epsilon=0.2)
        assert (delta.log_lower, delta.log_upper) == (wanted.log_lower, wanted.log_upper)


def test_messages_that_are_not_compared_leave_the_own_group():
    groups = [(sd.Laplace(eps0=1.0), 500), (sd.KRR(k=4, eps0=1.0), 400)]
    found = sd.shuffle(groups=groups, victim=1).epsilon(delta=1e-5)
    own = sd.shuffle(sd.KRR(k=4, eps0=1.0), 400).epsilon(delta=1e-5)
    assert found.upper == own.upper
    assert found.lower == 0.0
    assert "other groups only hide" in found.upper_theorem.title
    assert found.witness["upper"]["n"] == 400
    same_bits = [(sd.RAPPOR(d=4, eps0=1.0), 50), (sd.RAPPOR(d=4, eps0=2.0), 50)]
    assert sd.shuffle(groups=same_bits, victim=0).delta(epsilon=0.5).lower == 0.0


@pytest.mark.long
def test_the_published_approximation_is_no_end_and_says_where_it_is_wrong():
    groups = [(sd.BinaryRR(eps0=1.0), 900), (sd.BinaryRR(eps0=4.0), 900)]
    notes = []
    for victim in (0, 1):
        crowd = sd.shuffle(groups=groups, victim=victim)
        found = crowd.estimate(delta=1e-6)
        assert isinstance(found, sd.Estimate)
        notes.append(found.warning)
        below = found.value < crowd.epsilon(delta=1e-6).lower
        assert below == ("wrong side" in found.warning)
    shares = [1.0 / (1.0 + math.exp(1.0)), 1.0 / (1.0 + math.exp(4.0))]
    rest = 900 * sum(shares) - max(shares)
    assert f"{math.sqrt(2.0 / rest):.6g}" in found.what
    with pytest.raises(NotCertified, match="local guarantee"):
        sd.shuffle(groups=[(channel([[1, 0], [0.5, 0.5]]), 5), *groups]).estimate(delta=1e-9)


def test_bad_input():
    bit = sd.BinaryRR(eps0=1.0)
    for groups in ([], bit, 5, "ab", [bit], [(bit,)], [(bit, 0)], [(bit, 2.5)], [(3, 4)],
                   [(bit, 10)] * 51, [(bit, True)], ["ab"]):  # fmt: skip
        with pytest.raises(ParameterError):
            sd.shuffle(groups=groups)
    for victim in (2, -1, True, "0", 1.0):
        with pytest.raises(ParameterError, match="victim"):
            sd.shuffle(groups=[(bit, 3), (bit, 4)], victim=victim)
    with pytest.raises(ParameterError, match="victim"):
        sd.shuffle(groups=[(bit, 3)], victim=1)
    near = sd.MetricLaplace(scale=0.5, distance=0.1)
    with pytest.raises(ParameterError, match="neighbours"):
        sd.shuffle(groups=[(bit, 3), (near, 4)])
    assert sd.shuffle(groups=[(bit, 3), (near, 4)], victim=0).epsilon(delta=0.1).upper <= 1.0
    for delta in (0.0, 1.0, math.nan, "x"):
        with pytest.raises(ParameterError):
            sd.shuffle(groups=TIERS).epsilon(delta=delta)


def test_duchis_bits_are_sent_as_bits_and_that_is_said():
    """The numbers they stand for differ by eps0 and interval: those would tell the groups."""
    kinds = [(sd.Duchi(eps0=1.0), 60), (sd.Duchi(eps0=3.0, low=0.0, high=2.0), 60)]
    for victim in (0, 1):
        bound = sd.shuffle(groups=kinds, victim=victim).epsilon(delta=1e-4)
        assert any("sent as the bit 0 or 1" in words for words in bound.assumptions)
        # As bits they are binary randomized response's.
        same = [(sd.BinaryRR(eps0=m.eps0), count) for m, count in kinds]
        bits = sd.shuffle(groups=same, victim=victim).epsilon(delta=1e-4)
        assert bits.lower <= bound.upper
        assert bound.lower <= bits.upper
        assert not any("duchi" in words for words in bits.assumptions)


@pytest.mark.parametrize("victim", [0, 1])
def test_reservoirs_of_which_a_tilt_leaves_nothing(victim):
    """An output that one input alone has: all others' weights may fall below the floats."""
    one = sd.Channel(((0.0, 1.0), (0.1, 0.9)))
    crowd = sd.shuffle(groups=[(one, 51), (sd.BinaryRR(eps0=0.5), 9)], victim=victim)
    bound = crowd.delta(epsilon=2.0)
    # Where all others hold the first input the victim's output tells.
    assert (0.0 if victim else 1e-3) <= bound.lower <= bound.upper <= 0.1 * (1.0 + 1e-9)
    found = crowd.epsilon(delta=1e-6)
    assert found.lower <= found.upper
    assert (found.upper < 0.6) is bool(victim)
