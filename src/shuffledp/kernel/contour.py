"""The contour of a sum: its free numbers, and the transforms of the two smoothed payoffs on it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from shuffledp.arithmetic.balls import arb
from shuffledp.errors import ParameterError

__all__ = ["Contour", "Kernel"]


@dataclass(frozen=True)
class Contour:
    """The line Re s = alpha and its discretisation: any positive floats give valid ends.

    Attributes
    ----------
    alpha : tilt, in units of 1/gain.
    smoothing : h, the standard deviation of the normal variable that smooths the payoff's kink.
    period : L; nodes are 2 pi/L apart, and the sum is periodic with this period.
    tolerance : about how much may be bounded instead of summed, as a share of
        E e^(alpha(S - shift)).
    below, above : tilts that bound the aliases of the lower end, 0 < below < alpha < above.
    """

    alpha: float
    smoothing: float
    period: float
    tolerance: float
    below: float
    above: float

    def __post_init__(self) -> None:
        numbers = (self.alpha, self.smoothing, self.period, self.tolerance, self.above)
        if not all(0.0 < x < math.inf for x in numbers) or not (
            0.0 < self.below < self.alpha < self.above
        ):
            raise ParameterError(f"{self}: wanted positive numbers, below < alpha < above")


class Kernel:
    """The weight of a node: transforms of the smoothed payoffs on Re s = alpha.

    With kappa(s) = s (s + gap) and c = e^(gap h^2/8), the smoothed payoff above f has the transform
    e^(h^2 kappa(s)/2)/kappa(s). The one below f has (1 - c h^2 kappa(s)) times that (theory.md,
    Lemma 6.3).
    """

    def __init__(self, contour: Contour, gap: int) -> None:
        self.gap, self.alpha, self.h = gap, arb(contour.alpha), arb(contour.smoothing)
        self.h2 = self.h * self.h
        self.kappa = self.alpha * (self.alpha + gap)
        self.bend = (gap * self.h2 / 8).exp() * self.h2  # c h^2

    def envelope(self, t: arb) -> arb:
        """Upper bound of both payoffs' transforms at alpha + it, decreasing in t > 0."""
        a2, b2 = self.alpha * self.alpha, (self.alpha + self.gap) * (self.alpha + self.gap)
        inverse = 1 / ((a2 + t * t) * (b2 + t * t)).sqrt()
        return (self.h2 * (self.kappa - t * t) / 2).exp() * (inverse + self.bend)

    def beyond(self, t: arb, step: arb) -> arb:
        """Bound of (step/pi) sum of the envelope over nodes >= t (theory.md, Theorem 6.4.3)."""
        return self.envelope(t) * (1 / (self.h2 * t) + step) / arb.pi()

    def peak(self, tilt: arb) -> arb:
        """C(b) = sup of f(y) e^(-b y): 1/(e b), or b^b/(1 + b)^(1 + b) for gap 1."""
        if self.gap == 0:
            return 1 / (arb(1).exp() * tilt)
        return (tilt * tilt.log() - (1 + tilt) * (1 + tilt).log()).exp()
