"""Accounting of a deployment: both ends in every setting that it asks about."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise

from shuffledp._check import Trust
from shuffledp.accounts.shuffler import UNIFORM
from shuffledp.accounts.widened import Widened
from shuffledp.amplification.messages import Messages
from shuffledp.amplification.words import HONEST, ONE_ROUND
from shuffledp.bound import Bound
from shuffledp.deployment.model import Deployment
from shuffledp.deployment.setting import Setting, settings_of
from shuffledp.errors import NotCertified
from shuffledp.values.work import Report, silent

# Of the figure: relative width of the bounds, half of what is seen as two lines (``bands.apart``),
# and number of points, some of which take seconds: over n lines of eps are nearly straight.
_CURVE_RTOL, _CURVE_POINTS = 5e-3, 5
# Among so few users, an end of eps by label stealing may differ by 5e-4 between machines. Relative
# margins of eps and of delta for that.
_FEW, _SEARCHED = 2_000, {"epsilon": 1e-3, "delta": 1e-2}
# Beyond it no sums of bits are accounted for: all data sets are searched.
_MOST_SUMMED = 1_000_000


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
    answers : tuple of Answer
        Setting by setting, as ``settings_of`` has them.
    """

    deployment: Deployment
    answers: tuple[Answer, ...]

    @property
    def eps0(self) -> tuple[float, ...]:
        """Of each group's mechanism: what one user's report gives away alone, in nats."""
        first = {one.setting.group: one.setting for one in reversed(self.answers)}
        return tuple(first[group].eps0 for group in sorted(first))

    def named(self, situation: str, *, rounds: int = 1) -> Answer | None:
        """The situation of this name after this many rounds, if the deployment has it."""
        asked = (situation, rounds)
        found = (a for a in self.answers if (a.setting.situation, a.setting.rounds) == asked)
        return next(found, None)


@dataclass(frozen=True)
class Curve:
    """Bounds over n at the deployment's target."""

    n: tuple[int, ...]
    bounds: tuple[Bound, ...]


def account(deployment: Deployment, *, report: Report = silent) -> Account:
    """Account for a deployment, or a crowd of groups, in every setting.

    Parameters
    ----------
    deployment : Deployment
        What runs.
    report : callable
        Told in a few words what is being computed.
    """
    found = []
    for setting in settings_of(deployment):
        after = f", {setting.rounds:,} rounds" if setting.rounds > 1 else ""
        report(f"{setting.name}: {setting.n:,} {setting.one.unit}{after}")
        found.append(answer_of(setting))
    return Account(deployment, tuple(found))


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


def bound_of(setting: Setting, *, trust: Trust | None = None, rtol: float | None = None) -> Bound:
    """What the deployment's target asks for: both ends, without the margin of a certificate.

    Parameters
    ----------
    setting : Setting
        What is asked.
    trust, rtol
        As for ``Setting.accounted``.
    """
    usual = trust is None and rtol is None
    account = setting.account if usual else setting.accounted(trust=trust, rtol=rtol)
    asked = setting.content.target.quantity, setting.content.target.value
    if not setting.failed:
        return account.bound(*asked)
    if setting.content.group:
        # Nobody hides a member: what others run is of no account.
        words = (setting.relation.sentence, HONEST, ONE_ROUND)
        return replace(account.bound(*asked), assumptions=words)
    if setting.protocol:
        # One user's messages give away the order in which they were made.
        return account.by_analysis(*asked, "local")
    if setting.one.changed == 1:
        return _unordered(account.bound(*asked))
    # Several users' reports, each seen with its sender.
    alone = Widened(account.seen, setting.one.changed).bound(*asked)
    found = _unordered(account.dressed(alone))
    words = (setting.relation.sentence, *found.assumptions[1:])
    return replace(found, relation=setting.relation, assumptions=words)


def _unordered(bound: Bound) -> Bound:
    """The bound of one message, which has no order that anything could be believed of."""
    words = tuple(word for word in bound.assumptions if word != UNIFORM)
    return replace(bound, assumptions=words)


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
    cap = max(setting.guarantee, bound.upper) if bound.quantity == "epsilon" else 1.0
    upper = min(bound.upper * (1.0 + wide), cap)
    lower = bound.lower * (1.0 - rtol)
    return replace(bound, lower=lower, upper=upper, log_lower=None, log_upper=None)


def curve_over_n(account: Account, *, report: Report = silent) -> Curve:
    """Bounds over n around the deployment, for the figure: few, and looser than the account's own.

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
    of_one = [a for a in account.answers if a.setting.rounds == 1 and not a.setting.failed]
    found = {one.n: one.bound for one in of_one}
    fewest = deployment.changed + deployment.believed.dummies
    low, high = max(fewest, min(found) // 10), max(10 * max(found), 100)
    if now.sums is not None:
        high = max(min(high, _MOST_SUMMED), *found)
    loose = now.accounted(rtol=max(_CURVE_RTOL, deployment.accounting.rtol))

    def at(n: int) -> Bound:
        if isinstance(loose.seen, Messages) and now.plain:
            return loose.seen.among(n).bound(target.quantity, target.value, closing=False)
        return bound_of(replace(now, n=n), rtol=_CURVE_RTOL)

    todo = [n for n in (low, high) if n not in found]
    while todo:
        for n in todo:
            report(f"figure: n = {n:,}")
            found[n] = at(n)
        _, middle = max((b / a, round(math.sqrt(a * b))) for a, b in pairwise(sorted(found)))
        enough = len(found) >= _CURVE_POINTS or middle in found
        todo = [] if enough else [middle]
    ns = tuple(sorted(found))
    return Curve(ns, tuple(found[n] for n in ns))
