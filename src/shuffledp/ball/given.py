"""A density given as a function of output and input: masses and ratios on pieces of the outputs.

The function is evaluated on Taylor series with balls as coefficients, around points and on whole
pieces. On a piece with the middle c, f(c + t) = a_0 + a_1 t + ... + a_(m-1) t^(m-1) + R t^m with
the a_k of the series at c, and R in the m-th coefficient of the series on the piece (Taylor's
theorem). So its integral is enclosed, and so is f_x/f_x': by the values at both ends where the
derivative of its logarithm has one sign, else by the mean value theorem. Pieces are cut until both
are narrow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from shuffledp.arithmetic.balls import arb, arb_series, float_above, total
from shuffledp.errors import NotCertified, ParameterError

__all__ = ["Piece", "Table", "tabulate"]

# Terms of the integral's series: even, and below the number that python-flint keeps, 10.
_TERMS = 8
# Pieces at first, and at most.
_FIRST, _MOST = 256, 20_000
# Around each input pieces are cut at this distance, in parts of the outputs' interval: a kink there
# is in a piece of no weight. No piece is cut that is narrower than twice this.
_NEAR = 2.0**-40
# Error of a mass that is enough, in parts of the law: 2^-64 for each of some thousand pieces.
_SHARP = 2.0**-64
# A piece is cut where log of a ratio changes by more than this over the cube root of its mass...
_CHANGE = 1e-3
# ... if it has at least this mass: deltas are 1e-100 or more.
_LEAST = 1e-110
# An integral that no float tells from 0.
_NOTHING = 1e-290

Function = Callable[[Any, Any], Any]
_INFINITY = arb("inf")


@dataclass(frozen=True)
class Piece:
    """An interval of outputs, and every input's density on it; one entry for each input.

    Attributes
    ----------
    left, right : float
        Its ends.
    mass : tuple of arb
        Integrals.
    value : tuple of arb
        Enclosures of the density.
    slope : tuple of arb
        Enclosures of the derivative of its logarithm; not finite where nothing is known.
    ends : tuple of two tuples of arb
        The densities at both ends.
    """

    left: float
    right: float
    mass: tuple[arb, ...]
    value: tuple[arb, ...]
    slope: tuple[arb, ...]
    ends: tuple[tuple[arb, ...], tuple[arb, ...]]

    def ratio(self, i: int, j: int) -> tuple[arb, arb]:
        """Bounds of f_i/f_j on the piece."""
        if i == j:
            return arb(1), arb(1)
        if not self.value[j] > 0:
            return arb(0), _INFINITY
        plain = self.value[i] / self.value[j]
        low, high = plain.lower().nonnegative_part(), plain.upper()
        move = self.slope[i] - self.slope[j]
        first, last = (row[i] / row[j] for row in self.ends)
        if not (move.is_finite() and first.is_finite() and last.is_finite()):
            return low, high
        if move >= 0:
            return low.max(first.lower()), high.min(last.upper())
        if move <= 0:
            return low.max(last.lower()), high.min(first.upper())
        grow = (abs(move) * (arb(self.right) - arb(self.left))).upper().exp()
        return low.max((first.max(last) / grow).lower()), high.min((first.min(last) * grow).upper())


@dataclass(frozen=True)
class Table:
    """Pieces of all outputs; masses and densities of each input are divided by ``whole``.

    Attributes
    ----------
    pieces : list of Piece
        From left to right.
    whole : tuple of arb
        Each input's integral over all outputs.
    """

    pieces: list[Piece]
    whole: tuple[arb, ...]

    def mass(self, piece: Piece, i: int) -> arb:
        """P(output in the piece | input i)."""
        return piece.mass[i] / self.whole[i]

    def ratio(self, piece: Piece, i: int, j: int) -> tuple[arb, arb]:
        """Bounds of the ratio of the densities under inputs i and j on the piece."""
        share = self.whole[j] / self.whole[i]
        low, high = piece.ratio(i, j)
        return low * share, high * share if high.is_finite() else high


def tabulate(density: Function, inputs: Sequence[float], ends: tuple[float, float]) -> Table:
    """Pieces on which masses and ratios of a density are narrow, at the working precision.

    Parameters
    ----------
    density : callable
        (y, x) -> the density of y under x, but for a factor that may depend on x.
    inputs : sequence of float
        All inputs.
    ends : tuple of float
        The interval of outputs.

    Raises
    ------
    ParameterError
        If the function is no density there.
    NotCertified
        If its integrals are not enclosed.
    """
    length = ends[1] - ends[0]
    near = [x + side * _NEAR * length for x in inputs for side in (-1.0, 1.0)]
    cuts = np.union1d(np.linspace(*ends, _FIRST + 1), near)
    waiting = list(pairwise(cuts[(cuts >= ends[0]) & (cuts <= ends[1])].tolist()))[::-1]
    made = _Maker(density, inputs)
    rough = [made.piece(*one) for one in waiting]
    scale = [float_above(total(p.mass[i] for p in rough)) for i in range(len(inputs))]
    if not min(scale) > _NOTHING:
        raise ParameterError(f"pdf: its integrals are about {scale}: wanted numbers above 0")
    pieces = []
    while waiting:
        left, right = waiting.pop()
        piece, middle = made.piece(left, right), 0.5 * (left + right)
        if right - left > 2.0 * _NEAR * length and _is_wide(piece, scale):
            waiting += [(middle, right), (left, middle)]
        else:
            pieces.append(piece)
        if len(pieces) + len(waiting) > _MOST:
            raise NotCertified(f"density: more than {_MOST:,} cells; is it smooth but for kinks?")
    whole = tuple(total(p.mass[i] for p in pieces) for i in range(len(inputs)))
    for x, one in zip(inputs, whole, strict=True):
        if not one > 0:
            raise ParameterError(f"pdf: its integral under x = {x:g} is {one}: wanted one above 0")
    return Table(pieces, whole)


def _is_wide(piece: Piece, scale: Sequence[float]) -> bool:
    shares = [float_above(m) / s for m, s in zip(piece.mass, scale, strict=True)]
    for mass, s in zip(piece.mass, scale, strict=True):
        if not float(mass.rad()) <= _SHARP * s:
            return True
    if not max(shares) > _LEAST:
        return False
    widest = 0.0
    reference = int(np.argmax(shares))
    for i in range(len(shares)):
        low, high = piece.ratio(i, reference)
        if high.is_zero():
            continue
        widest = max(widest, float_above((high / low).log()) if low > 0 else math.inf)
    return widest > min(_CHANGE / np.cbrt(max(shares)), 1.0)


def _slope(around: arb_series, at: arb_series, t: arb) -> arb:
    """(log f)' on a piece: by f'/f, or by its value at the middle and the second derivative."""
    if not (around[0] > 0 and at[0] > 0):
        return arb("nan")
    plain = around[1] / around[0]
    second = 2 * around[2] / around[0] - plain * plain
    if not second.is_finite():
        return plain
    return plain.intersection(at[1] / at[0] + second * t)


class _Maker:
    """Makes pieces of one density; values at the ends are kept."""

    def __init__(self, density: Function, inputs: Sequence[float]) -> None:
        self._density = density
        self._inputs = [arb(x) for x in inputs]
        self._known: dict[float, tuple[arb, ...]] = {}

    def piece(self, left: float, right: float) -> Piece:
        """The piece between two points."""
        rows = [self._on(x, arb(left), arb(right)) for x in self._inputs]
        mass, value, slope = zip(*rows, strict=True)
        return Piece(left, right, mass, value, slope, (self._at(left), self._at(right)))

    def _at(self, y: float) -> tuple[arb, ...]:
        if y not in self._known:
            self._known[y] = tuple(self._series(x, arb(y), 1)[0] for x in self._inputs)
        return self._known[y]

    def _on(self, x: arb, left: arb, right: arb) -> tuple[arb, arb, arb]:
        """Integral, values, and the logarithm's derivative."""
        around = self._series(x, left.union(right), _TERMS + 1)
        value = around[0].intersection(arb(0).union(around[0].upper().nonnegative_part()))
        middle = arb(((left + right) / 2).mid())
        at, (a, b) = self._series(x, middle, _TERMS), (left - middle, right - middle)
        rest, mass = around[_TERMS], value * (right - left)
        if rest.is_finite():
            terms = [at[k] for k in range(_TERMS)] + [rest]
            mass = total(c * (b ** (k + 1) - a ** (k + 1)) / (k + 1) for k, c in enumerate(terms))
        return mass.nonnegative_part(), value, _slope(around, at, a.union(b))

    def _series(self, x: arb, y: arb, terms: int) -> arb_series:
        """The density around or on y, to this many terms."""
        found = self._density(arb_series([y, 1], prec=terms), x)
        if not isinstance(found, arb_series):
            found = arb_series([arb(found)], prec=terms)
        if found.prec < terms:
            raise NotCertified("density: the series of the function is too short")
        if found[0] < 0 or not found[0].is_finite():
            # On a whole piece nothing may be known; at a point something is.
            if y.is_exact() or found[0] < 0:
                wanted = "wanted a finite number >= 0"
                raise ParameterError(f"pdf at y = {y}, x = {x}: {found[0]}: {wanted}")
            found = arb_series([arb(0, _INFINITY)] + [arb("nan")] * (terms - 1), prec=terms)
        return found
