"""Solve for a parameter, eps0 or noise, given the privacy target and the rest.

Every point that is returned was evaluated: the one that meets the target by its certified upper
end, and the next one, which does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from shuffledp import _check
from shuffledp._check import Trust
from shuffledp.amplification import Shuffled
from shuffledp.calibration.counts import unreachable
from shuffledp.calibration.result import Calibration
from shuffledp.calibration.target import FINE, ROUGH, Source, Target, among, target_of
from shuffledp.calibration.values import chord_of, first_good, search, towards
from shuffledp.errors import NotCertified, ParameterError, rejected
from shuffledp.mechanism import Mechanism
from shuffledp.rounds import one_round_target
from shuffledp.values.described import by_name

Family = Callable[[float], Source]
Find = Literal["largest", "smallest"]

_SMALLEST, _LARGEST = 1e-4, 300.0
# Proposals are no more than that: a per cent is as near as estimates are.
_PROPOSED = 1e-2
# Steps inward: first by what is missing, each later one by twice as much of what still is. Where
# more is missing than an eps is wide, as for deltas below the smallest floats, delta decides alone.
_INWARD, _LONGEST_INWARD = 8, 0.1
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
    private, open_end = _range(low, high, find)
    low, high = min(private, open_end), max(private, open_end)
    rtol = _check.real("rtol", rtol, low=1e-12, high=0.5)
    if start is not None:
        start = _check.positive("start", start)
    elif rounds > 1:
        proposing = target_of(epsilon, delta, _PROPOSED, trust, sharper=sharper)
        start = _proposed(family, proposing, n, rounds, find, low, high)
    begin = None if start is None else min(max(start, low), high)
    # Loose ends of rounds are a few thousandths off: a per cent tells the slope as well.
    apart = _PROPOSED if rounds > 1 else max(ROUGH, rtol)
    # Loose brackets come first: they find the place, tight ones then decide it.
    loose = target_of(epsilon, delta, ROUGH, trust, sharper=sharper)
    begin, bad, slope = _place(
        _Evaluated(family, n, rounds, loose), begin, private, open_end, apart=apart
    )
    near = start is not None or slope > 0.0
    target = target_of(epsilon, delta, FINE, trust, sharper=sharper)
    fine = _Evaluated(family, n, rounds, target)
    good, bad = fine.search(begin, bad, private, open_end, near=near, apart=rtol, slope=slope)
    if good is None:
        raise unreachable(family(private), fine.target, n, rounds, find=find, end=private)
    good = _met_by_epsilon(fine, good, private, delta)
    return Calibration(
        what="value",
        value=good,
        log_delta=fine.known[good],
        beyond=bad,
        log_delta_beyond=None if bad is None else fine.known[bad],
        epsilon=epsilon,
        delta=delta,
        n=n,
        rounds=rounds,
        randomizer=family(good),
    )


def _place(
    values: _Evaluated, begin: float | None, private: float, open_end: float, *, apart: float
) -> tuple[float, float | None, float]:
    """Where tight numbers begin, a value that seems beyond the target, and the slope; 0 without."""
    near = begin is not None
    good, bad = values.search(begin, None, private, open_end, near=near, apart=apart)
    if good is None:
        # Loose numbers do not decide that there is nothing.
        return private, bad, 0.0
    chord = chord_of(values.known, values.target, good, bad)
    return (good, bad, 0.0) if chord is None else (chord.value, None, chord.slope)


class _Evaluated:
    """A family's values with their certified ends, each found once.

    The accounts of the values that were asked last stay: both questions share what one works out.
    An account answers alike whatever it was asked before, so that this changes no number.
    """

    def __init__(self, family: Family, n: int, rounds: int, target: Target) -> None:
        self._family, self._n, self._rounds, self.target = family, n, rounds, target
        self._accounts: dict[float, Shuffled] = {}
        self.known: dict[float, float] = {}

    def log_upper(self, value: float) -> float:
        """log delta at the target's eps."""
        if value not in self.known:
            at = self._at(value)
            self.known[value] = self.target.log_upper(at, self._n, self._rounds)
        return self.known[value]

    def upper_epsilon(self, value: float, delta: float) -> float:
        """eps at this delta."""
        return self.target.upper_epsilon(self._at(value), self._n, self._rounds, delta=delta)

    def search(
        self,
        start: float | None,
        bad: float | None,
        private: float,
        open_end: float,
        *,
        near: bool,
        apart: float,
        slope: float = 0.0,
    ) -> tuple[float | None, float | None]:
        """A value that meets the target and the next one, which does not."""
        return search(
            self.log_upper,
            self.target,
            self.known,
            start,
            bad,
            private,
            open_end,
            near=near,
            slope=slope,
            apart=apart,
        )

    def _at(self, value: float) -> Shuffled:
        if value not in self._accounts:
            if len(self._accounts) >= _KEPT:
                self._accounts.pop(next(iter(self._accounts)))
            made = among(self._family(value), self._n, self.target.rtol, self.target.trust)
            self._accounts[value] = made
        return self._accounts[value]


