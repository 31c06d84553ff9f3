"""Bounds for a member of one group of a crowd. Theorems and proofs: docs/theory-crowds.md."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from shuffledp.ball.groups import Kind, sides_of
from shuffledp.ball.outputs import OutputClass
from shuffledp.ball.record import Definition
from shuffledp.bounds.pairs import LawPair, Laws
from shuffledp.bounds.stealing_cases import Case, Group, Label
from shuffledp.errors import NotCertified
from shuffledp.kernel.linear_test import DataSets

__all__ = ["Groups", "common_pair", "crowd_cases", "set_of"]

# Each group's mechanism and its number of users, the victim included.
Groups = Sequence[tuple[Definition, int]]


def crowd_cases(groups: Groups, kind: Kind, victim: int) -> list[Case]:
    """The cases of label stealing for a member of one group, at the working precision.

    Theorem 2.2: one label of each group. In k-RR, outputs that only third values favour are one
    part, as the theorem requires (section 4).

    Parameters
    ----------
    groups : sequence of (mechanism, int)
        Each group's mechanism and its number of users, the victim included.
    kind : Kind
        Which inputs and pairs of inputs are sufficient.
    victim : int
        Index of the victim's group. The crowd has at least one other member.
    """
    sides = sides_of([mechanism for mechanism, _ in groups], kind)
    counts = [count - (k == victim) for k, (_, count) in enumerate(groups)]
    others = [(side, count) for side, count in zip(sides, counts, strict=True) if count]
    if not others:
        raise NotCertified("a crowd of one user")
    rows, last = sides[victim].rows, len(sides[victim].least) - 1
    most = 2 if kind.key == "response" else last
    parts = tuple(min(y, most) for y in range(last + 1))
    found = []
    for x0, x1 in kind.pairs[victim]:
        labels = [
            Label(rows[x0], rows[x1], row, side.least, k)
            for k, (side, _) in enumerate(others)
            for row in side.rows
        ]
        members = tuple(Group(count, side.least) for side, count in others)
        found.append(Case(others[0][0].least, rows[x0], rows[x1], labels, parts, groups=members))
    return found


def common_pair(groups: Groups, kind: Kind, victim: int, pair: tuple[int, int]) -> LawPair:
    """The pair's two laws with the minimum over all groups' laws as their reference.

    Theorem 1.2: the blanket bound for all users holds with that minimum.

    Parameters
    ----------
    groups, kind, victim
        As for ``log_delta``.
    pair : tuple of int
        Places of the victim's two inputs in ``kind.inputs[victim]``.
    """
    tables = [mechanism for mechanism, _ in groups]
    name = ("common-blanket", repr(tables), victim, pair)
    law = functools.partial(_common_law, tables, kind, victim, pair)
    return LawPair(name, sum(count for _, count in groups), Laws(law))


def _common_law(
    tables: Sequence[Definition], kind: Kind, victim: int, pair: tuple[int, int], log_cut: float
) -> list[OutputClass]:
    del log_cut  # nothing is cut off
    sides = sides_of(tables, kind)
    first, second = (sides[victim].rows[x] for x in pair)
    found = []
    for p0, p1, *least in zip(first, second, *(side.least for side in sides), strict=True):
        smallest = least[0]
        for value in least[1:]:
            smallest = smallest.min(value)
        if not (p0.is_zero() and p1.is_zero() and smallest.is_zero()):
            found.append(OutputClass(smallest, (p0, p1)))
    return found


def set_of(
    groups: Groups,
    kind: Kind,
    victim: int,
    pair: tuple[int, int],
    held: Sequence[int],
) -> DataSets:
    """The laws of one data set, at the working precision.

    Parameters
    ----------
    groups, kind, victim
        As for ``log_delta``.
    pair : tuple of int
        Places of the victim's two inputs in ``kind.inputs[victim]``.
    held : sequence of int
        For each group, the place of the input that all other members hold.
    """
    sides = sides_of([mechanism for mechanism, _ in groups], kind)
    others = [
        (side.rows[x], count - (k == victim))
        for k, (side, x, (_, count)) in enumerate(zip(sides, held, groups, strict=True))
    ]
    first, second = (sides[victim].rows[x] for x in pair)
    return DataSets(first, second, 1, others)
