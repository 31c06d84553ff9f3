"""What a contour needs to know of the law of S."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from shuffledp.contour.payoff import Payoff
from shuffledp.contour.stop import Stop
from shuffledp.numerics.elementary import Complex
from shuffledp.pair import Array


class Nodes(NamedTuple):
    """E e^{sS} at s = alpha + it on a block of nodes, in units of the scale.

    Attributes
    ----------
    first : bool
        Whether the block begins with t = 0.
    t : ndarray
        Nodes; >= 0 where they are inside.
    inside : ndarray of bool
        False for nodes below 0 and past the last one asked for, which are left out.
    value, err : ndarray
        The transform and a bound on its error; its modulus is nowhere above its value at t = 0.
    left_out : float
        Bound of the sum of moduli over nodes that no block holds; each block's adds to the others'.
    """

    first: bool
    t: Array
    inside: npt.NDArray[np.bool_]
    value: Complex
    err: Array
    left_out: float = 0.0


class Transform(Protocol):
    """E e^{sS} relative to e^log_scale, about its size at the real point alpha > 0."""

    @property
    def alpha(self) -> float:
        """Where the contour crosses the real axis."""
        ...

    @property
    def log_scale(self) -> float:
        """Log of the unit."""
        ...

    @property
    def scale_error(self) -> float:
        """By how much the true unit's log may be off ``log_scale``."""
        ...

    @property
    def highest(self) -> float:
        """S is never above."""
        ...

    @property
    def size(self) -> int:
        """How many atoms are summed up at a node."""
        ...

    @property
    def must_stop(self) -> bool:
        """Whether a contour on which no early stop is found is more than is worth while."""
        ...

    def log_growth(self, b: float) -> float:
        """Upper bound of log E e^{bS} less the scale's; inf where there is none."""
        ...

    def nodes(self, step: float, count: int) -> Iterator[Nodes]:
        """The transform at t = 0, step, ..., count * step, block by block.

        Nodes may be left out, where the blocks bound what they come to.
        """
        ...

    def early_stop(
        self, payoff: Payoff, *, smoothing: float, step: float, log_guard: float
    ) -> Stop | None:
        """From where on all nodes together are certified to be below about e^-log_guard."""
        ...
