"""Several changed users' bits: a lower end by a threshold test on the number of ones.

In one data set c bits have the larger probability of a 1, in the other the smaller one; all other
bits are the same. With W the number of ones plus all noise, for every j (post-processing;
docs/theory-shufflers.md, Lemma 5.3)

    D >= F_j = P(W > j) - e^eps Q(W > j),    and the same after the bits' names are exchanged.
"""

from __future__ import annotations

import math

from shuffledp.arithmetic.balls import arb, ctx
from shuffledp.ball.record import Bit, Bits
from shuffledp.bounds.circle import Chances, Circle, Difference
from shuffledp.bounds.circle_points import Tilted, plan
from shuffledp.bounds.integer_noise import NoiseLaw
from shuffledp.bounds.one_bit import OneBit, Tails, log_ends

__all__ = ["log_threshold"]

# Terms left out of a sum are below e^-goal of its level. The goals are tried in turn; the first
# serves deltas down to e^-40.
_GOALS = (80.0, 240.0, 700.0)
# Largest tilt with Laplace noise, as a share of the noise's rate.
_SHARE = 0.6
_FAR = 1 << 40


def log_threshold(
    bits: Bits,
    epsilon: float,
    *,
    high: int,
    low: int,
    changed: int,
    noise: NoiseLaw | None,
    times: int,
) -> float:
    """A lower bound of log D, the larger of both orders; -inf if none is found.

    Parameters
    ----------
    bits : Bits
        The law of one bit under both inputs.
    epsilon : float
        eps >= 0 in nats.
    high, low, changed : int
        Numbers of bits with the larger and with the smaller probability in both data sets, and of
        bits that change.
    noise : NoiseLaw or None
        The noise added to the number of ones.
    times : int
        How often the noise is added, independently each time.
    """
    with ctx.workprec(OneBit.precision(high + low + changed)):
        small, large = (bits.law(x) for x in bits.inputs)
        first = _one_order(large, small, epsilon, (high, low, changed), noise, times)
        if bits.mirrored and high == low:
            return first
        second = _one_order(
            small.flipped, large.flipped, epsilon, (low, high, changed), noise, times
        )
        return max(first, second)


def _one_order(
    large: Bit,
    small: Bit,
    epsilon: float,
    counts: tuple[int, int, int],
    noise: NoiseLaw | None,
    times: int,
) -> float:
    high, low, changed = counts
    asked = Difference(
        Chances(large.rest, large.share),
        Chances(small.rest, small.share),
        arb(epsilon).exp(),
        noise,
        times,
        changed,
    )
    shares = [float(bit.share.mid()) for bit in (asked.high, asked.low)]
    rests = [float(bit.rest.mid()) for bit in (asked.high, asked.low)]
    added = None if noise is None else (noise.kind, noise.scale, times)
    plain = Tilted((shares[0], shares[1]), (rests[0], rests[1]), 0.0, added)
    spread = plain.spread(high + changed, low)
    moved = changed * (shares[0] - shares[1])
    # For two normal laws, the ratio is e^eps this far above the first one's mean.
    rho = arb(max(spread * epsilon / moved - 0.5 * moved, 0.0) / max(spread, moved)).exp()
    if noise is not None and noise.kind == "discrete-laplace":
        rho = arb.min(rho, arb(_SHARE / noise.scale).exp())
    tilted = _tilted(asked, rho, added)
    for goal in _GOALS:
        found = plan(
            tilted,
            ((high + changed, low), (high, low + changed)),
            goal=goal,
            offset=moved + math.sqrt(spread) + 2.0,
            log_b=epsilon,
        )
        if found is None:
            return -math.inf
        circle = Circle(asked, rho, found.size)
        ends = (0, high + low + changed) if noise is None else (-_FAR, _FAR)
        tails = Tails(circle, high, low, found, drift=tilted.drift + 0.5 * moved, ends=ends)
        value = tails.value(tails.threshold())
        if value > 0:
            return log_ends(value, value).log_low
    return -math.inf


def _tilted(asked: Difference, rho: arb, added: tuple[str, float, int] | None) -> Tilted:
    shares, rests = [], []
    for bit in (asked.high, asked.low):
        total = bit.rest + bit.share * rho
        shares.append(float((bit.share * rho / total).mid()))
        rests.append(float((bit.rest / total).mid()))
    log_rho = float(rho.log().mid())
    return Tilted((shares[0], shares[1]), (rests[0], rests[1]), max(log_rho, 0.0), added)
