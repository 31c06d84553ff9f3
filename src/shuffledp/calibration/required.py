"""How many blanket messages, or how biased a coin, a multi-message protocol needs for a target."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from shuffledp import _check
from shuffledp.arithmetic.floats import UNIT_ROUNDOFF
from shuffledp.bound import outward
from shuffledp.bounds.profile import LOOSE, Profile
from shuffledp.errors import NotCertified
from shuffledp.laws.pairs import message_pair
from shuffledp.multimessage import MultiMessage
from shuffledp.values.described import ByContent, by_name

U = UNIT_ROUNDOFF
_WIDTHS = (LOOSE, 1e-4, 1e-7, 1e-10)
_MOST = _check.LARGEST_COUNT - 1
_SMALLEST_NOISE = 2.0**-40


@dataclass(frozen=True, eq=False, repr=False)
class Required(ByContent):
    """The least noise found that meets a target, and that the next smaller one does not.

    Attributes
    ----------
    protocol : MultiMessage
        The protocol with that noise (whole messages for every user).
    n : int
        Users.
    epsilon, delta : float
        The target.
    what : str
        What was solved for: "blankets", or the name of the coin's parameter.
    value : float
        The least that meets the target: blanket messages of all users together, or the parameter.
    before : float or None
        The next smaller noise, which does not meet it; None where there is none.
    log_delta : float
        log of a certified upper end of delta at ``value``; at most log(delta).
    log_delta_before : float or None
        log of a certified lower end of the same bound's delta at ``before``: above log(delta) where
        ``certain``.
    certain : bool
        True where ``before`` certainly misses the target by this analysis (or there is none).
    """

    protocol: MultiMessage
    n: int
    epsilon: float
    delta: float
    what: str
    value: float
    before: float | None
    log_delta: float
    log_delta_before: float | None
    certain: bool

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form."""
        return {**vars(self), "protocol": self.protocol.to_dict()}

    def __str__(self) -> str:
        high = outward(math.exp(self.log_delta), up=True)
        found = f"{self.protocol.name}: {self.what} = {self.value:g} for n = {self.n:,} users"
        lines = [f"{found} meets ({self.epsilon:g}, {self.delta:g}): delta <= {high}"]
        if self.before is not None and self.log_delta_before is not None:
            low = outward(math.exp(self.log_delta_before), up=False)
            sure = "does not" if self.certain else "is not known to"
            lines.append(f"  {self.what} = {self.before:g} {sure} meet it: delta >= {low}")
        return "\n".join(lines)


