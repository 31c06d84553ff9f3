"""Which nodes have to be summed, and a bound of all the others."""

from __future__ import annotations

from collections.abc import Sequence

from shuffledp.arithmetic.balls import acb, arb, disc, float_above
from shuffledp.errors import NotCertified
from shuffledp.kernel.contour import Contour, Kernel
from shuffledp.kernel.draws import Bounded, TiltedSum

__all__ = ["BLOCK", "MOST_WORK", "Nodes"]

# Nodes that are summed or bounded together; measured: 8 and 32 are slower.
BLOCK = 16
# Blocks are split in so many, and this many are looked at together.
_SPLIT, _ROW = 8, 64
# A block at t may leave out this share of the tolerance, times (1 + t/alpha)^-0.7: all blocks
# together leave out about the tolerance.
_SHARE, _FALL = 0.01, 0.7
# Midpoints of blocks wider than this, in standard deviations of a draw, bound nothing.
_WIDEST = 0.7
# Where windows of gains leave more blocks than this to be summed, midpoints are asked instead:
# around the saddle one to three blocks have to be summed.
_CENTRE = 4
# A bound of a block costs as much as its sum: of blocks in a row that could not be bounded so many
# more lead to one more that is summed before a bound is tried again.
_PATIENCE = 8
# Work of one integral at most, in nodes times atoms, and what a node costs beside its atoms: about
# two seconds. A bound of a block counts as its sum.
MOST_WORK, _PER_NODE = 3e7, 30


class Nodes:
    """Nodes t = step j >= 0: blocks that are summed (`starts`), and `left_out`.

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
        rest = self._by_windows()
        if rest < self.end:
            self._by_midpoints(rest)

    def values(self, sums: Sequence[TiltedSum]) -> list[acb]:
        """The transform of the whole sum / scale, block after block, but for the drift.

        Parameters
        ----------
        sums : those whose bounds told which nodes to sum.
        """
        found = sums[0].values(self.step, self.starts, BLOCK)
        for x in sums[1:]:
            values = x.values(self.step, self.starts, BLOCK)
            found = [a * b for a, b in zip(found, values, strict=True)]
        # |transform| <= cap holds on the whole line, whatever rounding makes of a node.
        return [x if x.is_finite() else disc(self._cap) for x in found]

    def _last(self) -> int:
        """The first multiple of BLOCK beyond which the smoothing leaves little."""
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
        """Leave out `size` nodes from `first` on, if their bound is small enough."""
        t = self.step * first
        left = bound * self._kernel.envelope(t) * (size * self.step / arb.pi())
        share = _SHARE / (1.0 + float(t) / self._contour.alpha) ** _FALL
        if not left <= self._enough * share:
            return False
        self.left_out += left
        return True

    def _spend(self, blocks: float) -> None:
        """Count blocks that are looked at or summed.

        Raises
        ------
        NotCertified
            If they are too much work.
        """
        self._room -= blocks * self._weight
        if self._room < 0.0:
            raise NotCertified("the contour asks for more nodes times atoms than it may have")

    def _by_windows(self) -> int:
        """Bound blocks of growing size by windows of gains; return where that no longer helps."""
        place = size = BLOCK
        dense, failed, met = any(x.dense for x in self._sums), 0, 0
        while place < self.end:
            low, high = self.step * place, self.step * (place + size)
            self._spend(1)
            bound = arb(1)
            for x in self._sums:
                bound *= x.bound_between(low, high)
            if self._negligible(place, size, bound):
                place, failed, met = place + size, 0, met + 1
                # Two of a size show that larger ones may do.
                size = 2 * size if met % 2 == 0 else size
            elif size > BLOCK:
                size, met = max(BLOCK, size // 2 // BLOCK * BLOCK), 0
            elif dense or len(self.starts) < _CENTRE:
                failed, met = failed + 1, 0
                more = range(place, place + BLOCK * (1 + failed // _PATIENCE), BLOCK)
                self._spend(len(more))
                self.starts += more
                place = more[-1] + BLOCK
            else:
                break
        return place

    def _by_midpoints(self, first: int) -> None:
        """Bound blocks by the transform at their midpoints; those that fail are split."""
        size = BLOCK
        widest = max(float_above(x.spread) for x in self._sums) * float(self.step)
        while size < self.end and size * _SPLIT * widest < 2 * _WIDEST:
            size *= _SPLIT
        todo, count = range(first, self.end, size * _ROW), _ROW
        while todo:
            # Two products for each midpoint.
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
