"""Bounds for a member of one group of a crowd. Theorems and proofs: docs/theory-crowds.md."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

from shuffledp.arithmetic.balls import arb, ctx, float_above, precision_for
from shuffledp.ball.groups import Kind, sides_of
from shuffledp.ball.outputs import OutputClass
from shuffledp.ball.record import Definition
from shuffledp.bounds.pairs import LawPair, Laws
from shuffledp.errors import NotCertified, ParameterError
from shuffledp.kernel.contour import Contour
from shuffledp.kernel.crowd_sum import Free, Group, stealing
from shuffledp.kernel.linear_test import DataSets

__all__ = ["Groups", "common_pair", "groups_of", "log_delta", "set_of"]

# Each group's mechanism and its number of users, the victim included.
Groups = Sequence[tuple[Definition, int]]


def log_delta(
    groups: Groups,
    kind: Kind,
    victim: int,
    epsilon: float,
    numbers: Sequence[tuple[Free, Contour]],
    *,
    first: Sequence[int] = (),
) -> float:
    """Upper end of log delta by label stealing for a member of one group.

    Parameters
    ----------
    groups : sequence of (mechanism, int)
        Each group's mechanism and its number of users, the victim included.
    kind : Kind
        Which inputs and pairs of inputs are sufficient.
    victim : int
        Index of the victim's group. The crowd has at least one other member.
    epsilon : float
        eps >= 0 in nats.
    numbers : sequence of (Free, Contour)
        Free numbers, and where to sum, for each pair of the victim's inputs.
    first : sequence of int
        Pairs that are likely the worst; the order affects only the time.
    """
    pairs = kind.pairs[victim]
    if len(numbers) != len(pairs):
        raise ParameterError(f"free: {len(numbers)} sets of numbers, wanted {len(pairs)}")
    with ctx.workprec(precision_for(sum(count for _, count in groups))):
        rows, others = groups_of(groups, kind, victim)
        worst = arb(0)
        for i in dict.fromkeys((*first, *range(len(pairs)))):
            laws = [rows[x] for x in pairs[i]]
            worst = worst.max(stealing(laws, others, arb(epsilon), *numbers[i], enough=worst))
        return -math.inf if worst.is_zero() else min(float_above(worst.log()), 0.0)


def groups_of(
    groups: Groups, kind: Kind, victim: int
) -> tuple[Sequence[Sequence[arb]], list[Group]]:
    """The victim's laws by input, and the groups that have other members.

    Parameters
    ----------
    groups, kind, victim
        As for ``log_delta``.
    """
    sides = sides_of([mechanism for mechanism, _ in groups], kind)
    counts = [count - (k == victim) for k, (_, count) in enumerate(groups)]
    others = [
        Group(count, side.rows, side.least)
        for count, side in zip(counts, sides, strict=True)
        if count
    ]
    if not others:
        raise NotCertified("a crowd of one user")
    return sides[victim].rows, others


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
