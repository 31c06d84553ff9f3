"""From delta to eps: the root of log delta(eps) = log delta, returned only where it was evaluated."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from scipy.optimize import brentq

from shuffledp.divergence.contour import LogInterval
from shuffledp.divergence.profile import LARGEST_EPSILON, LOOSE, PairProfile
from shuffledp.pair import UNIT_ROUNDOFF

U = UNIT_ROUNDOFF
_NARROWEST = 3e-13
_WIDENINGS = 12
_BISECTIONS = 60


class EpsilonInterval(NamedTuple):
    """delta(low) >= target (low = 0 where that fails at 0), delta(high) <= target; which pair."""

    low: float
    high: float
    index: int


def solve_epsilon(
    profiles: Sequence[PairProfile],
    log_target: float,
    *,
    cap: float,
    rtol: float,
    need_all: bool,
) -> EpsilonInterval:
    """Bracket the eps at which max over the profiles of delta(eps) crosses the target.

    Parameters
    ----------
    profiles : sequence of PairProfile
        One for each ordered pair and direction.
    log_target : float
        log of the target delta.
    cap : float
        delta(eps) = 0 for eps >= cap by the local guarantee (inf if there is none).
    rtol : float
        Requested relative width of eps.
    need_all : bool
        True for an upper bound: ``high`` then holds for every profile. False for a lower bound,
        where one profile that stays above the target is enough.
    """
    best, rough = 0, _rough(profiles[0], log_target, cap)
    for i in range(1, len(profiles)):
        best, rough = _better(profiles, i, best, rough, log_target, cap)
    found = _refine(profiles[best], log_target, cap=cap, rtol=rtol, start=rough)
    if need_all:
        found_high, worst = _over_all(profiles, best, found.high, log_target, cap=cap, rtol=rtol)
        return EpsilonInterval(found.low, found_high, worst)
    return EpsilonInterval(found.low, found.high, best)


def _better(
    profiles: Sequence[PairProfile], i: int, best: int, rough: float, log_target: float, cap: float
) -> tuple[int, float]:
    """Keep the profile whose crossing lies further out."""
    at = profiles[i].log_delta(min(rough, LARGEST_EPSILON))
    if _middle(at) <= log_target:
        return best, rough
    return i, _rough(profiles[i], log_target, cap)


def _over_all(
    profiles: Sequence[PairProfile],
    best: int,
    high: float,
    log_target: float,
    *,
    cap: float,
    rtol: float,
) -> tuple[float, int]:
    """Raise ``high`` until every profile is certified below the target there."""
    worst = best
    for i, profile in enumerate(profiles):
        if i == best or profile is profiles[best] or high >= cap:
            continue
        if _below(profile, high, log_target, LOOSE):
            continue
        other = _refine(profile, log_target, cap=cap, rtol=rtol, start=high)
        if other.high > high:
            high, worst = other.high, i
    return high, worst


def _below(profile: PairProfile, epsilon: float, log_target: float, width: float) -> bool:
    return profile.log_delta(epsilon, width=width).high <= log_target - _target_slack(log_target)


def _above(profile: PairProfile, epsilon: float, log_target: float, width: float) -> bool:
    return profile.log_delta(epsilon, width=width).low >= log_target + _target_slack(log_target)


def _target_slack(log_target: float) -> float:
    """log(delta) itself is rounded."""
    return 4 * U * (1.0 + abs(log_target))


def _middle(found: LogInterval) -> float:
    if not math.isfinite(found.low):
        return found.high
    return 0.5 * (found.low + found.high)


def _rough(profile: PairProfile, log_target: float, cap: float) -> float:
    """Crossing of the loose profile, by sqrt(-log delta), which is nearly linear in eps."""
    goal = math.sqrt(-log_target)

    def gap(epsilon: float) -> float:
        if epsilon >= cap:
            return 1e3
        found = profile.log_delta(epsilon)
        if not math.isfinite(found.low):
            return 1e3
        return math.sqrt(-min(_middle(found), 0.0)) - goal

    if gap(0.0) >= 0.0:
        return 0.0
    high = min(cap, LARGEST_EPSILON)
    if not math.isfinite(cap):
        high = 1.0
        while high < LARGEST_EPSILON and gap(high) < 0.0:
            high = min(2.0 * high, LARGEST_EPSILON)
    if gap(high) <= 0.0:
        return high
    low = _lower_start(gap, high)
    return float(brentq(gap, low, high, xtol=1e-6 * max(low, 1e-14), rtol=1e-6))


def _lower_start(gap, high: float) -> float:  # noqa: ANN001 (a local closure)
    """A point with gap <= 0 within a factor of 10 of the root, so that tiny roots stay relative."""
    low = high
    while low > 1e-15 * high:
        low *= 0.1
        if gap(low) <= 0.0:
            return low
    return 0.0


def _refine(
    profile: PairProfile, log_target: float, *, cap: float, rtol: float, start: float
) -> EpsilonInterval:
    """Certified ends around the crossing: Newton steps on the tight profile, then two checks."""
    if _below(profile, 0.0, log_target, LOOSE):
        return EpsilonInterval(0.0, 0.0, 0)
    limit = min(cap, LARGEST_EPSILON)
    point = min(max(start, 1e-300), limit)
    slope = _slope(profile, point, limit)
    width = max(0.6 * rtol * point * slope, _NARROWEST)
    for _ in range(3):
        value = _middle(profile.log_delta(point, width=width))
        if not math.isfinite(value):
            break
        moved = min(max(point + (value - log_target) / slope, 0.5 * point), limit)
        if abs(moved - point) * slope <= 0.1 * width:
            point = moved
            break
        point, previous, before = moved, point, value
        after = _middle(profile.log_delta(point, width=width))
        if math.isfinite(after) and point != previous and after != before:
            secant = (before - after) / (point - previous)
            slope = secant if 0.2 * slope < secant < 5.0 * slope else slope
    high = _push(profile, point, log_target, slope, width, limit, up=True)
    low = _push(profile, point, log_target, slope, width, limit, up=False) or 0.0
    low, high = _bisect(profile, low, high, limit, log_target, rtol=rtol, narrow=width)
    return EpsilonInterval(low, cap if high is None else high, 0)


def _bisect(
    profile: PairProfile,
    low: float,
    high: float | None,
    limit: float,
    log_target: float,
    *,
    rtol: float,
    narrow: float,
) -> tuple[float, float | None]:
    """Close in from certified ends where Newton's steps did not (next to the cap, say)."""
    width = LOOSE
    for _ in range(_BISECTIONS):
        top = limit if high is None else high
        if top - low <= rtol * top:
            break
        middle = 0.5 * (low + top)
        if _below(profile, middle, log_target, width):
            high = middle
        elif _above(profile, middle, log_target, width):
            low = middle
        elif width > narrow:
            width = min(max(0.03 * width, narrow), width)
        else:
            break
    return low, high


