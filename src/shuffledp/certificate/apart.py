"""How far a number is from the one that is claimed, in words."""

from __future__ import annotations

import math

# From here on the one is so many times the other.
_TIMES = math.log(2.0)


def apart(what: str, log_found: float, log_claimed: float) -> str:
    """By which part of the claim a delta differs from it, or how many times one is the other.

    Parameters
    ----------
    what : str
        What was found.
    log_found, log_claimed : float
        Natural logarithms; -inf of 0.
    """
    if log_found == -math.inf:
        return f"{what} 0"
    if log_claimed == -math.inf:
        return f"{what} above the claim, which is 0"
    between = log_found - log_claimed
    if abs(between) <= _TIMES:
        side = "above" if between > 0.0 else "below"
        return f"{what} {math.expm1(abs(between)):.1e} {side} the claim"
    times = f"{math.exp(min(700.0, abs(between))):.1e} times"
    if between > 0.0:
        return f"{what} {times} the claim"
    return f"{what} less than the claim, which is {times} as large"
