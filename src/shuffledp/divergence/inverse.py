"""From delta to eps: the root of log delta(eps) = log delta, returned only where it was evaluated.

A quick estimate that certifies nothing proposes the crossing; certified brackets, first loose, then
tight, move the proposal; what is returned was itself evaluated (docs/theory.md, section 7).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from shuffledp.divergence.contour import LogInterval
from shuffledp.divergence.profile import LARGEST_EPSILON, LOOSE, PairProfile, narrowest
from shuffledp.pair import UNIT_ROUNDOFF

U = UNIT_ROUNDOFF
_NARROWEST = 3e-13
_WIDENINGS = 6
_BISECTIONS = 60
_PATIENCE, _LITTLE_PATIENCE = 4, 2
_POOR = 0.5
_CLOSE, _HOPELESS = 4.0, 15.0
_SHORT = 3.0
_SLOPE_ERROR = 0.1
_SETTLED = 1.2
_NEWTON, _SLOPES = 6, 3
_SMALLEST_CAP = 1e-290


class EpsilonInterval(NamedTuple):
    """delta(low) >= target (low = 0 where that fails at 0), delta(high) <= target; which pair."""

    low: float
    high: float
    which: int


class _Ends(NamedTuple):
    low: float
    high: float


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
        delta(cap) is below the target by the local guarantee (inf if there is none).
    rtol : float
        Requested relative width of eps.
    need_all : bool
        True for an upper bound: ``high`` then holds for every profile. False for a lower bound,
        where one profile that stays above the target is enough.
    """
    if cap < _SMALLEST_CAP:
        # As of a subsample whose rate is below delta: the local guarantee says it all.
        return EpsilonInterval(0.0, cap, 0)
    if not math.isfinite(cap):
        for i, profile in enumerate(profiles):
            # Outputs seen for sure: delta does not fall below their mass at any eps.
            if profile.log_floor() >= log_target + _target_slack(log_target):
                return EpsilonInterval(LARGEST_EPSILON, math.inf, i)
    best, guess = _proposal(profiles, log_target, cap)
    if not need_all and len(profiles) > 1:
        best = _highest(profiles, guess, best)
    ends = _refine(profiles[best], log_target, cap=cap, rtol=rtol, start=guess)
    found = EpsilonInterval(ends.low, ends.high, best)
    for i, profile in enumerate(profiles):
        if i == best or (found.high if need_all else found.low) >= cap:
            continue
        if not _matters(profile, profiles[found.which], found.high, log_target, need_all=need_all):
            continue
        other = _refine(profile, log_target, cap=cap, rtol=rtol, start=found.high)
        found = _worse(found, EpsilonInterval(other.low, other.high, i), need_all=need_all)
    return found


def _proposal(profiles: Sequence[PairProfile], log_target: float, cap: float) -> tuple[int, float]:
    """The profile that seems to cross last, and where."""
    best, guess = 0, _guess(profiles[0], log_target, cap)
    for i in range(1, len(profiles)):
        if profiles[i].rough_log_delta(guess) > log_target:
            best, guess = i, _guess(profiles[i], log_target, cap)
    return best, guess


def _highest(profiles: Sequence[PairProfile], epsilon: float, best: int) -> int:
    """The profile that is highest by loose brackets, among those not out of the question."""
    least = profiles[best].rough_log_delta(epsilon) - _CLOSE
    for i, profile in enumerate(profiles):
        if i == best or profile.rough_log_delta(epsilon) < least:
            continue
        if _larger(profile, profiles[best], epsilon):
            best = i
    return best


def _worse(one: EpsilonInterval, two: EpsilonInterval, *, need_all: bool) -> EpsilonInterval:
    if need_all:
        return (two if two.high > one.high else one)._replace(low=max(one.low, two.low))
    return two if two.low > one.low else one


def _matters(
    profile: PairProfile, best: PairProfile, epsilon: float, log_target: float, *, need_all: bool
) -> bool:
    """Whether a profile may be above the target where the best one so far is below.

    For an upper bound every profile has to be certified there. For a lower bound the quick estimate
    may have chosen the wrong one, which the middles of loose brackets tell.
    """
    if not need_all and profile.rough_log_delta(epsilon) < log_target - _HOPELESS:
        return False
    if _below(profile, epsilon, log_target, LOOSE):
        return False
    return need_all or _larger(profile, best, epsilon)


def _below(profile: PairProfile, epsilon: float, log_target: float, width: float) -> bool:
    return profile.log_delta(epsilon, width=width).high <= log_target - _target_slack(log_target)


