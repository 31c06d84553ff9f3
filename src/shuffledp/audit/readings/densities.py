"""Readings of reports on the real line whose law is given by its distribution function."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from shuffledp.audit.readings.base import Floats, Reading, reading_of
from shuffledp.audit.readings.line import Masses, on_line
from shuffledp.audit.readings.outputs import bit_table
from shuffledp.randomizers import Density, Hybrid, Piecewise, Staircase
from shuffledp.randomizers.piecewise import lattice

# (x, y) -> P(Y <= y) under x, and P(Y > y), for arrays y.
Chances = Callable[[float, Floats], tuple[Floats, Floats]]


def differences(chances: Chances) -> Masses:
    """Masses of cells as the difference of those two of four numbers that are small."""

    def masses(x: float, edges: Floats) -> Floats:
        below, above = chances(x, edges)
        below, above = np.concatenate([[0.0], below, [1.0]]), np.concatenate([[1.0], above, [0.0]])
        return np.where(below[1:] < 0.5, np.diff(below), -np.diff(above))

    return masses


@reading_of.register(Staircase)
def _staircase(randomizer: Any, inputs: tuple[Any, ...]) -> Reading:
    """P(Z > k + r): what is left of step k, and the steps beyond it, a geometric series."""
    length = randomizer.high - randomizer.low
    g, b = float(randomizer.width), math.exp(-randomizer.eps0)
    top = -math.expm1(-randomizer.eps0) / (2.0 * (g + b * (1.0 - g)))
    step = g + b * (1.0 - g)

    def tail(t: Floats) -> Floats:
        k = np.floor(t / length)
        r = t / length - k
        own = np.where(r < g, (g - r) + (1.0 - g) * b, (1.0 - r) * b)
        return top * np.exp(-randomizer.eps0 * k) * (own + b * step / (1.0 - b))

    def chances(x: float, y: Floats) -> tuple[Floats, Floats]:
        small = tail(np.abs(y - x))
        return np.where(y < x, small, 1.0 - small), np.where(y < x, 1.0 - small, small)

    return on_line(randomizer, differences(chances), inputs)


@reading_of.register
def _density(randomizer: Density, inputs: tuple[Any, ...]) -> Reading:
    """Its reports are cells, some thousand of them: equal ones are no surprise."""
    edges, mass = randomizer.chances
    middles = 0.5 * (edges[1:] + edges[:-1])

    def masses(x: float, y: Floats) -> Floats:
        # A value between two inputs is rounded to either at random.
        place = (x - randomizer.low) / (randomizer.high - randomizer.low) * (randomizer.points - 1)
        below = min(int(place), randomizer.points - 2)
        row = mass[below] + (place - below) * (mass[below + 1] - mass[below])
        cells = np.searchsorted(y, middles, side="left")
        return np.bincount(cells, weights=row, minlength=y.size + 1).astype(np.float64)

    found = on_line(randomizer, masses, inputs, ends=randomizer.outputs, err=0.0)
    return dataclasses.replace(found, equal=None)


@reading_of.register
def _piecewise(randomizer: Piecewise, inputs: tuple[Any, ...]) -> Reading:
    """Uniform on all with probability 1/w, else uniform on the interval around x."""
    far = randomizer.half * randomizer.reach
    ends = (randomizer.middle - far, randomizer.middle + far)
    masses, err = differences(_pieces(randomizer)), _steps(randomizer)
    return on_line(randomizer, masses, inputs, ends=ends, err=err)


def _steps(randomizer: Any) -> float:
    """Two edges of a cell, each off by a step of the favoured interval and a step's rounding."""
    return 4.0 / lattice(randomizer.eps0)[1]


def _pieces(randomizer: Any) -> Chances:
    w = math.exp(0.5 * randomizer.eps0)
    c = 1.0 / math.tanh(0.25 * randomizer.eps0)

    def chances(x: float, y: Floats) -> tuple[Floats, Floats]:
        at = (x - randomizer.middle) / randomizer.half
        place = (y - randomizer.middle) / randomizer.half
        left = 0.5 * ((c + 1.0) * at - (c - 1.0))
        everywhere = np.clip((place + c) / (2.0 * c), 0.0, 1.0)
        near = np.clip((place - left) / (c - 1.0), 0.0, 1.0)
        below = everywhere / w + near * (1.0 - 1.0 / w)
        return below, (1.0 - everywhere) / w + (1.0 - near) * (1.0 - 1.0 / w)

    return chances


@reading_of.register
def _hybrid(randomizer: Hybrid, inputs: tuple[Any, ...]) -> Reading:
    """Both mechanisms: the two values of Duchi's are atoms."""
    share = randomizer.share
    c = 1.0 / math.tanh(0.5 * randomizer.eps0)
    atoms = (randomizer.middle - randomizer.half * c, randomizer.middle + randomizer.half * c)
    pieces = _pieces(randomizer)

    def chances(x: float, y: Floats) -> tuple[Floats, Floats]:
        zero, one = bit_table(randomizer, (x,))[0]
        low = np.where(y < atoms[0], 0.0, np.where(y < atoms[1], zero, 1.0))
        high = np.where(y < atoms[0], 1.0, np.where(y < atoms[1], one, 0.0))
        below, above = pieces(x, y)
        return share * below + (1.0 - share) * low, share * above + (1.0 - share) * high

    far = randomizer.half / math.tanh(0.25 * randomizer.eps0)
    ends = (randomizer.middle - far, randomizer.middle + far) if share > 0.0 else atoms
    masses, err = differences(chances), _steps(randomizer)
    return on_line(randomizer, masses, inputs, atoms=atoms, ends=ends, err=err)
