"""The law of a mechanism under all its inputs, on as few outputs and inputs as carry it all.

Outputs on which all inputs' laws stand in the same ratios are one output of a sufficient statistic;
inputs with the same law are one input. Both are decided on floats that are near to the laws: what
is merged is off by no more than the tolerance, which is added to the error of the law that remains.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shuffledp.errors import NotCertified
from shuffledp.pair import UNIT_ROUNDOFF, Array
from shuffledp.randomizers import Randomizer

U = UNIT_ROUNDOFF
# Columns whose ratios agree to this are taken to be proportional.
_ALIKE = 16 * U
# Merging compares all outputs with each other; more of them than that leave no room for users.
_MOST_OUTPUTS = 1024
# Of 12 inputs 11 users already make 700,000 data sets; before equal laws are found more may be.
_MOST_INPUTS, _MOST_GIVEN = 12, 64


class Statistic(NamedTuple):
    """A finite law under every input.

    Attributes
    ----------
    rows : ndarray, shape (inputs, outputs)
        Probabilities, each within a factor of 1 +- ``rel``.
    rel : float
        That.
    inputs : tuple of int
        Which input each row is the law of.
    twins : tuple of int
        Rows that are the law of further inputs as well.
    exchangeable : bool
        Any permutation of the inputs, also of those beyond the rows, is one of the outputs.
    """

    rows: Array
    rel: float
    inputs: tuple[int, ...]
    twins: tuple[int, ...]
    exchangeable: bool


def statistic_of(source: Randomizer, n: int, key: str) -> Statistic:
    """Of a mechanism with few inputs; NotCertified says why of others.

    Parameters
    ----------
    source : Randomizer
        What each user runs.
    n : int
        Users: of exchangeable inputs no data set and its neighbour hold more than n + 1.
    key : str
        The analysis that asks.
    """
    declared = source.inputs()
    if declared is None:
        msg = f"analysis = {key!r}: wanted a mechanism with finitely many inputs and outputs"
        raise NotCertified(msg)
    count = min(declared.count, n + 1) if declared.exchangeable else declared.count
    _no_more_than(_MOST_INPUTS if declared.exchangeable else _MOST_GIVEN, count, "inputs", key)
    law = source.law(tuple(range(count)))
    _no_more_than(_MOST_OUTPUTS, law.mass.shape[1], "outputs", key)
    rows, lost = merged_outputs(law.mass)
    rel = law.rel + lost
    if declared.exchangeable:
        return Statistic(rows, rel, tuple(range(count)), (), exchangeable=True)
    kept, twins = _distinct(rows)
    _no_more_than(_MOST_INPUTS, len(kept), "inputs whose laws differ", key)
    return Statistic(rows[kept], rel, tuple(kept), twins, exchangeable=False)


def _no_more_than(most: int, count: int, what: str, key: str) -> None:
    if count > most:
        raise NotCertified(f"analysis = {key!r}: wanted at most {most:,} {what}, not {count:,}")


def merged_outputs(mass: Array) -> tuple[Array, float]:
    """Proportional columns added up, and the relative error that this adds.

    Parameters
    ----------
    mass : ndarray, shape (inputs, outputs)
        Rows are laws.

    Returns
    -------
    (mass, error) : tuple
        Every entry of each column that was merged is within a factor of 1 +- error of the like
        share of the column it was merged into.
    """
    shape = mass / mass.max(axis=0)
    left, groups = list(range(mass.shape[1])), []
    while left:
        first, rest = shape[:, left[0]], shape[:, left]
        near = np.abs(rest.T - first) <= _ALIKE * np.minimum(rest.T, first)
        alike = near.all(axis=1)
        groups.append([y for y, yes in zip(left, alike, strict=True) if yes])
        left = [y for y, yes in zip(left, alike, strict=True) if not yes]
    if all(len(group) == 1 for group in groups):
        return mass, 0.0
    merged = np.column_stack([mass[:, group].sum(axis=1) for group in groups])
    longest = max(map(len, groups))
    return merged, 2.0 * (_ALIKE + (longest + 4) * U)


def _distinct(rows: Array) -> tuple[list[int], tuple[int, ...]]:
    """Rows that differ, and the places among them of those that occur more than once."""
    kept: list[int] = []
    twins: set[int] = set()
    for x in range(len(rows)):
        same = [place for place, y in enumerate(kept) if np.array_equal(rows[x], rows[y])]
        twins.update(same)
        if not same:
            kept.append(x)
    return kept, tuple(sorted(twins))
