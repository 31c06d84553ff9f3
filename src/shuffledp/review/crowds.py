"""The report of a crowd: what each group's members get, from its certificate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from shuffledp.review.blocks import (
    Block,
    Bullets,
    Code,
    Document,
    Figure,
    Heading,
    Line,
    Paragraph,
    Ref,
    Signatures,
    Strong,
    Table,
    Terms,
    line,
)
from shuffledp.review.cautions import Caution, cautions, ends_cases
from shuffledp.review.claims import (
    WORDS,
    Ends,
    epsilon_delta,
    failure,
    height,
    released,
)
from shuffledp.review.content import ROLES, failed_words, odds_words, situations, target_status
from shuffledp.review.drawing import Item, Level, Mark, Picture
from shuffledp.review.entry import Entry
from shuffledp.review.glossary import TERMS
from shuffledp.review.grounds import (
    assumptions,
    checklist,
    sentence,
    sources,
    statements,
    theorems,
    verification,
)
from shuffledp.review.meaning import odds, percent
from shuffledp.review.picture import Y_LABELS, place
from shuffledp.review.verdict import judged

_SHAPES = ("dot", "square", "cross")
_NO_BATCH = (
    "a crowd's file has no minimum batch: nothing is said of a batch in which fewer messages "
    "arrive than the file counts, and such a batch is released too"
)
_CAPTION = (
    "To the right each group's members among all groups, as the certificate has it; to the left "
    "what they would have among the users of their own mechanism alone, computed with the account "
    "and no part of the certificate."
)


@dataclass(frozen=True)
class CrowdEntry:
    """A crowd of a report.

    Attributes
    ----------
    entry : Entry
        As for one mechanism; its certificate is the crowd's.
    labels : sequence of str
        Each group's mechanism in a few words.
    own : sequence of Bound
        What each group's members would have by themselves.
    """

    entry: Entry
    labels: Sequence[str]
    own: Sequence[Any]


def crowd_verdict(certificate: Any) -> Any:
    """Whether the file's limit is met for the members of every group; None where it has none."""
    cases = [
        replace(case, name=f"group {k}")
        for k in range(len(certificate.members))
        for case in ends_cases(certificate.of_group(k))
    ]
    return judged(certificate.deployment.content.target, cases)


def crowd_cautions(certificate: Any) -> list[Caution]:
    """What there is to warn of, group by group; what is the same for all once."""
    found: dict[Caution, list[int]] = {}
    for k in range(len(certificate.members)):
        for one in cautions(certificate.of_group(k)):
            said = replace(one, words=_NO_BATCH) if one.name == "no-minimum-batch" else one
            if one.name == "target-missed":
                continue
            found.setdefault(said, []).append(k)
    verdict, warned = crowd_verdict(certificate), []
    if verdict is not None and verdict.kind != "met":
        start = "" if verdict.kind == "missed" else "not shown to be met: "
        warned.append(Caution("target-missed", start + verdict.words))
    everybody = len(certificate.members)
    for one, groups in found.items():
        of = "" if len(groups) == everybody else f"group {', '.join(map(str, groups))}: "
        warned.append(replace(one, words=of + one.words))
    return warned


def crowd_report(entries: Sequence[CrowdEntry], *, date: str) -> Document:
    """The report of one crowd, or of several one after the other.

    Parameters
    ----------
    entries : sequence of CrowdEntry
        At least one.
    date : str
        When it was made.
    """
    several = len(entries) > 1
    title = f"Privacy report: {entries[0].entry.title}"
    if several:
        title = f"Privacy report: {len(entries)} crowds"
    blocks: list[Block] = [Heading(title, 1)]
    for i, one in enumerate(entries, 1):
        prefix = f"d{i}-" if several else ""
        if several:
            blocks.append(Heading(f"{i}. {one.entry.title}", 2, f"{prefix}start"))
        blocks += _of_one(one, 3 if several else 2, prefix, date)
    blocks += [
        Heading("Words", 2),
        Terms(TERMS),
        Heading("Signatures", 2),
        Paragraph(line("Who signs has read the summary, and has checked every assumption above.")),
        Signatures(ROLES),
    ]
    return Document(title, blocks)


def _of_one(one: CrowdEntry, level: int, prefix: str, date: str) -> list[Block]:
    entry, certificate = one.entry, one.entry.certificate
    groups = [certificate.of_group(k) for k in range(len(certificate.members))]
    status = target_status(crowd_verdict(certificate), certificate.quantity)
    blocks = [*status, *_summary(certificate, groups), *_warned(entry, level)]
    blocks += [Heading("What is certified", level), _table(one, groups, prefix), _odds(groups)]
    blocks += _figure(one, groups, level, prefix)
    for k, group in enumerate(groups):
        name = f"{prefix}group-{k}"
        blocks.append(Heading(f"Members of group {k}: {one.labels[k]}", level, name))
        words = sentence(group.neighbouring_relation["words"])
        blocks.append(Paragraph(line(f"{words} Protected is {group.privacy_unit}.")))
        cited = statements(group)
        blocks += situations(group, cited, f"{name}-")
        blocks.append(Paragraph(failed_words(group)))
        blocks += theorems(cited, level, f"{name}-")
    said = list(dict.fromkeys(words for group in groups for words in assumptions(group)))
    blocks += [
        *checklist(said, level),
        Heading("Verification", level),
        *verification(entry),
        Heading("Where this comes from", level),
        sources(entry, date),
    ]
    return blocks


def _now(group: Any) -> Ends:
    return released(group)[0]


def _bounded(group: Any) -> str:
    """The upper end, or that there is none."""
    ends, word = _now(group), WORDS[group.quantity]
    if ends.upper.value is None:
        return "nothing finite"
    return f"{word} <= {ends.shown('upper')}{' nats' if word == 'eps' else ''}"


