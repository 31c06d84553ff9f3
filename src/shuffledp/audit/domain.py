"""What a program does with values outside the domain: it refuses them, or hides them as well.

A guarantee for all values of the domain says nothing of others. A program that takes one has to
give it a law within the claimed guarantee of the audited inputs' laws; one that passes it through,
or adds noise around it, does not (docs/theory-audit.md, Theorem 3.2).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from shuffledp.audit import limits
from shuffledp.audit.design import Design, design
from shuffledp.audit.plan import LOCAL_DELTA, AuditPlan, declared
from shuffledp.audit.readings import Reading
from shuffledp.audit.result import GUARANTEE, Finding, plain
from shuffledp.audit.sources import NotReportsError
from shuffledp.audit.tally import Tally
from shuffledp.errors import NotCertified, rejected
from shuffledp.values.described import shown

Counts = npt.NDArray[np.int64]

# How many lengths of the interval beyond its ends.
_FAR = 10.0


def outside_values(plan: AuditPlan) -> tuple[Any, ...]:
    """Values that are not in the domain: of items, and of intervals.

    Raises
    ------
    NotCertified
        For mechanisms of other values: their values have to be given.
    """
    randomizer: Any = declared(plan)
    size, integers = (
        getattr(randomizer, "items", None),
        all(isinstance(v, int) for v in plan.values()),
    )
    if integers and isinstance(size, int):
        return (size, size + 1_000, -1)
    if hasattr(randomizer, "low") and hasattr(randomizer, "high"):
        length = randomizer.high - randomizer.low
        beyond = (randomizer.high + _FAR * length, randomizer.low - _FAR * length)
        return tuple(int(v) if integers else v for v in beyond)
    raise NotCertified(f"{randomizer.name}: which values are outside its domain has to be said")


def with_outside(
    program: Callable[[Any], Any],
    plan: AuditPlan,
    tally: Tally,
    *,
    found: Design | None = None,
    values: Sequence[Any] | None = None,
) -> Tally:
    """Give a program values outside the domain: the tally with its reports of them.

    Parameters
    ----------
    program : callable
        As in ``audit``; an exception, a command's status other than 0 and no reports at all are a
        refusal. As many answers as values that cannot be read as reports are sent all the same:
        they count as reports outside the message space.
    plan, tally, found
        Of the audit whose counts the reports are compared with.
    values : sequence, optional
        Values outside the domain; those of ``outside_values`` by default.
    """
    if values is not None and (isinstance(values, str) or not isinstance(values, Sequence)):
        raise rejected("outside values", values, "a list of values")
    chosen = outside_values(plan) if values is None else tuple(values)
    _check_outside(plan, chosen)
    reading = (found or design(plan)).reading
    made = tuple((value, _counts(program, plan, reading, value)) for value in chosen)
    return dataclasses.replace(tally, outside=made)


def _counts(
    program: Callable[[Any], Any], plan: AuditPlan, reading: Reading, value: Any
) -> Counts | None:
    """Reports of the value by cell, the last one outside; None where it is refused."""
    unread = np.array([0] * len(reading.names) + [plan.reports])
    try:
        reports = program(np.array([value] * plan.reports))
    except NotReportsError as error:
        if error.lines != plan.reports:
            raise
        return unread
    except Exception:  # noqa: BLE001, whatever else it says, it is a refusal
        return None
    try:
        count = 0 if reports is None else len(reports)
    except TypeError:
        count = shown(reports)  # no sequence
    if count == 0:
        return None  # it sends nothing: a refusal as well
    if count != plan.reports:
        wanted = f"{plan.reports:,} or none at all of the value {shown(value)}"
        raise rejected("reports of a call", count, wanted)
    try:
        labels = reading.classify(reports)
    except (TypeError, ValueError, LookupError, ArithmeticError):
        return unread  # no array of the mechanism's kind
    return np.bincount(labels, minlength=len(unread))


def _check_outside(plan: AuditPlan, values: Sequence[Any]) -> None:
    """Different values, none of which the declared mechanism takes itself."""
    if not values or len({repr(plain(v)) for v in values}) < len(values):
        raise rejected("outside values", list(values), "at least one, all different")
    for value in values:
        try:
            declared(plan).simulate(np.array([value]), seed=0)
        except (NotCertified, ValueError, TypeError, OverflowError):
            continue
        raise rejected("outside value", value, f"one outside the domain of {declared(plan).name}")


def compared(plan: AuditPlan, tally: Tally, found: Design) -> Iterator[Finding]:
    """Reports of values outside the domain against those of every input, if any was taken."""
    for value, counts in tally.outside:
        if counts is not None:
            yield from _compared(plan, tally, found, value, counts)


def _compared(
    plan: AuditPlan, tally: Tally, found: Design, value: Any, counts: Counts
) -> Iterator[Finding]:
    """What is outside the message space, and against every input groups of cells, both ways.

    Outside the laws of the domain's values have nothing, and that of the value has at most delta.
    """
    randomizer, n = declared(plan), plan.reports
    pure = math.isfinite(float(randomizer.eps0))
    delta = 0.0 if pure else LOCAL_DELTA
    # A value that is taken may be hidden as any other is, which need be no neighbour of the input.
    claimed = randomizer.eps0 if pure else randomizer.unrestricted().local_epsilon(delta)
    epsilon, seen = float(claimed) * (1.0 + 1e-12), int(counts[-1])
    subject = f"{shown(value)} against every value of the domain"
    p = limits.upper_tail(seen, n, delta)
    yield Finding(GUARANTEE, subject, "outside the message space", p, n, seen)
    for i, x in enumerate(plan.values()):
        for g, name in enumerate(found.group_names):
            inside = np.append(found.groups == g, np.False_)
            own, other = int(counts[inside].sum()), int(tally.counts[i][inside].sum())
            for one, two, a, b in ((value, x, own, other), (x, value, other, own)):
                p = limits.Ratio(a, n, b, n, 0.5).p_value(epsilon, delta=delta)
                yield Finding(GUARANTEE, f"{shown(one)} against {shown(two)}", name, p, n, a)
