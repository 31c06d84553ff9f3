"""Several users changed at once, of sums and of crowds: every pair of data sets."""

import itertools
import math
import random

import pytest
from flint import arb, ctx

import shuffledp as sd
from shuffledp.ball.bits import Bit, Bits
from shuffledp.bounds.several_bits import log_threshold
from shuffledp.errors import NotCertified, ParameterError
from shuffledp.neighbours.widened import Together
from views.test_added import Exact, random_noise
from views.test_sums import chances, number_of_ones, vectors


@pytest.fixture(autouse=True)
def many_bits():
    before, ctx.prec = ctx.prec, 200
    yield
    ctx.prec = before


def rates_of(mechanism):
    if isinstance(mechanism, sd.BinaryRR):
        grow = arb(mechanism.eps0).exp()
        return 1 / (grow + 1), grow / (grow + 1)
    if isinstance(mechanism, sd.Channel):
        return [arb(row[1]) / (arb(row[0]) + arb(row[1])) for row in mechanism.matrix]
    return chances(mechanism)


class All:
    """The largest divergence of data sets that differ in up to k users, by the printed relation."""

    def __init__(self, view):
        one = view.seen
        self.view, self.rates, self.rest = view, rates_of(one.mechanism), arb(0)
        self.noisy = None if one.added is None else Exact(view)
        d = one.count
        self.values = [(0,), (1,)] if d == 1 else vectors(d, one.ones)
        self.zero = (0,) * d
        self.special = one.relation.key == "replace-special"
        self.known = {}

    def law(self, users):
        key = tuple(sorted(users))
        if key not in self.known:
            if self.noisy is not None:
                self.known[key] = self.noisy._laws(users)
            else:
                laws = [number_of_ones(c, self.rates) for c in zip(*users, strict=True)]
                self.known[key] = [math.prod(m, start=arb(1)) for m in itertools.product(*laws)]
        return self.known[key]

    def steps(self, v):
        """What one user who holds v may hold in the other data set."""
        if not self.special:
            return self.values
        return [v, self.zero] if v != self.zero else [*self.values, self.zero]

    def __call__(self, *epsilons):
        k, n = self.view.changed, self.view.n
        values = [*self.values, self.zero] if self.special else self.values
        worst = [arb(0)] * len(epsilons)
        for others in itertools.combinations_with_replacement(self.values, n - k):
            for first in itertools.combinations_with_replacement(values, k):
                for second in itertools.product(*map(self.steps, first)):
                    p, q = self.law((*first, *others)), self.law((*second, *others))
                    for i, epsilon in enumerate(epsilons):
                        a = arb(epsilon).exp()
                        gains = [x - a * y for x, y in zip(p, q, strict=True)]
                        worst[i] = arb.max(worst[i], sum((g for g in gains if g > 0), arb(0)))
        cut = arb(0) if self.noisy is None else self.view.seen.count * self.noisy.rest
        return [
            ((x - arb(e).exp() * cut).lower(), (x + cut).upper())
            for x, e in zip(worst, epsilons, strict=True)
        ]


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
    for epsilon, (low, high) in zip(epsilons, All(view)(*epsilons), strict=True):
        bound = view.delta(epsilon=epsilon)
        assert arb(bound.lower) <= high
        assert arb(bound.upper) >= low
        assert bound.relation == Together(changed, view.seen.relation)
        assert bound.assumptions[0] == bound.relation.sentence


def test_eps_of_both_ends_against_the_truth():
    view = sd.shuffle(sd.BinaryRR(eps0=2.0), 4, view="sums", changed=2)
    bound = view.epsilon(delta=0.05)
    (_, below), (above, _) = All(view)(bound.lower, bound.upper)
    assert below >= 0.05
    assert above <= 0.05
    one = sd.shuffle(sd.BinaryRR(eps0=2.0), 4, view="sums").epsilon(delta=0.05)
    assert one.upper < bound.lower


@pytest.mark.parametrize("seed", range(25))
def test_thresholds_are_below_the_divergence_of_their_data_sets(seed):
    rng = random.Random(seed)
    p, q = sorted((rng.random(), rng.choice([0.0, rng.random()])), reverse=True)
    rates = [arb(q), arb(p)]
    bits = Bits((0, 1), lambda x: Bit(1 - arb((q, p)[x]), arb((q, p)[x])), mirrored=False)
    high, low, changed = rng.randrange(4), rng.randrange(4), rng.randint(1, 3)
    noise = random_noise(rng, high=0.5) if rng.random() < 0.5 else None
    times = rng.randint(1, 2)
    epsilon = rng.choice([0.0, rng.uniform(0, 1), rng.uniform(0, 4)])
    log = log_threshold(
        bits,
        epsilon,
        high=high,
        low=low,
        changed=changed,
        noise=None if noise is None else noise.law,
        times=times,
    )
    laws = [
        number_of_ones((1,) * a + (0,) * b, rates)
        for a, b in ((high + changed, low), (high, low + changed))
    ]
    rest = arb(0)
    if noise is not None:
        view = sd.shuffle(sd.BinaryRR(eps0=1.0), 1, view="sums", added=noise)
        exact = Exact(view)
        for _ in range(times):
            laws = [
                [
                    sum((law[i] * exact.noise[k - i] for i in range(len(law))
                         if 0 <= k - i < len(exact.noise)), arb(0))
                    for k in range(len(law) + len(exact.noise) - 1)
                ]
                for law in laws
            ]  # fmt: skip
        rest = times * exact.rest
    a = arb(epsilon).exp()
    truth = [
        sum((g for g in (x - a * y for x, y in zip(*pair, strict=True)) if g > 0), arb(0))
        for pair in (laws, laws[::-1])
    ]
    if log > -math.inf:
        assert arb(log).exp() <= arb.max(*truth) + rest
    # The likelihood ratio is monotone: a threshold is the best test, but for what noise cuts.
    if arb.max(*truth) > 1e-6:
        assert math.exp(log) >= float(arb.max(*truth).mid()) * (1 - 1e-6)


