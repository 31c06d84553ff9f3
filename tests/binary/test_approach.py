"""Both ends by a few searches: what is returned was certified, whatever the secants propose."""

import math

import pytest

from shuffledp.binary.approach import both_ends
from shuffledp.binary.places import Point

STEEP, TARGET = 20.0, -10.0


class Line:
    """log delta = -20 eps, its upper end off by ``loose``, the data set's value by ``drop``."""

    def __init__(self, loose, drop):
        self.loose, self.drop = loose, drop

    def alike(self, epsilon):
        return -STEEP * epsilon

    def point(self, epsilon, *, rtol):
        value = -STEEP * epsilon
        return Point(epsilon, value - self.drop, value + self.loose, 0, 1, ((0, 9),))

    def held(self, seen):
        def value(epsilon):
            # A step right before the crossing, as rounding has them.
            return -STEEP * epsilon - (self.drop if epsilon > 0.5 - 3e-10 else 0.0)

        return value

    def width(self, epsilon, rtol):
        return 0.25 * rtol * STEEP * epsilon

    def slope(self, epsilon, cap):
        return STEEP * epsilon


@pytest.mark.parametrize("loose", [0.0, 1e-7, 2.9e-6, 3.3e-6, 1e-5, 1e-3])
@pytest.mark.parametrize("drop", [0.0, 1e-9, 8e-9])
@pytest.mark.parametrize("cap", [math.inf, 2.0])
def test_ends_are_where_they_were_certified(loose, drop, cap):
    curve = Line(loose, drop)
    ends = both_ends(curve, TARGET, start=0.3, rtol=1e-6, cap=cap)
    assert ends.upper.point.epsilon == ends.upper.epsilon
    assert ends.upper.point.log_high < TARGET
    assert curve.held(None)(ends.lower.epsilon) > TARGET
    assert ends.lower.epsilon < 0.5 < ends.upper.epsilon
    # And near: as far apart as widths and rounding are.
    assert ends.upper.epsilon - ends.lower.epsilon < 1e-6 + 3.0 * (loose + drop) / STEEP


def test_without_a_certain_end_there_is_none():
    assert both_ends(Line(1e3, 0.0), TARGET, start=0.3, rtol=1e-6, cap=2.0) is None
    assert both_ends(Line(0.0, 1e-3), TARGET, start=0.3, rtol=1e-6, cap=0.4) is None


@pytest.mark.parametrize("drop", [1e-8, 3e-8, 1e-7, 1e-6])
@pytest.mark.parametrize("cap", [math.inf, 2.0])
def test_a_lower_end_is_certain_or_not_given(drop, cap):
    """Secants end at the step, on either side of it."""
    curve = Line(0.0, drop)
    ends = both_ends(curve, TARGET, start=0.3, rtol=1e-6, cap=cap)
    assert ends is None or curve.held(None)(ends.lower.epsilon) > TARGET
