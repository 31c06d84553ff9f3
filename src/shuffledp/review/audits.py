"""What an audit says, for a reader: a report of its own, or a section of a deployment's.

Whatever it is shown in, it is a confidence statement about a program and never a certified end: a
program is refuted, or it is not refuted, and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from shuffledp.review.blocks import (
    Block,
    Bullets,
    Code,
    Document,
    Heading,
    Line,
    Paragraph,
    Status,
    Strong,
    Table,
    line,
)
from shuffledp.values.described import shown

# Refuted hypotheses and pairs of inputs that are shown; the file has all.
_MOST = 12
# Characters of a field's name; of longer ones the beginning is shown, and a checksum.
_LONGEST_NAME = 80
_TITLES = {
    "program": "One report",
    "outside": "Values outside the domain",
    "estimates": "Estimates",
    "shuffler": "The shuffler",
    "unknown": "A program without a declared law",
}


@dataclass(frozen=True)
class Audited:
    """A saved audit beside the deployment that it is of.

    Attributes
    ----------
    saved : Saved
        The audit, judged again from its counts.
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


def audit_report(saved: Any, *, date: str) -> Document:
    """An audit as a document of its own."""
    names = [repr(p.plan.randomizer) for k, p in saved.parts.items() if k == "program"]
    title = f"Audit of {names[0]}" if names else "Audit"
    blocks: list[Block] = [Heading(title, 1), *audit_blocks(saved, 2)]
    where = [line(f"Written on {date}.")]
    where += [line(f"{key}: ", Code(_source(value))) for key, value in saved.source.items()]
    blocks += [Heading("Where this comes from", 2), Bullets(tuple(where))]
    return Document(title, blocks)


def audited_verdict(audited: Sequence[Audited]) -> list[Block]:
    """A refuted program at the top of its deployment's report: what follows is not of it."""
    if all(found.saved.verdict != "refuted" for found in audited):
        return []
    words = (
        " An audit refutes that what runs is what this report is about; see the audit below. The "
        "numbers are of the declared mechanism, and hold for it alone."
    )
    return [Status("missed", line(Strong("The program is refuted."), words))]


def audited_section(found: Audited, level: int) -> list[Block]:
    """An audit as a section of a deployment's report."""
    own = audit_blocks(found.saved, level + 1, lifted=found.same_messages)
    blocks = [Heading("Audit of the program", level), *own]
    words = [line("Read from ", Code(found.file), f", sha256 {found.sha256}.")]
    if not found.of_this_file:
        words.append(
            line(
                Strong("Made with another deployment file"),
                " that declares the same mechanism: the batch above may be another one.",
            )
        )
    return [*blocks, Bullets(tuple(words))]


def audit_blocks(saved: Any, level: int, *, lifted: bool = True) -> list[Block]:
    """Verdict, every part, and what was not checked.

    Bounds after shuffling are left out where they are of another batch than what is read about.
    """
    kind = "missed" if saved.verdict == "refuted" else "none"
    levels = math.fsum(_alpha(part) for part in saved.parts.values())
    words = f" at level {levels:.6g}, all parts together."
    if saved.verdict != "refuted":
        words += " That does not show that the program is private: no number of reports can."
    blocks: list[Block] = [Status(kind, line(Strong(_capital(saved.verdict)), words))]
    if saved.stopped:
        said = "The audit was stopped before it was done, and is judged as far as it went."
        blocks.append(Status("open", line(Strong("Not done."), f" {said}")))
    for name, part in saved.parts.items():
        blocks.append(Heading(_TITLES[name], level))
        blocks += _of(name, part)
        if name == "program" and part.central:
            blocks += _after_shuffling(part) if lifted else [_of_another_batch(part)]
    if saved.not_checked:
        blocks.append(Heading("Not checked", level))
        blocks.append(Bullets(tuple(line(_capital(w) + ".") for w in saved.not_checked)))
    return blocks


def _of(name: str, part: Any) -> list[Block]:
    makers = {
        "program": _program,
        "outside": _outside,
        "estimates": _estimates,
        "shuffler": _shuffler,
        "unknown": _unknown,
    }
    start = f"{_capital(part.verdict)} at level {_alpha(part):.6g}"
    return [Paragraph(line(Strong(start), f": {_sample(name, part)}.")), *makers[name](part)]


def _alpha(part: Any) -> float:
    return float(part.alpha if hasattr(part, "alpha") else part.plan.alpha)


def _sample(name: str, part: Any) -> str:
    """How much was looked at."""
    if name == "program":
        each = part.tally.reports
        low, high = int(each.min()), int(each.max())
        many = f"{high:,}" if low == high else f"{low:,} to {high:,} (of {part.plan.reports:,})"
        return f"{many} reports under each of {len(each)} inputs, {len(part.findings)} hypotheses"
    if name == "outside":
        return f"{len(part.refused)} values were refused, {len(part.taken)} were taken"
    if name == "estimates":
        how = "tested" if part.exact else "measured only, the intervals are normal ones"
        percent = f"{100.0 * part.plan.confidence:g} % intervals"
        return f"{len(part.sums):,} batches, {percent} ({how})"
    if name == "shuffler":
        return (
            f"{part.tally.done:,} batches of {part.plan.messages:,} messages, "
            f"{len(part.findings)} hypotheses"
        )
    counted = sum(part.second[0])
    return f"{part.plan.choosing:,} reports under each value chose the event, {counted:,} count"


