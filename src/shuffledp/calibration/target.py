"""Target: what a value has to meet, and log delta of a mechanism to be compared with it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from shuffledp import _check
from shuffledp._check import Trust
from shuffledp.amplification import Shuffled, generic, shuffle
from shuffledp.laws.sources import Family as AnyLocal
from shuffledp.multimessage import MultiMessage
from shuffledp.randomizers import Randomizer
from shuffledp.rounds import Composed, Round, compose

Source = Randomizer | MultiMessage | AnyLocal
# Loose numbers find the place; tight ones decide it: those that an accountant says by default.
ROUGH, FINE = 1e-3, 1e-6


def among(source: Source | Shuffled, n: int, rtol: float, trust: Trust) -> Shuffled:
    """The source among n users, whatever kind it is; itself if it is that already."""
    if isinstance(source, Shuffled):
        return source
    if isinstance(source, AnyLocal):
        return generic(eps0=source.eps0, n=n, adaptive=source.adaptive, rtol=rtol, trust=trust)
    return shuffle(source, n=n, rtol=rtol, trust=trust)


@dataclass(frozen=True)
class Target:
    """(eps, delta), to be met by certified upper ends of a requested width.

    Attributes
    ----------
    epsilon : float
        eps in nats.
    log_delta : float
        log delta, a hair below the target's.
    rtol : float
        Width of the upper ends that are compared with it.
    trust : {"all", "published"}
        Which theorems may be used.
    sharper : bool
        Whether rounds are composed from label stealing's curves too.
    """

    epsilon: float
    log_delta: float
    rtol: float
    trust: Trust
    sharper: bool = True

    def log_upper(self, randomizer: Source | Shuffled, n: int, rounds: int) -> float:
        """log of the certified upper end of delta."""
        return self.log_upper_of(among(randomizer, n, self.rtol, self.trust), rounds)

    def log_upper_of(self, one: Shuffled, rounds: int) -> float:
        """The same of a mechanism that is there already, in several rounds."""
        if rounds == 1:
            return one.log_upper(self.epsilon)
        made = self._together(one, rounds)
        if self.rtol < ROUGH:
            return made.log_upper(self.epsilon)
        return made.log_upper_coarse(self.epsilon, log_target=self.log_delta)

    def upper_epsilon(
        self, randomizer: Source | Shuffled, n: int, rounds: int, *, delta: float
    ) -> float:
        """The certified upper end of eps at a delta: the target's, not the hair below."""
        one = among(randomizer, n, self.rtol, self.trust)
        asked = one if rounds == 1 else self._together(one, rounds)
        return asked.upper_epsilon(delta=delta)

    def estimate(self, randomizer: Source, n: int, rounds: int) -> float:
        """About ``log_upper``, certified by nothing."""
        one = among(randomizer, n, self.rtol, self.trust)
        return self._together(one, rounds).rough_log_delta(self.epsilon)

    def round_of(self, one: Shuffled) -> Round:
        """One round, with label stealing or without it."""
        return one.as_round(sharper=self.sharper)

    def _together(self, one: Shuffled, rounds: int) -> Composed:
        return compose([self.round_of(one)], rounds=rounds)

    def met(self, log_upper: float) -> bool:
        """Whether an upper end of log delta is low enough."""
        return log_upper <= self.log_delta


def target_of(
    epsilon: float, delta: float, rtol: float, trust: Any, *, sharper: bool = True
) -> Target:
    """A checked ``Target``; log(delta) is rounded, so a hair below it."""
    log_delta = math.log(_check.open_unit("delta", delta))
    trust = _check.trust(trust)
    slack = 1e-15 * (1.0 + abs(log_delta))
    return Target(_check.epsilon("epsilon", epsilon), log_delta - slack, rtol, trust, sharper)
