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
from shuffledp.audit.plan import LOCAL_DELTA, AuditPlan, Design, design, plain, tuples
from shuffledp.audit.readings import Reading
from shuffledp.audit.sources import NotReportsError
from shuffledp.audit.tables import table_of, whole
from shuffledp.audit.tally import Tally
from shuffledp.audit.words import in_markdown
from shuffledp.errors import NotCertified, rejected
from shuffledp.values.described import shown

Counts = tuple[int, ...]

# How many lengths of the interval beyond its ends.
_FAR = 10.0


@dataclass(frozen=True)
class DomainResult:
    """Which values were refused, and how the reports of the others compare.

    Attributes
    ----------
    plan : AuditPlan
        Of the audit whose counts the reports are compared with.
    alpha : float
        Level.
    values : tuple
        Values outside the domain that the program was given.
    counts : tuple
        For each of them its reports by cell, the last one outside the message space; None where
        the program did not take it.
    findings : tuple of Finding
        Of the values it took, against every audited input.
    """

    plan: AuditPlan
    alpha: float
    values: tuple[Any, ...]
    counts: tuple[Counts | None, ...]
    findings: tuple[Finding, ...]

    @property
    def refused(self) -> tuple[Any, ...]:
        """Values that the program did not take."""
        return tuple(v for v, c in zip(self.values, self.counts, strict=True) if c is None)

    @property
    def taken(self) -> tuple[Any, ...]:
        """Values that it sent reports of."""
        return tuple(v for v, c in zip(self.values, self.counts, strict=True) if c is not None)

    @property
    def complete(self) -> bool:
        """Every value was given."""
        return len(self.values) == len(self.counts)

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
            "plan": {"alpha": self.alpha, "values": [plain(v) for v in self.values]},
            "tally": [None if c is None else list(c) for c in self.counts],
            "refused": [shown(v) for v in self.refused],
            "taken": [shown(v) for v in self.taken],
            "findings": [dataclasses.asdict(f) for f in self.findings],
        }

    def text(self) -> str:
        """For a reader, in Markdown."""
        lines = ["## Values outside the domain", "", f"**{self.verdict}** at level {self.alpha:g}."]
        for words, values in (("refused", self.refused), ("taken", self.taken)):
            if values:
                lines.append(f"- {words}: {', '.join(in_markdown(shown(v)) for v in values)}")
        lines += [
            f"- {in_markdown(f'{f.subject}: {f.cell}')}, {f.count:,} of {f.reports:,} "
            f"(adjusted p {f.adjusted:.3g})"
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
        As in ``audit``; an exception, a command's status other than 0 and no reports at all are a
        refusal. As many answers as values that cannot be read as reports are sent all the same:
        they count as reports outside the message space.
    plan, tally
        Of the audit whose counts the reports are compared with.
    values : sequence, optional
        Values outside the domain; those of ``outside_values`` by default.
    alpha : float
        Level of this audit.
    """
    level = _check.real("alpha", alpha, low=1e-12, high=0.5)
    found = design(plan)
    if values is not None and (isinstance(values, str) or not isinstance(values, Sequence)):
        raise rejected("outside values", values, "a list of values")
    chosen = outside_values(plan) if values is None else tuple(values)
    _check_outside(plan, chosen)
    made = [_counts(program, plan, found.reading, value) for value in chosen]
    return domain_of(plan, tally, chosen, made, alpha=level)


def _counts(
    program: Callable[[Any], Any], plan: AuditPlan, reading: Reading, value: Any
) -> Counts | None:
    """Reports of the value by cell; None where it is refused."""
    unread = (*[0] * len(reading.names), plan.reports)
    try:
        reports = program(np.array([value] * plan.reports))
        count = 0 if reports is None else _length(reports)
    except NotReportsError as error:
        if error.lines != plan.reports:
            raise
        return unread
    except Exception:  # noqa: BLE001, whatever else it says, it is a refusal
        return None
    if count == 0:
        return None  # it sends nothing: a refusal as well
    if count != plan.reports:
        given = shown(reports) if count is None else count
        wanted = f"{plan.reports:,} or none at all of the value {shown(value)}"
        raise rejected("reports of a call", given, wanted)
    try:
        labels = reading.classify(reports)
    except (TypeError, ValueError, LookupError, ArithmeticError):
        return unread  # no array of the mechanism's kind
    return tuple(np.bincount(labels, minlength=len(unread)).tolist())


def _length(reports: Any) -> int | None:
    """How many there are; None for a single number and other things that are no sequence."""
    try:
        return len(reports)
    except Exception:  # noqa: BLE001, whatever it says, it is no sequence
        return None


def _check_outside(plan: AuditPlan, values: Sequence[Any]) -> None:
    """Different values, none of which the declared mechanism takes itself."""
    if not values or len({repr(plain(v)) for v in values}) < len(values):
        raise rejected("outside values", list(values), "at least one, all different")
    for value in values:
        try:
            plan.randomizer.simulate(np.array([value]), seed=0)
        except (NotCertified, ValueError, TypeError, OverflowError):
            continue
        raise rejected("outside value", value, f"one outside the domain of {plan.randomizer.name}")


def domain_of(
    plan: AuditPlan,
    tally: Tally,
    values: Sequence[Any],
    counts: Sequence[Counts | None],
    *,
    alpha: float,
) -> DomainResult:
    """Judge the counts of values outside the domain."""
    found, every = design(plan), []
    for value, row in zip(values, counts, strict=True):
        if row is not None:
            every += _compared(plan, tally, found, value, np.array(row, dtype=np.int64))
    adjusted = limits.holm([f.p for f in every])
    findings = tuple(
        dataclasses.replace(f, adjusted=p) for f, p in zip(every, adjusted, strict=True)
    )
    return DomainResult(plan, alpha, tuple(values), tuple(counts), findings)


def domain_from_dict(table: dict[str, Any], plan: AuditPlan, tally: Tally) -> DomainResult:
    """Judge saved counts again; nothing but values, counts and level is read.

    Raises
    ------
    ParameterError
        If they are not counts of values outside the domain of that plan.
    """
    asked = table_of("outside.plan", table.get("plan"), ("alpha", "values"))
    values, rows = asked["values"], table.get("tally")
    if not isinstance(values, list) or not isinstance(rows, list) or len(values) != len(rows):
        raise rejected("outside.tally", "other rows", "one for each value")
    cells = len(design(plan).reading.names) + 1
    made = [None if row is None else tuple(whole("outside.tally", row, (cells,))) for row in rows]
    alpha = _check.real("outside.plan.alpha", asked["alpha"], low=1e-12, high=0.5)
    if any(row is not None and sum(row) != plan.reports for row in made):
        raise rejected("outside.tally", "its sums", f"{plan.reports:,} reports of each value")
    chosen = [tuples(v) for v in values]
    _check_outside(plan, chosen)
    return domain_of(plan, tally, chosen, made, alpha=alpha)


def _compared(
    plan: AuditPlan, tally: Tally, found: Design, value: Any, counts: Any
) -> list[Finding]:
    """What is outside the message space, and against every input groups of cells, both ways.

    Outside the laws of the domain's values have nothing, and that of the value has at most delta.
    """
    randomizer = plan.randomizer
    pure = math.isfinite(float(randomizer.eps0))
    delta = 0.0 if pure else LOCAL_DELTA
    # A value that is taken may be hidden as any other is, which need be no neighbour of the input.
    claimed = randomizer.eps0 if pure else randomizer.unrestricted().local_epsilon(delta)
    epsilon = float(claimed)
    n, made = int(counts.sum()), []
    events = [(name, found.groups == g) for g, name in enumerate(found.group_names)]
    events = [(name, np.append(inside, np.False_)) for name, inside in events]
    seen = int(counts[-1])
    p = limits.upper_tail(seen, n, delta)
    words = f"{shown(value)} against every value of the domain"
    made.append(Finding(GUARANTEE, words, "outside the message space", p, n, seen))
    for i, x in enumerate(plan.values()):
        for name, inside in events:
            own, other = int(counts[inside].sum()), int(tally.counts[i][inside].sum())
            asked = int(tally.reports[i])
            for words, pair in (
                (f"{shown(value)} against {shown(x)}", (own, n, other, asked)),
                (f"{shown(x)} against {shown(value)}", (other, asked, own, n)),
            ):
                p = limits.Ratio(*pair, 0.5).p_value(epsilon * (1.0 + 1e-12), delta=delta)
                made.append(Finding(GUARANTEE, words, name, p, pair[1], pair[0]))
    return made
