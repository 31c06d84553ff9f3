"""The verifier's bound with one distinguished gain: against enumeration, and each of its parts."""

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest

import shuffledp as sd
from shuffledp.arithmetic.balls import arb, ctx
from shuffledp.ball.alone import (
    _Free,
    _Laws,
    _log_bound,
    _melting,
    _raised,
    _split,
    log_delta_alone,
)
from shuffledp.ball.moments import Few, Spread
from shuffledp.ball.spans import _factor, noise_on
from shuffledp.ball.stealing import tilted
from shuffledp.errors import NotCertified, ParameterError

# ------------------------------------------------------------------- F itself, by enumeration


def exact_f(common, laws):
    """F(c; d) = int_0^1 int (x)_+ c * prod (u c + d_i) du, by expanding the product."""
    total = 0.0
    marked = [[(m, x, 1) for m, x in common] + [(m, x, 0) for m, x in law] for law in laws]
    for (mass, gain), *rest in itertools.product(common, *marked):
        weight = mass * math.prod(m for m, _, _ in rest)
        largest = max(gain + sum(x for _, x, _ in rest), 0.0)
        total += weight * largest / (1 + sum(joined for _, _, joined in rest))
    return total


def random_laws(rng):
    """A reservoir and two or three types with left-over; some gains are large and rare."""
    share = rng.uniform(0.05, 0.5)
    common = [(0.9 * share, -1.0), (0.1 * share, rng.uniform(0.0, 6.0))]
    types = []
    for _ in range(rng.randint(2, 3)):
        rare = rng.choice([0.0, 0.002, 0.02, 0.1])
        parts = [0.7, 0.2, rare]
        scale = rng.uniform(0.7, 1.0) * (1.0 - share) / sum(parts)
        gains = [-rng.uniform(0.3, 2.0), rng.uniform(0.0, 1.0), rng.uniform(2.0, 9.0)]
        law = [(scale * m, x) for m, x in zip(parts, gains, strict=True)]
        types.append([*law, (1.0 - share - sum(m for m, _ in law), 0.0)])
    return common, types


def random_numbers(rng):
    """Any numbers for gains up to 9."""

    def tilts(k):
        return tuple(math.exp(rng.uniform(-3.0, 0.3)) for _ in range(k))

    split = [rng.choice([0.0, 0.5, 2.0, 5.0]), rng.uniform(1.0, 12.0), rng.choice([0.5, 1.5, 50.0])]
    half = arb("0.5")
    return _Free(
        half, half, *map(arb, split), *tilts(1), math.exp(rng.uniform(-2.5, -0.5)),
        tilts(rng.randint(1, 4)), tilts(rng.randint(0, 4)),
    )  # fmt: skip


def ball_bound(common, types, at, n, paid=0.0):
    with ctx.workprec(128):
        laws = [[(arb(m), arb(x)) for m, x in law] for law in (common, *types)]
        mass = sum((m for m, _ in laws[0]), arb(0))
        empty = (1 - mass) ** (n - 2)
        first, *rest = [_split(law, at) for law in laws]
        return _log_bound(_Laws(first, rest, empty, arb(paid)), at, n)


def check(rng, settings):
    common, types = random_laws(rng)
    n = rng.randint(3, 5)
    held = itertools.combinations_with_replacement(types, n - 1)
    truth = math.log(max(exact_f(common, list(laws)) for laws in held))
    found = []
    for _ in range(settings):
        at = random_numbers(rng)
        if rng.random() < 0.5:
            some = tuple(rng.uniform(0.1, 0.8) for _ in range(4))
            at = at._replace(alpha=some[0], forward=some, backward=some, smooth=0.1, floor=arb(50))
        value = ball_bound(common, types, at, n)
        assert truth <= value + 1e-12, (common, types, at, n)
        found.append(value - truth)
    return found


def test_above_f_for_every_data_set():
    rng = random.Random(1)
    found = [gap for _ in range(6) for gap in check(rng, 3)]
    assert 0.0 <= min(found) < 0.6


