"""Every finite mechanism's full output distribution, from its definition, in balls of 300 bits.

One row for each input of the WHOLE domain, one column for each output. Only small domains.
"""

import itertools
import math

from flint import arb


def k_rr(k, eps0):
    grow = arb(eps0).exp()
    return [[(grow if x == y else arb(1)) / (grow + k - 1) for y in range(k)] for x in range(k)]


def binary_rr(eps0):
    return k_rr(2, eps0)


def unary(d, own, other):
    """Bit x is 1 with probability own, every other bit with probability other."""
    rows = []
    for x in range(d):
        row = []
        for bits in itertools.product((0, 1), repeat=d):
            p = arb(1)
            for i, bit in enumerate(bits):
                one = own if i == x else other
                p = p * (one if bit else 1 - one)
            row.append(p)
        rows.append(row)
    return rows


def rappor(d, eps0):
    keep = (arb(eps0) / 2).exp()
    return unary(d, keep / (keep + 1), 1 / (keep + 1))


def oue(d, eps0):
    return unary(d, arb(1) / 2, 1 / (arb(eps0).exp() + 1))


def local_hash(domain, l, eps0):
    grow = arb(eps0).exp()
    rows = [[] for _ in range(domain)]
    for h in itertools.product(range(l), repeat=domain):
        for z in range(l):
            for x in range(domain):
                p = (grow if h[x] == z else arb(1)) / (grow + l - 1)
                rows[x].append(p / l**domain)
    return rows


def hadamard(domain, eps0):
    size = 2
    while size <= domain:
        size *= 2
    sylvester = [[1]]
    while len(sylvester) < size:
        sylvester = [row + row for row in sylvester] + [
            row + [-v for v in row] for row in sylvester
        ]
    grow = arb(eps0).exp()
    return [
        [(grow if v > 0 else arb(1)) / (size * (grow + 1) / 2) for v in sylvester[x + 1]]
        for x in range(domain)
    ]


def hash_family(domain, l, eps0):
    """Local hashing by h(x) = sum_j a_j x_j mod l: reports (a_1, .., a_m, z) in lexical order."""
    m = (domain - 1).bit_length()
    grow = arb(eps0).exp()
    rows = [[] for _ in range(domain)]
    for *a, z in itertools.product(range(l), repeat=m + 1):
        for x in range(domain):
            h = sum(a[j] for j in range(m) if x >> j & 1) % l
            rows[x].append((grow if h == z else arb(1)) / (grow + l - 1) / l**m)
    return rows


def affine(domain, q, eps0, exp=lambda x: arb(x).exp()):
    """PI-RAPPOR: reports (a_1, .., a_t, b) in lexical order, likelier where a . x + b = 0."""
    t = next(t for t in itertools.count(1) if q**t >= domain)
    inputs = list(itertools.product(range(q), repeat=t))[:domain]
    grow, unit = exp(eps0), q**t * (exp(eps0) + q - 1)
    return [
        [
            (grow if _dot((*a, b), (*x, 1)) % q == 0 else 1) / unit
            for *a, b in itertools.product(range(q), repeat=t + 1)
        ]
        for x in inputs
    ]


def _dot(x, y):
    return sum(a * b for a, b in zip(x, y, strict=True))


def projective(domain, q, eps0, exp=lambda x: arb(x).exp()):
    """Points, likelier where the product with the own one is 0: first elements not 0 are 1.

    In lexical order: the fewer elements follow the 1, the earlier.
    """
    t = next(t for t in itertools.count(2) if (q**t - 1) // (q - 1) >= domain)
    vectors = itertools.product(range(q), repeat=t)
    points = [v for v in vectors if next((x for x in v if x), 0) == 1]
    grow = exp(eps0)
    hit = [[_dot(x, y) % q == 0 for y in points] for x in points[:domain]]
    return [
        [(grow if h else 1) / (sum(row) * (grow - 1) + len(points)) for h in row] for row in hit
    ]


def hadamard_blocks(domain, blocks, eps0):
    """B blocks: input x has block x mod B and row x // B + 1 of a Sylvester matrix."""
    size = 2
    while size <= math.ceil(domain / blocks):
        size *= 2
    sylvester = [[1]]
    while len(sylvester) < size:
        sylvester = [row + row for row in sylvester] + [
            row + [-v for v in row] for row in sylvester
        ]
    grow = arb(eps0).exp()
    rows = []
    for x in range(domain):
        row = [arb(1)] * (blocks * size)
        for column, sign in enumerate(sylvester[x // blocks + 1]):
            if sign > 0:
                row[x % blocks * size + column] = grow
        total = sum(row, start=arb(0))
        rows.append([p / total for p in row])
    return rows


def subset(d, k, eps0):
    """All k-subsets in the order of itertools.combinations."""
    grow = arb(eps0).exp()
    rows = []
    for x in range(d):
        row = [grow if x in chosen else arb(1) for chosen in itertools.combinations(range(d), k)]
        total = sum(row, start=arb(0))
        rows.append([p / total for p in row])
    return rows
