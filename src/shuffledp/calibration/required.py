"""How many blanket messages, or how biased a coin, a multi-message protocol needs for a target."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from shuffledp import _check
from shuffledp.bounds.profile import LOOSE, Profile
from shuffledp.calibration.result import Calibration
from shuffledp.calibration.solve import calibrate
from shuffledp.calibration.target import Target
from shuffledp.errors import NotCertified
from shuffledp.laws.pairs import message_pair
from shuffledp.multimessage import MessagePair, MultiMessage
from shuffledp.search import search
from shuffledp.values.described import by_name

# Relative widths of delta that are asked for until it is decided whether the target is met.
_WIDTHS = (LOOSE, 1e-4, 1e-7, 1e-10)
_MOST = _check.LARGEST_COUNT - 1
_SMALLEST_NOISE = 2.0**-40


@by_name
def required_messages(
    protocol: MultiMessage, *, n: int, epsilon: float, delta: float
) -> Calibration:
    """The smallest number of blanket messages, of all users together, that meets (eps, delta).

    The bound falls with their number (docs/theory-parts.md, Theorem 3.1). With a rate below one it
    counts the messages that may be sent.

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
    Calibration
        ``value`` is the total; ``randomizer`` has ceil(value/n) messages for each user, at least
        one.

    Raises
    ------
    ParameterError
        If the protocol's number of blanket messages is fixed.
    NotCertified
        If 1e15 - 1 messages are not enough.
    """
    n, target = _check.count("n", n), Target.of(epsilon, delta, "all")
    protocol.with_blankets(2)  # refuses where their number is no parameter
    found = search(
        lambda count: _log_upper(protocol.pairs_among(int(count)), target),
        target.log_delta,
        private=_MOST,
        open_end=1,
        apart=0.0,
        whole=True,
    )
    if found is None:
        raise NotCertified(f"blankets = {_MOST:,}: not enough for this target")
    total = int(found.value)
    made = protocol.with_blankets(max(1, -(-total // n)))
    return Calibration.of("blankets", found._replace(value=total), target, delta, n, 1, made)


@by_name
def required_noise(
    protocol: MultiMessage,
    *,
    n: int,
    epsilon: float,
    delta: float,
    rtol: float = 1e-3,
    **setting: Any,
) -> Calibration:
    """The least noise of the protocol's coin that meets (eps, delta), the messages being fixed.

    The coin is the blanket bit's bias of ``balcer-cheu`` (the p nearest to 1, by 1 - p), the flips'
    f of ``cheu-zhilyaev`` and ``mix-dump``.

    Parameters
    ----------
    protocol : MultiMessage
        With any value of its coin.
    n : int
        Users.
    epsilon, delta : float
        The target.
    rtol : float
        How near ``beyond``, which does not meet the target, is to the value, 1e-12 to 0.5.
    **setting
        As for ``calibrate``: rounds, trust, changed.

    Raises
    ------
    ParameterError
        If the protocol has no coin.
    NotCertified
        If the noisiest coin is not enough.
    """
    name, largest = protocol.coin()
    target: dict[str, Any] = {"n": n, "epsilon": epsilon, "delta": delta, "rtol": rtol}
    found = calibrate(
        protocol.with_noise,
        find="smallest",
        low=_SMALLEST_NOISE,
        high=largest * (1.0 - 1e-9),
        **target,
        **setting,
    )
    return replace(found, what=name)


def _log_upper(pairs: list[MessagePair], target: Target) -> float:
    """log of the certified upper end of delta, as narrow as it takes to decide."""
    profiles = [Profile(message_pair(one)) for one in pairs]
    high = math.inf
    for width in _WIDTHS:
        found = [profile.log_delta(target.epsilon, width=width) for profile in profiles]
        high = max(one.high for one in found)
        if high <= target.log_delta or max(one.low for one in found) > target.log_delta:
            break
    return high
