"""From delta to eps: the crossing of log delta(eps) = log delta, with a certified end on each side.

A quick estimate that certifies nothing proposes the crossing; certified brackets, first loose, then
tight, move the proposal; what is returned follows from them by convexity (docs/theory.md, section
7, divergence/chords.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from shuffledp.arithmetic.intervals import LogInterval
from shuffledp.divergence.evaluated import Accuracy, Evaluated, Near, U, middle
from shuffledp.divergence.meeting import slope as slope_of
from shuffledp.divergence.profile import LARGEST_EPSILON, LOOSE, PairProfile, narrowest
from shuffledp.divergence.proposal import proposal

# Nothing below certifies: each constant decides only where a certified bracket is asked for next
# and when to stop, and was set by counting brackets over the questions of `make bench`.
# Steps outward from an end that is not certified yet, each larger; halvings of what is between.
_WIDENINGS, _BISECTIONS = 6, 60
# Halvings that gain little before it stops: where delta is known at all, and where it is not.
_PATIENCE, _LITTLE_PATIENCE = 4, 2
# Widths of log delta: above the first, narrower brackets would not help; those first asked for.
_POOR, _FIRST = 0.5, 2e-3
# How far off the estimate may be, and so much more for each unit of log(target).
_CLOSE, _HOPELESS, _FARTHER = 1.0, 3.0, 0.15
# A step of Newton's that is this short is predicted, not evaluated: against the bracket's width,
# for narrow ones and for wide; the slope may be off by that part of it.
_SHORT, _NEAR_STEP, _WIDE_STEP, _SLOPE_ERROR = 3.0, 4e-3, 0.6, 0.1
# How near, in log delta, the estimate at eps = 0 is to the target where 0 itself may be the answer.
_DOUBTFUL = 2.0
# The width that settles it, where a loose bracket there has the target inside.
_AT_ZERO = 1e-7
# Two profiles compared at an eps this near need not be compared again.
_SAME = 2e-3
# Distance of loose brackets beside narrow ones, in log delta; that of the claimed end, in widths.
_FLANK, _AIM = 0.12, 1.0
# Secants of the estimate's shape, and the relative step where they stop.
_CORRECTIONS, _STILL = 2, 1e-5
# Ends this many widths of delta apart are as near as such brackets bring them.
_SETTLED = 1.2
# Newton steps for one width; times that the width follows a better slope.
_NEWTON, _SLOPES = 6, 3
# A secant is as good as the brackets it joins: so many times their widths apart, it is believed
# whatever the estimate says; else where it is within so much of the estimate's slope.
_BELIEVED, _LIKELY = 2.0, 5.0
# Of a closing search: every so many steps halve; a point's distance from the crossing, at most, in
# that of the end, and at least, in what is asked for; what is predicted nearer to the target than
# this part of a loose bracket is not tried by one.
_HALVED, _GAINED, _ENOUGH, _OPEN = 3, 0.7, 0.3, 0.1
# A local guarantee below this is the answer: floats near their least leave no digits to search in.
_SMALLEST_CAP = 1e-290


class EpsilonInterval(NamedTuple):
    """delta(low) >= target (low = 0 where that fails at 0), delta(high) <= target; which pair."""

    low: float
    high: float
    which: int


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
    curves = [Evaluated(profile, log_target, upper=need_all) for profile in profiles]
    if not math.isfinite(cap):
        for i, curve in enumerate(curves):
            # Outputs seen for sure: delta does not fall below their mass at any eps.
            if curve.profile.log_floor() >= log_target + curve.slack:
                return EpsilonInterval(LARGEST_EPSILON, math.inf, i)
    accuracy = Accuracy(rtol, width)
    best, guess = proposal(profiles, log_target, cap)
    compared: set[int] = set()
    if not need_all and len(curves) > 1:
        best, compared = _highest(curves, guess, best)
    found = _refine(curves[best], cap, accuracy, guess)._replace(which=best)
    for i, curve in enumerate(curves):
        if i == best or (found.high if need_all else found.low) >= cap:
            continue
        if i in compared and abs(found.low - guess) <= _SAME * guess:
            continue
        if _matters(curve, curves[found.which], found):
            other = _refine(curve, cap, accuracy, found.high)
            found = _worse(found, other._replace(which=i), need_all=need_all)
    return _agreed(curves, found, cap, accuracy) if need_all else found


def _agreed(
    curves: Sequence[Evaluated], found: EpsilonInterval, cap: float, accuracy: Accuracy
) -> EpsilonInterval:
    """``high`` moved up, if need be, to where every curve was evaluated and is below the target."""
    point, limit = found.high, min(cap, LARGEST_EPSILON)
    for _ in range(_WIDENINGS):
        if len(curves) < 2 or not 0.0 < point < limit:
            break
        beyond = 0.0
        for curve in (c for c in curves if not c.below(point, LOOSE)):
            slope = slope_of(curve.profile, point, limit)
            width = min(accuracy.width(point, slope), LOOSE)
            if not any(curve.below(point, w) for w in (width, 0.1 * width)):
                gap = curve.known[point].high - curve.log_target + curve.slack
                beyond = max(beyond, 1.02 * gap / slope, 4 * U * point)
        if beyond == 0.0:
            return found._replace(high=point)
        point += beyond
    return found


def _highest(curves: Sequence[Evaluated], epsilon: float, best: int) -> tuple[int, set[int]]:
    """The curve that is highest, by brackets, of those not out of the question; and these."""
    rough = [curve.profile.rough_log_delta(epsilon) for curve in curves]
    least = rough[best] - _CLOSE + _FARTHER * curves[best].log_target
    likely = {i for i, value in enumerate(rough) if value >= least}
    for i in sorted(likely - {best}):
        if _larger(curves[i], curves[best], epsilon):
            best = i
    return best, likely


def _worse(one: EpsilonInterval, two: EpsilonInterval, *, need_all: bool) -> EpsilonInterval:
    if need_all:
        return (two if two.high > one.high else one)._replace(low=max(one.low, two.low))
    return two if two.low > one.low else one


def _matters(curve: Evaluated, best: Evaluated, found: EpsilonInterval) -> bool:
    """Whether a curve may be above the target where the best one so far is below.

    For an upper bound every curve has to be certified there. For a lower bound the quick estimate
    may have chosen the wrong one, which the middles of loose brackets tell.
    """
    if curve.upper:
        return not curve.below(found.high, LOOSE)
    rough = curve.profile.rough_log_delta(found.low)
    if rough < (1.0 + _FARTHER) * curve.log_target - _HOPELESS:
        return False
    return not curve.below(found.low, LOOSE) and _larger(curve, best, found.low)


def _larger(curve: Evaluated, other: Evaluated, epsilon: float) -> bool:
    """Whether a curve seems to be above another by more than loose brackets can tell."""
    one, two = (c.log_delta(epsilon, width=_FIRST) for c in (curve, other))
    if not math.isfinite(one.low + two.low):
        return one.low > two.low or (one.low == two.low and one.high > two.high)
    return middle(one) > middle(two) + 0.05 * max(one.width, two.width)


def _refine(curve: Evaluated, cap: float, accuracy: Accuracy, start: float) -> EpsilonInterval:
    """Certified ends around the crossing: loose brackets, then tight ones next to it."""
    rtol = accuracy.rtol
    limit = min(cap, LARGEST_EPSILON)
    point = min(max(start, 1e-300), limit)
    if _met_at_zero(curve):
        return EpsilonInterval(0.0, 0.0, 0)
    near = Near(point, slope_of(curve.profile, point, limit), curve.log_delta(point, width=_FIRST))
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
    search = _Search(rtol=rtol, reached=reached, narrow=width, patience=patience, slope=near.slope)
    _bisect(curve, limit, search)
    low, high = curve.ends()
    if low == 0.0 and curve.below(0.0, LOOSE):
        return EpsilonInterval(0.0, 0.0, 0)
    high = cap if high is None else min(high, cap)
    return EpsilonInterval(min(low, high), high, 0)


def _met_at_zero(curve: Evaluated) -> bool:
    """Whether eps = 0 is the answer; narrow brackets only where loose ones leave it open."""
    if curve.profile.rough_log_delta(0.0) >= curve.log_target + _DOUBTFUL:
        return False
    if curve.below(0.0, LOOSE):
        return True
    seen = curve.log_delta(0.0, width=LOOSE)
    return seen.low <= curve.log_target <= seen.high and curve.below(0.0, _AT_ZERO)


def _narrowed(curve: Evaluated, near: Near, accuracy: Accuracy, limit: float) -> tuple[Near, float]:
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
        tight, width = Near(point, near.slope, value), wanted
        if not curve.ends().within(rtol):
            _flank(curve, tight, rtol, limit)
        # The slope is better known afterwards: it may call for brackets narrower still.
        near = _newton(curve, tight, width, limit, rtol=rtol)
    # What gave the brackets so far does for the rest, where nothing narrower does better.
    return near, min(width, _FIRST)


def _aimed(curve: Evaluated, near: Near, width: float, limit: float) -> float:
    """Off the crossing by as much as a bracket of this width needs to be on the claimed side."""
    aimed = near.point + curve.outward * _AIM * width / near.slope
    return min(max(aimed, 0.5 * near.point), limit)


def _newton(curve: Evaluated, near: Near, width: float, limit: float, *, rtol: float) -> Near:
    """Move towards the crossing of the bracket's middle; the slope becomes a secant's.

    The bracket after a last, short step is predicted, not evaluated.
    """
    point, slope, found = near
    for _ in range(_NEWTON):
        if not math.isfinite(found.low) or curve.ends().within(rtol):
            break
        moved, slope = _moved(curve, Near(point, slope, found), limit)
        if width < _FIRST:
            moved = _aimed(curve, Near(moved, slope, found), width, limit)
        step = (moved - point) * slope
        # A second wide bracket costs less than a narrow one that misses.
        short = _SHORT * max(width, found.width)
        if width >= _FIRST:
            short = max(_NEAR_STEP, _WIDE_STEP * found.width)
        if abs(step) <= short:
            error = _SLOPE_ERROR * abs(step)
            return Near(
                moved, slope, LogInterval(found.low - step - error, found.high - step + error)
            )
        after = curve.log_delta(moved, width=width)
        if not math.isfinite(after.low):
            break
        slope = _secant(Near(point, slope, found), moved, after)
        point, found = moved, after
    return Near(point, slope, found)


def _secant(near: Near, moved: float, after: LogInterval) -> float:
    """The slope between two brackets where they tell it, else the one before."""
    if moved == near.point:
        return near.slope
    fallen = middle(near.value) - middle(after)
    slope = fallen / (moved - near.point)
    # Brackets may be narrower than their ends are rounded.
    rounding = 16 * U * (1.0 + abs(after.high))
    told = abs(fallen) >= _BELIEVED * (near.value.width + after.width + rounding)
    likely = near.slope < _LIKELY * slope < _LIKELY**2 * near.slope
    return slope if 0.0 < slope < math.inf and (told or likely) else near.slope


def _moved(curve: Evaluated, near: Near, limit: float) -> tuple[float, float]:
    """Where the estimate, shifted to pass through what is known, meets the target; its slope."""
    point, slope, _ = near
    low, high = 0.5 * point, min(limit, 2.0 * point)
    gap = middle(near.value) - curve.log_target
    moved = min(max(point + gap / slope, low), high)
    shape = curve.shape(near)
    for _ in range(_CORRECTIONS):
        if abs(moved - point) <= _STILL * point:
            break
        secant = (middle(near.value) - shape(moved)) / (moved - point)
        if not 0.3 * slope < secant < 3.0 * slope:
            break
        slope = secant
        moved = min(max(point + gap / slope, low), high)
    return moved, slope


def _flank(curve: Evaluated, near: Near, rtol: float, limit: float) -> None:
    """Loose brackets on either side of narrow ones: the lines through both certify the ends."""
    distance = _FLANK / near.slope
    for point in (near.point + distance, near.point - distance):
        if 0.0 < point < limit and not curve.ends().within(rtol):
            curve.log_delta(point, width=LOOSE)


def _margin(end: float, near: Near, width: float) -> float:
    step = max(end, 0.0) * 1.02 if math.isfinite(end) else 8.0 * width
    return max(step / near.slope, 0.02 * width / near.slope, 4 * U * near.point)


def _push(curve: Evaluated, near: Near, width: float, limit: float, *, up: bool) -> None:
    """Evaluate on one side of the crossing until delta is certainly below, or above, the target."""
    sign, certain = (1.0, curve.below) if up else (-1.0, curve.above)
    end = near.value.high - curve.log_target if up else curve.log_target - near.value.low
    margin = _margin(end, near, width)
    for _ in range(_WIDENINGS if up or math.isfinite(near.value.low) else 1):
        point = near.point + sign * margin
        if not 0.0 < point < limit or certain(point, width):
            break
        margin *= 2.0
    if up and curve.ends().high is None:
        curve.log_delta(limit, width=width)


class _Search(NamedTuple):
    """When it ends: at rtol of eps or at `reached`; after so many undecided points. The slope."""

    rtol: float
    reached: float
    narrow: float
    patience: int
    slope: float


def _side(curve: Evaluated, point: float, widths: Iterable[float]) -> int:
    """1 where delta is certainly below the target, -1 where it is above, 0 where undecided."""
    for width in widths:
        if curve.below(point, width):
            return 1
        if curve.above(point, width):
            return -1
    return 0


class _Crossing(NamedTuple):
    """Where the target is met between brackets on both sides of it; slope and width there."""

    point: float
    slope: float
    width: float

    @classmethod
    def of(cls, curve: Evaluated, slope: float) -> _Crossing | None:
        """On the line through both brackets where they tell it, else by a slope that is given.

        None where one side is not known, or noise has the brackets in the wrong order, or slopes
        are beyond the floats.
        """
        known = {e: v for e, v in curve.known.items() if math.isfinite(v.low)}
        above = [e for e, v in known.items() if middle(v) > curve.log_target]
        left, right = max(above, default=math.inf), min(known.keys() - above, default=0.0)
        if not left < right:
            return None
        slope = _secant(Near(left, slope, known[left]), right, known[right])
        if not 0.0 < slope < math.inf:
            return None
        met = 0.5 * sum(e + (middle(known[e]) - curve.log_target) / slope for e in (left, right))
        if not math.isfinite(met):
            return None
        return cls(met, slope, min(known[left].width, known[right].width))

    def aimed(self, low: float, high: float, rtol: float) -> float:
        """On the side where the end is farther, off the crossing as far as a bracket is wide.

        No nearer than is asked for.
        """
        # An end may be known by a chord, beyond where the brackets' line would have it.
        met = min(max(self.point, low), high)
        up = high - met > met - low
        far, sign = (high, 1.0) if up else (low, -1.0)
        off = max(_AIM * self.width / self.slope, _ENOUGH * rtol * met)
        # Never so near the end that is known that little is gained.
        return met + sign * min(off, _GAINED * abs(far - met))

    def widths(self, point: float, narrow: float) -> tuple[float, ...]:
        """Of the brackets worth asking for at a point."""
        near = abs(point - self.point) * self.slope < _OPEN * LOOSE
        return (narrow,) if near else (LOOSE, narrow)


def _bisect(curve: Evaluated, limit: float, search: _Search) -> None:
    """Close in from certified ends where Newton's steps did not (next to the cap, say).

    By secants, with a halving now and then. A point that a loose bracket leaves undecided is tried
    once more with the narrow one; after a few that stay undecided the search ends there.
    """
    undecided = 0
    for step in range(1, _BISECTIONS + 1):
        low, high = curve.ends()
        top = limit if high is None else high
        if top - low <= max(search.rtol * top, search.reached):
            break
        crossing = _Crossing.of(curve, search.slope)
        point, halved = _middle_of(low, top), True
        widths: tuple[float, ...] = (LOOSE, search.narrow)
        if crossing is not None:
            aimed = crossing.aimed(low, top, search.rtol)
            # What was asked before, or is an end, tells nothing more.
            halved = step % _HALVED == 0 or not low < aimed < top or aimed in curve.known
            point = point if halved else aimed
            widths = crossing.widths(point, search.narrow)
        if _side(curve, point, widths) != 0:
            continue
        undecided += 1
        if undecided >= search.patience:
            break
        # Certified ends may still move in from either side of the undecided middle.
        for beside in (0.5 * (low + point), 0.5 * (point + top)):
            if halved and _side(curve, beside, widths) != 0:
                break


def _middle_of(low: float, high: float) -> float:
    """Of what is left: by ratio where it spans powers of two."""
    return (low * high) ** 0.5 if low > 0.0 and high > 4.0 * low else 0.5 * (low + high)
