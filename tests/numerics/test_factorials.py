"""log k!: within what is said of it, and the same however it is asked for."""

from __future__ import annotations

import flint
import numpy as np
import pytest

from shuffledp.numerics.factorials import log_factorials
from shuffledp.pair import UNIT_ROUNDOFF


def _off(values: np.ndarray, counts: list[int]) -> float:
    """The largest error against itself, in units of roundoff, by ball arithmetic."""
    worst = 0.0
    for value, count in zip(values.tolist(), counts, strict=True):
        with flint.ctx.workprec(120):
            exact = flint.arb(count + 1).lgamma()
            if count < 2:
                assert value == 0.0
                continue
            error = abs(flint.arb(value) / exact - 1) / UNIT_ROUNDOFF
            worst = max(worst, float(error.upper()))
    return worst


def test_a_table_of_all_counts_is_within_eight_units():
    counts = list(range(20_000))
    assert _off(log_factorials(np.array(counts)), counts) <= 8.0


@pytest.mark.parametrize("count", [0, 1, 2, 170, 171, 10**6, 10**9, 10**12, 2**53])
def test_a_single_count_is_and_makes_no_table(count):
    assert _off(log_factorials(np.array([count])), [count]) <= 8.0


def test_repeated_counts_in_any_order():
    counts = np.random.default_rng(1).integers(0, 40, 1000)
    alone = [float(log_factorials(counts[i : i + 1])[0]) for i in range(counts.size)]
    assert log_factorials(counts).tolist() == alone


def test_no_counts():
    assert log_factorials(np.zeros(0, dtype=np.int64)).size == 0
