"""Accounting of a deployment: as it runs, at its minimum batch, and if the shuffler fails."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

from shuffledp.amplification.messages import Messages
from shuffledp.bound import Bound, delta_from_log
from shuffledp.deployment.model import GENERIC, Deployment, as_written, is_protocol
from shuffledp.deployment.rounds import after_rounds
from shuffledp.deployment.views import (
    FAILURES,
    alone_words,
    failed,
    sums_at_target,
    sums_guarantee,
)
from shuffledp.deployment.widened import guarantee_of, widened_at_target
from shuffledp.laws.sources import Family

NOW, MINIMUM = "now", "minimum batch"
# Of the figure: relative width of the bounds, and how many: some take seconds.
_CURVE_RTOL, _CURVE_POINTS = 1e-3, 9
# Beyond it no sums of bits are accounted for: all data sets are searched.
_MOST_SUMMED = 1_000_000

Report = Callable[[str], None]


def _silent(message: str) -> None:
    del message


@dataclass(frozen=True)
class Situation:
    """One situation of a deployment and what is certified there.

    Attributes
    ----------
    name : str
        "now", "minimum batch", and "shuffler fails" or "aggregator fails".
    n : int
        Honest messages among which a user's message is hidden, that message included.
    how : str
        Where n comes from.
    bound : Bound
        The best bracket under the deployment's own ``trust``.
    published : Bound or None
        The bracket from published theorems alone, where its upper end is another one.
    composed, composed_published : Bound or None
        The same after all rounds, where there are several.
    """

    name: str
    n: int
    how: str
    bound: Bound
    published: Bound | None
    composed: Bound | None = None
    composed_published: Bound | None = None


@dataclass(frozen=True)
class Account:
    """A deployment with all its situations; ``eps0`` is the local guarantee in nats, maybe inf."""

    deployment: Deployment
    eps0: float
    situations: tuple[Situation, ...]

    @property
    def members(self) -> tuple[Account, ...]:
        """Of each mechanism's users, as of a crowd: all users have one."""
        return (self,)

    @property
    def failed(self) -> Situation:
        """The one in which nothing hides a user's report."""
        return next(s for s in self.situations if s.name in FAILURES)

    def named(self, name: str) -> Situation | None:
        """The situation of this name, if the deployment has it."""
        return next((s for s in self.situations if s.name == name), None)


@dataclass(frozen=True)
class Curve:
    """Bounds over n at the deployment's target, and the generic bound where eps0 is finite.

    The latter has its own values of n: it is steep elsewhere.
    """

    n: tuple[int, ...]
    bounds: tuple[Bound, ...]
    generic_n: tuple[int, ...]
    generic: tuple[Bound, ...]


def account(deployment: Deployment, *, report: Report = _silent) -> Account:
    """Account for a deployment in every situation.

    Parameters
    ----------
    deployment : Deployment
        What runs.
    report : callable
        Told in a few words what is being computed.
    """
    found = []
    for name, n, how in situations(deployment):
        report(f"{name}: {n:,} {deployment.unit}")
        if deployment.view == "sums":
            found.append(_summed(deployment, name, n, how, report))
            continue
        if deployment.widened:
            bound = with_margin(
                deployment, widened_at_target(deployment, n, failed=name in FAILURES)
            )
            found.append(Situation(name, n, how, bound, None))
            continue
        alone = name in FAILURES and is_protocol(deployment.randomizer)
        bound, published = _both(deployment, n, alone_at_target if alone else at_target)
        composed, composed_published = None, None
        if deployment.accounting.rounds > 1:
            report(f"{name}: {deployment.accounting.rounds:,} rounds")
            composed, composed_published = _both(deployment, n, after_all_rounds)
        found.append(Situation(name, n, how, bound, published, composed, composed_published))
    return Account(deployment, _eps0(deployment), tuple(found))


def _eps0(deployment: Deployment) -> float:
    if deployment.view == "sums":
        return sums_guarantee(deployment)
    return deployment.accountant(1).eps0


