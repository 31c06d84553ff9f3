"""Cells and grids where single gains larger than the others' mean decide, in plain floats.

Any proposal gives a valid bound, and a bad one a loose bound (``bounds.lone_jump``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from shuffledp.bounds.covers import Cover
from shuffledp.propose.covers import edges_for, with_grids, without_grids
from shuffledp.propose.grids import Detail, Grids
from shuffledp.propose.interval import Floats, Free, Sketch

__all__ = ["Surrounding", "jump_cover"]

_TINY = 1e-300
# Relative cost in eps of steps between inputs: next to the worst label, and elsewhere as a share.
_DETAIL = Detail(5e-4, 0.6, 0.0)
# Cells are fine for gains up to this many times the others' mean.
_REACH = 2.0
# n alpha^2 times the variance of a remainder that is always allowed.
_SPREAD = 0.1
# Increase of log J_N around a jump that steps between inputs may cause.
_AROUND = 0.3


class Surrounding(NamedTuple):
    """A tilt, its direction (1 forward, -1 backward), and an estimate of log J there."""

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
    """A cover with this many cells, and grids for these free numbers."""
    # A jump's value has slope 1 beyond the others' mean: cells are fine up to there.
    top = max(free.ceiling, _REACH * n * math.expm1(eps))
    made = without_grids(edges_for(noise, n, eps, free, cells=0.0, top=top, count=cells))
    if two_inputs:
        return made
    return with_grids(made, _JumpGrids(noise, n, eps, free, np.array(made.boxes), around))


class _JumpGrids(Grids):
    """Grids on which labels cost no more of int (X - pull)_+ than ``Detail`` allows.

    Labels may also add only little to the sum around a jump, at the first place.  They are
    stretched about their mean, which jumps have to exceed.
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
        # Derivative of int (X - pull)_+ in the stretch.
        self.slope = self._value(1.0, 0.0, 0.0, 0.0, power=0.0) * self.pull + self.worst

    def stretch(self, v: float, step: float, *, second: bool) -> float:
        """The least eta at which the remainder's bounds fit at all tilts."""
        found = 0.0
        for alpha, room in self.limits:
            self.alpha, self.room = alpha, room
            found = max(found, super().stretch(v, step, second=second))
        return found

    def slack(self, row: int) -> Callable[[float], float]:
        """The lesser of the stretch allowed by jumps and that allowed by the sum around them."""
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
