"""What one setting says another one says too: crowds, rounds, shufflers, sums."""

import math

import pytest

import shuffledp as sd

DELTA = 1e-6
MECHANISMS = [sd.KRR(k=4, eps0=2.0), sd.BinaryRR(eps0=1.0)]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_a_crowd_of_one_group_is_a_shuffle(mechanism):
    one, crowd = sd.shuffle(mechanism, 400), sd.shuffle(groups=[(mechanism, 400)])
    found, asked = crowd.epsilon(delta=DELTA), one.epsilon(delta=DELTA)
    assert (found.lower, found.upper) == (asked.lower, asked.upper)
    split = sd.shuffle(groups=[(mechanism, 150), (mechanism, 250)]).epsilon(delta=DELTA)
    assert split.lower <= asked.upper
    assert asked.lower <= split.upper


def test_one_round_is_a_shuffle():
    one = sd.shuffle(sd.BinaryRR(eps0=1.0), 100)
    found, asked = one.compose(rounds=1).epsilon(delta=DELTA), one.epsilon(delta=DELTA)
    assert found.lower <= asked.upper
    assert asked.lower <= found.upper <= asked.upper * (1.0 + 2e-3)
    more = one.compose(rounds=2).epsilon(delta=DELTA)
    assert found.lower <= more.upper <= 2.0 * one.epsilon(delta=0.5 * DELTA).upper * (1.0 + 2e-3)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_a_shuffler_that_fails_leaves_the_local_guarantee(mechanism):
    """Every user alone in a shard; an order that is as far from uniform as can be."""
    alone = sd.shuffle(mechanism, 1).epsilon(delta=DELTA)
    shards = sd.shuffle(mechanism, 30, shuffler=sd.Shuffler(shards=30)).epsilon(delta=DELTA)
    assert shards.upper == alone.upper
    known = sd.shuffle(mechanism, 400, shuffler=sd.Shuffler(distance=1.0 - 1e-9))
    assert known.epsilon(delta=DELTA).upper == pytest.approx(alone.upper, rel=1e-4)
    assert known.delta(epsilon=0.1).upper <= math.expm1(mechanism.eps0 - 0.1)


@pytest.mark.parametrize(
    ("mechanism", "rounds"),
    [
        (sd.RAPPOR(d=2, eps0=1.5), 1),
        pytest.param(sd.OUE(d=2, eps0=1.5), 2, marks=pytest.mark.long),
    ],
    ids=repr,
)
def test_sums_are_never_worse_than_messages(mechanism, rounds):
    views = [sd.shuffle(mechanism, 30), sd.shuffle(mechanism, 30, view="sums")]
    if rounds > 1:
        views = [view.compose(rounds=rounds) for view in views]
    asked, sums = (view.epsilon(delta=DELTA) for view in views)
    assert sums.lower <= asked.upper
    assert sums.upper <= asked.upper * (1.0 + 1e-3)


def test_one_user_who_changes_is_one_of_several():
    one = sd.shuffle(sd.KRR(k=4, eps0=2.0), 3_000).epsilon(delta=DELTA)
    two = sd.shuffle(sd.KRR(k=4, eps0=2.0), 3_000, changed=2).epsilon(delta=DELTA)
    assert one.lower <= two.upper
    assert two.lower >= one.lower * (1.0 - 1e-9)
    sums = sd.shuffle(sd.BinaryRR(eps0=1.0), 40, view="sums", changed=2).epsilon(delta=DELTA)
    assert sums.lower <= 2.0
