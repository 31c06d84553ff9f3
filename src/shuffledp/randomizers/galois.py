"""Arithmetic of the field of q = p^m elements, p prime, on arrays of the numbers 0 .. q-1.

The number c_0 + c_1 p + .. + c_{m-1} p^{m-1}, 0 <= c_i < p, is the class of the polynomial
c_0 + c_1 x + .. + c_{m-1} x^{m-1} over the integers mod p, modulo

    f = x^m + d_{m-1} x^{m-1} + .. + d_0,    irreducible with the least d_0 + d_1 p + .. .

So q alone says what every number means, on every machine; 0 and 1 are the field's, and for m = 1
all is arithmetic mod q. For q = 4: f = x^2 + x + 1, and 2 2 = 3, 2 3 = 1, 3 3 = 2, 2 + 3 = 1.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from shuffledp.randomizers.primes import prime_factors, prime_power

Integers = npt.NDArray[np.int64]
Coefficients = tuple[int, ...]

# Fields up to here multiply by tables of logarithms: 5 q numbers of 4 bytes, 1.3 MB.
TABLED = 1 << 16
# Products at a time of larger fields: 60 coefficients of 8 bytes for each of them, 8 MB.
_CHUNK = 1 << 14


class Field(ABC):
    """The field of q = p^m elements.

    Arrays hold numbers 0 .. q-1 as 64-bit integers; two of them go by NumPy's broadcasting.

    Attributes
    ----------
    q, p, m : int
        Number of elements, characteristic, degree: q = p^m.
    modulus : tuple of int, length m + 1
        Coefficients of f, the lowest first.
    """

    q: int
    p: int
    m: int
    modulus: Coefficients

    @abstractmethod
    def add(self, a: Integers, b: Integers) -> Integers:
        """Sums a + b."""

    @abstractmethod
    def negative(self, a: Integers) -> Integers:
        """What a has to be added to for 0."""

    @abstractmethod
    def multiply(self, a: Integers, b: Integers) -> Integers:
        """Products a b."""

    @abstractmethod
    def dual(self, a: Integers) -> Integers:
        """The number of digits Tr(a), Tr(a x), .., Tr(a x^{m-1}) to base p, the lowest first.

        Tr is the trace, the sum of an element's powers p^i for i < m, which is in the field of p
        elements. So Tr(a y) is, mod p, the product of the digits of ``dual(a)`` and of y, and as a
        runs through the field so does ``dual(a)``.
        """

    def inverse(self, a: Integers) -> Integers:
        """a^(q - 2): what a has to be multiplied by for 1; 0 for 0, and for q = 2 a itself."""
        found, power = np.ones_like(a), a
        exponent = max(self.q - 2, 1)
        while exponent:
            if exponent & 1:
                found = self.multiply(found, power)
            power, exponent = self.multiply(power, power), exponent >> 1
        return found

    def dot(self, a: Integers, b: Integers) -> Integers:
        """Products of rows, of which there are as many of both or one of b: shape (users,)."""
        total = np.zeros(len(a), dtype=np.int64)
        for left, right in zip(a.T, b.T, strict=True):
            total = self.add(total, self.multiply(left, right))
        return total


class PrimeField(Field):
    """Numbers mod q."""

    def __init__(self, q: int) -> None:
        self.q = self.p = q
        self.m = 1
        self.modulus = (0, 1)

    def add(self, a: Integers, b: Integers) -> Integers:
        """(a + b) mod q."""
        return (a + b) % self.q

    def negative(self, a: Integers) -> Integers:
        """-a mod q."""
        return -a % self.q

    def multiply(self, a: Integers, b: Integers) -> Integers:
        """A b mod q."""
        return a * b % self.q

    def dual(self, a: Integers) -> Integers:
        """The element itself, which is its own trace."""
        return a


class PolynomialField(Field):
    """Polynomials of m >= 2 coefficients."""

    def __init__(self, p: int, m: int) -> None:
        self.q, self.p, self.m = p**m, p, m
        self.modulus = least_irreducible(p, m)
        # x^0, x^1, .. reduced: what traces need goes highest.
        powers = itertools.accumulate(
            range(3 * m - 3), lambda y, _: times(y, (0, 1), self.modulus, p), initial=(1,)
        )
        reduced = np.array([[*y, *[0] * (m - len(y))] for y in powers], dtype=np.int64)
        self._reduced = np.ascontiguousarray(reduced[: 2 * m - 1].T)
        # The trace of x^k is that of the matrix of multiplication by it.
        traces = [int(np.trace(reduced[k : k + m])) % p for k in range(2 * m - 1)]
        self._traces = np.array([traces[i : i + m] for i in range(m)], dtype=np.int64)

    def split(self, a: Integers) -> Integers:
        """Coefficients of elements, the lowest first: shape (m, *a.shape)."""
        found = np.empty((self.m, *a.shape), dtype=np.int64)
        left = a
        for i in range(self.m):
            left, found[i] = np.divmod(left, self.p)
        return found

    def join(self, coefficients: Integers) -> Integers:
        """Elements of coefficients 0 .. p-1, shape (m, *users): shape (*users,)."""
        found = np.zeros(coefficients.shape[1:], dtype=np.int64)
        for row in coefficients[::-1]:
            found = found * self.p + row
        return found

    def add(self, a: Integers, b: Integers) -> Integers:
        """Coefficient by coefficient."""
        if self.p == 2:
            return a ^ b
        a, b = np.broadcast_arrays(a, b)
        return self.join((self.split(a) + self.split(b)) % self.p)

    def negative(self, a: Integers) -> Integers:
        """Coefficient by coefficient."""
        return a if self.p == 2 else self.join(-self.split(a) % self.p)

    def multiply(self, a: Integers, b: Integers) -> Integers:
        """Products of polynomials, powers of x above x^{m-1} replaced by what they are mod f.

        m (p - 1)^2 and (2m - 1) (p - 1)^2 are below 2^37 for all p^m < 2^31 with m >= 2.
        """
        a, b = np.broadcast_arrays(a, b)
        left, right = a.reshape(-1), b.reshape(-1)
        found = np.empty(left.size, dtype=np.int64)
        for start in range(0, left.size, _CHUNK):
            some = slice(start, start + _CHUNK)
            product = self._of_bits if self.p == 2 else self._of_coefficients
            found[some] = product(left[some], right[some])
        return found.reshape(a.shape)

    def _of_coefficients(self, a: Integers, b: Integers) -> Integers:
        x, y = self.split(a), self.split(b)
        long = np.zeros((2 * self.m - 1, len(a)), dtype=np.int64)
        for i in range(self.m):
            long[i : i + self.m] += x[i] * y
        return self.join(self._reduced @ (long % self.p) % self.p)

    def _of_bits(self, a: Integers, b: Integers) -> Integers:
        """By Horner's rule, m times: the sum times x, mod f, and a more where b has the bit."""
        f = sum(d << i for i, d in enumerate(self.modulus))
        found = np.zeros_like(a)
        for i in reversed(range(self.m)):
            found <<= 1
            found ^= f & -(found >> self.m)
            found ^= a & -(b >> i & 1)
        return found

    def dual(self, a: Integers) -> Integers:
        """Tr(a x^i) from the traces of x^{i + j}."""
        return self.join(np.tensordot(self._traces, self.split(a), axes=1) % self.p)


