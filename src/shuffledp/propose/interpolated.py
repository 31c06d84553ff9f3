"""A smooth function by cubics through few of its values, for estimates that take long."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

# Distance of knots in log eps. Where log delta is about -c eps^2, cubics err by 1e-3 of it. At
# larger distances, the outer knots lie where delta is far smaller than anything asked for.
_STEP = 0.25


class Interpolated:
    """An approximation of a function of eps, by cubics in log eps through four knots around it.

    At eps = 0, and where a knot's value is infinite, the function itself is evaluated.

    Parameters
    ----------
    function : callable
        A function of eps >= 0.
    """

    def __init__(self, function: Callable[[float], float]) -> None:
        self._function = function
        self._known: dict[float, float] = {}

    def __call__(self, epsilon: float) -> float:
        """An approximation of the function's value at an eps."""
        if not 0.0 < epsilon < math.inf:
            return self._at(epsilon)
        place = math.log(epsilon) / _STEP
        first = math.floor(place) - 1
        values = [self._at(math.exp(_STEP * (first + k))) for k in range(4)]
        if all(map(math.isfinite, values)):
            return _cubic(values, place - first)
        return values[0] if all(value == values[0] for value in values) else self._at(epsilon)

    def _at(self, epsilon: float) -> float:
        if epsilon not in self._known:
            self._known[epsilon] = self._function(epsilon)
        return self._known[epsilon]


def _cubic(values: Sequence[float], t: float) -> float:
    """The value at t of the cubic with these values at 0, 1, 2 and 3."""
    weights = (
        -(t - 1.0) * (t - 2.0) * (t - 3.0) / 6.0,
        t * (t - 2.0) * (t - 3.0) / 2.0,
        -t * (t - 1.0) * (t - 3.0) / 2.0,
        t * (t - 1.0) * (t - 2.0) / 6.0,
    )
    return math.fsum(w * v for w, v in zip(weights, values, strict=True))


__all__ = ["Interpolated"]
