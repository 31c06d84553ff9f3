"""Cells of noise on the line in balls: masses and likelihood ratios of two inputs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from shuffledp.arithmetic.balls import arb
from shuffledp.ball.noises import Noise
from shuffledp.kernel.cells import Cell, Corner

__all__ = ["Line", "Span", "distinct"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Span:
    """Outputs between two ends on which u and v are monotone, with one input as the reference.

    Attributes
    ----------
    left, right : arb or None
        The ends; None for an infinite one.
    reference : arb
        The input whose density is the reference on this span.
    """

    left: arb | None
    right: arb | None
    reference: arb


@dataclass(frozen=True)
class Line:
    """The victim's two inputs and the reference, which is an input or the blanket.

    Attributes
    ----------
    noise : Noise
        The noise that the mechanism adds.
    x0, x1 : arb
        The victim's inputs under P and Q.
    others : arb or None
        The input of the reference. None for the blanket of the interval of inputs, whose density at
        an output is that of the farther end of the interval.
    """

    noise: Noise
    x0: arb
    x1: arb
    others: arb | None

    @cached_property
    def spans(self) -> tuple[Span, ...]:
        """The line, cut at the inputs and where the blanket's density changes.

        On a span, log u = |y - r|^b - |y - x|^b (in units of s) is monotone. Between x and r one
        term rises and the other falls; elsewhere the derivative vanishes only where
        |y - r| = |y - x|, which lies between them. For b = 2, log u is monotone on the whole line.
        """
        noise = self.noise
        cuts = [] if noise.shape == 2 else [self.x0, self.x1]
        middle = noise.middle
        if self.others is None:
            cuts += [middle] if noise.shape == 2 else [middle, noise.low, noise.high]
        elif noise.shape != 2:
            cuts.append(self.others)
        left, right = (None, None) if noise.ends is None else noise.ends
        inner = [y for y in distinct(cuts) if _inside(y, left, right)]
        found = []
        for a, b in pairwise([left, *inner, right]):
            reference = self.others
            if reference is None:
                before = b is not None and b <= middle
                reference = noise.high if before else noise.low
            found.append(Span(a, b, reference))
        return tuple(found)

    def corner(self, span: Span, y: arb | None, *, right: bool) -> Corner:
        """u and v at a point of a span, or in the limit far out on one side (y = None)."""
        pair = (self.x0, self.x1)
        if y is None:
            plain = [self.noise.limit(x, span.reference, right=right) for x in pair]
        else:
            plain = [self.noise.log_ratio(x, span.reference, y).exp() for x in pair]
        shares = self._inside
        u, v = (x * shares[0] / share for x, share in zip(plain, shares[1:], strict=True))
        return Corner(u, v)

    @cached_property
    def _inside(self) -> tuple[arb, arb, arb]:
        """Masses of the reference, P and Q between the ends of the noise.

        By symmetry, the blanket's two inputs have the same mass there.
        """
        reference = self.noise.low if self.others is None else self.others
        shares = (self.noise.inside(x) for x in (reference, self.x0, self.x1))
        return tuple(shares)  # type: ignore[return-value]

    def swap(self) -> Line:
        """The line with P and Q exchanged."""
        return replace(self, x0=self.x1, x1=self.x0)

    def cells(self, edges: Sequence[float]) -> list[Cell]:
        """The cells of the line, cut at these places and at the ends of the spans.

        Parameters
        ----------
        edges : sequence of float
            In any order. Spans on which u and v are constant are not cut.
        """
        edges, found = _increasing(edges), list[Cell]()
        for span in self.spans:
            found += self._cells(span, edges)
        return found

    def cells_beyond(self, place: arb, edges: Sequence[float]) -> list[Cell]:
        """The cells of outputs above a place only."""
        edges, found = _increasing(edges), list[Cell]()
        for span in self.spans:
            if span.right is not None and span.right <= place:
                continue
            inside = span.left is not None and span.left >= place
            found += self._cells(span if inside else replace(span, left=place), edges)
        return found

    def _cells(self, span: Span, edges: Sequence[float]) -> list[Cell]:
        first = self.corner(span, span.left, right=False)
        last = self.corner(span, span.right, right=True)
        constant = self._constant(span)
        inner = [] if constant else [arb(y) for y in edges]
        inner = [y for y in inner if _inside(y, span.left, span.right)]
        points = [span.left, *inner, span.right]
        corners = [first, *(self.corner(span, y, right=False) for y in inner), last]
        if constant:
            # Use the finite end, or either one if both are finite.
            corners = [last if span.left is None else first] * 2
        laws = (span.reference, self.x0, self.x1)
        masses = (
            [m / share for m in self.noise.masses(x, points)]
            for x, share in zip(laws, self._inside, strict=True)
        )
        return [
            Cell(mass, p, q, *_ordered(a, b))
            for mass, p, q, (a, b) in zip(*masses, pairwise(corners), strict=True)
        ]

    def _constant(self, span: Span) -> bool:
        """Whether u and v are constant: Laplace noise beyond the two inputs and the reference."""
        if self.noise.shape != 1:
            return False
        inputs = (self.x0, self.x1, span.reference)
        left, right = span.left, span.right
        return all(left is not None and x <= left for x in inputs) or all(
            right is not None and x >= right for x in inputs
        )

    # ------------------------------------------------------------------- floats for proposals

    @property
    def unit(self) -> float:
        """Half of the noise's scale."""
        return 0.5 * float(self.noise.scale)

    def outline(self, log_mass: float) -> tuple[float, float, tuple[float, ...]]:
        """Places beyond which no law has more than about this mass, and places of kinks.

        For Laplace noise, the places beyond which ratios are constant.
        """
        inputs = [float(x) for x in (self.x0, self.x1, *self._references())]
        left, right = min(inputs), max(inputs)
        middle = 0.5 * (float(self.noise.low) + float(self.noise.high))
        kinks = [] if self.noise.shape == 2 else inputs[:3]
        kinks += [middle] if self.others is None else []
        if self.noise.shape == 1:
            return left, right, tuple(kinks)
        if self.noise.ends is not None:
            left, right = (float(y) for y in self.noise.ends)
            return left, right, tuple(kinks)
        far = float(self.noise.scale) * max(-log_mass, 1.0) ** (1.0 / float(self.noise.shape))
        return left - far, right + far, tuple(kinks)

    def _references(self) -> tuple[arb, ...]:
        return (self.noise.low, self.noise.high) if self.others is None else (self.others,)

    def constant_ends(self) -> list[tuple[float, float, float]]:
        """The reference's mass, u and v on both constant ends of the line, for Laplace noise."""
        cells = [self._cells(span, ()) for span in self.spans if self._constant(span)]
        return [(float(c.mass), float(c.top.u), float(c.top.v)) for found in cells for c in found]

    def log_densities(self, y: Floats) -> Floats:
        """log of the reference's density, log u and log v at these places, as floats to propose."""
        s, b = float(self.noise.scale), float(self.noise.shape)
        x0, x1 = float(self.x0), float(self.x1)
        if self.others is None:
            low, high = float(self.noise.low), float(self.noise.high)
            r = np.where(y < 0.5 * (low + high), high, low)
        else:
            r = np.full_like(y, float(self.others))
        z, z0, z1 = (np.abs(y - x) / s for x in (r, x0, x1))
        top = float((2 * self.noise.scale * (1 + 1 / self.noise.shape).gamma()).log())
        own, one, two = (np.log(float(share)) for share in self._inside)
        ref = -(z**b) - top - own
        return np.stack([ref, z**b - z0**b + own - one, z**b - z1**b + own - two])


