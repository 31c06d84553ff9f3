"""Covers of noise on an interval that are refused, and claims."""

from __future__ import annotations

import math

import pytest

import shuffledp as sd
from shuffledp.arithmetic.balls import more_bits
from shuffledp.bounds.covers import Cover, Row
from shuffledp.bounds.interval import log_delta_on_interval
from shuffledp.bounds.stealing import Numbers
from shuffledp.errors import NotCertified
from shuffledp.propose.interval_ends import IntervalStealing
from stealing.interval_noise import (
    GOOD,
    outputs,
)


@pytest.mark.parametrize(
    "bad",
    [
        GOOD._replace(edges=GOOD.edges[::-1]),
        GOOD._replace(edges=(-0.9, *GOOD.edges[30:]), boxes=(-0.9, 5.0, GOOD.edges[-1])),
        GOOD._replace(edges=(*GOOD.edges[:30], 1.9), boxes=(GOOD.edges[0], 1.9)),
        GOOD._replace(boxes=GOOD.boxes[1:]),
        GOOD._replace(boxes=GOOD.boxes[:-1]),
        GOOD._replace(first=Row((0.0, 0.5), (0.5,))),
        GOOD._replace(second=Row((0.1, 1.0), (0.5,))),
        GOOD._replace(first=Row((0.0, 0.6, 0.5, 1.0), (0.5, 0.5, 0.5))),
        GOOD._replace(first=Row((0.0, 1.0), (0.0,))),
        GOOD._replace(second=Row((0.0, 1.0), (1.0,))),
        GOOD._replace(second=Row((0.0, 0.5, 1.0), (0.5,))),
        GOOD._replace(third=(0.0, 0.4)),
        GOOD._replace(middle=-0.1),
        GOOD._replace(middle=math.nan),
        GOOD._replace(third=(0.1, 0.5)),
        GOOD._replace(pool=tuple(y for y in GOOD.pool if y != 0.5)),
        GOOD._replace(pool=tuple(y for y in GOOD.pool if y < 0.9)),
        GOOD._replace(pool=tuple(y for y in GOOD.pool if y > 0.1)),
        # Without grids only the inputs 0 and 1 are looked at.
        GOOD._replace(third=()),
    ],
)
def test_covers_that_do_not_reach_are_refused(bad: Cover) -> None:
    numbers = Numbers((0.2,), (0.2,), 1.0, 0.3, 0.3)
    with pytest.raises(NotCertified):
        log_delta_on_interval(outputs(1.0, normal=True), bad, numbers, 3, 0.3, two_inputs=False)


@pytest.mark.parametrize(
    ("mechanism", "n"),
    [
        (sd.Laplace(eps0=4.0), 10_000),
        (sd.Gaussian(sigma=3.0, low=-1.0, high=2.0), 1_000_000),
    ],
    ids=["laplace", "gaussian"],
)
def test_an_end_holds_with_more_bits(mechanism: sd.Laplace | sd.Gaussian, n: int) -> None:
    target = math.log(1e-6)
    end = IntervalStealing(mechanism, n).epsilon(target, cap=4.0)
    assert end is not None
    with more_bits(64):
        again = IntervalStealing(mechanism, n).epsilon(target, cap=4.0)
    assert again is not None
    assert again.epsilon == pytest.approx(end.epsilon, rel=1e-4)
