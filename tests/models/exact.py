"""Exact divergences of small batches behind declared shufflers: enumeration in fractions.

Nothing of the package is used: laws are products, views are counted, datasets are all listed.
"""

import itertools
import random
from collections import Counter, defaultdict
from fractions import Fraction

UNIT = 1 << 12


def channel(rng, inputs, outputs, floor=40):
    """Rows of dyadic fractions that floats hold exactly, each output possible."""
    rows = []
    for _ in range(inputs):
        cuts = sorted(rng.randint(0, UNIT - floor * outputs) for _ in range(outputs - 1))
        parts = [b - a for a, b in zip([0, *cuts], [*cuts, UNIT - floor * outputs], strict=True)]
        rows.append([Fraction(part + floor, UNIT) for part in parts])
    return rows


def floats(rows):
    return [[float(p) for p in row] for row in rows]


def vectors(rows, data):
    """{vector of messages: probability} of a dataset; None in it is a law of its own, given."""
    found = {(): Fraction(1)}
    for x in data:
        row = rows[x] if isinstance(x, int) else x
        found = {(*y, j): v * p for y, v in found.items() for j, p in enumerate(row) if p}
    return found


def viewed(law, see):
    found = defaultdict(Fraction)
    for y, p in law.items():
        found[see(y)] += p
    return found


def multiset(y):
    return tuple(sorted(y))


def hockey(first, second, alpha):
    zero = Fraction(0)
    return sum((max(p - alpha * second.get(z, zero), zero) for z, p in first.items()), zero)


def replaced(inputs, n, changed=1):
    """All ordered pairs of datasets that differ in 1 to ``changed`` users, up to the order.

    Users are alike, so those who change come first, and the others are a multiset.
    """
    for k in range(1, changed + 1):
        for others in itertools.combinations_with_replacement(range(inputs), n - k):
            for ours in itertools.product(range(inputs), repeat=2 * k):
                first, second = ours[:k], ours[k:]
                if all(a != b for a, b in zip(first, second, strict=True)):
                    yield (*first, *others), (*second, *others)


def perfect(rows, data, other, alpha):
    """Divergence of two datasets behind a perfect shuffler."""
    first, second = (viewed(vectors(rows, d), multiset) for d in (data, other))
    return hockey(first, second, alpha)


def most_within(rows, data, other, alpha, distance):
    """The largest divergence over all shufflers within a distance of uniform, attained.

    Of the orders of a multiset an event holds a share u = j/N. If it holds some and not all, the
    shuffler can move ``distance`` into it for vectors that speak for the first dataset, and out of
    it for the others.
    """
    first, second = vectors(rows, data), vectors(rows, other)
    up, down, orders = defaultdict(Fraction), defaultdict(Fraction), defaultdict(set)
    for y in {*first, *second}:
        gain = first.get(y, Fraction(0)) - alpha * second.get(y, Fraction(0))
        s = multiset(y)
        up[s] += max(gain, Fraction(0))
        down[s] += max(-gain, Fraction(0))
        orders[s].update(itertools.permutations(y))
    total = Fraction(0)
    for s in up:
        size = len(orders[s])
        options = [Fraction(0), up[s] - down[s]]
        for j in range(1, size):
            u = Fraction(j, size)
            gained = min(Fraction(1), u + distance) * up[s]
            options.append(gained - max(Fraction(0), u - distance) * down[s])
        total += max(options)
    return total


def shuffled_by(law, table, orders):
    """Law of the view where the vector y is permuted by orders[i] with probability table[y][i]."""
    found = defaultdict(Fraction)
    for y, p in law.items():
        for chance, order in zip(table[y], orders, strict=True):
            if chance:
                found[tuple(y[i] for i in order)] += p * chance
    return found


def random_table(rng, vectors_of, orders, distance):
    """For every vector a law on permutations within the distance of uniform; some of them at it."""
    uniform = Fraction(1, len(orders))
    table = {}
    for y in vectors_of:
        row = [uniform] * len(orders)
        left = distance
        while left > 0:
            i, j = rng.sample(range(len(orders)), 2)
            moved = min(left, row[i], Fraction(rng.randint(1, 64), 64) * distance)
            if moved == 0:
                break
            row[i] -= moved
            row[j] += moved
            left -= moved
        table[y] = row
    return table


def shards(y, sizes):
    """The multiset of each shard, users in order."""
    found, start = [], 0
    for size in sizes:
        found.append(multiset(y[start : start + size]))
        start += size
    return tuple(found)


def secretly(law, sizes):
    """View of shards to which users are assigned uniformly at random."""
    found = defaultdict(Fraction)
    n = sum(sizes)
    ways = Counter()
    for order in itertools.permutations(range(n)):
        ways[order] += 1
    for y, p in law.items():
        for order in ways:
            found[shards(tuple(y[i] for i in order), sizes)] += p / len(ways)
    return found


def rng_of(seed):
    return random.Random(seed)
