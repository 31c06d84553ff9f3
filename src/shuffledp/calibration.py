"""Solve for one number of a setting, given the privacy target: a search over accounts.

delta is monotone in the number. Every value that is returned was evaluated: the one that meets the
target by its certified upper end, and the next one, which does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

from shuffledp import _check
from shuffledp.curves import Accountant
from shuffledp.errors import NotCertified, ParameterError, rejected
from shuffledp.search import Crossing, search, towards
from shuffledp.values.described import ByContent, by_name

Find = Literal["largest", "smallest"]

_SMALLEST, _LARGEST = 1e-4, 300.0
# Where an evaluation takes seconds, the value that is given and the one beyond it are so near.
_NEAR = 1e-3
# Where a search for the smallest whole number begins: bounds of fewer users take longer.
_WHOLE = 10_000
# Steps inward: first by what is missing, each later one by twice as much of what still is. Where
# more is missing than an eps is wide, as for deltas below the smallest floats, delta decides alone.
_INWARD, _LONGEST_INWARD, _LEAST_INWARD = 8, 0.1, 1e-6
# What the account of a deployment file adds to eps, relatively: its default rtol, and rounding.
_MARGIN = 1e-6 * (1.0 + 1e-6)
# Accounts that are kept, each of some megabytes: both sides of the target are among the last few.
_KEPT = 4


@dataclass(frozen=True, eq=False, repr=False)
class Calibration(ByContent):
    """A value that meets the target, and the next one, which does not.

    Attributes
    ----------
    what : str
        What was solved for.
    value : float
        Meets the target by certified upper ends: delta's, and eps' with the margin that the account
        of a deployment file adds.
    log_delta : float
        log of that upper end of delta at the target's eps; at most log(delta).
    beyond : float or None
        The next value in the direction of less privacy, which was evaluated and whose certified
        upper end does not meet the target; None where the search range ends before. Of one round
        by analyses that take less than a second: slower ones may say a little less of it.
    log_delta_beyond : float or None
        log of its upper end.
    epsilon, delta : float
        The target.
    account : Account, Composed or SGD
        The account at ``value``.
    """

    what: str
    value: float
    log_delta: float
    beyond: float | None
    log_delta_beyond: float | None
    epsilon: float
    delta: float
    account: Any

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form."""
        source = getattr(self.account, "source", None)
        return {
            "what": self.what,
            "value": self.value,
            "log_delta": self.log_delta if math.isfinite(self.log_delta) else None,
            "beyond": self.beyond,
            "log_delta_beyond": self.log_delta_beyond,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "n": getattr(self.account, "n", None),
            "rounds": getattr(self.account, "rounds", None),
            "randomizer": None if source is None else source.to_dict(),
        }

    def __str__(self) -> str:
        lines = [f"{self.what} = {_digits(self.value)} meets the target"]
        lines[0] += f" eps = {_digits(self.epsilon)}, delta = {_digits(self.delta)}"
        rounds = getattr(self.account, "rounds", 1)
        if rounds > 1 and self.what != "rounds":
            lines[0] += f" after {rounds:,} rounds"
        if self.beyond is not None:
            lines.append(f"{self.what} = {_digits(self.beyond)} is not certified to")
        return "\n".join(lines)


def _digits(value: float) -> str:
    """Every digit: what is read off and typed in again has to be what was certified."""
    return str(value) if isinstance(value, int) else repr(float(value))


