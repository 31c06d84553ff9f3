"""AuditResult: what an audit says, as a value, as JSON and as text."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from shuffledp.audit import lift
from shuffledp.audit.judge import (
    POWER,
    Finding,
    PairLimits,
    judged,
    test_level,
)
from shuffledp.audit.plan import AuditPlan, Design, design
from shuffledp.audit.tally import Tally
from shuffledp.values.described import shown

FORMAT = "shuffledp-audit/1"
REFUTED, NOT_REFUTED = "refuted", "not refuted"
ASSUMPTIONS = (
    "reports under the audited inputs are independent of each other and of all else",
    "nothing is said of inputs that were not audited, nor of differences too small for the sample",
)
_SHOWN = 12


@dataclass(frozen=True)
class AuditResult:
    """A plan, its counts, and everything that follows from them.

    Attributes
    ----------
    plan, tally
        What was asked and what was counted: all else can be computed from them again.
    findings : tuple of Finding
        All hypotheses.
    pairs : tuple of PairLimits
        Lower confidence bounds of the local eps.
    central : tuple of Central
        Central eps at each delta, where the plan has an n.
    supported : Supported or None
        What the observed cells support, where the claimed law is refuted.
    """

    plan: AuditPlan
    tally: Tally
    findings: tuple[Finding, ...]
    pairs: tuple[PairLimits, ...]
    central: tuple[lift.Central, ...]
    supported: lift.Supported | None

    @property
    def refutations(self) -> tuple[Finding, ...]:
        """Hypotheses that are refuted, the smallest p-value first."""
        level = test_level(self.plan)
        found = [finding for finding in self.findings if finding.adjusted <= level]
        return tuple(sorted(found, key=lambda finding: finding.p))

    @property
    def contradicted(self) -> tuple[PairLimits, ...]:
        """Pairs whose lower confidence bound is above the claimed guarantee."""
        return tuple(pair for pair in self.pairs if pair.lower > pair.claimed * (1.0 + 1e-12))

    @property
    def complete(self) -> bool:
        """Whether all reports of the plan were counted."""
        return bool((self.tally.reports == self.plan.reports).all())

    @property
    def verdict(self) -> str:
        """One of "refuted" and "not refuted": an audit has no other answer."""
        above = any(entry.lower > entry.upper for entry in self.central)
        return REFUTED if self.refutations or self.contradicted or above else NOT_REFUTED

    @property
    def lower(self) -> PairLimits:
        """The pair with the largest lower confidence bound of eps."""
        return max(self.pairs, key=lambda pair: pair.lower)

    @property
    def central_words(self) -> str:
        """Which values the bounds after shuffling are of, in words; "" where there are none."""
        if not self.central:
            return ""
        if not any(pair.neighbours for pair in self.pairs):
            return (
                "No two of the audited values are known to be neighbours: of the program after "
                "shuffling nothing is said."
            )
        found = [entry.pair for entry in self.central if entry.pair is not None]
        names = dict.fromkeys(" and ".join(sorted(shown(x) for x in pair)) for pair in found)
        if not names:
            return ""
        return f"The program's bounds are of one user who changes between {', or '.join(names)}."

    def to_dict(self) -> dict[str, Any]:
        """For files; infinities are None."""
        return {
            "format": FORMAT,
            "verdict": self.verdict,
            "alpha": self.plan.alpha,
            "assumptions": list(ASSUMPTIONS),
            "plan": self.plan.to_dict(),
            "refutations": [_finding(f) for f in self.refutations],
            "findings": [_finding(f) for f in self.findings],
            "pairs": [_pair(p) for p in self.pairs],
            "central": [_central(c) for c in self.central],
            "supported": None if self.supported is None else _supported(self.supported),
            "tally": self.tally.to_dict(),
            **({} if self.complete else {"stopped": True}),
        }

    def text(self) -> str:
        """For a reader, in Markdown."""
        return "\n".join(_lines(self)) + "\n"


def result_of(plan: AuditPlan, tally: Tally, *, found: Design | None = None) -> AuditResult:
    """Judge the counts of a plan.

    Parameters
    ----------
    plan : AuditPlan
        Settled before the counts were seen.
    tally : Tally
        What ``collected`` counted.
    found : Design, optional
        ``design(plan)``, where it is there already.
    """
    found = found or design(plan)
    findings, pairs = judged(plan, tally, found)
    bare = AuditResult(plan, tally, tuple(findings), tuple(pairs), (), None)
    backed = None
    if any(finding.kind == "law" for finding in bare.refutations):
        backed = lift.supported(plan, tally, found)
    channels = lift.weakest_channels(plan, tally, found, pairs)
    central = lift.central(plan, channels, backed)
    return AuditResult(plan, tally, tuple(findings), tuple(pairs), central, backed)


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "kind": finding.kind,
        "subject": finding.subject,
        "cell": finding.cell,
        "count": finding.count,
        "reports": finding.reports,
        "claimed": None if finding.claimed is None else list(finding.claimed),
        "observed": finding.observed,
        "p": finding.p,
        "adjusted": finding.adjusted,
    }


def _pair(pair: PairLimits) -> dict[str, Any]:
    return {
        "pair": [shown(x) for x in pair.pair],
        "claimed": pair.claimed,
        "delta": pair.delta,
        # Of neighbours files say what they said before there was this key.
        **({} if pair.neighbours else {"neighbours": False}),
        "lower": pair.lower,
        "event": pair.event,
        "points": [list(point) for point in pair.points],
        "detectable": [_number(p) for p in pair.detectable],
        "detectable_epsilon": _number(pair.detectable_epsilon),
    }


def _central(entry: lift.Central) -> dict[str, Any]:
    return {
        "delta": entry.delta,
        "lower": entry.lower,
        "pair": None if entry.pair is None else [shown(x) for x in entry.pair],
        "upper": _number(entry.upper),
        "supported": None if entry.supported is None else _number(entry.supported),
    }


def _supported(found: lift.Supported) -> dict[str, Any]:
    return {
        "epsilon": _number(found.epsilon),
        "cell": found.cell,
        "conditions": list(found.conditions),
    }


# ----------------------------------------------------------------------------------------- text


def _down(value: float, digits: int = 4) -> str:
    """A lower bound with few digits, rounded down."""
    return f"{math.floor(value * 10**digits) / 10**digits:.{digits}f}"


def _upward(value: float, digits: int = 4) -> str:
    if not math.isfinite(value):
        return "none"
    return f"{math.ceil(value * 10**digits) / 10**digits:.{digits}f}"


def asked_words(result: AuditResult) -> str:
    """How many reports under each input; of an audit that stopped, of how many."""
    each, plan = result.tally.reports, result.plan
    if result.complete:
        return f"{plan.reports:,} reports"
    return f"{int(each.min()):,} to {int(each.max()):,} reports (of {plan.reports:,})"


def _lines(result: AuditResult) -> list[str]:
    plan = result.plan
    lines = [
        f"# Audit of {plan.randomizer!r}",
        "",
        (
            f"**{result.verdict}** at level {plan.alpha:g}: {asked_words(result)} under each of "
            f"{len(plan.asked)} inputs, {len(result.findings)} hypotheses."
        ),
        "",
    ]
    lines += _refutation_lines(result)
    lines += _local_lines(result)
    lines += _central_lines(result)
    lines += ["## What this rests on", ""]
    lines += [f"- {words}" for words in ASSUMPTIONS]
    lines += [
        (
            f"- Tests share the level {test_level(plan):g} (Holm); all limits together have "
            f"{plan.alpha * (plan.spend[1] + plan.spend[2]):g}. Cells and events were settled "
            "before any report was made."
        )
    ]
    return lines


def _refutation_lines(result: AuditResult) -> list[str]:
    if not result.refutations:
        if result.verdict == REFUTED:
            return ["A confidence bound contradicts the claim; see below.", ""]
        return []
    lines = [
        "| refuted | inputs | cell | reports in it | claimed | observed | adjusted p |",
        "|---|---|---|---|---|---|---|",
    ]
    shown = result.refutations[:_SHOWN]
    lines += ["| " + " | ".join(_cells(finding)) + " |" for finding in shown]
    more = len(result.refutations) - _SHOWN
    if more > 0:
        lines.append(f"\nand {more} more.")
    return [*lines, ""]


def _cells(finding: Finding) -> list[str]:
    count = "" if finding.count is None else f"{finding.count:,} of "
    claimed = ""
    if finding.claimed is not None:
        low, high = finding.claimed
        claimed = f"{high:.6g}" if high - low <= 1e-6 * high else f"at most {high:.6g}"
    observed = "" if finding.observed is None else f"{finding.observed:.6g}"
    name = finding.cell.replace("|", "/")
    adjusted = f"{finding.adjusted:.3g}"
    return [
        finding.kind,
        finding.subject,
        name,
        f"{count}{finding.reports:,}",
        claimed,
        observed,
        adjusted,
    ]


def _local_lines(result: AuditResult) -> list[str]:
    best, plan = result.lower, result.plan
    main = result.pairs[0]
    at = f" at delta = {best.delta:g}" if best.delta else ""
    confidence = f"{100.0 * (1.0 - plan.alpha):g} %"
    lines = [
        "## One report",
        "",
        (
            f"- eps >= {_down(best.lower)}{at} for {shown(best.pair[0])} against "
            f"{shown(best.pair[1])}, with confidence {confidence}; claimed: {best.claimed:.6g}."
        ),
    ]
    lines.append(_power_line(main))
    if result.supported is not None:
        found = result.supported
        lines.append(
            f"- The observed cells support eps0 <= {_upward(found.epsilon)} (confidence "
            f"{confidence}; worst cell: {found.cell}), if"
        )
        lines += [f"  - {words};" for words in found.conditions]
    return [*lines, ""]


def _power_line(pair: PairLimits) -> str:
    """What the tests would have found."""
    words = f"- Smallest violation found with power {POWER:g}: "
    if not math.isfinite(pair.detectable[1]):
        return f"{words}none by the reports that speak most for {shown(pair.pair[0])} alone."
    claimed, found = pair.detectable
    return (
        f"{words}{found:.6g} in place of the claimed {claimed:.6g} of the reports under "
        f"{shown(pair.pair[0])} in the cells that speak most for it against {shown(pair.pair[1])} "
        f"(their log ratio is then {_upward(pair.detectable_epsilon)})."
    )


def _central_lines(result: AuditResult) -> list[str]:
    if not result.central:
        return []
    extra = result.supported is not None
    lines = [
        f"## After shuffling {result.plan.shuffled}",
        "",
        "| delta | eps of the program, at least (confidence) | eps of the declared law, at most "
        "(certified) |"
        + (" supported by the observed cells (confidence, conditions above) |" * extra),
        "|---|---|---|" + "---|" * extra,
    ]
    for entry in result.central:
        cells = [f"{entry.delta:g}", _down(entry.lower, 6), _upward(entry.upper, 6)]
        if extra:
            cells.append(_upward(math.inf if entry.supported is None else entry.supported, 6))
        lines.append("| " + " | ".join(cells) + " |")
    said = result.central_words
    return [*lines, "", *([said, ""] if said else [])]
