"""Laplace and Gaussian: cells against ball arithmetic, written from the densities."""

import math

import numpy as np
import pytest
from flint import arb

import shuffledp as sd
from enumerated import ball
from shuffledp.randomizers.base import DEFAULT_CELLS
from stated_pairs import blanket_pair, dataset_pair

LAPLACE = [sd.Laplace(eps0=e) for e in (1e-4, 0.1, 1.0, 5.5, 30.0, 300.0)] + [
    sd.Laplace(eps0=2.0, low=-3.0, high=1.0),
    sd.Laplace(eps0=2.0, binary=True),
]
NARROW = [sd.Gaussian(sigma=0.01), sd.Gaussian(sigma=0.02)]  # next to nothing in common
GAUSSIAN = [sd.Gaussian(sigma=s) for s in (0.05, 0.2, 0.5, 1.0, 3.0, 30.0)] + [
    sd.Gaussian(sigma=2.0, low=-3.0, high=1.0)
]
CELLS = 512
TINY = arb(10) ** -290


def units(randomizer, x):
    """The input in the units of the cells: [0, 1] for Laplace, sigma from low for Gaussian."""
    low, high = ball(randomizer.low), ball(randomizer.high)
    place = (ball(x) - low) / (high - low)
    if isinstance(randomizer, sd.Gaussian):
        place = place * (high - low) / ball(randomizer.sigma)
    return place


def interval_mass(randomizer, x, left, right):
    """P(left <= y <= right) in balls; left or right may be infinite."""
    at = units(randomizer, x)
    if isinstance(randomizer, sd.Gaussian):
        root = arb(2).sqrt()

        def upper(z):  # P(Z > z)
            return arb(0) if z == math.inf else ((ball(z) - at) / root).erfc() / 2

        if left == -math.inf:
            return 1 - upper(right)
        if ball(right) <= at:  # mirrored: erfc keeps its bits in the tail
            return ((at - ball(right)) / root).erfc() / 2 - ((at - ball(left)) / root).erfc() / 2
        return upper(left) - upper(right)
    rate = ball(randomizer.eps0)

    def beyond(z):  # mass on the far side of z, seen from the input
        return arb(0) if math.isinf(z) else (-rate * abs(ball(z) - at)).exp() / 2

    if right != math.inf and ball(right) <= at:
        return beyond(right) - beyond(left)
    if left != -math.inf and ball(left) >= at:
        return beyond(left) - beyond(right)
    return 1 - beyond(left) - beyond(right)


def assert_close(value, exact, rel, where):
    """Relative, but for masses that a float cannot hold."""
    if exact > TINY:
        assert abs(ball(float(value)) - exact) <= ball(rel) * exact, where
    else:
        assert ball(float(value)) <= 2 * TINY, where


def log_density(randomizer, x, y):
    at = units(randomizer, x)
    if isinstance(randomizer, sd.Gaussian):
        return -((y - at) ** 2) / 2
    return -ball(randomizer.eps0) * abs(y - at)


def cell_edges(randomizer, inputs, cells=CELLS):
    """The cut points the law says it uses."""
    if isinstance(randomizer, sd.Gaussian):
        from shuffledp.randomizers.gaussian import _cell_edges

        return _cell_edges(randomizer.distance, cells)
    from shuffledp.randomizers.interval import interval_input
    from shuffledp.randomizers.laplace import _cell_edges

    inside = _cell_edges(np.array([interval_input(randomizer, x) for x in inputs]), cells)
    return np.concatenate([[-math.inf], inside, [math.inf]])


def blanket_point(randomizer, left, right):
    """The input whose density is the infimum over the cell: the farther end point."""
    middle = units(randomizer, randomizer.low) + units(randomizer, randomizer.high)
    if right != math.inf and (left == -math.inf or ball(left) + ball(right) <= middle):
        return randomizer.high
    return randomizer.low


def some(count, size):
    return sorted(
        {0, 1, 2, size - 3, size - 2, size - 1, *np.linspace(0, size - 1, count, dtype=int)}
    )


@pytest.mark.parametrize("randomizer", [*LAPLACE, *GAUSSIAN, *NARROW], ids=repr)
@pytest.mark.parametrize("cells", [CELLS, DEFAULT_CELLS])
def test_masses_blanket_and_tails(randomizer, cells):
    low, high = randomizer.low, randomizer.high
    inputs = (
        (low, high, low)
        if getattr(randomizer, "binary", False)
        else (low, high, low + (high - low) / 4)
    )
    law = randomizer.law(inputs, cells=cells)
    edges = cell_edges(randomizer, inputs, cells)
    assert np.all(np.diff(edges) > 0.0)
    assert law.blanket.size == edges.size - 1
    for j in some(60, law.blanket.size):
        left, right = float(edges[j]), float(edges[j + 1])
        for row, x in enumerate(inputs):
            exact = interval_mass(randomizer, x, left, right)
            assert_close(law.mass[row, j], exact, law.rel, (j, x))
        exact = interval_mass(randomizer, blanket_point(randomizer, left, right), left, right)
        assert_close(law.blanket[j], exact, law.rel, j)
    for row, x in enumerate(inputs):
        inside = interval_mass(randomizer, x, float(edges[0]), float(edges[-1]))
        if edges[0] > -math.inf:
            at = units(randomizer, x)
            root = arb(2).sqrt()
            outside = ((at - ball(float(edges[0]))) / root).erfc() / 2
            outside += ((ball(float(edges[-1])) - at) / root).erfc() / 2
            assert ball(float(law.tails()[row])) >= outside
        else:
            assert abs(inside - 1) < arb(2) ** -200


