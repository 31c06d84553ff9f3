"""Sums of normal noise in ball arithmetic: (P, Q) is N(mu, 1) against N(0, 1)."""

from __future__ import annotations

import math

from shuffledp.arithmetic.balls import arb, ctx, float_above, float_below
from shuffledp.errors import NotCertified, ParameterError

from .outputs import Parameters, positive

__all__ = ["log_delta_normal"]


def log_delta_normal(
    mechanism: Parameters, *, n: int, rounds: int, epsilon: float
) -> tuple[float, float]:
    """Floats below and above log delta of sums of inputs with normal noise, in so many rounds.

    The sum's noise is normal with variance n sigma^2; in T rounds the likelihood ratio is that of
    one with mu = sqrt(T) (high - low)/(sigma sqrt(n)), and with Phi the normal distribution

        delta = Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu).

    Parameters
    ----------
    mechanism : mapping
        Gaussian noise: sigma, low, high.
    n, rounds : int
        Users; rounds.
    epsilon : float
        eps >= 0.
    """
    if not (math.isfinite(epsilon) and epsilon >= 0.0):
        raise ParameterError(f"epsilon = {epsilon!r}: wanted a finite number >= 0")
    bits = 256
    while True:
        with ctx.workprec(bits):
            spread = positive(mechanism, "sigma") * arb(n).sqrt()
            mu = arb(rounds).sqrt() * (arb(mechanism["high"]) - arb(mechanism["low"])) / spread
            if not mu > 0:
                raise ParameterError("low, high: wanted low < high")
            root = arb(2).sqrt()
            # Phi(x) = erfc(-x/sqrt 2)/2
            first = ((arb(epsilon) / mu - mu / 2) / root).erfc()
            second = ((arb(epsilon) / mu + mu / 2) / root).erfc()
            delta = (first - arb(epsilon).exp() * second) / 2
            if delta > 0 and delta.rel_accuracy_bits() > 60:
                return float_below(delta.log()), float_above(delta.log())
        bits *= 2
        if bits > 1 << 16:
            raise NotCertified("gaussian: delta is too small for the verifier")
