"""What follows from a plan: cells, groups of them, and the events of every pair of inputs."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shuffledp.audits.limits import Ratio
from shuffledp.audits.plan import AuditPlan, Pair, claims_of, declared
from shuffledp.audits.readings import Reading, read

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.floating]
Labels = npt.NDArray[np.integer]

# Groups of cells that are tested one by one.
_GROUPS = 16
# Of the level of limits: those of the worst pair, beside their share in the rest.
_WORST_PAIR = 0.5
# Parts of the level for p0, of which the one with the best expected bound is taken.
_SHARES = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.98)


@dataclass(frozen=True)
class PairDesign:
    """What is looked at of an ordered pair of inputs.

    Attributes
    ----------
    pair : tuple of two ints
        Places of the inputs.
    epsilon, delta : float
        The local guarantee that is claimed of this pair.
    neighbours : bool
        Whether the two are known to be neighbours: central eps speaks of no other pairs.
    event : bool array
        The cells, by claimed likelihood ratio, with the largest expected lower bound of eps.
    middle : bool array
        The cells that are likelier under the first input; they tell most about the shuffle.
    share : float
        The part of the event's level that is spent on the first input; half of it of the middle's.
    weight : float
        Either event's part of the level of all limits.
    """

    pair: Pair
    epsilon: float
    delta: float
    neighbours: bool
    event: Bools
    middle: Bools
    share: float
    weight: float


@dataclass(frozen=True)
class Design:
    """What follows from a plan: reading, groups of cells, pairs with their events.

    ``unit`` is the last place of the largest input for reports without atoms, else 0.
    """

    reading: Reading
    groups: Labels
    pairs: tuple[PairDesign, ...]
    unit: float

    @property
    def group_names(self) -> tuple[str, ...]:
        """The first and the last cell of each group."""
        names, made = self.reading.names, []
        for g in range(int(self.groups.max()) + 1):
            members = np.flatnonzero(self.groups == g)
            last = f" to {names[int(members[-1])]}" if len(members) > 1 else ""
            made.append(f"{names[int(members[0])]}{last}")
        return tuple(made)


def design(plan: AuditPlan, reading: Reading | None = None) -> Design:
    """Cells and events of a plan, a function of the plan alone.

    Without a declared mechanism they come from a reading of other reports (``learned``).
    """
    if reading is None:
        reading = read(declared(plan), plan.asked)
    claims, made = claims_of(plan), []
    for place, (pair, epsilon, delta, near) in enumerate(claims):
        weight = (1.0 - _WORST_PAIR) / len(claims) + (_WORST_PAIR if place == 0 else 0.0)
        weight *= 0.5  # two events
        first, second = (reading.mass[i] for i in pair)
        level = weight * plan.limits_level
        event, share = best_event(first, second, plan.reports, level, delta=delta)
        middle = first > second
        made.append(PairDesign(pair, epsilon, delta, near, event, middle, share, weight))
    floats = all(isinstance(x, int | float) for x in plan.asked) and reading.equal is not None
    unit = float(np.spacing(max(abs(float(x)) for x in plan.asked))) if floats else 0.0
    return Design(reading, reading.groups(_GROUPS), tuple(made), unit)


def best_event(
    first: Floats, second: Floats, reports: int, level: float, *, delta: float = 0.0
) -> tuple[Bools, float]:
    """The set of cells with the largest lower bound of eps at the counts that are expected.

    Sets by decreasing likelihood ratio are enough (Neyman, Pearson; theory-audit.md, Lemma 1.2).

    Parameters
    ----------
    first, second : ndarray
        Expected probabilities of the cells under the two inputs.
    reports : int
        Under each input.
    level, delta : float
        Of the bound.

    Returns
    -------
    tuple
        Which cells, and the best part of the level for the first input.
    """
    ratio = np.log(np.maximum(second, 1e-300)) - np.log(np.maximum(first, 1e-300))
    order = np.argsort(np.where((first <= 0.0) & (second <= 0.0), np.inf, ratio), kind="stable")
    ends = np.column_stack([np.cumsum(first[order]), np.cumsum(second[order])])[:-1].tolist()

    def expected(j: int, share: float) -> float:
        p, q = ends[j]
        if level <= 0.0 or p - delta <= q:
            return 0.0
        counts = math.floor(reports * p), math.ceil(reports * q)
        return Ratio(counts[0], reports, counts[1], reports, share).epsilon(level, delta=delta)

    bounds = [expected(j, 0.5) for j in range(len(ends))]
    best = max(range(len(ends)), key=bounds.__getitem__)
    return np.argsort(order) <= best, max(_SHARES, key=lambda share: expected(best, share))
