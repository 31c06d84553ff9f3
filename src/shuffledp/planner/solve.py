"""One mechanism's parameter for a target: solved for, rounded, and evaluated as it will be used."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from shuffledp import _check
from shuffledp._check import Trust
from shuffledp.accounts import shuffle
from shuffledp.bound import outward
from shuffledp.calibration import calibrate, meeting
from shuffledp.curves import Accountant
from shuffledp.errors import NotCertified
from shuffledp.laws.pairs import is_continuous
from shuffledp.multimessage import MultiMessage
from shuffledp.planner.tasks import Option, Source, Task
from shuffledp.rounds import compose, stated
from shuffledp.values.described import ByContent

# Relative width of eps: continuous outputs take a hundred times as long.
FINE, COARSE = 1e-6, 1e-3
# What is enough to sort mechanisms of one round by: an end so wide is certified too.
_WIDE = 1e-2
# A value is a number to write down.
_DIGITS = 5
# How near, relatively, to a value that misses the target a search ends; and estimates of one round,
# and of many rounds, of which every value takes longer.
_APART, _NEAR, _NEAR_OF_ROUNDS = 1e-3, 1e-4, 1e-2


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Asked(ByContent):
    """What a plan is asked for.

    Attributes
    ----------
    task : Task
        What is estimated.
    n : int
        Users whose reports are estimated from.
    hidden : int
        Honest messages of the smallest batch: what the guarantee is for; by default n.
    epsilon, delta : float
        The target after all rounds.
    rounds : int
        Rounds on the same users.
    limit : int or None
        Most bits a user may send in a round.
    most_local : float or None
        Most that a user's messages alone may give away: eps0 in nats.
    trust : {"all", "published"}
        Which theorems are used.
    """

    task: Task
    n: int
    hidden: int = 0
    epsilon: float
    delta: float
    rounds: int = 1
    limit: int | None = None
    most_local: float | None = None
    trust: Trust = "all"

    def __post_init__(self) -> None:
        n = _check.count("n", self.n)
        object.__setattr__(self, "hidden", _check.count("hidden", self.hidden or n, high=n))
        _check.count("rounds", self.rounds, high=10**9)
        if self.limit is not None:
            _check.count("limit", self.limit)
        if self.most_local is not None:
            _check.local_epsilon("local", self.most_local)
        _check.positive("epsilon", self.epsilon, high=_check.LARGEST_EPS0)
        _check.open_unit("delta", self.delta)
        _check.trust(self.trust)


@dataclass(frozen=True)
class Settled:
    """A value that meets the target, its mechanism, and the certified eps.

    ``confirmed``: with the margin that an account of a deployment adds, and by its way.
    """

    value: float
    source: Source
    epsilon: float
    confirmed: bool = False


def settle(option: Option, asked: Asked, *, start: float | None = None) -> Settled:
    """About the most accurate value of an option that meets the target, to five digits.

    One round is bounded by wide certified ends, which are near the sharp ones and cost a few
    hundredths of a second. ``confirm`` does the rest for the one that is best.

    Parameters
    ----------
    option : Option
        What is solved for.
    asked : Asked
        What has to be met.
    start : float, optional
        Where to begin: near the answer it saves time.

    Raises
    ------
    NotCertified
        If no value meets the asked.
    """

    def account(source: Source) -> Accountant:
        if asked.rounds == 1:
            return shuffle(source, n=asked.hidden, rtol=_WIDE, trust=asked.trust)
        one = shuffle(source, n=asked.hidden, trust=asked.trust)
        # As an account composes rounds: from the curves that a verifier recomputes.
        return compose([one.as_round(sharper=False)], rounds=asked.rounds)

    near = _NEAR if asked.rounds == 1 else _NEAR_OF_ROUNDS
    value = meeting(**_question(option, account, asked.epsilon, asked), near=near, start=start)
    value = _rounded(option, value)
    return Settled(value, option.build(value), asked.epsilon)


def confirm(option: Option, asked: Asked, value: float) -> Settled:
    """The most accurate value with the margin that an account of a deployment adds.

    Parameters
    ----------
    option : Option
        What is solved for.
    asked : Asked
        What has to be met.
    value : float
        Where to begin: what ``settle`` found.

    Raises
    ------
    NotCertified
        If no value meets the asked.
    """
    rtol = accuracy(option.build(value))

    def account(source: Source) -> Accountant:
        one = shuffle(source, n=asked.hidden, rtol=rtol, trust=asked.trust)
        if asked.rounds == 1:
            return one
        part = one.as_round(sharper=False)
        log_target = math.log(asked.delta)
        part = stated(part, log_target=log_target, rounds=asked.rounds)
        return compose([part], rounds=asked.rounds)

    # An account adds its own width to eps.
    most = asked.epsilon / (1.0 + rtol) * (1.0 - math.ulp(1.0))
    found = calibrate(**_question(option, account, most, asked), rtol=_APART, start=value)
    epsilon = found.account.upper_epsilon(delta=asked.delta) * (1.0 + rtol)
    value = _rounded(option, found.value)
    if epsilon > asked.epsilon:
        raise NotCertified(f"{option.label}: {option.parameter} = {value:g} misses the target")
    return Settled(value, option.build(value), epsilon, confirmed=True)


def _question(
    option: Option, account: Callable[[Source], Accountant], epsilon: float, asked: Asked
) -> dict[str, Any]:
    """What is asked. Values are evaluated as they will be written down."""
    return {
        "account": lambda value: account(option.build(_rounded(option, value))),
        "epsilon": epsilon,
        "delta": asked.delta,
        "find": option.find,
        "low": option.low,
        "high": option.high,
    }


def _rounded(option: Option, value: float) -> float:
    """To five digits, towards more privacy."""
    short = float(outward(value, up=option.find == "smallest", digits=_DIGITS))
    return min(max(short, option.low), option.high)


def accuracy(source: Source) -> float:
    """Relative width of eps that is worth the time."""
    if isinstance(source, MultiMessage):
        return FINE
    return COARSE if is_continuous(source) else FINE
