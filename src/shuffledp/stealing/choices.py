"""Numbers that the label-stealing bound leaves free, and how large a reservoir has to be."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

# The empty reservoir may cost this share of delta.
_TAIL = 0.002
# Reservoirs that are tried, against the smallest that keeps the empty one from mattering.
LARGER = (5.0, 2.0, 1.0, 15.0)
# The share of the blanket a reservoir may have: at 1 the labelled part of a type whose law is the
# blanket somewhere would have gains without bound.
MOST = 0.97


class Cut(NamedTuple):
    """One share of the blanket, one probability to join, and gains cut at a ceiling.

    Attributes
    ----------
    kappa : float
        beta = kappa B.
    theta : float
        Probability with which the victim joins the reservoir.
    ceiling : float
        Gains above it count as it, the rest as lost.
    """

    kappa: float
    theta: float
    ceiling: float

    def scaled(self, factor: float) -> Cut:
        """With a reservoir so much larger; theta makes both parts' gains alike, and grows too."""
        return self._replace(
            kappa=min(factor * self.kappa, MOST), theta=min(factor * self.theta, 1.0)
        )


Variations = Sequence[Callable[[Any], Iterable[Any]]]


def least_share(blanket: float, log_target: float, n: int) -> float:
    """The share of the blanket that leaves no other user in it with probability 0.002 delta."""
    if blanket <= 0.0:
        return math.inf
    return -math.expm1((log_target + math.log(_TAIL)) / (n - 1)) / blanket
