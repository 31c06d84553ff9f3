"""Solve for any one of eps0, noise, users or rounds, given the privacy target and the rest.

Every point that is returned was evaluated: the one that meets the target by its certified upper
end, and the next one, which does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from shuffledp import _check
from shuffledp.bound import outward
from shuffledp.errors import NotCertified, rejected
from shuffledp.randomizers import Randomizer
from shuffledp.shuffle import Shuffled, shuffle

Family = Callable[[float], Randomizer]
Upper = Callable[[float], float]
Find = Literal["largest", "smallest"]

_SMALLEST, _LARGEST = 1e-4, 300.0
_FIRST = 1.0
_STEPS = 200
# Steps of the search before there are two sides: the first one from a proposal is short.
_STRIDE, _NEAR = 3.0, 1.1
_ROUGH, _FINE = 1e-3, 1e-6


@dataclass(frozen=True)
class Calibration:
    """A value that meets the target, and the next one, which does not.

    Attributes
    ----------
    what : str
        What was solved for.
    value : float
        Meets the target by a certified upper end.
    log_delta : float
        log of that upper end of delta at the target's eps; at most log(delta).
    beyond : float or None
        The next value in the direction of less privacy, which was evaluated and whose certified
        upper end does not meet the target; None where the search range ends before.
    log_delta_beyond : float or None
        log of its upper end.
    epsilon, delta : float
        The target.
    n, rounds : int
        Users and rounds at ``value``.
    randomizer : Randomizer
        The mechanism at ``value``.
    """

    what: str
    value: float
    log_delta: float
    beyond: float | None
    log_delta_beyond: float | None
    epsilon: float
    delta: float
    n: int
    rounds: int
    randomizer: Randomizer

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form."""
        return {
            "what": self.what,
            "value": self.value,
            "log_delta": self.log_delta if math.isfinite(self.log_delta) else None,
            "beyond": self.beyond,
            "log_delta_beyond": self.log_delta_beyond,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "n": self.n,
            "rounds": self.rounds,
            "randomizer": self.randomizer.to_dict(),
        }

    def __str__(self) -> str:
        up = self.beyond is not None and self.beyond > self.value
        lines = [f"{self.what} = {outward(self.value, up=not up, digits=8)} meets the target"]
        lines[0] += f" eps = {self.epsilon:g}, delta = {self.delta:g}"
        if self.beyond is not None:
            lines.append(f"  {self.what} = {self.beyond:.8g} does not")
        return "\n".join(lines)


@dataclass(frozen=True)
class _Target:
    epsilon: float
    log_delta: float
    rtol: float
    trust: Literal["all", "published"]

    def log_upper(self, randomizer: Randomizer, n: int, rounds: int) -> float:
        """log of the certified upper end of delta."""
        return self.log_upper_of(shuffle(randomizer, n=n, rtol=self.rtol, trust=self.trust), rounds)

    def log_upper_of(self, one: Shuffled, rounds: int) -> float:
        """The same of a mechanism that is there already, in several rounds."""
        if rounds > 1:
            return one.compose(rounds=rounds).log_upper(
                self.epsilon, log_target=self.log_delta, coarse=self.rtol >= _ROUGH
            )
        return one.log_upper(self.epsilon)

    def met(self, log_upper: float) -> bool:
        return log_upper <= self.log_delta


