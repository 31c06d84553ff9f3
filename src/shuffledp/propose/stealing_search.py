"""Search for free numbers of label stealing at one eps, from scratch or from earlier numbers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from shuffledp.propose.simplex import least
from shuffledp.propose.stealing import SMOOTHING, Plan, Planner
from shuffledp.propose.stealing_floats import Array, Floats

__all__ = ["best_plan", "first_plans", "is_few"]

# Share of the blanket in the reservoir from which on all numbers are searched at once. It was
# chosen between 0.02 and 0.2, where changing one number after the other began to lose more than
# 1e-3 of eps.
_FEW = 0.06
# Nobody else is in the first reservoir with probability delta e^-6.
_DEEPER = 6.0
# Evaluations of a search over all numbers at once, divided by the number of groups, as each of them
# takes longer in a crowd; and the search's two first steps.
_CALLS, _STEPS = 200, (0.25, 0.1)
# Factors for single numbers; most sweeps, which go on while they gain _LEAP of log delta; least
# share of what can be hidden.
_LEAPS, _SWEEPS, _LEAP, _LEAST = (1e-4, 0.03, 0.2, 5.0, 30.0, 1e4), 2, 1e-3, 1e-16
# A smaller decrease of log delta is no gain.
_GAIN = 1e-5
# Factors by which a number is changed: from scratch, from earlier numbers, and for constants.
_COARSE, _FINE, _CONSTANT = (2.0, 1.3, 1.1), (1.3, 1.1), (1.6, 1.2, 1.06)
# Size of the reservoir at outputs that reveal something, relative to silent outputs.
_LOUD = 1e-4
# For few users hidden among few: sizes of the reservoir relative to the first, up to the whole
# blanket; number of labels it is tuned to.
_SIZES, _LIKELY = (1.0, 5.0, 1e6), 3
# Share hidden at the start if all silent outputs are joined.
_HIDDEN = 0.3
# Factor for the number of nodes a side in the last estimate; its smoothing is less by the square.
_COVER = 3
# Number of first plans that are kept.
_KEPT = 8
# Number of bisections for the weight of another label.
_HALVINGS = 6
# The first h alpha where psi may return to 1, and alternatives.
_SMOOTH, _SMOOTHS = SMOOTHING, (0.05, 0.2)
# First ceilings of gains, over sqrt(n chi/2).
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
    """The best free numbers found.

    Parameters
    ----------
    case : Floats
        The pair of inputs.
    n : int
        Number of users.
    eps, log_delta : float
        eps in nats, and an estimate of log delta there.
    last : Plan, optional
        Numbers to start from.
    polish : bool
        Whether all numbers are searched at once where few users are hidden among few.
    """
    made, few = Planner(case, n, eps), is_few(case, n, log_delta)
    few = few or case.unbounded
    if last is not None:
        best = _searched(made, made.changed(last), _FINE)
    else:
        factors = _COARSE if case.tuned else _CONSTANT
        best = _searched(made, first_plans(case, n, eps, log_delta)[0], factors)
    if case.tuned:
        best = _mixed(made, best)
    if few and polish:
        made = Planner(case, n, eps, cover=1)
        best = made.changed(best)
        if last is None:
            starts = [_swept(made, best), *_silent(made, best)]
            best = min((_polished(made, x, _STEPS[0]) for x in starts), key=_value)
        best = _polished(made, _swept(made, best), _STEPS[1])
        smooth = Planner(case, n, eps, cover=_COVER).changed(best, smooth=SMOOTHING)
        best = min(best, smooth, key=_value)
    return best


def first_plans(
    case: Floats, n: int, eps: float, log_delta: float, *, many: bool = True
) -> list[Plan]:
    """First numbers without a search, the best first.

    ``many``: more of them where few are hidden.
    """
    made, hidden = Planner(case, n, eps), hidden_share(case, n, log_delta)
    if not case.tuned:
        found = _of_constants(made, hidden)
    elif many and is_few(case, n, log_delta):
        found = _from_grid(made, hidden)
    else:
        found = [
            made.plan(*start, smooth=_SMOOTH, shares=shares)
            for shares in case.shares()
            for start in _starts(made, hidden, shares)
        ]
    return sorted(found, key=_value)[:_KEPT]


def is_few(case: Floats, n: int, log_delta: float) -> bool:
    """Whether few users are hidden among few; numbers then hardly carry over to another eps."""
    return hidden_share(case, n, log_delta) > _FEW * case.split(case.shares()[0])[0].sum()


def hidden_share(case: Floats, n: int, log_delta: float) -> float:
    """The reservoir's mass at which it is empty with probability delta e^-6."""
    users = n - 1.0 if case.users is None else float(case.users @ case.shares()[0])
    return min(-math.expm1((min(log_delta, -0.1) - _DEEPER) / users), 0.5)


