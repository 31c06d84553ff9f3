"""Where the nodes may end, and a bound on what lies beyond."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from shuffledp.contour.payoff import Payoff

# Windows of |phi| reach from t to RATIO t.
RATIO = 1.3
# e^-700 is a float, and so is e^700 times what it is multiplied by.
_LARGEST_EXPONENT = 700.0


class Stop(NamedTuple):
    """The last node, the smoothing, and bounds on what lies beyond the last node.

    ``rest_upper`` and ``rest_lower`` bound the integrals of the modulus of the upper and the lower
    integrand beyond it (a sum of step-wide columns too), divided by e^{h^2 kappa(alpha)/2} and by
    the largest modulus of the transform.
    """

    edge: float
    smoothing: float
    rest_upper: float
    rest_lower: float


def smoothed_away(
    payoff: Payoff, alpha: float, h: float, cut: float, step: float = 0.0
) -> tuple[float, float]:
    """Integrals beyond ``cut``, where e^{-h^2 t^2/2} is all that makes the integrand small.

    Where ``cut`` is not a node a sum of step-wide columns may begin up to one ``step`` before it.
    """
    smallness = math.exp(-min(0.5 * (h * cut) * (h * cut), _LARGEST_EXPONENT))
    far = smallness * (1.0 / (h * h * cut) + step)
    kernel = payoff.modulus(alpha, cut)
    return far * kernel, far * (kernel + payoff.lowering(h))


def stop_by_windows(
    payoff: Payoff,
    alpha: float,
    windows: Sequence[tuple[float, float]],
    *,
    smoothing: float,
    step: float,
    budget: float,
) -> Stop | None:
    """Stop as early as all windows beyond cost less than ``budget``; None where not even the last.

    Parameters
    ----------
    windows : sequence of (t, log size)
        Upper bounds of the log of the transform's modulus, in units of the scale, on
        [t, RATIO t]; each begins where the one before ends.
    """
    cut = windows[-1][0] * RATIO
    h = smoothing
    upper, lower = smoothed_away(payoff, alpha, h, cut, step)
    edge = cut
    for t, log_size in reversed(windows):
        # Where the bound says nothing it is beyond any budget.
        size = math.exp(min(log_size, _LARGEST_EXPONENT)) * (1.0 + 1e-9)
        kernel = payoff.modulus(alpha, t)
        length = (RATIO - 1.0) * t
        # The integral of 1/t^2, where that is less.
        reach = min(length, 1.0 / t - 1.0 / (RATIO * t)) if t > 1.0 else length * kernel
        reach = min(reach, length * kernel)
        more_upper = size * (reach + step * kernel)
        more_lower = more_upper + size * payoff.lowering(h) * (length + step)
        if upper + more_upper > budget:
            break
        upper, lower, edge = upper + more_upper, lower + more_lower, t
    return Stop(edge, h, upper, lower) if edge < cut else None
