"""The settings that a deployment asks about, and what an end of each rests on.

Everything beside the numbers follows from the deployment and the analysis that a claim names:
users, neighbours, theorem, assumptions. Whoever writes a certificate and whoever reads one ask the
functions here, which ask those of the account.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from shuffledp import theorems
from shuffledp.amplification.analyses import analysis_named
from shuffledp.amplification.rounds import NO_SINGLE_PAIR
from shuffledp.amplification.words import HONEST, ONE_ROUND
from shuffledp.ball.groups import Kind, kinds_of
from shuffledp.bound import Bound
from shuffledp.deployment.accounting import situations
from shuffledp.deployment.crowds import ALONE_WORDS, hidden_words
from shuffledp.deployment.groups import CrowdDeployment
from shuffledp.deployment.model import GENERIC, Deployment, is_protocol
from shuffledp.deployment.views import FAILURES
from shuffledp.deployment.widened import dressed, relation_of
from shuffledp.errors import NotCertified, ParameterError
from shuffledp.laws.sources import Family
from shuffledp.neighbours import REPLACEMENT, OfGroup, Relation
from shuffledp.population.member import Member
from shuffledp.randomizers import randomizer_from_dict
from shuffledp.statements import say
from shuffledp.theorems import Theorem
from shuffledp.views import Sums

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
    "Setting",
    "settings_of",
]

LOCAL = "local"
SUMS, SUMS_DATASET = "sums", "sums-dataset"
SUMS_LOCAL, NORMAL = "sums-local", "sum-of-normals"
CROWD_STEALING, CROWD_COMMON, CROWD_DATASET = "crowd-stealing", "common-blanket", "crowd-dataset"
# Ends of a crowd that rest on all groups.
OF_ALL = (CROWD_STEALING, CROWD_COMMON, CROWD_DATASET)
_ONE_REPORT = "one user's one report"


class Grounds(NamedTuple):
    """What an end rests on: its theorem, and the sentences that an upper end takes for granted."""

    theorem: Theorem
    assumptions: tuple[str, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of the sentences, which are of ``statements``."""
        return tuple(getattr(words, "id", str(words)) for words in self.assumptions)


@dataclass(frozen=True)
class Setting:
    """One situation of a deployment, or of a group of its crowd, after one round or all.

    Attributes
    ----------
    content : Deployment or CrowdDeployment
        What is deployed.
    group : int
        Of a crowd: whose members are protected; else 0.
    situation : str
        "now", "minimum batch", and "shuffler fails" or "aggregator fails".
    n : int
        Honest messages among which a user's message is hidden.
    how : str
        Where n comes from.
    rounds : int
        How often everybody reports.
    """

    content: Deployment | CrowdDeployment
    group: int
    situation: str
    n: int
    how: str
    rounds: int = 1

    @property
    def failed(self) -> bool:
        """Whether nothing hides a user's report."""
        return self.situation in FAILURES

    @property
    def name(self) -> str:
        """Where a check of it stands."""
        if isinstance(self.content, CrowdDeployment):
            return f"group {self.group}, {self.situation}"
        return self.situation

    @cached_property
    def one(self) -> Deployment:
        """The deployment of the user's own mechanism alone."""
        content = self.content
        return content.alone(self.group) if isinstance(content, CrowdDeployment) else content

    @property
    def mechanism(self) -> dict[str, Any]:
        """{"name": ..., **parameters} of what the user runs."""
        return self.one.randomizer

    @property
    def protocol(self) -> bool:
        """Whether a user sends several messages."""
        return is_protocol(self.mechanism)

    @cached_property
    def sums(self) -> Sums | None:
        """What is added up; None where messages are seen."""
        if self.one.view != "sums":
            return None
        return self.one.sums(self.n, rounds=self.rounds, failed=self.failed)

    @cached_property
    def crowd(self) -> Crowd | None:
        """All groups; None where there is one mechanism, or nothing hides a report."""
        if not isinstance(self.content, CrowdDeployment) or self.failed:
            return None
        return Crowd(self.content, self.group)

    @property
    def own(self) -> int:
        """Users of the mechanism among whom the user is hidden, all other mechanisms left out."""
        return self.n if self.crowd is None else self.crowd.own

    @cached_property
    def relation(self) -> Relation:
        """Which datasets are neighbours."""
        if self.sums is not None:
            return self.sums.relation
        if self.mechanism["name"] == GENERIC or self.protocol:
            return REPLACEMENT
        found = relation_of(self.one, randomizer_from_dict(self.mechanism).relation)
        return found if self.crowd is None else OfGroup(self.group, found)

    @property
    def unit(self) -> str:
        """Whose data, and how much of it, a claim is about."""
        rounds, changed = self.one.accounting.rounds, self.one.changed
        if self.protocol:
            return "all messages of one user in one run of the protocol"
        if changed > 1:
            return f"one report each of up to {changed:,} users, or so many of one person"
        if rounds == 1:
            return _ONE_REPORT
        return f"one user's reports in all {rounds:,} rounds; claims of one round: one report"

    def grounds(self, end: str, analysis: str, *, basic: bool = False) -> Grounds | None:
        """What an end rests on; None where the analysis gives the setting no such end.

        Parameters
        ----------
        end : {"upper", "lower"}
            Which end.
        analysis : str
            What a witness names.
        basic : bool
            Whether all rounds follow from one by basic composition.
        """
        if self.sums is not None:
            return _of_sums(self.sums, end, analysis)
        if self.crowd is not None:
            return _of_crowd(self, self.crowd, end, analysis)
        found = _of_one(self, end, analysis)
        if found is None:
            return None
        if self.rounds > 1:
            found = _of_rounds(self, found, end, analysis, basic=basic)
        elif isinstance(self.content, CrowdDeployment):
            # Nobody hides a member, so that what others run or see is of no account.
            words = (self.relation.sentence, HONEST, ONE_ROUND)
            found = found._replace(assumptions=() if end == "lower" else words)
        if found is None or not self.one.widened:
            return found
        return _widened(self, found, end, analysis)