def _value(plan: Plan) -> float:
    return plan.value


def _starts(made: Planner, hidden: float, shares: Array) -> list[tuple[Array, Array]]:
    """The group's worst label, of q = 1; a reservoir of all outputs, or of the silent ones.

    Outputs that are silent for one pair are not for others: numbers that many pairs share start
    from all outputs alone.
    """
    case = made.case
    weights = np.zeros(case.spreads.size)
    weights[case.leads[np.argmax(shares)]] = 1.0
    starts = [np.full(made.signs.size, hidden)]
    law = made.by_group(weights @ case.other)
    silent = (made.signs == 0) & (law > 1e-6) & (not case.shared)
    for group in np.flatnonzero(silent):
        start = np.full(made.signs.size, hidden * _LOUD)
        start[group] = hidden / law[group]
        starts.append(start)
    return [(start, weights) for start in starts]


def _from_grid(made: Planner, hidden: float) -> list[Plan]:
    """Reservoirs of some groups of outputs, tuned to one of some labels or to their mean."""
    labels = np.eye(made.case.spreads.size)[made.case.order[:_LIKELY]]
    weights, shares = [*labels, labels.mean(axis=0)], made.case.shares()[0]
    found = []
    for which in itertools.product((False, True), repeat=made.used.size):
        chosen = np.zeros(made.signs.size, dtype=bool)
        chosen[made.used] = which
        for w in weights:
            mass = float(made.by_group(w @ made.case.other)[chosen].sum())
            if mass > 0.0:
                sizes = (hidden * np.where(chosen, x / mass, _LOUD) for x in _SIZES)
                found += [made.plan(size, w, smooth=_SMOOTH, shares=shares) for size in sizes]
    return found


def _of_constants(made: Planner, hidden: float) -> list[Plan]:
    """kappa B, theta = kappa, and ceilings if gains are unbounded."""
    case = made.case
    share = hidden / float(case.blanket.sum())
    # The unit sqrt(n chi/2) of ceilings; a spread that underflows to 0 has no ceilings.
    unit = math.sqrt(0.5 * made.n * float(case.spreads.max()))
    tops = [math.inf, *(_CEILINGS * unit)] if case.unbounded and unit > 0.0 else [math.inf]
    sizes, weights = [share, 0.95] if share > _FEW else [share], np.eye(case.spreads.size)[0]
    return [made.plan([k], weights, smooth=_SMOOTH, ceiling=top) for k in sizes for top in tops]


def _climb(
    made: Planner, best: Plan, change: Callable[[Plan, float], Any], factors: tuple[float, ...]
) -> Plan:
    """Repeat a change by a factor as long as it helps."""
    for factor in factors:
        while True:
            trial = made.changed(best, **change(best, factor))
            if not trial.value < best.value - _GAIN:
                break
            best = trial
    return best


def _scaled(made: Planner, best: Plan, factor: float) -> Plan:
    """All kappas changed by one factor."""

    def change(plan: Plan, x: float) -> dict[str, Any]:
        return {"kappas": np.array(plan.kappas) * x}

    return _climb(made, best, change, (factor, 1.0 / factor))


def _searched(made: Planner, best: Plan, factors: tuple[float, ...]) -> Plan:
    """The size of the reservoir first, then one number after the other at a fixed size."""
    changes = [_group_change(made, int(i)) for i in made.used]
    join = lambda plan, x: {"joins": np.array(plan.joins) * x}  # noqa: E731
    if not made.case.tuned:
        changes = [join]
    if math.isfinite(best.ceiling):
        changes = [*changes, lambda plan, x: {"ceiling": plan.ceiling * x}]
    if made.users.size > 1:
        changes += [join, *map(_share_change, range(made.users.size))]
    for factor in factors:
        best = _scaled(made, best, factor)
        for change in changes:
            best = _climb(made, best, change, (factor, 1.0 / factor))
    others = (made.changed(best, smooth=x) for x in _SMOOTHS if made.returns)
    best = min([best, *others], key=_value)
    # Halved as long as a finer sum has smaller aliases.
    return _climb(made, best, lambda plan, x: {"fine": plan.fine * x}, (2.0,) * made.returns)


