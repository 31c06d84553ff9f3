"""A tree over 0 .. domain-1: its levels, and consistent estimates."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Tree:
    """Leaves 0 .. domain-1, ``branching`` children a node (fewer at the right edge), no root.

    Attributes
    ----------
    widths : tuple of int
        Leaves under a node of each level, top level first; the last is 1.
    sizes : tuple of int
        Nodes of each level; the first is at least 2.
    """

    domain: int
    branching: int
    widths: tuple[int, ...] = field(init=False)
    sizes: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        widths = [1]
        while widths[-1] * self.branching < self.domain:
            widths.append(widths[-1] * self.branching)
        object.__setattr__(self, "widths", tuple(reversed(widths)))
        object.__setattr__(self, "sizes", tuple(-(-self.domain // w) for w in self.widths))

    def consistent(self, levels: list[Floats], variances: Floats) -> Floats:
        """Leaves of the consistent tree nearest to the estimates (Hay et al. 2010, weighted).

        Least squares with independent errors of the given variance at each level, under the
        constraints that parents are the sums of their children and the top level sums to one.
        """
        gains = _Gains(self, variances)
        z = [level.astype(np.float64) for level in levels]
        for level in range(len(z) - 2, -1, -1):
            below = self._summed(z[level + 1], level)
            z[level] = gains.own[level] * z[level] + gains.below[level] * below
        x = z[0] + gains.part[0] * (1.0 - z[0].sum())
        for level in range(1, len(z)):
            rest = x - self._summed(z[level], level - 1)
            x = z[level] + gains.part[level] * rest[self._parents(level)]
        return x

    def adjoint(self, target: Floats, variances: Floats) -> tuple[list[Floats], float]:
        """Coefficients c and c0 with target . consistent(levels) = c0 + sum_l c_l . levels_l."""
        gains = _Gains(self, variances)
        last = len(self.sizes) - 1
        wanted = target.astype(np.float64)
        of_z: list[Floats] = [np.zeros(0)] * (last + 1)
        for level in range(last, 0, -1):
            moved = self._summed(gains.part[level] * wanted, level - 1)
            of_z[level] = wanted - moved[self._parents(level)]
            wanted = moved
        constant = float((gains.part[0] * wanted).sum())
        of_z[0] = wanted - constant
        found: list[Floats] = []
        for level in range(last + 1):
            if level < last:
                found.append(gains.own[level] * of_z[level])
                passed = gains.below[level] * of_z[level]
                of_z[level + 1] = of_z[level + 1] + passed[self._parents(level + 1)]
            else:
                found.append(of_z[level])
        return found, constant

    def _parents(self, level: int) -> npt.NDArray[np.intp]:
        """Parent of each node of a level, as a place in the level above."""
        return np.arange(self.sizes[level]) // self.branching

    def _summed(self, children: Floats, level: int) -> Floats:
        """Sums over the children of the nodes of a level."""
        return np.add.reduceat(children, np.arange(self.sizes[level]) * self.branching)


class _Gains:
    """Weights of the two passes: bottom up (own estimate against children), top down (shares)."""

    def __init__(self, tree: Tree, variances: Floats) -> None:
        last = len(tree.sizes) - 1
        spread = [np.zeros(0)] * (last + 1)
        spread[last] = np.full(tree.sizes[last], variances[last])
        self.own: list[Floats] = [np.ones(0)] * (last + 1)
        self.below: list[Floats] = [np.ones(0)] * (last + 1)
        self.part: list[Floats] = [np.ones(0)] * (last + 1)
        for level in range(last - 1, -1, -1):
            below = tree._summed(spread[level + 1], level)  # noqa: SLF001
            own = variances[level]
            self.own[level], self.below[level] = below / (own + below), own / (own + below)
            spread[level] = own * below / (own + below)
            self.part[level + 1] = spread[level + 1] / below[tree._parents(level + 1)]  # noqa: SLF001
        self.part[0] = spread[0] / spread[0].sum()