@pytest.mark.long
def test_above_f_for_every_data_set_many():
    rng = random.Random(2)
    assert len([gap for _ in range(500) for gap in check(rng, 8)]) == 4_000


TILTS = tuple(np.exp(np.linspace(-7.0, 1.0, 17)).tolist())
FEW = TILTS[1::4]


def one_jump(**changes):
    """The bound for a rare large gain among users who lose 1 each."""
    n, gain, rare = 101, 400.0, 1e-5
    common = [(0.1, -1.0)]
    law = [(0.9 - rare, -1.0), (rare, gain)]
    half = arb("0.5")
    at = _Free(half, half, arb(10), arb(300), arb(5), 0.5, 0.1, TILTS[:14], TILTS)
    paid = changes.pop("paid", 0.0)
    return math.exp(ball_bound(common, [law], at._replace(**changes), n, paid))


def test_one_jump_is_exact_but_for_little():
    exact = 1e-5 * (400.0 - 100.0)
    assert exact * (1.0 - 1e-3) <= one_jump() <= 1.01 * exact


def test_two_types_with_as_many_jumps():
    """One loses 0.8 in place of 1: all others may hold it."""
    rare = 1e-5
    types = [[(0.9 - rare, -loss), (rare, 400.0)] for loss in (1.0, 0.8)]
    half = arb("0.5")
    at = _Free(half, half, arb(10), arb(300), arb(5), 0.5, 0.1, TILTS[:14], TILTS)
    found = math.exp(ball_bound([(0.1, -0.8)], types, at, 101))
    exact = 1e-5 * (400.0 - 80.0)
    assert exact * (1.0 - 1e-3) <= found <= 1.01 * exact


def test_one_jump_of_the_reservoir():
    rare = 1e-5
    half = arb("0.5")
    at = _Free(half, half, arb(10), arb(300), arb(5), 0.5, 0.1, TILTS[:14], TILTS)
    found = math.exp(ball_bound([(0.1 - rare, -1.0), (rare, 400.0)], [[(0.9, -1.0)]], at, 101))
    exact = 1e-5 * 100 * (400.0 - 100.0) / 100
    assert exact * (1.0 - 1e-3) <= found <= 1.01 * exact


def test_each_part_counts():
    plain = one_jump(forward=FEW[:2], backward=FEW)
    # Cut at almost nothing, the others' jumps are paid by their overshoot instead.
    assert one_jump(forward=FEW[:2], backward=FEW, ceiling=arb(1e-3)) >= plain * (1.0 - 1e-6)
    assert one_jump(forward=FEW[:2], backward=FEW, floor=arb(0.5)) > 1.1 * plain
    assert one_jump(forward=FEW[:2], backward=FEW, paid=0.25) >= 0.25 + 0.99 * plain
    assert one_jump(forward=FEW[:2], backward=()) > plain


# ------------------------------------------------------------------------ sums with few nodes


def random_law(rng, mass):
    gains = [rng.gauss(-0.1, 1.0) for _ in range(rng.randint(2, 12))]
    if rng.random() < 0.5:
        gains.append(rng.uniform(2.0, 40.0))
    weights = [rng.random() * math.exp(-max(x, 0.0)) + 1e-9 for x in gains]
    return [(mass * w / sum(weights), x) for w, x in zip(weights, gains, strict=True)]


def log_j(common, law, n, alpha, h):
    """log of ((c0 + d0)^n/n) (1/2 pi) int psi^n w in floats; None where the step is too long."""
    tilt = [np.array([(m * math.exp(alpha * x), x) for m, x in one]) for one in (common, law)]
    c0, d0 = (float(one[:, 0].sum()) for one in tilt)
    spread = math.sqrt(n * max(float((one[:, 0] * one[:, 1] ** 2).sum()) for one in tilt)) + alpha
    t = np.linspace(0.0, 7.0 / h, 40_001)
    if t[1] * spread > 0.35 or t[1] > 0.25 * alpha:
        return None
    squares = [
        abs(np.exp(1j * t[:, None] * one[:, 1]) @ one[:, 0]) ** 2 / float(one[:, 0].sum()) ** 2
        for one in tilt
    ]
    psi = (c0 * (1 + squares[0]) + d0 * (1 + squares[1])) / (2 * (c0 + d0))
    terms = psi**n * np.exp(h * h * (alpha**2 - t * t) / 2) / (alpha**2 + t * t)
    integral = (terms.sum() - 0.5 * terms[0]) * t[1] / math.pi
    return n * math.log(c0 + d0) - math.log(n) + math.log(integral)


