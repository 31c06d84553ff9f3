"""Roots: within the stated distance of the true one, in few steps, infinite values or not."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp.propose.roots import bracketed_root


def _counted(function: Callable[[float], float]) -> tuple[Callable[[float], float], list[float]]:
    asked: list[float] = []

    def counting(x: float) -> float:
        asked.append(x)
        return function(x)

    return counting, asked


@given(
    root=st.floats(-50.0, 50.0),
    power=st.sampled_from([1, 3, 9]),
    steep=st.floats(1e-6, 1e6),
    sign=st.sampled_from([-1.0, 1.0]),
    absolute=st.floats(1e-12, 1.0),
    span=st.tuples(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3)),
)
def test_the_root_of_a_power_is_within_the_stated_distance(
    root: float,
    power: int,
    steep: float,
    sign: float,
    absolute: float,
    span: tuple[float, float],
) -> None:
    function, asked = _counted(lambda x: sign * steep * (x - root) ** power)
    low, high = root - span[0], root + span[1]
    found = bracketed_root(function, low, high, absolute=absolute)
    assert abs(found - root) <= absolute + 2.0**-49 * abs(root) + 1e-300
    assert all(low <= x <= high for x in asked)
    # A power of nine is the worst for interpolation; bisection is never far away.
    assert len(asked) <= 4 * math.ceil(math.log2(sum(span) / absolute) + 2) + 4


def test_what_is_smooth_takes_few_steps() -> None:
    function, asked = _counted(lambda x: math.exp(x) - 5.0)
    assert bracketed_root(function, 0.0, 10.0, absolute=1e-12) == pytest.approx(
        math.log(5.0), abs=1e-12
    )
    assert len(asked) <= 15


def test_a_relative_distance_finds_small_roots() -> None:
    found = bracketed_root(lambda x: x * x - 1e-30, 1e-20, 1.0, absolute=0.0, relative=1e-6)
    assert abs(found / 1e-15 - 1.0) <= 1e-6


@pytest.mark.parametrize("far", [math.inf, 1e308])
@pytest.mark.parametrize("swap", [False, True])
def test_infinite_values_are_no_hindrance(far: float, swap: bool) -> None:
    def function(x: float) -> float:
        return -far if x < 1.0 else far if x > 2.0 else x - 1.25

    ends = (3.0, 0.0) if swap else (0.0, 3.0)
    assert abs(bracketed_root(function, *ends, absolute=1e-9) - 1.25) <= 1e-9


def test_a_jump_is_found_where_there_is_no_root() -> None:
    found = bracketed_root(lambda x: -1.0 if x < math.pi else 1e-3, 0.0, 4.0, absolute=1e-10)
    assert abs(found - math.pi) <= 1e-10


@pytest.mark.parametrize("end", [0.0, 1.0])
def test_an_end_may_be_the_root(end: float) -> None:
    assert bracketed_root(lambda x: x - end, 0.0, 1.0, absolute=1e-3) == end


def test_the_same_sign_at_both_ends_is_refused() -> None:
    with pytest.raises(ValueError, match=r"same sign at both ends, 0\.0 and 1\.0"):
        bracketed_root(lambda x: x + 1.0, 0.0, 1.0, absolute=1e-3)


def test_of_a_smooth_function_the_root_is_nearer_than_the_bracket_is_wide() -> None:
    found = bracketed_root(lambda x: math.exp(x) - 5.0, 0.0, 10.0, absolute=1e-2)
    assert abs(found - math.log(5.0)) <= 1e-6
