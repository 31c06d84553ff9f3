"""Rules so coarse that one error term decides: each must still be paid for in full, outward."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest

from divergence.oracle import assert_inside, ball, exponential, positive_part, truth
from shuffledp.bound import delta_from_log
from shuffledp.contour import ONE_ROUND, Rule, bracket, rule
from shuffledp.contour.stop import smoothed_away
from shuffledp.divergence import PairProfile
from shuffledp.divergence.enumeration import Enumeration
from shuffledp.divergence.gain import atom_gains
from shuffledp.divergence.positive_part import expected_positive_part
from shuffledp.divergence.tilt import find_tilt, log_moment
from shuffledp.pair import ShuffledPair
from strategies import exact_pair

U = 2.0**-53


def draw(seed, gamma=(1, 0.3)):
    rng = random.Random(f"terms {seed}")
    while True:
        n = rng.randint(2, 20)
        pair, true = exact_pair(rng, atoms=rng.choice([2, 3]), n=n, gamma=rng.choice(gamma))
        epsilon = rng.choice([0.0, 0.1, 0.7])
        law = atom_gains(pair, epsilon)
        if law.low < 0.0 < law.high and float(law.g.max()) > 0.0:
            return pair, true, epsilon, law


def coarse(monkeypatch, law, n, tilt, *, smoothing, period, last):
    """The bracket of one rule alone: h = smoothing/alpha, L = period/alpha, last node at last/h."""
    h, length = smoothing / tilt.alpha, period / tilt.alpha
    count = max(1, math.ceil(last / h * length / (2.0 * math.pi)))
    rest = smoothed_away(ONE_ROUND, tilt.alpha, h, count * 2.0 * math.pi / length)
    rule = Rule(h, length, count, *rest)
    with monkeypatch.context() as patch:
        patch.setattr(bracket, "planned", lambda *a, **k: rule)
        return expected_positive_part(law, n, tilt, width=1e-3)[0]


@pytest.mark.many(7)
@pytest.mark.parametrize("seed", range(40))
def test_coarse_rules(seed, monkeypatch):
    """Smoothing, aliasing on both sides and truncation, each far larger than anything else."""
    pair, true, epsilon, law = draw(seed)
    exact = truth(true, pair.n, epsilon)
    tilt = find_tilt(law, pair.n)
    finite = 0
    for smoothing in (0.02, 0.2, 0.6):
        for period in (3.0, 6.0, 12.0, 40.0):
            for last in (0.5, 1.5, 3.0, 6.0):
                found = coarse(
                    monkeypatch, law, pair.n, tilt, smoothing=smoothing, period=period, last=last
                )
                assert_inside(found, *exact)
                finite += found.low > -math.inf
    assert finite > 0


def test_coarse_rules_are_sharp_enough_to_bite(monkeypatch):
    """The errors of the rules above are real: without its error terms the sum would be wrong."""
    wrong = 0
    for seed in range(40):
        pair, true, epsilon, law = draw(seed)
        low, high = (float(x) for x in truth(true, pair.n, epsilon))
        tilt = find_tilt(law, pair.n)
        with monkeypatch.context() as patch:
            patch.setattr(rule, "truncated", lambda *a: (0.0, 0.0))
            patch.setattr(rule, "aliasing", lambda *a: 0.0)
            for period, last in ((3.0, 6.0), (40.0, 0.5)):
                found = coarse(patch, law, pair.n, tilt, smoothing=0.02, period=period, last=last)
                wrong += found.high < math.log(low) or found.low > math.log(high)
    assert wrong > 5


@pytest.mark.parametrize("seed", range(30))
def test_log_moment(seed):
    """log M(s) within its own error bound, from s tiny (centred) to large."""
    from flint import arb

    pair, true, epsilon, law = draw(seed, gamma=(1, 0.3, 1e-5))
    if not np.allclose(law.g, pair.a - math.exp(epsilon) * pair.b, rtol=1e-9):
        pair, true, epsilon, law = draw(0)  # gains were raised to the floor: another law on purpose
    lows = exponential(epsilon)
    for s in (1e-9, 1e-4, 0.01, 0.1, 1.0, 5.0):
        scaled = s / float(np.abs(law.g).max())
        value, err = log_moment(law, scaled)
        for alpha in lows:
            m = arb(1)
            for w, a, b in true:
                m += ball(w) * (ball(scaled) * ball(a - alpha * b)).expm1()
            assert abs(m.log() - ball(value)) <= ball(err)
            assert err <= 1e-9


@pytest.mark.parametrize("seed", range(60))
def test_enumeration(seed):
    """Every count vector, against rational arithmetic; exact to many digits."""
    rng = random.Random(f"enumeration {seed}")
    pair, true = exact_pair(
        rng,
        atoms=rng.choice([1, 2, 3, 4]),
        n=rng.randint(1, 9),
        gamma=rng.choice([1, 0.5, 1e-6]),
        outside=rng.random() < 0.5,
    )
    for epsilon in (0.0, 0.3, 1.1):
        exact = truth(true, pair.n, epsilon)
        found = Enumeration(pair).expected_positive_part(epsilon)
        assert_inside(found, *exact)
        # Cancellation in a - e^eps b is all that widens it.
        if exact[0] > Fraction(1, 10**4) * pair.n:
            assert found.width <= 1e-9


@pytest.mark.parametrize("rel", [1e-3, 1e-6])
@pytest.mark.parametrize("seed", range(20))
def test_enumeration_of_perturbed_pairs(seed, rel):
    rng = random.Random(f"perturbed {seed}")
    pair, true = exact_pair(rng, atoms=3, n=rng.randint(2, 9), gamma=rng.choice([1, 1e-3]))
    sign = rng.choice([-1, 1])
    push = 1.0 + sign * 0.999 * rel
    moved = object.__new__(ShuffledPair)
    for name in ("n", "outside", "tail", "leftover", "ranges"):
        object.__setattr__(moved, name, getattr(pair, name))
    total = float(pair.w.sum())
    left = 1.0 - total * push
    changes = {"w": pair.w * push, "a": pair.a * push, "b": pair.b / push, "rel": rel}
    changes["leftover"] = (left, 1.001 * rel * total + 2 * U)
    for name, value in changes.items():
        object.__setattr__(moved, name, value)
    for epsilon in (0.0, 0.5):
        found = Enumeration(moved).expected_positive_part(epsilon)
        assert_inside(found, *truth(true, pair.n, epsilon))


@pytest.mark.parametrize("seed", range(30))
def test_profile_adds_what_lies_outside_in_full(seed):
    """delta = E[S]_+/n + [p - e^eps q]_+, the latter not divided by n; and the tail outward."""
    rng = random.Random(f"outside {seed}")
    pair, true = exact_pair(rng, atoms=2, n=rng.randint(1, 12), gamma=rng.choice([1, 0.3]))
    lost = [[Fraction(x) for x in row] for row in pair.outside.tolist()]
    for epsilon in (0.0, 0.4, 2.0):
        exact = []
        for alpha in reversed(exponential(epsilon)):
            inside = positive_part([(w, a - alpha * b) for w, a, b in true], pair.n) / pair.n
            exact.append(inside + sum(max(p - alpha * q, Fraction(0)) for p, q in lost))
        assert_inside(PairProfile(pair).log_delta(epsilon, width=1e-4), *exact)


@pytest.mark.parametrize(("p", "q"), [(0.25, 0.0), (0.0, 0.25), (0.125, 0.0625)])
def test_tails_widen_both_ends(p, q):
    """Mass in the tail may be anywhere: on the upper end in full, off the lower times e^eps."""
    epsilon, n = 0.5, 3
    alphas = exponential(epsilon)
    # G = 1/2 - e^eps b on one atom of mass 1/2, the rest of P and Q in the tail.
    pair = ShuffledPair(
        w=np.array([0.5, 0.25]),
        a=np.array([2.0 - 2 * p, 0.0]),
        b=np.array([0.0, 4.0 - 4 * q]),
        n=n,
        tail=(p, q),
        rel=U,
        leftover=(0.25, U),
    )
    found = PairProfile(pair).log_delta(epsilon, width=1e-6)
    atoms = [(Fraction(1, 2), Fraction(2 - 2 * p), Fraction(0))]
    atoms.append((Fraction(1, 4), Fraction(0), Fraction(4 - 4 * q)))
    low, high = (
        positive_part([(w, a - alpha * b) for w, a, b in atoms], n) / n
        for alpha in reversed(alphas)
    )
    # All of the tail's P where Q has none; or all of its Q where P has some.
    assert found.high >= math.log(high + Fraction(p))
    least = low - alphas[1] * Fraction(q)
    assert found.low == -math.inf if least <= 0 else found.low <= math.log(least)


@pytest.mark.parametrize("log_low", [-1e-9, -0.5, -30.0, -700.0, -744.0, -745.0, -800.0, -1e9])
def test_deltas_from_logs_are_rounded_outward(log_low):
    low, high = delta_from_log(log_low, log_low)
    exact = ball(log_low).exp()
    assert ball(low) <= exact
    assert ball(high) >= exact
    assert 0.0 <= low < high <= 1.0


def test_no_delta_is_no_delta():
    assert delta_from_log(-math.inf, -math.inf) == (0.0, 0.0)
    assert delta_from_log(-math.inf, 0.0)[1] == 1.0
