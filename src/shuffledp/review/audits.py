"""What an audit says, for a reader: a report of its own, or a section of a deployment's.

Whatever it is shown in, it is a confidence statement about a program and never a certified end: a
program is refuted, or it is not refuted, and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from shuffledp.review.markdown import (
    Block,
    Document,
    bullets,
    code,
    heading,
    line,
    paragraph,
    status,
    strong,
    table,
)
from shuffledp.values.described import shown

# Refuted hypotheses that are shown; the file has all.
_MOST = 12
# A bound of another batch than what is read about.
_CENTRAL = "eps after shuffling"
_TITLES = {
    "program": "One report",
    "shuffler": "The shuffler",
}
_ASSUMPTIONS = (
    "Reports under the audited inputs are independent of each other and of all else.",
    "Nothing is said of inputs that were not audited, nor of differences too small for the sample.",
    "Cells, events and the parts of the level were settled before any report was made.",
)
_NOT_CHECKED = (
    "Not checked: p-values and bounds are as the file says; they were not computed again from its "
    "counts."
)


@dataclass(frozen=True)
class Audited:
    """A saved audit beside the deployment that it is of.

    Attributes
    ----------
    saved : Saved
        The audit, as its file says it.
    file, sha256 : str
        Where it was read.
    of_this_file : bool
        Whether it was made with the same deployment file, byte for byte.
    same_messages : bool
        Whether its bounds after shuffling, if it has some, are of this deployment's messages.
    """

    saved: Any
    file: str
    sha256: str
    of_this_file: bool
    same_messages: bool = True


def audit_report(saved: Any, *, date: str | None = None) -> Document:
    """An audit as a document of its own."""
    program = saved.parts.get("program")
    declared = None if program is None else program.plan.randomizer
    title = "Audit" if declared is None else f"Audit of {declared!r}"
    blocks: list[Block] = [heading(title, 1), *audit_blocks(saved, 2)]
    where = [line(f"Written on {date}.")] if date else []
    where += [line(f"{key}: ", code(_source(value))) for key, value in saved.source.items()]
    if where:
        blocks += [heading("Where this comes from", 2), bullets(where)]
    return Document(title, blocks)


def audited_verdict(audited: Sequence[Audited]) -> list[Block]:
    """A refuted program at the top of its deployment's report: what follows is not of it."""
    if all(found.saved.verdict != "refuted" for found in audited):
        return []
    words = (
        " An audit refutes that what runs is what this report is about; see the audit below. The "
        "numbers are of the declared mechanism, and hold for it alone."
    )
    return [status("missed", strong("The program is refuted."), words)]


def audited_section(found: Audited) -> list[Block]:
    """An audit as a section of a deployment's report."""
    own = audit_blocks(found.saved, 3, lifted=found.same_messages)
    blocks = [heading("Audit of the program", 2), *own]
    words = [line("Read from ", code(found.file), f", sha256 {found.sha256}.")]
    if not found.of_this_file:
        words.append(
            line(
                strong("Made with another deployment file"),
                " that declares the same mechanism: the batch above may be another one.",
            )
        )
    return [*blocks, bullets(words)]


def audit_blocks(saved: Any, level: int, *, lifted: bool = True) -> list[Block]:
    """Verdict, every part, and what they rest on.

    Bounds after shuffling are left out where they are of another batch than what is read about.
    """
    kind = "missed" if saved.verdict == "refuted" else "none"
    levels = math.fsum(part.alpha for part in saved.parts.values())
    words = f" at level {levels:.6g}, all parts together."
    if saved.verdict != "refuted":
        words += " That does not show that the program is private: no number of reports can."
    blocks: list[Block] = [status(kind, strong(_capital(saved.verdict)), words)]
    for name, part in saved.parts.items():
        blocks += [heading(_TITLES[name], level), *_of(part, lifted=lifted)]
    rests_on = (*_ASSUMPTIONS, _NOT_CHECKED) if saved.is_read else _ASSUMPTIONS
    return [*blocks, heading("What this rests on", level), bullets(rests_on)]


