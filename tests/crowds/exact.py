"""Small crowds from the definition, in fractions: laws, views, all data sets."""

import itertools
import math
from fractions import Fraction

from enumerated import of_replaced


def row(rng, outputs, *, zeros):
    """A law of exact floats; sometimes with zeros."""
    cuts = sorted(rng.randint(0 if zeros else 1, 64) for _ in range(outputs - 1))
    weights = [b - a for a, b in itertools.pairwise([0, *cuts, 64])]
    if not zeros and min(weights) <= 0:
        return row(rng, outputs, zeros=zeros)
    return [Fraction(w, 64) for w in weights]


def exact(victim, others, epsilon):
    """Of one victim with two laws among others."""
    return of_replaced(*victim, others, Fraction(math.exp(epsilon)))


def datasets(groups):
    """All multisets of inputs in each group, as lists of laws."""
    kinds = [
        itertools.combinations_with_replacement(range(len(rows)), count) for count, rows in groups
    ]
    for held in itertools.product(*kinds):
        yield [groups[k][1][j] for k, inputs in enumerate(held) for j in inputs]


def worst(groups, victim, epsilon):
    """The largest divergence of all data sets and ordered pairs of the victim's group."""
    others = [(count - (k == victim), rows) for k, (count, rows) in enumerate(groups)]
    found = 0
    for data in datasets(others):
        for x0, x1 in itertools.permutations(groups[victim][1], 2):
            found = max(found, exact((x0, x1), data, epsilon))
    return found
