"""Warnings where people go wrong. Each has a name, by which it is switched off.

Those in ``BY_DEFAULT`` are printed on stderr; all of them stand in a report. A certificate is not
changed by any: its numbers hold, and the question is whether they are what somebody wanted.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from shuffledp._check import choice
from shuffledp.bound import WORDS, large_delta_words, outward
from shuffledp.review.meaning import odds, percent, right_guesses
from shuffledp.review.verdict import judged

# What each is about; in the order in which they are said.
NAMES = {
    "target-missed": "what the file asks for is not met, or not shown to be",
    "large-eps": "a guess between two values of a user may be right 19 times in 20",
    "large-delta": "delta is above 1 over the number of messages",
    "no-minimum-batch": "nothing keeps the shuffler from releasing a small batch",
    "fewer-rows": "a run saw fewer users than the file declares, which sets no minimum batch",
    "rounds-not-declared": "the file does not say how often a user takes part",
    "shuffler-fails": "little is left without the shuffler",
}
# What most files are like says little on a terminal: it stands in the report alone.
BY_DEFAULT = tuple(name for name in NAMES if name not in {"rounds-not-declared", "shuffler-fails"})
# Right guesses between two values, equally likely before: what a test at 5 per cent calls sure.
_LARGE = 0.95
_NO_BATCH = (
    "a crowd's file has no minimum batch: nothing is said of a batch in which fewer messages "
    "arrive than the file counts, and such a batch is released too"
)


@dataclass(frozen=True)
class Caution:
    """One warning: its name and one line."""

    name: str
    words: str

    def __str__(self) -> str:
        return f"warning[{self.name}]: {self.words}"


def check_names(argument: str, names: Collection[str]) -> frozenset[str]:
    """The names of warnings, if they are some."""
    return frozenset(choice(argument, name, tuple(NAMES)) for name in names)


def cautions(certificate: Any, *, expected: int | None = None) -> list[Caution]:
    """All that there is to warn of, in the order of ``NAMES``; of a crowd group by group.

    Parameters
    ----------
    certificate : Certificate
        As it was issued: whether its deployment says how many rounds there are is no longer known
        of one that was read back.
    expected : int, optional
        Of a run: the reports that its file expects to arrive.
    """
    crowd, everybody = certificate.crowd, len(certificate.members)
    found: dict[Caution, list[int]] = {}
    for one in certificate.members:
        said = [
            _large_eps(one),
            _large_delta(one),
            _no_minimum(one, crowd=crowd),
            _fewer(one, expected),
            _rounds(one.content),
            _failed(one),
        ]
        for caution in said:
            if caution is not None:
                found.setdefault(caution, []).append(one.group)
    target = _target(certificate)
    warned = [] if target is None else [target]
    for caution, groups in found.items():
        of = "" if len(groups) == everybody else f"group {', '.join(map(str, groups))}: "
        warned.append(replace(caution, words=of + caution.words))
    return warned


def verdict_of(certificate: Any) -> Any:
    """Whether the file's limit is met, for the members of every group; None where it has none.

    It is held against the ends where the shuffler works.
    """
    found = [
        (f"group {one.group}" if certificate.crowd else ends.name, ends)
        for one in certificate.members
        for ends in one.released
    ]
    return judged(certificate.deployment.content.target, found)


def _target(certificate: Any) -> Caution | None:
    verdict = verdict_of(certificate)
    if verdict is None or verdict.kind == "met":
        return None
    start = "" if verdict.kind == "missed" else "not shown to be met: "
    return Caution("target-missed", start + verdict.words)


def _large_eps(members: Any) -> Caution | None:
    ends = members.worst
    epsilon, delta = ends.epsilon_delta
    if epsilon is None:
        return Caution("large-eps", f"no finite eps is certified ({ends.name})")
    if right_guesses(epsilon, delta) <= _LARGE:
        return None
    said = outward(epsilon, up=True, digits=4)
    return Caution(
        "large-eps",
        f"eps <= {said} ({ends.name}): a guess between two values of a user may be right "
        f"{percent(epsilon, delta)} times in 100, odds of {odds(epsilon, delta)} to 1",
    )


def _large_delta(members: Any) -> Caution | None:
    now = members.one_round[0]
    n, composed = now.setting.n, members.all_rounds[0]
    _, delta = composed.epsilon_delta
    words = "" if delta is None else large_delta_words(delta, n)
    return Caution("large-delta", words) if words else None


def _no_minimum(members: Any, *, crowd: bool) -> Caution | None:
    if members.content.population.minimum_batch is not None:
        return None
    if crowd:
        return Caution("no-minimum-batch", _NO_BATCH)
    return Caution(
        "no-minimum-batch",
        "population.minimum_batch is not set: nothing is said of a batch in which fewer "
        f"{members.sent} arrive than are expected, and such a batch is released too",
    )


def _fewer(members: Any, expected: int | None) -> Caution | None:
    """With a minimum batch a run is refused where they are too few."""
    release, population = members.release, members.content.population
    if release is None or expected is None or release.users >= expected:
        return None
    if population.minimum_batch is not None:
        return None
    return Caution(
        "fewer-rows",
        f"{release.users:,} users have a value, of {expected:,} expected, and "
        "population.minimum_batch is not set: what is certified is for "
        f"{release.users:,} users, and released however few there are",
    )


def _rounds(deployment: Any) -> Caution | None:
    if "rounds" in deployment.accounting.model_fields_set:
        return None
    return Caution(
        "rounds-not-declared",
        "accounting.rounds is not set, and is taken for 1: users who take part again lose more",
    )


def _failed(members: Any) -> Caution | None:
    ends = members.failure
    epsilon, delta = ends.epsilon_delta
    if right_guesses(epsilon, delta) <= _LARGE:
        return None
    left = "nothing finite is certified"
    if epsilon is not None and delta is not None:
        left = f"{WORDS[ends.quantity]} <= {ends.shown('upper')} is left"
    return Caution(
        "shuffler-fails",
        f"if the {members.who} fails, {left}: a guess between two values of a user may be "
        f"right {percent(epsilon, delta)} times in 100. All else rests on who runs the "
        f"{members.who}",
    )
