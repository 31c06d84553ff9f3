"""The extreme laws of all eps0-LDP mechanisms, and members of them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import shuffledp as sd
from shuffledp.bounds.stealing_cases import cases_of
from shuffledp.laws.sources import Family


def extreme_laws(grow: float) -> list[tuple[float, ...]]:
    """Weights on the hexagon's vertices of all extreme laws with mean (1, 1), by enumeration."""
    less = 1.0 / grow
    points = np.array(
        [(grow, 1), (1, grow), (grow, grow), (less, less), (1, less), (less, 1)], dtype=float
    )
    found = set()
    for size in (1, 2, 3):
        for support in itertools.combinations(range(6), size):
            system = np.vstack([points[list(support)].T, np.ones(size)])
            weights, *_ = np.linalg.lstsq(system, np.ones(3), rcond=None)
            if np.abs(system @ weights - 1.0).max() < 1e-9 and weights.min() > 1e-9:
                law = np.zeros(6)
                law[list(support)] = weights
                found.add(tuple(np.round(law, 9)))
    return sorted(found)


@pytest.mark.parametrize("eps0", [0.3, 1.0, 3.0])
def test_no_extreme_law_is_missing(eps0: float) -> None:
    grow = math.exp(eps0)
    less = 1.0 / grow
    names = [(grow, 1.0), (1.0, grow), (grow, grow), (less, less), (1.0, less), (less, 1.0)]
    listed = set()
    ((case),) = cases_of(Family(eps0), -40.0)
    for label in case.labels:
        weights = [0.0] * 6
        for p0, p1, mass in zip(*([float(x) for x in row] for row in label[:3]), strict=True):
            near = [math.hypot(p0 / mass - u, p1 / mass - v) for u, v in names]
            assert min(near) < 1e-12
            weights[near.index(min(near))] += mass
        listed.add(tuple(np.round(weights, 9)))
    assert set(extreme_laws(grow)) <= listed


@pytest.mark.parametrize("eps0", [1.0, 4.0])
def test_upper_end_of_all_mechanisms_is_above_two_members(eps0: float) -> None:
    bound = sd.generic(eps0=eps0, n=10_000).epsilon(delta=1e-6, analysis="label-stealing")
    lower = sd.generic(eps0=eps0, n=10_000).epsilon(delta=1e-6).lower
    assert lower <= bound.upper
