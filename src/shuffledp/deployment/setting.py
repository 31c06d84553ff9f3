"""The settings that a deployment asks about: mechanisms with counts, users, situation, rounds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from shuffledp._check import Trust
from shuffledp.accounts import PERFECT, Account, Shuffler, shuffle
from shuffledp.accounts.sources import source_from_dict
from shuffledp.bounds.shufflers import local_guarantee as of_several
from shuffledp.deployment.model import Deployment
from shuffledp.laws.sources import Family
from shuffledp.multimessage import MultiMessage
from shuffledp.neighbours import Relation, of_group, together
from shuffledp.population.crowd import Crowd
from shuffledp.randomizers import Randomizer
from shuffledp.views.datasets import local_guarantee
from shuffledp.views.sums import Sums

__all__ = ["FAILURES", "MINIMUM", "NOW", "Deployed", "Setting", "settings_of", "situations"]

NOW, MINIMUM = "now", "minimum batch"
# What happens if the trust in whoever stands between users and analyst is misplaced.
FAILURES = ("shuffler fails", "aggregator fails")
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
        return source_from_dict(self.mechanism)

    @property
    def protocol(self) -> bool:
        """Whether a user sends several messages."""
        return isinstance(self.source, MultiMessage)

    def accounted(self, *, trust: Trust | None = None, rtol: float | None = None) -> Account:
        """The account of it: of the front door, where every part of a deployment has its place.

        Parameters
        ----------
        trust : {"all", "published"}, optional
            In the place of the file's.
        rtol : float, optional
            The same; of sums what is worth the time by default.
        """
        content, accounting = self.one, self.content.accounting
        if content.view == "sums":
            seen = content.sums(self.n, rounds=self.rounds, failed=self.failed, rtol=rtol)
            return Account(seen, self.n)
        asked: dict[str, Any] = {
            "rounds": self.rounds,
            "trust": trust or accounting.trust,
            "rtol": rtol or accounting.rtol,
        }
        if self.content.group and not self.failed:
            groups = [(source_from_dict(one.randomizer), one.users) for one in self.content.group]
            return shuffle(groups=groups, victim=self.group, **asked)
        believed, changed = content.believed, content.changed
        if self.failed:
            # Of several users who change each report is seen with its sender.
            believed, changed = Shuffler(fills=believed.fills), 1
        # Messages of one shard, the shuffler's own left out: as many users are in every shard.
        users = (self.n - believed.dummies) * (believed.shards if believed.apart else 1)
        return shuffle(self.source, users, shuffler=believed, changed=changed, **asked)

    @cached_property
    def account(self) -> Account:
        """The account with the file's own trust and width."""
        return self.accounted()

    @property
    def sums(self) -> Sums | None:
        """What is added up; None where messages are seen."""
        return self.account.seen if isinstance(self.account.seen, Sums) else None

    @property
    def plain(self) -> bool:
        """Whether messages of one mechanism are seen, behind one perfect shuffler."""
        apart = isinstance(self.account.seen, Sums | Crowd)
        return not apart and self.one.believed == PERFECT and self.one.changed == 1

    @property
    def relation(self) -> Relation:
        """Which datasets are neighbours."""
        found, changed = self.account.relation, self.one.changed
        if self.failed and changed > 1:
            return together(changed, found)
        alone = self.failed and len(self.content.group) > 1
        return of_group(self.group, found) if alone else found

    @property
    def eps0(self) -> float:
        """What one user's reports give away alone, in nats; inf if there is no such."""
        if self.sums is not None:
            return local_guarantee(self.sums)
        return self.account.seen.guarantee

    @property
    def guarantee(self) -> float:
        """What all reports that may change give away alone, in nats."""
        return of_several(self.eps0, self.one.changed, 1)

    @property
    def unit(self) -> str:
        """Whose data, and how much of it, a claim is about."""
        rounds, changed = self.one.accounting.rounds, self.one.changed
        if self.protocol:
            return "all messages of one user in one run of the protocol"
        if changed > 1:
            return f"one report each of up to {changed:,} users, or that many of one person"
        if rounds == 1:
            return _ONE_REPORT
        return f"one user's reports in all {rounds:,} rounds; claims of one round: one report"


def settings_of(content: Deployment) -> Iterator[Setting]:
    """All that is claimed about: each group's situations after one round, then after all."""
    for k in range(max(1, len(content.group))):
        for name, n, how in situations(content, k):
            one = Setting(content, k, name, n, how)
            yield one
            if content.accounting.rounds > 1:
                yield replace(one, rounds=content.accounting.rounds)


def situations(deployment: Deployment, group: int = 0) -> list[tuple[str, int, str]]:
    """(name, honest n, where n comes from) of every situation; of a crowd for a group's members."""
    sums = deployment.view == "sums"
    seen = f"every {'report' if sums else 'message'} is seen with its sender: nothing hides it"
    alone = (FAILURES[sums], 1, seen)
    if deployment.group:
        users, total = deployment.group[group].users, sum(one.users for one in deployment.group)
        rest = f"{total - users:,} of other groups = {total:,}"
        return [(NOW, total, f"{users:,} users of group {group} and {rest}"), alone]
    p, believed = deployment.population, deployment.believed
    asked = f"{p.users:,} users"
    if p.arriving < p.users:
        asked += f" - {p.users - p.arriving:,} dropped out"
        # These are divided.
        asked = f"({asked})" if believed.apart else asked
    found = []
    for name, batch in zip((NOW, MINIMUM), p.batches, strict=False):
        honest, shard = deployment.honest(batch), deployment.shard(batch)
        n = honest + believed.dummies
        how = asked if name == NOW else f"{batch:,} {deployment.unit}"
        how += f" / {believed.shards:,} shards" if believed.apart else ""
        how += f" - {shard - honest:,} colluding" if honest < shard else ""
        how += f" + {believed.dummies:,} dummies" if believed.dummies else ""
        found.append((name, n, f"{how} = {n:,}"))
    return [*found, alone]
