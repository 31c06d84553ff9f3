"""Reading: which cell a report lies in, and what probability the claimed law gives each cell."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
import numpy.typing as npt

from shuffledp.errors import ShuffleDPError, rejected
from shuffledp.randomizers import Randomizer

Floats = npt.NDArray[np.floating]
Labels = npt.NDArray[np.integer]

# Cell probabilities are sums, differences and products of floats good to about 1e-13.
_REL = 1e-9
# What is run is the stated law on a lattice, 2^30 steps and more to the noise or the interval
# (docs/theory.md, section 4.9): a cell's edge is within one step, and each step has at most this.
LATTICE = 2.0**-29
# Cells hold everything, up to rounding.
_TOTAL = 1e-6
# Reports under each input that are simulated, to place cells.
SIMULATED = 1 << 16
# Of two reports that are equal by chance, or by six digits: the share is known to a tenth or so.
_MARGIN = 2.0


@dataclass(frozen=True)
class Reading:
    """How reports under given inputs are read.

    Attributes
    ----------
    names : tuple of str
        One for each cell.
    mass : ndarray, shape (I, C)
        Claimed probability of each cell under each input.
    classify : callable
        Reports -> cells 0 .. C-1, or C for a report outside the message space.
    err : float
        The claimed probability is within ``mass (1 +- 1e-9) +- err``.
    equal : float or None
        Where reports have no atoms: at most this is the probability that two are equal once they
        are rounded to six digits.
    """

    names: tuple[str, ...]
    mass: Floats
    classify: Callable[[Any], Labels]
    err: float = 0.0
    equal: float | None = None

    def __post_init__(self) -> None:
        totals = self.mass.sum(axis=1)
        if self.mass.shape[1] != len(self.names) or bool((np.abs(totals - 1.0) > _TOTAL).any()):
            raise rejected("mass", totals, "probabilities of all cells that sum to one")

    @property
    def low(self) -> Floats:
        """Lower ends of the claimed probabilities."""
        return np.clip(self.mass * (1.0 - _REL) - self.err, 0.0, 1.0)

    @property
    def high(self) -> Floats:
        """Upper ends of the claimed probabilities; a cell that never occurs stays at 0."""
        grown = np.clip(self.mass * (1.0 + _REL) + self.err, 0.0, 1.0)
        return np.where(self.mass > 0.0, grown, self.err)

    def groups(self, most: int) -> Labels:
        """At most ``most`` groups of cells, neighbours by the ratio of the first and last input."""
        count = len(self.names)
        if count <= most:
            return np.arange(count)
        first, last = (np.log(np.maximum(self.mass[i], 1e-300)) for i in (0, -1))
        # Ratios that are equal but for rounding keep the cells' order: noise far out has one ratio.
        order = np.argsort(np.round(first - last, 9), kind="stable")
        weight = np.cumsum(self.mass.mean(axis=0)[order])
        groups = np.empty(count, dtype=np.int64)
        groups[order] = np.minimum((weight * most * (1.0 - 1e-9)).astype(np.int64), most - 1)
        return np.unique(groups, return_inverse=True)[1].ravel()

    def merged(self, most: int) -> Reading:
        """The same with at most this many cells, each of them a group."""
        groups = self.groups(most)
        if len(groups) <= most:
            return self
        sizes, inner = np.bincount(groups), self.classify
        table = np.append(groups, sizes.size)
        mass = np.array([np.bincount(groups, weights=row) for row in self.mass])
        names = tuple(f"ratio class {j + 1}" for j in range(sizes.size))
        return dataclasses.replace(
            self,
            names=names,
            mass=mass,
            classify=lambda reports: table[inner(reports)],
            err=self.err * int(sizes.max()),
            equal=None,
        )


@singledispatch
def value_of(randomizer: Randomizer, x: Any) -> Any:
    """The value that ``randomize`` and a program are given for an input of the law."""
    del randomizer
    return x


def values_array(values: list[Any]) -> Any:
    """Values as a program is given them: an array of numbers or rows of them, else a list."""
    kinds = {list if isinstance(v, list) else float if _is_number(v) else object for v in values}
    return np.array(values) if len(kinds) == 1 and object not in kinds else values


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def simulated(randomizer: Randomizer, x: Any, *, count: int = SIMULATED) -> Any:
    """Reports under an input, from a seed: only where cells are placed depends on them.

    Raises
    ------
    ParameterError
        If this is no input of the law.
    """
    try:
        value = values_array([value_of(randomizer, x)])
        many = np.repeat(value, count, axis=0) if isinstance(value, np.ndarray) else value * count
        return randomizer.simulate(many, seed=1)
    except ShuffleDPError as error:
        raise rejected("inputs", x, f"inputs of {randomizer.name} ({error})") from None
    except (IndexError, TypeError, ValueError, KeyError):
        raise rejected("inputs", x, f"inputs of the law of {randomizer.name}") from None


def rows_of(reports: Any, width: int) -> Any:
    """Reports as rows of this many floats; None if they are not."""
    rows = np.asarray(reports)
    rows = rows[:, None] if rows.ndim == 1 else rows
    fits = rows.ndim == 2 and rows.shape[1] == width and rows.dtype.kind in "iuf"
    return rows.astype(np.float64, copy=False) if fits else None


def equal_when_rounded(samples: list[Any], err: float) -> float | None:
    """About how often two reports are equal that are written with six digits: an allowance.

    None of reports that are equal as they are: where they have atoms.
    """
    shares = [err]
    for sample in samples:
        if np.unique(sample).size < 0.99 * len(sample):
            return None
        digits = np.char.mod("%.6g", sample)
        _, counts = np.unique(digits, return_counts=True)
        shares.append(float((counts * (counts - 1.0)).sum()) / len(sample) / (len(sample) - 1.0))
    return _MARGIN * max(shares)
