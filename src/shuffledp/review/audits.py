"""What an audit says, for a reader.

Whatever it is shown in, it is a confidence statement about a program and never a certified end: a
program is refuted, or it is not refuted, and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
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
_TITLES = {
    "program": "One report",
    "shuffler": "The shuffler",
}
_ASSUMPTIONS = (
    "Reports under the audited inputs are independent of each other and of all else.",
    "Nothing is said of inputs that were not audited, nor of differences too small for the sample.",
    "Cells, events and the parts of the level were settled before any report was made.",
)


def audit_report(saved: Any, *, date: str | None = None) -> Document:
    """An audit as a document of its own."""
    program = saved.parts.get("program")
    declared = None if program is None else program.plan.randomizer
    title = "Audit" if declared is None else f"Audit of {declared!r}"
    blocks: list[Block] = [heading(title, 1), *_blocks(saved)]
    where = [line(f"Written on {date}.")] if date else []
    where += [line(f"{key}: ", code(_source(value))) for key, value in saved.source.items()]
    if where:
        blocks += [heading("Where this comes from", 2), bullets(where)]
    return Document(title, blocks)


def _blocks(saved: Any) -> list[Block]:
    """Verdict, every part, and what they rest on."""
    kind = "missed" if saved.verdict == "refuted" else "none"
    levels = math.fsum(part.alpha for part in saved.parts.values())
    words = f" at level {levels:.6g}, all parts together."
    if saved.verdict != "refuted":
        words += " That does not show that the program is private: no number of reports can."
    blocks: list[Block] = [status(kind, strong(_capital(saved.verdict)), words)]
    for name, part in saved.parts.items():
        blocks += [heading(_TITLES[name], 2), *_of(part)]
    return [*blocks, heading("What this rests on", 2), bullets(_ASSUMPTIONS)]


def _of(part: Any) -> list[Block]:
    """One part: how much was looked at, what is refuted, its bounds, and what else it says."""
    words = f" at level {part.alpha:.6g}: {part.sample}, {len(part.findings)} hypotheses."
    blocks: list[Block] = [paragraph(strong(part.verdict), words)]
    if part.refutations:
        blocks.append(_refutations(part.refutations))
    if part.bounds:
        blocks.append(_bounds(part.bounds, 1.0 - part.alpha))
    said = [_found(finding) for finding in part.findings if finding.detectable is not None]
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
        name = bound.quantity + (f" at delta = {bound.at:g}" if bound.at else "")
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
