"""The smallest batch of sums that meets a target."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from shuffledp.calibration.result import Calibration
from shuffledp.calibration.target import Target, target_of
from shuffledp.errors import NotCertified
from shuffledp.views import Sums, log_upper

__all__ = ["required_reports"]

# An evaluation takes seconds for many reports: so near to each other are the two numbers of reports
# that are given, of which the one meets the target and the other does not.
_NEAR = 1e-3
# Steps by the chord before an interval is halved; chords stay so far from both ends of it.
_CHORDS, _INSIDE = 12, 0.02


class _Ends(NamedTuple):
    """A number of reports that misses the target, one that meets it, and both log deltas."""

    low: int
    log_low: float
    high: int
    log_high: float


def required_reports(view: Sums, *, epsilon: float, delta: float, most: int) -> Calibration:
    """The smallest number of reports added up that meets a target, to a thousandth.

    delta falls with it (docs/theory-binary.md, Theorem 3.1). ``beyond`` is a smaller number that
    was evaluated and does not meet the target: the one before, or at most a thousandth less.

    Parameters
    ----------
    view : Sums
        What is added up, of any number of reports.
    epsilon, delta : float
        The target.
    most : int
        Largest number to try.

    Raises
    ------
    NotCertified
        If even ``most`` reports do not, or what is known ends before.
    """
    target = target_of(epsilon, delta, 1e-3, "all")

    def at(n: int) -> float:
        return log_upper(view.with_n(n), epsilon=target.epsilon, log_target=target.log_delta)

    found = _bracket(at, target, most)
    if found is None:
        msg = (
            f"n = {most:,}: sums of {view.mechanism.name} do not meet eps = {epsilon:g}, "
            f"delta = {delta:g}; wanted a larger target or more noise"
        )
        raise NotCertified(msg)
    found = _narrowed(at, target, found)
    return Calibration(
        what="n",
        value=found.high,
        log_delta=found.log_high,
        beyond=found.low if found.low > 0 else None,
        log_delta_beyond=found.log_low if found.low > 0 else None,
        epsilon=target.epsilon,
        delta=delta,
        n=found.high,
        rounds=view.rounds,
        randomizer=view.mechanism,
    )


def _bracket(at: Callable[[int], float], target: Target, most: int) -> _Ends | None:
    """Powers of four on both sides."""
    low, log_low, n = 0, 0.0, 1
    while True:
        log = at(n)
        if target.met(log):
            return _Ends(low, log_low, n, log)
        if n == most:
            return None
        low, log_low, n = n, log, min(4 * n, most)


def _narrowed(at: Callable[[int], float], target: Target, ends: _Ends) -> _Ends:
    """Both ends next to each other; -log delta is about linear in n."""
    step = 0
    while ends.high - ends.low > max(1, math.floor(_NEAR * ends.low)):
        share = 0.5
        if step < _CHORDS and step % 3 < 2 and math.isfinite(ends.log_high):
            # Every third step halves: a chord may stay on one side.
            share = (target.log_delta - ends.log_low) / (ends.log_high - ends.log_low)
            share = min(max(share, _INSIDE), 1.0 - _INSIDE)
        step += 1
        middle = ends.low + round(share * (ends.high - ends.low))
        middle = min(max(middle, ends.low + 1), ends.high - 1)
        log = at(middle)
        if target.met(log):
            ends = ends._replace(high=middle, log_high=log)
        else:
            ends = ends._replace(low=middle, log_low=log)
    return ends