@pytest.mark.many(23)
@pytest.mark.parametrize("randomizer", [*LAPLACE, *GAUSSIAN], ids=repr)
@pytest.mark.parametrize("kind", ["blanket", "low", "middle"])
def test_ratio_ranges_hold_every_point_of_the_cell(randomizer, kind):
    low, high = randomizer.low, randomizer.high
    if kind == "middle" and getattr(randomizer, "binary", False):
        x2 = high
    else:
        x2 = {"blanket": None, "low": low, "middle": 0.5 * (low + high)}[kind]
    inputs = (low, high) if x2 is None else (low, high, x2)
    if x2 is None:
        pair = blanket_pair(randomizer, low, high, n=10, cells=DEFAULT_CELLS)
    else:
        pair = dataset_pair(randomizer, low, high, x2, n=10, cells=DEFAULT_CELLS)
    edges = cell_edges(randomizer, inputs, DEFAULT_CELLS)
    law = randomizer.law(inputs, cells=DEFAULT_CELLS)
    reference = law.blanket if x2 is None else law.mass[2]
    masses = set(pair.w)
    kept = [j for j in range(reference.size) if reference[j] in masses]
    first = next(j for j in range(reference.size) if reference[j] == pair.w[0])
    ranges = pair.ranges
    for i in some(40, pair.w.size):
        j = first + i
        assert reference[j] == pair.w[i]
        left, right = float(edges[j]), float(edges[j + 1])
        left = right - 1.0 if left == -math.inf else left
        right = left + 1.0 if right == math.inf else right
        ref = blanket_point(randomizer, float(edges[j]), float(edges[j + 1])) if x2 is None else x2
        values = []
        for part in range(9):
            y = ball(left) + (ball(right) - ball(left)) * part / 8
            base = log_density(randomizer, ref, y)
            ratio_a = (log_density(randomizer, low, y) - base).exp()
            ratio_b = (log_density(randomizer, high, y) - base).exp()
            for ratio, bottom, top in (
                (ratio_a, ranges.a_low[i], ranges.a_high[i]),
                (ratio_b, ranges.b_low[i], ranges.b_high[i]),
            ):
                assert ball(float(bottom)) <= ratio or bottom < TINY
                assert ratio <= ball(float(top)) or ratio < TINY
            values.append((float(ratio_a), float(ratio_b)))
        for column, bottom, top in (
            (0, ranges.a_low[i], ranges.a_high[i]),
            (1, ranges.b_low[i], ranges.b_high[i]),
        ):
            ends = [v[column] for v in values]
            # Not wider than the cell by more than rounding.
            assert top <= max(ends) * (1 + 1e-9) or max(ends) < 1e-25
            assert bottom >= min(ends) * (1 - 1e-9) or min(ends) < 1e-25
            steps = np.diff(ends)
            noise = 1e-12 * max(ends)
            assert np.all(steps >= -noise) or np.all(steps <= noise)
        assert ranges.a_low[i] <= pair.a[i] <= ranges.a_high[i]
        assert ranges.b_low[i] <= pair.b[i] <= ranges.b_high[i]
    assert len(kept) >= pair.w.size


@pytest.mark.many(8)
@pytest.mark.parametrize("randomizer", [*LAPLACE, *GAUSSIAN], ids=repr)
def test_mass_one_and_mean(randomizer):
    low, high = randomizer.low, randomizer.high
    pairs = [blanket_pair(randomizer, low, high, n=10, cells=DEFAULT_CELLS)]
    pairs += [
        dataset_pair(randomizer, *triple, n=10, cells=DEFAULT_CELLS)
        for triple in randomizer.datasets()
    ]
    for pair in pairs:
        slack = 4 * pair.rel + 1e-14
        p = math.fsum(pair.w * pair.a) + pair.outside[:, 0].sum()
        q = math.fsum(pair.w * pair.b) + pair.outside[:, 1].sum()
        # What the cells lack is in the tail, and the tail is not more than a bound on it.
        assert 1.0 - pair.tail[0] - slack <= p <= 1.0 + slack
        assert 1.0 - pair.tail[1] - slack <= q <= 1.0 + slack
        left, err = pair.leftover_mass()
        total = math.fsum(pair.w) + left
        assert abs(total - 1.0) <= slack + err + max(pair.tail)


@pytest.mark.many(2)
@pytest.mark.parametrize("randomizer", [LAPLACE[2], LAPLACE[6], GAUSSIAN[2], GAUSSIAN[3]], ids=repr)
def test_end_points_dominate_other_pairs(randomizer):
    """The declared worst pair against a grid of ordered pairs, on coarse cells, one-sided."""
    if getattr(randomizer, "binary", False):
        return
    from shuffledp.bounds.profile import Profile
    from shuffledp.laws.pairs import blanket_pair

    if isinstance(randomizer, sd.Gaussian):
        scale = 1.0 / randomizer.distance
    else:
        scale = 0.3 * randomizer.eps0
    low, high = randomizer.low, randomizer.high
    ((x0, x1),) = randomizer.worst_pairs().pairs
    grid = np.linspace(low, high, 3)
    for n in (1, 40):
        worst = Profile(blanket_pair(randomizer, x0, x1, n=n)).log_delta(scale, width=3e-2).high
        for a in grid:
            for b in grid:
                if a == b:
                    continue
                other = blanket_pair(randomizer, float(a), float(b), n=n)
                assert Profile(other).log_delta(scale, width=1e-1).low <= worst
