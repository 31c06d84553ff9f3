"""Local hashing as it is run: a three-wise independent family, against the law of all functions."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb

import shuffledp as sd
from enumerated import ball, positive_part
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


@pytest.mark.parametrize(("domain", "l"), FAMILIES)
def test_one_report_hits_the_whole_domain(domain, l):
    """A share l^-m of the reports with any one value, at least the l^(1 - domain) of the law."""
    m = (domain - 1).bit_length()
    assert sum(all(row) for row in hits(domain, l)) == 1
    assert m <= domain - 1


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


@pytest.mark.parametrize(("domain", "l"), [(4, 2), (5, 2), (9, 2), (4, 3), (5, 4)])
@pytest.mark.parametrize("grow", [Fraction(3, 2), Fraction(4), Fraction(20)])
def test_blanket_bound_of_the_law_is_above_that_of_the_family(domain, l, grow):
    """Exact fractions, every n and level tried; equal where the family is all functions."""
    m = (domain - 1).bit_length()
    below = 0
    for n, alpha in itertools.product((1, 2, 3, 4), (Fraction(1), Fraction(11, 10), grow * 9 / 10)):
        family = _blanket_bound(l, grow, Fraction(1, l**m), n, alpha)
        law = _blanket_bound(l, grow, Fraction(1, l ** (domain - 1)), n, alpha)
        assert family <= law
        below += family < law
    assert below > 0 or m == domain - 1


def _blanket_bound(l, grow, share, n, alpha):
    """Masses of (r0, r1) with a share of the reports that hits the whole domain."""
    z = grow + l - 1
    masses = {
        (grow, grow): (Fraction(1, l) - share) / z,
        (grow, 1): Fraction(l - 1, l) / z,
        (1, grow): Fraction(l - 1, l) / z,
        (1, 1): Fraction((l - 1) ** 2, l) / z + grow * share / z,
    }
    atoms = [(w, r0 - alpha * r1) for (r0, r1), w in masses.items() if w]
    return positive_part(atoms, n) / n


@pytest.mark.parametrize(("domain", "l"), [(4, 2), (5, 2), (4, 3), (5, 4)])
def test_those_masses_are_the_family_s(domain, l):
    """The masses used above, from the family's full output distribution and its true blanket."""
    grow, m = Fraction(4), (domain - 1).bit_length()
    z = grow + l - 1
    found = {}
    for row in hits(domain, l):
        floor = Fraction(1, l**m) / z * min(grow if hit else 1 for hit in row)
        ratios = tuple(
            (grow if row[x] else 1) * Fraction(1, l**m) / z / floor for x in (1, domain - 1)
        )
        found[ratios] = found.get(ratios, 0) + floor
    share = Fraction(1, l**m)
    assert found.get((grow, grow), 0) == (Fraction(1, l) - share) / z
    assert found[grow, 1] == found[1, grow] == Fraction(l - 1, l) / z
    assert found[1, 1] == Fraction((l - 1) ** 2, l) / z + grow * share / z


@pytest.mark.parametrize(
    ("domain", "l"), [(2, 2), (300, 3), (1000, 130), (700, 300), (600, 70_000), (513, 2**40)]
)
def test_supports_are_counted_as_defined(domain, l):
    """Across the edges of the tables and of the types; items in any order, some twice, or none."""
    mechanism = sd.LocalHash(domain=domain, l=l, eps0=3.0)
    values = np.arange(9000) % domain
    reports = mechanism.simulate(values, seed=domain)
    m = (domain - 1).bit_length()
    x = np.arange(domain)
    a, z = reports[:, :m].astype(np.int64), reports[:, m].astype(np.int64)
    wanted = np.zeros(domain, dtype=np.int64)
    for start in range(0, len(reports), 500):
        part = slice(start, start + 500)
        hashed = a[part] @ (x[:, None] >> np.arange(m) & 1).T % l
        wanted += (hashed == z[part, None]).sum(axis=0)
    assert np.array_equal(mechanism.aggregate(reports).sums, wanted)
    some = np.array([domain - 1, 0, 1, 0, domain // 2])
    assert np.array_equal(mechanism.aggregate(reports, items=some).sums, wanted[some])
    assert mechanism.aggregate(reports, items=np.zeros(0, dtype=np.int64)).sums.size == 0
    assert not mechanism.aggregate(reports[:0]).sums.any()