def calibrate(
    family: Family,
    *,
    n: int,
    epsilon: float,
    delta: float,
    rounds: int = 1,
    find: Find = "largest",
    low: float = _SMALLEST,
    high: float = _LARGEST,
    rtol: float = 1e-6,
    start: float | None = None,
    trust: Literal["all", "published"] = "all",
) -> Calibration:
    """The largest (or smallest) parameter of a family that meets a central target.

    Parameters
    ----------
    family : callable
        Value -> randomizer, such as ``lambda e: KRR(k=10, eps0=e)``. Delta should rise with the
        value for find="largest" (eps0), fall with it for "smallest" (sigma); where it does not, the
        result is still a value that meets the target beside one that does not.
    n : int
        Users.
    epsilon, delta : float
        The target: eps in nats.
    rounds : int
        Rounds on the same users.
    find : {"largest", "smallest"}
        Which end of the values that meet the target.
    low, high : float
        Values to search, 0 < low < high.
    rtol : float
        How near ``beyond`` is to ``value``.
    start : float, optional
        Where to begin: near the answer it saves time, and changes nothing else.
    trust : {"all", "published"}
        Which theorems may be used.

    Returns
    -------
    Calibration

    Raises
    ------
    NotCertified
        If no value in the range meets the target; the message says what n would.
    """
    n, rounds = _check.count("n", n), _check.count("rounds", rounds, high=10**9)
    low = _check.positive("low", low)
    high = _check.positive("high", high)
    _check.choice("find", find, ("largest", "smallest"))
    if not low < high:
        raise rejected("high", high, f"a number above low = {low:g}")
    rtol = _check.real("rtol", rtol, low=1e-12, high=0.5)
    known: dict[float, float] = {}
    # From the private end of the range towards the other one.
    private, open_end = (low, high) if find == "largest" else (high, low)
    good = None if start is None else min(max(_check.positive("start", start), low), high)
    bad: float | None = None
    # Loose brackets come first: they find the place, tight ones then decide it.
    for accuracy in sorted({max(_ROUGH, rtol), rtol}, reverse=True):
        target = _target(epsilon, delta, accuracy, trust)
        known = {}

        def log_upper(value: float, target: _Target = target, seen: Any = known) -> float:
            if value not in seen:
                seen[value] = target.log_upper(family(value), n, rounds)
            return seen[value]

        good = _first_good(log_upper, target, good, private, open_end)
        if good is None and accuracy > rtol:
            # Loose numbers do not decide that there is nothing.
            good = private
            continue
        if good is None:
            raise _unreachable(family(private), target, n, rounds, find=find, end=private)
        # The last value before the good one, if the way to it began on the other side.
        bad = next((v for v in reversed(known) if not target.met(known[v])), bad)
        factor = _STRIDE if start is None else _NEAR
        bad = _first_bad(log_upper, target, good, bad, open_end, factor)
        if bad is None:
            good = open_end
        else:
            good = _last_good(known, target, bad)
            good, bad = _narrow(log_upper, target, good, bad, accuracy)
    if good is None:
        raise rejected("rtol", rtol, "a relative width")
    return Calibration(
        what="value",
        value=good,
        log_delta=known[good],
        beyond=bad,
        log_delta_beyond=None if bad is None else known[bad],
        epsilon=epsilon,
        delta=delta,
        n=n,
        rounds=rounds,
        randomizer=family(good),
    )


def required_users(
    randomizer: Randomizer,
    *,
    epsilon: float,
    delta: float,
    rounds: int = 1,
    most: int = _check.LARGEST_COUNT,
    trust: Literal["all", "published"] = "all",
) -> Calibration:
    """The smallest n that meets a target: n meets it, n - 1 does not (delta falls in n).

    Parameters
    ----------
    randomizer : Randomizer
        The mechanism.
    epsilon, delta : float
        The target.
    rounds : int
        Rounds on the same users.
    most : int
        Largest n to try.
    trust : {"all", "published"}
        Which theorems may be used.

    Raises
    ------
    NotCertified
        If even ``most`` users do not.
    """
    rounds = _check.count("rounds", rounds, high=10**9)
    most = _check.count("most", most)

    def uppers(accuracy: float) -> tuple[_Target, Callable[[int], float]]:
        target = _target(epsilon, delta, accuracy, trust)
        return target, lambda n: target.log_upper(randomizer, n, rounds)

    found, known = _first_whole(uppers, most, met=True)
    if found is None:
        msg = (
            f"n = {most:,}: {randomizer.name} does not meet eps = {epsilon:g}, delta = {delta:g}; "
            "wanted a larger target or more noise"
        )
        raise NotCertified(msg)
    before = found - 1 if found > 1 else None
    return Calibration(
        what="n",
        value=found,
        log_delta=known[found],
        beyond=before,
        log_delta_beyond=None if before is None else known[before],
        epsilon=epsilon,
        delta=delta,
        n=found,
        rounds=rounds,
        randomizer=randomizer,
    )


