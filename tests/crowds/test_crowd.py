"""Crowds: both ends against all data sets of small ones, and against a shuffle."""

import math
import random

import pytest

import shuffledp as sd
from crowds.exact import row, worst
from shuffledp import theorems


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
@pytest.mark.usefixtures("rough_proposals")
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
