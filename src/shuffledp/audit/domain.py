"""What a program does with values outside the domain: it refuses them, or hides them as well.

A guarantee for all values of the domain says nothing of others. A program that takes one has to
give it a law within the claimed guarantee of the audited inputs' laws; one that passes it through,
or adds noise around it, does not (docs/theory-audit.md, Theorem 3.2).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shuffledp import _check
from shuffledp.audit import limits
from shuffledp.audit.judge import GUARANTEE, Finding
from shuffledp.audit.plan import LOCAL_DELTA, AuditPlan, Design, design
from shuffledp.audit.tally import Tally
from shuffledp.described import shown
from shuffledp.errors import NotCertified

# How many lengths of the interval beyond its ends.
_FAR = 10.0


@dataclass(frozen=True)
class DomainResult:
    """Which values were refused, and how the reports of the others compare.

    Attributes
    ----------
    refused : tuple
        Values that the program did not take.
    findings : tuple of Finding
        Of the values it took, against every audited input.
    """

    plan: AuditPlan
    alpha: float
    refused: tuple[Any, ...]
    taken: tuple[Any, ...]
    findings: tuple[Finding, ...]

    @property
    def refutations(self) -> tuple[Finding, ...]:
        """What is refuted, the smallest p-value first."""
        found = [f for f in self.findings if f.adjusted <= self.alpha]
        return tuple(sorted(found, key=lambda f: f.p))

    @property
    def verdict(self) -> str:
        """One of "refuted" and "not refuted"."""
        return "refuted" if self.refutations else "not refuted"

    def to_dict(self) -> dict[str, Any]:
        """For files."""
        return {
            "verdict": self.verdict,
            "alpha": self.alpha,
            "refused": [shown(v) for v in self.refused],
            "taken": [shown(v) for v in self.taken],
            "findings": [dataclasses.asdict(f) for f in self.findings],
        }

    def text(self) -> str:
        """For a reader, in Markdown."""
        lines = ["## Values outside the domain", "", f"**{self.verdict}** at level {self.alpha:g}."]
        for words, values in (("refused", self.refused), ("taken", self.taken)):
            if values:
                lines.append(f"- {words}: {', '.join(shown(v) for v in values)}")
        lines += [
            f"- {f.subject}: {f.cell}, {f.count:,} of {f.reports:,} (adjusted p {f.adjusted:.3g})"
            for f in self.refutations[:_SHOWN]
        ]
        return "\n".join(lines) + "\n"


_SHOWN = 6


def outside_values(plan: AuditPlan) -> tuple[Any, ...]:
    """Values that are not in the domain: of items, and of intervals.

    Raises
    ------
    NotCertified
        For mechanisms of other values: their values have to be given.
    """
    randomizer: Any = plan.randomizer
    size = getattr(randomizer, "items", None)
    if all(isinstance(v, int) for v in plan.values()) and isinstance(size, int):
        return (size, size + 1_000, -1)
    if hasattr(randomizer, "low") and hasattr(randomizer, "high"):
        length = randomizer.high - randomizer.low
        beyond = (randomizer.high + _FAR * length, randomizer.low - _FAR * length)
        whole = all(isinstance(v, int) for v in plan.values())
        return tuple(int(v) if whole else v for v in beyond)
    raise NotCertified(f"{randomizer.name}: which values are outside its domain has to be said")


def audit_domain(
    program: Callable[[Any], Any],
    plan: AuditPlan,
    tally: Tally,
    *,
    values: Sequence[Any] | None = None,
    alpha: float = 0.05,
) -> DomainResult:
    """Give a program values outside the domain, and compare what it sends with the audited inputs.

    Parameters
    ----------
    program : callable
        As in ``audit``; any exception is a refusal.
    plan, tally
        Of the audit whose counts the reports are compared with.
    values : sequence, optional
        Values outside the domain; those of ``outside_values`` by default.
    alpha : float
        Level of this audit.
    """
    level = _check.real("alpha", alpha, low=1e-12, high=0.5)
    found = design(plan)
    chosen = outside_values(plan) if values is None else tuple(values)
    refused, taken, every = [], [], []
    for value in chosen:
        try:
            reports = program(np.array([value] * plan.reports))
            labels = found.reading.classify(reports)
        except Exception:  # noqa: BLE001, whatever it says, it is a refusal
            refused.append(value)
            continue
        taken.append(value)
        counts = np.bincount(labels, minlength=len(found.reading.names) + 1)
        every += _compared(plan, tally, found, value, counts)
    adjusted = limits.holm([f.p for f in every])
    findings = tuple(
        dataclasses.replace(f, adjusted=p) for f, p in zip(every, adjusted, strict=True)
    )
    return DomainResult(plan, level, tuple(refused), tuple(taken), findings)


def _compared(
    plan: AuditPlan, tally: Tally, found: Design, value: Any, counts: Any
) -> list[Finding]:
    """Every group of cells and what is outside the message space, in both directions."""
    pure = math.isfinite(float(plan.randomizer.eps0))
    delta = 0.0 if pure else LOCAL_DELTA
    epsilon = float(plan.randomizer.eps0 if pure else plan.randomizer.local_epsilon(delta))
    n, made = int(counts.sum()), []
    events = [(name, found.groups == g) for g, name in enumerate(found.group_names)]
    events = [(name, np.append(inside, np.False_)) for name, inside in events]
    outside = np.arange(len(counts)) == len(counts) - 1
    for i, x in enumerate(plan.values()):
        for name, inside in [*events, ("outside the message space", outside)]:
            own, other = int(counts[inside].sum()), int(tally.counts[i][inside].sum())
            for words, pair in (
                (f"{shown(value)} against {shown(x)}", (own, n, other, plan.reports)),
                (f"{shown(x)} against {shown(value)}", (other, plan.reports, own, n)),
            ):
                p = limits.Ratio(*pair, 0.5).p_value(epsilon * (1.0 + 1e-12), delta=delta)
                made.append(Finding(GUARANTEE, words, name, p, pair[1], pair[0]))
    return made
