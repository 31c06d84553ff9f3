"""Where a decreasing function crosses its target: both ends are points that were evaluated."""

import math

import pytest

from shuffledp.rounds.solve import crossing

TOP = 8.0


def line(epsilon):
    """log delta of some law: falls from -1 by 3 for each unit of eps, and is -inf from TOP on."""
    return -1.0 - 3.0 * epsilon if epsilon < TOP else -math.inf


def found_by(value, goal, *, start, top=TOP):
    asked = []

    def counted(epsilon):
        asked.append(epsilon)
        return value(epsilon)

    ends = crossing(counted, goal, start=start, top=top, slope=lambda _: 3.0, rtol=1e-6)
    return ends, asked


@pytest.mark.parametrize("start", [1e-3, 0.1, 2.0, 7.9, 100.0])
@pytest.mark.parametrize("goal", [-1.001, -2.0, -7.0, -24.9])
def test_the_crossing_is_between_two_points_that_were_asked(goal, start):
    (below, above), asked = found_by(line, goal, start=start)
    assert below < above <= below * (1 + 2e-6)
    assert {below, above} <= {*asked, TOP}
    assert line(below) > goal >= line(above)


@pytest.mark.parametrize("start", [1e-3, 2.0, 100.0])
def test_nothing_is_left_where_zero_meets_the_target(start):
    ends, asked = found_by(line, -1.0, start=start)
    assert ends == (0.0, 0.0)
    assert 0.0 in asked


@pytest.mark.parametrize("start", [1e-3, 2.0, 100.0])
def test_infinite_where_the_target_is_never_met(start):
    ends, _ = found_by(lambda e: max(line(e), -9.0), -10.0, start=start)
    assert ends == (TOP, math.inf)


@pytest.mark.parametrize("goal", [-0.5, -2.0])
def test_one_point_alone(goal):
    """No loss above 0: eps = 0 meets the target or nothing does."""
    ends, _ = found_by(lambda _: -1.0, goal, start=1.0, top=0.0)
    assert ends == ((0.0, 0.0) if goal == -0.5 else (0.0, math.inf))


def test_a_good_proposal_asks_neither_end_of_the_range():
    """delta at eps = 0 costs more than the crossing itself."""
    _, asked = found_by(line, -7.0, start=2.02)
    assert 0.0 not in asked
    assert TOP not in asked
    assert len(asked) <= 4
