"""Noise that an aggregator adds to a sum: on the integers, symmetric and log-concave."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from shuffledp import _check
from shuffledp._check import exact
from shuffledp.bounds.integer_noise import NoiseLaw
from shuffledp.statements import Sentence, say

__all__ = ["KINDS", "LARGEST_SCALE", "SMALLEST_SCALE", "AddedNoise"]

Kind = Literal["discrete-laplace", "discrete-gaussian"]
KINDS: tuple[Kind, ...] = ("discrete-laplace", "discrete-gaussian")
# Less is next to no noise; more is wider than sums of millions of reports are.
SMALLEST_SCALE, LARGEST_SCALE = 0.05, 2000.0


@dataclass(frozen=True, kw_only=True)
class AddedNoise:
    """Noise Z, an integer, that an aggregator adds to the sum of every coordinate.

    P(Z = z) is proportional to e^(-|z|/scale) ("discrete-laplace") or to
    e^(-z^2/(2 scale^2)) ("discrete-gaussian"); each coordinate's and each round's is its own.

    Parameters
    ----------
    kind : {"discrete-laplace", "discrete-gaussian"}
        Which law.
    scale : float
        In units of the sums (reports): 0.05 to 2,000.

    Examples
    --------
    >>> import shuffledp as sd
    >>> sd.AddedNoise(kind="discrete-laplace", scale=2.0).guarantee
    0.5
    """

    kind: Kind
    scale: float

    def __post_init__(self) -> None:
        _check.choice("added.kind", self.kind, KINDS)
        scale = _check.real("added.scale", self.scale, low=SMALLEST_SCALE, high=LARGEST_SCALE)
        object.__setattr__(self, "scale", scale)

    @property
    def guarantee(self) -> float:
        """Pure guarantee in nats where a sum moves by one, about; inf if there is none."""
        return 1.0 / self.scale if self.kind == "discrete-laplace" else math.inf

    @property
    def words(self) -> Sentence:
        """The law and who adds it, for a reader."""
        law = (
            f"exp(-|z|/{exact(self.scale)})"
            if self.kind == "discrete-laplace"
            else f"exp(-z^2/(2*{exact(self.scale)}^2))"
        )
        name = "Laplace" if self.kind == "discrete-laplace" else "Gaussian"
        return say("added-noise", name, law)

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form."""
        return {"kind": self.kind, "scale": self.scale}

    @property
    def law(self) -> NoiseLaw:
        """Its law in balls."""
        return NoiseLaw(self.kind, self.scale)
