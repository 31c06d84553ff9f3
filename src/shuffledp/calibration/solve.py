"""Solve for a parameter, eps0 or noise, given the privacy target and the rest.

Every point that is returned was evaluated: the one that meets the target by its certified upper
end, and the next one, which does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from shuffledp import _check
from shuffledp._check import Trust
from shuffledp.amplification import Shuffled
from shuffledp.calibration.counts import unreachable
from shuffledp.calibration.result import Calibration
from shuffledp.calibration.search import first_good, search, towards
from shuffledp.calibration.target import Source, Target
from shuffledp.errors import NotCertified, ParameterError, rejected
from shuffledp.mechanism import Mechanism
from shuffledp.rounds import one_round_target
from shuffledp.values.described import by_name

Family = Callable[[float], Source]
Find = Literal["largest", "smallest"]

_SMALLEST, _LARGEST = 1e-4, 300.0
# Proposals are no nearer than that: a per cent is as near as estimates are.
_PROPOSED = 1e-2
# Steps inward: first by what is missing, each later one by twice as much of what still is. Where
# more is missing than an eps is wide, as for deltas below the smallest floats, delta decides alone.
_INWARD, _LONGEST_INWARD, _LEAST_INWARD = 8, 0.1, 1e-6
# Accounts that are kept, each of some megabytes: both sides of the target are among the last few.
_KEPT = 4


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
    trust: Trust = "all",
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
        How near ``beyond`` is to the value at which delta meets the target, 1e-12 to 0.5; it
        changes nothing else. Where an accountant's eps there ends above the target, by its own
        width, the result is a value a little inside at which eps meets it too, if there is one.
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
    # A class is callable, but wants its parameters by name.
    a_class = isinstance(family, type) and issubclass(family, Mechanism)
    if a_class or not callable(family):
        wanted = "a function of one number, such as lambda e: sd.KRR(k=10, eps0=e)"
        raise rejected("family", family, wanted)
    values = _Values(family, n, rounds, *_range(low, high, find))
    rtol = _check.real("rtol", rtol, low=1e-12, high=0.5)
    target = Target.of(epsilon, delta, trust, sharper=sharper)
    begin = values.proposed(target) if start is None else _check.positive("start", start)
    # An account answers alike whatever it was asked before: what it shares changes no number.
    account = lru_cache(maxsize=_KEPT)(lambda value: target.among(family(value), n))
    found = search(
        lambda value: target.log_upper(account(value), rounds),
        target.log_delta,
        private=values.private,
        open_end=values.open_end,
        start=begin,
        apart=rtol,
    )
    if found is None:
        end = values.private
        raise unreachable(family(end), target, n, rounds, find=find, end=end)
    good, log_delta = _met_by_epsilon(
        target, account, rounds, (found.value, found.log_delta), values.private, delta
    )
    return Calibration(
        what="value",
        value=good,
        log_delta=log_delta,
        beyond=found.beyond,
        log_delta_beyond=found.log_delta_beyond,
        epsilon=epsilon,
        delta=delta,
        n=n,
        rounds=rounds,
        randomizer=family(good),
    )


def _met_by_epsilon(
    target: Target,
    account: Callable[[float], Shuffled],
    rounds: int,
    good: tuple[float, float],
    private: float,
    delta: float,
) -> tuple[float, float]:
    """The value and its log delta, or one a little inside at which eps meets the target too.

    eps ends where its search ends, which may be beyond the target though delta meets it.
    """
    (value, log_delta), share = good, 0.5
    # At eps = 0 there is nothing to be relative to: delta alone decides.
    for _ in range(_INWARD if target.epsilon > 0.0 else 0):
        over = target.upper_epsilon(account(value), rounds, delta=delta) - target.epsilon
        if over <= 0.0 and log_delta <= target.log_delta:
            return value, log_delta
        if value == private or not math.isfinite(over):
            break
        # eps changes at least in proportion, mostly.
        share *= 2.0
        missing = max(over / target.epsilon, _LEAST_INWARD)
        value = towards(value, private, 1.0 + min(share * missing, _LONGEST_INWARD))
        log_delta = target.log_upper(account(value), rounds)
    return good


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
    trust: Trust = "all",
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
    target = Target.of(epsilon, delta, trust, sharper=sharper)
    values = _Values(family, n, rounds, *_range(low, high, find))
    start, seen = values.proposed(target), {}
    if start is not None:
        # Half a per cent to the safe side saves a second evaluation, mostly.
        start = towards(start, values.private, 1.0 + 0.5 * _PROPOSED)

    def met(value: float) -> bool:
        seen[value] = target.log_upper(target.among(family(value), n), rounds)
        return seen[value] <= target.log_delta

    good = first_good(met, seen, target.log_delta, start, values.private, values.open_end)
    if good is None:
        raise NotCertified(f"misses the target even at {values.private:g}, the end of the range")
    return good


def _range(low: float, high: float, find: Find) -> tuple[float, float]:
    """The private end of the range of values, and the other one."""
    low, high = _check.positive("low", low), _check.positive("high", high)
    _check.choice("find", find, ("largest", "smallest"))
    if not low < high:
        raise rejected("high", high, f"a number above low = {low:g}")
    return (low, high) if find == "largest" else (high, low)


@dataclass(frozen=True)
class _Values:
    """A family among n users in some rounds, from its private to its open end."""

    family: Family
    n: int
    rounds: int
    private: float
    open_end: float

    def proposed(self, target: Target) -> float | None:
        """A value to begin with, by estimates: of one round of a smaller target, then of all."""
        epsilon, log_delta = one_round_target(target.epsilon, target.log_delta, self.rounds)
        # One round by the blanket: its labels' laws would take longer than all that follows.
        small = replace(target, epsilon=epsilon, log_delta=log_delta, sharper=False)
        try:
            start = self._estimated(small, None, 1)
            if start is None or self.rounds == 1:
                return start
            if not target.among(self.family(start), self.n).as_round(sharper=False).slow:
                return start
            return self._estimated(target, start, self.rounds)
        except (NotCertified, ParameterError):
            return None

    def _estimated(self, target: Target, start: float | None, rounds: int) -> float | None:
        found = search(
            lambda value: target.estimate(target.among(self.family(value), self.n), rounds),
            target.log_delta,
            private=self.private,
            open_end=self.open_end,
            start=start,
            apart=_PROPOSED,
        )
        return None if found is None else found.value
