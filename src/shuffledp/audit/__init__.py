"""Audits: whether the program that runs has the guarantee that was certified.

``audit(program, plan)`` asks a program for reports under known inputs and tests them against the
declared law: its answer is "refuted" at a level, or "not refuted" with the smallest violation that
would have been found. See docs/audits.md and docs/theory-audit.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shuffledp.audit.design import design
from shuffledp.audit.judge import result_of
from shuffledp.audit.learned import learned
from shuffledp.audit.plan import AuditPlan, Tell
from shuffledp.audit.result import Bound, Finding, Result
from shuffledp.audit.saved import Saved
from shuffledp.audit.shuffler import ShufflerPlan, audit_shuffler
from shuffledp.audit.sources import Command, recorded
from shuffledp.audit.tally import Tally, collected, counted

__all__ = [
    "AuditPlan",
    "Bound",
    "Command",
    "Finding",
    "Result",
    "Saved",
    "ShufflerPlan",
    "Tally",
    "audit",
    "audit_shuffler",
    "collected",
    "counted",
    "design",
    "recorded",
    "result_of",
]


def audit(
    program: Callable[[Any], Any],
    plan: AuditPlan,
    *,
    tell: Tell | None = None,
) -> Result:
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
    reading = learned(plan, program, tell=tell) if plan.randomizer is None else None
    found = design(plan, reading)
    tally = collected(plan, program, tell=tell, found=found)
    return result_of(plan, tally, found=found)