@by_name
def required_messages(protocol: MultiMessage, *, n: int, epsilon: float, delta: float) -> Required:
    """The smallest number of blanket messages, of all users together, that meets (eps, delta).

    The bound falls with their number (docs/theory-parts.md, Theorem 3.1), so halving finds it. With
    a rate below one it counts the messages that may be sent.

    Parameters
    ----------
    protocol : MultiMessage
        Any number of blanket messages; the result has as many for every user as are needed.
    n : int
        Users, 1 <= n <= 1e15.
    epsilon, delta : float
        The target: eps >= 0 in nats, 0 < delta < 1.

    Returns
    -------
    Required
        ``value`` is the total; ``protocol`` has ceil(value/n) messages for each user, at least one.

    Raises
    ------
    ParameterError
        If the protocol's number of blanket messages is fixed.
    NotCertified
        If 1e15 - 1 messages are not enough.
    """
    n = _check.count("n", n)
    check = _Target(epsilon, delta)
    protocol.with_blankets(2)  # refuses where their number is no parameter

    def profiles(count: int) -> list[Profile]:
        return [Profile(message_pair(one)) for one in protocol.pairs_among(count)]

    high = 1
    while not check.meets(profiles(high))[0]:
        if high == _MOST:
            raise NotCertified(f"blankets = {_MOST:,}: not enough for this target")
        high = min(4 * high, _MOST)
    low = -1 if high == 1 else high // 4
    while high - low > 1:
        middle = (high + low) // 2
        if check.meets(profiles(middle))[0]:
            high = middle
        else:
            low = middle
    found = protocol.with_blankets(max(1, -(-high // n)))
    return check.result(found, n, "blankets", high, low if low >= 0 else None, profiles)


@by_name
def required_noise(
    protocol: MultiMessage, *, n: int, epsilon: float, delta: float, rtol: float = 1e-3
) -> Required:
    """The least noise of the protocol's coin that meets (eps, delta), the messages being fixed.

    The coin is the blanket bit's bias of ``balcer-cheu`` (the p nearest to 1, by 1 - p), the flips'
    f of ``cheu-zhilyaev`` and ``mix-dump``. Values tried are largest/(1 + rtol)^k; the next smaller
    of them does not meet the target.

    Parameters
    ----------
    protocol : MultiMessage
        With any value of its coin.
    n : int
        Users.
    epsilon, delta : float
        The target.
    rtol : float
        Relative step of the values that are tried, 1e-6 to 0.5.

    Raises
    ------
    ParameterError
        If the protocol has no coin.
    NotCertified
        If the noisiest coin is not enough.
    """
    n = _check.count("n", n)
    step = math.log1p(_check.real("rtol", rtol, low=1e-6, high=0.5))
    check = _Target(epsilon, delta)
    name, largest = protocol.coin()

    def noise(k: int) -> float:
        return largest * math.exp(-step * k)

    def profiles(k: int) -> list[Profile]:
        return [Profile(message_pair(one)) for one in protocol.with_noise(noise(k)).pairs(n)]

    first = 1
    if not check.meets(profiles(first))[0]:
        raise NotCertified(f"{name}: the noisiest coin is not enough for this target")
    last = math.ceil(math.log(largest / _SMALLEST_NOISE) / step)
    if check.meets(profiles(last))[0]:
        # No noise to speak of is needed.
        return check.result(protocol.with_noise(noise(last)), n, name, last, None, profiles, noise)
    while last - first > 1:
        middle = (first + last) // 2
        if check.meets(profiles(middle))[0]:
            first = middle
        else:
            last = middle
    found = protocol.with_noise(noise(first))
    return check.result(found, n, name, first, last, profiles, noise)


class _Target:
    """eps and delta, and whether profiles meet them."""

    def __init__(self, epsilon: float, delta: float) -> None:
        self.epsilon = _check.epsilon("epsilon", epsilon)
        self.delta = _check.open_unit("delta", delta)
        self.log_delta = math.log(self.delta)
        self.slack = 4 * U * (1.0 + abs(self.log_delta))

    def meets(self, profiles: list[Profile]) -> tuple[bool, float, float]:
        """Whether delta is certainly at most the target, and its bracket (logs)."""
        low, high = -math.inf, math.inf
        for width in _WIDTHS:
            found = [p.log_delta(self.epsilon, width=width) for p in profiles]
            low, high = max(f.low for f in found), max(f.high for f in found)
            if high <= self.log_delta - self.slack or low > self.log_delta + self.slack:
                break
        return high <= self.log_delta - self.slack, low, high

    def result(
        self,
        protocol: MultiMessage,
        n: int,
        what: str,
        good: int,
        bad: int | None,
        profiles: Callable[[int], list[Profile]],
        shown: Callable[[int], float] = float,
    ) -> Required:
        """What was found, evaluated once more."""
        low = None if bad is None else self.meets(profiles(bad))[1]
        return Required(
            protocol=protocol,
            n=n,
            epsilon=self.epsilon,
            delta=self.delta,
            what=what,
            value=shown(good),
            before=None if bad is None else shown(bad),
            log_delta=self.meets(profiles(good))[2],
            log_delta_before=low,
            certain=low is None or low > self.log_delta + self.slack,
        )