class TableField(PolynomialField):
    """Logarithms to the base of the least number that generates all elements but 0."""

    def __init__(self, p: int, m: int) -> None:
        super().__init__(p, m)
        order = self.q - 1
        exponential = np.ones(order, dtype=np.int64)
        known, step = 1, np.array([self.generator()])  # step is the base's power known
        while known < order:
            more = min(known, order - known)
            exponential[known : known + more] = super().multiply(exponential[:more], step)
            known, step = known + more, super().multiply(step, step)
        # The logarithm of 0 is so large that any sum with it is where the other table is 0.
        self._log = np.full(self.q, 2 * order - 1, dtype=np.int32)
        self._log[exponential] = np.arange(order)
        self._exp = np.zeros(4 * order - 1, dtype=np.int32)
        self._exp[:order] = exponential
        self._exp[order : 2 * order - 1] = exponential[:-1]

    def generator(self) -> int:
        """The least element of which every element but 0 is a power."""
        exponents = [(self.q - 1) // prime for prime in prime_factors(self.q - 1)]
        for number in range(2, self.q):
            element = _digits(number, self.p)
            powers = (power(element, e, self.modulus, self.p) for e in exponents)
            if all(y != (1,) for y in powers):
                return number
        raise AssertionError  # pragma: no cover (every finite field has one)

    def multiply(self, a: Integers, b: Integers) -> Integers:
        """Logarithms are added."""
        return self._exp[self._log[a] + self._log[b]].astype(np.int64)

    def inverse(self, a: Integers) -> Integers:
        """The logarithm's negative; 0 for 0."""
        found = self._exp[-self._log[a] % (self.q - 1)].astype(np.int64)
        return np.where(a == 0, 0, found)


@lru_cache(maxsize=8)
def field(q: int) -> Field:
    """The field of q elements, q a power of a prime below 2^31."""
    found = prime_power(q)
    if found is None:
        raise ValueError(q)
    p, m = found
    if m == 1:
        return PrimeField(q)
    return TableField(p, m) if q <= TABLED else PolynomialField(p, m)


# --------------------------------------------------- single polynomials: lowest coefficient first


def least_irreducible(p: int, m: int) -> Coefficients:
    """Of the irreducible polynomials x^m + d_{m-1} x^{m-1} + .. + d_0 that of least number.

    Candidates with a root are left out unseen: for given d_1, d_2, .. these are the d_0 that are
    -h(x) for some x, h the polynomial without d_0. m >= 2.
    """
    x = np.arange(p)
    for tail in itertools.count():
        higher = [*_digits(tail, p), *[0] * m][: m - 1]
        value = np.ones_like(x)
        for d in reversed(higher):
            value = (value * x + d) % p
        value = value * x % p
        for last in np.setdiff1d(x, -value % p).tolist():
            found = (last, *higher, 1)
            if is_irreducible(found, p):
                return found
    raise AssertionError  # pragma: no cover (there are some of every degree)


def is_irreducible(f: Coefficients, p: int) -> bool:
    """Whether f, of degree m >= 2 with leading coefficient 1, has no factor mod p (Rabin 1980).

    That is so if x^(p^m) = x mod f and, for all primes l that divide m, x^(p^(m/l)) - x has no
    common factor with f.
    """
    m, x = len(f) - 1, (0, 1)
    images = list(itertools.accumulate(range(m), lambda y, _: power(y, p, f, p), initial=x))
    return images[m] == x and all(
        len(_common(f, _less_x(images[m // prime], p), p)) == 1 for prime in prime_factors(m)
    )


def times(a: Coefficients, b: Coefficients, f: Coefficients, p: int) -> Coefficients:
    """The product mod f and p."""
    found = [0] * (len(a) + len(b))
    for i, left in enumerate(a):
        for j, right in enumerate(b):
            found[i + j] += left * right
    return _rest(found, f, p)


def power(a: Coefficients, exponent: int, f: Coefficients, p: int) -> Coefficients:
    """The power mod f and p, exponent >= 0."""
    found: Coefficients = (1,)
    while exponent:
        if exponent & 1:
            found = times(found, a, f, p)
        a, exponent = times(a, a, f, p), exponent >> 1
    return found


def _rest(a: Sequence[int], f: Coefficients, p: int) -> Coefficients:
    """What division by f leaves, without zeros above its degree."""
    left, degree = list(a), len(f) - 1
    unit = pow(f[-1], -1, p)
    for top in range(len(left) - 1, degree - 1, -1):
        factor = left[top] * unit % p
        for i, d in enumerate(f):
            left[top - degree + i] -= factor * d
    left = [c % p for c in left[:degree]]
    while left and not left[-1]:
        left.pop()
    return tuple(left)


def _common(a: Coefficients, b: Coefficients, p: int) -> Coefficients:
    """A greatest common factor (Euclid)."""
    while b:
        a, b = b, _rest(a, b, p)
    return a


def _less_x(a: Coefficients, p: int) -> Coefficients:
    """The polynomial less x, without leading zeros."""
    found = [*a, 0, 0][: max(len(a), 2)]
    found[1] = (found[1] - 1) % p
    while found and not found[-1]:
        found.pop()
    return tuple(found)


def _digits(number: int, p: int) -> Coefficients:
    """Digits to base p, the lowest first, without leading zeros."""
    found = []
    while number:
        number, digit = divmod(number, p)
        found.append(digit)
    return tuple(found)
