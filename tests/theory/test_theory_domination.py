"""Definition 4.0 and Lemma 4.0, parts 2.2 and 2.3 on bounded supports: exact fractions.

J_{c,t} of a finite triple is piecewise linear: where one is above another for all c, t >= 0 is
checked on the lines and crossings of both, and on a grid besides.
"""

import itertools
import random
from fractions import Fraction

import pytest

import shuffledp as sd
from shuffledp.laws.pairs import blanket_pair
from shuffledp.propose.profile import Profile

F = Fraction


def j(triple, c, t):
    p, q, b = triple
    return sum(max(x - c * y - t * z, F(0)) for x, y, z in zip(p, q, b, strict=True))


def swapped(triple):
    p, q, b = triple
    return q, p, b


def points(*triples):
    """Crossings of all kinks of J in c and t: there linear pieces have corners."""
    lines = {(x, y, z) for t in triples for x, y, z in zip(*t, strict=True)}
    axis = {F(0)} | {x / y for x, y, _ in lines if y} | {x / z for x, _, z in lines if z}
    cs = {F(0), F(1, 7), F(5)} | {x / y for x, y, _ in lines if y}
    found = set(itertools.product(cs, axis | {F(1, 9), F(3)}))
    for (x, y, z), (u, v, w) in itertools.combinations(lines, 2):
        det = y * w - v * z
        if det:
            found.add(((x * w - u * z) / det, (y * u - v * x) / det))
    for c in cs:
        found |= {(c, (x - c * y) / z) for x, y, z in lines if z}
    return [(c, t) for c, t in found if c >= 0 and t >= 0]


def one_way(small, large):
    """J is linear in (c, t) between the kinks' lines: its corners, and rays beyond, decide."""
    at = points(small, large)
    far = [(c + 50, t) for c, t in at] + [(c, t + 50) for c, t in at]
    return all(j(small, c, t) <= j(large, c, t) for c, t in [*at, *far])


def dominated(small, large):
    return one_way(small, large) and one_way(swapped(small), swapped(large))


def bound(triple, n, a):
    """D_{n,a}: the right-hand side of Theorem 3.1."""
    p, q, b = triple
    atoms = [(z, (x - a * y) / z) for x, y, z in zip(p, q, b, strict=True) if z]
    atoms.append((1 - sum(b), F(0)))
    total = F(0)
    for chosen in itertools.product(atoms, repeat=n):
        mass = F(1)
        for w, _ in chosen:
            mass *= w
        total += mass * max(sum(g for _, g in chosen), F(0))
    outside = sum(max(x - a * y, F(0)) for x, y, z in zip(p, q, b, strict=True) if not z)
    return total / n + outside


def law(rng, size, zeros=0.3):
    w = [F(0) if rng.random() < zeros else F(rng.randint(1, 9)) for _ in range(size)]
    w[rng.randrange(size)] += 1
    return tuple(x / sum(w) for x in w)


def triple(rng, size):
    p, q = law(rng, size), law(rng, size)
    share = F(rng.randint(0, 8), 8)
    return p, q, tuple(share * min(x, y) for x, y in zip(p, q, strict=True))


AS = (F(0), F(1, 3), F(1), F(3, 2), F(4))


def merged(t):
    """The first two outputs taken for one: a post-processing."""
    return tuple((x[0] + x[1], *x[2:]) for x in t)


@pytest.mark.parametrize("seed", range(12))
def test_domination_bounds_every_n_and_a(seed):
    """Smaller references that vanish, mergers, and random triples that happen to dominate."""
    rng = random.Random(seed)
    large = triple(rng, 3)
    p, q, b = large
    less = tuple(x * rng.choice([F(0), F(1, 2), F(1)]) for x in b)
    cases = [(large, (p, q, less)), (merged(large), large), (triple(rng, 3), triple(rng, 2))]
    checked = 0
    for small, great in cases:
        if not dominated(small, great):
            continue
        checked += 1
        for a in AS:
            for n in (1, 2, 3):
                assert bound(small, n, a) <= bound(great, n, a)
                assert bound(swapped(small), n, a) <= bound(swapped(great), n, a)
    assert checked >= 2


@pytest.mark.parametrize("seed", range(12))
def test_labels_dominate_what_they_decompose(seed):
    """Lemma 4.0.3, a label with s = 0 among them."""
    rng = random.Random(seed)
    laws = [law(rng, 3) for _ in range(3)]
    w0, w1 = law(rng, 3, 0.0), law(rng, 3, 0.0)
    s = tuple(x * F(rng.randint(0, 2), 4) for x in law(rng, 3, 0.4))
    p, q, b = (
        tuple(sum(w[k] * laws[k][i] for k in range(3)) for i in range(3)) for w in (w0, w1, s)
    )
    assert dominated((p, q, b), (w0, w1, s))
    for a in AS:
        assert bound((p, q, b), 2, a) <= bound((w0, w1, s), 2, a)


