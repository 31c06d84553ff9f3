"""What the numbers of a report rest on: assumptions, theorems, the verifier, files."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from importlib.metadata import version
from typing import Any

from shuffledp._version import __version__
from shuffledp.amplification.words import ONE_ROUND
from shuffledp.review.entry import Entry
from shuffledp.review.markdown import (
    Block,
    bullets,
    checks,
    code,
    heading,
    line,
    paragraph,
    status,
    strong,
    table,
)
from shuffledp.review.verdict import checked

# A theorem -> which ends rest on it, in which situations.
Cited = dict[tuple[str, ...], dict[str, dict[str, None]]]


def sentence(words: str) -> str:
    """With a capital and a full stop."""
    return words[:1].upper() + words[1:] + ("" if words.endswith(".") else ".")


def assumptions(members: Any) -> list[str]:
    """Every assumption once; one that only a failing shuffler needs has that situation's name."""
    said, usual = list(members.assumptions), set(members.assumptions)
    asked = [
        (ends, words) for ends in members.ends for claim in ends.claims for words in claim.words
    ]
    usual.update(words for ends, words in asked if not ends.setting.failed)
    said += [words if words in usual else f"{ends.name}: {words}" for ends, words in asked]
    several = members.rounds > 1
    # That there is one round is said of the table of one round alone.
    return [words for words in dict.fromkeys(said) if not (several and words == ONE_ROUND)]


def checklist(words: Iterable[str]) -> list[Block]:
    """Assumptions as boxes to tick."""
    asked = "The numbers hold if all of these do. Nobody can compute them: tick, initial."
    return [
        heading("Assumptions, to be checked", 2),
        paragraph(asked),
        checks(words),
    ]


def statements(everybody: Iterable[Any]) -> Cited:
    """Every theorem once, and where it gives which end, of one group's members or of several.

    Its key, title, source and provenance -> each end that rests on it -> the situations.
    """
    found: Cited = {}
    asked = [(ends, claim) for one in everybody for ends in one.ends for claim in ends.claims]
    for end in ("upper", "lower"):
        for ends, claim in asked:
            theorem = claim.rests_on
            if claim.end == end and theorem is not None:
                key = (theorem.key, theorem.title, theorem.source, theorem.provenance)
                after = " after all rounds" if ends.setting.rounds > 1 else ""
                names = found.setdefault(key, {}).setdefault(f"{end} end{after}", {})
                names[ends.name] = None
    return found


def theorems(cited: Cited) -> Block:
    """Each with its source, and which ends rest on it."""
    said = []
    for (name, title, source, provenance), ends in cited.items():
        used = "; ".join(f"{end}: {', '.join(names)}" for end, names in ends.items())
        words = f": {sentence(title)} {source} [{provenance}]. {sentence(used)}"
        said.append(line(strong(name), words))
    return bullets(said)


def verification(entry: Entry) -> list[Block]:
    """The verdict that was given, or that there is none."""
    again = f"shuffledp verify {shlex.quote(entry.certificate_file)}"
    verified = entry.verified
    if verified is None:
        return [
            paragraph(
                strong("Not verified yet."),
                " Nobody has checked the certificate yet. Run ",
                code(again),
                " and write here what its last line says: ________________________",
            )
        ]
    by = f"shuffledp verify {__version__}, python-flint {version('python-flint')}"
    blocks: list[Block] = [status(checked(verified), strong(verified.headline()), f", says {by}.")]
    odd = [check for check in verified if check.verdict != "holds"]
    if odd:
        said = [line(f"{c.scenario}: {c.claim}: ", strong(c.verdict), f" ({c.how})") for c in odd]
        blocks.append(bullets(said))
    blocks += [
        paragraph(
            "The verifier recomputes the numbers from the mechanism's definition in ball "
            "arithmetic, with more bits than before. Theorems are cited, not "
            "proved again. To check again: ",
            code(again),
            ". Not checked:",
        ),
        bullets(verified.left),
    ]
    return blocks


def sources(entry: Entry, date: str) -> Block:
    """Files with their hashes, version and date."""
    certificate = entry.certificate
    source = certificate.deployment
    accounting = source.content.accounting
    rows = [
        ("date of this report", date),
        ("mechanism", entry.label),
        ("deployment file", code(source.file)),
        ("its sha256", code(source.sha256)),
        ("certificate", code(entry.certificate_file)),
        ("its sha256", code(entry.certificate_sha256)),
        ("made by", f"shuffledp {certificate.shuffledp_version}"),
        ("theorems used", _TRUST[accounting.trust]),
    ]
    release = certificate.release
    if release is not None:
        said = f"{release.users:,} users; {release.left_out()}; estimates in {release.table}"
        rows.append(("the run", said))
    return table("", ("what", "value"), rows, frozenset({0, 1}))


_TRUST = {
    "all": 'published ones and those proved in the project\'s pages (trust = "all")',
    "published": 'published ones alone (trust = "published")',
}
