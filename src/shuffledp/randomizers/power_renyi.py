"""Renyi divergence between generalized Gaussian laws, bounded from above by sums over cells."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from shuffledp.arithmetic.floats import UNIT_ROUNDOFF, Array

U = UNIT_ROUNDOFF
# Cells of each monotone piece: a sum of largest values exceeds the integral by one cell's width
# times the peak, about 1/500 of it.
_CELLS = 4096
# A piece is followed until its integrand has fallen by e^-60: the rest is bounded in closed form.
_FALL = 60.0
_LARGEST = 1e290


@lru_cache(maxsize=4096)
def power_renyi(shape: float, distance: float, order: float) -> float:
    """Upper bound of the Renyi divergence of exp(-|y|^b) and exp(-|y - d|^b), normalised, b > 1.

    e^{(A-1) D} = int e^phi/(2 Gamma(1 + 1/b)), phi = -A |y|^b + (A-1) |y - d|^b. phi falls on
    [0, d] and beyond; to the left, y = -z, it grows up to z* = d/((A/(A-1))^{1/(b-1)} - 1) and is
    concave from there on, because phi' = b z^{b-1} [(A-1)(1 + d/z)^{b-1} - A] and the bracket
    falls. Beyond y >= d the slope is at most -b y^{b-1}.

    Parameters
    ----------
    shape : float
        b > 1.
    distance : float
        d, of the two inputs in scales, > 0.
    order : float
        A > 1.

    Returns
    -------
    float
        In nats; inf where the numbers leave the range of floats.
    """
    b, d = shape, distance

    def size(y: Array) -> Array:
        return order * np.abs(y) ** b + (order - 1.0) * np.abs(y - d) ** b

    def phi(y: Array) -> Array:
        """Rounded up: each power is within (b + 4) u of itself, its argument within u."""
        value = (order - 1.0) * np.abs(y - d) ** b - order * np.abs(y) ** b
        return value + 8.0 * (b + 4.0) * U * size(y)

    ratio = -math.log1p(-1.0 / order) / (b - 1.0)
    peak = d / math.expm1(min(ratio, 700.0))
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        far = _far(phi, peak, d, sign=-1.0)
        right = _far(phi, d, d, sign=1.0)
        if not (math.isfinite(far) and math.isfinite(right)):
            return math.inf
        near = _falling(phi, 0.0, peak)
        pieces = [
            _left_ends(phi, np.linspace(peak, far, _CELLS + 1), -1.0),
            _left_ends(phi, np.linspace(peak, near, _CELLS + 1), -1.0),
            _left_ends(phi, np.array([near, 0.0]), -1.0),
            _left_ends(phi, np.linspace(0.0, d, _CELLS + 1), 1.0),
            _left_ends(phi, np.linspace(d, right, _CELLS + 1), 1.0),
        ]
        grown = (order - 1.0) * np.power(1.0 + d / far, b - 1.0)
        slope = b * np.power(far, b - 1.0) * (order - grown) * (1.0 - 1e-6)
        pieces.append(float(phi(np.array(-far)) - np.log(np.maximum(slope, 1e-300))))
        pieces.append(float(phi(np.array(right)) - np.log(b * np.power(right, b - 1.0))))
    if not all(piece < math.inf for piece in pieces):
        return math.inf
    log = (
        float(np.logaddexp.reduce([p for p in pieces if p > -math.inf]))
        - math.log(2.0)
        - math.lgamma(1.0 + 1.0 / b)
    )
    log += 1e-12 * (1.0 + abs(log))
    return max(log, 0.0) / (order - 1.0) * (1.0 + 8 * U) if math.isfinite(log) else math.inf


def _far(phi: Callable[[Array], Array], start: float, step: float, *, sign: float) -> float:
    """A place beyond ``start`` where phi is lower by 60, or nan."""
    goal = float(phi(np.array(sign * start))) - _FALL
    step = max(step, 1e-3, 1e-9 * start)
    while start + step < _LARGEST:
        if not float(phi(np.array(sign * (start + step)))) > goal:
            return _nearest(phi, (start, start + step), goal, sign)
        step *= 2.0
    return math.nan


def _falling(phi: Callable[[Array], Array], low: float, peak: float) -> float:
    """A place in [0, z*] below which phi is lower by 60, or 0."""
    goal = float(phi(np.array(-peak))) - _FALL
    if float(phi(np.array(-low))) > goal:
        return low
    return _nearest(phi, (peak, low), goal, -1.0)


def _nearest(
    phi: Callable[[Array], Array], ends: tuple[float, float], goal: float, sign: float
) -> float:
    """About where phi is at the goal, on the side where it is lower; at the first end it is not."""
    above, below = ends
    for _ in range(12):
        middle = 0.5 * (above + below)
        if float(phi(np.array(sign * middle))) > goal:
            above = middle
        else:
            below = middle
    return below


def _left_ends(phi: Callable[[Array], Array], z: Array, sign: float) -> float:
    """log of the sum of cell widths times the value at the end where phi is larger, the first."""
    values = phi(sign * z[:-1])
    widths = np.abs(np.diff(z)) * (1.0 + 4 * U)
    top = float(values.max())
    if not widths.max() > 0.0:
        return -math.inf
    return top + math.log(float((np.exp(values - top) * widths).sum())) + 1e-12
