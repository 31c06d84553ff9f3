"""The sum of label stealing: upper bounds of J(c, d) (docs/theory-stealing.md, section 3).

    J(c, d) = (1/2 pi n) int [(|c| + |d|)^n - |d|^n] w dt,
    w(t) = e^(h^2 (alpha^2 - t^2)/2)/(alpha^2 + t^2),

where c(s) and d(s), s = alpha + i t, are the transforms of two finite measures of gains. Tilted by
e^(alpha x) and centred they are c0 phi_c and d0 phi_d, with c0 = c(alpha) and d0 = d(alpha). Then

    psi(t) = [c0 (1 + |phi_c|^2) + d0 (1 + |phi_d|^2)]/(2 (c0 + d0))

is at least (|c| + |d|)/(c0 + d0). The numbers that decide how sharp a bound is come from outside,
as plain floats in a ``Line``: any of them are valid.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from shuffledp.arithmetic.balls import acb, arb, total
from shuffledp.errors import NotCertified, ParameterError
from shuffledp.kernel.draws import Draws, Moments

__all__ = [
    "Atom",
    "Line",
    "ManySums",
    "chernoff",
    "line_at",
    "positive_sum",
    "rougher",
    "sharpest",
    "step_of",
    "tilted",
    "tilted_mass",
]

# (mass, gain).
Atom = tuple[arb, arb]

# h T at the last node T: e^-8.8 of w is left there, less than 1e-8 of J. Blocks below the second
# number, as a share of the first term, are only bounded, which costs at most 1e-6 of J in total.
# Most nodes of one sum.
_FAR, _SMALL, _MOST_NODES = 4.2, 1e-7, 100_000
# h alpha of a coarse sum that separates most labels from the worst; it costs e^(h^2 alpha^2/2),
# 1 % of J.
_ROUGH = 0.15
# Steps in standard deviations of psi^n, and relative to alpha: aliases are e^(-(2 pi/1.1)^2/2) and
# e^(-4 pi).
_STEP, _STEP_OF_ALPHA = 1.1, 0.5
# Number of nodes in a block that is summed, and of blocks that a larger one is split into: the
# fastest among 4, 8, 16 and 2, 4, 8.
_SMALLEST, _SPLIT = 8, 4


@dataclass(frozen=True)
class Line:
    """The nodes at which J is summed: any positive numbers are valid, and no others are accepted.

    Attributes
    ----------
    alpha : float
        Tilt: the line is Re s = alpha.
    smoothing : float
        h, the standard deviation of a normal variable that is added.
    step : float
        D, the distance of adjacent nodes.
    last : int
        Nodes are 0 .. last - 1; the rest is bounded by the smoothing.
    small : float
        Blocks of nodes below this share of the first term are only bounded.
    """

    alpha: float
    smoothing: float
    step: float
    last: int
    small: float

    def __post_init__(self) -> None:
        numbers = (self.alpha, self.smoothing, self.step, self.small)
        if not (all(0.0 < x < math.inf for x in numbers) and self.last >= 1):
            raise ParameterError(f"{self}: wanted finite positive numbers")


def line_at(alpha: float, smoothing: float, step: float) -> Line:
    """The line at these free numbers.

    Raises
    ------
    ParameterError
        If a number is not positive and finite.
    NotCertified
        If the line has too many nodes.
    """
    width = smoothing * step
    last = _FAR / width if width > 0.0 else 1.0
    line = Line(alpha, smoothing, step, max(math.ceil(min(last, 1e18)), 1), _SMALL)
    if last > _MOST_NODES:
        raise NotCertified(f"label stealing: a sum of {last:.3g} nodes")
    return line


def step_of(width: float, alpha: float) -> float:
    """Distance of nodes at which aliases are negligible."""
    return min(_STEP / width, _STEP_OF_ALPHA * alpha)


def rougher(line: Line) -> Line:
    """A line with fewer nodes and more smoothing: enough for labels that are not the worst one."""
    smoothing = max(line.smoothing, _ROUGH / line.alpha)
    last = math.ceil(line.last * line.smoothing / smoothing)
    return replace(line, smoothing=smoothing, last=last)


def sharpest(c: Moments, d: Moments, n: int, lines: Sequence[Line], *, paid: arb, room: arb) -> arb:
    """J(c, d) + paid, by the first bound that is at most ``room``, or by the least one.

    The bounds are Chernoff's, and Theorem 3.1 on each of the lines, which share one alpha.
    """
    best = chernoff(c.mass + d.mass, n, c.alpha) + paid
    for line in lines:
        if best <= room:
            break
        best = best.min(positive_sum(c, d, n, line) + paid)
    return best


def tilted(measure: Sequence[Atom], alpha: arb) -> Moments:
    """A finite measure times e^(alpha x), as its mass and a centred law."""
    masses, gains = zip(*measure, strict=True)
    return Moments(Draws(masses, gains, 1), alpha)


def tilted_mass(measure: Sequence[Atom], alpha: arb) -> arb:
    """The mass of a finite measure times e^(alpha x)."""
    return total(mass * (alpha * gain).exp() for mass, gain in measure)


def _square(f: acb) -> arb:
    return f.real * f.real + f.imag * f.imag


class _Weights(NamedTuple):
    """The factors of psi^n in the sum: w, and the shares of c0 and d0 in 2 (c0 + d0)."""

    shares: tuple[arb, arb]
    alpha2: arb
    h2: arb

    def psi(self, square_c: arb, square_d: arb) -> arb:
        """psi, computed from |phi_c|^2 and |phi_d|^2."""
        return self.shares[0] * (1 + square_c) + self.shares[1] * (1 + square_d)

    def window(self, t: arb) -> arb:
        """w(t)."""
        t2 = t * t
        return (self.h2 * (self.alpha2 - t2) / 2).exp() / (self.alpha2 + t2)


def _weights(c: Moments, d: Moments, alpha: arb, smoothing: arb) -> _Weights:
    both = 2 * (c.mass + d.mass)
    return _Weights((c.mass / both, d.mass / both), alpha * alpha, smoothing * smoothing)


def chernoff(both: arb, n: int, alpha: arb) -> arb:
    """J(c, d) <= (c0 + d0)^n/(2 alpha n) with ``both`` = c0 + d0: Corollary 3.2 with h = 0."""
    return both**n / (2 * alpha * n)


def positive_sum(c: Moments, d: Moments, n: int, at: Line) -> arb:
    """Upper bound of J(c, d) by Theorem 3.1.

    psi^n w is positive definite, so that its sum over the nodes of any step is at least its
    integral. A block of nodes that is certainly small is bounded rather than summed.
    """
    step, window = arb(at.step), _weights(c, d, arb(at.alpha), arb(at.smoothing))
    kept, rest = _blocks((c, d), n, at, window)
    found = arb(0)
    if kept:
        nodes = (i + k for i in kept for k in range(_SMALLEST))
        values = (part.transforms(step, kept, _SMALLEST) for part in (c, d))
        for j, f, g in zip(nodes, *values, strict=True):
            term = window.psi(_square(f), _square(g)) ** n * window.window(step * j)
            found += 2 * term if j else term
    return (c.mass + d.mass) ** n / n * (found + rest) * step / (2 * arb.pi())


class ManySums:
    """Upper bounds of J(c, d) for many d at one c, by Theorem 3.1 with few nodes, none left out.

    Parameters
    ----------
    c : Moments
        The part common to all sums.
    n : int
        The power n.
    at : Line
        The nodes; ``small`` is not used.
    """

    def __init__(self, c: Moments, n: int, at: Line) -> None:
        self._c, self._n, self._at, self._step = c, n, at, arb(at.step)
        self._starts = range(0, at.last, _SMALLEST)
        self._squares = self._of(c)

    def bound(self, d: Moments) -> arb:
        """Upper bound of J(c, d)."""
        at, n, step = self._at, self._n, self._step
        window, found = _weights(self._c, d, arb(at.alpha), arb(at.smoothing)), arb(0)
        for j, (f, g) in enumerate(zip(self._squares, self._of(d), strict=True)):
            term = window.psi(f, g) ** n * window.window(step * j)
            found += 2 * term if j else term
        found += _beyond(window, step, _SMALLEST * len(self._starts))
        return (self._c.mass + d.mass) ** n / n * found * step / (2 * arb.pi())

    def _of(self, law: Moments) -> list[arb]:
        """|phi|^2 at all nodes."""
        return [_square(f) for f in law.transforms(self._step, self._starts, _SMALLEST)]


def _beyond(window: _Weights, step: arb, last: int) -> arb:
    """Upper bound of twice the sum of w over all nodes from ``last`` on."""
    end = step * last
    return 2 * window.window(end) * (1 + 1 / (window.h2 * end * step))


def _blocks(parts: Sequence[Moments], n: int, at: Line, window: _Weights) -> tuple[list[int], arb]:
    """First nodes of the blocks to be summed, and an upper bound of all other terms.

    A block's terms are at most sup psi^n times w at its first node. Beyond the last node psi <= 1,
    and the sum of w there is at most w(T) + (1/D) int_T^inf w <= w(T) (1 + 1/(h^2 T D)).
    """
    step, size = arb(at.step), _SMALLEST
    while size * _SPLIT < at.last:
        size *= _SPLIT
    todo, width, rest = [0], -(-at.last // size), arb(0)
    while True:
        firsts = [i + k * size for i in todo for k in range(width)]
        squares = (part.squares_around(step, todo, size, width) for part in parts)
        left = []
        for i, *square in zip(firsts, *squares, strict=True):
            if i >= at.last:
                continue
            psi = window.psi(*square)
            bound = 2 * size * psi**n * window.window(step * i)
            if psi < 1 and bound * window.alpha2 < at.small / (1 + i * at.step / at.alpha):
                rest += bound
            else:
                left.append(i)
        if size == _SMALLEST or not left:
            break
        todo, size, width = left, size // _SPLIT, _SPLIT
    return left, rest + _beyond(window, step, at.last)
