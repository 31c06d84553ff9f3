"""Accounting of a deployment: both ends in every setting that it asks about."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

from shuffledp._check import Trust
from shuffledp.amplification.words import HONEST, ONE_ROUND
from shuffledp.bound import Bound, delta_from_log
from shuffledp.deployment.model import Deployment
from shuffledp.deployment.setting import Setting, settings_of
from shuffledp.deployment.widened import behind_shuffler
from shuffledp.errors import NotCertified

# Of the figure: relative width of the bounds and, for sums of many coordinates, whose time grows
# with its inverse root, of theirs; number of points, some of which take seconds.
_CURVE_RTOL, _SUMS_RTOL, _CURVE_POINTS = 1e-3, 5e-3, 9
# Among so few users, an end of eps by label stealing may differ by 5e-4 between machines. Margins
# of eps and of log delta for that.
_FEW, _SEARCHED = 2_000, {"epsilon": 1e-3, "delta": 1e-2}
# Beyond it no sums of bits are accounted for: all data sets are searched.
_MOST_SUMMED = 1_000_000

Report = Callable[[str], None]


def _silent(message: str) -> None:
    del message


@dataclass(frozen=True)
class Answer:
    """What is certified in one setting.

    Attributes
    ----------
    setting : Setting
        What was asked.
    bound : Bound
        The best bracket under the deployment's own ``trust``.
    published : Bound or None
        The bracket from published theorems alone, where its upper end is another one.
    why : str
        Where nothing is certified, the reason; else empty.
    """

    setting: Setting
    bound: Bound
    published: Bound | None = None
    why: str = ""

    @property
    def n(self) -> int:
        """Honest messages among which a user's message is hidden, that message included."""
        return self.setting.n


@dataclass(frozen=True)
class Account:
    """A deployment with all that is certified of it.

    Attributes
    ----------
    deployment : Deployment
        What runs.
    eps0 : tuple of float
        Of each group's mechanism (one, where there are no groups): what one user's report gives
        away alone, in nats; may be inf.
    answers : tuple of Answer
        Setting by setting, as ``settings_of`` has them.
    """

    deployment: Deployment
    eps0: tuple[float, ...]
    answers: tuple[Answer, ...]

    @property
    def one_round(self) -> list[Answer]:
        """After one round: every group's situations."""
        return [one for one in self.answers if one.setting.rounds == 1]

    def named(self, situation: str, *, rounds: int = 1) -> Answer | None:
        """The situation of this name after so many rounds, if the deployment has it."""
        asked = (situation, rounds)
        found = (a for a in self.answers if (a.setting.situation, a.setting.rounds) == asked)
        return next(found, None)


@dataclass(frozen=True)
class Curve:
    """Bounds over n at the deployment's target."""

    n: tuple[int, ...]
    bounds: tuple[Bound, ...]


def account(deployment: Deployment, *, report: Report = _silent) -> Account:
    """Account for a deployment, or a crowd of groups, in every setting.

    Parameters
    ----------
    deployment : Deployment
        What runs.
    report : callable
        Told in a few words what is being computed.
    """
    found, eps0 = [], dict[int, float]()
    for setting in settings_of(deployment):
        after = f", {setting.rounds:,} rounds" if setting.rounds > 1 else ""
        report(f"{setting.name}: {setting.n:,} {setting.one.unit}{after}")
        found.append(answer_of(setting))
        eps0.setdefault(setting.group, _eps0(setting))
    return Account(deployment, tuple(eps0.values()), tuple(found))


def _eps0(setting: Setting) -> float:
    """What one report gives away alone; of several users who may change that of each."""
    return setting.guarantee if setting.sums is not None else setting.one.accountant(1).eps0


def answer_of(setting: Setting, *, margin: bool = True) -> Answer:
    """What is certified in a setting, and by published theorems where that rests on others.

    Nothing of sums, declared shufflers or several users is published.

    Parameters
    ----------
    setting : Setting
        What is asked.
    margin : bool
        Whether ends are moved outward, as for a certificate, so that a verifier can decide.
    """
    moved = with_margin if margin else lambda _, bound: bound
    bound, why = answered(setting)
    theorem = bound.upper_theorem
    alone = setting.sums is not None or setting.one.widened
    if alone or theorem is None or theorem.provenance == "published":
        return Answer(setting, moved(setting, bound), why=why)
    published, _ = answered(setting, trust="published")
    return Answer(setting, moved(setting, bound), moved(setting, published))


