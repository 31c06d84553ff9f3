"""The privacy curve of N(0, 1) against N(mu, 1) in balls, and the mu whose curve meets a point."""

from __future__ import annotations

import math
from collections.abc import Callable

from shuffledp.arithmetic.balls import arb, ctx
from shuffledp.arithmetic.intervals import LogInterval
from shuffledp.bounds.local import delta_gaussian
from shuffledp.bounds.pairs import End
from shuffledp.propose.solve import bisected
from shuffledp.rounds.total import logs

# Precisions in bits, tried until a value has `_WANTED` accurate bits. The difference of two tails
# loses as many digits as mu has leading zeros, and arguments of erfc twice as many as eps/mu has
# digits.
_BITS, _WANTED = (96, 192, 384, 1024, 4096), 44


def enclosed(value: Callable[[], arb]) -> LogInterval:
    """Floats around the logarithm of a probability, computed at increasing precision."""
    found = arb(0)
    for bits in _BITS:
        with ctx.workprec(bits):
            found = value()
            if found.is_zero() or found.rel_accuracy_bits() >= _WANTED:
                break
    with ctx.workprec(_BITS[0]):
        return logs(found.lower(), arb.min(found, arb(1)).upper())


def log_delta_gaussian(mu: float, epsilon: float) -> LogInterval:
    """Certified log delta of the Gaussian mechanism with mu = sensitivity/sigma, eps >= 0."""
    return enclosed(lambda: delta_gaussian(arb(mu), arb(epsilon)))


class GaussianCurve:
    """Gaussian noise on a sum that holds an example with probability q: a source of values.

    This is H_a of P = (1 - q) N(0, 1) + q N(mu, 1) and Q = N(0, 1), a = e^eps. With delta_mu the
    curve of the Gaussian mechanism:

        H_a(P || Q) = q delta_mu(log(1 + (a - 1)/q)),
        H_a(Q || P) = c delta_mu(log(a q/c)),  c = 1 - a (1 - q), and 0 where c <= 0.

    (docs/theory-batches.md, Lemma 2.1.)

    Parameters
    ----------
    sensitivity, sigma : float
        mu is their exact quotient.
    rate : float
        q, 0 < q <= 1; 1 for a sum that always holds it.
    added : bool
        True for H_a(Q || P), the effect of adding the example.
    """

    def __init__(
        self, sensitivity: float, sigma: float = 1.0, *, rate: float = 1.0, added: bool = False
    ) -> None:
        self.sensitivity, self.sigma, self.rate, self.added = sensitivity, sigma, rate, added

    def log_delta(self, epsilon: float, *, width: float = 1.0, end: End = "both") -> LogInterval:
        """Certified bracket of log delta, about 1e-13 wide."""
        del width, end
        return enclosed(lambda: self._value(epsilon))

    def _value(self, epsilon: float) -> arb:
        mu, q, eps = arb(self.sensitivity) / arb(self.sigma), arb(self.rate), arb(epsilon)
        if self.rate == 1.0:
            return delta_gaussian(mu, eps)
        if not self.added:
            return q * delta_gaussian(mu, (eps.expm1() / q).log1p())
        c = q - eps.expm1() * (1 - q)
        if c <= 0:
            return arb(0)
        if not c > 0:
            # c may be 0; use delta_mu <= 1.
            return arb.max(c, arb(0)).union(arb(0))
        return c * delta_gaussian(mu, eps + (q / c).log())

    def rough_log_delta(self, epsilon: float) -> float:
        """The upper end of the certified bracket."""
        return self.log_delta(epsilon).high

    def log_floor(self) -> float:
        """-inf: delta falls to 0."""
        return -math.inf


def mu_through(epsilon: float, log_delta: float) -> float:
    """An estimate of the mu with log delta_mu(eps) = log_delta."""
    if log_delta == -math.inf:
        return 0.0
    _, high = bisected(
        lambda x: log_delta_gaussian(math.exp(x), epsilon).high < log_delta, -60.0, 5.0, near=1e-13
    )
    return math.exp(high)


__all__ = ["GaussianCurve", "enclosed", "log_delta_gaussian", "mu_through"]
