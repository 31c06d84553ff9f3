"""Cells of a lattice that noise with density exp(-|t|^b) falls in, drawn exactly.

The half-line is cut into pieces of 2^m cells. On each the density is at most 2^-q, q a whole
number, so that the pieces' shares under this envelope are whole weights. A piece is drawn by them,
a cell of it by m fair coins, a place in the cell by further ones, and the place is kept with
probability 2^q exp(-t^b), else all is drawn anew. What floats cannot tell is settled by as many
digits as it takes, and cells are whole numbers of any size: nothing is lost far out, however heavy
the tail.

Notes
-----
Rejection from a step function, von Neumann 1951; digits on demand as in Karney 2016.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from shuffledp.randomizers.chances import choice, exponential, power, quotient, times
from shuffledp.randomizers.noise import Cells
from shuffledp.randomness import BITS, Choice, Integers, RandomSource, Words

Floats = npt.NDArray[np.floating[Any]]
Bools = npt.NDArray[np.bool_]

# Cells up to here, and a value's own added, are 64-bit integers.
_LARGEST = 1 << 61
# Pieces grow by this part of their level far out, where next to no draws fall: few pieces.
_GROWTH = 0.25
# Levels at which that begins: so many standard deviations of |t|^b, a Gamma(1/b) number, above it.
_DEVIATIONS = 8.0
# Levels in floats are within this of themselves: b times 2^-51 and less, b <= 1000.
_LEVEL_ERROR = 1e-9
# Error of exp(q log 2 - t^b) in floats, of (b + 8)(1 + t^b): four times that of the operations.
_DOUBT = 2.0**-49
# Words with fewer digits than a float.
_FEW_DIGITS = np.uint64(2**53)


@dataclass(frozen=True)
class Pieces:
    """The half-line in pieces of cells, and the envelope on them.

    Attributes
    ----------
    step : Fraction
        Width of a cell, in units of the noise's scale.
    first : list of int
        First cell of each piece.
    digits : ndarray of int
        m: the piece has 2^m cells.
    doublings : ndarray of int
        q: the density is at most 2^-q on the piece.
    shares : Choice
        Law of the piece under the envelope.
    """

    step: Fraction
    first: list[int]
    digits: Integers
    doublings: Integers
    shares: Choice

    @property
    def wide(self) -> bool:
        """Whether cells need more than 64 bits."""
        return self.first[-1] + (1 << int(self.digits[-1])) > _LARGEST


def power_cells(shape: float, pieces: Pieces, size: int, source: RandomSource) -> Cells:
    """Cell j of the noise: it falls in [j step, (j + 1) step); cell -1 - j mirrors cell j."""
    cells = np.zeros(size, dtype=object if pieces.wide else np.int64)
    missing = np.arange(size)
    while missing.size:
        piece = source.choose(pieces.shares, missing.size)
        found = np.array(pieces.first, dtype=cells.dtype)[piece]
        found = found + _below(pieces.digits[piece], source, wide=pieces.wide)
        kept = _kept(shape, pieces, piece, found, source)
        cells[missing[kept]] = found[kept]
        missing = missing[~kept]
    return np.where(source.coins(b"\x80", size), cells, ~cells)


@lru_cache(maxsize=64)
def pieces_of(shape: float, step: Fraction, farthest: float) -> Pieces:
    """Pieces until the level t^b is ``farthest``, on each of which the density halves at most.

    Where the pieces end, and so how many draws are kept, rests on floats; the law does not.
    """
    a = 1.0 / shape
    usual = a + _DEVIATIONS * math.sqrt(a) + _DEVIATIONS
    width = step.numerator / step.denominator
    first, digits, doublings, cell, level = [], [], [], 0, 0.0
    while level < farthest:
        more = math.log(2.0) if level < usual else _GROWTH * level
        count = int((level + more) ** a / width) - cell
        first.append(cell)
        digits.append(max(count, 1).bit_length() - 1)
        doublings.append(math.floor(level * (1.0 - _LEVEL_ERROR) / math.log(2.0)))
        cell += 1 << digits[-1]
        level = (cell * width) ** shape
    most = doublings[-1]
    weights = [1 << (m + most - q) for m, q in zip(digits, doublings, strict=True)]
    return Pieces(step, first, np.array(digits), np.array(doublings), choice(weights))


def _below(digits: Integers, source: RandomSource, *, wide: bool) -> Cells:
    """Uniform whole numbers of so many binary digits."""
    if not wide:
        # In two shifts, as one by all 64 digits would be none.
        drawn = source.words(len(digits)) >> np.uint64(1)
        return (drawn >> (63 - digits).astype(np.uint64)).astype(np.int64)
    rounds = -(-int(digits.max(initial=0)) // 64)
    total = np.zeros(len(digits), dtype=object)
    for _ in range(rounds):
        total = (total << 64) | source.words(len(digits)).astype(object)
    return total >> (64 * rounds - digits.astype(object))


def _kept(
    shape: float, pieces: Pieces, piece: Integers, cells: Cells, source: RandomSource
) -> Bools:
    """Whether coin < 2^q exp(-t^b), t in the cell, both known by their first 64 binary digits."""
    x, coin = source.words(len(cells)), source.words(len(cells))
    width = pieces.step.numerator / pieces.step.denominator
    t = (cells.astype(np.float64) + x.astype(np.float64) * 2.0**-64) * width
    level, doublings = t**shape, pieces.doublings[piece]
    chance = np.exp(np.minimum(doublings * math.log(2.0) - level, 0.0))
    margin = chance - coin.astype(np.float64) * 2.0**-64
    kept = margin > 0.0
    doubtful = np.abs(margin) <= _DOUBT * (shape + 8.0) * (1.0 + level)
    # In the first cell t has the digits of x alone.
    doubtful |= (cells == 0) & (x < _FEW_DIGITS)
    for i in np.flatnonzero(doubtful):
        place = _Place(shape, pieces.step, int(doublings[i]), int(cells[i]))
        kept[i] = place.settled(x[i : i + 1], coin[i : i + 1], source)
    return kept


@dataclass(frozen=True)
class _Place:
    """One draw: its cell, and the envelope there."""

    shape: float
    step: Fraction
    doublings: int
    cell: int

    def settled(self, x: Words, coin: Words, source: RandomSource) -> bool:
        """Whether coin < 2^q exp(-t^b), digits appended until it is decided."""
        unit, at, drawn = 1 << 64, int(x[0]), int(coin[0])
        while unit < 1 << BITS:
            # The place and the coin lie between these and the next.
            if not Decimal(drawn) < times(unit, self._chance(at, unit)):
                return False
            if Decimal(drawn + 1) <= times(unit, self._chance(at + 1, unit)):
                return True
            more = source.words(2)
            at, drawn, unit = at << 64 | int(more[0]), drawn << 64 | int(more[1]), unit << 64
        return False

    def _chance(self, at: int, unit: int) -> Decimal:
        """2^q exp(-t^b) at at/unit of the cell."""
        t = (self.cell * unit + at) * self.step
        level = power(quotient(t.numerator, t.denominator * unit), self.shape)
        # A minus sign would round to the few places of the thread's own context.
        return times(2**self.doublings, exponential(level.copy_negate()))
