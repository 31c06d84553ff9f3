"""The bound for crowds against all data sets of small ones, and each of its terms."""

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest

from shuffledp.crowds.case import Choice, CrowdCase, Others
from shuffledp.crowds.kernel import CrowdGains, Group, log_crowd_bound
from shuffledp.stealing.measures import Measure
from shuffledp.stealing.positive_sum import Contour

U = 2.0**-53


def row(rng, outputs, *, zeros):
    """A law of exact floats; sometimes with zeros."""
    cuts = sorted(rng.randint(0 if zeros else 1, 64) for _ in range(outputs - 1))
    weights = [b - a for a, b in itertools.pairwise([0, *cuts, 64])]
    if not zeros and min(weights) <= 0:
        return row(rng, outputs, zeros=zeros)
    return [Fraction(w, 64) for w in weights]


def view(laws):
    """Law of the counts of outputs of independent reports."""
    outputs = len(laws[0])
    found = {(0,) * outputs: Fraction(1)}
    for law in laws:
        new = {}
        for counts, p in found.items():
            for y, mass in enumerate(law):
                if mass:
                    key = (*counts[:y], counts[y] + 1, *counts[y + 1 :])
                    new[key] = new.get(key, 0) + p * mass
        found = new
    return found


def exact(victim, others, epsilon):
    """The divergence of the two shuffled views: floats of exact fractions."""
    a = Fraction(math.exp(epsilon))
    first, second = (view([law, *others]) for law in victim)
    return sum(max(p - a * second.get(key, 0), 0) for key, p in first.items())


def datasets(groups):
    """All multisets of inputs in each group."""
    kinds = [
        itertools.combinations_with_replacement(range(len(rows)), count) for count, rows in groups
    ]
    for held in itertools.product(*kinds):
        yield [groups[k][1][j] for k, inputs in enumerate(held) for j in inputs]


def array(rows):
    return np.array([[float(x) for x in law] for law in rows])


def case_of(victim, groups):
    others = tuple(
        Others(count, array(rows), array(rows).min(axis=0)) for count, rows in groups if count
    )
    return CrowdCase(array(victim), others, 4 * U, ties=True)


def contour(rng, gains):
    """Any alpha and h are valid."""
    top = max(float(law.gain.max(initial=0.0)) for g in gains.groups for law in g.types)
    top = max(top, float(gains.reservoir.gain.max(initial=0.0)), 1e-3)
    alpha = rng.choice((0.3, 1.0, 3.0)) / top
    h = rng.choice((0.05, 0.3)) / alpha
    step = rng.choice((0.2, 0.6, 2.0)) * alpha
    return Contour(alpha, h, step, max(1, math.ceil(3.2 / (h * step))))


def check(seed, groups_count):
    """One random crowd: every data set, a few settings."""
    rng = random.Random(f"{seed} {groups_count}")
    outputs, zeros = rng.randint(2, 3), rng.random() < 0.3
    counts = [rng.randint(1, 2) for _ in range(groups_count)]
    groups = [
        (n, [row(rng, outputs, zeros=zeros) for _ in range(rng.randint(1, 2))]) for n in counts
    ]
    victim = [row(rng, outputs, zeros=zeros) for _ in range(2)]
    epsilon = rng.choice((0.0, 0.2, 0.7))
    worst = max(exact(victim, others, epsilon) for others in datasets(groups))
    case = case_of(victim, groups)
    ratios = []
    for _ in range(6):
        shares = tuple(rng.choice((1.0, 0.5, 0.2, 0.05)) for _ in groups)
        choice = Choice(
            rng.choice((0.05, 0.5, 0.97)), rng.choice((0.05, 0.5, 0.97)), rng.random(), shares
        )
        at = contour(rng, case.gains(epsilon, choice))
        bound = case.log_bound(epsilon, choice, at)
        assert worst <= Fraction(math.exp(bound)), (seed, choice, at)
        if worst:
            ratios.append(math.exp(bound) / float(worst))
    return ratios


@pytest.mark.parametrize(
    "seed", [pytest.param(s, marks=[pytest.mark.long] * (s >= 30)) for s in range(1500)]
)
def test_two_groups_all_data_sets(seed):
    check(seed, 2)


@pytest.mark.parametrize(
    "seed", [pytest.param(s, marks=[pytest.mark.long] * (s >= 8)) for s in range(400)]
)
def test_three_groups_all_data_sets(seed):
    check(seed, 3)


def binomial(shares):
    law = np.ones(1)
    for p, count in shares:
        for _ in range(count):
            law = np.convolve(law, [1.0 - p, p])
    return law


@pytest.mark.parametrize(("own", "sizes"), [(0, (40, 25)), (1, (40, 25)), (1, (60, 6))])
def test_bits_of_two_kinds_against_all_counts(own, sizes):
    """Every number of ones held in each group; the choice that is proposed is close."""
    eps0 = (1.0, 2.0)
    p = [math.exp(e) / (1.0 + math.exp(e)) for e in eps0]
    rows = [np.array([[x, 1.0 - x], [1.0 - x, x]]) for x in p]
    others = tuple(Others(n, r, r.min(axis=0)) for n, r in zip(sizes, rows, strict=True))
    case = CrowdCase(rows[own][::-1], others, 8 * U, ties=True)
    for epsilon in (0.15, 0.4):
        worst = 0.0
        for m in itertools.product(*(range(n + 1) for n in sizes)):
            law = binomial(
                [
                    (p[0], m[0]),
                    (1 - p[0], sizes[0] - m[0]),
                    (p[1], m[1]),
                    (1 - p[1], sizes[1] - m[1]),
                ]
            )
            up, here = np.append(0.0, law), np.append(law, 0.0)
            a, v = math.exp(epsilon), p[own]
            gain = (v - a * (1 - v)) * up + ((1 - v) - a * v) * here
            worst = max(worst, float(np.maximum(gain, 0.0).sum()))
        target = math.log(worst)
        found = case.propose(epsilon, target)
        assert found is not None
        bound = case.log_bound(epsilon, found.choice, found.contour)
        assert target <= bound <= target + 1.0


