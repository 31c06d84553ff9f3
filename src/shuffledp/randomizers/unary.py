"""Unary encodings: RAPPOR (symmetric) and OUE (optimized)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from shuffledp import _check
from shuffledp.randomizers.base import DEFAULT_CELLS, Randomizer, WorstPairs
from shuffledp.randomizers.discrete import independent_hits, third_inputs
from shuffledp.randomizers.law import JointLaw
from shuffledp.theorems import SYMMETRIC_PAIRS


@dataclass(frozen=True, kw_only=True)
class RAPPOR(Randomizer):
    """Symmetric unary encoding: x as a one-hot vector, each bit flipped w.p. 1/(e^{eps0/2} + 1).

    With w = e^{eps0/2} and R_0 the law of the noise bits alone, R_x(y) = R_0(y) w^{+1 if y_x else
    -1}. Blanket: R_0/w, but w R_0 on the all-ones output.

    Parameters
    ----------
    d : int
        Domain size (bits in a report), 2 <= d <= 1e9.
    eps0 : float
        Local privacy of the whole report in nats, 0 < eps0 <= 300.

    Notes
    -----
    Erlingsson, Pihur, Korolova 2014 (one-time basic RAPPOR); blanket exact for finite d.
    """

    name: ClassVar[str] = "rappor"
    summary: ClassVar[str] = "symmetric unary encoding (one-time RAPPOR)"
    d: int
    eps0: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "d", _check.count("d", self.d, low=2, high=_check.LARGEST_DOMAIN))
        object.__setattr__(self, "eps0", _check.local_epsilon("eps0", self.eps0))

    def law(self, inputs: tuple[Any, ...], *, cells: int = DEFAULT_CELLS) -> JointLaw:
        """Classes: the bits at the inputs, and whether all other bits are ones."""
        del cells
        half = 0.5 * self.eps0
        log_one = -half - math.log1p(math.exp(-half))
        log_zero = -math.log1p(math.exp(-half))
        return independent_hits(
            inputs, self.d, log_hit=log_one, log_miss=log_zero, log_base=(-half, half)
        )

    def worst_pairs(self) -> WorstPairs:
        """(0, 1): all pairs are alike, in both directions."""
        return WorstPairs(((0, 1),), SYMMETRIC_PAIRS)

    def datasets(self) -> tuple[tuple[Any, Any, Any], ...]:
        """All others hold x0, x1 or a third value: by symmetry there is no other case."""
        return third_inputs(self.d)


@dataclass(frozen=True, kw_only=True)
class OUE(Randomizer):
    """Optimized unary encoding: own bit is 1 w.p. 1/2, every other bit w.p. 1/(e^eps0 + 1).

    With R_0 the law of bits that are all 1 w.p. 1/(e^eps0 + 1), R_x(y) = R_0(y) (e^eps0 + 1)/2 if
    y_x = 1, R_0(y) (1 + e^-eps0)/2 if y_x = 0. The blanket is the latter, but the former on the
    all-ones output.

    Parameters
    ----------
    d : int
        Domain size (bits in a report), 2 <= d <= 1e9.
    eps0 : float
        Local privacy in nats, 0 < eps0 <= 300.

    Notes
    -----
    Wang, Blocki, Li, Jha 2017.
    """

    name: ClassVar[str] = "oue"
    summary: ClassVar[str] = "optimized unary encoding"
    d: int
    eps0: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "d", _check.count("d", self.d, low=2, high=_check.LARGEST_DOMAIN))
        object.__setattr__(self, "eps0", _check.local_epsilon("eps0", self.eps0))

    def law(self, inputs: tuple[Any, ...], *, cells: int = DEFAULT_CELLS) -> JointLaw:
        """Classes: the bits at the inputs, and whether all other bits are ones."""
        del cells
        small = math.exp(-self.eps0)
        log_zero = -math.log1p(small)
        log_one = -self.eps0 + log_zero
        low = -log_zero - math.log(2.0)
        return independent_hits(
            inputs, self.d, log_hit=log_one, log_miss=log_zero, log_base=(low, low + self.eps0)
        )

    def worst_pairs(self) -> WorstPairs:
        """(0, 1): all pairs are alike, in both directions."""
        return WorstPairs(((0, 1),), SYMMETRIC_PAIRS)

    def datasets(self) -> tuple[tuple[Any, Any, Any], ...]:
        """All others hold x0, x1 or a third value: by symmetry there is no other case."""
        return third_inputs(self.d)
