"""PoissonSubsample: what one report guarantees, and rates as words of 64 bits."""

import math

import numpy as np
import pytest

import shuffledp as sd
from randomizers.sources import Script


def test_what_vanishes_in_a_product():
    """Of two outputs together that no third input gives."""
    one = sd.Channel(matrix=((0.5, 0.5), (1.0, 1e-170)))
    other = sd.Channel(matrix=((0.5, 0.5), (1.0, 1e-154)))
    found = sd.shuffle(sd.Joint((one, other)), n=2).delta(epsilon=709.0)
    assert found.lower <= 0.25 <= found.upper


def test_guarantees_of_one_report():
    part = sd.Gaussian(sigma=1.0)
    sampled = sd.PoissonSubsample(part, rate=0.1)
    assert sampled.eps0 == math.inf
    assert sampled.local_epsilon(1e-7) == pytest.approx(part.local_epsilon(1e-6), rel=1e-12)
    assert sampled.local_epsilon(0.2) == 0.0
    assert sd.PoissonSubsample(sd.BinaryRR(eps0=1.0), rate=0.1).eps0 == 1.0


@pytest.mark.parametrize(("rate", "word"), [(0.25, 1 << 62), (1.0, 1 << 64), (1e-30, 1)])
def test_rates_are_words(rate, word):
    sampled = sd.PoissonSubsample(sd.BinaryRR(eps0=1.0), rate=rate)
    assert float(sampled.shares[0]) == word / 2**64
    # The first words mean no report.
    edge = [2**64 - word, 2**64 - word - 1] if word < 1 << 64 else [0, 2**64 - 1]
    taken = sampled._sample(np.array([0, 0]), Script([*edge, *[2**64 - 1] * 4]))["choice"]
    assert list(taken) == [1, 0 if word < 1 << 64 else 1]
