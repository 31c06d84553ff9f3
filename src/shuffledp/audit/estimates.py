"""Whether a mechanism's estimates from a program's reports are unbiased, and their intervals hold.

Batches of known values go through the program; the declared mechanism estimates from what comes
back. Intervals from an exact law promise their coverage, so misses of one quantity in independent
batches are at most binomial: that is tested. Bias and normal intervals are measured, no more.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shuffledp import _check
from shuffledp.audit import limits
from shuffledp.audit.judge import Finding
from shuffledp.audit.plan import AuditPlan
from shuffledp.described import Described, shown
from shuffledp.errors import NotCertified
from shuffledp.estimates import FrequencyEstimate, MeanEstimate

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
    """Bias and coverage, measured; and the tests of coverage where it is promised exactly."""

    plan: EstimatesPlan
    quantities: tuple[Quantity, ...]
    exact: bool
    findings: tuple[Finding, ...]

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
            "alpha": self.plan.alpha,
            "batches": self.plan.batches,
            "users": self.plan.users,
            "confidence": self.plan.confidence,
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
                f"**{self.verdict}** at level {plan.alpha:g}: {plan.batches:,} batches, "
                f"{100.0 * plan.confidence:g} % intervals ({how})."
            ),
            "",
            "| of | true | mean estimate | standard error of that | intervals that miss |",
            "|---|---|---|---|---|",
        ]
        for q in self.quantities:
            error = q.spread / math.sqrt(plan.batches)
            lines.append(
                f"| {q.name} | {q.truth:.6g} | {q.mean:.6g} | {error:.3g} | {q.misses:,} |"
            )
        return "\n".join(lines) + "\n"


def audit_estimates(
    program: Callable[[Any], Any],
    plan: EstimatesPlan,
    *,
    tell: Callable[[int], None] | None = None,
) -> EstimatesResult:
    """Estimate from a program's reports of known values, batch by batch.

    Raises
    ------
    NotCertified
        If the declared mechanism has no estimator of frequencies or means.
    """
    mechanism, values = plan.audit.randomizer, plan.audit.values()
    if any(isinstance(v, tuple) for v in values):
        raise NotCertified(f"{mechanism.name}: estimates of several attributes are not audited")
    array = np.array(values)
    generator = np.random.Generator(np.random.Philox(plan.audit.seed))
    weights = [_FIRST * plan.users] + [plan.users] * (len(array) - 1)
    index = np.repeat(np.arange(len(array)), weights)
    rows: list[tuple[Floats, Floats, Floats]] = []
    truth, names, exact = np.zeros(0), [], True
    for batch in range(plan.batches):
        asked = array[generator.permutation(index)]
        found = mechanism.estimate(program(asked))
        if isinstance(found, FrequencyEstimate):
            middle = found.frequencies
        elif isinstance(found, MeanEstimate):
            middle = np.atleast_1d(np.asarray(found.mean))
        else:
            raise NotCertified(f"{mechanism.name}: its estimates are not audited")
        low, high = found.interval(confidence=plan.confidence)
        if not batch:
            truth, names = _truth(found, asked, middle.size)
        exact = exact and found.law is not None
        rows.append((middle, np.atleast_1d(low), np.atleast_1d(high)))
        if tell is not None:
            tell(batch + 1)
    chosen = _chosen(truth)
    quantities = tuple(_quantity(names[j], float(truth[j]), rows, j) for j in chosen)
    return EstimatesResult(plan, quantities, exact, _tests(plan, quantities, exact=exact))


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
    return Quantity(name, truth, float(middle.mean()), float(middle.std(ddof=1)), misses)


def _tests(
    plan: EstimatesPlan, quantities: tuple[Quantity, ...], *, exact: bool
) -> tuple[Finding, ...]:
    """Misses of each quantity over independent batches: at most binomial."""
    if not exact:
        return ()
    claimed, n = 1.0 - plan.confidence, plan.batches
    # 1 - confidence is off by less than a unit of the last place of 1.
    p_values = [limits.upper_tail(q.misses, n, claimed + 2.0**-50) for q in quantities]
    values = shown(plan.audit.values())
    return tuple(
        Finding(COVERAGE, values, q.name, p, n, q.misses, (0.0, claimed), adjusted)
        for q, p, adjusted in zip(quantities, p_values, limits.holm(p_values), strict=True)
    )