def _above(profile: PairProfile, epsilon: float, log_target: float, width: float) -> bool:
    return profile.log_delta(epsilon, width=width).low >= log_target + _target_slack(log_target)


def _larger(profile: PairProfile, other: PairProfile, epsilon: float) -> bool:
    """Whether a profile seems to be above another by more than loose brackets can tell."""
    one, two = (p.log_delta(epsilon, width=LOOSE) for p in (profile, other))
    if not math.isfinite(one.low + two.low):
        return one.high > two.high
    return _middle(one) > _middle(two) + 0.05 * max(one.width, two.width)


def _target_slack(log_target: float) -> float:
    """log(delta) itself is rounded."""
    return 4 * U * (1.0 + abs(log_target))


def _middle(found: LogInterval) -> float:
    if not math.isfinite(found.low):
        return found.high
    return 0.5 * (found.low + found.high)


def _guess(profile: PairProfile, log_target: float, cap: float) -> float:
    """Crossing of the estimate, by sqrt(-log delta), which is nearly linear in eps."""
    goal = math.sqrt(-log_target)

    def gap(epsilon: float) -> float:
        if epsilon >= cap:
            return 1e6
        value = profile.rough_log_delta(epsilon)
        return (math.sqrt(-min(value, 0.0)) if value > -math.inf else 1e6) - goal

    if gap(0.0) >= 0.0:
        return 0.0
    high = min(cap, 1.0)
    while high < min(cap, LARGEST_EPSILON) and gap(high) < 0.0:
        high = min(2.0 * high, cap, LARGEST_EPSILON)
    if gap(high) <= 0.0:
        return high
    low = _start(gap, high)
    return _root(gap, low, high)


def _start(gap: Callable[[float], float], high: float) -> float:
    """A point with gap <= 0 within a factor of 10 of the root, so that tiny roots stay relative."""
    low = high
    while low > 1e-16 * high:
        low *= 0.1
        if gap(low) <= 0.0:
            return low
    return 0.0


def _root(gap: Callable[[float], float], low: float, high: float) -> float:
    root = brentq(gap, low, high, xtol=1e-7 * max(low, 1e-16), rtol=np.float64(1e-7))
    return float(root)  # type: ignore[arg-type]


def _refine(
    profile: PairProfile, log_target: float, *, cap: float, rtol: float, start: float
) -> _Ends:
    """Certified ends around the crossing: loose, then tight Newton steps, then two checks."""
    if _below(profile, 0.0, log_target, LOOSE):
        return _Ends(0.0, 0.0)
    limit = min(cap, LARGEST_EPSILON)
    point = min(max(start, 1e-300), limit)
    near = _Near(point, _slope(profile, point, limit), profile.log_delta(point, width=LOOSE))
    width = LOOSE
    if near.value.width <= _POOR:
        near = _newton(profile, near, log_target, LOOSE, limit)
        near, width = _narrowed(profile, near, log_target, rtol, limit)
    high = _push_up(profile, near, log_target, width, limit)
    low = _push_down(profile, near, log_target, width)
    # Where brackets stay wider than was asked, more of them would not bring the ends together.
    wide = 1.2 * rtol * near.point < near.value.width / near.slope and near.value.width <= _POOR
    reached = _SETTLED * near.value.width / near.slope if wide else 0.0
    patience = _PATIENCE if math.isfinite(near.value.low) else _LITTLE_PATIENCE
    search = _Search(rtol=rtol, reached=reached, narrow=width, patience=patience)
    low, high = _bisect(profile, low, high, limit, log_target, search)
    return _Ends(low, cap if high is None else high)


def _narrowed(
    profile: PairProfile, near: _Near, log_target: float, rtol: float, limit: float
) -> tuple[_Near, float]:
    """Go on with brackets as narrow as rtol needs, unless loose ones turn out no wider."""
    width = LOOSE
    for _ in range(_SLOPES):
        wanted = max(0.6 * rtol * near.point * near.slope, _NARROWEST)
        if wanted >= 0.5 * width:
            break
        value, wanted = narrowest(profile, near.point, wanted)
        if wanted >= 0.5 * width or value.width >= 0.5 * near.value.width > wanted:
            break
        tight, width = near._replace(value=value), wanted
        # The slope is better known afterwards: it may call for brackets narrower still.
        near = _newton(profile, tight, log_target, width, limit)
    return near, width


