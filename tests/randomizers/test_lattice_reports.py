"""What samplers of real-valued reports run: whole numbers on a public lattice."""

from fractions import Fraction

import pytest
from flint import arb, ctx

import shuffledp as sd
from enumerated import exponential, worst_delta
from shuffledp.randomizers import two_levels


def half_grown(eps0):
    """e^(eps0/2) to 400 bits."""
    with ctx.workprec(400):
        mantissa, exponent = (arb(eps0) / 2).exp().mid().man_exp()
    return int(mantissa) * Fraction(2) ** int(exponent)


def coarse(monkeypatch, bits=1):
    monkeypatch.setattr(two_levels, "_FINEST", bits)


def run_row(eps0, s):
    """P(cell) of what is run for a value on the lattice, g = 1/w to 36 digits."""
    steps, favoured = two_levels.lattice(eps0)
    g = 1 / Fraction(half_grown(eps0)).limit_denominator(10**40)
    row = [g / (steps + favoured)] * (steps + favoured)
    for j in range(s, s + favoured):
        row[j] += (1 - g) / favoured
    return row


@pytest.mark.many(3)
@pytest.mark.parametrize("eps0", [0.5, 2.0])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_bounds_of_the_stated_law_hold_for_what_is_run(monkeypatch, eps0, n):
    coarse(monkeypatch)
    steps, _ = two_levels.lattice(eps0)
    rows = [run_row(eps0, s) for s in (range(steps + 1) if n < 3 else (0, steps))]
    account = sd.shuffle(sd.Piecewise(eps0=eps0), n=n)
    for epsilon in (0.2 * eps0, 0.6 * eps0):
        low, high = exponential(epsilon)
        least, _ = worst_delta(rows, n, [high, low])
        assert least <= Fraction(account.delta(epsilon=epsilon).upper) * (1 + Fraction(1, 10**12))
