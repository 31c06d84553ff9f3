"""Whether a mechanism's estimates from a program's reports are unbiased, and their intervals hold.

Batches of known values go through the program; the declared mechanism estimates from what comes
back. Sums of every batch are kept, from which all else can be computed again. Intervals from an
exact law promise their coverage, so misses of one quantity in independent batches are at most
binomial: that is tested. Bias and normal intervals are measured, no more.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shuffledp import _check
from shuffledp.audit import limits
from shuffledp.audit.judge import Finding
from shuffledp.audit.plan import AuditPlan, plan_from_dict
from shuffledp.audit.sums import plain_sums, sums_from
from shuffledp.audit.tables import table_of
from shuffledp.errors import NotCertified, rejected
from shuffledp.statistics.estimates import Aggregate, FrequencyEstimate, MeanEstimate
from shuffledp.values.described import Described, shown

Floats = npt.NDArray[np.floating]

COVERAGE = "coverage"
# Quantities that are looked at: the audited items or coordinates, and others up to so many.
_MOST = 8
# How many times as many users hold the first input.
_FIRST = 3


@dataclass(frozen=True, kw_only=True)
class EstimatesPlan(Described):
    """Batches of known values for a declared mechanism.

    Parameters
    ----------
    audit : AuditPlan
        Mechanism, inputs and seed.
    batches : int
        Independent batches, 5 to 10,000.
    users : int
        Users of one batch under each input; under the first three times as many, since of equal
        shares a wrong amount of noise makes equal shares again.
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

    def to_dict(self) -> dict[str, Any]:
        """For files: ``estimates_from_dict`` reads it."""
        return {
            "audit": self.audit.to_dict(),
            "batches": self.batches,
            "users": self.users,
            "confidence": self.confidence,
            "alpha": self.alpha,
        }

    def asked(self, batch: int | None = None) -> Any:
        """Values of a batch in the order in which they are asked for; without one, sorted."""
        array = np.array(self.audit.values())
        weights = [_FIRST * self.users] + [self.users] * (len(array) - 1)
        index = np.repeat(np.arange(len(array)), weights)
        if batch is not None:
            key = [self.audit.seed, batch]
            index = np.random.Generator(np.random.Philox(key=key)).permutation(index)
        return array[index]


@dataclass(frozen=True)
class Quantity:
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
class EstimatesResult:
    """Bias and coverage, measured; and the tests of coverage where it is promised exactly.

    Attributes
    ----------
    plan : EstimatesPlan
        What was asked.
    sums : tuple of Aggregate
        What the mechanism sums over the reports of each batch: all else follows from them.
    quantities : tuple of Quantity
        Items or coordinates.
    exact : bool
        Whether the intervals promise their coverage, so that it is tested.
    findings : tuple of Finding
        The tests.
    """

    plan: EstimatesPlan
    sums: tuple[Aggregate, ...]
    quantities: tuple[Quantity, ...]
    exact: bool
    findings: tuple[Finding, ...]

    @property
    def complete(self) -> bool:
        """Whether all batches of the plan were made."""
        return len(self.sums) == self.plan.batches

    @property
    def refutations(self) -> tuple[Finding, ...]:
        """Quantities whose intervals miss the truth too often."""
        return tuple(f for f in self.findings if f.adjusted <= self.plan.alpha)

    @property
    def verdict(self) -> str:
        """One of "refuted" and "not refuted"."""
        return "refuted" if self.refutations else "not refuted"

    def to_dict(self) -> dict[str, Any]:
        """For files."""
        return {
            "verdict": self.verdict,
            "plan": self.plan.to_dict(),
            "tally": plain_sums(self.sums),
            "exact": self.exact,
            "quantities": [dataclasses.asdict(q) for q in self.quantities],
            "findings": [dataclasses.asdict(f) for f in self.findings],
        }

    def text(self) -> str:
        """For a reader, in Markdown."""
        plan = self.plan
        how = "tested" if self.exact else "measured only: the intervals are normal ones"
        lines = [
            "## Estimates",
            "",
            (
                f"**{self.verdict}** at level {plan.alpha:g}: {len(self.sums):,} batches, "
                f"{100.0 * plan.confidence:g} % intervals ({how})."
            ),
            "",
            "| of | true | mean estimate | standard error of that | intervals that miss |",
            "|---|---|---|---|---|",
        ]
        for q in self.quantities:
            error = q.spread / math.sqrt(len(self.sums))
            lines.append(
                f"| {q.name} | {q.truth:.6g} | {q.mean:.6g} | {error:.3g} | {q.misses:,} |"
            )
        return "\n".join(lines) + "\n"


