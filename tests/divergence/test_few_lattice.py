"""Few messages, the lattice: what is spread, noise, sums over nodes, copies."""

import math
import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from flint import acb, arb

from divergence.exact_sums import expectation_above, positive_part, power
from divergence.oracle import ball
from shuffledp.divergence import few
from shuffledp.divergence.few import Atoms, _contracted, _copies, _spread
from shuffledp.divergence.lattice import (
    Lattice,
    Transforms,
    _kernel,
    _window,
    near_zero,
    sum_nodes,
    transform,
)


def spread_law(points, lattice):
    """Masses before any was moved together, and the noise among them, untilted, as balls."""
    rows = zip(points.k, points.spread, points.noise, strict=True)
    law = [(int(k), untilted(k, m, lattice), untilted(k, x, lattice)) for k, m, x in rows]
    return [(k, m) for k, m, _ in law], [(k, x) for k, _, x in law if x > 0]


def untilted(k, mass, lattice):
    return ball(float(mass)) / ball(lattice.alpha * lattice.h * float(k)).exp()


def near_truth(laws, lattice, n):
    """P(first message noise, |S| < (1 + sqrt n) h, some active), in the units of the sums."""
    share = (ball(laws.log_v) - ball(laws.log_m)).exp()
    rest, quiet = spread_law(laws.rest, lattice)
    active, loud = spread_law(laws.active, lattice)
    every = rest + [(k, m * share) for k, m in active]
    noise = quiet + [(k, m * share) for k, m in loud]
    found = window(ball_product(ball_power(every, n - 1), noise), 1 + math.isqrt(n))
    found -= window(ball_product(ball_power(rest, n - 1), quiet), 1 + math.isqrt(n))
    return found / share


def noisy_laws(seed, n):
    """Atoms close together among some with room between: much is moved from where noise is."""
    rng = np.random.default_rng(seed)
    count = {2: 40, 3: 14, 4: 9}[n]
    g = np.concatenate([rng.normal(size=count) * 2.0, [-6.0, 5.0]])
    w = np.exp(rng.normal(size=g.size) * rng.choice([0.3, 2.0]))
    w *= 0.95 / w.sum()
    lattice = Lattice(float(rng.choice([1e-4, 0.05])), 0.5, 1 << 10)
    atoms = Atoms(np.log(w), g)
    return few._laws(atoms, lattice, -1.0), lattice, (g, w)


@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize("seed", range(8))
def test_noise_is_paid_for_in_full(seed, n):
    """n h/3 P(noise, |S| < (1 + sqrt n) h) of the law before mass was moved together.

    After it less is there than noise alone put there: noise would be no part of the law.
    """
    laws, lattice, _ = noisy_laws(seed, n)
    assert laws.noisy
    price = few._price(laws, lattice, n)
    truth = near_truth(laws, lattice, n) * ball(n * lattice.h) / 3
    assert truth <= ball(price)
    lift = math.exp(2.0 * lattice.alpha * lattice.h * (1 + math.isqrt(n)))
    assert ball(price) <= truth * ball(1.01 * lift) + ball(1e-12)


def test_noise_is_a_part_of_the_spread_law_but_not_of_what_is_left():
    short = 0
    for seed in range(8):
        laws, _, _ = noisy_laws(seed, 2)
        for points in (laws.rest, laws.active):
            assert (points.noise <= points.spread * (1.0 + 1e-8)).all()
            short += int((points.noise > 1.01 * points.mass).any())
    assert short > 3


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("seed", range(8))
def test_what_is_on_the_lattice_less_its_price_is_below_the_atoms(seed, n):
    """Lemmas 6.26 and 6.27 together, against every sum of atoms."""
    laws, lattice, (g, w) = noisy_laws(seed, n)
    truth = positive_part(
        {Fraction(x): Fraction(p) for x, p in zip(g, w, strict=True)}
        | {Fraction(0): 1 - sum(map(Fraction, w))},
        n,
    )
    share = (ball(laws.log_v) - ball(laws.log_m)).exp()
    law = [(int(k), untilted(k, m, lattice)) for k, m in zip(*laws.rest[:2], strict=True)]
    active = zip(*laws.active[:2], strict=True)
    law += [(int(k), untilted(k, m, lattice) * share) for k, m in active]
    unit = ball(laws.log_v).exp() * ball(laws.log_m).exp() ** (n - 1)
    on = sum((p * ball(k * 0.5) for k, p in ball_power(law, n).items() if k > 0), arb(0))
    on *= ball(laws.log_m).exp() ** n
    assert on - ball(few._price(laws, lattice, n)) * unit <= ball(truth)


