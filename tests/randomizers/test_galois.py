"""The arithmetic of finite fields, and which hyperplanes over them hold what."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from randomizers import small_fields
from shuffledp.ball import hyperplanes as ball
from shuffledp.randomizers import field, galois, primes

SMALL = sorted(small_fields.POLYNOMIALS)
# The largest of characteristics 2, 3, of degree 2, 3, 4, 5; the largest with a table; a prime.
LARGE = [2**17, 2**30, 3**19, 46337**2, 1289**3, 211**4, 73**5, 2**16, 251**2, primes.LARGEST]


@pytest.mark.parametrize("q", [2, 3, 5, *SMALL])
def test_sums_and_products_of_all_elements_are_those_of_polynomials(q):
    space = galois.field(q)
    a, b = np.divmod(np.arange(q * q), q)
    sums, products = small_fields.tables(q)
    assert space.add(a, b).tolist() == list(itertools.chain(*sums))
    assert space.multiply(a, b).tolist() == list(itertools.chain(*products))
    if q in SMALL:
        p, modulus = small_fields.POLYNOMIALS[q]
        assert (space.p, space.m, space.modulus) == (p, len(modulus) - 1, modulus)
        untabled = galois.PolynomialField(p, space.m)
        assert untabled.multiply(a, b).tolist() == space.multiply(a, b).tolist()
        assert untabled._of_coefficients(a, b).tolist() == space.multiply(a, b).tolist()
        assert untabled.inverse(np.arange(q)).tolist() == space.inverse(np.arange(q)).tolist()


@pytest.mark.parametrize("q", [2, 3, 5, 7, *SMALL])
def test_axioms_hold_for_all_elements(q):
    space = galois.field(q)
    a = np.arange(q)
    x, y = a[:, None], a[None, :]
    for operation, unit in ((space.add, 0), (space.multiply, 1)):
        table = operation(x, y)
        assert (table == table.T).all()
        assert (table[unit] == a).all()
        assert ((table >= 0) & (table < q)).all()
        left, right = operation(table[:, :, None], a), operation(a[:, None, None], table)
        assert (left == right).all()
    spread = space.add(space.multiply(x, y)[:, :, None], space.multiply(x, y)[:, None, :])
    assert (space.multiply(a[:, None, None], space.add(x, y)) == spread).all()
    assert not space.add(a, space.negative(a)).any()
    assert (space.multiply(a, space.inverse(a)) == (a != 0)).all()
    assert space.inverse(a)[0] == 0
    # p times anything is 0, and the least base of logarithms makes all but 0.
    total = np.zeros_like(a)
    for _ in range(space.p):
        total = space.add(total, a)
    assert not total.any()
    assert primes.prime_power(q) == (space.p, space.m) == (space.p, len(space.modulus) - 1)


elements = st.integers(0, 2**31)


@given(st.sampled_from(LARGE), elements, elements, elements)
def test_axioms_hold_in_large_fields(q, a, b, c):
    space = galois.field(q)
    a, b, c = (np.array([x % q]) for x in (a, b, c))
    add, multiply = space.add, space.multiply
    assert add(a, b) == add(b, a)
    assert add(add(a, b), c) == add(a, add(b, c))
    assert add(a, space.negative(a)) == 0
    assert multiply(a, b) == multiply(b, a)
    assert multiply(multiply(a, b), c) == multiply(a, multiply(b, c))
    assert multiply(a, add(b, c)) == add(multiply(a, b), multiply(a, c))
    assert multiply(a, np.array([1])) == a
    assert multiply(a, space.inverse(a)) == (a != 0)
    assert 0 <= multiply(a, b)[0] < q
    # (a + b)^p = a^p + b^p.
    assert power(space, add(a, b)) == add(power(space, a), power(space, b))


def power(space, a):
    """a^p."""
    found = np.ones_like(a)
    for bit in f"{space.p:b}":
        found = space.multiply(found, found)
        found = space.multiply(found, a) if bit == "1" else found
    return found


@pytest.mark.parametrize("q", [*LARGE, *SMALL, 1283**3, 39199**2])
def test_the_verifier_finds_the_same_field(q):
    """By another test of irreducible polynomials, and ranks by matrices."""
    space = galois.field(q)
    assert ball._root(q) == (space.p, space.m) == primes.prime_power(q)
    last = ball._powers(space.p, space.m)[-1]
    # x^(m-1) x = x^m, which the polynomial says.
    if space.m > 1:
        x = ball._powers(space.p, space.m)[1]
        found = [int((x * last)[0, j]) for j in range(space.m)]
        assert found == [-d % space.p for d in space.modulus[:-1]]
    rng = np.random.default_rng(q)
    for rows, columns in ((1, 2), (2, 3), (3, 3), (3, 4)):
        vectors = rng.integers(0, q, (rows, columns))
        # A combination of the rows in place of the last, and a few zeros.
        for _ in range(2):
            wanted = ball._rank(vectors.tolist(), space.p, space.m)
            assert field.rank(vectors.tolist(), q) == wanted
            factors = rng.integers(0, q, (rows - 1, 1))
            products = space.multiply(vectors[:-1], np.broadcast_to(factors, (rows - 1, columns)))
            vectors[-1] = 0
            for product in products:
                vectors[-1] = space.add(vectors[-1], product)
        assert wanted < rows


@pytest.mark.parametrize("q", [2, 3, 4, 8, 9])
def test_hyperplanes_and_their_intersections_are_counted_as_by_all_vectors(q):
    rng = np.random.default_rng(q)
    for m, count in ((2, 2), (3, 3), (3, 4), (1, 2)):
        normals = rng.integers(0, q, (count, m))
        normals[-1] = rng.permutation(normals[0])  # dependent ones, now and then
        normals = normals.tolist()
        wanted = Counter(
            tuple(small_fields.dot(n, v, q) == 0 for n in normals)
            for v in itertools.product(range(q), repeat=m)
        )
        found = field.hits(normals, q)
        assert {flags: n for flags, n in found.items() if n} == wanted
        assert q ** field.rank(normals, q) == small_fields.span(normals, q)
        assert {flags: n for flags, n in ball._orthogonal(normals, q).items() if n} == wanted


@pytest.mark.parametrize("q", [4, 8, 9, 25, 27, 7])
def test_traces_make_characters(q):
    """X(v) = e^{-2 pi i Tr(v)/p} turns sums to products and is 0 over the field."""
    space = galois.field(q)
    a, b = np.divmod(np.arange(q * q), q)
    digits = [
        sum(x * y for x, y in zip(*(small_fields.written(n, space.p, space.m) for n in two)))  # noqa: B905
        % space.p
        for two in zip(space.dual(a).tolist(), b.tolist(), strict=True)
    ]
    trace = np.array(digits).reshape(q, q)[1]
    # Tr(a b) of a and b is the product of digits; it is additive, the same for a and a^p, not 0.
    assert np.array_equal(trace[space.multiply(a, b)], digits)
    assert np.array_equal(trace[space.add(a, b)], (trace[a] + trace[b]) % space.p)
    assert np.array_equal(trace[power(space, np.arange(q))], trace)
    assert trace.any()
    assert sorted(space.dual(np.arange(q)).tolist()) == list(range(q))


def test_prime_numbers():
    sieve = [n for n in range(2, 3000) if all(n % d for d in range(2, math.isqrt(n) + 1))]
    assert [n for n in range(2, 3000) if primes.is_prime(n)] == sieve
    # Numbers that pass for prime with few witnesses, and the largest of all.
    assert not any(map(primes.is_prime, (2047, 1_373_653, 25_326_001, 46_337**2, 2**31 - 3)))
    assert primes.is_prime(primes.LARGEST)
    assert primes.primes_beside(1.5) == (2,)
    assert primes.primes_beside(8.4) == primes.primes_beside(10.5) == (7, 11)
    assert primes.primes_beside(1e300) == (primes.LARGEST,)


def test_powers_of_primes():
    def is_power(q):
        p = next(d for d in range(2, q + 1) if q % d == 0)
        return p ** round(math.log(q, p)) == q

    assert [q for q in range(2, 3000) if primes.prime_power(q)] == list(
        filter(is_power, range(2, 3000))
    )
    assert primes.prime_power(2**30) == (2, 30)
    assert primes.prime_power(3**19) == (3, 19)
    assert primes.prime_power(46337**2) == (46337, 2)
    for none in (1, 46337**2 - 1, 46337 * 46327, 2**30 + 1, 2**30 - 1, 6**11, 1290**3):
        assert primes.prime_power(none) is None
        assert ball._root(none) is None
        with pytest.raises(ValueError, match=str(none)):
            galois.field(none)


@pytest.mark.parametrize("p", [2, 3, 5])
@pytest.mark.parametrize("m", [2, 3, 4])
def test_irreducible_polynomials_are_those_that_are_no_products(p, m):
    def monic(degree):
        return [(*low, 1) for low in itertools.product(range(p), repeat=degree)]

    def product(a, b):
        found = [0] * (len(a) + len(b) - 1)
        for i, j in itertools.product(range(len(a)), range(len(b))):
            found[i + j] += a[i] * b[j]
        return tuple(c % p for c in found)

    products = {product(a, b) for d in range(1, m // 2 + 1) for a in monic(d) for b in monic(m - d)}
    every = sorted(monic(m), key=lambda f: f[::-1])
    irreducible = [f for f in every if f not in products]
    assert [f for f in every if galois.is_irreducible(f, p)] == irreducible
    assert galois.least_irreducible(p, m) == irreducible[0]


@pytest.mark.parametrize("q", SMALL)
def test_logarithms_are_to_the_least_base_there_is(q):
    _, products = small_fields.tables(q)

    def order(x):
        power, found = x, 1
        while power != 1:
            power, found = products[power][x], found + 1
        return found

    space = galois.field(q)
    assert isinstance(space, galois.TableField)
    assert space.generator() == next(x for x in range(1, q) if order(x) == q - 1)


@pytest.mark.parametrize("q", [2, 3, 4, 9, 53, 1009, 1024, 2**20])
def test_tables_are_the_largest_within_the_bound(q):
    for m, count in itertools.product((1, 2, 5, 25), (1, q - 1, q, q**2, 10**9)):
        r = field._low_digits(q, m, count)
        fits = [j for j in range(1, m + 1) if q ** (j + 1) <= 1 << 20 and q**j <= count]
        assert r == max(fits, default=0)
