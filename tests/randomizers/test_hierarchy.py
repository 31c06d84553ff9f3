"""Hierarchy: levels, consistency by least squares, and data sets of its lower end."""

import itertools
import math

import numpy as np
import pytest

import shuffledp as sd
from shuffledp.randomizers.hierarchy import Tree


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
    c = tree.coefficients(target, variances)
    silent = tree.consistent([np.zeros(size) for size in tree.sizes], variances)
    assert sum(x @ y for x, y in zip(c, levels, strict=True)) == pytest.approx(
        target @ (found - silent), abs=1e-10
    )


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
