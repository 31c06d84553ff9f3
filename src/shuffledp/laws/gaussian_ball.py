"""Gaussian noise for vectors in a ball against its blanket: cells of two coordinates, in balls.

In units of sigma, with r = radius/sigma, t the coordinate along the diameter of the victim's two
points and w the squared length across it: P and Q are products of the law N(-+r, 1) of t and of the
chi-square law of w with d - 1 degrees of freedom. The blanket at y is the normal density at
distance |y| + r. On each cell the reference is a normal density below it, which touches it at
|y| = l: |y| <= l/2 + |y|^2/(2 l), so that

    blanket(y) >= phi(y) e^(-r^2/2 - r l/2 - b |y|^2/2),    b = r/l.

This reference is a product too. The ratios to it are u = C A, v = C / A' with
C = e^(b w/2) between its values at the two ends of w, and A(t) = e^(x t + b t^2/2 + ...), x = -+r,
which is monotone where |t| <= l (docs/theory-noise.md, section 4).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from shuffledp.arithmetic.balls import arb, ctx
from shuffledp.bounds.continuous import Cells
from shuffledp.errors import NotCertified
from shuffledp.kernel.cells import Cell, Corner
from shuffledp.randomizers import GaussianBall
from shuffledp.randomizers.base import Input

__all__ = ["antipodal_cells"]

# Cells along and across: half as many of either widen the upper end by about three times as much.
_ALONG, _ACROSS = 192, 24
# Deviations that cells reach: e^(-22.5^2/2) < 1e-109 is beyond, less than the least delta, 1e-100.
_REACH = 22.5
# Places are even within about so many deviations, and grow in proportion farther out.
_EVEN = 2.0
# Lengths across that are shorter than the usual one by more are one cell: e^(-_LEFT^2) = 1e-9, and
# no ratio is large there.
_LEFT = 4.5
# Bits beyond the working precision for differences of 1e-12.
_MORE = 48
# Cells of less mass under P and Q are left out: 1e-109 for the whole of them.
_LEAST = 1e-114
# So are those of less mass under the reference, whose ratios are no floats.
_NOTHING = 1e-120


def antipodal_cells(randomizer: GaussianBall, inputs: Sequence[Input]) -> Cells:
    """Cells of two antipodal points and the blanket of all points of the ball.

    Parameters
    ----------
    randomizer : GaussianBall
        What each user runs.
    inputs : sequence
        -radius and radius, in either order.
    """
    if sorted(inputs) != [-randomizer.radius, randomizer.radius]:
        raise NotCertified("gaussian-ball: wanted -radius and radius, or three inputs")
    r = arb(randomizer.grown) / arb(randomizer.sigma)
    x0 = r if inputs[0] > inputs[1] else -r
    along, across = _along(float(r)), _across(randomizer.d - 1)
    first, second = _normal(along, x0), _normal(along, -x0)
    rings = _chi_square(randomizer.d - 1, across)
    cells, gone = [], arb(0)
    for j, ring in enumerate(rings):
        w = across[j], across[j + 1]
        for i, t in enumerate(pairwise(along)):
            p, q = first[i] * ring, second[i] * ring
            bend = r / _touching(t, w)
            mass, level = _reference(r, bend, t, w, randomizer.d - 1)
            if p + q < _LEAST or mass < _NOTHING:
                gone += p + q
                continue
            corners = [
                Corner(*((level + x * y + bend * y * y / 2).exp() for x in (x0, -x0))) for y in t
            ]
            bottom, top = corners if x0 > 0 else corners[::-1]
            stretch = ((bend * w[0] / 2).exp(), (bend * w[1] / 2).exp())
            cells.append(Cell(mass, p, q, bottom, top, stretch))
    # Each input is r from 0, along which cells reach as far on either side of it as across.
    beyond = along[-1] - r
    gone += (beyond / arb(2).sqrt()).erfc() + (across[-1] / 2).gamma_upper(
        arb(randomizer.d - 1) / 2, regularized=1
    )
    return Cells(cells, gone, gone)


def _along(r: float) -> list[arb]:
    """Cut points along the diameter."""
    wide = _EVEN + r
    end = math.asinh((_REACH + r) / wide)
    return [arb(float(y)) for y in wide * np.sinh(np.linspace(-end, end, _ALONG + 1))]


def _across(freedom: int) -> list[arb]:
    """Cut points of the squared length across: its root has about the deviation sqrt(1/2)."""
    end = math.asinh(_REACH / _EVEN)
    lengths = math.sqrt(freedom) + _EVEN * np.sinh(np.linspace(-end, end, 2 * _ACROSS + 1))
    lengths = lengths[lengths > max(math.sqrt(freedom) - _LEFT, 0.0)]
    return [arb(0), *(arb(float(y)) * arb(float(y)) for y in lengths)]


def _touching(t: tuple[arb, arb], w: tuple[arb, arb]) -> arb:
    """l: about |y| in the middle of the cell, and at least |t| on all of it."""
    squares = (t[0] + t[1]) * (t[0] + t[1]) / 4 + (w[0] + w[1]) / 2
    return arb(float(squares.sqrt())).max(abs(t[0])).max(abs(t[1])).upper()


def _reference(
    r: arb, bend: arb, t: tuple[arb, arb], w: tuple[arb, arb], freedom: int
) -> tuple[arb, arb]:
    """Mass of the reference on the cell, and log of the ratio P/reference at t = w = 0.

    e^(-b |y|^2/2) phi(y) is the density of N(0, 1/(1 + b)), times (1 + b)^(-d/2).
    """
    scale = (1 + bend).sqrt()
    # r l = r^2/b; P has the factor e^(-r^2/2) as well, which cancels.
    level = r * r / bend / 2
    share = (-level - r * r / 2 - (freedom + 1) * bend.log1p() / 2).exp()
    along = _normal([y * scale for y in t], arb(0))[0]
    across = _chi_square(freedom, [x * scale * scale for x in w])[0]
    return share * along * across, level


def _normal(points: Sequence[arb], x: arb) -> list[arb]:
    """Masses of N(x, 1) between neighbouring points, from the side where they are small."""
    root = arb(2).sqrt()
    places = [(y - x) / root for y in points]
    found = []
    for a, b in pairwise(places):
        mirrored = bool(a + b > 0)
        near, far = (a, b) if mirrored else (-b, -a)
        found.append((near.erfc() - far.erfc()) / 2)
    return found


def _chi_square(freedom: int, points: Sequence[arb]) -> list[arb]:
    """Masses of the chi-square law between neighbouring points.

    P(W > w) is the regularised upper incomplete gamma function of freedom/2 at w/2. Only the first
    cell is far to the left of the bulk, so that no difference loses more than ``_MORE`` bits.
    """
    half = arb(freedom) / 2
    with ctx.workprec(ctx.prec + _MORE):
        above = [(x / 2).gamma_upper(half, regularized=1) for x in points]
        found = [one - other for one, other in pairwise(above)]
    return [+one for one in found]
