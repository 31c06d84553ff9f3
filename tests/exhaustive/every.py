"""All data sets of few users in whole numbers: rows of one denominator, laws by convolution."""

import itertools
from fractions import Fraction

from binary import exact


def grown(epsilon):
    """e^eps of a float, to 60 digits, as a fraction."""
    return Fraction(exact.grow(epsilon))


def law(rows, inputs):
    """Histogram -> its probability in units of denominator^(users), of users who hold these."""
    found = {(0,) * len(rows[0]): 1}
    for x in inputs:
        more = {}
        for histogram, mass in found.items():
            for y, weight in enumerate(rows[x]):
                if weight:
                    key = (*histogram[:y], histogram[y] + 1, *histogram[y + 1 :])
                    more[key] = more.get(key, 0) + mass * weight
        found = more
    return found


def divergence(rows, x0, x1, others, epsilon):
    """sum over the histograms of (P - e^eps Q)_+, a fraction."""
    a, first, second = grown(epsilon), law(rows, (*others, x0)), law(rows, (*others, x1))
    top, bottom = a.numerator, a.denominator
    gaps = (mass * bottom - top * second.get(key, 0) for key, mass in first.items())
    return Fraction(sum(gap for gap in gaps if gap > 0), bottom * sum(rows[0]) ** (1 + len(others)))


def largest(rows, n, epsilon):
    """Over all data sets of the others and all ordered pairs of inputs."""
    inputs = range(len(rows))
    return max(
        divergence(rows, x0, x1, others, epsilon)
        for others in itertools.combinations_with_replacement(inputs, n - 1)
        for x0, x1 in itertools.permutations(inputs, 2)
    )


def by_reports(rows, x0, x1, others, epsilon):
    """The same from all vectors of reports, each counted: what the divergence is by definition."""
    masses = [{}, {}]
    for found, x in zip(masses, (x0, x1), strict=True):
        for reports in itertools.product(range(len(rows[0])), repeat=1 + len(others)):
            mass = Fraction(1)
            for y, held in zip(reports, (x, *others), strict=True):
                mass *= Fraction(rows[held][y], sum(rows[held]))
            key = tuple(sorted(reports))
            found[key] = found.get(key, 0) + mass
    a = grown(epsilon)
    return sum(max(mass - a * masses[1][key], 0) for key, mass in masses[0].items())
