"""Target: what a value has to meet, and log delta of an account to be compared with it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from shuffledp import _check
from shuffledp._check import Trust
from shuffledp.accounts import PERFECT, Account, shuffle
from shuffledp.amplification.messages import Messages
from shuffledp.laws.sources import Family as AnyLocal
from shuffledp.multimessage import MultiMessage
from shuffledp.randomizers import Randomizer
from shuffledp.rounds import Composed, compose

Source = Randomizer | MultiMessage | AnyLocal
Accounted = Account | Composed
# Where an evaluation takes seconds, the value that is given and the one beyond it are so near.
NEAR = 1e-3
# Relative width of eps that is enough to find a place.
_WIDE = 1e-2


@dataclass(frozen=True)
class Target:
    """(eps, delta), to be met by the certified upper ends that an account says by default.

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

    def among(self, source: Source, n: int, rounds: int = 1, **setting: Any) -> Accounted:
        """The account of a mechanism among n users; ``setting`` as for ``shuffle``."""
        return self.again(shuffle(source, n, trust=self.trust, **setting), rounds)

    def again(self, one: Account, rounds: int) -> Accounted:
        """The account of the same in so many rounds, with label stealing or without it."""
        if rounds == 1:
            return one
        if isinstance(one.seen, Messages) and one.is_plain:
            return compose([one.as_round(sharper=self.sharper)], rounds=rounds)
        return one.compose(rounds=rounds)

    def log_upper(self, account: Accounted) -> float:
        """log of the certified upper end of delta."""
        if isinstance(account, Composed):
            return account.log_upper(self.epsilon)
        return account.log_upper(self.epsilon, log_target=self.log_delta)

    def estimate(self, account: Accounted) -> float:
        """About ``log_upper``: a wide end of one round, and of several what no end certifies."""
        if isinstance(account, Composed):
            return account.rough_log_delta(self.epsilon)
        wide = replace(account, seen=replace(account.seen, rtol=_WIDE))  # type: ignore[type-var]
        return wide.log_upper(self.epsilon)


def is_quick(setting: Mapping[str, Any]) -> bool:
    """Whether an end by itself takes milliseconds and there are estimates: of messages."""
    usual = {"view": "messages", "shuffler": PERFECT, "changed": 1}
    return all(setting.get(name, value) == value for name, value in usual.items())