def audit_estimates(
    program: Callable[[Any], Any],
    plan: EstimatesPlan,
    *,
    tell: Callable[[int], None] | None = None,
    start: Sequence[Aggregate] = (),
    keep: Callable[[Sequence[Aggregate]], None] | None = None,
) -> EstimatesResult:
    """Estimate from a program's reports of known values, batch by batch.

    Parameters
    ----------
    program : callable
        As in ``audit``.
    plan : EstimatesPlan
        What is asked.
    tell : callable, optional
        Told how many batches are done.
    start : sequence of Aggregate
        Sums of the batches that are done already.
    keep : callable, optional
        Given the sums so far after every batch.

    Raises
    ------
    NotCertified
        If the declared mechanism has no estimator of frequencies or means.
    """
    mechanism = plan.audit.randomizer
    if any(isinstance(v, tuple) for v in plan.audit.values()):
        raise NotCertified(f"{mechanism.name}: estimates of several attributes are not audited")
    sums = [*start]
    for batch in range(len(sums), plan.batches):
        sums.append(mechanism.aggregate(program(plan.asked(batch))))
        if keep is not None:
            keep(sums)
        if tell is not None:
            tell(batch + 1)
    return estimates_of(plan, sums)


def estimates_of(plan: EstimatesPlan, sums: Sequence[Aggregate]) -> EstimatesResult:
    """Judge the sums of batches."""
    mechanism, asked = plan.audit.randomizer, plan.asked()
    rows: list[tuple[Floats, Floats, Floats]] = []
    truth, names, exact = np.zeros(0), [], True
    for one in sums:
        found = mechanism.estimate(one)
        if isinstance(found, FrequencyEstimate):
            middle = found.frequencies
        elif isinstance(found, MeanEstimate):
            middle = np.atleast_1d(np.asarray(found.mean))
        else:
            raise NotCertified(f"{mechanism.name}: its estimates are not audited")
        low, high = found.interval(confidence=plan.confidence)
        if not rows:
            truth, names = _truth(found, asked, middle.size)
        exact = exact and found.law is not None
        rows.append((middle, np.atleast_1d(low), np.atleast_1d(high)))
    quantities = tuple(_quantity(names[j], float(truth[j]), rows, j) for j in _chosen(truth))
    tests = _tests(plan, quantities, len(rows), exact=exact)
    return EstimatesResult(plan, tuple(sums), quantities, exact, tests)


def estimates_from_dict(table: dict[str, Any]) -> EstimatesResult:
    """Judge saved sums again; nothing but plan and sums is read.

    Raises
    ------
    ParameterError
        If they are not sums of such batches.
    """
    plan, sums = estimates_start(table)
    return estimates_of(plan, sums)


def estimates_start(table: dict[str, Any]) -> tuple[EstimatesPlan, list[Aggregate]]:
    """Plan and sums of a file."""
    keys = ("audit", "batches", "users", "confidence", "alpha")
    given = table_of("estimates.plan", table.get("plan"), keys)
    if not isinstance(given["audit"], dict):
        raise rejected("estimates.plan.audit", given["audit"], "a plan")
    numbers = {key: given[key] for key in keys[1:]}
    plan = EstimatesPlan(audit=plan_from_dict(given["audit"]), **numbers)
    rows = table.get("tally")
    if not isinstance(rows, list) or not 1 <= len(rows) <= plan.batches:
        raise rejected("estimates.tally", rows, f"sums of 1 to {plan.batches} batches")
    mechanism = plan.audit.randomizer
    like = mechanism.aggregate(mechanism.simulate(plan.asked(), seed=0))
    return plan, [
        sums_from(row, mechanism, like, f"estimates.tally[{i}]") for i, row in enumerate(rows)
    ]


def _truth(found: Any, asked: Any, size: int) -> tuple[Floats, list[str]]:
    """Frequencies of the items, or the mean of the values, among those who were asked."""
    if isinstance(found, MeanEstimate):
        mean = np.atleast_1d(asked.mean(axis=0))
        return mean, ["mean" if size == 1 else f"coordinate {j}" for j in range(size)]
    # Pairs of keys and values count as their keys.
    items = asked[..., 0] if asked.ndim == 3 else asked
    held = np.bincount(items[items >= 0].astype(np.int64).ravel(), minlength=size)[:size]
    return held / len(asked), [f"item {j}" for j in range(size)]


def _chosen(truth: Floats) -> list[int]:
    """Those that anybody holds, and the first of the others."""
    order = sorted(range(truth.size), key=lambda j: (truth[j] == 0.0, j))
    return order[:_MOST]


def _quantity(
    name: str, truth: float, rows: list[tuple[Floats, Floats, Floats]], j: int
) -> Quantity:
    middle = np.array([row[0][j] for row in rows])
    misses = sum(not row[1][j] <= truth <= row[2][j] for row in rows)
    spread = float(middle.std(ddof=1)) if len(rows) > 1 else 0.0
    return Quantity(name, truth, float(middle.mean()), spread, misses)


def _tests(
    plan: EstimatesPlan, quantities: tuple[Quantity, ...], n: int, *, exact: bool
) -> tuple[Finding, ...]:
    """Misses of each quantity over independent batches: at most binomial."""
    if not exact:
        return ()
    claimed = 1.0 - plan.confidence
    # 1 - confidence is off by less than a unit of the last place of 1.
    p_values = [limits.upper_tail(q.misses, n, claimed + 2.0**-50) for q in quantities]
    values = shown(plan.audit.values())
    return tuple(
        Finding(COVERAGE, values, q.name, p, n, q.misses, (0.0, claimed), adjusted)
        for q, p, adjusted in zip(quantities, p_values, limits.holm(p_values), strict=True)
    )
