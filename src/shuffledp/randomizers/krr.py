"""k-ary randomized response and its binary case."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shuffledp import _check
from shuffledp.randomizers.base import DEFAULT_CELLS, Randomizer, WorstPairs
from shuffledp.randomizers.discrete import distinct, third_inputs
from shuffledp.randomizers.law import JointLaw, without_empty
from shuffledp.theorems import SYMMETRIC_PAIRS, TWO_INPUTS


@dataclass(frozen=True, kw_only=True)
class KRR(Randomizer):
    """k-ary randomized response: R_x(y) = (e^eps0 if y = x else 1) / (e^eps0 + k - 1).

    Blanket: uniform, gamma = k / (e^eps0 + k - 1).

    Parameters
    ----------
    k : int
        Domain size, 2 <= k <= 1e9; inputs and outputs are 0 .. k-1.
    eps0 : float
        Local privacy in nats, 0 < eps0 <= 300.

    Notes
    -----
    Kairouz, Oh, Viswanath 2014; Balle et al. 2019, section 5 (blanket).
    """

    name: ClassVar[str] = "k-rr"
    summary: ClassVar[str] = "k-ary randomized response"
    k: int
    eps0: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", _check.count("k", self.k, low=2, high=_check.LARGEST_DOMAIN))
        object.__setattr__(self, "eps0", _check.local_epsilon("eps0", self.eps0))

    def law(self, inputs: tuple[Any, ...], *, cells: int = DEFAULT_CELLS) -> JointLaw:
        """One class for each distinct input and one for all other outputs."""
        del cells
        return response_law(inputs, self.k, self.eps0)

    def worst_pairs(self) -> WorstPairs:
        """(0, 1): all pairs are alike, in both directions."""
        return WorstPairs(((0, 1),), SYMMETRIC_PAIRS)

    def datasets(self) -> tuple[tuple[Any, Any, Any], ...]:
        """All others hold x0, x1 or a third value: by symmetry there is no other case."""
        return third_inputs(self.k)


@dataclass(frozen=True, kw_only=True)
class BinaryRR(Randomizer):
    """Binary randomized response: the truth with probability e^eps0 / (e^eps0 + 1).

    Parameters
    ----------
    eps0 : float
        Local privacy in nats, 0 < eps0 <= 300.

    Notes
    -----
    Warner 1965.
    """

    name: ClassVar[str] = "binary-rr"
    summary: ClassVar[str] = "binary randomized response (Warner)"
    eps0: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "eps0", _check.local_epsilon("eps0", self.eps0))

    def law(self, inputs: tuple[Any, ...], *, cells: int = DEFAULT_CELLS) -> JointLaw:
        """k-RR with k = 2."""
        del cells
        return response_law(inputs, 2, self.eps0)

    def worst_pairs(self) -> WorstPairs:
        """The one pair there is; both directions have the same law."""
        return WorstPairs(((0, 1),), TWO_INPUTS)

    def datasets(self) -> tuple[tuple[Any, Any, Any], ...]:
        """All others hold x0 or x1."""
        return third_inputs(2)


def response_law(inputs: tuple[Any, ...], k: int, eps0: float) -> JointLaw:
    """Joint law of k-RR: class j < m is the output that equals the j-th distinct input."""
    seen, index = distinct(inputs, k)
    m = len(seen)
    grow = math.exp(eps0)
    unit = 1.0 / (grow + (k - 1))
    mass = np.full((m, m + 1), unit)
    np.fill_diagonal(mass, grow * unit)
    mass[:, m] = (k - m) * unit
    blanket = np.full(m + 1, unit)
    blanket[m] = (k - m) * unit
    return without_empty(mass[index], blanket)
