"""Sums with the aggregator's own noise, from the printed words: every pair of datasets.

The words that a bound prints name the law of the noise; what is enumerated here is read off them.
Noise is cut off where all that is left is below 1e-45, and what was cut is in the truth's bracket.
"""

import functools
import itertools
import math
import random
import re

import pytest
from flint import arb, ctx

import shuffledp as sd
from shuffledp.deployment import added as table
from shuffledp.errors import ParameterError
from shuffledp.views.noise import KINDS, LARGEST_SCALE, SMALLEST_SCALE
from views.test_sums import chances, number_of_ones, vectors

PRINTED = re.compile(
    r"the aggregator adds discrete (Laplace|Gaussian) noise z of its own, exactly with probability "
    r"proportional to exp\(-(\|z\|/|z\^2/\(2\*)([0-9.e+-]+?)(\^2\))?\);"
)


@pytest.fixture(autouse=True)
def many_bits():
    before, ctx.prec = ctx.prec, 260
    yield
    ctx.prec = before


def printed_noise(words):
    """Masses on -w .. w of the law that the assumptions print, and what is beyond them."""
    name, shape, size, _ = PRINTED.search(" ".join(words)).groups()
    laplace = shape == "|z|/"
    assert laplace == (name == "Laplace")
    scale, far = arb(float(size)), 120
    reach = math.ceil(float(size) * (far if laplace else math.sqrt(2 * far))) + 2
    weights = {
        z: (-(abs(z) / scale if laplace else arb(z) ** 2 / (2 * scale**2))).exp()
        for z in range(-reach, reach + 1)
    }
    # Ratios of neighbours only fall: at most a geometric series on either side.
    share = weights[reach] / weights[reach - 1]
    rest = 2 * weights[reach] * share / (1 - share)
    total = sum(weights.values(), arb(0)) + arb(rest.upper() / 2, rest.upper() / 2)
    return [w / total for w in weights.values()], (rest / total).upper()


def convolved(first, second):
    found = [arb(0)] * (len(first) + len(second) - 1)
    for i, x in enumerate(first):
        for j, y in enumerate(second):
            found[i + j] += x * y
    return found


class Exact:
    """The largest divergence of any two neighbouring datasets, by the printed assumptions."""

    def __init__(self, view):
        self.view, self.rates = view, chances_of(view.source)
        self.noise, self.rest = printed_noise(view.seen.assumptions())
        self.column = functools.lru_cache(None)(self._column)

    def _column(self, column):
        return convolved(number_of_ones(column, self.rates), self.noise)

    def pairs(self):
        d = self.view.seen.count
        values = [(0,), (1,)] if d == 1 else vectors(d, self.view.seen.ones)
        zero = (0,) * d
        if self.view.relation.key == "replace-special":
            ones = [v for v in values if v != zero]
            return values, [(v, zero) for v in ones] + [(zero, v) for v in ones]
        return values, list(itertools.permutations(values, 2))

    def __call__(self, *epsilons):
        """Brackets of delta at each eps: the largest of all pairs in both orders."""
        values, pairs = self.pairs()
        worst = [arb(0)] * len(epsilons)
        for others in itertools.combinations_with_replacement(values, self.view.n - 1):
            for v, w in pairs:
                p, q = self._laws((v, *others)), self._laws((w, *others))
                for k, epsilon in enumerate(epsilons):
                    a = arb(epsilon).exp()
                    gains = [x - a * y for x, y in zip(p, q, strict=True)]
                    worst[k] = arb.max(worst[k], sum((g for g in gains if g > 0), arb(0)))
        # With what was cut of the noise an event's P - a Q is larger by P's part of it at the most,
        # and smaller by a times Q's.
        cut = self.view.seen.count * self.rest
        return [
            ((x - arb(epsilon).exp() * cut).lower(), (x + cut).upper())
            for x, epsilon in zip(worst, epsilons, strict=True)
        ]

    def _laws(self, users):
        laws = [self.column(tuple(sorted(c))) for c in zip(*users, strict=True)]
        return [math.prod(masses, start=arb(1)) for masses in itertools.product(*laws)]


def chances_of(mechanism):
    if isinstance(mechanism, sd.Channel):
        return [arb(row[1]) / (arb(row[0]) + arb(row[1])) for row in mechanism.matrix]
    if isinstance(mechanism, sd.BinaryRR):
        grow = arb(mechanism.eps0).exp()
        return 1 / (grow + 1), grow / (grow + 1)
    return chances(mechanism)


def random_noise(rng, *, high):
    return sd.AddedNoise(kind=rng.choice(KINDS), scale=math.exp(rng.uniform(-2.5, high)))


