"""One mechanism's parameter for a target: solved for, rounded, and evaluated as it will be used."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from shuffledp._check import Trust
from shuffledp.accounts import shuffle
from shuffledp.bound import outward
from shuffledp.calibration import calibrate, meeting
from shuffledp.calibration.target import Target as Goal
from shuffledp.errors import NotCertified
from shuffledp.laws.pairs import is_continuous
from shuffledp.multimessage import MultiMessage
from shuffledp.planner.tasks import Option, Source
from shuffledp.rounds import compose, stated
from shuffledp.search import search

# Relative width of eps: continuous outputs take a hundred times as long.
FINE, COARSE = 1e-6, 1e-3
# A proposal is a number to write down. One that misses goes back by as much as it misses by, at
# most 0.4 % a time, 40 times: 15 % in all, far more than an account's width.
_DIGITS = 5
_TRIES = 40
_BACK = 4e-3
# How near, relatively, to a value that misses the target the search ends.
_APART = 1e-3
# Guess of what a certificate of rounds loses by its lattice of eps; what is proposed is evaluated
# as an account evaluates it.
_ROUND_LOSS = 2e-3


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
    hundredths of a second; many rounds, of which every value takes longer, are solved for to a per
    cent or two. ``confirm`` does the rest for the one that is best.

    Parameters
    ----------
    option : Option
        What is solved for.
    n : int
        Honest messages.
    target : Target
        What has to be met.
    start : float, optional
        Where to begin with one round: near the answer it saves time.

    Raises
    ------
    NotCertified
        If no value meets the target.
    """
    if target.rounds > 1:
        value = meeting(**_question(option, n, target))
    else:
        value = _by_wide_ends(option, n, target, start)
    value = _rounded(option, value)
    return Settled(value, option.build(value), target.epsilon)


def _by_wide_ends(option: Option, n: int, target: Target, start: float | None) -> float:
    goal = Goal.of(target.epsilon, target.delta, target.trust)
    private, open_end = option.ends

    def log_upper(value: float) -> float:
        return goal.estimate(goal.among(option.build(_rounded(option, value)), n))

    if log_upper(private) > goal.log_delta:
        raise NotCertified(f"misses the target even with {option.parameter} = {private:g}")
    found = search(
        log_upper,
        goal.log_delta,
        private=private,
        open_end=open_end,
        apart=_APART,
        start=start,
    )
    return private if found is None else found.value


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
    if target.rounds > 1:
        value = calibrate(**_question(option, n, target), rtol=1e-3, start=value).value
    return _with_margin(option, n, target, value)


def _with_margin(option: Option, n: int, target: Target, value: float) -> Settled:
    """The first value from here towards more privacy that has the margin of an account."""
    for _ in range(_TRIES):
        value = _rounded(option, value)
        source = option.build(value)
        epsilon = certified_epsilon(source, n, target)
        if epsilon <= target.epsilon:
            return Settled(value, source, epsilon, confirmed=True)
        # No farther back than it misses by, nearly.
        step = 1.0 + min(max(epsilon / target.epsilon - 1.0, 1e-4), _BACK)
        value = value * step if option.find == "smallest" else value / step
    raise NotCertified(f"{option.label}: {option.parameter} = {value:g} misses the target still")


def _rounded(option: Option, value: float) -> float:
    """To five digits, towards more privacy."""
    short = float(outward(value, up=option.find == "smallest", digits=_DIGITS))
    return min(max(short, option.low), option.high)


def _question(option: Option, n: int, target: Target) -> dict[str, Any]:
    """What is asked of rounds. Values are evaluated as they will be written down."""
    return {
        "family": lambda value: option.build(_rounded(option, value)),
        "n": n,
        "epsilon": target.epsilon * (1.0 - _ROUND_LOSS),
        "delta": target.delta,
        "rounds": target.rounds,
        "find": option.find,
        "low": option.low,
        "high": option.high,
        "trust": target.trust,
        # As an account composes rounds: from the curves that a verifier recomputes.
        "sharper": False,
    }


def certified_epsilon(source: Source, n: int, target: Target) -> float:
    """Upper end of eps after all rounds, with the margin of an account of a deployment."""
    rtol = accuracy(source)
    one = shuffle(source, n=n, rtol=rtol, trust=target.trust)
    if target.rounds > 1:
        log_target = math.log(target.delta)
        part = one.as_round(sharper=False)
        part = stated(part, log_target=log_target, rounds=target.rounds, lower=False)
        upper = compose([(part, target.rounds)]).epsilon(delta=target.delta).upper
    else:
        upper = one.upper_epsilon(delta=target.delta)
    return upper * (1.0 + rtol)


def accuracy(source: Source) -> float:
    """Relative width of eps that is worth the time."""
    if isinstance(source, MultiMessage):
        return FINE
    return COARSE if is_continuous(source) else FINE
