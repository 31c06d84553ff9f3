"""What an eps of this size means: odds, and how often a guess can be right.

With eps and delta of the whole release, whoever has to tell two neighbouring datasets apart, and
held them for equally likely before, decides rightly with probability at most
(e^eps + delta)/(1 + e^eps), by whatever rule (Kairouz, Oh and Viswanath 2015, Theorem 2.1: the
region of errors is {a + e^eps b >= 1 - delta, e^eps a + b >= 1 - delta}; the sum of both errors is
least where the two lines meet). In odds that is (e^eps + delta)/(1 - delta) to 1.
"""

from __future__ import annotations

import math

from shuffledp.bound import outward

# A few operations in floats, each right to 2^-53: 1e-14 is more than all of them lose.
_PAD = 1e-14
# Above it e^eps is written as a power of ten.
_LARGEST = 30.0
_DIGITS = 4


def right_guesses(epsilon: float | None, delta: float | None) -> float:
    """Upper bound on the probability of a right guess between two equally likely datasets.

    Parameters
    ----------
    epsilon : float or None
        >= 0, in nats; None where none is certified.
    delta : float or None
        In [0, 1].
    """
    if epsilon is None or delta is None:
        return 1.0
    small = math.exp(-epsilon)
    return min((1.0 + delta * small) / (1.0 + small) * (1.0 + _PAD), 1.0)


def local_of(changed: int) -> str:
    """Whose a local guarantee is, where a neighbour's data differ in several users."""
    return "" if changed == 1 else f" for each of the {changed:,} users who may change"


def percent(epsilon: float | None, delta: float | None) -> str:
    """Right guesses in a hundred, rounded up."""
    return outward(
        min(100.0 * right_guesses(epsilon, delta) * (1.0 + _PAD), 100.0), up=True, digits=_DIGITS
    )


def odds(epsilon: float | None, delta: float | None) -> str:
    """The odds of a right guess, to 1, rounded up; "none" where nothing bounds them."""
    if epsilon is None or delta is None or delta >= 1.0:
        return "none"
    if epsilon > _LARGEST:
        # log10 of (e^eps + delta)/(1 - delta), where log(1 + x) <= x.
        logs = epsilon + delta * math.exp(-epsilon) - math.log1p(-delta)
        log = logs / math.log(10.0) * (1.0 + _PAD)
        return "10^" + outward(log, up=True, digits=_DIGITS)
    value = (math.exp(epsilon) + delta) / (1.0 - delta) * (1.0 + _PAD)
    return outward(value, up=True, digits=_DIGITS)
