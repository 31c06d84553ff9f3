"""From a formula for eps(delta) to delta(eps) and back; what is returned was itself evaluated."""

from __future__ import annotations

import math
from collections.abc import Callable

from shuffledp.errors import NotCertified

_SMALLEST_LOG_DELTA = -690.0
_HALVINGS = 60
_RELATIVE = 1e-12


def log_delta_of(epsilon_at: Callable[[float], float], epsilon: float) -> float:
    """log of about the smallest delta at which a formula for eps(delta) gives at most ``epsilon``.

    Parameters
    ----------
    epsilon_at : callable
        delta -> certified eps; raises NotCertified outside its domain.
    epsilon : float
        Target in nats.

    Raises
    ------
    NotCertified
        If no delta below 1 gives as little as ``epsilon``.
    """

    def holds(log_delta: float) -> bool:
        try:
            return epsilon_at(math.exp(log_delta)) <= epsilon
        except NotCertified:
            return False

    good = next((top for top in _STARTS if holds(top)), None)
    if good is None:
        msg = f"epsilon = {epsilon!r}: this formula gives no delta below 1 at so small an eps here"
        raise NotCertified(msg)
    bad = _SMALLEST_LOG_DELTA
    if holds(bad):
        return _rounded(bad)
    for _ in range(_HALVINGS):
        middle = 0.5 * (good + bad)
        if good - bad <= _RELATIVE * abs(middle):
            break
        if holds(middle):
            good = middle
        else:
            bad = middle
    return _rounded(good)


def epsilon_of(log_delta_at: Callable[[float], float], log_target: float, *, cap: float) -> float:
    """About the smallest eps <= cap at which a formula for log delta(eps) is at most the target.

    Raises
    ------
    NotCertified
        If there is none below ``cap`` (or below 300 where ``cap`` is infinite).
    """
    slack = 4 * 2.0**-53 * (1.0 + abs(log_target))

    def holds(epsilon: float) -> bool:
        try:
            return log_delta_at(epsilon) <= log_target - slack
        except NotCertified:
            return False

    limit = min(cap, _LARGEST_EPSILON)
    good = next((limit * part for part in _BELOW if holds(limit * part)), None)
    if good is None:
        msg = "delta: this formula reaches the target at no eps below the local guarantee"
        raise NotCertified(msg)
    bad = good
    while bad > 1e-15 * good and holds(bad):
        good, bad = bad, 0.25 * bad
    for _ in range(_HALVINGS):
        middle = 0.5 * (good + bad)
        if good - bad <= _RELATIVE * good:
            break
        if holds(middle):
            good = middle
        else:
            bad = middle
    return good


def _rounded(log_delta: float) -> float:
    """exp(log_delta) was rounded before the formula saw it."""
    return log_delta + 8 * 2.0**-53 * (1.0 + abs(log_delta))


_LARGEST_EPSILON = 300.0
# Some formulas hold only below the local guarantee, some only at larger delta.
_BELOW = (1.0, 1.0 - 1e-12, 1.0 - 1e-9, 1.0 - 1e-6, 1.0 - 1e-3, 0.99, 0.9, 0.5)
_STARTS = tuple(math.log(d) for d in (0.999, 0.5, 0.1, 1e-2, 1e-3, 1e-4, 1e-6, 1e-9, 1e-15, 1e-30))