class Crowd:
    """All groups of a crowd, for the members of one.

    Attributes
    ----------
    groups : list of (mapping, int)
        Each group's mechanism as a table, and its users.
    victim : int
        Index of the one.
    own : int
        Users of all groups with the victim's mechanism.
    member : Member
        What is known of its members.
    """

    def __init__(self, content: CrowdDeployment, victim: int) -> None:
        self.groups = [(one.randomizer, one.users) for one in content.group]
        self.victim = victim
        groups = tuple((randomizer_from_dict(one.randomizer), one.users) for one in content.group)
        accounting = content.accounting
        self.member = Member(groups, victim, rtol=accounting.rtol, trust=accounting.trust)
        self.own: int = self.member.own.n

    @property
    def kind(self) -> Kind:
        """Which inputs and pairs have to be looked at."""
        found = kinds_of([mechanism for mechanism, _ in self.groups])
        if found is None:
            raise NotCertified("a crowd whose groups' messages are of different sets")
        return found


def settings_of(content: Deployment | CrowdDeployment) -> Iterator[Setting]:
    """All that is claimed about: each group's situations after one round, then after all."""
    if isinstance(content, CrowdDeployment):
        total = sum(one.users for one in content.group)
        for k in range(len(content.group)):
            yield Setting(content, k, "now", total, hidden_words(content, k))
            yield Setting(content, k, FAILURES[0], 1, ALONE_WORDS)
        return
    for name, n, how in situations(content):
        one = Setting(content, 0, name, n, how)
        yield one
        if content.accounting.rounds > 1:
            yield replace(one, rounds=content.accounting.rounds)


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


def _of_rounds(
    setting: Setting, one: Grounds, end: str, analysis: str, *, basic: bool
) -> Grounds | None:
    """After all rounds, from one."""
    rounds = say("rounds", f"{setting.rounds:,} rounds")
    if end == "lower":
        if analysis != "dataset":
            return None
        return one if basic else Grounds(one.theorem.with_step(theorems.REPETITION), ())
    words = [said for said in one.assumptions if said not in {ONE_ROUND, NO_SINGLE_PAIR}]
    if basic:
        return Grounds(one.theorem.with_step(theorems.BASIC), (*words, rounds))
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
    lower: Mapping[str, Theorem] = {SUMS_DATASET: sums.attained}
    if sums.mechanism.name == "gaussian":
        upper = lower = {NORMAL: theorems.SUM_OF_NORMALS}
    theorem = (upper if end == "upper" else lower).get(analysis)
    words = sums.assumptions() if end == "upper" else ()
    return None if theorem is None else Grounds(theorem, words)


def _of_crowd(setting: Setting, crowd: Crowd, end: str, analysis: str) -> Grounds | None:
    member = crowd.member
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
