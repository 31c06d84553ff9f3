"""Accounting of a crowd: what the members of each group get, hidden by all and by nobody."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from shuffledp._check import Trust
from shuffledp.amplification.words import HONEST, ONE_ROUND
from shuffledp.bound import Bound
from shuffledp.deployment.accounting import (
    Account,
    Situation,
    alone_both,
    at_target,
    situations,
    with_margin,
)
from shuffledp.deployment.model import Deployment, Target
from shuffledp.errors import NotCertified
from shuffledp.population.crowd import Crowd, crowd
from shuffledp.published import Estimate
from shuffledp.randomizers import Randomizer, randomizer_from_dict

Report = Callable[[str], None]


@dataclass(frozen=True)
class CrowdAccount:
    """What is certified of each group's members, and the published approximation beside it.

    Attributes
    ----------
    deployment : Deployment
        What runs.
    members : tuple of Account
        One for each group: hidden by all groups, and if the shuffler fails.
    own : tuple of Bound
        Of each group's members, were theirs the only group.
    estimates : tuple of Estimate or None
        One for each group; None where there is none.
    """

    deployment: Deployment
    members: tuple[Account, ...]
    own: tuple[Bound, ...]
    estimates: tuple[Estimate | None, ...]

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """Of each group's members, hidden by all groups."""
        return tuple(one.situations[0].bound for one in self.members)


def groups_of(deployment: Deployment) -> list[tuple[Randomizer, int]]:
    """Each group's mechanism, and its users; none of a deployment that is no crowd."""
    return [(randomizer_from_dict(one.randomizer), one.users) for one in deployment.group]


def crowd_of(deployment: Deployment, victim: int, *, trust: Trust | None = None) -> Crowd:
    """What is seen of all groups, for members of one.

    Parameters
    ----------
    deployment : Deployment
        What runs.
    victim : int
        Whose members are protected.
    trust : {"all", "published"}, optional
        In the place of the file's.
    """
    accounting = deployment.accounting
    chosen = accounting.trust if trust is None else trust
    return crowd(groups_of(deployment), victim, accounting.rtol, chosen)


def account_crowd(deployment: Deployment, *, report: Report = lambda _: None) -> CrowdAccount:
    """The bounds of each group's members at the target.

    Parameters
    ----------
    deployment : Deployment
        What runs.
    report : callable
        Told in a few words what is being computed.
    """
    members, own, estimates = [], [], []
    for k, group in enumerate(deployment.group):
        report(f"group {k}: {group.users:,} users")
        alone = deployment.alone(k)
        one = crowd_of(deployment, k)
        situations = (_hidden(deployment, k, one), _failed(deployment, k))
        members.append(Account(alone, alone.accountant(1).eps0, situations))
        own.append(at_target(alone, alone.accountant(alone.population.users)))
        estimates.append(_estimate(one, deployment.target))
    return CrowdAccount(deployment, tuple(members), tuple(own), tuple(estimates))


def _hidden(deployment: Deployment, k: int, one: Crowd) -> Situation:
    """A member among all groups."""
    bound, published = _at_target(deployment, k, one), None
    theorem = bound.upper_theorem
    if theorem is not None and theorem.provenance != "published":
        published = _at_target(deployment, k, crowd_of(deployment, k, trust="published"))
    return Situation(*situations(deployment, k)[0], bound, published)


def _at_target(deployment: Deployment, k: int, one: Crowd) -> Bound:
    target = deployment.target
    bound = one.bound(target.quantity, target.value, recomputed=True)
    return with_margin(deployment.alone(k), bound)


def _failed(deployment: Deployment, k: int) -> Situation:
    """A member whose report nothing hides: what others run is of no account."""
    bound, published = alone_both(deployment.alone(k))
    relation = groups_of(deployment)[k][0].relation
    words = (relation.sentence, HONEST, ONE_ROUND)
    if published is not None:
        published = replace(published, assumptions=words)
    alone = replace(bound, assumptions=words)
    return Situation(*situations(deployment, k)[1], alone, published)


def _estimate(one: Crowd, target: Target) -> Estimate | None:
    if target.quantity != "epsilon":
        return None
    try:
        return one.estimate(target.value)
    except NotCertified:
        return None
