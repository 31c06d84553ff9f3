"""Clamped and truncated Laplace: laws, guarantees and worst pairs."""

import math

import numpy as np
import pytest
from flint import arb

import shuffledp as sd
from enumerated import ball
from randomizers.noise import check_convex_order
from shuffledp.laws.pairs import cells_of

CLAMPED = [
    sd.ClampedLaplace(eps0=1.0),
    sd.ClampedLaplace(eps0=0.2, margin=0.3),
    sd.ClampedLaplace(eps0=4.0, low=-1.0, high=3.0, margin=1.0),
]
TRUNCATED = [
    sd.TruncatedLaplace(eps0=1e-3),
    sd.TruncatedLaplace(eps0=1.0),
    sd.TruncatedLaplace(eps0=1.0, margin=0.25),
    sd.TruncatedLaplace(eps0=5.0, low=-1.0, high=3.0, margin=2.0),
    sd.TruncatedLaplace(eps0=40.0, margin=0.01),
]


def density(randomizer, x, y):
    """e^{-eps0 |y - x|}/(probability of the interval), in units of the interval, in balls."""
    rate, margin = ball(randomizer.eps0), ball(randomizer.margin)
    margin = margin / (ball(randomizer.high) - ball(randomizer.low))
    inside = 2 - (-rate * (x + margin)).exp() - (-rate * (1 - x + margin)).exp()
    return rate * (-rate * abs(y - x)).exp() / inside


@pytest.mark.parametrize("randomizer", TRUNCATED, ids=repr)
@pytest.mark.parametrize("third", [None, 0.0, 0.25])
def test_truncated_law(randomizer, third):
    """Means of ratios are in their ranges, and so are the ratios of the outermost outputs."""
    low, high = randomizer.low, randomizer.high
    inputs = (low, high) if third is None else (low, high, low + third * (high - low))
    cells = cells_of(randomizer, inputs).cells
    left = -ball(randomizer.margin) / (ball(high) - ball(low))
    total = arb(0)
    for cell in cells[:: max(1, len(cells) // 50)]:
        assert cell.bottom.u <= cell.p / cell.mass * (1 + arb(10) ** -9)
        assert cell.top.u * (1 + arb(10) ** -9) >= cell.p / cell.mass
    for row in zip(*(cell[:3] for cell in cells), strict=True):
        total = sum(row, arb(0))
        assert total < 1 + arb(10) ** -12
        assert third is None or abs(total - 1) < arb(10) ** -12
    # The first and the last output: both ratios in closed form.
    right = 1 - left
    for cell, y in ((cells[0], left), (cells[-1], right)):
        end = arb(third) if third is not None else (arb(1) if y < 0.5 else arb(0))
        u, v = (density(randomizer, x, y) / density(randomizer, end, y) for x in (arb(0), arb(1)))
        assert cell.bottom.u <= u * (1 + arb(10) ** -9)
        assert u <= cell.top.u * (1 + arb(10) ** -9)
        assert cell.top.v <= v * (1 + arb(10) ** -9)
        assert v <= cell.bottom.v * (1 + arb(10) ** -9)


@pytest.mark.parametrize("randomizer", TRUNCATED[1:4], ids=repr)
def test_blanket_is_the_infimum_and_eps0_the_largest_ratio(randomizer):
    margin = float(randomizer.margin / (randomizer.high - randomizer.low))
    places = [arb(k) / 16 for k in range(17)]
    largest = 0.0
    for y in np.linspace(-margin, 1.0 + margin, 33):
        values = [density(randomizer, x, ball(float(y))) for x in places]
        least = min(float(v) for v in values)
        end = values[-1] if y < 0.5 else values[0]
        assert float(end) <= least * (1 + 1e-14)
        largest = max(largest, math.log(max(float(v) for v in values) / least))
    assert largest <= randomizer.eps0 * (1 + 1e-12)
    assert largest >= randomizer.eps0 * (1 - 1e-9)


@pytest.mark.parametrize("randomizer", [*CLAMPED[:2], *TRUNCATED[1:3]], ids=repr)
def test_end_points_dominate_other_pairs(randomizer):
    check_convex_order(randomizer, (0.0, 0.25, 0.5, 0.9, 1.0), cells=2000)
