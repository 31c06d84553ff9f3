"""Numbers that the label-stealing bound leaves free, chosen in floats: nothing here certifies."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from shuffledp.stealing.cases import Case
from shuffledp.stealing.positive_sum import Contour, nodes_of
from shuffledp.stealing.sketch import saddles

# h alpha: e^{(h alpha)^2/2} is what smoothing costs, less than 0.1 % of delta.
_SMOOTHING = 0.04
# Steps against the sum's and the payoff's scales: aliases of e^{-(2 pi/1.2)^2/2} and e^{-2 pi/0.6}.
_SUM_STEP, _PAYOFF_STEP = 1.2, 0.6
# Where no choice has messages enough for a guessed log delta, the guess is halved up to here.
_NEAREST = -4.0

Choices = TypeVar("Choices")


class Proposal(NamedTuple):
    """A choice, a contour for it, and about the log delta they give."""

    choice: Any
    contour: Contour
    log_delta: float


def served(first: Callable[[float], Choices], guess: float) -> tuple[float, Choices]:
    """The guess of log delta, or a nearer one that fewer messages serve, and first choices for it.

    Parameters
    ----------
    first : callable
        First choices for a log delta; nothing (None, or an empty list) where it has none.
    guess : float
        About log delta.
    """
    found = first(guess)
    while not found and guess < _NEAREST:
        guess *= 0.5
        found = first(guess)
    return guess, found


def nothing(choice: Any) -> Proposal:
    """For gains none of which is above 0: any contour will do."""
    return Proposal(choice, contour_of(1.0, 1.0), -math.inf)


def propose(case: Case, epsilon: float, log_target: float, n: int) -> Proposal | None:
    """The best of the choices worth trying; None where there is none.

    Parameters
    ----------
    case : Case
        What the bound is about.
    epsilon : float
        eps > 0 in nats.
    log_target : float
        About log delta at this eps: the empty reservoir must not matter beside it.
    n : int
        Users, the victim included.
    """
    choice = case.first(epsilon, log_target, n)
    if choice is None:
        return None
    best = estimated(case, epsilon, choice, n) or nothing(choice)
    seen = {choice}
    for group in case.varied(choice, epsilon, log_target, n):
        others = [other for other in dict.fromkeys(group(best.choice)) if other not in seen]
        seen.update(others)
        for found in _estimates(case, epsilon, others, n):
            if found is not None and found.log_delta < best.log_delta:
                best = found
    return best


def estimated(case: Case, epsilon: float, choice: Any, n: int) -> Proposal | None:
    """The contour for a choice, and about the log delta it gives; None where there is no saddle."""
    return _estimates(case, epsilon, [choice], n)[0]


def _estimates(case: Case, epsilon: float, choices: Sequence[Any], n: int) -> list[Proposal | None]:
    """Of several choices at once."""
    if not choices:
        return []
    sketches = [case.sketch(epsilon, choice) for choice in choices]
    made: list[Proposal | None] = []
    for choice, sketch, found in zip(choices, sketches, saddles(sketches, n), strict=True):
        if not math.isfinite(found.log_value):
            made.append(None)
            continue
        value, paid = found.log_value, sketch.paid(n)
        total = float(np.logaddexp(value, math.log(paid))) if paid > 0.0 else value
        made.append(Proposal(choice, contour_of(found.alpha, found.within), total))
    return made


def contour_of(alpha: float, within: float) -> Contour:
    """Nodes for a tilt alpha and a sum whose parts vary by ``within`` (a standard deviation)."""
    smoothing = _SMOOTHING / alpha
    step = min(_SUM_STEP / within if within > 0.0 else math.inf, _PAYOFF_STEP * alpha)
    return Contour(alpha, smoothing, step, nodes_of(smoothing, step))
