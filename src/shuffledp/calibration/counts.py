"""Solve for a number of users or of rounds, given the privacy target and the rest."""

from __future__ import annotations

import math
from typing import Any

from shuffledp import _check
from shuffledp._check import Trust
from shuffledp.calibration.result import Calibration
from shuffledp.calibration.target import NEAR, Accounted, Source, Target, is_quick
from shuffledp.errors import NotCertified
from shuffledp.search import search
from shuffledp.values.described import by_name

# Where a search for users begins: fewer take longer.
_USERS = 10_000


@by_name
def required_users(
    randomizer: Source,
    *,
    epsilon: float,
    delta: float,
    rounds: int = 1,
    most: int = _check.LARGEST_COUNT,
    trust: Trust = "all",
    **setting: Any,
) -> Calibration:
    """The smallest n that meets a target: n meets it, n - 1 does not (delta falls in n).

    Of sums, declared shufflers and several users to a thousandth: n meets it, a number at most a
    thousandth less does not.

    Parameters
    ----------
    randomizer : Randomizer, MultiMessage or AnyLocal
        The mechanism.
    epsilon, delta : float
        The target.
    rounds : int
        Rounds on the same users.
    most : int
        Largest n to try.
    trust : {"all", "published"}
        Which theorems may be used.
    **setting
        As for ``shuffle``: view, ones, relation, added, shuffler, changed.

    Raises
    ------
    NotCertified
        If even ``most`` users do not.
    """
    rounds = _check.count("rounds", rounds, high=10**9)
    most = _check.count("most", most)
    target = Target.of(epsilon, delta, trust)

    def account(n: float) -> Accounted:
        return target.among(randomizer, int(n), rounds, **setting)

    quick = is_quick(setting)
    fewest = max(setting.get("changed", 1), getattr(setting.get("shuffler"), "shards", 1))
    found = search(
        lambda n: target.log_upper(account(n)),
        target.log_delta,
        private=most,
        open_end=min(fewest, most),
        apart=0.0 if quick else NEAR,
        estimate=(lambda n: target.estimate(account(n))) if quick else None,
        unknown=fewest if setting.get("view") == "sums" else max(_USERS, fewest),
        whole=True,
    )
    if found is None:
        sums = "sums of " if setting.get("view") == "sums" else ""
        msg = (
            f"n = {most:,}: {sums}{randomizer.name} {'do' if sums else 'does'} not meet "
            f"eps = {epsilon:g}, delta = {delta:g}; wanted a larger target or more noise"
        )
        raise NotCertified(msg)
    n = int(found.value)
    return Calibration.of("n", found._replace(value=n), target, delta, n, rounds, randomizer)


@by_name
def most_rounds(
    randomizer: Source,
    *,
    n: int,
    epsilon: float,
    delta: float,
    most: int = 10**6,
    trust: Trust = "all",
) -> Calibration:
    """The largest number of rounds that meets a target: T rounds do, T + 1 do not.

    Parameters
    ----------
    randomizer : Randomizer, MultiMessage or AnyLocal
        The mechanism of every round.
    n : int
        Users, the same in every round.
    epsilon, delta : float
        The target.
    most : int
        Largest number of rounds to try.
    trust : {"all", "published"}
        Which theorems may be used.

    Raises
    ------
    NotCertified
        If one round is too many.
    """
    n, most = _check.count("n", n), _check.count("most", most, high=10**9)
    target = Target.of(epsilon, delta, trust)
    one: Any = target.among(randomizer, n)
    found = search(
        lambda rounds: target.log_upper(target.again(one, int(rounds))),
        target.log_delta,
        private=1,
        open_end=most,
        apart=0.0,
        estimate=lambda rounds: target.estimate(target.again(one, int(rounds))),
        whole=True,
    )
    if found is None:
        raise unreachable(randomizer, target, n, 1, find="largest", end=None)
    rounds = int(found.value)
    return Calibration.of("rounds", found, target, delta, n, rounds, randomizer)


def unreachable(
    randomizer: Source, target: Target, n: int, rounds: int, *, find: str, end: float | None
) -> NotCertified:
    """Why there is no such value, and how many users would do."""
    where = f"at n = {n:,}" + (f" in {rounds:,} rounds" if rounds > 1 else "")
    value = "" if end is None else f" even at {end:g}, the {'low' if find == 'largest' else 'high'}"
    value += "" if end is None else " end of the range,"
    delta = math.exp(target.log_delta)
    words = f"{randomizer.name}{value} does not meet eps = {target.epsilon:g}, delta = {delta:.3g}"
    try:
        enough = required_users(
            randomizer, epsilon=target.epsilon, delta=delta, rounds=rounds, trust=target.trust
        )
    except NotCertified:
        return NotCertified(f"{words} {where}, nor at any n: wanted a larger eps or delta")
    return NotCertified(f"{words} {where}; it would with n = {int(enough.value):,} users")
