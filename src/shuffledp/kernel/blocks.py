"""Nodes of a trapezoidal sum: which ones are summed, and an upper bound of all others."""

from __future__ import annotations

from collections.abc import Sequence

from shuffledp.arithmetic.balls import acb, arb, disc, float_above
from shuffledp.errors import NotCertified
from shuffledp.kernel.contour import Contour, Kernel
from shuffledp.kernel.draws import Bounded, TiltedSum

__all__ = ["BLOCK", "MOST_WORK", "Nodes"]

# Number of nodes that are summed or bounded together; 8 and 32 were measured to be slower.
BLOCK = 16
# Number of blocks that a block is split into, and number of blocks bounded together.
_SPLIT, _ROW = 8, 64
# A block at t may be left out if its bound is at most this share of the tolerance, times
# (1 + t/alpha)^-0.7: all such blocks together amount to about the tolerance.
_SHARE, _FALL = 0.01, 0.7
# Blocks wider than this, in standard deviations of a draw, cannot be bounded from their midpoints.
_WIDEST = 0.7
# Most work of one integral, in nodes times atoms (about two seconds), and the work of a node
# besides its atoms. A block's bound counts as its sum.
MOST_WORK, _PER_NODE = 3e7, 30


class Nodes:
    """Nodes t = step j >= 0: the blocks that are summed (`starts`), and a bound of all others.

    `left_out` bounds |(step/pi) sum over all other nodes|, for both payoffs, divided by the scale
    of the transform.
    """

    def __init__(
        self,
        kernel: Kernel,
        contour: Contour,
        sums: Sequence[Bounded],
        work: float = MOST_WORK,
    ) -> None:
        self.step = 2 * arb.pi() / arb(contour.period)
        self._kernel, self._contour, self._sums = kernel, contour, sums
        self._cap = arb(1)
        for x in sums:
            self._cap *= x.cap
        self._enough = arb(contour.tolerance)
        self.end = self._last()
        self.left_out = self._cap * kernel.beyond(self.step * self.end, self.step)
        self.starts = [0]
        self._room, self._weight = work, BLOCK * sum(x.atoms + _PER_NODE for x in sums)
        if self.end > BLOCK:
            self._bound_from(BLOCK)

    def values(self, sums: Sequence[TiltedSum]) -> list[acb]:
        """The whole sum's transform / scale on the blocks in `starts`, without the drift factor.

        Parameters
        ----------
        sums : the sums whose bounds decided which nodes to sum.
        """
        found = sums[0].values(self.step, self.starts, BLOCK)
        for x in sums[1:]:
            values = x.values(self.step, self.starts, BLOCK)
            found = [a * b for a, b in zip(found, values, strict=True)]
        # |transform| <= cap holds on the whole line, also where rounding spoils a node.
        return [x if x.is_finite() else disc(self._cap) for x in found]

    def _last(self) -> int:
        """The first multiple of BLOCK found beyond which the smoothing leaves little."""
        enough = self._enough / 8

        def is_far(blocks: int) -> bool:
            t = self.step * (blocks * BLOCK)
            return bool(self._cap * self._kernel.beyond(t, self.step) <= enough)

        high = 1
        while not is_far(high):
            high *= 2
            if high > 1 << 60:
                raise NotCertified("the smoothing of the contour ends at no node")
        low = high // 2
        while high - low > max(1, low // 64):
            middle = (low + high) // 2
            low, high = (low, middle) if is_far(middle) else (middle, high)
        return high * BLOCK

    def _negligible(self, first: int, size: int, bound: arb) -> bool:
        """Leave out `size` nodes from `first` on if their bound is small enough.

        Return whether it is.
        """
        t = self.step * first
        left = bound * self._kernel.envelope(t) * (size * self.step / arb.pi())
        share = _SHARE / (1.0 + float(t) / self._contour.alpha) ** _FALL
        if not left <= self._enough * share:
            return False
        self.left_out += left
        return True

    def _spend(self, blocks: float) -> None:
        """Count blocks that are bounded or summed.

        Raises
        ------
        NotCertified
            If their total work exceeds the limit.
        """
        self._room -= blocks * self._weight
        if self._room < 0.0:
            raise NotCertified("the contour asks for more nodes times atoms than it may have")

    def _bound_from(self, first: int) -> None:
        """Bound blocks by the transform at their midpoints.

        Split those whose bound does not suffice.
        """
        size = BLOCK
        widest = max(float_above(x.spread) for x in self._sums) * float(self.step)
        while size < self.end and size * _SPLIT * widest < 2 * _WIDEST:
            size *= _SPLIT
        todo, count = range(first, self.end, size * _ROW), _ROW
        while todo:
            # Each midpoint takes two products.
            self._spend(len(todo) * count * 2 / BLOCK)
            bounds = self._sums[0].bounds_around(self.step, todo, size, count)
            for x in self._sums[1:]:
                more = x.bounds_around(self.step, todo, size, count)
                bounds = [a * b for a, b in zip(bounds, more, strict=True)]
            places = [start + k * size for start in todo for k in range(count)]
            failed = [
                place
                for place, bound in zip(places, bounds, strict=True)
                if place < self.end and not self._negligible(place, size, bound)
            ]
            if size == BLOCK:
                self._spend(len(failed))
                self.starts += failed
                return
            todo, size, count = failed, size // _SPLIT, _SPLIT
