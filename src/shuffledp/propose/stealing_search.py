"""The search for free numbers of label stealing at one eps: from scratch, or from the last ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from shuffledp.propose.simplex import least
from shuffledp.propose.stealing import SMOOTHING, Array, Floats, Plan, Planner

__all__ = ["best_plan", "first_plan", "is_few"]

# The reservoir's share of the blanket from which numbers are searched for all at once; chosen
# between 0.02 and 0.2 where one number after the other began to lose more than 1e-3 of eps.
_FEW = 0.06
# Nobody else is in the first reservoir with probability delta e^-6.
_DEEPER = 6.0
# Evaluations of the search for all numbers at once.
_CALLS = 150
# What is less, in log delta, is no gain.
_GAIN = 1e-5
# Factors by which a number is changed, from scratch and from the last ones; of constants.
_COARSE, _FINE, _CONSTANT = (2.0, 1.3, 1.1), (1.3, 1.1), (1.6, 1.2, 1.06)
# A reservoir where outputs say something, against that where they say nothing.
_LOUD = 1e-4
# Where few are hidden by few: sizes of the reservoir against the first, what of it there is where
# g < 0, and labels that it is tuned to.
_SIZES, _AGAINST, _LIKELY = (0.7, 1.5, 3.0, 6.0, 12.0), (1.0, 0.2, 0.03), 3
# Halvings of the weight of another label.
_HALVINGS = 6
# The first h alpha where psi may come back to 1, and others.
_SMOOTH, _SMOOTHS = SMOOTHING, (0.05, 0.2)
# First ceilings of gains, times sqrt(2/(n chi)).
_CEILINGS = 10.0 ** np.arange(-2.5, 1.0, 0.5)


def best_plan(
    case: Floats,
    n: int,
    eps: float,
    log_delta: float,
    last: Plan | None = None,
    *,
    polish: bool = True,
) -> Plan:
    """The best free numbers that are found.

    Parameters
    ----------
    case : Floats
        The pair.
    n : int
        Users.
    eps, log_delta : float
        Where, and about how small delta is there.
    last : Plan, optional
        Where to begin.
    polish : bool
        Whether, where few are hidden by few, all numbers are searched at once.
    """
    made, few = Planner(case, n, eps), is_few(case, n, log_delta)
    few = few or case.unbounded
    if last is not None:
        best = _searched(made, made.changed(last), _FINE)
    elif case.tuned:
        starts = [_from_scratch, _from_grid] if few else [_from_scratch]
        hidden = hidden_share(n, log_delta)
        best = min((_searched(made, start(made, hidden), _COARSE) for start in starts), key=_value)
    else:
        best = _searched(made, _of_constants(made, hidden_share(n, log_delta)), _CONSTANT)
    if case.tuned:
        best = _mixed(made, best)
    if few and polish:
        best = _polished(made, best)
    return _polished(made, best) if few and polish and not case.unbounded else best


def first_plan(case: Floats, n: int, eps: float, log_delta: float) -> Plan:
    """Numbers to begin with, not searched."""
    made, hidden = Planner(case, n, eps), hidden_share(n, log_delta)
    if not case.tuned:
        return _of_constants(made, hidden)
    return min((made.plan(*start, smooth=_SMOOTH) for start in _starts(made, hidden)), key=_value)


def is_few(case: Floats, n: int, log_delta: float) -> bool:
    """Whether few are hidden by few, so that numbers of one eps are of little use at another."""
    return hidden_share(n, log_delta) > _FEW * case.blanket.sum()


def hidden_share(n: int, log_delta: float) -> float:
    """So many that the reservoir is empty with probability delta e^-6."""
    return min(-math.expm1((min(log_delta, -0.1) - _DEEPER) / (n - 1)), 0.5)


def _value(plan: Plan) -> float:
    return plan.value


def _starts(made: Planner, hidden: float) -> list[tuple[Array, Array]]:
    """The label of the largest spread; a reservoir of all outputs, or of those that say nothing."""
    case = made.case
    weights = np.zeros(case.spreads.size)
    weights[case.order[0]] = 1.0
    starts = [np.full(3, hidden)]
    quiet = float((weights @ case.other)[made.signs[case.parts] == 0].sum())
    if quiet > 1e-6:
        starts.append(hidden * np.array([1.0 / quiet, _LOUD, _LOUD]))
    return [(start, weights) for start in starts]


def _from_scratch(made: Planner, hidden: float) -> Plan:
    """The better start, with a reservoir of the best size."""
    found = (made.plan(*start, smooth=_SMOOTH) for start in _starts(made, hidden))
    return min((_scaled(made, plan, 1.5) for plan in found), key=_value)


def _from_grid(made: Planner, hidden: float) -> Plan:
    """Sizes of the reservoir, less of it where g < 0, tuned to one of some labels or to all."""
    likely = made.case.order[:_LIKELY]
    weights = [np.eye(made.case.spreads.size)[j] for j in likely]
    weights = [*weights, sum(weights) / len(weights)] if len(weights) > 1 else weights
    sizes = [x * np.array([1.0, 1.0, y]) for x in _SIZES for y in _AGAINST]
    found = (made.plan(hidden * x, w, smooth=_SMOOTH) for x in sizes for w in weights)
    return min(found, key=_value)


def _of_constants(made: Planner, hidden: float) -> Plan:
    """kappa B, theta = kappa, and a ceiling where gains have no bound."""
    case = made.case
    share = hidden / float(case.blanket.sum())
    # Times sqrt(n chi/2); a spread that floats hold as 0 has no ceilings.
    unit = math.sqrt(0.5 * made.n * float(case.spreads.max()))
    tops = [math.inf, *(_CEILINGS * unit)] if case.unbounded and unit > 0.0 else [math.inf]
    sizes = [share, 0.95] if share > _FEW else [share]
    found = (made.plan([k], [1.0], smooth=_SMOOTH, ceiling=top) for k in sizes for top in tops)
    return min(found, key=_value)


def _climb(
    made: Planner, best: Plan, change: Callable[[Plan, float], Any], factors: tuple[float, ...]
) -> Plan:
    """A change by a factor, or by its inverse, as long as that helps."""
    for factor in factors:
        while True:
            trial = made.changed(best, **change(best, factor))
            if not trial.value < best.value - _GAIN:
                break
            best = trial
    return best


def _scaled(made: Planner, best: Plan, factor: float) -> Plan:
    """All kappas at once."""

    def change(plan: Plan, x: float) -> dict[str, Any]:
        return {"kappas": np.array(plan.kappas) * x}

    return _climb(made, best, change, (factor, 1.0 / factor))


def _searched(made: Planner, best: Plan, factors: tuple[float, ...]) -> Plan:
    """The size of the reservoir, then one number after the other with this size kept."""
    tuned = made.case.tuned
    changes = [_sign_change(made, int(i)) for i in np.unique(made.signs)] if tuned else [_theta]
    if math.isfinite(best.ceiling):
        changes = [*changes, lambda plan, x: {"ceiling": plan.ceiling * x}]
    for factor in factors:
        best = _scaled(made, best, factor)
        for change in changes:
            best = _climb(made, best, change, (factor, 1.0 / factor))
    others = (made.changed(best, smooth=x) for x in _SMOOTHS if made.returns)
    best = min([best, *others], key=_value)
    # Halved while a finer sum has less of aliases.
    return _climb(made, best, lambda plan, x: {"fine": plan.fine * x}, (2.0,) * made.returns)


def _theta(plan: Plan, x: float) -> dict[str, Any]:
    return {"weights": np.array(plan.weights) * x}


def _sign_change(made: Planner, i: int) -> Callable[[Plan, float], dict[str, Any]]:
    """One kappa, the others so much the other way that as many are hidden."""
    case, signs = made.case, made.signs[made.case.parts]

    def change(plan: Plan, x: float) -> dict[str, Any]:
        law = np.array(plan.weights) @ case.other
        hidden = np.array(plan.kappas) * np.bincount(signs, law, 3)
        new = np.array(plan.kappas)
        new[i] *= x
        return {"kappas": new * hidden.sum() / (hidden.sum() + (x - 1.0) * hidden[i])}

    return change


def _mixed(made: Planner, best: Plan) -> Plan:
    """If the worst label is one that the split is not tuned to, it is mixed in, by halving."""
    for _ in range(2):
        weights, start = np.array(best.weights), best
        unit = np.zeros(weights.size)
        unit[best.label] = 1.0
        if weights[best.label] > 1.0 - 1e-3:
            break
        low, high = 0.0, 1.0
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            trial = made.changed(best, weights=(1.0 - middle) * weights + middle * unit)
            low, high = (middle, high) if trial.label == start.label else (low, middle)
            best = min(best, trial, key=_value)
        if best is start:
            break
    return best


def _polished(made: Planner, best: Plan) -> Plan:
    """All numbers at once: logs of kappas, joins and weights, of alpha and h alpha."""
    tuned = made.case.tuned
    signs = np.unique(made.signs) if tuned else np.zeros(1, dtype=int)
    some = made.case.order[:3] if tuned else np.zeros(1, dtype=int)
    k, w = signs.size, some.size

    def numbers(x: Array) -> dict[str, Any]:
        kappas, weights, joins = (np.array(v) for v in (best.kappas, best.weights, best.joins))
        kappas[signs], joins[signs] = np.exp(x[:k]), np.exp(x[k : 2 * k])
        weights[some] = np.exp(np.clip(x[2 * k : 2 * k + w], -30.0, 30.0))
        found = {"kappas": kappas, "joins": joins, "lift": float(x[2 * k + w])}
        found["smooth"] = math.exp(x[2 * k + w + 1])
        found["weights"] = weights / weights.sum() if tuned else weights
        if math.isfinite(best.ceiling):
            found["ceiling"] = math.exp(x[-1])
        return found

    old = (np.array(v) for v in (best.kappas, best.joins, best.weights))
    kappas, joins, weights = (v[i] for v, i in zip(old, (signs, signs, some), strict=True))
    first = [*np.log(kappas), *np.log(joins), *np.log(weights + 0.02 * tuned)]
    first = [*first, best.lift, math.log(best.smooth)]
    steps = [0.5] * k + [0.4] * k + [0.8] * w + [0.05, 0.3]
    if math.isfinite(best.ceiling):
        first, steps = [*first, math.log(best.ceiling)], [*steps, 0.3]
    found = least(
        lambda x: made.changed(best, **numbers(x)).value,
        np.array(first),
        np.array(steps),
        calls=_CALLS,
        near=_GAIN,
    )
    return min(best, made.changed(best, **numbers(found)), key=_value)
