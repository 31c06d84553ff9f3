"""Small fields from polynomials written by hand, by long division: sums and products of elements.

The number of an element is its polynomial's value at p, as docs/theory.md, section 4, has it.
"""

import functools
import itertools

# By q: p and the coefficients of the irreducible polynomial of least number, the lowest first.
POLYNOMIALS = {
    4: (2, (1, 1, 1)),  # x^2 + x + 1
    8: (2, (1, 1, 0, 1)),  # x^3 + x + 1
    9: (3, (1, 0, 1)),  # x^2 + 1: -1 is no square mod 3
    16: (2, (1, 1, 0, 0, 1)),  # x^4 + x + 1
    25: (5, (2, 0, 1)),  # x^2 + 2: -2 is no square mod 5, -1 = 2^2 is one
    27: (3, (1, 2, 0, 1)),  # x^3 + 2 x + 1: no x^3 + x + c is without a root
}


def written(number, p, m):
    return [number // p**i % p for i in range(m)]


@functools.cache
def tables(q):
    """Sums and products of all pairs, as two tables."""
    p, f = POLYNOMIALS.get(q, (q, (0, 1)))
    m = len(f) - 1
    elements = [written(x, p, m) for x in range(q)]

    def number(coefficients):
        return sum(c % p * p**i for i, c in enumerate(coefficients))

    def product(a, b):
        left = [sum(a[i] * b[k - i] for i in range(m) if 0 <= k - i < m) for k in range(2 * m - 1)]
        while len(left) > m:
            top = left.pop()
            for i in range(m):
                left[len(left) - m + i] -= top * f[i]
        return number(left)

    sums = [
        [number([s + t for s, t in zip(a, b, strict=True)]) for b in elements] for a in elements
    ]
    return sums, [[product(a, b) for b in elements] for a in elements]


def dot(a, b, q):
    """The sum of the products of two vectors."""
    sums, products = tables(q)
    total = 0
    for x, y in zip(a, b, strict=True):
        total = sums[total][products[x][y]]
    return total


def span(vectors, q):
    """Number of elements of what the vectors span, by all their combinations."""
    sums, products = tables(q)
    found = {(0,) * len(vectors[0])} if vectors else {()}
    for v in vectors:
        found = {
            tuple(sums[x][products[c][y]] for x, y in zip(u, v, strict=True))
            for u, c in itertools.product(found, range(q))
        }
    return len(found)