def _increasing(edges: Sequence[float]) -> list[float]:
    """The finite edges, sorted and distinct: cells between others would have negative masses."""
    return sorted({y for y in edges if math.isfinite(y)})


def _ordered(a: Corner, b: Corner) -> tuple[Corner, Corner]:
    """(bottom, top) of a cell between two corners, as u and v are monotone."""
    if a.u >= b.u and a.v <= b.v:
        return b, a
    if a.u <= b.u and a.v >= b.v:
        return a, b
    return Corner(_least(a.u, b.u), _most(a.v, b.v)), Corner(_most(a.u, b.u), _least(a.v, b.v))


def _inside(y: arb, left: arb | None, right: arb | None) -> bool:
    return (left is None or y > left) and (right is None or y < right)


def distinct(points: Sequence[arb]) -> list[arb]:
    """The balls that are certainly distinct, in ascending order."""
    found: list[arb] = []
    for y in sorted(points, key=lambda x: float(x.mid())):
        if not found or y > found[-1]:
            found.append(y)
    return found


def _most(x: arb, y: arb) -> arb:
    return arb("inf") if not (x.is_finite() and y.is_finite()) else x.max(y)


def _least(x: arb, y: arb) -> arb:
    return y if not x.is_finite() else x if not y.is_finite() else x.min(y)
