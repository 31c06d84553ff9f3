"""Where the quick estimate crosses the target: a proposal, which certifies nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol

from shuffledp.divergence.profile import LARGEST_EPSILON
from shuffledp.propose.roots import bracketed_root

_RELATIVE = 2e-5
_NOTHING_LEFT = 1e6


class Estimated(Protocol):
    """log delta as a function of eps, estimated."""

    def rough_log_delta(self, epsilon: float, *, above: float = ...) -> float:
        """About log delta(eps); where it is far below ``above`` that is all it says."""
        ...


def proposal(profiles: Sequence[Estimated], log_target: float, cap: float) -> tuple[int, float]:
    """The profile that seems to cross last, and where."""
    best, guess = 0, _guess(profiles[0], log_target, cap)
    for i in range(1, len(profiles)):
        if profiles[i].rough_log_delta(guess, above=log_target) > log_target:
            best, guess = i, _guess(profiles[i], log_target, cap, guess)
    return best, guess


def _guess(profile: Estimated, log_target: float, cap: float, start: float = 0.0) -> float:
    """Crossing of the estimate, by sqrt(-log delta), which is nearly linear in eps.

    The estimate is above the target at ``start``, if that is given.
    """
    goal = math.sqrt(-log_target)

    def gap(epsilon: float) -> float:
        if epsilon >= cap:
            return _NOTHING_LEFT
        value = profile.rough_log_delta(epsilon, above=log_target)
        return (math.sqrt(-min(value, 0.0)) if value > -math.inf else _NOTHING_LEFT) - goal

    if gap(start) >= 0.0:
        return start
    low, high = start, min(cap, 1.02 * start if start > 0.0 else 1.0)
    while high < min(cap, LARGEST_EPSILON) and gap(high) < 0.0:
        low, high = high, min(high + 2.0 * (high - start), cap, LARGEST_EPSILON)
    if gap(high) <= 0.0:
        return high
    low = _start(gap, high) if low == 0.0 else low
    near = _RELATIVE * max(low, 1e-16)
    return bracketed_root(gap, low, high, absolute=near, relative=_RELATIVE)


def _start(gap: Callable[[float], float], high: float) -> float:
    """A point with gap <= 0 within a factor of 10 of the root, so that tiny roots stay relative."""
    low = high
    while low > 1e-16 * high:
        low *= 0.1
        if gap(low) <= 0.0:
            return low
    return 0.0
