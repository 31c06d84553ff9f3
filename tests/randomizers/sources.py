"""Random sources that say what they are told to, and statistics of samples."""

import numpy as np
from scipy import stats

from shuffledp.randomness import RandomSource

LEAST_P_VALUE = 1e-6


class Script(RandomSource):
    """Words read from a list; running out of them is an error."""

    def __init__(self, words):
        self.left = list(words)

    def words(self, size):
        taken, self.left = self.left[:size], self.left[size:]
        if len(taken) < size:
            raise IndexError(f"{size} words wanted")
        return np.array(taken, dtype=np.uint64)


def fits(counts, probabilities):
    """Chi-square p-value of counts against probabilities; rare outcomes are pooled."""
    counts, probabilities = np.asarray(counts), np.asarray(probabilities, dtype=float)
    if (counts[probabilities == 0.0] != 0).any():
        return 0.0
    expected = probabilities / probabilities.sum() * counts.sum()
    rare = expected < 5.0
    seen = np.append(counts[~rare], counts[rare].sum())
    hoped = np.append(expected[~rare], expected[rare].sum())
    if hoped[-1] < 5.0 and hoped.size > 1:
        seen, hoped = np.append(seen[:-2], seen[-2:].sum()), np.append(hoped[:-2], hoped[-2:].sum())
    return stats.chisquare(seen, hoped * (seen.sum() / hoped.sum())).pvalue if seen.size > 1 else 1
