"""Result: what one part of an audit says, whatever was audited: tests, bounds, and the counts."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from shuffledp.audits import limits

REFUTED, NOT_REFUTED = "refuted", "not refuted"
LAW, GUARANTEE, INDEPENDENCE = "law", "guarantee", "independence"
RESOLUTION = "resolution"
# What a bound is of: one report, or the shuffle of many.
EPSILON, CENTRAL = "eps", "eps after shuffling"
# Probability with which the smallest violation that is named is found.
POWER = 0.9
# Bounds and claims are sums and logarithms of floats.
_ROUNDING = 1e-12
_INFINITE = "inf"


@dataclass(frozen=True)
class Finding:
    """One hypothesis, what was claimed, what was seen, and its p-value.

    Attributes
    ----------
    kind : str
        "law", "guarantee", "independence", "resolution"; of a shuffler "messages" or "mixing".
    subject, cell : str
        Which inputs, and which cell, event or statistic.
    p : float
        p-value of this hypothesis alone.
    reports, count : int
        How many there are, and how many of them were seen in the cell; None of several cells.
    claimed : tuple of two floats, or None
        Ends of the claimed probability.
    detectable : float or None
        The smallest larger probability that is found with power 0.9; inf where there is none.
    adjusted : float
        Holm's, over all of them: refuted where it is at most the level of the tests.
    """

    kind: str
    subject: str
    cell: str
    p: float
    reports: int
    count: int | None = None
    claimed: tuple[float, float] | None = None
    detectable: float | None = None
    adjusted: float = 1.0

    @property
    def observed(self) -> float | None:
        """Share of the reports."""
        return None if self.count is None else self.count / max(self.reports, 1)


@dataclass(frozen=True)
class Bound:
    """A lower confidence bound of what runs, beside what is claimed.

    Attributes
    ----------
    quantity : str
        "eps" or "eps after shuffling".
    pair : tuple, or None
        The two values, in the order of the divergence; None where no pair gives a bound.
    at : float
        The delta.
    lower : float
        With the confidence of the part, jointly.
    claimed : float
        What is claimed at most; inf where nothing is.
    event : str
        By which event.
    points : tuple of (p1, p0)
        Of events: upper limit under the second value, lower limit under the first.
    """

    quantity: str
    pair: tuple[Any, Any] | None
    at: float
    lower: float
    claimed: float = math.inf
    event: str = ""
    points: tuple[tuple[float, float], ...] = ()

    @property
    def contradicted(self) -> bool:
        """Whether the bound is above what is claimed."""
        return self.lower > self.claimed * (1.0 + _ROUNDING)


@dataclass(frozen=True)
class Result:
    """One part of an audit: what was asked, what was counted, and what follows.

    Attributes
    ----------
    plan, tally
        What was asked and what was counted.
    level : float
        Holm's tests together err with at most this probability; bounds have the rest of alpha.
    sample : str
        How much was looked at.
    findings : tuple of Finding
        All hypotheses.
    bounds : tuple of Bound
        Lower confidence bounds.
    said : tuple of str
        What else there is to say.
    """

    plan: Any
    tally: Any
    level: float
    sample: str
    findings: tuple[Finding, ...] = ()
    bounds: tuple[Bound, ...] = ()
    said: tuple[str, ...] = ()

    @property
    def alpha(self) -> float:
        """All statements hold together with probability at least 1 - alpha."""
        return float(self.plan.alpha)

    @property
    def refutations(self) -> tuple[Finding, ...]:
        """Hypotheses that are refuted, the smallest p-value first."""
        found = [finding for finding in self.findings if finding.adjusted <= self.level]
        return tuple(sorted(found, key=lambda finding: finding.p))

    @property
    def contradicted(self) -> tuple[Bound, ...]:
        """Bounds above what is claimed."""
        return tuple(bound for bound in self.bounds if bound.contradicted)

    @property
    def verdict(self) -> str:
        """One of "refuted" and "not refuted": an audit has no other answer."""
        return REFUTED if self.refutations or self.contradicted else NOT_REFUTED

    def of(self, quantity: str) -> tuple[Bound, ...]:
        """Its bounds of this quantity."""
        return tuple(bound for bound in self.bounds if bound.quantity == quantity)

    @property
    def lower(self) -> Bound:
        """The largest lower bound of one report's eps."""
        return max(self.of(EPSILON), key=lambda bound: bound.lower)

    @property
    def central(self) -> tuple[Bound, ...]:
        """Lower bounds after shuffling; ``claimed`` is the declared law's certified upper end."""
        return self.of(CENTRAL)

    def to_dict(self) -> dict[str, Any]:
        """For files: plan, raw counts, and what follows from them."""
        return {
            "verdict": self.verdict,
            "plan": plain(self.plan),
            "tally": plain(self.tally),
            "level": self.level,
            "sample": self.sample,
            "findings": [_plain(finding) for finding in self.findings],
            "bounds": [_plain(bound) for bound in self.bounds],
            "said": list(self.said),
        }


def adjusted(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """All hypotheses of a part with Holm's p-values."""
    every = list(findings)
    values = limits.holm([finding.p for finding in every])
    pairs = zip(every, values, strict=True)
    return tuple(dataclasses.replace(finding, adjusted=value) for finding, value in pairs)


def _plain(value: Finding | Bound) -> dict[str, Any]:
    """As a table; JSON has no infinity, which is a text."""
    return {key: _INFINITE if v == math.inf else v for key, v in dataclasses.asdict(value).items()}


class Plain:
    """A dataclass of numbers, texts, arrays and tuples of these, as a table of a file."""

    def to_dict(self) -> dict[str, Any]:
        """For files."""
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        return {f.name: plain(getattr(self, f.name)) for f in fields}


def plain(x: Any) -> Any:
    """A value as JSON has it: lists for tuples and arrays, tables for what has some."""
    if isinstance(x, np.ndarray | np.generic):
        return x.tolist()
    if hasattr(x, "to_dict"):
        return x.to_dict()
    if isinstance(x, Mapping):
        return {key: plain(value) for key, value in x.items()}
    return [plain(v) for v in x] if isinstance(x, tuple | list) else x
