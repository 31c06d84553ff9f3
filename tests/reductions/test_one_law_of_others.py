"""All other messages of one law: numbers that are not enough, and four classes that are."""

import math
import random
from itertools import combinations_with_replacement

import pytest
from flint import arb

import shuffledp as sd
from enumerated import (
    of_replaced,
    positive_part,
)
from reductions.exact_pairs import F, published_atoms
from shuffledp.laws.sources import ratio_of

# ------------------------------------------------ all other messages of one law: what is needed

FOUND = ([4, 1, 5], [1, 4, 5], [4, 4, 2])


def both_ways(rows, n, a):
    """The larger divergence of the first two laws, all others having the third."""
    zero, one, *_ = rows
    others = [rows[2]] * (n - 1)
    return max(of_replaced(zero, one, others, a), of_replaced(one, zero, others, a))


@pytest.mark.parametrize(("n", "true", "published"), [(2, F(4, 100), 0.016), (5, None, 0.000524)])
def test_proportional_outside_two_sets_is_not_enough(n, true, published):
    """R0, R1 proportional to the others' law off two sets, on which R0 : R1 is 4 and 1/4."""
    rows = [[F(v, 10) for v in row] for row in FOUND]
    truth = both_ways(rows, n, F(3))
    assert true in (None, truth)
    assert float(truth) == pytest.approx(0.04 if n == 2 else 0.00256, rel=1e-12)
    atoms = published_atoms(F(4), F(3, 10), F(5, 2), F(3))
    assert float(positive_part(atoms, n) / n) == pytest.approx(published, rel=1e-3)
    acc = sd.variation_ratio(p=4.0, beta=0.3, q=2.5, n=n)
    low = math.log(3.0) * (1 - 1e-15)
    for analysis in (None, "repaired-variation-ratio"):
        assert F(acc.delta(epsilon=low, analysis=analysis).upper) >= truth
    with pytest.raises(sd.NotCertified, match="too small"):
        acc.delta(epsilon=low, analysis="variation-ratio")


def test_random_channels_with_one_law_of_the_others():
    """Equal where Remark 5.10 says so; elsewhere never above the front door's upper end."""
    rng = random.Random(510)
    smaller = 0
    for _ in range(60):
        p, q, n = F(rng.randint(5, 20), 4), F(rng.randint(5, 16), 4), rng.randint(2, 5)
        top = min(F(p - 1, 1) / (p + 1), q - 1, q * (p - 1) / (2 * p))
        beta = top * F(rng.randint(1, 15), 16)
        al = beta / (p - 1)
        r, k0 = al * p / q, 1 - (p + 1) * al
        rows = [[p * al, al, k0], [al, p * al, k0], [r, r, 1 - 2 * r]]
        a = 1 + (p - 1) * F(rng.randint(0, 15), 16)
        truth = both_ways(rows, n, a)
        published = positive_part(published_atoms(p, beta, q, a), n) / n
        assert published == truth
        # Any other law of the others with the same p, beta and q, the victim's two as they are.
        other = _law_above([max(x, y) / q for x, y in zip(*rows[:2], strict=True)], rng)
        truth = both_ways([*rows[:2], other], n, a)
        smaller += published < truth
        acc = sd.variation_ratio(p=float(p), beta=math.nextafter(float(beta), 1.0), q=float(q), n=n)
        assert F(acc.delta(epsilon=math.log(a) * (1 - 1e-15)).upper) >= truth
    assert smaller > 5


def _law_above(least, rng):
    """A law on the same outputs that is nowhere below these masses."""
    rest = 1 - sum(least)
    shares = [F(rng.randint(0, 8)) for _ in least[:-1]] + [F(1)]
    return [v + rest * s / sum(shares) for v, s in zip(least, shares, strict=True)]


def test_the_local_guarantee_caps_p_and_q():
    for randomizer in (sd.KRR(k=7, eps0=3.0), sd.BinaryRR(eps0=3.0), sd.Laplace(eps0=3.0)):
        ((ratio, _),) = ratio_of(randomizer)
        for number in (ratio.p, ratio.q):
            assert arb(3).exp() <= arb(number)
            assert number <= math.exp(3.0) * (1 + 20 * 2.0**-53)


# ------------------------------------------------------------------------------ four classes


def four_classes(rows):
    """p, c and the largest s of the first two rows, by definition, in fractions."""
    r0, r1 = rows[:2]
    b = sum(max(x - y, F(0)) for x, y in zip(r0, r1, strict=True))
    p = max(max(x / y, y / x) for x, y in zip(r0, r1, strict=True))
    c = b / (p - 1)
    clones = [c * abs(x - y) / b for x, y in zip(r0, r1, strict=True)]
    least = [min(column) for column in zip(*rows, strict=True)]
    # Clones may be too many for the blanket: fewer of them leave more in the third class.
    c *= min([F(1), *(x / y for x, y in zip(least, clones, strict=True) if y)])
    clones = [c * abs(x - y) / b for x, y in zip(r0, r1, strict=True)]
    own = [x - (p if x > y else 1) * z for x, y, z in zip(r0, r1, clones, strict=True)]
    k0 = sum(own)
    assert all(x >= 0 for x in own)
    rest = min((x - z) * k0 / y for x, y, z in zip(least, own, clones, strict=True) if y)
    return p, c, k0, rest


def test_four_classes_bound_every_data_set_of_random_channels():
    rng = random.Random(14)
    tried = 0
    for _ in range(300):
        whole = [[rng.randint(1, 12) for _ in range(3)] for _ in range(3)]
        rows = [[F(x, sum(row)) for x in row] for row in whole]
        if rows[0] == rows[1]:
            continue
        p, c, k0, rest = four_classes(rows)
        # Only where c = b/(p - 1), or the identities of the victim's laws do not hold.
        full = sum(max(x - y, F(0)) for x, y in zip(*rows[:2], strict=True)) / (p - 1)
        if c != full or rest <= 0:
            continue
        tried += 1
        n, a = rng.choice((2, 3)), 1 + (p - 1) * F(rng.randint(0, 9), 10)
        atoms = [(c, p - a), (c, 1 - a * p), (rest, k0 * (1 - a) / rest)]
        said = positive_part(atoms, n) / n
        pairs = ([rows[0], rows[1], *rows[2:]], [rows[1], rows[0], *rows[2:]])
        for x0, x1, *others in pairs:
            for held in combinations_with_replacement([x0, x1, *others], n - 1):
                assert of_replaced(x0, x1, held, a) <= said
    assert tried > 20
