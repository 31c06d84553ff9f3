"""Tails of the difference of two laws on the integers, by a sum over points of a circle.

W is the number of ones, plus noise. A of the bits are 1 with probability p, B with q < p; c more
bits belong to the users who change: p under the law P, q under the law Q. With a = e^eps,

    F_j = P(W > j) - a Q(W > j),    sum_j F_j z^j = X(z) G(z)/(z - 1)    (|z| > 1),

    X(z) = (1 - p + p z)^c - a (1 - q + q z)^c,    G(z) = (1-p+p z)^A (1-q+q z)^B L(z)^t,

where L(z) = E z^Z for each of t noises. The mean over the M points z_i = rho e^(i pi (2i+1)/M)
gives F_j and its aliases (docs/theory-binary.md, Theorem 4.1). The aliases from below add up to
known numbers except for a tail, and all tails are bounded by Chernoff's inequality at two other
radii. Each factor of |G(z)| decreases along the half circle, and |z - 1| increases: the terms of
points after the last one summed are bounded by their value at that point.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from shuffledp.arithmetic.balls import acb, arb
from shuffledp.bounds.integer_noise import NoiseLaw
from shuffledp.errors import NotCertified

__all__ = ["Chances", "Circle", "Difference", "Plan", "Point"]


class Plan(NamedTuple):
    """M points, of which ``points`` on the upper half circle are summed.

    ``up`` and ``down``: logs of the ratios of Chernoff's two radii to rho.
    """

    size: int
    points: int
    up: float
    down: float


class Chances(NamedTuple):
    """P(0) and P(1) of one bit."""

    rest: arb
    share: arb


class Difference(NamedTuple):
    """P - a Q of the changed bits, and the noise.

    Attributes
    ----------
    high, low : Chances
        The laws of the bits with the larger, and with the smaller, probability of a 1.
    grow : arb
        a = e^eps.
    noise : NoiseLaw or None
        The noise added, ``times`` times independently.
    changed : int
        c, the number of changed bits.
    """

    high: Chances
    low: Chances
    grow: arb
    noise: NoiseLaw | None = None
    times: int = 1
    changed: int = 1

    def numerator(self, z: acb) -> acb:
        """X(z)."""
        first = self.high.rest + self.high.share * z
        second = self.low.rest + self.low.share * z
        if self.changed == 1:
            return first - self.grow * second
        return first**self.changed - self.grow * second**self.changed

    def both(self, z: arb) -> arb:
        """P(z) + a Q(z) of the changed bits; it bounds |X| on the circle of radius z."""
        first = self.high.rest + self.high.share * z
        second = self.low.rest + self.low.share * z
        return first**self.changed + self.grow * second**self.changed

    def log_factors(self, z: arb) -> tuple[arb, arb, arb]:
        """Logs of the factors of G(z) for z > 0: one for each kind of bit, one for all noise."""
        first = (self.high.rest + self.high.share * z).log()
        second = (self.low.rest + self.low.share * z).log()
        noise = arb(0) if self.noise is None else self.times * self.noise.log_mean(z)
        return first, second, noise


class Point(NamedTuple):
    """A point z of the circle: angle, X(z)/(z-1) (L(z)/L(rho))^t, logs of the two bits' factors.

    Each log is centred: log of the factor at z over that at rho, less i (tilted share) (angle).
    """

    angle: arb
    rest: acb
    high: acb
    low: acb


class Circle:
    """M points on a circle of radius rho.

    Parameters
    ----------
    difference : Difference
        The difference whose tails are summed.
    rho : arb
        The radius, at least 1.
    size : int
        M, an even number.
    """

    def __init__(self, difference: Difference, rho: arb, size: int) -> None:
        if size < 2 or size % 2 or not rho >= 1:
            raise NotCertified(f"one-bit reports: {size} points of a circle of radius {rho}")
        self.difference, self.rho, self.size = difference, rho, size
        self.log_rho = rho.log()
        self.logs = difference.log_factors(rho)
        self.shares = tuple(
            bit.share * rho / (bit.rest + bit.share * rho)
            for bit in (difference.high, difference.low)
        )
        self.points: list[Point] = []
        self._weights: dict[tuple[int, int, int], list[acb]] = {}

    def upto(self, count: int) -> list[Point]:
        """The first ``count`` points of the upper half circle, from the positive real axis."""
        if not 1 <= count <= self.size // 2:
            raise NotCertified(f"one-bit reports: {count} points of half a circle of {self.size}")
        while len(self.points) < count:
            self.points.append(self._point(len(self.points)))
        return self.points[:count]

    def _point(self, i: int) -> Point:
        asked = self.difference
        turn = acb(arb(2 * i + 1) / self.size).exp_pi_i()
        z, angle = self.rho * turn, arb.pi() * (2 * i + 1) / self.size
        logs = []
        for bit, share in zip((asked.high, asked.low), self.shares, strict=True):
            factor = (bit.rest + bit.share * z) / (bit.rest + bit.share * self.rho)
            logs.append(factor.log() - acb(0, share * angle))
        rest = asked.numerator(z) / (z - 1)
        if asked.noise is not None:
            rest *= asked.noise.ratio(z, self.rho) ** asked.times
        return Point(angle, rest, *logs)

    def weights(self, high: int, low: int, count: int) -> list[acb]:
        """X(z) G(z)/((z - 1) G(rho)) at the first points, turned back by the bits' tilted mean."""
        key = (high, low, count)
        if key not in self._weights:
            self._weights[key] = [
                point.rest * (high * point.high + low * point.low).exp()
                for point in self.upto(count)
            ]
        return self._weights[key]

    def mean(self, high: int, low: int) -> arb:
        """Tilted mean of the number of ones."""
        return high * self.shares[0] + low * self.shares[1]

    def level(self, high: int, low: int) -> arb:
        """log of G(rho) rho^-mean."""
        first, second, noise = self.logs
        return high * first + low * second + noise - self.mean(high, low) * self.log_rho

    def beyond(self, high: int, low: int, count: int) -> arb:
        """Upper bound of the terms of all points not summed, over G(rho) rho^-j."""
        if 2 * count >= self.size:
            return arb(0)
        last, asked = self.upto(count)[-1], self.difference
        turn = acb(0, last.angle).exp()
        size = (high * last.high.real + low * last.low.real).exp()
        if asked.noise is not None:
            size *= abs(asked.noise.ratio(self.rho * turn, self.rho)) ** asked.times
        return asked.both(self.rho) * size / abs(self.rho * turn - 1)

    def aliases(self, high: int, low: int, plan: Plan) -> Callable[[arb], arb]:
        """j - mean -> upper bound of the tails of F_(j + l M), l not 0, over G(rho) rho^-j.

        For k > 0 |F_k| <= (P + a Q)(W > k) <= E lambda^(W - k), lambda > rho; for k < 0
        |F_k - 1 + a| <= (P + a Q)(W <= k) <= E lambda^(W - k), lambda <= 1.
        """
        asked, found = self.difference, []
        if not (plan.up > 0.0 and plan.down > 0.0):
            raise NotCertified("one-bit reports: wanted a bound of aliases on either side")
        mean = self.mean(high, low)
        for step in (arb(plan.up), -arb(plan.down)):
            radius = self.rho * step.exp()
            if step < 0 and not radius <= 1:
                raise NotCertified("one-bit reports: no bound of aliases")
            moved = asked.log_factors(radius)
            log = sum(
                (
                    count * (there - here)
                    for count, there, here in zip((high, low, 1), moved, self.logs, strict=True)
                ),
                arb(0),
            )
            share = (-abs(step) * self.size).exp()
            found.append((step, log - step * mean, asked.both(radius) * share / (1 - share)))
        return lambda s: sum((c * (log - step * s).exp() for step, log, c in found), arb(0))

    def total(self) -> arb:
        """Sum of the aliases from below without their tails: (1 - a) x/(1 + x).

        x = rho^-M; F_k is 1 - a for k far below, with alternating signs.
        """
        x = (-self.size * self.log_rho).exp()
        return (1 - self.difference.grow) * x / (1 + x)