def _group_change(made: Planner, i: int) -> Callable[[Plan, float], dict[str, Any]]:
    """Change one kappa, and the others the opposite way so that the hidden mass is kept."""

    def change(plan: Plan, x: float) -> dict[str, Any]:
        hidden = np.array(plan.kappas) * made.by_group(np.array(plan.weights) @ made.case.other)
        new = np.array(plan.kappas)
        new[i] *= x
        return {"kappas": new * hidden.sum() / (hidden.sum() + (x - 1.0) * hidden[i])}

    return change


def _share_change(k: int) -> Callable[[Plan, float], dict[str, Any]]:
    """Change the q of one group; the largest q stays 1, as only kappa q matters."""

    def change(plan: Plan, x: float) -> dict[str, Any]:
        new = np.array(plan.shares)
        new[k] *= x
        return {"shares": new / new.max(), "kappas": np.array(plan.kappas) * new.max()}

    return change


def _mixed(made: Planner, best: Plan) -> Plan:
    """If the split is not tuned to the worst label, mix that label in, by bisection."""
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


def _swept(made: Planner, best: Plan) -> Plan:
    """One number after the other by large factors, which a climb does not try."""
    for _ in range(_SWEEPS):
        before = best
        for key, i, x in itertools.product(("kappas", "joins"), made.used, _LEAPS):
            new = np.array(getattr(best, key))
            # No more than the whole blanket can be hidden.
            new[i] = min(new[i], made.edges(best)[i]) * x if key == "kappas" else new[i] * x
            best = min(best, made.changed(best, **{key: new}), key=_value)
        if not best.value < before.value - _LEAP:
            break
    return best


def _silent(made: Planner, best: Plan) -> list[Plan]:
    """All silent outputs are joined, and the same share of all outputs is hidden."""
    silent = made.signs == 0
    if not silent[made.used].any():
        return []
    kappas = np.full(silent.size, _HIDDEN)
    return [made.changed(best, kappas=kappas, joins=np.where(silent, 1.0 / _HIDDEN, 1.0))]


def _polished(made: Planner, best: Plan, step: float) -> Plan:
    """All numbers at once: fourth roots of shares, of s and of weights; logs of all others."""
    used, k = made.used, made.used.size
    most = made.edges(best)[used]
    # One weight is fixed: they are divided by their sum.
    mixed = [j for j in made.case.order[:_LIKELY] if j != np.argmax(best.weights)]
    mixed = mixed if made.case.tuned else []
    finite, crowd = math.isfinite(best.ceiling), made.users.size * (made.users.size > 1)

    def numbers(x: Array) -> dict[str, Any]:
        kappas, joins, weights = (np.array(v) for v in (best.kappas, best.joins, best.weights))
        shares, joined, rest = np.split(x, (k, 2 * k))
        kappas[used] = most * np.clip(shares**4, _LEAST, 1.0)
        joins[used] = np.clip(joined**4, 0.0, 1.0) / kappas[used]
        weights[mixed] = rest[2 : 2 + len(mixed)] ** 4
        sizes = np.exp(rest[2 + len(mixed) :][:crowd])
        found = {"kappas": kappas, "joins": joins, "weights": weights / weights.sum()}
        found |= {"lift": float(rest[0]), "smooth": math.exp(rest[1])}
        if crowd:
            found |= {"shares": sizes / sizes.max()}
        return found | ({"ceiling": math.exp(rest[-1])} if finite else {})

    kappas = np.minimum(np.array(best.kappas)[used], most)
    joins = np.minimum(np.array(best.joins)[used] * kappas, 1.0)
    roots = np.concatenate([kappas / most, joins]) ** 0.25
    rest = [best.lift, math.log(best.smooth), *(best.weights[j] ** 0.25 for j in mixed)]
    rest += list(np.log(best.shares[:crowd]))
    rest += [math.log(best.ceiling)] if finite else []
    inward = np.where(roots > 0.5, -step, step)
    found = least(
        lambda x: made.changed(best, **numbers(x)).value,
        np.array([*roots, *rest]),
        np.array([*inward, 0.05, *(step for _ in rest[1:])]),
        calls=_CALLS // made.users.size,
        near=_GAIN,
    )
    return min(best, made.changed(best, **numbers(found)), key=_value)
