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
from shuffledp.composition import STEPS, compose, estimated, one_round_target
from shuffledp.described import ByContent, by_name
from shuffledp.errors import NotCertified, ParameterError, rejected
from shuffledp.multimessage import MultiMessage
from shuffledp.randomizers import Randomizer
from shuffledp.shuffle import Shuffled, generic, shuffle
from shuffledp.sides import Family as AnyLocal

Source = Randomizer | MultiMessage | AnyLocal
Family = Callable[[float], Source]
Upper = Callable[[float], float]
Find = Literal["largest", "smallest"]

_SMALLEST, _LARGEST = 1e-4, 300.0
_FIRST = 1.0
_STEPS = 200
# Steps of the search before there are two sides: the first one from a proposal is short, and never
# longer than the bracket in which a chord says where the target is.
_STRIDE, _NEAR, _WIDE = 3.0, 1.1, 1.5
_ROUGH, _FINE = 1e-3, 1e-6
# Proposals are no more than that: a per cent is as near as estimates are.
_PROPOSED = 1e-2


@dataclass(frozen=True, eq=False, repr=False)
class Calibration(ByContent):
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
    randomizer : Randomizer, MultiMessage or AnyLocal
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
    randomizer: Source

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
        lines = [f"{self.what} = {_digits(self.value)} meets the target"]
        lines[0] += f" eps = {_digits(self.epsilon)}, delta = {_digits(self.delta)}"
        if self.rounds > 1 and self.what != "rounds":
            lines[0] += f" after {self.rounds:,} rounds"
        if self.beyond is not None:
            lines.append(f"{self.what} = {_digits(self.beyond)} does not")
        return "\n".join(lines)


def _digits(value: float) -> str:
    """Every digit: what is read off and typed in again has to be what was certified."""
    return str(value) if isinstance(value, int) else repr(float(value))


def _among(source: Source, n: int, rtol: float, trust: Literal["all", "published"]) -> Shuffled:
    """The source among n users, whatever kind it is."""
    if isinstance(source, AnyLocal):
        return generic(eps0=source.eps0, n=n, adaptive=source.adaptive, rtol=rtol, trust=trust)
    return shuffle(source, n=n, rtol=rtol, trust=trust)


@dataclass(frozen=True)
class _Target:
    epsilon: float
    log_delta: float
    rtol: float
    trust: Literal["all", "published"]
    sharper: bool = True

    def log_upper(self, randomizer: Source, n: int, rounds: int) -> float:
        """log of the certified upper end of delta."""
        return self.log_upper_of(_among(randomizer, n, self.rtol, self.trust), rounds)

    def log_upper_of(self, one: Shuffled, rounds: int) -> float:
        """The same of a mechanism that is there already, in several rounds."""
        if rounds > 1:
            return compose([one.as_round(sharper=self.sharper)], rounds=rounds).log_upper(
                self.epsilon, log_target=self.log_delta, coarse=self.rtol >= _ROUGH
            )
        return one.log_upper(self.epsilon)

    def estimate(self, randomizer: Source, n: int, rounds: int) -> float:
        """About the same, certified by nothing."""
        one = _among(randomizer, n, self.rtol, self.trust)
        part = estimated(one.as_round(sharper=self.sharper))
        made = compose([(part, rounds)])
        return made.log_upper(self.epsilon, log_target=self.log_delta, coarse=True)

    def met(self, log_upper: float) -> bool:
        return log_upper <= self.log_delta


