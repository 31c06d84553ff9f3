"""Hadamard response with block parameter B = 1."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shuffledp import _check
from shuffledp.randomizers.base import DEFAULT_CELLS, Randomizer, WorstPairs
from shuffledp.randomizers.discrete import distinct
from shuffledp.randomizers.law import JointLaw, without_empty
from shuffledp.theorems import SYMMETRIC_PAIRS


@dataclass(frozen=True, kw_only=True)
class HadamardResponse(Randomizer):
    """Hadamard response: R_x(y) proportional to e^eps0 where row x+1 of the Sylvester matrix is +1.

    K is the smallest power of two above the domain size; outputs are the columns 0 .. K-1 and
    R_x(y) = (e^eps0 if popcount((x+1) & y) is even else 1) / (K (e^eps0 + 1)/2). Column 0 is
    common to all inputs, and no other column is.

    Parameters
    ----------
    domain : int
        Number of inputs, 2 <= domain <= 1e9.
    eps0 : float
        Local privacy in nats, 0 < eps0 <= 300.

    Notes
    -----
    Acharya, Sun, Zhang 2019, section 4 with B = 1; exact for finite domains.
    """

    name: ClassVar[str] = "hadamard-response"
    summary: ClassVar[str] = "Hadamard response (B = 1)"
    domain: int
    eps0: float

    def __post_init__(self) -> None:
        largest = _check.LARGEST_DOMAIN
        object.__setattr__(self, "domain", _check.count("domain", self.domain, low=2, high=largest))
        object.__setattr__(self, "eps0", _check.local_epsilon("eps0", self.eps0))

    @property
    def columns(self) -> int:
        """K: number of outputs, the smallest power of two above the domain size."""
        return 1 << self.domain.bit_length()

    def law(self, inputs: tuple[Any, ...], *, cells: int = DEFAULT_CELLS) -> JointLaw:
        """Classes: the signs of the inputs' rows, column 0 apart.

        The signs of rows that are independent over GF(2) are jointly uniform over the columns;
        a row that is the sum of others has the product of their signs.
        """
        del cells
        seen, index = distinct(inputs, self.domain)
        signs = _sign_patterns([x + 1 for x in seen])
        share = self.columns / len(signs)
        grow = math.exp(self.eps0)
        unit = 2.0 / (self.columns * (grow + 1.0))
        columns, floors = [], []
        for pattern in signs:
            ones = np.where(np.array(pattern) == 0, grow, 1.0) * unit
            count = share
            if not any(pattern):
                columns.append(ones)
                floors.append(grow * unit)
                count -= 1.0
            columns.append(ones * count)
            floors.append(unit * count)
        mass = np.array(columns).T[index]
        return without_empty(mass, np.array(floors))

    def worst_pairs(self) -> WorstPairs:
        """(0, 1): the joint law of two rows is the same for all pairs, in both directions."""
        return WorstPairs(((0, 1),), SYMMETRIC_PAIRS)

    def datasets(self) -> tuple[tuple[Any, Any, Any], ...]:
        """x2 = x0, x1, an input whose row is the product of theirs, and one whose row is not."""
        return tuple((0, 1, x2) for x2 in range(min(self.domain, 4)))


def _sign_patterns(rows: list[int]) -> list[tuple[int, ...]]:
    """The bit patterns (parity of row & column) that occur, each equally often over the columns."""
    basis: list[tuple[int, int]] = []
    combination: list[int] = []
    for position, row in enumerate(rows):
        reduced, used = row, 0
        for pivot, mask in basis:
            if reduced ^ pivot < reduced:
                reduced ^= pivot
                used ^= mask
        if reduced:
            basis.append((reduced, used ^ (1 << position)))
            basis.sort(reverse=True)
            combination.append(1 << position)
        else:
            combination.append(used)
    free = [p for p in range(len(rows)) if combination[p] == 1 << p]
    patterns = []
    for bits in itertools.product((0, 1), repeat=len(free)):
        value = dict(zip(free, bits, strict=True))
        pattern = []
        for position in range(len(rows)):
            mask = combination[position]
            parity = sum(value[p] for p in free if mask >> p & 1) % 2
            pattern.append(parity)
        patterns.append(tuple(pattern))
    return patterns
