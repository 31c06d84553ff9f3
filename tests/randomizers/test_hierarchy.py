"""Hierarchy: law, bounds, ranges by enumeration of all reports, consistency by least squares."""

import itertools
import math

import numpy as np
import pytest

import shuffledp as sd
from shuffledp.randomizers.hierarchy import Tree
from shuffledp.statistics.estimates import joined


@pytest.mark.parametrize(
    ("domain", "branching", "sizes"),
    [(2, 2, (2,)), (5, 2, (2, 3, 5)), (16, 4, (4, 16)), (17, 4, (2, 5, 17)), (9, 20, (9,))],
)
def test_levels(domain, branching, sizes):
    mechanism = sd.Hierarchy(domain=domain, branching=branching, eps0=1.0)
    assert mechanism.tree.sizes == sizes
    assert [part.items for part in mechanism.randomizers] == list(sizes)
    for x in range(domain):
        nodes = mechanism.part_inputs(x)
        assert nodes[-1] == x
        for above, below in itertools.pairwise(nodes):
            assert below // branching == above
    first, last = mechanism.part_inputs(0), mechanism.part_inputs(domain - 1)
    assert all(a != b for a, b in zip(first, last, strict=True))


@pytest.mark.parametrize("base", ["k-rr", "rappor", "oue", "blh", "olh"])
def test_bounds(base):
    mechanism = sd.Hierarchy(domain=64, branching=4, eps0=2.0, base=base)
    bound = sd.shuffle(mechanism, n=10_000, rtol=1e-4).epsilon(delta=1e-6)
    assert 0.0 < bound.lower <= bound.upper < 0.5
    assert "part" in bound.upper_theorem.title
    account = sd.shuffle(mechanism, n=10_000, rtol=1e-4)
    blanket = account.epsilon(delta=1e-6, analysis="blanket")
    assert "parts' worst pairs" in blanket.upper_theorem.title
    assert bound.upper <= blanket.upper


# ------------------------------------------------------------------------------------ ranges