def _summed(deployment: Deployment, name: str, n: int, how: str, report: Report) -> Situation:
    """A situation of sums: nothing of it is published."""
    rounds, failed = deployment.accounting.rounds, name in FAILURES
    bound = with_margin(deployment, sums_at_target(deployment, n, failed=failed))
    composed = None
    if rounds > 1:
        report(f"{name}: {rounds:,} rounds")
        found = sums_at_target(deployment, n, rounds=rounds, failed=failed)
        composed = with_margin(deployment, found)
    return Situation(name, n, how, bound, None, composed)


def _both(
    deployment: Deployment, n: int, evaluate: Callable[[Deployment, Messages], Bound]
) -> tuple[Bound, Bound | None]:
    """The bound, and that from published theorems where it rests on others."""
    bound = with_margin(deployment, evaluate(deployment, deployment.accountant(n)))
    theorem = bound.upper_theorem
    if theorem is None or theorem.provenance == "published":
        return bound, None
    published = evaluate(deployment, deployment.accountant(n, trust="published"))
    return bound, with_margin(deployment, published)


def alone_both(deployment: Deployment) -> tuple[Bound, Bound | None]:
    """As ``account`` has them where the shuffler fails: one user, whom nobody hides."""
    return _both(deployment, 1, at_target)


def with_margin(deployment: Deployment, bound: Bound) -> Bound:
    """Both ends moved outward by ``rtol``, at most to the local guarantee.

    The ends may be exact to the last bit, where no verifier of finite precision can tell on which
    side of the truth they are.
    """
    rtol = deployment.accounting.rtol
    if bound.quantity == "epsilon":
        rounds = int(bound.at.get("rounds", 1))
        if deployment.view == "sums":
            local = sums_guarantee(deployment, rounds=rounds)
        else:
            local = guarantee_of(deployment, rounds * deployment.accountant(1).eps0)
        cap = max(local, bound.upper)
        upper = min(bound.upper * (1.0 + rtol), cap)
        return replace(bound, lower=bound.lower * (1.0 - rtol), upper=upper)
    log_lower = -math.inf if bound.log_lower is None else bound.log_lower - rtol
    log_upper = 0.0 if bound.log_upper is None else min(bound.log_upper + rtol, 0.0)
    lower, upper = delta_from_log(log_lower, log_upper)
    return replace(bound, lower=lower, upper=upper, log_lower=log_lower, log_upper=log_upper)


def situations(deployment: Deployment, group: int = 0) -> list[tuple[str, int, str]]:
    """(name, honest n, where n comes from) of every situation; of a crowd for a group's members."""
    alone = (failed(deployment), 1, alone_words(deployment))
    if deployment.group:
        users, total = deployment.group[group].users, sum(one.users for one in deployment.group)
        rest = f"{total - users:,} of other groups = {total:,}"
        return [(NOW, total, f"{users:,} users of group {group} and {rest}"), alone]
    p = deployment.population
    asked = f"{p.users:,} users"
    if p.arriving < p.users:
        asked += f" - {p.users - p.arriving:,} dropped out"
        # These are divided.
        asked = f"({asked})" if _apart(deployment) else asked
    here = deployment.hidden
    found = [(NOW, here(p.arriving), asked + _without_colluders(deployment, p.arriving))]
    for batch in p.batches[1:]:
        words = f"{batch:,} {deployment.unit}" + _without_colluders(deployment, batch)
        found.append((MINIMUM, here(batch), words))
    return [*found, alone]


def _apart(deployment: Deployment) -> bool:
    return deployment.shuffler is not None and deployment.shuffler.apart


def _without_colluders(deployment: Deployment, batch: int) -> str:
    if deployment.shuffler is not None:
        return deployment.shuffler.how(batch, as_written(deployment.population.colluding))
    honest = deployment.population.honest(batch)
    gone = f" - {batch - honest:,} colluding" if honest < batch else ""
    return f"{gone} = {honest:,}"


