"""The search for eps under the bound with one distinguished gain, on curves that are known."""

import math
from typing import NamedTuple

import pytest

from shuffledp.stealing.jump_search import least_epsilon, slope_of

GOAL = -14.0


class Point(NamedTuple):
    epsilon: float
    log_delta: float


def looked_at(curve, **how):
    """What a search returns, and every eps it looked at."""
    seen = []

    def bound(epsilon):
        seen.append(epsilon)
        value = curve(epsilon)
        return None if value is None else Point(epsilon, value)

    how = {"start": 0.9, "slope": 15.0, "cap": 4.0} | how
    return least_epsilon(bound, goal=GOAL, **how), seen


@pytest.mark.parametrize("slope", [2.0, 15.0, 150.0])
@pytest.mark.parametrize("crossing", [0.8, 0.9, 0.95])
def test_smooth_curves_are_met_in_few_bounds(slope, crossing):
    found, seen = looked_at(lambda e: GOAL - slope * math.log(e / crossing), slope=slope)
    assert 0.0 <= GOAL - found.log_delta <= 3e-4
    assert len(seen) <= 3


@pytest.mark.parametrize("above", [1e-9, 1e-4, 5e-4])
def test_what_misses_by_a_hair_is_not_returned(above):
    """The first eps looked at misses the goal by so much, and the search goes up a little."""
    found, seen = looked_at(lambda e: GOAL - 15.0 * math.log(e / 0.9) + above, start=0.9)
    assert found.log_delta <= GOAL
    assert found.epsilon > seen[0] == 0.9


def test_where_the_curve_jumps_halvings_find_the_place():
    """A fall by 0.05 at 0.9: steps by the slope go back to where the bound is known to miss."""
    found, seen = looked_at(
        lambda e: GOAL - 3.0 * math.log(e / 0.89) - (0.05 if e > 0.9 else -0.05), start=0.893
    )
    assert 0.9 < found.epsilon < 0.9003
    assert len(seen) == len(set(seen)) <= 8


def test_steps_stay_between_what_misses_and_what_meets():
    found, seen = looked_at(lambda e: GOAL + (0.04 if e < 0.87 else -0.04), start=0.88)
    for place, epsilon in enumerate(seen):
        before = seen[:place]
        meets = [e for e in before if e >= 0.87]
        misses = [e for e in before if e < 0.87]
        if meets and misses:
            assert max(misses) < epsilon < min(meets)
    assert found.epsilon == min(e for e in seen if e >= 0.87)


def test_misses_above_what_meets_are_no_bracket():
    """A bound that grows with eps: steps lead up from what misses, down from what meets."""

    def growing(epsilon):
        return GOAL + math.log(epsilon / 0.9)

    found, seen = looked_at(growing, start=0.95)
    assert found is None
    assert seen == sorted(seen)
    assert len(seen) == 4
    found, seen = looked_at(growing, start=0.89)
    assert found == Point(min(seen), growing(min(seen)))
    assert found.log_delta < GOAL
    assert seen == sorted(seen, reverse=True)
    assert len(seen) == 4


def test_the_least_eps_that_meets_it_is_returned_and_none_beyond_the_cap():
    found, seen = looked_at(lambda e: GOAL - 40.0 * math.log(e / 0.9), start=1.0)
    assert found.epsilon == min(e for e in seen if 40.0 * math.log(e / 0.9) >= 0.0)
    assert looked_at(lambda _: GOAL + 1.0)[0] is None
    assert looked_at(lambda _: GOAL - 1.0, start=5.0) == (None, [])
    _, above = looked_at(lambda _: GOAL + 5.0, start=3.9, slope=1.0)
    assert max(above) < 4.0


def test_no_bound_ends_the_search_with_what_is_known():
    found, seen = looked_at(lambda e: GOAL - 0.01 if e > 0.8995 else None)
    assert found == Point(0.9, GOAL - 0.01)
    assert len(seen) == 2


def test_slopes_are_those_of_the_last_two_points_within_reason():
    assert slope_of([(0.0, 1.0)]) == 15.0
    assert slope_of([(9.0, 9.0), (0.0, 1.0), (0.1, 0.0)]) == pytest.approx(10.0)
    assert slope_of([(0.0, 1.0), (0.1, 2.0)]) == 1.0
    assert slope_of([(0.0, 1.0), (1e-9, 0.0)]) == 200.0
    assert slope_of([(0.0, 1.0), (0.0, 0.0)]) == 15.0
