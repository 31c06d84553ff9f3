"""From delta to eps: the crossing of log delta(eps) = log delta, with a certified end on each side.

A quick estimate that certifies nothing proposes the crossing; certified brackets, first loose, then
tight, move the proposal; what is returned follows from them by convexity (docs/theory.md, section
7, divergence/chords.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from shuffledp.divergence.chords import certified_ends
from shuffledp.divergence.contour import LogInterval
from shuffledp.divergence.profile import LARGEST_EPSILON, LOOSE, PairProfile, narrowest
from shuffledp.divergence.proposal import proposal
from shuffledp.pair import UNIT_ROUNDOFF

U = UNIT_ROUNDOFF
_NARROWEST = 3e-13
# What brackets of delta may take of the width of eps; how much narrower ones cost next to nothing.
_SHARE, _NOT_FAR = 0.6, 0.01
_MET = 3.0
_ANYTHING = LogInterval(-math.inf, math.inf)
_WIDENINGS = 6
_BISECTIONS = 60
_PATIENCE, _LITTLE_PATIENCE = 4, 2
_POOR = 0.5
# How far off the estimate may be, and so much more for each unit of log(target).
_CLOSE, _HOPELESS, _FARTHER = 1.0, 3.0, 0.15
_SHORT = 3.0
_NEAR_STEP, _WIDE_STEP = 4e-3, 0.6
_SLOPE_ERROR = 0.1
_DOUBTFUL = 2.0
_SAME = 2e-3
_FIRST, _FLANK, _AIM = 2e-3, 0.12, 1.0
_CORRECTIONS, _STILL = 2, 1e-5
# How far apart, in log delta, two brackets give a slope: against their widths; not too far.
_SURE, _REACH = 0.5, 3.0
_SETTLED = 1.2
_NEWTON, _SLOPES = 6, 3
_SMALLEST_CAP = 1e-290


class EpsilonInterval(NamedTuple):
    """delta(low) >= target (low = 0 where that fails at 0), delta(high) <= target; which pair."""

    low: float
    high: float
    which: int


class _Ends(NamedTuple):
    """Certified ends; ``high`` is None where there is none yet."""

    low: float
    high: float | None

    def within(self, rtol: float) -> bool:
        """Whether they are as near to each other as was asked."""
        return self.high is not None and self.high - self.low <= rtol * self.high


class _Accuracy(NamedTuple):
    """The relative width of eps that is wanted; that of delta at which the end is asked again."""

    rtol: float
    again: float | None

    def width(self, epsilon: float, slope: float) -> float:
        """Of the brackets of delta: most of rtol of eps; the same as later where that is near."""
        wanted = max(_SHARE * self.rtol * epsilon * slope, _NARROWEST)
        again = wanted if self.again is None else self.again
        return again if _NOT_FAR * wanted <= again <= wanted else wanted


class _Known:
    """A profile, and what one question has learned of it: what is known narrower is not asked."""

    def __init__(self, profile: PairProfile) -> None:
        self._profile = profile
        self._asked: dict[float, tuple[float, ...]] = {}
        self._best: dict[float, LogInterval] = {}

    def log_delta(self, epsilon: float, *, width: float = LOOSE) -> LogInterval:
        """All brackets at this eps so far, about as narrow together as ``width``."""
        asked, known = self._asked.get(epsilon, ()), self._best.get(epsilon, _ANYTHING)
        if width in asked or known.width <= width:
            return known
        if asked and min(asked) < width and known.width <= _MET * width:
            return known
        found = self._profile.log_delta(epsilon, width=width)
        # A narrower request may do worse: more terms mean more rounding.
        found = LogInterval(max(found.low, known.low), min(found.high, known.high))
        self._asked[epsilon], self._best[epsilon] = (*asked, width), found
        return found

    def rough_log_delta(self, epsilon: float, *, above: float = -math.inf) -> float:
        """The profile's quick estimate."""
        return self._profile.rough_log_delta(epsilon, above=above)

    def log_floor(self) -> float:
        """The profile's floor."""
        return self._profile.log_floor()


