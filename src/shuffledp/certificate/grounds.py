"""What an end of a setting rests on: its theorem, and the sentences that it takes for granted.

Both follow from the deployment and the analysis that a claim names. Whoever writes a certificate
and whoever reads one ask the functions here, which ask those of the account.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from shuffledp import theorems
from shuffledp.amplification.analyses import analysis_named
from shuffledp.amplification.rounds import NO_SINGLE_PAIR
from shuffledp.amplification.words import HONEST, ONE_ROUND
from shuffledp.bound import Bound
from shuffledp.deployment.setting import Setting
from shuffledp.deployment.widened import dressed
from shuffledp.errors import NotCertified, ParameterError
from shuffledp.laws.sources import Family
from shuffledp.population.member import Member
from shuffledp.statements import say
from shuffledp.theorems import Theorem
from shuffledp.views.sums import Sums

__all__ = [
    "CROWD_COMMON",
    "CROWD_DATASET",
    "CROWD_STEALING",
    "LOCAL",
    "NORMAL",
    "OF_ALL",
    "SUMS",
    "SUMS_DATASET",
    "SUMS_LOCAL",
    "Grounds",
    "grounds_of",
]

LOCAL = "local"
SUMS, SUMS_DATASET = "sums", "sums-dataset"
SUMS_LOCAL, NORMAL = "sums-local", "sum-of-normals"
CROWD_STEALING, CROWD_COMMON, CROWD_DATASET = "crowd-stealing", "common-blanket", "crowd-dataset"
# Ends of a crowd that rest on all groups.
OF_ALL = (CROWD_STEALING, CROWD_COMMON, CROWD_DATASET)


class Grounds(NamedTuple):
    """What an end rests on: its theorem, and the sentences that an upper end takes for granted."""

    theorem: Theorem
    assumptions: tuple[str, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of the sentences, which are of ``statements``."""
        return tuple(getattr(words, "id", str(words)) for words in self.assumptions)


def grounds_of(setting: Setting, end: str, analysis: str) -> Grounds | None:
    """What an end rests on; None where the analysis gives the setting no such end.

    Parameters
    ----------
    setting : Setting
        What it is about.
    end : {"upper", "lower"}
        Which end.
    analysis : str
        What a witness names.
    """
    if setting.sums is not None:
        return _of_sums(setting.sums, end, analysis)
    if setting.crowd is not None:
        return _of_crowd(setting, setting.crowd, end, analysis)
    found = _of_one(setting, end, analysis)
    if found is not None and setting.rounds > 1:
        found = _of_rounds(setting, found, end, analysis)
    if found is None:
        return None
    if setting.content.group and end == "upper":
        # Nobody hides a member, so that what others run or see is of no account.
        found = found._replace(assumptions=(setting.relation.sentence, HONEST, ONE_ROUND))
    return _widened(setting, found, end, analysis) if setting.one.widened else found


# ------------------------------------------------------------------------------ one mechanism


def _side(setting: Setting, analysis: str, end: str) -> Any:
    """What an analysis gives a mechanism; None where that is nothing."""
    try:
        found = analysis_named(analysis)
        if found.end != end:
            return None
        return found.make(setting.one.accountant(setting.n).source, setting.n)
    except (NotCertified, ParameterError):
        return None


def _of_one(setting: Setting, end: str, analysis: str) -> Grounds | None:
    """Of one round of one mechanism behind a perfect shuffler."""
    if analysis == LOCAL:
        relation = setting.one.accountant(1).source.relation
        return Grounds(theorems.LOCAL, (relation.sentence, HONEST)) if end == "upper" else None
    found = _side(setting, analysis, end)
    if found is None:
        return None
    return Grounds(found.theorem, found.assumptions if end == "upper" else ())


def _of_rounds(setting: Setting, one: Grounds, end: str, analysis: str) -> Grounds | None:
    """After all rounds, from one."""
    rounds = say("rounds", f"{setting.rounds:,} rounds")
    if end == "lower":
        if analysis != "dataset":
            return None
        return Grounds(one.theorem.with_step(theorems.REPETITION), ())
    words = [said for said in one.assumptions if said not in {ONE_ROUND, NO_SINGLE_PAIR}]
    theorem = one.theorem
    if analysis == "label-stealing":
        # At each eps the least of both.
        family = isinstance(setting.one.accountant(1).source, Family)
        other = _of_one(setting, end, "stronger-clone" if family else "blanket")
        if other is None:
            return None
        theorem = theorem.with_step(other.theorem)
        words += [said for said in other.assumptions if said not in {*words, ONE_ROUND}]
    if analysis != LOCAL:
        theorem = theorem.with_step(theorems.COMPOSITION)
    return Grounds(theorem, (*words, rounds))


def _widened(setting: Setting, one: Grounds, end: str, analysis: str) -> Grounds:
    """Behind a declared shuffler, or where several users change: one user's grounds, and steps."""
    relation = setting.one.accountant(1).source.relation
    bound = Bound(
        quantity="epsilon",
        lower=0.0,
        upper=0.0,
        at={},
        lower_theorem=one.theorem if end == "lower" else None,
        upper_theorem=one.theorem if end == "upper" else None,
        assumptions=one.assumptions,
        relation=relation,
        witness={"upper": {"analysis": analysis}},
    )
    found = dressed(setting.one, bound, relation, failed=setting.failed)
    theorem = found.upper_theorem if end == "upper" else found.lower_theorem
    return Grounds(one.theorem if theorem is None else theorem, found.assumptions)


# ------------------------------------------------------------------------------ sums and crowds


def _of_sums(sums: Sums, end: str, analysis: str) -> Grounds | None:
    added = sums.added is not None
    upper: Mapping[str, Theorem] = {
        SUMS: theorems.SUMS_ADDED if added else theorems.SUMS,
        SUMS_LOCAL: theorems.SUMS_LOCAL,
    }
    lower: Mapping[str, Theorem] = {SUMS_DATASET: sums.theorems[1]}
    if sums.mechanism.name == "gaussian":
        upper = lower = {NORMAL: theorems.SUM_OF_NORMALS}
    theorem = (upper if end == "upper" else lower).get(analysis)
    words = sums.assumptions() if end == "upper" else ()
    return None if theorem is None else Grounds(theorem, words)


def _of_crowd(setting: Setting, member: Member, end: str, analysis: str) -> Grounds | None:
    if analysis in OF_ALL:
        theorem = {
            CROWD_STEALING: theorems.CROWD_STEALING,
            CROWD_COMMON: theorems.COMMON_BLANKET,
            CROWD_DATASET: theorems.CROWD_DATASET,
        }[analysis]
        lower = analysis == CROWD_DATASET
        if member.kind is None or lower == (end == "upper"):
            return None
        return Grounds(theorem, () if lower else member.words_of_all)
    found = _of_one(setting, end, analysis)
    if found is None:
        return None
    if end == "lower":
        return found if member.alone else None
    if analysis == LOCAL:
        return Grounds(found.theorem, member.words)
    theorem = found.theorem if member.alone else found.theorem.with_step(theorems.OWN_GROUP)
    return Grounds(theorem, member.words_of_own)
