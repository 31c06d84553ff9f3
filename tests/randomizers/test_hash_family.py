"""Local hashing as it is run: a three-wise independent family, against the law of all functions."""

import itertools
import math
from fractions import Fraction

import pytest
from flint import arb

import shuffledp as sd
from enumerated import ball
from laws import law_of
from randomizers import definitions

FAMILIES = [(2, 2), (3, 2), (4, 2), (5, 2), (9, 2), (3, 3), (4, 3), (5, 4), (7, 6), (4, 9)]


def hits(domain, l):
    """Which inputs each report (a, z) hits: the definition, by binary digits."""
    m = (domain - 1).bit_length()
    for *a, z in itertools.product(range(l), repeat=m + 1):
        yield tuple(sum(a[j] for j in range(m) if x >> j & 1) % l == z for x in range(domain))


@pytest.mark.parametrize(("domain", "l"), FAMILIES)
def test_any_three_inputs_are_hit_independently(domain, l):
    rows = list(hits(domain, l))
    for inputs in itertools.combinations(range(domain), min(domain, 3)):
        for pattern in itertools.product((False, True), repeat=len(inputs)):
            count = sum(tuple(row[x] for x in inputs) == pattern for row in rows)
            share = math.prod(Fraction(1, l) if bit else Fraction(l - 1, l) for bit in pattern)
            assert Fraction(count, len(rows)) == share


@pytest.mark.parametrize("eps0", [0.05, 3.3])
@pytest.mark.parametrize(("domain", "l"), FAMILIES[2::3])
def test_masses_are_those_of_the_law(domain, l, eps0):
    """Joint law of up to three inputs, blanket aside, within the error the law states."""
    rows = definitions.hash_family(domain, l, eps0)
    randomizer = sd.LocalHash(domain=domain, l=l, eps0=eps0)
    choices = [*itertools.permutations(range(domain), 2), *itertools.permutations(range(domain), 3)]
    for inputs in choices[:: max(1, len(choices) // 20)]:
        law = law_of(randomizer, inputs)
        truth = {}
        for column in zip(*(rows[x] for x in inputs), strict=True):
            key = tuple(round(float((p / column[0]).log()), 6) for p in column)
            truth[key] = [a + b for a, b in zip(truth.get(key, [arb(0)] * 3), column, strict=False)]
        found = {}
        for mass in law.mass.T:
            key = tuple(round(math.log(p / mass[0]), 6) for p in mass)
            found[key] = found.get(key, 0.0) + mass
        assert found.keys() == truth.keys()
        for key, mass in found.items():
            for value, exact in zip(mass, truth[key], strict=True):
                assert abs(ball(value) - exact) <= (law.rel + 2.0**-50) * exact
