"""What a report says: nothing that its certificate does not say, in an order for who signs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shuffledp._check import exact
from shuffledp.bound import outward, width_words
from shuffledp.review.audits import audited_section, audited_verdict
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
    Status,
    Strong,
    Table,
    Terms,
    line,
)
from shuffledp.review.cautions import verdict_of
from shuffledp.review.claims import (
    WORDS,
    Ends,
    all_rounds,
    claims_of,
    epsilon_delta,
    failure,
    one_round,
    released,
    seen,
    sent,
    who,
    worst,
)
from shuffledp.review.entry import Entry
from shuffledp.review.glossary import TERMS
from shuffledp.review.grounds import (
    Cited,
    anchor,
    assumptions,
    checklist,
    key,
    sentence,
    sources,
    statements,
    theorems,
    verification,
)
from shuffledp.review.meaning import local_of, odds, percent
from shuffledp.review.picture import picture_of

ROLES = ("Prepared by", "Reviewed by", "Approved by")
_CAPTION = (
    "The band and the lines beside the marks were computed with the account, to a tenth of a per "
    "cent; they are not part of the certificate. The marks are."
)


def report(entries: Sequence[Entry], *, date: str) -> Document:
    """The report of one deployment, or of several with a comparison.

    Parameters
    ----------
    entries : sequence of Entry
        At least one.
    date : str
        When it was made.
    """
    if len(entries) == 1:
        (entry,) = entries
        title = f"Privacy report: {entry.title}"
        blocks = [Heading(title, 1), *_of_one(entry, 2, "", date)]
    else:
        title = f"Privacy report: {len(entries)} deployments compared"
        blocks = [Heading(title, 1), *_comparison(entries)]
        for i, entry in enumerate(entries, 1):
            prefix = f"d{i}-"
            blocks.append(Heading(f"{i}. {entry.title}", 2, f"{prefix}start"))
            blocks += _of_one(entry, 3, prefix, date)
    blocks += [
        Heading("Words", 2),
        Terms(TERMS),
        Heading("Signatures", 2),
        Paragraph(line("Who signs has read the summary, and has checked every assumption above.")),
        Signatures(ROLES),
    ]
    return Document(title, blocks)


def _of_one(entry: Entry, level: int, prefix: str, date: str) -> list[Block]:
    certificate = entry.certificate
    cited = statements(certificate)
    status = target_status(verdict_of(certificate), certificate.quantity)
    blocks = [*status, *audited_verdict(entry.audited), *_summary(entry)]
    blocks += _warnings(entry, level)
    blocks += [Heading("What is certified", level), *situations(certificate, cited, prefix)]
    blocks += _figure(entry, level, prefix)
    blocks += [
        *checklist(assumptions(certificate), level),
        Heading("Theorems", level),
        *theorems(cited, level, prefix),
        Heading("Verification", level),
        *verification(entry),
        *(block for found in entry.audited for block in audited_section(found, level)),
        Heading("Where this comes from", level),
        sources(entry, date),
    ]
    return blocks


# --------------------------------------------------------------------------- what comes first


def target_status(verdict: Any, quantity: str) -> list[Block]:
    """Whether the target of the deployment file is met, or that it has none."""
    if verdict is not None:
        return [Status(verdict.kind, line(Strong(f"{verdict.title}."), f" {verdict.words}."))]
    word = WORDS[quantity]
    words = (
        f" The deployment file does not say how large {word} may be (target.at_most): whether this "
        "is enough is for the reader to decide."
    )
    return [Status("none", line(Strong("No target is set."), words))]


def _summary(entry: Entry) -> list[Block]:
    certificate = entry.certificate
    ends = worst(released(certificate))
    epsilon, delta = epsilon_delta(certificate, ends)
    users = certificate.deployment.content.population.users
    if epsilon is None:
        words = (
            f"Nothing is promised to the {users:,} users: no finite eps is certified at "
            f"delta = {certificate.at!r}."
        )
        return [Paragraph(line(Strong(words)))]
    whose = "one" if _changed(certificate) == 1 else f"{_changed(certificate):,} together"
    promise = (
        f"What anybody who sees the {seen(certificate)}, and nothing else of them, can learn about "
        f"the data of any {whose} of the {users:,} users is bounded by "
    )
    when = ", ".join([_when(certificate), *_after(certificate)])
    more = (
        f" {when}. In full: differential privacy, for neighbours as follows. "
        f"{sentence(certificate.neighbouring_relation['words'])} Protected is "
        f"{certificate.privacy_unit}."
    )
    return [
        Paragraph(line(promise, Strong(_ends_words(certificate, ends)), more)),
        Paragraph(line(*odds_words(certificate, epsilon, delta))),
        *_provenance(certificate, ends),
        Paragraph(line(*failed_words(certificate))),
    ]


def _ends_words(certificate: Any, ends: Ends) -> str:
    if certificate.quantity == "epsilon":
        return f"eps <= {ends.shown('upper')} nats at delta = {certificate.at!r}"
    return f"delta <= {ends.shown('upper')} at eps = {certificate.at!r} nats"


def _when(certificate: Any) -> str:
    names = [ends.scenario.name for ends in released(certificate)]
    if "minimum batch" in names:
        return "in every batch that is released"
    return f"if as many {sent(certificate)} arrive as are expected"


def _after(certificate: Any) -> list[str]:
    rounds = certificate.rounds
    return [f"after all {rounds:,} rounds together"] if rounds > 1 else []


def odds_words(certificate: Any, epsilon: float, delta: float | None) -> Line:
    """An end as the chances of a guess."""
    one = _changed(certificate) == 1
    such = "values this user has" if one else "choices of values these users have"
    start = (
        "What this means: somebody who knows the data of all other users, has to tell which of two "
        f"such {such}, holds both for equally likely, and decides by whatever rule "
        f"once the {'messages' if certificate.view is None else 'sums'} are seen, is right with "
    )
    chances = f", or {percent(epsilon, delta)} times in 100."
    words = Strong(f"odds of at most {odds(epsilon, delta)} to 1")
    return line(start, words, chances, " A coin is right 50 times, odds of 1 to 1.")


def _provenance(certificate: Any, ends: Ends) -> list[Block]:
    """What to know of a number that rests on more than the literature."""
    theorem = ends.upper.theorem
    if theorem is None or theorem.provenance == "published":
        return []
    words = "The number rests on a theorem that is proved in the project's own pages alone"
    if certificate.deployment.content.accounting.trust == "all" and ends.differs:
        word = WORDS[certificate.quantity]
        alone = ends.shown("published")
        given = "nothing finite" if alone == "none" else f"{word} <= {alone}"
        words += f"; published theorems give {given} here"
    return [Paragraph(line(f"{words}."))]


def failed_words(certificate: Any) -> Line:
    """What is left where nothing hides a report."""
    ends = failure(certificate)
    epsilon, delta = epsilon_delta(certificate, ends)
    left = _ends_words(certificate, ends)
    if ends.upper.value is None:
        left = "nothing finite is certified"
    start = (
        f"If the {who(certificate)} fails and {sent(certificate)} are seen with their senders: "
        f"{left}; "
    )
    chances = (
        f"odds of at most {odds(epsilon, delta)} to 1, {percent(epsilon, delta)} times in 100."
    )
    return line(start + chances)


def _warnings(entry: Entry, level: int) -> list[Block]:
    if not entry.cautions and not entry.silenced:
        return []
    blocks: list[Block] = [Heading("Warnings", level)]
    if entry.cautions:
        said = [line(Code(one.name), f": {one.words}.") for one in entry.cautions]
        blocks.append(Bullets(tuple(said)))
    if entry.silenced:
        names = ", ".join(entry.silenced)
        blocks.append(Paragraph(line(f"Switched off, whether they applied or not: {names}.")))
    return blocks


# -------------------------------------------------------------------------------- the numbers


def situations(certificate: Any, cited: Cited, prefix: str) -> list[Block]:
    """Tables of all situations, and what there is to say of them."""
    rounds = certificate.rounds
    blocks: list[Block] = []
    if rounds > 1:
        caption = f"After all {rounds:,} rounds together"
        blocks.append(_table(caption, all_rounds(certificate), cited, prefix))
    caption = "After one round" if rounds > 1 else "One round"
    blocks.append(_table(caption, one_round(certificate), cited, prefix))
    blocks.append(_meaning(certificate))
    said = [line(Strong(s.name), f": {s.how}") for s in certificate.scenarios]
    if certificate.view is not None:
        view = certificate.view
        words = f": {view.words}; a neighbour changes at most {_coordinates(view.changed)} a round"
        said.insert(0, line(Strong("view"), words))
    eps0 = certificate.local_guarantee
    words = (
        f"no pure eps0; if the {who(certificate)} fails, what the table says at the target"
        if eps0 is None
        else f"eps0 = {outward(eps0, up=True)} nats{local_of(_changed(certificate))}, "
        f"whatever the {who(certificate)} does"
    )
    said.append(line(Strong("local guarantee"), f": {words}"))
    claims = [claim for _, claim in claims_of(certificate)]
    widths = [claim.numerical_width for claim in claims if claim.numerical_width is not None]
    rtol = certificate.deployment.content.accounting.rtol
    said.append(line(Strong("numerical width"), f": {width_words(widths, rtol)}"))
    return [*blocks, Bullets(tuple(said))]


def _changed(certificate: Any) -> int:
    return certificate.deployment.content.changed


def _coordinates(count: int) -> str:
    return f"{count:,} coordinate{'s' if count > 1 else ''}"


def _table(caption: str, found: Sequence[Ends], cited: Cited, prefix: str) -> Table:
    word = WORDS[found[0].quantity]
    unit = ", nats" if word == "eps" else ""
    published = any(ends.differs for ends in found)
    more = ["published <="] if published else []
    head = ("situation", "n honest", f"{word} >=", f"{word} <=", *more, "upper by")
    rows = []
    for ends in found:
        cells = ["lower", "upper", *(["published"] if published else [])]
        theorem = ends.upper.theorem
        by: Line = ("",)
        if theorem is not None:
            by = (Ref(theorem.key, anchor(prefix, list(cited).index(key(theorem)))),)
        n = f"{ends.scenario.n:,}"
        shown = [(ends.shown(cell),) for cell in cells]
        rows.append(((ends.scenario.name,), (n,), *shown, by))
    return Table(caption + unit, head, tuple(rows), frozenset({0, len(head) - 1}))


def _meaning(certificate: Any) -> Table:
    """The same upper ends as odds of a guess."""
    rows = []
    for ends in all_rounds(certificate):
        epsilon, delta = epsilon_delta(certificate, ends)
        cells = (ends.shown("upper"), odds(epsilon, delta), percent(epsilon, delta))
        rows.append(((ends.scenario.name,), *((cell,) for cell in cells)))
    after = "".join(f", {words}" for words in _after(certificate))
    head = ("situation", f"{WORDS[certificate.quantity]} <=", "odds to 1", "right in 100")
    return Table(f"As a guess between two values of a user, at most{after}", head, tuple(rows))


def _figure(entry: Entry, level: int, prefix: str) -> list[Block]:
    if entry.curve is None:
        return []
    name = f"{prefix}figure"
    picture = picture_of(entry.certificate, entry.curve, label=entry.label, name=name)
    if picture is None:
        return []
    caption = f"{picture.title}. {_CAPTION}"
    return [Heading("Figure", level), Figure(picture, caption, entry.picture)]


# ------------------------------------------------------------------------------ the comparison


def _comparison(entries: Sequence[Entry]) -> list[Block]:
    """Upper ends side by side, and how every deployment stands."""
    several = any(entry.certificate.rounds > 1 for entry in entries)
    rows = []
    for i, entry in enumerate(entries, 1):
        certificate = entry.certificate
        found = {ends.scenario.name: ends for ends in all_rounds(certificate)}
        names = ("now", "minimum batch", failure(certificate).scenario.name)
        # As on the command line: four digits of either.
        ends = [found[name].shown("upper", digits=4) if name in found else "-" for name in names]
        fixed = WORDS["delta" if certificate.quantity == "epsilon" else "epsilon"]
        verdict = verdict_of(certificate)
        state = "not set" if verdict is None else verdict.title.lower()
        start: Line = (Ref(f"{i}. {entry.title}", f"d{i}-start"),)
        at = ", ".join([f"{fixed} {exact(certificate.at)}", *_after(certificate)])
        rows.append((start, (at,), *((end,) for end in ends), (state,)))
    caption = "Upper ends" + (" after all rounds" if several else "")
    head = ("deployment", "target", "now", "min. batch", "no shuffler", "limit")
    return [Table(caption, head, tuple(rows), frozenset({0, 1, 5}))]
