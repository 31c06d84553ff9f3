"""Several users changed at once, of sums and of crowds: every pair of data sets."""

import itertools

import pytest
from flint import arb

import shuffledp as sd
from shuffledp.neighbours import together
from views.every import Exact, chances, hockey, number_of_ones

LAPLACE = sd.AddedNoise(kind="discrete-laplace", scale=0.7)
CASES = [
    (sd.BinaryRR(eps0=2.0), 3, 2, {}),
    (sd.BinaryRR(eps0=1.0), 3, 3, {"added": LAPLACE}),
    (sd.Channel(((1.0, 0.0), (0.4, 0.6))), 3, 2, {}),
    (sd.RAPPOR(d=2, eps0=2.0), 3, 2, {}),
    (sd.RAPPOR(d=2, eps0=2.0), 2, 2, {"relation": "replace-special"}),
]
LONG = [
    (sd.OUE(d=2, eps0=2.0), 3, 2, {}),
    (sd.OUE(d=2, eps0=1.0), 2, 2, {"relation": "replace-special"}),
    (sd.RAPPOR(d=2, eps0=3.0), 3, 2, {"ones": 2}),
    (sd.RAPPOR(d=3, eps0=2.0), 3, 3, {}),
    (sd.RAPPOR(d=2, eps0=2.0), 2, 2, {"added": LAPLACE}),
]


@pytest.mark.parametrize(
    "case", [*CASES, *(pytest.param(case, marks=pytest.mark.long) for case in LONG)]
)
def test_both_ends_against_every_pair_of_data_sets(case):
    mechanism, n, changed, more = case
    view = sd.shuffle(mechanism, n, view="sums", changed=changed, **more)
    epsilons = (0.0, 0.4, 1.3)
    for epsilon, (low, high) in zip(epsilons, Exact(view)(*epsilons), strict=True):
        bound = view.delta(epsilon=epsilon)
        assert arb(bound.lower) <= high
        assert arb(bound.upper) >= low
        assert bound.relation == together(changed, view.seen.relation)
        assert bound.assumptions[0] == bound.relation.sentence


def test_eps_of_both_ends_against_the_truth():
    view = sd.shuffle(sd.BinaryRR(eps0=2.0), 4, view="sums", changed=2)
    bound = view.epsilon(delta=0.05)
    (_, below), (above, _) = Exact(view)(bound.lower, bound.upper)
    assert below >= 0.05
    assert above <= 0.05
    one = sd.shuffle(sd.BinaryRR(eps0=2.0), 4, view="sums").epsilon(delta=0.05)
    assert one.upper < bound.lower


def test_normal_noise_is_that_of_a_range_as_many_times_as_wide():
    view = sd.shuffle(sd.Gaussian(sigma=3.0, low=-1.0, high=1.0), 50, view="sums", changed=4)
    wide = sd.shuffle(sd.Gaussian(sigma=3.0, low=-4.0, high=4.0), 50, view="sums")
    found, exact = view.epsilon(delta=1e-6), wide.epsilon(delta=1e-6)
    assert found.lower <= exact.upper
    assert exact.lower <= found.upper
    assert found.upper == pytest.approx(exact.upper, rel=1e-3)
    assert "in [-1, 1]" in " ".join(found.assumptions)


@pytest.mark.parametrize("epsilon", [pytest.param(0.3, marks=pytest.mark.long), 1.5])
def test_a_crowd_of_two_kinds_against_every_pair(epsilon):
    groups = [(sd.BinaryRR(eps0=1.0), 2), (sd.BinaryRR(eps0=3.0), 2)]
    rates = [chances(m) for m, count in groups for _ in range(count)]
    laws = {
        data: number_of_ones(range(4), [rate[x] for rate, x in zip(rates, data, strict=True)])
        for data in itertools.product((0, 1), repeat=4)
    }
    for victim, users in ((None, range(4)), (1, (2, 3))):
        crowd = sd.shuffle(groups=groups, victim=victim, changed=2)
        a, worst = arb(epsilon).exp(), arb(0)
        for x, y in itertools.product(laws, repeat=2):
            differ = [i for i in range(4) if x[i] != y[i]]
            if len(differ) <= 2 and set(differ) <= set(users):
                worst = arb.max(worst, hockey(laws[x], laws[y], a))
        bound = crowd.delta(epsilon=epsilon)
        assert arb(bound.lower) <= worst <= arb(bound.upper)
        assert bound.relation == together(2, crowd.seen.relation)