def random_bit(rng):
    if rng.random() < 0.4:
        return sd.BinaryRR(eps0=math.exp(rng.uniform(-2.0, 2.0)))
    low, high = sorted((rng.random(), rng.choice((0.5, 1.0, rng.random()))))
    return sd.Channel(((1.0 - low, low), (1.0 - high, high)))


def check(view, shares, *, also_epsilon):
    truth = Exact(view)
    top = min(view.source.eps0, 4.0) if view.seen.count == 1 else view.source.eps0
    epsilons = [share * top for share in shares]
    for epsilon, (low, high) in zip(epsilons, truth(*epsilons), strict=True):
        for found in (
            view.delta(epsilon=epsilon),
            view.seen.bound("delta", epsilon, recomputed=True),
        ):
            assert arb(found.lower) <= high, (view, epsilon, found.lower)
            assert low <= arb(found.upper), (view, epsilon, found.upper)
    if not also_epsilon or not high > 1e-12:
        return
    target = min(float(high.mid()), 0.5)
    ends = view.epsilon(delta=target)
    if math.isfinite(ends.upper):
        assert truth(ends.upper)[0][0] <= target, (view, target)
    assert truth(ends.lower)[0][1] >= target or ends.lower == 0.0, (view, target)


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(s, marks=pytest.mark.long) for s in range(1, 9))]
)
def test_one_noisy_bit_against_every_dataset(seed):
    rng = random.Random(f"noisy bit {seed}")
    for k in range(6 if seed == 0 else 25):
        view = sd.shuffle(
            random_bit(rng), rng.randint(1, 6), view="sums", added=random_noise(rng, high=1.0)
        )
        check(view, (0.0, 0.2, 0.8), also_epsilon=k % 4 == 0)


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(s, marks=pytest.mark.long) for s in range(1, 9))]
)
def test_noisy_vectors_against_every_pair_of_datasets(seed):
    rng = random.Random(f"noisy vectors {seed}")
    for _ in range(1 if seed == 0 else 5):
        make, ones = rng.choice((sd.RAPPOR, sd.OUE)), rng.choice((1, 2))
        view = sd.shuffle(
            make(d=2, eps0=math.exp(rng.uniform(-1.0, 1.5))),
            rng.randint(1, 3 if ones == 1 else 2),
            view="sums",
            ones=ones,
            relation=rng.choice(("replace-one", "replace-special")),
            added=random_noise(rng, high=-1.2),
        )
        check(view, (0.1, 0.6), also_epsilon=False)


def test_noise_alone_is_the_central_mechanism():
    """Of bits that are not randomized the sum moves by one: e^(-1/t) is all there is of it."""
    bits = sd.Channel(((1.0, 0.0), (0.0, 1.0)))
    laplace = sd.shuffle(
        bits, 50, view="sums", added=sd.AddedNoise(kind="discrete-laplace", scale=2.0)
    )
    r = math.exp(-0.5)
    # delta(eps) = (1 - e^eps r)/(1 + r) for a shift by one: P(z) > e^eps Q(z) on one side alone.
    for epsilon in (0.0, 0.2, 0.45):
        exactly = (1.0 - math.exp(epsilon) * r) / (1.0 + r)
        found = laplace.delta(epsilon=epsilon)
        # Ends are as near to each other as floats are: the formula is off by some of them.
        assert found.lower <= exactly * (1.0 + 1e-13)
        assert exactly * (1.0 - 1e-13) <= found.upper <= 1.01 * exactly
    assert laplace.epsilon(delta=1e-12).upper == pytest.approx(0.5, abs=1e-9)
    assert laplace.delta(epsilon=0.5 + 1e-9).upper == 0.0
    gaussian = sd.shuffle(
        bits, 50, view="sums", added=sd.AddedNoise(kind="discrete-gaussian", scale=5.0)
    )
    # Gaussian noise: P(z) > e^eps Q(z) beyond a threshold, summed as it is defined.
    weight = {z: math.exp(-z * z / 50.0) for z in range(-90, 91)}
    total, a = math.fsum(weight.values()), math.exp(0.5)
    exactly = math.fsum(max(weight[z - 1] - a * weight[z], 0.0) / total for z in range(-89, 91))
    found = gaussian.delta(epsilon=0.5)
    assert found.lower <= exactly * (1.0 + 1e-13)
    assert exactly * (1.0 - 1e-13) <= found.upper <= 1.01 * found.lower


def test_a_curve_far_out_is_never_trivial():
    """Deltas that no float holds: a bound of a smaller eps, never 1, and no lower end."""
    for kind in KINDS:
        noise = sd.AddedNoise(kind=kind, scale=500.0)
        view = sd.shuffle(sd.BinaryRR(eps0=3.0), 2000, view="sums", added=noise)
        seen = view.seen.of_all.curve.point(2.5, width=1e-2)
        assert seen.log_low <= seen.log_high < -200.0


