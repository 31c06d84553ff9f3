"""The hockey-stick curves of Gaussian noise on a sum that holds one example with probability q."""

from __future__ import annotations

import math

from shuffledp.numerics import LogInterval
from shuffledp.pair import UNIT_ROUNDOFF
from shuffledp.rounds.gaussian import error_of_log, log_delta_gaussian

U = UNIT_ROUNDOFF
# log1p, expm1, log: a few units in the last place each, and as many for what is done with them.
_ROUNDED = 16 * U
# e^eps stays a float; nobody asks for more.
_LARGEST_EPSILON = 700.0
_NOTHING = LogInterval(-math.inf, -math.inf)


class SubsampledGaussianCurve:
    """H_a of P = (1 - q) N(0, 1) + q N(mu, 1) and Q = N(0, 1), a = e^eps, eps >= 0.

    With delta_mu the curve of the Gaussian mechanism (``log_delta_gaussian``):

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
        """Certified bracket, about 1e-9 wide where q is not nearly lost in a - 1."""
        del width
        if epsilon > _LARGEST_EPSILON:
            # Delta only falls in eps.
            return LogInterval(-math.inf, self.log_delta(_LARGEST_EPSILON).high)
        if not self.added:
            inner = math.log1p(math.expm1(epsilon) / self.q)
            slack = _ROUNDED * (1.0 + inner)
            return self._scaled(self.q, self.q, inner - slack, inner + slack)
        # 1 - a (1 - q) = q - (a - 1)(1 - q): no cancellation but that of the two terms.
        grown = math.expm1(epsilon)
        value, doubt = self.q - grown * (1.0 - self.q), _ROUNDED * (self.q + grown)
        low, high = value - doubt, value + doubt
        if high <= 0.0:
            return _NOTHING
        log_aq = epsilon + math.log(self.q)
        slack = _ROUNDED * (1.0 + abs(log_aq) + abs(math.log(high)))
        least = max(log_aq - math.log(high) - slack, 0.0)
        if low <= 0.0:
            return LogInterval(-math.inf, self._scaled(high, high, least, least).high)
        return self._scaled(low, high, least, max(log_aq - math.log(low) + slack, 0.0))

    def rough_log_delta(self, epsilon: float) -> float:
        """The upper end."""
        return self.log_delta(epsilon).high

    def log_floor(self) -> float:
        """delta falls to 0."""
        return -math.inf

    def _scaled(self, low: float, high: float, near: float, far: float) -> LogInterval:
        """log of a factor in [low, high] times delta_mu at an eps in [near, far]."""
        near = max(near, 0.0)
        top = math.log(high) + float(log_delta_gaussian(self.mu, near))
        bottom = math.log(low) + float(log_delta_gaussian(self.mu, far))
        top += float(error_of_log(self.mu, near)) + _ROUNDED * (1.0 + abs(math.log(high)))
        bottom -= float(error_of_log(self.mu, far)) + _ROUNDED * (1.0 + abs(math.log(low)))
        return LogInterval(min(bottom, 0.0), min(top, 0.0))