def test_sums_with_few_nodes_are_above_the_integral_and_sharp():
    rng = random.Random(5)
    sharp = rough = 0
    for _ in range(30):
        n = round(math.exp(rng.uniform(math.log(200.0), math.log(3e4))))
        share = math.exp(rng.uniform(-5.0, -1.0))
        common, law = random_law(rng, share), random_law(rng, 1.0 - share)
        scale = 1.0 / math.sqrt(n)
        common = [(m, x) for m, x in common]
        alpha = math.exp(rng.uniform(-0.5, 1.5)) * scale
        h = 0.25 / alpha
        true = log_j(common, law, n, alpha, h)
        if true is None:
            continue
        with ctx.workprec(128):
            first, second = (
                tilted([(arb(m), arb(x)) for m, x in one], alpha) for one in (common, law)
            )
            few = Few(first, n, alpha=alpha, smoothing=h, step=0.3 * alpha)
            values = few.sharp(Spread(second)), few.by_moments(Spread(second))
        # Another smoothing may give the moments' bound e^{(h alpha)^2/2} less.
        assert values[0] >= true - 1e-9
        assert values[1] >= true - (h * alpha) ** 2 / 2 - 1e-9
        sharp += values[0] <= true + 1e-3
        rough += values[1] <= true + 0.2
    assert sharp >= 8
    assert rough >= 8


# ------------------------------------------------------------------------ covers and arguments


@pytest.mark.parametrize("row", [0, 1, 2])
def test_covers_lie_on_the_right_side_of_every_place(row):
    """f_v >= sum of weights k_j f_{v_j} (x1 and x), f_u <= sum of weights k_j f_{u_j} (x0)."""
    rng = random.Random(row)
    with ctx.workprec(128):
        noise = noise_on({"name": "gaussian", "sigma": 0.7, "low": 0.0, "high": 1.0}, -20.0)
        for _ in range(60):
            low = Fraction(rng.randrange(64), 64)
            high = min(low + Fraction(rng.randint(1, 20), 64), Fraction(1))
            h, share = high - low, Fraction(rng.randrange(17), 16)
            bend = _raised(noise, h) if row == 0 else _melting(row, h)
            place = (1 - share) * low + share * high
            left = Fraction(rng.randrange(-200, 200), 64)
            right = left + Fraction(1, 64)
            cell = (left, right)
            ends = arb(left.numerator) / left.denominator, arb(right.numerator) / right.denominator
            if any(left < at < right for at in (low, high, place)):
                continue
            chord = sum(
                weight * _factor(bend, row, at, cell, noise) * between(noise, ball(at), *ends)
                for weight, at in ((ball(1 - share), low), (ball(share), high))
            )
            true = between(noise, ball(place), *ends)
            slack = true * arb(2) ** -60
            assert true <= chord + slack if row == 0 else chord <= true + slack


def ball(x):
    return arb(x.numerator) / x.denominator


def between(noise, x, left, right):
    """Mass that noise around x has from left to right; x is not inside."""
    if left < x:
        left, right = 2 * x - right, 2 * x - left
    return noise.beyond(left - x) - noise.beyond(right - x)


def honest(sigma=0.7, n=10_000, epsilon=0.158):
    """Noise with the numbers of a claim at eps."""
    randomizer = sd.Gaussian(sigma=sigma)
    account = sd.shuffle(randomizer, n=n)
    bound = account.delta(epsilon=epsilon, analysis="lone-jump")
    truth = account.delta(epsilon=epsilon, analysis="dataset").log_lower
    return randomizer.to_dict(), bound.witness["upper"]["alone"], bound.log_upper, truth


