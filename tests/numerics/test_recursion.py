"""Sums with geometric weights against exact fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shuffledp.numerics.recursion import geometric_sums

_U = Fraction(1, 2**53)


@given(
    terms=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=30),
    ratio=st.floats(0.0, 1.0),
)
def test_the_sums_are_within_their_rounding(terms: list[float], ratio: float) -> None:
    found = geometric_sums(np.array(terms), ratio)
    exact = Fraction(0)
    for k, term in enumerate(terms):
        exact = Fraction(term) + Fraction(ratio) * exact
        room = 2 * (k + 1) * _U * exact * Fraction(101, 100) + (k + 1) * Fraction(2) ** -1074
        assert abs(Fraction(float(found[k])) - exact) <= room
