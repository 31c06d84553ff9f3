"""The verifier's laws and pairs against whole channels: every input, every output, every pair."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from adversary import cases
from adversary.channels import ball, merged, rows_of
from adversary.neighbours import whole_rows
from enumerated import worst_blanket as exact_worst_blanket
from laws import log_delta, ordered_pairs
from shuffledp.ball.caps import orthogonal_overlap

BITS = 200
NAMES = [name for name in cases.SINGLE if name not in {"channel", "k-rr", "binary-rr"}]


def as_file(value):
    if isinstance(value, dict):
        return {k: as_file(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [as_file(v) for v in value]
    return value


def table(mechanism):
    """Under the names the laws have."""
    found = as_file(mechanism.to_dict())
    if found["name"] in {"blh", "olh"}:
        l = 2 if found["name"] == "blh" else round(math.exp(found["eps0"])) + 1
        found |= {"name": "local-hash", "l": l}
    return found


def worst_blanket(rows, n, epsilon):
    """The blanket's divergence of the worst of all ordered pairs, to 2^-190."""
    units = whole_rows(rows)
    channel = [[Fraction(p, 1 << BITS) for p in row] for row in units]
    value = (arb(epsilon).exp() * (1 << BITS)).floor().unique_fmpz()
    return exact_worst_blanket(channel, n, Fraction(int(value), 1 << BITS))


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", NAMES)
def test_blanket_of_the_verifiers_pairs_is_that_of_the_worst_of_all(name, seed):
    mechanism = cases.mechanism(name, seed)
    rows = rows_of(mechanism)
    n = 2 if len(rows[0]) <= 24 else 1
    for epsilon in (0.0, 0.2, 0.7 * min(mechanism.eps0, 4.0)):
        true = worst_blanket(rows, n, epsilon)
        found = [
            log_delta(
                mechanism.to_dict(),
                analysis="blanket",
                n=n,
                epsilon=epsilon,
                x0=x0,
                x1=x1,
                rel=1e-9,
            )
            for x0, x1 in ordered_pairs(as_file(mechanism.to_dict()))
        ]
        low, high = (max(bracket[i] for bracket in found) for i in (0, 1))
        if not true:
            assert high == -math.inf
            continue
        log = ball(true).log()
        assert log > low - 1e-12
        assert log < high + 1e-12
        assert high - low < 1e-8


def test_wheel_on_a_small_circle(monkeypatch):
    """All places of four items on a circle of 5 points: no pair of sets exceeds the envelope."""
    monkeypatch.setattr("shuffledp.randomizers.wheel.CIRCLE", 5)
    eps0 = 1.3
    wheel = {"name": "wheel", "domain": 4, "s": 2, "eps0": eps0, "p": 0.2}
    rows = small_wheel(5, 1, 4, 2, eps0)
    for epsilon in (0.0, 0.3, 1.0):
        for n in (1, 2):
            true = worst_blanket(rows, n, epsilon)
            _, high = log_delta(
                wheel, analysis="blanket", n=n, epsilon=epsilon, x0=-1, x1=-2, rel=1e-6
            )
            assert float(ball(true).log()) <= high + 1e-12
        # What is published of two disjoint sets is a coarse-graining.
        coarse = log_delta(
            wheel, analysis="dataset", n=1, epsilon=epsilon, x0=0, x1=1, x2=0, rel=1e-6
        )
        assert coarse[0] <= float(ball(worst_blanket(rows, 1, epsilon)).log()) + 1e-12


def small_wheel(points, arc, items, s, eps0):
    """Rows of all sets of s items; the circle is turned so that the point is 0."""
    grow = arb(eps0).exp()
    p = Fraction(s * arc, points)
    total = 1 + ball(p) * (grow - 1)
    sets = list(itertools.combinations(range(items), s))
    columns = []
    for places in itertools.product(range(points), repeat=items):
        column = []
        for chosen in sets:
            union = {(places[i] + j) % points for i in chosen for j in range(arc)}
            length = ball(Fraction(len(union), points))
            on = grow / total
            column.append(on if 0 in union else (total - length * grow) / ((1 - length) * total))
        columns.append([v / points**items for v in column])
    return merged([list(row) for row in zip(*columns, strict=True)])


