"""Channels: outcomes by the words that are drawn, and matrices without an estimator."""

from fractions import Fraction

import pytest

import shuffledp as sd
from randomizers.sources import Script
from shuffledp.randomness import Choice


def test_outcomes_by_words():
    """Edges at 1/4 and 1/2 + 2^-70: words below, at and above them, further digits at a tie."""
    law = Choice([2**78, 2**78 + 2**10, 2**79 - 2**10])
    assert law.edges == [Fraction(1, 4), Fraction(1, 2) + Fraction(1, 2**70)]
    quarter, half = 2**62, 2**63
    for words, wanted in (
        ([0], 0),
        ([quarter - 1], 0),
        ([quarter], 1),
        ([half - 1], 1),
        ([half, 0], 1),
        ([half, 2**58 - 1], 1),
        ([half, 2**58], 2),
        ([half + 1], 2),
        ([2**64 - 1], 2),
    ):
        source = Script(words)
        assert source.choose(law, 1).tolist() == [wanted]
        assert not source.left


def test_what_cannot_happen_does_not():
    law = Choice([0, 5, 0, 0])
    for word in (0, 1, 2**63, 2**64 - 1):
        assert Script([word, *[2**64 - 1] * 19]).choose(law, 1).tolist() == [1]
    assert Script([7]).choose(Choice([3]), 1).tolist() == [0]


@pytest.mark.parametrize(
    "matrix",
    [
        [[0.5, 0.5], [0.5, 0.5]],
        [[0.5, 0.5], [0.3, 0.7], [0.9, 0.1]],
        [[0.5, 0.3, 0.2], [0.3, 0.5, 0.2], [0.4, 0.4, 0.2]],
        [[0.5, 0.5], [0.5 + 1e-9, 0.5 - 1e-9]],
        [[1.0], [1.0]],
    ],
)
def test_no_estimator_where_rows_are_dependent(matrix):
    channel = sd.Channel(matrix=matrix)
    reports = channel.simulate([0, 1, 0], seed=1)
    for call in (lambda: channel.estimate(reports), channel.variance):
        with pytest.raises(sd.NotCertified, match="linearly dependent"):
            call()
