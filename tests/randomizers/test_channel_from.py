"""Channels from a file, an array or a function; Laplace noise by its scale."""

import numpy as np
import pytest

import shuffledp as sd

ROWS = ((0.75, 0.125, 0.125), (0.25, 0.5, 0.25))


def test_file_array_and_function_make_the_same_channel(tmp_path):
    path = tmp_path / "channel.csv"
    path.write_text("0.75, 0.125,0.125\n\n2.5e-1,0.5,.25\n", encoding="utf-8-sig")
    made = [
        sd.Channel.from_csv(path),
        sd.Channel.from_csv(str(path)),
        sd.Channel(matrix=np.array(ROWS)),
        sd.Channel.from_function(
            lambda x, y: dict(zip("uvw", ROWS["ab".index(x)], strict=True))[y],
            inputs=iter("ab"),
            outputs=iter("uvw"),
        ),
    ]
    assert all(channel == sd.Channel(matrix=ROWS) for channel in made)
    assert made[0].matrix == ROWS


def test_published_matrices_are_normalized(tmp_path):
    """Rows printed to three digits, and counts; what is kept and shown is the normalized matrix."""
    printed = [[0.333, 0.333, 0.333], [0.25, 0.5, 0.25]]
    made = sd.Channel(matrix=printed, normalize=True)
    assert made.matrix[0] == pytest.approx((1 / 3,) * 3, rel=1e-15)
    assert made.matrix[1] == (0.25, 0.5, 0.25)
    assert made == sd.Channel(matrix=made.matrix) == sd.Channel(**made.parameters())
    assert "normalize" not in repr(made)
    assert sd.Channel(matrix=[[3, 1], [1, 1]], normalize=True).matrix == ((0.75, 0.25), (0.5, 0.5))
    path = tmp_path / "printed.csv"
    path.write_text("0.333,0.333,0.333\n0.25,0.5,0.25\n", encoding="utf-8")
    assert sd.Channel.from_csv(path, normalize=True) == made
    with pytest.raises(sd.ParameterError, match=r"sum of matrix row 0 = 0\.999.*normalize=True"):
        sd.Channel.from_csv(path)
    with pytest.raises(sd.ParameterError, match=r"sum of matrix row 1 = 0\.0: wanted a finite"):
        sd.Channel(matrix=[[1.0, 2.0], [0.0, 0.0]], normalize=True)
    with pytest.raises(sd.ParameterError, match="normalize"):
        sd.Channel(matrix=printed, normalize=1)
