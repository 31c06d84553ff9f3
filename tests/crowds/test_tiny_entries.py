"""Crowds of channels with entries next to the last floats: none is taken for 0."""

from fractions import Fraction

import pytest

import shuffledp as sd
from crowds.test_crowd import worst

BIT = ((Fraction(3, 4), Fraction(1, 4)), (Fraction(1, 4), Fraction(3, 4)))


@pytest.mark.parametrize("columns", [2, 3])
@pytest.mark.parametrize("entry", [1e-300, 1e-307, 1e-308, 1e-312, 5e-324])
@pytest.mark.parametrize("flipped", [False, True])
def test_what_only_a_tiny_entry_shows(entry, columns, flipped):
    """The quotient of a row's entries is no float, where they are: delta(40) was 0."""
    more = (0.0,) * (columns - 2)
    tiny = ((0.0, 1.0), (entry, 1.0))
    order = slice(None, None, -1) if flipped else slice(None)
    rows = [tuple(map(Fraction, row[order])) for row in tiny]
    groups = [(2, rows), (2, BIT)]
    asked = sd.crowd(
        [
            (sd.Channel(matrix=[(*row[order], *more) for row in tiny]), 2),
            (sd.Channel(matrix=[(*map(float, row), *more) for row in BIT]), 2),
        ]
    )
    for epsilon in (1, 40):
        truth = worst(groups, 0, epsilon)
        assert truth > 0
        found = asked.of(0).delta(epsilon=float(epsilon))
        assert found.lower <= truth <= found.upper
        assert asked.delta(epsilon=float(epsilon)).upper >= truth
    assert asked.of(0).epsilon(delta=entry / 10 or 5e-324).upper > 10.0


def test_bits_beside_a_channel_of_bits():
    tiny = sd.Channel(matrix=((0.0, 1.0), (1e-312, 1.0)))
    asked = sd.crowd([(tiny, 2), (sd.BinaryRR(eps0=1.0), 3)])
    assert asked.of(0).delta(epsilon=40.0).upper >= 1e-312
    assert asked.delta(epsilon=40.0).upper >= 1e-312


def test_steps_whose_tilt_is_beyond_the_floats():
    groups = [
        (sd.Channel(matrix=[[1.0, 0.0], [1.0, 2.129446356159104e-285]]), 2),
        (sd.Channel(matrix=[[1.0, 9.8e-314], [0.9999999999999998, 1.4459687933867337e-16]]), 1),
    ]
    found = sd.crowd(groups, victim=0).delta(epsilon=276.0)
    assert 0.0 <= found.lower <= found.upper <= 1.0
