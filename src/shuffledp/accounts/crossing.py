"""From a target delta to eps, of a curve that is evaluated point by point."""

from __future__ import annotations

import math
from collections.abc import Callable

# Evaluations, at the most; what eps grows by while nothing is met.
_MOST, _GROWTH = 60, 1.5


def crossing(
    log_delta: Callable[[float], float],
    log_target: float,
    *,
    start: float,
    cap: float,
    rtol: float,
) -> tuple[float, float] | None:
    """An eps that was evaluated with log delta of at most the target, and how near it is.

    Secants in log eps between a point that misses the target and one that meets it.

    Parameters
    ----------
    log_delta : callable
        A certified upper end at an eps; falls in eps up to its own width.
    log_target : float
        log of the target.
    start : float
        Where to begin, > 0.
    cap : float
        No eps beyond it is tried: what is known without.
    rtol : float
        Relative width wanted.

    Returns
    -------
    tuple of two floats, or None
        eps, and eps/(largest point that was seen to miss the target) - 1; None where none below
        the cap meets it.
    """
    gap = lambda epsilon: log_delta(epsilon) - log_target  # noqa: E731
    low, high = 0.0, min(start, cap)
    below, above = math.inf, gap(high)
    while above > 0.0:
        if high >= cap:
            return None
        low, below = high, above
        high = min(high * _GROWTH, cap)
        above = gap(high)
    for count in range(_MOST):
        if high <= low * (1.0 + rtol) or high <= 1e-12:
            break
        middle = _between((low, below), (high, above), rtol, halve=count % 4 == 3)
        if not low < middle < high:
            break
        value = gap(middle)
        if value > 0.0:
            low, below = middle, value
        else:
            high, above = middle, value
    return high, (high / low - 1.0 if low > 0.0 else math.inf)


def _between(
    low: tuple[float, float], high: tuple[float, float], rtol: float, *, halve: bool
) -> float:
    """Where a line through both gaps says that there is none, a little to the side that meets."""
    left, right = low[0], high[0]
    if left == 0.0:
        return 0.5 * right
    if halve or not (math.isfinite(low[1]) and math.isfinite(high[1])):
        return math.sqrt(left * right)
    share = low[1] / max(low[1] - high[1], 1e-300)
    width = math.log(right / left)
    step = share * width + 0.3 * rtol
    return left * math.exp(min(max(step, 0.3 * rtol), max(width - 0.3 * rtol, 0.5 * width)))
