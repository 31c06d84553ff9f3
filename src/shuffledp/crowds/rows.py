"""Output laws of several mechanisms side by side, on one set of outputs.

A bound for a crowd compares the laws of different mechanisms output by output. Merging outputs
would be a post-processing, under which upper bounds are lost: only outputs on which *all* laws
have constant ratios stand together.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shuffledp.errors import NotCertified
from shuffledp.pair import UNIT_ROUNDOFF, Array
from shuffledp.randomizers import KRR, BinaryRR, Channel, Extremal, Randomizer

U = UNIT_ROUNDOFF
# Inputs of a mechanism that are listed.
_MOST_INPUTS = 12
# Entries come from rounded parameters by a few operations.
_REL = 16 * U


@dataclass(frozen=True, eq=False)
class Member:
    """One group's laws.

    Attributes
    ----------
    rows : ndarray, shape (T, C)
        P(output | type) of the inputs that matter, one row each.
    blanket : ndarray, shape (C,)
        Their minimum over *all* inputs of the mechanism.
    inputs : tuple
        Words for the rows: the mechanism's inputs.
    """

    rows: Array
    blanket: Array
    inputs: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Table:
    """All groups' laws on the same outputs.

    Attributes
    ----------
    members : tuple of Member
        One for each mechanism asked for.
    pairs : tuple of tuples of (int, int)
        For each of them: the ordered pairs of rows, as a victim's, that dominate all of its pairs.
    rel : float
        Bound on the relative errors of entries.
    ties : bool
        True where entries that are equal floats stand for equal numbers.
    """

    members: tuple[Member, ...]
    pairs: tuple[tuple[tuple[int, int], ...], ...]
    rel: float = _REL
    ties: bool = True


def table_of(mechanisms: Sequence[Randomizer]) -> Table:
    """The laws on common outputs.

    One-bit reports count as two outputs, of which 1 is the one that Duchi's mechanism and binary
    randomized response favour for their larger input and a channel's second column.

    Raises
    ------
    NotCertified
        Where the mechanisms' messages are not known to be of one finite set.
    """
    if all(isinstance(m, KRR) for m in mechanisms):
        sizes = {m.k for m in mechanisms if isinstance(m, KRR)}
        if len(sizes) == 1 and min(sizes) > 2:
            return _responses([m for m in mechanisms if isinstance(m, KRR)])
    # What is given entry by entry has errors of its own, and no two of its floats are surely equal.
    given = [m.law((0,)) for m in mechanisms if isinstance(m, Channel)]
    rel, ties = max([_REL, *(law.rel for law in given)]), not given
    if all(_is_bit(mechanism) for mechanism in mechanisms):
        return replace(_bits(mechanisms), rel=rel, ties=ties)
    matrices = [_matrix(mechanism) for mechanism in mechanisms]
    if len({matrix.shape[1] for matrix in matrices}) != 1:
        raise NotCertified("crowd: the groups' messages are of different sets")
    if max(matrix.shape[0] for matrix in matrices) > _MOST_INPUTS:
        raise NotCertified(f"crowd: matrices of up to {_MOST_INPUTS} inputs are looked at")
    members = tuple(
        Member(matrix, matrix.min(axis=0), tuple(range(len(matrix)))) for matrix in matrices
    )
    pairs = tuple(tuple(itertools.permutations(range(len(m.rows)), 2)) for m in members)
    return Table(members, pairs, rel, ties)


def _is_bit(mechanism: Randomizer) -> bool:
    """Whether its two outputs are 0 and 1: not two of more columns, which may be other ones."""
    columns = len(mechanism.matrix[0]) if isinstance(mechanism, Channel) else 2
    return columns == 2 and mechanism.bits() is not None


def _responses(mechanisms: Sequence[KRR]) -> Table:
    """k-RR of one k: outputs 0, 1, 2 and all others together, on which all laws are constant.

    By symmetry the pair is (0, 1) and a third input is 2, for every group by the same permutation.
    """
    k = mechanisms[0].k
    size = 4 if k > 3 else 3
    members = []
    for mechanism in mechanisms:
        grow = math.exp(mechanism.eps0)
        unit = 1.0 / (grow + (k - 1))
        rows = np.full((3, size), unit)
        for x in range(3):
            rows[x, x] = grow * unit
        blanket = np.full(size, unit)
        if k > 3:
            rows[:, 3] = blanket[3] = (k - 3) * unit
        members.append(Member(rows, blanket, (0, 1, 2)))
    return Table(tuple(members), (((0, 1),),) * len(members))


def _bits(mechanisms: Sequence[Randomizer]) -> Table:
    """Two outputs: rows of the inputs with the least and the largest probability of a 1."""
    members = []
    for mechanism in mechanisms:
        bits = mechanism.bits()
        if bits is None:
            raise NotCertified(f"crowd: reports of {mechanism.name} are no bits")
        if isinstance(mechanism, Channel):
            # Their quotient may be no float where the entries are.
            rows = _matrix(mechanism)[[bits.low, bits.high]]
        else:
            rows = np.array([_bit(0.5 * sum(o)) for o in (bits.odds_low, bits.odds_high)])
        members.append(Member(rows, rows.min(axis=0), (bits.low, bits.high)))
    return Table(tuple(members), (((1, 0), (0, 1)),) * len(members))


def _bit(odds: float) -> tuple[float, float]:
    """P(0), P(1), each to its own precision."""
    return 1.0 / (1.0 + odds), odds / (1.0 + odds)


def _matrix(mechanism: Randomizer) -> Array:
    """P(output | input) of a mechanism whose outputs are 0, 1, .. ."""
    if isinstance(mechanism, Channel):
        return np.array(mechanism.probabilities)
    if isinstance(mechanism, KRR | BinaryRR):
        k, grow = mechanism.items, math.exp(mechanism.eps0)
        if k <= _MOST_INPUTS:
            unit = 1.0 / (grow + (k - 1))
            rows = np.full((k, k), unit)
            np.fill_diagonal(rows, grow * unit)
            return rows
    if isinstance(mechanism, Extremal):
        favoured = np.asarray(mechanism.matrix)
        grow = math.exp(mechanism.eps0)
        total = grow * mechanism.favoured + (mechanism.outputs - mechanism.favoured)
        return np.where(favoured, grow / total, 1.0 / total)
    raise NotCertified(
        f"crowd: messages of {mechanism.name} are not compared with another mechanism's"
    )