def _program(part: Any) -> list[Block]:
    best, main = part.lower, part.pairs[0]
    blocks = _refutations(part.refutations)
    at = f" at delta = {best.delta:g}" if best.delta else ""
    said = [
        line(
            Strong(f"eps >= {_down(best.lower)}{at}"),
            f" of one report, for {shown(best.pair[0])} against {shown(best.pair[1])}; claimed: "
            f"{best.claimed:.6g}.",
        ),
        line(_found(main)),
    ]
    if part.supported is not None:
        end = _up(part.supported.epsilon)
        said.append(line(f"The observed cells support eps0 <= {end}, if all of these hold:"))
        said += [line(f"{words};") for words in part.supported.conditions]
    blocks.append(Bullets(tuple(said)))
    return blocks


def _found(main: Any) -> str:
    claimed, found = main.detectable
    start = "Smallest violation that would have been found with power 0.9: "
    if not math.isfinite(found):
        return f"{start}none by the reports that speak most for {shown(main.pair[0])} alone."
    return (
        f"{start}{found:.6g} in place of the claimed {claimed:.6g} of the reports under "
        f"{shown(main.pair[0])} that speak most for it against {shown(main.pair[1])}."
    )


def _after_shuffling(part: Any) -> list[Block]:
    """Central eps, and of which values it is."""
    said = part.central_words
    return [_central(part), *([Paragraph(line(said))] if said else [])]


def _central(part: Any) -> Table:
    head = ["delta", "the program, at least (confidence)", "the declared law, at most (certified)"]
    extra = part.supported is not None
    head += ["supported by the observed cells (confidence)"] * extra
    rows = []
    for entry in part.central:
        cells = [f"{entry.delta:g}", _down(entry.lower, 6), _up(entry.upper, 6)]
        cells += [_up(math.inf if entry.supported is None else entry.supported, 6)] * extra
        rows.append(tuple((cell,) for cell in cells))
    caption = f"Central eps after shuffling {part.plan.shuffled}, nats"
    return Table(caption, tuple(head), tuple(rows), frozenset())


def _of_another_batch(part: Any) -> Paragraph:
    words = (
        f" of this audit are of {part.plan.n:,} messages, which are not this deployment's: they "
        "are left out here."
    )
    return Paragraph(line(Strong("The bounds after shuffling"), words))


def _outside(part: Any) -> list[Block]:
    said = [
        line(f"{words}: {', '.join(shown(v) for v in values)}")
        for words, values in (("Refused", part.refused), ("Taken", part.taken))
        if values
    ]
    return [Bullets(tuple(said)), *_refutations(part.refutations)]


def _estimates(part: Any) -> list[Block]:
    rows: list[tuple[Line, ...]] = []
    for q in part.quantities:
        error = q.spread / math.sqrt(len(part.sums))
        cells = (q.name, f"{q.truth:.6g}", f"{q.mean:.6g}", f"{error:.3g}", f"{q.misses:,}")
        rows.append(tuple((cell,) for cell in cells))
    head = ("of", "true", "mean estimate", "standard error of that", "intervals that miss")
    return [Table("Known values, estimated", head, tuple(rows)), *_refutations(part.refutations)]


def _shuffler(part: Any) -> list[Block]:
    words = (
        "Smallest violation that would have been found with power 0.9: neighbours that keep their "
        f"order with probability {_up(part.detectable)} in place of 1/2."
    )
    beside = ", ".join(map(_name, sorted(part.tally.traces))) or "nothing"
    seen = f"Looked at beside the messages: {beside}."
    left = [line(f"Not covered: {words}.") for words in part.plan.uncovered]
    return [*_refutations(part.refutations), Bullets((line(words), line(seen), *left))]


def _name(words: str) -> str:
    """A field's name, which a program chose: a long one is cut."""
    return words if len(words) <= _LONGEST_NAME else shown(words)


def _unknown(part: Any) -> list[Block]:
    x0, x1 = (shown(v) for v in part.pair)
    said = [line(Strong(f"eps0 >= {_down(part.epsilon)}"), f" of {x0} and {x1}: {part.event}.")]
    if part.plan.claimed is not None:
        said.append(line(f"Claimed: eps0 = {part.plan.claimed:g}."))
    else:
        said.append(line("Nothing is declared, so nothing can be refuted."))
    said += [line(f"delta >= {_down(d, 9)} at eps = {e:g}") for e, d in part.delta]
    return [Bullets(tuple(said))]


def _refutations(found: Any) -> list[Block]:
    if not found:
        return []
    rows: list[tuple[Line, ...]] = []
    for finding in found[:_MOST]:
        count = "" if finding.count is None else f"{finding.count:,} of "
        claimed = _claimed(finding.claimed)
        seen = "" if finding.observed is None else f"{finding.observed:.6g}"
        cells = (
            finding.kind,
            finding.subject,
            finding.cell,
            f"{count}{finding.reports:,}",
            claimed,
            seen,
            f"{finding.adjusted:.3g}",
        )
        rows.append(tuple((cell,) for cell in cells))
    head = ("refuted", "inputs", "cell", "reports in it", "claimed", "observed", "adjusted p")
    more = f" (the first {_MOST} of {len(found):,})" if len(found) > _MOST else ""
    return [Table(f"What is refuted{more}", head, tuple(rows), frozenset({0, 1, 2}))]


def _claimed(ends: tuple[float, float] | None) -> str:
    if ends is None:
        return ""
    low, high = ends
    return f"{high:.6g}" if high - low <= 1e-6 * high else f"at most {high:.6g}"


def _source(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {words}" for key, words in value.items())
    return str(value)


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def _down(value: float, digits: int = 4) -> str:
    """A lower bound with few digits, rounded down."""
    return f"{math.floor(value * 10**digits) / 10**digits:.{digits}f}"


def _up(value: float, digits: int = 4) -> str:
    if not math.isfinite(value):
        return "nothing finite"
    return f"{math.ceil(value * 10**digits) / 10**digits:.{digits}f}"
