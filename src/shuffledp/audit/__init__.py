"""Audits: whether the program that runs has the guarantee that was certified.

``audit(program, randomizer, ...)`` asks a program for reports under known inputs and tests them
against the declared law: its answer is "refuted" at a level, or "not refuted" with the smallest
violation that would have been found. See docs/audits.md and docs/theory-audit.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shuffledp.audit.blackbox import Unknown, audit_unknown, unknown
from shuffledp.audit.checkpoint import Checkpoint
from shuffledp.audit.domain import DomainResult, audit_domain, outside_values
from shuffledp.audit.estimates import EstimatesPlan, EstimatesResult, audit_estimates
from shuffledp.audit.judge import Finding, PairLimits
from shuffledp.audit.lift import Central, Supported
from shuffledp.audit.plan import AuditPlan, design, plan_from_dict
from shuffledp.audit.possible import tally_from_dict
from shuffledp.audit.result import AuditResult, result_of
from shuffledp.audit.saved import Saved, read_saved
from shuffledp.audit.shuffler import Left, ShufflerResult, audit_shuffler
from shuffledp.audit.shuffler_counts import ShufflerPlan
from shuffledp.audit.sources import Command, Recorded, recorded
from shuffledp.audit.tally import Tally, collected, counted
from shuffledp.audit.unknown_plan import UnknownPlan

__all__ = [
    "AuditPlan",
    "AuditResult",
    "Central",
    "Checkpoint",
    "Command",
    "DomainResult",
    "EstimatesPlan",
    "EstimatesResult",
    "Finding",
    "Left",
    "PairLimits",
    "Recorded",
    "Saved",
    "ShufflerPlan",
    "ShufflerResult",
    "Supported",
    "Tally",
    "Unknown",
    "UnknownPlan",
    "audit",
    "audit_domain",
    "audit_estimates",
    "audit_shuffler",
    "audit_unknown",
    "collected",
    "counted",
    "design",
    "outside_values",
    "plan_from_dict",
    "read_saved",
    "recorded",
    "result_of",
    "tally_from_dict",
    "unknown",
]


def audit(
    program: Callable[[Any], Any],
    plan: AuditPlan,
    *,
    tell: Callable[[int], None] | None = None,
) -> AuditResult:
    """Ask a program for the reports of a plan and judge them.

    Parameters
    ----------
    program : callable
        An array of values -> as many reports, in the format of the mechanism's ``randomize``.
    plan : AuditPlan
        What is asked, and what is claimed.
    tell : callable, optional
        Told how many reports are in after each call.

    Examples
    --------
    >>> import shuffledp as sd
    >>> from shuffledp.audit import AuditPlan, audit
    >>> claimed = sd.KRR(k=10, eps0=1.0)
    >>> honest = audit(claimed.randomize, AuditPlan(randomizer=claimed, alpha=1e-9))
    >>> honest.verdict
    'not refuted'
    >>> weaker = sd.KRR(k=10, eps0=1.2)
    >>> audit(weaker.randomize, AuditPlan(randomizer=claimed, alpha=1e-9)).verdict
    'refuted'
    """
    found = design(plan)
    tally = collected(plan, program, tell=tell, found=found)
    return result_of(plan, tally, found=found)
