"""Bias and coverage of estimates from a program's reports of known values.

Where the estimator's intervals are exact (binomial, ``Counts``) each of them covers with at least
the stated probability, so the misses of one quantity over independent batches are at most binomial:
that is tested. Bias and normal intervals are measured, no more.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from shuffledp import _check
from shuffledp.audit import limits
from shuffledp.audit.plan import AuditPlan, Tell, declared, plan_from_dict
from shuffledp.audit.result import Finding, Plain, Result, adjusted, counts_of, from_table
from shuffledp.errors import NotCertified, rejected
from shuffledp.statistics.estimates import FrequencyEstimate, MeanEstimate
from shuffledp.values.described import Described, shown

COVERAGE = "coverage"
# Quantities that are looked at: the audited items or coordinates, and others up to so many.
_MOST = 8
# How many times as many users hold the first input: of equal shares a wrong amount of noise makes
# equal shares again.
_FIRST = 3


@dataclass(frozen=True, kw_only=True)
class EstimatesPlan(Plain, Described):
    """Batches of known values for a declared mechanism.

    Parameters
    ----------
    audit : AuditPlan
        Mechanism, inputs and seed.
    batches : int
        Independent batches, 5 to 10,000.
    users : int
        Users of one batch under each input, and three times as many under the first.
    confidence : float
        Of the intervals.
    alpha : float
        Level of the tests of coverage together.
    """

    audit: AuditPlan
    batches: int = 40
    users: int = 1_000
    confidence: float = 0.95
    alpha: float = 0.05

    def __post_init__(self) -> None:
        _check.count("batches", self.batches, low=5, high=10_000)
        _check.count("users", self.users, high=10**7)
        _check.open_unit("confidence", self.confidence)
        _check.real("alpha", self.alpha, low=1e-12, high=0.5)

    def asked(self, batch: int) -> Any:
        """Values of a batch in the order in which they are asked for."""
        array = np.array(self.audit.values())
        weights = [_FIRST * self.users] + [self.users] * (len(array) - 1)
        index = np.repeat(np.arange(len(array)), weights)
        key = [self.audit.seed, batch]
        return array[np.random.Generator(np.random.Philox(key=key)).permutation(index)]


@dataclass(frozen=True)
class Quantity(Plain):
    """One estimated number over all batches.

    Attributes
    ----------
    name : str
        Item or coordinate.
    truth, mean, spread : float
        True value, mean and standard deviation of the estimates.
    misses : int
        Batches whose interval does not hold the truth.
    """

    name: str
    truth: float
    mean: float
    spread: float
    misses: int


@dataclass(frozen=True)
class EstimatesTally(Plain):
    """All quantities; whether the intervals promise their coverage, so that it is tested."""

    quantities: tuple[Quantity, ...]
    exact: bool


def audit_estimates(
    program: Callable[[Any], Any], plan: EstimatesPlan, *, tell: Tell | None = None
) -> Result:
    """Estimate from a program's reports of known values, batch by batch.

    Parameters
    ----------
    program : callable
        As in ``audit``.
    plan : EstimatesPlan
        What is asked.
    tell : callable, optional
        Told how many batches are done.

    Raises
    ------
    NotCertified
        If the declared mechanism has no estimator of frequencies or means.
    """
    mechanism = declared(plan.audit)
    if any(isinstance(v, tuple) for v in plan.audit.values()):
        raise NotCertified(f"{mechanism.name}: estimates of several attributes are not audited")
    rows, exact, names, truth = [], True, [], np.zeros(0)
    for batch in range(plan.batches):
        asked = plan.asked(batch)
        found = mechanism.estimate(program(asked))
        if isinstance(found, FrequencyEstimate):
            middle = found.frequencies
        elif isinstance(found, MeanEstimate):
            middle = np.atleast_1d(np.asarray(found.mean))
        else:
            raise NotCertified(f"{mechanism.name}: its estimates are not audited")
        truth, names = _truth(found, asked, middle.size)
        low, high = (np.atleast_1d(end) for end in found.interval(confidence=plan.confidence))
        exact = exact and found.law is not None
        rows.append((middle, ~((low <= truth) & (truth <= high))))
        if tell is not None:
            tell(batch + 1)
    middles, misses = (np.array([row[k] for row in rows]) for k in (0, 1))
    # Those that anybody holds, and the first of the others.
    order = sorted(range(truth.size), key=lambda j: (truth[j] == 0.0, j))[:_MOST]
    spread, mean = middles.std(axis=0, ddof=1), middles.mean(axis=0)
    quantities = tuple(
        Quantity(names[j], *(float(v[j]) for v in (truth, mean, spread)), int(misses[:, j].sum()))
        for j in order
    )
    return _judged(plan, EstimatesTally(quantities, exact))


def estimates_from_dict(table: Any) -> Result:
    """Judge saved counts of misses again."""
    audit = plan_from_dict(table["plan"]["audit"])
    plan = from_table(EstimatesPlan, "estimates.plan", table["plan"], audit=audit)
    rows = table["tally"]["quantities"]
    found = tuple(from_table(Quantity, "estimates.tally", row) for row in rows)
    misses = counts_of("estimates.tally", [q.misses for q in found], (len(found),)).tolist()
    if not 0 < len(found) <= _MOST or max(misses) > plan.batches:
        raise rejected("estimates.tally", misses, f"misses of at most {plan.batches:,} batches")
    tally = from_table(EstimatesTally, "estimates.tally", table["tally"], quantities=found)
    return _judged(plan, tally)


def _truth(found: Any, asked: Any, size: int) -> tuple[Any, list[str]]:
    """Frequencies of the items, or the mean of the values, among those who were asked."""
    if isinstance(found, MeanEstimate):
        mean = np.atleast_1d(asked.mean(axis=0))
        return mean, ["mean" if size == 1 else f"coordinate {j}" for j in range(size)]
    # Pairs of keys and values count as their keys.
    items = asked[..., 0] if asked.ndim == 3 else asked
    held = np.bincount(items[items >= 0].astype(np.int64).ravel(), minlength=size)[:size]
    return held / len(asked), [f"item {j}" for j in range(size)]


def _judged(plan: EstimatesPlan, tally: EstimatesTally) -> Result:
    """Misses of each quantity over independent batches: at most binomial."""
    # 1 - confidence is off by less than a unit of the last place of 1.
    n, claimed = plan.batches, 1.0 - plan.confidence + 2.0**-50
    subject, found = shown(plan.audit.values()), tally.quantities if tally.exact else ()
    findings = [
        Finding(
            COVERAGE, subject, q.name, limits.upper_tail(q.misses, n, claimed), n, q.misses,
            (0.0, claimed),
        )
        for q in found
    ]  # fmt: skip
    how = "tested" if tally.exact else "measured only, the intervals are normal ones"
    sample = f"{n:,} batches, {100.0 * plan.confidence:g} % intervals ({how})"
    said = tuple(
        f"{q.name}: true {q.truth:.6g}, mean estimate {q.mean:.6g} (standard error "
        f"{q.spread / math.sqrt(n):.3g}), {q.misses:,} intervals miss it."
        for q in tally.quantities
    )
    return Result(plan, tally, plan.alpha, sample, adjusted(findings), said=said)
