"""Audits: whether the program that runs has the guarantee that was certified.

``audit(program, plan)`` asks a program for reports under known inputs and tests them against the
declared law: its answer is "refuted" at a level, or "not refuted" with the smallest violation that
would have been found. See docs/audits.md and docs/theory-audit.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shuffledp.audits.design import design
from shuffledp.audits.judge import result_of
from shuffledp.audits.learned import learned
from shuffledp.audits.plan import AuditPlan, Tell
from shuffledp.audits.result import Bound, Finding, Result
from shuffledp.audits.saved import Saved
from shuffledp.audits.shuffler import ShufflerPlan, audit_shuffler
from shuffledp.audits.sources import Command, recorded
from shuffledp.audits.tally import Tally, collected, counted
from shuffledp.errors import rejected
from shuffledp.randomizers import Randomizer

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
    declared: AuditPlan | Randomizer,
    *,
    tell: Tell | None = None,
    **asked: Any,
) -> Result:
    """Ask a program for reports under known inputs and test them against the declared law.

    Parameters
    ----------
    program : callable
        An array of values -> as many reports, in the format of the mechanism's ``randomize``.
    declared : Randomizer or AuditPlan
        The mechanism that the program claims to be; or the whole plan.
    tell : callable, optional
        Told how many reports are in after each call.
    **asked
        Beside a mechanism the other arguments of ``AuditPlan``, as ``reports`` and ``alpha``.

    Examples
    --------
    >>> import shuffledp as sd
    >>> claimed = sd.KRR(k=10, eps0=1.0)
    >>> sd.audit(claimed.randomize, claimed, alpha=1e-9).verdict
    'not refuted'
    >>> weaker = sd.KRR(k=10, eps0=1.2)
    >>> sd.audit(weaker.randomize, claimed, alpha=1e-9).verdict
    'refuted'
    """
    if isinstance(declared, AuditPlan):
        plan = declared
        if asked:
            raise rejected(*asked.popitem(), "nothing beside a plan, which says it")
    else:
        plan = AuditPlan(randomizer=declared, **asked)
    reading = learned(plan, program, tell=tell) if plan.randomizer is None else None
    found = design(plan, reading)
    tally = collected(plan, program, tell=tell, found=found)
    return result_of(plan, tally, found=found)
