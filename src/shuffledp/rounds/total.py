"""Certified delta of many rounds: the sum of independent losses under P, in balls.

    delta(eps) = [ prod (F_i + p_inf,i)^T_i - prod F_i^T_i ] + E (1 - e^(eps - L))_+ ,

where L is the sum of T_i finite losses of each law i (docs/theory-composition.md, section 3). One
or two rounds, and two losses, are summed directly; otherwise the kernel sums on a contour that
floats propose.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence

from shuffledp.arithmetic.balls import arb, ctx, float_above, float_below, precision_for, total
from shuffledp.arithmetic.intervals import LogInterval
from shuffledp.bounds.pairs import End
from shuffledp.errors import NotCertified, ParameterError
from shuffledp.kernel.direct import by_counts, two_atoms
from shuffledp.kernel.draws import Draws
from shuffledp.kernel.expect import expect
from shuffledp.propose.losses import Losses
from shuffledp.propose.solve import Root
from shuffledp.rounds.loss import LossLaw

Parts = Sequence[tuple[LossLaw, int]]

# Bits beyond `precision_for`, as losses and masses are exact floats.
_MORE_BITS = 32


class Total:
    """All rounds together in one direction.

    Parameters
    ----------
    parts : sequence of (LossLaw, int)
        Each law and the number of its rounds.
    """

    def __init__(self, parts: Parts) -> None:
        self.parts = [(law, count) for law, count in parts if count > 0]
        # The same in floats, for proposals.
        self.floats = Losses([(x.loss, x.mass, x.infinite, count) for x, count in self.parts])
        self.rounds = sum(count for _, count in self.parts)
        # An eps from which on finite losses contribute nothing.
        self.last = self.floats.top

    def rough(self, epsilon: float) -> float:
        """An estimate of log delta at an eps."""
        return self.floats.log_delta(epsilon)

    def root(self, log_target: float) -> Root:
        """An estimate of the eps at which log delta meets a target; 0 or inf if there is none."""
        return self.floats.root(log_target)

    def log_delta(self, epsilon: float, *, rel: float, end: End = "both") -> LogInterval:
        """Certified ends of log delta, apart by about ``rel``; both, whichever is wanted."""
        del end
        guess = self.floats.log_delta(epsilon)
        with ctx.workprec(precision_for(self.rounds) + _MORE_BITS):
            never = self._never()
            low, high = self._finite(epsilon, guess, rel)
            return logs(low + never, high + never)

    def _never(self) -> arb:
        """P-mass of an infinite loss in at least one round."""
        finite, grown = arb(0), arb(0)
        for law, count in self.parts:
            if law.infinite > 0.0:
                own = total(arb(float(m)) for m in law.mass)
                grown += count * (arb(law.infinite) / own).log1p()
        if grown.is_zero():
            return arb(0)
        for law, count in self.parts:
            finite += count * total(arb(float(m)) for m in law.mass).log()
        return finite.exp() * grown.expm1()

    def _finite(self, epsilon: float, guess: float, rel: float) -> tuple[arb, arb]:
        top = total(count * arb(law.highest) for law, count in self.parts)
        if top <= epsilon:
            return arb(0), arb(0)
        draws = [
            Draws([arb(float(m)) for m in law.mass], [arb(float(x)) for x in law.loss], count)
            for law, count in self.parts
        ]
        if self.rounds <= 2:
            found = _of_two([one for one in draws for _ in range(one.count)], arb(epsilon))
            return found, found
        if len(draws) == 1 and len(draws[0].masses) == 2 and self.rounds <= _MOST_COUNTS:
            return two_atoms(draws[0], gap=1, shift=arb(epsilon))
        if _combinations(draws) <= _MOST_COMBINATIONS:
            return by_counts(draws, gap=1, shift=arb(epsilon))
        try:
            contour = self.floats.contour(epsilon, log_answer=guess, rel=rel)
            return expect(draws, contour, gap=1, shift=arb(epsilon))
        except (NotCertified, ParameterError):
            return arb(0), _chernoff(draws, arb(epsilon), arb(self.floats.saddle(epsilon)))


# Number of rounds with two losses up to which the binomial sum is faster than a contour; it has
# terms for a few standard deviations.
_MOST_COUNTS = 10**8
# Most vectors of counts that are enumerated: ten milliseconds.
_MOST_COMBINATIONS = 500
# Precision in bits at which every difference of two floats is exact.
_EXACT = 2200


def _of_two(draws: list[Draws], eps: arb) -> arb:
    """E (1 - e^(eps - X - Y))_+ by partial sums over Y, for one or two draws."""
    first = draws[0]
    masses, losses = ([arb(1)], [arb(0)]) if len(draws) == 1 else (draws[1].masses, draws[1].gains)
    # Sums over the k largest losses of Y: P-masses, and Q-masses m e^-y.
    p, q = [arb(0)], [arb(0)]
    for m, y in zip(reversed(masses), reversed(losses), strict=True):
        p.append(p[-1] + m)
        q.append(q[-1] + m * (-y).exp())
    with ctx.workprec(_EXACT):
        rests = [eps - x for x in first.gains]
    found = arb(0)
    for m, rest in zip(first.masses, rests, strict=True):
        above = len(losses) - bisect_right(losses, rest)
        found += m * (p[above] - rest.exp() * q[above])
    return found


def _combinations(draws: list[Draws]) -> int:
    """Number of vectors of counts, or a larger number than are enumerated."""
    found = 1
    for one in draws:
        few = len(one.masses) <= _MOST_COMBINATIONS
        found *= math.comb(one.count + len(one.masses) - 1, len(one.masses) - 1) if few else 1 << 40
        if found > _MOST_COMBINATIONS:
            break
    return found


def _chernoff(draws: list[Draws], eps: arb, tilt: arb) -> arb:
    """E (1 - e^(eps - S))_+ <= C(b) E e^(b (S - eps)), for sums without a contour."""
    peak = (tilt * tilt.log() - (1 + tilt) * (1 + tilt).log()).exp()
    return peak * (total(one.log_moment(tilt) for one in draws) - tilt * eps).exp()


def logs(low: arb, high: arb) -> LogInterval:
    """Floats around the logarithms of two ends of a probability."""
    if not (low.is_finite() and high.is_finite()):
        raise NotCertified("delta of rounds: balls that are no number")
    top = min(float_above(high.log()), 0.0) if not high <= 0 else -math.inf
    below = min(float_below(low.log()), top) if low > 0 else -math.inf
    return LogInterval(below, top)


__all__ = ["Parts", "Total", "logs"]
