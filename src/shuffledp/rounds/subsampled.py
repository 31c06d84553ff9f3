"""The privacy curves of Gaussian noise on a sum that holds one example with probability q."""

from __future__ import annotations

import math

from shuffledp.arithmetic.balls import arb
from shuffledp.arithmetic.intervals import LogInterval
from shuffledp.rounds.gaussian import delta_gaussian, enclosed

# e^eps stays a float; nobody asks for more.
_LARGEST_EPSILON = 700.0


class SubsampledGaussianCurve:
    """H_a of P = (1 - q) N(0, 1) + q N(mu, 1) and Q = N(0, 1), a = e^eps, eps >= 0.

    With delta_mu the curve of the Gaussian mechanism:

        H_a(P || Q) = q delta_mu(log(1 + (a - 1)/q)),
        H_a(Q || P) = c delta_mu(log(a q/c)),  c = 1 - a (1 - q), and 0 where c <= 0.

    (docs/theory-batches.md, Lemma 2.1.)

    Parameters
    ----------
    q : float
        Probability that the example is in the sum, 0 < q <= 1.
    mu : float
        Sensitivity over standard deviation of the noise, > 0.
    added : bool
        True for H_a(Q || P): what adding the example shows.
    """

    def __init__(self, q: float, mu: float, *, added: bool) -> None:
        self.q, self.mu, self.added = q, mu, added

    def log_delta(self, epsilon: float, *, width: float = 1.0) -> LogInterval:
        """Certified bracket, some 1e-13 wide."""
        del width
        if epsilon > _LARGEST_EPSILON:
            # Delta only falls in eps.
            return LogInterval(-math.inf, self.log_delta(_LARGEST_EPSILON).high)
        return enclosed(lambda: self._value(epsilon))

    def _value(self, epsilon: float) -> arb:
        q, mu, eps = arb(self.q), arb(self.mu), arb(epsilon)
        if not self.added:
            return q * delta_gaussian(mu, (eps.expm1() / q).log1p())
        c = q - eps.expm1() * (1 - q)
        if c <= 0:
            return arb(0)
        if not c > 0:
            # delta_mu <= 1.
            return arb.max(c, arb(0)).union(arb(0))
        return c * delta_gaussian(mu, eps + (q / c).log())

    def rough_log_delta(self, epsilon: float) -> float:
        """The upper end."""
        return self.log_delta(epsilon).high

    def log_floor(self) -> float:
        """delta falls to 0."""
        return -math.inf


__all__ = ["SubsampledGaussianCurve"]