def answered(setting: Setting, *, trust: Trust | None = None) -> tuple[Bound, str]:
    """What is certified and "", or a bound that says nothing and the reason.

    A setting that no analysis knows is one line of an account, and does not end it.
    """
    try:
        return bound_of(setting, trust=trust), ""
    except NotCertified as error:
        target = setting.content.target
        delta = target.quantity == "delta"
        nothing = Bound(
            quantity=target.quantity,
            relation=setting.relation,
            lower=0.0,
            upper=1.0 if delta else math.inf,
            at={"n": setting.n, "epsilon" if delta else "delta": target.value},
            log_upper=0.0 if delta else None,
        )
        return nothing, str(error)


def bound_of(setting: Setting, *, trust: Trust | None = None) -> Bound:
    """What the deployment's target asks for: both ends, without the margin of a certificate.

    Parameters
    ----------
    setting : Setting
        What is asked.
    trust : {"all", "published"}, optional
        In the place of the file's.
    """
    one, asked = setting.one, setting.content.target
    quantity, value = asked.quantity, asked.value
    if setting.sums is not None:
        return setting.sums.bound(quantity, value)
    if setting.crowd is not None:
        seen = setting.crowd if trust is None else replace(setting.crowd, trust=trust)
        return seen.again(setting.rounds).bound(quantity, value)
    messages = one.accountant(setting.n, trust=trust).again(setting.rounds)
    if one.widened:
        return behind_shuffler(one, messages, quantity, value, failed=setting.failed)
    if setting.failed and setting.protocol:
        # One user's messages give away the order in which they were made.
        return messages.bound(quantity, value, analysis="local")
    found = messages.bound(quantity, value)
    if not setting.content.group:
        return found
    # Nobody hides a member: what others run is of no account.
    return replace(found, assumptions=(setting.relation.sentence, HONEST, ONE_ROUND))


def with_margin(setting: Setting, bound: Bound) -> Bound:
    """Both ends moved outward by ``rtol``, at most to the local guarantee.

    The ends may be exact to the last bit, where no verifier of finite precision can tell on which
    side of the truth they are. Among few users the search for label stealing's numbers follows the
    rounding errors of floats, which differ between machines.
    """
    rtol = setting.one.accounting.rtol
    wide, theorem = rtol, bound.upper_theorem
    stolen = theorem is not None and any(one.startswith("label-stealing") for one in theorem.ids)
    if stolen and setting.n <= _FEW:
        wide = max(rtol, _SEARCHED[bound.quantity])
    if bound.quantity == "epsilon":
        cap = max(setting.guarantee, bound.upper)
        upper = min(bound.upper * (1.0 + wide), cap)
        return replace(bound, lower=bound.lower * (1.0 - rtol), upper=upper)
    log_lower = -math.inf if bound.log_lower is None else bound.log_lower - rtol
    log_upper = 0.0 if bound.log_upper is None else min(bound.log_upper + wide, 0.0)
    lower, upper = delta_from_log(log_lower, log_upper)
    return replace(bound, lower=lower, upper=upper, log_lower=log_lower, log_upper=log_upper)


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
    deployment, now = account.deployment, account.answers[0].setting
    target = deployment.target
    found = {one.n: one.bound for one in account.one_round if not one.setting.failed}
    low, high = max(1, min(found) // 10), max(10 * max(found), 100)
    if deployment.view == "sums":
        high = max(min(high, _MOST_SUMMED), *found)

        def summed(n: int) -> Bound:
            seen = deployment.sums(n, rounds=now.rounds, rtol=_SUMS_RTOL)
            return seen.bound(target.quantity, target.value)

        ns, bounds = _swept(summed, found, (low, high), report)
        return Curve(ns, bounds)
    if deployment.widened:
        ns, bounds = _swept(lambda n: bound_of(replace(now, n=n)), found, (low, high), report)
        return Curve(ns, bounds)
    rtol = max(_CURVE_RTOL, deployment.accounting.rtol)
    messages = deployment.accountant(low, rtol=rtol)

    def quick(n: int) -> Bound:
        return messages.among(n).bound(target.quantity, target.value, closing=False)

    ns, bounds = _swept(quick, found, (low, high), report)
    return Curve(ns, bounds)


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
