"""Noise on an interval from its definition, covers that nobody tuned, exact data sets."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from shuffledp.arithmetic.balls import arb
from shuffledp.bounds.covers import Cover, Label, Row
from shuffledp.bounds.interval_cells import Outputs

Floats = npt.NDArray[np.float64]
NOISES = [(False, 1.0), (False, 0.25), (True, 0.5), (True, 1.0), (True, 2.0)]
NAMES = ["laplace-1", "laplace-4", "normal-0.5", "normal-1", "normal-2"]
noises = pytest.mark.parametrize(("normal", "width"), NOISES, ids=NAMES)


def density(z: Floats, width: float, *, normal: bool) -> Floats:
    """Of the noise, from its definition."""
    if normal:
        return np.exp(-0.5 * (z / width) ** 2) / (width * math.sqrt(2 * math.pi))
    return np.exp(-np.abs(z) / width) / (2 * width)


def line(width: float, *, normal: bool) -> tuple[Floats, Floats]:
    """Places and weights of a midpoint rule; no kink inside of its cells."""
    far = 12 * width if normal else 40 * width
    below, inside = (
        -far + far * (np.arange(40_000) + 0.5) / 40_000,
        (np.arange(40_000) + 0.5) / 40_000,
    )
    y = np.concatenate([below, inside, 1 - below[::-1]])
    w = np.concatenate([np.full(40_000, far / 40_000), np.full(40_000, 1 / 40_000)])
    return y, np.concatenate([w, w[:40_000]])


def outputs(width: float, *, normal: bool) -> Outputs:
    return Outputs(arb(width), normal=normal)


def simple_cover(
    width: float, *, normal: bool, cells: int = 60, last: float | None = None
) -> Cover:
    """Even cells and grids that nobody tuned."""
    low, high = (-8 * width, 1 + 8 * width) if normal else (0.0, 1.0)
    high = high if last is None else last
    edges = tuple(float(y) for y in np.linspace(low, high, cells + 1))
    half = [float(y) for y in np.linspace(0.5, max(high, 1 - low), 40)]
    pool = tuple(sorted({*half, *(1 - y for y in half)}))
    boxes = (edges[0], *(float(y) for y in np.linspace(edges[0], edges[-1], 40)[1:-1]), edges[-1])
    row = Row((0.0, 0.125, 0.5, 0.75, 1.0), (0.3, 0.4, 0.35, 0.5))
    return Cover(edges, pool, boxes, row, row, (0.0, 0.125, 0.25, 0.5))


def label_of(made: list[Callable[[], Label]], triple: tuple[float, float, float]) -> Label:
    return next(label for label in (make() for make in made) if label.triple == triple)


def convex(label: Label, payoff: Callable[[Floats], Floats]) -> float:
    mass = np.array([float(m) for m, _ in label.atoms])
    gain = np.array([float(g) for _, g in label.atoms])
    return float(mass @ payoff(gain))


PAYOFFS: list[Callable[[Floats], Floats]] = [
    *(lambda g, t=t: np.maximum(g - t, 0.0) for t in (-2.0, -0.3, -0.1, 0.0, 0.1, 0.5, 2.0)),
    lambda g: np.exp(0.3 * np.minimum(g, 100.0)),
]


GOOD = simple_cover(1.0, normal=True)


def cell_masses(x: float, edges: Floats, width: float, *, normal: bool) -> Floats:
    def below(y: float) -> float:
        z = (y - x) / width
        if normal:
            return 0.5 * math.erfc(-z / math.sqrt(2))
        return 0.5 * math.exp(z) if z < 0 else 1 - 0.5 * math.exp(-z)

    inner = [below(float(y)) for y in edges]
    return np.diff([0.0, *inner, 1.0])


def least_delta(
    inputs: tuple[float, ...], pair: tuple[float, float], eps: float, width: float, *, normal: bool
) -> float:
    """delta of the shuffled cells of reports, which is at most that of the shuffled reports."""
    count = 260 if len(inputs) == 1 else 44
    reach = 6 * width if normal else 0.0
    edges = np.linspace(-reach, 1 + reach, count)

    def law(x: float) -> Floats:
        return cell_masses(x, edges, width, normal=normal)

    g = law(pair[0]) - math.exp(eps) * law(pair[1])
    laws = [law(x) for x in inputs]
    if len(inputs) == 1:
        both = np.multiply.outer(g, laws[0])
        return float(np.maximum(both + both.T, 0.0).sum()) / 2
    others = np.multiply.outer(laws[0], laws[1])
    others = (others + others.T) / 2
    cube = np.multiply.outer(g, others)
    whole = cube + np.transpose(cube, (1, 0, 2)) + np.transpose(cube, (1, 2, 0))
    return float(np.maximum(whole, 0.0).sum()) / 3