def one_law(*, share=0.5, lost=0.0, tail=0.0):
    """A crowd simple enough to be worked out by hand: no gain but in the reservoir."""
    reservoir = Measure(np.array([0.5]), np.array([0.4]), lost, 0.0)
    law = Measure(np.array([1.0 - 0.5 * share]), np.array([-0.01]), 0.0, 0.0)
    return CrowdGains(reservoir, [Group(3, share, [law]), Group(2, 1.0, [law])], tail)


AT = Contour(1.0, 0.05, 0.2, 320)


def test_tail_and_lost_are_added_in_full():
    plain = math.exp(log_crowd_bound(one_law(), AT))
    lost = math.exp(log_crowd_bound(one_law(lost=0.125), AT))
    assert 0.125 <= lost - plain <= 0.125 * (1.0 + 1e-9)
    tail = math.exp(log_crowd_bound(one_law(tail=0.25), AT))
    paid = 0.25 * 0.75**3 * 0.5**2
    assert paid * (1.0 - 1e-12) <= tail - plain <= paid * (1.0 + 1e-9)
    reservoir = one_law().reservoir
    seen = Measure(np.array([0.75]), np.array([-0.01]), 0.0625, 0.0)
    other = Measure(np.array([0.75]), np.array([-0.01]), 0.03125, 0.0)
    gains = CrowdGains(reservoir, [Group(3, 0.5, [seen, other]), Group(2, 0.5, [other])], 0.0)
    more = math.exp(log_crowd_bound(gains, AT))
    bare = Measure(np.array([0.75]), np.array([-0.01]), 0.0, 0.0)
    without = CrowdGains(reservoir, [Group(3, 0.5, [bare, bare]), Group(2, 0.5, [bare])], 0.0)
    less = math.exp(log_crowd_bound(without, AT))
    assert 0.0625 <= more - less <= 0.0625 * (1.0 + 1e-9)


def by_quadrature(gains, at, choice):
    """(1/2 pi) int |c| int_0^1 prod (u q |c| + |d|)^N du w dtau, by brute force."""
    alpha, h, *_ = at
    tau = np.linspace(-60.0, 60.0, 24_001)
    s = alpha + 1j * tau
    w = np.exp(h * h * (alpha**2 - tau**2) / 2) / (alpha**2 + tau**2)
    c = np.abs(np.exp(np.outer(s, gains.reservoir.gain)) @ gains.reservoir.mass)
    total = np.zeros(tau.size)
    nodes, weights = np.polynomial.legendre.leggauss(24)
    for u, weight in zip(0.5 * (nodes + 1.0), 0.5 * weights, strict=True):
        term = np.ones(tau.size)
        for group, law in zip(gains.groups, choice, strict=True):
            left = 1.0 - group.share * gains.reservoir.mass.sum() - law.mass.sum()
            d = np.abs(np.exp(np.outer(s, law.gain)) @ law.mass + left)
            term *= (u * group.share * c + d) ** group.count
        total += weight * term
    return float(np.trapezoid(c * total * w, tau)) / (2.0 * math.pi)


def random_gains(rng):
    def law(size, mass):
        share = np.array([rng.random() + 0.1 for _ in range(size)])
        gain = np.array([rng.uniform(-2.0, 1.0) for _ in range(size)])
        return Measure(mass * share / share.sum(), gain, 0.0, 0.0)

    groups = [
        Group(rng.randint(1, 12), q, [law(3, 1.0 - 0.4 * q - 0.1 * (j > 0)) for j in range(2)])
        for q in (1.0, rng.choice((0.3, 0.8)))
    ]
    return CrowdGains(law(2, 0.4), groups, 0.0)


@pytest.mark.many(4)
@pytest.mark.parametrize("seed", range(12))
def test_the_sum_is_above_the_integral_for_every_choice_of_types(seed):
    rng = random.Random(seed)
    gains = random_gains(rng)
    at = Contour(rng.choice((0.4, 1.0)), 0.1, rng.choice((0.1, 0.5)), 400)
    bound = math.exp(log_crowd_bound(gains, at))
    values = [
        by_quadrature(gains, at, choice)
        for choice in itertools.product(*(group.types for group in gains.groups))
    ]
    assert max(values) <= bound <= 2.0 * max(values)


def test_many_choices_are_bounded_together(monkeypatch):
    rng = random.Random(5)
    gains = random_gains(rng)
    at = Contour(0.7, 0.1, 0.2, 400)
    each = log_crowd_bound(gains, at)
    monkeypatch.setattr("shuffledp.crowds.kernel.MOST_CHOICES", 1)
    together = log_crowd_bound(gains, at)
    assert each <= together <= each + 0.7
