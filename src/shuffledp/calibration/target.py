"""Target: what a value has to meet, and log delta of a mechanism to be compared with it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from shuffledp import _check
from shuffledp._check import Trust
from shuffledp.amplification import Shuffled, generic, shuffle
from shuffledp.laws.sources import Family as AnyLocal
from shuffledp.multimessage import MultiMessage
from shuffledp.randomizers import Randomizer
from shuffledp.rounds import Composed, compose

Source = Randomizer | MultiMessage | AnyLocal
# Relative width of eps that is enough to find a place.
_WIDE = 1e-2


@dataclass(frozen=True)
class Target:
    """(eps, delta), to be met by the certified upper ends that an accountant says by default.

    Attributes
    ----------
    epsilon : float
        eps in nats.
    log_delta : float
        log delta, a hair below the target's.
    trust : {"all", "published"}
        Which theorems may be used.
    sharper : bool
        Whether rounds are composed from label stealing's curves too.
    """

    epsilon: float
    log_delta: float
    trust: Trust
    sharper: bool = True

    @classmethod
    def of(cls, epsilon: float, delta: float, trust: Any, *, sharper: bool = True) -> Target:
        """A checked one; log(delta) is rounded, so a hair below it."""
        log_delta = math.log(_check.open_unit("delta", delta))
        log_delta -= 1e-15 * (1.0 + abs(log_delta))
        epsilon = _check.epsilon("epsilon", epsilon)
        return cls(epsilon, log_delta, _check.trust(trust), sharper)

    def among(self, source: Source, n: int) -> Shuffled:
        """The source among n users, whatever kind it is."""
        if isinstance(source, AnyLocal):
            return generic(eps0=source.eps0, n=n, adaptive=source.adaptive, trust=self.trust)
        return shuffle(source, n=n, trust=self.trust)

    def log_upper(self, one: Shuffled, rounds: int) -> float:
        """log of the certified upper end of delta after several rounds."""
        return self._after(one, rounds).log_upper(self.epsilon)

    def upper_epsilon(self, one: Shuffled, rounds: int, *, delta: float) -> float:
        """The certified upper end of eps at a delta: the target's, not the hair below."""
        return self._after(one, rounds).upper_epsilon(delta=delta)

    def estimate(self, one: Shuffled, rounds: int) -> float:
        """About ``log_upper``: a wide end of one round, and of several what no end certifies."""
        if rounds == 1:
            return replace(one, rtol=_WIDE).log_upper(self.epsilon)
        return self.composed(one, rounds).rough_log_delta(self.epsilon)

    def composed(self, one: Shuffled, rounds: int) -> Composed:
        """Rounds of it, with label stealing or without it."""
        return compose([one.as_round(sharper=self.sharper)], rounds=rounds)

    def _after(self, one: Shuffled, rounds: int) -> Shuffled | Composed:
        return one if rounds == 1 else self.composed(one, rounds)