def _of(part: Any, *, lifted: bool) -> list[Block]:
    """One part: how much was looked at, what is refuted, its bounds, and what else it says."""
    words = f" at level {part.alpha:.6g}: {part.sample}, {len(part.findings)} hypotheses."
    blocks: list[Block] = [paragraph(strong(part.verdict), words)]
    if part.refutations:
        blocks.append(_refutations(part.refutations))
    bounds = [bound for bound in part.bounds if lifted or bound.quantity != _CENTRAL]
    if bounds:
        blocks.append(_bounds(bounds, 1.0 - part.alpha))
    said = [_found(finding) for finding in part.findings if finding.detectable is not None]
    if len(bounds) < len(part.bounds):
        said.append(
            "The bounds after shuffling are of other messages than this deployment's: they are "
            "left out here."
        )
    else:
        said += part.said
    return [*blocks, *([bullets(said)] if said else [])]


def _refutations(found: Any) -> Block:
    rows: list[tuple[str, ...]] = []
    for finding in found[:_MOST]:
        count = "" if finding.count is None else f"{finding.count:,} of "
        seen = "" if finding.observed is None else f"{finding.observed:.6g}"
        cells = (
            finding.kind,
            finding.subject,
            finding.cell,
            f"{count}{finding.reports:,}",
            _claimed(finding.claimed),
            seen,
            f"{finding.adjusted:.3g}",
        )
        rows.append(cells)
    head = ("refuted", "of", "cell", "reports in it", "claimed", "observed", "adjusted p")
    more = f" (the first {_MOST} of {len(found):,})" if len(found) > _MOST else ""
    return table(f"What is refuted{more}", head, rows, frozenset({0, 1, 2}))


def _claimed(ends: tuple[float, float] | None) -> str:
    if ends is None:
        return ""
    low, high = ends
    return f"{high:.6g}" if high - low <= 1e-6 * high else f"at most {high:.6g}"


def _bounds(found: Sequence[Any], confidence: float) -> Block:
    """The best bound of each quantity: the file has those of all pairs."""
    best: dict[tuple[str, float], Any] = {}
    for bound in found:
        known = best.get((bound.quantity, bound.at))
        if known is None or bound.lower > known.lower:
            best[bound.quantity, bound.at] = bound
    rows = []
    for bound in best.values():
        at = "" if not bound.at else f" at {'eps' if bound.quantity == 'delta' else 'delta'}"
        name = f"{bound.quantity}{at}{f' = {bound.at:g}' if at else ''}"
        pair = (
            "" if bound.pair is None else f"{shown(bound.pair[0])} against {shown(bound.pair[1])}"
        )
        claimed = _up(bound.claimed) if math.isfinite(bound.claimed) else ""
        rows.append((name, pair, bound.event, _down(bound.lower), claimed))
    head = ("of", "values", "by", "at least", "claimed, or certified of the claim")
    caption = f"What runs, with confidence {100.0 * confidence:.9g} %"
    return table(caption, head, rows, frozenset({0, 1, 2}))


def _found(finding: Any) -> str:
    """The smallest violation that the tests would have found."""
    start = "Smallest violation that would have been found with power 0.9: "
    where = f"({finding.subject}, {finding.cell})"
    if not math.isfinite(finding.detectable):
        return f"{start}none {where}."
    claimed, least = finding.claimed[1], _up(finding.detectable)
    return f"{start}probability {least} in place of {claimed:.6g} {where}."


def _source(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {words}" for key, words in value.items())
    return str(value)


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def _down(value: float) -> str:
    """A lower bound with six decimals, rounded down."""
    return f"{math.floor(value * 1e6) / 1e6:.6f}"


def _up(value: float) -> str:
    return f"{math.ceil(value * 1e6) / 1e6:.6f}"
