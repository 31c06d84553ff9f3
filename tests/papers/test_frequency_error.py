"""The figure of errors at equal privacy: its numbers are those of the library."""

import csv
import math
from pathlib import Path

import pytest

import shuffledp as sd
from papers import frequency_error as figure

TABLE = Path(__file__).resolve().parents[2] / "docs" / "figures" / "frequency_error.csv"


def column(n):
    with TABLE.open(newline="", encoding="utf-8") as file:
        return {row["mechanism"]: row[f"n = {n}"] for row in csv.DictReader(file)}


@pytest.mark.long
def test_the_table_is_what_the_script_computes():
    written = column(1000)
    for curve in (*figure.REFERENCES, *figure.SINGLE, *figure.MULTI):
        assert curve.error(1000) == pytest.approx(float(written.pop(curve.label)), rel=1e-3)
        for name, error in curve.along:
            assert error(1000) == pytest.approx(float(written.pop(name)), rel=1e-3)
    assert not written


def test_the_dummies_are_the_fewest():
    # 1% less than the error that is drawn stands for 2% fewer dummies: they do not do.
    n = 1000
    error = float(column(n)["pureDUMP"])
    m = error**2 * n / (0.01 * 0.99)
    protocol = sd.PureDUMP(d=100, blankets=math.ceil(m))
    for share, meets in ((1.001, True), (0.98, False)):
        rated = sd.PureDUMP(d=100, blankets=protocol.blankets, rate=share * m / protocol.blankets)
        bound = sd.shuffle(rated, n=n).delta(epsilon=1.0)
        assert (bound.upper <= 1e-8) is meets
        assert (bound.lower > 1e-8) is not meets