@by_name
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
    sharper: bool = True,
) -> Calibration:
    """The largest (or smallest) parameter of a family that meets a central target.

    Parameters
    ----------
    family : callable
        Value -> randomizer or protocol, such as ``lambda e: KRR(k=10, eps0=e)``. Delta should rise
        with the value for find="largest" (eps0), fall with it for "smallest" (sigma); where it does
        not, the result is still a value that meets the target beside one that does not.
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
    sharper : bool
        False: rounds by the curves alone that a certificate of rounds rests on, without label
        stealing.

    Returns
    -------
    Calibration

    Raises
    ------
    NotCertified
        If no value in the range meets the target; the message says what n would.
    """
    n, rounds = _check.count("n", n), _check.count("rounds", rounds, high=10**9)
    if not callable(family):
        raise rejected("family", family, "a function from a value to a randomizer")
    low = _check.positive("low", low)
    high = _check.positive("high", high)
    _check.choice("find", find, ("largest", "smallest"))
    if not low < high:
        raise rejected("high", high, f"a number above low = {low:g}")
    rtol = _check.real("rtol", rtol, low=1e-12, high=0.5)
    known: dict[float, float] = {}
    # From the private end of the range towards the other one.
    private, open_end = (low, high) if find == "largest" else (high, low)
    if start is None and rounds > 1:
        start = _proposed(
            family,
            _target(epsilon, delta, _PROPOSED, trust, sharper=sharper),
            n,
            rounds,
            find,
            low,
            high,
        )
    good = None if start is None else min(max(_check.positive("start", start), low), high)
    bad: float | None = None
    # Loose brackets come first: they find the place, tight ones then decide it.
    for accuracy in sorted({max(_ROUGH, rtol), rtol}, reverse=True):
        target = _target(epsilon, delta, accuracy, trust, sharper=sharper)
        known = {}

        def log_upper(value: float, target: _Target = target, seen: Any = known) -> float:
            if value not in seen:
                seen[value] = target.log_upper(family(value), n, rounds)
            return seen[value]

        good, bad = _search(
            log_upper, target, known, good, bad, private, open_end, near=start is not None
        )
        if good is None and accuracy > rtol:
            # Loose numbers do not decide that there is nothing.
            good = private
        elif good is None:
            raise _unreachable(family(private), target, n, rounds, find=find, end=private)
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


def meeting(
    family: Family,
    *,
    n: int,
    epsilon: float,
    delta: float,
    rounds: int = 1,
    find: Find = "largest",
    low: float = _SMALLEST,
    high: float = _LARGEST,
    trust: Literal["all", "published"] = "all",
    sharper: bool = True,
) -> float:
    """A value that meets a target by its certified upper end, near the last one that does.

    How near, the estimates decide: a per cent or two. It takes one certified evaluation where they
    are good; ``calibrate``, which decides by certified ends alone, takes several.

    Parameters
    ----------
    family, n, epsilon, delta, rounds, find, low, high, trust, sharper
        As for ``calibrate``.

    Raises
    ------
    NotCertified
        If no value in the range meets the target.
    """
    target = _target(epsilon, delta, _ROUGH, trust, sharper=sharper)
    private, open_end = (low, high) if find == "largest" else (high, low)
    start = _proposed(family, target, n, rounds, find, low, high)
    if start is not None:
        # Half a per cent to the safe side saves a second evaluation, mostly.
        start = _towards(start, private, 1.0 + 0.5 * _PROPOSED)

    def log_upper(value: float) -> float:
        return target.log_upper(family(value), n, rounds)

    near = start is not None
    good = _first_good(log_upper, target, start, private, open_end, near=near)
    if good is None:
        raise _unreachable(family(private), target, n, rounds, find=find, end=private)
    return good


