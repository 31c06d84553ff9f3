"""Label stealing with one distinguished gain, for noise on an interval.

Floats propose an eps, free numbers, places and a cover; balls certify the bound there.
"""

from __future__ import annotations

import math

import numpy as np

from shuffledp.arithmetic.balls import ctx
from shuffledp.ball.record import Definition
from shuffledp.bounds.lone_jump import log_delta_with_jump
from shuffledp.bounds.stealing import Numbers
from shuffledp.errors import NotCertified
from shuffledp.propose.covers import Detail
from shuffledp.propose.interval import Free, free_numbers
from shuffledp.propose.interval_ends import IntervalStealing, free_of
from shuffledp.propose.jump_covers import jump_cover
from shuffledp.propose.lone_jump import around, jump_numbers, moved_jump, surroundings

__all__ = ["LoneJump"]

# Number of cells of outputs. Twice as many improve eps by less than 1e-3.
_CELLS = 160
# Upper estimate of what all labels add to the log delta of the two likely worst ones.
_MARGIN = 4.5e-3


class LoneJump(IntervalStealing):
    """The bound of one mechanism among n >= 3 users.

    Parameters
    ----------
    mechanism : Definition
        A mechanism with normal noise on an interval.
    n : int
        Number of users, the victim included.
    """

    def __init__(self, mechanism: Definition, n: int) -> None:
        super().__init__(mechanism, n)
        if not self._at.normal:
            raise NotCertified("lone-jump: wanted noise with unbounded ratios on an interval")

    def _search(self, eps: float, about: float, start: Free | None) -> Free | None:
        """Free numbers of label stealing, and from them those of this bound."""
        if self._n < 3:
            return None
        start = start or free_numbers(self._sketch, self._n, eps, about)
        return None if start is None else jump_numbers(self._sketch, self._n, eps, about, start)

    def _moved_one(self, free: Free, eps: float, about: float) -> Free:
        return moved_jump(self._sketch, self._n, eps, free, about)

    def _margin(self, slope: float, detail: Detail) -> float:
        del slope, detail
        return _MARGIN

    def _value(
        self,
        eps: float,
        numbers: Numbers,
        about: float,
        detail: Detail,
        *,
        ends: bool = False,
        enough: float = -math.inf,
    ) -> float:
        """log of the certified bound; ``ends``: of the labels (1, 0, 0) and (0, 1, 0) alone."""
        del detail
        free, sketch, n = free_of(numbers, about), self._sketch, self._n
        two = self._binary or ends
        with np.errstate(all="ignore"):
            places = around(sketch, n, eps, free)
            if not places.places:
                return math.inf
            beside = surroundings(sketch, n, eps, free, places)
            made = jump_cover(sketch, n, eps, free, beside, cells=_CELLS, two_inputs=two)
        with ctx.workprec(self._bits):
            log = log_delta_with_jump(
                self._at, made, places, numbers, n, eps, two_inputs=two, enough=enough
            )
        return log if log < 0.0 else math.inf
