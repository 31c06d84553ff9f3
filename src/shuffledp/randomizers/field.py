"""Vectors over a field of a prime number q < 2^31 of elements: which hyperplanes hold which.

An element is a number 0 .. q-1, a vector a row of such numbers; arithmetic is modulo q.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from shuffledp import _check
from shuffledp.errors import rejected
from shuffledp.values.described import DerivedInt, given

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
# Blocks of reports: constants (users,), coefficients (users, m) and how often each report occurs.
Blocks = Callable[[], Iterator[tuple[Integers, Integers, Any]]]

# Entries of the table that is transformed: 8 MB of counts, three times that while it is.
_TABLE = 1 << 20

# Products of two elements of a field are below 2^62.
LARGEST = 2**31 - 1
# No composite number below 3,215,031,751 passes these (Pomerance, Selfridge, Wagstaff 1980).
_WITNESSES = (2, 3, 5, 7)


def is_prime(q: int) -> bool:
    """Whether q is prime, 2 <= q <= 2^31 - 1 (Miller, Rabin with enough witnesses)."""
    if q in _WITNESSES:
        return True
    if q < 2 or q % 2 == 0:
        return False
    twos = (q - 1 & 1 - q).bit_length() - 1
    for base in _WITNESSES:
        x = pow(base, q - 1 >> twos, q)
        # mutate: equivalent, no power q - 1 is -1 for odd q (its factors would be 1 mod 2^(twos+1))
        powers = itertools.accumulate(range(twos - 1), lambda y, _: y * y % q, initial=x)
        if x != 1 and q - 1 not in powers:
            return False
    return True


def primes_beside(x: float) -> tuple[int, ...]:
    """The largest prime up to x and the smallest from x on; one where they are the same."""
    start = math.floor(min(max(x, 2.0), float(LARGEST)))
    below = next(q for q in range(start, 1, -1) if is_prime(q))
    above = next(
        q for q in range(math.ceil(min(max(x, 2.0), float(LARGEST))), LARGEST + 1) if is_prime(q)
    )
    return tuple(dict.fromkeys((below, above)))


def field_size(value: int | None, choose: Callable[[], int]) -> int:
    """The field's size: as given, if it is prime, or as chosen.

    Raises
    ------
    ParameterError
        If it is no prime number, or not below 2^31.
    """
    if not given(value):
        return DerivedInt(choose())
    q = _check.count("q", value, low=2, high=LARGEST)
    if not is_prime(q):
        raise rejected("q", value, "a prime number")
    return q


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


def dot(a: Integers, b: Integers, q: int) -> Integers:
    """Products of rows, shape (users,); single products are below 2^62."""
    found = np.zeros(len(a), dtype=np.int64)
    for x, y in zip(a.T, b.T, strict=True):
        found = (found + x.astype(np.int64) * y) % q
    return found


def inverse(a: Integers, q: int) -> Integers:
    """a^(q - 2): what a has to be multiplied by for 1."""
    found, power = np.ones_like(a), a
    exponent = max(q - 2, 1)
    while exponent:
        if exponent & 1:
            found = found * power % q
        power, exponent = power * power % q, exponent >> 1
    return found


# ------------------------------------------------------------------------------- sums of reports


def supporters(reports: Blocks, q: int, m: int, items: Integers) -> Integers:
    """For items x below q^m: how many reports have b + a . x = 0, x the vector of its digits.

    Items whose high digits agree go together: b and the high part of a . x make one element s of
    the field, reports are counted by (s, low coefficients y), a table of q^(r+1) entries, and

        #{s + w . y = 0}  =  (1/q) sum_c F[c, c w],
        F[c, d]  =  sum_{s, y} X(c s + d . y) table[s, y],    X(v) = e^{-2 pi i v/q},

    for all w of r digits at once: the sum over c of X(c v) is q for v = 0, else 0. Reports and a
    table are all that is held, never reports times items.

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
    high = head.shape[1]
    places = q ** np.arange(r, -1, -1)
    table = np.zeros(q ** (r + 1) if r else 1)
    for constants, coefficients, times in reports():
        known = np.broadcast_to(head, (len(constants), high))
        s = (constants + dot(coefficients[:, :high], known, q)) % q
        if not r:
            table[0] += np.count_nonzero(s == 0) if times is None else times[s == 0].sum()
            continue
        codes = coefficients[:, high:] @ places[:-1] + s
        table += np.bincount(codes, weights=times, minlength=table.size)
    if not r:
        return table.astype(np.int64)
    return _solutions(table, q, r)


def _solutions(table: Floats, q: int, r: int) -> Integers:
    """Sum of table[y, s] over s + w . y = 0, for all w; table and sums in rows, as numbers.

    The table's numbers are whole and their sum N; rounding errs by less than 100 N 2^-53, which
    is far below 1/2 for all N < 2^40. F[c, c w] and F[-c, -c w] are conjugate: of each such two the
    one is taken whose last digit, c, is in the half that the transform keeps.
    """
    spectrum = np.fft.rfftn(table.reshape((q,) * (r + 1)))
    total = np.zeros((q,) * r)
    for c in range(q // 2 + 1):
        along = c * np.arange(q) % q
        share = 1.0 if 2 * c % q == 0 else 2.0
        total += share * np.real(spectrum[..., c][np.ix_(*[along] * r)])
    return np.rint(total / q).astype(np.int64).ravel()
