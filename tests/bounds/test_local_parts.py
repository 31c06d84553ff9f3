"""The divergence of one report that is made of parts, noise among them, against fine cells."""

import math

import numpy as np
import pytest

import shuffledp as sd
from shuffledp.bounds.local import log_local_delta

RR, OTHER = sd.KRR(k=3, eps0=0.8), sd.BinaryRR(eps0=1.1)
NOISE, WIDE = sd.Laplace(eps0=1.5), sd.Laplace(eps0=0.7, low=-1.0, high=3.0)
NORMAL = sd.Gaussian(sigma=0.9)
EPS = (0.0, 0.3, 0.75, 0.8, 1.3, 2.2)
FEW, MANY = 60, 4_000


def cells(part, x0, x1, count):
    """Masses of cells under both inputs, and bounds of P/Q on each: cells end at kinks."""
    if isinstance(part, sd.KRR | sd.BinaryRR):
        k = getattr(part, "k", 2)
        rows = np.ones((2, k))
        rows[0, x0] = rows[1, x1] = math.exp(part.eps0)
        p, q = rows / rows.sum(axis=1)[:, None]
        return p, q, p / q, p / q
    scale = (part.high - part.low) / part.eps0 if isinstance(part, sd.Laplace) else part.sigma
    low, high = min(x0, x1), max(x0, x1)
    edges = np.union1d(np.linspace(low - 7 * scale, high + 7 * scale, count + 1), [x0, x1])
    edges = np.concatenate([[-np.inf], edges, [np.inf]])
    p, q = (np.diff([below(part, scale, e - x) for e in edges]) for x in (x0, x1))
    edges = np.clip(edges, -1e6, 1e6)
    if isinstance(part, sd.Laplace):
        logs = (np.abs(edges - x1) - np.abs(edges - x0)) / scale
    else:
        logs = (edges - (x0 + x1) / 2) * (x0 - x1) / scale**2
    ratio = np.exp(np.clip(logs, -50, 50))
    return p, q, np.minimum(ratio[:-1], ratio[1:]), np.maximum(ratio[:-1], ratio[1:])


def below(part, scale, z):
    if isinstance(part, sd.Gaussian):
        return 0.5 * math.erfc(-z / scale / math.sqrt(2)) if math.isfinite(z) else float(z > 0)
    return 0.5 * math.exp(z / scale) if z < 0 else 1 - 0.5 * math.exp(-z / scale)


def enclosed(parts, row0, row1, eps):
    """From cells as outputs to cells with the largest ratio everywhere."""
    count = FEW if sum(hasattr(part, "low") for part in parts) > 1 else MANY
    found = np.ones((1, 1)), np.ones((1, 1)), np.ones((1, 1))
    for part, x0, x1 in zip(parts, row0, row1, strict=True):
        p, q, _, most = cells(part, x0, x1, count)
        found = tuple(
            (old.reshape(-1, 1) * new.reshape(1, -1))
            for old, new in zip(found, (p, q, most), strict=True)
        )
    p, q, most = (one.ravel() for one in found)
    lower = np.maximum(p - math.exp(eps) * q, 0.0).sum()
    return lower, (p * np.maximum(1 - math.exp(eps) / most, 0.0)).sum()


def ends(mechanism, x0, x1, eps):
    found = log_local_delta(mechanism, x0, x1, eps)
    return math.exp(found.low), math.exp(found.high)


@pytest.mark.parametrize(
    ("parts", "row0", "row1"),
    [
        ((RR, NOISE), (0, 0.0), (1, 1.0)),
        ((RR, OTHER, NOISE), (0, 1, 0.25), (2, 0, 1.0)),
        ((NOISE, RR), (1.0, 0), (0.0, 0)),
        ((RR, NORMAL), (0, 0.0), (1, 1.0)),
        ((OTHER, NORMAL, RR), (1, 0.1, 0), (0, 0.6, 0)),
    ],
)
def test_one_part_of_noise_is_exact(parts, row0, row1):
    joint = sd.Joint(parts)
    for eps in EPS:
        low, high = ends(joint, row0, row1, eps)
        lower, upper = enclosed(parts, row0, row1, eps)
        assert low <= upper
        assert high >= lower
        assert high - low <= 1e-12
        assert upper - lower <= 2e-3


@pytest.mark.parametrize(
    ("parts", "row0", "row1"),
    [((NOISE, WIDE), (0.0, -1.0), (1.0, 3.0)), ((RR, NOISE, WIDE), (0, 1.0, 0.0), (1, 0.0, 2.0))],
)
def test_two_parts_of_noise_are_between_their_bounds(parts, row0, row1):
    joint = sd.Joint(parts)
    # At the last one all that is left is the rounding of these sums.
    for eps in EPS[:-1]:
        low, high = ends(joint, row0, row1, eps)
        lower, upper = enclosed(parts, row0, row1, eps)
        assert low <= upper
        assert high >= lower
    spent = sum(part.eps0 for part in parts)
    assert ends(joint, row0, row1, spent) == (0.0, 0.0)


def test_one_of_several_parts_is_their_mean():
    parts, weights = (RR, NOISE), (0.25, 0.75)
    mixed = sd.Parallel(parts, weights=weights)
    for eps in EPS:
        low, high = ends(mixed, (0, 0.0), (1, 1.0), eps)
        each = [
            enclosed([r], [a], [b], eps) for r, a, b in zip(parts, (0, 0.0), (1, 1.0), strict=True)
        ]
        assert low <= sum(w * up for w, (_, up) in zip(weights, each, strict=True))
        assert high >= sum(w * down for w, (down, _) in zip(weights, each, strict=True))
        assert high - low <= 1e-12
    thinned = sd.PoissonSubsample(sd.Joint(parts), rate=0.25)
    low, high = ends(thinned, (0, 0.0), (1, 1.0), 0.3)
    inner = ends(sd.Joint(parts), (0, 0.0), (1, 1.0), 0.3)
    assert low <= 0.25 * inner[1]
    assert high >= 0.25 * inner[0]
