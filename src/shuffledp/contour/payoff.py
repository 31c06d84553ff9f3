"""Payoffs: f with E f(S) = (1/2 pi i) int E e^{sS}/kappa(s) ds on the line Re s = alpha."""

from __future__ import annotations

import math
from typing import NamedTuple


class Payoff(NamedTuple):
    """f(y) = y_+ (gap 0) or f(y) = (1 - e^-y)_+ (gap 1), with kappa(s) = s (s + gap).

    Smoothing S by a normal Z, h Z - gap h^2/2, multiplies E e^{sS} by e^{h^2 kappa(s)/2} and can
    only enlarge E f, as f is convex in y, or in e^y; the same times 1 - c h^2 kappa(s), with
    c = e^{gap h^2/8}, can only lower it (docs/theory.md, section 6; docs/theory-composition.md,
    section 3).

    Attributes
    ----------
    gap : float
        0 or 1.
    """

    gap: float

    def kappa(self, alpha: float) -> float:
        """kappa on the real axis, alpha (alpha + gap)."""
        return alpha * (alpha + self.gap)

    def scale(self, alpha: float) -> float:
        """The root of kappa(alpha): a smoothing of c/scale costs a factor of about e^{c^2/2}."""
        return math.sqrt(self.kappa(alpha))

    def log_peak(self, b: float) -> float:
        """log of sup over y of f(y) e^{-b y}: 1/(e b), or b^b/(1 + b)^{1 + b}.

        With it E f(S + x) <= e^{log_peak(b) + b x} E e^{bS}, for every b > 0 and, for gap 1, b = 0.
        """
        if self.gap == 0.0:
            return -1.0 - math.log(b) if b > 0.0 else math.inf
        if b > 1.0:
            # b log b and (1 + b) log(1 + b) would cancel.
            return -b * math.log1p(1.0 / b) - math.log1p(b)
        return (b * math.log(b) if b > 0.0 else 0.0) - (1.0 + b) * math.log1p(b)

    def modulus(self, alpha: float, t: float) -> float:
        """1/|kappa(alpha + it')|, largest on t' >= t at t itself."""
        return 1.0 / (math.hypot(alpha, t) * math.hypot(alpha + self.gap, t))

    def bend(self, h: float) -> float:
        """c = e^{gap h^2/8}; the lower integrand is the upper one times 1 - c h^2 kappa(s)."""
        return math.exp(0.125 * self.gap * h * h)

    def lowering(self, h: float) -> float:
        """c h^2."""
        return h * h * self.bend(h)

    @property
    def widest(self) -> float:
        """The widest smoothing h of which c is a float; any is valid."""
        return 60.0 if self.gap else math.inf


ONE_ROUND = Payoff(0.0)
ROUNDS = Payoff(1.0)
