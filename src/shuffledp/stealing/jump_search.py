"""The least eps that is found with a certified log delta of at most a goal, in few bounds.

The bound need be neither continuous nor monotone in eps: it jumps where other free numbers are
proposed. Whatever the search does, what it returns was evaluated and meets the goal.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol, TypeVar

# How near the bound at the returned eps is to the goal, and how far below it is aimed at where one
# is known: half of the former and less, so that a slope known to a tenth does.
_NEAR, _BELOW = 3e-4, 8e-5
# Bounds looked at, and those of them that go on where one eps meets the goal and a smaller one that
# does not is farther away in log eps than this.
_STEPS, _FURTHER, _APART = 4, 4, 2e-4
# The longest step in log eps.
_LONGEST = 0.2
# -d log delta / d log eps between steps, and before there are two: a guess on the steep side.
_SLOPES, _SLOPE = (1.0, 200.0), 15.0


class Certified(Protocol):
    """A certified bound, log delta(epsilon) <= log_delta."""

    @property
    def epsilon(self) -> float:
        """eps in nats."""
        ...

    @property
    def log_delta(self) -> float:
        """log of delta at it."""
        ...


C = TypeVar("C", bound=Certified)
Known = list[tuple[float, float]]  # log eps and how far log delta is above the goal


def least_epsilon(
    bound: Callable[[float], C | None], *, goal: float, start: float, slope: float, cap: float
) -> C | None:
    """The least eps looked at whose bound is at most the goal; None if there is none.

    Parameters
    ----------
    bound : callable
        eps -> its bound, or None where there is none, which ends the search.
    goal : float
        log delta, the target.
    start, slope : float
        About where eps is, and -d log delta / d log eps there.
    cap : float
        Only eps below it are looked at.
    """
    best: C | None = None
    known: Known = []
    point = start
    for step in range(_STEPS + _FURTHER):
        if not point < cap or (step >= _STEPS and not _wide(known)):
            break
        found = bound(point)
        if found is None:
            break
        gap = found.log_delta - goal
        if gap <= 0.0 and (best is None or point < best.epsilon):
            best = found
        if -_NEAR <= gap <= 0.0:
            break
        known.append((math.log(point), gap))
        if len(known) > 1:
            slope = slope_of(known)
        point *= math.exp(_move(known, slope))
    return best


def slope_of(known: Known) -> float:
    """-d log delta / d log eps: of the last two points, or a guess on the steep side."""
    low, high = _SLOPES
    if len(known) < 2:
        return _SLOPE
    (x0, y0), (x1, y1) = known[-2:]
    return min(max((y0 - y1) / (x1 - x0), low), high) if x1 != x0 else _SLOPE


def _around(known: Known) -> tuple[float, float] | None:
    """The largest log eps that misses the goal below the least that meets it, and that one."""
    meets = [x for x, gap in known if gap <= 0.0]
    if not meets:
        return None
    misses = [x for x, gap in known if gap > 0.0 and x < min(meets)]
    return (max(misses), min(meets)) if misses else None


def _wide(known: Known) -> bool:
    around = _around(known)
    return around is not None and around[1] - around[0] > _APART


def _move(known: Known, slope: float) -> float:
    """The step in log eps: by the slope, or to the middle of what is left if it leads outside."""
    x, gap = known[-1]
    step = max(min((gap + _BELOW) / slope, _LONGEST), -_LONGEST)
    around = _around(known)
    if around is None or around[0] < x + step < around[1]:
        return step
    return 0.5 * (around[0] + around[1]) - x