def test_of_many_users_the_ends_are_close():
    view = sd.shuffle(sd.BinaryRR(eps0=2.0), 300, view="sums", changed=4)
    bound = view.epsilon(delta=1e-6)
    assert bound.lower <= bound.upper <= 1.02 * bound.lower
    messages = sd.shuffle(sd.BinaryRR(eps0=2.0), 300, changed=4).epsilon(delta=1e-6)
    assert messages.lower <= bound.upper
    assert bound.lower <= messages.upper


def test_normal_noise_is_that_of_a_range_as_many_times_as_wide():
    view = sd.shuffle(sd.Gaussian(sigma=3.0, low=-1.0, high=1.0), 50, view="sums", changed=4)
    wide = sd.shuffle(sd.Gaussian(sigma=3.0, low=-4.0, high=4.0), 50, view="sums")
    found, exact = view.epsilon(delta=1e-6), wide.epsilon(delta=1e-6)
    assert found.lower <= exact.upper
    assert exact.lower <= found.upper
    assert found.upper == pytest.approx(exact.upper, rel=1e-3)
    assert "in [-1, 1]" in " ".join(found.assumptions)


def test_a_crowd_of_one_mechanism_is_that_mechanism():
    """All groups alike: every pair of data sets is one of its own, enumerated as sums of bits."""
    bit = sd.BinaryRR(eps0=2.0)
    crowd = sd.shuffle(groups=[(bit, 2), (bit, 2)], changed=2)
    truth = All(sd.shuffle(bit, 4, view="sums", changed=2))
    for epsilon, (low, high) in zip((0.2, 1.0), truth(0.2, 1.0), strict=True):
        bound = crowd.delta(epsilon=epsilon)
        assert arb(bound.upper) >= low
        assert arb(bound.lower) <= high


def test_a_crowd_of_two_kinds_against_every_pair():
    groups = [(sd.BinaryRR(eps0=1.0), 2), (sd.BinaryRR(eps0=3.0), 2)]
    rates = [rates_of(m) for m, count in groups for _ in range(count)]

    def law(data):
        masses = [arb(1)]
        for rate, value in zip(rates, data, strict=True):
            one = rate[value]
            masses = [
                (masses[k] * (1 - one) if k < len(masses) else arb(0))
                + (masses[k - 1] * one if k else arb(0))
                for k in range(len(masses) + 1)
            ]
        return masses

    laws = {data: law(data) for data in itertools.product((0, 1), repeat=4)}
    for victim, users in ((None, range(4)), (1, (2, 3))):
        crowd = sd.shuffle(groups=groups, victim=victim, changed=2)
        for epsilon in (0.3, 1.5):
            a, worst = arb(epsilon).exp(), arb(0)
            for x, y in itertools.product(laws, repeat=2):
                differ = [i for i in range(4) if x[i] != y[i]]
                if len(differ) <= 2 and set(differ) <= set(users):
                    gains = [p - a * q for p, q in zip(laws[x], laws[y], strict=True)]
                    worst = arb.max(worst, sum((g for g in gains if g > 0), arb(0)))
            bound = crowd.delta(epsilon=epsilon)
            assert arb(bound.lower) <= worst <= arb(bound.upper)
            assert bound.relation == Together(2, crowd.seen.relation)


def test_what_is_refused():
    bits = sd.RAPPOR(d=3, eps0=2.0)
    with pytest.raises(ParameterError, match="changed = 9"):
        sd.shuffle(bits, 5, view="sums", changed=9)
    with pytest.raises(NotCertified, match="changed = 2: wanted 1"):
        sd.shuffle(bits, 1, view="sums", changed=2)
    with pytest.raises(ParameterError, match="changed = 1001"):
        sd.shuffle(bits, 5_000, view="sums", changed=1_001)
    groups = [(sd.BinaryRR(eps0=1.0), 2), (sd.BinaryRR(eps0=3.0), 5)]
    with pytest.raises(ParameterError, match="changed = 3: wanted a whole number from 1 to 2"):
        sd.shuffle(groups=groups, victim=0, changed=3)
    with pytest.raises(NotCertified, match="trust"):
        sd.shuffle(groups=groups, trust="published", changed=2)
    with pytest.raises(NotCertified, match="rounds = 2"):
        sd.shuffle(groups=groups, changed=2).compose(rounds=2)
    with pytest.raises(ParameterError, match="n = 5: wanted"):
        sd.shuffle(groups=groups, changed=2).with_n(5)
    twice = sd.shuffle(sd.BinaryRR(eps0=2.0), 9, view="sums", changed=2).compose(rounds=2)
    assert twice.rounds == 2
    assert twice.with_n(12).n == 12
