"""All other messages of one law: four classes bound every data set."""

import math
import random
from itertools import combinations_with_replacement

from flint import arb

import shuffledp as sd
from enumerated import (
    of_replaced,
    positive_part,
)
from reductions.exact_pairs import F
from shuffledp.laws.sources import ratio_of

# ------------------------------------------------ all other messages of one law: what is needed


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