def _met_by_epsilon(values: _Evaluated, good: float, private: float, delta: float) -> float:
    """The value, or one a little inside, at which eps at the target's delta meets it too.

    eps ends where its search ends, which may be beyond the target though delta meets it.
    """
    value, share, target = good, 0.5, values.target
    # At eps = 0 there is nothing to be relative to: delta alone decides.
    for _ in range(_INWARD if target.epsilon > 0.0 else 0):
        over = values.upper_epsilon(value, delta) - target.epsilon
        if over <= 0.0 and target.met(values.log_upper(value)):
            return value
        if value == private or not math.isfinite(over):
            break
        # eps changes at least in proportion, mostly.
        share *= 2.0
        missing = max(over / target.epsilon, target.rtol)
        value = towards(value, private, 1.0 + min(share * missing, _LONGEST_INWARD))
    return good


def _range(low: float, high: float, find: Find) -> tuple[float, float]:
    """The private end of the range of values, and the other one."""
    low, high = _check.positive("low", low), _check.positive("high", high)
    _check.choice("find", find, ("largest", "smallest"))
    if not low < high:
        raise rejected("high", high, f"a number above low = {low:g}")
    return (low, high) if find == "largest" else (high, low)


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
    target = target_of(epsilon, delta, ROUGH, trust, sharper=sharper)
    private, open_end = (low, high) if find == "largest" else (high, low)
    start = _proposed(family, target, n, rounds, find, low, high)
    if start is not None:
        # Half a per cent to the safe side saves a second evaluation, mostly.
        start = towards(start, private, 1.0 + 0.5 * _PROPOSED)

    def log_upper(value: float) -> float:
        return target.log_upper(family(value), n, rounds)

    near = start is not None
    good = first_good(log_upper, target, start, private, open_end, near=near)
    if good is None:
        raise unreachable(family(private), target, n, rounds, find=find, end=private)
    return good


def _proposed(
    family: Family,
    target: Target,
    n: int,
    rounds: int,
    find: Find,
    low: float,
    high: float,
) -> float | None:
    """A value to begin with, by estimates: of one round of a smaller target, then of all rounds."""
    epsilon, log_delta = one_round_target(target.epsilon, target.log_delta, rounds)
    # One round by the blanket: its labels' laws would take longer than all that follows.
    small = replace(target, epsilon=epsilon, log_delta=log_delta, sharper=False)
    private, open_end = (low, high) if find == "largest" else (high, low)

    def found(target: Target, start: float | None, times: int) -> float | None:
        known: dict[float, float] = {}

        def log_estimate(value: float) -> float:
            if value not in known:
                known[value] = target.estimate(family(value), n, times)
            return known[value]

        near = start is not None
        good, _ = search(log_estimate, target, known, start, None, private, open_end, near=near)
        return good

    try:
        start = found(small, None, 1)
        if start is None:
            return None
        one = among(family(start), n, target.rtol, target.trust)
        if not target.round_of(one).slow:
            return start
        good = found(target, start, rounds)
    except (NotCertified, ParameterError):
        return None
    return start if good is None else good
