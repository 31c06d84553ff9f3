"""E[G_1 + ... + G_n]_+ by summing over all multinomial counts: small n, nothing to bound."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

from shuffledp.arithmetic.balls import arb

__all__ = ["compositions", "positive_part_by_enumeration"]


def compositions(n: int, atoms: int) -> int:
    """Return the number of ways in which n messages spread over so many atoms."""
    return comb(n + atoms - 1, atoms - 1)


def positive_part_by_enumeration(weight: Sequence[arb], gain: Sequence[arb], n: int) -> arb:
    """Enclose E[G_1 + ... + G_n]_+ for a finite law of G.

    Parameters
    ----------
    weight, gain : the atoms' probabilities and values.
    n : number of messages; the work is comb(n + atoms - 1, atoms - 1) terms.
    """
    if len(weight) == 1:
        return arb.max(n * gain[0], arb(0)) * weight[0] ** n
    if n == 1:
        # There may be thousands of atoms, and below a call is made inside another for each.
        both = zip(weight, gain, strict=True)
        return sum((w * arb.max(g, arb(0)) for w, g in both), start=arb(0))
    # weight**c / c! for every atom: a term is n! times a product of these.
    columns = [_powers_over_factorials(w, n) for w in weight]
    zero = arb(0)
    last, before = columns[-1], columns[-2]
    g_last, g_before = gain[-1], gain[-2]

    def innermost(left: int, so_far: arb) -> arb:
        total = zero
        step = g_before - g_last
        value = so_far + left * g_last
        for c in range(left + 1):
            if not value < 0:
                total += before[c] * last[left - c] * arb.max(value, zero)
            value = value + step
        return total

    def walk(index: int, left: int, so_far: arb) -> arb:
        if index == len(weight) - 2:
            return innermost(left, so_far)
        total = zero
        for c in range(left + 1):
            total += columns[index][c] * walk(index + 1, left - c, so_far + c * gain[index])
        return total

    return walk(0, n, zero) * arb(n).fac()


def _powers_over_factorials(w: arb, n: int) -> list[arb]:
    out = [arb(1)]
    for c in range(1, n + 1):
        out.append(out[-1] * w / c)
    return out
