"""The trusted kernel: E f(S - shift) for sums S of independent draws from finite laws, in balls."""

from shuffledp.kernel.contour import Contour
from shuffledp.kernel.direct import by_counts, two_atoms
from shuffledp.kernel.draws import Draws
from shuffledp.kernel.expect import expect
from shuffledp.kernel.largest import AtLeastOne

__all__ = ["AtLeastOne", "Contour", "Draws", "by_counts", "expect", "two_atoms"]