def test_the_lower_end_pays_for_noise():
    laws, lattice, (g, w) = noisy_laws(0, 3)
    sums = sum_nodes(laws.transforms(lattice), lattice, 3)
    kept = sums.value - few._price(laws, lattice, 3)
    low, added = few._lower_end(Atoms(np.log(w), g), lattice, 3)
    assert low <= math.log(kept) + laws.log_v + 2 * laws.log_m
    assert added == few._price(laws, lattice, 3) / sums.value > 0.0


def test_contraction_takes_most_of_a_dense_law():
    points = np.arange(-20.0, 21.0)
    mass = np.exp(-0.1 * np.abs(points))
    total, handled = _contracted(points, mass, mass / 6.0, 1.0)
    assert handled[2:-2].all()
    assert not handled[0]
    assert not handled[-1]
    assert total.min() >= 0.0


def test_upper_spread_keeps_masses_and_means():
    rng = np.random.default_rng(3)
    g, w = rng.normal(size=50) * 9.0, rng.random(50) / 50.0
    points = _spread(Atoms(np.log(w), g), Lattice(0.0, 0.25, 1024), 0.0, 1.0)
    exact = (
        sum(Fraction(p) for p in w),
        sum(Fraction(p) * Fraction(x) for p, x in zip(w, g, strict=True)),
    )
    mass = [Fraction(m) for m in points.mass]
    moment = sum(m * Fraction(k) / 4 for m, k in zip(mass, points.k, strict=True))
    assert exact[0] <= sum(mass) <= exact[0] * (1 + Fraction(1e-10))
    assert abs(moment - exact[1]) <= Fraction(1e-10)
    assert expectation_above(
        [(Fraction(k) / 4, m) for k, m in zip(points.k, mass, strict=True)], 0
    ) >= (expectation_above([(Fraction(x), Fraction(p)) for x, p in zip(g, w, strict=True)], 0))


