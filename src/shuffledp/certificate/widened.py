"""Claims about a declared shuffler, or several users changed at once, as claims about one user.

With a = e^eps, K = k eps0, g the distance times the orders that matter, delta_1 one user's delta
behind a uniform order,

    (1 - 2 g) G delta_1(eps/k) + 2 g (e^K - a)/(e^K + 1) <= delta,   G = (a - 1)/(a^(1/k) - 1) .

docs/theory-shufflers.md, Theorems 1.1 and 5.1.
"""

from __future__ import annotations

import math

from shuffledp.arithmetic.balls import arb, ctx, float_above, float_below
from shuffledp.errors import NotCertified

__all__ = ["Target", "one_user"]

# Working precision, in bits: many more than the distance of two floats asks for.
_BITS = 256
# Floats below and above the log of a delta.
Target = tuple[float, float]


def one_user(
    epsilon: float,
    targets: Target,
    *,
    changed: int,
    distance: float,
    guarantee: float | None,
) -> tuple[float, Target] | None:
    """Where one user's delta has to be below what, for an upper end of the setting to hold.

    Parameters
    ----------
    epsilon : float
        eps of the claim, >= 0.
    targets : tuple of two floats
        Logarithms just below and above the delta that is claimed; may be -inf.
    changed : int
        Users who change.
    distance : float
        Total variation of all orders that matter from uniform ones, at most.
    guarantee : float or None
        eps0 of one report, where one is known.

    Returns
    -------
    tuple of a float and two floats, or None
        eps of a step, rounded down; the logarithms there, the first rounded down and the second
        up. None if the distance alone costs more than is claimed.

    Raises
    ------
    NotCertified
        If the distance is 1/2 or more, or costs about what is claimed.
    """
    k, step = changed, epsilon
    with ctx.workprec(_BITS):
        if k > 1:
            step = max(float_below(arb(epsilon) / k), 0.0)
        a, one, g = arb(epsilon).exp(), arb(step).exp(), arb(distance)
        factor = (one**k - 1) / (one - 1) if step > 0.0 and k > 1 else arb(k)
        if distance == 0.0:
            factor_log = factor.log()
            low, high = (target - factor_log for target in map(_ball, targets))
            return step, (float_below(low), float_above(high) if high.is_finite() else targets[1])
        if not g < arb("0.5"):
            raise NotCertified("an order that far from uniform")
        left = arb(1)
        if guarantee is not None:
            grown = (arb(guarantee) * k).exp()
            left = (grown - a) / (grown + 1)
            if not left > 0:
                left = arb(0)
        low, high = ((_ball(t).exp() - 2 * g * left) / (1 - 2 * g) for t in targets)
        if high < 0:
            return None
        if not low > 0:
            raise NotCertified("the distance from uniform costs about what is claimed")
        return step, (float_below((low / factor).log()), float_above((high / factor).log()))


def _ball(log: float) -> arb:
    """A logarithm as a ball; far below every float for that of 0."""
    return arb(log) if math.isfinite(log) else arb(-1e18)
