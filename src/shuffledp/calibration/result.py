"""Calibration: a value that meets a target, and the next one, which does not."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from shuffledp.calibration.target import Source, Target
from shuffledp.search import Crossing
from shuffledp.values.described import ByContent


@dataclass(frozen=True, eq=False, repr=False)
class Calibration(ByContent):
    """A value that meets the target, and the next one, which does not.

    Attributes
    ----------
    what : str
        What was solved for.
    value : float
        Meets the target by a certified upper end: delta's, and of ``calibrate`` eps' as well.
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

    @classmethod
    def of(
        cls,
        what: str,
        found: Crossing,
        target: Target,
        delta: float,
        n: int,
        rounds: int,
        randomizer: Source,
    ) -> Calibration:
        """What a search found for a target; its delta as it was given."""
        at = {"epsilon": target.epsilon, "delta": delta, "n": n, "rounds": rounds}
        return cls(what=what, **found._asdict(), **at, randomizer=randomizer)

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
            lines.append(f"{self.what} = {_digits(self.beyond)} is not certified to")
        return "\n".join(lines)


def _digits(value: float) -> str:
    """Every digit: what is read off and typed in again has to be what was certified."""
    return str(value) if isinstance(value, int) else repr(float(value))
