"""Rounds of a crowd: hidden by all groups in each, against all data sets of small crowds."""

import itertools
import math

import pytest

import shuffledp as sd
from crowds.exact import datasets, worst
from crowds.test_crowd import TIERS, channel, drawn
from enumerated import shuffled
from shuffledp.rounds import UpperValues

pytestmark = pytest.mark.usefixtures("rough_proposals")
EPSILONS = (0.0, 1e-5, 0.02, 0.1, 0.3, 0.55, 0.8, 1.4)


def pairs_of(groups, victim):
    """The two views' probabilities, of all data sets and ordered pairs of the victim's group."""
    others = [(count - (k == victim), rows) for k, (count, rows) in enumerate(groups)]
    for data in datasets(others):
        for x0, x1 in itertools.permutations(groups[victim][1], 2):
            first, second = shuffled([x0, *data]), shuffled([x1, *data])
            yield [
                (float(first.get(key, 0)), float(second.get(key, 0))) for key in {**first, **second}
            ]


def members(seed):
    """A random crowd's groups, and the crowd asked of the members of each."""
    groups = drawn(seed)
    for victim in range(len(groups)):
        yield (
            groups,
            victim,
            sd.shuffle(groups=[(channel(rows), count) for count, rows in groups], victim=victim),
        )


def product_delta(one, other, epsilon):
    a = math.exp(epsilon)
    return sum(max(p * r - a * q * s, 0.0) for (p, q), (r, s) in itertools.product(one, other))


def check_two_rounds(groups, victim, member, epsilons):
    """Of both rounds: the second one's data may be others than the first one's."""
    rounds = member.compose(rounds=2)
    every = list(pairs_of(groups, victim))
    every = every[:: max(1, len(every) // 12)]
    for epsilon in epsilons:
        truth = max(product_delta(*both, epsilon) for both in itertools.product(every, every))
        assert truth <= rounds.delta(epsilon=epsilon).upper * (1.0 + 1e-12)


def test_two_rounds_against_the_data_sets_of_one_member():
    check_two_rounds(*next(members(1)), [0.9])


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
def test_two_rounds_against_all_data_sets(seed):
    for member in members(seed):
        check_two_rounds(*member, [0.1, 0.9])


@pytest.mark.parametrize("seed", range(8))
def test_the_curve_is_above_every_data_set(seed):
    for groups, victim, member in members(seed):
        curve = member.as_round().groups[-1][0]
        assert isinstance(curve, UpperValues)
        for epsilon in EPSILONS:
            truth = worst(groups, victim, epsilon)
            assert float(truth) <= math.exp(curve.log_upper(epsilon)) * (1.0 + 1e-12)


@pytest.mark.long
def test_one_round_is_one_and_more_are_far_below_the_own_group_s():
    crowd = sd.shuffle(groups=TIERS, victim=1)
    one = crowd.epsilon(delta=1e-6).upper
    assert one * 0.999 <= crowd.compose(rounds=1).epsilon(delta=1e-6).upper <= 1.003 * one
    composed = crowd.compose(rounds=2, rtol=0.01).epsilon(delta=1e-6)
    own = sd.shuffle(*TIERS[1]).compose(rounds=2, rtol=0.01).epsilon(delta=1e-6)
    assert composed.lower == 0.0
    assert composed.upper < 0.8 * own.lower
    assert composed.upper < 0.9 * 2 * crowd.epsilon(delta=5e-7).upper
    for words in ("label stealing in a crowd", "other groups only hide"):
        assert words in composed.upper_theorem.title
    assert composed.upper_theorem.provenance == "proved here"
    for words in ("who is in which group", "written alike"):
        assert any(words in said for said in composed.assumptions)


@pytest.mark.parametrize("eps0", [1e-3, 0.1, pytest.param(20.0, marks=pytest.mark.long), 50.0])
def test_guarantees_small_and_large(eps0):
    crowd = sd.shuffle(groups=[(sd.BinaryRR(eps0=1.0), 3), (sd.BinaryRR(eps0=eps0), 2)], victim=1)
    rounds = crowd.compose(rounds=2)
    curve = crowd.as_round().groups[-1][0]
    for share in (0.0, 1e-9, 0.3, 0.999):
        epsilon = share * eps0
        assert curve.log_upper(epsilon) >= crowd.delta(epsilon=epsilon).log_lower
        assert 0.0 <= rounds.delta(epsilon=epsilon).upper <= 1.0
    assert curve.log_upper(eps0) == -math.inf
    found = rounds.epsilon(delta=1e-9).upper
    assert found <= 2.0 * eps0 * (1.0 + 1e-9)
