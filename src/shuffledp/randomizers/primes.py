"""Prime numbers below 2^31: the sizes of finite fields, whose elements are numbers 0 .. q-1."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

from shuffledp import _check
from shuffledp.errors import rejected
from shuffledp.values.described import DerivedInt, given

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
