"""Transforms of the integer noise that an aggregator adds to a sum, in balls.

L(z) = E z^Z. For P(Z = z) proportional to e^(-|z|/t), with r = e^(-1/t),

    L(z) = (1 - r)^2/((1 - r z)(1 - r/z)),    r < |z| < 1/r,

and for P(Z = z) proportional to e^(-z^2/(2 t^2)), L is a quotient of theta functions: with
tau = i/(2 pi t^2), L(z) = theta_3(log z/(2 pi i), tau)/theta_3(0, tau).
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from shuffledp.arithmetic.balls import acb, arb, ctx

__all__ = ["NoiseLaw"]


class NoiseLaw(NamedTuple):
    """Discrete Laplace or discrete Gaussian noise.

    Attributes
    ----------
    kind : {"discrete-laplace", "discrete-gaussian"}
        The kind of noise.
    scale : float
        t, exactly this float.
    """

    kind: Literal["discrete-laplace", "discrete-gaussian"]
    scale: float

    @property
    def variance(self) -> float:
        """An estimate of the variance."""
        return (2.0 if self.kind == "discrete-laplace" else 1.0) * self.scale * self.scale

    @property
    def decay(self) -> arb:
        """r = e^(-1/t) of Laplace noise."""
        return (-1 / arb(self.scale)).exp()

    def ratio(self, z: acb, rho: arb) -> acb:
        """L(z)/L(rho)."""
        if self.kind == "discrete-laplace":
            r = self.decay
            return acb((1 - r * rho) * (1 - r / rho)) / ((1 - r * z) * (1 - r / z))
        return self._theta(z.log()) / self._theta(acb(rho.log()))

    def log_mean(self, z: arb) -> arb:
        """log L(z) for z > 0; an infinite ball where L(z) is infinite."""
        if self.kind == "discrete-laplace":
            r = self.decay
            first, second = 1 - r * z, 1 - r / z
            if not (first > 0 and second > 0):
                return arb.pos_inf()
            return 2 * (1 - r).log() - first.log() - second.log()
        return (self._theta(acb(z.log())).real / self._theta(acb(0)).real).log()

    def tilted_mean(self, rho: arb) -> arb:
        """rho L'(rho)/L(rho), between slopes of two chords of the convex log L(e^t)."""
        step = arb(2) ** (-ctx.prec // 3)
        up, down = step.exp(), (-step).exp()
        here = self.log_mean(rho)
        below = (here - self.log_mean(rho * down)) / step
        above = (self.log_mean(rho * up) - here) / step
        return below.union(above)

    def _theta(self, log: acb) -> acb:
        """sum_k e^(-k^2/(2 t^2)) z^k."""
        tau = acb(0, 1 / (2 * arb.pi() * arb(self.scale) * arb(self.scale)))
        found: acb = acb.modular_theta(log / acb(0, 2 * arb.pi()), tau)[2]
        return found

    def alone(self, alpha: arb, b: arb) -> arb:
        """max_j alpha P(Z = j) - b P(Z > j) for Laplace noise: its value at j = 0, or 0."""
        r = self.decay
        return ((alpha * (1 - r) - b * r) / (1 + r)).nonnegative_part()

    def guarantee(self, low: arb, high: arb) -> arb:
        """Pure guarantee of a noisy sum with one bit of these P(1), low < high; infinite if none.

        The larger of log (1 + p x)/(1 + q x), with p = high, q = low and x = 1/r - 1, and the same
        with 1 - q for p and 1 - p for q (docs/theory-sums.md, Lemma 6.3).
        """
        if self.kind != "discrete-laplace":
            return arb.pos_inf()
        x = (1 / arb(self.scale)).expm1()
        first = ((1 + high * x) / (1 + low * x)).log()
        second = ((1 + (1 - low) * x) / (1 + (1 - high) * x)).log()
        return arb.max(first, second)
