"""Ends of sums with what a certificate's reader needs to recompute them.

A verifier runs the same functions again, with more bits.
"""

from __future__ import annotations

import math
from dataclasses import replace

from shuffledp import theorems
from shuffledp.bound import Bound
from shuffledp.randomizers import Gaussian
from shuffledp.rounds import compose, stated
from shuffledp.views.datasets import Quantity, local_guarantee, one_coordinate, searched
from shuffledp.views.sums import Sums

__all__ = ["certified", "log_upper"]


def certified(view: Sums, *, quantity: Quantity, value: float) -> Bound:
    """eps (or delta) of sums, with the values that ``shuffledp verify`` recomputes.

    Parameters
    ----------
    view : Sums
        What is added up, and how often.
    quantity : {"epsilon", "delta"}
        What is bounded.
    value : float
        What is held fixed: delta for "epsilon", eps for "delta".
    """
    if isinstance(view.mechanism, Gaussian):
        return _normal(view, quantity, value)
    return searched(view, quantity=quantity, value=value)


def log_upper(view: Sums, *, epsilon: float, log_target: float) -> float:
    """log of the certified upper end of delta alone: for solvers, which need no lower end.

    Parameters
    ----------
    view : Sums
        What is added up, and how often.
    epsilon : float
        eps >= 0 in nats.
    log_target : float
        log of the delta that is looked for: curves are followed as far as that takes.
    """
    if epsilon >= local_guarantee(view):
        return -math.inf
    if isinstance(view.mechanism, Gaussian) or view.changed == 1:
        found = certified(view, quantity="delta", value=epsilon)
        return 0.0 if found.log_upper is None else found.log_upper
    times = view.changed
    part = stated(one_coordinate(view), log_target=log_target, rounds=times, lower=False)
    found = compose([(part, times)]).delta(epsilon=epsilon)
    return 0.0 if found.log_upper is None else found.log_upper


def _normal(view: Sums, quantity: Quantity, value: float) -> Bound:
    found = view.epsilon(delta=value) if quantity == "epsilon" else view.delta(epsilon=value)
    words = {"analysis": "sum-of-normals"}
    # T rounds are one of sqrt(T) times the distance: the same theorem.
    return replace(
        found,
        upper_theorem=theorems.SUM_OF_NORMALS,
        lower_theorem=theorems.SUM_OF_NORMALS if found.lower_theorem is not None else None,
        witness={"upper": words, "lower": words if found.lower_theorem is not None else {}},
    )
