"""The papers' own algorithms, as the papers give them, to compare with: none of them is needed.

``binomial``: sums over the number of clones; ``grid``: rounded gains and an FFT; ``certified_fft``:
the FFT with every error term. The first two are plain floating point, their results are estimates.
"""

from shuffledp.baselines import binomial, certified_fft, grid
from shuffledp.baselines.search import HALVINGS, halved_epsilon

__all__ = ["HALVINGS", "binomial", "certified_fft", "grid", "halved_epsilon"]
