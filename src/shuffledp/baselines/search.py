"""From delta to eps by repeated halving of [0, eps0], as the papers' programs do it."""

from __future__ import annotations

from collections.abc import Callable

HALVINGS = 20


def halved_epsilon(
    delta_at: Callable[[float], float], delta: float, *, cap: float, halvings: int = HALVINGS
) -> float:
    """The upper end of the interval that is left after halving [0, cap] a fixed number of times.

    With 20 halvings it is cap * 2^-20 wide, whatever eps itself is: an absolute, not a relative
    accuracy.

    Parameters
    ----------
    delta_at : callable
        eps -> delta, non-increasing.
    delta : float
        Target.
    cap : float
        eps at which delta is known to be below the target: the local guarantee.
    halvings : int
        How often.
    """
    low, high = 0.0, cap
    for _ in range(halvings):
        middle = 0.5 * (low + high)
        if delta_at(middle) <= delta:
            high = middle
        else:
            low = middle
    return high
