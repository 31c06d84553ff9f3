"""plot(lost=...): eps over the share of users who collude or drop out."""

import pytest

import shuffledp as sd
from shuffledp.curves import left_of
from shuffledp.errors import ParameterError

ACC = sd.shuffle(sd.BinaryRR(eps0=1.0), 60)


def test_left_is_rounded_down_in_decimals():
    assert [left_of(10, share) for share in (0.0, 0.1, 0.11, 0.3, 0.9)] == [10, 9, 8, 7, 1]
    # 0.1 * 30 is above 3 in floats, 0.29 * 100 below 29.
    assert left_of(30, 0.1) == 27
    assert left_of(100, 0.29) == 71
    with pytest.raises(ParameterError, match=r"lost = 0\.95"):
        left_of(10, 0.95)


def test_the_curve_is_of_those_who_are_left():
    setting = sd.shuffle(sd.BinaryRR(eps0=1.0), 60, shuffler=sd.Shuffler(shards=3, dummies=5))
    for acc in (ACC, setting):
        axes = acc.plot(delta=1e-3, lost=[0.5, 0.0], label="votes")
        assert axes.get_xlabel() == "share of the users who collude or drop out"
        line = axes.get_lines()[0]
        assert list(line.get_xdata()) == [0.0, 0.5]
        wanted = [acc.with_n(n).epsilon(delta=1e-3).upper for n in (60, 30)]
        assert list(line.get_ydata()) == wanted


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"lost": [0.1, 0.2]}, "lost: wanted delta too"),
        ({"lost": [0.1], "delta": 0.1}, "2 to 500"),
        ({"lost": [0.1, 1.0], "delta": 0.1}, "lost = 1"),
        ({"lost": [0.1, -0.1], "delta": 0.1}, "lost"),
        ({"lost": [0.1, 0.2], "ns": [10, 20], "delta": 0.1}, "lost: wanted no ns"),
    ],
)
def test_bad_shares_are_named(given, words):
    with pytest.raises(ParameterError, match=words):
        ACC.plot(**given)
