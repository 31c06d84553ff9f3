"""Vectors over a finite field: which hyperplanes hold which of them.

An element is a number 0 .. q-1 as ``galois`` says, a vector a row of such numbers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from shuffledp.randomizers import galois
from shuffledp.randomizers.galois import Field, Integers

Floats = npt.NDArray[np.float64]
# Blocks of reports: constants (users,), coefficients (users, m) and how often each report occurs.
Blocks = Callable[[], Iterator[tuple[Integers, Integers, Any]]]

# Entries of the table that is transformed: 8 MB of counts, three times that while it is.
_TABLE = 1 << 20


def points(q: int, t: int) -> int:
    """Points of PG(t-1, q): lines through the origin of a space of t dimensions."""
    return (q**t - 1) // (q - 1)


def digits(numbers: npt.ArrayLike, q: int, m: int) -> Integers:
    """The m digits of numbers below q^m to base q, the highest first, shape (users, m)."""
    left = np.array(numbers, dtype=np.int64)
    found = np.empty((left.size, m), dtype=np.int64)
    for j in range(m - 1, -1, -1):
        left, found[:, j] = np.divmod(left, q)
    return found


def rank(vectors: Sequence[Sequence[int]], q: int) -> int:
    """Dimension of what the vectors span, by elimination without division."""
    space = galois.field(q)
    rows = np.array(vectors, dtype=np.int64)
    found = 0
    while rows.any():
        # Rows that the first one with an element in the first column that has any clears of it.
        column = int(np.argmax(rows.any(axis=0)))
        pivot = int(np.argmax(rows[:, column] != 0))
        first, rows = rows[pivot], np.delete(rows, pivot, axis=0)
        taken = space.multiply(space.negative(rows[:, column])[:, None], first)
        rows = space.add(space.multiply(rows, first[column]), taken)
        found += 1
    return found


def hits(vectors: Sequence[Sequence[int]], q: int) -> dict[tuple[bool, ...], int]:
    """How many vectors are orthogonal to exactly these of the given ones, by which.

    To those of a set T and perhaps to more of them are q^(m - rank T), m the dimension; taking
    away what hits more (Moebius inversion over the sets) leaves those that hit T alone.
    """
    count, m = len(vectors), len(vectors[0])
    found = {
        flags: q ** (m - rank([v for v, hit in zip(vectors, flags, strict=True) if hit], q))
        for flags in itertools.product((False, True), repeat=count)
    }
    for j in range(count):
        for flags in found:
            if not flags[j]:
                found[flags] -= found[(*flags[:j], True, *flags[j + 1 :])]
    return found


# ------------------------------------------------------------------------------- sums of reports


def supporters(reports: Blocks, q: int, m: int, items: Integers) -> Integers:
    """For items x below q^m: how many reports have b + a . x = 0, x the vector of its digits.

    Items whose high digits agree go together: b and the high part of a . x make one element s of
    the field, reports are counted by (s, low coefficients y), a table of q^(r+1) entries, and

        #{s + w . y = 0}  =  (1/q) sum_c F[c, c w],
        F[c, d]  =  sum_{s, y} X(c s + d . y) table[s, y],    X(v) = e^{-2 pi i Tr(v)/p},

    for all w of r digits at once: X is an additive character (Tr the trace to the field of p
    elements; v itself if q = p), so that the sum over c of X(c v) is q for v = 0, else 0. Reports
    and a table are all that is held, never reports times items.

    Parameters
    ----------
    reports : callable
        Makes the blocks of reports, anew for each group of items: b, a and how often (None: once).
    q : int
        The field's size.
    m : int
        Digits of an item, coefficients of a report.
    items : ndarray of int, shape (K,)
        In any order, repeats allowed.
    """
    r = _low_digits(q, m, len(items))
    heads, lows = np.divmod(items, q**r)
    found = np.zeros(len(items), dtype=np.int64)
    for head in np.unique(heads):
        mine = heads == head
        found[mine] = _of_head(reports, q, digits([head], q, m - r), r)[lows[mine]]
    return found


def _low_digits(q: int, m: int, count: int) -> int:
    """The most digits whose table is small enough, and no larger than the items are many."""
    r = 0
    while r < m and q ** (r + 2) <= _TABLE and q ** (r + 1) <= count:
        r += 1
    return r


def _of_head(reports: Blocks, q: int, head: Integers, r: int) -> Integers:
    """Of all items with these high digits, by their r low ones."""
    high, space = head.shape[1], galois.field(q)
    places = q ** np.arange(r, -1, -1)
    table = np.zeros(q ** (r + 1) if r else 1)
    for constants, coefficients, times in reports():
        known = np.broadcast_to(head, (len(constants), high))
        s = space.add(constants, space.dot(coefficients[:, :high], known))
        if not r:
            table[0] += np.count_nonzero(s == 0) if times is None else times[s == 0].sum()
            continue
        codes = coefficients[:, high:] @ places[:-1] + s
        table += np.bincount(codes, weights=times, minlength=table.size)
    if not r:
        return table.astype(np.int64)
    return _solutions(table, space, r)


def _solutions(table: Floats, space: Field, r: int) -> Integers:
    """Sum of table[y, s] over s + w . y = 0, for all w; table and sums in rows, as numbers.

    The table's numbers are whole and their sum N; rounding errs by less than 100 N 2^-53, which
    is far below 1/2 for all N < 2^40 (for p = 2 there is none). F[c, c w] and F[-c, -c w] are
    conjugate: of each such two the one is taken whose last digit is in the half that is kept.
    """
    q, p = space.q, space.p
    half = p // 2 + 1
    spectrum = _spectrum(table, p).reshape((q,) * r + (q // p * half,))
    elements = np.arange(q)
    opposite, places = space.negative(elements), space.dual(elements)
    groups, digit = np.divmod(places, p)
    # A last digit of 0 is that of both.
    taken = np.where(digit == 0, elements <= opposite, digit < half)
    total = np.zeros((q,) * r)
    for c in elements[taken]:
        along = places[space.multiply(c, elements)]
        share = 1.0 if c == opposite[c] else 2.0
        part = spectrum[..., groups[c] * half + digit[c]][np.ix_(*[along] * r)]
        total += share * np.real(part)
    return np.rint(total / q).astype(np.int64).ravel()


def _spectrum(table: Floats, p: int) -> npt.NDArray[Any]:
    """Sums of table[k] e^{-2 pi i (k . l)/p} by the digits of k and l to base p, as one row.

    l in ascending order, of its last digits 0 .. p//2 alone. For p = 2 they are real (Hadamard's).
    """
    places = round(math.log(table.size, p))
    if p != 2:
        return np.fft.rfftn(table.reshape((p,) * places)).ravel()
    found = table
    for _ in range(places):
        # The last digit, transformed, becomes the first one: all of them, and they are in order.
        zero, one = found.reshape(-1, 2).T
        found = np.concatenate((zero + one, zero - one))
    return found
