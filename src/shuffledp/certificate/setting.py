"""The settings that a deployment asks about: mechanisms with counts, users, situation, rounds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from shuffledp.ball.groups import Kind, kinds_of
from shuffledp.deployment.accounting import situations
from shuffledp.deployment.crowds import groups_of
from shuffledp.deployment.mechanisms import built
from shuffledp.deployment.model import Deployment
from shuffledp.deployment.views import FAILURES
from shuffledp.deployment.widened import relation_of
from shuffledp.errors import NotCertified
from shuffledp.laws.sources import Family
from shuffledp.multimessage import MultiMessage
from shuffledp.neighbours import REPLACEMENT, OfGroup, Relation
from shuffledp.population.member import Member
from shuffledp.randomizers import Randomizer
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
    "Deployed",
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

# What a deployment may name.
Deployed = Randomizer | Family | MultiMessage


@dataclass(frozen=True)
class Setting:
    """One situation of a deployment, or of a group of its crowd, after one round or all.

    Attributes
    ----------
    content : Deployment
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

    content: Deployment
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
        if self.content.group:
            return f"group {self.group}, {self.situation}"
        return self.situation

    def is_of(self, claim: Any) -> bool:
        """Whether a claim is about it."""
        place = (claim.group, claim.situation, claim.rounds)
        return place == (self.group, self.situation, self.rounds)

    @cached_property
    def one(self) -> Deployment:
        """The deployment of the user's own mechanism alone."""
        return self.content.alone(self.group)

    @property
    def mechanism(self) -> dict[str, Any]:
        """{"name": ..., **parameters} of what the user runs."""
        return self.one.randomizer

    @cached_property
    def source(self) -> Deployed:
        """The same as the object that bounds are asked of."""
        return built(self.mechanism)

    @property
    def protocol(self) -> bool:
        """Whether a user sends several messages."""
        return isinstance(self.source, MultiMessage)

    @cached_property
    def sums(self) -> Sums | None:
        """What is added up; None where messages are seen."""
        if self.one.view != "sums":
            return None
        return self.one.sums(self.n, rounds=self.rounds, failed=self.failed)

    @cached_property
    def crowd(self) -> Crowd | None:
        """All groups; None where there is one mechanism, or nothing hides a report."""
        if not self.content.group or self.failed:
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
        if not isinstance(self.source, Randomizer):
            return REPLACEMENT
        found = relation_of(self.one, self.source.relation)
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


class Crowd:
    """All groups of a crowd, for the members of one.

    Attributes
    ----------
    groups : tuple of (Randomizer, int)
        Each group's mechanism, and its users.
    victim : int
        Index of the one.
    own : int
        Users of all groups with the victim's mechanism.
    member : Member
        What is known of its members.
    """

    def __init__(self, content: Deployment, victim: int) -> None:
        self.groups = tuple(groups_of(content))
        self.victim, accounting = victim, content.accounting
        self.member = Member(self.groups, victim, rtol=accounting.rtol, trust=accounting.trust)
        self.own: int = self.member.own.n

    @property
    def kind(self) -> Kind:
        """Which inputs and pairs have to be looked at."""
        found = kinds_of([mechanism for mechanism, _ in self.groups])
        if found is None:
            raise NotCertified("a crowd whose groups' messages are of different sets")
        return found


def settings_of(content: Deployment) -> Iterator[Setting]:
    """All that is claimed about: each group's situations after one round, then after all."""
    for k in range(max(1, len(content.group))):
        for name, n, how in situations(content, k):
            one = Setting(content, k, name, n, how)
            yield one
            if content.accounting.rounds > 1:
                yield replace(one, rounds=content.accounting.rounds)