class _Evaluated:
    """A profile, and all that was evaluated of it on the way to one target.

    The end that is claimed (the upper one of an upper bound) is a point that was evaluated, so that
    evaluating it again gives no more than the target; the other one may lie between such points.
    """

    def __init__(self, profile: _Known, log_target: float, *, upper: bool) -> None:
        self._profile, self.log_target, self.upper = profile, log_target, upper
        # delta(0) <= 1 comes for nothing.
        self.known: dict[float, LogInterval] = {0.0: LogInterval(-math.inf, 0.0)}
        self._found: _Ends | None = None

    @property
    def outward(self) -> float:
        """1 where the claimed end lies above the crossing, -1 where below."""
        return 1.0 if self.upper else -1.0

    def log_delta(self, epsilon: float, *, width: float = LOOSE) -> LogInterval:
        """The profile's bracket, kept."""
        self.known[epsilon] = self._profile.log_delta(epsilon, width=width)
        self._found = None
        return self.known[epsilon]

    def rough_log_delta(self, epsilon: float) -> float:
        """The profile's quick estimate."""
        return self._profile.rough_log_delta(epsilon)

    def shape(self, near: _Near) -> Callable[[float], float]:
        """The estimate, moved and tilted to pass through ``near`` and another known point."""
        here = _middle(near.value)
        off = here - self.rough_log_delta(near.point)
        drift = 0.0
        others = [
            (abs(_middle(found) - here), point, found)
            for point, found in self.known.items()
            if _SURE * (found.width + near.value.width) < abs(_middle(found) - here) < _REACH
        ]
        if others:
            _, point, found = min(others)
            other = _middle(found) - self.rough_log_delta(point)
            drift = (other - off) / (point - near.point)
        return lambda epsilon: self.rough_log_delta(epsilon) + off + drift * (epsilon - near.point)

    def ends(self) -> _Ends:
        """What all brackets so far certify."""
        if self._found is None:
            low, high = certified_ends(self.known, self.log_target)
            slack = _target_slack(self.log_target)
            if self.upper:
                below = (e for e, v in self.known.items() if v.high <= self.log_target - slack)
                high = min(below, default=None)
            else:
                above = (e for e, v in self.known.items() if v.low >= self.log_target + slack)
                low = max(above, default=0.0)
            self._found = _Ends(low, high)
        return self._found