def test_what_is_said_and_what_is_refused():
    noise = sd.AddedNoise(kind="discrete-laplace", scale=2)
    view = sd.shuffle(sd.BinaryRR(eps0=2.0), 10, view="sums", added=noise)
    found = view.epsilon(delta=1e-3)
    assert any("adds discrete Laplace noise" in words for words in found.assumptions)
    assert view != sd.shuffle(sd.BinaryRR(eps0=2.0), 10, view="sums")
    assert view.with_n(40).seen.added == view.compose(rounds=2).seen.added == noise
    rounds = view.compose(rounds=2).epsilon(delta=1e-3)
    assert rounds.upper > found.upper
    for make, words in (
        (lambda: sd.AddedNoise(kind="laplace", scale=1.0), "added.kind"),
        (lambda: sd.AddedNoise(kind="discrete-laplace", scale=0.0), "added.scale"),
        (lambda: sd.AddedNoise(kind="discrete-laplace", scale=math.nan), "added.scale"),
        (lambda: sd.shuffle(sd.BinaryRR(eps0=1.0), 9, added=noise), "view = "),
        (lambda: sd.shuffle(sd.BinaryRR(eps0=1.0), 9, view="sums", added=2.0), "added = 2.0"),
        (
            lambda: sd.shuffle(sd.Gaussian(sigma=1.0), 9, view="sums", added=noise),
            "none where numbers with normal noise",
        ),
    ):
        with pytest.raises(ParameterError, match=words):
            make()


def test_files_and_laws_have_the_same_limits():
    assert table.KINDS == KINDS
    assert (table.SMALLEST_SCALE, table.LARGEST_SCALE) == (SMALLEST_SCALE, LARGEST_SCALE)


@pytest.mark.parametrize(
    ("mechanism", "n", "scale", "ask"),
    [
        (sd.BinaryRR(eps0=0.001), 1, 0.5, {"epsilon": 0.001}),
        (sd.BinaryRR(eps0=0.001), 1, 0.5, {"delta": 1e-60}),
        pytest.param(
            sd.OUE(d=2, eps0=0.001),
            5,
            0.2,
            {"epsilon": 0.0005001249999947866},
            marks=pytest.mark.long,
        ),
        # Powers of the odds leave the floats: nothing is said there, and no warning raised.
        (sd.Channel(matrix=((1.0, 0.0), (0.0, 1.0))), 10, 0.25, {"delta": 1e-20}),
    ],
)
def test_questions_next_to_what_no_noise_allows(mechanism, n, scale, ask):
    added = sd.AddedNoise(kind="discrete-gaussian", scale=scale)
    account = sd.shuffle(mechanism, n, view="sums", added=added)
    found = account.delta(**ask) if "epsilon" in ask else account.epsilon(**ask)
    assert found.lower <= found.upper


BIT = sd.Channel(((1.0, 0.0), (0.0, 1.0)))


@pytest.mark.parametrize("scale", [0.05, 0.1, 0.3])
def test_the_central_mechanism_with_next_to_no_noise_has_both_ends(scale):
    """By hand: eps is 1/(2 scale^2) + log(1 - delta), less what is rarer by far."""
    noise = sd.AddedNoise(kind="discrete-gaussian", scale=scale)
    for n in (1, 1000):
        view = sd.shuffle(BIT, n, view="sums", added=noise)
        for delta in (1e-9, 1e-3) if scale < 0.2 else (1e-2,):
            bound = view.epsilon(delta=delta)
            hand = 0.5 / scale**2 + math.log1p(-delta)
            assert bound.lower <= hand + 0.05
            assert bound.upper >= hand - 0.05
            assert bound.upper < bound.lower * 1.002
        assert view.delta(epsilon=0.5 / scale**2 + 1.0).upper <= math.exp(-0.4 / scale**2)


def test_two_rounds_of_it_have_a_finite_end():
    noise = sd.AddedNoise(kind="discrete-gaussian", scale=0.1)
    view = sd.shuffle(BIT, 30, view="sums", added=noise).compose(rounds=2)
    bound = view.seen.bound("epsilon", 1e-6, recomputed=True)
    # Both rounds at once tell nearly all: their losses add up to 100.
    assert 95.0 < bound.lower <= bound.upper < 100.2


def test_nearly_everything_may_be_lost_and_the_end_is_that_of_the_law():
    noise = sd.AddedNoise(kind="discrete-laplace", scale=0.05)
    bound = sd.shuffle(BIT, 5, view="sums", added=noise).epsilon(delta=0.5)
    r = math.exp(-20.0)
    # (1 - r) - (e^eps - 1) r = delta (1 + r)
    assert bound.lower <= math.log1p((1 - r - 0.5 * (1 + r)) / r) <= bound.upper
    assert bound.upper < bound.lower * 1.01
