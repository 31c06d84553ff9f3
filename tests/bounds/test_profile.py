"""Profiles of pairs against the definition, in fractions; and the way back from delta to eps."""

import math
import random
from fractions import Fraction

import pytest
from flint import arb, ctx
from tests.kernel.oracle import outcomes

import shuffledp as sd
from shuffledp.laws.pairs import blanket_pair, dataset_pair
from shuffledp.propose.inverse import lower_epsilon, upper_epsilon
from shuffledp.propose.profile import Profile
from shuffledp.propose.solve import Root, Value, certified


def channel(seed, inputs, outputs):
    """A random channel with exact rows, some of them with zeros."""
    rng = random.Random(seed)
    rows = []
    for _ in range(inputs):
        row = [rng.choice((0, 1, 1, 2, 3, 5)) for _ in range(outputs)]
        row[rng.randrange(outputs)] += 1
        rows.append([x / sum(row) for x in row])
    exact = [[Fraction(x) for x in row] for row in rows]
    # The channel meant is each row divided by its exact sum.
    return sd.Channel(matrix=rows), [[x / sum(row) for x in row] for row in exact]


def delta(reference, p, q, n, eps):
    """From the definition: E of the positive part of a sum of n gains over n, and the rest."""
    a = Fraction(math.exp(eps))
    left = 1 - sum(reference)
    law = [(w, (x - a * y) / w) for w, x, y in zip(reference, p, q, strict=True) if w]
    law += [(left, Fraction(0))] if left else []
    seen = sum(max(x - a * y, 0) for w, x, y in zip(reference, p, q, strict=True) if not w)
    return sum(m * max(s, 0) for s, m in outcomes(law, n).items()) / n + seen


def pairs_of(seed):
    rng = random.Random(seed)
    inputs, n = rng.randint(2, 4), rng.randint(1, 5)
    table, rows = channel(seed, inputs, rng.randint(2, 4))
    x0, x1 = rng.sample(range(inputs), 2)
    x2 = rng.randrange(inputs)
    least = [min(column) for column in zip(*rows, strict=True)]
    return [
        (blanket_pair(table, x0, x1, n=n), least, rows[x0], rows[x1], n),
        (dataset_pair(table, x0, x1, x2, n=n).swap(), rows[x2], rows[x1], rows[x0], n),
    ]


@pytest.mark.many(4)
@pytest.mark.parametrize("seed", range(10))
def test_log_delta(seed, monkeypatch):
    if seed % 2:
        # The contour in place of sums over counts.
        monkeypatch.setattr("shuffledp.propose.profile._FEW_COUNTS", 0)
        monkeypatch.setattr("shuffledp.propose.profile._DIRECT", 0.0)
    rng = random.Random(seed)
    for pair, reference, p, q, n in pairs_of(seed):
        profile = Profile(pair)
        for eps in (0.0, rng.uniform(0.0, 2.0)):
            truth = float(delta(reference, p, q, n, eps))
            found = profile.log_delta(eps, width=1e-6)
            assert math.exp(found.low) <= truth * (1 + 1e-12) + 1e-300
            assert math.exp(found.high) >= truth * (1 - 1e-12)
            if truth > 1e-15:
                # A contour among few users may be too long to be that narrow.
                assert found.width <= (1e-3 if seed % 2 else 5e-6)
                assert profile.rough_log_delta(eps) == pytest.approx(math.log(truth), abs=1e-2)
            assert math.exp(profile.log_floor()) <= truth + 1e-300


@pytest.mark.many(4)
@pytest.mark.parametrize("seed", range(12))
def test_epsilon(seed):
    target = 10 ** random.Random(seed).uniform(-4, -0.3)
    for pair, reference, p, q, n in pairs_of(seed):

        def value(eps, law=(reference, p, q, n)):
            return float(delta(*law, eps))

        ratios = [x / y for x, y in zip(p, q, strict=True) if y and x]
        ends = [y == 0 and x > 0 for x, y in zip(p, q, strict=True)]
        cap = math.inf if any(ends) else math.log(float(max(*ratios, 1))) * (1 + 1e-12) + 1e-9
        asked = {"cap": cap, "rtol": 1e-6}
        high = upper_epsilon([Profile(pair)], math.log(target), **asked).high
        low = lower_epsilon([Profile(pair)], math.log(target), **asked).low
        if high < math.inf:
            assert value(high) <= target * (1 + 1e-12)
        if 0.0 < high < min(cap, 300.0):
            assert value(high * (1 - 2e-6)) >= target
        assert low == 0.0 or value(low) >= target * (1 - 1e-12)
        if value(0.0) > target * 1.01:
            assert low * (1 + 2e-6) >= min(high, 300.0) or value(low * (1 + 3e-6)) <= target


@pytest.mark.many(6)
@pytest.mark.parametrize("n", [3, 1000, 10**5, 10**9, 10**12])
@pytest.mark.parametrize("delta", [0.1, 1e-6, 1e-30, 1e-100])
def test_both_ends_meet_for_k_rr(n, delta):
    table = sd.KRR(k=5, eps0=2.0)
    profiles = [Profile(dataset_pair(table, 0, 1, 2, n=n))]
    asked = {"cap": 2.0, "rtol": 1e-6}
    high = upper_epsilon(profiles, math.log(delta), **asked)
    low = lower_epsilon(profiles, math.log(delta), **asked)
    assert low.low <= high.high <= low.low * (1 + 2e-6)
    for end, at in ((high, high.high), (low, low.low)):
        assert 0.0 <= end.high - end.low <= 2e-6 * at


