"""Search for the last value on a scale that meets a target, and the first beyond it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from shuffledp.calibration.target import Target

Upper = Callable[[float], float]

_FIRST = 1.0
# Chords in a row that leave more than half of the bracket.
_PATIENCE = 2
_STEPS = 200
# Steps of the search before there are two sides: the first one from a proposal is short, and never
# longer than the bracket in which a chord says where the target is.
_STRIDE, _NEAR, _WIDE = 3.0, 1.1, 1.5
# With a known slope: so much of what it says, that the other side is reached.
_PAST = 1.04
# How far beside the chord's crossing to look: a share of the bracket, and less of narrow ones.
_ASIDE, _BENT = 0.02, 0.25


def search(
    log_upper: Upper,
    target: Target,
    known: dict[float, float],
    start: float | None,
    bad: float | None,
    private: float,
    open_end: float,
    *,
    near: bool,
    slope: float = 0.0,
    apart: float | None = None,
) -> tuple[float | None, float | None]:
    """A value that meets the target and the next one, which does not; None where there is none.

    Parameters
    ----------
    log_upper, target, known
        What is searched, what is to be met, and all that ``log_upper`` has evaluated.
    start, bad : float or None
        Where to begin; a value that is said not to meet the target.
    private, open_end : float
        Ends of the range.
    near : bool
        Whether the start is nearly right.
    slope : float
        About how fast sqrt(-log delta) changes with log value; 0 where that is not known.
    apart : float, optional
        How near to each other the two are to be, relatively; ``target.rtol`` by default.
    """
    good = first_good(log_upper, target, start, private, open_end, near=near, slope=slope)
    if good is None:
        return None, bad
    # The last value before the good one, if the way to it began on the other side.
    bad = next((v for v in reversed(known) if not target.met(known[v])), bad)

    def nearness(upper: float) -> float:
        return _nearness(target, upper, slope)

    bad = _first_bad(log_upper, target, good, bad, open_end, nearness if near else None)
    if bad is None:
        return open_end, None
    rtol = target.rtol if apart is None else apart
    return _narrow(log_upper, target, _last_good(known, target, bad), bad, rtol)


class Chord(NamedTuple):
    """Where the chord between two evaluated values meets the target, and its slope.

    The slope is how fast sqrt(-log delta) changes with log value.
    """

    value: float
    slope: float


def chord_of(
    known: dict[float, float], target: Target, good: float, bad: float | None
) -> Chord | None:
    """The chord between a value that meets the target and one that does not, if it rises."""
    if bad is None or not all(-math.inf < known[v] < 0.0 for v in (good, bad)):
        return None
    high, low = math.sqrt(-known[good]), math.sqrt(-known[bad])
    if not low < high:
        return None
    share = min(max((high - math.sqrt(-target.log_delta)) / (high - low), 0.0), 1.0)
    wide = math.log(bad / good)
    return Chord(good * math.exp(share * wide), (high - low) / abs(wide))


def first_good(
    log_upper: Upper,
    target: Target,
    start: float | None,
    private: float,
    open_end: float,
    *,
    near: bool,
    slope: float = 0.0,
) -> float | None:
    """A value that meets the target: the start (or 1) if it does, else towards the private end."""
    value = _FIRST if start is None else start
    value = min(max(value, min(private, open_end)), max(private, open_end))
    factor = _STRIDE
    for _ in range(_STEPS):
        upper = log_upper(value)
        if target.met(upper):
            return value
        if value == private:
            return None
        if near and factor == _STRIDE:
            factor = _nearness(target, upper, slope)
        value = towards(value, private, factor)
        factor = min(factor * factor, _STRIDE)
    return None


def _first_bad(
    log_upper: Upper,
    target: Target,
    good: float,
    bad: float | None,
    end: float,
    nearness: Callable[[float], float] | None,
) -> float | None:
    """A value beyond the good one that does not meet the target; None if all do.

    Steps are as far as the last value's ``nearness`` says, each with twice the margin of the one
    before; without, they are long.
    """
    if bad is not None and not target.met(log_upper(bad)):
        return bad
    value, more = good, 1.0
    while value != end:
        factor = _STRIDE
        if nearness is not None:
            step = more * math.log(nearness(log_upper(value)))
            factor, more = math.exp(min(step, math.log(_STRIDE))), 2.0 * more
        value = towards(value, end, factor)
        if not target.met(log_upper(value)):
            return value
    return None


def _nearness(target: Target, log_upper: float, slope: float) -> float:
    """How far the first step from a proposal goes: a little farther than it is off.

    sqrt(-log delta) is about proportional to sigma, and to e^(-eps0/2) or a steeper power.
    """
    if not -math.inf < log_upper < 0.0:
        return _NEAR
    goal = math.sqrt(-target.log_delta)
    off = abs(math.sqrt(-log_upper) - goal)
    if slope > 0.0:
        return min(_WIDE, math.exp(_PAST * off / slope + target.rtol))
    return min(_WIDE, 1.0 + 2.0 * max(off / goal, target.rtol))


def _last_good(known: dict[float, float], target: Target, open_end: float) -> float:
    """The value nearest to the open end that was seen to meet the target."""
    met = (value for value, upper in known.items() if target.met(upper))
    return min(met, key=lambda value: abs(math.log(value / open_end)))


def towards(value: float, end: float, factor: float) -> float:
    """A factor nearer to the end, or the end."""
    moved = value * factor if end > value else value / factor
    return min(moved, end) if end > value else max(moved, end)


def _narrow(
    log_upper: Upper, target: Target, good: float, bad: float, rtol: float
) -> tuple[float, float]:
    """Close in: secant steps on log delta while they help, bisection otherwise."""
    # Where the two are far apart the chord says little, and where it has gained little twice.
    stuck = _PATIENCE if abs(math.log(bad / good)) > math.log(_WIDE) else 0
    for _ in range(_STEPS):
        wide = abs(bad / good - 1.0)
        if wide <= rtol:
            break
        halve = stuck >= _PATIENCE
        middle = math.sqrt(good * bad) if halve else _proposal(log_upper, target, good, bad)
        # Not nearer to either end than the width asked for.
        edge = 0.5 * rtol * good
        low, high = min(good, bad) + edge, max(good, bad) - edge
        middle = min(max(middle, low), high) if low < high else 0.5 * (good + bad)
        if middle in (good, bad):
            break
        if target.met(log_upper(middle)):
            good = middle
        else:
            bad = middle
        stuck = 0 if halve or abs(bad / good - 1.0) < 0.5 * wide else stuck + 1
    return good, bad


def _proposal(log_upper: Upper, target: Target, good: float, bad: float) -> float:
    """Where the chord of sqrt(-log delta) over log value crosses the target, a little past it."""
    heights = [math.sqrt(-min(log_upper(v), 0.0)) for v in (good, bad)]
    goal = math.sqrt(-target.log_delta)
    if not (math.isfinite(heights[0]) and heights[0] > heights[1]):
        return math.sqrt(good * bad)
    share = (heights[0] - goal) / (heights[0] - heights[1])
    # Land on either side in turn: what is left is then mostly cut off. The chord is off by about
    # the square of how far the two are apart.
    share += min(_ASIDE, _BENT * abs(math.log(bad / good))) * (0.5 - share)
    return math.exp(math.log(good) + min(max(share, 0.0), 1.0) * math.log(bad / good))
