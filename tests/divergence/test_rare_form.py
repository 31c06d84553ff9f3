"""The rare form, M^n - M_-^n, where M_-^n is next to nothing beside M^n: it must not saturate."""

import math

import pytest

import shuffledp as sd
from shuffledp.divergence.gain import atom_gains
from shuffledp.divergence.positive_part import expected_positive_part
from shuffledp.divergence.tilt import find_tilt, tilted_law
from shuffledp.reductions import blanket_pair


@pytest.mark.parametrize("n", [10**6, 2 * 10**6, 4 * 10**6, 10**7])
@pytest.mark.parametrize("eps0", [6.0, 8.0])
def test_both_forms_agree(eps0, n):
    pair = blanket_pair(sd.KRR(k=3, eps0=eps0), 0, 1, n=n)
    law = atom_gains(pair, 5.0 * math.exp(0.5 * eps0) / math.sqrt(n))
    plain, rare = (find_tilt(law, n, allow_rare=forced, force_rare=forced) for forced in (0, 1))
    assert rare.rare
    assert not plain.rare
    one, other = (expected_positive_part(law, n, tilt, width=1e-4)[0] for tilt in (plain, rare))
    assert max(one.low, other.low) <= min(one.high, other.high)
    assert one.width <= 1e-4


def test_some_of_them_are_beyond_e200():
    pair = blanket_pair(sd.KRR(k=3, eps0=8.0), 0, 1, n=10**7)
    law = atom_gains(pair, 5.0 * math.exp(4.0) / math.sqrt(1e7))
    tilt = find_tilt(law, 10**7, force_rare=True)
    assert tilted_law(law, 10**7, tilt.alpha).log_ratio > 200.0
