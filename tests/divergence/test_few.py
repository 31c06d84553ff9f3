"""Few messages on a lattice: both ends against exact convolutions, every step against fractions."""

import math
import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from flint import acb, arb

import shuffledp as sd
from divergence.oracle import ball
from shuffledp.divergence import few
from shuffledp.divergence.few import Atoms, _contracted, _copies, _spread, few_messages
from shuffledp.divergence.gain import CellGains
from shuffledp.divergence.lattice import (
    Lattice,
    Transforms,
    _kernel,
    _window,
    near_zero,
    sum_nodes,
    transform,
)

U = 2.0**-53


def cells_of(rng, count, *, decades, reach, spread, err=0.0):
    """Random cells in increasing order, G on both sides of 0."""
    w = np.array([10.0 ** rng.uniform(-decades, 0.0) for _ in range(count)])
    w *= rng.choice([0.4, 0.9, 1.0]) * (1.0 - 1e-9) / math.fsum(w)
    size = np.array([10.0 ** rng.uniform(0.0, reach) for _ in range(count)])
    sign = np.array([-1.0, 1.0, *(rng.choice([-1.0, 1.0]) for _ in range(count - 2))])
    mean = np.sort(sign * size)
    low = mean - spread * np.array([rng.random() for _ in mean])
    high = mean + spread * np.array([rng.random() for _ in mean])
    zeros = np.zeros(count)
    total = float((w * mean).sum())
    return CellGains(
        w, mean, low, high, err * np.abs(mean), total, 1e-9, variance=zeros, variance_err=zeros
    )


def inner_law(cells, rel=Fraction(0)):
    """The lowest law there may be: means and masses moved down."""
    law = {}
    for w, m, e in zip(cells.w, cells.mean, cells.err, strict=True):
        value = Fraction(m) - Fraction(e)
        law[value] = law.get(value, 0) + Fraction(w) * (1 - rel)
    total = sum(Fraction(w) for w in cells.w)
    law[Fraction(0)] = law.get(Fraction(0), 0) + max(1 - total * (1 + rel), Fraction(0))
    return law


def outer_law(cells, rel=Fraction(0)):
    """The highest law there may be: on the ends, means and masses moved up."""
    law = {}
    rows = zip(cells.w, cells.mean, cells.err, cells.low, cells.high, strict=True)
    for w, m, e, first, last in rows:
        mean, low = Fraction(m) + Fraction(e), Fraction(first)
        high = max(Fraction(last), mean)
        share = (mean - low) / (high - low) if high > low else Fraction(1)
        for value, part in ((high, share), (low, 1 - share)):
            law[value] = law.get(value, 0) + Fraction(w) * (1 + rel) * part
    total = sum(Fraction(w) for w in cells.w)
    law[Fraction(0)] = law.get(Fraction(0), 0) + 1 - total * (1 - rel)
    return law


def convolved(one, other):
    law = {}
    for x, p in one.items():
        for y, q in other.items():
            law[x + y] = law.get(x + y, 0) + p * q
    return law


def power(law, n):
    out = law
    for _ in range(n - 1):
        out = convolved(out, law)
    return out


def positive_part(law, n):
    return sum((x * p for x, p in power(law, n).items() if x > 0), Fraction(0))


def log_of(x):
    return ball(x).log()


@pytest.mark.many(7)
@pytest.mark.parametrize("seed", range(60))
def test_brackets_every_law_of_the_cells(seed):
    """Random cells, narrow and wide, light and heavy tails, tiny masses, n = 2..6."""
    rng = random.Random(seed)
    n = rng.choice([2, 2, 3, 3, 4, 5, 6])
    count = {2: 12, 3: 9, 4: 6, 5: 5, 6: 4}[n]
    rel, err = rng.choice([(0.0, 0.0), (1e-9, 1e-10), (1e-4, 1e-5)])
    cells = cells_of(
        rng,
        count,
        decades=rng.choice([0.5, 3.0, 200.0 / n]),
        reach=rng.choice([0.3, 1.0, 4.0]),
        spread=rng.choice([0.0, 1e-12, 0.3]),
        err=err,
    )
    low = positive_part(inner_law(cells, Fraction(rel)), n)
    high = positive_part(outer_law(cells, Fraction(rel)), n)
    for width in (3e-2, 1e-4):
        found = few_messages(cells, n, rel=rel, width=width)
        assert ball(found.low) <= log_of(low)
        assert ball(found.high) >= log_of(high)
        assert math.isfinite(found.low)
        assert math.isfinite(found.high)
        # Nearly as narrow as the cells allow; single atoms far apart are dearer.
        excess = found.width - float((log_of(high) - log_of(low)).mid())
        assert excess <= max(3.0 * width, 1e-2)