def most_rounds(
    randomizer: Randomizer,
    *,
    n: int,
    epsilon: float,
    delta: float,
    most: int = 10**6,
    trust: Literal["all", "published"] = "all",
) -> Calibration:
    """The largest number of rounds that meets a target: T rounds do, T + 1 do not.

    Parameters
    ----------
    randomizer : Randomizer
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

    def uppers(accuracy: float) -> tuple[_Target, Callable[[int], float]]:
        target = _target(epsilon, delta, accuracy, trust)
        one = shuffle(randomizer, n=n, rtol=accuracy, trust=trust)
        return target, lambda rounds: target.log_upper_of(one, rounds)

    first, known = _first_whole(uppers, most, met=False)
    if first == 1:
        target = _target(epsilon, delta, _FINE, trust)
        raise _unreachable(randomizer, target, n, 1, find="largest", end=None)
    rounds = most if first is None else first - 1
    return Calibration(
        what="rounds",
        value=rounds,
        log_delta=known[rounds],
        beyond=first,
        log_delta_beyond=None if first is None else known[first],
        epsilon=epsilon,
        delta=delta,
        n=n,
        rounds=rounds,
        randomizer=randomizer,
    )


def _target(epsilon: float, delta: float, rtol: float, trust: Any) -> _Target:
    log_delta = math.log(_check.open_unit("delta", delta))
    _check.choice("trust", trust, ("all", "published"))
    # log(delta) is rounded: a hair below it is surely below.
    slack = 1e-15 * (1.0 + abs(log_delta))
    return _Target(_check.epsilon("epsilon", epsilon), log_delta - slack, rtol, trust)


def _first_good(
    log_upper: Upper, target: _Target, start: float | None, private: float, open_end: float
) -> float | None:
    """A value that meets the target: the start (or 1) if it does, else towards the private end."""
    value = _FIRST if start is None else start
    value = min(max(value, min(private, open_end)), max(private, open_end))
    factor = _STRIDE if start is None else _NEAR
    for _ in range(_STEPS):
        if target.met(log_upper(value)):
            return value
        if value == private:
            return None
        value = _towards(value, private, factor)
        factor = min(factor * factor, _STRIDE)
    return None


def _first_bad(
    log_upper: Upper, target: _Target, good: float, bad: float | None, end: float, factor: float
) -> float | None:
    """A value beyond the good one that does not meet the target; None if all do."""
    if bad is not None and not target.met(log_upper(bad)):
        return bad
    value = good
    while value != end:
        value = _towards(value, end, factor)
        factor = min(factor * factor, _STRIDE)
        if not target.met(log_upper(value)):
            return value
    return None


def _last_good(known: dict[float, float], target: _Target, open_end: float) -> float:
    """The value nearest to the open end that was seen to meet the target."""
    met = (value for value, upper in known.items() if target.met(upper))
    return min(met, key=lambda value: abs(math.log(value / open_end)))


def _towards(value: float, end: float, factor: float) -> float:
    """A factor nearer to the end, or the end."""
    moved = value * factor if end > value else value / factor
    return min(moved, end) if end > value else max(moved, end)


def _narrow(
    log_upper: Upper, target: _Target, good: float, bad: float, rtol: float
) -> tuple[float, float]:
    """Close in: secant steps on log delta while they help, bisection otherwise."""
    for step in range(_STEPS):
        if abs(bad / good - 1.0) <= rtol:
            break
        middle = _proposal(log_upper, target, good, bad) if step % 3 else math.sqrt(good * bad)
        # Not nearer to either end than the width asked for.
        edge = 0.5 * rtol * good
        low, high = min(good, bad) + edge, max(good, bad) - edge
        middle = min(max(middle, low), high) if low < high else 0.5 * (good + bad)
        if middle in (good, bad):
            break
        if target.met(log_upper(middle)):
            good = middle
        else:
            bad = middle
    return good, bad


def _proposal(log_upper: Upper, target: _Target, good: float, bad: float) -> float:
    """Where the chord of sqrt(-log delta) over log value crosses the target, a little past it."""
    heights = [math.sqrt(-min(log_upper(v), 0.0)) for v in (good, bad)]
    goal = math.sqrt(-target.log_delta)
    if not (math.isfinite(heights[0]) and heights[0] > heights[1]):
        return math.sqrt(good * bad)
    share = (heights[0] - goal) / (heights[0] - heights[1])
    # Land on either side in turn: what is left is then mostly cut off.
    share += 0.02 * (0.5 - share)
    return math.exp(math.log(good) + min(max(share, 0.0), 1.0) * math.log(bad / good))


def _first_whole(
    uppers: Callable[[float], tuple[_Target, Callable[[int], float]]], most: int, *, met: bool
) -> tuple[int | None, dict[int, float]]:
    """The first whole number that meets the target (or misses it), and log delta where evaluated.

    Loose numbers find the place; tight ones decide it, and that there is none up to ``most``.
    """
    found: int | None = None
    known: dict[int, float] = {}
    for accuracy in (_ROUGH, _FINE):
        target, upper = uppers(accuracy)
        seen: dict[int, float] = {}

        def turned(
            k: int,
            target: _Target = target,
            upper: Callable[[int], float] = upper,
            seen: dict[int, float] = seen,
        ) -> bool:
            if k not in seen:
                seen[k] = upper(k)
            return target.met(seen[k]) is met

        start = most if found is None and accuracy < _ROUGH else found
        found, known = _smallest_whole(turned, most, start=start), seen
    return found, known


def _smallest_whole(
    good: Callable[[int], bool], most: int, *, start: int | None = None
) -> int | None:
    """Smallest whole number with the property, which has to stay once it is there."""
    low, high = 0, start or 1
    if start is None:
        while not good(high):
            if high == most:
                return None
            low, high = high, min(high * 4, most)
    else:
        low, high = _around(good, most, start)
        if low == most:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if good(middle) else (middle, high)
    if high > 1:
        good(high - 1)
    return high


def _around(good: Callable[[int], bool], most: int, start: int) -> tuple[int, int]:
    """(without, with) the property, not far from a start that is nearly right."""
    step = max(1, start // 500)
    if good(start):
        high, low = start, max(start - step, 0)
        while low > 0 and good(low):
            high, low, step = low, max(low - 4 * step, 0), 4 * step
        return low, high
    low, high = start, min(start + step, most)
    while high > low and not good(high):
        low, high, step = high, min(high + 4 * step, most), 4 * step
    return low, high


def _unreachable(
    randomizer: Randomizer, target: _Target, n: int, rounds: int, *, find: str, end: float | None
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