@pytest.mark.parametrize("count", [1 << 10, 1 << 13])
def test_transform_error(count):
    """Fast Fourier transforms against balls, at random nodes; masses over many magnitudes."""
    rng = np.random.default_rng(count)
    place = rng.integers(0, count, 300)
    mass = np.exp(-10.0 * rng.random(300))
    found, err = transform(mass, place, count)
    for j in (0, 1, count // 2, *rng.integers(0, count // 2, 8)):
        truth = acb(0)
        for k, m in zip(place, mass, strict=True):
            truth += acb(float(m)) * acb(arb(-2 * int(j) * int(k)) / count).exp_pi_i()
        assert abs(truth - acb(float(found[j].real), float(found[j].imag))) <= ball(err)


def lattice_law(rng, lattice):
    """Atoms k, active and other, with noise masses, and their transforms."""
    rest_k, active_k = np.array([-5, -2, 0]), np.array([0, 1, 3])
    rest, active = np.array([rng.random(3), rng.random(3)])
    noise, active_noise = rest * [0.0, 0.3, 0.1], active * [0.2, 0.0, 0.6]
    parts = []
    for k, m, other in ((rest_k, rest, noise), (active_k, active, active_noise)):
        place = np.mod(k, lattice.count)
        parts.append((transform(m, place, lattice.count), transform(other, place, lattice.count)))
    (a, a_noise), (v, v_noise) = parts
    found = Transforms(a[0], v[0], a_noise[0], v_noise[0], 0.0, math.log(0.25), a[1], v[1])
    return (rest_k, rest, noise), (active_k, active * 0.25, active_noise * 0.25), found


def fractions_of(k, mass, lattice):
    """The law itself: tilted masses divided by e^{alpha k h}, as balls."""
    return [
        (int(x), ball(float(m)) / ball(lattice.alpha * lattice.h * int(x)).exp())
        for x, m in zip(k, mass, strict=True)
    ]


@pytest.mark.parametrize("n", [2, 3, 4, 6])
def test_sums_over_nodes(n):
    """Where the period holds all of S the rule is exact, and its error is what it says."""
    rng = np.random.default_rng(n)
    lattice = Lattice(0.25, 0.5, 1 << 10)
    (rest_k, rest, noise), (active_k, active, active_noise), found = lattice_law(rng, lattice)
    reach = 2
    everything = fractions_of([*rest_k, *active_k], [*rest, *active], lattice)
    others = fractions_of(rest_k, rest, lattice)
    noisy = fractions_of([*rest_k, *active_k], [*noise, *active_noise], lattice)
    quiet = fractions_of(rest_k, noise, lattice)
    unit = ball(math.log(0.25)).exp()
    whole, less = ball_power(everything, n), ball_power(others, n)
    value = sum((p * ball(0.5 * k) for k, p in whole.items() if k > 0), arb(0))
    value -= sum((p * ball(0.5 * k) for k, p in less.items() if k > 0), arb(0))
    near = window(ball_product(ball_power(everything, n - 1), noisy), reach)
    near -= window(ball_product(ball_power(others, n - 1), quiet), reach)
    sums, bound = sum_nodes(found, lattice, n), near_zero(found, lattice, n, reach)
    assert abs(value / unit - ball(sums.value)) <= ball(sums.err)
    assert sums.err <= 1e-9 * sums.value
    assert near / unit <= ball(bound)
    assert ball(bound) <= near / unit * 3
    # Half the nodes: copies of S only add to it.
    half = replace(lattice, count=lattice.count // 2)
    fewer = {k: None if v is None else v[::2] for k, v in transforms_of(found).items()}
    assert near / unit <= ball(near_zero(replace(found, **fewer), half, n, reach))


@pytest.mark.parametrize("which", ["rest", "active"])
@pytest.mark.parametrize("n", [2, 5])
def test_sums_over_nodes_whose_transforms_are_off(n, which):
    """Transforms moved by as much as their errors allow, all in the direction that hurts."""
    rng = np.random.default_rng(n)
    lattice = Lattice(0.25, 0.5, 1 << 10)
    _, _, found = lattice_law(rng, lattice)
    exact, near = sum_nodes(found, lattice, n), near_zero(found, lattice, n, 2)
    kernel = _kernel(lattice, 2.0 * math.pi / lattice.count * np.arange(lattice.count // 2 + 1))
    whole = found.rest + 0.25 * found.active
    slope = kernel * whole ** (n - 1)
    if which == "rest":
        slope = kernel * found.active * whole ** (n - 2)
    for size in (1e-6, -1e-6):
        step = size * np.conj(slope) / np.abs(slope)
        off = {which: getattr(found, which) + step, ERRORS[which]: 1.000001e-6}
        moved = sum_nodes(replace(found, **off), lattice, n)
        assert abs(moved.value - exact.value) <= moved.err
        assert moved.err <= 20.0 * abs(moved.value - exact.value)
        assert near_zero(replace(found, **off), lattice, n, 2) >= near - 1e-9


def test_probability_next_to_0_with_transforms_off():
    """M off, in the direction that makes the bound small: its part in the error is needed."""
    rng = np.random.default_rng(1)
    lattice, n, reach = Lattice(0.25, 0.5, 1 << 10), 6, 2
    _, _, found = lattice_law(rng, lattice)
    found = replace(found, noise=None, active_noise=100.0 * found.active_noise)
    angle = 2.0 * math.pi / lattice.count * np.arange(lattice.count // 2 + 1)
    whole = found.rest + 0.25 * found.active
    slope = found.active_noise * whole ** (n - 2) * _window(angle, reach)
    step = -1e-6 * np.conj(slope) / np.maximum(np.abs(slope), 1e-300)
    moved = replace(found, rest=found.rest + step, err=1.000001e-6)
    exact = near_zero(found, lattice, n, reach)
    assert near_zero(moved, lattice, n, reach) >= exact


def test_logarithms_are_rounded_outward():
    rng = random.Random(2)
    for _ in range(200):
        log_v, log_m, value = rng.uniform(-700, 9), rng.uniform(-99, 9), rng.random()
        found = few._Laws(None, None, log_m, log_v)
        truth = ball(value).log() + ball(log_v) + ball(log_m) * 39
        assert ball(few._log_end(value, found, 40, -math.inf, -1.0)) <= truth
        assert ball(few._log_end(value, found, 40, math.inf, 1.0)) >= truth


def transforms_of(found):
    return {k: getattr(found, k) for k in ("rest", "active", "noise", "active_noise")}


ERRORS = {"rest": "err", "active": "active_err"}


def ball_product(law, atoms):
    out = {}
    for x, p in law.items():
        for y, q in atoms:
            out[x + y] = out.get(x + y, arb(0)) + p * q
    return out


def ball_power(atoms, n):
    law = {0: arb(1)}
    for _ in range(n):
        law = ball_product(law, atoms)
    return law


def window(law, reach):
    return sum((p for k, p in law.items() if abs(k) <= reach), arb(0))


@pytest.mark.parametrize("count", [8, 16, 32])
def test_copies_are_bounded(count):
    """A period too short: what the copies add is at most what is taken back."""
    h, alpha, n = 1.0, 0.4, 3
    lattice = Lattice(alpha, h, count)
    g, w = np.array([-9.0, -3.0, 2.0, 5.0]), np.array([0.2, 0.6, 0.15, 0.05])
    law = power({Fraction(int(x)): Fraction(p) for x, p in zip(g, w, strict=True)}, n)
    added = arb(0)
    for m in range(-60, 61):
        if m:
            shift = m * count
            added += ball(-alpha * shift).exp() * ball(expectation_above(law.items(), -shift))
    bound = _copies(Atoms(np.log(w), g), lattice, n, 0.0)
    assert added <= ball(bound)
    assert ball(bound) <= added * 1000 + ball(1e-9)