def test_tiny_expectations():
    """E[S]_+ about 1e-200: everything is relative."""
    cells = CellGains(
        w=np.array([0.5, 0.25, 1e-205]),
        mean=np.array([-1.0, -0.5, 1e3]),
        low=np.array([-1.0, -0.5, 1e3]),
        high=np.array([-1.0, -0.5, 1e3]),
        err=np.zeros(3),
        total=-0.625,
        total_err=1e-12,
        variance=np.zeros(3),
        variance_err=np.zeros(3),
    )
    for n in (2, 5):
        truth = log_of(positive_part(inner_law(cells), n))
        found = few_messages(cells, n, rel=0.0, width=1e-6)
        assert ball(found.low) <= truth <= ball(found.high)
        assert found.width <= 2e-6


def smooth_cells(count, *, tail=0.5):
    """A density of G on [-4, 8], falling like e^-tail x, cut into cells."""
    edges = np.linspace(-4.0, 8.0, count + 1)
    w = np.diff(-np.exp(-tail * edges))
    w /= w.sum() * (1.0 + 1e-9)
    middle = 0.5 * (edges[1:] + edges[:-1])
    mean = middle - tail * np.diff(edges) ** 2 / 12.0
    zeros = np.zeros(count)
    return CellGains(
        w, mean, edges[:-1], edges[1:], zeros, float((w * mean).sum()), 1e-9, zeros, zeros
    )


@pytest.mark.parametrize("n", [2, 3, 7, 40])
def test_narrow_cells_give_narrow_brackets(n):
    """Where cells are dense the lower law is brought under that of the means without a price."""
    cells = smooth_cells(40_000)
    found = few_messages(cells, n, rel=0.0, width=1e-6)
    assert 0.0 < found.width <= 2e-6


def test_lower_end_stays_under_the_means_where_cells_are_dense():
    """64 cells, lattices from finer to much coarser than they are."""
    cells = smooth_cells(64)
    low, high = (positive_part(law(cells), 2) for law in (inner_law, outer_law))
    for width in (0.1, 3e-2, 1e-2, 1e-3, 1e-4, 1e-5):
        found = few_messages(cells, 2, rel=0.0, width=width)
        assert ball(found.low) <= log_of(low)
        assert ball(found.high) >= log_of(high)


def expectation_above(atoms, t):
    return sum((p * max(x - t, Fraction(0)) for x, p in atoms), Fraction(0))


@pytest.mark.parametrize("seed", range(30))
def test_contraction_is_under_the_atoms(seed):
    """E(G - t)_+ of what is on the lattice <= that of atoms, the noisy ones' spread counted."""
    rng = np.random.default_rng(seed)
    count, step = int(rng.integers(1, 60)), float(rng.choice([0.05, 0.3, 1.0, 2.5]))
    g = np.cumsum(rng.random(count) * 2.0 * step) - rng.choice([0.0, 7.3])
    w = np.exp(rng.normal(size=count)) / (3.0 * count)
    points = _spread(Atoms(np.log(w), g), Lattice(0.0, 1.0, 1024), 0.0, -1.0)
    lattice = [(Fraction(k), Fraction(m)) for k, m in zip(points.k, points.mass, strict=True)]
    assert min(points.mass) >= 0.0
    noisy = {}
    for k, m in zip(points.k, points.noise, strict=True):
        noisy[k] = Fraction(m)
        assert m <= 1.00000001 * points.spread[points.k == k].sum()
    atoms = []
    for x, p in zip(g, w, strict=True):
        k, part = math.floor(x), Fraction(x) - math.floor(x)
        # All atoms of an interval are noisy or none is.
        if part and noisy[float(k)] and noisy[float(k + 1)] and is_noisy(g, w, noisy, k):
            atoms += [
                (Fraction(k), Fraction(p) * (1 - part)),
                (Fraction(k + 1), Fraction(p) * part),
            ]
        else:
            atoms.append((Fraction(x), Fraction(p)))
    for t in {x for x, _ in atoms + lattice}:
        assert expectation_above(lattice, t) <= expectation_above(atoms, t)