class _Near(NamedTuple):
    """A point next to the crossing, -d log delta / d eps, and log delta there or about that."""

    point: float
    slope: float
    value: LogInterval


def _newton(
    profile: PairProfile, near: _Near, log_target: float, width: float, limit: float
) -> _Near:
    """Move towards the crossing of the bracket's middle; the slope becomes a secant's.

    The bracket after a last, short step is predicted: the ends are evaluated in any case.
    """
    point, slope, found = near
    for _ in range(_NEWTON):
        if not math.isfinite(found.low):
            break
        value = _middle(found)
        moved = min(max(point + (value - log_target) / slope, 0.5 * point), limit, 2.0 * point)
        step = (moved - point) * slope
        if abs(step) <= _SHORT * max(width, found.width):
            error = _SLOPE_ERROR * abs(step)
            return _Near(
                moved, slope, LogInterval(found.low - step - error, found.high - step + error)
            )
        after = profile.log_delta(moved, width=width)
        if not math.isfinite(after.low):
            break
        secant = (value - _middle(after)) / (moved - point)
        if 0.2 * slope < secant < 5.0 * slope:
            slope = secant
        point, found = moved, after
    return _Near(point, slope, found)


def _slope(profile: PairProfile, point: float, limit: float) -> float:
    """-d log delta / d eps, from two estimates."""
    nearby = min(point * 1.01, 0.5 * (point + limit)) if point < limit else point * 0.99
    gap = profile.rough_log_delta(point) - profile.rough_log_delta(nearby)
    slope = gap / (nearby - point) if nearby != point else 0.0
    return slope if math.isfinite(slope) and slope > 0.0 else 1.0 / point


def _margin(end: float, near: _Near, width: float) -> float:
    step = max(end, 0.0) * 1.02 if math.isfinite(end) else 8.0 * width
    return max(step / near.slope, 0.02 * width / near.slope, 4 * U * near.point)


def _push_up(
    profile: PairProfile, near: _Near, log_target: float, width: float, limit: float
) -> float | None:
    """The first evaluated point at or above the crossing where delta is certainly below."""
    margin = _margin(near.value.high - log_target, near, width)
    for _ in range(_WIDENINGS):
        if near.point + margin >= limit:
            break
        if _below(profile, near.point + margin, log_target, width):
            return near.point + margin
        margin *= 2.0
    return limit if _below(profile, limit, log_target, width) else None


def _push_down(profile: PairProfile, near: _Near, log_target: float, width: float) -> float:
    """The first evaluated point at or below the crossing where delta is certainly above; else 0."""
    margin = _margin(log_target - near.value.low, near, width)
    for _ in range(_WIDENINGS if math.isfinite(near.value.low) else 1):
        if near.point - margin <= 0.0:
            break
        if _above(profile, near.point - margin, log_target, width):
            return near.point - margin
        margin *= 2.0
    return 0.0


class _Search(NamedTuple):
    """When bisection ends: at rtol of eps or at `reached`; after so many undecided points."""

    rtol: float
    reached: float
    narrow: float
    patience: int


def _side(profile: PairProfile, point: float, log_target: float, narrow: float) -> int:
    """1 where delta is certainly below the target, -1 where it is above, 0 where undecided."""
    for width in (LOOSE, narrow):
        if _below(profile, point, log_target, width):
            return 1
        if _above(profile, point, log_target, width):
            return -1
    return 0


def _bisect(
    profile: PairProfile,
    low: float,
    high: float | None,
    limit: float,
    log_target: float,
    search: _Search,
) -> tuple[float, float | None]:
    """Close in from certified ends where Newton's steps did not (next to the cap, say).

    A point that a loose bracket leaves undecided is tried once more with the narrow one; after a
    few that stay undecided the search ends there.
    """
    undecided = 0
    for _ in range(_BISECTIONS):
        top = limit if high is None else high
        if top - low <= max(search.rtol * top, search.reached):
            break
        middle = (low * top) ** 0.5 if low > 0.0 and top > 4.0 * low else 0.5 * (low + top)
        side = _side(profile, middle, log_target, search.narrow)
        if side > 0:
            high = middle
        elif side < 0:
            low = middle
        else:
            undecided += 1
            if undecided >= search.patience:
                break
            # Certified ends may still move in from either side of the undecided middle.
            for point in (0.5 * (low + middle), 0.5 * (middle + top)):
                side = _side(profile, point, log_target, search.narrow)
                if side > 0:
                    high = min(point, top)
                    break
                if side < 0:
                    low = max(point, low)
    return low, high
