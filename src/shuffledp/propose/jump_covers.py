"""Cells and grids where single gains beyond the others' mean decide, in plain floats.

Nothing here has to be right: any proposal gives a bound, a bad one a loose bound
(``bounds.lone_jump``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from shuffledp.propose.covers import Cover, edges_for, with_grids, without_grids
from shuffledp.propose.grids import Detail, Grids
from shuffledp.propose.interval import Floats, Free, Sketch

__all__ = ["Surrounding", "jump_cover"]

_TINY = 1e-300
# Relative cost in eps of steps between inputs, next to the worst label and elsewhere.
_DETAIL = Detail(5e-4, 0.6, 0.0)
# Up to how many times the others' mean cells are fine.
_REACH = 2.0
# n alpha^2 times a remainder's variance that always fits.
_SPREAD = 0.1
# By how much steps between inputs may raise log J_N around a jump.
_AROUND = 0.3


class Surrounding(NamedTuple):
    """A tilt, 1 forward or -1 backward, and about log J there."""

    tilt: float
    sign: float
    log: float


def jump_cover(
    noise: Sketch,
    n: int,
    eps: float,
    free: Free,
    around: Sequence[Surrounding],
    *,
    cells: int,
    two_inputs: bool,
) -> Cover:
    """So many cells, and grids for these free numbers."""
    # What jumps are worth rises with slope 1 beyond the others' mean: fine cells up to there.
    top = max(free.ceiling, _REACH * n * math.expm1(eps))
    made = without_grids(edges_for(noise, n, eps, free, cells=0.0, top=top, count=cells))
    if two_inputs:
        return made
    return with_grids(made, _JumpGrids(noise, n, eps, free, np.array(made.boxes), around))


class _JumpGrids(Grids):
    """Grids on which labels cost no more than the detail allows of int (X - pull)_+.

    Nor may they add much to the sum around a jump, at the first place.  They are stretched about
    their mean, which is what jumps have to exceed.
    """

    about_mean: ClassVar[bool] = True

    def __init__(
        self,
        noise: Sketch,
        n: int,
        eps: float,
        free: Free,
        boxes: Floats,
        around: Sequence[Surrounding],
    ) -> None:
        self.pull = n * math.expm1(eps)
        super().__init__(noise, n, eps, free, _DETAIL, boxes)
        first = free._replace(alpha=around[0].tilt)
        self.beside = Grids(noise, n, eps, first, _DETAIL, boxes)
        self.limits: list[tuple[float, float]] = []
        least = 0.5 * _SPREAD / n
        for one in around:
            room = self.room_for(one.tilt, one.log, one.sign)
            self.limits.append((one.tilt, max(room, least) if room < math.inf else least))
        # int (X - pull)_+ grows by that for each unit of stretch.
        self.slope = self._value(1.0, 0.0, 0.0, 0.0, power=0.0) * self.pull + self.worst

    def stretch(self, v: float, step: float, *, second: bool) -> float:
        """The least eta at which the remainder's bounds fit at all tilts."""
        found = 0.0
        for alpha, room in self.limits:
            self.alpha, self.room = alpha, room
            found = max(found, super().stretch(v, step, second=second))
        return found

    def slack(self, row: int) -> Callable[[float], float]:
        """That of jumps, and that of the sum around them."""
        own, beside = super().slack(row), self.beside.slack(row)
        least = _AROUND / self.beside.slope / self.detail.share
        return lambda v: min(own(v), beside(v) + least)

    def _log(self, x0: float, x1: float, x: float = 0.0, eta: float = 0.0) -> float:
        """int (X - pull)_+ of a label stretched by eta."""
        return self._value(x0, x1, x, eta, power=1.0)

    def _value(self, x0: float, x1: float, x: float, eta: float, *, power: float) -> float:
        f, mean = self.noise.density, self.b * (1 - self.a)
        own = np.maximum(f(self.y - x), _TINY)
        gain = self.b * (f(self.y - x0) - self.a * f(self.y - x1)) / own
        over = np.maximum(mean + (gain - mean) / (1 - eta) - self.pull, 0.0)
        return float((own * self.widths) @ np.where(over > 0.0, over**power, 0.0))
