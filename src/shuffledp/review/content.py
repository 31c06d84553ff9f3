"""What a report says: nothing that its certificate does not say, in an order for who signs.

A deployment has the users of one mechanism, or groups with a mechanism each: of every group the
same is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shuffledp.bound import WORDS, outward
from shuffledp.certificate.members import Ends
from shuffledp.review.cautions import verdict_of
from shuffledp.review.entry import Entry, joined
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
from shuffledp.review.markdown import (
    Block,
    Document,
    Figure,
    Markup,
    bullets,
    code,
    heading,
    line,
    paragraph,
    signatures,
    status,
    strong,
    table,
    terms,
)
from shuffledp.review.meaning import local_of, odds, percent

ROLES = ("Prepared by", "Reviewed by", "Approved by")
_CAPTION = (
    "The band and the lines beside the marks were computed with the account, to half a per cent; "
    "they are not part of the certificate. The marks are."
)
_CROWD_CAPTION = "Both ends of each group's members, as the certificate has them."


def report(entry: Entry, *, date: str) -> Document:
    """The report of one deployment.

    Parameters
    ----------
    entry : Entry
        What is certified of it, and what else is known.
    date : str
        When the report was made.
    """
    certificate, everybody = entry.certificate, entry.certificate.members
    title = f"Privacy report: {entry.title}"
    quantity = certificate.deployment.content.target.quantity
    blocks: list[Block | Figure] = [heading(title, 1)]
    blocks += _target_status(verdict_of(certificate), quantity)
    for one, label in zip(everybody, entry.labels, strict=True):
        blocks += [*_whose(one, label), *_summary(one)]
    blocks += [*_warnings(entry), heading("What is certified", 2)]
    for one, label in zip(everybody, entry.labels, strict=True):
        blocks += [*_whose(one, label), *_situations(one)]
    blocks += _figure(entry)
    words = dict.fromkeys(words for one in everybody for words in assumptions(one))
    blocks += checklist(words)
    blocks += [heading("Theorems", 2), theorems(statements(everybody))]
    blocks += [heading("Verification", 2), *verification(entry)]
    blocks += [
        heading("Where this comes from", 2),
        sources(entry, date),
        heading("Words", 2),
        terms(TERMS),
        heading("Signatures", 2),
        paragraph("Who signs has read the summary, and has checked every assumption above."),
        signatures(ROLES),
    ]
    return Document(title, blocks)


def summary(certificate: Any, labels: Sequence[str]) -> list[Block]:
    """What a terminal shows of one deployment: numbers, theorems and assumptions.

    Parameters
    ----------
    certificate : Certificate
        What is claimed.
    labels : sequence of str
        Each group's mechanism in a few words.
    """
    everybody, source = certificate.members, certificate.deployment
    target, verdict = source.content.target, verdict_of(certificate)
    asked = f"eps (nats) at delta = {target.value!r}"
    if target.quantity == "delta":
        asked = f"delta at eps = {target.value!r} nats"
    said = [f"mechanism: {joined(labels)}", f"target: {asked}"]
    if verdict is not None:
        said.append(f"{verdict.title.lower()}: {verdict.words}")
    said.append(f"file: {source.file} (sha256 {source.sha256[:16]}...)")
    blocks = [heading(source.content.title, 1), bullets(said)]
    for one in everybody:
        blocks += [*_tables(one), bullets(_said(one))]
    words = dict.fromkeys(words for one in everybody for words in assumptions(one))
    return [
        *blocks,
        heading("theorems", 2),
        theorems(statements(everybody)),
        heading("assumptions", 2),
        bullets(words),
    ]


def _whose(members: Any, label: str) -> list[Block]:
    """A heading for the members of a group, where there are groups."""
    if not members.certificate.crowd:
        return []
    return [heading(f"Members of group {members.group}: {label}", 3)]


# --------------------------------------------------------------------------- what comes first


def _target_status(verdict: Any, quantity: str) -> list[Block]:
    """Whether the target of the deployment file is met, or that it has none."""
    if verdict is not None:
        return [status(verdict.kind, strong(f"{verdict.title}."), f" {verdict.words}.")]
    word = WORDS[quantity]
    words = (
        f" The deployment file does not say how large {word} may be (target.at_most): whether this "
        "is enough is for the reader to decide."
    )
    return [status("none", strong("No target is set."), words)]


def _summary(members: Any) -> list[Block]:
    ends = members.worst
    epsilon, delta = ends.epsilon_delta
    users, changed = members.users, members.content.changed
    if epsilon is None:
        words = (
            f"Nothing is promised to the {users:,} users{members.of_group}: no finite eps is "
            f"certified at delta = {members.at!r}."
        )
        return [paragraph(strong(words))]
    seen = "shuffled messages" if members.sums is None else "sums of the reports"
    promise = (
        f"What anybody who sees the {seen}, and nothing else of them, can learn about the data of "
        f"any {'one' if changed == 1 else f'{changed:,} together'} of the {users:,} users"
        f"{members.of_group} is "
        "bounded by "
    )
    when = f"if as many {members.sent} arrive as are expected"
    if any(one.name == "minimum batch" for one in members.released):
        when = "in every batch that is released"
    more = (
        f" {', '.join([when, *_after(members)])}. In full: differential privacy, for neighbours as "
        f"follows. {sentence(members.neighbours)} Protected is {members.privacy_unit}."
    )
    return [
        paragraph(promise, strong(ends.bounded), more),
        paragraph(_odds_words(members, epsilon, delta)),
        *_provenance(members, ends),
        paragraph(_failed_words(members)),
    ]


def _after(members: Any) -> list[str]:
    rounds = members.rounds
    return [f"after all {rounds:,} rounds together"] if rounds > 1 else []


def _odds_words(members: Any, epsilon: float, delta: float | None) -> Markup:
    """An end as the chances of a guess."""
    one = members.content.changed == 1
    such = "values this user has" if one else "choices of values these users have"
    start = (
        "What this means: somebody who knows the data of all other users, has to tell which of two "
        f"such {such}, holds both for equally likely, and decides by whatever rule "
        f"once the {'messages' if members.sums is None else 'sums'} are seen, is right with "
    )
    chances = f", or {percent(epsilon, delta)} times in 100."
    words = strong(f"odds of at most {odds(epsilon, delta)} to 1")
    return line(start, words, chances, " A coin is right 50 times, odds of 1 to 1.")


def _provenance(members: Any, ends: Ends) -> list[Block]:
    """What to know of a number that rests on more than the literature."""
    theorem = ends.upper.rests_on
    if theorem is None or theorem.provenance == "published":
        return []
    words = "The number rests on a theorem that is proved in the project's own pages alone"
    if members.content.accounting.trust == "all" and ends.differs:
        alone = ends.shown("published")
        given = "nothing finite" if alone == "none" else f"{WORDS[ends.quantity]} <= {alone}"
        words += f"; published theorems give {given} here"
    return [paragraph(f"{words}.")]


def _failed_words(members: Any) -> Markup:
    """What is left where nothing hides a report."""
    ends = members.failure
    epsilon, delta = ends.epsilon_delta
    return line(
        f"If the {members.who} fails and {members.sent} are seen with their senders: "
        f"{ends.bounded}; "
        f"odds of at most {odds(epsilon, delta)} to 1, {percent(epsilon, delta)} times in 100."
    )


def _warnings(entry: Entry) -> list[Block]:
    if not entry.cautions and not entry.silenced:
        return []
    blocks: list[Block] = [heading("Warnings", 2)]
    if entry.cautions:
        said = [line(code(one.name), f": {one.words}.") for one in entry.cautions]
        blocks.append(bullets(said))
    if entry.silenced:
        names = ", ".join(entry.silenced)
        blocks.append(paragraph(f"Switched off, whether they applied or not: {names}."))
    return blocks


# -------------------------------------------------------------------------------- the numbers


def _situations(members: Any) -> list[Block]:
    """Tables of all situations, and what there is to say of them."""
    return [*_tables(members), _meaning(members), bullets(_said(members))]


def _tables(members: Any) -> list[Block]:
    """Both ends in every situation, after all rounds and after one."""
    rounds, of = members.rounds, members.of_group
    if rounds == 1:
        return [_table(f"One round{of}", members.one_round)]
    whole = _table(f"After all {rounds:,} rounds together{of}", members.all_rounds)
    return [whole, _table(f"After one round{of}", members.one_round)]


def _said(members: Any) -> list[Markup]:
    """Where every n comes from, what a report tells alone, and how much of an end is rounding."""
    of = members.of_group
    said = [line(strong(f"{ends.name}{of}"), f": {ends.setting.how}") for ends in members.one_round]
    if members.sums is not None:
        count = members.sums.changed
        most = f"{count:,} coordinate{'s' if count > 1 else ''}"
        words = f": {members.sums.seen}; a neighbour changes at most {most} a round"
        said.insert(0, line(strong("view"), words))
    eps0 = members.local_guarantee
    words = (
        f"no pure eps0; if the {members.who} fails, what the table says at the target"
        if eps0 is None
        else f"eps0 = {outward(eps0, up=True)} nats{local_of(members.content.changed)}, "
        f"whatever the {members.who} does"
    )
    said.append(line(strong(f"local guarantee{of}"), f": {words}"))
    rtol = members.content.accounting.rtol
    words = f": both ends are given with a relative margin of {rtol:g}, so that verify can decide"
    said.append(line(strong("margin"), words))
    said += [
        line(strong(f"{ends.name}{of}"), f": nothing is certified: {ends.upper.why}")
        for ends in members.ends
        if ends.upper.why is not None
    ]
    return said


def _table(caption: str, found: Sequence[Ends]) -> Block:
    word = WORDS[found[0].quantity]
    published = any(ends.differs for ends in found)
    cells = ["lower", "upper", *(["published"] if published else [])]
    more = ["published <="] if published else []
    head = ("situation", "n honest", f"{word} >=", f"{word} <=", *more, "upper by")
    rows = []
    for ends in found:
        shown = [ends.shown(cell) for cell in cells]
        rows.append((ends.name, f"{ends.setting.n:,}", *shown, _by(ends)))
    unit = ", nats" if word == "eps" else ""
    return table(caption + unit, head, rows, frozenset({0, len(head) - 1}))


def _by(ends: Ends) -> str:
    theorem = ends.upper.rests_on
    return "" if theorem is None else theorem.key


def _meaning(members: Any) -> Block:
    """Upper ends as odds of a guess."""
    rows = []
    for ends in members.all_rounds:
        at = ends.epsilon_delta
        rows.append((ends.name, ends.shown("upper"), odds(*at), percent(*at)))
    head = ("situation", f"{WORDS[members.quantity]} <=", "odds to 1", "right in 100")
    caption = ", ".join(["As a guess between two values of a user, at most", *_after(members)])
    return table(caption, head, rows)


def _figure(entry: Entry) -> list[Block | Figure]:
    if entry.drawing is None:
        return []
    caption = _CROWD_CAPTION if entry.certificate.crowd else _CAPTION
    ends = "; ".join(
        f"{one.name}{m.of_group}: "
        f"{one.shown('lower')} <= {WORDS[one.quantity]} <= {one.shown('upper')}"
        for m in entry.certificate.members
        for one in m.one_round
    )
    over = "by group" if entry.certificate.crowd else "over n"
    words = f"Central {WORDS[entry.certificate.members[0].quantity]} {over}. {ends}"
    return [heading("Figure", 2), Figure(words, entry.drawing, caption, entry.picture)]
