"""One mechanism's parameter for a target: solved for, rounded, and evaluated as it will be used."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from shuffledp.bound import outward
from shuffledp.calibration import calibrate
from shuffledp.composition import compose, on_lattice
from shuffledp.errors import NotCertified
from shuffledp.multimessage import MultiMessage
from shuffledp.planner.tasks import Option, Source
from shuffledp.shuffle import shuffle

# Relative width of eps: continuous outputs take a hundred times as long.
FINE, COARSE = 1e-6, 1e-3
_DIGITS = 5
_TRIES = 40
_BACK = 4e-3
_ROUND_LOSS = 2e-3


@dataclass(frozen=True)
class Target:
    """eps and delta after some rounds, and which theorems may certify them."""

    epsilon: float
    delta: float
    rounds: int
    trust: Literal["all", "published"]


@dataclass(frozen=True)
class Settled:
    """A value that meets the target, its mechanism, and the certified eps."""

    value: float
    source: Source
    epsilon: float


def settle(
    option: Option, n: int, target: Target, *, start: float | None = None, coarse: bool = False
) -> Settled:
    """The most accurate value of an option, to five digits, that meets the target.

    Parameters
    ----------
    option : Option
        What is solved for.
    n : int
        Honest messages.
    target : Target
        What has to be met, with the margin that an account of a deployment adds.
    start : float, optional
        Where to begin.
    coarse : bool
        To a per cent, and without the last evaluation.

    Raises
    ------
    NotCertified
        If no value meets the target.
    """
    rounds = target.rounds
    if rounds > 1 and start is None:
        # One round of a smaller eps is a good place to begin.
        start = _solved(option, n, target, target.epsilon / math.sqrt(rounds), 1, None, 1e-2)
    loss = _ROUND_LOSS if rounds > 1 else 0.0
    goal = target.epsilon * (1.0 - loss)
    value = _solved(option, n, target, goal, rounds, start, 1e-2 if coarse else 1e-3)
    if coarse:
        return Settled(value, option.build(value), math.nan)
    up = option.find == "smallest"
    for _ in range(_TRIES):
        value = min(max(float(outward(value, up=up, digits=_DIGITS)), option.low), option.high)
        source = option.build(value)
        epsilon = certified_epsilon(source, n, target)
        if epsilon <= target.epsilon:
            return Settled(value, source, epsilon)
        # No farther back than it misses by, nearly.
        step = 1.0 + min(max(epsilon / target.epsilon - 1.0, 1e-4), _BACK)
        value = value * step if up else value / step
    raise NotCertified(f"{option.label}: {option.parameter} = {value:g} misses the target still")


def _solved(
    option: Option,
    n: int,
    target: Target,
    epsilon: float,
    rounds: int,
    start: float | None,
    rtol: float,
) -> float:
    return calibrate(
        option.build,  # type: ignore[arg-type]
        n=n,
        epsilon=epsilon,
        delta=target.delta,
        rounds=rounds,
        find=option.find,
        low=option.low,
        high=option.high,
        rtol=rtol,
        start=start,
        trust=target.trust,
    ).value


def certified_epsilon(source: Source, n: int, target: Target) -> float:
    """Upper end of eps after all rounds, with the margin of an account of a deployment."""
    rtol = accuracy(source)
    one = shuffle(source, n=n, rtol=rtol, trust=target.trust)
    if target.rounds > 1:
        log_target = math.log(target.delta)
        part = on_lattice(one.as_round(), log_target=log_target, rounds=target.rounds, lower=False)
        upper = compose([(part, target.rounds)]).epsilon(delta=target.delta).upper
    else:
        upper = one.upper_epsilon(delta=target.delta)
    return upper * (1.0 + rtol)


def accuracy(source: Source) -> float:
    """Relative width of eps that is worth the time."""
    if isinstance(source, MultiMessage):
        return FINE
    ((x0, x1), *_) = source.worst_pairs().pairs
    return FINE if source.law((x0, x1)).edges is None else COARSE