def is_noisy(g, w, noisy, k):
    """Whether the interval [k, k + 1] gave to the noise: its share is in both ends' totals."""
    inside = [(x, p) for x, p in zip(g, w, strict=True) if math.floor(x) == k and x != k]
    left = sum(p * (1.0 - (x - k)) for x, p in inside)
    right = sum(p * (x - k) for x, p in inside)
    enough = 1.0 - 1e-7
    return noisy[float(k)] >= left * enough and noisy[float(k + 1)] >= right * enough


def cut_cells(rng, count):
    """Cells that are a uniform law of mass 0.6 to 1 and an atom somewhere in the same interval.

    The interval that is known is a little wider, as rounding may have it.
    """
    low = np.sort(rng.normal(size=count) * 5.0)
    room = rng.random(count) + 0.1
    share, place = rng.choice([0.6, 0.9, 1.0], size=count), rng.random(count)
    atom = low + place * room
    mean = share * (low + 0.5 * room) + (1.0 - share) * atom
    w = rng.random(count) / count
    zeros = np.zeros(count)
    err = 1e-15 * np.abs(low) + 1e-15
    cells = CellGains(w, mean, low, low + room, err, 0.0, 1.0, zeros, zeros, density=share / room)
    return cells, (low, low + room, share, atom)


def above_cells(cells, law, t):
    """E(G - t)_+ of that law, as a ball."""
    total = arb(0)
    for w, low, high, s, x in zip(cells.w, *law, strict=True):
        first, last, cut = Fraction(low), Fraction(high), Fraction(t)
        reach = max(last - max(cut, first), Fraction(0))
        uniform = reach * ((last + max(cut, first)) / 2 - cut) / (last - first)
        part = Fraction(s) * uniform + (1 - Fraction(s)) * max(Fraction(x) - cut, Fraction(0))
        total += ball(Fraction(w) * part)
    return total + ball((1 - sum(map(Fraction, cells.w))) * max(-Fraction(t), Fraction(0)))


def above_atoms(atoms, t):
    parts = zip(atoms.log_w, atoms.g, strict=True)
    return sum((ball(p).exp() * ball(Fraction(x) - Fraction(t)) for p, x in parts if x > t), arb(0))


@pytest.mark.parametrize("width", [1e-2, 1e-5])
@pytest.mark.parametrize("seed", range(6))
def test_parts_of_cells(seed, width):
    """One below and one above the law; cut in parts, nine times as near to it."""
    rng = np.random.default_rng(seed)
    cells, law = cut_cells(rng, 8)
    inner, outer = few._inner(cells, 0.0, width), few._outer(cells, 0.0, width)
    assert (inner.g.size > 20) == (width < 1e-3)
    for t in {-20.0, *cells.low, *cells.high, *inner.g, *outer.g, *rng.normal(size=20) * 5.0}:
        truth = above_cells(cells, law, t)
        assert above_atoms(inner, t) <= truth <= above_atoms(outer, t)
    for atoms in (inner, outer):
        mean = float(np.exp(atoms.log_w) @ atoms.g)
        assert mean == pytest.approx(float(cells.w @ cells.mean), abs=1e-13)


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


@pytest.mark.many(1)
@pytest.mark.parametrize("sigma", [1.0, 3.0])
@pytest.mark.parametrize("n", [2, 4, 10])
def test_gaussian_noise_is_sharp(sigma, n):
    """Numerical widths of both ends at most 1e-6 in eps."""
    found = sd.shuffle(sd.Gaussian(sigma=sigma), n=n).epsilon(delta=1e-6)
    assert "width" not in str(found)


def test_says_nothing_where_there_is_nothing_to_say():
    """No cell whose mean is above 0."""
    cells = smooth_cells(10)
    shifted = CellGains(
        cells.w,
        cells.mean - 8.0,
        cells.low - 8.0,
        cells.high - 8.0,
        cells.err,
        cells.total - 8.0,
        1e-9,
        cells.variance,
        cells.variance_err,
    )
    found = few_messages(shifted, 3, rel=0.0, width=1e-3)
    assert found == few._ANYTHING