def _slope(profile: PairProfile, point: float, limit: float) -> float:
    """-d log delta / d eps, from two loose values."""
    nearby = min(point * 1.02, 0.5 * (point + limit)) if point < limit else point * 0.98
    gap = _middle(profile.log_delta(point)) - _middle(profile.log_delta(nearby))
    slope = gap / (nearby - point) if nearby != point else 0.0
    return slope if math.isfinite(slope) and slope > 0.0 else 1.0 / point


def _push(
    profile: PairProfile,
    point: float,
    log_target: float,
    slope: float,
    width: float,
    limit: float,
    *,
    up: bool,
) -> float | None:
    """The first evaluated point on one side of the crossing where the target is met for certain."""
    here = profile.log_delta(point, width=width)
    end = here.high - log_target if up else log_target - here.low
    margin = (max(end, 0.0) * 1.02 if math.isfinite(end) else 8.0 * width) / slope
    margin = max(margin, 0.02 * width / slope, 4 * U * point)
    check = _below if up else _above
    for _ in range(_WIDENINGS):
        candidate = point + margin if up else point - margin
        if up and candidate >= limit:
            break
        if not up and candidate <= 0.0:
            return 0.0
        if check(profile, candidate, log_target, width):
            return candidate
        margin *= 2.0
    if up and check(profile, limit, log_target, width):
        return limit
    return None if up else 0.0