@by_name
def calibrate(
    account: Callable[[Any], Accountant],
    *,
    epsilon: float,
    delta: float,
    find: Find = "largest",
    low: float | None = None,
    high: float | None = None,
    whole: bool = False,
    rtol: float = 1e-6,
    start: float | None = None,
    beyond: bool = True,
    what: str = "value",
) -> Calibration:
    """The largest (or smallest) number of a setting whose account meets a central target.

    The number may be anything of the setting: a mechanism's eps0 or noise, the number of users or
    of rounds, blanket messages of a user, the scale of an aggregator's noise, noise of DP-SGD.

    Parameters
    ----------
    account : callable
        Value -> account, such as ``lambda e: sd.shuffle(sd.KRR(k=10, eps0=e), n=10_000)``. Delta
        should rise with the value for find="largest" (eps0, rounds), fall with it for "smallest"
        (users, noise); where it does not, the result is still a value that meets the target beside
        one that does not.
    epsilon, delta : float
        The target: eps in nats.
    find : {"largest", "smallest"}
        Which end of the values that meet the target.
    low, high : float, optional
        Values to search, 0 < low < high; by default 1e-4 to 300, of whole numbers 1 to 1e15.
    whole : bool
        Whether values are whole numbers, such as users, rounds or messages: two in a row are near
        enough, where an account takes seconds two that are 1e-3 apart.
    rtol : float
        How near ``beyond`` is to the value at which delta meets the target, 1e-12 to 0.5, and at
        least 1e-3 where an account takes seconds: of sums, crowds, declared shufflers, several
        users and DP-SGD. It changes nothing else. Where an account's eps there ends above the
        target, by its own width, the result is a value a little inside at which eps meets it too,
        if there is one.
    start : float, optional
        Where to begin: near the answer it saves time, and changes nothing else.
    beyond : bool
        Whether to look for ``beyond``. Without it estimates, where there are some, decide how near
        to the last one the value is, to ``rtol``, and mostly one value alone is certified.
    what : str
        What the number is called where it is printed.

    Returns
    -------
    Calibration

    Raises
    ------
    NotCertified
        If no value in the range meets the target; of messages the message says what n would.

    Examples
    --------
    >>> import shuffledp as sd
    >>> account = lambda n: sd.shuffle(sd.KRR(k=10, eps0=4.0), n=n)
    >>> asked = {"epsilon": 0.5, "delta": 1e-6, "find": "smallest", "whole": True, "what": "n"}
    >>> print(sd.calibrate(account, **asked))
    n = 6099 meets the target eps = 0.5, delta = 1e-06
    n = 6098 is not certified to
    """
    rtol = _check.real("rtol", rtol, low=1e-12, high=0.5)
    asked = _Asked.of(account, epsilon, delta, find, low, high, whole)
    start = None if start is None else _check.positive("start", start)
    certified = beyond or epsilon == 0.0 or not asked.quick
    found = asked.crossing(rtol, start) if certified else asked.estimated(rtol, start)
    if found is None:
        raise asked.unreachable(what)
    found = asked.met_by_epsilon(found, delta)
    if whole:
        after = None if found.beyond is None else int(found.beyond)
        found = found._replace(value=int(found.value), beyond=after)
    at = {"epsilon": asked.epsilon, "delta": delta, "account": asked.account(found.value)}
    return Calibration(what=what, **found._asdict(), **at)


