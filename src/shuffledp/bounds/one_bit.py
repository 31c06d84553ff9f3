"""One-bit reports: the divergence of one data set, in balls, by the threshold test.

With S the number of ones of the others (m of whom send a 1 with probability p, N - m with q < p),
plus noise where an aggregator adds it, alpha = p - a q > 0 and tau = 1 + (a - 1)/alpha,

    D(m) = max_j F_j = F_J,    F_j = alpha P(S = j) - (a - 1) P(S > j),

J a mode of tau^k P(S = k); h_k = F_(k-1) - F_k changes its sign once, from - to +
(docs/theory-binary.md, Theorem 2.1). ``circle`` encloses every F_j.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from shuffledp.arithmetic.balls import arb, float_above, float_below, precision_for
from shuffledp.ball.record import Bit
from shuffledp.bounds.circle import Chances, Circle, Difference
from shuffledp.bounds.circle_points import Plan, Tilted, plan
from shuffledp.bounds.integer_noise import NoiseLaw

__all__ = ["Ends", "OneBit", "log_ends"]

# Terms left out of a sum are below e^-_GOAL = 2e-16 of its level; each further try adds _MORE to
# the exponent.
_GOAL, _MORE, _TRIES = 36.0, 24.0, 6
# Data sets whose delta is estimated below e^-20,000 are not evaluated.
_DEEPEST = 20_000.0
# Bits to which a divergence has to be known: ends are rounded to floats.
_ENOUGH = 36
# Most steps from the estimated change of sign of h to a j at which the sign is certain.
_STEPS = 4096
# Largest tilt with Laplace noise, as a share of the noise's rate: its transform has a pole at 1.
_SHARE = 0.6
# Range of j with noise, where every integer j is possible.
_FAR = 1 << 40
# Number of circles kept, each with some hundred points.
_KEPT = 16


class Ends(NamedTuple):
    """Floats below and above log D; -inf for D = 0."""

    log_low: float
    log_high: float


def log_ends(low: arb, high: arb) -> Ends:
    """A float below log low and one above log high."""
    bottom = float_below(low.lower().log()) if low > 0 else -math.inf
    if not high.is_finite():
        return Ends(bottom, math.inf)
    top = high.upper()
    return Ends(bottom, float_above(top.log()) if top > 0 else -math.inf)


class OneBit:
    """One victim at one eps, in one order: ``high`` in the first data set, ``low`` in the second.

    Create and use it at a working precision of at least ``precision(others)`` bits.

    Parameters
    ----------
    high, low : Bit
        The laws of the victim's bit, P(1) of the first being the larger.
    others : int
        N = n - 1.
    epsilon : float
        eps >= 0 in nats.
    noise : NoiseLaw, optional
        The noise added to the number of ones.
    """

    def __init__(
        self, high: Bit, low: Bit, *, others: int, epsilon: float, noise: NoiseLaw | None = None
    ) -> None:
        first, second = Chances(high.rest, high.share), Chances(low.rest, low.share)
        self.difference = Difference(first, second, arb(epsilon).exp(), noise)
        self.others, self.noise, self.b = others, noise, arb(epsilon).expm1()
        # (p - q) - (a - 1) q: the difference p - a q would lose all digits near eps = 0.
        self.alpha = (first.share - second.share) - self.b * second.share
        self._circles: dict[int, Circle] = {}
        self._tilted: tuple[arb, Tilted] | None = None

    @staticmethod
    def precision(others: int) -> int:
        """Working precision in bits: alpha and powers of N factors are known to 2^-60 or better."""
        return 32 + precision_for(others)

    # ------------------------------------------------------------------------- one data set

    def zero(self) -> bool:
        """Whether D = 0 is certain for every data set."""
        if self.alpha <= 0:
            return True
        if self.noise is None or self.noise.kind != "discrete-laplace":
            return False
        # P(S = k - 1)/P(S = k) <= 1/r < tau for all k (docs/theory-sums.md, Lemma 6.3).
        return bool(self.alpha * (1 / self.noise.decay - 1) <= self.b)

    def of_dataset(self, high: int, low: int) -> tuple[arb, arb]:
        """Balls below and above D with ``high`` others of the first kind, ``low`` of the second.

        Some of the N others may be left out. D is then an upper bound for all values of theirs
        (docs/theory-binary.md, Theorem 3.1).
        """
        if self.zero():
            return arb(0), arb(0)
        if not self.alpha > 0:
            # F_j <= alpha P(S = j).
            return arb(0), self.alpha.nonnegative_part()
        alone = self._alone(high, low)
        if alone is not None:
            return alone, alone
        goal = _GOAL
        for _ in range(_TRIES):
            found = self._attempt(high, low, goal)
            if found is not None:
                return found
            goal += _MORE
        return arb(0), self.alpha

    def _alone(self, high: int, low: int) -> arb | None:
        """D for Laplace noise if no other's bit is random (docs/theory-sums.md, Lemma 6.5)."""
        if self.noise is None:
            return None
        asked = self.difference
        random = (high and not asked.high.rest.is_zero(), low and not asked.low.share.is_zero())
        return None if any(random) else self.noise.alone(self.alpha, asked.grow)

    def _attempt(self, high: int, low: int, goal: float) -> tuple[arb, arb] | None:
        """Both ends of D; None where D is not known to enough bits."""
        tails = self.tails(high, low, goal)
        if tails is None:
            return None
        j = tails.threshold()
        found = tails.largest(j)
        if found is None or not found[1].is_finite():
            return None
        low_end, high_end = found
        close = low_end > 0 and (high_end - low_end) < low_end * arb(2) ** (8 - _ENOUGH)
        sharp = close and high_end.rel_accuracy_bits() >= _ENOUGH
        return found if sharp else None

    def tails(self, high: int, low: int, goal: float) -> Tails | None:
        """The F_j among these others, without terms below e^-goal of the level."""
        rho, tilted = self.tilted()
        spread = tilted.spread(high, low)
        if 0.5 * spread * tilted.log_rho**2 > _DEEPEST:
            return None
        log_b = float(self.b.log().mid()) if self.b > 0 else -math.inf
        slack = max(float((self.difference.both(rho) / self.alpha).log().mid()), 0.0)
        found = plan(
            tilted,
            ((high, low),),
            goal=goal + slack + math.log1p(spread),
            offset=2.0 if self.noise is None else math.sqrt(spread) + 2.0,
            log_b=log_b,
        )
        if found is None:
            return None
        circle = self.circle(found.size, rho)
        # The extremes: h_0 = -(alpha + b) P(S = 0), and h_k = alpha P(S = k - 1) at k - 1 = others.
        ends = (0, high + low) if self.noise is None else (-_FAR, _FAR)
        return Tails(circle, high, low, found, drift=tilted.drift, ends=ends)

    def tilted(self) -> tuple[arb, Tilted]:
        """The tilt, and both laws under it in floats."""
        if self._tilted is None:
            self._tilted = self._tilt()
        return self._tilted

    def _tilt(self) -> tuple[arb, Tilted]:
        tau = 1 + self.b / self.alpha
        noise = self.noise
        if noise is not None and noise.kind == "discrete-laplace":
            most = _SHARE / noise.scale
            tau = tau if tau.log() < most else arb(most).exp()
        bits = (self.difference.high, self.difference.low)
        shares, rests = [], []
        for bit in bits:
            total = bit.rest + bit.share * tau
            shares.append(float((bit.share * tau / total).mid()))
            rests.append(float((bit.rest / total).mid()))
        added = None if noise is None else (noise.kind, noise.scale, 1)
        log_tau = max(float(tau.log().mid()), 0.0)
        return tau, Tilted((shares[0], shares[1]), (rests[0], rests[1]), log_tau, added)

    def circle(self, size: int, rho: arb) -> Circle:
        """The circle with ``size`` points; data sets with about the same variance share it."""
        if size not in self._circles:
            # Any radius >= 1 is valid; take an exact number, as a ball may reach below 1.
            exact = arb.max(arb(rho.mid()), arb(1))
            if len(self._circles) >= _KEPT:
                self._circles.clear()
            self._circles[size] = Circle(self.difference, exact, size)
        return self._circles[size]


