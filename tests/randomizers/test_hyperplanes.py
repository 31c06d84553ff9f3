"""PI-RAPPOR and projective geometry beyond what all finite mechanisms are tested for."""

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

import shuffledp as sd
from laws import others_of
from randomizers import definitions
from randomizers.checks import (
    rational_exponential,
)
from shuffledp.randomizers import hyperplanes

KINDS = {sd.PIRAPPOR: definitions.affine, sd.ProjectiveGeometry: definitions.projective}
# Fields of two and more elements, all inputs of a space and some, of two and more dimensions.
SMALL = [
    (kind, domain, q)
    for kind in KINDS
    for domain, q in (
        (2, 2),
        (3, 2),
        (4, 2),
        (7, 2),
        (2, 3),
        (4, 3),
        (5, 3),
        (9, 3),
        (6, 5),
        (7, 7),
    )
]
NAMED = [pytest.param(*case, id="-".join([case[0].name, *map(str, case[1:])])) for case in SMALL]
EPS0 = 1.1


def rows_of(kind, domain, q, eps0=EPS0):
    """The whole mechanism, in fractions."""
    return KINDS[kind](domain, q, eps0, rational_exponential)


def hit(rows):
    """Which inputs each output favours."""
    table = np.array([[float(p) for p in row] for row in rows])
    return table > table.min() * (1.0 + 1e-9)


@pytest.mark.many(10)
@pytest.mark.parametrize(("kind", "domain", "q"), NAMED)
def test_all_ordered_pairs_have_one_law_and_every_triple_one_of_those_named(kind, domain, q):
    """Exactly: Theorem 4.2c, and section 5.1 of docs/theory-stealing.md."""
    favoured = hit(rows_of(kind, domain, q))
    inputs, by_all = range(domain), favoured.all(axis=0)

    def law(chosen):
        # Outputs that all favour have ratios one, like those that none of the chosen does.
        return Counter(zip(by_all, *favoured[list(chosen)] & ~by_all, strict=True))

    pairs = [law(pair) for pair in itertools.permutations(inputs, 2)]
    assert all(pair == pairs[0] for pair in pairs)
    made = kind(domain=domain, eps0=EPS0, q=q)
    found = others_of(made.to_dict())
    ((x0, x1),), others = found.pairs, found.inputs
    assert made.worst_pairs().pairs == ((x0, x1),) == ((0, 1),)
    named = [law((x0, x1, x)) for x in others]
    for triple in itertools.product(inputs, repeat=3):
        assert triple[0] == triple[1] or law(triple) in named
    # And each of them is needed: no two are the same.
    assert all(a != b for a, b in itertools.combinations(named, 2))
    assert {x2 for *_, x2 in made.datasets()} == set(others)


@pytest.mark.many(6)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("q", "t"), [(2, 6), (3, 4), (5, 3), (13, 2), (23, 2)])
@pytest.mark.parametrize("table", [800, 1 << 20])
def test_whole_domains_are_decoded_exactly(kind, q, t, table, monkeypatch):
    """By additive characters, against products of each report with each item."""
    monkeypatch.setattr(hyperplanes, "_TABLE", table)
    affine = kind is sd.PIRAPPOR
    made = kind(domain=q**t if affine else (q**t - 1) // (q - 1), eps0=EPS0, q=q)
    assert (made.digits if affine else made.dimension) == t
    rng = np.random.default_rng(q)
    if affine:
        reports = vectors = rng.integers(0, q, (200, t + 1))
    else:
        reports = rng.integers(0, made.outputs, 200)
        vectors = made.vectors(reports)
    normals = np.array(made.normals(range(made.domain)))
    wanted = (vectors @ normals.T % q == 0).sum(axis=0)
    assert made.aggregate(reports).sums.tolist() == wanted.tolist()
    # Alike for items in another order, and where one is asked for alone.
    items = rng.permutation(made.domain)
    assert made.aggregate(reports, items=items).sums.tolist() == wanted[items].tolist()
    assert made.aggregate(reports, items=items[:1]).sums.tolist() == wanted[items[:1]].tolist()


class EveryDraw:
    """In place of a source: all numbers below the limit, in order."""

    def below(self, limit, count):
        assert count == limit
        return np.arange(count)

    def uniform(self, limit, count):
        """Rows of t elements: all of them, for q^t users."""
        t = next(t for t in itertools.count(1) if t * limit**t >= count)
        assert t * limit**t == count
        return np.array(list(itertools.product(range(limit), repeat=t))).ravel()


@pytest.mark.parametrize(("domain", "q"), [(4, 5), (9, 3), (11, 5), (8, 7), (6, 2)])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_drawn_has_the_law_declared(kind, domain, q):
    """All random choices enumerated: the channel is that of the definition, exactly."""
    grow = rational_exponential(EPS0)
    made = kind(domain=domain, eps0=EPS0, q=q)
    outputs, hit, _ = made.sizes
    uniform = outputs / (hit * grow + outputs - hit)
    assert float(uniform) == pytest.approx(float(made.uniform_share), rel=1e-15)
    powers = q ** np.arange(made.word - 1, -1, -1) if made.word else 1

    def numbered(reports):
        return np.dot(reports, powers).tolist() if made.word else reports.tolist()

    # Uniform rows are drawn number by number; points are one number each.
    if made.word is None:
        assert numbered(made._uniform_reports(outputs, EveryDraw())) == list(range(outputs))
    for x, row in enumerate(rows_of(kind, domain, q)):
        drawn = Counter(numbered(made._own_reports(np.full(hit, x), EveryDraw())))
        law = [uniform / outputs + (1 - uniform) * Fraction(drawn[y], hit) for y in range(outputs)]
        assert law == row
