"""Proposition 6.4: triples of a ball, and the triangle in a great circle that dominates them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

SLACK = 1e-9  # of eigenvalues, next to 1


def smallest_ball(points):
    """Centre and radius: of the diameter of two points, or the circle through three."""
    best = None
    for i, j in ((0, 1), (0, 2), (1, 2)):
        centre = (points[i] + points[j]) / 2
        radius = np.linalg.norm(points[i] - centre)
        if np.linalg.norm(points - centre, axis=1).max() <= radius * (1 + 1e-12) and (
            best is None or radius < best[1]
        ):
            best = centre, radius
    if best is not None:
        return best
    edges = points[1:] - points[0]
    gram = edges @ edges.T
    centre = points[0] + np.linalg.solve(gram, np.diag(gram) / 2) @ edges
    return centre, np.linalg.norm(points[0] - centre)


def lifted(points):
    """Step (b), with r = 1: three points of a great circle."""
    centre, radius = smallest_ball(points)
    moved = points - centre
    more = np.diag(np.sqrt(np.maximum(radius**2 - (moved**2).sum(axis=1), 0.0)))
    sphere = np.hstack([moved, more])
    edges = sphere[1:] - sphere[0]
    gram = edges @ edges.T
    middle = np.linalg.lstsq(gram, np.diag(gram) / 2, rcond=None)[0] @ edges
    return (edges @ np.eye(edges.shape[1]), np.linalg.norm(middle))


def dominating(points):
    """Gram matrix of (x0 - x, x1 - x) of an acute or right triangle in the unit circle."""
    edges, radius = lifted(points)
    edges = edges / radius
    if obtuse(edges):
        edges, radius = lifted(np.vstack([np.zeros(edges.shape[1]), edges]))
        edges = edges / radius
    return edges


def obtuse(edges):
    corners = np.vstack([np.zeros(edges.shape[1]), edges])
    for i in range(3):
        a, b = (corners[j] - corners[i] for j in range(3) if j != i)
        if a @ b < -SLACK:
            return True
    return False


@given(st.integers(0, 2**31), st.integers(2, 5))
def test_some_triangle_in_a_great_circle_dominates(seed, d):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(3, d))
    points /= np.linalg.norm(points, axis=1)[:, None]
    points *= rng.uniform(size=3)[:, None] ** rng.choice([0.0, 0.2, 1.0])
    mine = points[1:] - points[0]
    theirs = dominating(points)
    assert np.linalg.eigvalsh(theirs @ theirs.T - mine @ mine.T).min() >= -SLACK
    assert not obtuse(theirs)
    sides = [np.linalg.norm(v) for v in (*theirs, theirs[1] - theirs[0])]
    area = np.sqrt(max(np.linalg.det(theirs @ theirs.T), 0.0)) / 2
    if area > 1e-3:
        assert abs(np.prod(sides) / (4 * area) - 1) < 1e-6  # the circle's radius is 1


def expected_excess(edges, a, t):
    """Phi_t by quadrature in the plane of the two edges, noise of deviation 1."""
    left, _ = np.linalg.qr(edges.T)
    u, v = (edges @ left)[0], (edges @ left)[1]
    grid = np.linspace(-8, 8, 161)
    x, y = np.meshgrid(grid, grid)
    mass = norm.pdf(x) * norm.pdf(y) * (grid[1] - grid[0]) ** 2
    ratio = [np.exp(w[0] * x + w[1] * y - w @ w / 2) for w in (u, v)]
    return float((np.maximum(ratio[0] - a * ratio[1] + t, 0) * mass).sum())


def test_gains_of_the_triangle_are_larger_in_convex_order():
    rng = np.random.default_rng(1)
    larger = 0
    for _ in range(6):
        points = rng.uniform(-0.6, 0.6, size=(3, 2))
        mine, theirs = points[1:] - points[0], dominating(points)
        for a, t in ((1.0, 0.0), (1.2, 0.5), (1.2, -0.7), (2.0, 1.5)):
            low, high = expected_excess(mine, a, t), expected_excess(theirs, a, t)
            assert low <= high + 1e-4  # what the quadrature may be off
            larger += low < high - 1e-3
    assert larger > 10
