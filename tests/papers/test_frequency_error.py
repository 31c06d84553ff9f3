"""The figure of errors at equal privacy: its numbers are those of the library."""

import csv
import math
from pathlib import Path

import pytest

import shuffledp as sd
from papers import frequency_error as figure

TABLE = Path(__file__).resolve().parents[2] / "docs" / "figures" / "frequency_error.csv"


def errors(n):
    """Errors among n users by label, of both panels."""
    with TABLE.open(newline="", encoding="utf-8") as file:
        kept = [r for r in csv.DictReader(file) if r["x"] == f"{n:g}" and "ratio" not in r["panel"]]
    assert len(kept) == 2
    return {label: value for row in kept for label, value in row.items() if value}


@pytest.mark.long
def test_the_table_is_what_the_script_computes():
    written = errors(1000)
    for line, error in (*figure.REFERENCES, *figure.ONE, *figure.SEVERAL):
        assert error(1000) == pytest.approx(float(written.pop(line.label)), rel=1e-3)
    assert set(written) == {"panel", "x"}


def test_the_dummies_are_the_fewest():
    # 1% less than the error that is drawn stands for 2% fewer dummies: they do not do.
    n = 1000
    error = float(errors(n)["pureDUMP"])
    m = error**2 * n / (0.01 * 0.99)
    blankets = math.ceil(m)
    for share, meets in ((1.001, True), (0.98, False)):
        rated = sd.PureDUMP(d=100, blankets=blankets, rate=share * m / blankets)
        bound = sd.shuffle(rated, n=n).delta(epsilon=1.0)
        assert (bound.upper <= 1e-8) is meets
        assert (bound.lower > 1e-8) is not meets
