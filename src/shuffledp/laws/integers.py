"""Noise on integers in balls, where there are too many of them for a class each.

The masses of discrete Laplace noise are proportional to e^(-eps0 |k|/top), those of discrete
Gaussian noise to e^(-k^2/(2 sigma^2)): at integers their ratios are those of the densities of noise
on the line. So cells are runs of integers, and bounds of the ratios are those of the line
(``bounds.line``). A place y stands for the cut between the integers up to y and those beyond.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from shuffledp.arithmetic.balls import arb, ctx
from shuffledp.ball.noises import Noise
from shuffledp.ball.outputs import check_inputs
from shuffledp.bounds.line import Line, Span
from shuffledp.errors import NotCertified
from shuffledp.kernel.cells import Cell, Corner
from shuffledp.randomizers import DiscreteGaussian, DiscreteLaplace, Randomizer

__all__ = ["IntegerLine", "integer_line"]

# Masses of discrete Gaussian noise are added up to so many deviations: beyond are e^-450.
_DEVIATIONS = 30.0
# An end of clamped reports is a cell of its own if it is no farther than this from all inputs.
_SEEN = 25.0
# Of so many integers masses are added up one by one: that takes about two seconds.
_MOST = 1_000_000
# Bits beyond the working precision: a million steps of a recurrence lose 40.
_MORE = 48


@dataclass(frozen=True)
class IntegerNoise(Noise):
    """The report of x is x plus noise on the integers.

    Attributes
    ----------
    tails : sequence of arb, or None
        P(K >= k) of Gaussian noise for k = 0, 1, ...; None of Laplace noise.
    """

    tails: Sequence[arb] | None = None

    def at_least(self, k: int) -> arb:
        """P(K >= k) for k >= 0; a^k/(1 + a) of Laplace noise, a = e^(-1/s)."""
        if self.tails is None:
            return (-k / self.scale).exp() / (1 + (-1 / self.scale).exp())
        if k < len(self.tails):
            return self.tails[k]
        half = self.tails[-1].upper() / 2
        return arb(half, half)

    def _tail(self, x: arb, y: arb | None, *, right: bool) -> tuple[bool, arb]:
        """P(x + K > y) where y is not below x, else P(x + K <= y)."""
        if y is None:
            return right, arb(0)
        distance = round(float(y)) - round(float(x))
        if distance >= 0:
            return True, self.at_least(distance + 1)
        return False, self.at_least(-distance)

    @property
    def middle(self) -> arb:
        """The last integer of which the high end is a farthest one."""
        return arb((round(float(self.low)) + round(float(self.high))) // 2)


@dataclass(frozen=True)
class IntegerLine(Line):
    """Two inputs of the victim and the reference, on the integers.

    Attributes
    ----------
    clamped : tuple of int, or None
        Reports beyond these two integers are sent as these.
    ends_seen : bool
        Whether the masses of these two are cells of their own: not where they are next to nothing.
    """

    clamped: tuple[int, int] | None = None
    ends_seen: bool = True

    def cells(self, edges: Sequence[float]) -> list[Cell]:
        """Runs of integers: those up to an edge, from the one before it on."""
        whole_edges = {math.floor(y) for y in edges}
        if self.clamped is not None:
            low, last = self.clamped[0], self.clamped[1] - 1
            whole_edges = {y for y in whole_edges if low < y < last}
            whole_edges |= {low, last} if self.ends_seen else set()
        return super().cells([float(y) for y in sorted(whole_edges)])

    def _cells(self, span: Span, edges: Sequence[float]) -> list[Cell]:
        found = super()._cells(span, edges)
        if self.clamped is not None and self.ends_seen:
            # An end is one output, whose ratios are those of its masses.
            if span.left is None:
                found[0] = _one_output(found[0])
            if span.right is None:
                found[-1] = _one_output(found[-1])
        return found


def _one_output(cell: Cell) -> Cell:
    corner = Corner(cell.p / cell.mass, cell.q / cell.mass)
    return Cell(cell.mass, cell.p, cell.q, corner, corner)


def integer_line(mechanism: Randomizer, inputs: Sequence[int]) -> IntegerLine | None:
    """The line of discrete Laplace or Gaussian noise; None of other mechanisms.

    Parameters
    ----------
    mechanism : Randomizer
        What each user runs.
    inputs : sequence of int
        The victim's two values, and the others' value where that is the reference: else it is the
        blanket.
    """
    if not isinstance(mechanism, DiscreteLaplace | DiscreteGaussian):
        return None
    top = mechanism.top
    check_inputs(inputs, top + 1)
    x0, x1, *others = (arb(x) for x in inputs)
    third = others[0] if others else None
    if isinstance(mechanism, DiscreteLaplace):
        # Reports beyond the inputs have one ratio: clamping there changes nothing.
        scale = top / arb(mechanism.eps0)
        return IntegerLine(IntegerNoise(arb(1), scale, arb(0), arb(top)), x0, x1, third)
    sigma, margin = mechanism.sigma, mechanism.margin
    scale = arb(sigma) * arb(2).sqrt()
    noise = IntegerNoise(arb(2), scale, arb(0), arb(top), tails=_gaussian_tails(sigma, ctx.prec))
    clamped = (-margin, top + margin) if mechanism.clamped else None
    return IntegerLine(noise, x0, x1, third, clamped, margin + top <= _SEEN * sigma)


@lru_cache(maxsize=4)
def _gaussian_tails(sigma: float, precision: int) -> Sequence[arb]:
    """P(K >= k) for k = 0, 1, ... as far as they are added up, by e^(-h (k+1)^2) = e^(-h k^2) r_k.

    r_(k+1) = r_k e^(-2h), h = 1/(2 sigma^2). What lies beyond is at most a geometric series.
    """
    size = math.ceil(_DEVIATIONS * sigma) + 1
    if size > _MOST:
        raise NotCertified(f"discrete-gaussian: sigma = {sigma!r}: more than {_MOST:,} integers")
    with ctx.workprec(precision + _MORE):
        h = 1 / (2 * arb(sigma) * arb(sigma))
        term, ratio, step = arb(1), (-h).exp(), (-2 * h).exp()
        terms = []
        for _ in range(size):
            terms.append(term)
            term, ratio = term * ratio, ratio * step
        half = (term / (1 - ratio)).upper() / 2
        total, tails = arb(half, half), []
        for one in reversed(terms):
            total += one
            tails.append(total)
        whole_mass = 2 * total - 1
        return [tail / whole_mass for tail in reversed(tails)]
