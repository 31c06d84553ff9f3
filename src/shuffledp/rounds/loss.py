"""The law of the privacy loss under P: finitely many losses and a mass at infinity."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shuffledp.errors import rejected
from shuffledp.values.described import ByContent

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class LossLaw(ByContent):
    """P-masses of the losses log(P/Q); losses and masses are exactly the floats given.

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
        P-mass of outputs that Q cannot produce.
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

    def same_as(self, other: LossLaw) -> bool:
        """Whether both laws have equal numbers."""
        return (
            self.infinite == other.infinite
            and np.array_equal(self.loss, other.loss)
            and np.array_equal(self.mass, other.mass)
        )


class LossPair(NamedTuple):
    """The loss of P against Q under P, and that of Q against P under Q."""

    forward: LossLaw
    backward: LossLaw

    @property
    def symmetric(self) -> bool:
        """Whether both directions are the same law."""
        return self.forward is self.backward or self.forward.same_as(self.backward)


_NOTHING = LossLaw(np.zeros(1), np.ones(1))
# A pair whose curves are below all others.
NO_LOSS = LossPair(_NOTHING, _NOTHING)
