"""What the verifier itself knows of crowds: who are neighbours, and what may be said of a group.

As ``statements`` for one mechanism: nothing here is read off a certificate but the deployment's own
tables, and a test holds it against the modules that write certificates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shuffledp import theorems
from shuffledp.theorems import Theorem

from .assumptions import relation_of
from .groups import kinds_of
from .one_bit import bits_of
from .statements import lower_statement, named_statement, upper_statement

__all__ = [
    "COMMON",
    "DATASET",
    "OF_ALL",
    "STEALING",
    "alone_assumptions",
    "crowd_assumptions",
    "crowd_lower_statement",
    "crowd_relation",
    "crowd_upper_statement",
    "own_users",
]

Parameters = Mapping[str, Any]
Groups = Sequence[tuple[Parameters, int]]
STEALING, COMMON, DATASET = "crowd-stealing", "common-blanket", "crowd-dataset"
# Ends that rest on all groups.
OF_ALL = (STEALING, COMMON, DATASET)

_STATEMENTS = {
    COMMON: theorems.COMMON_BLANKET,
    STEALING: theorems.CROWD_STEALING,
    DATASET: theorems.CROWD_DATASET,
}

_HONEST = "all n messages are randomized as stated and reach the shuffler"
_SHUFFLER = (
    "the analyst sees the messages of all groups in one uniformly random order and nothing else of "
    "them"
)
_ONE_ROUND = "one report per user and one round"
_FIXED = "every user runs the mechanism of the group, chosen before any message is seen"
_GROUPS = (
    "who is in which group, and how many are in each, is public and the same in both datasets: "
    "somebody who joins, leaves or changes the group is not covered"
)
_ALIKE = (
    "reports of all groups are values of one set, written alike whichever group they are from: "
    "nothing of a message but its value is seen"
)


_BITS_SENT = (
    "reports of duchi are sent as the bit 0 or 1, not as the number that it stands for, which "
    "would tell groups of different eps0 or intervals apart"
)


def own_users(groups: Groups, victim: int) -> int:
    """Users of all groups with the victim's mechanism."""
    own = groups[victim][0]
    return sum(count for mechanism, count in groups if mechanism == own)


def _alone(groups: Groups, victim: int) -> bool:
    """Whether all run the victim's mechanism: then the crowd is one shuffle of it."""
    return own_users(groups, victim) == sum(count for _, count in groups)


def crowd_relation(relation: Mapping[str, Any], words: str, victim: int) -> dict[str, Any]:
    """The relation of a group's members: its mechanism's, the groups being the same in both.

    Parameters
    ----------
    relation, words
        Of the group's mechanism.
    victim : int
        Index of the group.
    """
    said = f"{words}; the user is one of group {victim} and stays in it, all groups are the same"
    return {**relation, "group": victim, "words": said}


def crowd_upper_statement(groups: Groups, victim: int, analysis: str) -> Theorem | None:
    """The theorem of an upper end; None where this analysis gives the group none.

    Parameters
    ----------
    groups : sequence of (mapping, int)
        Each group's mechanism, {"name": ..., **parameters}, and number of users.
    victim : int
        Index of the group.
    analysis : str
        "crowd-stealing" or "common-blanket", or one of ``upper_statement``.
    """
    alone = _alone(groups, victim)
    if analysis in OF_ALL:
        known = kinds_of([mechanism for mechanism, _ in groups]) is not None
        return _STATEMENTS[analysis] if known and not alone and analysis != DATASET else None
    found = upper_statement(groups[victim][0], analysis)
    if found is None or alone or analysis == "local":
        return found
    return found.with_step(theorems.OWN_GROUP)


def crowd_lower_statement(groups: Groups, victim: int, analysis: str) -> Theorem | None:
    """The theorem of a lower end: of the crowd, or of its one mechanism where there is one."""
    if not _alone(groups, victim):
        known = kinds_of([mechanism for mechanism, _ in groups]) is not None
        return _STATEMENTS[DATASET] if known and analysis == DATASET else None
    if analysis == "dataset":
        return lower_statement(groups[victim][0])
    return named_statement(groups[victim][0], analysis)


def crowd_assumptions(groups: Groups, victim: int, analysis: str) -> tuple[str, ...]:
    """What an upper end asks a reader to believe."""
    words = (relation_of(groups[victim][0])[1], _HONEST, _SHUFFLER, _ONE_ROUND, _FIXED, _GROUPS)
    if analysis not in OF_ALL:
        merged = analysis != "local" and own_users(groups, victim) > groups[victim][1]
        return (*words, _ALIKE) if merged else words
    bits = [bits_of(mechanism) for mechanism, _ in groups]
    numbers = any(one is not None and one.numbers for one in bits)
    return (*words, _ALIKE, *((_BITS_SENT,) if numbers else ()))


def alone_assumptions(mechanism: Parameters) -> tuple[str, ...]:
    """The same of a user whom nobody hides."""
    return relation_of(mechanism)[1], _HONEST, _ONE_ROUND