class Tails:
    """F_j of one data set, for every integer j.

    Parameters
    ----------
    circle : Circle
        The points of the transform.
    high, low : int
        Number of others of each kind.
    found : Plan
        How many points, and where the tails are bounded.
    drift : float
        An estimate of the noise's mean under the tilt.
    ends : (int, int)
        A range that contains a j with the largest F_j.
    """

    def __init__(
        self,
        circle: Circle,
        high: int,
        low: int,
        found: Plan,
        *,
        drift: float,
        ends: tuple[int, int],
    ) -> None:
        self._circle, self._drift = circle, drift
        self._least, self._most = ends
        self._mean = circle.mean(high, low)
        self._level = circle.level(high, low)
        self._weights = circle.weights(high, low, found.points)
        self._angles = [point.angle for point in circle.upto(found.points)]
        self._beyond = circle.beyond(high, low, found.points)
        self._aliases = circle.aliases(high, low, found)
        self._total = circle.total()
        self._known: dict[int, arb] = {}

    def value(self, j: int) -> arb:
        """F_j."""
        if j not in self._known:
            s = j - self._mean
            total = arb(0)
            for weight, angle in zip(self._weights, self._angles, strict=True):
                sine, cosine = (s * angle).sin_cos()
                total += weight.real * cosine + weight.imag * sine
            error = (self._beyond + self._aliases(s)).upper()
            scaled = 2 * total / self._circle.size + arb(0, error)
            level = (self._level - s * self._circle.log_rho).exp()
            self._known[j] = level * scaled + self._total
        return self._known[j]

    def step(self, k: int) -> arb:
        """h_k = F_(k-1) - F_k."""
        return self.value(k - 1) - self.value(k)

    def threshold(self) -> int:
        """An estimate of J, the index of the largest F_J, by bisection on signs of midpoints."""
        middle = round(float(self._mean.mid()) + self._drift)
        middle = min(max(middle, self._least), self._most)
        low, high, reach = middle, middle, 1
        while low > self._least and float(self.step(low).mid()) > 0.0:
            low, reach = max(low - reach, self._least), 2 * reach
        reach = 1
        while high < self._most and float(self.step(high + 1).mid()) < 0.0:
            high, reach = min(high + reach, self._most), 2 * reach
        while low < high:
            at = (low + high) // 2
            # The first j with h_(j+1) >= 0.
            if float(self.step(at + 1).mid()) >= 0.0:
                high = at
            else:
                low = at + 1
        return low

    def largest(self, j: int) -> tuple[arb, arb] | None:
        """D = F_t + sum_(l < k <= t) (h_k)_+ with h_l < 0 and h_(t+1) > 0 for certain, or None."""
        l_end, t = j, j
        for _ in range(_STEPS):
            if l_end <= self._least or self.step(l_end) < 0:
                break
            l_end -= 1
        else:
            return None
        for _ in range(_STEPS):
            if t >= self._most or self.step(t + 1) > 0:
                break
            t += 1
        else:
            return None
        whole = self.value(t)
        for k in range(l_end + 1, t + 1):
            whole += self.step(k).nonnegative_part()
        return whole, whole
