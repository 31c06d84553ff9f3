"""One data set of a crowd in balls: reports mapped to -1, 0 or 1, and only their sum looked at.

Whoever sees less learns no more: any map of the outputs gives a lower end. With S the others' sum,
whose law is a product of powers of polynomials, and v0, v1 the victim's laws of a step

    D >= sum_s ( sum_f (v0(f) - a v1(f)) P(S = s - f) )_+ .

Coefficients that are too small to show are dropped. They may be anywhere: the set of sums that
counts is fixed first, and what is missing could at most be the second data set's, in all of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from shuffledp.arithmetic.balls import arb, arb_poly, ctx, float_above, float_below
from shuffledp.errors import NotCertified, ParameterError

from .groups import kinds_of, sides_of

__all__ = ["MOST_OTHERS", "log_delta_steps"]

Parameters = Mapping[str, Any]
# Beyond it a sum has more values than are worked out in some seconds.
MOST_OTHERS = 100_000_000
# Beside the bits that the claim takes; what is dropped is e^-30 of it, spread over many.
_BITS, _CUT = 128, 36.0
_LOWEST = -1500.0


class _Law(NamedTuple):
    """Masses at first, first + 1, ..: the true ones, but for small ones that are left out."""

    first: int
    mass: arb_poly


def log_delta_steps(
    groups: Sequence[tuple[Parameters, int]],
    *,
    victim: int,
    pair: tuple[int, int],
    others: Sequence[tuple[int, int]],
    epsilon: float,
    log_claimed: float,
) -> tuple[float, float]:
    """Enclose log of what the sum of steps tells of a data set.

    Parameters
    ----------
    groups : sequence of (mapping, int)
        Each group's mechanism, {"name": ..., **parameters}, and number of users.
    victim : int
        The victim's group.
    pair : tuple of int
        Places of the victim's two inputs among those of ``kinds_of``.
    others : sequence of (int, int)
        Of each group: the place of the input that all others hold, and how many they are.
    epsilon : float
        eps >= 0.
    log_claimed : float
        About log of the delta that is claimed: what is dropped is far below it.

    Raises
    ------
    ParameterError
        For places that there are not.
    NotCertified
        Where messages are of different sets, or others are too many.
    """
    kind = kinds_of([mechanism for mechanism, _ in groups])
    if kind is None:
        raise NotCertified("a crowd whose groups' messages are of different sets")
    if sum(count for _, count in others) > MOST_OTHERS:
        raise NotCertified(f"sums of up to {MOST_OTHERS:,} steps are recomputed")
    places = [(k, x) for k, (x, _) in enumerate(others)] + [(victim, x) for x in pair]
    if len(others) != len(groups) or not all(0 <= x < len(kind.inputs[k]) for k, x in places):
        raise ParameterError("others: wanted an input for each group")
    log = min(max(log_claimed, _LOWEST), 0.0)
    with ctx.workprec(_BITS + math.ceil(-1.5 * log)):
        sides = sides_of([mechanism for mechanism, _ in groups], kind)
        own = [sides[victim].rows[x] for x in pair]
        signs = _signs(*own)
        cut = arb(log - _CUT).exp() / 1_000_000
        total = _Law(0, arb_poly([1]))
        for k, (x, count) in enumerate(others):
            total = _product(total, _power(_step(sides[k].rows[x], signs), count, cut), cut)
        low, high = _divergence(total, [_step(row, signs) for row in own], arb(epsilon).exp())
        return _log(low, up=False), _log(high, up=True)


def _signs(first: Sequence[arb], second: Sequence[arb]) -> list[int]:
    """1 where the first law is the larger for sure, -1 where the second is; of two outputs 1, 0."""
    found = [1 if p > q else -1 if p < q else 0 for p, q in zip(first, second, strict=True)]
    return [max(sign, 0) for sign in found] if len(found) == 2 else found


def _step(row: Sequence[arb], signs: Sequence[int]) -> list[arb]:
    """P(-1), P(0), P(1)."""
    return [
        sum((p for p, sign in zip(row, signs, strict=True) if sign == f), arb(0))
        for f in (-1, 0, 1)
    ]


def _power(step: Sequence[arb], count: int, cut: arb) -> _Law:
    """The law of a sum of so many independent steps, by squaring."""
    # Without steps down every sum is kept as it is: no zeros are carried along.
    shift = 0 if step[0].is_zero() else -1
    base = _Law(shift, arb_poly(list(step[shift + 1 :])))
    found = _Law(0, arb_poly([1]))
    for digit in f"{count:b}":
        found = _product(found, found, cut)
        if digit == "1":
            found = _product(found, base, cut)
    return found


def _product(one: _Law, other: _Law, cut: arb) -> _Law:
    """Of independent sums; small masses at both ends are left out."""
    mass = (one.mass * other.mass).coeffs()
    small = [not value > cut for value in mass]
    begin = next((i for i, tiny in enumerate(small) if not tiny), 0)
    end = next((i for i in range(len(mass), begin, -1) if not small[i - 1]), begin + 1)
    return _Law(one.first + other.first + begin, arb_poly(mass[begin:end]))


def _divergence(law: _Law, steps: Sequence[Sequence[arb]], a: arb) -> tuple[arb, arb]:
    """Balls below and above sum_s (P(s) - a Q(s))_+ ."""
    gains = [p - a * q for p, q in zip(*steps, strict=True)]
    mass = law.mass.coeffs()
    # All masses add up to one.
    missing = (1 - sum(mass, arb(0))).nonnegative_part()
    total = arb(0)
    for value in (law.mass * arb_poly(gains)).coeffs():
        # What is not positive for sure is left out below, and no more than its upper end above.
        total += value.nonnegative_part()
    return (total - a * missing).nonnegative_part(), total + missing


def _log(value: arb, *, up: bool) -> float:
    end = value.upper() if up else value.lower()
    if not end > 0:
        return -math.inf
    return float_above(end.log()) if up else float_below(end.log())