@pytest.mark.parametrize("seed", range(10))
def test_products_of_dominating_triples_dominate(seed):
    """Parts 2.2.1 and 2.2.2, references that vanish included."""
    rng = random.Random(100 + seed)
    large = triple(rng, 2)
    p, q, b = large
    great = (p, q, tuple(x * rng.choice([F(0), F(1, 2)]) for x in b))
    other = triple(rng, 2)

    def joint(one):
        return tuple(tuple(x * y for x in u for y in v) for u, v in zip(one, other, strict=True))

    def parallel(one):
        return tuple(
            tuple([x / 3 for x in u] + [y * 2 / 3 for y in v])
            for u, v in zip(one, other, strict=True)
        )

    for make in (joint, parallel):
        assert dominated(make(large), make(great))
        for a in AS[1:]:
            assert bound(make(large), 2, a) <= bound(make(great), 2, a)


def labels(p, beta, q):
    """The label triple of Theorem 5.4."""
    al = beta / (p - 1)
    k0 = 1 - (p + 1) * al
    r = al * p / q
    return (p * al, al, k0), (al, p * al, k0), (r, r, k0 / q)


def test_label_laws_of_a_metric_do_not_dominate_inside_a_report():
    """Parts 2.3: for c < 1/p the law for a larger beta has the smaller J; for c in [1/p, p] not."""
    p = q = F(3)
    small, great = labels(p, F(1, 10), q), labels(p, F(3, 10), q)
    assert not dominated(small, great)
    assert j(small, F(1, 10), F(1, 2)) == F(43, 60) > j(great, F(1, 10), F(1, 2)) == F(41, 60)
    for c, t in points(small, great):
        if 1 / p <= c <= p:
            assert j(small, c, t) <= j(great, c, t)
    for a in (F(1, 3), F(1), F(2), F(3)):
        assert bound(small, 2, a) <= bound(great, 2, a)


def mixed(one, rate):
    """With a message that says nothing."""
    return tuple((*(rate * x for x in u), 1 - rate) for u in one)


@pytest.mark.parametrize(("odds", "whole"), [(F(3, 2), True), (F(9), False)])
def test_two_hyperplanes_dominate_inside_larger_reports(whole, odds):
    """Theory 4.2c in parts 2.1 (1): three inputs, the plane over 3 elements."""
    normals = [(1, 0), (0, 1), (1, 1)]
    messages = [
        v for v in itertools.product(range(3), repeat=2) if whole or v in {*normals, (1, 2)}
    ]

    def row(u):
        found = [odds if (u[0] * v[0] + u[1] * v[1]) % 3 == 0 else F(1) for v in messages]
        return tuple(x / sum(found) for x in found)

    rows = [row(u) for u in normals]
    blanket = tuple(min(column) for column in zip(*rows, strict=True))
    first = (rows[0], rows[1], blanket)
    for x0, x1 in itertools.product(range(3), repeat=2):
        pair = (rows[x0], rows[x1], blanket)
        assert dominated(pair, first)
        assert dominated(mixed(pair, F(1, 5)), mixed(first, F(1, 5)))


@pytest.mark.parametrize("rate", [0.3])
@pytest.mark.parametrize(
    ("part", "inputs"),
    [
        (sd.TruncatedLaplace(eps0=2.0, margin=0.3), (0.0, 0.3, 0.6, 1.0)),
        (sd.PIRAPPOR(domain=4, eps0=1.0), range(4)),
    ],
)
def test_samples_have_the_blanket(part, inputs, rate):
    """Noise 1.2, theory 4.2c with parts 2.4: no other pair is worse; far below the clone."""
    sample = sd.PoissonSubsample(part, rate=rate)
    assert sample.worst_pairs() == part.worst_pairs()
    ((low, high),) = part.worst_pairs().pairs
    for epsilon in (0.1, 0.6):
        ends = Profile(blanket_pair(sample, low, high, n=60)).log_delta(epsilon, width=1e-3)
        for x0, x1 in itertools.product(inputs, repeat=2):
            other = Profile(blanket_pair(sample, x0, x1, n=60)).log_delta(epsilon, width=1e-3)
            assert other.low <= ends.high
    found = sd.shuffle(sample, n=2000).epsilon(delta=1e-6)
    assert found.upper_theorem.key == "blanket"
    generic = sd.shuffle(sample, n=2000).epsilon(delta=1e-6, analysis="stronger-clone").upper
    assert found.upper < 0.7 * generic
