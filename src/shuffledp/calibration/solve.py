"""Solve for a parameter, eps0 or noise, given the privacy target and the rest.

Every point that is returned was evaluated: the one that meets the target by its certified upper
end, and the next one, which does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

from shuffledp import _check
from shuffledp._check import Trust
from shuffledp.calibration.counts import unreachable
from shuffledp.calibration.result import Calibration
from shuffledp.calibration.target import NEAR, Accounted, Source, Target, is_quick
from shuffledp.errors import NotCertified, ParameterError, rejected
from shuffledp.mechanism import Mechanism
from shuffledp.rounds import one_round_target
from shuffledp.search import first_good, search, towards
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
    whole: bool = False,
    rtol: float = 1e-6,
    start: float | None = None,
    trust: Trust = "all",
    sharper: bool = True,
    **setting: Any,
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
    whole : bool
        Whether values are whole numbers, such as blanket messages of a user: two in a row are near
        enough.
    rtol : float
        How near ``beyond`` is to the value at which delta meets the target, 1e-12 to 0.5, and at
        least 1e-3 of sums, declared shufflers and several users; it changes nothing else. Where an
        account's eps there ends above the target, by its own width, the result is a value a little
        inside at which eps meets it too, if there is one.
    start : float, optional
        Where to begin: near the answer it saves time, and changes nothing else.
    trust : {"all", "published"}
        Which theorems may be used.
    sharper : bool
        False: rounds by the curves alone that a certificate of rounds rests on, without label
        stealing.
    **setting
        As for ``shuffle``: view, ones, relation, added, shuffler, changed.

    Returns
    -------
    Calibration

    Raises
    ------
    NotCertified
        If no value in the range meets the target; the message says what n would.
    """
    # A class is callable, but wants its parameters by name.
    a_class = isinstance(family, type) and issubclass(family, Mechanism)
    if a_class or not callable(family):
        wanted = "a function of one number, such as lambda e: sd.KRR(k=10, eps0=e)"
        raise rejected("family", family, wanted)
    rtol = _check.real("rtol", rtol, low=1e-12, high=0.5)
    target = Target.of(epsilon, delta, trust, sharper=sharper)
    values = _Values.of(family, target, n, rounds, find, low, high, whole, setting)
    # An account answers alike whatever it was asked before: what it shares changes no number.
    account = lru_cache(maxsize=_KEPT)(values.account)
    quick = is_quick(setting)
    if start is None:
        start = values.proposed() if quick else None
    else:
        start = _check.positive("start", start)
    found = search(
        lambda value: target.log_upper(account(value)),
        target.log_delta,
        private=values.private,
        open_end=values.open_end,
        start=start,
        apart=0.0 if whole else rtol if quick else max(rtol, NEAR),
        whole=whole,
    )
    if found is None:
        raise values.unreachable()
    if quick and not whole:
        met = _met_by_epsilon(
            target, account, (found.value, found.log_delta), values.private, delta
        )
        found = found._replace(value=met[0], log_delta=met[1])
    if whole:
        found = found._replace(value=int(found.value))
    made = values.mechanism(found.value)
    return Calibration.of("value", found, target, delta, values.n, values.rounds, made)


def _met_by_epsilon(
    target: Target,
    account: Callable[[float], Accounted],
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
        over = account(value).upper_epsilon(delta=delta) - target.epsilon
        if over <= 0.0 and log_delta <= target.log_delta:
            return value, log_delta
        if value == private or not math.isfinite(over):
            break
        # eps changes at least in proportion, mostly.
        share *= 2.0
        missing = max(over / target.epsilon, _LEAST_INWARD)
        value = towards(value, private, 1.0 + min(share * missing, _LONGEST_INWARD))
        log_delta = target.log_upper(account(value))
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
    values = _Values.of(family, target, n, rounds, find, low, high, False, {})  # noqa: FBT003
    start, seen = values.proposed(), {}
    if start is not None:
        # Half a per cent to the safe side saves a second evaluation, mostly.
        start = towards(start, values.private, 1.0 + 0.5 * _PROPOSED)

    def met(value: float) -> bool:
        seen[value] = target.log_upper(values.account(value))
        return seen[value] <= target.log_delta

    good = first_good(met, seen, target.log_delta, start, values.private, values.open_end)
    if good is None:
        raise NotCertified(f"misses the target even at {values.private:g}, the end of the range")
    return good


@dataclass(frozen=True)
class _Values:
    """A family among n users in some rounds, from its private to its open end."""

    family: Family
    target: Target
    n: int
    rounds: int
    find: Find
    private: float
    open_end: float
    whole: bool
    setting: dict[str, Any]

    @classmethod
    def of(
        cls,
        family: Family,
        target: Target,
        n: int,
        rounds: int,
        find: Find,
        low: float,
        high: float,
        whole: bool,  # noqa: FBT001 (as the caller was given it)
        setting: dict[str, Any],
    ) -> _Values:
        """Checked ones."""
        n, rounds = _check.count("n", n), _check.count("rounds", rounds, high=10**9)
        low, high = _check.positive("low", low), _check.positive("high", high)
        _check.choice("find", find, ("largest", "smallest"))
        if not low < high:
            raise rejected("high", high, f"a number above low = {low:g}")
        ends = (low, high) if find == "largest" else (high, low)
        return cls(family, target, n, rounds, find, *ends, whole, setting)

    def mechanism(self, value: float) -> Source:
        """The one at a value."""
        return self.family(int(value) if self.whole else value)

    def account(self, value: float) -> Accounted:
        """Of all rounds."""
        return self.target.among(self.mechanism(value), self.n, self.rounds, **self.setting)

    def proposed(self) -> float | None:
        """A value to begin with, by estimates: of one round of a smaller target, then of all."""
        target = self.target
        epsilon, log_delta = one_round_target(target.epsilon, target.log_delta, self.rounds)
        # One round by the blanket: its labels' laws would take longer than all that follows.
        small = replace(target, epsilon=epsilon, log_delta=log_delta, sharper=False)
        try:
            start = self._estimated(small, None, 1)
            if start is None or self.rounds == 1:
                return start
            one: Any = small.among(self.mechanism(start), self.n)
            return (
                self._estimated(target, start, self.rounds)
                if one.as_round(sharper=False).slow
                else start
            )
        except (NotCertified, ParameterError):
            return None

    def _estimated(self, target: Target, start: float | None, rounds: int) -> float | None:
        found = search(
            lambda value: target.estimate(target.among(self.mechanism(value), self.n, rounds)),
            target.log_delta,
            private=self.private,
            open_end=self.open_end,
            start=start,
            apart=_PROPOSED,
            whole=self.whole,
        )
        return None if found is None else found.value

    def unreachable(self) -> NotCertified:
        """Why no value meets the target."""
        end = self.private
        made = self.mechanism(end)
        if is_quick(self.setting) and not self.whole:
            return unreachable(made, self.target, self.n, self.rounds, find=self.find, end=end)
        sums = "sums of " if self.setting.get("view") == "sums" else ""
        return NotCertified(
            f"value = {end:,g}: {sums}{made.name} {'do' if sums else 'does'} not meet eps = "
            f"{self.target.epsilon:g}, delta = {math.exp(self.target.log_delta):.3g} at "
            f"n = {self.n:,}; wanted a larger target or more users"
        )
