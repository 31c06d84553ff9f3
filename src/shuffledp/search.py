"""The search of all solvers: the last value on a scale that meets a target, and the next one.

delta is monotone in the value searched for. Values are compared with the target by certified upper
ends of log delta. sqrt(-log delta) is nearly linear in the log of eps0, noise, users or rounds, so
that chords of it tell where to look. Only a value whose own certified end met the target is
returned.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from shuffledp.errors import NotCertified, ParameterError

__all__ = ["Crossing", "first_good", "least_epsilon", "search", "towards"]

Upper = Callable[[float], float]

_STEPS = 200
# Factor of a step while all values are on one side, the same from a start that is nearly right, and
# the largest ratio of a bracket's ends at which its chord tells where the target is.
_STRIDE, _NEAR, _WIDE = 2.0, 1.1, 1.5
# Number of successive chords that may leave more than half of a bracket before it is halved.
_PATIENCE = 2
# Offset from the chord's crossing: a share of the bracket, and less in narrow brackets.
_ASIDE, _BENT = 0.02, 0.25
# Least eps tried, and the distance of the two final eps as a share of the requested width.
_SMALLEST, _SHARE_OF_WIDTH = 1e-12, 0.2
# Relative accuracy of a start from estimates.
_PROPOSED = 1e-2


class Crossing(NamedTuple):
    """A value that meets the target and a value beyond it that does not, with their log delta.

    ``beyond`` is None if all values of the range meet the target.
    """

    value: float
    log_delta: float
    beyond: float | None
    log_delta_beyond: float | None


def search(
    log_upper: Upper,
    log_target: float,
    *,
    private: float,
    open_end: float,
    apart: float,
    start: float | None = None,
    estimate: Upper | None = None,
    unknown: float = 1.0,
    whole: bool = False,
) -> Crossing | None:
    """The last value from the private end on that meets the target; None if that end does not.

    Parameters
    ----------
    log_upper : callable
        Value -> certified upper end of log delta. It has to increase from the private end on.
    log_target : float
        The target log delta.
    private, open_end : float
        Ends of the range, both positive; delta is least at ``private``.
    apart : float
        Requested relative distance of the two values.
    start : float, optional
        A value at which the target is nearly met.
    estimate : callable, optional
        An estimate of ``log_upper``, not certified: it finds a start if none is given.
    unknown : float
        The start if none is known.
    whole : bool
        Whether values are whole numbers: two successive ones are near enough, whatever ``apart``
        is.
    """
    if start is None and estimate is not None:
        ends = private, open_end
        start = _proposed(estimate, log_target, *ends, unknown=unknown, whole=whole)
    seen: dict[float, float] = {}

    def met(value: float) -> bool:
        if value not in seen:
            seen[value] = log_upper(value)
        return seen[value] <= log_target

    first = first_good(
        met, seen, log_target, start, private, open_end, unknown=unknown, whole=whole
    )
    if first is None:
        return None
    good, bad = first, next((v for v in reversed(seen) if seen[v] > log_target), None)
    step = _STRIDE if start is None else _nearness(seen[good], log_target)
    while bad is None and good != open_end:
        value = towards(good, open_end, step, whole=whole)
        good, bad = (value, None) if met(value) else (good, value)
        step = min(step * step, _STRIDE)
    if bad is not None:
        good, bad = _narrowed(met, seen, log_target, good, bad, apart, whole=whole)
    return Crossing(good, seen[good], bad, None if bad is None else seen[bad])


def least_epsilon(
    log_upper: Upper, log_target: float, *, start: float, cap: float, rtol: float
) -> Crossing | None:
    """An eps close to the least that meets a target; None if none up to the cap does.

    Parameters
    ----------
    log_upper : callable
        eps -> certified upper end of log delta; non-increasing in eps up to its own width.
    log_target : float
        The target log delta.
    start : float
        The first eps, > 0.
    cap : float
        The largest eps that is tried.
    rtol : float
        Requested relative width.
    """
    return search(
        log_upper,
        log_target,
        private=cap,
        open_end=_SMALLEST,
        apart=_SHARE_OF_WIDTH * rtol,
        start=start,
    )


def _proposed(
    estimate: Upper,
    log_target: float,
    private: float,
    open_end: float,
    *,
    unknown: float,
    whole: bool,
) -> float | None:
    """An estimate of the last value that meets the target; None if estimates give none."""
    try:
        found = search(
            estimate,
            log_target,
            private=private,
            open_end=open_end,
            apart=_PROPOSED,
            unknown=unknown,
            whole=whole,
        )
    except (NotCertified, ParameterError):
        return None
    return None if found is None else found.value


def first_good(
    met: Callable[[float], bool],
    seen: dict[float, float],
    log_target: float,
    start: float | None,
    private: float,
    open_end: float,
    *,
    unknown: float = 1.0,
    whole: bool = False,
) -> float | None:
    """A value that meets the target: the start if it does, else one nearer to the private end."""
    low, high = min(private, open_end), max(private, open_end)
    value = min(max(unknown if start is None else start, low), high)
    value = round(value) if whole else value
    step = _STRIDE if start is None else 0.0
    for _ in range(_STEPS):
        if met(value):
            return value
        if value == private:
            return None
        step = step or _nearness(seen[value], log_target)
        value, step = towards(value, private, step, whole=whole), min(step * step, _STRIDE)
    return None


def towards(value: float, end: float, factor: float, *, whole: bool = False) -> float:
    """The value moved towards the end by a factor, but not beyond the end."""
    moved = value * factor if end > value else value / factor
    if whole:
        moved = max(round(moved), value + 1) if end > value else min(round(moved), value - 1)
    return min(moved, end) if end > value else max(moved, end)


def _nearness(log_upper: float, log_target: float) -> float:
    """Factor of the first step from a start: a little more than its distance from the target."""
    if not -math.inf < log_upper < 0.0:
        return _NEAR
    goal = math.sqrt(-log_target)
    off = abs(math.sqrt(-log_upper) - goal) / goal
    return min(_WIDE, 1.0 + 2.0 * max(off, 1e-6))


def _narrowed(
    met: Callable[[float], bool],
    seen: dict[float, float],
    log_target: float,
    good: float,
    bad: float,
    apart: float,
    *,
    whole: bool,
) -> tuple[float, float]:
    """Narrow the bracket: by chords as long as they help, otherwise by bisection."""
    # A chord tells little on a wide bracket, or after two chords with little gain.
    stuck = _PATIENCE if abs(math.log(bad / good)) > math.log(_WIDE) else 0
    for _ in range(_STEPS):
        wide = abs(bad / good - 1.0)
        if wide <= apart or (whole and abs(bad - good) <= 1):
            break
        halve = stuck >= _PATIENCE
        share = 0.5 if halve else _share(seen[good], seen[bad], log_target, wide)
        middle = good * (bad / good) ** share
        # Keep half of the requested width away from both ends.
        edge = max(0.5 * apart * good, 1.0 if whole else 0.0)
        low, high = min(good, bad) + edge, max(good, bad) - edge
        middle = min(max(middle, low), high) if low < high else 0.5 * (good + bad)
        middle = math.floor(middle) if whole else middle
        if middle in (good, bad):
            break
        good, bad = (middle, bad) if met(middle) else (good, middle)
        stuck = 0 if halve or abs(bad / good - 1.0) < 0.5 * wide else stuck + 1
    return good, bad


def _share(log_good: float, log_bad: float, log_target: float, wide: float) -> float:
    """Where the chord of sqrt(-log delta) meets the target, moved slightly to one side."""
    high, low = (math.sqrt(-min(log, 0.0)) for log in (log_good, log_bad))
    if not (math.isfinite(high) and high > low):
        return 0.5
    share = (high - math.sqrt(-log_target)) / (high - low)
    # Alternating sides cut off most of the rest. The chord's error is about the square of the
    # bracket's relative width.
    share += min(_ASIDE, _BENT * wide) * (0.5 - share)
    return min(max(share, 0.0), 1.0)
