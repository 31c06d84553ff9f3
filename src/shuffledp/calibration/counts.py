"""Solve for a number of users, of messages or of rounds, given the privacy target and the rest."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from shuffledp import _check
from shuffledp._check import Trust
from shuffledp.calibration.result import Calibration
from shuffledp.calibration.search import least_whole, search
from shuffledp.calibration.sums import required_reports
from shuffledp.calibration.target import Source, Target
from shuffledp.errors import NotCertified, rejected
from shuffledp.neighbours import Relation
from shuffledp.randomizers import Randomizer
from shuffledp.values.described import by_name
from shuffledp.views import VIEWS, AddedNoise, shuffle

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
    view: str = "messages",
    ones: int = 1,
    relation: Relation | str = "replace-one",
    added: AddedNoise | None = None,
) -> Calibration:
    """The smallest n that meets a target: n meets it, n - 1 does not (delta falls in n).

    Of sums, the smallest batch to a thousandth: n meets it, a number at most a thousandth less does
    not.

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
    view, ones, relation, added
        As for ``shuffle``: what the analyst sees, and of sums what is added up.

    Raises
    ------
    NotCertified
        If even ``most`` users do not.
    """
    rounds = _check.count("rounds", rounds, high=10**9)
    most = _check.count("most", most)
    if isinstance(randomizer, Randomizer) and view == "sums":
        if _check.trust(trust) != "all":
            msg = f"trust = {trust!r}: the bound of sums is proved in docs/theory-sums.md alone"
            raise NotCertified(msg)
        asked: dict[str, Any] = {"ones": ones, "relation": relation, "added": added}
        one = shuffle(randomizer, 1, view="sums", trust="all", **asked)
        return required_reports(one.compose(rounds=rounds), epsilon=epsilon, delta=delta, most=most)
    if _check.choice("view", view, VIEWS) == "sums":
        raise rejected("view", view, "messages, for anything but a randomizer")
    if ones != 1 or relation != "replace-one" or added is not None:
        raise rejected("view", view, '"sums", for ones, relation and added to mean something')
    target = Target.of(epsilon, delta, trust)
    least = least_whole(
        lambda n: target.log_upper(target.among(randomizer, n), rounds),
        target.log_delta,
        most,
        estimate=lambda n: target.estimate(target.among(randomizer, n), rounds),
        unknown=_USERS,
    )
    if least is None:
        msg = (
            f"n = {most:,}: {randomizer.name} does not meet eps = {epsilon:g}, delta = {delta:g}; "
            "wanted a larger target or more noise"
        )
        raise NotCertified(msg)
    return Calibration(
        what="n",
        **least._asdict(),
        epsilon=epsilon,
        delta=delta,
        n=int(least.value),
        rounds=rounds,
        randomizer=randomizer,
    )


def fewest(
    family: Callable[[int], Source],
    *,
    n: int,
    epsilon: float,
    delta: float,
    rounds: int = 1,
    most: int = _check.LARGEST_COUNT,
    trust: Trust = "all",
) -> Calibration:
    """The smallest whole parameter that meets a target, such as blanket messages of a user.

    Parameters
    ----------
    family : callable
        Whole number -> randomizer or protocol; delta has to fall with it.
    n, epsilon, delta, rounds, trust
        As for ``calibrate``.
    most : int
        Largest number to try.

    Raises
    ------
    NotCertified
        If even ``most`` do not.
    """
    n, rounds = _check.count("n", n), _check.count("rounds", rounds, high=10**9)
    target = Target.of(epsilon, delta, trust)
    least = least_whole(
        lambda k: target.log_upper(target.among(family(k), n), rounds),
        target.log_delta,
        most,
        estimate=lambda k: target.estimate(target.among(family(k), n), rounds),
    )
    if least is None:
        msg = (
            f"{family(most).name} even at {most:,} does not meet eps = {epsilon:g}, "
            f"delta = {delta:g} at n = {n:,}: wanted a larger target"
        )
        raise NotCertified(msg)
    return Calibration(
        what="value",
        **least._asdict(),
        epsilon=epsilon,
        delta=delta,
        n=n,
        rounds=rounds,
        randomizer=family(int(least.value)),
    )


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
    one = target.among(randomizer, n)
    found = search(
        lambda rounds: target.log_upper(one, int(rounds)),
        target.log_delta,
        private=1,
        open_end=most,
        apart=0.0,
        estimate=lambda rounds: target.estimate(one, int(rounds)),
        whole=True,
    )
    if found is None:
        raise unreachable(randomizer, target, n, 1, find="largest", end=None)
    return Calibration(
        what="rounds",
        **found._asdict(),
        epsilon=epsilon,
        delta=delta,
        n=n,
        rounds=int(found.value),
        randomizer=randomizer,
    )


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
