"""The root of a function of one variable in a bracket.

Here, as SciPy's own costs a command a quarter of its time: ``scipy.optimize`` imports its sparse,
linear and spatial packages. Roots only propose; no certified number rests on one.
"""

from __future__ import annotations

import math
from collections.abc import Callable

_RELATIVE = 2.0**-50  # four units in the last place: as near as a bracket of floats closes
_MOST = 400  # a bisection from 2^1024 to 2^-1074 is two hundred steps; some steps are not one


def bracketed_root(
    function: Callable[[float], float],
    low: float,
    high: float,
    *,
    absolute: float,
    relative: float = _RELATIVE,
) -> float:
    """A root of a continuous function between two points where its signs differ.

    Inverse quadratic interpolation where three values look like a monotone function's, else
    bisection: Chandrupatla, Advances in Engineering Software 28 (1997). Values may be infinite.

    Parameters
    ----------
    function : callable
        Its values are never NaN.
    low, high : float
        Ends of the bracket, in either order; finite.
    absolute, relative : float
        The root is known to within absolute + relative |root| when the search ends.

    Returns
    -------
    float
        Where the last values put the root in the last bracket: of a smooth function that is far
        nearer than the bracket is wide.

    Raises
    ------
    ValueError
        If the function has the same sign at both ends.
    """
    a, b = high, low
    at_a, at_b = function(a), function(b)
    if at_a == 0.0 or at_b == 0.0:
        return a if at_a == 0.0 else b
    if (at_a > 0.0) == (at_b > 0.0):
        raise ValueError(f"the same sign at both ends, {low!r} and {high!r}")
    best, share = b, 0.5
    for _ in range(_MOST):
        inner = a + share * (b - a)
        at_inner = function(inner)
        same = (at_inner > 0.0) == (at_a > 0.0)
        # a is the newest point, b beyond the root, c the one that went.
        c, at_c = (a, at_a) if same else (b, at_b)
        if not same:
            b, at_b = a, at_a
        a, at_a = inner, at_inner
        best, at_best = (a, at_a) if abs(at_a) < abs(at_b) else (b, at_b)
        if at_best == 0.0:
            return best
        room = 0.5 * (absolute + relative * abs(best)) / abs(b - a)
        share = _share((a, b, c), (at_a, at_b, at_c))
        if room >= 0.5:
            return a + share * (b - a)
        share = min(max(share, room), 1.0 - room)
    return best


def _share(points: tuple[float, float, float], values: tuple[float, float, float]) -> float:
    """Where on the way from a to b the inverse parabola has its root; the middle if it may not."""
    a, b, c = points
    at_a, at_b, at_c = values
    if not all(map(math.isfinite, values)) or at_c in (at_a, at_b):
        return 0.5
    xi = (a - b) / (c - b)
    phi = (at_a - at_b) / (at_c - at_b)
    if not (phi * phi < xi and (1.0 - phi) ** 2 < 1.0 - xi):
        return 0.5
    first = at_a / (at_b - at_a) * (at_c / (at_b - at_c))
    second = (c - a) / (b - a) * (at_a / (at_c - at_a)) * (at_b / (at_c - at_b))
    return first + second