@by_name
def required_users(
    randomizer: Source,
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


def fewest(
    family: Callable[[int], Source],
    *,
    n: int,
    epsilon: float,
    delta: float,
    rounds: int = 1,
    most: int = _check.LARGEST_COUNT,
    trust: Literal["all", "published"] = "all",
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

    def uppers(accuracy: float) -> tuple[_Target, Callable[[int], float]]:
        target = _target(epsilon, delta, accuracy, trust)
        return target, lambda count: target.log_upper(family(count), n, rounds)

    found, known = _first_whole(uppers, most, met=True)
    if found is None:
        msg = (
            f"{family(most).name} even at {most:,} does not meet eps = {epsilon:g}, "
            f"delta = {delta:g} at n = {n:,}: wanted a larger target"
        )
        raise NotCertified(msg)
    before = found - 1 if found > 1 else None
    return Calibration(
        what="value",
        value=found,
        log_delta=known[found],
        beyond=before,
        log_delta_beyond=None if before is None else known[before],
        epsilon=epsilon,
        delta=delta,
        n=n,
        rounds=rounds,
        randomizer=family(found),
    )


@by_name
def most_rounds(
    randomizer: Source,
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

    def uppers(accuracy: float) -> tuple[_Target, Callable[[int], float]]:
        target = _target(epsilon, delta, accuracy, trust)
        one = _among(randomizer, n, accuracy, trust)
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


def _target(
    epsilon: float, delta: float, rtol: float, trust: Any, *, sharper: bool = True
) -> _Target:
    log_delta = math.log(_check.open_unit("delta", delta))
    _check.choice("trust", trust, ("all", "published"))
    # log(delta) is rounded: a hair below it is surely below.
    slack = 1e-15 * (1.0 + abs(log_delta))
    return _Target(_check.epsilon("epsilon", epsilon), log_delta - slack, rtol, trust, sharper)


def _search(
    log_upper: Upper,
    target: _Target,
    known: dict[float, float],
    start: float | None,
    bad: float | None,
    private: float,
    open_end: float,
    *,
    near: bool,
) -> tuple[float | None, float | None]:
    """A value that meets the target and the next one, which does not; None where there is none.

    ``known`` is what ``log_upper`` has evaluated; ``near`` says that the start is nearly right.
    """
    good = _first_good(log_upper, target, start, private, open_end, near=near)
    if good is None:
        return None, bad
    # The last value before the good one, if the way to it began on the other side.
    bad = next((v for v in reversed(known) if not target.met(known[v])), bad)
    factor = _nearness(target, known[good]) if near else _STRIDE
    bad = _first_bad(log_upper, target, good, bad, open_end, factor)
    if bad is None:
        return open_end, None
    return _narrow(log_upper, target, _last_good(known, target, bad), bad, target.rtol)


def _first_good(
    log_upper: Upper,
    target: _Target,
    start: float | None,
    private: float,
    open_end: float,
    *,
    near: bool,
) -> float | None:
    """A value that meets the target: the start (or 1) if it does, else towards the private end."""
    value = _FIRST if start is None else start
    value = min(max(value, min(private, open_end)), max(private, open_end))
    factor = _STRIDE
    for _ in range(_STEPS):
        upper = log_upper(value)
        if target.met(upper):
            return value
        if value == private:
            return None
        if near and factor == _STRIDE:
            factor = _nearness(target, upper)
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


def _nearness(target: _Target, log_upper: float) -> float:
    """How far the first step from a proposal goes: a little farther than it is off.

    sqrt(-log delta) is about proportional to sigma, and to e^(-eps0/2) or a steeper power.
    """
    if not -math.inf < log_upper < 0.0:
        return _NEAR
    off = abs(math.sqrt(log_upper / target.log_delta) - 1.0)
    return min(_WIDE, 1.0 + 2.0 * max(off, target.rtol))


def _proposed(
    family: Family,
    target: _Target,
    n: int,
    rounds: int,
    find: Find,
    low: float,
    high: float,
) -> float | None:
    """A value to begin with: by one round of a smaller target, then by estimates of all rounds."""
    epsilon, log_delta = one_round_target(target.epsilon, target.log_delta, rounds)
    try:
        start = calibrate(
            family,
            n=n,
            epsilon=epsilon,
            delta=math.exp(log_delta),
            find=find,
            low=low,
            high=high,
            rtol=_PROPOSED,
            trust=target.trust,
        ).value
        if _among(family(start), n, target.rtol, target.trust).as_round().steps == STEPS:
            return start
        private, open_end = (low, high) if find == "largest" else (high, low)
        known: dict[float, float] = {}

        def log_estimate(value: float) -> float:
            if value not in known:
                known[value] = target.estimate(family(value), n, rounds)
            return known[value]

        good, _ = _search(log_estimate, target, known, start, None, private, open_end, near=True)
    except (NotCertified, ParameterError):
        return None
    return start if good is None else good


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
    # Where the two are far apart the chord says little: every third step from the first one halves.
    halving = 0 if abs(math.log(bad / good)) > math.log(_WIDE) else 2
    for step in range(_STEPS):
        if abs(bad / good - 1.0) <= rtol:
            break
        middle = (
            math.sqrt(good * bad)
            if step % 3 == halving
            else _proposal(log_upper, target, good, bad)
        )
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
    randomizer: Source, target: _Target, n: int, rounds: int, *, find: str, end: float | None
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
