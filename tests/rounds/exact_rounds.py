"""Oracles that share no code with the library: exact curves, balls, full enumeration."""

import itertools
import math
from fractions import Fraction

import flint
import numpy as np

from enumerated import ball, histogram_law

PRECISION = 400


def curve_of_law(law, eps):
    """infinite + sum mass (1 - e^{eps - loss})_+ of the exact floats, as a ball."""
    flint.ctx.prec = PRECISION
    total = ball(law.infinite)
    for loss, mass in zip(law.loss, law.mass, strict=True):
        if loss > eps:
            total += ball(mass) * (1 - (ball(eps) - ball(loss)).exp())
    return total


def composed_delta(parts, eps):
    """delta of independent rounds of loss laws, by enumerating every combination."""
    flint.ctx.prec = PRECISION
    laws = [law for law, count in parts for _ in range(count)]
    whole = ball(1)
    finite = ball(1)
    for law in laws:
        mass = sum((ball(m) for m in law.mass), ball(0))
        finite *= mass
        whole *= mass + ball(law.infinite)
    # Without infinite losses exactly 0: a difference of two balls would hide what is far down.
    total = whole - finite if any(law.infinite > 0.0 for law in laws) else ball(0)
    for index in itertools.product(*(range(law.loss.size) for law in laws)):
        loss = sum((ball(law.loss[i]) for law, i in zip(laws, index, strict=True)), ball(0))
        gap = ball(eps) - loss
        if gap < 0:
            mass = ball(1)
            for law, i in zip(laws, index, strict=True):
                mass *= ball(law.mass[i])
            total += mass * (1 - gap.exp())
    return total


def assert_inside(found, exact):
    """log interval around an exact ball; no tolerance on the wrong side."""
    if found.high == -math.inf:
        assert not exact > 0
        return
    assert not ball(found.high).exp() < exact
    if found.low > -math.inf:
        assert not ball(found.low).exp() > exact


def neighbouring_laws(rows, n):
    """All ordered pairs of output laws of neighbouring datasets."""
    inputs = range(len(rows))
    found = []
    for others in itertools.combinations_with_replacement(inputs, n - 1):
        laws = [histogram_law(rows, (x, *others)) for x in inputs]
        found += [(laws[i], laws[j]) for i in inputs for j in inputs if i != j]
    return found


def atoms(p, q):
    """(P-mass, Q-mass) of every output, equal likelihood ratios merged."""
    merged = {}
    for key in {*p, *q}:
        x, y = p.get(key, Fraction(0)), q.get(key, Fraction(0))
        ratio = None if y == 0 else x / y
        a, b = merged.get(ratio, (Fraction(0), Fraction(0)))
        merged[ratio] = (a + x, b + y)
    return list(merged.values())


def hockey(pairs, a):
    """sum (P - a Q)_+."""
    return sum((max(p - a * q, Fraction(0)) for p, q in pairs), Fraction(0))


def hockey_twice(first, second, a):
    """The same of the product of two pairs."""
    return sum(
        (max(p * r - a * q * s, Fraction(0)) for p, q in first for r, s in second), Fraction(0)
    )


def adaptive_twice(first, choices, a):
    """Worst second round after each output of the first: sum p H_{a q/p}(best choice)."""
    total = Fraction(0)
    for p, q in first:
        if p == 0:
            continue
        total += p * max(hockey(pair, a * q / p) for pair in choices)
    return total


def dyadic_rows(rng, inputs, outputs, *, unit=64):
    """Random rows of dyadic probabilities, exact as floats."""
    rows = []
    for _ in range(inputs):
        cuts = sorted(rng.integers(1, unit, size=outputs - 1).tolist())
        edges = [0, *cuts, unit]
        rows.append([Fraction(b - a, unit) for a, b in itertools.pairwise(edges)])
    return rows


def floats(rows):
    """The rows as floats."""
    return [[float(p) for p in row] for row in rows]


def random_law(rng, size, *, infinite=False, spread=1.5):
    """A LossLaw with arbitrary floats."""
    from shuffledp.rounds import LossLaw

    loss = np.unique(rng.normal(0.1, spread, size))
    mass = rng.random(loss.size) ** 3 + 1e-3
    mass = mass / mass.sum() * (0.9 if infinite else 1.0)
    return LossLaw(loss, mass, 0.1 * float(rng.random()) if infinite else 0.0)