@pytest.mark.parametrize("d", [2, 3, 6])
@pytest.mark.parametrize("c", [0.2, 0.5])
def test_orthogonal_caps_by_sampling(c, d):
    """Within four standard errors of 400,000 points of the sphere."""
    rng = np.random.default_rng(d)
    points = rng.standard_normal((400_000, d))
    points /= np.linalg.norm(points, axis=1)[:, None]
    t = np.quantile(points[:, 0], 1 - c)
    share = float(np.mean((points[:, 0] >= t) & (points[:, 1] >= t)))
    found = float(orthogonal_overlap(Fraction(c), d))
    assert abs(share - found) <= 4.0 * math.sqrt(max(found, 1e-5) / 400_000) + 2e-3 * c


@pytest.mark.parametrize("shape", [0.5, 1.0, 1.5, 2.0, 4.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.2, 0.7])
def test_generalized_gaussian_alone_by_a_sum_over_cells(shape, epsilon):
    """int (P - e^eps Q)_+ by the midpoint rule, and for shape 2 by the normal law's formula."""
    noise = {"name": "generalized-gaussian", "shape": shape, "scale": 1.5, "low": 0.0, "high": 1.0}
    low, high = log_delta(noise, analysis="local", n=1, epsilon=epsilon, x0=0.0, x1=1.0)
    reach = 150 if shape >= 1.0 else 1500
    y = np.linspace(-reach, reach + 1, 2_000_001)
    f = [np.exp(-((np.abs(y - x) / 1.5) ** shape)) for x in (0.0, 1.0)]
    norm = 2 * 1.5 * math.gamma(1 + 1 / shape)
    rough = float(np.maximum(f[0] - math.exp(epsilon) * f[1], 0).sum() * (y[1] - y[0]) / norm)
    if rough > 1e-9:
        assert low <= high
        assert abs(math.exp(low) / rough - 1) < (1e-4 if shape >= 1.0 else 1e-3)
    else:
        assert high == -math.inf
    if shape == 2.0:
        sigma = {"name": "gaussian", "sigma": 1.5 / math.sqrt(2), "low": 0.0, "high": 1.0}
        other = log_delta(sigma, analysis="local", n=1, epsilon=epsilon, x0=0.0, x1=1.0)
        assert abs(other[0] - low) < 1e-12


@pytest.mark.parametrize("margin", [0.0, 0.5])
@pytest.mark.parametrize(("x0", "x1"), [(0.0, 1.0), (1.0, 0.0), (0.25, 0.75), (0.5, 0.0)])
@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_truncated_laplace_alone_by_a_sum_over_cells(margin, x0, x1, epsilon):
    noise = {"name": "truncated-laplace", "eps0": 1.5, "low": 0.0, "high": 1.0, "margin": margin}
    edges = np.linspace(-margin, 1 + margin, 400_001)
    y = 0.5 * (edges[1:] + edges[:-1])
    f = [np.exp(-1.5 * np.abs(y - x)) for x in (x0, x1)]
    p, q = (row / row.sum() for row in f)
    rough = float(np.maximum(p - math.exp(epsilon) * q, 0).sum())
    low, high = log_delta(noise, analysis="local", n=1, epsilon=epsilon, x0=x0, x1=x1)
    assert high - low < 1e-9
    assert abs(math.exp(low) / rough - 1) < 1e-4


@pytest.mark.long
def test_laplace_as_a_generalized_gaussian():
    same = {"n": 300, "epsilon": 0.15, "x0": 0.0, "x1": 1.0, "rel": 1e-3}
    laplace = {"name": "laplace", "eps0": 1.0, "low": 0.0, "high": 1.0}
    power = {"name": "generalized-gaussian", "shape": 1.0, "scale": 1.0, "low": 0.0, "high": 1.0}
    for analysis, x2 in (("blanket", None), ("dataset", 0.5)):
        one = log_delta(laplace, analysis=analysis, x2=x2, **same)
        other = log_delta(power, analysis=analysis, x2=x2, **same)
        assert max(one[0], other[0]) <= min(one[1], other[1])
