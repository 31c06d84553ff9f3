"""Where to look for the noise of many rounds. Nothing here is certified; it only saves time."""

from __future__ import annotations

import math

from shuffledp.propose.solve import bisected
from shuffledp.rounds.gaussian import log_delta_gaussian, mu_through

# Between the bulk of one round's losses, which many rounds add up, and the tail, which few rounds
# keep: with e^-8 twelve rounds of ten mechanisms were met within 1 %, Gaussian noise within 15 %.
_LEVEL = -8.0
# eps/mu of a Gaussian curve with a delta of 1e-300 is 37: its log is looked for well beyond.
_FARTHEST = 50.0
# A search begins here: eps is looked for to this share of the farthest one.
_NEAR = 1e-4


def one_round_target(epsilon: float, log_delta: float, rounds: int) -> tuple[float, float]:
    """(eps, log delta) of one round that about comes to a target after some rounds.

    Many rounds add up to a Gaussian curve, whose mu is sqrt(rounds) times one round's.

    Parameters
    ----------
    epsilon, log_delta : float
        The target after all rounds: eps > 0 in nats.
    rounds : int
        How many.
    """
    mu = mu_through(epsilon, log_delta) / math.sqrt(rounds)
    # At eps = 0 there is the most; a factor e less, and there is an eps > 0.
    goal = min(_LEVEL, log_delta_gaussian(mu, 0.0).high - 1.0)

    farthest = _FARTHEST * mu * (1.0 + mu)
    _, eps = bisected(
        lambda eps: log_delta_gaussian(mu, eps).high > goal, 0.0, farthest, near=_NEAR * farthest
    )
    return eps, goal
