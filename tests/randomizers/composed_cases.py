"""Full output distributions of composed mechanisms, in fractions, and brute force with them."""

import itertools
import math
from fractions import Fraction

from enumerated import histogram_law, hockey_stick, positive_part, row_fractions, with_user


def rows_of(randomizer):
    """Exact rows of a Channel."""
    return row_fractions(randomizer.matrix)


def joint_rows(parts):
    """{record: row over all tuples of outputs}."""
    found = {}
    for record in itertools.product(*(range(len(rows)) for rows in parts)):
        row = [Fraction(1)]
        for rows, x in zip(parts, record, strict=True):
            row = [p * q for p in row for q in rows[x]]
        found[record] = row
    return found


def parallel_rows(parts, weights):
    """{record: row over all (choice, output)}."""
    found = {}
    for record in itertools.product(*(range(len(rows)) for rows in parts)):
        pieces = [
            [w * p for p in rows[x]] for rows, x, w in zip(parts, record, weights, strict=True)
        ]
        found[record] = [p for piece in pieces for p in piece]
    return found


def subsampled_rows(rows, rate):
    return {x: [*(rate * p for p in row), 1 - rate] for x, row in enumerate(rows)}


def distance(x, y):
    if not isinstance(x, tuple):
        return int(x != y)
    return sum(a != b for a, b in zip(x, y, strict=True))


def worst_delta(rows, n, alpha, most=None):
    """The profile at alpha over ALL datasets of n records, neighbours at distance <= most."""
    records = list(rows)
    unit = math.lcm(*(p.denominator for row in rows.values() for p in row))
    whole = [[int(p * unit) for p in rows[x]] for x in records]
    worst = 0
    for others in itertools.combinations_with_replacement(range(len(records)), n - 1):
        base = histogram_law(whole, others)
        laws = [with_user(base, row) for row in whole]
        for i, j in itertools.permutations(range(len(records)), 2):
            if most is None or distance(records[i], records[j]) <= most:
                worst = max(worst, hockey_stick(laws[i], laws[j], alpha))
    return Fraction(worst, alpha.denominator * unit**n)


def blanket_delta(rows, x0, x1, n, alpha):
    """The blanket bound of one ordered pair of records."""
    floors = [min(column) for column in zip(*rows.values(), strict=True)]
    merged, outside = {}, Fraction(0)
    for floor, p, q in zip(floors, rows[x0], rows[x1], strict=True):
        if floor:
            gain = (p - alpha * q) / floor
            merged[gain] = merged.get(gain, 0) + floor
        else:
            outside += max(p - alpha * q, Fraction(0))
    return positive_part([(w, g) for g, w in merged.items()], n) / n + outside
