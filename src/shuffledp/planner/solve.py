"""One mechanism's parameter for a target: solved for, rounded, and evaluated as it will be used."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from shuffledp._check import Trust
from shuffledp.accounts import shuffle
from shuffledp.bound import outward
from shuffledp.calibration import calibrate, meeting
from shuffledp.curves import Accountant
from shuffledp.errors import NotCertified
from shuffledp.laws.pairs import is_continuous
from shuffledp.multimessage import MultiMessage
from shuffledp.planner.tasks import Option, Source
from shuffledp.rounds import compose, stated

# Relative width of eps: continuous outputs take a hundred times as long.
FINE, COARSE = 1e-6, 1e-3
# What is enough to sort mechanisms of one round by: an end so wide is certified too.
_WIDE = 1e-2
# A value is a number to write down.
_DIGITS = 5
# How near, relatively, to a value that misses the target a search ends; and estimates of one round,
# and of many rounds, of which every value takes longer.
_APART, _NEAR, _NEAR_OF_ROUNDS = 1e-3, 1e-4, 1e-2


@dataclass(frozen=True)
class Target:
    """eps and delta after some rounds, and which theorems may certify them."""

    epsilon: float
    delta: float
    rounds: int
    trust: Trust


@dataclass(frozen=True)
class Settled:
    """A value that meets the target, its mechanism, and the certified eps.

    ``confirmed``: with the margin that an account of a deployment adds, and by its way.
    """

    value: float
    source: Source
    epsilon: float
    confirmed: bool = False


def settle(option: Option, n: int, target: Target, *, start: float | None = None) -> Settled:
    """About the most accurate value of an option that meets the target, to five digits.

    One round is bounded by wide certified ends, which are near the sharp ones and cost a few
    hundredths of a second. ``confirm`` does the rest for the one that is best.

    Parameters
    ----------
    option : Option
        What is solved for.
    n : int
        Honest messages.
    target : Target
        What has to be met.
    start : float, optional
        Where to begin: near the answer it saves time.

    Raises
    ------
    NotCertified
        If no value meets the target.
    """

    def account(source: Source) -> Accountant:
        if target.rounds == 1:
            return shuffle(source, n=n, rtol=_WIDE, trust=target.trust)
        one = shuffle(source, n=n, trust=target.trust)
        # As an account composes rounds: from the curves that a verifier recomputes.
        return compose([one.as_round(sharper=False)], rounds=target.rounds)

    near = _NEAR if target.rounds == 1 else _NEAR_OF_ROUNDS
    value = meeting(**_question(option, account, target.epsilon, target), near=near, start=start)
    value = _rounded(option, value)
    return Settled(value, option.build(value), target.epsilon)


def confirm(option: Option, n: int, target: Target, value: float) -> Settled:
    """The most accurate value with the margin that an account of a deployment adds.

    Parameters
    ----------
    option : Option
        What is solved for.
    n : int
        Honest messages.
    target : Target
        What has to be met.
    value : float
        Where to begin: what ``settle`` found.

    Raises
    ------
    NotCertified
        If no value meets the target.
    """
    rtol = accuracy(option.build(value))

    def account(source: Source) -> Accountant:
        one = shuffle(source, n=n, rtol=rtol, trust=target.trust)
        if target.rounds == 1:
            return one
        part = one.as_round(sharper=False)
        log_target = math.log(target.delta)
        part = stated(part, log_target=log_target, rounds=target.rounds, lower=False)
        return compose([part], rounds=target.rounds)

    # An account adds its own width to eps.
    most = target.epsilon / (1.0 + rtol) * (1.0 - math.ulp(1.0))
    found = calibrate(**_question(option, account, most, target), rtol=_APART, start=value)
    epsilon = found.account.upper_epsilon(delta=target.delta) * (1.0 + rtol)
    value = _rounded(option, found.value)
    if epsilon > target.epsilon:
        raise NotCertified(f"{option.label}: {option.parameter} = {value:g} misses the target")
    return Settled(value, option.build(value), epsilon, confirmed=True)


def _question(
    option: Option, account: Callable[[Source], Accountant], epsilon: float, target: Target
) -> dict[str, Any]:
    """What is asked. Values are evaluated as they will be written down."""
    return {
        "account": lambda value: account(option.build(_rounded(option, value))),
        "epsilon": epsilon,
        "delta": target.delta,
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