def test_all_curves_count_above_and_one_below():
    table = sd.Channel(matrix=[[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.3, 0.3, 0.4]])
    asked = {"cap": math.log(4.0), "rtol": 1e-6}
    profiles = [
        Profile(blanket_pair(table, x0, x1, n=1000))
        for x0 in range(3)
        for x1 in range(3)
        if x0 != x1
    ]
    target = math.log(1e-6)
    alone = [upper_epsilon([p], target, **asked).high for p in profiles]
    for order in (1, -1):
        high = upper_epsilon(profiles[::order], target, **asked)
        assert high.high == pytest.approx(max(alone), rel=1e-6)
        assert profiles[::order][high.which].log_delta(high.high, width=1e-7).high <= target
        low = lower_epsilon(profiles[::order], target, **asked)
        assert low.low == pytest.approx(max(alone), rel=2e-6)


def test_outputs_seen_for_sure():
    table = sd.Channel(matrix=[[0.5, 0.25, 0.25], [0.0, 0.5, 0.5], [0.0, 0.25, 0.75]])
    profile = Profile(blanket_pair(table, 0, 1, n=50))
    assert profile.log_floor() == pytest.approx(math.log(0.5), abs=1e-12)
    assert profile.log_floor() <= math.log(0.5)
    found = upper_epsilon([profile], math.log(0.1), cap=math.inf, rtol=1e-6)
    assert found.high == math.inf


def test_several_rare_draws_decide():
    """26 of 10^4 users have to send one of two outputs of probability 1e-5: a multinomial sum."""
    n, eps = 10**4, 1.7e-3
    pair = dataset_pair(sd.KRR(k=10**5, eps0=0.5), 0, 1, 1, n=n)
    with ctx.workprec(200):
        keep, move = arb(0.5).exp() / (arb(0.5).exp() + 99_999), 1 / (arb(0.5).exp() + 99_999)
        up, down = keep / move - arb(eps).exp(), 1 - arb(eps).exp()  # of output 0, of all others
        low = move / keep - arb(eps).exp()  # of output 1
        usual = 1 - keep - move
        exact = sum(
            arb(n).fac() / arb(j).fac() / arb(k).fac() / arb(n - j - k).fac()
            * move**j * keep**k * usual ** (n - j - k)
            * (j * up + k * low + (n - j - k) * down).nonnegative_part()
            for j in range(20, 60) for k in range(40)
        ) / n  # fmt: skip
        truth = float(exact.log().mid())
    found = Profile(pair).log_delta(eps, width=1e-3)
    assert found.low <= truth <= found.high
    assert found.width < 4e-3


class JumpingEstimate(Profile):
    """An estimate that falls from far above to far below the target at one eps."""

    jump: float

    def rough_log_delta(self, epsilon):
        return -5.0 if epsilon < self.jump else -30.0


@pytest.mark.parametrize("jump", [0.3, 0.7])
def test_an_estimate_that_jumps_does_not_end_the_search(monkeypatch, jump):
    monkeypatch.setattr(JumpingEstimate, "jump", jump, raising=False)
    pair, asked = blanket_pair(sd.KRR(k=5, eps0=2.0), 0, 1, n=1000), {"cap": 2.0, "rtol": 1e-6}
    for solver, end in ((upper_epsilon, "high"), (lower_epsilon, "low")):
        misled, true = (
            getattr(solver([made(pair)], math.log(1e-6), **asked), end)
            for made in (JumpingEstimate, Profile)
        )
        assert misled == pytest.approx(true, rel=3e-6)


@pytest.mark.parametrize("epsilon", [0.1, 0.3, 0.5])
def test_estimates_where_single_large_gains_decide(epsilon):
    """One of 50 batches at noise 0.5: the estimate is not the trivial E G_+."""
    pair = dataset_pair(sd.Gaussian(sigma=0.5, low=0.0, high=2.0), 1.0, 0.0, 0.0, n=50)
    found = Profile(pair).log_delta(epsilon, width=0.05)
    assert Profile(pair).rough_log_delta(epsilon) == pytest.approx(found.high, abs=0.2)


@pytest.mark.parametrize("upper", [True, False])
def test_a_search_whose_slope_is_far_too_steep_still_moves(upper):
    """A slope learned from an estimate that jumps: steps by it alone would stay where they are."""
    asked, sign = [], 1.0 if upper else -1.0

    def certify(epsilon, near):
        asked.append(epsilon)
        return Value(-10.0 * math.log(epsilon / 2.0) - sign * 0.0247)

    met = certified(certify, 0.0, Root(2.0, -1e6), 30.0, upper=upper, rtol=1e-3)
    assert met is not None
    assert sign * met.value.log_delta <= 0.0
    assert abs(met.value.log_delta) < 0.0247
    assert len(asked) <= 8
