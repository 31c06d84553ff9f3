"""Laws of the exact numbers, asked of certified ends: lower of one <= upper of the other.

Nothing is forgiven: where theory says x <= y, lower(x) <= upper(y) whatever the widths are.
"""

import math

import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

import shuffledp as sd
from shuffledp.bounds.clones import clone_pair, stronger_clone_pair
from shuffledp.laws.pairs import blanket_pair, dataset_pair
from shuffledp.propose.profile import Profile
from strategies import channels, randomizers, targets, user_counts

pytestmark = pytest.mark.usefixtures("rough_proposals")
fractions = st.floats(0.0, 1.05)


def at(pair, epsilon, width=1e-2):
    return Profile(pair).log_delta(epsilon, width=width)


@settings(max_examples=6)
@given(randomizers(), user_counts, fractions, fractions)
def test_delta_falls_in_epsilon(randomizer, n, part, other):
    low, high = sorted((part * randomizer.eps0, other * randomizer.eps0))
    accountant = sd.shuffle(randomizer, n=n, rtol=1e-3)
    first, second = accountant.delta(epsilon=low), accountant.delta(epsilon=high)
    assert second.log_lower <= first.log_upper
    for pair in (
        blanket_pair(randomizer, 0, 1, n=n),
        clone_pair(eps0=randomizer.eps0, n=n),
        stronger_clone_pair(eps0=randomizer.eps0, n=n),
    ):
        assert at(pair, high).low <= at(pair, low).high


@pytest.mark.long
@settings(max_examples=12)
@given(randomizers(), user_counts, user_counts, st.floats(0.0, 0.99))
def test_delta_falls_in_n(randomizer, n, other, part):
    few, many = sorted((n, other))
    epsilon = part * randomizer.eps0
    for make in (
        lambda n: blanket_pair(randomizer, 0, 1, n=n),
        lambda n: dataset_pair(randomizer, 0, 1, 1, n=n),
        lambda n: clone_pair(eps0=randomizer.eps0, n=n),
        lambda n: stronger_clone_pair(eps0=randomizer.eps0, n=n),
    ):
        assert at(make(many), epsilon).low <= at(make(few), epsilon).high


@settings(max_examples=5)
@given(randomizers(), user_counts, st.floats(0.0, 0.999))
def test_order_of_the_analyses(randomizer, n, part):
    """Dataset <= blanket <= stronger clone <= clone <= local."""
    epsilon = part * randomizer.eps0
    chain = [
        at(dataset_pair(randomizer, *triple, n=n), epsilon) for triple in randomizer.datasets()
    ]
    blanket = at(blanket_pair(randomizer, 0, 1, n=n), epsilon)
    stronger = at(stronger_clone_pair(eps0=randomizer.eps0, n=n), epsilon)
    clone = at(clone_pair(eps0=randomizer.eps0, n=n), epsilon)
    for dataset in chain:
        assert dataset.low <= blanket.high
    assert blanket.low <= stronger.high
    assert stronger.low <= clone.high
    grow, a = arb(randomizer.eps0).exp(), arb(epsilon).exp()
    local = ((grow - a) / (grow + 1)).log()
    for found in (*chain, blanket, stronger):
        assert found.low == -math.inf or not arb(found.low) > local


@settings(max_examples=5)
@given(randomizers(), user_counts, targets)
def test_round_trip_of_epsilon_and_delta(randomizer, n, delta):
    accountant = sd.shuffle(randomizer, n=n, rtol=1e-4)
    found = accountant.epsilon(delta=delta)
    assert 0.0 <= found.lower <= found.upper <= randomizer.eps0
    assert accountant.delta(epsilon=found.upper).upper <= delta
    if found.lower > 0.0:
        # The bracket of delta is ten times as wide as that of eps.
        assert accountant.delta(epsilon=found.lower).lower >= delta * (1.0 - 1e-3)


@given(channels(), st.integers(1, 8), st.floats(0.0, 3.0), st.data())
def test_merging_outputs_never_hurts(channel, n, epsilon, data):
    """Post-processing by a map of the outputs."""
    rows = np.array(channel.matrix)
    target = data.draw(st.lists(st.integers(0, 1), min_size=rows.shape[1], max_size=rows.shape[1]))
    merged = np.zeros((len(rows), 2))
    for y, to in enumerate(target):
        merged[:, to] += rows[:, y]
    coarse = sd.Channel(matrix=merged.tolist())
    before = sd.shuffle(channel, n=n).delta(epsilon=epsilon)
    after = sd.shuffle(coarse, n=n).delta(epsilon=epsilon)
    assert after.log_lower <= before.log_upper
    x0, x1 = 0, 1
    pair, other = (blanket_pair(c, x0, x1, n=n) for c in (coarse, channel))
    data_low = at(dataset_pair(coarse, x0, x1, x1, n=n), epsilon).low
    assert data_low <= at(dataset_pair(channel, x0, x1, x1, n=n), epsilon).high
    # A coarser channel has a larger blanket after merging, so its bound is no larger.
    assert at(pair, epsilon).low <= at(other, epsilon).high


@given(channels(zeros=False, largest=3), st.integers(0, 16), st.integers(1, 6), st.floats(0.0, 2.0))
def test_noise_afterwards_never_hurts(channel, keep, n, epsilon):
    """Post-processing by a channel: now and then the output is replaced by noise (all dyadic)."""
    rows = np.array(channel.matrix)
    noise = np.zeros(rows.shape[1])
    noise[:2] = 0.5
    weaker = sd.Channel(matrix=(keep / 16 * rows + (1.0 - keep / 16) * noise).tolist())
    after = sd.shuffle(weaker, n=n).delta(epsilon=epsilon)
    before = sd.shuffle(channel, n=n).delta(epsilon=epsilon)
    assert after.log_lower <= before.log_upper


@settings(max_examples=4)
@given(randomizers(), user_counts, st.floats(0.0, 0.99))
def test_both_directions_are_one_where_it_is_claimed(randomizer, n, part):
    epsilon = part * randomizer.eps0
    pair = blanket_pair(randomizer, 0, 1, n=n)
    one, two = at(pair, epsilon), at(pair.swap(), epsilon)
    assert one.low <= two.high
    assert two.low <= one.high
    assert at(pair.swap().swap(), epsilon) == one


@settings(max_examples=4)
@given(randomizers(), user_counts, st.floats(0.0, 0.99), st.sampled_from([1e-2, 1e-4, 1e-6]))
def test_widths_nest_around_one_number(randomizer, n, part, width):
    epsilon = part * randomizer.eps0
    pair = blanket_pair(randomizer, 0, 1, n=n)
    loose, tight = at(pair, epsilon, 3e-2), at(pair, epsilon, width)
    assert max(loose.low, tight.low) <= min(loose.high, tight.high)
    # Brackets are about as wide as asked for.
    assert tight.width <= 10.0 * width


def test_delta_at_a_local_guarantee_below_eps0():
    """Neighbours in one attribute: eps of that one alone, and delta there is next to nothing."""
    joint = sd.Joint(randomizers=(sd.KRR(k=3, eps0=1.0), sd.KRR(k=4, eps0=1.7)), hamming=1)
    accountant = sd.shuffle(joint, n=2)
    bound = accountant.epsilon(delta=1e-20)
    assert bound.upper <= 1.7 * (1.0 + 1e-9) < joint.eps0
    assert accountant.delta(epsilon=bound.upper).upper <= 1e-20
    assert accountant.log_upper(1.7 * (1.0 + 1e-9)) <= math.log(1e-300)
    assert accountant.delta(epsilon=1.69).upper > 1e-300
