"""LossLaw: the law of the privacy loss under P, as finitely many losses and a mass at infinity."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from shuffledp.errors import rejected
from shuffledp.pair import UNIT_ROUNDOFF, Array
from shuffledp.values.described import ByContent

U = UNIT_ROUNDOFF


@dataclass(frozen=True, eq=False, repr=False)
class LossLaw(ByContent):
    """P-masses of the losses log(P/Q), exact as the floats they are.

    The hockey-stick curve is h(a) = infinite + sum mass (1 - a e^-loss)_+, a >= 0. Masses need not
    sum to one: a law whose curve is above another's at every a stays above it under composition
    (docs/theory-composition.md, section 1).

    Attributes
    ----------
    loss : ndarray, shape (K,)
        Finite losses in nats, increasing.
    mass : ndarray, shape (K,)
        Their P-masses, > 0.
    infinite : float
        P-mass of outputs that Q cannot give.
    """

    loss: Array
    mass: Array
    infinite: float = 0.0

    def __post_init__(self) -> None:
        if self.loss.ndim != 1 or self.loss.shape != self.mass.shape:
            raise rejected("mass", self.mass.shape, f"the shape of loss, {self.loss.shape}")
        if not (np.all(np.isfinite(self.loss)) and np.all(np.diff(self.loss) > 0.0)):
            raise rejected("loss", self.loss, "finite losses in increasing order")
        if not (np.all(np.isfinite(self.mass)) and np.all(self.mass > 0.0)):
            raise rejected("mass", self.mass, "finite masses > 0")
        if not 0.0 <= self.infinite <= 1.0 + 1e-9:
            raise rejected("infinite", self.infinite, "a mass in [0, 1]")

    @property
    def highest(self) -> float:
        """The largest finite loss; -inf if there is none."""
        return float(self.loss[-1]) if self.loss.size else -math.inf

    def total(self) -> tuple[float, float]:
        """Sum of the finite masses, from below and from above."""
        total = math.fsum(self.mass)
        return total * (1.0 - 2 * U), total * (1.0 + 2 * U)

    def same_as(self, other: LossLaw) -> bool:
        """Whether both are one law, number by number."""
        return (
            self.infinite == other.infinite
            and np.array_equal(self.loss, other.loss)
            and np.array_equal(self.mass, other.mass)
        )


class LossPair(NamedTuple):
    """The loss of P against Q under P, and that of Q against P under Q."""

    forward: LossLaw
    backward: LossLaw

    def swap(self) -> LossPair:
        """The other direction."""
        return LossPair(self.backward, self.forward)

    @property
    def symmetric(self) -> bool:
        """Whether both directions are the same law."""
        return self.forward is self.backward or self.forward.same_as(self.backward)


def constant_loss(mass: float = 1.0) -> LossLaw:
    """No loss at all."""
    return LossLaw(np.zeros(1), np.array([mass]))


NO_LOSS = LossPair(constant_loss(1.0 - 8 * U), constant_loss(1.0 - 8 * U))