def solve_epsilon(
    profiles: Sequence[PairProfile],
    log_target: float,
    *,
    cap: float,
    rtol: float,
    need_all: bool,
    width: float | None = None,
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
    width : float, optional
        Relative width of delta that will be asked for at the end that is found: taken for the
        narrow brackets where it is about what they need, so that it costs nothing more then.
    """
    if cap < _SMALLEST_CAP:
        # As of a subsample whose rate is below delta: the local guarantee says it all.
        return EpsilonInterval(0.0, cap, 0)
    if not math.isfinite(cap):
        for i, profile in enumerate(profiles):
            # Outputs seen for sure: delta does not fall below their mass at any eps.
            if profile.log_floor() >= log_target + _target_slack(log_target):
                return EpsilonInterval(LARGEST_EPSILON, math.inf, i)
    known = [_Known(profile) for profile in profiles]
    accuracy = _Accuracy(rtol, width)
    best, guess = proposal(known, log_target, cap)
    compared: set[int] = set()
    if not need_all and len(known) > 1:
        best, compared = _highest(known, guess, best, log_target)
    found = _refine(_Evaluated(known[best], log_target, upper=need_all), cap, accuracy, guess)
    found = found._replace(which=best)
    for i, profile in enumerate(known):
        if i == best or (found.high if need_all else found.low) >= cap:
            continue
        if i in compared and abs(found.low - guess) <= _SAME * guess:
            continue
        at = found.high if need_all else found.low
        if not _matters(profile, known[found.which], at, log_target, need_all=need_all):
            continue
        other = _refine(_Evaluated(profile, log_target, upper=need_all), cap, accuracy, found.high)
        found = _worse(found, other._replace(which=i), need_all=need_all)
    return _agreed(known, log_target, found, cap, accuracy) if need_all else found


def _agreed(
    profiles: Sequence[_Known],
    target: float,
    found: EpsilonInterval,
    cap: float,
    accuracy: _Accuracy,
) -> EpsilonInterval:
    """``high`` moved up, if need be, to where every curve was evaluated and is below the target."""
    curves = [_Evaluated(profile, target, upper=True) for profile in profiles]
    point, limit = found.high, min(cap, LARGEST_EPSILON)
    for _ in range(_WIDENINGS):
        if len(curves) < 2 or not 0.0 < point < limit:
            break
        beyond = 0.0
        for curve in (c for c in curves if not _below(c, point, LOOSE)):
            slope = _slope(curve, point, limit)
            width = min(accuracy.width(point, slope), LOOSE)
            if not any(_below(curve, point, w) for w in (width, 0.1 * width)):
                gap = curve.known[point].high - target + _target_slack(target)
                beyond = max(beyond, 1.02 * gap / slope, 4 * U * point)
        if beyond == 0.0:
            return found._replace(high=point)
        point += beyond
    return found


def _highest(
    profiles: Sequence[_Known], epsilon: float, best: int, log_target: float
) -> tuple[int, set[int]]:
    """The profile that is highest, by brackets, of those not out of the question; and these."""
    least = profiles[best].rough_log_delta(epsilon) - _CLOSE + _FARTHER * log_target
    likely = {i for i, p in enumerate(profiles) if p.rough_log_delta(epsilon) >= least}
    for i in sorted(likely - {best}):
        if _larger(profiles[i], profiles[best], epsilon):
            best = i
    return best, likely


def _worse(one: EpsilonInterval, two: EpsilonInterval, *, need_all: bool) -> EpsilonInterval:
    if need_all:
        return (two if two.high > one.high else one)._replace(low=max(one.low, two.low))
    return two if two.low > one.low else one


def _matters(
    profile: _Known, best: _Known, epsilon: float, log_target: float, *, need_all: bool
) -> bool:
    """Whether a profile may be above the target where the best one so far is below.

    For an upper bound every profile has to be certified there. For a lower bound the quick estimate
    may have chosen the wrong one, which the middles of loose brackets tell.
    """
    if (
        not need_all
        and profile.rough_log_delta(epsilon) < (1.0 + _FARTHER) * log_target - _HOPELESS
    ):
        return False
    if _below(_Evaluated(profile, log_target, upper=need_all), epsilon, LOOSE):
        return False
    return need_all or _larger(profile, best, epsilon)


def _below(curve: _Evaluated, epsilon: float, width: float) -> bool:
    slack = _target_slack(curve.log_target)
    return curve.log_delta(epsilon, width=width).high <= curve.log_target - slack


def _above(curve: _Evaluated, epsilon: float, width: float) -> bool:
    slack = _target_slack(curve.log_target)
    return curve.log_delta(epsilon, width=width).low >= curve.log_target + slack


def _larger(profile: _Known, other: _Known, epsilon: float) -> bool:
    """Whether a profile seems to be above another by more than loose brackets can tell."""
    one, two = (p.log_delta(epsilon, width=_FIRST) for p in (profile, other))
    if not math.isfinite(one.low + two.low):
        return one.low > two.low or (one.low == two.low and one.high > two.high)
    return _middle(one) > _middle(two) + 0.05 * max(one.width, two.width)


def _target_slack(log_target: float) -> float:
    """log(delta) itself is rounded."""
    return 4 * U * (1.0 + abs(log_target))


def _middle(found: LogInterval) -> float:
    """log of the mean of both ends: the errors of smoothing nearly cancel there."""
    if not math.isfinite(found.low):
        return found.high
    return found.high + math.log1p(0.5 * math.expm1(found.low - found.high))


def _refine(curve: _Evaluated, cap: float, accuracy: _Accuracy, start: float) -> EpsilonInterval:
    """Certified ends around the crossing: loose brackets, then tight ones next to it."""
    rtol = accuracy.rtol
    limit = min(cap, LARGEST_EPSILON)
    point = min(max(start, 1e-300), limit)
    if curve.rough_log_delta(0.0) < curve.log_target + _DOUBTFUL and _below(curve, 0.0, LOOSE):
        return EpsilonInterval(0.0, 0.0, 0)
    near = _Near(point, _slope(curve, point, limit), curve.log_delta(point, width=_FIRST))
    width = LOOSE
    if near.value.width <= _POOR:
        near = _newton(curve, near, _FIRST, limit, rtol=rtol)
        near, width = _narrowed(curve, near, accuracy, limit)
    for up in (curve.upper, not curve.upper):
        if not curve.ends().within(rtol):
            _push(curve, near, width, limit, up=up)
    # Where brackets stay wider than was asked, more of them would not bring the ends together.
    wide = 1.2 * rtol * near.point < near.value.width / near.slope and near.value.width <= _POOR
    reached = _SETTLED * near.value.width / near.slope if wide else 0.0
    patience = _PATIENCE if math.isfinite(near.value.low) else _LITTLE_PATIENCE
    _bisect(curve, limit, _Search(rtol=rtol, reached=reached, narrow=width, patience=patience))
    low, high = curve.ends()
    if low == 0.0 and _below(curve, 0.0, LOOSE):
        return EpsilonInterval(0.0, 0.0, 0)
    high = cap if high is None else min(high, cap)
    return EpsilonInterval(min(low, high), high, 0)


def _narrowed(
    curve: _Evaluated, near: _Near, accuracy: _Accuracy, limit: float
) -> tuple[_Near, float]:
    """Go on with brackets as narrow as rtol needs, unless loose ones turn out no wider."""
    rtol, width = accuracy.rtol, LOOSE
    for _ in range(_SLOPES):
        wanted = accuracy.width(near.point, near.slope)
        if wanted >= 0.5 * width or curve.ends().within(rtol):
            break
        point = _aimed(curve, near, wanted, limit)
        value, wanted = narrowest(curve, point, wanted)
        if wanted >= 0.5 * width or value.width >= 0.5 * near.value.width > wanted:
            break
        tight, width = _Near(point, near.slope, value), wanted
        if not curve.ends().within(rtol):
            _flank(curve, tight, rtol, limit)
        # The slope is better known afterwards: it may call for brackets narrower still.
        near = _newton(curve, tight, width, limit, rtol=rtol)
    return near, width


def _aimed(curve: _Evaluated, near: _Near, width: float, limit: float) -> float:
    """Off the crossing by as much as a bracket of this width needs to be on the claimed side."""
    aimed = near.point + curve.outward * _AIM * width / near.slope
    return min(max(aimed, 0.5 * near.point), limit)


class _Near(NamedTuple):
    """A point next to the crossing, -d log delta / d eps, and log delta there or about that."""

    point: float
    slope: float
    value: LogInterval


def _newton(curve: _Evaluated, near: _Near, width: float, limit: float, *, rtol: float) -> _Near:
    """Move towards the crossing of the bracket's middle; the slope becomes a secant's.

    The bracket after a last, short step is predicted, not evaluated.
    """
    point, slope, found = near
    for _ in range(_NEWTON):
        if not math.isfinite(found.low) or curve.ends().within(rtol):
            break
        value = _middle(found)
        moved, slope = _moved(curve, _Near(point, slope, found), limit)
        if width < _FIRST:
            moved = _aimed(curve, _Near(moved, slope, found), width, limit)
        step = (moved - point) * slope
        # A second wide bracket costs less than a narrow one that misses.
        short = _SHORT * max(width, found.width)
        if width >= _FIRST:
            short = max(_NEAR_STEP, _WIDE_STEP * found.width)
        if abs(step) <= short:
            error = _SLOPE_ERROR * abs(step)
            return _Near(
                moved, slope, LogInterval(found.low - step - error, found.high - step + error)
            )
        after = curve.log_delta(moved, width=width)
        if not math.isfinite(after.low):
            break
        secant = (value - _middle(after)) / (moved - point)
        if 0.2 * slope < secant < 5.0 * slope:
            slope = secant
        point, found = moved, after
    return _Near(point, slope, found)


def _moved(curve: _Evaluated, near: _Near, limit: float) -> tuple[float, float]:
    """Where the estimate, shifted to pass through what is known, meets the target; its slope."""
    point, slope, _ = near
    low, high = 0.5 * point, min(limit, 2.0 * point)
    gap = _middle(near.value) - curve.log_target
    moved = min(max(point + gap / slope, low), high)
    shape = curve.shape(near)
    for _ in range(_CORRECTIONS):
        if abs(moved - point) <= _STILL * point:
            break
        secant = (_middle(near.value) - shape(moved)) / (moved - point)
        if not 0.3 * slope < secant < 3.0 * slope:
            break
        slope = secant
        moved = min(max(point + gap / slope, low), high)
    return moved, slope


def _flank(curve: _Evaluated, near: _Near, rtol: float, limit: float) -> None:
    """Loose brackets on either side of narrow ones: the lines through both certify the ends."""
    distance = _FLANK / near.slope
    for point in (near.point + distance, near.point - distance):
        if 0.0 < point < limit and not curve.ends().within(rtol):
            curve.log_delta(point, width=LOOSE)


def _slope(curve: _Evaluated, point: float, limit: float) -> float:
    """-d log delta / d eps, from two estimates."""
    nearby = min(point * 1.01, 0.5 * (point + limit)) if point < limit else point * 0.99
    gap = curve.rough_log_delta(point) - curve.rough_log_delta(nearby)
    slope = gap / (nearby - point) if nearby != point else 0.0
    return slope if math.isfinite(slope) and slope > 0.0 else 1.0 / point


def _margin(end: float, near: _Near, width: float) -> float:
    step = max(end, 0.0) * 1.02 if math.isfinite(end) else 8.0 * width
    return max(step / near.slope, 0.02 * width / near.slope, 4 * U * near.point)


def _push(curve: _Evaluated, near: _Near, width: float, limit: float, *, up: bool) -> None:
    """Evaluate on one side of the crossing until delta is certainly below, or above, the target."""
    sign, certain = (1.0, _below) if up else (-1.0, _above)
    end = near.value.high - curve.log_target if up else curve.log_target - near.value.low
    margin = _margin(end, near, width)
    for _ in range(_WIDENINGS if up or math.isfinite(near.value.low) else 1):
        point = near.point + sign * margin
        if not 0.0 < point < limit or certain(curve, point, width):
            break
        margin *= 2.0
    if up and curve.ends().high is None:
        curve.log_delta(limit, width=width)


class _Search(NamedTuple):
    """When bisection ends: at rtol of eps or at `reached`; after so many undecided points."""

    rtol: float
    reached: float
    narrow: float
    patience: int


def _side(curve: _Evaluated, point: float, narrow: float) -> int:
    """1 where delta is certainly below the target, -1 where it is above, 0 where undecided."""
    for width in (LOOSE, narrow):
        if _below(curve, point, width):
            return 1
        if _above(curve, point, width):
            return -1
    return 0


def _bisect(curve: _Evaluated, limit: float, search: _Search) -> None:
    """Close in from certified ends where Newton's steps did not (next to the cap, say).

    A point that a loose bracket leaves undecided is tried once more with the narrow one; after a
    few that stay undecided the search ends there.
    """
    undecided = 0
    for _ in range(_BISECTIONS):
        low, high = curve.ends()
        top = limit if high is None else high
        if top - low <= max(search.rtol * top, search.reached):
            break
        middle = (low * top) ** 0.5 if low > 0.0 and top > 4.0 * low else 0.5 * (low + top)
        if _side(curve, middle, search.narrow) != 0:
            continue
        undecided += 1
        if undecided >= search.patience:
            break
        # Certified ends may still move in from either side of the undecided middle.
        for point in (0.5 * (low + middle), 0.5 * (middle + top)):
            if _side(curve, point, search.narrow) != 0:
                break