@pytest.mark.parametrize(("domain", "branching"), [(8, 2), (11, 2), (10, 4), (7, 9)])
def test_consistency_is_least_squares(domain, branching):
    tree = Tree(domain, branching)
    rng = np.random.default_rng(domain)
    variances = rng.random(len(tree.sizes)) + 0.1
    levels = [rng.normal(size=size) for size in tree.sizes]
    # Weighted least squares over the leaves, which sum to one.
    rows, wanted = [], []
    for width, level, variance in zip(tree.widths, levels, variances, strict=True):
        for node, value in enumerate(level):
            row = (np.arange(domain) // width == node).astype(float)
            rows.append(row / math.sqrt(variance))
            wanted.append(value / math.sqrt(variance))
    a, b = np.array(rows), np.array(wanted)
    kkt = np.zeros((domain + 1, domain + 1))
    kkt[:domain, :domain] = a.T @ a
    kkt[domain, :domain] = kkt[:domain, domain] = 1.0
    exact = np.linalg.solve(kkt, np.append(a.T @ b, 1.0))[:domain]
    found = tree.consistent(levels, variances)
    assert found == pytest.approx(exact, abs=1e-10)
    target = rng.normal(size=domain)
    c, constant = tree.adjoint(target, variances)
    assert constant + sum(x @ y for x, y in zip(c, levels, strict=True)) == pytest.approx(
        target @ found, abs=1e-10
    )


def outputs(part, node):
    """(probability, report) of every report of a level's mechanism."""
    grow = math.exp(part.eps0)
    if isinstance(part, sd.KRR):
        total = grow + part.k - 1
        for y in range(part.k):
            yield (grow if y == node else 1.0) / total, np.array([y], dtype=np.uint8)
    elif isinstance(part, sd.RAPPOR | sd.OUE):
        for bits in itertools.product((0, 1), repeat=part.d):
            p = 1.0
            for i, bit in enumerate(bits):
                one = part.support.own if i == node else part.support.other
                p *= one if bit else 1.0 - one
            yield p, np.packbits(np.array([bits], dtype=np.uint8), axis=1)
    else:
        m = (part.domain - 1).bit_length()
        for a in itertools.product(range(part.l), repeat=m):
            held = sum(c * (node >> j & 1) for j, c in enumerate(a)) % part.l
            for z in range(part.l):
                p = (grow if z == held else 1.0) / (grow + part.l - 1) / part.l**m
                yield p, np.array([[*a, z]], dtype=np.uint8)


@pytest.mark.many(3)
@pytest.mark.parametrize(
    ("base", "domain", "values", "ranges"),
    [
        ("k-rr", 4, (1, 2), [(0, 1), (1, 3), (0, 3), (0, 4)]),
        ("k-rr", 3, (0, 0, 2), [(0, 2), (1, 3)]),
        ("rappor", 4, (1, 2), [(1, 3), (0, 3)]),
        ("oue", 3, (0, 2), [(0, 2), (1, 3)]),
        ("blh", 4, (3, 0), [(1, 3), (0, 3)]),
        ("olh", 3, (0, 2), [(0, 2)]),
    ],
)
def test_ranges_are_unbiased_and_of_the_stated_variance(base, domain, values, ranges):
    """Over all allocations with one user (or more) a level, and all their reports, exactly."""
    mechanism = sd.Hierarchy(domain=domain, branching=2, eps0=1.0, base=base)
    n, levels = len(values), len(mechanism.randomizers)
    blank = [part.aggregate(part.simulate([], seed=1)) for part in mechanism.randomizers]
    counts = (n - levels + 1, *[1] * (levels - 1))
    allocations = [
        a
        for a in itertools.product(range(levels), repeat=n)
        if tuple(a.count(k) for k in range(levels)) == counts
    ]
    moments = np.zeros((2, len(ranges)))
    for allocation in allocations:
        users = [
            list(outputs(mechanism.randomizers[level], mechanism.part_inputs(x)[level]))
            for level, x in zip(allocation, values, strict=True)
        ]
        singles = [
            [(p, mechanism.randomizers[level].aggregate(report)) for p, report in one]
            for level, one in zip(allocation, users, strict=True)
        ]
        for chosen in itertools.product(*singles):
            sums = list(blank)
            p = 1.0 / len(allocations)
            for level, (share, one) in zip(allocation, chosen, strict=True):
                sums[level] = sums[level] + one
                p *= share
            found = mechanism.estimate(joined(n, sums))
            got = np.array([found.range(*r).value for r in ranges])
            moments += p * np.array([got, got**2])
    frequencies = np.bincount(values, minlength=domain) / n
    for i, (low, high) in enumerate(ranges):
        mean = moments[0, i]
        assert mean == pytest.approx(frequencies[low:high].sum(), abs=1e-9)
        wanted = mechanism.range_variance(low, high, frequencies=frequencies, counts=counts)
        assert moments[1, i] - mean**2 == pytest.approx(wanted, rel=1e-8, abs=1e-9)


def test_errors_are_honest():
    mechanism = sd.Hierarchy(domain=256, branching=4, eps0=2.0, base="oue")
    rng = np.random.default_rng(0)
    values = np.minimum((rng.exponential(40.0, 30_000)).astype(int), 255)
    found = mechanism.estimate(mechanism.simulate(values, seed=4))
    assert found.n == 30_000
    assert found.frequencies().sum() == pytest.approx(1.0)
    for low, high in ((0, 20), (13, 190), (5, 6), (0, 256)):
        truth = ((values >= low) & (values < high)).mean()
        tidy = found.range(low, high)
        assert abs(tidy.value - truth) <= 5 * tidy.standard_error + 1e-12
    assert found.range(0, 256).value == pytest.approx(1.0)
    assert found.range(0, 256).standard_error < 1e-6
    assert found.range(9, 9).value == 0.0


@pytest.mark.parametrize(("domain", "branching"), [(8, 2), (32, 4), (2048, 4), (64, 4), (3, 2)])
def test_others_are_apart_from_the_victim_at_every_level_but_one(domain, branching):
    """With two nodes at the top the lower end rested on all others being with the victim."""
    mechanism = sd.Hierarchy(domain=domain, branching=branching, eps0=2.0, base="oue")
    shared = []
    for x0, x1, x2 in mechanism.datasets():
        rows = [mechanism.part_inputs(x) for x in (x0, x1, x2)]
        shared.append(sum(c in (a, b) for a, b, c in zip(*rows, strict=True)))
    assert min(shared) == (mechanism.tree.sizes[0] == 2)
    bound = sd.shuffle(mechanism, n=10_000, rtol=1e-3).epsilon(delta=1e-6)
    assert bound.upper <= 1.2 * bound.lower
