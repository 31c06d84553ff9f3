"""Sampling RAPPOR of sets too large for all their classes: rare counts of set bits are cut off."""

import math

import pytest

import shuffledp as sd
from laws import cut_law, finite_law
from shuffledp.arithmetic.balls import ctx, total
from shuffledp.randomizers import sets

SMALL = {"name": "sampling-rappor", "d": 9, "s": 3, "eps0": 2.0}


@pytest.mark.parametrize("inputs", [(0, 3), (0, 2), (0, 3, 6)])
def test_what_is_kept_is_the_law_and_the_rest_is_counted(monkeypatch, inputs):
    """Sums by the law under the inputs; a blanket that is no larger."""
    with ctx.workprec(120):
        whole = finite_law(SMALL, inputs)
        assert not any(c.beyond for c in cut_law(SMALL, inputs, log_cut=-20.0))
        monkeypatch.setattr(sets, "_MOST_COUNTS", 1)
        for log_cut in (1.0, -40.0):
            *kept, beyond = cut_law(SMALL, inputs, log_cut=log_cut)
            assert beyond.beyond
            for i in range(len(inputs)):
                assert (
                    abs(total(c.probability[i] for c in kept) + beyond.probability[i] - 1) < 1e-30
                )
                assert beyond.probability[i] <= math.exp(log_cut)
            assert log_cut < -30.0 or beyond.probability[0] > 0
            ratios = {float(c.probability[0] / c.probability[1]) for c in kept}
            for ratio in ratios:
                same = [
                    [
                        c
                        for c in law
                        if abs(float(c.probability[0] / c.probability[1]) - ratio) < 1e-9
                    ]
                    for law in (kept, whole)
                ]
                mine, all_ = (total(c.probability[0] for c in law) for law in same)
                assert mine <= all_ + 1e-30
                assert log_cut > -30.0 or abs(mine - all_) < 1e-15
                mine, all_ = (total(c.blanket for c in law) for law in same)
                assert mine <= all_ + 1e-30


@pytest.mark.parametrize(
    ("d", "s", "low", "high"), [(200, 40, 0.0121410, 0.0257127), (1000, 100, 0.0070665, 0.0156516)]
)
def test_large_sets_are_far_below_the_clones(d, s, low, high):
    """The clones have 0.226."""
    bound = sd.shuffle(sd.SamplingRAPPOR(d=d, s=s, eps0=3.0), n=10_000).epsilon(delta=1e-6)
    assert low <= bound.lower <= bound.upper <= high
    assert bound.upper_theorem.key == "blanket"