def _summary(certificate: Any, groups: Sequence[Any]) -> list[Block]:
    fixed = "delta" if certificate.quantity == "epsilon" else "eps"
    users = sum(one.users for one in certificate.members)
    start = (
        f"The messages of {users:,} users in {len(groups)} groups are shuffled together. What "
        "anybody who sees them, and nothing else of them, can learn about the data of any one "
        f"user is bounded, at {fixed} = {certificate.at!r}, by the user's group:"
    )
    said = [line(f"group {k}: ", Strong(_bounded(group))) for k, group in enumerate(groups)]
    k = max(range(len(groups)), key=lambda k: height(_now(groups[k])))
    worst = groups[k]
    epsilon, delta = epsilon_delta(worst, _now(worst))
    blocks: list[Block] = [Paragraph(line(start)), Bullets(tuple(said))]
    if epsilon is not None:
        start = f"Least is promised to the members of group {k}. "
        blocks.append(Paragraph(line(start, *odds_words(worst, epsilon, delta))))
    return blocks


def _warned(entry: Entry, level: int) -> list[Block]:
    if not entry.cautions and not entry.silenced:
        return []
    blocks: list[Block] = [Heading("Warnings", level)]
    if entry.cautions:
        blocks.append(Bullets(tuple(line(Code(c.name), f": {c.words}.") for c in entry.cautions)))
    if entry.silenced:
        names = ", ".join(entry.silenced)
        blocks.append(Paragraph(line(f"Switched off, whether they applied or not: {names}.")))
    return blocks


def _table(one: CrowdEntry, groups: Sequence[Any], prefix: str) -> Table:
    certificate = one.entry.certificate
    word = WORDS[certificate.quantity]
    published = any(_now(group).differs for group in groups)
    more = ["published <="] if published else []
    head = ("group", "users", f"{word} >=", f"{word} <=", *more, "no shuffler <=", "upper by")
    rows = []
    for k, group in enumerate(groups):
        ends = _now(group)
        theorem = ends.upper.theorem
        cells = ["lower", "upper", *(["published"] if published else [])]
        shown = [(ends.shown(cell),) for cell in cells]
        start: Line = (Ref(f"{k}: {one.labels[k]}", f"{prefix}group-{k}"),)
        users = f"{certificate.members[k].users:,}"
        alone = (failure(group).shown("upper"),)
        by: Line = ("" if theorem is None else theorem.key,)
        rows.append((start, (users,), *shown, alone, by))
    unit = ", nats" if word == "eps" else ""
    caption = f"A member of a group among all groups{unit}"
    return Table(caption, head, tuple(rows), frozenset({0, len(head) - 1}))


def _odds(groups: Sequence[Any]) -> Table:
    """The same upper ends as odds of a guess."""
    rows = []
    for k, group in enumerate(groups):
        ends = _now(group)
        epsilon, delta = epsilon_delta(group, ends)
        cells = (ends.shown("upper"), odds(epsilon, delta), percent(epsilon, delta))
        rows.append(((f"group {k}",), *((cell,) for cell in cells)))
    head = ("group", f"{WORDS[groups[0].quantity]} <=", "odds to 1", "right in 100")
    return Table("As a guess between two values of a user, at most", head, tuple(rows))


# ---------------------------------------------------------------------------------- the figure


def _figure(one: CrowdEntry, groups: Sequence[Any], level: int, prefix: str) -> list[Block]:
    certificate = one.entry.certificate
    marks: list[Item] = []
    for k, (group, alone) in enumerate(zip(groups, one.own, strict=True)):
        mark = _mark(certificate, k, group, alone)
        marks += [] if mark is None else [mark]
    limit, quantity = certificate.deployment.content.target.at_most, certificate.quantity
    height = None if limit is None else place(quantity, limit, math.log(limit))
    if marks and height is not None:
        words = f"wanted: {WORDS[quantity]} at most {limit!r}"
        marks.append(Level("wanted", words, height))
    if not marks:
        return []
    word, fixed = WORDS[quantity], WORDS["delta" if quantity == "epsilon" else "epsilon"]
    at = f"{fixed} = {certificate.at!r}"
    picture = Picture(
        title=f"Central {word} of each group's members, alone and among all groups, at {at}",
        description="; ".join(f"group {k}: {_bounded(group)}" for k, group in enumerate(groups)),
        x_label="messages among which a member's is hidden, n (users)",
        y_label=f"{Y_LABELS[quantity]} at {at}",
        logarithmic=quantity == "epsilon",
        items=marks,
        name=f"{prefix}figure",
    )
    caption = f"{picture.title}. {_CAPTION}"
    return [Heading("Figure", level), Figure(picture, caption, one.entry.picture)]


def _mark(certificate: Any, k: int, group: Any, alone: Any) -> Mark | None:
    """Alone among the users of the mechanism, and among all."""
    ends, quantity = _now(group), certificate.quantity
    high = place(quantity, ends.upper.value, ends.upper.log)
    if high is None:
        return None
    low = place(quantity, ends.lower.value, ends.lower.log)
    left = place(quantity, alone.upper, alone.log_upper)
    word = WORDS[quantity]
    users = group.deployment.content.population.users
    total = sum(one.users for one in certificate.members)
    label = f"group {k}: {ends.shown('lower')} <= {word} <= {ends.shown('upper')}"
    xs, ys, lows = [total], [high], [low]
    if left is not None and users < total:
        xs, ys, lows = [users, *xs], [left, *ys], [None, *lows]
    return Mark(_SHAPES[k % len(_SHAPES)], label, xs, ys, lows)
