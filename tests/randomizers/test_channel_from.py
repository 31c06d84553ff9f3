"""Channels from an array, and from a matrix printed to a few digits or of counts."""

import numpy as np
import pytest

import shuffledp as sd

ROWS = ((0.75, 0.125, 0.125), (0.25, 0.5, 0.25))


def test_an_array_is_a_matrix():
    made = sd.Channel(matrix=np.array(ROWS))
    assert made == sd.Channel(matrix=ROWS)
    assert made.matrix == ROWS


def test_published_matrices_are_normalized():
    """Rows printed to three digits, and counts; what is kept and shown is the normalized matrix."""
    printed = [[0.333, 0.333, 0.333], [0.25, 0.5, 0.25]]
    made = sd.Channel(matrix=printed, normalize=True)
    assert made.matrix[0] == pytest.approx((1 / 3,) * 3, rel=1e-15)
    assert made.matrix[1] == (0.25, 0.5, 0.25)
    assert made == sd.Channel(matrix=made.matrix) == sd.Channel(**made.parameters())
    assert "normalize" not in repr(made)
    assert sd.Channel(matrix=[[3, 1], [1, 1]], normalize=True).matrix == ((0.75, 0.25), (0.5, 0.5))
    with pytest.raises(sd.ParameterError, match=r"sum of matrix row 0 = 0\.999.*normalize=True"):
        sd.Channel(matrix=printed)
    with pytest.raises(sd.ParameterError, match=r"sum of matrix row 1 = 0\.0: wanted a finite"):
        sd.Channel(matrix=[[1.0, 2.0], [0.0, 0.0]], normalize=True)
    with pytest.raises(sd.ParameterError, match="normalize"):
        sd.Channel(matrix=printed, normalize=1)