def test_any_numbers_bound_the_truth_from_above():
    numbers = {
        "kappa": 0.0042, "theta": 0.0026, "start": 828.0, "ceiling": 855.0, "floor": 30.0,
        "alpha": 0.01, "smooth": 0.2, "forward": [0.003, 0.008], "backward": [0.02],
        "second": [0.0, 0.1, 1.0], "first": [0.0, 0.8, 1.0], "others": [0.0, 0.1, 1.0],
    }  # fmt: skip
    randomizer = sd.Gaussian(sigma=0.7)
    truth = sd.shuffle(randomizer, n=10_000).delta(epsilon=0.158, analysis="dataset").log_lower
    assert truth < log_delta_alone(randomizer.to_dict(), numbers, n=10_000, epsilon=0.158)


@pytest.mark.long
@pytest.mark.parametrize(
    ("sigma", "n", "epsilon", "finer"), [(0.7, 10_000, 0.158, 1), (1.0, 100_000, 0.0135, 2)]
)
def test_what_is_claimed_is_recomputed(sigma, n, epsilon, finer):
    """Among many users cells cost more than smoothing leaves: then in finer ones."""
    mechanism, numbers, claimed, truth = honest(sigma, n, epsilon)
    found = log_delta_alone(mechanism, numbers, n=n, epsilon=epsilon, guess=claimed, finer=finer)
    assert truth < found
    assert claimed - 0.01 <= found <= claimed


@pytest.mark.long
def test_coarse_covers_only_add():
    mechanism, numbers, claimed, truth = honest()
    coarse = {key: [*numbers[key][:-1:9], 1.0] for key in ("second", "first", "others")}
    few = {"forward": numbers["forward"][::3], "backward": numbers["backward"][::3]}
    found = log_delta_alone(
        mechanism, numbers | coarse | few, n=10_000, epsilon=0.158, guess=claimed
    )
    assert truth < claimed < found


@pytest.mark.parametrize(
    "change",
    [
        {"kappa": 0.0},
        {"kappa": 1.0},
        {"theta": 1.5},
        {"alpha": 0.0},
        {"smooth": math.nan},
        {"ceiling": -1.0},
        {"start": "a"},
        {"floor": True},
        {"forward": []},
        {"forward": [0.0]},
        {"backward": [1.0] * 61},
        {"second": [0.0]},
        {"second": [0.0, 0.5, 0.5, 1.0]},
        {"first": [0.1, 1.0]},
        {"others": [0.0, 0.9]},
        {"others": None},
    ],
)
def test_numbers_out_of_range(change):
    numbers = {
        "kappa": 0.1, "theta": 0.1, "start": 1.0, "ceiling": 2.0, "floor": 1.0, "alpha": 1.0,
        "smooth": 0.1, "forward": [1.0], "backward": [], "second": [0.0, 1.0],
        "first": [0.0, 1.0], "others": [0.0, 1.0],
    } | change  # fmt: skip
    mechanism = sd.Gaussian(sigma=0.7).to_dict()
    with pytest.raises(ParameterError, match=next(iter(change))):
        log_delta_alone(mechanism, numbers, n=100, epsilon=0.1)


def test_only_normal_noise_among_three_or_more():
    with pytest.raises(NotCertified, match="laplace"):
        log_delta_alone(sd.Laplace(eps0=1.0).to_dict(), {}, n=100, epsilon=0.1)
    with pytest.raises(ParameterError, match="three users"):
        log_delta_alone(sd.Gaussian(sigma=1.0).to_dict(), {}, n=2, epsilon=0.1)
    with pytest.raises(ParameterError, match="epsilon"):
        log_delta_alone(sd.Gaussian(sigma=1.0).to_dict(), {}, n=20, epsilon=-0.1)