def at_target(deployment: Deployment, accountant: Messages) -> Bound:
    """The bound the deployment's target asks for, by what a certificate's reader recomputes."""
    return accountant.bound(deployment.target.quantity, deployment.target.value)


def alone_at_target(deployment: Deployment, accountant: Messages) -> Bound:
    """The same from what one user's messages give away in the order in which they were made."""
    target = deployment.target
    return accountant.bound(target.quantity, target.value, analysis="local")


def after_all_rounds(deployment: Deployment, accountant: Messages) -> Bound:
    """The same after all rounds, with what is needed to compose them again."""
    target = deployment.target
    return after_rounds(
        accountant,
        rounds=deployment.accounting.rounds,
        quantity=target.quantity,
        value=target.value,
    )


def curve_over_n(account: Account, *, report: Report = _silent) -> Curve:
    """Bounds over n around the deployment, for the figure (looser numerics: 1e-3).

    The account's own numbers are taken over; at other n analyses that take seconds are not asked.

    Parameters
    ----------
    account : Account
        The deployment's own numbers.
    report : callable
        Told in a few words what is being computed.
    """
    deployment = account.deployment
    found = {s.n: s.bound for s in account.situations if s.name not in FAILURES}
    low, high = max(1, min(found) // 10), max(10 * max(found), 100)
    if deployment.view == "sums" or deployment.widened:
        if deployment.view == "sums":
            high = max(min(high, _MOST_SUMMED), *found)
        ns, bounds = _swept(lambda n: _of_setting(deployment, n), found, (low, high), report)
        return Curve(ns, bounds, (), ())
    accountant = deployment.accountant(low, rtol=max(_CURVE_RTOL, deployment.accounting.rtol))
    ns, bounds = _swept(
        lambda n: _quick(deployment, accountant.among(n)), found, (low, high), report
    )
    generic_ns, generics = _generic_over(deployment, account.eps0, (low, high), report)
    return Curve(ns, bounds, generic_ns, generics)


def _quick(deployment: Deployment, accountant: Messages) -> Bound:
    """The bound at the target, of the analyses that do not take seconds."""
    return accountant.bound(deployment.target.quantity, deployment.target.value, closing=False)


def _of_setting(deployment: Deployment, n: int) -> Bound:
    """Of sums, or of a setting with a declared shuffler or several users."""
    if deployment.view == "sums":
        return sums_at_target(deployment, n)
    return widened_at_target(deployment, n, failed=False)


def _swept(
    evaluate: Callable[[int], Bound],
    found: dict[int, Bound],
    ends: tuple[int, int],
    report: Report,
) -> tuple[tuple[int, ...], tuple[Bound, ...]]:
    """Bounds from end to end, each time in the middle of the widest step."""
    todo = [n for n in ends if n not in found]
    while todo:
        for n in todo:
            report(f"figure: n = {n:,}")
            found[n] = evaluate(n)
        _, middle = max((b / a, round(math.sqrt(a * b))) for a, b in pairwise(sorted(found)))
        enough = len(found) >= _CURVE_POINTS or middle in found
        todo = [] if enough else [middle]
    ns = tuple(sorted(found))
    return ns, tuple(found[n] for n in ns)


def _generic_over(
    deployment: Deployment, eps0: float, ends: tuple[int, int], report: Report
) -> tuple[tuple[int, ...], tuple[Bound, ...]]:
    """The bound for any randomizer with this local guarantee; none where there is no finite one."""
    name = deployment.randomizer["name"]
    if not math.isfinite(eps0) or name == GENERIC or is_protocol(deployment.randomizer):
        return (), ()
    family = Messages(Family(eps0), ends[0], rtol=_CURVE_RTOL, trust=deployment.accounting.trust)
    return _swept(
        lambda n: _quick(deployment, family.among(n)),
        {},
        ends,
        lambda words: report(f"{words}, any randomizer"),
    )