@dataclass(frozen=True)
class _Asked:
    """Accounts by a number, from its private to its open end, and what they have to meet.

    ``log_target`` is a hair below log delta, which is rounded.
    """

    account: Callable[[float], Any]
    epsilon: float
    log_target: float
    private: float
    open_end: float
    whole: bool

    @classmethod
    def of(
        cls,
        account: Callable[[Any], Accountant],
        epsilon: float,
        delta: float,
        find: Find,
        low: float | None,
        high: float | None,
        whole: bool,  # noqa: FBT001 (as the caller was given it)
    ) -> _Asked:
        """Checked ones."""
        if isinstance(account, type) or not callable(account):
            raise rejected("account", account, _WANTED)
        log_target = math.log(_check.open_unit("delta", delta))
        log_target -= 1e-15 * (1.0 + abs(log_target))
        if low is None:
            low = 1 if whole else _SMALLEST
        if high is None:
            high = _check.LARGEST_COUNT if whole else _LARGEST
        low, high = _check.positive("low", low), _check.positive("high", high)
        _check.choice("find", find, ("largest", "smallest"))
        if not low < high:
            raise rejected("high", high, f"a number above low = {low:g}")

        # Accounts answer alike whatever they were asked before: what they share changes no number.
        @lru_cache(maxsize=_KEPT)
        def made(value: float) -> Accountant:
            found = account(int(value) if whole else value)
            if not isinstance(found, Accountant):
                raise rejected("account", account, _WANTED)
            return found

        ends = (low, high) if find == "largest" else (high, low)
        return cls(made, _check.epsilon("epsilon", epsilon), log_target, *ends, whole)

    @property
    def quick(self) -> bool:
        """Whether an end takes milliseconds, or may be estimated."""
        return self.account(self.private).quick

    def log_upper(self, value: float) -> float:
        """log of the certified upper end of delta."""
        return self.account(value).log_upper(self.epsilon, log_target=self.log_target)

    def estimate(self, value: float) -> float:
        """About the same, certified by nothing."""
        return self.account(value).rough_log_delta(self.epsilon)

    def crossing(self, rtol: float, start: float | None) -> Crossing | None:
        """The last value that meets the target by delta, and the next; None where none does."""
        quick = self.quick
        many = self.whole and quick and self.private > self.open_end
        return search(
            self.log_upper,
            self.log_target,
            private=self.private,
            open_end=self.open_end,
            start=start,
            estimate=self.estimate if quick else None,
            unknown=_WHOLE if many else 1.0,
            apart=max(rtol, _NEAR) if not quick else 0.0 if self.whole else rtol,
            whole=self.whole,
        )

    def estimated(self, rtol: float, start: float | None) -> Crossing | None:
        """By estimates the last value that meets the target; its log delta is not known."""
        found = search(
            self.estimate,
            self.log_target,
            private=self.private,
            open_end=self.open_end,
            start=start,
            apart=rtol,
            whole=self.whole,
        )
        if found is None:
            return None
        # Half of that to the safe side saves a second evaluation, mostly.
        at = towards(found.value, self.private, 1.0 + 0.5 * rtol, whole=self.whole)
        return Crossing(at, math.nan, None, None)

    def met_by_epsilon(self, found: Crossing, delta: float) -> Crossing:
        """What delta or estimates found, or a value a little inside, at which eps meets the target.

        eps ends where its search ends, which may be beyond the target though delta meets it; and
        the account of a deployment file moves it outward by a margin.
        """
        value, log_delta, share = found.value, found.log_delta, 0.5
        # At eps = 0 there is nothing to be relative to: delta alone decides.
        for _ in range(_INWARD if self.epsilon > 0.0 else 0):
            over = self._filed(self.account(value), delta) - self.epsilon
            if over <= 0.0 and not log_delta > self.log_target:
                # Where eps meets the target delta does.
                known = self.log_target if math.isnan(log_delta) else log_delta
                return found._replace(value=value, log_delta=known)
            if value == self.private or not math.isfinite(over):
                break
            # eps changes at least in proportion, mostly.
            share *= 2.0
            missing = max(over / self.epsilon, _LEAST_INWARD)
            step = 1.0 + min(share * missing, _LONGEST_INWARD)
            value = towards(value, self.private, step, whole=self.whole)
            log_delta = self.log_upper(value)
        if math.isnan(found.log_delta):
            raise NotCertified(f"{found.value:g} misses the target, which estimates say it meets")
        return found

    @staticmethod
    def _filed(account: Any, delta: float) -> float:
        """The upper end of eps that the account of a deployment file would print."""
        upper = account.upper_epsilon(delta=delta)
        return min(upper * (1.0 + _MARGIN), max(getattr(account, "eps0", math.inf), upper))

    def unreachable(self, what: str) -> NotCertified:
        """Why no value meets the target, and how many users would do."""
        end = self.account(self.private)
        value = f"{int(self.private):,}" if self.whole else f"{self.private:g}"
        target = f"eps = {self.epsilon:g}, delta = {math.exp(self.log_target):.3g}"
        rounds = getattr(end, "rounds", 1)
        where = f" in {rounds:,} rounds" if rounds > 1 and what != "rounds" else ""
        if hasattr(end, "n") and what != "n":
            where = f" at n = {end.n:,}{where}"
        words = f"{what} = {value}: {end.label}{where} does not meet {target}"
        more = None if what == "n" else self._enough(end)
        if more is None:
            return NotCertified(f"{words}; wanted a larger target or more users or noise")
        return NotCertified(f"{words}; it would with n = {more:,} users")

    def _enough(self, end: Any) -> int | None:
        """Users with whom an account would meet the target, where that is known in a moment."""
        if not end.quick or not hasattr(end, "with_n"):
            return None
        users = replace(
            self, account=end.with_n, private=_check.LARGEST_COUNT, open_end=1, whole=True
        )
        try:
            found = users.crossing(0.0, None)
        except (NotCertified, ParameterError):
            return None
        return None if found is None else int(found.value)


_WANTED = (
    "a function of one number that gives an account, such as "
    "lambda e: sd.shuffle(sd.KRR(k=10, eps0=e), n=1000)"
)

__all__ = ["Calibration", "calibrate"]
